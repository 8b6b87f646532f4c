//! A git source's revision, tag or branch → its full revision, asked of the repository by the `git` program; and whether a
//! wheel of the same source, on one of the indexes, was made of that revision.

use std::process::{Command, Stdio};

use url::Url;

use super::error::ResolveError;
use crate::base::http::has_login;
use crate::build::fetch::address::Address;
use crate::build::fetch::{FetchError, Fetcher};
use crate::build::ingest::source::git::reason;
use crate::build::recipe::Wanted;
use crate::formats::wheel::WheelName;

/// The full revision of the wanted git source; none where there is none.
pub(super) fn revision(fetcher: &Fetcher, wanted: &Wanted) -> Result<Option<String>, ResolveError> {
    let Some(spec) = &wanted.source else {
        return Ok(None);
    };
    let (Some(repository), Some(rev)) = (&spec.git, &spec.rev) else {
        return Ok(None);
    };
    let full = if is_full(rev) {
        rev.to_ascii_lowercase()
    } else {
        ask(fetcher, &repository_of(fetcher, repository), rev)?
    };
    if let Some(distribution) = &spec.wheel {
        compare(fetcher, wanted, distribution, &full)?;
    }
    Ok(Some(full))
}

/// Where the repository at `address` is asked for: there, unless the alias `source` leads elsewhere.
pub fn repository_of(fetcher: &Fetcher, address: &str) -> String {
    let other = match fetcher.address("source") {
        Ok(Address::Simple(url) | Address::FindLinks(url)) => Some(url),
        Ok(Address::Folder(folder)) => std::path::absolute(folder)
            .ok()
            .and_then(|folder| Url::from_file_path(folder).ok()),
        _ => None,
    };
    other.map_or_else(|| address.to_owned(), String::from)
}

fn is_full(rev: &str) -> bool {
    rev.len() == 40 && rev.bytes().all(|b| b.is_ascii_hexdigit())
}

/// `git ls-remote`; of an annotated tag, the commit it stands for.
fn ask(fetcher: &Fetcher, repository: &str, rev: &str) -> Result<String, ResolveError> {
    let fault = |message: String| ResolveError::Revision {
        rev: rev.to_owned(),
        message,
    };
    if fetcher.http().config().offline
        && repository.contains("://")
        && !repository.starts_with("file:")
    {
        return Err(fault("--offline forbids to ask the repository".to_owned()));
    }
    if has_login(repository) {
        return Err(fault(
            "the repository's address holds a password: leave that to git's credential helper"
                .to_owned(),
        ));
    }
    let output = Command::new("git")
        .args([
            "ls-remote",
            "--quiet",
            "--",
            repository,
            rev,
            &format!("{rev}^{{}}"),
        ])
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| fault(format!("git cannot be started: {e}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = match reason(&said) {
            said if said.is_empty() => "git gives no reason".to_owned(),
            said => said,
        };
        return Err(fault(said));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let found = pick(&text, rev)
        .ok_or_else(|| fault("the repository has no such tag or branch".to_owned()))?;
    Ok(found)
}

/// The commit of a tag, else of a branch, out of `ls-remote` lines.
fn pick(text: &str, rev: &str) -> Option<String> {
    let rows: Vec<(&str, &str)> = text
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect();
    [
        format!("refs/tags/{rev}^{{}}"),
        format!("refs/tags/{rev}"),
        format!("refs/heads/{rev}"),
        rev.to_owned(),
    ]
    .iter()
    .find_map(|name| rows.iter().find(|(_, n)| n == name))
    .map(|(revision, _)| (*revision).to_owned())
    .filter(|revision| is_full(revision))
}

/// A wheel of the source on an index that is one page carries `+g<revision>`, which must be a beginning of the revision.
fn compare(
    fetcher: &Fetcher,
    wanted: &Wanted,
    distribution: &str,
    revision: &str,
) -> Result<(), ResolveError> {
    for (alias, _) in super::claims::flat_indexes(fetcher, wanted)? {
        let rows = fetcher
            .rows(&alias, distribution)
            .map_err(|source: FetchError| ResolveError::Index {
                alias: alias.clone(),
                name: distribution.to_owned(),
                source: Box::new(source),
            })?;
        for row in rows.iter() {
            let Ok(name) = row.file.parse::<WheelName>() else {
                continue;
            };
            if name.normalized() != *distribution {
                continue;
            }
            let local = name
                .version
                .local()
                .iter()
                .map(ToString::to_string)
                .find(|l| l.starts_with('g'));
            let made_of = local.as_deref().and_then(|l| l.strip_prefix('g'));
            if let Some(made_of) = made_of
                && !revision.starts_with(made_of)
            {
                return Err(ResolveError::OtherRevision {
                    file: row.file.clone(),
                    alias,
                    revision: revision.to_owned(),
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotated_tag_stands_for_its_commit() {
        let (tag, commit, branch) = ("a".repeat(40), "b".repeat(40), "c".repeat(40));
        let text =
            format!("{tag}\trefs/tags/v1\n{commit}\trefs/tags/v1^{{}}\n{branch}\trefs/heads/v1\n");
        assert_eq!(pick(&text, "v1"), Some(commit));
        assert_eq!(pick(&text, "v2"), None);
        assert_eq!(
            pick(&format!("{branch}\trefs/heads/main\n"), "main"),
            Some(branch)
        );
    }
}
