//! Holding a store while it is changed: one process at a time, so that nobody does work twice or sweeps away what
//! another is about to use. Where the file system has no locks nobody waits, and everything still ends right.

use std::time::Duration;

use super::{HostStoreError, Store};
use crate::base::fs::{self, File};
use crate::base::progress::Progress;

/// Between two looks at the lock.
const PAUSE: Duration = Duration::from_millis(50);

/// Looks before it is said what is waited for.
const SILENT: u32 = 20;

/// Looks before giving up: an hour.
const MOST: u32 = 72_000;

/// The store is held until this is dropped.
#[derive(Debug)]
pub struct Hold(#[expect(dead_code, reason = "closing the file ends the lock")] File);

/// Waits for whoever changes the store, and says so when that takes long.
pub fn hold(store: &Store, progress: &Progress) -> Result<Hold, HostStoreError> {
    fs::create_dir_all(store.root())?;
    let file = fs::open_rw(&store.root().join("lock"))?;
    for look in 0..MOST {
        if fs::try_lock(&file) {
            return Ok(Hold(file));
        }
        if look == SILENT {
            let root = store.root().display();
            progress.note(format!("waiting for another bundler that changes {root}"));
        }
        std::thread::sleep(PAUSE);
    }
    Err(HostStoreError::Busy {
        root: store.root().to_owned(),
        seconds: u64::from(MOST) * PAUSE.as_millis() as u64 / 1000,
    })
}
