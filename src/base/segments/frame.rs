//! The few bytes of a zstd frame (RFC 8878) around and between segments: the frame header, the headers of blocks,
//! the empty last block.

use super::{MAX_WINDOW_LOG, SegmentError};

/// Bytes of [`frame_header`].
pub const FRAME_HEADER_SIZE: usize = 14;

/// An empty raw block with the last-block bit: it ends the frame.
pub const LAST_BLOCK: [u8; 3] = [1, 0, 0];

const MAGIC: [u8; 4] = [0x28, 0xB5, 0x2F, 0xFD];

/// Content size in 8 bytes, no single segment, no checksum, no dictionary.
const DESCRIPTOR: u8 = 0b1100_0000;

/// The window descriptor counts from 1 KiB.
const MIN_DESCRIPTOR_LOG: u32 = 10;

/// `Block_Maximum_Size` for windows of 128 KiB and more.
const MAX_BLOCK: usize = 128 << 10;

/// What the first bytes of a bundle say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameHeader {
    /// Bytes the frame decodes to.
    pub content_size: u64,
    /// Base-2 logarithm of the window.
    pub window_log: u32,
}

/// The header of a frame of `content_size` bytes. `window_log` must be that of an [`Encoding`](super::Encoding).
pub fn frame_header(content_size: u64, window_log: u32) -> [u8; FRAME_HEADER_SIZE] {
    let mut out = [0; FRAME_HEADER_SIZE];
    out[..4].copy_from_slice(&MAGIC);
    out[4] = DESCRIPTOR;
    let exponent = window_log.clamp(MIN_DESCRIPTOR_LOG, MAX_WINDOW_LOG) - MIN_DESCRIPTOR_LOG;
    out[5] = u8::try_from(exponent << 3).unwrap_or(u8::MAX);
    out[6..].copy_from_slice(&content_size.to_le_bytes());
    out
}

impl FrameHeader {
    /// Reads a header of exactly the form [`frame_header`] writes; other zstd frames are not bundles.
    pub fn parse(bytes: &[u8; FRAME_HEADER_SIZE]) -> Result<Self, SegmentError> {
        let [m0, m1, m2, m3, descriptor, window, size @ ..] = *bytes;
        if [m0, m1, m2, m3] != MAGIC {
            return Err(SegmentError::Header(
                "it does not begin with zstd's magic number",
            ));
        }
        if descriptor != DESCRIPTOR || window & 0b111 != 0 {
            return Err(SegmentError::Header("it is a zstd file of another kind"));
        }
        let window_log = u32::from(window >> 3) + MIN_DESCRIPTOR_LOG;
        if window_log > MAX_WINDOW_LOG {
            return Err(SegmentError::Header("its window is over 128 MiB"));
        }
        Ok(Self {
            content_size: u64::from_le_bytes(size),
            window_log,
        })
    }
}

/// Bytes as raw blocks, not compressed: they can be found and read without a decoder. The last block is a whole one, so
/// that no header of a block stands near the end.
pub fn raw_blocks(content: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(content.len() + 64);
    let (first, rest) = content.split_at(content.len() % MAX_BLOCK);
    let first = (!first.is_empty()).then_some(first);
    for part in first.into_iter().chain(rest.chunks(MAX_BLOCK)) {
        let [a, b, c, _] = ((part.len() as u32) << 3).to_le_bytes();
        out.extend_from_slice(&[a, b, c]);
        out.extend_from_slice(part);
    }
    out
}

/// The bytes of a row of raw blocks; other blocks are refused.
pub fn raw_content(blocks: &[u8]) -> Result<Vec<u8>, SegmentError> {
    check_blocks(blocks)?;
    let mut out = Vec::with_capacity(blocks.len());
    let mut rest = blocks;
    while let Some((&[a, b, c], body)) = rest.split_first_chunk::<3>() {
        let header = u32::from_le_bytes([a, b, c, 0]);
        let size = (header >> 3) as usize;
        let offset = blocks.len() - rest.len();
        let what = "a block that is not raw";
        let content = body.get(..size).filter(|_| header & 0b110 == 0);
        out.extend_from_slice(content.ok_or(SegmentError::Blocks { offset, what })?);
        rest = body.get(size..).unwrap_or_default();
    }
    Ok(out)
}

/// Walks the block headers: whole blocks, none of them the last. So a decoder that starts or goes on here sees the
/// same blocks as one that reads the file from its beginning.
pub fn check_blocks(blocks: &[u8]) -> Result<(), SegmentError> {
    let mut rest = blocks;
    while !rest.is_empty() {
        let offset = blocks.len() - rest.len();
        let bad = |what| Err(SegmentError::Blocks { offset, what });
        let Some((&[a, b, c], body)) = rest.split_first_chunk::<3>() else {
            return bad("ends inside a block header");
        };
        let header = u32::from_le_bytes([a, b, c, 0]);
        let size = (header >> 3) as usize;
        if header & 1 == 1 {
            return bad("a last block");
        }
        if size > MAX_BLOCK {
            return bad("a block over 128 KiB");
        }
        let stored = match (header >> 1) & 3 {
            0 | 2 => size,
            1 => 1,
            _ => return bad("a block of the reserved type"),
        };
        rest = match body.get(stored..) {
            Some(rest) => rest,
            None => return bad("ends inside a block"),
        };
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_is_read_back_and_others_are_refused() {
        for (content_size, window_log) in [(0, 17), (512, 21), (1 << 40, 27)] {
            let bytes = frame_header(content_size, window_log);
            let read = FrameHeader::parse(&bytes).unwrap();
            assert_eq!(
                (read.content_size, read.window_log),
                (content_size, window_log)
            );
        }
        let good = frame_header(512, 21);
        for (at, value) in [
            (0, 0),
            (3, 0xFE),
            (4, 0xC4),
            (4, 0xA0),
            (5, 0x89),
            (5, 18 << 3),
        ] {
            let mut bad = good;
            bad[at] = value;
            assert!(FrameHeader::parse(&bad).is_err(), "byte {at} = {value}");
        }
    }

    #[test]
    fn raw_blocks_come_back_and_others_are_refused() {
        for len in [0, 1, MAX_BLOCK, MAX_BLOCK + 1, 3 * MAX_BLOCK] {
            let content: Vec<u8> = (0..len).map(|at| at as u8).collect();
            let blocks = raw_blocks(&content);
            assert_eq!(raw_content(&blocks).unwrap(), content);
            let frame = [&frame_header(len as u64, 21)[..], &blocks, &LAST_BLOCK].concat();
            assert!(zstd::decode_all(&frame[..]).unwrap() == content);
        }
        assert!(raw_content(&[(9 << 3) | 2, 0, 0, b'x']).is_err());
    }

    #[test]
    fn walks_whole_blocks_only() {
        let raw = [&[3 << 3, 0, 0][..], b"abc"].concat();
        let run = [(9 << 3) | 2, 0, 0, b'x'];
        assert_eq!(check_blocks(&[]), Ok(()));
        assert_eq!(check_blocks(&[&raw[..], &run, &raw].concat()), Ok(()));
        for bad in [
            &raw[..5],
            &raw[..2],
            &run[..3],
            &LAST_BLOCK,
            &[6, 0, 0],
            &[0, 0, 0x20],
        ] {
            assert!(check_blocks(bad).is_err(), "{bad:?}");
        }
    }
}
