//! The end of a component: RECORD, which is known when all else is; the entries with what was read of them; one
//! rename.

use std::collections::BTreeMap;

use super::part::{encode, header};
use super::work::{Read, Source, Work, made_executable, record_bytes};
use super::{IngestError, Shared, facts};
use crate::base::digest::Digest;
use crate::build::ingest::store::Stored;
use crate::formats::component::{Component, Entry, EntryKind, component_id};
use crate::formats::tar_entry;

/// Completes a component on which nobody works any more.
pub(super) fn finish(shared: &Shared<'_>, work: Work) -> Result<Stored, IngestError> {
    record(shared, &work)?;
    if let Some(archive) = &work.plan.archive
        && !archive.is_unchanged()
    {
        return Err(IngestError::Changed {
            name: work.name().to_owned(),
            archive: archive.name().to_owned(),
        });
    }
    let known = work.take_known();
    let mut entries = Vec::with_capacity(work.rows.len());
    let mut digests: BTreeMap<&str, Option<Digest>> = BTreeMap::new();
    let mut notes = work.plan.notes.clone();
    for (row, read) in work.rows.iter().zip(known.reads) {
        let Read {
            sha256,
            facts,
            program,
        } = read.unwrap_or_default();
        let kind = row.kind();
        match &kind {
            EntryKind::Hardlink { target } => {
                if digests.get(target.as_str()) != Some(&sha256) {
                    return Err(IngestError::Link {
                        name: work.name().to_owned(),
                        path: row.path.clone(),
                        target: target.clone(),
                        what: "their bytes differ",
                    });
                }
            }
            _ => {
                digests.insert(&row.path, sha256);
            }
        }
        if program && row.mode != 0o755 {
            notes.push(made_executable(&row.path));
        }
        entries.push(Entry {
            path: row.path.clone(),
            mode: if program { 0o755 } else { row.mode },
            size: match kind {
                EntryKind::Symlink { .. } | EntryKind::Dir => 0,
                _ => row.size,
            },
            kind,
            sha256,
            facts,
        });
    }
    facts::settle(&mut entries);
    notes.sort();
    let segments = known.segments.into_iter().collect::<Option<Vec<_>>>();
    let segments = segments.ok_or_else(|| IngestError::Malformed {
        name: work.name().to_owned(),
        path: "its tar".into(),
        what: "is not complete",
    })?;
    let component = Component {
        key: work.ingredients.key(),
        id: component_id(&entries),
        name: work.plan.name.clone(),
        version: work.plan.version.clone(),
        kind: work.plan.kind,
        artifact: work.plan.artifact,
        entries,
        segments,
        distribution: work.plan.distribution.clone(),
        notes,
    };
    let (asked, whole) = (work.asked, work.draft.keep(component)?);
    if asked.without.is_empty() {
        Ok(whole)
    } else {
        Ok(shared.store.without(&whole, &asked)?)
    }
}

/// Makes RECORD and its segments.
fn record(shared: &Shared<'_>, work: &Work) -> Result<(), IngestError> {
    let (Some(row), Some(part)) = (work.rows.last(), work.parts.last()) else {
        return Ok(());
    };
    if !matches!(row.source, Source::Record) {
        return Ok(());
    }
    let digests = work.digests();
    let bytes = record_bytes(&work.plan, &work.rows, |n| {
        digests.get(n).copied().flatten()
    });
    if bytes.len() as u64 != row.size {
        return Err(work.origin().other_size(row, bytes.len() as u64));
    }
    let mut tar = header(work, row, false)?;
    tar.extend_from_slice(&bytes);
    tar.resize(tar.len() + tar_entry::padding(row.size), 0);
    work.set_read(
        work.rows.len() - 1,
        Read {
            sha256: Some(Digest::of(&bytes)),
            facts: facts::of(&row.path, &bytes),
            program: false,
        },
    );
    let size = work.ingredients.encoding.segment_size as usize;
    let mut blocks = shared.buffers.take(0);
    for (number, piece) in tar.chunks(size).enumerate() {
        encode(work, part.first_segment + number, piece, &mut blocks)?;
    }
    shared.buffers.give(blocks);
    Ok(())
}
