//! The segment table: a skippable frame (RFC 8878, 3.1.2) behind a bundle's frame that says where each segment lies.
//!
//! Layout, little-endian: magic number and length; one row of 36 bytes per segment (offset, packed, unpacked, XXH3,
//! component); the ids of the components; a footer of fixed length at the very end of the file. A table is taken
//! only if its rows fill the frame from its header to its last block without gap or overlap, so that reading by the
//! table and reading front to back give the same bytes.

use crate::base::digest::Digest;
use crate::base::segments::{FRAME_HEADER_SIZE, FrameHeader, LAST_BLOCK, MAX_SEGMENT_SIZE, xxh3};

/// Bytes of the footer: the last ones of a bundle.
pub const FOOTER_SIZE: usize = 32;

/// One of the sixteen magic numbers of skippable frames; neither pzstd's nor the seekable format's.
const MAGIC: [u8; 4] = [0x5B, 0x2A, 0x4D, 0x18];

const FRAME_PREFIX: usize = 8;
const ROW: usize = 36;
const ID: usize = 32;
const FOOTER_MAGIC: [u8; 8] = *b"SEGTABLE";
const VERSION: u32 = 1;

/// More segments or components than any bundle has.
const MAX_ROWS: u32 = 1 << 20;
const MAX_COMPONENTS: u32 = 1 << 16;

/// What a segment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// bundle.json, files.jsonl and folders; the first segment.
    Head,
    /// A component, by its number in the table.
    Component(u32),
    /// The record of a layer.
    Layer,
    /// `.complete` and the end of the archive; the last segment.
    Tail,
}

impl Part {
    fn code(self) -> u32 {
        match self {
            Self::Component(number) => number,
            Self::Head => u32::MAX,
            Self::Layer => u32::MAX - 1,
            Self::Tail => u32::MAX - 2,
        }
    }

    fn of(code: u32, components: u32) -> Option<Self> {
        match code {
            u32::MAX => Some(Self::Head),
            0xFFFF_FFFE => Some(Self::Layer),
            0xFFFF_FFFD => Some(Self::Tail),
            number => (number < components).then_some(Self::Component(number)),
        }
    }
}

/// Where a segment lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Segment {
    /// Offset of its first block in the file.
    pub offset: u64,
    /// Bytes of its blocks.
    pub packed: u64,
    /// Bytes of tar.
    pub unpacked: u64,
    /// XXH3-64 of its blocks.
    pub xxh3: u64,
    /// What it belongs to.
    pub part: Part,
}

/// Where all segments lie, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SegmentTable {
    /// The segments.
    pub segments: Vec<Segment>,
    /// Ids of the components that [`Part::Component`] numbers.
    pub components: Vec<Digest>,
}

