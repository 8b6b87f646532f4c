//! The name of a component in the cache: the digest of a canonical record of everything that decides its bytes and
//! facts. It is known from the lock alone, before the artifact is there.

use serde::Serialize;

use crate::base::digest::Digest;
use crate::base::segments::{self, Encoding};
use crate::base::target::Target;
use crate::build::ingest::bytecode::Bytecode;
use crate::formats::component::ComponentKind;

/// Everything that decides what a component is. The engine does what stands here, so key and work cannot differ.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Ingredients {
    /// Kind of artifact.
    pub kind: ComponentKind,
    /// Normalised distribution name, or `cpython`, `source` …
    pub name: String,
    /// Version, where the artifact has one.
    pub version: Option<String>,
    /// File name of the artifact, where it decides something (a wheel's tags).
    pub file: Option<String>,
    /// Digest of the artifact (of the whole tree for a folder).
    pub artifact: Digest,
    /// Python minor version, such as `3.12`.
    pub python: String,
    /// Target, for what is only right on one: platform wheels, interpreters. A pure wheel has none and is ingested
    /// once for all.
    pub target: Option<Target>,
    /// Compiled Python files.
    pub bytecode: Bytecode,
    /// Paths that belong to another component and are left out of this one, sorted.
    pub without: Vec<String>,
    /// Whatever else the planner was told: waivers, normalisations. Sorted by name.
    pub options: Vec<(String, String)>,
    /// How the tar bytes become segments.
    pub encoding: Encoding,
}

/// The record as it is digested.
#[derive(Serialize)]
struct Canonical<'a> {
    schema: u32,
    code: &'a str,
    libzstd: &'a str,
    #[serde(flatten)]
    ingredients: &'a Ingredients,
}

impl Ingredients {
    /// The component's key.
    pub fn key(&self) -> Digest {
        let canonical = Canonical {
            schema: 1,
            code: env!("BUNDLER_INGEST_CODE"),
            libzstd: segments::libzstd_version(),
            ingredients: self,
        };
        // Strings, numbers and lists in a fixed order: this cannot fail.
        Digest::of(&serde_json::to_vec(&canonical).unwrap_or_default())
    }

    /// The same component with nothing left out.
    #[must_use]
    pub fn whole(&self) -> Self {
        Self {
            without: Vec::new(),
            ..self.clone()
        }
    }
}
