//! Locks: the committed ones, hostile ones, stale ones, and resolving against index servers on this machine.

mod pointcept;
mod reading;
mod resolving;
pub mod world;
