//! A git revision → a plain folder in the cache, submodules included, by the `git` program. Exactly the revision asked for,
//! no prompts, no hooks, no filters; an environment of chosen names only. Addresses travel by the environment, not by the
//! command line, and neither they nor credentials in them are kept or shown.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use super::{SourceError, folder_digest};
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

/// Why a revision could not be had.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// An address of another kind, or one that git could take for an option.
    #[error("{0:?} is not the address of a git repository: https, ssh, git and file addresses are")]
    Address(String),
    /// No full revision, or a name that is none.
    #[error("{0:?} is not a revision: expected 40 hex digits, a tag or a branch")]
    Revision(String),
    /// The repository has no such tag or branch.
    #[error("{repository} has no tag or branch {name:?}")]
    NoSuchName {
        /// The address, without credentials.
        repository: String,
        /// What was looked for.
        name: String,
    },
    /// Not in the cache, and the network may not be used.
    #[error(
        "revision {revision} of {repository} is not in the cache, and nothing may be fetched offline"
    )]
    Offline {
        /// The address, without credentials.
        repository: String,
        /// The revision.
        revision: String,
    },
    /// The program could not be started.
    #[error("could not start {program}")]
    Start {
        /// The program.
        program: String,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// It answered with an error.
    #[error("could not {doing} {repository}: git says: {said}")]
    Failed {
        /// What was tried.
        doing: &'static str,
        /// The address, without credentials.
        repository: String,
        /// The last lines it wrote, without credentials.
        said: String,
    },
    /// Another revision than asked for.
    #[error("{repository} gave revision {found} where {wanted} was asked for")]
    Another {
        /// The address, without credentials.
        repository: String,
        /// What came.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// The cache.
    #[error(transparent)]
    File(#[from] FsError),
    /// What came cannot be shipped.
    #[error("revision {revision} of {repository} cannot be shipped")]
    Source {
        /// The address, without credentials.
        repository: String,
        /// The revision.
        revision: String,
        /// Why.
        #[source]
        source: Box<SourceError>,
    },
}

impl GitError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Start { .. } => {
                Some("install git, or give the source as a folder or an archive".to_owned())
            }
            Self::Revision(_) => {
                Some("an abbreviated revision cannot be asked for: give all 40 digits".to_owned())
            }
            Self::Offline { .. } => Some("run `bundler fetch` with network first".to_owned()),
            Self::File(e) => e.hint(),
            _ => None,
        }
    }
}

/// Names of our environment that git gets. Proxies, company CAs and agents work as for any git.
const PASSED_ON: [&str; 28] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "http_proxy",
    "https_proxy",
    "HTTPS_PROXY",
    "all_proxy",
    "ALL_PROXY",
    "no_proxy",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH",
    "GIT_SSL_CERT",
    "GIT_SSL_KEY",
    "GIT_SSH",
    "GIT_SSH_COMMAND",
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "KRB5CCNAME",
];

/// Settings that hold whatever a user's own configuration says.
const SETTINGS: [(&str, &str); 14] = [
    ("core.hooksPath", "/dev/null"),
    ("core.attributesFile", "/dev/null"),
    ("core.autocrlf", "false"),
    ("core.eol", "lf"),
    ("core.fsmonitor", "false"),
    ("core.symlinks", "true"),
    ("filter.lfs.smudge", "cat"),
    ("filter.lfs.process", ""),
    ("filter.lfs.required", "false"),
    ("protocol.ext.allow", "never"),
    ("transfer.fsckObjects", "true"),
    ("gc.auto", "0"),
    ("http.lowSpeedLimit", "1000"),
    ("http.lowSpeedTime", "60"),
];

