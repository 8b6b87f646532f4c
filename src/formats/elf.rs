//! Facts of an ELF file: what the audit needs to know, read once while the bytes pass.

use serde::{Deserialize, Serialize};

/// Facts of one ELF file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ElfFacts {
    /// `e_machine` (62 x86-64, 183 AArch64, 190 CUDA cubin).
    pub machine: u16,
    /// 64-bit class.
    pub is_64: bool,
    /// `e_type` (2 EXEC, 3 DYN).
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
    /// Version definitions.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub version_defs: Vec<String>,
    /// GNU build id, hex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub build_id: Option<String>,
}

impl ElfFacts {
    /// True for a program (type EXEC, or DYN with an interpreter) as opposed to a library.
    pub fn is_program(&self) -> bool {
        self.file_type == 2 || (self.file_type == 3 && self.interpreter.is_some())
    }
}
