//! RECORD of each wheel against the files that are there. Ingest writes RECORD from what it read, so for a bundle its bytes
//! follow from files.jsonl: where their digest is the recorded one, it lists exactly the component's files, and need not be
//! read. Else, and in any other folder, it is read and compared row by row.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::digest::Digest;
use crate::base::finding::{Finding, Severity};
use crate::build::audit::builder::list;
use crate::build::audit::resolve::normal;
use crate::formats::component::{Component, Entry, EntryKind};
use crate::formats::record::{self, Row, relative};

/// Compares the RECORD of every component; `read` gets the number of a component and the path of its RECORD.
pub(super) fn check<E>(
    parts: &[Component],
    mut read: impl FnMut(usize, &str) -> Result<Option<Vec<u8>>, E>,
) -> Result<Vec<Finding>, E> {
    let files = files(parts.iter().flat_map(|part| &part.entries));
    let mut out = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let records = part.entries.iter().filter_map(|e| dist_info(&e.path));
        for dist_info in records.filter(|dist_info| !follows(part, dist_info)) {
            // One that is gone is a finding already.
            if let Some(bytes) = read(number, &format!("{dist_info}/RECORD"))? {
                out.extend(compare(dist_info, &bytes, &files, Some(&part.entries)));
            }
        }
    }
    Ok(out)
}

/// The folder of a distribution whose RECORD `path` is; those inside packages are others' copies.
fn dist_info(path: &str) -> Option<&str> {
    let dist_info = path.strip_suffix("/RECORD")?;
    let (folder, name) = dist_info.rsplit_once('/')?;
    (folder.ends_with("/site-packages") && name.ends_with(".dist-info")).then_some(dist_info)
}

/// Compiled files are made and removed as they are needed.
fn is_bytecode(path: &str) -> bool {
    path.rsplit_once('.').is_some_and(|(_, end)| end == "pyc")
}

/// Digest and size of every file, by path.
pub(super) type Files<'a> = BTreeMap<&'a str, (Option<Digest>, u64)>;

/// The files of all components.
pub(super) fn files<'a>(entries: impl Iterator<Item = &'a Entry>) -> Files<'a> {
    entries
        .map(|e| (e.path.as_str(), (e.sha256, e.size)))
        .collect()
}

/// True where RECORD has the very bytes that follow from the component's entries.
fn follows(part: &Component, dist_info: &str) -> bool {
    let path = format!("{dist_info}/RECORD");
    let Some(own) = part.entries.iter().find(|e| e.path == path) else {
        return false;
    };
    let base = dist_info.rsplit_once('/').map_or("", |(base, _)| base);
    let listed = part.entries.iter().filter(|e| e.path != path);
    let rows: Vec<Row> = listed
        .map(|e| Row {
            path: relative(base, &e.path),
            sha256: e.sha256,
            size: Some(e.size),
        })
        .collect();
    own.sha256 == Some(Digest::of(&record::render(&rows, &relative(base, &path))))
}

/// What a RECORD says that is not so. `own` are the paths that it must list; folders other than bundles have none, and there
/// files without a digest, and compiled files that are gone, are an installer's way.
pub(super) fn compare(
    dist_info: &str,
    bytes: &[u8],
    files: &Files<'_>,
    own: Option<&[Entry]>,
) -> Vec<Finding> {
    let path = format!("{dist_info}/RECORD");
    let finding = |message: String| {
        let hint = "the files were changed after they were installed, or RECORD was: install the distribution again";
        Finding::new(
            Severity::Error,
            "record-mismatch",
            &path,
            message,
            Some(hint),
        )
    };
    let name = dist_info.rsplit('/').next().unwrap_or(dist_info);
    let read = match own {
        Some(_) => record::parse(bytes, name),
        None => record::parse_installed(bytes),
    };
    let rows = match read {
        Ok(rows) => rows,
        Err(error) => return vec![finding(format!("cannot be believed: {error}"))],
    };
    let base = dist_info.rsplit_once('/').map_or("", |(base, _)| base);
    let (mut gone, mut other, mut listed) = (Vec::new(), Vec::new(), BTreeSet::new());
    for row in &rows {
        // A path that leaves the folder is nothing that can be looked at here.
        let Some(place) = normal(&format!("{base}/{}", row.path)) else {
            continue;
        };
        match files.get(place.as_str()) {
            None if own.is_none() && is_bytecode(&place) => {}
            None => gone.push(row.path.as_str()),
            Some((sha256, size)) => {
                let digest = row.sha256.is_some() && row.sha256 != *sha256;
                if digest || row.size.is_some_and(|s| s != *size) {
                    other.push(row.path.as_str());
                }
            }
        }
        listed.insert(place);
    }
    let is_own = |e: &&Entry| !matches!(e.kind, EntryKind::Dir) && !listed.contains(&e.path);
    let unlisted: Vec<&str> = own
        .unwrap_or_default()
        .iter()
        .filter(is_own)
        .map(|e| e.path.as_str())
        .filter(|p| !record::is_exempt(&relative(base, p), name))
        .collect();
    [
        ("lists files that are not there", gone),
        ("gives other digests or sizes than the files have", other),
        ("does not list files of the distribution", unlisted),
    ]
    .into_iter()
    .filter(|(_, paths)| !paths.is_empty())
    .map(|(what, paths)| finding(format!("{what}: {}", list(&paths))))
    .collect()
}