/// Why bytes are no segment table of the file they stand in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// No footer: another kind of file, a cut one, or one without a table.
    #[error("no segment table at the end of the file")]
    Missing,
    /// A table of another version.
    #[error("segment table has version {0}, this program reads {VERSION}")]
    Version(u32),
    /// The footer or the frame does not hold together.
    #[error("segment table is damaged: {0}")]
    Damaged(&'static str),
    /// A row that cannot be.
    #[error("segment {row} of the segment table {what}")]
    Row {
        /// Number of the row.
        row: usize,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// What the last bytes of a bundle say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Footer {
    rows: u32,
    components: u32,
    checksum: u64,
}

impl Footer {
    /// Reads the last bytes of a file.
    pub fn parse(bytes: &[u8; FOOTER_SIZE]) -> Result<Self, TableError> {
        let mut fields = Fields(bytes);
        let checksum = fields.u64().ok_or(TableError::Missing)?;
        let rows = fields.u32().ok_or(TableError::Missing)?;
        let components = fields.u32().ok_or(TableError::Missing)?;
        let version = fields.u32().ok_or(TableError::Missing)?;
        let reserved = fields.u32().ok_or(TableError::Missing)?;
        if fields.take() != Some(FOOTER_MAGIC) {
            return Err(TableError::Missing);
        }
        if version != VERSION {
            return Err(TableError::Version(version));
        }
        if reserved != 0 {
            return Err(TableError::Damaged("a reserved field is in use"));
        }
        if rows > MAX_ROWS || components > MAX_COMPONENTS {
            return Err(TableError::Damaged(
                "it claims more rows than any bundle has",
            ));
        }
        Ok(Self {
            rows,
            components,
            checksum,
        })
    }

    /// Bytes of the whole skippable frame, footer included.
    pub fn frame_size(&self) -> u64 {
        (FRAME_PREFIX + FOOTER_SIZE) as u64
            + u64::from(self.rows) * ROW as u64
            + u64::from(self.components) * ID as u64
    }
}

impl SegmentTable {
    /// The skippable frame.
    pub fn to_bytes(&self) -> Vec<u8> {
        let body = self.segments.len() * ROW + self.components.len() * ID;
        let mut out = Vec::with_capacity(FRAME_PREFIX + body + FOOTER_SIZE);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&((body + FOOTER_SIZE) as u32).to_le_bytes());
        for segment in &self.segments {
            for field in [
                segment.offset,
                segment.packed,
                segment.unpacked,
                segment.xxh3,
            ] {
                out.extend_from_slice(&field.to_le_bytes());
            }
            out.extend_from_slice(&segment.part.code().to_le_bytes());
        }
        for id in &self.components {
            out.extend_from_slice(id.bytes());
        }
        let checksum = xxh3(&out[FRAME_PREFIX..]);
        out.extend_from_slice(&checksum.to_le_bytes());
        for field in [
            self.segments.len() as u32,
            self.components.len() as u32,
            VERSION,
            0,
        ] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        out.extend_from_slice(&FOOTER_MAGIC);
        out
    }

    /// Reads the skippable frame `footer` belongs to, which ends a file that begins with `header`.
    pub fn parse(
        frame: &[u8],
        footer: &Footer,
        header: &FrameHeader,
        file_size: u64,
    ) -> Result<Self, TableError> {
        let damaged = TableError::Damaged;
        if frame.len() as u64 != footer.frame_size() {
            return Err(damaged("it is cut short"));
        }
        let body = frame
            .get(FRAME_PREFIX..frame.len() - FOOTER_SIZE)
            .ok_or(damaged("it is cut short"))?;
        let mut fields = Fields(frame);
        if fields.take::<4>() != Some(MAGIC) {
            return Err(damaged("no skippable frame begins where it should"));
        }
        if fields.u32().map(u64::from) != Some(footer.frame_size() - FRAME_PREFIX as u64) {
            return Err(damaged("the frame has another length than the footer says"));
        }
        if xxh3(body) != footer.checksum {
            return Err(damaged("its checksum does not match"));
        }
        let mut segments = Vec::with_capacity(footer.rows as usize);
        for row in 0..footer.rows as usize {
            let bad = |what| TableError::Row { row, what };
            segments.push(fields.segment(footer.components).map_err(bad)?);
        }
        let components = (0..footer.components)
            .map_while(|_| fields.take::<ID>().map(Digest::from_bytes))
            .collect();
        let table = Self {
            segments,
            components,
        };
        let frame_end = file_size
            .checked_sub(footer.frame_size())
            .ok_or(damaged("it is longer than the file"))?;
        table.check(header, frame_end)?;
        Ok(table)
    }

    /// The rows fill the frame, in the one order bundles have.
    fn check(&self, header: &FrameHeader, frame_end: u64) -> Result<(), TableError> {
        let mut offset = FRAME_HEADER_SIZE as u64;
        let mut unpacked = 0u64;
        let mut component = 0;
        let mut in_head = true;
        for (row, segment) in self.segments.iter().enumerate() {
            let bad = |what| Err(TableError::Row { row, what });
            if segment.offset != offset {
                return bad("does not begin where the one before it ends");
            }
            let most_packed = segment
                .unpacked
                .saturating_add((segment.unpacked >> 7) + 1024);
            if segment.unpacked > MAX_SEGMENT_SIZE
                || segment.unpacked % 512 != 0
                || segment.packed > most_packed
            {
                return bad("has an impossible size");
            }
            let Some(end) = offset.checked_add(segment.packed) else {
                return bad("ends past the end of the file");
            };
            if end > frame_end {
                return bad("ends past the end of the file");
            }
            offset = end;
            unpacked = unpacked.saturating_add(segment.unpacked);
            let first = row == 0;
            let last = row + 1 == self.segments.len();
            in_head &= segment.part == Part::Head;
            let in_order = match segment.part {
                Part::Head => in_head,
                Part::Tail => last,
                Part::Layer => !first,
                Part::Component(number) => {
                    let forward = number >= component;
                    component = number;
                    forward && !first
                }
            };
            if !in_order || (last && segment.part != Part::Tail) {
                return bad("is not in order");
            }
        }
        if self.segments.is_empty() {
            return Err(TableError::Damaged("it is empty"));
        }
        if offset.checked_add(LAST_BLOCK.len() as u64) != Some(frame_end) {
            return Err(TableError::Damaged("its segments do not fill the frame"));
        }
        if unpacked != header.content_size {
            return Err(TableError::Damaged(
                "its sizes do not add up to the size in the frame header",
            ));
        }
        Ok(())
    }
}

