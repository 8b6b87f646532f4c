//! The component cache: `<root>/<first two digits>/<key>/` holds `component.json`, `segments` and `check`, which says
//! how long the one is and what checksum the other has.
//!
//! Any number of processes and users may share it: entries appear by rename, complete, and are read through open
//! files, so pruning never hurts a reader. A damaged entry is set aside and made again. Claims only save work.

mod claim;
mod draft;
mod key;
mod tend;
mod without;

use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use claim::{Claim, Claimed, Owner};
pub use draft::Draft;
pub use key::Ingredients;
pub use tend::{Pruned, StoreSize};

use crate::base::digest::Digest;
use crate::base::fs::{self, At, DraftDir, File, FsError};
use crate::base::segments::{self, SegmentError};
use crate::formats::component::Component;
use crate::formats::tar_entry::TarEntryError;

/// No component.json is larger: 500,000 entries with facts.
const MAX_COMPONENT_JSON: u64 = 1 << 30;

/// Most bytes of `check`.
const MAX_CHECK: u64 = 256;

/// Why the component cache could not do something.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file operation failed.
    #[error("could not use the component cache")]
    File(#[from] FsError),
    /// Something must be made, and the cache cannot be written.
    #[error("component {name} is not cached and the component cache cannot be written")]
    Unwritable {
        /// Distribution.
        name: String,
        /// Why.
        #[source]
        source: FsError,
    },
    /// A segment's bytes are not those that were written.
    #[error("cached component {name} is damaged: segment {segment} has another checksum")]
    Damaged {
        /// Which entry, for [`Store::set_aside`].
        key: Digest,
        /// Distribution.
        name: String,
        /// Number of the segment.
        segment: usize,
    },
    /// A path is to be left out of a component that has no such file.
    #[error("cannot leave {path} out of {name}: {what}")]
    Without {
        /// Distribution.
        name: String,
        /// Path in the bundle.
        path: String,
        /// Why not.
        what: &'static str,
    },
    /// A segment could not be made anew without some of its entries.
    #[error("could not make segment {segment} of {name} anew")]
    Segment {
        /// Distribution.
        name: String,
        /// Number of the segment.
        segment: usize,
        /// Why.
        #[source]
        source: SegmentError,
    },
    /// As [`StoreError::Segment`], for a header.
    #[error("could not make an entry of {name} anew")]
    Entry {
        /// Distribution.
        name: String,
        /// Why.
        #[source]
        source: TarEntryError,
    },
}

impl StoreError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(source) | Self::Unwritable { source, .. } => source.hint_or(fs::CACHE),
            Self::Damaged { .. } => Some("run `bundler cache verify`, then the same again".into()),
            _ => None,
        }
    }
}

/// Where a component's segments lie.
#[derive(Debug, Clone)]
pub enum Backing {
    /// In a cached file, held open: pruning cannot take it away.
    File {
        /// The open file.
        file: Arc<File>,
        /// For messages.
        path: PathBuf,
    },
    /// In memory (small generated components).
    Memory(Arc<[u8]>),
}

/// A component with its segments at hand.
#[derive(Debug, Clone)]
pub struct Stored {
    /// Entries and facts.
    pub component: Component,
    /// Segments.
    pub backing: Backing,
}

impl Stored {
    /// Reads the blocks of one segment into `out` (replacing it) and checks them; see [`StoreError::Damaged`].
    pub fn read_segment(&self, number: usize, out: &mut Vec<u8>) -> Result<(), StoreError> {
        let damaged = || StoreError::Damaged {
            key: self.component.key,
            name: self.component.name.clone(),
            segment: number,
        };
        let segment = self.component.segments.get(number).ok_or_else(damaged)?;
        let len = usize::try_from(segment.packed).map_err(|_| damaged())?;
        out.clear();
        match &self.backing {
            Backing::File { file, path } => {
                out.resize(len, 0);
                match file.read_exact_at(out, segment.offset) {
                    Err(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
                        return Err(damaged());
                    }
                    other => other.at("read", path)?,
                }
            }
            Backing::Memory(bytes) => {
                let start = usize::try_from(segment.offset).map_err(|_| damaged())?;
                let end = start.checked_add(len).ok_or_else(damaged)?;
                out.extend_from_slice(bytes.get(start..end).ok_or_else(damaged)?);
            }
        }
        if segments::xxh3(out) == segment.xxh3 {
            Ok(())
        } else {
            Err(damaged())
        }
    }

    /// Reads and checks every segment.
    pub fn check(&self) -> Result<(), StoreError> {
        let mut buffer = Vec::new();
        (0..self.component.segments.len()).try_for_each(|n| self.read_segment(n, &mut buffer))
    }
}

/// The component cache.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// The store in `<cache>/components`. Nothing is made until something is written.
    pub fn new(cache: &Path) -> Self {
        Self {
            root: cache.join("components"),
        }
    }

    fn folder(&self, key: &Digest) -> PathBuf {
        let name = key.to_string();
        self.root.join(name.get(..2).unwrap_or("xx")).join(name)
    }

    /// The component of this key, if it is there and whole; a damaged one counts as absent and is replaced when it is
    /// made again. Segment bytes are checked when they are read.
    pub fn get(&self, key: &Digest) -> Result<Option<Stored>, StoreError> {
        let folder = self.folder(key);
        let Some(check) = fs::read_if_exists(&folder.join("check"), MAX_CHECK)? else {
            return Ok(None);
        };
        let Some((checksum, length)) = read_check(&check) else {
            return Ok(None);
        };
        let json = folder.join("component.json");
        let Some(text) = fs::read_if_exists(&json, MAX_COMPONENT_JSON)? else {
            return Ok(None);
        };
        let path = folder.join("segments");
        if segments::xxh3(&text) != checksum {
            return Ok(None);
        }
        let Ok(component) = serde_json::from_slice::<Component>(&text) else {
            return Ok(None);
        };
        let file = match fs::open(&path) {
            Ok(file) => file,
            Err(e) if e.source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(e.into()),
        };
        let found = file.metadata().at("look at", &path)?.len();
        if found != length || component.key != *key {
            return Ok(None);
        }
        // Last use, for pruning; a reader without the right to say so is still a reader.
        let _ = fs::touch(&folder);
        Ok(Some(Stored {
            component,
            backing: Backing::File {
                file: Arc::new(file),
                path,
            },
        }))
    }

    /// Takes a damaged entry out of the way, so that the next ingest makes it again.
    pub fn set_aside(&self, key: &Digest) -> Result<(), StoreError> {
        let trash = DraftDir::new(&self.root)?;
        match fs::rename(&self.folder(key), &trash.path().join("entry")) {
            Err(e) if e.source.kind() != std::io::ErrorKind::NotFound => Err(e.into()),
            _ => Ok(()),
        }
    }
}

/// `check`: checksum of component.json, length of `segments`.
fn write_check(text: &[u8], length: u64) -> String {
    format!("{:016x} {length}\n", segments::xxh3(text))
}

fn read_check(bytes: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(bytes).ok()?.strip_suffix('\n')?;
    let (checksum, length) = text.split_once(' ')?;
    Some((
        u64::from_str_radix(checksum, 16).ok()?,
        length.parse().ok()?,
    ))
}
