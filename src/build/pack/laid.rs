//! The bytes of a bundle laid out before the first is written: pieces at hand and pieces to copy, in order. So its size
//! is known beforehand, and whoever writes and whoever digests can walk the same list on their own.

use std::collections::BTreeSet;
use std::path::Path;

use super::PackError;
use super::contents::Contents;
use crate::base::digest::Digest;
use crate::base::segments::{self, Encoding, FRAME_HEADER_SIZE, LAST_BLOCK, frame_header};
use crate::build::assemble::Placed;
use crate::build::ingest::store::Backing;
use crate::formats::bundle::BUNDLE_JSON;
use crate::formats::component::{EntryKind, Layer, SegmentRef};
use crate::formats::manifest;
use crate::formats::recorded;
use crate::formats::segment_table::{Part, Segment, SegmentTable};
use crate::formats::tail;
use crate::formats::tar_entry::{self, BLOCK, TarEntryError, padding};

/// A row of bytes of the file.
pub(super) enum Piece<'a> {
    /// At hand.
    Bytes(Vec<u8>),
    /// A segment, to be copied.
    Copy(Copied<'a>),
}

/// A segment that is copied.
pub(super) struct Copied<'a> {
    pub backing: &'a Backing,
    pub segment: SegmentRef,
    /// Its number where it comes from.
    pub number: usize,
    pub from: Origin<'a>,
}

/// Where a segment comes from.
#[derive(Clone, Copy)]
pub(super) enum Origin<'a> {
    /// A component of the cache.
    Component(&'a Placed),
    /// A bundle's file.
    Bundle(&'a Path),
}

/// A file, laid out.
pub(super) struct Laid<'a> {
    pub pieces: Vec<Piece<'a>>,
    pub size: u64,
}

/// Lays a bundle out.
pub(super) fn lay<'a>(
    parts: &'a [Placed],
    contents: &Contents,
    encoding: &Encoding,
) -> Result<Laid<'a>, PackError> {
    let mut line = Line::new(
        encoding,
        parts.iter().map(|part| part.component.id).collect(),
    );
    line.made(head(contents, encoding).map_err(own)?, Part::Head)?;
    let mut base_record = contents.base_record.as_ref();
    for (number, part) in parts.iter().enumerate() {
        if part.layer != Layer::Base {
            line.base_record(base_record.take())?;
        }
        line.component(number, part)?;
    }
    line.base_record(base_record.take())?;
    let tail = tail::write(&line.table, &contents.complete)?;
    Ok(line.close(tail))
}

fn own(source: TarEntryError) -> PackError {
    let name = "of packing itself".to_owned();
    PackError::Entry { name, source }
}

/// Segments one after the other.
pub(super) struct Line<'a, 'e> {
    encoding: &'e Encoding,
    pieces: Vec<Piece<'a>>,
    /// The table of all that is there so far.
    pub table: SegmentTable,
    offset: u64,
    unpacked: u64,
}

impl<'a, 'e> Line<'a, 'e> {
    /// None yet. `components` are the ids that parts number.
    pub fn new(encoding: &'e Encoding, components: Vec<Digest>) -> Self {
        Self {
            encoding,
            pieces: Vec::new(),
            table: SegmentTable {
                segments: Vec::new(),
                components,
            },
            offset: FRAME_HEADER_SIZE as u64,
            unpacked: 0,
        }
    }

    fn push(&mut self, piece: Piece<'a>, part: Part, packed: u64, unpacked: u64, xxh3: u64) {
        self.table.segments.push(Segment {
            offset: self.offset,
            packed,
            unpacked,
            xxh3,
            part,
        });
        self.pieces.push(piece);
        self.offset += packed;
        self.unpacked += unpacked;
    }

    /// Segments made here and now.
    pub fn made(&mut self, tars: Vec<Vec<u8>>, part: Part) -> Result<(), PackError> {
        for tar in tars {
            let mut blocks = Vec::new();
            let packed = segments::encode(self.encoding, &tar, &mut blocks)?;
            let xxh3 = segments::xxh3(&blocks);
            self.push(Piece::Bytes(blocks), part, packed, tar.len() as u64, xxh3);
        }
        Ok(())
    }

    /// A segment that is there already.
    pub fn copied(&mut self, copied: Copied<'a>, part: Part) {
        let SegmentRef {
            packed,
            unpacked,
            xxh3,
            ..
        } = copied.segment;
        self.push(Piece::Copy(copied), part, packed, unpacked, xxh3);
    }

    fn base_record(&mut self, record: Option<&(String, Vec<u8>)>) -> Result<(), PackError> {
        let Some((path, bytes)) = record else {
            return Ok(());
        };
        let mut tar = Vec::new();
        tar_entry::append_file(&mut tar, path, 0o644, bytes).map_err(own)?;
        self.made(vec![tar], Part::Layer)
    }

