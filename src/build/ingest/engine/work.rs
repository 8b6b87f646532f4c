//! A component in the making: its rows (what will be its entries), the parts they are cut into, and what is known of
//! them so far. Shared by all workers that read its artifact.

use std::sync::{Mutex, PoisonError};

use super::cut::{Part, Sizes, cut};
use crate::base::digest::Digest;
use crate::base::finding::{Finding, Severity};
use crate::base::progress::Task;
use crate::build::ingest::store::{Claim, Draft, Ingredients};
use crate::build::ingest::{Content, IngestError, Plan};
use crate::formats::component::{EntryKind, FileFacts, SegmentRef};
use crate::formats::record::relative;
use crate::formats::{record, tar_entry};

use super::read::Origin;
use super::spill::Spill;

/// Where the bytes of a row come from.
#[derive(Debug, Clone)]
pub(super) enum Source {
    /// As the plan says.
    Planned(Content),
    /// Bytecode, at this offset of the spill.
    Spilled(u64),
    /// RECORD, made last.
    Record,
}

/// What will be an entry.
#[derive(Debug, Clone)]
pub(super) struct Row {
    pub path: String,
    pub mode: u32,
    pub size: u64,
    pub source: Source,
    pub expected: Option<Digest>,
}

impl Row {
    /// What the entry will be.
    pub fn kind(&self) -> EntryKind {
        match &self.source {
            Source::Planned(Content::Symlink(target)) => EntryKind::Symlink {
                target: target.clone(),
            },
            Source::Planned(Content::Hardlink { target, .. }) => EntryKind::Hardlink {
                target: target.clone(),
            },
            _ => EntryKind::File,
        }
    }
}

/// What reading a row gave.
#[derive(Debug, Clone, Default)]
pub(super) struct Read {
    pub sha256: Option<Digest>,
    pub facts: Option<FileFacts>,
    /// It is an ELF program.
    pub program: bool,
}

/// What is known so far.
#[derive(Default)]
pub(super) struct Known {
    pub reads: Vec<Option<Read>>,
    pub segments: Vec<Option<SegmentRef>>,
}

/// A component in the making.
pub(super) struct Work {
    pub position: usize,
    /// Of the whole component.
    pub ingredients: Ingredients,
    /// What was asked for: perhaps less than the whole.
    pub asked: Ingredients,
    /// The plan without its entries.
    pub plan: Plan,
    pub rows: Vec<Row>,
    pub parts: Vec<Part>,
    pub spill: Spill,
    pub draft: Draft,
    pub claim: Option<Claim>,
    pub task: Task,
    known: Mutex<Known>,
}

/// What a work begins with.
pub(super) struct Start {
    pub position: usize,
    pub asked: Ingredients,
    pub plan: Plan,
    pub spill: Spill,
    pub draft: Draft,
    pub claim: Option<Claim>,
    pub task: Task,
}

impl Work {
    /// Lays out the component: `bytecode` are the rows of compiled files.
    pub fn new(mut start: Start, bytecode: Vec<Row>) -> Result<Self, IngestError> {
        let planned = std::mem::take(&mut start.plan.entries);
        let mut rows: Vec<Row> = bytecode;
        let compiled: std::collections::BTreeSet<String> =
            rows.iter().map(|row| row.path.clone()).collect();
        rows.extend(
            planned
                .into_iter()
                .filter(|entry| !compiled.contains(&entry.path))
                .map(|entry| Row {
                    path: entry.path,
                    mode: entry.mode,
                    size: entry.size,
                    source: Source::Planned(entry.content),
                    expected: entry.expected,
                }),
        );
        rows.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        if let Some(record) = &start.plan.record {
            rows.push(Row {
                path: record.path.clone(),
                mode: 0o644,
                size: 0,
                source: Source::Record,
                expected: None,
            });
        }
        let size = record_bytes(&start.plan, &rows, |_| Some(Digest::of(b""))).len() as u64;
        if let Some(row) = rows.last_mut().filter(|_| start.plan.record.is_some()) {
            row.size = size;
        }
        check(&start.plan, &rows)?;
        let sizes = rows.iter().map(|row| sizes(&start.plan.name, row));
        let sizes = sizes.collect::<Result<Vec<_>, _>>()?;
        let parts = cut(
            sizes,
            start.asked.encoding.segment_size,
            start.plan.record.is_some(),
        );
        let known = Known {
            reads: vec![None; rows.len()],
            segments: vec![None; parts.last().map_or(0, |p| p.first_segment + p.segments)],
        };
        Ok(Self {
            position: start.position,
            ingredients: start.asked.whole(),
            asked: start.asked,
            plan: start.plan,
            rows,
            parts,
            spill: start.spill,
            draft: start.draft,
            claim: start.claim,
            task: start.task,
            known: Mutex::new(known),
        })
    }

