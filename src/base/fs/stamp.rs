//! Tells whether a file is still the one that was looked at: for files that are used where a user keeps them.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::FsResult;

/// What a file shows when it is written to, cut, or replaced: size, inode, time of the last write.
/// Not the time of the last change of attributes: a hard link made to it is no harm.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    size: u64,
    inode: (u64, u64),
    modified: (i64, i64),
}

impl Stamp {
    /// Of the file at `path` (links followed); `None` if there is none.
    pub fn of(path: &Path) -> FsResult<Option<Self>> {
        Ok(super::metadata(path)?.map(|m| Self {
            size: m.len(),
            inode: (m.dev(), m.ino()),
            modified: (m.mtime(), m.mtime_nsec()),
        }))
    }
}
