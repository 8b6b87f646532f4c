//! Wanted → [`Lock`]: every input of a bundle, named and pinned. A lock names no host: file name, sha256, size and the
//! alias of the index; where the alias leads is said by the recipe or the machine.

mod check;
mod file;
pub mod markers;
mod place;
pub mod project;
mod rank;
pub mod resolve;
pub mod uv;
pub mod write;

pub use file::{
    Lock, LockError, LockedInterpreter, LockedSource, LockedWheel, SCHEMA_VERSION, file_name,
};
pub use place::{Found, current, find, path};
