//! Segments: rows of zstd blocks compressed without history, so that they can stand anywhere in a frame.
//!
//! tar bytes → blocks without frame header and last block, and back. A file made of [`frame_header`], the blocks of
//! any segments, and [`LAST_BLOCK`] is one standard zstd frame (RFC 8878); so is each segment alone between the two.
//! Same bytes, same [`Encoding`], same libzstd: same blocks, on any thread.

mod foreign;
mod frame;
mod libzstd;

use std::cell::RefCell;
use std::io::Read;

use serde::{Deserialize, Serialize};

pub use foreign::FrameReader;
pub use frame::{
    FRAME_HEADER_SIZE, FrameHeader, LAST_BLOCK, check_blocks, frame_header, raw_blocks, raw_content,
};
use libzstd::{Context, RepeatOffsets};

/// No segment holds more bytes of tar than this, so a reader knows how much memory it needs at most.
pub const MAX_SEGMENT_SIZE: u64 = 64 << 20;

/// The largest window stock decoders accept without being asked.
pub const MAX_WINDOW_LOG: u32 = 27;

/// Below this, blocks would be smaller than zstd's usual 128 KiB.
const MIN_WINDOW_LOG: u32 = 17;

/// How tar bytes become segments. Part of every component's key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Encoding {
    /// zstd compression level, 1 to 19.
    pub level: i32,
    /// Base-2 logarithm of the window, 17 to 27.
    pub window_log: u32,
    /// Bytes of tar after which a segment is cut.
    pub segment_size: u64,
}

impl Default for Encoding {
    /// Level 3, and the largest window every decoder must take (RFC 8878, 3.1.1.1.2): 8 MiB. On 893 MB of wheels
    /// (pyarrow, opencv, spconv, nvjitlink, llvmlite) 16 MiB segments take 246.9 MB with 2 MiB, 243.4 with 8 MiB
    /// and 242.3 with 16 MiB; the frames of `pzstd -3` take 247.6.
    fn default() -> Self {
        Self {
            level: 3,
            window_log: 23,
            segment_size: 16 << 20,
        }
    }
}

impl Encoding {
    /// Refuses what stock decoders or our own reader could not read back.
    pub fn check(&self) -> Result<(), SegmentError> {
        if !(1..=19).contains(&self.level) {
            return Err(SegmentError::Level(self.level));
        }
        if !(MIN_WINDOW_LOG..=MAX_WINDOW_LOG).contains(&self.window_log) {
            return Err(SegmentError::WindowLog(self.window_log));
        }
        let size = self.segment_size;
        if !(512..=MAX_SEGMENT_SIZE).contains(&size) || !size.is_multiple_of(512) {
            return Err(SegmentError::SegmentSize(size));
        }
        Ok(())
    }
}

/// The version of the linked libzstd. Other versions may make other blocks.
pub fn libzstd_version() -> &'static str {
    libzstd::version()
}

/// XXH3-64 of a segment's blocks.
pub fn xxh3(blocks: &[u8]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(blocks)
}

/// XXH3-64 of blocks as they pass.
#[derive(Default)]
pub struct Xxh3(xxhash_rust::xxh3::Xxh3Default);

impl Xxh3 {
    /// Takes in the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The checksum of everything taken in.
    pub fn finish(&self) -> u64 {
        self.0.digest()
    }
}

/// Why a segment cannot be made or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SegmentError {
    /// Level out of range.
    #[error("compression level {0} is not in 1 to 19")]
    Level(i32),
    /// Window out of range.
    #[error("window log {0} is not in 17 to 27")]
    WindowLog(u32),
    /// Segment size out of range.
    #[error("segment size {0} is not a multiple of 512 up to 64 MiB")]
    SegmentSize(u64),
    /// libzstd refused.
    #[error("libzstd could not compress {size} bytes: {name}")]
    Encode {
        /// Bytes that were to be compressed.
        size: usize,
        /// libzstd's name of the error.
        name: &'static str,
    },
    /// Not a frame of ours.
    #[error("{0}")]
    Header(&'static str),
    /// A row of bytes that are not blocks of a segment.
    #[error("segment is damaged at byte {offset}: {what}")]
    Blocks {
        /// Offset in the segment.
        offset: usize,
        /// What was found.
        what: &'static str,
    },
    /// A segment that claims to be larger than any may be.
    #[error("segment claims {0} bytes, more than 64 MiB")]
    TooLarge(u64),
    /// The blocks do not decode.
    #[error("segment does not decode: {0}")]
    Decode(String),
    /// The blocks decode to another number of bytes.
    #[error("segment decodes to {found} bytes, expected {expected}")]
    Size {
        /// As the segment table says.
        expected: u64,
        /// As decoded.
        found: u64,
    },
}

/// Makes segments of one encoding. Not shared between threads; see [`encode`] for one per thread.
pub struct BlockEncoder {
    encoding: Encoding,
    context: Context,
}

