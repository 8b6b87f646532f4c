//! Facts of an ELF file: what the audit needs to know, read once while the bytes pass. [`read`] touches the headers, the
//! dynamic section, its strings, the version sections and the notes, so a mapped gigabyte costs a few pages.
//! Any bytes at all are answered with facts or an error that names an offset; nothing is allocated by a claimed size.

mod reader;
mod sections;
mod strings;
mod symbols;
mod versions;

use serde::{Deserialize, Serialize};

use super::fatbin::GpuFacts;
use crate::base::target::Arch;

pub use reader::{ElfError, is_elf, read};
pub use sections::{Section, sections};
pub use strings::{Named, named};
pub use symbols::{SymbolSet, Symbols, symbols};

/// `e_machine` of x86-64.
pub const MACHINE_X86_64: u16 = 62;
/// `e_machine` of AArch64.
pub const MACHINE_AARCH64: u16 = 183;
/// `e_machine` of CUDA device code.
pub const MACHINE_CUDA: u16 = 190;

/// Facts of one ELF file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "flags of a file, each its own"
)]
pub struct ElfFacts {
    /// `e_machine` (62 x86-64, 183 AArch64, 190 CUDA cubin).
    pub machine: u16,
    /// 64-bit class.
    pub is_64: bool,
    /// Big-endian data; such a file is of no use on any target.
    #[serde(skip_serializing_if = "is_false")]
    pub big_endian: bool,
    /// `e_type` (1 REL, 2 EXEC, 3 DYN).
    pub file_type: u16,
    /// PT_INTERP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interpreter: Option<String>,
    /// DT_SONAME.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub soname: Option<String>,
    /// DT_NEEDED, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needed: Vec<String>,
    /// DT_RPATH elements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rpath: Vec<String>,
    /// DT_RUNPATH elements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub runpath: Vec<String>,
    /// Version needs: library and versions (`libc.so.6` → `GLIBC_2.28` …).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub version_needs: Vec<(String, Vec<String>)>,
    /// Version definitions, without the file's own base name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub version_defs: Vec<String>,
    /// GNU build id, hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
    /// The stack is asked to be executable (PT_GNU_STACK with the X flag).
    #[serde(skip_serializing_if = "is_false")]
    pub executable_stack: bool,
    /// The loader has to write into the text (DT_TEXTREL or DF_TEXTREL).
    #[serde(skip_serializing_if = "is_false")]
    pub text_relocations: bool,
    /// The file wants its thread-local storage in the static block (DF_STATIC_TLS).
    #[serde(skip_serializing_if = "is_false")]
    pub static_tls: bool,
    /// Bytes of thread-local storage (PT_TLS).
    #[serde(skip_serializing_if = "is_zero")]
    pub tls_size: u64,
    /// Highest alignment of a PT_LOAD: the largest page size the file can be mapped with.
    #[serde(skip_serializing_if = "is_zero")]
    pub load_align: u64,
    /// GNU_PROPERTY_X86_ISA_1_NEEDED (bit 0 baseline, 1 v2, 2 v3, 3 v4); `None` where no note says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub x86_isa_needed: Option<u32>,
    /// GPU code inside, see [`GpuFacts::read`]; not read by [`read`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<Box<GpuFacts>>,
    /// Dynamic symbols, see [`symbols`]; not read by [`read`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub symbols: Option<Box<Symbols>>,
    /// Names of libraries that stand in its data as strings; not read by [`read`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named_libraries: Vec<String>,
    /// Of a program, the GPU targets that stand in its data as strings (`sm_90a`); not read by [`read`].
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub named_targets: Vec<String>,
}

/// [`read`], and what costs a look at all data: GPU code, symbols, names.
///
/// # Errors
/// Says what is wrong at which offset.
pub fn read_deep(bytes: &[u8]) -> Result<ElfFacts, ElfError> {
    read_deep_with(bytes, &mut |_| {})
}

/// [`read_deep`], which calls `passed` now and then with an offset before which GPU code was read.
///
/// # Errors
/// Says what is wrong at which offset.
pub fn read_deep_with(bytes: &[u8], passed: &mut dyn FnMut(u64)) -> Result<ElfFacts, ElfError> {
    let mut facts = read(bytes)?;
    facts.gpu = GpuFacts::read_with(bytes, true, passed).map(Box::new);
    if facts.is_loadable() {
        let symbols = symbols(bytes);
        facts.symbols = (!symbols.is_empty()).then(|| Box::new(symbols));
        let named = named(bytes);
        facts.named_libraries = named.libraries;
        if facts.is_program() {
            facts.named_targets = named.targets;
        }
    }
    Ok(facts)
}

impl ElfFacts {
    /// True for a program (type EXEC, or DYN with an interpreter) as opposed to a library.
    pub fn is_program(&self) -> bool {
        self.file_type == 2 || (self.file_type == 3 && self.interpreter.is_some())
    }

    /// True for what the dynamic loader can map: a program or a shared object, not an object file or a cubin.
    pub fn is_loadable(&self) -> bool {
        matches!(self.file_type, 2 | 3) && self.machine != MACHINE_CUDA
    }

    /// True where the file is in the form that hosts of `arch` load.
    pub fn fits(&self, arch: Arch) -> bool {
        let machine = match arch {
            Arch::Amd64 => MACHINE_X86_64,
            Arch::Arm64 => MACHINE_AARCH64,
        };
        self.machine == machine && self.is_64 && !self.big_endian
    }

    /// The folders `DT_RUNPATH` names, else those of `DT_RPATH`: the loader ignores the latter where both stand.
    pub fn search_path(&self) -> &[String] {
        if self.runpath.is_empty() {
            &self.rpath
        } else {
            &self.runpath
        }
    }
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape serde asks for"
)]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the shape serde asks for"
)]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
