//! The committed lock: its shape, its strict reader and its writer. Readable TOML in a fixed order, the same bytes for the
//! same content. The reader refuses what no writer of ours makes: an entry without a digest, unknown keys, doubles, file
//! names that are no wheel's or do not fit the target.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
use crate::base::fs::FsError;
use crate::base::python::PythonMinor;
use crate::base::target::{Arch, Target};
use crate::build::recipe::{InterpreterKind, Wanted};
use crate::formats::component::Layer;

/// Version of the lock's shape.
pub const SCHEMA_VERSION: u32 = 1;

const HEADER: &str = "# Made by `bundler lock`. Change the recipe, not this file.\n\n";

/// Every input of one bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lock {
    /// Version of this shape.
    pub schema_version: u32,
    /// Name of the recipe.
    pub recipe: String,
    /// [`Wanted::digest`] of what was resolved.
    pub recipe_digest: Digest,
    /// The target.
    pub target: Target,
    /// Python minor version.
    pub python: PythonMinor,
    /// Version of uv that resolved it.
    pub uv: String,
    /// Only files uploaded before this were looked at (RFC 3339 or a date).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exclude_newer: Option<String>,
    /// Interpreter archives, in the recipe's order, the target's architecture before the other.
    #[serde(default, rename = "interpreter", skip_serializing_if = "Vec::is_empty")]
    pub interpreters: Vec<LockedInterpreter>,
    /// The application source, unless it is a folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<LockedSource>,
    /// Wheels by normalised name.
    #[serde(default, rename = "wheel", skip_serializing_if = "Vec::is_empty")]
    pub wheels: Vec<LockedWheel>,
}

/// One interpreter archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedInterpreter {
    /// Kind of source.
    pub source: InterpreterKind,
    /// Architecture it runs on. That of the other architecture compiles bytecode on a builder of that kind.
    pub arch: Arch,
    /// Full Python version.
    pub version: String,
    /// pbs: the release it is an asset of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// maven: `group:artifact:version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// maven: the classifier.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub classifier: Option<String>,
    /// File name.
    pub file: String,
    /// path: where the recipe says it is, where that is more than the file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Digest of the archive.
    pub sha256: Digest,
    /// Its size, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// The glibc it needs, where that is newer than the recipe's floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glibc: Option<String>,
}

/// The application source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedSource {
    /// Folder under `src/`.
    pub folder: String,
    /// git: the full revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// archive: its file name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// archive: its digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
}

/// One wheel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LockedWheel {
    /// Normalised name.
    pub name: String,
    /// Version, local part included.
    pub version: String,
    /// File name.
    pub file: String,
    /// Digest of the wheel.
    pub sha256: Digest,
    /// Size of the wheel.
    pub size: u64,
    /// Alias of the index.
    pub index: String,
    /// Layer.
    pub layer: Layer,
    /// The index gave no digest: it was computed when the wheel was first fetched.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub computed: bool,
    /// Digest of the metadata its index publishes beside it (PEP 658), which the resolver read: the wheel's own must be equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Digest>,
}

/// Why a lock cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// There is none.
    #[error("no lock for {target} of recipe {recipe}: {} does not exist", path.display())]
    Missing {
        /// Recipe.
        recipe: String,
        /// Target.
        target: Target,
        /// Where it should stand.
        path: PathBuf,
    },
    /// The recipe has changed since.
    #[error("the lock {} is stale: {reason}", path.display())]
    Stale {
        /// The lock.
        path: PathBuf,
        /// What differs.
        reason: String,
        /// Recipe, as asked for.
        recipe: String,
        /// Target.
        target: Target,
    },
    /// It cannot be read.
    #[error("cannot read the lock")]
    Read(#[source] FsError),
    /// It is not what a writer of ours makes.
    #[error("lock {shown}{}: {message}", line.map(|(l, c)| format!(", line {l} column {c}")).unwrap_or_default())]
    Bad {
        /// The lock.
        shown: String,
        /// Line and column, from 1.
        line: Option<(usize, usize)>,
        /// What is wrong.
        message: String,
    },
}

impl LockError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Missing { recipe, target, .. } | Self::Stale { recipe, target, .. } => {
                Some(format!("bundler lock {target} --recipe {recipe}"))
            }
            Self::Read(e) => e.hint(),
            Self::Bad { .. } => {
                Some("`bundler lock TARGET --recipe RECIPE` writes it anew".to_owned())
            }
        }
    }
}

/// File name of the lock of a recipe's target: `NAME.TARGET.lock.toml`.
pub fn file_name(recipe: &str, target: Target) -> String {
    format!("{recipe}.{target}.lock.toml")
}

impl Lock {
    /// Reads and checks a lock; `shown` names it in errors.
    pub fn parse(text: &str, shown: &str) -> Result<Self, LockError> {
        let lock: Self = toml::from_str(text).map_err(|e| bad_toml(shown, text, &e))?;
        super::check::check(&lock).map_err(|message| LockError::Bad {
            shown: shown.to_owned(),
            line: None,
            message,
        })?;
        Ok(lock)
    }

    /// Its text: the bytes that are committed.
    pub fn to_text(&self) -> String {
        let body = toml::to_string(self).unwrap_or_default();
        format!("{HEADER}{body}")
    }

    /// Digest of its text.
    pub fn digest(&self) -> Digest {
        Digest::of(self.to_text().as_bytes())
    }

    /// What makes it stale against a recipe, if anything does.
    pub fn staleness(&self, wanted: &Wanted) -> Option<String> {
        if self.target != wanted.target {
            return Some(format!("it is for {}, not {}", self.target, wanted.target));
        }
        if self.python != wanted.python {
            return Some(format!(
                "it is for Python {}, the recipe says {}",
                self.python, wanted.python
            ));
        }
        super::check::difference(self, wanted)
    }

    /// The wheel of a distribution, by normalised name.
    pub fn wheel(&self, name: &str) -> Option<&LockedWheel> {
        self.wheels.iter().find(|w| w.name == name)
    }

    /// The archive of an interpreter source for an architecture.
    pub fn interpreter(&self, source: InterpreterKind, arch: Arch) -> Option<&LockedInterpreter> {
        self.interpreters
            .iter()
            .find(|i| i.source == source && i.arch == arch)
    }
}

fn bad_toml(shown: &str, text: &str, error: &toml::de::Error) -> LockError {
    let said = error.message().lines().collect::<Vec<_>>().join(" ");
    LockError::Bad {
        shown: shown.to_owned(),
        line: error
            .span()
            .map(|span| crate::build::recipe::line_and_column(text, span.start)),
        message: crate::build::recipe::unknown_key(&said).unwrap_or(said),
    }
}