/// Little-endian fields read one after the other.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (field, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*field)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_le_bytes)
    }

    fn segment(&mut self, components: u32) -> Result<Segment, &'static str> {
        let short = "is cut short";
        Ok(Segment {
            offset: self.u64().ok_or(short)?,
            packed: self.u64().ok_or(short)?,
            unpacked: self.u64().ok_or(short)?,
            xxh3: self.u64().ok_or(short)?,
            part: Part::of(self.u32().ok_or(short)?, components)
                .ok_or("belongs to no component of the table")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: FrameHeader = FrameHeader {
        content_size: 4096,
        window_log: 21,
    };

    fn table() -> SegmentTable {
        let parts = [
            Part::Head,
            Part::Component(0),
            Part::Component(2),
            Part::Layer,
            Part::Tail,
        ];
        let sizes = [(100, 1024), (30, 512), (1, 1024), (9, 512), (7, 1024)];
        let mut offset = FRAME_HEADER_SIZE as u64;
        let mut segments = Vec::new();
        for (part, (packed, unpacked)) in parts.into_iter().zip(sizes) {
            segments.push(Segment {
                offset,
                packed,
                unpacked,
                xxh3: 77 + offset,
                part,
            });
            offset += packed;
        }
        let components = (0..3u8).map(|n| Digest::of(&[n])).collect();
        SegmentTable {
            segments,
            components,
        }
    }

    fn file_size(table: &SegmentTable, frame: &[u8]) -> u64 {
        let last = table.segments.last().unwrap();
        last.offset + last.packed + LAST_BLOCK.len() as u64 + frame.len() as u64
    }

    fn parse(frame: &[u8], file_size: u64) -> Result<SegmentTable, TableError> {
        let footer = Footer::parse(frame.last_chunk().ok_or(TableError::Missing)?)?;
        SegmentTable::parse(frame, &footer, &HEADER, file_size)
    }

    #[test]
    fn table_comes_back() {
        let table = table();
        let frame = table.to_bytes();
        assert_eq!(parse(&frame, file_size(&table, &frame)), Ok(table));
    }

    #[test]
    fn every_changed_bit_is_found() {
        let table = table();
        let frame = table.to_bytes();
        let size = file_size(&table, &frame);
        for bit in 0..frame.len() * 8 {
            let mut bad = frame.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            assert!(parse(&bad, size).is_err(), "bit {bit}");
        }
        for cut in 0..frame.len() {
            assert!(parse(&frame[cut + 1..], size).is_err());
            assert!(parse(&frame[..cut], size).is_err());
        }
        assert!(parse(&frame, size - 1).is_err());
        assert!(parse(&frame, size + 1).is_err());
    }

    #[test]
    fn refuses_gaps_overlaps_wrong_sizes_and_wrong_order() {
        let change: [fn(&mut SegmentTable); 12] = [
            |t| t.segments[2].offset += 1,
            |t| t.segments[2].offset -= 1,
            |t| t.segments[0].offset = 0,
            |t| t.segments[1].packed = u64::MAX,
            |t| t.segments[4].packed = 6,
            |t| t.segments[1].unpacked = 1024,
            |t| t.segments[1].unpacked = u64::MAX - 511,
            |t| t.segments[1].part = Part::Tail,
            |t| t.segments[2].part = Part::Head,
            |t| t.segments[0].part = Part::Component(0),
            |t| t.segments[4].part = Part::Component(2),
            |t| t.segments.clear(),
        ];
        let good = table();
        let size = file_size(&good, &good.to_bytes());
        for (number, change) in change.into_iter().enumerate() {
            let mut bad = table();
            change(&mut bad);
            let frame = bad.to_bytes();
            let size = if bad.segments.is_empty() {
                frame.len() as u64 + 17
            } else {
                size
            };
            assert!(parse(&frame, size).is_err(), "change {number}");
        }
        let mut back = table();
        back.segments.swap(1, 2);
        back.segments[1].offset = good.segments[1].offset;
        back.segments[2].offset = back.segments[1].offset + back.segments[1].packed;
        assert!(
            parse(&back.to_bytes(), size).is_err(),
            "components go backwards"
        );
    }
}
