//! Why an artifact did not become a component.

use std::io;

use crate::base::digest::Digest;
use crate::base::fs::FsError;
use crate::base::segments::SegmentError;
use crate::formats::tar_entry::TarEntryError;

use super::bytecode::BytecodeError;
use super::store::StoreError;

/// An error of another stage or module, kept whole.
pub type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why an artifact did not become a component.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The artifact was refused, or could not be read, before its files were.
    #[error("could not ingest {name}")]
    Plan {
        /// Distribution, or `cpython`, `source` …
        name: String,
        /// What the planner said.
        #[source]
        source: Cause,
    },
    /// A file of the artifact could not be read, or is not what the archive's directory says.
    #[error("could not read {path} of {name}")]
    Read {
        /// Distribution.
        name: String,
        /// Path in the bundle.
        path: String,
        /// What the reader said.
        #[source]
        source: io::Error,
    },
    /// A file of a mirror that somebody wrote to meanwhile.
    #[error("{archive} of {name} was changed while it was read; run it again")]
    Changed {
        /// Distribution.
        name: String,
        /// File name.
        archive: String,
    },
    /// Bytes that are not those of RECORD.
    #[error("{path} of {name} has sha256 {found}, RECORD says {expected}")]
    Record {
        /// Distribution.
        name: String,
        /// Digest of the wheel.
        wheel: Option<Digest>,
        /// Path in the bundle.
        path: String,
        /// As RECORD says.
        expected: Digest,
        /// As read.
        found: Digest,
    },
    /// Metadata that is not what the index published.
    #[error(
        "METADATA of {file} has sha256 {found}, but the lock follows from {published}, which index {alias} published beside it"
    )]
    Metadata {
        /// Wheel.
        file: String,
        /// Alias of its index.
        alias: String,
        /// Of the metadata beside the wheel.
        published: Digest,
        /// Of the wheel's own.
        found: Digest,
    },
    /// More or fewer bytes than planned.
    #[error("{path} of {name} has {found} bytes, expected {expected}")]
    Size {
        /// Distribution.
        name: String,
        /// Path in the bundle.
        path: String,
        /// As planned.
        expected: u64,
        /// As read.
        found: u64,
    },
    /// A hard link whose bytes are not its goal's, or whose goal is no earlier file.
    #[error("{path} of {name} cannot be a hard link to {target}: {what}")]
    Link {
        /// Distribution.
        name: String,
        /// Path in the bundle.
        path: String,
        /// Path in the bundle of the goal.
        target: String,
        /// Why not.
        what: &'static str,
    },
    /// A plan that breaks its own rules: a fault of this program.
    #[error("the plan of {name} is not well-formed: {path} {what}")]
    Malformed {
        /// Distribution.
        name: String,
        /// Path in the bundle.
        path: String,
        /// The rule it breaks.
        what: &'static str,
    },
    /// A path or mode that bundles do not have.
    #[error("could not make an entry of {name}")]
    Entry {
        /// Distribution.
        name: String,
        /// Which and why.
        #[source]
        source: TarEntryError,
    },
    /// zstd refused.
    #[error("could not compress {name}")]
    Encode {
        /// Distribution.
        name: String,
        /// Why.
        #[source]
        source: SegmentError,
    },
    /// A temporary or source file failed.
    #[error("could not ingest {name}")]
    File {
        /// Distribution.
        name: String,
        /// Which and why.
        #[source]
        source: FsError,
    },
    /// Bytecode could not be made.
    #[error("could not compile the Python files of {name}")]
    Bytecode {
        /// Distribution.
        name: String,
        /// Why.
        #[source]
        source: BytecodeError,
    },
    /// The interpreter that compiles is at fault, not what it was to compile.
    #[error("the interpreter that compiles the bundle's Python files cannot be used")]
    Compiler {
        /// Why.
        #[source]
        source: BytecodeError,
    },
    /// No thread could be started.
    #[error("could not start a thread")]
    Threads {
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The component cache failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl IngestError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File { source, .. } => source.hint(),
            Self::Store(source) => source.hint(),
            Self::Record { wheel, .. } => Some(record_hint(*wheel)),
            Self::Metadata { file, .. } => Some(format!(
                "the index describes {file} wrongly: tell who runs it, and take the file from another index or a wheelhouse"
            )),
            Self::Changed { .. } => Some("leave the files of a mirror alone while a bundle is made".into()),
            Self::Read { .. } | Self::Size { .. } => Some(
                "`bundler cache verify` finds files of the cache that were damaged; then run it again".into(),
            ),
            Self::Compiler {
                source: BytecodeError::Prepare(_),
            } => None, // what could not prepare it has its own
            Self::Compiler { .. } => Some(
                "choose another interpreter with --interpreter NAME, or make the bundle with --bytecode none".into(),
            ),
            Self::Bytecode { .. } => {
                Some("make the bundle with --bytecode none; `bytecode` of the recipe says the same".into())
            }
            Self::Threads { .. } => {
                Some("allow this user more processes (`ulimit -u`), or pass -j 1".into())
            }
            Self::Link { .. } | Self::Entry { .. } => Some(
                "its publisher must mend it: pin another version, or take it from a wheelhouse".into(),
            ),
            Self::Malformed { .. } | Self::Encode { .. } => {
                Some("this is a fault of bundler: please report it with the command you gave".into())
            }
            Self::Plan { .. } => None, // what the planner said has its own
        }
    }
}

/// What to do about a wheel whose RECORD is not true of its files.
pub(super) fn record_hint(wheel: Option<Digest>) -> String {
    let sha256 = wheel.map_or_else(|| "(of the wheel)".to_owned(), |d| format!("\"{d}\""));
    format!(
        "its publisher must mend it: pin another version, or put a wheel whose RECORD is right into a wheelhouse; \
         if its files are right all the same, waive it in the recipe: \
         [[wheel_waiver]] sha256 = {sha256}, code = \"record-mismatch\", reason = \"…\""
    )
}
