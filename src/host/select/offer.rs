//! A bundle by what describes it, wherever that stands: in the bundle's own first bytes, in an unpacked tree, in the
//! `<bundle>.json` beside it, or in an index. Nothing more is read of it.

use std::path::{Path, PathBuf};

use crate::base::fs::{self, FsError};
use crate::formats::bundle::{Announcement, BUNDLE_JSON, Bundle, BundleJsonError, MAX_BUNDLE_JSON};
use crate::formats::bundle_reader::{BundleReadError, BundleReader};
use crate::formats::index::{Index, IndexError, MAX_INDEX, Place};
use crate::formats::self_extracting;

/// No `<bundle>.json` or index is larger.
pub const MAX_ANNOUNCEMENT: u64 = MAX_INDEX;

/// A bundle that somebody could take.
#[derive(Debug, Clone)]
pub struct Offer {
    /// Where it is: an address or path.
    pub place: String,
    /// What it is.
    pub bundle: Bundle,
    /// Bytes of its file, where they are known.
    pub packed: Option<u64>,
    /// The folder it lies unpacked in.
    pub tree: Option<PathBuf>,
}

/// Why something offers no bundle.
#[derive(Debug, thiserror::Error)]
pub enum OfferError {
    /// A file operation failed.
    #[error("could not look at what was named")]
    File(#[from] FsError),
    /// Nothing is there.
    #[error("{} is not there", .0.display())]
    Missing(PathBuf),
    /// A folder that is no unpacked bundle.
    #[error("{} is no unpacked bundle: it has no {BUNDLE_JSON}", .0.display())]
    NoTree(PathBuf),
    /// A file that is no bundle.
    #[error("could not read the bundle {}", path.display())]
    Bundle {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<BundleReadError>,
    },
    /// A description that cannot be read.
    #[error("could not read {place}")]
    Json {
        /// Where it stands.
        place: String,
        /// Why.
        #[source]
        source: BundleJsonError,
    },
    /// An index that cannot be read.
    #[error("could not read the index {place}")]
    Index {
        /// Where it stands.
        place: String,
        /// Why.
        #[source]
        source: IndexError,
    },
}

/// What a path offers: a bundle, an unpacked tree, a `<bundle>.json`, or an index.
pub fn of_path(path: &Path) -> Result<Vec<Offer>, OfferError> {
    let place = path.display().to_string();
    let there = fs::metadata(path)?.ok_or_else(|| OfferError::Missing(path.to_owned()))?;
    if there.is_dir() {
        let Some(bytes) = fs::read_if_exists(&path.join(BUNDLE_JSON), MAX_BUNDLE_JSON)? else {
            return Err(OfferError::NoTree(path.to_owned()));
        };
        let bundle = Bundle::parse(&bytes);
        return Ok(vec![Offer {
            bundle: bundle.map_err(|source| OfferError::Json {
                place: place.clone(),
                source,
            })?,
            place,
            packed: None,
            tree: Some(std::path::absolute(path).unwrap_or_else(|_| path.to_owned())),
        }]);
    }
    if path.extension().is_some_and(|ending| ending == "json") {
        let bytes = fs::read(path, MAX_ANNOUNCEMENT)?;
        return of_json(&bytes, &Place::Path(path.to_owned()));
    }
    let broken = |source| OfferError::Bundle {
        path: path.to_owned(),
        source: Box::new(source),
    };
    let reader = BundleReader::open(self_extracting::payload(fs::open(path)?)).map_err(broken)?;
    Ok(vec![Offer {
        bundle: reader.describe().map_err(broken)?.bundle,
        packed: Some(reader.size()),
        place,
        tree: None,
    }])
}

/// What a `<bundle>.json` or an index offers that stands at `from`.
pub fn of_json(bytes: &[u8], from: &Place) -> Result<Vec<Offer>, OfferError> {
    let place = text(from);
    if let Ok(one) = Announcement::parse(bytes) {
        let file = from.join(&one.packed.file).map(|file| text(&file));
        return Ok(vec![Offer {
            place: file.unwrap_or(place),
            packed: Some(one.packed.size),
            bundle: one.bundle,
            tree: None,
        }]);
    }
    let broken = |source| OfferError::Index {
        place: place.clone(),
        source,
    };
    let index = Index::parse(bytes).map_err(broken)?;
    index
        .bundles
        .into_iter()
        .map(|published| {
            Ok(Offer {
                place: text(&from.join(&published.url).map_err(broken)?),
                packed: Some(published.bundle.packed.size),
                bundle: published.bundle.bundle,
                tree: None,
            })
        })
        .collect()
}

/// A place as people read it, without secrets.
fn text(place: &Place) -> String {
    match place {
        Place::Url(url) => crate::base::http::Redacted::new(url).as_str().to_owned(),
        Place::Path(path) => path.display().to_string(),
    }
}
