//! The records at a zip archive's end: finds the directory, in the one place where every reader finds it.
//! Rules: the directory ends where the end record (or the zip64 end record) begins; behind the end record stand its comment
//! and then at most zero bytes; no second record could pass for the end. Follows APPNOTE 4.3.14 to 4.3.16.

use memchr::memmem;

use super::fields::{bytes_at, u16_at, u32_at, u64_at};
use super::{ContainerFault, MAX_DIRECTORY, MAX_MEMBERS};

const END: &[u8] = b"PK\x05\x06";
const END_SIZE: usize = 22;
const LOCATOR: &[u8] = b"PK\x06\x07";
const LOCATOR_SIZE: usize = 20;
const END64: &[u8] = b"PK\x06\x06";
const END64_SIZE: u64 = 56;

/// Where the directory lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    pub start: usize,
    pub end: usize,
    pub count: u64,
    /// Bytes of the archive comment.
    pub comment: usize,
    /// Zero bytes behind the end.
    pub padding: usize,
}

struct End {
    disk: u64,
    directory_disk: u64,
    count_here: u64,
    count: u64,
    size: u64,
    start: u64,
}

pub(super) fn find(bytes: &[u8]) -> Result<Place, ContainerFault> {
    let window = bytes.len().saturating_sub(END_SIZE + usize::from(u16::MAX));
    let tail = bytes.get(window..).unwrap_or_default();
    let at = window + memmem::rfind(tail, END).ok_or(ContainerFault::NoEnd)?;
    let record = bytes_at(bytes, at, END_SIZE).ok_or(ContainerFault::NoEnd)?;
    let comment = usize::from(u16_at(record, 20).unwrap_or_default());
    let rest = bytes
        .get(at + END_SIZE + comment..)
        .ok_or(ContainerFault::CommentCut)?;
    if let Some(last) = rest.iter().rposition(|byte| *byte != 0) {
        return Err(ContainerFault::Trailing(last as u64 + 1));
    }
    refuse_second_end(tail, at - window, rest.len())?;

    let end = small_end(record).ok_or(ContainerFault::NoEnd)?;
    let (end, limit) = match at.checked_sub(LOCATOR_SIZE) {
        Some(locator) if bytes_at(bytes, locator, 4) == Some(LOCATOR) => {
            large_end(bytes, locator, &end)?
        }
        _ => (end, at),
    };
    if end.disk != 0 || end.directory_disk != 0 || end.count_here != end.count {
        return Err(ContainerFault::Split);
    }
    if end.start.checked_add(end.size) != Some(limit as u64) {
        return Err(ContainerFault::DirectoryPlace);
    }
    if end.count > MAX_MEMBERS {
        return Err(ContainerFault::TooMany(end.count));
    }
    if end.size > MAX_DIRECTORY {
        return Err(ContainerFault::DirectoryTooLarge(end.size));
    }
    Ok(Place {
        start: usize::try_from(end.start).map_err(|_| ContainerFault::DirectoryPlace)?,
        end: limit,
        count: end.count,
        comment,
        padding: rest.len(),
    })
}

/// Another end record whose comment would fill the file to its end is what other readers might choose.
fn refuse_second_end(tail: &[u8], chosen: usize, padding: usize) -> Result<(), ContainerFault> {
    for other in memmem::find_iter(tail, END).filter(|at| *at != chosen) {
        let Some(comment) = u16_at(tail, other + 20) else {
            continue;
        };
        let end = other + END_SIZE + usize::from(comment);
        if end == tail.len() || end + padding == tail.len() {
            return Err(ContainerFault::TwoEnds);
        }
    }
    Ok(())
}

fn small_end(record: &[u8]) -> Option<End> {
    Some(End {
        disk: u16_at(record, 4)?.into(),
        directory_disk: u16_at(record, 6)?.into(),
        count_here: u16_at(record, 8)?.into(),
        count: u16_at(record, 10)?.into(),
        size: u32_at(record, 12)?.into(),
        start: u32_at(record, 16)?.into(),
    })
}

/// Reads the zip64 records; the 32-bit record must say the same or "see there" in each field.
fn large_end(bytes: &[u8], locator: usize, small: &End) -> Result<(End, usize), ContainerFault> {
    let fault = ContainerFault::Zip64;
    let cut = || fault("it is cut off");
    if u32_at(bytes, locator + 4) != Some(0) || u32_at(bytes, locator + 16).is_none_or(|n| n > 1) {
        return Err(ContainerFault::Split);
    }
    let at = u64_at(bytes, locator + 8).ok_or_else(cut)?;
    if at.checked_add(END64_SIZE) != Some(locator as u64) {
        return Err(fault("it does not stand right before its locator"));
    }
    let at = usize::try_from(at).map_err(|_| cut())?;
    if bytes_at(bytes, at, 4) != Some(END64) || u64_at(bytes, at + 4) != Some(END64_SIZE - 12) {
        return Err(fault("no record of the plain kind stands there"));
    }
    let read = || {
        Some(End {
            disk: u32_at(bytes, at + 16)?.into(),
            directory_disk: u32_at(bytes, at + 20)?.into(),
            count_here: u64_at(bytes, at + 24)?,
            count: u64_at(bytes, at + 32)?,
            size: u64_at(bytes, at + 40)?,
            start: u64_at(bytes, at + 48)?,
        })
    };
    let large = read().ok_or_else(cut)?;
    let (short, long) = (u64::from(u16::MAX), u64::from(u32::MAX));
    for (small, large, see_there) in [
        (small.disk, large.disk, short),
        (small.directory_disk, large.directory_disk, short),
        (small.count_here, large.count_here, short),
        (small.count, large.count, short),
        (small.size, large.size, long),
        (small.start, large.start, long),
    ] {
        if small != large && small != see_there {
            return Err(fault("the plain end record says something else"));
        }
    }
    Ok((large, at))
}
