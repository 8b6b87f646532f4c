//! Looking after the cache: its size, pruning, checking. All of it is safe while others use the cache: an entry goes
//! away by one rename, and whoever has it open reads on.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::{Store, StoreError};
use crate::base::digest::Digest;
use crate::base::fs;

/// What the component cache takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StoreSize {
    /// Whole entries.
    pub components: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// What pruning did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Entries removed.
    pub components: u64,
    /// Bytes freed once nobody reads them any more.
    pub bytes: u64,
}

struct Found {
    key: Digest,
    bytes: u64,
    used: SystemTime,
}

impl Store {
    /// Where the cache is.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Counts entries and bytes.
    pub fn size(&self) -> Result<StoreSize, StoreError> {
        let mut size = StoreSize::default();
        for found in self.entries()? {
            size.components += 1;
            size.bytes += found.bytes;
        }
        Ok(size)
    }

    /// Removes entries last used before `before`, and what killed processes left.
    pub fn prune(&self, before: SystemTime) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        if fs::metadata(&self.root)?.is_none() {
            return Ok(pruned);
        }
        self.sweep()?;
        for found in self.entries()? {
            if found.used < before {
                self.set_aside(&found.key)?;
                pruned.components += 1;
                pruned.bytes += found.bytes;
            }
        }
        Ok(pruned)
    }

    /// Reads every entry and sets damaged ones aside; returns their keys.
    pub fn verify(&self) -> Result<Vec<Digest>, StoreError> {
        let mut damaged = Vec::new();
        for found in self.entries()? {
            let whole = match self.get(&found.key)? {
                Some(stored) => match stored.check() {
                    Err(StoreError::Damaged { .. }) => false,
                    other => other.map(|()| true)?,
                },
                None => false,
            };
            // An entry that is gone was pruned by somebody else: nothing to set aside.
            if !whole && fs::metadata(&self.folder(&found.key))?.is_some() {
                self.set_aside(&found.key)?;
                damaged.push(found.key);
            }
        }
        Ok(damaged)
    }

    /// Removes drafts whose makers are gone.
    pub fn sweep(&self) -> Result<(), StoreError> {
        Ok(fs::sweep_drafts(&self.root)?)
    }

    fn entries(&self) -> Result<Vec<Found>, StoreError> {
        let mut out = Vec::new();
        for shelf in folders(&self.root)? {
            for folder in folders(&shelf)? {
                let key = folder.file_name().and_then(|name| name.to_str());
                let Some(key) = key.and_then(|name| name.parse().ok()) else {
                    continue;
                };
                let Some(metadata) = fs::metadata(&folder)? else {
                    continue;
                };
                let Ok(used) = metadata.modified() else {
                    continue;
                };
                let mut bytes = 0;
                for file in fs::list(&folder).unwrap_or_default() {
                    bytes += fs::metadata(&file)?.map_or(0, |m| m.len());
                }
                out.push(Found { key, bytes, used });
            }
        }
        Ok(out)
    }
}

/// Folders in a folder whose names are no drafts; none where it is missing.
fn folders(path: &Path) -> Result<Vec<PathBuf>, StoreError> {
    match fs::metadata(path)? {
        Some(metadata) if metadata.is_dir() => {}
        _ => return Ok(Vec::new()),
    }
    let hidden = |p: &PathBuf| {
        p.file_name()
            .is_none_or(|n| n.as_encoded_bytes().starts_with(b"."))
    };
    let mut out = fs::list(path)?;
    out.retain(|p| !hidden(p));
    Ok(out)
}
