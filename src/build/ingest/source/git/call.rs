//! How the `git` program is called: which addresses, with which environment and settings, and what of its words is shown.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::{GitError, Repository};
use crate::base::archive::escaped;
use crate::base::fs;

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
    pub(super) fn check_address(&self) -> Result<(), GitError> {
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
        if (known || short) && clean && !host_is_option(self.url) {
            Ok(())
        } else {
            Err(GitError::Address(self.shown()))
        }
    }

    /// The address without credentials and query.
    pub fn shown(&self) -> String {
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

    /// The password of the address, or the user's name where a token stands alone in its place.
    fn secret(&self) -> Option<&str> {
        let (scheme, rest) = self.url.split_once("://")?;
        let (user, _) = rest
            .get(..rest.find('/').unwrap_or(rest.len()))?
            .rsplit_once('@')?;
        match user.split_once(':') {
            Some((_, password)) => Some(password),
            None => scheme.starts_with("http").then_some(user),
        }
        .filter(|secret| !secret.is_empty())
    }

    pub(super) fn command(&self, dir: &Path) -> Command {
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

    pub(super) fn run(
        &self,
        command: &mut Command,
        doing: &'static str,
    ) -> Result<Output, GitError> {
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
    pub(super) fn said(&self, stderr: &[u8]) -> String {
        let text = String::from_utf8_lossy(stderr).replace(self.url, &self.shown());
        let mut text = without_userinfo(&text);
        if let Some(secret) = self.secret() {
            text = text.replace(secret, "***");
        }
        escaped(reason(&text).as_bytes())
    }
}

/// The lines of git's that say what went wrong, else its last ones, in one.
pub fn reason(stderr: &str) -> String {
    let lines = || stderr.lines().map(str::trim).filter(|l| !l.is_empty());
    let mut said: Vec<&str> = lines()
        .filter(|l| {
            ["fatal: ", "error: ", "remote: "]
                .iter()
                .any(|word| l.starts_with(word))
        })
        .collect();
    if said.is_empty() {
        said = lines().collect();
    }
    said.get(said.len().saturating_sub(3)..)
        .unwrap_or_default()
        .join("; ")
}

/// A text without what stands between `//` and the last `@` before the next `/` of the addresses in it: those of
/// submodules may have secrets of their own.
fn without_userinfo(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("://") {
        let (before, after) = rest.split_at(at + 3);
        out.push_str(before);
        let ends = |c: char| c == '/' || c.is_whitespace() || matches!(c, '\'' | '"');
        let authority = after.get(..after.find(ends).unwrap_or(after.len()));
        let user = authority.and_then(|a| a.rfind('@')).map_or(0, |at| at + 1);
        rest = after.get(user..).unwrap_or_default();
    }
    out + rest
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

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

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
    fn only_the_secret_of_an_address_is_blotted_out() {
        let said = |url: &str, words: &str| repository(url).said(words.as_bytes());
        let words = "fatal: git: no host; p@ss tok";
        assert_eq!(said("ssh://git@h/x", words), words);
        assert_eq!(
            said("https://git:p@ss@h/x", words),
            "fatal: git: no host; *** tok"
        );
        assert_eq!(
            said("https://tok@h/x", words),
            "fatal: git: no host; p@ss ***"
        );
        assert_eq!(said("https://h/x@git", words), words);
        assert_eq!(
            said(
                "https://tok:x@h/y",
                "fatal: clone of 'https://a:b@c@h/sub' failed, 'https://tok@h' too; see https://h/@me"
            ),
            "fatal: clone of 'https://h/sub' failed, 'https://h' too; see https://h/@me"
        );
    }
}
