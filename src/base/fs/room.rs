//! What a file system has room for, whether programs on it can be run, and making all of it durable.

use std::io;
use std::path::Path;

use super::{At, FsResult, metadata, open, parent};

/// What an ordinary user can still put on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes.
    pub bytes: u64,
    /// Files and folders; `None` where they are not counted.
    pub inodes: Option<u64>,
    /// Bytes of a block: files take whole ones.
    pub block: u64,
    /// Programs on it are not run by the system.
    pub is_noexec: bool,
}

/// The room on the file system of `path` (or of its folder, while it does not exist).
pub fn room(path: &Path) -> FsResult<Room> {
    let mut at = path;
    while metadata(at)?.is_none() && parent(at) != at {
        at = parent(at);
    }
    let stat = rustix::fs::statvfs(at).map_err(io::Error::from);
    let stat = stat.at("ask the free space of", at)?;
    Ok(Room {
        bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        inodes: (stat.f_files > 0).then_some(stat.f_favail),
        block: stat.f_frsize.max(512),
        is_noexec: stat.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC),
    })
}

/// Waits until everything written to the file system of `path` is on the disk.
pub fn sync_file_system(path: &Path) -> FsResult<()> {
    rustix::fs::syncfs(open(path)?).at("sync the file system of", path)
}

/// Bytes of disk that a file or folder takes, with all below it; links are not followed.
pub fn bytes_below(path: &Path) -> FsResult<u64> {
    use std::os::unix::fs::MetadataExt;
    let mut sum = 0u64;
    for entry in walkdir::WalkDir::new(path) {
        let entry = entry.map_err(io::Error::from).at("list", path)?;
        let there = entry
            .metadata()
            .map_err(io::Error::from)
            .at("look at", path)?;
        sum = sum.saturating_add(there.blocks().saturating_mul(512));
    }
    Ok(sum)
}
