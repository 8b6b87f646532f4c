//! Symbols of the dynamic symbol table (System V gABI, "Symbol Table"): what a file gives to others and what it wants of
//! them. Kept are names of C++ outside of the standard library and of CPython's C interface: of the others the version needs
//! tell enough. What is given is kept as a set of 32-bit hashes, so that libraries with 100,000 symbols cost a few hundred
//! kilobytes; a missing symbol is overlooked with the chance of a collision, far below one in a thousand.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD as BASE64;
use goblin::container::Ctx;
use goblin::elf::section_header::{SHT_DYNSYM, SectionHeader};
use goblin::elf::{Elf, sym};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::base::segments::xxh3;

/// So many wanted names of one file are kept.
const MAX_WANTED: usize = 20_000;
/// The longest name that is kept.
const MAX_NAME: usize = 4096;
/// The names of all symbols together may be so many times as long as the table of names, which linkers fill once.
const MAX_SHARED: usize = 8;
/// More symbols than any real file has.
const MAX_SYMBOLS: u64 = 1 << 24;

/// Symbols of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Symbols {
    /// What it defines for others.
    #[serde(skip_serializing_if = "SymbolSet::is_empty")]
    pub given: SymbolSet,
    /// What it must find elsewhere when it is loaded or first calls it, sorted; weak ones are not among them.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub wanted: BTreeSet<String>,
}

impl Symbols {
    /// True where there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty() && self.wanted.is_empty()
    }
}

/// A set of symbol names, as sorted hashes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SymbolSet(Vec<u32>);

impl SymbolSet {
    /// The set of these names.
    pub fn of<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let mut hashes: Vec<u32> = names.into_iter().map(hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }

    /// Everything in any of these sets.
    pub fn union<'a>(sets: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut hashes: Vec<u32> = sets.into_iter().flat_map(|s| s.0.iter().copied()).collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self(hashes)
    }

    /// True where the name is, or collides with one that is, in the set.
    pub fn has(&self, name: &str) -> bool {
        self.0.binary_search(&hash(name)).is_ok()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True where there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn hash(name: &str) -> u32 {
    xxh3(name.as_bytes()) as u32
}

/// Base64 of the differences between neighbours, seven bits a byte, the lowest first.
impl Serialize for SymbolSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut bytes = Vec::with_capacity(self.0.len() * 3);
        let mut last = 0;
        for hash in &self.0 {
            let mut step = hash - last;
            last = *hash;
            while step >= 0x80 {
                bytes.push((step & 0x7f) as u8 | 0x80);
                step >>= 7;
            }
            bytes.push(step as u8);
        }
        serializer.serialize_str(&BASE64.encode(bytes))
    }
}

impl<'de> Deserialize<'de> for SymbolSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let bad = || serde::de::Error::custom("not a set of symbols");
        let text = std::borrow::Cow::<str>::deserialize(deserializer)?;
        let bytes = BASE64.decode(text.as_bytes()).map_err(|_| bad())?;
        let (mut out, mut last, mut step, mut shift) = (Vec::new(), 0u32, 0u32, 0u32);
        for byte in bytes {
            let part = u32::from(byte & 0x7f).checked_shl(shift);
            step |= part.ok_or_else(bad)?;
            shift += 7;
            if byte & 0x80 == 0 {
                last = last.checked_add(step).ok_or_else(bad)?;
                out.push(last);
                (step, shift) = (0, 0);
            }
        }
        let ascends = out.array_windows().all(|[a, b]| a < b);
        if shift == 0 && ascends {
            Ok(Self(out))
        } else {
            Err(bad())
        }
    }
}

/// The symbols of a shared object or program; none where it has no section of dynamic symbols.
pub fn symbols(bytes: &[u8]) -> Symbols {
    read(bytes).unwrap_or_default()
}

