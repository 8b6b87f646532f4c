//! The last segment of a bundle: `.complete`, with the segment table as its PAX comment, and the end of the archive. That
//! of a base layer holds the layer's record in the place of `.complete`.
//!
//! Its blocks are raw, so a reader finds the table from the file's last bytes without decoding anything: the content of
//! the last entry stands at a fixed distance from the end. How long the segment is, `.complete` says itself; before a
//! layer's record, which is the same in the bundle, the comment's last words do. Every zstd decoder and tar program reads
//! it as one more entry; nothing stands behind the frame, where some stop or fail.

use super::manifest::{COMPLETE, Complete, LayerFile, ManifestError};
use super::segment_table::{Part, Segment, SegmentTable, TableError};
use super::tar_entry::{self, BLOCK, TarEntryError, padding};
use super::tar_reader::{Ends, Entries, TarReadError};
use crate::base::segments::{FrameHeader, LAST_BLOCK, SegmentError, raw_blocks, raw_content, xxh3};

/// Most bytes of a last segment: readers take no longer PAX header.
const MAX_TAIL: u64 = 1 << 20;

/// Bytes at the end of a bundle that tell how long its last segment is: the last words of the comment (two blocks, for
/// it may begin in one and end in the other), the header, the content, and what ends archive and frame.
pub const END_SIZE: usize = 4 * BLOCK + tar_entry::END.len() + LAST_BLOCK.len();

/// Before the length of the segment in the comment of a layer's record.
const LENGTH: &str = " tail ";

/// What the last entry says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Last {
    /// `.complete`: a bundle.
    Complete(Complete),
    /// The record of a base layer.
    Layer(LayerFile),
}

