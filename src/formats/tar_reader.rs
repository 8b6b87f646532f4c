//! Reads the tar dialect of bundles back, front to back and in bounded memory.
//!
//! Every header is written again from what was read out of it and must come out as the same bytes. So there is one
//! reading of an archive: what any tar program could take another way is refused, and so is an archive that stops
//! early or goes on after its end.

use std::io::{self, Read};

use super::bundle::ROOT;
use super::component::EntryKind;
use super::manifest::{COMPLETE, LAYERS};
use super::tar_entry::{self, BLOCK, padding};

/// Most bytes of PAX records: that many, other programs take too.
const MAX_PAX: u64 = 1 << 20;

/// Why an archive is not in the dialect of bundles.
#[derive(Debug, thiserror::Error)]
pub enum TarReadError {
    /// The bytes could not be read, decoded, or end early.
    #[error("could not read the archive at byte {offset}{}", after(.last.as_deref()))]
    Read {
        /// Offset in the tar stream.
        offset: u64,
        /// The entry before, or in, which it happened.
        last: Option<String>,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A header that bundles do not have.
    #[error("the header at byte {offset} of the archive{} is not one of a bundle: {what}", after(.last.as_deref()))]
    Header {
        /// Offset in the tar stream.
        offset: u64,
        /// The entry before it.
        last: Option<String>,
        /// What is wrong with it.
        what: &'static str,
    },
}

fn after(last: Option<&str>) -> String {
    last.map_or_else(String::new, |path| format!(", after {path:?}"))
}

/// An entry as read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TarEntry {
    /// Path from the bundle's root; empty for the root itself.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Permission bits.
    pub mode: u32,
    /// Bytes of content that follow: 0 for all but files.
    pub size: u64,
}

/// The entries of an archive, or of a part of one that begins with a header.
pub struct Entries<R> {
    source: R,
    offset: u64,
    content: u64,
    padding: u64,
    last: Option<String>,
    comment: Option<String>,
    ends: Ends,
    done: bool,
}

/// How a stream of entries ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ends {
    /// With two blocks of zeros and nothing behind: a whole archive.
    Archive,
    /// With the last byte of an entry: the segments of a component.
    Entry,
}

impl<R: Read> Entries<R> {
    /// Reads entries from `source`.
    pub fn new(source: R, ends: Ends) -> Self {
        Self {
            source,
            offset: 0,
            content: 0,
            padding: 0,
            last: None,
            comment: None,
            ends,
            done: false,
        }
    }

    /// The next entry; what was not read of the one before is skipped. `None` at the end.
    pub fn next_entry(&mut self) -> Result<Option<TarEntry>, TarReadError> {
        if self.done {
            return Ok(None);
        }
        self.skip_content()?;
        let Some(first) = self.block()? else {
            self.done = true;
            return match self.ends {
                Ends::Entry => Ok(None),
                Ends::Archive => Err(self.short()),
            };
        };
        if first == [0; BLOCK] {
            self.end()?;
            self.done = true;
            return Ok(None);
        }
        let (entry, raw) = self.entry(&first)?;
        let again = match &self.comment {
            None => tar_entry::header(&entry.path, &entry.kind, entry.mode, entry.size),
            Some(_) if !self.may_have_comment(&entry.path) => return Err(self.bad("a comment")),
            Some(comment) => tar_entry::header_with_comment(&entry.path, entry.size, comment),
        };
        if again.ok().as_ref() != Some(&raw) {
            return Err(self.bad("another form of header"));
        }
        if entry.kind == EntryKind::File {
            self.content = entry.size;
            self.padding = padding(entry.size) as u64;
        }
        self.last = Some(entry.path.clone());
        Ok(Some(entry))
    }

    /// Only what ends an archive has one: `.complete`, or in a base layer the layer's record.
    fn may_have_comment(&self, path: &str) -> bool {
        let is_record = || {
            path.strip_prefix(LAYERS)
                .is_some_and(|p| p.starts_with('/'))
        };
        path == COMPLETE || self.ends == Ends::Archive && is_record()
    }

