//! [`Audited`] → [`PackedBundle`]: one zstd frame put together from segments that are there already.
//!
//! Nothing is compressed again but the few kilobytes that packing makes itself, so packing is a copy of the cached
//! segments with their checksums and the digest of the whole taken on the way. The file appears by rename, complete;
//! a segment whose bytes are not those that were ingested stops it.

mod contents;
mod laid;
mod layers;
mod side;
mod write;

use std::path::{Path, PathBuf};

pub use layers::{PackedLayer, split};

use crate::base::digest::Digest;
use crate::base::fs::{self, FsError};
use crate::base::progress::Progress;
use crate::base::segments::{Encoding, SegmentError};
use crate::build::assemble::Placed;
use crate::build::audit::Audited;
use crate::formats::bundle::{Bundle, BundleFacts, BundleJsonError};
use crate::formats::bundle_reader::BundleReadError;
use crate::formats::manifest::ManifestError;
use crate::formats::recorded::RecordedError;
use crate::formats::tail::TailError;
use crate::formats::tar_entry::TarEntryError;

/// What packing is told beside the tree.
#[derive(Debug, Clone)]
pub struct PackRequest {
    /// What bundle.json says of the product. Floor and host needs are taken from the audit.
    pub facts: BundleFacts,
    /// Digest of the recipe.
    pub recipe: Option<Digest>,
    /// Digest of the lock.
    pub lock: Option<Digest>,
    /// How segments were and are made.
    pub encoding: Encoding,
    /// Folder the bundle is written to; made if needed.
    pub out_dir: PathBuf,
}

/// A bundle on disk.
#[derive(Debug, Clone)]
pub struct PackedBundle {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub size: u64,
    /// Its digest.
    pub sha256: Digest,
    /// Identity: digest of its bundle.json.
    pub identity: Digest,
    /// Its bundle.json.
    pub bundle: Bundle,
    /// The files beside it: `.sha256` and `.json`.
    pub side_files: Vec<PathBuf>,
}

/// Why a bundle could not be packed.
#[derive(Debug, thiserror::Error)]
pub enum PackError {
    /// A file operation failed.
    #[error("could not write the bundle")]
    File(#[from] FsError),
    /// The bundle does not fit.
    #[error("{path} needs {needed} bytes, but its file system has {free} free", path = .path.display())]
    Room {
        /// The bundle's file.
        path: PathBuf,
        /// Bytes it takes.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// A product whose name cannot begin a file name.
    #[error("{0:?} cannot be the name of a bundle: expected letters, digits, '.', '-' and '_'")]
    Name(String),
    /// The segments of a component could not be read.
    #[error("could not read the segments of component {name}")]
    Read {
        /// Name of the component.
        name: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// Segments are not those that were made.
    #[error("cached component {name} is damaged: segment {segment} has another checksum")]
    Damaged {
        /// Its entry in the component cache.
        key: Digest,
        /// Name of the component.
        name: String,
        /// Number of the segment.
        segment: usize,
    },
    /// A bundle's segments could not be read.
    #[error("could not read the segments of {path}", path = .path.display())]
    ReadBundle {
        /// The bundle.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// A bundle whose segments are not those that were written.
    #[error("{path} is damaged: segment {segment} has another checksum", path = .path.display())]
    DamagedBundle {
        /// The bundle.
        path: PathBuf,
        /// Number of the segment.
        segment: usize,
    },
    /// A file that is no bundle whose layers could be written.
    #[error("could not read the bundle {path}", path = .path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<BundleReadError>,
    },
    /// A bundle that cannot be split.
    #[error("{path} cannot be split into layers: {what}", path = .path.display())]
    Layers {
        /// The bundle.
        path: PathBuf,
        /// Why not.
        what: &'static str,
    },
    /// Facts and segments of a component contradict each other.
    #[error("component {name} does not hold together: {what}")]
    Component {
        /// Name of the component.
        name: String,
        /// What is wrong.
        what: &'static str,
    },
    /// Two components bring one path.
    #[error("{path:?} comes from both {first} and {second}")]
    Twice {
        /// The path.
        path: String,
        /// One of the two.
        first: String,
        /// The other.
        second: String,
    },
    /// A path that a component must not bring.
    #[error("component {name} brings {path:?}, which packing makes itself")]
    Reserved {
        /// Name of the component.
        name: String,
        /// The path.
        path: String,
    },
    /// An entry that cannot be written.
    #[error("component {name} has an entry that cannot be written")]
    Entry {
        /// Name of the component.
        name: String,
        /// Why.
        #[source]
        source: TarEntryError,
    },
    /// A segment that could not be made.
    #[error("could not make the segments of the bundle's own files")]
    Segment(#[from] SegmentError),
    /// The end of the bundle could not be made.
    #[error("could not make the end of the bundle")]
    Tail(#[from] TailError),
    /// bundle.json could not be written.
    #[error("could not write bundle.json")]
    Json(#[from] BundleJsonError),
    /// The recorded facts could not be written.
    #[error("could not write the bundle's recorded facts")]
    Recorded(#[from] RecordedError),
    /// A manifest could not be written.
    #[error("could not write the bundle's manifest")]
    Manifest(#[from] ManifestError),
}

impl PackError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(e) => e.hint(),
            Self::Room { path, .. } => Some(format!(
                "free some space on the file system of {}, or choose another folder with --out-dir",
                fs::parent(path).display()
            )),
            Self::Open { source, .. } => source.hint(),
            Self::Damaged { .. } | Self::Read { .. } => {
                Some("run the same command again: the component is then made anew".to_owned())
            }
            _ => None,
        }
    }
}

/// Packs a tree that passed the audit.
pub fn pack(
    audited: &Audited,
    mut request: PackRequest,
    progress: &Progress,
) -> Result<PackedBundle, PackError> {
    let report = audited.report();
    request.facts.floor = report.floor.clone();
    request.facts.host_needs.clone_from(&report.host_needs);
    pack_parts(audited.tree().parts(), &request, progress)
}

/// Packs components as they are given: each path once, the base layer's first. [`pack`] is the way to a bundle.
pub fn pack_parts(
    parts: &[Placed],
    request: &PackRequest,
    progress: &Progress,
) -> Result<PackedBundle, PackError> {
    let contents = contents::contents(parts, request)?;
    let laid = laid::lay(parts, &contents, &request.encoding)?;
    let path = request.out_dir.join(contents.bundle.file_name());
    let sha256 = put(&laid, &path, progress)?;
    let packed = PackedBundle {
        size: laid.size,
        sha256,
        identity: contents.identity,
        side_files: side::paths(&path),
        bundle: contents.bundle,
        path,
    };
    side::write(&packed)?;
    Ok(packed)
}

/// Writes a laid-out file where there is room for it. What stood beside an older one of its name is gone then.
fn put(laid: &laid::Laid, path: &Path, progress: &Progress) -> Result<Digest, PackError> {
    let out_dir = fs::parent(path);
    fs::create_dir_all(out_dir)?;
    // Drafts of killed runs; then whether it can be written to at all, which says more than that there is no room.
    fs::sweep_drafts(out_dir)?;
    drop(fs::Draft::new(path)?);
    let free = fs::free_space(out_dir)?;
    if free < laid.size {
        return Err(PackError::Room {
            path: path.to_owned(),
            needed: laid.size,
            free,
        });
    }
    side::remove(path)?;
    write::write(laid, path, progress)
}