impl BlockEncoder {
    /// An encoder; refuses an encoding out of range.
    pub fn new(encoding: &Encoding) -> Result<Self, SegmentError> {
        encoding.check()?;
        let context = Context::new(encoding.level, encoding.window_log).ok_or({
            SegmentError::Encode {
                size: 0,
                name: "out of memory",
            }
        })?;
        Ok(Self {
            encoding: *encoding,
            context,
        })
    }

    /// Appends the blocks of `tar`, at most [`MAX_SEGMENT_SIZE`] bytes, to `out`; returns how many bytes that were.
    pub fn encode(&mut self, tar: &[u8], out: &mut Vec<u8>) -> Result<u64, SegmentError> {
        self.encode_with(tar, RepeatOffsets::Invalid, out)
    }

    fn encode_with(
        &mut self,
        tar: &[u8],
        offsets: RepeatOffsets,
        out: &mut Vec<u8>,
    ) -> Result<u64, SegmentError> {
        if tar.len() as u64 > MAX_SEGMENT_SIZE {
            return Err(SegmentError::TooLarge(tar.len() as u64));
        }
        let before = out.len();
        self.context
            .blocks(tar, offsets, out)
            .map_err(|name| SegmentError::Encode {
                size: tar.len(),
                name,
            })?;
        Ok((out.len() - before) as u64)
    }
}

/// Appends the blocks of `tar` to `out` with this thread's own encoder, which is kept for the next call.
pub fn encode(encoding: &Encoding, tar: &[u8], out: &mut Vec<u8>) -> Result<u64, SegmentError> {
    thread_local! {
        static ENCODER: RefCell<Option<BlockEncoder>> = const { RefCell::new(None) };
    }
    ENCODER.with_borrow_mut(|kept| {
        let encoder = match kept {
            Some(encoder) if encoder.encoding == *encoding => encoder,
            _ => kept.insert(BlockEncoder::new(encoding)?),
        };
        encoder.encode(tar, out)
    })
}

/// Decodes one segment alone: blocks between a made-up frame header and an empty last block. `out` is replaced by
/// exactly `unpacked` bytes; whatever the blocks claim, no more memory than that is used.
pub fn decode_segment(blocks: &[u8], unpacked: u64, out: &mut Vec<u8>) -> Result<(), SegmentError> {
    out.clear();
    if unpacked > MAX_SEGMENT_SIZE {
        return Err(SegmentError::TooLarge(unpacked));
    }
    check_blocks(blocks)?;
    let size = usize::try_from(unpacked).map_err(|_| SegmentError::TooLarge(unpacked))?;
    let mut frame = Vec::with_capacity(FRAME_HEADER_SIZE + blocks.len() + LAST_BLOCK.len());
    frame.extend_from_slice(&frame_header(unpacked, MAX_WINDOW_LOG));
    frame.extend_from_slice(blocks);
    frame.extend_from_slice(&LAST_BLOCK);
    out.reserve_exact(size);
    thread_local! {
        static DECODER: RefCell<zstd::bulk::Decompressor<'static>> = RefCell::default();
    }
    let found = DECODER
        .with_borrow_mut(|decoder| decoder.decompress_to_buffer(&frame, out))
        .map_err(|e| SegmentError::Decode(e.to_string()))?;
    if found as u64 == unpacked {
        Ok(())
    } else {
        Err(SegmentError::Size {
            expected: unpacked,
            found: found as u64,
        })
    }
}