/// Why a last segment cannot be made or read.
#[derive(Debug, thiserror::Error)]
pub enum TailError {
    /// The file does not end as bundles do.
    #[error("it does not end as a bundle does")]
    End,
    /// `.complete` is damaged.
    #[error("could not read .complete")]
    Complete(#[from] ManifestError),
    /// The blocks are damaged.
    #[error("its last segment is damaged")]
    Blocks(#[from] SegmentError),
    /// The archive inside is damaged.
    #[error("its last segment is damaged")]
    Archive(#[from] TarReadError),
    /// The table is damaged.
    #[error("could not read its segment table")]
    Table(#[from] TableError),
    /// No more room for the table than the length that is wanted.
    #[error("the segment table does not fit into {0} bytes")]
    Length(u64),
    /// More segments, components or layers than a last segment holds.
    #[error("a bundle with {0} segments is too large for one file")]
    TooLarge(usize),
    /// The entry cannot be written.
    #[error("could not write .complete")]
    Entry(#[from] TarEntryError),
}

/// Makes the last segment of a bundle whose other segments are those of `table`: blocks, and bytes of tar.
pub fn write(table: &SegmentTable, complete: &Complete) -> Result<(Vec<u8>, u64), TailError> {
    let blocks = |tail: u64| {
        let content = Complete {
            tail,
            ..complete.clone()
        }
        .to_bytes();
        let comment = table.to_text(&content);
        segment(table, COMPLETE, &content, &comment)
    };
    // Its length does not depend on how many digits it has itself: the content is padded to one block.
    let len = blocks(0)?.0.len();
    blocks(len as u64)
}

/// The same for the app layer, whose table is shorter: filled up to the length that `complete` gives, so that `.complete`
/// is the one of the whole bundle.
pub fn write_filled(
    table: &SegmentTable,
    complete: &Complete,
) -> Result<(Vec<u8>, u64), TailError> {
    let content = complete.to_bytes();
    let text = table.to_text(&content);
    let made = |fill: usize| {
        let comment = format!("{text}{}", " ".repeat(fill));
        segment(table, COMPLETE, &content, &comment)
    };
    let plain = made(0)?;
    let lacks = complete.tail.checked_sub(plain.0.len() as u64);
    let lacks = lacks.ok_or(TailError::Length(complete.tail))? as usize;
    if lacks == 0 {
        return Ok(plain);
    }
    // Some letters less where the number of letters has a digit more.
    for less in [0, BLOCK / 2] {
        let filled = made(lacks.saturating_sub(less))?;
        if filled.0.len() as u64 == complete.tail {
            return Ok(filled);
        }
    }
    Err(TailError::Length(complete.tail))
}

/// Makes the last segment of a base layer.
pub fn write_layer(table: &SegmentTable, record: &LayerFile) -> Result<(Vec<u8>, u64), TailError> {
    let content = record.to_bytes()?;
    let text = table.to_text(&content);
    let made = |len: usize| {
        // As many letters whatever the length is: it may not change the length.
        let comment = format!("{text}{LENGTH}{len:07}");
        segment(table, &record.path(), &content, &comment)
    };
    let len = made(0)?.0.len();
    made(len)
}

fn segment(
    table: &SegmentTable,
    path: &str,
    content: &[u8],
    comment: &str,
) -> Result<(Vec<u8>, u64), TailError> {
    let size = content.len() as u64;
    let mut tar = tar_entry::header_with_comment(path, size, comment)?;
    tar.extend_from_slice(content);
    tar.resize(tar.len() + padding(size), 0);
    tar.extend_from_slice(&tar_entry::END);
    if content.len() > BLOCK || tar.len() as u64 > MAX_TAIL {
        return Err(TailError::TooLarge(table.segments.len()));
    }
    Ok((raw_blocks(&tar), tar.len() as u64))
}

/// How many bytes before the empty last block the last segment takes, from the last [`END_SIZE`] bytes of a file.
pub fn length(end: &[u8; END_SIZE]) -> Result<u64, TailError> {
    let (comment, rest) = end.split_at(2 * BLOCK);
    let (_header, rest) = rest.split_at(BLOCK);
    let (content, rest) = rest.split_at(BLOCK);
    if rest.strip_suffix(&LAST_BLOCK) != Some(&tar_entry::END[..]) {
        return Err(TailError::End);
    }
    let content = filled(content);
    let tail = match Complete::parse(content) {
        Ok(complete) => complete.tail,
        Err(_) => LayerFile::parse(content)
            .ok()
            .and_then(|_| {
                std::str::from_utf8(filled(comment))
                    .ok()?
                    .strip_suffix('\n')
            })
            .and_then(|text| text.rsplit_once(LENGTH)?.1.parse().ok())
            .ok_or(TailError::End)?,
    };
    if tail > MAX_TAIL + 64 {
        return Err(TailError::End);
    }
    Ok(tail)
}

/// A block without the zeros that fill it up.
fn filled(block: &[u8]) -> &[u8] {
    let len = block
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |at| at + 1);
    block.get(..len).unwrap_or_default()
}

/// Reads the last segment, which lies at `offset` of a bundle that begins with `header`.
pub fn read(
    blocks: &[u8],
    offset: u64,
    header: &FrameHeader,
) -> Result<(SegmentTable, Last), TailError> {
    let tar = raw_content(blocks)?;
    let mut entries = Entries::new(&tar[..], Ends::Archive);
    let entry = entries.next_entry()?.ok_or(TailError::End)?;
    let content = entries.read_content(BLOCK as u64)?;
    let comment = entries.comment().ok_or(TailError::End)?.to_owned();
    if entries.next_entry()?.is_some() {
        return Err(TailError::End);
    }
    let length = blocks.len() as u64;
    let (last, text) = if entry.path == COMPLETE {
        let complete = Complete::parse(&content)?;
        if complete.tail != length {
            return Err(TailError::End);
        }
        (Last::Complete(complete), comment.trim_end_matches(' '))
    } else {
        let record = LayerFile::parse(&content)?;
        let text = comment.strip_suffix(&format!("{LENGTH}{length:07}"));
        if entry.path != record.path() || record.to_bytes()? != content {
            return Err(TailError::End);
        }
        (Last::Layer(record), text.ok_or(TailError::End)?)
    };
    let tail = Segment {
        offset,
        packed: length,
        unpacked: tar.len() as u64,
        xxh3: xxh3(blocks),
        part: Part::Tail,
    };
    let table = SegmentTable::parse(text, &content, header, tail)?;
    Ok((table, last))
}
