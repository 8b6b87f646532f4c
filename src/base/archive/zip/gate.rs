//! The gate itself: reads the directory, judges each entry by itself, against its local header and against all others,
//! and the layout of the file as a whole.

use super::directory::Entry;
use super::{ArchiveError, ContainerFault, Member, MemberFault, Method, end, local, second};
use crate::base::archive::name::{NameFault, Names, check_path, escaped};
use crate::base::finding::{Finding, Severity};

/// All members and what is worth telling of them.
pub(super) fn read_members(
    archive: &str,
    bytes: &[u8],
    left_out: &dyn Fn(&str) -> bool,
) -> Result<(Vec<Member>, Vec<Finding>), ArchiveError> {
    let refused = |source| ArchiveError::Container {
        archive: archive.to_owned(),
        source,
    };
    let place = end::find(bytes).map_err(refused)?;
    let entries = read_directory(archive, bytes, &place)?;
    let mut members = Vec::with_capacity(entries.len());
    let mut names = Names::new();
    let mut total = 0_u64;
    for entry in &entries {
        let fault = |fault| ArchiveError::member(archive, entry.name, fault);
        let (method, kind) = entry.check().map_err(fault)?;
        let span = local::check(bytes, place.start, entry).map_err(fault)?;
        let name = check_name(entry, kind.is_dir).map_err(|e| fault(e.into()))?;
        total = total
            .checked_add(entry.unpacked)
            .filter(|total| i64::try_from(*total).is_ok())
            .ok_or_else(|| refused(ContainerFault::TooLarge))?;
        members.push(Member {
            name: name.to_owned(),
            method,
            crc32: entry.crc32,
            packed: entry.packed,
            unpacked: entry.unpacked,
            mode: kind.mode,
            is_dir: kind.is_dir,
            start: span.start,
            end: span.end,
        });
    }
    check_layout(archive, bytes, place.start, &entries, &members)?;
    members.retain(|member| !left_out(&member.name));
    for member in &members {
        names
            .add(&member.name, member.is_dir)
            .map_err(|e| ArchiveError::member(archive, member.name.as_bytes(), e.into()))?;
    }
    second::agrees(bytes, &entries).map_err(|e| refused(ContainerFault::SecondReader(e)))?;
    let notes = notes(archive, &place, &members);
    Ok((members, notes))
}

fn read_directory<'a>(
    archive: &str,
    bytes: &'a [u8],
    place: &end::Place,
) -> Result<Vec<Entry<'a>>, ArchiveError> {
    let refused = |source| ArchiveError::Container {
        archive: archive.to_owned(),
        source,
    };
    let mut rest = bytes.get(place.start..place.end).unwrap_or_default();
    let mut entries = Vec::new();
    while !rest.is_empty() {
        let number = entries.len() as u64;
        if number == place.count {
            return Err(refused(ContainerFault::Count(place.count)));
        }
        let entry = Entry::read(rest)
            .ok_or_else(|| refused(ContainerFault::Directory(number)))?
            .map_err(|(name, fault)| ArchiveError::member(archive, name, fault))?;
        rest = rest.get(entry.len..).unwrap_or_default();
        entries.push(entry);
    }
    if entries.len() as u64 != place.count {
        return Err(refused(ContainerFault::Count(place.count)));
    }
    Ok(entries)
}

fn check_name<'a>(entry: &Entry<'a>, is_dir: bool) -> Result<&'a str, NameFault> {
    let name = match entry.name.strip_suffix(b"/") {
        Some(b"") => return Err(NameFault::Absolute),
        Some(name) if is_dir => name,
        _ => entry.name,
    };
    let path = check_path(name)?;
    if !entry.flags.is_utf8() && !path.is_ascii() {
        return Err(NameFault::NotMarkedUtf8);
    }
    Ok(path)
}

/// Members and their descriptors fill the file from its first byte to the directory, each byte belonging to one.
fn check_layout(
    archive: &str,
    bytes: &[u8],
    limit: usize,
    entries: &[Entry<'_>],
    members: &[Member],
) -> Result<(), ArchiveError> {
    let mut order: Vec<(&Entry<'_>, usize)> = entries
        .iter()
        .zip(members)
        .map(|(entry, member)| (entry, member.end))
        .collect();
    order.sort_by_key(|(entry, _)| entry.offset);
    let first = order
        .first()
        .map_or(limit as u64, |(entry, _)| entry.offset);
    if first != 0 {
        return Err(ArchiveError::Container {
            archive: archive.to_owned(),
            source: ContainerFault::Prefix(first),
        });
    }
    for (number, (entry, end)) in order.iter().enumerate() {
        let fault = |fault| ArchiveError::member(archive, entry.name, fault);
        let next = order.get(number + 1).map(|(next, _)| *next);
        let until = next.map_or(Some(limit), |next| usize::try_from(next.offset).ok());
        let between = until.and_then(|until| bytes.get(*end..until));
        match (between, next) {
            (Some(between), _) => local::check_between(between, entry).map_err(fault)?,
            (None, Some(next)) => return Err(fault(MemberFault::Overlap(escaped(next.name)))),
            (None, None) => return Err(fault(MemberFault::TooShort(entry.unpacked))),
        }
    }
    Ok(())
}

fn notes(archive: &str, place: &end::Place, members: &[Member]) -> Vec<Finding> {
    let note = |code: &str, path: &str, message: String| Finding {
        severity: Severity::Note,
        code: code.into(),
        path: path.into(),
        message,
        hint: None,
    };
    let mut notes = Vec::new();
    let zstd: Vec<&Member> = members
        .iter()
        .filter(|m| m.method == Method::Zstd)
        .collect();
    if let Some(first) = zstd.first() {
        let message = format!("{} members are packed with zstd (method 93)", zstd.len());
        notes.push(note("zip-zstd", &first.name, message));
    }
    if place.padding != 0 {
        let message = format!("{} zero bytes follow the end record", place.padding);
        notes.push(note("zip-padding", archive, message));
    }
    if place.comment != 0 {
        let message = format!("the archive has a comment of {} bytes", place.comment);
        notes.push(note("zip-comment", archive, message));
    }
    notes
}
