//! Index pages: bytes in, rows out. Simple API JSON (PEP 691, PEP 700) and HTML (PEP 503, 592, 658, 714), find-links pages
//! and release pages of a code forge (HTML fragment or REST answer). No network, no paths.
//!
//! Links are resolved against the page's final address, then its `<base href>` (RFC 3986); a file name is decoded once.

use serde::{Deserialize, Serialize};
use url::Url;

use crate::base::digest::Digest;

/// One file of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// File name, percent-decoded once.
    pub file: String,
    /// Where it is, without fragment.
    pub url: Url,
    /// SHA-256 of the file, where the page gives it.
    pub sha256: Option<Digest>,
    /// Bytes, where the page gives them.
    pub size: Option<u64>,
    /// What the page says of a metadata file beside it.
    pub metadata: Sidecar,
    /// `Requires-Python`, as written.
    pub requires_python: Option<String>,
    /// Reason (may be empty) when the file was withdrawn.
    pub yanked: Option<String>,
    /// Upload time, as written (RFC 3339).
    pub upload_time: Option<String>,
}

/// Whether `<url>.metadata` exists (PEP 658, PEP 714). Its digest is not that of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Sidecar {
    /// Not offered.
    Absent,
    /// Offered without digest.
    Offered,
    /// Offered with this digest of the metadata file.
    Digest(Digest),
}
