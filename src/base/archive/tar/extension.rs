//! Extension headers of tar: PAX records (path, linkpath, size) and GNU long names. They may only say what the header cannot
//! hold; two that speak of one thing, and a size that disagrees with the header, are refused.

use ::tar::{EntryType, PaxExtensions};

use super::TarFault;

/// Longest extension header read, in bytes.
pub(super) const LONGEST: u64 = 1 << 20;

/// What the extension headers before a member say of it.
#[derive(Debug, Default)]
pub(super) struct Extensions {
    path: Option<Vec<u8>>,
    goal: Option<Vec<u8>>,
    size: Option<u64>,
    pax: bool,
}

pub(super) fn is_extension(kind: EntryType) -> bool {
    matches!(
        kind,
        EntryType::XHeader
            | EntryType::XGlobalHeader
            | EntryType::GNULongName
            | EntryType::GNULongLink
    )
}

impl Extensions {
    /// No header so far that must be followed by a member.
    pub(super) fn is_empty(&self) -> bool {
        !self.pax && self.path.is_none() && self.goal.is_none()
    }

    /// Takes in the body of one extension header.
    pub(super) fn take(&mut self, kind: EntryType, body: &[u8]) -> Result<(), TarFault> {
        match kind {
            EntryType::GNULongName => set(&mut self.path, long_name(body)?),
            EntryType::GNULongLink => set(&mut self.goal, long_name(body)?),
            EntryType::XHeader if self.pax => {
                Err(TarFault::Extension("it is the second of its kind"))
            }
            EntryType::XHeader => {
                self.pax = true;
                self.records(body, false)
            }
            _ => self.records(body, true),
        }
    }

    fn records(&mut self, body: &[u8], global: bool) -> Result<(), TarFault> {
        for record in PaxExtensions::new(body) {
            let record =
                record.map_err(|_| TarFault::Extension("a record of it cannot be read"))?;
            let key = record.key_bytes();
            let value = record.value_bytes();
            if key.starts_with(b"GNU.sparse.") {
                return Err(TarFault::Extension("sparse files have no place here"));
            }
            let known = [&b"path"[..], b"linkpath", b"size"].contains(&key);
            if global && known {
                return Err(TarFault::Extension("it speaks of all members at once"));
            }
            match key {
                b"path" => set(&mut self.path, value.to_vec())?,
                b"linkpath" => set(&mut self.goal, value.to_vec())?,
                b"size" => set(&mut self.size, number(value)?)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The member's path: that of an extension, else `own`.
    pub(super) fn path(&self, own: Vec<u8>) -> Vec<u8> {
        self.path.clone().unwrap_or(own)
    }

    /// The goal of a link, if an extension gives it.
    pub(super) fn goal(&self) -> Option<&[u8]> {
        self.goal.as_deref()
    }

    /// The member's size; the header must say the same, or 0 as some programs write where an extension follows.
    pub(super) fn size(&self, own: u64) -> Result<u64, TarFault> {
        match self.size {
            Some(size) if own != 0 && own != size => Err(TarFault::Extension(
                "its size is not that of the header, so programs read it differently",
            )),
            Some(size) => Ok(size),
            None => Ok(own),
        }
    }
}

fn set<T>(slot: &mut Option<T>, value: T) -> Result<(), TarFault> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(TarFault::Extension("something is said twice")),
    }
}

fn long_name(body: &[u8]) -> Result<Vec<u8>, TarFault> {
    let name = body.strip_suffix(b"\0").unwrap_or(body);
    if name.contains(&0) {
        return Err(TarFault::Extension("the long name has a NUL"));
    }
    Ok(name.to_vec())
}

fn number(value: &[u8]) -> Result<u64, TarFault> {
    std::str::from_utf8(value)
        .ok()
        .filter(|text| text.bytes().all(|b| b.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .ok_or(TarFault::Extension("its size is no number"))
}
