//! Why no lock was made: which target, which package, on which index, and the way out.

use super::uv::UvError;
use crate::base::archive::ArchiveError;
use crate::base::finding::Finding;
use crate::base::fs::FsError;
use crate::base::target::Target;
use crate::build::fetch::FetchError;
use crate::formats::pylock::PylockError;

/// Why nothing was resolved.
#[derive(Debug, thiserror::Error)]
pub enum ResolveError {
    /// uv cannot be used.
    #[error("cannot resolve {target}: uv is needed")]
    Uv {
        /// The target.
        target: Target,
        /// Why.
        #[source]
        source: UvError,
    },
    /// There is no set of versions.
    #[error("no set of wheels fits {target}")]
    NoSolution {
        /// The target.
        target: Target,
        /// What uv says.
        #[source]
        source: Said,
    },
    /// Packages that have no wheel for the target.
    #[error("no wheel of {} fits {target}", names.join(", "))]
    NoWheel {
        /// The target.
        target: Target,
        /// Normalised names.
        names: Vec<String>,
        /// What uv says.
        #[source]
        source: Said,
    },
    /// uv's answer is not what it should be.
    #[error("uv's answer for {target} cannot be used: {message}")]
    Answer {
        /// The target.
        target: Target,
        /// What is wrong.
        message: String,
    },
    /// uv's answer cannot be read.
    #[error("uv's answer for {target} cannot be read")]
    Pylock {
        /// The target.
        target: Target,
        /// Why.
        #[source]
        source: PylockError,
    },
    /// A file could not be written or read.
    #[error("cannot prepare the project for uv")]
    Fs(#[source] FsError),
    /// An index did not answer.
    #[error("could not look {name} up on index {alias}")]
    Index {
        /// Alias.
        alias: String,
        /// Project.
        name: String,
        /// Why.
        #[source]
        source: Box<FetchError>,
    },
    /// A page of files without a wheel that fits.
    #[error("none of the {files} files of index {alias} is a wheel for {target}")]
    EmptyIndex {
        /// Alias.
        alias: String,
        /// Target.
        target: Target,
        /// Files on the page.
        files: usize,
    },
    /// uv took a file from somewhere else.
    #[error("{file} is not on index {alias}, where it belongs: uv saw it at {from}")]
    NotListed {
        /// File.
        file: String,
        /// Alias.
        alias: String,
        /// Host.
        from: String,
    },
    /// A locked file is on its index no more.
    #[error("{file} is not on index {alias} any more")]
    Gone {
        /// File.
        file: String,
        /// Alias.
        alias: String,
    },
    /// The index lists other bytes than uv saw.
    #[error("{file} has sha256 {listed} on index {alias}, but uv saw {seen}")]
    OtherBytes {
        /// File.
        file: String,
        /// Alias.
        alias: String,
        /// Digest on the page.
        listed: String,
        /// Digest uv saw.
        seen: String,
    },
    /// Wheels of another accelerator.
    #[error("{} of the chosen wheels {} not for {target}: {}", findings.len(), if findings.len() == 1 { "is" } else { "are" }, first(findings))]
    Accelerator {
        /// The target.
        target: Target,
        /// One for each such wheel.
        findings: Vec<Finding>,
    },
    /// The source's revision is not known.
    #[error("could not find revision {rev} of the source: {message}")]
    Revision {
        /// As the recipe says it.
        rev: String,
        /// Why.
        message: String,
    },
    /// A wheel of the source was made of another revision.
    #[error("{file} on index {alias} was not made of the source's revision {revision}")]
    OtherRevision {
        /// The wheel.
        file: String,
        /// Alias.
        alias: String,
        /// The source's revision.
        revision: String,
    },
    /// No uv for this machine.
    #[error("there is no uv program here, and none is known that could be fetched")]
    NoUv,
    /// The fetched uv cannot be unpacked.
    #[error("the fetched uv cannot be unpacked")]
    BadUv(#[source] Box<ArchiveError>),
    /// The recipe wants a package from an index whose address is not known.
    #[error("index {alias} has no address")]
    NoAddress {
        /// Alias.
        alias: String,
    },
}

fn first(findings: &[Finding]) -> &str {
    findings.first().map_or("", |f| f.message.as_str())
}

/// What uv said, without its own prefix.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Said(pub String);

/// The way out of what uv could not resolve, by its words.
fn no_solution(said: &str) -> &'static str {
    if said.contains("Failed to") {
        "the file or address it names is at fault: get the file again, pin another version, or give another address with --index ALIAS=URL"
    } else if said.contains("was not found") {
        "correct the name, or list it in the [[packages]] group of the index that has it; `bundler check-wheelhouse` says what a wheelhouse lacks"
    } else {
        "loosen the requirements in the recipe; pins of the lock that is there move with --upgrade, and --exclude-newer hides what is newer"
    }
}

impl ResolveError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::Uv { source, .. } => source.hint(),
            Self::NoWheel { names, .. } => format!(
                "source archives are never built here: pin a version of {} that has a wheel, take it from a wheelhouse that has one, or list it under `without` of this target",
                names.join(", ")
            ),
            Self::NoAddress { alias } => format!("--index {alias}=URL"),
            Self::Fs(e) => return e.hint(),
            Self::Index { source, .. } => return source.hint(),
            Self::EmptyIndex { alias, .. } => {
                format!("check the address: --index {alias}=URL, or the wheelhouse itself: bundler check-wheelhouse")
            }
            Self::Accelerator { findings, .. } => return findings.first()?.hint.clone(),
            Self::OtherRevision { .. } => {
                "take the wheelhouse that was built of this revision, or pin the revision it was built of (`rev` of [source])".to_owned()
            }
            Self::Revision { .. } => "give the full revision of 40 digits as `rev` of [source]".to_owned(),
            Self::NoSolution { source: Said(said), .. } => no_solution(said).to_owned(),
            Self::NotListed { alias, .. } | Self::OtherBytes { alias, .. } => format!(
                "tell who runs index {alias}, give another address of it with --index {alias}=URL, or list the package in the group of another index"
            ),
            Self::Gone { .. } => {
                "`bundler lock --upgrade-package NAME` takes a version that is there".to_owned()
            }
            Self::Answer { .. } | Self::Pylock { .. } => {
                "this uv may be newer than bundler knows: name another with --uv PROGRAM".to_owned()
            }
            Self::NoUv => "install uv (`pip install uv`), or name it with --uv PROGRAM".to_owned(),
            Self::BadUv(_) => return None,
        })
    }
}
