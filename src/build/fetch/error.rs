//! Why an artifact could not be fetched: which artifact, where it was looked for, what was wrong, what to do.

use std::path::PathBuf;

use super::address::AddressError;
use crate::base::digest::Digest;
use crate::base::fs::{CACHE, FsError};
use crate::base::http::{HttpError, Redacted};
use crate::base::space::NoSpace;
use crate::formats::simple_index::PageError;

/// Why an artifact could not be fetched.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// All places were tried; the cause is the first one's.
    #[error("could not fetch {label}")]
    Artifact {
        /// The artifact.
        label: String,
        /// Why the first place did not give it.
        #[source]
        source: Box<FetchError>,
    },
    /// The artifact has no place to be found in.
    #[error("no place is known to take it from")]
    NoPlace,
    /// Not in the cache, and nothing else may be asked.
    #[error("it is not in the cache, and --offline forbids to ask {place}")]
    Offline {
        /// Where it would be.
        place: String,
    },
    /// Bytes that are not the wanted ones, twice.
    #[error("{from} gave other bytes than the lock names: {what}")]
    WrongBytes {
        /// Where they came from.
        from: String,
        /// Sizes or digests.
        what: String,
    },
    /// A server that does not stick to what it says of ranges.
    #[error("{url} begins anew each time: {why}")]
    Restarts {
        /// Address.
        url: Redacted,
        /// What it did last.
        why: &'static str,
    },
    /// The file is not on its index.
    #[error("{file} is not on {place}; {}", seen(.near))]
    NotListed {
        /// File name.
        file: String,
        /// Page or folder.
        place: String,
        /// Some names that are there.
        near: Vec<String>,
    },
    /// The index has other bytes under this name.
    #[error("{file} on {place} has sha256 {listed}, the lock names {wanted}")]
    ListedDigest {
        /// File name.
        file: String,
        /// Page.
        place: String,
        /// Digest on the page.
        listed: Digest,
        /// Digest in the lock.
        wanted: Digest,
    },
    /// A page without any file.
    #[error("{place} lists no file at all")]
    NoFiles {
        /// Page.
        place: String,
    },
    /// A page that could not be read.
    #[error("could not read the page {place}")]
    Page {
        /// Page.
        place: String,
        /// Why.
        #[source]
        source: PageError,
    },
    /// An alias that is not known.
    #[error("no index is named {alias:?}")]
    Alias {
        /// Alias.
        alias: String,
    },
    /// An alias whose address has the wrong form for its use.
    #[error("{alias} points at {address}, which {why}")]
    AddressForm {
        /// Alias.
        alias: String,
        /// Address.
        address: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The machine has no default index.
    #[error(
        "this machine's default package index is not known: neither settings nor pip nor uv name one"
    )]
    NoDefaultIndex,
    /// An address that cannot be used.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Maven did not give it.
    #[error("mvn could not get {artifact}: {what}")]
    Maven {
        /// Coordinates.
        artifact: String,
        /// The last thing mvn said, or why it was stopped.
        what: String,
    },
    /// A name that must not be written.
    #[error("{name:?} is not a plain file name")]
    Name {
        /// The name.
        name: String,
    },
    /// The cache cannot be written.
    #[error("the cache {} cannot be used", cache.display())]
    Cache {
        /// Its root.
        cache: PathBuf,
        /// Why.
        #[source]
        source: FsError,
    },
    /// Not enough room.
    #[error(transparent)]
    Space(#[from] NoSpace),
    /// The network.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A file.
    #[error(transparent)]
    File(#[from] FsError),
    /// The receiver went away.
    #[error("the download was stopped")]
    Stopped,
}

fn seen(near: &[String]) -> String {
    if near.is_empty() {
        return "no file of its project is there".to_owned();
    }
    format!("near names there: {}", near.join(", "))
}

impl FetchError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Artifact { source, .. } => return source.hint(),
            Self::Http(e) => return e.hint(),
            Self::File(e) => return e.hint(),
            Self::Space(e) => return Some(e.hint()),
            Self::Cache { source, .. } => {
                let hint = source.hint_or(CACHE);
                return Some(hint.unwrap_or_else(|| format!("choose {CACHE}")));
            }
            Self::Offline { .. } => {
                "run once without --offline; `make` also takes a folder that `bundler fetch --mirror DIR` wrote, with --mirror DIR"
            }
            Self::WrongBytes { .. } | Self::ListedDigest { .. } => {
                "the file was replaced after the lock was made, or a proxy changes it; `bundler lock --upgrade-package NAME` takes the new one"
            }
            Self::Restarts { .. } => {
                "the server cannot continue a broken transfer: use a mirror, with --index ALIAS=URL"
            }
            Self::NotListed { .. } | Self::NoFiles { .. } => {
                "check the address of the index (--index ALIAS=URL), or lock again with `bundler lock`"
            }
            Self::Alias { alias } => {
                return Some(format!("give its address with --index {alias}=URL"));
            }
            Self::NoDefaultIndex => {
                "name one with --default-index URL or PIP_INDEX_URL, or install pip or uv"
            }
            Self::Maven { .. } => {
                "install Maven, or give another address with --index maven=URL, or another source with --interpreter NAME"
            }
            _ => return None,
        };
        Some(text.to_owned())
    }

    /// Whether a place answered with bytes that are not the wanted ones: never a reason to try another source.
    pub fn is_wrong_bytes(&self) -> bool {
        match self {
            Self::WrongBytes { .. } | Self::ListedDigest { .. } => true,
            Self::Artifact { source, .. } => source.is_wrong_bytes(),
            _ => false,
        }
    }

    /// Whether a file or folder here is at fault, which no other source mends.
    pub fn is_of_this_machine(&self) -> bool {
        match self {
            Self::Cache { .. } | Self::Space(_) => true,
            Self::File(e) => e.source.kind() != std::io::ErrorKind::NotFound,
            Self::Artifact { source, .. } => source.is_of_this_machine(),
            _ => false,
        }
    }

    /// Whether the place says that there is no such thing (and another look at the index may help).
    pub(super) fn is_stale_address(&self) -> bool {
        use crate::base::http::HttpError::Status;
        match self {
            Self::Http(Status {
                status: 403 | 404 | 410,
                ..
            })
            | Self::WrongBytes { .. } => true,
            Self::Artifact { source, .. } => source.is_stale_address(),
            _ => false,
        }
    }
}
