//! Zip archives behind a strict gate: `Zip::open` accepts an archive only if every reader sees the same members in it,
//! with safe names, known packing and sizes that hold. Then any number of threads may read members at once.
//! Members are those of the directory; local headers, descriptors and the layout of the file are checked against it,
//! and the `zip` crate, as a second reader, must find the same list. Nothing is unpacked here.

mod directory;
mod end;
mod fault;
mod fields;
mod gate;
mod inflate;
mod local;
mod reader;
mod second;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

pub use fault::{ArchiveError, ContainerFault, MemberFault};
pub use reader::MemberReader;

use super::name::escaped;
use crate::base::finding::Finding;
use crate::base::fs::{self, Stamp};

/// Most members of one archive.
pub const MAX_MEMBERS: u64 = 500_000;
/// Most bytes of one archive's directory.
pub const MAX_DIRECTORY: u64 = 256 << 20;

/// How a member is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Not at all.
    Stored,
    /// DEFLATE.
    Deflate,
    /// One zstd frame.
    Zstd,
}

impl Method {
    fn read(number: u16) -> Result<Self, MemberFault> {
        match number {
            0 => Ok(Self::Stored),
            8 => Ok(Self::Deflate),
            93 => Ok(Self::Zstd),
            other => Err(MemberFault::Method(other)),
        }
    }
}

/// A file or folder of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Checked relative path, without the slash at a folder's end.
    pub name: String,
    /// How it is packed.
    pub method: Method,
    /// Checksum of the unpacked bytes.
    pub crc32: u32,
    /// Bytes in the archive.
    pub packed: u64,
    /// Bytes when unpacked; a reader gives exactly these or an error.
    pub unpacked: u64,
    /// Permission bits (0o777 at most), where the archive was made on a Unix.
    pub mode: Option<u32>,
    /// A folder: no bytes.
    pub is_dir: bool,
    start: usize,
    end: usize,
}

/// A zip archive that passed the gate.
pub struct Zip {
    name: String,
    watched: OnceLock<(PathBuf, Stamp)>,
    bytes: Bytes,
    members: Vec<Member>,
    notes: Vec<Finding>,
    read: AtomicU64,
}

/// After so many bytes read, a mapped archive lets go of its memory: archives are larger than what may be held.
const FORGET: u64 = 16 << 20;

enum Bytes {
    Mapped(fs::Mmap),
    Held(Vec<u8>),
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Held(bytes) => bytes,
        }
    }
}

impl std::fmt::Debug for Zip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Zip")
            .field("name", &self.name)
            .field("members", &self.members.len())
            .finish_non_exhaustive()
    }
}

impl Zip {
    /// Says which file it is mapped from and how that looked when its digest was taken, if others may write to it.
    pub fn watch(&self, path: PathBuf, stamp: Stamp) {
        let _ = self.watched.set((path, stamp));
    }

    /// Whether a watched file still is what it was; true of one that is not watched.
    pub fn is_unchanged(&self) -> bool {
        let watched = self.watched.get();
        watched.is_none_or(|(path, then)| Stamp::of(path).is_ok_and(|now| now == Some(*then)))
    }

    /// Opens an archive on disk; it is mapped, so nobody may cut the file while this value lives.
    ///
    /// # Errors
    /// A file that cannot be read, and every archive the gate refuses.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        Self::open_without(path, |_| false)
    }

    /// Like [`Zip::open`], but members that `left_out` names are neither listed nor compared with other names (an archive
    /// may hold names that cannot stand side by side everywhere). All else is checked of them as well.
    ///
    /// # Errors
    /// As [`Zip::open`].
    pub fn open_without(
        path: &Path,
        left_out: impl Fn(&str) -> bool,
    ) -> Result<Self, ArchiveError> {
        let name = path.file_name().unwrap_or(path.as_os_str());
        Self::map(path, escaped(name.as_encoded_bytes()), left_out)
    }

    /// Like [`Zip::open_without`], with the name the archive has for people.
    ///
    /// # Errors
    /// As [`Zip::open`].
    pub fn open_without_as(
        path: &Path,
        name: &str,
        left_out: impl Fn(&str) -> bool,
    ) -> Result<Self, ArchiveError> {
        Self::map(path, escaped(name.as_bytes()), left_out)
    }

    /// Like [`Zip::open`], with the name the archive has for people: a cache keeps it under its digest.
    ///
    /// # Errors
    /// As [`Zip::open`].
    pub fn open_as(path: &Path, name: &str) -> Result<Self, ArchiveError> {
        Self::map(path, escaped(name.as_bytes()), |_| false)
    }

    fn map(
        path: &Path,
        name: String,
        left_out: impl Fn(&str) -> bool,
    ) -> Result<Self, ArchiveError> {
        let mapped = fs::open(path).and_then(|file| {
            let empty = fs::metadata(path)?.is_some_and(|m| m.len() == 0);
            Ok(if empty {
                Bytes::Held(Vec::new())
            } else {
                Bytes::Mapped(fs::map(&file, path)?)
            })
        });
        match mapped {
            Ok(bytes) => Self::new(name, bytes, left_out),
            Err(source) => Err(ArchiveError::File {
                archive: name,
                source,
            }),
        }
    }

    /// Opens an archive that is in memory; `name` is for messages.
    ///
    /// # Errors
    /// Every archive the gate refuses.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, ArchiveError> {
        Self::new(escaped(name.as_bytes()), Bytes::Held(bytes), |_| false)
    }

    fn new(
        name: String,
        bytes: Bytes,
        left_out: impl Fn(&str) -> bool,
    ) -> Result<Self, ArchiveError> {
        let (members, notes) = gate::read_members(&name, bytes.get(), &left_out)?;
        Ok(Self {
            name,
            watched: OnceLock::new(),
            bytes,
            members,
            notes,
            read: AtomicU64::new(0),
        })
    }

    /// File name of the archive, escaped for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All members, in the order of the directory.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Things worth telling that are no faults: zstd members, padding behind the end.
    pub fn notes(&self) -> &[Finding] {
        &self.notes
    }

    /// So many packed bytes were read.
    fn was_read(&self, bytes: u64) {
        if self.read.fetch_add(bytes, Ordering::Relaxed) + bytes < FORGET {
            return;
        }
        self.read.store(0, Ordering::Relaxed);
        if let Bytes::Mapped(map) = &self.bytes {
            fs::forget(map, 0..map.len());
        }
    }

    /// Sum of all unpacked sizes.
    pub fn unpacked(&self) -> u64 {
        self.members.iter().map(|m| m.unpacked).sum()
    }
}
