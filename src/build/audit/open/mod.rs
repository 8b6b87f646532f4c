//! A bundle file or a folder → what can be judged: its tree with facts, what it says of itself, and where the facts come from.
//! Facts are the bundle's own records where it has some; else, or when asked, every byte is read again, and what differs from
//! the records is a finding.

mod bundle;
mod folder;
mod listed;
mod scan;

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::AuditRequest;
use crate::base::finding::Finding;
use crate::base::fs::{self, FsError};
use crate::base::target::Target;
use crate::build::assemble::Told;
use crate::build::recipe::{Recipe, RecipeError};
use crate::formats::bundle::{Bundle, BundleJsonError};
use crate::formats::bundle_reader::BundleReadError;
use crate::formats::floor::NotDotted;
use crate::formats::manifest::ManifestError;
use crate::formats::recorded::RecordedError;

/// Where facts come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FactsFrom {
    /// Components of the cache, whose bytes were read when they were made.
    #[default]
    Cache,
    /// The bundle's own records.
    Records,
    /// Every byte, read again.
    Bytes,
}

/// How something is opened.
#[derive(Debug, Clone)]
pub struct Opening {
    /// Read every byte again.
    pub full: bool,
    /// Threads that read.
    pub threads: NonZeroUsize,
    /// Folder for large files that are unpacked for a moment.
    pub scratch: PathBuf,
}

/// What can be judged.
#[derive(Debug)]
pub struct Opened {
    /// Its tree.
    pub told: Told,
    /// bundle.json, for a bundle or an unpacked one.
    pub bundle: Option<Bundle>,
    /// Where the facts come from.
    pub from: FactsFrom,
    /// Bytes that differ from what the bundle's records say, or its RECORD files.
    pub faults: Vec<Finding>,
    /// What was not read, in words.
    pub unread: Vec<String>,
    /// The recipe it was made from.
    pub recipe: Option<Recipe>,
    /// glibc that its interpreter declares.
    pub interpreter_glibc: Option<String>,
}

/// Why something could not be opened for judging.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// A file operation failed.
    #[error("could not read what is to be audited")]
    File(#[from] FsError),
    /// Not a bundle, or damaged.
    #[error("could not read the bundle {path}", path = .path.display())]
    Bundle {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<BundleReadError>,
    },
    /// The unpacked bundle's description is damaged.
    #[error("could not read bundle.json of {path}", path = .path.display())]
    Json {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: BundleJsonError,
    },
    /// The unpacked bundle's list of files is damaged.
    #[error("could not read files.jsonl of {path}", path = .path.display())]
    Files {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: ManifestError,
    },
    /// The recorded facts are damaged.
    #[error("could not read facts.jsonl of {path}", path = .path.display())]
    Recorded {
        /// The folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: RecordedError,
    },
    /// The recipe inside cannot be read.
    #[error("could not read the recipe the bundle was made from")]
    Recipe(#[source] Box<RecipeError>),
    /// A version of the recipe is none.
    #[error("could not read a version of the recipe the bundle was made from")]
    Version(#[from] NotDotted),
    /// Nothing says what it is made for.
    #[error("{path} does not say for which target it is", path = .0.display())]
    Target(PathBuf),
}

impl OpenError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Target(_) => Some(
                "an unpacked bundle is the folder runtime/ with bundle.json in it; for any other folder pass --target, such as \
                 --target amd64-cu130"
                    .to_owned(),
            ),
            Self::Bundle { source, .. } => source.hint(),
            Self::File(e) => e.hint(),
            _ => None,
        }
    }
}

/// Opens a bundle or a folder.
pub fn open(path: &Path, opening: &Opening) -> Result<Opened, OpenError> {
    if fs::metadata(path)?.is_some_and(|m| m.is_dir()) {
        return folder::open(path, opening);
    }
    bundle::open(path, opening)
}

impl Opened {
    /// What to judge it by: its recipe where it has one, else what bundle.json promises, else the target alone.
    pub fn request(&self, asked: Option<Target>, path: &Path) -> Result<AuditRequest, OpenError> {
        let own = self.bundle.as_ref().map(|b| b.facts.target.target());
        let target = asked
            .or(own)
            .ok_or_else(|| OpenError::Target(path.to_owned()))?;
        let mut request = match &self.recipe {
            Some(recipe) => {
                AuditRequest::new(recipe.keys(), target, self.interpreter_glibc.as_deref())?
            }
            None => AuditRequest::plain(target.arch),
        };
        if let Some(bundle) = &self.bundle {
            let facts = &bundle.facts;
            request.python_version = Some(facts.python.clone());
            let minor = facts
                .python
                .rsplit_once('.')
                .map_or(facts.python.as_str(), |(minor, _)| minor);
            request.python = minor.parse().ok().or(request.python);
            if let Some(arch) = &facts.cuda_arch {
                request.gpus = arch
                    .declared
                    .iter()
                    .filter_map(|d| d.parse().ok())
                    .collect();
            }
            let driver = facts.cuda.as_ref().and_then(|c| c.driver_floor.as_deref());
            request.driver = driver.map(str::parse).transpose()?.or(request.driver);
        }
        Ok(request)
    }
}

/// `x.target.lock`, from the name of a lock without `.toml`.
fn is_lock(stem: &str) -> bool {
    stem.rsplit_once('.')
        .is_some_and(|(_, kind)| kind == "lock")
}

/// The recipe among the files of `provenance/`, and what glibc its interpreter declares.
fn recipe(files: &[(String, Vec<u8>)]) -> Result<(Option<Recipe>, Option<String>), OpenError> {
    use crate::build::recipe::Origin;
    let mut found = None;
    for (path, bytes) in files {
        let name = path.rsplit('/').next().unwrap_or_default();
        if let Some(stem) = name.strip_suffix(".toml").filter(|s| !is_lock(s)) {
            let text = String::from_utf8_lossy(bytes);
            let recipe = Recipe::parse(&text, stem, Origin::File(PathBuf::from(path)));
            found = Some(recipe.map_err(|e| OpenError::Recipe(Box::new(e)))?);
        }
    }
    let how = files
        .iter()
        .find(|(path, _)| path.ends_with("/encoding.json"));
    let how: Option<serde_json::Value> =
        how.and_then(|(_, bytes)| serde_json::from_slice(bytes).ok());
    let kind = how.as_ref().and_then(|h| h.get("interpreter")?.as_str());
    let glibc = found.as_ref().and_then(|recipe: &Recipe| {
        let all = recipe.keys().interpreter.iter();
        all.filter(|i| Some(i.kind.name()) == kind)
            .find_map(|i| i.glibc.clone())
    });
    Ok((found, glibc))
}
