//! One entry of a zip archive's directory, as its bytes say, and the judgement of it by itself: method, flags, type, sizes.
//! Follows APPNOTE 4.3.12 and 4.5.3; fields that a plain reader would skip but another one obey are refused.

use super::fields::{bytes_at, u16_at, u32_at, u64_at};
use super::{MemberFault, Method};

const SIGNATURE: &[u8] = b"PK\x01\x02";
const FIXED: usize = 46;
/// No deflate stream unpacks to more than 1,032 times its length.
const DEFLATE_MOST: u64 = 1032;

/// One entry, sizes and offset already widened by its zip64 field.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub name: &'a [u8],
    pub flags: Flags,
    pub method: u16,
    pub crc32: u32,
    pub packed: u64,
    pub unpacked: u64,
    pub offset: u64,
    disk: u32,
    host: u8,
    external: u32,
    pub extra: &'a [u8],
    /// Bytes of the whole entry.
    pub len: usize,
}

/// General purpose flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Flags(pub u16);

impl Flags {
    const ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;
    /// Deflate level, descriptor, UTF-8: nothing else has a meaning that leaves the bytes as they are.
    const KNOWN: u16 = 0b110 | 1 << 3 | 1 << 11;

    pub fn has_descriptor(self) -> bool {
        self.0 & 1 << 3 != 0
    }

    pub fn is_utf8(self) -> bool {
        self.0 & 1 << 11 != 0
    }

    fn check(self) -> Result<(), MemberFault> {
        if self.0 & Self::ENCRYPTED != 0 {
            return Err(MemberFault::Encrypted);
        }
        if self.0 & !Self::KNOWN != 0 {
            return Err(MemberFault::Flags(self.0));
        }
        Ok(())
    }
}

/// What an entry is, by name and type bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Kind {
    pub is_dir: bool,
    /// Permission bits, where the archive was made on a Unix.
    pub mode: Option<u32>,
}

impl<'a> Entry<'a> {
    /// Reads the entry at the start of `bytes`; `None` if it is cut off or none.
    pub fn read(bytes: &'a [u8]) -> Option<Result<Self, (&'a [u8], MemberFault)>> {
        let fixed = bytes_at(bytes, 0, FIXED).filter(|b| b.starts_with(SIGNATURE))?;
        let (name_len, extra_len, comment_len) = (
            usize::from(u16_at(fixed, 28)?),
            usize::from(u16_at(fixed, 30)?),
            usize::from(u16_at(fixed, 32)?),
        );
        let name = bytes_at(bytes, FIXED, name_len)?;
        let extra = bytes_at(bytes, FIXED + name_len, extra_len)?;
        let len = FIXED + name_len + extra_len + comment_len;
        bytes_at(bytes, 0, len)?;
        let mut entry = Self {
            name,
            flags: Flags(u16_at(fixed, 8)?),
            method: u16_at(fixed, 10)?,
            crc32: u32_at(fixed, 16)?,
            packed: u32_at(fixed, 20)?.into(),
            unpacked: u32_at(fixed, 24)?.into(),
            offset: u32_at(fixed, 42)?.into(),
            disk: u16_at(fixed, 34)?.into(),
            host: u16_at(fixed, 4)?.to_le_bytes()[1],
            external: u32_at(fixed, 38)?,
            extra,
            len,
        };
        Some(match entry.widen() {
            Ok(()) => Ok(entry),
            Err(fault) => Err((name, fault)),
        })
    }

    /// Takes the 64-bit values of the zip64 field: exactly those whose 32-bit field says "see there".
    fn widen(&mut self) -> Result<(), MemberFault> {
        let field = Extra::read(self.extra, self.name)?;
        let mut zip64 = Cursor(field.zip64.unwrap_or_default());
        let see_there = u64::from(u32::MAX);
        for slot in [&mut self.unpacked, &mut self.packed, &mut self.offset] {
            if *slot == see_there {
                *slot = zip64.next_u64().ok_or(Extra::ZIP64_SHORT)?;
            }
        }
        if self.disk == u32::from(u16::MAX) {
            self.disk = zip64.next_u32().ok_or(Extra::ZIP64_SHORT)?;
        }
        if !zip64.0.is_empty() {
            return Err(MemberFault::Extra(
                "the zip64 field holds values that are not asked for",
            ));
        }
        Ok(())
    }

