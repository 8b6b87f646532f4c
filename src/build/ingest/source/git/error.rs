//! Why a git revision could not be had, in words without credentials.

use crate::base::fs::FsError;
use crate::build::ingest::source::SourceError;

/// Why a revision could not be had.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// An address of another kind, or one that git could take for an option.
    #[error("{0:?} is not the address of a git repository: https, ssh, git and file addresses are")]
    Address(String),
    /// No full revision, or a name that is none.
    #[error("{0:?} is not a revision: expected 40 hex digits, a tag or a branch")]
    Revision(String),
    /// The repository has no such tag or branch.
    #[error("{repository} has no tag or branch {name:?}")]
    NoSuchName {
        /// The address, without credentials.
        repository: String,
        /// What was looked for.
        name: String,
    },
    /// A tag or branch has to be asked for, and the network may not be used.
    #[error("which revision {name:?} of {repository} is cannot be asked offline")]
    OfflineName {
        /// The address, without credentials.
        repository: String,
        /// Tag, branch, or `HEAD`.
        name: String,
    },
    /// Not in the cache, and the network may not be used.
    #[error(
        "revision {revision} of {repository} is not in the cache, and nothing may be fetched offline"
    )]
    Offline {
        /// The address, without credentials.
        repository: String,
        /// The revision.
        revision: String,
    },
    /// The program could not be started.
    #[error("could not start {program}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It answered with an error.
    #[error("could not {doing} {repository}: git says: {said}")]
    Failed {
        /// What was tried.
        doing: &'static str,
        /// The address, without credentials.
        repository: String,
        /// The last lines it wrote, without credentials.
        said: String,
    },
    /// Another revision than asked for.
    #[error("{repository} gave revision {found} where {wanted} was asked for")]
    Another {
        /// The address, without credentials.
        repository: String,
        /// What came.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// The cache.
    #[error(transparent)]
    File(#[from] FsError),
    /// What came cannot be shipped.
    #[error("revision {revision} of {repository} cannot be shipped")]
    Source {
        /// The address, without credentials.
        repository: String,
        /// The revision.
        revision: String,
        /// Why.
        #[source]
        source: Box<SourceError>,
    },
}

impl GitError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Start { .. } => {
                Some("install git, or give the source as a folder or an archive".to_owned())
            }
            Self::Revision(_) => {
                Some("an abbreviated revision cannot be asked for: give all 40 digits".to_owned())
            }
            Self::OfflineName { .. } => Some("give the full revision of 40 digits".to_owned()),
            Self::Offline { .. } => Some("run `bundler fetch` with network first".to_owned()),
            Self::File(e) => e.hint(),
            Self::Address(address) if address.starts_with("git+") => {
                Some("leave `git+` out: ADDRESS@REVISION".to_owned())
            }
            Self::Address(_) => Some(
                "give https://HOST/PATH, ssh://HOST/PATH or file:///PATH, with @REVISION behind it, or a folder".to_owned(),
            ),
            Self::NoSuchName { .. } => {
                Some("look at the repository's branches and tags; a revision needs all its 40 digits".to_owned())
            }
            Self::Failed { .. } => Some(
                "try `git ls-remote` with the same address: git's own settings, keys and proxies hold here".to_owned(),
            ),
            Self::Another { .. } => Some("name the revision that is wanted by its 40 digits".to_owned()),
            Self::Source { source, .. } => source.hint(),
        }
    }
}
