//! Who is making a component: a file locked while its maker lives. A claim saves other processes the same work;
//! nothing relies on it, so a maker that stands still is not waited for.

use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Store, StoreError};
use crate::base::digest::Digest;
use crate::base::fs::{self, At, File};

/// The right to make a component, until dropped.
#[derive(Debug)]
pub struct Claim {
    file: File,
    path: PathBuf,
    beats: AtomicU64,
}

/// Who holds a claim, as its file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// Process number and a counter that grows while it works.
    pub sign: String,
}

impl Owner {
    /// The process number.
    pub fn pid(&self) -> &str {
        self.sign.split(' ').next().unwrap_or("")
    }
}

/// Outcome of trying.
#[derive(Debug)]
pub enum Claimed {
    /// Ours to make.
    Ours(Claim),
    /// Somebody else is making it.
    By(Owner),
}

impl Store {
    /// Tries to claim a component; never waits.
    pub fn claim(&self, key: &Digest) -> Result<Claimed, StoreError> {
        let folder = self.root.join(".claims");
        fs::create_dir_all(&folder)?;
        let path = folder.join(key.to_string());
        loop {
            let file = fs::open_rw(&path)?;
            if !fs::try_lock(&file) {
                let sign = fs::read_if_exists(&path, 256)?.unwrap_or_default();
                let sign = String::from_utf8_lossy(&sign).trim().to_owned();
                return Ok(Claimed::By(Owner { sign }));
            }
            // Its last owner may have removed it between our open and our lock.
            if file.metadata().at("look at", &path)?.nlink() == 0 {
                continue;
            }
            let claim = Claim {
                file,
                path,
                beats: AtomicU64::new(0),
            };
            claim.beat();
            return Ok(Claimed::Ours(claim));
        }
    }
}

impl Claim {
    /// Shows others that work goes on.
    pub fn beat(&self) {
        let beats = self.beats.fetch_add(1, Ordering::Relaxed);
        let text = format!("{} {beats}\n", std::process::id());
        let _ = self.file.write_all_at(text.as_bytes(), 0);
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        // While still locked, so that nobody can lose a newer owner's file.
        let _ = fs::remove_file(&self.path);
        let _ = self.file.unlock();
    }
}