    /// The PAX comment before the entry that [`Self::next_entry`] gave last; only an archive's last entry has one.
    pub fn comment(&self) -> Option<&str> {
        self.comment.as_deref()
    }

    /// The content of the entry that [`Self::next_entry`] gave last.
    pub fn content(&mut self) -> Content<'_, R> {
        Content(self)
    }

    /// The whole content of the last entry, which must not be larger than `limit`.
    pub fn read_content(&mut self, limit: u64) -> Result<Vec<u8>, TarReadError> {
        if self.content > limit {
            return Err(self.bad("its entry is larger than it may be"));
        }
        let mut out = Vec::new();
        self.content()
            .read_to_end(&mut out)
            .map_err(|source| self.failed(source))?;
        Ok(out)
    }

    fn entry(&mut self, first: &[u8; BLOCK]) -> Result<(TarEntry, Vec<u8>), TarReadError> {
        let mut raw = first.to_vec();
        let mut records = Records::default();
        let mut header = *first;
        if first[156] == b'x' {
            let size = octal(&first[124..136]).ok_or_else(|| self.bad("no size"))?;
            if size == 0 || size > MAX_PAX {
                return Err(self.bad("PAX records of an impossible size"));
            }
            let mut bytes = vec![0; size as usize + padding(size)];
            self.fill(&mut bytes)?;
            records = Records::parse(&bytes[..size as usize])
                .ok_or_else(|| self.bad("damaged PAX records"))?;
            header = self.block()?.ok_or_else(|| self.short())?;
            raw.extend_from_slice(&bytes);
            raw.extend_from_slice(&header);
        }
        self.comment = records.comment;
        let text = |field: &[u8]| field_text(field).map(str::to_owned);
        let what = "a name that is not UTF-8";
        let name = text(&header[..100]).ok_or_else(|| self.bad(what))?;
        let prefix = text(&header[345..500]).ok_or_else(|| self.bad(what))?;
        let link = text(&header[157..257]).ok_or_else(|| self.bad(what))?;
        let name = match (records.path, prefix.is_empty()) {
            (Some(path), _) => path,
            (None, true) => name,
            (None, false) => format!("{prefix}/{name}"),
        };
        let link = records.linkpath.unwrap_or(link);
        let below = |name: &str| {
            name.strip_prefix(ROOT)?
                .strip_prefix('/')
                .map(str::to_owned)
        };
        let outside = "a path outside of the root folder";
        let path = below(&name).ok_or_else(|| self.bad(outside))?;
        let (path, kind) = match header[156] {
            b'0' => (path, EntryKind::File),
            b'1' => {
                let target = below(&link).ok_or_else(|| self.bad(outside))?;
                (path, EntryKind::Hardlink { target })
            }
            b'2' => (path, EntryKind::Symlink { target: link }),
            b'5' => {
                let folder = path.strip_suffix('/').unwrap_or(&path).to_owned();
                (folder, EntryKind::Dir)
            }
            _ => return Err(self.bad("a type of entry that bundles do not have")),
        };
        let mode = octal(&header[100..108]).and_then(|mode| u32::try_from(mode).ok());
        let size = records.size.or_else(|| octal(&header[124..136]));
        let entry = TarEntry {
            path,
            kind,
            mode: mode.ok_or_else(|| self.bad("no mode"))?,
            size: size.ok_or_else(|| self.bad("no size"))?,
        };
        Ok((entry, raw))
    }

    /// The second block of zeros, and nothing behind it.
    fn end(&mut self) -> Result<(), TarReadError> {
        if self.ends == Ends::Entry {
            return Err(self.bad("an end of archive in its midst"));
        }
        match self.block()? {
            Some(block) if block == [0; BLOCK] => {}
            Some(_) => return Err(self.bad("one block of zeros")),
            None => return Err(self.short()),
        }
        match self.block()? {
            None => Ok(()),
            Some(_) => Err(self.bad("bytes behind the end of the archive")),
        }
    }

    fn skip_content(&mut self) -> Result<(), TarReadError> {
        let copied = io::copy(&mut self.content(), &mut io::sink());
        copied.map_err(|source| self.failed(source))?;
        let mut pad = [0; BLOCK];
        let pad = &mut pad[..self.padding as usize];
        self.fill(pad)?;
        self.padding = 0;
        if pad.iter().any(|byte| *byte != 0) {
            return Err(self.bad("padding before it that is not zero"));
        }
        Ok(())
    }

    /// The next block; `None` where the stream ends before it.
    fn block(&mut self) -> Result<Option<[u8; BLOCK]>, TarReadError> {
        let mut out = [0; BLOCK];
        let mut filled = 0;
        while filled < BLOCK {
            match self.source.read(&mut out[filled..]) {
                Ok(0) if filled == 0 => return Ok(None),
                Ok(0) => return Err(self.short()),
                Ok(read) => filled += read,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(source) => return Err(self.failed(source)),
            }
        }
        self.offset += BLOCK as u64;
        Ok(Some(out))
    }

    fn fill(&mut self, out: &mut [u8]) -> Result<(), TarReadError> {
        self.source
            .read_exact(out)
            .map_err(|source| self.failed(source))?;
        self.offset += out.len() as u64;
        Ok(())
    }

    fn failed(&self, source: io::Error) -> TarReadError {
        TarReadError::Read {
            offset: self.offset,
            last: self.last.clone(),
            source,
        }
    }

    fn short(&self) -> TarReadError {
        self.failed(io::ErrorKind::UnexpectedEof.into())
    }

    fn bad(&self, what: &'static str) -> TarReadError {
        TarReadError::Header {
            offset: self.offset.saturating_sub(BLOCK as u64),
            last: self.last.clone(),
            what,
        }
    }
}