impl Repository<'_> {
    /// The full revision that a tag or branch names now; the default branch's for `None`. A full revision is itself.
    ///
    /// # Errors
    /// A name that is none, a repository that cannot be reached or has no such name.
    pub fn resolve(&self, name: Option<&str>) -> Result<String, GitError> {
        self.check_address()?;
        let Some(name) = name else {
            return self.look_up("HEAD", &["HEAD"]);
        };
        if is_full_revision(name) {
            return Ok(name.to_owned());
        }
        let plain =
            |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-' | b'/' | b'+');
        if name.is_empty()
            || name.starts_with('-')
            || name.contains("..")
            || !name.bytes().all(plain)
        {
            return Err(GitError::Revision(name.to_owned()));
        }
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
        if let Some(whole) = self.cached(&home, revision)? {
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
        self.cached(&home, revision)?
            .ok_or_else(|| GitError::Another {
                repository: self.shown(),
                found: "that changed while it was kept".to_owned(),
                wanted: revision.to_owned(),
            })
    }

    /// What the cache holds, if it is still what was put there; a damaged one is set aside and gone.
    fn cached(&self, home: &Path, revision: &str) -> Result<Option<Checkout>, GitError> {
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

    fn check_address(&self) -> Result<(), GitError> {
        let schemes = ["https://", "http://", "ssh://", "git://", "file:///"];
        let known = schemes.iter().any(|scheme| self.url.starts_with(scheme));
        // user@host:path, as ssh is often written.
        let short = self.url.split_once(':').is_some_and(|(host, path)| {
            host.contains('@')
                && !host.starts_with('-')
                && !host.contains('/')
                && !path.starts_with("//")
        });
        let clean = !self
            .url
            .chars()
            .any(|c| c.is_control() || c.is_whitespace());
        match (known || short) && clean && !host_is_option(self.url) {
            true => Ok(()),
            false => Err(GitError::Address(self.shown())),
        }
    }

    /// The address without credentials and query.
    fn shown(&self) -> String {
        let plain = match self.url.split_once("://") {
            Some((scheme, rest)) => {
                let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                let host = host.rsplit('@').next().unwrap_or(host);
                format!("{scheme}://{host}{path}")
            }
            None => self.url.to_owned(),
        };
        let plain = plain.split(['?', '#']).next().unwrap_or_default();
        escaped(plain.as_bytes())
    }

    fn command(&self, dir: &Path) -> Command {
        let mut command = Command::new(self.program);
        command.env_clear().current_dir(dir).stdin(Stdio::null());
        for (name, value) in self.environment {
            if name.to_str().is_some_and(|name| PASSED_ON.contains(&name)) {
                command.env(name, value);
            }
        }
        let passed = |name: &str| self.environment.iter().any(|(n, _)| n == name);
        if !passed("GIT_SSH_COMMAND") && !passed("GIT_SSH") {
            command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        }
        command
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS", "")
            .env("LC_ALL", "C");
        command.env("GIT_CEILING_DIRECTORIES", fs::parent(dir));
        let mut settings: Vec<(&str, &str)> = SETTINGS.to_vec();
        settings.push(("remote.origin.url", self.url));
        // Submodules may lie in folders only where the repository itself does.
        let local = self.url.starts_with("file://");
        settings.push((
            "protocol.file.allow",
            if local { "always" } else { "never" },
        ));
        command.env("GIT_CONFIG_COUNT", settings.len().to_string());
        for (number, (key, value)) in settings.into_iter().enumerate() {
            command.env(format!("GIT_CONFIG_KEY_{number}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{number}"), value);
        }
        command
    }

    fn run(&self, command: &mut Command, doing: &'static str) -> Result<Output, GitError> {
        let out = command.output().map_err(|source| GitError::Start {
            program: self.program.to_string_lossy().into_owned(),
            source,
        })?;
        if out.status.success() {
            return Ok(out);
        }
        Err(GitError::Failed {
            doing,
            repository: self.shown(),
            said: self.said(&out.stderr),
        })
    }

    /// The last lines git wrote, in one, without the credentials of the address.
    fn said(&self, stderr: &[u8]) -> String {
        let text = String::from_utf8_lossy(stderr).replace(self.url, &self.shown());
        let mut text = text;
        if let Some((user, _)) = self
            .url
            .split_once("://")
            .and_then(|(_, rest)| rest.split_once('@'))
        {
            for secret in user.split(':').filter(|part| !part.is_empty()) {
                text = text.replace(secret, "***");
            }
        }
        let lines: Vec<&str> = text
            .lines()
            .map(str::trim)
            .filter(|line| !line.is_empty())
            .collect();
        let last = lines
            .get(lines.len().saturating_sub(3)..)
            .unwrap_or_default();
        escaped(last.join("; ").as_bytes())
    }
}

/// `ssh://-oProxyCommand=…/x` would be an option of ssh.
fn host_is_option(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let host = rest.split(['/', ':']).next().unwrap_or_default();
    host.rsplit('@')
        .next()
        .is_some_and(|host| host.starts_with('-'))
        || host.starts_with('-')
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
            match metadata.is_dir() {
                true => fs::remove_dir_all(&path)?,
                false => fs::remove_file(&path)?,
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
    fn addresses_that_are_options_or_programs_are_refused() {
        for url in [
            "ext::sh -c id",
            "--upload-pack=id",
            "-x:y",
            "/tmp/x",
            "ssh://-oProxyCommand=id/x",
            "ssh://u@-oProxyCommand=id/x",
            "https://h/a b",
            "fd::1",
            "",
        ] {
            assert!(
                matches!(repository(url).check_address(), Err(GitError::Address(_))),
                "{url}"
            );
        }
        for url in [
            "https://h/x.git",
            "ssh://git@h:22/x",
            "git@h:team/x.git",
            "file:///srv/x",
        ] {
            repository(url).check_address().unwrap();
        }
    }

    #[test]
    fn credentials_are_never_shown() {
        let repository = repository("https://me:s3cret@example.org/x.git?token=abc");
        assert_eq!(repository.shown(), "https://example.org/x.git");
        let said = repository
            .said(b"fatal: could not read https://me:s3cret@example.org/x.git: \x1b[31ms3cret\n");
        assert!(!said.contains("s3cret") && !said.contains('\x1b'), "{said}");
    }

    #[test]
    fn revisions_are_full_or_names() {
        for name in ["", "-x", "a..b", "a b", "a\nb", "a;b"] {
            let answer = repository("https://h/x").resolve(Some(name));
            assert!(matches!(answer, Err(GitError::Revision(_))), "{name}");
        }
        let full = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(repository("https://h/x").resolve(Some(full)).unwrap(), full);
    }
}
