//! Facts of one file as its bytes pass: digest, and for what may have facts the whole of it: small files in memory, large ELF
//! files in a file without a name. Memory stays bounded: what was read of a mapped file is let go of.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::base::digest::Hasher;
use crate::base::fs::{self, At};
use crate::build::ingest::facts;
use crate::formats::component::{Entry, FileFacts};
use crate::formats::distribution::DistributionFacts;
use crate::formats::metadata::{self, Headers};
use crate::formats::{elf, tags};

/// Larger ELF files are mapped from a file on disk.
const IN_MEMORY: u64 = 32 << 20;
/// Larger files that are no ELF files have facts in their first line alone.
const MAX_TEXT: u64 = 4 << 20;
/// Bytes read at a time.
const PIECE: usize = 256 << 10;
/// After so many bytes of a mapped file, what was read is let go of.
const STRIDE: u64 = 64 << 20;

/// An entry as its bytes show it.
#[derive(Debug, Clone)]
pub(super) struct Scanned {
    /// The entry with digest and facts.
    pub entry: Entry,
    /// What a METADATA says.
    pub distribution: Option<DistributionFacts>,
}

/// Reads files one after the other.
pub(super) struct Scan {
    scratch: PathBuf,
    piece: Vec<u8>,
    bytes: Vec<u8>,
}

impl Scan {
    pub(super) fn new(scratch: &Path) -> Self {
        Self {
            scratch: scratch.to_owned(),
            piece: vec![0; PIECE],
            bytes: Vec::new(),
        }
    }

    /// Reads a file of the size in `scanned` to its end and fills in digest and facts.
    pub(super) fn read(&mut self, scanned: &mut Scanned, input: &mut dyn Read) -> io::Result<()> {
        let entry = &mut scanned.entry;
        let mut hasher = Hasher::new();
        self.bytes.clear();
        let mut large = None;
        let mut size = 0u64;
        loop {
            let read = fill(input, &mut self.piece)?;
            let Some(piece) = self.piece.get(..read).filter(|p| !p.is_empty()) else {
                break;
            };
            hasher.update(piece);
            if size == 0 && elf::is_elf(piece) && entry.size > IN_MEMORY {
                large = Some(fs::unnamed(&self.scratch).map_err(io::Error::other)?);
            }
            size += read as u64;
            match &mut large {
                Some(file) => {
                    let written = file.write_all(piece).at(fs::TEMPORARY, &self.scratch);
                    written.map_err(io::Error::other)?;
                }
                None if is_kept(&self.bytes, piece, entry.size) => {
                    self.bytes.extend_from_slice(piece);
                }
                None => {}
            }
        }
        entry.sha256 = Some(hasher.finish());
        entry.size = size;
        entry.facts = match large {
            Some(file) => {
                let map = fs::map(&file, &self.scratch).map_err(io::Error::other)?;
                let mut done = 0u64;
                let facts = elf::read_deep_with(&map, &mut |at| {
                    if at > done + STRIDE {
                        fs::forget(&map, done as usize..at as usize);
                        done = at;
                    }
                });
                Some(match facts {
                    Ok(facts) => FileFacts::Elf(Box::new(facts)),
                    Err(error) => FileFacts::BrokenElf(error.to_string()),
                })
            }
            None if self.bytes.len() as u64 == size => facts::of(&entry.path, &self.bytes),
            None => facts::of_start(&self.bytes),
        };
        scanned.distribution = distribution(&entry.path, &self.bytes);
        Ok(())
    }
}

/// Of large files that are no ELF files the beginning is enough.
fn is_kept(have: &[u8], piece: &[u8], size: u64) -> bool {
    have.is_empty() || size <= MAX_TEXT || elf::is_elf(if have.is_empty() { piece } else { have })
}

fn fill(input: &mut dyn Read, piece: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = piece.get_mut(filled..).filter(|r| !r.is_empty()) {
        match input.read(rest) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

/// What the METADATA of a distribution says; its tags stand in another file.
fn distribution(path: &str, bytes: &[u8]) -> Option<DistributionFacts> {
    let dist_info = path.strip_suffix("/METADATA")?;
    if !dist_info.ends_with(".dist-info")
        || !dist_info.rsplit_once('/')?.0.ends_with("/site-packages")
    {
        return None;
    }
    let (facts, _) = metadata::read(bytes).ok()?;
    Some(DistributionFacts {
        dist_info: dist_info.to_owned(),
        ..facts
    })
}

/// The tags that a WHEEL names.
pub(super) fn wheel_tags(bytes: &[u8]) -> Vec<String> {
    let headers = Headers::parse(bytes).ok();
    let all = headers.iter().flat_map(|h| h.all("Tag"));
    all.filter(|tag| tags::expand(tag).is_some()).collect()
}
