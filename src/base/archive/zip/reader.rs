//! Reads a member straight from the mapped archive into the caller's buffer: exactly as many bytes as the directory says,
//! with the CRC-32 it says, from a packed stream that ends where it should. The last bytes are given out only after all
//! of that held; memory does not depend on what the archive claims.

use std::io::{self, Read};

use flate2::{Crc, Decompress, FlushDecompress, Status};

use super::inflate::State;
use super::{ArchiveError, Member, MemberFault, Method, Zip};
use crate::base::segments;

/// Unpacks one member; errors are an [`ArchiveError`] inside an `io::Error`.
pub struct MemberReader<'a> {
    zip: &'a Zip,
    member: &'a Member,
    source: Source<'a>,
    left: u64,
    crc: Crc,
}

enum Source<'a> {
    Stored(&'a [u8]),
    Deflate(State, &'a [u8]),
    Zstd(segments::FrameReader<'a>),
    /// Nothing could be begun, or something failed before.
    Broken(MemberFault),
    Done,
}

impl Zip {
    /// Reads member number `index`.
    ///
    /// # Panics
    /// If there is no such member.
    pub fn reader(&self, index: usize) -> MemberReader<'_> {
        let member = &self.members[index];
        let packed = self.bytes.get().get(member.start..member.end);
        let packed = packed.unwrap_or_default();
        let source = match member.method {
            Method::Stored => Source::Stored(packed),
            Method::Deflate => Source::Deflate(State::take(), packed),
            Method::Zstd => match segments::FrameReader::new(packed) {
                Ok(frame) => Source::Zstd(frame),
                Err(e) => Source::Broken(MemberFault::Damaged(e.to_string())),
            },
        };
        MemberReader {
            zip: self,
            member,
            source,
            left: member.unpacked,
            crc: Crc::new(),
        }
    }

    /// Unpacks a member of at most `limit` bytes into `out`, whose old content is dropped and whose memory is used again.
    ///
    /// # Errors
    /// A larger or a damaged member.
    pub fn read_into(
        &self,
        index: usize,
        limit: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), ArchiveError> {
        let mut reader = self.reader(index);
        let size = reader.member.unpacked;
        out.clear();
        let Some(len) = usize::try_from(size).ok().filter(|_| size <= limit) else {
            return Err(reader.error(MemberFault::OverLimit { size, limit }));
        };
        out.resize(len, 0);
        let mut filled = 0;
        loop {
            let rest = out.get_mut(filled..).unwrap_or_default();
            match reader.advance(rest).map_err(|e| reader.error(e))? {
                0 => return Ok(()),
                more => filled += more,
            }
        }
    }

    /// The error of a read from member `index`: what the reader put into it, or whatever else it says.
    pub fn read_error(&self, index: usize, error: io::Error) -> ArchiveError {
        error.downcast().unwrap_or_else(|other: io::Error| {
            let name = self.members.get(index).map(|m| m.name.as_bytes());
            let fault = MemberFault::Damaged(other.to_string());
            ArchiveError::member(&self.name, name.unwrap_or_default(), fault)
        })
    }

    /// Unpacks a member of at most `limit` bytes.
    ///
    /// # Errors
    /// A larger or a damaged member.
    pub fn read_whole(&self, index: usize, limit: u64) -> Result<Vec<u8>, ArchiveError> {
        let mut out = Vec::new();
        self.read_into(index, limit, &mut out)?;
        Ok(out)
    }
}

impl MemberReader<'_> {
    /// The next bytes; 0 only at the end (also of an empty buffer's worth), after all checks.
    fn advance(&mut self, buffer: &mut [u8]) -> Result<usize, MemberFault> {
        if self.left == 0 {
            self.finish()?;
            return Ok(0);
        }
        let most = usize::try_from(self.left).map_or(buffer.len(), |left| left.min(buffer.len()));
        let Some(buffer) = buffer.get_mut(..most).filter(|b| !b.is_empty()) else {
            return Ok(0);
        };
        let before = self.source.packed_left();
        let len = self.source.fill(buffer)?;
        let taken = before.saturating_sub(self.source.packed_left());
        self.zip.was_read(taken as u64);
        if len == 0 {
            return Err(MemberFault::TooShort(self.member.unpacked));
        }
        self.crc.update(buffer.get(..len).unwrap_or_default());
        self.left = self.left.saturating_sub(len as u64);
        if self.left == 0 {
            self.finish()?;
        }
        Ok(len)
    }

    fn finish(&mut self) -> Result<(), MemberFault> {
        if matches!(self.source, Source::Done) {
            return Ok(());
        }
        self.source.end(self.member.unpacked)?;
        let (expected, actual) = (self.member.crc32, self.crc.sum());
        if actual != expected {
            return Err(MemberFault::Crc { expected, actual });
        }
        self.source = Source::Done;
        Ok(())
    }

    fn error(&self, fault: MemberFault) -> ArchiveError {
        ArchiveError::member(&self.zip.name, self.member.name.as_bytes(), fault)
    }
}

