//! An unpacked bundle judged by its own descriptions: `.complete` names the list, the list names every path, bundle.json
//! names both and the components. Whoever unpacked it, our installer or tar.

use std::collections::BTreeSet;
use std::path::Path;

use super::folder::{Fault, FaultKind, faults};
use crate::base::digest::Digest;
use crate::base::finding::{Finding, Severity};
use crate::base::fs::{self, FsResult};
use crate::formats::bundle::{BUNDLE_JSON, Bundle, MAX_BUNDLE_JSON};
use crate::formats::component::EntryKind;
use crate::formats::manifest::{self, COMPLETE, Complete, FILES, Row};
use crate::host::install::Plan;

/// No files.jsonl is larger.
const MAX_FILES: u64 = 1 << 30;

/// What was found in a tree.
#[derive(Debug)]
pub struct Judged {
    /// What is wrong, by path.
    pub findings: Vec<Finding>,
    /// The same as faults, where the descriptions could be read.
    pub faults: Vec<Fault>,
    /// What the tree says of itself, if that holds together.
    pub plan: Option<Plan>,
}

/// Judges the tree in `root`.
pub fn tree(root: &Path, jobs: usize) -> FsResult<Judged> {
    let plan = match describe(root)? {
        Ok(plan) => plan,
        Err((path, message)) => {
            let finding = Finding {
                severity: Severity::Error,
                code: "description-damaged".to_owned(),
                path: path.to_owned(),
                message,
                hint: None,
            };
            return Ok(Judged {
                findings: vec![finding],
                faults: Vec::new(),
                plan: None,
            });
        }
    };
    let rows: Vec<&Row> = plan.rows().iter().collect();
    let mut all = faults(root, &rows, jobs)?;
    all.extend(added(root, &plan)?);
    all.extend(modes(root)?);
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Judged {
        findings: all.iter().map(Fault::finding).collect(),
        faults: all,
        plan: Some(plan),
    })
}

/// Reads the three descriptions; the inner error says which one is damaged, and how.
fn describe(root: &Path) -> FsResult<Result<Plan, (&'static str, String)>> {
    let mut read = Vec::new();
    for (name, limit) in [
        (BUNDLE_JSON, MAX_BUNDLE_JSON),
        (FILES, MAX_FILES),
        (COMPLETE, 1 << 20),
    ] {
        let path = root.join(name);
        let is_file = fs::symlink_metadata(&path)?.map(|there| there.is_file());
        match is_file {
            Some(true) => read.push(fs::read(&path, limit)?),
            Some(false) => return Ok(Err((name, "it is not a file".to_owned()))),
            None => return Ok(Err((name, "it is missing".to_owned()))),
        }
    }
    let Ok([bundle_json, files, complete_bytes]) = <[Vec<u8>; 3]>::try_from(read) else {
        return Ok(Err((BUNDLE_JSON, "it is missing".to_owned())));
    };
    let complete = match Complete::parse(&complete_bytes) {
        Ok(complete) => complete,
        Err(e) => return Ok(Err((COMPLETE, e.to_string()))),
    };
    let bundle = match Bundle::parse(&bundle_json) {
        Ok(bundle) => bundle,
        Err(e) => return Ok(Err((BUNDLE_JSON, e.to_string()))),
    };
    let digest = Digest::of(&files);
    if digest != complete.files {
        let what = "its digest is not the one in .complete";
        return Ok(Err((FILES, what.to_owned())));
    }
    if digest != bundle.digests.files {
        let what = "it names another files.jsonl";
        return Ok(Err((BUNDLE_JSON, what.to_owned())));
    }
    let rows = match manifest::read_files(&files) {
        Ok(rows) => rows,
        Err(e) => return Ok(Err((FILES, e.to_string()))),
    };
    if rows.len() as u64 != complete.entries {
        let what = "it counts other entries than files.jsonl";
        return Ok(Err((COMPLETE, what.to_owned())));
    }
    let known = |id: &Digest| bundle.layers.iter().any(|layer| layer.id == *id);
    if !complete.layers.iter().all(known) {
        let what = "it needs a layer that bundle.json does not name";
        return Ok(Err((COMPLETE, what.to_owned())));
    }
    let identity = Digest::of(&bundle_json);
    let descriptions = [
        (BUNDLE_JSON, bundle_json),
        (FILES, files),
        (COMPLETE, complete_bytes),
    ];
    let plan = Plan::of(bundle, identity, rows, descriptions);
    Ok(plan.map_err(|e| (FILES, e.to_string())))
}

/// Paths that the list does not have.
fn added(root: &Path, plan: &Plan) -> FsResult<Vec<Fault>> {
    let listed = plan.rows().iter();
    let known: BTreeSet<&str> = listed
        .map(|row| row.path.as_str())
        .chain([BUNDLE_JSON, FILES, COMPLETE])
        .collect();
    let folders: BTreeSet<&str> = plan
        .rows()
        .iter()
        .filter(|row| row.kind == EntryKind::Dir)
        .map(|row| row.path.as_str())
        .collect();
    let mut out = Vec::new();
    let mut todo = vec![String::new()];
    while let Some(folder) = todo.pop() {
        let Ok(list) = fs::list(&root.join(&folder)) else {
            // A folder that cannot be listed is told by what it should hold.
            continue;
        };
        for path in list {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let path = if folder.is_empty() {
                name.into_owned()
            } else {
                format!("{folder}/{name}")
            };
            if !known.contains(path.as_str()) {
                let kind = FaultKind::Added;
                out.push(Fault { path, kind });
            } else if folders.contains(path.as_str())
                && fs::symlink_metadata(&root.join(&path))?.is_some_and(|there| there.is_dir())
            {
                todo.push(path);
            }
        }
    }
    Ok(out)
}

/// The modes of what the list does not have: the descriptions and the root.
fn modes(root: &Path) -> FsResult<Vec<Fault>> {
    use std::os::unix::fs::MetadataExt;
    let mut out = Vec::new();
    for (path, listed) in [
        ("", 0o755),
        (BUNDLE_JSON, 0o644),
        (FILES, 0o644),
        (COMPLETE, 0o644),
    ] {
        let there = fs::symlink_metadata(&root.join(path))?;
        let found = there.map_or(listed, |there| there.mode() & 0o7777);
        if found != listed && found != listed & 0o555 {
            let kind = FaultKind::Mode { found, listed };
            let path = if path.is_empty() { "." } else { path }.to_owned();
            out.push(Fault { path, kind });
        }
    }
    Ok(out)
}
