//! The target machine: facts, select, doctor, store, install, verify. Never imports `build`.

pub mod install;
pub mod store;
