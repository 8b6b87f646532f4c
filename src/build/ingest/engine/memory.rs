//! Small generated components, made in memory: nothing is cached, nothing runs in parallel.

use super::cut::{Sizes, cut};
use super::facts;
use crate::base::digest::Digest;
use crate::base::segments::{self, Encoding};
use crate::build::ingest::store::{Backing, Stored};
use crate::build::ingest::{Content, IngestError, Plan, PlannedEntry};
use crate::formats::component::{Component, Entry, EntryKind, SegmentRef, component_id};
use crate::formats::tar_entry;

/// Makes a component of entries whose bytes are at hand, without RECORD.
pub fn in_memory(plan: Plan, encoding: &Encoding) -> Result<Stored, IngestError> {
    let name = plan.name.clone();
    let (mut entries, mut tars) = (Vec::new(), Vec::new());
    for planned in &plan.entries {
        let (entry, tar) = entry(&name, planned)?;
        entries.push(entry);
        tars.push(tar);
    }
    if !entries.is_sorted_by(|a, b| a.path.as_bytes() < b.path.as_bytes()) {
        return Err(malformed(&name, "its entries", "are not sorted"));
    }
    let sizes = entries.iter().zip(&tars).map(|(entry, tar)| Sizes {
        span: tar.len() as u64,
        content: entry.size,
    });
    let mut blocks = Vec::new();
    let mut made = Vec::new();
    for part in cut(sizes, encoding.segment_size, false) {
        let tar = tars.get(part.rows).unwrap_or_default().concat();
        for piece in tar.chunks(encoding.segment_size as usize) {
            let offset = blocks.len();
            let packed = segments::encode(encoding, piece, &mut blocks);
            let packed = packed.map_err(|source| IngestError::Encode {
                name: name.clone(),
                source,
            })?;
            made.push(SegmentRef {
                offset: offset as u64,
                packed,
                unpacked: piece.len() as u64,
                xxh3: segments::xxh3(blocks.get(offset..).unwrap_or_default()),
            });
        }
    }
    let id = component_id(&entries);
    let component = Component {
        key: id,
        id,
        name,
        version: plan.version,
        kind: plan.kind,
        artifact: plan.artifact,
        entries,
        segments: made,
        distribution: plan.distribution,
        notes: plan.notes,
    };
    Ok(Stored {
        component,
        backing: Backing::Memory(blocks.into()),
    })
}

fn malformed(name: &str, path: &str, what: &'static str) -> IngestError {
    IngestError::Malformed {
        name: name.to_owned(),
        path: path.to_owned(),
        what,
    }
}

fn entry(name: &str, planned: &PlannedEntry) -> Result<(Entry, Vec<u8>), IngestError> {
    let (kind, bytes): (_, &[u8]) = match &planned.content {
        Content::Bytes(bytes) => (EntryKind::File, bytes),
        Content::Symlink(target) => {
            let target = target.clone();
            (EntryKind::Symlink { target }, &[])
        }
        _ => return Err(malformed(name, &planned.path, "is not at hand")),
    };
    let size = bytes.len() as u64;
    let header = tar_entry::header(&planned.path, &kind, planned.mode, size);
    let mut tar = header.map_err(|e| super::work::entry_error(name, e))?;
    tar.extend_from_slice(bytes);
    tar.resize(tar.len() + tar_entry::padding(size), 0);
    let is_file = kind == EntryKind::File;
    let entry = Entry {
        path: planned.path.clone(),
        kind,
        mode: planned.mode,
        size,
        sha256: is_file.then(|| Digest::of(bytes)),
        facts: if is_file {
            facts::of(&planned.path, bytes)
        } else {
            None
        },
    };
    Ok((entry, tar))
}
