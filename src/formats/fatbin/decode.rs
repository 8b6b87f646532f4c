//! Unpacks payloads, never past their declared size, and never a size no real entry has.

use super::container::{Item, Packing};

/// The largest real entry unpacks to about 134 MB.
const MAX_UNPACKED: u64 = 512 << 20;

/// Why a payload could not be unpacked.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// Obfuscated payloads are their maker's own affair.
    #[error("fatbin entry at offset {0:#x} is obfuscated")]
    Obfuscated(u64),
    /// The declared size is beyond any real one.
    #[error("fatbin entry at offset {offset:#x} claims {size} bytes")]
    TooLarge {
        /// Where it is.
        offset: u64,
        /// What it claims.
        size: u64,
    },
    /// LZ4.
    #[error("fatbin entry at offset {offset:#x} is no valid LZ4 block")]
    Lz4 {
        /// Where it is.
        offset: u64,
        /// What the decoder said.
        #[source]
        source: lz4_flex::block::DecompressError,
    },
    /// zstd.
    #[error("fatbin entry at offset {offset:#x} is no valid zstd frame")]
    Zstd {
        /// Where it is.
        offset: u64,
        /// What the decoder said.
        #[source]
        source: std::io::Error,
    },
    /// Unpacked to another size than declared.
    #[error("fatbin entry at offset {offset:#x} unpacks to {got} bytes instead of {declared}")]
    Size {
        /// Where it is.
        offset: u64,
        /// Declared bytes.
        declared: u64,
        /// Bytes that came out.
        got: u64,
    },
}

/// The payload of an entry as the device or driver sees it.
///
/// # Errors
/// Says what is wrong with which entry.
pub fn decode(item: &Item<'_>) -> Result<Vec<u8>, DecodeError> {
    let offset = item.offset;
    if item.is_obfuscated() {
        return Err(DecodeError::Obfuscated(offset));
    }
    let size = item.size();
    if size > MAX_UNPACKED {
        return Err(DecodeError::TooLarge { offset, size });
    }
    let out = match item.packing() {
        Packing::Raw => item.payload.to_vec(),
        Packing::Lz4 => lz4_flex::block::decompress(item.payload, size as usize)
            .map_err(|source| DecodeError::Lz4 { offset, source })?,
        Packing::Zstd => zstd::bulk::decompress(item.payload, size as usize)
            .map_err(|source| DecodeError::Zstd { offset, source })?,
    };
    let got = out.len() as u64;
    if got == size {
        Ok(out)
    } else {
        Err(DecodeError::Size {
            offset,
            declared: size,
            got,
        })
    }
}
