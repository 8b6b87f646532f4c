//! Marks that processes leave for each other: locks on open files, and the time a file was last used.

use std::fs::{File, TryLockError};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW};

use super::{At, FsResult};

/// Tries to lock an open file for ourselves alone, without waiting; `false` when somebody else holds it. On a file
/// system without locks everybody gets them: locks only save work.
pub fn try_lock(file: &File) -> bool {
    !matches!(file.try_lock(), Err(TryLockError::WouldBlock))
}

/// Sets the times of a file or folder to now.
pub fn touch(path: &Path) -> FsResult<()> {
    let now = Timespec {
        tv_sec: 0,
        tv_nsec: UTIME_NOW,
    };
    let times = Timestamps {
        last_access: now,
        last_modification: now,
    };
    rustix::fs::utimensat(CWD, path, &times, AtFlags::empty()).at("touch", path)
}
