//! The drafts of this process: when it is told to stop, they go before it does.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

static LIVE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A path that is removed if the process is told to stop while this value lives.
#[derive(Debug)]
pub(super) struct Live(PathBuf);

impl Live {
    pub(super) fn new(path: &Path) -> Self {
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        live.insert(path.to_owned());
        Self(path.to_owned())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let mut live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
        live.remove(&self.0);
    }
}

/// Removes all drafts of this process, for good: the process is about to end. Nothing can be begun or kept after it.
pub fn abandon_drafts() {
    let live = LIVE.lock().unwrap_or_else(PoisonError::into_inner);
    for path in &*live {
        let _ = std::fs::remove_file(path);
        let _ = std::fs::remove_dir_all(path);
    }
    // Whoever begins or keeps a draft now waits for the end.
    std::mem::forget(live);
}