    /// Judges what can be judged without looking elsewhere.
    pub fn check(&self) -> Result<(Method, Kind), MemberFault> {
        self.flags.check()?;
        let method = Method::read(self.method)?;
        let kind = self.kind()?;
        if self.disk != 0 {
            return Err(MemberFault::Split);
        }
        let possible = match method {
            Method::Stored => self.packed == self.unpacked,
            Method::Deflate => self.packed > 0 && self.unpacked / DEFLATE_MOST <= self.packed,
            Method::Zstd => self.packed > 0,
        };
        // A folder may carry an empty deflate stream.
        if !possible {
            return Err(MemberFault::ImpossibleSize {
                packed: self.packed,
                unpacked: self.unpacked,
            });
        }
        Ok((method, kind))
    }

    fn kind(&self) -> Result<Kind, MemberFault> {
        const UNIX: [u8; 2] = [3, 19];
        let is_dir = self.name.ends_with(b"/");
        // Readers differ in whether they heed the type bits of archives made elsewhere: so they count always.
        let mode = self.external >> 16;
        let marked_dir = match mode & 0o170_000 {
            0 => None,
            0o100_000 => Some(false),
            0o040_000 => Some(true),
            0o120_000 => return Err(MemberFault::Symlink),
            other => return Err(MemberFault::SpecialFile(other)),
        };
        let dos_dir = self.external & 0x10 != 0;
        if marked_dir.is_some_and(|marked| marked != is_dir)
            || (dos_dir && !is_dir)
            || (is_dir && self.unpacked != 0)
        {
            return Err(MemberFault::FolderOrFile);
        }
        let mode = (UNIX.contains(&self.host) && mode != 0).then_some(mode & 0o777);
        Ok(Kind { is_dir, mode })
    }
}

/// The extra fields that matter.
#[derive(Debug, Default)]
pub(super) struct Extra<'a> {
    pub zip64: Option<&'a [u8]>,
}

impl<'a> Extra<'a> {
    pub const ZIP64_SHORT: MemberFault =
        MemberFault::Extra("the zip64 field lacks a value that is asked for");
    const ZIP64: u16 = 1;
    const AES: u16 = 0x9901;
    const UNICODE_NAME: u16 = 0x7075;

    /// Walks the fields; they must fill the space exactly, but for up to three zero bytes of alignment.
    pub fn read(mut bytes: &'a [u8], name: &[u8]) -> Result<Self, MemberFault> {
        let mut extra = Self::default();
        while let (Some(id), Some(len)) = (u16_at(bytes, 0), u16_at(bytes, 2)) {
            let body = bytes_at(bytes, 4, len.into())
                .ok_or(MemberFault::Extra("a field reaches beyond their end"))?;
            match id {
                Self::ZIP64 if extra.zip64.is_some() => {
                    return Err(MemberFault::Extra("there are two zip64 fields"));
                }
                Self::ZIP64 => extra.zip64 = Some(body),
                Self::AES => return Err(MemberFault::Encrypted),
                Self::UNICODE_NAME if body.get(5..) != Some(name) => {
                    return Err(MemberFault::Extra("one of them gives another name"));
                }
                _ => {}
            }
            bytes = bytes.get(4 + usize::from(len)..).unwrap_or_default();
        }
        if bytes.iter().any(|byte| *byte != 0) {
            return Err(MemberFault::Extra("some bytes are in no field"));
        }
        Ok(extra)
    }
}

/// Takes numbers off the front of a byte string.
pub(super) struct Cursor<'a>(pub &'a [u8]);

impl Cursor<'_> {
    pub fn next_u64(&mut self) -> Option<u64> {
        let value = u64_at(self.0, 0)?;
        self.0 = self.0.get(8..)?;
        Some(value)
    }

    pub fn next_u32(&mut self) -> Option<u32> {
        let value = u32_at(self.0, 0)?;
        self.0 = self.0.get(4..)?;
        Some(value)
    }
}
