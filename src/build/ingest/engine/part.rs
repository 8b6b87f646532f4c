//! One part, whole in memory: a run of small files, or one of middle size. Inflate → check → digest → facts → tar →
//! zstd. Big files go through `stream`.

use super::read::STEP;
use super::work::{Read, Row, Work, entry_error};
use super::{Shared, facts};
use crate::base::digest::{Digest, Hasher};
use crate::base::segments;
use crate::build::ingest::IngestError;
use crate::formats::component::EntryKind;
use crate::formats::tar_entry;

/// Makes the segments of part number `index`.
pub(super) fn make(shared: &Shared<'_>, work: &Work, index: usize) -> Result<(), IngestError> {
    let Some(part) = work.parts.get(index) else {
        return Ok(());
    };
    let mut tar = shared.buffers.take(part.tar);
    for number in part.rows.clone() {
        if let Some(row) = work.rows.get(number) {
            let read = append(work, row, &mut tar)?;
            work.set_read(number, read);
        }
    }
    let size = work.ingredients.encoding.segment_size as usize;
    let mut blocks = shared.buffers.take(0);
    for (number, piece) in tar.chunks(size).enumerate() {
        encode(work, part.first_segment + number, piece, &mut blocks)?;
    }
    shared.buffers.give(blocks);
    shared.buffers.give(tar);
    Ok(())
}

/// Compresses and writes one segment; `blocks` is only memory to use.
pub(super) fn encode(
    work: &Work,
    number: usize,
    tar: &[u8],
    blocks: &mut Vec<u8>,
) -> Result<(), IngestError> {
    blocks.clear();
    segments::encode(&work.ingredients.encoding, tar, blocks).map_err(|source| {
        IngestError::Encode {
            name: work.name().to_owned(),
            source,
        }
    })?;
    work.add_segment(number, blocks, tar.len() as u64)
}

/// The header of a row with the mode it turned out to have.
pub(super) fn header(work: &Work, row: &Row, program: bool) -> Result<Vec<u8>, IngestError> {
    let mode = if program { 0o755 } else { row.mode };
    tar_entry::header(&row.path, &row.kind(), mode, row.size)
        .map_err(|e| entry_error(work.name(), e))
}

/// Appends a row's tar bytes.
fn append(work: &Work, row: &Row, tar: &mut Vec<u8>) -> Result<Read, IngestError> {
    let start = tar.len();
    tar.extend_from_slice(&header(work, row, false)?);
    let read = match row.kind() {
        EntryKind::Symlink { .. } | EntryKind::Dir => return Ok(Read::default()),
        EntryKind::Hardlink { .. } => linked(work, row)?,
        EntryKind::File => {
            let content = tar.len();
            tar.resize(content + row.size as usize, 0);
            let bytes = tar.get_mut(content..).unwrap_or_default();
            work.origin().whole(row, bytes)?;
            let sha256 = Digest::of(bytes);
            let read = Read {
                sha256: Some(sha256),
                facts: facts::of(&row.path, bytes),
                program: facts::is_program(bytes),
            };
            tar.resize(tar.len() + tar_entry::padding(row.size), 0);
            read
        }
    };
    if let Some(found) = read.sha256 {
        work.origin().check_digest(row, found)?;
    }
    if read.program && row.mode != 0o755 {
        let header = header(work, row, true)?;
        if let Some(place) = tar.get_mut(start..start + header.len()) {
            place.copy_from_slice(&header);
        }
    }
    Ok(read)
}

/// Reads the bytes a hard link stands for. They are compared with its goal's when all digests are known.
fn linked(work: &Work, row: &Row) -> Result<Read, IngestError> {
    let origin = work.origin();
    let mut reader = origin.open(row)?;
    let (mut hasher, mut total, mut program) = (Hasher::new(), 0, None);
    let mut buffer = vec![0; STEP];
    loop {
        let filled = origin.fill(row, &mut reader, &mut buffer)?;
        let bytes = buffer.get(..filled).unwrap_or_default();
        program.get_or_insert_with(|| facts::is_program(bytes));
        hasher.update(bytes);
        total += filled as u64;
        if total > row.size || (filled == 0 && total != row.size) {
            return Err(origin.other_size(row, total));
        }
        if filled == 0 {
            return Ok(Read {
                sha256: Some(hasher.finish()),
                facts: None,
                program: program.unwrap_or(false),
            });
        }
    }
}
