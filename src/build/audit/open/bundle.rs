//! A bundle file: from its records, or by decoding every segment again, components in parallel.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::scan::{Scan, Scanned};
use super::{FactsFrom, OpenError, Opened, Opening, listed};
use crate::base::digest::Digest;
use crate::base::finding::{Finding, Severity};
use crate::base::fs::{self, Window};
use crate::build::assemble::{Placed, Told};
use crate::build::ingest::facts;
use crate::build::ingest::store::Backing;
use crate::formats::bundle::{Bundle, ComponentRecord};
use crate::formats::bundle_reader::{BundleReadError, BundleReader};
use crate::formats::component::{Component, ComponentKind, Entry, EntryKind};
use crate::formats::manifest::Row;
use crate::formats::recorded::{FACTS_VERSION, Recorded};
use crate::formats::segment_table::Part;
use crate::formats::self_extracting;
use crate::formats::tar_reader::{Ends, Entries};

/// No file of `provenance/` is larger.
const MAX_PROVENANCE: u64 = 16 << 20;
/// No RECORD is larger.
const MAX_RECORD: u64 = 256 << 20;

pub(super) fn open(path: &Path, opening: &Opening) -> Result<Opened, OpenError> {
    let failed = |source: BundleReadError| OpenError::Bundle {
        path: path.to_owned(),
        source: Box::new(source),
    };
    let reader = BundleReader::open(self_extracting::payload(fs::open(path)?)).map_err(failed)?;
    let bundle = reader.describe().map_err(failed)?.bundle;
    let (rows, recorded) = reader.recorded().map_err(failed)?;
    let (recipe, interpreter_glibc) =
        super::recipe(&provenance(&reader, &bundle).map_err(failed)?)?;
    let mut parts = parts(&bundle, &rows, recorded.as_ref());
    let unread = unread(recorded.as_ref().filter(|_| !opening.full));
    let (from, mut faults) = match recorded {
        Some(_) if !opening.full => (FactsFrom::Records, Vec::new()),
        recorded => {
            let read = read_all(&reader, &bundle, opening).map_err(failed)?;
            let faults = compare(&mut parts, read, recorded.is_some());
            (FactsFrom::Bytes, faults)
        }
    };
    let read = &mut |number, path: &str| record(&reader, number, path);
    faults.extend(listed::check(&parts, read).map_err(failed)?);
    Ok(Opened {
        told: Told::new(placed(&bundle, parts)),
        bundle: Some(bundle),
        from,
        faults,
        unread,
        recipe,
        interpreter_glibc,
    })
}

/// What the records of an older program do not tell.
pub(super) fn unread(recorded: Option<&Recorded>) -> Vec<String> {
    let old = recorded.is_some_and(|r| r.version < FACTS_VERSION);
    let what = "texts for folders of a builder: the bundle's records are of an older form (--full reads them)";
    old.then(|| what.to_owned()).into_iter().collect()
}

/// A RECORD, which lies at the end of its component in segments of its own.
fn record(
    reader: &BundleReader<Window>,
    number: usize,
    path: &str,
) -> Result<Option<Vec<u8>>, BundleReadError> {
    let all = reader.segments_of(Part::Component(number as u32));
    let last = all.end.saturating_sub(1)..all.end;
    if let Ok(Some(bytes)) = content(reader, last, path) {
        return Ok(Some(bytes));
    }
    content(reader, all, path)
}

/// The bytes of one file in these segments.
fn content(
    reader: &BundleReader<Window>,
    segments: Range<usize>,
    path: &str,
) -> Result<Option<Vec<u8>>, BundleReadError> {
    let mut entries = Entries::new(reader.stream(segments), Ends::Entry);
    while let Some(entry) = entries.next_entry()? {
        if entry.path == path {
            return Ok(Some(entries.read_content(MAX_RECORD)?));
        }
    }
    Ok(None)
}

/// Entries and distribution of every component, as the records tell them.
pub(super) fn parts(bundle: &Bundle, rows: &[Row], recorded: Option<&Recorded>) -> Vec<Component> {
    let mut by_origin: BTreeMap<&str, Vec<Entry>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.kind != EntryKind::Dir) {
        let Some(origin) = row.origin.as_deref() else {
            continue;
        };
        by_origin.entry(origin).or_default().push(Entry {
            path: row.path.clone(),
            kind: row.kind.clone(),
            mode: row.mode,
            size: row.size.unwrap_or(0),
            sha256: row.sha256,
            facts: recorded.and_then(|r| r.files.get(&row.path).cloned()),
        });
    }
    let component = |record: &ComponentRecord| Component {
        key: record.id,
        id: record.id,
        name: record.name.clone(),
        version: record.version.clone(),
        kind: record.kind,
        artifact: record.sha256,
        entries: by_origin.remove(record.name.as_str()).unwrap_or_default(),
        segments: Vec::new(),
        distribution: recorded.and_then(|r| r.distributions.get(&record.name).cloned()),
        notes: Vec::new(),
    };
    bundle.components.iter().map(component).collect()
}

/// The components with their layers and sources.
pub(super) fn placed(bundle: &Bundle, parts: Vec<Component>) -> Vec<Placed> {
    let place = |(record, component): (&ComponentRecord, Component)| Placed {
        component: Arc::new(component),
        layer: record.layer,
        segments: Backing::Memory(Arc::from([])),
        source: record.source.clone(),
    };
    bundle.components.iter().zip(parts).map(place).collect()
}

