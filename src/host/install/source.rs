//! What can be installed: a bundle's file or address, a folder with one bundle, and the same of its layers.

use std::path::{Path, PathBuf};

use url::Url;

use super::remote::Remote;
use super::{AtHand, InstallError, Material, Plan, Supply};
use crate::base::fs::{self, Window};
use crate::base::http::{Http, Redacted};
use crate::base::progress::Progress;
use crate::formats::bundle::Bundle;
use crate::formats::bundle_reader::{Archive, BundleReader};
use crate::formats::component::Layer;
use crate::formats::layer_reader::LayerReader;
use crate::formats::self_extracting;
use crate::host::store::Store;

/// A bundle that can be read, and layers: all of it here, or fetched as far as it is needed.
pub struct Opened<'a> {
    bundle: One<'a>,
    layers: Vec<One<'a>>,
}

/// One file.
struct One<'a> {
    inner: Inner<'a>,
    /// Where it is, without secrets.
    origin: Option<String>,
}

enum Inner<'a> {
    Here(Window),
    There(Box<Remote<'a>>),
}

impl One<'_> {
    fn file(&self) -> &Window {
        match &self.inner {
            Inner::Here(file) => file,
            Inner::There(remote) => remote.file(),
        }
    }

    fn supply(&self) -> &dyn Supply {
        match &self.inner {
            Inner::Here(_) => &AtHand,
            Inner::There(remote) => &**remote,
        }
    }
}

impl Opened<'_> {
    /// What the bundle says of itself.
    pub fn describe(&self) -> Result<Bundle, InstallError> {
        Ok(BundleReader::open(self.bundle.file())?.describe()?.bundle)
    }

    /// The same, checked.
    pub fn plan(&self) -> Result<Plan, InstallError> {
        Plan::new(&BundleReader::open(self.bundle.file())?)
    }

    /// The bundle and its layers, to be read.
    pub fn material(&self) -> Result<Material<'_, &Window>, InstallError> {
        let bundle = BundleReader::open(self.bundle.file())?;
        let mut material = Material::new(bundle, self.bundle.supply());
        for layer in &self.layers {
            material.add(LayerReader::open(layer.file())?, layer.supply());
        }
        Ok(material)
    }

    /// Where all of it is, without secrets: the bundle first. Empty where that cannot be written down.
    pub fn origin(&self) -> Vec<String> {
        let files = std::iter::once(&self.bundle).chain(&self.layers);
        let all: Option<Vec<String>> = files.map(|one| one.origin.clone()).collect();
        all.unwrap_or_default()
    }

    /// Nothing more is needed of it.
    pub fn finish(self) -> Result<(), InstallError> {
        for one in std::iter::once(self.bundle).chain(self.layers) {
            if let Inner::There(remote) = one.inner {
                remote.finish()?;
            }
        }
        Ok(())
    }
}

/// Opens what `sources` name: one bundle, and layers, in any order. The store must be held: what is fetched is kept in it.
pub fn open<'a>(
    store: &Store,
    sources: &[String],
    http: &'a Http,
    progress: &'a Progress,
) -> Result<Opened<'a>, InstallError> {
    let mut all = Vec::new();
    for source in sources {
        match web(source) {
            Some(url) => all.push(One {
                inner: Inner::There(Box::new(Remote::open(store, http, &url, progress)?)),
                origin: Some(Redacted::new(&url).to_string()),
            }),
            None => all.extend(here(source)?),
        }
    }
    sort(all, sources)
}

/// Opens files of this machine alone.
pub fn open_here(sources: &[String]) -> Result<Opened<'static>, InstallError> {
    let mut all = Vec::new();
    for source in sources {
        all.extend(here(source)?);
    }
    sort(all, sources)
}

/// The one bundle, and its layers.
fn sort<'a>(all: Vec<One<'a>>, sources: &[String]) -> Result<Opened<'a>, InstallError> {
    let (mut bundles, mut layers) = (Vec::new(), Vec::new());
    for one in all {
        match Archive::open(one.file())? {
            Archive::Bundle(_) => bundles.push(one),
            Archive::Layer(_) => layers.push(one),
        }
    }
    let shown = sources.join(", ");
    match (bundles.pop(), bundles.is_empty()) {
        (Some(bundle), true) => Ok(Opened { bundle, layers }),
        (Some(_), false) => Err(refuse(
            format!("{shown} are several bundles"),
            "take one after the other",
        )),
        (None, _) => Err(refuse(
            format!("{shown} is a base layer, which is no bundle by itself"),
            "name the file of the app layer too",
        )),
    }
}

/// The files of this machine that a path means.
fn here(source: &str) -> Result<Vec<One<'static>>, InstallError> {
    let open = |path: PathBuf| {
        Ok(One {
            inner: Inner::Here(self_extracting::payload(fs::open(&path)?)),
            origin: path.to_str().map(ToOwned::to_owned),
        })
    };
    files(Path::new(source))?.into_iter().map(open).collect()
}

fn refuse(what: String, hint: &str) -> InstallError {
    InstallError::Source {
        what,
        hint: Some(hint.to_owned()),
    }
}

fn web(source: &str) -> Option<Url> {
    let url = Url::parse(source).ok()?;
    matches!(url.scheme(), "http" | "https").then_some(url)
}

/// The files that a path means, as absolute paths: in a folder the bundle, else its layers.
fn files(path: &Path) -> Result<Vec<PathBuf>, InstallError> {
    let shown = path.display();
    let there = fs::metadata(path)?;
    let there = there.ok_or_else(|| refuse(format!("{shown} does not exist"), "check the path"))?;
    let mut files = vec![path.to_owned()];
    if there.is_dir() {
        files = fs::list(path)?;
        files.retain(|file| name(file).ends_with(".tar.zst"));
        if files.iter().any(|file| layer(file).is_none()) {
            files.retain(|file| layer(file).is_none());
        }
        let count = |layer| {
            files
                .iter()
                .filter(|file| self::layer(file) == layer)
                .count()
        };
        if files.is_empty() {
            let what = format!("{shown} holds no bundle (.tar.zst)");
            return Err(refuse(what, "name a bundle's file"));
        }
        if count(None) > 1 || count(Some(Layer::App)) > 1 {
            let what = format!("{shown} holds several bundles");
            return Err(refuse(what, "name one of its files"));
        }
    }
    let absolute = |file: PathBuf| {
        std::path::absolute(&file).map_err(|source| {
            let error = fs::FsError {
                doing: "find",
                path: file,
                source,
            };
            error.into()
        })
    };
    files.into_iter().map(absolute).collect()
}

fn name(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

/// The layer that a file's name tells.
fn layer(file: &Path) -> Option<Layer> {
    let is_of = |layer: &Layer| name(file).ends_with(&format!(".{}.tar.zst", layer.name()));
    [Layer::Base, Layer::App].into_iter().find(is_of)
}
