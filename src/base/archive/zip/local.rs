//! Cross-checks a directory entry against its local header and, where there is one, its data descriptor, so that a reader
//! that goes by the directory and one that reads front to back see the same. Follows APPNOTE 4.3.7 and 4.3.9.

use memchr::memmem;

use super::MemberFault;
use super::directory::{Cursor, Entry, Extra};
use super::fields::{bytes_at, u16_at, u32_at};
use crate::base::archive::name::escaped;

const SIGNATURE: &[u8] = b"PK\x03\x04";
const FIXED: usize = 30;
const DESCRIPTOR: &[u8] = b"PK\x07\x08";

/// Where a member's packed bytes lie in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Span {
    pub start: usize,
    pub end: usize,
}

/// Checks the local header; the span ends before the directory.
pub(super) fn check(bytes: &[u8], limit: usize, entry: &Entry<'_>) -> Result<Span, MemberFault> {
    let missing = || MemberFault::NoLocalHeader(entry.offset);
    let at = usize::try_from(entry.offset).map_err(|_| missing())?;
    let members = bytes.get(..limit).ok_or_else(missing)?;
    let fixed = bytes_at(members, at, FIXED)
        .filter(|b| b.starts_with(SIGNATURE))
        .ok_or_else(missing)?;
    let field = |at| u16_at(fixed, at).ok_or_else(missing);
    let wide = |at| u32_at(fixed, at).ok_or_else(missing);

    let (name_len, extra_len) = (usize::from(field(26)?), usize::from(field(28)?));
    let name = bytes_at(members, at + FIXED, name_len).ok_or_else(missing)?;
    if name != entry.name {
        return Err(MemberFault::LocalDiffers {
            field: "name",
            local: escaped(name),
            central: escaped(entry.name),
        });
    }
    same("method", field(8)?.into(), entry.method.into())?;
    same("flags", field(6)?.into(), entry.flags.0.into())?;
    let extra = bytes_at(members, at + FIXED + name_len, extra_len).ok_or_else(missing)?;
    let (crc32, packed, unpacked) = (wide(14)?, wide(18)?, wide(22)?);
    let (packed, unpacked) = widen(&Extra::read(extra, name)?, packed, unpacked, entry)?;
    let known = [
        ("CRC-32", u64::from(crc32), u64::from(entry.crc32)),
        ("packed size", packed, entry.packed),
        ("unpacked size", unpacked, entry.unpacked),
    ];
    let later = entry.flags.has_descriptor();
    for (field, local, central) in known {
        if !(later && local == 0) {
            same(field, local, central)?;
        }
    }

    let start = at + FIXED + name_len + extra_len;
    let end = usize::try_from(entry.packed)
        .ok()
        .and_then(|packed| start.checked_add(packed))
        .filter(|end| *end <= limit)
        .ok_or(MemberFault::TooShort(entry.unpacked))?;
    // A front-to-back reader finds the end of a stored member by the size alone, or by searching for the descriptor.
    if later && entry.method == 0 && packed == 0 && entry.packed != 0 {
        let data = bytes.get(start..end).unwrap_or_default();
        if memmem::find(data, DESCRIPTOR).is_some() {
            return Err(MemberFault::HiddenDescriptor);
        }
    }
    Ok(Span { start, end })
}

/// The zip64 field of a local header holds both sizes; some writers keep true 32-bit sizes beside it.
fn widen(
    extra: &Extra<'_>,
    packed: u32,
    unpacked: u32,
    entry: &Entry<'_>,
) -> Result<(u64, u64), MemberFault> {
    let see_there = [packed, unpacked].map(|size| size == u32::MAX);
    let Some(zip64) = extra.zip64 else {
        if see_there != [false, false] {
            return Err(Extra::ZIP64_SHORT);
        }
        return Ok((packed.into(), unpacked.into()));
    };
    let mut zip64 = Cursor(zip64);
    let mut take = || zip64.next_u64().ok_or(Extra::ZIP64_SHORT);
    let (unpacked64, packed64) = (take()?, take()?);
    let later = entry.flags.has_descriptor();
    for (field, small, large, central) in [
        ("unpacked size", unpacked, unpacked64, entry.unpacked),
        ("packed size", packed, packed64, entry.packed),
    ] {
        let small = u64::from(small);
        if small != u64::from(u32::MAX) && !(later && small == 0) {
            same(field, small, central)?;
        }
        if !(later && large == 0) {
            same(field, large, central)?;
        }
    }
    Ok((packed64, unpacked64))
}

fn same(field: &'static str, local: u64, central: u64) -> Result<(), MemberFault> {
    if local == central {
        return Ok(());
    }
    let text = |value: u64| match field {
        "CRC-32" => format!("{value:08x}"),
        "flags" => format!("{value:#06x}"),
        _ => value.to_string(),
    };
    Err(MemberFault::LocalDiffers {
        field,
        local: text(local),
        central: text(central),
    })
}

/// Judges the bytes between a member's packed bytes and the next member: the descriptor, in one of its four forms
/// (with and without signature, 32 and 64 bit), or nothing.
pub(super) fn check_between(between: &[u8], entry: &Entry<'_>) -> Result<(), MemberFault> {
    if !entry.flags.has_descriptor() {
        return match between.len() {
            0 => Ok(()),
            gap => Err(MemberFault::Gap(gap as u64)),
        };
    }
    let narrow = |size: u64| u32::try_from(size).ok().map(u32::to_le_bytes);
    let crc32 = entry.crc32.to_le_bytes();
    let long = [
        &crc32[..],
        &entry.packed.to_le_bytes(),
        &entry.unpacked.to_le_bytes(),
    ]
    .concat();
    let short = match (narrow(entry.packed), narrow(entry.unpacked)) {
        (Some(packed), Some(unpacked)) => Some([crc32, packed, unpacked].concat()),
        _ => None,
    };
    for form in [Some(long), short].into_iter().flatten() {
        if between == form || between.strip_prefix(DESCRIPTOR) == Some(&form) {
            return Ok(());
        }
        let with_signature = between.strip_prefix(DESCRIPTOR).unwrap_or(between);
        if let Some(rest) = with_signature.strip_prefix(form.as_slice()) {
            return Err(MemberFault::Gap(rest.len() as u64));
        }
    }
    Err(MemberFault::Descriptor)
}