/// The files of `provenance/`, which the layout brings.
fn provenance(
    reader: &BundleReader<Window>,
    bundle: &Bundle,
) -> Result<Vec<(String, Vec<u8>)>, BundleReadError> {
    let mut out = Vec::new();
    let layouts = bundle.components.iter().enumerate();
    for (number, _) in layouts.filter(|(_, c)| c.kind == ComponentKind::Layout) {
        let mut entries = reader.component(number as u32);
        while let Some(entry) = entries.next_entry()? {
            if entry.path.starts_with("provenance/") && entry.kind == EntryKind::File {
                let bytes = entries.read_content(MAX_PROVENANCE)?;
                out.push((entry.path, bytes));
            }
        }
    }
    Ok(out)
}

/// What reading a component's bytes gave, by path.
type Reading = BTreeMap<String, Scanned>;

/// Reads every component, the largest first, as many at a time as there are threads.
fn read_all(
    reader: &BundleReader<Window>,
    bundle: &Bundle,
    opening: &Opening,
) -> Result<Vec<Reading>, BundleReadError> {
    let mut order: Vec<usize> = (0..bundle.components.len()).collect();
    order.sort_by_key(|n| std::cmp::Reverse(bundle.components.get(*n).map_or(0, |c| c.unpacked)));
    let next = AtomicUsize::new(0);
    let done: Mutex<Vec<Option<Result<Reading, BundleReadError>>>> =
        Mutex::new((0..bundle.components.len()).map(|_| None).collect());
    let work = || {
        while let Some(number) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
            let read = read(reader, *number, opening);
            let stop = read.is_err();
            let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(slot) = done.get_mut(*number) {
                *slot = Some(read);
            }
            if stop {
                next.store(order.len(), Ordering::Relaxed);
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..opening.threads.get().min(order.len().max(1)) {
            scope.spawn(work);
        }
        work();
    });
    let done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut out = Vec::with_capacity(done.len());
    let mut missing = false;
    for read in done {
        match read {
            Some(read) => out.push(read?),
            None => missing = true,
        }
    }
    // Left undone only where another one failed, which has been returned if it came before.
    if missing {
        Err(BundleReadError::Differs)
    } else {
        Ok(out)
    }
}

fn read(
    reader: &BundleReader<Window>,
    number: usize,
    opening: &Opening,
) -> Result<Reading, BundleReadError> {
    let mut out = Reading::new();
    if reader
        .segments_of(Part::Component(number as u32))
        .is_empty()
    {
        return Ok(out);
    }
    let mut scan = Scan::new(&opening.scratch);
    let mut entries = reader.component(number as u32);
    while let Some(entry) = entries.next_entry()? {
        let mut scanned = Scanned {
            entry: Entry {
                path: entry.path.clone(),
                kind: entry.kind.clone(),
                mode: entry.mode,
                size: entry.size,
                sha256: None,
                facts: None,
            },
            distribution: None,
        };
        if entry.kind == EntryKind::File {
            let what = "a file of the bundle";
            scan.read(&mut scanned, &mut entries.content())
                .map_err(|source| BundleReadError::Read { what, source })?;
        }
        out.insert(entry.path, scanned);
    }
    Ok(out)
}

/// Puts what was read in the place of what was recorded; what differs is a finding.
fn compare(parts: &mut [Component], read: Vec<Reading>, had_facts: bool) -> Vec<Finding> {
    let mut faults = Vec::new();
    for (part, mut read) in parts.iter_mut().zip(read) {
        let mut recorded = Vec::with_capacity(part.entries.len());
        let mut by_path: BTreeMap<String, Option<Digest>> = BTreeMap::new();
        for entry in &mut part.entries {
            let Some(scanned) = read.remove(&entry.path) else {
                faults.push(fault(
                    &entry.path,
                    "stands in files.jsonl but not in the bundle",
                ));
                continue;
            };
            recorded.push(entry.clone());
            let seen = scanned.entry;
            by_path.insert(seen.path.clone(), seen.sha256);
            if entry.kind != seen.kind || entry.mode != seen.mode {
                faults.push(fault(
                    &entry.path,
                    "is another kind of entry, or has another mode, than files.jsonl says",
                ));
            }
            let digest = match &seen.kind {
                EntryKind::Hardlink { target } => by_path.get(target).copied().flatten(),
                _ => seen.sha256,
            };
            if digest != entry.sha256 || (seen.kind == EntryKind::File && seen.size != entry.size) {
                faults.push(fault(&entry.path, "has other bytes than files.jsonl says"));
            }
            entry.facts = seen.facts;
            if let Some(distribution) = scanned.distribution {
                part.distribution.get_or_insert(distribution);
            }
        }
        faults.extend(
            read.into_keys()
                .map(|path| fault(&path, "is in the bundle but not in files.jsonl")),
        );
        facts::settle(&mut part.entries);
        let pairs = part.entries.iter().filter_map(|e| {
            let old = recorded.iter().find(|r| r.path == e.path)?;
            (old.facts != e.facts).then_some(&e.path)
        });
        if had_facts {
            faults.extend(pairs.map(|path| read_differently(path)));
        }
    }
    faults
}

/// The bytes are the recorded ones, and so is facts.jsonl: another program read them.
fn read_differently(path: &str) -> Finding {
    Finding {
        severity: Severity::Note,
        code: "facts-differ".to_owned(),
        path: path.to_owned(),
        message: "is read differently by this program than by the one that made the bundle"
            .to_owned(),
        hint: None,
    }
}

fn fault(path: &str, message: &str) -> Finding {
    Finding {
        severity: Severity::Error,
        code: "record-mismatch".to_owned(),
        path: path.to_owned(),
        message: message.to_owned(),
        hint: Some("the bundle is damaged or was changed: fetch or make it again".to_owned()),
    }
}
