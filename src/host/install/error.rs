//! Why a bundle cannot be installed.

use std::path::PathBuf;

use crate::base::digest::Digest;
use crate::base::fs::FsError;
use crate::base::http::{HttpError, Redacted};
use crate::formats::bundle_reader::BundleReadError;
use crate::formats::component::Layer;
use crate::formats::tar_reader::TarReadError;
use crate::host::store::HostStoreError;

/// Why a bundle cannot be installed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A file operation failed.
    #[error("could not write the bundle's files")]
    File(#[from] FsError),
    /// The store cannot be used.
    #[error(transparent)]
    Store(#[from] HostStoreError),
    /// The bundle cannot be read.
    #[error("could not read the bundle")]
    Read(#[from] BundleReadError),
    /// The bundle could not be fetched.
    #[error("could not fetch the bundle")]
    Fetch(#[from] HttpError),
    /// What the bundle says of itself does not hold together.
    #[error("the bundle is refused: {what}")]
    Whole {
        /// What is wrong.
        what: String,
    },
    /// A path that must not be written.
    #[error("the bundle is refused: {path:?} cannot be installed: {what}")]
    Path {
        /// The path.
        path: String,
        /// What is wrong with it.
        what: String,
    },
    /// The archive of a component is damaged.
    #[error("could not read component {component}")]
    Archive {
        /// Name of the component.
        component: String,
        /// Why.
        #[source]
        source: TarReadError,
    },
    /// A component that is in none of the files given, nor in the store.
    #[error("component {component} is in the {} layer, which neither these files nor the store have", layer.name())]
    NoComponent {
        /// Name of the component.
        component: String,
        /// Its layer.
        layer: Layer,
        /// The id of that layer.
        id: Option<Digest>,
    },
    /// An entry that is not what the bundle's list says.
    #[error("component {component} is refused: {path:?} {what}")]
    Entry {
        /// Name of the component.
        component: String,
        /// Path of the entry.
        path: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Another bundle than the one asked for.
    #[error("this is another bundle: its identity is {found}, expected {expected}")]
    Identity {
        /// As asked for.
        expected: Digest,
        /// As found.
        found: Digest,
    },
    /// Not enough bytes.
    #[error("{} needs {needed} bytes, but its file system has {free} free", path.display())]
    Room {
        /// Folder of the store.
        path: PathBuf,
        /// Bytes it takes.
        needed: u64,
        /// Bytes that are free.
        free: u64,
    },
    /// Not enough inodes.
    #[error("{} needs {needed} files and folders, but its file system has room for {free}", path.display())]
    Inodes {
        /// Folder of the store.
        path: PathBuf,
        /// Files and folders it takes.
        needed: u64,
        /// How many more the file system can hold.
        free: u64,
    },
    /// Something stands where a bundle would be unpacked.
    #[error("{} is there already", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// Programs would not run there.
    #[error("the file system of {} is mounted noexec: nothing on it can be run", path.display())]
    Noexec {
        /// Folder of the store.
        path: PathBuf,
    },
    /// The file on the server is another one than when fetching it began, or the server mixes up its parts.
    #[error("{url} changed while it was being fetched, or is damaged there")]
    Changed {
        /// Address.
        url: Redacted,
    },
    /// Nothing that can be installed.
    #[error("{what}")]
    Source {
        /// What was looked at, and what is wrong with it.
        what: String,
        /// What to do about it.
        hint: Option<String>,
    },
}

impl InstallError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Room { .. } | Self::Inodes { .. } => {
                "free some space (`bundler gc` takes away what no bundle needs), or choose another place (--root DIR; of `unpack`, --prefix DIR)"
            }
            Self::Noexec { .. } => "choose another place with --root DIR",
            Self::Exists { .. } => "take it away, or choose another folder with --prefix DIR",
            Self::Read(_) | Self::Archive { .. } | Self::Entry { .. } => {
                "get the bundle again and compare it with its .sha256 file"
            }
            Self::NoComponent { layer, id, .. } => {
                let name = layer.name();
                let id = id.map_or_else(String::new, |id| format!(" (its id is {id})"));
                return Some(format!(
                    "name the file or address of its {name} layer too{id}"
                ));
            }
            Self::Changed { .. } => "run the same command again",
            Self::Source { hint, .. } => return hint.clone(),
            Self::File(e) => return e.hint(),
            Self::Store(e) => return e.hint(),
            Self::Fetch(e) => return e.hint(),
            _ => return None,
        };
        Some(text.to_owned())
    }
}
