//! A component in the making: a locked folder, so that what a killed process left can be told from what is in use.
//! It becomes an entry of the cache by one rename.

use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{Backing, Store, StoreError, Stored, write_check};
use crate::base::fs::{self, At, DraftDir, File, FsError};
use crate::base::segments;
use crate::formats::component::{Component, SegmentRef};

/// A component in the making, removed when dropped.
#[derive(Debug)]
pub struct Draft {
    store: Store,
    folder: DraftDir,
    path: PathBuf,
    file: File,
    end: AtomicU64,
}

impl Store {
    /// Begins a component; `name` is for messages.
    pub fn draft(&self, name: &str) -> Result<Draft, StoreError> {
        let unwritable = |source| StoreError::Unwritable {
            name: name.to_owned(),
            source,
        };
        let folder = DraftDir::new(&self.root).map_err(unwritable)?;
        let path = folder.path().join("segments");
        let file = fs::open_rw(&path).map_err(unwritable)?;
        Ok(Draft {
            store: self.clone(),
            folder,
            path,
            file,
            end: AtomicU64::new(0),
        })
    }

    /// A file without a name beside the cache.
    pub fn scratch(&self) -> Result<File, FsError> {
        fs::create_dir_all(&self.root)?;
        fs::unnamed(&self.root)
    }
}

impl Draft {
    /// Writes a segment's blocks behind all others; may be called from many threads.
    pub fn append(&self, blocks: &[u8], unpacked: u64) -> Result<SegmentRef, StoreError> {
        let packed = blocks.len() as u64;
        let offset = self.end.fetch_add(packed, Ordering::Relaxed);
        fs::write_all_at(&self.file, blocks, offset).at("write", &self.path)?;
        fs::write_behind(&self.file, offset, packed);
        Ok(SegmentRef {
            offset,
            packed,
            unpacked,
            xxh3: segments::xxh3(blocks),
        })
    }

    /// Begins with the segments of another component, at the same offsets.
    pub(super) fn copy_from(&self, other: &Stored) -> Result<(), StoreError> {
        match &other.backing {
            Backing::File { file, path } => {
                let length = file.metadata().at("look at", path)?.len();
                let mut to = self.file.try_clone().at("open", &self.path)?;
                fs::append_range(file, 0, length, &mut to).at("write", &self.path)?;
                self.end.store(length, Ordering::Relaxed);
            }
            Backing::Memory(bytes) => {
                self.append(bytes, 0)?;
            }
        }
        Ok(())
    }

    /// Gives it its final name. If another process was faster, its entry is taken: it holds the same.
    pub fn keep(self, component: Component) -> Result<Stored, StoreError> {
        let text = serde_json::to_vec(&component).unwrap_or_default();
        let check = write_check(&text, self.end.load(Ordering::Relaxed));
        let folder = self.folder.path();
        fs::write(&folder.join("component.json"), &text)?;
        fs::write(&folder.join("check"), check.as_bytes())?;
        let to = self.store.folder(&component.key);
        fs::create_dir_all(fs::parent(&to))?;
        if self.store.get(&component.key)?.is_none() && fs::symlink_metadata(&to)?.is_some() {
            self.store.set_aside(&component.key)?;
        }
        if self.folder.keep(&to)? {
            let path = to.join("segments");
            let file = Arc::new(self.file);
            return Ok(Stored {
                component,
                backing: Backing::File { file, path },
            });
        }
        // Another process put one there since we looked. Nobody could have damaged it yet.
        self.store.get(&component.key)?.ok_or_else(|| {
            StoreError::File(FsError {
                doing: "rename to",
                path: to,
                source: ErrorKind::AlreadyExists.into(),
            })
        })
    }
}
