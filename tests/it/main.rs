//! The offline suite, one binary, modules in pipeline order.

mod house;
mod tags;
