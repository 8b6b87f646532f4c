//! Zip archives behind a strict gate: `Zip::open` accepts an archive only if every reader sees the same members in it,
//! with safe names, known packing and sizes that hold. Then any number of threads may read members at once.
//! Members are those of the directory; local headers, descriptors and the layout of the file are checked against it,
//! and the `zip` crate, as a second reader, must find the same list. Nothing is unpacked here.

mod directory;
mod end;
mod fault;
mod fields;
mod inflate;
mod local;
mod reader;
mod second;

use std::path::Path;

pub use fault::{ArchiveError, ContainerFault, MemberFault};
pub use reader::MemberReader;

use directory::Entry;

use super::name::{NameFault, Names, check_path, escaped};
use crate::base::finding::{Finding, Severity};
use crate::base::fs;

/// Most members of one archive.
pub const MAX_MEMBERS: u64 = 500_000;
/// Most bytes of one archive's directory.
pub const MAX_DIRECTORY: u64 = 256 << 20;

/// How a member is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// Not at all.
    Stored,
    /// DEFLATE.
    Deflate,
    /// One zstd frame.
    Zstd,
}

impl Method {
    fn read(number: u16) -> Result<Self, MemberFault> {
        match number {
            0 => Ok(Self::Stored),
            8 => Ok(Self::Deflate),
            93 => Ok(Self::Zstd),
            other => Err(MemberFault::Method(other)),
        }
    }
}

/// A file or folder of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Checked relative path, without the slash at a folder's end.
    pub name: String,
    /// How it is packed.
    pub method: Method,
    /// Checksum of the unpacked bytes.
    pub crc32: u32,
    /// Bytes in the archive.
    pub packed: u64,
    /// Bytes when unpacked; a reader gives exactly these or an error.
    pub unpacked: u64,
    /// Permission bits (0o777 at most), where the archive was made on a Unix.
    pub mode: Option<u32>,
    /// A folder: no bytes.
    pub is_dir: bool,
    start: usize,
    end: usize,
}

/// A zip archive that passed the gate.
pub struct Zip {
    name: String,
    bytes: Bytes,
    members: Vec<Member>,
    notes: Vec<Finding>,
}

enum Bytes {
    Mapped(fs::Mmap),
    Held(Vec<u8>),
}

impl Bytes {
    fn get(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Held(bytes) => bytes,
        }
    }
}

impl std::fmt::Debug for Zip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Zip")
            .field("name", &self.name)
            .field("members", &self.members.len())
            .finish_non_exhaustive()
    }
}

impl Zip {
    /// Opens an archive on disk; it is mapped, so nobody may cut the file while this value lives.
    ///
    /// # Errors
    /// A file that cannot be read, and every archive the gate refuses.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        Self::open_without(path, |_| false)
    }

    /// Like [`Zip::open`], but members that `left_out` names are neither listed nor compared with other names (an archive
    /// may hold names that cannot stand side by side everywhere). All else is checked of them as well.
    ///
    /// # Errors
    /// As [`Zip::open`].
    pub fn open_without(
        path: &Path,
        left_out: impl Fn(&str) -> bool,
    ) -> Result<Self, ArchiveError> {
        let name = path.file_name().unwrap_or(path.as_os_str());
        let name = escaped(name.as_encoded_bytes());
        let mapped = fs::open(path).and_then(|file| {
            let empty = fs::metadata(path)?.is_some_and(|m| m.len() == 0);
            Ok(match empty {
                true => Bytes::Held(Vec::new()),
                false => Bytes::Mapped(fs::map(&file, path)?),
            })
        });
        match mapped {
            Ok(bytes) => Self::new(name, bytes, left_out),
            Err(source) => Err(ArchiveError::File {
                archive: name,
                source,
            }),
        }
    }

    /// Opens an archive that is in memory; `name` is for messages.
    ///
    /// # Errors
    /// Every archive the gate refuses.
    pub fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Self, ArchiveError> {
        Self::new(escaped(name.as_bytes()), Bytes::Held(bytes), |_| false)
    }

    fn new(
        name: String,
        bytes: Bytes,
        left_out: impl Fn(&str) -> bool,
    ) -> Result<Self, ArchiveError> {
        let (members, notes) = read_members(&name, bytes.get(), &left_out)?;
        Ok(Self {
            name,
            bytes,
            members,
            notes,
        })
    }

    /// File name of the archive, escaped for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All members, in the order of the directory.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Things worth telling that are no faults: zstd members, padding behind the end.
    pub fn notes(&self) -> &[Finding] {
        &self.notes
    }

    /// Sum of all unpacked sizes.
    pub fn unpacked(&self) -> u64 {
        self.members.iter().map(|m| m.unpacked).sum()
    }
}

fn read_members(
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
    Ok((notes(archive, &place, &members), members)).map(|(notes, members)| (members, notes))
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