fn read(bytes: &[u8]) -> Option<Symbols> {
    let header = Elf::parse_header(bytes).ok()?;
    let ctx = Ctx::new(header.container().ok()?, header.endianness().ok()?);
    let (start, count) = (
        usize::try_from(header.e_shoff).ok()?,
        usize::from(header.e_shnum),
    );
    let has_table =
        header.e_shoff != 0 && usize::from(header.e_shentsize) == SectionHeader::size(ctx);
    if !has_table
        || bytes.len() < start.checked_add(count.checked_mul(SectionHeader::size(ctx))?)?
    {
        return None;
    }
    let headers = SectionHeader::parse_from(bytes, start, count, ctx).ok()?;
    let table = headers.iter().find(|h| h.sh_type == SHT_DYNSYM)?;
    let strings = headers.get(table.sh_link as usize)?;
    let part = |h: &SectionHeader| {
        let end = h.sh_offset.checked_add(h.sh_size)?;
        bytes.get(usize::try_from(h.sh_offset).ok()?..usize::try_from(end).ok()?)
    };
    let (table, strings) = (part(table)?, part(strings)?);
    let size = sym::Sym::size(ctx.container);
    let (mut given, mut wanted) = (Vec::new(), BTreeSet::new());
    let mut left = strings.len().saturating_mul(MAX_SHARED);
    for entry in table.chunks_exact(size).take(MAX_SYMBOLS as usize) {
        let Some(symbol) = parsed(entry, ctx) else {
            continue;
        };
        if symbol.st_bind() == sym::STB_LOCAL {
            continue;
        }
        let Some(name) = name(strings, symbol.st_name) else {
            continue;
        };
        left = left.checked_sub(name.len())?;
        if !is_kept(name) {
            continue;
        }
        if symbol.st_shndx != 0 {
            given.push(name);
        } else if symbol.st_bind() == sym::STB_GLOBAL && wanted.len() < MAX_WANTED {
            wanted.insert(name.to_owned());
        }
    }
    let symbols = Symbols {
        given: SymbolSet::of(given),
        wanted,
    };
    Some(symbols)
}

fn parsed(bytes: &[u8], ctx: Ctx) -> Option<sym::Sym> {
    use goblin::elf::sym::Symtab;
    Symtab::parse(bytes, 0, 1, ctx).ok()?.get(0)
}

fn name(strings: &[u8], at: usize) -> Option<&str> {
    let rest = strings.get(at..)?;
    let rest = rest.get(..MAX_NAME.min(rest.len()))?;
    std::str::from_utf8(rest.get(..memchr::memchr(0, rest)?)?).ok()
}

/// C++ names outside of the standard library, and CPython's.
fn is_kept(name: &str) -> bool {
    if name.starts_with("Py") || name.starts_with("_Py") {
        return true;
    }
    let Some(rest) = name.strip_prefix("_Z") else {
        return false;
    };
    // The parts of a mangled name before its own: tables and guards, nesting, qualifiers.
    let rest = ["TV", "TI", "TS", "GV", "TT"]
        .iter()
        .find_map(|prefix| rest.strip_prefix(prefix))
        .unwrap_or(rest);
    let inner = rest.strip_prefix('N').unwrap_or(rest);
    let inner = inner.trim_start_matches(['K', 'V', 'R', 'O', 'r']);
    let is_standard = [
        "St",
        "Sa",
        "Ss",
        "Sb",
        "Si",
        "So",
        "Sd",
        "9__gnu_cxx",
        "10__cxxabiv1",
    ]
    .iter()
    .any(|prefix| inner.starts_with(prefix));
    let is_operator = ["nw", "na", "dl", "da"]
        .iter()
        .any(|op| rest.starts_with(op));
    !is_standard && !is_operator
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_names_of_libraries_and_not_of_the_standard_one() {
        for name in [
            "_ZN3c105ErrorC1ENS_14SourceLocationESs",
            "_ZNK2at6Tensor3dimEv",
            "_ZTVN5torch3jit6ModuleE",
            "PyObject_Call",
            "_Py_Dealloc",
        ] {
            assert!(is_kept(name), "{name}");
        }
        for name in [
            "_ZNSt6vectorIiSaIiEE9push_backEOi",
            "_ZSt4cout",
            "_ZNKSs4sizeEv",
            "_Znwm",
            "_ZdlPv",
            "_ZTVN10__cxxabiv117__class_type_infoE",
            "_ZTISt9exception",
            "malloc",
        ] {
            assert!(!is_kept(name), "{name}");
        }
    }

    #[test]
    fn a_set_comes_back_and_bad_texts_do_not() {
        let names: Vec<String> = (0..5000).map(|n| format!("_ZN1a{n}Ev")).collect();
        let set = SymbolSet::of(names.iter().map(String::as_str));
        let text = serde_json::to_string(&set).unwrap();
        // Steps of about 2^20 are three bytes, four characters; a list of numbers would take eleven.
        assert!(text.len() < 5000 * 5, "{}", text.len());
        let back: SymbolSet = serde_json::from_str(&text).unwrap();
        assert_eq!(back, set);
        assert!(names.iter().all(|name| back.has(name)));
        assert!(
            (0..5000)
                .filter(|n| back.has(&format!("_ZN2b{n}Ev")))
                .count()
                < 3
        );
        for bad in ["\"?\"", "\"gA\"", "\"//////////8\"", "\"AQAA\""] {
            assert!(serde_json::from_str::<SymbolSet>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn any_bytes_are_answered() {
        assert!(symbols(b"").is_empty());
        assert!(symbols(b"\x7fELF\x02\x01\x01").is_empty());
    }
}
