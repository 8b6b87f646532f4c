//! The offline suite, one binary, modules in pipeline order.

mod assemble;
mod audit;
mod bytecode;
mod decoders;
mod elf;
mod env;
mod fatbin;
mod fault_server;
mod fetch;
mod gpu;
mod house;
mod ingest;
mod ingest_processes;
mod inspect;
mod interpreter;
mod lock;
mod pack;
mod real_interpreter;
mod recipe;
mod source;
mod specifiers;
mod synthetic;
mod tags;
mod trees;
mod wheelhouse;
mod wheels;
