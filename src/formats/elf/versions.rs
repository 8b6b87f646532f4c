//! The GNU version sections (Linux Standard Base, "Symbol Versioning"): what a file asks of its libraries and what it
//! offers itself. Both are chains of relative steps; a step of zero ends them, and counts are capped, so no loop is endless.

use super::reader::{ElfError, Strings, View};

/// More entries than any real file has.
const MAX_ENTRIES: u64 = 65_536;
const BASE: u16 = 1;

/// Reads `Elf_Verneed` records at file offset `start`: library and versions, in file order.
pub(super) fn needs(
    view: &View<'_>,
    strings: &Strings<'_>,
    start: u64,
    count: u64,
) -> Result<Vec<(String, Vec<String>)>, ElfError> {
    let what = "version need";
    let mut out: Vec<(String, Vec<String>)> = Vec::new();
    let mut left = MAX_ENTRIES;
    let mut at = step(start, 0, what)?;
    for _ in 0..count.min(MAX_ENTRIES) {
        let names = u64::from(view.u16(at + 2, what)?);
        let library = strings.get(u64::from(view.u32(at + 4, what)?), what)?;
        let mut name_at = step(at, view.u32(at + 8, what)?, what)?;
        let mut versions = Vec::new();
        for _ in 0..names {
            left = spend(left, what, name_at)?;
            versions.push(strings.get(u64::from(view.u32(name_at + 8, what)?), what)?);
            let next = view.u32(name_at + 12, what)?;
            if next == 0 {
                break;
            }
            name_at = step(name_at, next, what)?;
        }
        out.push((library, versions));
        let next = view.u32(at + 12, what)?;
        if next == 0 {
            break;
        }
        at = step(at, next, what)?;
    }
    Ok(out)
}

/// Reads `Elf_Verdef` records at file offset `start`: the versions the file defines, without its base name.
pub(super) fn definitions(
    view: &View<'_>,
    strings: &Strings<'_>,
    start: u64,
    count: u64,
) -> Result<Vec<String>, ElfError> {
    let what = "version definition";
    let mut out = Vec::new();
    let mut at = step(start, 0, what)?;
    for _ in 0..count.min(MAX_ENTRIES) {
        let flags = view.u16(at + 2, what)?;
        if flags & BASE == 0 && view.u16(at + 6, what)? > 0 {
            // The first name is the version, those after it are the versions it follows.
            let name_at = step(at, view.u32(at + 12, what)?, what)?;
            out.push(strings.get(u64::from(view.u32(name_at, what)?), what)?);
        }
        let next = view.u32(at + 16, what)?;
        if next == 0 {
            break;
        }
        at = step(at, next, what)?;
    }
    Ok(out)
}

fn step(at: u64, by: u32, what: &'static str) -> Result<u64, ElfError> {
    // The sum stays far from the end of u64, so that fields can be addressed without a check each.
    at.checked_add(u64::from(by))
        .filter(|next| *next < u64::MAX / 2)
        .ok_or(ElfError::Outside { what, offset: at })
}

fn spend(left: u64, what: &'static str, offset: u64) -> Result<u64, ElfError> {
    left.checked_sub(1).ok_or(ElfError::Bad {
        what,
        offset,
        why: "belongs to a longer chain than any real file has",
    })
}
