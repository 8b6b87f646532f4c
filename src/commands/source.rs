//! Where the application source of a bundle comes from: `--source`, else the recipe's.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use url::Url;

use super::Failure;
use crate::base::digest::Digest;
use crate::build::fetch::{Fetcher, Order};
use crate::build::ingest::inputs::{Common, Input};
use crate::build::ingest::source::git::Repository;
use crate::build::ingest::source::{self, SourceRequest};
use crate::build::lock::Lock;
use crate::build::lock::revision::repository_of;
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

/// What a source is found with.
pub struct Search<'a> {
    /// `--source`.
    pub asked: Option<&'a str>,
    /// The recipe.
    pub recipe: &'a Recipe,
    /// Its lock.
    pub lock: &'a Lock,
    /// Root of the cache.
    pub cache: &'a Path,
    /// Gets archives.
    pub fetcher: &'a Fetcher,
    /// The working folder.
    pub dir: &'a Path,
    /// Open no socket.
    pub offline: bool,
}

impl Search<'_> {
    /// The source of the command line, else the recipe's; none where neither names one.
    pub fn find(&self) -> Result<Option<Origin>, Failure> {
        let spec = self.recipe.keys().source.as_ref();
        let locked = self.lock.source.as_ref();
        let base = self.recipe.folder().unwrap_or(self.dir);
        if let Some(asked) = self.asked {
            return match git_address(asked) {
                Some((url, revision)) => self.git(url, revision),
                None => self.planned(self.dir.join(asked), None, None),
            };
        }
        let Some(spec) = spec else { return Ok(None) };
        if let Some(url) = &spec.git {
            let revision = locked.and_then(|l| l.revision.as_deref());
            let place = repository_of(self.fetcher, url);
            let origin = self.git(&place, revision.or(spec.rev.as_deref()))?;
            // The bundle names the recipe's repository, wherever the copy was.
            return Ok(origin.map(|origin| Origin {
                repository: Some(url.clone()),
                ..origin
            }));
        }
        if let Some(address) = &spec.archive {
            let url = Url::parse(address).context("the source's archive has no usable address")?;
            let sha256 = locked.and_then(|l| l.sha256).or(spec.sha256);
            let sha256 =
                sha256.context("neither recipe nor lock has the sha256 of the source's archive")?;
            let fetched = self.fetcher.one(&Order::archive("source", &url, sha256))?;
            return self.planned(fetched.path().to_owned(), None, None);
        }
        match &spec.path {
            Some(path) => self.planned(base.join(path), None, None),
            None => Ok(None),
        }
    }

    fn git(&self, url: &str, revision: Option<&str>) -> Result<Option<Origin>, Failure> {
        let environment: Vec<_> = std::env::vars_os().collect();
        let repository = Repository {
            url,
            program: OsStr::new("git"),
            environment: &environment,
        };
        let revision = repository.resolve(revision)?;
        let checkout = repository.checkout(&revision, self.cache, self.offline)?;
        self.planned(checkout.path, Some(url.to_owned()), Some(checkout.revision))
    }

    fn planned(
        &self,
        path: PathBuf,
        repository: Option<String>,
        revision: Option<String>,
    ) -> Result<Option<Origin>, Failure> {
        let keys = self.recipe.keys();
        let folder = keys.source.as_ref().map_or("app", |s| s.folder.as_str());
        let planned = source::plan(&SourceRequest {
            from: &path,
            artifact: None,
            folder,
            revision: revision.as_deref(),
            site_packages: &keys.python.site_packages(),
        })?;
        let tree = planned.tree;
        Ok(Some(Origin {
            path,
            folder: folder.to_owned(),
            repository,
            revision,
            tree,
        }))
    }
}

/// `URL@REVISION` or `URL`, where the text is an address and no path.
fn git_address(text: &str) -> Option<(&str, Option<&str>)> {
    if !text.contains("://") {
        return None;
    }
    let name = text.rfind('/')?;
    match text.rfind('@') {
        Some(at) if at > name => Some((text.get(..at)?, text.get(at + 1..))),
        _ => Some((text, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_addresses_from_paths_and_revisions_from_users() {
        assert_eq!(git_address("examples/app@2"), None);
        assert_eq!(git_address("file:///a/b"), Some(("file:///a/b", None)));
        assert_eq!(
            git_address("https://u@h/a/b.git"),
            Some(("https://u@h/a/b.git", None))
        );
        assert_eq!(
            git_address("https://u@h/a/b.git@v1"),
            Some(("https://u@h/a/b.git", Some("v1")))
        );
    }
}
