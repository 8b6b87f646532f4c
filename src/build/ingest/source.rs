//! The pinned application source → a plan with everything under `src/<folder>` and a relative `.pth` line.

use std::path::Path;

use crate::base::digest::Digest;
use crate::build::ingest::Plan;

/// Which source is to be planned.
#[derive(Debug, Clone)]
pub struct SourceRequest<'a> {
    /// A folder, or a fetched archive (tar, tar.gz, tar.zst, zip).
    pub from: &'a Path,
    /// Digest of the archive, where it is one file.
    pub artifact: Option<Digest>,
    /// Folder below `src/` in the bundle, such as `pointcept`.
    pub folder: &'a str,
    /// Version or revision, for people and bundle.json.
    pub revision: Option<&'a str>,
    /// Site-packages in the bundle: `python/lib/python3.12/site-packages`.
    pub site_packages: &'a str,
}

/// Why no plan could be made.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// Nothing there.
    #[error("{0} holds no files to ship")]
    Empty(String),
}

/// A planned source and what identifies it.
pub struct PlannedSource {
    /// The plan, kind `Source`.
    pub plan: Plan,
    /// Digest over the canonical list of what is shipped (the component id of its entries).
    pub tree: Digest,
}

/// Plans a source.
pub fn plan(request: &SourceRequest<'_>) -> Result<PlannedSource, SourceError> {
    Err(SourceError::Empty(request.from.display().to_string()))
}
