//! Little-endian numbers and slices of a byte string; `None` where it is too short.

pub(super) fn bytes_at(bytes: &[u8], at: usize, len: usize) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(len)?)
}

pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    let found = bytes_at(bytes, at, 2)?.try_into().ok()?;
    Some(u16::from_le_bytes(found))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    let found = bytes_at(bytes, at, 4)?.try_into().ok()?;
    Some(u32::from_le_bytes(found))
}

pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    let found = bytes_at(bytes, at, 8)?.try_into().ok()?;
    Some(u64::from_le_bytes(found))
}
