//! A zstd frame made of segments, read at random by the segment table of its last entry: any segment or run of segments
//! decoded alone and by any number of threads. What the table says is checked against the frame before anything is
//! believed; blocks are checked by XXH3 before they are decoded.

use std::io::{self, Read};
use std::ops::Range;

use super::bundle_reader::BundleReadError;
use super::segment_table::{Part, Segment, SegmentTable};
use super::tail::{self, Last, TailError};
use super::tar_reader::{Ends, Entries};
use crate::base::fs::ReadAt;
use crate::base::segments::{self, FRAME_HEADER_SIZE, FrameHeader, LAST_BLOCK, decode_segment};

/// A frame of segments.
#[derive(Debug)]
pub struct Segmented<R> {
    source: R,
    header: FrameHeader,
    table: SegmentTable,
    size: u64,
}

impl<R: ReadAt> Segmented<R> {
    /// Reads header, segment table and last entry; decodes nothing.
    pub fn open(source: R) -> Result<(Self, Last), BundleReadError> {
        let read = |buffer: &mut [u8], offset, what| {
            source
                .read_exact_at(buffer, offset)
                .map_err(|source| BundleReadError::Read { what, source })
        };
        let what = "the size of the bundle";
        let size = source
            .size()
            .map_err(|source| BundleReadError::Read { what, source })?;
        let mut start = [0; FRAME_HEADER_SIZE];
        let have = size.min(FRAME_HEADER_SIZE as u64) as usize;
        read(&mut start[..have], 0, "the beginning of the bundle")?;
        let header = FrameHeader::parse(&start).map_err(BundleReadError::Header)?;
        let what = "the end of the bundle";
        let short = || BundleReadError::End(TailError::End);
        let mut end = [0; tail::END_SIZE];
        let at = size.checked_sub(end.len() as u64).ok_or_else(short)?;
        read(&mut end, at, what)?;
        let length = tail::length(&end).map_err(BundleReadError::End)?;
        let at = size
            .checked_sub(length + LAST_BLOCK.len() as u64)
            .filter(|at| *at >= FRAME_HEADER_SIZE as u64)
            .ok_or_else(short)?;
        let mut blocks = vec![0; length as usize];
        read(&mut blocks, at, what)?;
        let (table, last) = tail::read(&blocks, at, &header).map_err(BundleReadError::End)?;
        let segmented = Self {
            source,
            header,
            table,
            size,
        };
        Ok((segmented, last))
    }

    /// Where the segments lie.
    pub fn table(&self) -> &SegmentTable {
        &self.table
    }

    /// What the frame header says.
    pub fn header(&self) -> FrameHeader {
        self.header
    }

    /// Bytes of the whole file.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Numbers of the segments of a part; they are neighbours.
    pub fn segments_of(&self, part: Part) -> Range<usize> {
        let rows = &self.table.segments;
        let first = rows.iter().position(|s| s.part == part);
        let count = rows.iter().filter(|s| s.part == part).count();
        first.map_or(0..0, |first| first..first + count)
    }

    /// Whether a component's segments are in this file.
    pub fn has_component(&self, number: u32) -> bool {
        !self.segments_of(Part::Component(number)).is_empty()
    }

    /// Reads the blocks of a segment into `blocks` (replacing it) and checks them.
    pub fn read_blocks(
        &self,
        number: usize,
        blocks: &mut Vec<u8>,
    ) -> Result<Segment, BundleReadError> {
        let missing = BundleReadError::NoSegment(number);
        let segment = *self.table.segments.get(number).ok_or(missing)?;
        blocks.clear();
        blocks.resize(segment.packed as usize, 0);
        let what = "a segment";
        self.source
            .read_exact_at(blocks, segment.offset)
            .map_err(|source| BundleReadError::Read { what, source })?;
        if segments::xxh3(blocks) == segment.xxh3 {
            Ok(segment)
        } else {
            Err(BundleReadError::Checksum(number))
        }
    }

    /// Decodes one segment into `tar`, replacing it.
    pub fn decode(&self, number: usize, tar: &mut Vec<u8>) -> Result<(), BundleReadError> {
        let mut blocks = Vec::new();
        let segment = self.read_blocks(number, &mut blocks)?;
        decode_segment(&blocks, segment.unpacked, tar)
            .map_err(|source| BundleReadError::Segment { number, source })
    }

    /// The bytes of tar of neighbouring segments, decoded one at a time.
    pub fn stream(&self, numbers: Range<usize>) -> Stream<'_, R> {
        Stream {
            reader: self,
            numbers,
            tar: Vec::new(),
            at: 0,
        }
    }

    /// The entries of one component, by its number in the table.
    pub fn component(&self, number: u32) -> Entries<Stream<'_, R>> {
        let numbers = self.segments_of(Part::Component(number));
        Entries::new(self.stream(numbers), Ends::Entry)
    }
}

/// Neighbouring segments as one stream of tar bytes.
pub struct Stream<'a, R> {
    reader: &'a Segmented<R>,
    numbers: Range<usize>,
    tar: Vec<u8>,
    at: usize,
}

impl<R: ReadAt> Read for Stream<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        while self.at == self.tar.len() {
            let Some(number) = self.numbers.next() else {
                return Ok(0);
            };
            self.at = 0;
            self.reader
                .decode(number, &mut self.tar)
                .inspect_err(|_| self.numbers = 0..0)
                .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e))?;
        }
        let left = self.tar.get(self.at..).unwrap_or_default();
        let read = left.len().min(out.len());
        out[..read].copy_from_slice(&left[..read]);
        self.at += read;
        Ok(read)
    }
}
