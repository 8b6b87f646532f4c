//! Writes a laid-out bundle: one thread copies, in pieces small enough to stay in the processor's cache; another digests
//! the same pieces, for the whole and for the checksum of each segment; a third has the kernel write out what was
//! copied, for which it is made to wait. The file gets its name only after the first two agree that all is well.

use std::io::{self, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender, SyncSender};

use super::PackError;
use super::laid::{Copied, Laid, Origin, Piece};
use crate::base::digest::{Digest, Hasher};
use crate::base::fs::{At, Draft, File, ReadAt, write_behind};
use crate::base::progress::{Progress, Task};
use crate::base::segments::Xxh3;
use crate::build::ingest::store::Backing;

/// Bytes copied at once.
const PART: usize = 256 << 10;

/// Parts the digesting thread may lag behind.
const LAG: usize = 16;

/// Bytes after which the kernel is asked to begin writing them out.
const BEHIND: u64 = 16 << 20;

/// Writes a bundle to `path` and returns its digest.
pub(super) fn write(laid: &Laid, path: &Path, progress: &Progress) -> Result<Digest, PackError> {
    let mut draft = Draft::new(path)?;
    let over = AtomicBool::new(false);
    let behind = draft.file().try_clone().at("open", path)?;
    let (ask, asked) = mpsc::channel();
    let (told, heard) = mpsc::sync_channel(LAG);
    let (give, free) = mpsc::channel();
    let (copied, digest) = std::thread::scope(|scope| {
        scope.spawn(|| write_out(&behind, asked, &over));
        let digesting = scope.spawn(|| digest(heard, &give));
        let copied = Copying {
            to: draft.file(),
            path,
            task: progress.task("packing", Some(laid.size)),
            end: 0,
            begun: 0,
            told,
            free,
            ask,
        }
        .all(laid);
        let digest = digesting.join();
        over.store(true, Ordering::Relaxed);
        (copied, digest)
    });
    let digest = match digest {
        Ok(digest) => digest,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    // A damaged segment says more than whatever the copy ran into.
    let digest = digest?;
    copied?;
    draft.keep(false)?;
    Ok(digest)
}

/// Has the kernel write out the ranges that were copied, until all else is over: a hint, so what remains then is left.
fn write_out(file: &File, ranges: Receiver<Range<u64>>, over: &AtomicBool) {
    for range in ranges {
        if over.load(Ordering::Relaxed) {
            return;
        }
        write_behind(file, range.start, range.end - range.start);
    }
}

/// What the digesting thread is told, in the order of the file.
enum Told<'a> {
    Bytes(Vec<u8>),
    /// The bytes since the last end were this segment of it.
    Segment(&'a Copied<'a>),
    /// They were not of any.
    Other,
}

/// The copying thread.
struct Copying<'a, 'f> {
    to: &'f mut File,
    path: &'f Path,
    task: Task,
    /// Bytes written so far, and so far the kernel was asked to write out.
    end: u64,
    begun: u64,
    told: SyncSender<Told<'a>>,
    free: Receiver<Vec<u8>>,
    ask: Sender<Range<u64>>,
}

impl<'a> Copying<'a, '_> {
    /// Copies all pieces. It ends early, without an error of its own, when the digesting thread did.
    fn all(mut self, laid: &'a Laid) -> Result<(), PackError> {
        for piece in &laid.pieces {
            let listens = match piece {
                Piece::Bytes(bytes) => {
                    let done = self.from(bytes.as_slice(), 0, bytes.len() as u64);
                    done.at("write", self.path)?;
                    self.told.send(Told::Other)
                }
                Piece::Copy(one) => {
                    let (offset, len) = (one.segment.offset, one.segment.packed);
                    let done = match one.backing {
                        Backing::File { file, .. } => self.from(&**file, offset, len),
                        Backing::Memory(bytes) => self.from(&bytes[..], offset, len),
                    };
                    match done {
                        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => {
                            return Err(one.unreadable(e));
                        }
                        done => done.at("write", self.path)?,
                    }
                    self.told.send(Told::Segment(one))
                }
            };
            if listens.is_err() {
                break;
            }
            if self.end - self.begun >= BEHIND {
                // Nobody listens when all is over.
                let _ = self.ask.send(self.begun..self.end);
                self.begun = self.end;
            }
        }
        Ok(())
    }

    fn from(&mut self, from: &(impl ReadAt + ?Sized), offset: u64, len: u64) -> io::Result<()> {
        let mut done = 0;
        while done < len {
            let step = (len - done).min(PART as u64);
            let mut part = self.free.try_recv().unwrap_or_default();
            part.resize(step as usize, 0);
            from.read_exact_at(&mut part, offset.saturating_add(done))?;
            self.to.write_all(&part)?;
            self.task.advance(step);
            self.end += step;
            done += step;
            // Whether somebody listens is seen at the piece's end.
            let _ = self.told.send(Told::Bytes(part));
        }
        Ok(())
    }
}

/// Digests all that is told and checks each segment.
fn digest(heard: Receiver<Told<'_>>, give: &Sender<Vec<u8>>) -> Result<Digest, PackError> {
    let (mut whole, mut own) = (Hasher::new(), Xxh3::default());
    for told in heard {
        match told {
            Told::Bytes(bytes) => {
                whole.update(&bytes);
                own.update(&bytes);
                // It is only memory to use again.
                let _ = give.send(bytes);
            }
            Told::Segment(one) => {
                if std::mem::take(&mut own).finish() != one.segment.xxh3 {
                    return Err(one.damaged());
                }
            }
            Told::Other => own = Xxh3::default(),
        }
    }
    Ok(whole.finish())
}

impl Copied<'_> {
    fn unreadable(&self, source: io::Error) -> PackError {
        match self.from {
            Origin::Component(part) => PackError::Read {
                name: part.label(),
                source,
            },
            Origin::Bundle(path) => PackError::ReadBundle {
                path: path.to_owned(),
                source,
            },
        }
    }

    fn damaged(&self) -> PackError {
        let segment = self.number;
        match self.from {
            Origin::Component(part) => PackError::Damaged {
                key: part.component.key,
                name: part.label(),
                segment,
            },
            Origin::Bundle(path) => PackError::DamagedBundle {
                path: path.to_owned(),
                segment,
            },
        }
    }
}
