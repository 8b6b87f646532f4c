//! Writes a laid-out bundle: one thread copies, another reads the same bytes for the digest of the whole and the
//! checksum of each segment, a third has the kernel write out what was copied, for which it is made to wait. The file
//! gets its name only after the first two agree that all is well.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};

use super::PackError;
use super::laid::{Laid, Piece};
use crate::base::digest::{Digest, Hasher};
use crate::base::fs::{At, Draft, File, ReadAt, append_range, write_behind};
use crate::base::progress::{Progress, Task};
use crate::base::segments::Xxh3;
use crate::build::assemble::Placed;
use crate::build::ingest::store::Backing;
use crate::formats::component::SegmentRef;

/// Bytes that are read at once for digesting.
const PART: usize = 1 << 20;

/// Bytes after which the kernel is asked to begin writing them out.
const BEHIND: u64 = 16 << 20;

/// Writes a bundle to `path` and returns its digest.
pub(super) fn write(laid: &Laid, path: &Path, progress: &Progress) -> Result<Digest, PackError> {
    let mut draft = Draft::new(path)?;
    let task = progress.task("packing", Some(laid.size));
    let stop = AtomicBool::new(false);
    let over = AtomicBool::new(false);
    let behind = draft.file().try_clone().at("open", path)?;
    let (copied, copies) = mpsc::channel();
    let (written, digest) = std::thread::scope(|scope| {
        scope.spawn(|| write_out(&behind, copies, &over));
        let digesting = scope.spawn(|| watched(&stop, || digest(laid, &stop)));
        let written = watched(&stop, || {
            copy(laid, path, draft.file(), &task, &stop, &copied)
        });
        let digest = digesting.join();
        over.store(true, Ordering::Relaxed);
        drop(copied);
        (written, digest)
    });
    let digest = match digest {
        Ok(digest) => digest,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    // A damaged segment says more than whatever the copy ran into.
    let digest = match (digest, written) {
        (Ok(Some(digest)), Ok(Some(()))) => digest,
        (Err(e), _) | (_, Err(e)) => return Err(e),
        (Ok(None), _) | (_, Ok(None)) => {
            // Neither failed, so neither was told to stop.
            let stopped: io::Error = io::ErrorKind::Interrupted.into();
            return Ok(Err(stopped).at("write", path)?);
        }
    };
    draft.keep(false)?;
    Ok(digest)
}

/// Runs one side; if it fails, the other one is told to stop.
fn watched<T>(
    stop: &AtomicBool,
    side: impl FnOnce() -> Result<T, PackError>,
) -> Result<T, PackError> {
    side().inspect_err(|_| stop.store(true, Ordering::Relaxed))
}

/// Has the kernel write out the ranges that were copied, until all else is over: a hint, so what remains then is left.
fn write_out(file: &File, copies: Receiver<Range<u64>>, over: &AtomicBool) {
    for range in copies {
        if over.load(Ordering::Relaxed) {
            return;
        }
        write_behind(file, range.start, range.end - range.start);
    }
}

/// Copies all pieces and tells `copied` of them; `None` when told to stop.
fn copy(
    laid: &Laid,
    path: &Path,
    to: &mut File,
    task: &Task,
    stop: &AtomicBool,
    copied: &Sender<Range<u64>>,
) -> Result<Option<()>, PackError> {
    let (mut begun, mut end) = (0, 0);
    for piece in &laid.pieces {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if end - begun >= BEHIND {
            // Nobody listens when all is over.
            let _ = copied.send(begun..end);
            begun = end;
        }
        match piece {
            Piece::Bytes(bytes) => {
                to.write_all(bytes).at("write", path)?;
                task.advance(bytes.len() as u64);
                end += bytes.len() as u64;
            }
            Piece::Segment { part, segment, .. } => {
                let (offset, len) = (segment.offset, segment.packed);
                let done = match &part.segments {
                    Backing::File { file, .. } => append_range(file, offset, len, to),
                    Backing::Memory(bytes) => {
                        slice(bytes, offset, len).and_then(|bytes| to.write_all(bytes))
                    }
                };
                match done {
                    Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                        return Err(unreadable(part, e));
                    }
                    done => done.at("write", path)?,
                }
                task.advance(len);
                end += len;
            }
        }
    }
    Ok(Some(()))
}

/// Digests all pieces and checks each segment; `None` when told to stop.
fn digest(laid: &Laid, stop: &AtomicBool) -> Result<Option<Digest>, PackError> {
    let mut whole = Hasher::new();
    let mut buffer = vec![0; PART];
    for piece in &laid.pieces {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        match piece {
            Piece::Bytes(bytes) => whole.update(bytes),
            Piece::Segment {
                part,
                number,
                segment,
            } => {
                let xxh3 = segment_digest(part, segment, &mut buffer, &mut whole);
                let xxh3 = xxh3.map_err(|e| unreadable(part, e))?;
                if xxh3 != segment.xxh3 {
                    return Err(PackError::Damaged {
                        key: part.component.key,
                        name: part.label(),
                        segment: *number,
                    });
                }
            }
        }
    }
    Ok(Some(whole.finish()))
}

fn unreadable(part: &Placed, source: io::Error) -> PackError {
    let name = part.label();
    PackError::Read { name, source }
}

/// Feeds a segment to the digest of the whole and returns its own checksum.
fn segment_digest(
    part: &Placed,
    segment: &SegmentRef,
    buffer: &mut [u8],
    whole: &mut Hasher,
) -> io::Result<u64> {
    let mut own = Xxh3::default();
    match &part.segments {
        Backing::Memory(bytes) => {
            let bytes = slice(bytes, segment.offset, segment.packed)?;
            own.update(bytes);
            whole.update(bytes);
        }
        Backing::File { file, .. } => {
            let mut done = 0;
            while done < segment.packed {
                let len = (segment.packed - done).min(buffer.len() as u64);
                let part = &mut buffer[..len as usize];
                file.read_exact_at(part, segment.offset.saturating_add(done))?;
                own.update(part);
                whole.update(part);
                done += len;
            }
        }
    }
    Ok(own.finish())
}

fn slice(bytes: &[u8], offset: u64, len: u64) -> io::Result<&[u8]> {
    let end = offset.saturating_add(len);
    let slice = bytes.get(offset as usize..end as usize);
    slice.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
}
