//! Where the application source of a bundle comes from: `--source`, else the recipe's.

use std::path::{Path, PathBuf};

use super::Failure;
use crate::base::digest::Digest;
use crate::build::fetch::Fetcher;
use crate::build::ingest::inputs::{Common, Input};
use crate::build::ingest::source::{self, SourceRequest};
use crate::build::lock::Lock;
use crate::build::recipe::Recipe;
use crate::formats::bundle::Source;

/// A source that is on disk.
pub struct Origin {
    /// Folder or archive.
    pub path: PathBuf,
    /// Folder below `src/` in the bundle.
    pub folder: String,
    /// Where it was cloned from.
    pub repository: Option<String>,
    /// Full revision.
    pub revision: Option<String>,
    /// Digest of what is shipped.
    pub tree: Digest,
}

impl Origin {
    /// How it is ingested.
    pub fn input(&self, common: &Common) -> Input {
        Input::source(
            self.path.clone(),
            &self.folder,
            self.revision.clone(),
            self.tree,
            common,
        )
    }

    /// As bundle.json names it.
    pub fn record(&self) -> Source {
        Source {
            repository: self.repository.clone(),
            revision: self.revision.clone(),
            sha256: self.tree,
        }
    }
}

/// Finds the source: `asked` of the command line, else the recipe's; none where neither names one.
pub fn find(
    asked: Option<&str>,
    recipe: &Recipe,
    _lock: &Lock,
    _cache: &Path,
    _fetcher: &Fetcher,
    dir: &Path,
) -> Result<Option<Origin>, Failure> {
    let spec = recipe.keys().source.as_ref();
    let folder = spec.map_or("app", |s| s.folder.as_str());
    let path = match (asked, spec.and_then(|s| s.path.as_deref())) {
        (Some(path), _) => dir.join(path),
        (None, Some(path)) => recipe.folder().unwrap_or(dir).join(path),
        (None, None) => return Ok(None),
    };
    let planned = source::plan(&SourceRequest {
        from: &path,
        artifact: None,
        folder,
        revision: None,
        site_packages: &recipe.keys().python.site_packages(),
    })?;
    Ok(Some(Origin {
        path,
        folder: folder.to_owned(),
        repository: None,
        revision: None,
        tree: planned.tree,
    }))
}
