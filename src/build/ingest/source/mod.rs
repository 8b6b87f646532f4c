//! The pinned application source → a plan with everything under `src/<folder>` and a relative `.pth` line that adds it to
//! Python. A folder, or an archive (tar, tar.gz, tar.zst, zip; a single top folder is taken off). Version control, caches and
//! bytecode stay behind; links that leave the tree, and weights, are refused. A git repository is brought by [`git`] first.

pub mod git;
mod leave_out;
mod pack;

use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::archive::folder::{self, FolderError};
use crate::base::archive::tar::{Kind, Limits, TarError, read_all};
use crate::base::archive::{ArchiveError, Zip};
use crate::base::digest::{Digest, Hasher};
use crate::base::fs::{self, FsError};
use crate::build::ingest::{Content, Plan, PlannedEntry};
use crate::formats::component::{ComponentKind, Entry, EntryKind, component_id};
use crate::formats::tar_entry::TarEntryError;
pub use git::GitError;
use leave_out::{is_left_out, is_weights};
pub use pack::archive;

/// What a source may hold at most.
const LIMITS: Limits = Limits {
    members: 200_000,
    bytes: 1 << 30,
};

/// Which source is to be planned.
#[derive(Debug, Clone)]
pub struct SourceRequest<'a> {
    /// A folder, or a fetched archive (tar, tar.gz, tar.zst, zip).
    pub from: &'a Path,
    /// Digest of the archive, where it is one file.
    pub artifact: Option<Digest>,
    /// Folder below `src/` in the bundle, such as `pointcept`.
    pub folder: &'a str,
    /// Version or revision, for people and bundle.json.
    pub revision: Option<&'a str>,
    /// Site-packages in the bundle: `python/lib/python3.12/site-packages`.
    pub site_packages: &'a str,
}

/// Why no plan could be made.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The folder is refused.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// It cannot be written as an archive.
    #[error("the source cannot be packed for a mirror")]
    Pack(#[from] TarEntryError),
    /// The tar archive is refused.
    #[error(transparent)]
    Tar(#[from] TarError),
    /// The zip archive is refused.
    #[error(transparent)]
    Zip(#[from] ArchiveError),
    /// A file could not be read.
    #[error(transparent)]
    File(#[from] FsError),
    /// A file could not be read to its end.
    #[error("could not read {} of the source", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What failed.
        #[source]
        source: io::Error,
    },
    /// Nothing there.
    #[error("the source {0} holds no files to ship")]
    Empty(String),
    /// The name of the folder in the bundle.
    #[error("{0:?} cannot be the name of a source's folder: letters, digits, `_`, `-` and `.` can")]
    Name(String),
    /// Weights are not for bundles.
    #[error(
        "the source holds {path}, {size} bytes, which look like weights: a bundle never has any"
    )]
    Weights {
        /// Path in the source.
        path: String,
        /// Its size.
        size: u64,
    },
    /// Over the limit.
    #[error("the source {from} has more than {limit} bytes")]
    TooLarge {
        /// The source.
        from: String,
        /// The limit.
        limit: u64,
    },
}

impl SourceError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(e) => e.hint(),
            Self::Tar(e) => e.hint(),
            Self::Zip(e) => e.hint(),
            Self::Empty(_) => Some("give the folder that holds the Python files".to_owned()),
            Self::Weights { .. } => Some(
                "move it out of the source folder; workers are given weights by path".to_owned(),
            ),
            Self::TooLarge { .. } => {
                Some("give a clean checkout, without data sets and results".to_owned())
            }
            _ => None,
        }
    }
}

/// A planned source and what identifies it.
#[derive(Debug)]
pub struct PlannedSource {
    /// The plan, kind `Source`.
    pub plan: Plan,
    /// Digest over the canonical list of what is shipped, whatever it is called in the bundle.
    pub tree: Digest,
}

/// One thing to ship, by its path in the source.
struct Found {
    path: String,
    executable: bool,
    size: u64,
    sha256: Option<Digest>,
    content: Content,
}

/// Plans a source.
///
/// # Errors
/// A source that cannot be read or is refused.
pub fn plan(request: &SourceRequest<'_>) -> Result<PlannedSource, SourceError> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.');
    if !request.folder.bytes().all(allowed)
        || request.folder.starts_with('.')
        || request.folder.is_empty()
    {
        return Err(SourceError::Name(request.folder.to_owned()));
    }
    let label = request.from.display().to_string();
    let (found, archive) = read(request.from)?;
    if found.is_empty() {
        return Err(SourceError::Empty(label));
    }
    let mut total = 0_u64;
    for one in &found {
        total = total.saturating_add(one.size);
        if is_weights(&one.path, one.size) {
            return Err(SourceError::Weights {
                path: one.path.clone(),
                size: one.size,
            });
        }
    }
    if total > LIMITS.bytes {
        return Err(SourceError::TooLarge {
            from: label,
            limit: LIMITS.bytes,
        });
    }
    let tree = tree_digest(&found);
    let top = format!("src/{}", request.folder);
    let mut entries: Vec<PlannedEntry> = found.into_iter().map(|one| planned(one, &top)).collect();
    entries.push(path_file(request, &top));
    entries.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    let plan = Plan {
        name: "source".to_owned(),
        version: request.revision.map(str::to_owned),
        kind: ComponentKind::Source,
        artifact: request.artifact,
        entries,
        record: None,
        archive,
        distribution: None,
        notes: Vec::new(),
    };
    Ok(PlannedSource { plan, tree })
}

