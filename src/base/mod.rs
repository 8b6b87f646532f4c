//! The ground floor: targets, digests, findings, and the only doors to the file system, archives, compression and the network.

pub mod archive;
pub mod capability;
pub mod digest;
pub mod finding;
pub mod fs;
pub mod http;
pub mod progress;
pub mod python;
pub mod segments;
pub mod space;
pub mod target;
