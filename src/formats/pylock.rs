//! `pylock.toml` (PEP 751): what uv writes when it resolves, and what we write for uv and pip.
//! Only the wheels of packages are read; text in, types out.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::base::digest::Digest;

/// The major version of the format that is read and written.
const LOCK_VERSION: &str = "1.0";

/// A `pylock.toml`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Pylock {
    /// Version of the format.
    pub lock_version: String,
    /// Who wrote it.
    pub created_by: String,
    /// Python versions it holds for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_python: Option<String>,
    /// Packages. The standard requires the key, even when empty.
    pub packages: Vec<Package>,
}

/// One package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Package {
    /// Normalised name.
    pub name: String,
    /// Version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// When the package is needed (PEP 508 marker).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub marker: Option<String>,
    /// Its source archive, in the standard's form; we take wheels only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sdist: Option<File>,
    /// Its wheels.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wheels: Vec<File>,
}

/// One file of a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct File {
    /// File name; without one, the last part of the address or path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Where it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Url>,
    /// Where it is, as a path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Digests by algorithm.
    #[serde(default)]
    pub hashes: BTreeMap<String, String>,
}

impl File {
    /// The file's name, percent-decoded once.
    pub fn file_name(&self) -> Option<String> {
        if let Some(name) = &self.name {
            return Some(name.clone());
        }
        if let Some(url) = &self.url {
            let last = url.path_segments()?.next_back()?;
            let decoded = percent_decode_str(last).decode_utf8().ok()?;
            return Some(decoded.into_owned());
        }
        Some(self.path.as_ref()?.rsplit('/').next()?.to_owned())
    }

    /// Its sha256, where it has one.
    pub fn sha256(&self) -> Option<Digest> {
        self.hashes.get("sha256")?.parse().ok()
    }
}

/// Why a text is no lock.
#[derive(Debug, thiserror::Error)]
pub enum PylockError {
    /// Not TOML, or not of this shape.
    #[error("not a pylock.toml: {0}")]
    Shape(String),
    /// A format that is not known.
    #[error("lock-version {0:?} is not known: this program reads {LOCK_VERSION}")]
    Version(String),
}

impl Pylock {
    /// A lock of these packages.
    pub fn new(requires_python: String, packages: Vec<Package>) -> Self {
        Self {
            lock_version: LOCK_VERSION.to_owned(),
            created_by: "pointcept-bundler".to_owned(),
            requires_python: Some(requires_python),
            packages,
        }
    }

    /// Reads a lock.
    pub fn parse(text: &str) -> Result<Self, PylockError> {
        let lock: Self = toml::from_str(text)
            .map_err(|e| PylockError::Shape(e.message().lines().collect::<Vec<_>>().join(" ")))?;
        if lock.lock_version.split('.').next() != LOCK_VERSION.split('.').next() {
            return Err(PylockError::Version(lock.lock_version));
        }
        Ok(lock)
    }

    /// Its text.
    pub fn to_text(&self) -> String {
        // An empty list has no `[[packages]]` table, but the standard wants the key.
        toml::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_without_packages_has_the_key() {
        let text = Pylock::new("==3.12.*".into(), Vec::new()).to_text();
        assert!(text.contains("packages = []"), "{text}");
        assert!(Pylock::parse(&text).unwrap().packages.is_empty());
    }

    #[test]
    fn names_are_decoded_once() {
        let name = |url: &str| {
            let text = format!(
                "lock-version = '1.0'\ncreated-by = 'uv'\n[[packages]]\nname = 'a'\nwheels = [{{ url = '{url}', hashes = {{}} }}]"
            );
            Pylock::parse(&text).unwrap().packages[0].wheels[0]
                .file_name()
                .unwrap()
        };
        assert_eq!(name("https://example.org/a-1%2Bcu130.whl"), "a-1+cu130.whl");
        assert_eq!(name("https://example.org/a-1%252B.whl?x=%2F"), "a-1%2B.whl");
        assert_eq!(name("https://example.org/a-1+b.whl"), "a-1+b.whl");
    }

    #[test]
    fn other_formats_are_refused() {
        assert!(Pylock::parse("lock-version = '2.0'\ncreated-by = 'x'\npackages = []").is_err());
        assert!(Pylock::parse("lock-version = '1.0'").is_err());
    }
}
