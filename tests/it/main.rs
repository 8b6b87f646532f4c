//! The offline suite, one binary, modules in pipeline order.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what a test measured or could not do"
)]
#![allow(
    clippy::zero_sized_map_values,
    clippy::unused_self,
    reason = "helpers keep one shape for all cases"
)]

mod assemble;
mod audit;
mod bytecode;
mod costly;
mod decoders;
mod elf;
mod env;
mod evidence;
mod fatbin;
mod fault_server;
mod fetch;
mod gpu;
mod hosts;
mod house;
mod ingest;
mod ingest_processes;
mod inspect;
mod interpreter;
mod interrupt;
mod listed;
mod lock;
mod pack;
mod planted;
mod real_interpreter;
mod recipe;
mod self_extract;
mod source;
mod specifiers;
mod store;
mod synthetic;
mod tags;
mod told_early;
mod trees;
mod ways_out;
mod wheelhouse;
mod wheels;
