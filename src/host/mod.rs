//! The target machine: facts, select, doctor, store, install, verify. Never imports `build`.

pub mod doctor;
pub mod install;
pub mod intact;
pub mod repair;
pub mod select;
pub mod store;
