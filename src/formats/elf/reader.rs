//! Reads the headers and the dynamic section (System V gABI, "Program Loading and Dynamic Linking"; GNU notes by the
//! Linux gABI extensions). Addresses of the dynamic section are turned into file offsets through PT_LOAD, as the loader
//! does, so files without section headers are read just as well.

use std::cell::Cell;

use goblin::container::{Container, Ctx};
use goblin::elf::dynamic as dt;
use goblin::elf::program_header as pt;
use goblin::elf::{Dynamic, Elf, ProgramHeader};

use super::{ElfFacts, versions};

/// The longest string taken from a string table.
const MAX_STRING: usize = 8192;
/// The most bytes that all strings of one file's tables may have: a table may name one place again and again.
const MAX_TEXT: u64 = 4 << 20;
/// The most bytes of dynamic entries, and of the notes of all segments, that are looked at.
const MAX_DYNAMIC: u64 = 1 << 20;
const MAX_NOTES: u64 = 1 << 20;

/// Why bytes could not be read as ELF.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ElfError {
    /// No ELF magic number.
    #[error("not an ELF file: no magic number at offset 0")]
    NotElf,
    /// Something lies outside the file.
    #[error("{what} at offset {offset:#x} lies outside the file")]
    Outside {
        /// What was looked for.
        what: &'static str,
        /// Where it should be.
        offset: u64,
    },
    /// Something is there but makes no sense.
    #[error("{what} at offset {offset:#x} {why}")]
    Bad {
        /// What was looked at.
        what: &'static str,
        /// Where it is.
        offset: u64,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// True where `bytes` begin with the ELF magic number.
pub fn is_elf(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\x7fELF")
}

/// Reads the facts of an ELF file.
///
/// # Errors
/// Says what is wrong at which offset.
pub fn read(bytes: &[u8]) -> Result<ElfFacts, ElfError> {
    if !is_elf(bytes) {
        return Err(ElfError::NotElf);
    }
    let header = Elf::parse_header(bytes).map_err(|_| ElfError::Bad {
        what: "ELF header",
        offset: 0,
        why: "is cut short or of an unknown class or byte order",
    })?;
    let big_endian = !header.endianness().is_ok_and(|e| e.is_little());
    let is_64 = header.container().is_ok_and(|c| c == Container::Big);
    let mut facts = ElfFacts {
        machine: header.e_machine,
        is_64,
        big_endian,
        file_type: header.e_type,
        ..ElfFacts::default()
    };
    if header.e_phnum == 0 {
        return Ok(facts);
    }
    let container = if is_64 {
        Container::Big
    } else {
        Container::Little
    };
    let endian = header.endianness().unwrap_or_default();
    let ctx = Ctx::new(container, endian);
    let view = View { bytes, big_endian };
    let segments = program_headers(
        &view,
        header.e_phoff,
        header.e_phnum,
        header.e_phentsize,
        ctx,
    )?;
    let mut note_bytes = MAX_NOTES;
    for segment in &segments {
        match segment.p_type {
            pt::PT_INTERP => {
                let text = view.take(segment.p_offset, segment.p_filesz, "program interpreter")?;
                facts.interpreter = Some(c_string(text, segment.p_offset, "program interpreter")?);
            }
            pt::PT_GNU_STACK => facts.executable_stack = segment.p_flags & pt::PF_X != 0,
            pt::PT_LOAD => facts.load_align = facts.load_align.max(segment.p_align),
            pt::PT_TLS => facts.tls_size = facts.tls_size.saturating_add(segment.p_memsz),
            pt::PT_NOTE => notes(&view, segment, is_64, &mut note_bytes, &mut facts)?,
            _ => {}
        }
    }
    if facts.is_loadable() {
        dynamic_section(&view, &segments, ctx, &mut facts)?;
    }
    Ok(facts)
}

fn program_headers(
    view: &View<'_>,
    offset: u64,
    count: u16,
    entry_size: u16,
    ctx: Ctx,
) -> Result<Vec<ProgramHeader>, ElfError> {
    let what = "program header table";
    let size = ProgramHeader::size(ctx);
    if usize::from(entry_size) != size {
        let why = "has entries of an unknown size";
        return Err(ElfError::Bad { what, offset, why });
    }
    let table = view.take(offset, size as u64 * u64::from(count), what)?;
    ProgramHeader::parse(table, 0, usize::from(count), ctx)
        .map_err(|_| ElfError::Outside { what, offset })
}

fn dynamic_section(
    view: &View<'_>,
    segments: &[ProgramHeader],
    ctx: Ctx,
    facts: &mut ElfFacts,
) -> Result<(), ElfError> {
    let Some(place) = segments.iter().find(|s| s.p_type == pt::PT_DYNAMIC) else {
        return Ok(());
    };
    let (what, offset) = ("dynamic section", place.p_offset);
    // A file that holds only debug information keeps its program headers but not what they point at.
    if place.p_filesz == 0 {
        return Ok(());
    }
    if place.p_filesz > MAX_DYNAMIC {
        let why = "is larger than any real one";
        return Err(ElfError::Bad { what, offset, why });
    }
    view.take(offset, place.p_filesz, what)?;
    let dynamic = Dynamic::parse(view.bytes, std::slice::from_ref(place), ctx)
        .map_err(|_| ElfError::Outside { what, offset })?
        .unwrap_or(Dynamic {
            dyns: Vec::new(),
            info: dt::DynamicInfo::default(),
        });
    let value = |tag: u64| {
        dynamic
            .dyns
            .iter()
            .find(|d| d.d_tag == tag)
            .map(|d| d.d_val)
    };
    let Some(address) = value(dt::DT_STRTAB) else {
        return Ok(());
    };
    let strings = Strings::new(view, segments, address, value(dt::DT_STRSZ))?;
    for entry in &dynamic.dyns {
        match entry.d_tag {
            dt::DT_NEEDED => facts
                .needed
                .push(strings.get(entry.d_val, "needed library")?),
            dt::DT_SONAME => facts.soname = Some(strings.get(entry.d_val, "shared object name")?),
            dt::DT_RPATH => facts.rpath = strings.folders(entry.d_val, "RPATH")?,
            dt::DT_RUNPATH => facts.runpath = strings.folders(entry.d_val, "RUNPATH")?,
            dt::DT_TEXTREL => facts.text_relocations = true,
            dt::DT_FLAGS => {
                facts.text_relocations |= entry.d_val & dt::DF_TEXTREL != 0;
                facts.static_tls |= entry.d_val & dt::DF_STATIC_TLS != 0;
            }
            _ => {}
        }
    }
    let at = |tag, what| {
        value(tag)
            .map(|a| file_offset(segments, a, what))
            .transpose()
    };
    if let Some(start) = at(dt::DT_VERNEED, "version needs")? {
        let count = value(dt::DT_VERNEEDNUM).unwrap_or(0);
        facts.version_needs = versions::needs(view, &strings, start, count)?;
    }
    if let Some(start) = at(dt::DT_VERDEF, "version definitions")? {
        let count = value(dt::DT_VERDEFNUM).unwrap_or(0);
        facts.version_defs = versions::definitions(view, &strings, start, count)?;
    }
    Ok(())
}

/// Where an address lies in the file, by the PT_LOAD that holds it.
fn file_offset(
    segments: &[ProgramHeader],
    address: u64,
    what: &'static str,
) -> Result<u64, ElfError> {
    segments
        .iter()
        .filter(|s| s.p_type == pt::PT_LOAD)
        .find_map(|s| {
            let within = address.checked_sub(s.p_vaddr)?;
            (within < s.p_filesz).then(|| s.p_offset.checked_add(within))?
        })
        .ok_or(ElfError::Bad {
            what,
            offset: address,
            why: "is an address that no segment of the file holds",
        })
}

const NT_GNU_BUILD_ID: u32 = 3;
const NT_GNU_PROPERTY: u32 = 5;
const X86_ISA_1_NEEDED: u32 = 0xc000_8002;

/// Walks one PT_NOTE, of `left` bytes at most. Notes that make no sense end the walk: the loader ignores them too.
fn notes(
    view: &View<'_>,
    segment: &ProgramHeader,
    is_64: bool,
    left: &mut u64,
    facts: &mut ElfFacts,
) -> Result<(), ElfError> {
    let bytes = view.take(segment.p_offset, segment.p_filesz.min(*left), "notes")?;
    *left -= bytes.len() as u64;
    let note = View { bytes, ..*view };
    let align = if segment.p_align == 8 { 8 } else { 4 };
    let round = |n: u64| n.next_multiple_of(align);
    let mut at = 0u64;
    while let (Ok(name_size), Ok(size), Ok(kind)) = (
        note.u32(at, "note"),
        note.u32(at + 4, "note"),
        note.u32(at + 8, "note"),
    ) {
        let name_at = at + 12;
        let data_at = round(name_at + u64::from(name_size));
        let (Ok(name), Ok(data)) = (
            note.take(name_at, u64::from(name_size), "note"),
            note.take(data_at, u64::from(size), "note"),
        ) else {
            break;
        };
        match (name, kind) {
            (b"GNU\0", NT_GNU_BUILD_ID) if data.len() <= 64 => {
                facts.build_id = Some(
                    data.iter()
                        .fold(String::new(), |hex, b| hex + &format!("{b:02x}")),
                );
            }
            (b"GNU\0", NT_GNU_PROPERTY) => {
                let data = View {
                    bytes: data,
                    ..*view
                };
                facts.x86_isa_needed = x86_isa_needed(&data, is_64).or(facts.x86_isa_needed);
            }
            _ => {}
        }
        at = round(data_at + u64::from(size));
    }
    Ok(())
}

fn x86_isa_needed(data: &View<'_>, is_64: bool) -> Option<u32> {
    let mut at = 0;
    loop {
        let kind = data.u32(at, "property").ok()?;
        let size = data.u32(at + 4, "property").ok()?;
        if kind == X86_ISA_1_NEEDED && size == 4 {
            return data.u32(at + 8, "property").ok();
        }
        at = (at + 8 + u64::from(size)).next_multiple_of(if is_64 { 8 } else { 4 });
    }
}

/// Bytes with bounds: every read says what it was after and where.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl<'a> View<'a> {
    fn take(&self, offset: u64, size: u64, what: &'static str) -> Result<&'a [u8], ElfError> {
        let end = offset.checked_add(size);
        let range = usize::try_from(offset)
            .ok()
            .zip(end.and_then(|e| usize::try_from(e).ok()));
        range
            .and_then(|(start, end)| self.bytes.get(start..end))
            .ok_or(ElfError::Outside { what, offset })
    }

    pub(super) fn u16(&self, offset: u64, what: &'static str) -> Result<u16, ElfError> {
        let bytes = self.take(offset, 2, what)?;
        let bytes = bytes
            .try_into()
            .map_err(|_| ElfError::Outside { what, offset })?;
        Ok(if self.big_endian {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        })
    }

    pub(super) fn u32(&self, offset: u64, what: &'static str) -> Result<u32, ElfError> {
        let bytes = self.take(offset, 4, what)?;
        let bytes = bytes
            .try_into()
            .map_err(|_| ElfError::Outside { what, offset })?;
        Ok(if self.big_endian {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        })
    }
}

/// The dynamic string table.
pub(super) struct Strings<'a> {
    bytes: &'a [u8],
    offset: u64,
    /// Bytes that may still be taken.
    left: Cell<u64>,
}

