//! What travels beside a bundle so that it can be trusted: evidence (findings, waivers, code, floors, artifacts), a page of it for
//! people, and a bill of materials. Facts of the audit and of packing only; nothing is measured here.

mod page;
mod sbom;
mod spdx;

use std::collections::BTreeMap;

use crate::base::target::Arch;
use crate::build::assemble::Tree;
use crate::build::audit::Report;
use crate::formats::bundle::Bundle;
use crate::formats::component::FileFacts;
use crate::formats::evidence::{Evidence, EvidenceError, Made, SCHEMA_VERSION, Subject, Toolchain};
use crate::formats::wheelhouse::Run;

pub use page::page;
pub use sbom::sbom;

/// What evidence is made of.
#[derive(Debug)]
pub struct Known<'a> {
    /// bundle.json.
    pub bundle: &'a Bundle,
    /// The packed file.
    pub subject: Subject,
    /// Its tree with facts.
    pub tree: &'a Tree,
    /// What the audit found.
    pub report: &'a Report,
    /// Build runs of wheelhouses.
    pub wheelhouse: Vec<Run>,
    /// `SOURCE_DATE_EPOCH`.
    pub date: Option<u64>,
}

/// What a bundle was made with and for.
pub fn toolchain(bundle: &Bundle) -> Toolchain {
    Toolchain {
        target: bundle.facts.target.clone(),
        python: bundle.facts.python.clone(),
        torch: bundle.facts.torch.clone(),
        cuda: bundle.facts.cuda.clone(),
        encoding: bundle.encoding.clone(),
    }
}

/// The evidence.
pub fn evidence(known: &Known<'_>) -> Result<Evidence, EvidenceError> {
    let mut tools = BTreeMap::new();
    tools.insert("bundler".to_owned(), env!("CARGO_PKG_VERSION").to_owned());
    tools.insert("libzstd".to_owned(), known.bundle.encoding.libzstd.clone());
    let mut needed = BTreeMap::new();
    for node in known.tree.nodes() {
        if let Some(FileFacts::Elf(elf)) = &node.entry.facts
            && !elf.needed.is_empty()
        {
            needed.insert(node.entry.path.clone(), elf.needed.clone());
        }
    }
    let mut evidence = Evidence {
        schema_version: SCHEMA_VERSION,
        statement: String::new(),
        bundle: known.subject.clone(),
        made: Made {
            builder_arch: Arch::host().to_string(),
            tools,
            date: known.date,
        },
        toolchain: toolchain(known.bundle),
        artifacts: known.bundle.components.clone(),
        source: known.bundle.facts.source.clone(),
        wheelhouse: known.wheelhouse.clone(),
        needed,
        audit: serde_json::to_value(known.report).map_err(EvidenceError::Json)?,
        verifications: Vec::new(),
    };
    evidence.statement = evidence.said();
    Ok(evidence)
}