    /// For messages.
    pub fn name(&self) -> &str {
        &self.plan.name
    }

    /// The parts that can be worked on now: all but RECORD's.
    pub fn body(&self) -> std::ops::Range<usize> {
        0..self.parts.len() - usize::from(self.plan.record.is_some())
    }

    /// Keeps what reading a row gave.
    pub fn set_read(&self, row: usize, read: Read) {
        if let Some(slot) = self.known().reads.get_mut(row) {
            *slot = Some(read);
        }
    }

    /// Writes a segment and keeps where it is.
    pub fn add_segment(&self, number: usize, blocks: &[u8], tar: u64) -> Result<(), IngestError> {
        let segment = self.draft.append(blocks, tar)?;
        if let Some(slot) = self.known().segments.get_mut(number) {
            *slot = Some(segment);
        }
        if let Some(claim) = &self.claim {
            claim.beat();
        }
        self.task.advance(tar);
        Ok(())
    }

    /// Where rows are read from.
    pub fn origin(&self) -> Origin<'_> {
        Origin {
            plan: &self.plan,
            spill: &self.spill,
        }
    }

    /// Digests of the rows read so far.
    pub fn digests(&self) -> Vec<Option<Digest>> {
        let known = self.known();
        let digest = |read: &Option<Read>| read.as_ref().and_then(|r| r.sha256);
        known.reads.iter().map(digest).collect()
    }

    /// What is known, when nobody works on it any more.
    pub fn take_known(&self) -> Known {
        std::mem::take(&mut *self.known())
    }

    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn sizes(name: &str, row: &Row) -> Result<Sizes, IngestError> {
    let kind = row.kind();
    let span =
        tar_entry::span(&row.path, &kind, row.mode, row.size).map_err(|e| entry_error(name, e))?;
    let content = if kind == EntryKind::File { row.size } else { 0 };
    Ok(Sizes { span, content })
}

/// Names the component of a header that could not be made.
pub(super) fn entry_error(name: &str, source: tar_entry::TarEntryError) -> IngestError {
    IngestError::Entry {
        name: name.to_owned(),
        source,
    }
}

/// RECORD: a row per file, paths relative to site-packages.
pub(super) fn record_bytes(
    plan: &Plan,
    rows: &[Row],
    digest: impl Fn(usize) -> Option<Digest>,
) -> Vec<u8> {
    let Some(record) = &plan.record else {
        return Vec::new();
    };
    let listed = rows
        .iter()
        .enumerate()
        .filter(|(_, row)| !matches!(row.source, Source::Record))
        .map(|(number, row)| record::Row {
            path: relative(&record.site_packages, &row.path),
            sha256: digest(number),
            size: Some(row.size),
        });
    let listed: Vec<_> = listed.collect();
    record::render(&listed, &relative(&record.site_packages, &record.path))
}

/// The rules of a plan that the rest relies on.
fn check(plan: &Plan, rows: &[Row]) -> Result<(), IngestError> {
    let malformed = |row: &Row, what| {
        Err(IngestError::Malformed {
            name: plan.name.clone(),
            path: row.path.clone(),
            what,
        })
    };
    let members = plan.archive.as_ref().map_or(0, |a| a.members().len());
    let mut files = std::collections::BTreeSet::new();
    let mut paths = std::collections::BTreeSet::new();
    for row in rows {
        if !paths.insert(row.path.as_str()) {
            return malformed(row, "occurs twice");
        }
        match &row.source {
            Source::Planned(Content::Member(number)) if *number >= members => {
                return malformed(row, "is no member of the archive");
            }
            Source::Planned(Content::Hardlink { target, member }) => {
                if *member >= members {
                    return malformed(row, "is no member of the archive");
                }
                if !files.contains(target.as_str()) {
                    return Err(IngestError::Link {
                        name: plan.name.clone(),
                        path: row.path.clone(),
                        target: target.clone(),
                        what: "that is no earlier file of it",
                    });
                }
            }
            Source::Planned(Content::Bytes(bytes)) if bytes.len() as u64 != row.size => {
                return malformed(row, "has another size than planned");
            }
            _ => {}
        }
        if row.kind() == EntryKind::File {
            files.insert(row.path.as_str());
        }
    }
    Ok(())
}

/// The note of a file that was given its x bit.
pub(super) fn made_executable(path: &str) -> Finding {
    Finding {
        severity: Severity::Note,
        code: "made-executable".into(),
        path: path.to_owned(),
        message: "an ELF program without execute permission was given it".into(),
        hint: None,
    }
}