impl<'a> Strings<'a> {
    fn new(
        view: &View<'a>,
        segments: &[ProgramHeader],
        address: u64,
        size: Option<u64>,
    ) -> Result<Self, ElfError> {
        let what = "dynamic string table";
        let offset = file_offset(segments, address, what)?;
        let bytes = view.take(offset, size.unwrap_or(0), what)?;
        Ok(Self {
            bytes,
            offset,
            left: Cell::new(MAX_TEXT),
        })
    }

    pub(super) fn get(&self, index: u64, what: &'static str) -> Result<String, ElfError> {
        let offset = self.offset.saturating_add(index);
        let rest = usize::try_from(index)
            .ok()
            .and_then(|i| self.bytes.get(i..));
        let rest = rest.ok_or(ElfError::Outside { what, offset })?;
        let text = c_string(rest, offset, what)?;
        let left = self.left.get().checked_sub(text.len() as u64 + 1);
        self.left.set(left.ok_or(ElfError::Bad {
            what,
            offset,
            why: "is one of more names than any real file has",
        })?);
        Ok(text)
    }

    fn folders(&self, index: u64, what: &'static str) -> Result<Vec<String>, ElfError> {
        let text = self.get(index, what)?;
        let parts = text.split(':').map(str::to_owned);
        Ok(if text.is_empty() {
            Vec::new()
        } else {
            parts.collect()
        })
    }
}

/// The text before the first NUL; bytes that are no UTF-8 become replacement characters.
fn c_string(bytes: &[u8], offset: u64, what: &'static str) -> Result<String, ElfError> {
    let head = &bytes[..bytes.len().min(MAX_STRING)];
    let end = memchr::memchr(0, head).ok_or(ElfError::Bad {
        what,
        offset,
        why: "has no end",
    })?;
    Ok(String::from_utf8_lossy(head.get(..end).unwrap_or_default()).into_owned())
}
