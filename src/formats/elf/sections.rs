//! Where the data of an ELF file lies: its sections, or its segments where it has none.

use goblin::container::Ctx;
use goblin::elf::section_header as sh;
use goblin::elf::{Elf, ProgramHeader, SectionHeader, program_header as pt};

use super::reader::ElfError;

/// More sections than any real file has (device code has one or more per kernel).
const MAX_SECTIONS: u64 = 1 << 20;

/// The longest name of a section that is told.
const MAX_NAME: usize = 4096;
/// All parts together may be so many times as long as the file: in real files they hardly overlap.
const MAX_OVERLAP: u64 = 4;

/// A part of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Section<'a> {
    /// Name; empty for a segment.
    pub name: &'a str,
    /// Offset in the file.
    pub offset: u64,
    /// Its bytes.
    pub bytes: &'a [u8],
    /// It is mapped when the file is loaded.
    pub loaded: bool,
    /// It holds code of the processor.
    pub executable: bool,
}

/// The sections that have bytes in the file, in file order of their headers; the segments where there are no sections.
///
/// # Errors
/// Says what is wrong at which offset.
pub fn sections(bytes: &[u8]) -> Result<Vec<Section<'_>>, ElfError> {
    let header = Elf::parse_header(bytes).map_err(|_| ElfError::NotElf)?;
    let (Ok(container), Ok(endian)) = (header.container(), header.endianness()) else {
        return Err(ElfError::NotElf);
    };
    let ctx = Ctx::new(container, endian);
    if header.e_shoff == 0 {
        return segments(bytes, header.e_phoff, header.e_phnum, ctx);
    }
    let what = "section header table";
    let outside = ElfError::Outside {
        what,
        offset: header.e_shoff,
    };
    let size = SectionHeader::size(ctx) as u64;
    if u64::from(header.e_shentsize) != size {
        let why = "has entries of an unknown size";
        return Err(ElfError::Bad {
            what,
            offset: header.e_shoff,
            why,
        });
    }
    let start = usize::try_from(header.e_shoff).map_err(|_| outside.clone())?;
    // The first header tells numbers that do not fit the file header.
    let first = SectionHeader::parse_from(bytes, start, 1, ctx).map_err(|_| outside.clone())?;
    let first = first.first().ok_or_else(|| outside.clone())?;
    let count = match header.e_shnum {
        0 => first.sh_size,
        n => u64::from(n),
    };
    let names = match u32::from(header.e_shstrndx) {
        sh::SHN_XINDEX => first.sh_link,
        n => n,
    };
    if count == 0 || count > MAX_SECTIONS {
        return Err(outside);
    }
    let headers =
        SectionHeader::parse_from(bytes, start, count as usize, ctx).map_err(|_| outside)?;
    let names = headers
        .get(names as usize)
        .and_then(|h| data(bytes, h))
        .unwrap_or_default();
    let parts = headers
        .iter()
        .filter(|h| !matches!(h.sh_type, sh::SHT_NOBITS | sh::SHT_NULL))
        .filter_map(|h| {
            Some(Section {
                name: name(names, h.sh_name),
                offset: h.sh_offset,
                bytes: data(bytes, h)?,
                loaded: h.sh_flags & u64::from(sh::SHF_ALLOC) != 0,
                executable: h.sh_flags & u64::from(sh::SHF_EXECINSTR) != 0,
            })
        });
    bounded(parts, bytes, what, header.e_shoff)
}

/// Refuses a table whose parts lie on each other so often that looking through all of them would have no end.
fn bounded<'a>(
    parts: impl Iterator<Item = Section<'a>>,
    bytes: &[u8],
    what: &'static str,
    offset: u64,
) -> Result<Vec<Section<'a>>, ElfError> {
    let mut left = (bytes.len() as u64).saturating_mul(MAX_OVERLAP);
    let mut out = Vec::new();
    for part in parts {
        left = left
            .checked_sub(part.bytes.len() as u64)
            .ok_or(ElfError::Bad {
                what,
                offset,
                why: "has more parts on top of each other than any real file",
            })?;
        out.push(part);
    }
    Ok(out)
}

fn data<'a>(bytes: &'a [u8], header: &SectionHeader) -> Option<&'a [u8]> {
    range(bytes, header.sh_offset, header.sh_size)
}

fn range(bytes: &[u8], offset: u64, size: u64) -> Option<&[u8]> {
    let start = usize::try_from(offset).ok()?;
    let end = usize::try_from(offset.checked_add(size)?).ok()?;
    bytes.get(start..end)
}

fn name(names: &[u8], at: usize) -> &str {
    let rest = names.get(at..).unwrap_or_default();
    let rest = rest.get(..MAX_NAME).unwrap_or(rest);
    let end = memchr::memchr(0, rest).unwrap_or(0);
    std::str::from_utf8(rest.get(..end).unwrap_or_default()).unwrap_or_default()
}

fn segments(bytes: &[u8], offset: u64, count: u16, ctx: Ctx) -> Result<Vec<Section<'_>>, ElfError> {
    let what = "program header table";
    let outside = || ElfError::Outside { what, offset };
    let start = usize::try_from(offset).map_err(|_| outside())?;
    let table = bytes.get(start..).ok_or_else(outside)?;
    let headers = ProgramHeader::parse(table, 0, usize::from(count), ctx).map_err(|_| outside())?;
    let parts = headers
        .iter()
        .filter(|h| h.p_type == pt::PT_LOAD)
        .filter_map(|h| {
            Some(Section {
                name: "",
                offset: h.p_offset,
                bytes: range(bytes, h.p_offset, h.p_filesz)?,
                loaded: true,
                executable: h.p_flags & pt::PF_X != 0,
            })
        });
    bounded(parts, bytes, what, offset)
}