/// The content of one entry.
pub struct Content<'a, R>(&'a mut Entries<R>);

impl<R: Read> Read for Content<'_, R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let entries = &mut *self.0;
        let most = usize::try_from(entries.content).unwrap_or(usize::MAX);
        let most = most.min(out.len());
        if most == 0 {
            return Ok(0);
        }
        let read = entries.source.read(&mut out[..most])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        entries.content -= read as u64;
        entries.offset += read as u64;
        Ok(read)
    }
}

/// The four PAX records bundles have.
#[derive(Default)]
struct Records {
    path: Option<String>,
    linkpath: Option<String>,
    size: Option<u64>,
    comment: Option<String>,
}

impl Records {
    fn parse(mut bytes: &[u8]) -> Option<Self> {
        let mut out = Self::default();
        while !bytes.is_empty() {
            let digits = bytes.iter().position(|byte| *byte == b' ')?;
            let len: usize = std::str::from_utf8(&bytes[..digits]).ok()?.parse().ok()?;
            let record = bytes.get(digits + 1..len)?.strip_suffix(b"\n")?;
            let (key, value) = std::str::from_utf8(record).ok()?.split_once('=')?;
            match key {
                "path" => out.path = Some(value.to_owned()),
                "linkpath" => out.linkpath = Some(value.to_owned()),
                "comment" => out.comment = Some(value.to_owned()),
                "size" => out.size = Some(value.parse().ok()?),
                _ => return None,
            }
            bytes = bytes.get(len..)?;
        }
        Some(out)
    }
}

/// A number in octal digits that ends with NUL.
fn octal(field: &[u8]) -> Option<u64> {
    u64::from_str_radix(std::str::from_utf8(field.strip_suffix(b"\0")?).ok()?, 8).ok()
}

