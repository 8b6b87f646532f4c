//! Where the application source of a bundle comes from: `--source`, else the recipe's.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use url::Url;

use super::Failure;
use crate::base::digest::Digest;
use crate::base::fs::{self, DraftDir};
use crate::build::fetch::{Fetched, Fetcher, Order, Place};
use crate::build::ingest::inputs::{Common, Input};
use crate::build::ingest::source::git::Repository;
use crate::build::ingest::source::{self, PlannedSource, SourceRequest};
use crate::build::lock::Lock;
use crate::build::lock::revision::repository_of;
use crate::build::recipe::{Recipe, embedded_source};
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
    /// Keeps the folder of a source that is built in.
    #[expect(dead_code, reason = "its end is what matters")]
    draft: Option<DraftDir>,
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
            let revision = revision.or(spec.rev.as_deref());
            let file = revision.map(mirror_name).unwrap_or_default();
            if let Some(fetched) = self.fetcher.from_mirror("source", &file)? {
                let revision = revision.map(ToOwned::to_owned);
                return self.planned(fetched.path().to_owned(), Some(url.clone()), revision);
            }
            let place = repository_of(self.fetcher, url);
            let origin = self.git(&place, revision)?;
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
        let Some(path) = &spec.path else {
            return Ok(None);
        };
        let is_built_in = self.recipe.folder().is_none();
        match embedded_source(path).filter(|_| is_built_in) {
            Some(files) => {
                let draft = written_out(self.cache, &files)?;
                let origin = self.planned(draft.path().to_owned(), None, None)?;
                Ok(origin.map(|origin| Origin {
                    draft: Some(draft),
                    ..origin
                }))
            }
            None => self.planned(base.join(path), None, None),
        }
    }

    /// The recipe's git revision as one file for a mirror; none where the source is no git revision.
    pub fn for_mirror(&self) -> Result<Option<Fetched>, Failure> {
        let spec = self.recipe.keys().source.as_ref();
        let Some(spec) = spec.filter(|spec| spec.git.is_some()) else {
            return Ok(None);
        };
        let Some(Origin {
            path,
            revision: Some(revision),
            ..
        }) = self.find()?
        else {
            return Ok(None);
        };
        let planned = self.plan(&path, Some(&revision))?;
        let bytes = source::archive(&planned, &spec.folder)?;
        let draft = fs::DraftDir::new(self.cache)?;
        let file = draft.path().join("source.tar");
        fs::write(&file, &bytes)?;
        let order = Order {
            label: "source".to_owned(),
            file: mirror_name(&revision),
            sha256: Digest::of(&bytes),
            size: Some(bytes.len() as u64),
            places: vec![Place::File(file)],
        };
        Ok(Some(self.fetcher.one(&order)?))
    }

    fn git(&self, url: &str, revision: Option<&str>) -> Result<Option<Origin>, Failure> {
        let environment: Vec<_> = std::env::vars_os().collect();
        let repository = Repository {
            url,
            program: OsStr::new("git"),
            environment: &environment,
        };
        let revision = repository.resolve(revision, self.offline)?;
        let checkout = repository.checkout(&revision, self.cache, self.offline)?;
        self.planned(
            checkout.path,
            Some(repository.shown()),
            Some(checkout.revision),
        )
    }

    fn folder(&self) -> &str {
        let spec = self.recipe.keys().source.as_ref();
        spec.map_or("app", |s| s.folder.as_str())
    }

    fn plan(&self, from: &Path, revision: Option<&str>) -> Result<PlannedSource, Failure> {
        Ok(source::plan(&SourceRequest {
            from,
            artifact: None,
            folder: self.folder(),
            revision,
            site_packages: &self.recipe.keys().python.site_packages(),
        })?)
    }

    fn planned(
        &self,
        path: PathBuf,
        repository: Option<String>,
        revision: Option<String>,
    ) -> Result<Option<Origin>, Failure> {
        must_exist(&path)?;
        let tree = self.plan(&path, revision.as_deref())?.tree;
        Ok(Some(Origin {
            path,
            folder: self.folder().to_owned(),
            repository,
            revision,
            tree,
            draft: None,
        }))
    }
}

/// Refuses a `--source` that cannot be one, before anything is asked of any server.
pub fn check_asked(asked: &str, dir: &Path) -> Result<(), Failure> {
    let Some((url, revision)) = git_address(asked) else {
        return must_exist(&dir.join(asked));
    };
    let repository = Repository {
        url,
        program: OsStr::new("git"),
        environment: &[],
    };
    Ok(repository.check(revision)?)
}

fn must_exist(path: &Path) -> Result<(), Failure> {
    if fs::metadata(path)?.is_some() {
        return Ok(());
    }
    Err(Failure {
        error: anyhow::anyhow!("the source {} is not there", path.display()),
        hint: Some(
            "--source PATH|URL gives another: a folder, an archive, or a git address with @REVISION"
                .to_owned(),
        ),
    })
}

/// The files of a source that is built into this program, in a folder that goes with the value.
fn written_out(cache: &Path, files: &[(String, &[u8])]) -> Result<DraftDir, Failure> {
    let parent = cache.join("sources");
    let draft = DraftDir::new(&parent)?;
    fs::sweep_drafts(&parent)?;
    for (path, bytes) in files {
        let path = draft.path().join(path);
        fs::create_dir_all(fs::parent(&path))?;
        fs::write_new(&path, bytes, 0o644)?;
    }
    Ok(draft)
}

/// What a mirror calls a git revision.
fn mirror_name(revision: &str) -> String {
    format!("source-{revision}.tar")
}

/// `URL@REVISION` or `URL`, where the text is an address and no path.
fn git_address(text: &str) -> Option<(&str, Option<&str>)> {
    let host = text.find("://")? + 3;
    // An `@` of the host's part stands behind a user.
    let Some(name) = text.get(host..)?.rfind('/').map(|at| host + at) else {
        return Some((text, None));
    };
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
            git_address("https://u:pw@h"),
            Some(("https://u:pw@h", None))
        );
        assert_eq!(
            git_address("https://u@h/a/b.git@v1"),
            Some(("https://u@h/a/b.git", Some("v1")))
        );
    }
}
