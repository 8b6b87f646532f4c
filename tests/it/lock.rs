//! Locks: the committed ones, hostile ones, stale ones, and resolving against index servers on this machine.

mod interpreters;
mod metadata;
mod pointcept;
mod reading;
mod resolving;
mod sparing;
mod stage;
pub mod world;
