//! The offline suite, one binary, modules in pipeline order.

mod assemble;
mod audit;
mod elf;
mod house;
mod tags;
mod trees;
