//! The unpacked stream of an archive in memory: plain, one gzip member or one zstd frame, told apart by the first bytes.

use std::io::{self, Read};

use crate::base::segments::FrameReader;

/// An unpacked stream that knows what it did not read.
pub(super) enum Input<'a> {
    /// Not packed.
    Plain(&'a [u8]),
    /// One gzip member.
    Gzip(Box<flate2::bufread::GzDecoder<&'a [u8]>>),
    /// One zstd frame, and all bytes it began with.
    Zstd(Box<FrameReader<'a>>, &'a [u8]),
}

impl<'a> Input<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> io::Result<Self> {
        Ok(match bytes {
            [0x1f, 0x8b, ..] => Self::Gzip(Box::new(flate2::bufread::GzDecoder::new(bytes))),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Self::Zstd(Box::new(FrameReader::new(bytes)?), bytes),
            _ => Self::Plain(bytes),
        })
    }

    /// Bytes behind the stream, once it was read to its end.
    pub(super) fn unused(&self) -> &'a [u8] {
        match self {
            Self::Plain(rest) => rest,
            Self::Gzip(decoder) => decoder.get_ref(),
            Self::Zstd(reader, all) => all
                .len()
                .checked_sub(reader.unused())
                .and_then(|at| all.get(at..))
                .unwrap_or_default(),
        }
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(bytes) => bytes.read(buffer),
            Self::Gzip(decoder) => decoder.read(buffer),
            Self::Zstd(reader, _) => reader.read(buffer),
        }
    }
}
