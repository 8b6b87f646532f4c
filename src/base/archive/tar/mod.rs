//! Tar archives (plain, gzip, zstd) as a row of checked members: `Tar` hands out one after the other with its bytes, and
//! nothing is unpacked here. Refused, with the member and the reason: unsafe names and links, types other than file, folder
//! and link, sizes over the limits, and whatever two programs could read differently (extension headers that disagree with
//! the header, a second stream, bytes behind the end). Owners, times and extended attributes are not read at all.

mod extension;
mod fault;
mod input;

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

pub use fault::{TarError, TarFault};

use super::links::{Links, check_goal};
use super::name::{Names, check_path, escaped};
use crate::base::fs;
use extension::Extensions;
use input::Input;

const BLOCK: usize = 512;

/// What an archive may hold at most.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Members.
    pub members: u64,
    /// Bytes of all members.
    pub bytes: u64,
}

impl Default for Limits {
    /// Room for every interpreter and source tree seen, and for memory.
    fn default() -> Self {
        Self {
            members: 200_000,
            bytes: 1 << 30,
        }
    }
}

/// What a member is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Dir,
    /// A symbolic link with this goal, relative and inside the tree as far as the text tells.
    Symlink(String),
    /// Another name of an earlier file of this archive.
    Hardlink(String),
}

/// A member of a tar archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Checked relative path.
    pub path: String,
    /// What it is.
    pub kind: Kind,
    /// Whether its owner may run it. No other bit of the mode is of use.
    pub executable: bool,
    /// Bytes of a file, else 0.
    pub size: u64,
}

/// Reads a tar archive from front to back.
pub struct Tar<'a, R> {
    archive: String,
    input: R,
    limits: Limits,
    left_out: &'a dyn Fn(&str) -> bool,
    names: Names,
    files: BTreeMap<String, bool>,
    links: Links,
    members: u64,
    bytes: u64,
    /// Bytes of the current member not read yet, and the zeros behind them.
    body: u64,
    padding: u64,
    done: bool,
}

impl<'a, R: Read> Tar<'a, R> {
    /// Reads the unpacked stream `input`. Members that `left_out` names are checked alone and passed over, not compared with
    /// other names (an archive may hold names that cannot stand side by side everywhere).
    pub fn new(
        archive: &str,
        input: R,
        limits: Limits,
        left_out: &'a dyn Fn(&str) -> bool,
    ) -> Self {
        Self {
            archive: escaped(archive.as_bytes()),
            input,
            limits,
            left_out,
            names: Names::new(),
            files: BTreeMap::new(),
            links: Links::new(),
            members: 0,
            bytes: 0,
            body: 0,
            padding: 0,
            done: false,
        }
    }

    /// The next member; what is left of the last one is passed over. `None` after the whole archive was seen to be in order.
    ///
    /// # Errors
    /// An archive that is refused, and a stream that cannot be read.
    pub fn next_member(&mut self) -> Result<Option<Member>, TarError> {
        loop {
            let Some(header) = self.next_header(&mut Extensions::default())? else {
                return Ok(None);
            };
            if (self.left_out)(&header.path) {
                continue;
            }
            self.take_in(&header)?;
            return Ok(Some(header));
        }
    }

    /// All bytes of the current member.
    ///
    /// # Errors
    /// A stream that cannot be read or ends too early.
    pub fn read_body(&mut self) -> Result<Vec<u8>, TarError> {
        let mut out = Vec::new();
        let size = self.body;
        self.read_to_end(&mut out).map_err(|e| self.io(e))?;
        if out.len() as u64 == size {
            Ok(out)
        } else {
            Err(self.fault(TarFault::Cut))
        }
    }

    /// The unpacked stream, once `next_member` gave `None`.
    pub fn into_input(self) -> R {
        self.input
    }

    /// Reads extension headers and the header they belong to.
    fn next_header(&mut self, extensions: &mut Extensions) -> Result<Option<Member>, TarError> {
        loop {
            self.pass_body()?;
            let Some(block) = self.next_block()? else {
                return if extensions.is_empty() {
                    Ok(None)
                } else {
                    Err(self.fault(TarFault::Dangling))
                };
            };
            let header = ::tar::Header::from_byte_slice(&block);
            let sum = check_sum(header);
            if sum.is_err() && self.members == 0 && block.get(257..262) != Some(b"ustar".as_slice())
            {
                return Err(self.fault(TarFault::NoTar(beginning(&block))));
            }
            let name = header.path_bytes().into_owned();
            let at = |fault| TarError::member(&self.archive, &name, fault);
            sum.map_err(at)?;
            let stated = header.entry_size().map_err(|_| at(TarFault::Number))?;
            self.members += 1;
            if self.members > self.limits.members {
                return Err(self.fault(TarFault::TooMany(self.limits.members)));
            }
            if extension::is_extension(header.entry_type()) {
                if stated > extension::LONGEST {
                    return Err(at(TarFault::Extension("it is too long")));
                }
                self.set_body(stated);
                let body = self.read_body()?;
                extensions
                    .take(header.entry_type(), &body)
                    .map_err(|fault| TarError::member(&self.archive, &name, fault))?;
                continue;
            }
            let size = extensions.size(stated).map_err(at)?;
            let name = extensions.path(name);
            let member = self.member(header, &name, extensions, size)?;
            self.set_body(size);
            return Ok(Some(member));
        }
    }

