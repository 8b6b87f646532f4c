//! Opening the bytes of a row, and judging whether they are those that were planned.

use std::io;

use super::spill::Spill;
use super::work::{Row, Source};
use crate::base::digest::Digest;
use crate::base::fs;
use crate::build::ingest::{Content, IngestError, Plan};

/// How much is read and digested at a time: it stays in the processor's cache.
pub(super) const STEP: usize = 256 << 10;

/// Where rows are read from.
#[derive(Clone, Copy)]
pub(super) struct Origin<'a> {
    pub plan: &'a Plan,
    pub spill: &'a Spill,
}

impl<'a> Origin<'a> {
    /// The bytes of a row, front to back.
    pub fn open(self, row: &'a Row) -> Result<Box<dyn io::Read + 'a>, IngestError> {
        let file_error = |source| IngestError::File {
            name: self.plan.name.clone(),
            source,
        };
        Ok(match &row.source {
            Source::Planned(Content::Member(number) | Content::Hardlink { member: number, .. }) => {
                match &self.plan.archive {
                    Some(archive) => Box::new(archive.reader(*number)),
                    None => Box::new(io::empty()),
                }
            }
            Source::Planned(Content::Bytes(bytes)) => Box::new(&bytes[..]),
            Source::Planned(Content::File(path)) => Box::new(fs::open(path).map_err(file_error)?),
            Source::Spilled(offset) => {
                let mut bytes = vec![0; row.size as usize];
                self.spill.get(*offset, &mut bytes).map_err(file_error)?;
                Box::new(io::Cursor::new(bytes))
            }
            Source::Planned(Content::Symlink(_)) | Source::Record => Box::new(io::empty()),
        })
    }

    /// The next bytes; 0 at the end.
    pub fn some(
        self,
        row: &Row,
        reader: &mut dyn io::Read,
        buffer: &mut [u8],
    ) -> Result<usize, IngestError> {
        loop {
            match reader.read(buffer) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => {
                    return Err(IngestError::Read {
                        name: self.plan.name.clone(),
                        path: row.path.clone(),
                        source,
                    });
                }
                Ok(len) => return Ok(len),
            }
        }
    }

    /// Fills as much of `out` as there are bytes; how many.
    pub fn fill(
        self,
        row: &Row,
        reader: &mut dyn io::Read,
        out: &mut [u8],
    ) -> Result<usize, IngestError> {
        let mut filled = 0;
        while let Some(rest) = out.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match self.some(row, reader, rest)? {
                0 => break,
                len => filled += len,
            }
        }
        Ok(filled)
    }

    /// Reads a whole row, which must fill `out` exactly.
    pub fn whole(self, row: &Row, out: &mut [u8]) -> Result<(), IngestError> {
        let mut reader = self.open(row)?;
        let filled = self.fill(row, &mut reader, out)?;
        let more = self.some(row, &mut reader, &mut [0])?;
        if filled == out.len() && more == 0 {
            Ok(())
        } else {
            Err(self.other_size(row, (filled + more) as u64))
        }
    }

    /// Bytes of another length than planned; `found` is as far as was read.
    pub fn other_size(self, row: &Row, found: u64) -> IngestError {
        IngestError::Size {
            name: self.plan.name.clone(),
            path: row.path.clone(),
            expected: row.size,
            found,
        }
    }

    /// The bytes must be those of RECORD, where it names them.
    pub fn check_digest(self, row: &Row, found: Digest) -> Result<(), IngestError> {
        match row.expected {
            Some(expected) if expected != found => Err(IngestError::Record {
                name: self.plan.name.clone(),
                wheel: self.plan.artifact,
                path: row.path.clone(),
                expected,
                found,
            }),
            _ => Ok(()),
        }
    }
}
