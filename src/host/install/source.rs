//! What can be installed: a bundle's file, a folder with one bundle, an address.

use std::path::{Path, PathBuf};

use url::Url;

use super::remote::Remote;
use super::{AtHand, InstallError, InstallOptions, Receipt, Supply, install};
use crate::base::fs::{self, File};
use crate::base::http::{Http, Redacted};
use crate::base::progress::Progress;
use crate::formats::bundle_reader::BundleReader;
use crate::host::store::Store;

/// A bundle that can be read: all of it here, or fetched as far as it is needed.
pub struct Opened<'a> {
    inner: Inner<'a>,
    /// Where it is, without secrets.
    pub origin: Option<String>,
}

enum Inner<'a> {
    Here(File),
    There(Box<Remote<'a>>),
}

impl Opened<'_> {
    /// The bundle.
    pub fn reader(&self) -> Result<BundleReader<&File>, InstallError> {
        match &self.inner {
            Inner::Here(file) => Ok(BundleReader::open(file)?),
            Inner::There(remote) => remote.reader(),
        }
    }

    /// Where its segments come from.
    pub fn supply(&self) -> &dyn Supply {
        match &self.inner {
            Inner::Here(_) => &AtHand,
            Inner::There(remote) => &**remote,
        }
    }

    /// Nothing more is needed of it.
    pub fn finish(self) -> Result<(), InstallError> {
        match self.inner {
            Inner::Here(_) => Ok(()),
            Inner::There(remote) => remote.finish(),
        }
    }
}

/// Opens what `source` names. The store must be held: what is fetched is kept in it.
pub fn open<'a>(
    store: &Store,
    source: &str,
    http: &'a Http,
    progress: &'a Progress,
) -> Result<Opened<'a>, InstallError> {
    if let Some(url) = web(source) {
        let remote = Remote::open(store, http, &url, progress)?;
        return Ok(Opened {
            inner: Inner::There(Box::new(remote)),
            origin: Some(Redacted::new(&url).to_string()),
        });
    }
    let path = bundle_file(Path::new(source))?;
    Ok(Opened {
        inner: Inner::Here(fs::open(&path)?),
        origin: path.to_str().map(ToOwned::to_owned),
    })
}

/// Installs from a path or an address. The store must be held.
pub fn install_from(
    store: &Store,
    source: &str,
    http: &Http,
    mut options: InstallOptions,
    progress: &Progress,
) -> Result<Receipt, InstallError> {
    let opened = open(store, source, http, progress)?;
    options.origin.clone_from(&opened.origin);
    let receipt = install(
        store,
        &opened.reader()?,
        opened.supply(),
        &options,
        progress,
    )?;
    opened.finish()?;
    Ok(receipt)
}

fn web(source: &str) -> Option<Url> {
    let url = Url::parse(source).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

/// The bundle's file that a path means, as an absolute path.
fn bundle_file(path: &Path) -> Result<PathBuf, InstallError> {
    let refuse = |what: String, hint: &str| InstallError::Source {
        what,
        hint: Some(hint.to_owned()),
    };
    let shown = path.display();
    let there = fs::metadata(path)?;
    let there = there.ok_or_else(|| refuse(format!("{shown} does not exist"), "check the path"))?;
    let file = if there.is_dir() {
        let mut found: Vec<PathBuf> = fs::list(path)?;
        found.retain(|file| file.to_string_lossy().ends_with(".tar.zst"));
        match found.as_slice() {
            [one] => one.clone(),
            [] => {
                let what = format!("{shown} holds no bundle (.tar.zst)");
                return Err(refuse(what, "name a bundle's file"));
            }
            _ => {
                let what = format!("{shown} holds several bundles");
                return Err(refuse(what, "name one of its files"));
            }
        }
    } else {
        path.to_owned()
    };
    let absolute = std::path::absolute(&file).map_err(|source| fs::FsError {
        doing: "find",
        path: file,
        source,
    })?;
    Ok(absolute)
}
