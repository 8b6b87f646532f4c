//! Whether a bundle is intact: an unpacked tree, a component in the store, a bundle's file. Every difference from the
//! bundle's own list is a finding; nothing is changed.

mod file;
mod folder;
mod tree;

pub use file::{JudgedFile, file, layer};
pub use folder::{Fault, FaultKind, faults, first_fault};
pub use tree::{Judged, tree};
