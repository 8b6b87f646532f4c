//! `bundler cache dir|size|prune|verify`. Nothing here is needed for correctness: every blob and segment is checked when
//! it is used.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::edge::cache_dir;
use super::{Answer, Failure, Outcome, report, terminal};
use crate::base::digest::Digest;
use crate::base::finding::{Finding, Severity};
use crate::base::fs;
use crate::build::fetch::{Blobs, Seen};
use crate::build::ingest::store::{Store, StoreError};
use crate::cli::{CacheCommand, Global};

/// Runs one of the cache commands.
pub fn run(command: &CacheCommand, global: &Global) -> Answer {
    let cache = cache_dir(global)?;
    match command {
        CacheCommand::Dir => {
            let value =
                serde_json::json!({"schema_version": 1, "dir": cache.display().to_string()});
            report::answer(global, &value, |_| format!("{}\n", cache.display()))?;
            Ok(Outcome::Done)
        }
        CacheCommand::Size => size(&cache, global),
        CacheCommand::Prune { all } => prune(&cache, *all, global),
        CacheCommand::Verify => verify(&cache, global),
    }
}

/// Files and bytes of one part of the cache.
#[derive(Debug, Default, Clone, Copy, Serialize)]
struct Weight {
    files: u64,
    bytes: u64,
}

impl std::ops::AddAssign for Weight {
    fn add_assign(&mut self, other: Self) {
        self.files += other.files;
        self.bytes += other.bytes;
    }
}

#[derive(Serialize)]
struct Sizes {
    schema_version: u32,
    dir: PathBuf,
    artifacts: Weight,
    components: Weight,
    transfers: Weight,
    pages: Weight,
}

fn size(cache: &Path, global: &Global) -> Answer {
    let weight = |name: &str| weigh(&cache.join(name));
    let sizes = Sizes {
        schema_version: 1,
        dir: cache.to_owned(),
        artifacts: weight("blobs")?,
        components: weight("components")?,
        transfers: weight("partial")?,
        pages: weight("pages")?,
    };
    report::answer(global, &sizes, |s| {
        let line = |name: &str, w: Weight| {
            format!(
                "{name:<11} {:>9} in {} files\n",
                report::size(w.bytes),
                w.files
            )
        };
        line("artifacts", s.artifacts)
            + &line("components", s.components)
            + &line("transfers", s.transfers)
            + &line("pages", s.pages)
    })?;
    Ok(Outcome::Done)
}

/// The files below a folder; a missing one is empty.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut out = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if fs::symlink_metadata(&folder)?.is_none() {
            continue;
        }
        for path in fs::list(&folder)? {
            match fs::symlink_metadata(&path)? {
                Some(m) if m.is_dir() => folders.push(path),
                Some(_) => out.push(path),
                None => {}
            }
        }
    }
    Ok(out)
}

fn weigh(folder: &Path) -> Result<Weight, Failure> {
    let mut out = Weight::default();
    for path in files(folder)? {
        let bytes = fs::symlink_metadata(&path)?.map_or(0, |m| m.len());
        out += Weight { files: 1, bytes };
    }
    Ok(out)
}

#[derive(Serialize)]
struct Pruned {
    schema_version: u32,
    removed: Weight,
}

fn prune(cache: &Path, all: bool, global: &Global) -> Answer {
    let mut removed = Weight::default();
    let parts = ["blobs", "components", "partial", "pages"];
    for path in parts
        .iter()
        .map(|p| files(&cache.join(p)))
        .collect::<Result<Vec<_>, _>>()?
        .concat()
    {
        let is_page = path.starts_with(cache.join("pages"));
        if !(all || is_page || is_damaged(&path)) && !is_transfer(cache, &path) {
            continue;
        }
        if is_in_use(&path)? {
            continue;
        }
        let bytes = fs::symlink_metadata(&path)?.map_or(0, |m| m.len());
        fs::remove_file(&path)?;
        removed += Weight { files: 1, bytes };
    }
    let pruned = Pruned {
        schema_version: 1,
        removed,
    };
    report::answer(global, &pruned, |p| {
        format!(
            "removed {} in {} files\n",
            report::size(p.removed.bytes),
            p.removed.files
        )
    })?;
    Ok(Outcome::Done)
}

