//! The last segment of a bundle: `.complete`, with the segment table as its PAX comment, and the end of the archive.
//!
//! Its blocks are raw, so a reader finds the table from the file's last bytes without decoding anything: the content of
//! `.complete` stands at a fixed distance from the end and says how long the segment is. Every zstd decoder and tar
//! program reads it as one more entry; nothing stands behind the frame, where some stop or fail.

use super::manifest::{COMPLETE, Complete, ManifestError};
use super::segment_table::{Part, Segment, SegmentTable, TableError};
use super::tar_entry::{self, BLOCK, TarEntryError, padding};
use super::tar_reader::{Ends, Entries, TarReadError};
use crate::base::segments::{FrameHeader, LAST_BLOCK, SegmentError, raw_blocks, raw_content, xxh3};

/// Most bytes of a last segment: readers take no longer PAX header.
const MAX_TAIL: u64 = 1 << 20;

/// Bytes at the end of a bundle that tell how long its last segment is.
pub const END_SIZE: usize = BLOCK + tar_entry::END.len() + LAST_BLOCK.len();

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
    /// More segments, components or layers than a last segment holds.
    #[error("a bundle with {0} segments is too large for one file")]
    TooLarge(usize),
    /// The entry cannot be written.
    #[error("could not write .complete")]
    Entry(#[from] TarEntryError),
}

/// Makes the last segment of a bundle whose other segments are those of `table`: blocks, and bytes of tar.
pub fn write(table: &SegmentTable, complete: &Complete) -> Result<(Vec<u8>, u64), TailError> {
    let blocks = |tail: u64| -> Result<(Vec<u8>, u64), TailError> {
        let content = Complete {
            tail,
            ..complete.clone()
        }
        .to_bytes();
        let text = table.to_text(&content);
        let size = content.len() as u64;
        let mut tar = tar_entry::header_with_comment(COMPLETE, size, &text)?;
        tar.extend_from_slice(&content);
        tar.resize(tar.len() + padding(size), 0);
        tar.extend_from_slice(&tar_entry::END);
        if content.len() > BLOCK || tar.len() as u64 > MAX_TAIL {
            return Err(TailError::TooLarge(table.segments.len()));
        }
        Ok((raw_blocks(&tar), tar.len() as u64))
    };
    // Its length does not depend on how many digits it has itself: the content is padded to one block.
    let len = blocks(0)?.0.len();
    blocks(len as u64)
}

/// How many bytes before the empty last block the last segment takes, from the last [`END_SIZE`] bytes of a file.
pub fn length(end: &[u8; END_SIZE]) -> Result<u64, TailError> {
    let (content, rest) = end.split_at(BLOCK);
    if rest.strip_suffix(&LAST_BLOCK) != Some(&tar_entry::END[..]) {
        return Err(TailError::End);
    }
    let len = content.iter().position(|byte| *byte == 0).unwrap_or(BLOCK);
    let tail = Complete::parse(content.get(..len).unwrap_or_default())
        .map_err(|_| TailError::End)?
        .tail;
    if tail > MAX_TAIL + 64 {
        return Err(TailError::End);
    }
    Ok(tail)
}

/// Reads the last segment, which lies at `offset` of a bundle that begins with `header`.
pub fn read(
    blocks: &[u8],
    offset: u64,
    header: &FrameHeader,
) -> Result<(SegmentTable, Complete), TailError> {
    let tar = raw_content(blocks)?;
    let mut entries = Entries::new(&tar[..], Ends::Archive);
    let found = entries.next_entry()?;
    if found.is_none_or(|entry| entry.path != COMPLETE) {
        return Err(TailError::End);
    }
    let content = entries.read_content(BLOCK as u64)?;
    let complete = Complete::parse(&content)?;
    let text = entries.comment().ok_or(TailError::End)?.to_owned();
    if entries.next_entry()?.is_some() || complete.tail != blocks.len() as u64 {
        return Err(TailError::End);
    }
    let tail = Segment {
        offset,
        packed: blocks.len() as u64,
        unpacked: tar.len() as u64,
        xxh3: xxh3(blocks),
        part: Part::Tail,
    };
    let table = SegmentTable::parse(&text, &content, header, tail)?;
    Ok((table, complete))
}
