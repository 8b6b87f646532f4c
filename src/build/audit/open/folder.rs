//! A folder: an unpacked bundle by its records, or any tree by reading it. Nothing is written, links are not followed.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::scan::{Scan, Scanned, wheel_tags};
use super::{FactsFrom, OpenError, Opened, Opening, bundle, listed};
use crate::base::digest::Digest;
use crate::base::finding::{Finding, Severity};
use crate::base::fs::{self, At, FsError};
use crate::build::assemble::{Placed, Told};
use crate::build::ingest::facts;
use crate::build::ingest::store::Backing;
use crate::formats::bundle::{BUNDLE_JSON, Bundle, MAX_BUNDLE_JSON};
use crate::formats::component::{Component, ComponentKind, Entry, EntryKind, Layer, component_id};
use crate::formats::distribution::{DistributionFacts, normalized_name};
use crate::formats::manifest::{COMPLETE, FILES, LAYERS, Row, read_files};
use crate::formats::recorded::{FACTS, Recorded};

/// No list of files, and no facts, are larger.
const MAX_RECORDS: u64 = 1 << 30;
/// No recipe, lock or WHEEL is larger.
const MAX_SMALL: u64 = 16 << 20;

pub(super) fn open(path: &Path, opening: &Opening) -> Result<Opened, OpenError> {
    let own = |name: &str| path.join(name);
    let (recipe, interpreter_glibc) = super::recipe(&provenance(path)?)?;
    let Some(bytes) = fs::read_if_exists(&own(BUNDLE_JSON), MAX_BUNDLE_JSON)? else {
        let (parts, faults) = by_place(read_all(path, opening)?, path)?;
        return Ok(Opened {
            told: Told::new(parts),
            bundle: None,
            from: FactsFrom::Bytes,
            faults,
            unread: Vec::new(),
            recipe,
            interpreter_glibc,
        });
    };
    let json = |source| OpenError::Json {
        path: path.to_owned(),
        source,
    };
    let described = Bundle::parse(&bytes).map_err(json)?;
    let rows =
        read_files(&fs::read(&own(FILES), MAX_RECORDS)?).map_err(|source| OpenError::Files {
            path: path.to_owned(),
            source,
        })?;
    let recorded = match fs::read_if_exists(&own(FACTS), MAX_RECORDS)? {
        None => None,
        Some(bytes) => Some(
            Recorded::parse(&bytes).map_err(|source| OpenError::Recorded {
                path: path.to_owned(),
                source,
            })?,
        ),
    };
    let mut parts = bundle::parts(&described, &rows, recorded.as_ref());
    let unread = bundle::unread(recorded.as_ref().filter(|_| !opening.full));
    let (from, mut faults) = if opening.full || recorded.is_none() {
        (
            FactsFrom::Bytes,
            again(&mut parts, &rows, read_all(path, opening)?),
        )
    } else {
        (FactsFrom::Records, Vec::new())
    };
    let read = &mut |_, file: &str| fs::read_if_exists(&own(file), MAX_RECORDS);
    faults.extend(listed::check(&parts, read)?);
    Ok(Opened {
        told: Told::new(bundle::placed(&described, parts)),
        bundle: Some(described),
        from,
        faults,
        unread,
        recipe,
        interpreter_glibc,
    })
}