/// Files that were set aside carry `.bad-` in their own name or their folder's.
fn is_damaged(path: &Path) -> bool {
    path.iter()
        .any(|part| part.to_string_lossy().contains(".bad-"))
}

fn is_transfer(cache: &Path, path: &Path) -> bool {
    path.starts_with(cache.join("partial"))
}

/// Whether a process holds the file, or the folder it stands in, locked.
fn is_in_use(path: &Path) -> Result<bool, Failure> {
    for path in [path, fs::parent(path)] {
        if fs::symlink_metadata(path)?.is_none() {
            return Ok(false);
        }
        if matches!(
            fs::open(path)?.try_lock(),
            Err(fs::TryLockError::WouldBlock)
        ) {
            return Ok(true);
        }
    }
    Ok(false)
}

#[derive(Serialize)]
struct Verified {
    schema_version: u32,
    checked: u64,
    findings: Vec<Finding>,
}

fn verify(cache: &Path, global: &Global) -> Answer {
    let progress = terminal::progress(global);
    let task = progress.task(
        "checking the cache",
        Some(weigh(&cache.join("blobs"))?.bytes),
    );
    let blobs = Blobs::new(cache);
    let mut out = Verified {
        schema_version: 1,
        checked: 0,
        findings: Vec::new(),
    };
    let finding = |path: &Path, message: &str| Finding {
        severity: Severity::Error,
        code: "cache-damaged".to_owned(),
        path: path.display().to_string(),
        message: message.to_owned(),
        hint: Some("it was set aside; the next run makes it again".to_owned()),
    };
    for path in files(&blobs.folder())? {
        let Some(digest) = name_of(&path) else {
            continue;
        };
        let bytes = fs::metadata(&path)?.map_or(0, |m| m.len());
        if let Seen::Bad { .. } = blobs.check(&digest)? {
            out.findings
                .push(finding(&path, "its sha256 is not its name"));
        }
        out.checked += 1;
        task.advance(bytes);
    }
    drop(task);
    let store = Store::new(cache);
    for path in folders_of_components(cache)? {
        let Some(key) = name_of(&path) else { continue };
        out.checked += 1;
        if !is_whole(&store, &key)? {
            store.set_aside(&key)?;
            out.findings
                .push(finding(&path, "it is not what was written"));
        }
    }
    report::answer(global, &out, |v| {
        let mut text: String = v.findings.iter().map(report::finding_text).collect();
        text += &format!("checked {}, damaged {}\n", v.checked, v.findings.len());
        text
    })?;
    Ok(if out.findings.is_empty() {
        Outcome::Done
    } else {
        Outcome::No
    })
}

fn name_of(path: &Path) -> Option<Digest> {
    path.file_name()?.to_str()?.parse().ok()
}

fn folders_of_components(cache: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut out = Vec::new();
    let root = cache.join("components");
    if fs::metadata(&root)?.is_none() {
        return Ok(out);
    }
    for front in fs::list(&root)? {
        if fs::metadata(&front)?.is_some_and(|m| m.is_dir()) {
            out.extend(fs::list(&front)?);
        }
    }
    Ok(out)
}

fn is_whole(store: &Store, key: &Digest) -> Result<bool, StoreError> {
    let Some(stored) = store.get(key)? else {
        return Ok(false);
    };
    let mut bytes = Vec::new();
    for number in 0..stored.component.segments.len() {
        match stored.read_segment(number, &mut bytes) {
            Err(StoreError::Damaged { .. }) => return Ok(false),
            other => other?,
        }
    }
    Ok(true)
}
