//! A bundle's or layer's file judged without unpacking: every segment decoded, every file digested.

use std::io::Read;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::base::digest::{Digest, Hasher};
use crate::base::finding::{Finding, Severity};
use crate::base::fs::ReadAt;
use crate::formats::bundle_reader::BundleReader;
use crate::formats::component::{Entry, EntryKind, Layer, component_id};
use crate::formats::layer_reader::LayerReader;
use crate::formats::tar_reader::Entries;
use crate::host::install::{InstallError, Plan};

/// Bytes read at a time.
const PIECE: usize = 256 << 10;

/// What the file of a bundle or layer holds.
#[derive(Debug)]
pub struct JudgedFile {
    /// Paths looked at.
    pub entries: usize,
    /// What is wrong.
    pub findings: Vec<Finding>,
}

/// Judges the file of a bundle, or of one without the components of its base layer.
pub fn file<R: ReadAt>(reader: &BundleReader<R>, jobs: usize) -> Result<JudgedFile, InstallError> {
    let plan = Plan::new(reader)?;
    let is_elsewhere = |number: &usize| {
        plan.record(*number).layer == Layer::Base && !reader.has_component(*number as u32)
    };
    let base: Vec<usize> = (0..plan.components())
        .filter(|number| plan.record(*number).layer == Layer::Base)
        .collect();
    // All of the base is in another file, or none of it.
    let is_app = !base.is_empty() && base.iter().all(is_elsewhere);
    let here: Vec<usize> = (0..plan.components())
        .filter(|number| !is_app || !base.contains(number))
        .collect();
    let elsewhere = if is_app { base.as_slice() } else { &[] };
    let elsewhere: usize = elsewhere.iter().map(|n| plan.rows_of(*n).len()).sum();
    Ok(JudgedFile {
        entries: plan.rows().len() - elsewhere,
        findings: all(&here, jobs, |number| component(reader, &plan, number)),
    })
}

/// Judges the file of a base layer: each component must be the one that its id stands for.
pub fn layer<R: ReadAt>(reader: &LayerReader<R>, jobs: usize) -> JudgedFile {
    let numbers: Vec<usize> = (0..reader.table().components.len()).collect();
    JudgedFile {
        entries: reader.record().entries as usize,
        findings: all(&numbers, jobs, |number| layer_component(reader, number)),
    }
}

/// What is found in components, by several threads.
fn all(
    numbers: &[usize],
    jobs: usize,
    judge: impl Fn(usize) -> Vec<Finding> + Sync,
) -> Vec<Finding> {
    let next = AtomicUsize::new(0);
    let findings = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1).min(numbers.len().max(1)) {
            scope.spawn(|| {
                while let Some(number) = numbers.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = judge(*number);
                    findings
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .extend(found);
                }
            });
        }
    });
    let mut findings = findings
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner);
    findings.sort();
    findings
}

fn finding(code: &str, path: &str, message: String) -> Finding {
    Finding {
        severity: Severity::Error,
        code: code.to_owned(),
        path: path.to_owned(),
        message,
        hint: None,
    }
}

fn layer_component<R: ReadAt>(reader: &LayerReader<R>, number: usize) -> Vec<Finding> {
    let id = reader.table().components[number];
    let damaged = |message: String| vec![finding("archive-damaged", &id.to_string(), message)];
    let mut entries = reader.component(number as u32);
    let mut buffer = vec![0; PIECE];
    let mut listed = Vec::new();
    loop {
        let entry = match entries.next_entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => break,
            Err(error) => {
                let error = anyhow::Error::new(error);
                return damaged(format!("the component is damaged: {error:#}"));
            }
        };
        let is_file = entry.kind == EntryKind::File;
        let sha256 = match digest(&mut entries, &mut buffer) {
            Ok(sha256) => is_file.then_some(sha256),
            Err(error) => return damaged(format!("{:?} cannot be read: {error}", entry.path)),
        };
        let mut size = entry.size;
        if let EntryKind::Hardlink { target } = &entry.kind {
            // The archive does not repeat the size of what it links to; the id does.
            let goal = listed.iter().find(|one: &&Entry| one.path == *target);
            size = goal.map_or(0, |goal| goal.size);
        }
        listed.push(Entry {
            path: entry.path,
            kind: entry.kind,
            mode: entry.mode,
            size,
            sha256,
            facts: None,
        });
    }
    if component_id(&listed) == id {
        Vec::new()
    } else {
        damaged("the component is not the one its id stands for".to_owned())
    }
}

fn digest<S: Read>(entries: &mut Entries<S>, buffer: &mut [u8]) -> std::io::Result<Digest> {
    let mut hasher = Hasher::new();
    let mut content = entries.content();
    loop {
        match content.read(buffer) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(read) => hasher.update(buffer.get(..read).unwrap_or_default()),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

fn component<R: ReadAt>(reader: &BundleReader<R>, plan: &Plan, number: usize) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut tell = |code, path: &str, message| out.push(finding(code, path, message));
    let name = &plan.record(number).name;
    let mut entries = reader.component(number as u32);
    let mut buffer = vec![0; PIECE];
    let mut seen = 0;
    loop {
        let entry = match entries.next_entry() {
            Ok(Some(entry)) => entry,
            Ok(None) => break,
            Err(error) => {
                let error = anyhow::Error::new(error);
                let message = format!("component {name} is damaged: {error:#}");
                tell("archive-damaged", name, message);
                return out;
            }
        };
        seen += 1;
        let row = plan.row(number, &entry.path);
        let Some(row) = row.filter(|row| row.kind == entry.kind && row.mode == entry.mode) else {
            let message = "it is not what the bundle's list of files says".to_owned();
            tell("entry-differs", &entry.path, message);
            continue;
        };
        if entry.kind != EntryKind::File {
            continue;
        }
        let sha256 = match digest(&mut entries, &mut buffer) {
            Ok(sha256) => sha256,
            Err(error) => {
                let message = format!("it cannot be read: {error}");
                tell("archive-damaged", &entry.path, message);
                return out;
            }
        };
        if row.size != Some(entry.size) || row.sha256 != Some(sha256) {
            let message = "it has other bytes than the bundle's list of files says".to_owned();
            tell("bytes-changed", &entry.path, message);
        }
    }
    if seen != plan.rows_of(number).len() {
        let message = format!("component {name} holds {seen} entries, not those of its list");
        tell("archive-damaged", name, message);
    }
    out
}
