//! What arrived of a bundle: a sparse file of its size in the store's `downloads`. Which segments are there is told by
//! their checksums; how far one got, by where the file has holes.

use std::io;
use std::path::PathBuf;

use url::Url;

use crate::base::digest::Digest;
use crate::base::fs::{self, At, FsResult, ReadAt, Window};
use crate::base::segments::xxh3;
use crate::formats::segment_table::Segment;
use crate::host::store::Store;

/// Holes begin at whole blocks: the last one may be there in part only.
const BLOCK: u64 = 4096;

/// What arrived of one bundle.
#[derive(Debug)]
pub(super) struct Spool {
    file: Window,
    path: PathBuf,
}

impl Spool {
    /// Goes on with what arrived from `url` before, or begins.
    pub(super) fn open(store: &Store, url: &Url, size: u64) -> FsResult<Self> {
        let dir = store.downloads();
        fs::create_dir_all(&dir)?;
        let mut name = Digest::of(url.as_str().as_bytes()).to_string();
        name.truncate(32);
        let path = dir.join(format!("{name}.part"));
        let file = fs::open_rw(&path)?;
        let spool = Self {
            file: Window::from(file, 0),
            path,
        };
        let file = spool.file.file();
        file.set_len(size).at("make room in", &spool.path)?;
        Ok(spool)
    }

    /// The file.
    pub(super) fn file(&self) -> &Window {
        &self.file
    }

    /// Whether all of a segment is here.
    pub(super) fn has(&self, segment: &Segment) -> bool {
        if fs::data_end(self.file.file(), segment.offset) < segment.offset + segment.packed {
            return false;
        }
        let mut blocks = vec![0; segment.packed as usize];
        let read = self.file.read_exact_at(&mut blocks, segment.offset);
        read.is_ok() && xxh3(&blocks) == segment.xxh3
    }

    /// Up to where a segment that is not whole arrived; its offset if that cannot be known.
    pub(super) fn arrived(&self, segment: &Segment) -> u64 {
        let end = segment.offset + segment.packed;
        let data = fs::data_end(self.file.file(), segment.offset);
        if data >= end {
            // All there, and not the right bytes.
            return segment.offset;
        }
        let sure = (data / BLOCK).saturating_sub(1) * BLOCK;
        sure.max(segment.offset)
    }

    /// Writes bytes that arrived.
    pub(super) fn write(&self, bytes: &[u8], at: u64) -> FsResult<()> {
        let done: io::Result<()> = fs::write_all_at(self.file.file(), bytes, at);
        done.at("write", &self.path)
    }

    /// Takes the file away.
    pub(super) fn remove(self) -> FsResult<()> {
        fs::remove_file(&self.path)
    }
}
