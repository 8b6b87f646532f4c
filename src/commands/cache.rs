//! `bundler cache dir|size|prune|verify`. Nothing here is needed for correctness: every blob and segment is checked when
//! it is used.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::Serialize;

use super::edge::cache_dir;
use super::{Answer, Failure, Outcome, report, terminal};
use crate::base::digest::Digest;
use crate::base::finding::{Finding, Severity};
use crate::base::fs;
use crate::build::fetch::Blobs;
use crate::build::ingest::store::Store;
use crate::cli::{CacheCommand, Global};

const DAY: Duration = Duration::from_hours(24);

/// Runs one of the cache commands.
pub fn run(command: &CacheCommand, global: &Global) -> Answer {
    let cache = cache_dir(global)?;
    let found = fs::metadata(&cache)?;
    if found.as_ref().is_some_and(|found| !found.is_dir()) {
        return Err(Failure {
            error: anyhow::anyhow!("the cache {} is no folder", cache.display()),
            hint: Some("give a folder with --cache-dir".to_owned()),
        });
    }
    if found.is_none() && !matches!(command, CacheCommand::Dir) {
        let note = format!("there is no cache at {} yet", cache.display());
        terminal::progress(global).note(note);
    }
    match command {
        CacheCommand::Dir => {
            let dir = cache.display().to_string();
            let value = serde_json::json!({"schema_version": 1, "dir": dir});
            report::answer(global, &value, |_| format!("{dir}\n"))?;
            Ok(Outcome::Done)
        }
        CacheCommand::Size => size(&cache, global),
        CacheCommand::Prune { all, older_than } => {
            let now = SystemTime::now();
            let before = if *all {
                // Whatever was used just now goes too.
                now.checked_add(DAY)
            } else {
                now.checked_sub(DAY.saturating_mul(*older_than))
            };
            prune(&cache, before.unwrap_or(SystemTime::UNIX_EPOCH), global)
        }
        CacheCommand::Verify => verify(&cache, global),
    }
}

/// Things and bytes of one part of the cache.
#[derive(Debug, Clone, Copy, Serialize)]
struct Part {
    count: u64,
    bytes: u64,
}

#[derive(Serialize)]
struct Sizes {
    schema_version: u32,
    dir: PathBuf,
    artifacts: Part,
    components: Part,
    transfers: Part,
    pages: Part,
}

fn size(cache: &Path, global: &Global) -> Answer {
    let blobs = Blobs::new(cache).size()?;
    let store = Store::new(cache).size()?;
    let part = |count, bytes| Part { count, bytes };
    let sizes = Sizes {
        schema_version: 1,
        dir: cache.to_owned(),
        artifacts: part(blobs.artifacts.files, blobs.artifacts.bytes),
        components: part(store.components, store.bytes),
        transfers: part(blobs.transfers.files, blobs.transfers.bytes),
        pages: part(blobs.pages.files, blobs.pages.bytes),
    };
    report::answer(global, &sizes, |s| {
        let line = |name: &str, p: Part| {
            format!("{name:<10} {:>6} {:>9}\n", p.count, report::size(p.bytes))
        };
        line("artifacts", s.artifacts)
            + &line("components", s.components)
            + &line("transfers", s.transfers)
            + &line("pages", s.pages)
    })?;
    Ok(Outcome::Done)
}

#[derive(Serialize)]
struct Removed {
    schema_version: u32,
    files: u64,
    components: u64,
    bytes: u64,
}

fn prune(cache: &Path, before: SystemTime, global: &Global) -> Answer {
    let files = Blobs::new(cache).prune(before)?;
    let components = Store::new(cache).prune(before)?;
    let removed = Removed {
        schema_version: 1,
        files: files.files,
        components: components.components,
        bytes: files.bytes + components.bytes,
    };
    report::answer(global, &removed, |r| {
        format!(
            "removed {}: {} files, {} components\n",
            report::size(r.bytes),
            r.files,
            r.components
        )
    })?;
    Ok(Outcome::Done)
}

#[derive(Serialize)]
struct Verified {
    schema_version: u32,
    checked: u64,
    findings: Vec<Finding>,
}

fn verify(cache: &Path, global: &Global) -> Answer {
    let progress = terminal::progress(global);
    let blobs = Blobs::new(cache);
    let store = Store::new(cache);
    let task = progress.task("checking artifacts", Some(blobs.size()?.artifacts.bytes));
    let (looked, bad_blobs) = blobs.verify(&|bytes| task.advance(bytes))?;
    drop(task);
    let components = store.size()?.components;
    let task = progress.task("checking components", None);
    let bad_components = store.verify()?;
    drop(task);
    let finding = |what: &str, digest: &Digest| Finding {
        severity: Severity::Error,
        code: "cache-damaged".to_owned(),
        path: format!("{what} {digest}"),
        message: "its bytes are not those that were written".to_owned(),
        hint: Some("it was set aside; the next run makes it again".to_owned()),
    };
    let artifacts = bad_blobs.iter().map(|d| finding("artifact", d));
    let verified = Verified {
        schema_version: 1,
        checked: looked + components,
        findings: artifacts
            .chain(bad_components.iter().map(|d| finding("component", d)))
            .collect(),
    };
    report::answer(global, &verified, |v| {
        let mut text: String = v.findings.iter().map(report::finding_text).collect();
        let _ = writeln!(text, "checked {}, damaged {}", v.checked, v.findings.len());
        text
    })?;
    Ok(if verified.findings.is_empty() {
        Outcome::Done
    } else {
        Outcome::No
    })
}
