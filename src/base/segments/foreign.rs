//! Reads one standard zstd frame of any maker (a zip member packed with method 93) with bounded memory, and says what
//! follows it. Our own segments are read by [`super::decode_segment`] instead.

use std::io::{self, Read};

use zstd::stream::raw::{DParameter, Decoder, Operation};

use super::MAX_WINDOW_LOG;

/// Unpacks a single frame from a byte string.
pub struct FrameReader<'a> {
    decoder: Decoder<'static>,
    input: &'a [u8],
    ended: bool,
}

impl<'a> FrameReader<'a> {
    /// Begins at the first byte of `packed`; a window over 2^27 is refused when the frame's header is read.
    ///
    /// # Errors
    /// No memory for a decoder.
    pub fn new(packed: &'a [u8]) -> io::Result<Self> {
        let mut decoder = Decoder::new()?;
        decoder.set_parameter(DParameter::WindowLogMax(MAX_WINDOW_LOG))?;
        Ok(Self {
            decoder,
            input: packed,
            ended: false,
        })
    }

    /// Bytes behind the frame; meaningful once `read` gave 0.
    pub fn unused(&self) -> usize {
        self.input.len()
    }
}

impl Read for FrameReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while !self.ended {
            let status = self.decoder.run_on_buffers(self.input, buffer)?;
            self.input = self.input.get(status.bytes_read..).unwrap_or_default();
            self.ended = status.remaining == 0;
            if status.bytes_written != 0 {
                return Ok(status.bytes_written);
            }
            if !self.ended && status.bytes_read == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_one_frame_and_leaves_what_follows() {
        let text = b"to be packed, to be packed, to be packed".repeat(1000);
        let mut packed = zstd::bulk::compress(&text, 3).unwrap();
        packed.extend_from_slice(b"rest");
        let mut frame = FrameReader::new(&packed).unwrap();
        let mut out = Vec::new();
        frame.read_to_end(&mut out).unwrap();
        assert!(out == text);
        assert_eq!(frame.unused(), 4);

        packed.truncate(packed.len() - 5);
        let cut = FrameReader::new(&packed).unwrap().read_to_end(&mut out);
        assert_eq!(cut.unwrap_err().kind(), io::ErrorKind::UnexpectedEof);
    }
}