/// Reads a whole bundle's frame front to back, as any zstd decoder does; a frame cut short is an error.
pub fn decode_stream<R: Read>(packed: R) -> std::io::Result<impl Read> {
    let mut decoder = zstd::stream::read::Decoder::new(packed)?;
    decoder.window_log_max(MAX_WINDOW_LOG)?;
    Ok(decoder)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text with repeats, different for each seed.
    fn tar(seed: u64, size: usize) -> Vec<u8> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut out = Vec::with_capacity(size + 64);
        while out.len() < size {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            let word = (state >> 40) % 300;
            out.extend_from_slice(format!("line {word} of {seed}: {}\n", word * word).as_bytes());
        }
        out.truncate(size);
        out
    }

    fn frame_of(segments: &[Vec<u8>], size: usize, window_log: u32) -> Vec<u8> {
        let mut frame = frame_header(size as u64, window_log).to_vec();
        frame.extend(segments.iter().flatten());
        frame.extend_from_slice(&LAST_BLOCK);
        frame
    }

    /// Bytes whose first sequence repeats at offset 1, 4 or 8: what an encoder with a fresh frame's repeat offsets
    /// writes as "the first repeat offset".
    fn repeating(period: usize) -> Vec<u8> {
        (0..4096)
            .map(|i| [b'a', b'b', b'c', b'd', b'e', b'f', b'g', b'h'][i % period])
            .collect()
    }

    fn segments(tars: &[Vec<u8>], encoding: &Encoding, offsets: RepeatOffsets) -> Vec<Vec<u8>> {
        let mut encoder = BlockEncoder::new(encoding).unwrap();
        let one = |tar: &Vec<u8>| {
            let mut out = Vec::new();
            encoder.encode_with(tar, offsets, &mut out).unwrap();
            out
        };
        tars.iter().map(one).collect()
    }

    #[test]
    fn segments_in_any_order_are_one_frame_and_each_decodes_alone() {
        let tars: Vec<_> = (1..6).map(|i| tar(i, 70_000 * i as usize)).collect();
        for level in [1, 3, 9, 19] {
            let encoding = Encoding {
                level,
                ..Encoding::default()
            };
            let made = segments(&tars, &encoding, RepeatOffsets::Invalid);
            for order in [[0, 1, 2, 3, 4], [4, 2, 0, 3, 1], [1, 1, 1, 1, 1]] {
                let plain: Vec<u8> = order.iter().flat_map(|i| tars[*i].clone()).collect();
                let picked: Vec<_> = order.iter().map(|i| made[*i].clone()).collect();
                let frame = frame_of(&picked, plain.len(), encoding.window_log);
                assert_eq!(
                    zstd::decode_all(&frame[..]).unwrap(),
                    plain,
                    "level {level}"
                );
            }
            for (tar, blocks) in tars.iter().zip(&made) {
                let mut out = Vec::new();
                decode_segment(blocks, tar.len() as u64, &mut out).unwrap();
                assert!(out == *tar);
            }
        }
    }

    #[test]
    fn control_with_repeat_offsets_of_a_fresh_frame_decodes_to_wrong_bytes() {
        let tars: Vec<_> = (0..4)
            .flat_map(|i| [tar(i + 1, 5000), repeating(1), repeating(4), repeating(8)])
            .collect();
        let plain: Vec<u8> = tars.concat();
        let encoding = Encoding::default();
        let wrong = segments(&tars, &encoding, RepeatOffsets::OfFreshFrame);
        let frame = frame_of(&wrong, plain.len(), encoding.window_log);
        assert!(!zstd::decode_all(&frame[..]).is_ok_and(|got| got == plain));
        let right = segments(&tars, &encoding, RepeatOffsets::Invalid);
        let frame = frame_of(&right, plain.len(), encoding.window_log);
        assert!(zstd::decode_all(&frame[..]).unwrap() == plain);
    }

    #[test]
    fn same_bytes_give_same_blocks_from_new_kept_and_other_threads_encoders() {
        let (encoding, tar) = (Encoding::default(), tar(7, 300_000));
        let first = segments(
            std::slice::from_ref(&tar),
            &encoding,
            RepeatOffsets::Invalid,
        );
        let other = |bytes: &[u8]| {
            let mut out = Vec::new();
            encode(&encoding, bytes, &mut out).unwrap();
            out
        };
        other(&[1; 100_000]);
        assert_eq!(other(&tar), first[0]);
        let elsewhere = std::thread::scope(|s| s.spawn(|| other(&tar)).join().unwrap());
        assert_eq!(elsewhere, first[0]);
    }

    #[test]
    fn refuses_damaged_and_mislabelled_segments() {
        let tar = tar(3, 200_000);
        let blocks = segments(
            std::slice::from_ref(&tar),
            &Encoding::default(),
            RepeatOffsets::Invalid,
        )
        .remove(0);
        let mut out = Vec::new();
        for size in [0, 199_999, 200_001, MAX_SEGMENT_SIZE, MAX_SEGMENT_SIZE + 1] {
            assert!(decode_segment(&blocks, size, &mut out).is_err(), "{size}");
        }
        for cut in (0..blocks.len()).step_by(97) {
            assert!(
                decode_segment(&blocks[..cut], 200_000, &mut out).is_err(),
                "{cut}"
            );
        }
        let mut ended = blocks.clone();
        ended[0] |= 1;
        assert!(decode_segment(&ended, 200_000, &mut out).is_err());
    }

    #[test]
    fn refuses_encodings_no_reader_takes() {
        let fine = Encoding::default();
        assert_eq!(fine.check(), Ok(()));
        for bad in [
            Encoding { level: 0, ..fine },
            Encoding { level: 22, ..fine },
            Encoding {
                window_log: 28,
                ..fine
            },
            Encoding {
                window_log: 10,
                ..fine
            },
            Encoding {
                segment_size: 0,
                ..fine
            },
            Encoding {
                segment_size: 1000,
                ..fine
            },
            Encoding {
                segment_size: MAX_SEGMENT_SIZE + 512,
                ..fine
            },
        ] {
            assert!(BlockEncoder::new(&bad).is_err(), "{bad:?}");
        }
    }
}