/// A text that ends with NUL, or with its field.
fn field_text(field: &[u8]) -> Option<&str> {
    let end = field.iter().position(|byte| *byte == 0);
    std::str::from_utf8(&field[..end.unwrap_or(field.len())]).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> (Vec<u8>, Vec<TarEntry>) {
        let long = format!("{}/{}", "d".repeat(90), "x".repeat(200));
        let entry = |path: &str, kind, mode, size| TarEntry {
            path: path.to_owned(),
            kind,
            mode,
            size,
        };
        let target = |t: &str| t.to_owned();
        let entries = vec![
            entry("", EntryKind::Dir, 0o755, 0),
            entry("bin", EntryKind::Dir, 0o755, 0),
            entry("bin/a", EntryKind::File, 0o755, 5),
            entry("bin/empty", EntryKind::File, 0o644, 0),
            entry(&long, EntryKind::File, 0o644, 1024),
            entry(
                "bin/b",
                EntryKind::Hardlink {
                    target: target("bin/a"),
                },
                0o755,
                0,
            ),
            entry(
                "bin/ü",
                EntryKind::Symlink {
                    target: target("a"),
                },
                0o777,
                0,
            ),
            entry(
                "bin/l",
                EntryKind::Symlink {
                    target: format!("../{long}"),
                },
                0o777,
                0,
            ),
        ];
        let mut out = Vec::new();
        for e in &entries {
            out.extend(tar_entry::header(&e.path, &e.kind, e.mode, e.size).unwrap());
            out.resize(out.len() + e.size as usize, b'c');
            out.resize(out.len() + padding(e.size), 0);
        }
        (out, entries)
    }

    fn read(bytes: &[u8], ends: Ends) -> Result<Vec<TarEntry>, TarReadError> {
        let mut entries = Entries::new(bytes, ends);
        let mut out = Vec::new();
        while let Some(entry) = entries.next_entry()? {
            if entry.path != "bin/a" {
                assert_eq!(entries.read_content(4096)?, vec![b'c'; entry.size as usize]);
            }
            out.push(entry);
        }
        Ok(out)
    }

    #[test]
    fn reads_back_what_is_written() {
        let (mut bytes, entries) = archive();
        assert_eq!(read(&bytes, Ends::Entry).unwrap(), entries);
        assert!(read(&bytes, Ends::Archive).is_err(), "no end");
        bytes.extend(tar_entry::END);
        assert_eq!(read(&bytes, Ends::Archive).unwrap(), entries);
        assert!(read(&bytes, Ends::Entry).is_err());
    }

    #[test]
    fn every_cut_and_every_addition_is_found() {
        let (mut bytes, _) = archive();
        bytes.extend(tar_entry::END);
        for cut in 0..bytes.len() {
            assert!(read(&bytes[..cut], Ends::Archive).is_err(), "{cut}");
        }
        bytes.extend([0; BLOCK]);
        assert!(read(&bytes, Ends::Archive).is_err());
    }

    #[test]
    fn every_changed_byte_of_a_header_is_found() {
        let (bytes, entries) = archive();
        let contents: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'c').collect();
        for at in (0..bytes.len()).filter(|at| !contents.contains(at)) {
            for change in [0x01, 0x80] {
                let mut bad = bytes.clone();
                bad[at] ^= change;
                assert!(
                    !read(&bad, Ends::Entry).is_ok_and(|got| got == entries),
                    "byte {at}"
                );
            }
        }
    }

    #[test]
    fn refuses_other_dialects() {
        let good = tar_entry::header("bin/a", &EntryKind::File, 0o644, 0).unwrap();
        let with = |at: usize, bytes: &[u8]| {
            let mut bad = good.clone();
            bad[at..at + bytes.len()].copy_from_slice(bytes);
            bad[148..156].copy_from_slice(b"        ");
            let sum: u32 = bad.iter().map(|byte| u32::from(*byte)).sum();
            bad[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
            bad
        };
        assert!(read(&with(0, b"runtime/bin/a"), Ends::Entry).is_ok());
        for (why, at, bytes) in [
            ("another root", 0, &b"other_e"[..]),
            ("leaves the root", 0, b"runtime/../a"),
            ("global header", 156, b"g"),
            ("GNU long name", 156, b"L"),
            ("device", 156, b"3"),
            ("old file type", 156, b"\0"),
            ("setuid", 100, b"0004755"),
            ("owner", 108, b"0000001"),
            ("owner's name", 265, b"root"),
            ("another time", 136, b"00000000000"),
            ("size in base 256", 124, b"\x80"),
            ("GNU magic", 257, b"ustar  \0"),
        ] {
            assert!(read(&with(at, bytes), Ends::Entry).is_err(), "{why}");
        }
    }
}