    fn component(&mut self, number: usize, part: &'a Placed) -> Result<(), PackError> {
        let name = || part.label();
        let component = &part.component;
        let mut tar = 0u64;
        for entry in &component.entries {
            let span = tar_entry::span(&entry.path, &entry.kind, entry.mode, entry.size);
            let span = span.map_err(|source| PackError::Entry {
                name: name(),
                source,
            })?;
            tar = tar.saturating_add(span);
        }
        let segments: u64 = component
            .segments
            .iter()
            .fold(0, |sum, s| sum.saturating_add(s.unpacked));
        if tar != segments {
            return Err(PackError::Component {
                name: name(),
                what: "its segments do not hold what its entries take",
            });
        }
        let id = Part::Component(number as u32);
        for (number, segment) in component.segments.iter().enumerate() {
            let copied = Copied {
                backing: &part.segments,
                segment: segment.clone(),
                number,
                from: Origin::Component(part),
            };
            self.copied(copied, id);
        }
        Ok(())
    }

    /// The last segment with its bytes of tar, the frame's header in front, its last block behind.
    pub fn close(mut self, (blocks, tar): (Vec<u8>, u64)) -> Laid<'a> {
        let (packed, xxh3) = (blocks.len() as u64, segments::xxh3(&blocks));
        self.push(Piece::Bytes(blocks), Part::Tail, packed, tar, xxh3);
        let header = frame_header(self.unpacked, self.encoding.window_log);
        let size = self.offset + LAST_BLOCK.len() as u64;
        let mut pieces = vec![Piece::Bytes(header.to_vec())];
        pieces.extend(self.pieces);
        pieces.push(Piece::Bytes(LAST_BLOCK.to_vec()));
        Laid { pieces, size }
    }
}

/// The tar bytes of the first segments: bundle.json, files.jsonl, the root and all folders.
fn head(contents: &Contents, encoding: &Encoding) -> Result<Vec<Vec<u8>>, TarEntryError> {
    let mut cutter = Cutter::new(encoding);
    for (path, bytes) in [
        (BUNDLE_JSON, &contents.bundle_json),
        (manifest::FILES, &contents.files),
        (recorded::FACTS, &contents.facts),
    ] {
        let header = tar_entry::header(path, &EntryKind::File, 0o644, bytes.len() as u64)?;
        cutter.entry(&header, bytes);
    }
    cutter.folders(&contents.folders)?;
    Ok(cutter.finish())
}

/// The tar bytes of the root and of folders.
pub(super) fn folders(
    folders: &BTreeSet<String>,
    encoding: &Encoding,
) -> Result<Vec<Vec<u8>>, PackError> {
    let mut cutter = Cutter::new(encoding);
    cutter.folders(folders).map_err(own)?;
    Ok(cutter.finish())
}

/// Cuts tar bytes into segments on blocks, never inside a header.
struct Cutter {
    limit: usize,
    done: Vec<Vec<u8>>,
    tar: Vec<u8>,
}

impl Cutter {
    fn new(encoding: &Encoding) -> Self {
        Self {
            limit: encoding.segment_size as usize,
            done: Vec::new(),
            tar: Vec::new(),
        }
    }

    fn folders(&mut self, folders: &BTreeSet<String>) -> Result<(), TarEntryError> {
        let folders = folders.iter().map(String::as_str);
        for path in std::iter::once("").chain(folders) {
            self.entry(&tar_entry::header(path, &EntryKind::Dir, 0o755, 0)?, &[]);
        }
        Ok(())
    }

    fn entry(&mut self, header: &[u8], content: &[u8]) {
        if self.tar.len() + header.len() > self.limit {
            self.cut();
        }
        self.tar.extend_from_slice(header);
        let mut rest = content;
        while !rest.is_empty() {
            if self.tar.len() >= self.limit {
                self.cut();
            }
            let (part, after) = rest.split_at(rest.len().min(self.limit - self.tar.len()));
            self.tar.extend_from_slice(part);
            self.tar.resize(self.tar.len().next_multiple_of(BLOCK), 0);
            rest = after;
        }
        debug_assert_eq!(padding(self.tar.len() as u64), 0);
    }

    fn cut(&mut self) {
        if !self.tar.is_empty() {
            self.done.push(std::mem::take(&mut self.tar));
        }
    }

    fn finish(mut self) -> Vec<Vec<u8>> {
        self.cut();
        self.done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_on_blocks_and_never_inside_a_header() {
        let mut cutter = Cutter {
            limit: 2048,
            done: Vec::new(),
            tar: Vec::new(),
        };
        cutter.entry(&[1; 512], &[2; 4000]);
        cutter.entry(&[3; 1536], &[4; 1]);
        cutter.entry(&[5; 512], &[]);
        let done = cutter.finish();
        let sizes: Vec<usize> = done.iter().map(Vec::len).collect();
        // The second header just fits behind the first body; its own body begins the next segment.
        assert_eq!(sizes, [2048, 2048, 2048, 1024]);
        let whole = [
            &[1; 512][..],
            &[2; 4000],
            &[0; 96],
            &[3; 1536],
            &[4],
            &[0; 511],
            &[5; 512],
        ];
        assert!(done.concat() == whole.concat());
    }
}
