//! index.json: which bundles are published, and where. A list of addresses, each with the content of the `<bundle>.json`
//! that stands beside the bundle, so that a host can choose before it downloads anything. An address may be relative to
//! the index's own. Unknown keys are passed over: later versions of this file may say more.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use url::Url;

use super::bundle::Announcement;

/// Version of the schema.
pub const SCHEMA_VERSION: u32 = 1;

/// No index is larger.
pub const MAX_INDEX: u64 = 256 << 20;

/// What is published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The bundles, in the publisher's order.
    pub bundles: Vec<Published>,
}

/// A published bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Published {
    /// Where it lies: absolute, or relative to the index.
    pub url: String,
    /// Content of its `<bundle>.json`.
    pub bundle: Announcement,
}

/// Why bytes are no index.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// Another schema.
    #[error("the index has schema version {0}, this program reads {SCHEMA_VERSION}")]
    Version(u64),
    /// Not the JSON expected.
    #[error("the index does not have the expected form")]
    Json(#[source] serde_json::Error),
    /// An address that cannot be used.
    #[error("the index names {0:?}, which is no usable address")]
    Address(String),
}

/// Where a file is: an address, or a path on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// On a server.
    Url(Url),
    /// Here.
    Path(PathBuf),
}

impl Place {
    /// What a person typed: an `http(s)` or `file` address, else a path below `dir`.
    pub fn parse(text: &str, dir: &Path) -> Self {
        match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Self::Url(url),
            Ok(url) if url.scheme() == "file" => match url.to_file_path() {
                Ok(path) => Self::Path(path),
                Err(()) => Self::Path(dir.join(text)),
            },
            _ => Self::Path(dir.join(text)),
        }
    }

    /// `address` as seen from this file (RFC 3986 for servers, the same folder for paths).
    pub fn join(&self, address: &str) -> Result<Self, IndexError> {
        let bad = || IndexError::Address(address.to_owned());
        if let Ok(url) = Url::parse(address) {
            return match url.scheme() {
                "http" | "https" => Ok(Self::Url(url)),
                // A server must not send its readers into their own file systems.
                "file" if matches!(self, Self::Path(_)) => {
                    url.to_file_path().map(Self::Path).map_err(|()| bad())
                }
                _ => Err(bad()),
            };
        }
        match self {
            Self::Url(base) => match base.join(address) {
                Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(Self::Url(url)),
                _ => Err(bad()),
            },
            Self::Path(index) => {
                let decoded = percent_encoding::percent_decode_str(address);
                let name = decoded.decode_utf8().map_err(|_| bad())?;
                let folder = index.parent().unwrap_or(Path::new("."));
                Ok(Self::Path(folder.join(name.as_ref())))
            }
        }
    }
}

impl Index {
    /// Reads it; a newer schema is told from a broken file.
    pub fn parse(bytes: &[u8]) -> Result<Self, IndexError> {
        #[derive(Deserialize)]
        struct Version {
            schema_version: u64,
        }
        let version: Version = serde_json::from_slice(bytes).map_err(IndexError::Json)?;
        if version.schema_version != u64::from(SCHEMA_VERSION) {
            return Err(IndexError::Version(version.schema_version));
        }
        serde_json::from_slice(bytes).map_err(IndexError::Json)
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, IndexError> {
        let mut out = serde_json::to_vec_pretty(self).map_err(IndexError::Json)?;
        out.push(b'\n');
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_relative_to_the_index() {
        let dir = Path::new("/w");
        let web = Place::parse("https://h.example/a/index.json", dir);
        let local = Place::parse("pub/index.json", dir);
        let url = |text: &str| Place::Url(text.parse().unwrap());
        assert_eq!(
            web.join("b%2Bc/x.tar.zst").unwrap(),
            url("https://h.example/a/b%2Bc/x.tar.zst")
        );
        assert_eq!(
            web.join("https://o.example/x").unwrap(),
            url("https://o.example/x")
        );
        assert_eq!(
            local.join("b%2Bc/x.tar.zst").unwrap(),
            Place::Path("/w/pub/b+c/x.tar.zst".into())
        );
        assert_eq!(
            local.join("file:///m/x").unwrap(),
            Place::Path("/m/x".into())
        );
        assert!(
            web.join("file:///etc/passwd").is_err(),
            "a server does not name files of its readers"
        );
        assert!(web.join("ftp://h.example/x").is_err());
    }

    #[test]
    fn tells_a_newer_schema_from_a_broken_file() {
        let newer = br#"{"schema_version": 2, "else": 1}"#;
        assert!(matches!(Index::parse(newer), Err(IndexError::Version(2))));
        assert!(matches!(Index::parse(b"[]"), Err(IndexError::Json(_))));
        let empty = Index::parse(br#"{"schema_version": 1, "bundles": []}"#).unwrap();
        assert_eq!(Index::parse(&empty.to_bytes().unwrap()).unwrap(), empty);
    }
}
