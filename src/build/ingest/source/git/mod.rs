//! A git revision → a plain folder in the cache, submodules included, by the `git` program. Exactly the revision asked for,
//! no prompts, no hooks, no filters; an environment of chosen names only. Addresses travel by the environment, not by the
//! command line, and neither they nor credentials in them are kept or shown.

mod call;
mod error;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

pub use call::reason;
pub use error::GitError;

use super::folder_digest;
use crate::base::archive::escaped;
use crate::base::digest::Digest;
use crate::base::fs::{self, FsError};

/// Where a repository is, and how git is run.
#[derive(Debug, Clone)]
pub struct Repository<'a> {
    /// Its address: https, http, ssh, git, file, or `user@host:path`.
    pub url: &'a str,
    /// The program, a path or a name to be looked up.
    pub program: &'a OsStr,
    /// The environment of our own process; only what git needs is passed on.
    pub environment: &'a [(OsString, OsString)],
}

/// A revision on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkout {
    /// The folder, without any `.git`.
    pub path: PathBuf,
    /// The full revision.
    pub revision: String,
    /// Digest of what the folder holds, as [`super::plan`] gives it.
    pub tree: Digest,
}

impl Repository<'_> {
    /// Looks at the address and the revision, tag or branch without asking anybody.
    ///
    /// # Errors
    /// Those that no repository could have.
    pub fn check(&self, revision: Option<&str>) -> Result<(), GitError> {
        self.check_address()?;
        revision.map_or(Ok(()), check_name)
    }

    /// The full revision that a tag or branch names now; the default branch's for `None`. A full revision is itself.
    ///
    /// # Errors
    /// A name that is none, a repository that cannot be reached or has no such name.
    pub fn resolve(&self, name: Option<&str>, offline: bool) -> Result<String, GitError> {
        self.check_address()?;
        if offline && !name.is_some_and(is_full_revision) {
            return Err(GitError::OfflineName {
                repository: self.shown(),
                name: name.unwrap_or("HEAD").to_owned(),
            });
        }
        let Some(name) = name else {
            return self.look_up("HEAD", &["HEAD"]);
        };
        if is_full_revision(name) {
            return Ok(name.to_owned());
        }
        check_name(name)?;
        // A tag that is an object of its own names its commit with `^{}`.
        let (tag, branch) = (format!("refs/tags/{name}"), format!("refs/heads/{name}"));
        self.look_up(name, &[&format!("{tag}^{{}}"), &tag, &branch])
    }

    fn look_up(&self, name: &str, refs: &[&str]) -> Result<String, GitError> {
        let mut command = self.command(Path::new("/"));
        let out = self.run(
            command.args(["ls-remote", "origin"]).args(refs),
            "list what is in",
        )?;
        let text = String::from_utf8_lossy(&out.stdout);
        let rows: Vec<(&str, &str)> = text
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .collect();
        refs.iter()
            .find_map(|wanted| rows.iter().find(|(_, name)| name == wanted))
            .map(|(revision, _)| (*revision).to_owned())
            .filter(|revision| is_full_revision(revision))
            .ok_or_else(|| GitError::NoSuchName {
                repository: self.shown(),
                name: name.to_owned(),
            })
    }

    /// Brings a full revision into `cache`, once.
    ///
    /// # Errors
    /// A revision that cannot be had, or whose files cannot be shipped.
    pub fn checkout(
        &self,
        revision: &str,
        cache: &Path,
        offline: bool,
    ) -> Result<Checkout, GitError> {
        self.check_address()?;
        if !is_full_revision(revision) {
            return Err(GitError::Revision(revision.to_owned()));
        }
        let key = Digest::of(format!("git\0{}\0{revision}", self.shown()).as_bytes());
        let home = cache.join(key.to_string());
        if let Some(whole) = Self::cached(&home, revision)? {
            return Ok(whole);
        }
        if offline {
            return Err(GitError::Offline {
                repository: self.shown(),
                revision: revision.to_owned(),
            });
        }
        let draft = fs::DraftDir::new(cache)?;
        let tree = draft.path().join("tree");
        fs::create_dir_all(&tree)?;
        self.fetch(&tree, revision)?;
        let digest = self.digest(&tree, revision)?;
        forget_git(&tree)?;
        fs::write(&draft.path().join("digest"), digest.to_string().as_bytes())?;
        draft.keep(&home)?;
        Self::cached(&home, revision)?.ok_or_else(|| GitError::Another {
            repository: self.shown(),
            found: "that changed while it was kept".to_owned(),
            wanted: revision.to_owned(),
        })
    }

    /// What the cache holds, if it is still what was put there; a damaged one is set aside and gone.
    fn cached(home: &Path, revision: &str) -> Result<Option<Checkout>, GitError> {
        let path = home.join("tree");
        let Some(stated) = fs::read_if_exists(&home.join("digest"), 64)? else {
            return Ok(None);
        };
        match folder_digest(&path) {
            Ok(tree) if tree.to_string().as_bytes() == stated => Ok(Some(Checkout {
                path,
                revision: revision.to_owned(),
                tree,
            })),
            _ => {
                let aside = fs::DraftDir::new(fs::parent(home))?;
                fs::rename(home, &aside.path().join("old"))?;
                Ok(None)
            }
        }
    }

    fn fetch(&self, tree: &Path, revision: &str) -> Result<(), GitError> {
        let git = || self.command(tree);
        let format = match revision.len() {
            64 => "--object-format=sha256",
            _ => "--object-format=sha1",
        };
        self.run(
            git().args(["init", "--quiet", "--template=", format]),
            "begin a copy of",
        )?;
        let alone = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--depth=1",
            "origin",
            revision,
        ];
        if self.run(git().args(alone), "fetch").is_err() {
            // Some servers give branches and tags only.
            let all = [
                "fetch",
                "--quiet",
                "--no-tags",
                "origin",
                "+refs/heads/*:refs/all/heads/*",
                "+refs/tags/*:refs/all/tags/*",
            ];
            self.run(git().args(all), "fetch")?;
        }
        self.run(
            git().args(["checkout", "--quiet", "--force", "--detach", revision]),
            "check out a revision of",
        )?;
        let head = self.run(git().args(["rev-parse", "HEAD"]), "look at")?;
        let head = String::from_utf8_lossy(&head.stdout).trim().to_owned();
        if head != revision {
            return Err(GitError::Another {
                repository: self.shown(),
                found: escaped(head.as_bytes()),
                wanted: revision.to_owned(),
            });
        }
        let modules = [
            "submodule",
            "update",
            "--quiet",
            "--init",
            "--recursive",
            "--checkout",
            "--force",
        ];
        self.run(git().args(modules), "fetch the submodules of")?;
        Ok(())
    }

    fn digest(&self, tree: &Path, revision: &str) -> Result<Digest, GitError> {
        folder_digest(tree).map_err(|source| GitError::Source {
            repository: self.shown(),
            revision: revision.to_owned(),
            source: Box::new(source),
        })
    }
}

