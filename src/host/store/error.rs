//! What can go wrong with a store.

use std::path::PathBuf;

use crate::base::fs::FsError;
use crate::formats::bundle::BundleJsonError;

/// Why something could not be done with a store.
#[derive(Debug, thiserror::Error)]
pub enum HostStoreError {
    /// A file operation failed.
    #[error("could not use the store")]
    File(#[from] FsError),
    /// No such bundle.
    #[error("no installed bundle is called {what:?} in {}", root.display())]
    Unknown {
        /// As asked for.
        what: String,
        /// Folder of the store.
        root: PathBuf,
        /// Names that are there.
        names: Vec<String>,
    },
    /// Several bundles fit.
    #[error("{what:?} could be any of {}", names.join(", "))]
    Ambiguous {
        /// As asked for.
        what: String,
        /// Those that fit.
        names: Vec<String>,
    },
    /// Nothing is current.
    #[error("no bundle is in use in {}", root.display())]
    NoCurrent {
        /// Folder of the store.
        root: PathBuf,
    },
    /// Nothing was current before.
    #[error("no earlier bundle to go back to is installed in {}", root.display())]
    NoEarlier {
        /// Folder of the store.
        root: PathBuf,
    },
    /// The bundle is in use.
    #[error("{name} is in use")]
    InUse {
        /// Its name.
        name: String,
    },
    /// bundle.json of an installed bundle cannot be read.
    #[error("could not read the description of {name}")]
    Json {
        /// Its name.
        name: String,
        /// Why.
        #[source]
        source: BundleJsonError,
    },
    /// A bundle whose name cannot be a folder's.
    #[error(
        "a bundle with the name {0:?} cannot be installed: expected letters, digits, '.', '+', '-' and '_'"
    )]
    Name(String),
    /// Somebody else holds the store.
    #[error("another bundler process has been changing {} for {seconds} s", root.display())]
    Busy {
        /// Folder of the store.
        root: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
}

impl HostStoreError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(e) => e.hint(),
            Self::Unknown { names, .. } if names.is_empty() => Some(
                "install one with `bundler install FILE`, or name the store with --root; a file or folder is named by a path with `/`".to_owned(),
            ),
            Self::Unknown { names, .. } => Some(format!("installed are: {}", names.join(", "))),
            Self::Ambiguous { .. } => Some("write more of the name".to_owned()),
            Self::NoCurrent { .. } => {
                Some("choose one with `bundler use NAME`; `bundler list` shows them".to_owned())
            }
            Self::NoEarlier { .. } => Some("`bundler list` shows what is installed".to_owned()),
            Self::InUse { .. } => Some(
                "switch to another one first with `bundler use NAME`, or pass --force".to_owned(),
            ),
            Self::Json { name, .. } => Some(format!("run `bundler repair {name}`")),
            Self::Busy { .. } => {
                Some("wait until it has ended, then run the same command again".to_owned())
            }
            Self::Name(_) => None,
        }
    }
}