/// Digest of a folder as [`plan`] would ship it.
fn folder_digest(path: &Path) -> Result<Digest, SourceError> {
    Ok(tree_digest(&from_folder(path)?))
}

fn read(from: &Path) -> Result<(Vec<Found>, Option<Arc<Zip>>), SourceError> {
    if fs::metadata(from)?.is_some_and(|m| m.is_dir()) {
        return Ok((from_folder(from)?, None));
    }
    let mut magic = [0; 2];
    if fs::open(from)?.read_exact(&mut magic).is_ok() && &magic == b"PK" {
        let (found, zip) = from_zip(from)?;
        return Ok((found, Some(Arc::new(zip))));
    }
    Ok((from_tar(from)?, None))
}

fn from_folder(root: &Path) -> Result<Vec<Found>, SourceError> {
    let mut out = Vec::new();
    for member in folder::members(root, LIMITS.members, &is_left_out)? {
        let path = root.join(&member.path);
        let (content, sha256) = match member.kind {
            Kind::Dir => continue,
            Kind::Symlink(goal) => (Content::Symlink(goal), None),
            Kind::File | Kind::Hardlink(_) => {
                let sha256 = digest_of(&path)?;
                (Content::File(path), Some(sha256))
            }
        };
        out.push(Found {
            path: member.path,
            executable: member.executable,
            size: member.size,
            sha256,
            content,
        });
    }
    Ok(out)
}

fn digest_of(path: &Path) -> Result<Digest, SourceError> {
    let mut hasher = Hasher::new();
    let mut file = fs::open(path)?;
    io::copy(&mut file, &mut hasher).map_err(|source| SourceError::Read {
        path: path.to_owned(),
        source,
    })?;
    Ok(hasher.finish())
}

fn from_tar(from: &Path) -> Result<Vec<Found>, SourceError> {
    let mut out = Vec::new();
    for held in read_all(from, LIMITS, &is_left_out)? {
        let size = held.bytes.len() as u64;
        let (content, sha256) = match held.member.kind {
            Kind::Dir => continue,
            Kind::Symlink(goal) => (Content::Symlink(goal), None),
            Kind::File | Kind::Hardlink(_) => {
                let sha256 = Digest::of(&held.bytes);
                (Content::Bytes(held.bytes), Some(sha256))
            }
        };
        out.push(Found {
            path: held.member.path,
            executable: held.member.executable,
            size,
            sha256,
            content,
        });
    }
    Ok(without_top(out))
}

fn from_zip(from: &Path) -> Result<(Vec<Found>, Zip), SourceError> {
    let zip = Zip::open_without(from, is_left_out)?;
    let mut out = Vec::new();
    let mut bytes = Vec::new();
    let mut total = 0_u64;
    for (number, member) in zip.members().iter().enumerate() {
        total = total.saturating_add(member.unpacked);
        if total > LIMITS.bytes {
            return Err(SourceError::TooLarge {
                from: zip.name().to_owned(),
                limit: LIMITS.bytes,
            });
        }
        if member.is_dir {
            continue;
        }
        zip.read_into(number, LIMITS.bytes, &mut bytes)?;
        out.push(Found {
            path: member.name.clone(),
            executable: member.mode.is_some_and(|mode| mode & 0o100 != 0),
            size: member.unpacked,
            sha256: Some(Digest::of(&bytes)),
            content: Content::Member(number),
        });
    }
    Ok((without_top(out), zip))
}

/// Archives of a revision have one folder at the top that is named after it.
fn without_top(mut found: Vec<Found>) -> Vec<Found> {
    let top = found
        .first()
        .and_then(|one| one.path.split_once('/'))
        .map(|(top, _)| format!("{top}/"));
    if let Some(top) = top.filter(|top| found.iter().all(|one| one.path.starts_with(top.as_str())))
    {
        for one in &mut found {
            one.path = one.path.split_off(top.len());
        }
    }
    found
}

fn mode(one: &Found) -> u32 {
    match (&one.content, one.executable) {
        (Content::Symlink(_), _) => 0o777,
        (_, true) => 0o755,
        (_, false) => 0o644,
    }
}

fn tree_digest(found: &[Found]) -> Digest {
    let entry = |one: &Found| Entry {
        path: one.path.clone(),
        kind: match &one.content {
            Content::Symlink(target) => EntryKind::Symlink {
                target: target.clone(),
            },
            _ => EntryKind::File,
        },
        mode: mode(one),
        size: one.size,
        sha256: one.sha256,
        facts: None,
    };
    component_id(&found.iter().map(entry).collect::<Vec<_>>())
}

fn planned(one: Found, top: &str) -> PlannedEntry {
    PlannedEntry {
        path: format!("{top}/{}", one.path),
        mode: mode(&one),
        size: one.size,
        expected: one.sha256,
        content: one.content,
    }
}

/// The line that adds the source to Python, relative to where it stands.
fn path_file(request: &SourceRequest<'_>, top: &str) -> PlannedEntry {
    let up = "../".repeat(request.site_packages.split('/').count());
    let bytes: Arc<[u8]> = format!("{up}{top}\n").into_bytes().into();
    PlannedEntry {
        path: format!("{}/{}-source.pth", request.site_packages, request.folder),
        mode: 0o644,
        size: bytes.len() as u64,
        expected: Some(Digest::of(&bytes)),
        content: Content::Bytes(bytes),
    }
}
