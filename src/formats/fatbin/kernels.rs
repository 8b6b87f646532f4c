//! Kernels of an entry: sections `.text.NAME` of a cubin, `.entry NAME` of PTX.

use super::container::{Container, Item};
use super::decode::{DecodeError, decode};
use super::shape::Kind;
use super::single;
use crate::formats::elf;

/// Larger entries are taken to have kernels without a look inside.
const LOOK_INSIDE: u64 = 512 << 10;

/// What is inside an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Kernels {
    /// Kernel names, sorted, as the compiler mangled them.
    pub names: Vec<String>,
    /// Of PTX, what `.version` says.
    pub ptx_version: Option<String>,
    /// Of PTX, what `.target` says.
    pub ptx_target: Option<String>,
}

/// Why kernels could not be listed.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The entry could not be unpacked.
    #[error("could not unpack the code")]
    Decode(#[from] DecodeError),
    /// The cubin could not be read.
    #[error("the cubin in the entry at offset {offset:#x} cannot be read")]
    Cubin {
        /// Where the entry is.
        offset: u64,
        /// What is wrong with it.
        #[source]
        source: elf::ElfError,
    },
}

/// Lists the kernels of an entry; none for what is neither cubin nor PTX.
///
/// # Errors
/// Where the entry cannot be unpacked or read.
pub fn kernels(item: &Item<'_>) -> Result<Kernels, KernelError> {
    match Kind::from(item.kind) {
        Kind::Sass => {
            let cubin = decode(item)?;
            let names = of_cubin(&cubin).map_err(|source| KernelError::Cubin {
                offset: item.offset,
                source,
            })?;
            Ok(Kernels {
                names,
                ..Kernels::default()
            })
        }
        Kind::Ptx => Ok(of_ptx(&decode(item)?)),
        Kind::Lto | Kind::Other(_) => Ok(Kernels::default()),
    }
}

/// Kernels of a file that is itself a cubin or PTX; `None` for any other.
///
/// # Errors
/// A cubin that cannot be read.
pub fn kernels_of_file(bytes: &[u8]) -> Result<Option<Kernels>, KernelError> {
    if single::is_ptx(bytes) {
        return Ok(Some(of_ptx(bytes)));
    }
    if single::shape(bytes).is_none() {
        return Ok(None);
    }
    let names = of_cubin(bytes).map_err(|source| KernelError::Cubin { offset: 0, source })?;
    Ok(Some(Kernels {
        names,
        ..Kernels::default()
    }))
}

/// Kernels of a cubin.
///
/// # Errors
/// Where it cannot be read.
pub(super) fn of_cubin(bytes: &[u8]) -> Result<Vec<String>, elf::ElfError> {
    let mut names: Vec<String> = elf::sections(bytes)?
        .iter()
        .filter_map(|s| s.name.strip_prefix(".text."))
        .map(str::to_owned)
        .collect();
    names.sort();
    Ok(names)
}

/// Kernels, version and target of PTX.
pub(super) fn of_ptx(bytes: &[u8]) -> Kernels {
    let text = String::from_utf8_lossy(bytes);
    let mut out = Kernels::default();
    for line in text.lines() {
        let line = line.trim_start();
        let word = |rest: &str| rest.trim().trim_end_matches('\0').to_owned();
        if let Some(rest) = line.strip_prefix(".version ") {
            out.ptx_version.get_or_insert_with(|| word(rest));
        } else if let Some(rest) = line.strip_prefix(".target ") {
            out.ptx_target.get_or_insert_with(|| word(rest));
        } else if let Some((before, rest)) = line.split_once(".entry ")
            && before.split_whitespace().all(|w| w.starts_with('.'))
        {
            let end = rest
                .find(|c: char| c == '(' || c.is_whitespace())
                .unwrap_or(rest.len());
            out.names
                .extend(rest.get(..end).filter(|n| !n.is_empty()).map(str::to_owned));
        }
    }
    out.names.sort();
    out
}

/// True where no entry has a kernel. Doubt counts as kernels: large entries, unknown kinds, what cannot be unpacked.
pub(super) fn is_empty(container: &Container<'_>) -> bool {
    let may_look = |item: &&Item<'_>| {
        item.size() <= LOOK_INSIDE
            && !item.is_obfuscated()
            && matches!(Kind::from(item.kind), Kind::Sass | Kind::Ptx)
    };
    // The smallest first: one kernel is enough to know.
    let mut items: Vec<&Item<'_>> = container.items.iter().collect();
    items.sort_by_key(|item| item.size());
    items.iter().all(may_look) && items.into_iter().all(|item| !may_have_kernels(item))
}

fn may_have_kernels(item: &Item<'_>) -> bool {
    let Ok(code) = decode(item) else { return true };
    match Kind::from(item.kind) {
        Kind::Ptx => memchr::memmem::find(&code, b".entry").is_some(),
        _ => elf::sections(&code).map_or(true, |s| s.iter().any(|s| s.name.starts_with(".text."))),
    }
}