impl Read for MemberReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.advance(buffer).map_err(|fault| {
            let error = self.error(fault.clone());
            self.source = Source::Broken(fault);
            self.left = 1;
            io::Error::new(io::ErrorKind::InvalidData, error)
        })
    }
}

impl Source<'_> {
    /// Packed bytes not yet taken.
    fn packed_left(&self) -> usize {
        match self {
            Self::Stored(bytes) => bytes.len(),
            Self::Deflate(_, input) => input.len(),
            Self::Zstd(frame) => frame.unused(),
            Self::Broken(_) | Self::Done => 0,
        }
    }

    fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, MemberFault> {
        match self {
            Self::Stored(bytes) => bytes
                .read(buffer)
                .map_err(|e| MemberFault::Damaged(e.to_string())),
            Self::Deflate(state, input) => inflate(state.get(), input, buffer).map(|(len, _)| len),
            Self::Zstd(frame) => frame
                .read(buffer)
                .map_err(|e| MemberFault::Damaged(e.to_string())),
            Self::Broken(fault) => Err(fault.clone()),
            Self::Done => Ok(0),
        }
    }

    /// The stream must end here, with nothing left over.
    fn end(&mut self, unpacked: u64) -> Result<(), MemberFault> {
        let unused = match self {
            Self::Stored(bytes) => bytes.len(),
            Self::Deflate(state, input) => {
                let (more, ended) = inflate(state.get(), input, &mut [0])?;
                if more != 0 {
                    return Err(MemberFault::TooLong(unpacked));
                }
                if !ended {
                    return Err(MemberFault::Damaged("the stream has no end".into()));
                }
                input.len()
            }
            Self::Zstd(frame) => {
                let more = frame
                    .read(&mut [0])
                    .map_err(|e| MemberFault::Damaged(e.to_string()))?;
                if more != 0 {
                    return Err(MemberFault::TooLong(unpacked));
                }
                frame.unused()
            }
            Self::Broken(fault) => return Err(fault.clone()),
            Self::Done => 0,
        };
        match unused {
            0 => Ok(()),
            unused => Err(MemberFault::Unused(unused as u64)),
        }
    }
}

/// Inflates until there is output, the stream ended, or it cannot go on.
fn inflate(
    state: &mut Decompress,
    input: &mut &[u8],
    buffer: &mut [u8],
) -> Result<(usize, bool), MemberFault> {
    loop {
        let (before_in, before_out) = (state.total_in(), state.total_out());
        let status = state
            .decompress(input, buffer, FlushDecompress::None)
            .map_err(|e| MemberFault::Damaged(e.to_string()))?;
        let taken = usize::try_from(state.total_in() - before_in).unwrap_or(usize::MAX);
        let given = usize::try_from(state.total_out() - before_out).unwrap_or(usize::MAX);
        *input = input.get(taken..).unwrap_or_default();
        let ended = status == Status::StreamEnd;
        if given != 0 || ended || taken == 0 {
            return Ok((given, ended));
        }
    }
}