    fn member(
        &self,
        header: &::tar::Header,
        name: &[u8],
        extensions: &Extensions,
        size: u64,
    ) -> Result<Member, TarError> {
        use ::tar::EntryType;
        let at = |fault| TarError::member(&self.archive, name, fault);
        let folder = name.ends_with(b"/");
        let plain = name.strip_prefix(b"./").unwrap_or(name);
        let plain = plain.strip_suffix(b"/").unwrap_or(plain);
        let entry_type = header.entry_type();
        // `./` is the folder the archive was made in.
        let path = match plain {
            b"" | b"." if entry_type == EntryType::Directory && name.starts_with(b".") => ".",
            _ => check_path(plain).map_err(|fault| at(TarFault::Name(fault)))?,
        };
        let goal = || {
            extensions
                .goal()
                .map(<[u8]>::to_vec)
                .or_else(|| header.link_name_bytes().map(std::borrow::Cow::into_owned))
                .unwrap_or_default()
        };
        let kind = match entry_type {
            EntryType::Regular if folder => return Err(at(TarFault::FileWithSlash)),
            EntryType::Regular => Kind::File,
            EntryType::Directory => Kind::Dir,
            EntryType::Symlink => {
                let goal = goal();
                let goal = check_goal(path, &goal)
                    .map_err(|fault| at(TarFault::Link(escaped(&goal), fault)))?;
                Kind::Symlink(goal.to_owned())
            }
            EntryType::Link => {
                let goal = goal();
                let plain = goal.strip_prefix(b"./").unwrap_or(&goal);
                let plain = check_path(plain).map_err(|fault| at(TarFault::Name(fault)))?;
                Kind::Hardlink(plain.to_owned())
            }
            other => return Err(at(TarFault::Type(other.as_byte()))),
        };
        if kind != Kind::File && size != 0 {
            return Err(at(TarFault::Body));
        }
        let executable = header.mode().map_err(|_| at(TarFault::Number))? & 0o100 != 0;
        Ok(Member {
            path: path.to_owned(),
            kind,
            executable,
            size,
        })
    }

    fn take_in(&mut self, member: &Member) -> Result<(), TarError> {
        let Self { archive, .. } = self;
        let at = |fault| TarError::member(archive, member.path.as_bytes(), fault);
        if member.path != "." {
            self.names
                .add(&member.path, member.kind == Kind::Dir)
                .map_err(|fault| at(TarFault::Name(fault)))?;
        }
        match &member.kind {
            Kind::File => {
                self.files.insert(member.path.clone(), member.executable);
            }
            Kind::Hardlink(goal) if !self.files.contains_key(goal) => {
                return Err(at(TarFault::NoSuchFile(escaped(goal.as_bytes()))));
            }
            Kind::Symlink(goal) => self.links.add(&member.path, goal),
            Kind::Hardlink(_) | Kind::Dir => {}
        }
        self.bytes = self.bytes.saturating_add(member.size);
        if self.bytes > self.limits.bytes {
            return Err(at(TarFault::TooLarge(self.limits.bytes)));
        }
        Ok(())
    }

    /// The next header block, or `None` behind the end mark, after which there may be nothing but zeros.
    fn next_block(&mut self) -> Result<Option<[u8; BLOCK]>, TarError> {
        if self.done {
            return Ok(None);
        }
        let block = self.block()?;
        if block.iter().any(|&b| b != 0) {
            return Ok(Some(block));
        }
        if self.block()?.iter().any(|&b| b != 0) {
            return Err(self.fault(TarFault::HalfEnd));
        }
        let mut rest = [0; 16 * BLOCK];
        loop {
            let n = self.input.read(&mut rest).map_err(|e| self.io(e))?;
            match rest.get(..n) {
                Some([]) | None => break,
                Some(bytes) if bytes.iter().all(|&b| b == 0) => {}
                Some(_) => return Err(self.fault(TarFault::BehindEnd)),
            }
        }
        self.links.finish().map_err(|(path, fault)| {
            TarError::member(&self.archive, path.as_bytes(), TarFault::Leads(fault))
        })?;
        self.done = true;
        Ok(None)
    }