fn check_name(name: &str) -> Result<(), GitError> {
    let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'/' | b'+');
    if name.is_empty() || name.starts_with('-') || name.contains("..") || !name.bytes().all(plain) {
        return Err(GitError::Revision(name.to_owned()));
    }
    Ok(())
}

fn is_full_revision(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

/// Removes every `.git`: it would keep addresses, and a checkout needs none.
fn forget_git(folder: &Path) -> Result<(), FsError> {
    for path in fs::list(folder)? {
        let Some(metadata) = fs::symlink_metadata(&path)? else {
            continue;
        };
        if path.file_name() == Some(OsStr::new(".git")) {
            if metadata.is_dir() {
                fs::remove_dir_all(&path)?;
            } else {
                fs::remove_file(&path)?;
            }
        } else if metadata.is_dir() {
            forget_git(&path)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repository(url: &str) -> Repository<'_> {
        Repository {
            url,
            program: OsStr::new("git"),
            environment: &[],
        }
    }

    #[test]
    fn revisions_are_full_or_names() {
        for name in ["", "-x", "a..b", "a b", "a\nb", "a;b"] {
            let answer = repository("https://h/x").resolve(Some(name), false);
            assert!(matches!(answer, Err(GitError::Revision(_))), "{name}");
        }
        let full = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(
            repository("https://h/x").resolve(Some(full), true).unwrap(),
            full
        );
        let named = repository("https://h/x").resolve(Some("v1"), true);
        assert!(matches!(named, Err(GitError::OfflineName { .. })));
    }
}
