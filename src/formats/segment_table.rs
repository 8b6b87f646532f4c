//! The segment table: where each segment of a bundle lies, as text that the last entry carries as a comment.
//!
//! Base64 (RFC 4648) of little-endian fields: version; number of segments and of components; one row of 36 bytes per
//! segment but the last (offset, packed, unpacked, XXH3, component); the ids of the components; XXH3 of all this and of
//! `.complete`. A table is taken only if its rows fill the frame from its header to its last block without gap or
//! overlap, so that reading by the table and reading front to back give the same bytes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;

use crate::base::digest::Digest;
use crate::base::segments::{FRAME_HEADER_SIZE, FrameHeader, MAX_SEGMENT_SIZE, xxh3};

const VERSION: u32 = 1;

/// What a segment belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// bundle.json, files.jsonl and folders; the first segments.
    Head,
    /// A component, by its number in the table.
    Component(u32),
    /// The record of a layer.
    Layer,
    /// `.complete` with the table, and the end of the archive; the last segment.
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

    fn of(code: u32, components: usize) -> Option<Self> {
        match code {
            u32::MAX => Some(Self::Head),
            0xFFFF_FFFE => Some(Self::Layer),
            number => ((number as usize) < components).then_some(Self::Component(number)),
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

/// Why a text is no segment table of the bundle it stands in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// A table of another version.
    #[error("segment table has version {0}, this program reads {VERSION}")]
    Version(u32),
    /// The table does not hold together.
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

impl SegmentTable {
    /// The table as text, without the last segment, in which the text itself stands. `complete` is `.complete`.
    pub fn to_text(&self, complete: &[u8]) -> String {
        let rows = || self.segments.iter().filter(|s| s.part != Part::Tail);
        let mut out = Vec::new();
        for field in [VERSION, rows().count() as u32, self.components.len() as u32] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        for row in rows() {
            for field in [row.offset, row.packed, row.unpacked, row.xxh3] {
                out.extend_from_slice(&field.to_le_bytes());
            }
            out.extend_from_slice(&row.part.code().to_le_bytes());
        }
        for id in &self.components {
            out.extend_from_slice(id.bytes());
        }
        let checksum = checksum(&out, complete);
        out.extend_from_slice(&checksum.to_le_bytes());
        BASE64.encode(out)
    }

    /// Reads the table of a bundle that begins with `header` and ends with the segment `tail`.
    pub fn parse(
        text: &str,
        complete: &[u8],
        header: &FrameHeader,
        tail: Segment,
    ) -> Result<Self, TableError> {
        let damaged = TableError::Damaged;
        let short = || damaged("it is cut short");
        let bytes = BASE64
            .decode(text)
            .map_err(|_| damaged("it is not base64"))?;
        let (body, sum) = bytes.split_last_chunk::<8>().ok_or_else(short)?;
        if checksum(body, complete) != u64::from_le_bytes(*sum) {
            return Err(damaged("its checksum does not match"));
        }
        let mut fields = Fields(body);
        let version = fields.u32().ok_or_else(short)?;
        if version != VERSION {
            return Err(TableError::Version(version));
        }
        let rows = fields.u32().ok_or_else(short)? as usize;
        let count = fields.u32().ok_or_else(short)? as usize;
        let mut segments = Vec::new();
        for row in 0..rows {
            let bad = |what| TableError::Row { row, what };
            segments.push(fields.segment(count).map_err(bad)?);
        }
        segments.push(tail);
        let mut components = Vec::new();
        for _ in 0..count {
            let id = fields.take().map(Digest::from_bytes);
            components.push(id.ok_or_else(short)?);
        }
        if !fields.0.is_empty() {
            return Err(damaged("it is too long"));
        }
        let table = Self {
            segments,
            components,
        };
        table.check(header)?;
        Ok(table)
    }

    /// The rows fill the frame up to the last one, in the one order bundles have.
    fn check(&self, header: &FrameHeader) -> Result<(), TableError> {
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
                || !segment.unpacked.is_multiple_of(512)
                || segment.packed > most_packed
            {
                return bad("has an impossible size");
            }
            offset = offset.saturating_add(segment.packed);
            unpacked = unpacked.saturating_add(segment.unpacked);
            in_head &= segment.part == Part::Head;
            let in_order = match segment.part {
                Part::Head => in_head,
                Part::Tail | Part::Layer => row > 0,
                Part::Component(number) => {
                    let forward = number >= component;
                    component = number;
                    forward && row > 0
                }
            };
            if !in_order {
                return bad("is not in order");
            }
        }
        if unpacked != header.content_size {
            return Err(TableError::Damaged(
                "its sizes do not add up to the size in the frame header",
            ));
        }
        Ok(())
    }
}

fn checksum(body: &[u8], complete: &[u8]) -> u64 {
    xxh3(&[body, complete].concat())
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

    fn segment(&mut self, components: usize) -> Result<Segment, &'static str> {
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
            let xxh3 = 77 + offset;
            segments.push(Segment {
                offset,
                packed,
                unpacked,
                xxh3,
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

    fn parse(text: &str) -> Result<SegmentTable, TableError> {
        let tail = *table().segments.last().unwrap();
        SegmentTable::parse(text, b"complete", &HEADER, tail)
    }

    #[test]
    fn table_comes_back() {
        assert_eq!(parse(&table().to_text(b"complete")), Ok(table()));
    }

    #[test]
    fn every_changed_letter_and_every_cut_is_found() {
        let text = table().to_text(b"complete");
        for at in 0..text.len() {
            let other = if text.as_bytes()[at] == b'A' {
                "B"
            } else {
                "A"
            };
            let mut bad = text.clone();
            bad.replace_range(at..=at, other);
            assert!(parse(&bad).is_err(), "letter {at}");
            assert!(parse(&text[..at]).is_err());
            assert!(parse(&text[at + 1..]).is_err());
        }
        assert!(parse(&table().to_text(b"of another bundle")).is_err());
    }

    #[test]
    fn refuses_gaps_overlaps_wrong_sizes_and_wrong_order() {
        let change: [fn(&mut SegmentTable); 11] = [
            |t| t.segments[2].offset += 1,
            |t| t.segments[2].offset -= 1,
            |t| t.segments[0].offset = 0,
            |t| t.segments[1].packed = u64::MAX,
            |t| t.segments[3].packed = 8,
            |t| t.segments[1].unpacked = 1024,
            |t| t.segments[1].unpacked = u64::MAX - 511,
            |t| t.segments[2].part = Part::Head,
            |t| t.segments[0].part = Part::Component(0),
            |t| t.segments[1].part = Part::Component(3),
            |t| t.segments.clear(),
        ];
        for (number, change) in change.into_iter().enumerate() {
            let mut bad = table();
            change(&mut bad);
            let text = bad.to_text(b"complete");
            assert!(parse(&text).is_err(), "change {number}");
        }
        let mut back = table();
        back.segments.swap(1, 2);
        back.segments[1].offset = FRAME_HEADER_SIZE as u64 + 100;
        back.segments[2].offset = back.segments[1].offset + back.segments[1].packed;
        let text = back.to_text(b"complete");
        assert!(parse(&text).is_err(), "components go backwards");
    }
}
