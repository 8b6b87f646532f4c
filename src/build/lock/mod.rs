//! Wanted → [`Lock`]: every input of a bundle, named and pinned. A lock names no host: file name, sha256, size and the
//! alias of the index; where the alias leads is said by the recipe or the machine.

mod check;
mod file;
pub mod markers;
pub mod wheel_name;

pub use file::{
    Lock, LockError, LockedInterpreter, LockedSource, LockedWheel, SCHEMA_VERSION, file_name,
};
