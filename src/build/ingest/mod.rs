//! Fetched artifacts → components: tar entries in final form, cut into segments, with facts about each entry.

pub mod bytecode;
pub mod choose;
pub mod engine;
mod error;
pub mod facts;
pub mod inputs;
pub mod interpreter;
pub mod layout;
mod named_paths;
pub mod sidecar;
pub mod source;
pub mod store;
pub mod wheel;

use std::sync::Arc;

pub use error::IngestError;

use crate::base::digest::Digest;
use crate::base::finding::Finding;
use crate::formats::component::ComponentKind;
use crate::formats::distribution::DistributionFacts;

/// Where the bytes of a planned entry come from.
#[derive(Debug, Clone)]
pub enum Content {
    /// Bytes at hand (generated, rewritten, or from a small archive).
    Bytes(Arc<[u8]>),
    /// The member with this number of the plan's zip archive.
    Member(usize),
    /// A file on disk that nobody changes while we read it (a source checkout).
    File(std::path::PathBuf),
    /// A relative symbolic link with this goal.
    Symlink(String),
    /// Another name for an earlier file of the same plan. The member's bytes are read and must equal the goal's.
    Hardlink {
        /// Path of that earlier entry, a plain file.
        target: String,
        /// The zip member that has the same bytes.
        member: usize,
    },
}

/// One entry a component will have.
#[derive(Debug, Clone)]
pub struct PlannedEntry {
    /// Path from the bundle's root, checked.
    pub path: String,
    /// 0o644 or 0o755 (0o777 for links). An ELF program gets 0o755 by the engine.
    pub mode: u32,
    /// Bytes, known before reading.
    pub size: u64,
    /// Where the bytes come from.
    pub content: Content,
    /// Digest the bytes must have (RECORD), checked while they pass.
    pub expected: Option<Digest>,
}

/// The RECORD file a component ends with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordPlan {
    /// Path from the bundle's root of `<dist-info>/RECORD`.
    pub path: String,
    /// Path from the bundle's root of site-packages: rows are relative to it.
    pub site_packages: String,
}

/// What one artifact becomes, before its bytes are read. Made by `wheel`, `interpreter`, `source`; run by `engine`.
#[derive(Debug)]
pub struct Plan {
    /// Normalised distribution name, or `cpython`, `source`.
    pub name: String,
    /// Version, where the artifact has one.
    pub version: Option<String>,
    /// Kind.
    pub kind: ComponentKind,
    /// Digest of the artifact, where it is one file.
    pub artifact: Option<Digest>,
    /// Entries, sorted bytewise by path, RECORD not among them.
    pub entries: Vec<PlannedEntry>,
    /// RECORD, for a wheel; becomes the last entry.
    pub record: Option<RecordPlan>,
    /// The archive that `Content::Member` refers to.
    pub archive: Option<Arc<crate::base::archive::Zip>>,
    /// For a wheel.
    pub distribution: Option<DistributionFacts>,
    /// Things worth telling that are no faults.
    pub notes: Vec<Finding>,
}
