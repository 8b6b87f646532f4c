//! Hosts as folders: `bundler doctor` and `bundler select` on every shape of `tests/hosts`, and what a user sees.

mod doctor;
mod select;
mod shape;
