//! What is kept of a library's GPU code: containers with the same entries in the same kind of place are one shape with a
//! count, so that a library with tens of thousands of containers costs a few lines and coverage can still be told for each.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::container::{Container, Item};

/// What an entry holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Machine code (kind 2, a cubin).
    Sass,
    /// Assembly that a driver compiles (kind 1).
    Ptx,
    /// Intermediate code for link-time optimisation (kind 8).
    Lto,
    /// A kind this program does not know.
    #[serde(untagged)]
    Other(u16),
}

impl From<u16> for Kind {
    fn from(kind: u16) -> Self {
        match kind {
            1 => Self::Ptx,
            2 => Self::Sass,
            8 => Self::Lto,
            other => Self::Other(other),
        }
    }
}

/// Which devices of an architecture code is for, besides the plain rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Suffix {
    /// `sm_90`: this and later minor versions.
    Plain,
    /// `sm_90a`: exactly this one.
    A,
    /// `sm_100f`: the family.
    F,
}

/// One sort of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Code {
    /// What it is.
    pub kind: Kind,
    /// Architecture number, such as 90 or 121.
    pub arch: u16,
    /// Which devices of it.
    pub suffix: Suffix,
    /// For PTX, the version of the instruction set: major and minor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub isa: Option<(u8, u8)>,
    /// The payload is obfuscated: only its maker's libraries can read it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub obfuscated: bool,
}

impl Code {
    /// The code of an entry.
    pub fn of(item: &Item<'_>) -> Self {
        let kind = Kind::from(item.kind);
        Self {
            kind,
            arch: item.arch as u16,
            suffix: item.suffix(),
            isa: (kind == Kind::Ptx).then_some((item.major as u8, item.minor as u8)),
            obfuscated: item.is_obfuscated(),
        }
    }

    /// `sm_90a`, `compute_120`, `lto_75`.
    pub fn name(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.suffix {
            Suffix::Plain => "",
            Suffix::A => "a",
            Suffix::F => "f",
        };
        match self.kind {
            Kind::Sass => write!(f, "sm_{}{suffix}", self.arch),
            Kind::Ptx => write!(f, "compute_{}{suffix}", self.arch),
            Kind::Lto => write!(f, "lto_{}{suffix}", self.arch),
            Kind::Other(kind) => write!(f, "kind{kind:#x}_{}{suffix}", self.arch),
        }
    }
}

/// Containers that are alike.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Shape {
    /// Section they lie in; empty for a file that is a container itself, or without sections.
    pub section: String,
    /// What each holds, and how often.
    pub code: Vec<(Code, u32)>,
    /// None of their entries has a kernel.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub empty: bool,
    /// How many there are.
    pub containers: u32,
}

impl Shape {
    /// True for the inputs of a link that was done already: they run only where the driver links again.
    pub fn is_relocatable(&self) -> bool {
        self.section.starts_with("__nv_relfatbin")
    }
}

/// GPU code of one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct GpuFacts {
    /// Containers by shape, sorted.
    pub shapes: Vec<Shape>,
    /// What could not be read, with offsets.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
}

impl GpuFacts {
    /// True where there is nothing to tell.
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty() && self.faults.is_empty()
    }

    /// Containers of the kind of place `relocatable` says.
    pub fn containers(&self, relocatable: bool) -> u32 {
        let those = self
            .shapes
            .iter()
            .filter(|s| s.is_relocatable() == relocatable);
        those.map(|s| s.containers).sum()
    }

    /// Entries of each code, over all shapes that `wanted` picks.
    pub fn entries(&self, wanted: impl Fn(&Shape) -> bool) -> BTreeMap<Code, u32> {
        let mut out: BTreeMap<Code, u32> = BTreeMap::new();
        for shape in self.shapes.iter().filter(|s| wanted(s)) {
            for (code, count) in &shape.code {
                let sum = out.entry(*code).or_default();
                *sum = sum.saturating_add(count.saturating_mul(shape.containers));
            }
        }
        out
    }

    /// Names of all code of a kind in containers with kernels that run as they are, sorted by number: `sm_90`, `sm_90a`.
    pub fn names(&self, kind: Kind) -> Vec<String> {
        let mut codes: Vec<Code> = self
            .entries(|s| !s.empty && !s.is_relocatable())
            .into_keys()
            .filter(|c| c.kind == kind)
            .map(|c| Code {
                isa: None,
                obfuscated: false,
                ..c
            })
            .collect();
        codes.sort_unstable();
        codes.dedup();
        codes.iter().map(Code::name).collect()
    }
}

/// What tells shapes apart: section, code with its counts, whether it is empty.
type Key = (String, Vec<(Code, u32)>, bool);

/// Gathers shapes.
#[derive(Debug, Default)]
pub(super) struct Shapes(BTreeMap<Key, u32>);

impl Shapes {
    pub(super) fn add(&mut self, section: &str, container: &Container<'_>, empty: bool) {
        let mut code: BTreeMap<Code, u32> = BTreeMap::new();
        for item in &container.items {
            *code.entry(Code::of(item)).or_default() += 1;
        }
        let key = (section.to_owned(), code.into_iter().collect(), empty);
        *self.0.entry(key).or_default() += 1;
    }

    pub(super) fn finish(self) -> Vec<Shape> {
        let shape = |((section, code, empty), containers)| Shape {
            section,
            code,
            empty,
            containers,
        };
        self.0.into_iter().map(shape).collect()
    }
}
