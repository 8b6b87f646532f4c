//! One file too big to be held: inflated and digested front to back in one go, cut into pieces on the way, which other
//! workers compress when they have nothing else to do. An ELF file goes into a temporary file without a name as well,
//! which is mapped for its facts when it is complete.

use std::io::Write;
use std::sync::Arc;

use super::part::{encode, header};
use super::read::STEP;
use super::work::{Read, Row, Work};
use super::{Job, Shared, facts};
use crate::base::digest::Hasher;
use crate::base::fs::{self, At, File};
use crate::build::ingest::IngestError;
use crate::formats::component::FileFacts;
use crate::formats::{elf, tar_entry};

/// As many first bytes as [`facts::is_program`] needs.
const PEEK: u64 = 4096;

/// Makes the segments of part number `index`, which is one big file.
pub(super) fn make(shared: &Shared<'_>, work: &Arc<Work>, index: usize) -> Result<(), IngestError> {
    let Some(part) = work.parts.get(index) else {
        return Ok(());
    };
    let number = part.rows.start;
    let Some(row) = work.rows.get(number) else {
        return Ok(());
    };
    let mut pieces = Pieces {
        shared,
        work,
        next: part.first_segment,
        size: work.ingredients.encoding.segment_size as usize,
        bytes: shared.buffers.take(work.ingredients.encoding.segment_size),
        blocks: shared.buffers.take(0),
    };
    pieces.bytes.extend_from_slice(&header(work, row, false)?);
    let head = pieces.bytes.len();
    let origin = work.origin();
    let mut reader = origin.open(row)?;
    let mut hasher = Hasher::new();
    let mut start = Start::Unknown;
    let mut total = 0;
    loop {
        let filled = pieces.bytes.len();
        let step = (pieces.size - filled).min(STEP);
        pieces.bytes.resize(filled + step, 0);
        let room = pieces.bytes.get_mut(filled..).unwrap_or_default();
        let len = origin.some(row, &mut reader, room)?;
        pieces.bytes.truncate(filled + len);
        if len == 0 {
            break;
        }
        total += len as u64;
        if total > row.size {
            return Err(origin.other_size(row, total));
        }
        let bytes = pieces.bytes.get(filled..).unwrap_or_default();
        hasher.update(bytes);
        if let Start::Elf { file, .. } = &mut start {
            write(shared, work, file, bytes)?;
        }
        if matches!(start, Start::Unknown) && (total >= PEEK || total == row.size) {
            let first = pieces.bytes.get(head..).unwrap_or_default();
            start = Start::look(shared, work, first)?;
            if start.program() && row.mode != 0o755 {
                let header = header(work, row, true)?;
                if let Some(place) = pieces.bytes.get_mut(..header.len()) {
                    place.copy_from_slice(&header);
                }
            }
        }
        if pieces.bytes.len() == pieces.size {
            pieces.full()?;
        }
    }
    if total != row.size {
        return Err(origin.other_size(row, total));
    }
    drop(reader);
    let padded = pieces.bytes.len() + tar_entry::padding(row.size);
    pieces.bytes.resize(padded, 0);
    pieces.full()?;
    pieces.end();
    let sha256 = hasher.finish();
    origin.check_digest(row, sha256)?;
    let read = Read {
        sha256: Some(sha256),
        program: start.program(),
        facts: start.facts(shared, work, row)?,
    };
    work.set_read(number, read);
    Ok(())
}

/// What the first bytes of the file say.
enum Start {
    Unknown,
    Elf { file: File, program: bool },
    Other(Option<FileFacts>),
}

impl Start {
    fn look(shared: &Shared<'_>, work: &Work, first: &[u8]) -> Result<Self, IngestError> {
        if !elf::is_elf(first) {
            return Ok(Self::Other(facts::of_start(first)));
        }
        let file = shared.store.scratch().map_err(|e| file_error(work, e))?;
        write(shared, work, &file, first)?;
        let program = facts::is_program(first);
        Ok(Self::Elf { file, program })
    }

    fn program(&self) -> bool {
        matches!(self, Self::Elf { program: true, .. })
    }

    fn facts(
        self,
        shared: &Shared<'_>,
        work: &Work,
        row: &Row,
    ) -> Result<Option<FileFacts>, IngestError> {
        match self {
            Self::Unknown => Ok(None),
            Self::Other(facts) => Ok(facts),
            Self::Elf { file, .. } => {
                let mapped = fs::map(&file, shared.store.root());
                let mapped = mapped.map_err(|e| file_error(work, e))?;
                Ok(facts::of(&row.path, &mapped))
            }
        }
    }
}

fn write(
    shared: &Shared<'_>,
    work: &Work,
    mut file: &File,
    bytes: &[u8],
) -> Result<(), IngestError> {
    file.write_all(bytes)
        .at(fs::TEMPORARY, shared.store.root())
        .map_err(|e| file_error(work, e))
}

fn file_error(work: &Work, source: fs::FsError) -> IngestError {
    IngestError::File {
        name: work.name().to_owned(),
        source,
    }
}

/// The piece being filled, and where full ones go.
struct Pieces<'a> {
    shared: &'a Shared<'a>,
    work: &'a Arc<Work>,
    next: usize,
    size: usize,
    bytes: Vec<u8>,
    blocks: Vec<u8>,
}

impl Pieces<'_> {
    /// Passes the piece on and begins the next.
    fn full(&mut self) -> Result<(), IngestError> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        let number = self.next;
        self.next += 1;
        let empty = self.shared.buffers.take(self.size as u64);
        let tar = std::mem::replace(&mut self.bytes, empty);
        let job = Job::Piece {
            work: Arc::clone(self.work),
            number,
            tar,
        };
        match self.shared.queue.hand_over(job, memory(self.size as u64)) {
            Ok(()) => Ok(()),
            Err(Job::Piece { tar, .. }) => {
                let done = encode(self.work, number, &tar, &mut self.blocks);
                self.shared.buffers.give(tar);
                done
            }
            Err(_) => Ok(()),
        }
    }

    fn end(self) {
        self.shared.buffers.give(self.bytes);
        self.shared.buffers.give(self.blocks);
    }
}

/// Memory a piece takes with its blocks.
pub(super) fn memory(segment_size: u64) -> u64 {
    2 * segment_size + (segment_size >> 7)
}
