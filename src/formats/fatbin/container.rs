//! One container: a header of 16 bytes, then entries, each a header of at least 64 bytes and a payload. All numbers are
//! little-endian. Every step is checked against the bytes there are.

use super::shape::Suffix;

/// Magic number of a container.
pub(super) const MAGIC: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
const HEADER: usize = 16;
/// The smallest entry header.
const ENTRY: usize = 64;
/// The largest architecture number that makes sense.
const MAX_ARCH: u32 = 999;

const FLAG_LZ4: u64 = 1 << 13;
const FLAG_ZSTD: u64 = 1 << 15;
const FLAG_OBFUSCATED: u64 = 1 << 16;
const FLAG_A: u64 = 1 << 20;
const FLAG_F: u64 = 1 << 21;

/// Why bytes are no container.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FatbinError {
    /// No magic number.
    #[error("no fatbin container at offset {offset:#x}")]
    NoContainer {
        /// Where one was expected.
        offset: u64,
    },
    /// Something makes no sense.
    #[error("fatbin {what} at offset {offset:#x} {why}")]
    Bad {
        /// What was looked at.
        what: &'static str,
        /// Where it is.
        offset: u64,
        /// What is wrong.
        why: &'static str,
    },
}

/// How a payload is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    /// As it is.
    Raw,
    /// One LZ4 block without a frame.
    Lz4,
    /// One zstd frame.
    Zstd,
}

/// One entry of a container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Item<'a> {
    /// 1 PTX, 2 SASS, 8 LTO IR.
    pub kind: u16,
    /// Architecture number.
    pub arch: u32,
    /// Major version: of PTX, the instruction set's.
    pub major: u16,
    /// Minor version.
    pub minor: u16,
    /// Flags.
    pub flags: u64,
    /// Size once unpacked; 0 for a raw payload.
    pub unpacked: u64,
    /// Bytes of the payload that count (without padding).
    pub payload: &'a [u8],
    /// Offset of the entry header in the file.
    pub offset: u64,
}

impl Item<'_> {
    /// The suffix of its architecture.
    pub fn suffix(&self) -> Suffix {
        if self.flags & FLAG_A != 0 {
            Suffix::A
        } else if self.flags & FLAG_F != 0 {
            Suffix::F
        } else {
            Suffix::Plain
        }
    }

    /// True where only the maker's own libraries can read the payload.
    pub fn is_obfuscated(&self) -> bool {
        self.flags & FLAG_OBFUSCATED != 0
    }

    /// How the payload is stored; flags say so, not the kind.
    pub fn packing(&self) -> Packing {
        if self.flags & FLAG_ZSTD != 0 {
            Packing::Zstd
        } else if self.flags & FLAG_LZ4 != 0 {
            Packing::Lz4
        } else {
            Packing::Raw
        }
    }

    /// Bytes it has once unpacked.
    pub fn size(&self) -> u64 {
        match self.packing() {
            Packing::Raw => self.payload.len() as u64,
            _ => self.unpacked,
        }
    }
}

/// A container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Container<'a> {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes from header to end.
    pub size: usize,
    /// Its entries, in order.
    pub items: Vec<Item<'a>>,
}

impl<'a> Container<'a> {
    /// Reads the container at the beginning of `bytes`, which lie at `offset` of the file.
    ///
    /// # Errors
    /// Says what is wrong at which offset.
    pub fn read(bytes: &'a [u8], offset: u64) -> Result<Self, FatbinError> {
        let bad = |why| FatbinError::Bad {
            what: "container",
            offset,
            why,
        };
        if bytes.get(..4) != Some(&MAGIC) {
            return Err(FatbinError::NoContainer { offset });
        }
        let header = Fields(bytes);
        let (Some(version), Some(header_size), Some(size)) =
            (header.u16(4), header.u16(6), header.u64(8))
        else {
            return Err(bad("is cut short"));
        };
        if version != 1 || usize::from(header_size) != HEADER {
            return Err(bad("has an unknown version"));
        }
        let size = usize::try_from(size)
            .ok()
            .and_then(|s| s.checked_add(HEADER));
        let size = size
            .filter(|s| *s <= bytes.len())
            .ok_or_else(|| bad("is larger than what holds it"))?;
        let body = bytes.get(..size).unwrap_or_default();
        let mut items = Vec::new();
        let mut at = HEADER;
        while at < size {
            let (item, next) = item(body, at, offset)?;
            items.push(item);
            at = next;
        }
        Ok(Self {
            offset,
            size,
            items,
        })
    }
}

/// Reads the entry at `at`; also gives where the next one begins.
fn item(body: &[u8], at: usize, base: u64) -> Result<(Item<'_>, usize), FatbinError> {
    let offset = base.saturating_add(at as u64);
    let bad = |why| FatbinError::Bad {
        what: "entry",
        offset,
        why,
    };
    let rest = body.get(at..).unwrap_or_default();
    let head = Fields(rest.get(..ENTRY).ok_or_else(|| bad("is cut short"))?);
    let field = |value: Option<u64>| value.ok_or_else(|| bad("is cut short"));
    let small = |value: Option<u32>| field(value.map(u64::from));
    let header = small(head.u32(4))? as usize;
    let stored = field(head.u64(8))?;
    let packed = small(head.u32(16))?;
    let arch = small(head.u32(0x1C))? as u32;
    if header < ENTRY || header > rest.len() {
        return Err(bad("has a header of an impossible size"));
    }
    if arch == 0 || arch > MAX_ARCH {
        return Err(bad("is for an architecture that cannot be"));
    }
    let next = usize::try_from(stored)
        .ok()
        .and_then(|s| header.checked_add(s))
        .filter(|n| *n <= rest.len())
        .ok_or_else(|| bad("is larger than its container"))?;
    let kept = if packed == 0 {
        stored
    } else {
        packed.min(stored)
    };
    let payload = rest.get(header..next).unwrap_or_default();
    let payload = payload.get(..kept as usize).unwrap_or(payload);
    let item = Item {
        kind: head.u16(0).unwrap_or(0),
        arch,
        major: head.u16(0x1A).unwrap_or(0),
        minor: head.u16(0x18).unwrap_or(0),
        flags: field(head.u64(0x28))?,
        unpacked: field(head.u64(0x38))?,
        payload,
        offset,
    };
    Ok((item, at.saturating_add(next)))
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn array<const N: usize>(&self, at: usize) -> Option<[u8; N]> {
        self.0.get(at..at.checked_add(N)?)?.try_into().ok()
    }

    fn u16(&self, at: usize) -> Option<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn u64(&self, at: usize) -> Option<u64> {
        self.array(at).map(u64::from_le_bytes)
    }
}
