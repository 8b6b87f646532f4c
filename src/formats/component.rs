//! A component: what ingesting one artifact gives. Its entries in tar order, the facts about each, and where
//! its segments lie. Facts only: judging them is the audit's work.
//!
//! Paths are relative to the bundle's root folder (`python/bin/python3.12`, not `runtime/python/…`), `/`-separated, UTF-8.

use serde::{Deserialize, Serialize};

use crate::base::digest::{Digest, Hasher};
use crate::formats::elf::ElfFacts;

/// What kind of artifact a component was made from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ComponentKind {
    /// A standalone CPython.
    Interpreter,
    /// A wheel.
    Wheel,
    /// The pinned application source.
    Source,
    /// A distribution of ours that stands in for one that cannot be had.
    Shim,
    /// Shared libraries newer than the host's floor.
    Library,
    /// Layout, launchers, env.sh, provenance and licences.
    Layout,
}

/// Which layer a component belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Interpreter and torch closure, shared between apps.
    Base,
    /// Everything else.
    App,
}

impl Layer {
    /// As in JSON and file names.
    pub fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::App => "app",
        }
    }
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A relative symbolic link that stays in the tree.
    Symlink {
        /// As stored in the link.
        target: String,
    },
    /// Another name for an earlier file of the same component.
    Hardlink {
        /// Path of that earlier entry.
        target: String,
    },
}

/// One path of a component.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Path from the bundle's root.
    pub path: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: EntryKind,
    /// 0o644, 0o755 or (links) 0o777.
    pub mode: u32,
    /// Bytes of a file (of the link's goal for a hard link), else 0.
    #[serde(default)]
    pub size: u64,
    /// Digest of a file's bytes (hard links too).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// What was read out of the bytes while they passed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub facts: Option<FileFacts>,
}

/// What was read out of a file's bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileFacts {
    /// An ELF file.
    Elf(Box<ElfFacts>),
    /// An ELF magic number, but the rest could not be read; the text says why and at which offset.
    BrokenElf(String),
    /// A text file with something in it that the audit judges.
    Text(TextFacts),
}

/// What the audit wants to know of a text file. Kept only where at least one field is not empty.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TextFacts {
    /// The interpreter named by `#!` in the first line, with its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shebang: Option<String>,
    /// Lines of a `.pth` file in site-packages that are paths.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pth_paths: Vec<String>,
    /// Lines of a `.pth` file in site-packages that run code (`import …`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pth_code: Vec<String>,
    /// Absolute paths at which configuration says that things are (`prefix=/install` in a `.pc`, sysconfig, CMake …).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub absolute_paths: Vec<String>,
    /// Paths of folders in which people and machines work (`/home/…`, `/tmp/…`), one for each folder named.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named_paths: Vec<String>,
}

/// One segment of a component, as it lies in the component's cached file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SegmentRef {
    /// Offset in the cached file.
    pub offset: u64,
    /// Bytes of zstd blocks.
    pub packed: u64,
    /// Bytes of tar, a multiple of 512.
    pub unpacked: u64,
    /// XXH3-64 of the zstd blocks.
    pub xxh3: u64,
}

/// What ingesting one artifact gives.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Component {
    /// Cache key: digest of everything ingest read.
    pub key: Digest,
    /// Identity: digest of the canonical entry list, see [`component_id`].
    pub id: Digest,
    /// Distribution name (normalised) or `cpython`, `source`, `layout` …
    pub name: String,
    /// Version, where the artifact has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Kind of artifact.
    pub kind: ComponentKind,
    /// Digest of the artifact's bytes, where it is one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<Digest>,
    /// Entries in tar order (folders are not among them: packing makes those).
    pub entries: Vec<Entry>,
    /// Segments in tar order; together they hold exactly `entries`.
    pub segments: Vec<SegmentRef>,
    /// For a wheel: what its metadata says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub distribution: Option<crate::formats::distribution::DistributionFacts>,
    /// Things worth telling that are no faults (saved bytes by hard links, x bits given, waivers used).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<crate::base::finding::Finding>,
}

/// The identity of a component: sha256 over one line per entry, in bytewise path order:
/// `<path>\0<kind>\0<mode octal>\0<size>\0<sha256 or link target>\n`.
pub fn component_id(entries: &[Entry]) -> Digest {
    let mut sorted: Vec<&Entry> = entries.iter().collect();
    sorted.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    let mut hasher = Hasher::new();
    for entry in sorted {
        let (kind, last) = match &entry.kind {
            EntryKind::File => (
                "file",
                entry.sha256.map(|d| d.to_string()).unwrap_or_default(),
            ),
            EntryKind::Dir => ("dir", String::new()),
            EntryKind::Symlink { target } => ("symlink", target.clone()),
            EntryKind::Hardlink { target } => ("hardlink", target.clone()),
        };
        let line = format!(
            "{}\0{kind}\0{:o}\0{}\0{last}\n",
            entry.path, entry.mode, entry.size
        );
        hasher.update(line.as_bytes());
    }
    hasher.finish()
}