    fn block(&mut self) -> Result<[u8; BLOCK], TarError> {
        let mut bytes = Vec::with_capacity(BLOCK);
        let read = (&mut self.input).take(BLOCK as u64).read_to_end(&mut bytes);
        read.map_err(|e| self.io(e))?;
        match <[u8; BLOCK]>::try_from(bytes) {
            Ok(block) => Ok(block),
            Err(short) if short.is_empty() && self.members == 0 => {
                Err(self.fault(TarFault::NoTar(beginning(&short))))
            }
            Err(_) => Err(self.fault(TarFault::Cut)),
        }
    }

    fn set_body(&mut self, size: u64) {
        self.body = size;
        self.padding = size.next_multiple_of(BLOCK as u64) - size;
    }

    fn pass_body(&mut self) -> Result<(), TarError> {
        let left = self.body.saturating_add(self.padding);
        let passed =
            io::copy(&mut (&mut self.input).take(left), &mut io::sink()).map_err(|e| self.io(e))?;
        self.set_body(0);
        if passed == left {
            Ok(())
        } else {
            Err(self.fault(TarFault::Cut))
        }
    }

    fn fault(&self, fault: TarFault) -> TarError {
        TarError::Archive {
            archive: self.archive.clone(),
            source: fault,
        }
    }

    fn io(&self, source: io::Error) -> TarError {
        match source.kind() {
            io::ErrorKind::UnexpectedEof => self.fault(TarFault::Cut),
            _ => TarError::Read {
                archive: self.archive.clone(),
                source,
            },
        }
    }
}

/// The bytes of the current member.
impl<R: Read> Read for Tar<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = (&mut self.input).take(self.body).read(buffer)?;
        self.body = self.body.saturating_sub(n as u64);
        Ok(n)
    }
}

/// A member with its bytes (shared between hard links).
#[derive(Debug, Clone)]
pub struct Held {
    /// What it is.
    pub member: Member,
    /// Bytes of a file or hard link.
    pub bytes: Arc<[u8]>,
}

/// Reads a whole archive from disk into memory, bounded by `limits`. What packs it is told by its first bytes.
///
/// # Errors
/// A file that cannot be read, and every archive that is refused.
pub fn read_all(
    path: &Path,
    limits: Limits,
    left_out: &dyn Fn(&str) -> bool,
) -> Result<Vec<Held>, TarError> {
    let name = path.file_name().unwrap_or(path.as_os_str());
    read_all_as(path, &name.to_string_lossy(), limits, left_out)
}

/// Like [`read_all`], with the name the archive has for people: a cache keeps it under its digest.
///
/// # Errors
/// As [`read_all`].
pub fn read_all_as(
    path: &Path,
    name: &str,
    limits: Limits,
    left_out: &dyn Fn(&str) -> bool,
) -> Result<Vec<Held>, TarError> {
    let name = escaped(name.as_bytes());
    let opened = fs::open(path).and_then(|file| fs::map(&file, path));
    let map = opened.map_err(|source| TarError::File {
        archive: name.clone(),
        source,
    })?;
    let read = |source| TarError::Read {
        archive: name.clone(),
        source,
    };
    let mut tar = Tar::new(&name, Input::new(&map).map_err(read)?, limits, left_out);
    let mut out = Vec::new();
    let mut files: BTreeMap<String, Arc<[u8]>> = BTreeMap::new();
    while let Some(member) = tar.next_member()? {
        let bytes: Arc<[u8]> = match &member.kind {
            Kind::File => tar.read_body()?.into(),
            Kind::Hardlink(goal) => files.get(goal).cloned().unwrap_or_default(),
            Kind::Dir | Kind::Symlink(_) => Arc::default(),
        };
        if member.kind == Kind::File {
            files.insert(member.path.clone(), Arc::clone(&bytes));
        }
        out.push(Held { member, bytes });
    }
    let rest = tar.into_input();
    if rest.unused().iter().any(|&b| b != 0) {
        return Err(TarError::Archive {
            archive: name,
            source: TarFault::SecondStream,
        });
    }
    Ok(out)
}

/// How bytes begin, for messages.
fn beginning(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "an empty file".to_owned();
    }
    let first: Vec<String> = bytes.iter().take(8).map(|b| format!("{b:02x}")).collect();
    format!("bytes that begin with {}", first.join(" "))
}

/// The checksum of a header is the sum of its bytes, with its own field taken as blanks.
fn check_sum(header: &::tar::Header) -> Result<(), TarFault> {
    let stated = header.cksum().map_err(|_| TarFault::Checksum)?;
    let sum: u32 = (0..)
        .zip(header.as_bytes())
        .map(|(at, &b)| match at {
            148..156 => 32,
            _ => u32::from(b),
        })
        .sum();
    if sum == stated {
        Ok(())
    } else {
        Err(TarFault::Checksum)
    }
}

#[cfg(test)]
mod tests;
