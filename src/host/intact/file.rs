//! A bundle's file judged without unpacking: every segment decoded, every file digested.

use std::io::Read;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::base::digest::Hasher;
use crate::base::finding::{Finding, Severity};
use crate::base::fs::ReadAt;
use crate::formats::bundle_reader::BundleReader;
use crate::formats::component::EntryKind;
use crate::host::install::{InstallError, Plan};

/// Bytes read at a time.
const PIECE: usize = 256 << 10;

/// Judges a bundle's file.
pub fn file<R: ReadAt>(
    reader: &BundleReader<R>,
    jobs: usize,
) -> Result<(Plan, Vec<Finding>), InstallError> {
    let plan = Plan::new(reader)?;
    let next = AtomicUsize::new(0);
    let findings = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..jobs.max(1).min(plan.components().max(1)) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= plan.components() {
                        return;
                    }
                    let found = component(reader, &plan, number);
                    findings
                        .lock()
                        .unwrap_or_else(std::sync::PoisonError::into_inner)
                        .extend(found);
                }
            });
        }
    });
    let mut findings = findings
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    findings.sort();
    Ok((plan, findings))
}

fn component<R: ReadAt>(reader: &BundleReader<R>, plan: &Plan, number: usize) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut tell = |code: &str, path: &str, message: String| {
        out.push(Finding {
            severity: Severity::Error,
            code: code.to_owned(),
            path: path.to_owned(),
            message,
            hint: None,
        });
    };
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
        let mut hasher = Hasher::new();
        let mut content = entries.content();
        loop {
            match content.read(&mut buffer) {
                Ok(0) => break,
                Ok(read) => hasher.update(buffer.get(..read).unwrap_or_default()),
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => {
                    tell(
                        "archive-damaged",
                        &entry.path,
                        format!("it cannot be read: {error}"),
                    );
                    return out;
                }
            }
        }
        if row.size != Some(entry.size) || row.sha256 != Some(hasher.finish()) {
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