fn provenance(path: &Path) -> Result<Vec<(String, Vec<u8>)>, FsError> {
    let folder = path.join("provenance");
    if !fs::metadata(&folder)?.is_some_and(|m| m.is_dir()) {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    for file in fs::list(&folder)? {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if fs::metadata(&file)?.is_some_and(|m| m.is_file()) {
            out.push((format!("provenance/{name}"), fs::read(&file, MAX_SMALL)?));
        }
    }
    Ok(out)
}

/// Every file and link below a folder, by path.
fn read_all(path: &Path, opening: &Opening) -> Result<BTreeMap<String, Scanned>, FsError> {
    let mut out = BTreeMap::new();
    let mut scan = Scan::new(&opening.scratch);
    let mut folders = vec![(path.to_owned(), String::new())];
    while let Some((folder, below)) = folders.pop() {
        for item in fs::list(&folder)? {
            let name = item
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            let name = if below.is_empty() {
                name
            } else {
                format!("{below}/{name}")
            };
            let Some(metadata) = fs::symlink_metadata(&item)? else {
                continue;
            };
            if metadata.is_dir() {
                folders.push((item, name));
                continue;
            }
            let mode = metadata.permissions().mode() & 0o777;
            let size = if metadata.is_file() {
                Some(metadata.len())
            } else {
                None
            };
            out.insert(
                name.clone(),
                one(&mut scan, &item, name, metadata.is_symlink(), mode, size)?,
            );
        }
    }
    Ok(out)
}

/// A file (with its size), a link, or something else, of which only the name is kept.
fn one(
    scan: &mut Scan,
    path: &Path,
    name: String,
    is_link: bool,
    mode: u32,
    size: Option<u64>,
) -> Result<Scanned, FsError> {
    let kind = if is_link {
        EntryKind::Symlink {
            target: fs::read_link(path)?.to_string_lossy().into_owned(),
        }
    } else {
        EntryKind::File
    };
    let mut scanned = Scanned {
        entry: Entry {
            path: name,
            kind,
            mode: if is_link { 0o777 } else { mode },
            size: size.unwrap_or(0),
            sha256: None,
            facts: None,
        },
        distribution: None,
    };
    if size.is_some() {
        let mut file = fs::open(path)?;
        let done = scan.read(&mut scanned, &mut file);
        done.at("read", path)?;
    }
    Ok(scanned)
}

/// Puts what was read in the place of what is recorded; what differs is a finding.
fn again(
    parts: &mut [Component],
    rows: &[Row],
    mut read: BTreeMap<String, Scanned>,
) -> Vec<Finding> {
    let mut faults = Vec::new();
    for part in parts.iter_mut() {
        for entry in &mut part.entries {
            let Some(scanned) = read.remove(&entry.path) else {
                faults.push(fault(&entry.path, "stands in files.jsonl but is not there"));
                continue;
            };
            let seen = scanned.entry;
            let same_kind = match (&entry.kind, &seen.kind) {
                // A hard link is a file like any other once it is unpacked.
                (EntryKind::Hardlink { .. }, EntryKind::File) => true,
                (a, b) => a == b,
            };
            if !same_kind {
                faults.push(fault(&entry.path, "is not what files.jsonl says it is"));
            } else if seen.sha256 != entry.sha256 {
                faults.push(fault(&entry.path, "has other bytes than files.jsonl says"));
            }
            entry.facts = seen.facts.filter(|_| entry.kind == EntryKind::File);
            if let Some(distribution) = scanned.distribution {
                part.distribution.get_or_insert(distribution);
            }
        }
        facts::settle(&mut part.entries);
    }
    let ours = |path: &str| {
        [BUNDLE_JSON, FILES, COMPLETE].contains(&path)
            || path.starts_with(LAYERS)
            || rows.iter().any(|row| row.path == path)
    };
    let extra = read.into_keys().filter(|path| !ours(path));
    faults.extend(extra.map(|path| fault(&path, "is there but not in files.jsonl")));
    faults
}

/// Any tree, its files parted by where they lie: what is under site-packages by the distribution that lies there, the rest of
/// `python/` as the interpreter, all else as layout.
fn by_place(
    read: BTreeMap<String, Scanned>,
    root: &Path,
) -> Result<(Vec<Placed>, Vec<Finding>), FsError> {
    let faults = records(&read, root)?;
    let mut distributions: Vec<DistributionFacts> = Vec::new();
    let mut entries: BTreeMap<ComponentKind, Vec<Entry>> = BTreeMap::new();
    for (path, scanned) in read {
        if let Some(mut facts) = scanned.distribution {
            let wheel: PathBuf = root.join(&facts.dist_info).join("WHEEL");
            if let Some(bytes) = fs::read_if_exists(&wheel, MAX_SMALL)? {
                facts.tags = wheel_tags(&bytes);
            }
            distributions.push(facts);
        }
        let kind = if path.contains("site-packages/") {
            ComponentKind::Wheel
        } else if path.starts_with("python/") {
            ComponentKind::Interpreter
        } else {
            ComponentKind::Layout
        };
        entries.entry(kind).or_default().push(scanned.entry);
    }
    let mut out: Vec<Placed> = Vec::new();
    for (kind, mut entries) in entries {
        facts::settle(&mut entries);
        out.push(part("files", None, kind, entries, None));
    }
    for facts in distributions {
        let (name, version) = (normalized_name(&facts.name), Some(facts.version.clone()));
        out.push(part(
            &name,
            version,
            ComponentKind::Wheel,
            Vec::new(),
            Some(facts),
        ));
    }
    Ok((out, faults))
}

/// Compares the RECORD of every distribution with the files that were read.
fn records(read: &BTreeMap<String, Scanned>, root: &Path) -> Result<Vec<Finding>, FsError> {
    let files = listed::files(read.values().map(|scanned| &scanned.entry));
    let mut out = Vec::new();
    for facts in read.values().filter_map(|s| s.distribution.as_ref()) {
        let record = root.join(&facts.dist_info).join("RECORD");
        if let Some(bytes) = fs::read_if_exists(&record, MAX_RECORDS)? {
            out.extend(listed::compare(&facts.dist_info, &bytes, &files, None));
        }
    }
    Ok(out)
}

fn part(
    name: &str,
    version: Option<String>,
    kind: ComponentKind,
    entries: Vec<Entry>,
    distribution: Option<DistributionFacts>,
) -> Placed {
    let id = component_id(&entries);
    Placed {
        component: Arc::new(Component {
            key: Digest::of(name.as_bytes()),
            id,
            name: name.to_owned(),
            version,
            kind,
            artifact: None,
            entries,
            segments: Vec::new(),
            distribution,
            notes: Vec::new(),
        }),
        layer: Layer::App,
        segments: Backing::Memory(Arc::from([])),
        source: None,
    }
}

fn fault(path: &str, message: &str) -> Finding {
    Finding {
        severity: Severity::Error,
        code: "record-mismatch".to_owned(),
        path: path.to_owned(),
        message: message.to_owned(),
        hint: Some(
            "the folder was changed since it was unpacked: unpack the bundle again".to_owned(),
        ),
    }
}
