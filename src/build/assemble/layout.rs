//! What the layout has to know of the tree: values for the rendered files, computed by looking at the tree, not from lists.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{Merged, StartupHook};
use crate::formats::component::{Component, ComponentKind, EntryKind, FileFacts};
use crate::formats::elf::ElfFacts;

/// Values for the files that are generated from the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LayoutFacts {
    /// Folders that hold nothing but NVIDIA libraries, bytewise; only these may go into `LD_LIBRARY_PATH`.
    pub nvidia_folders: Vec<String>,
    /// Importable top-level names of each distribution, by normalised name.
    pub top_level: BTreeMap<String, Vec<String>>,
    /// What runs at every start of the interpreter.
    pub startup_hooks: Vec<StartupHook>,
    /// Licences of what is inside, by component name.
    pub licenses: Vec<LicenseFacts>,
    /// Path of certifi's CA file, where it is inside.
    pub ca_file: Option<String>,
    /// Files and links so far, the layout's not among them.
    pub files: usize,
    /// Bytes of all files so far.
    pub unpacked: u64,
}

/// The licence of a component, and the texts that travel with it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LicenseFacts {
    /// Component name.
    pub name: String,
    /// Version.
    pub version: Option<String>,
    /// What its metadata says.
    pub license: Option<String>,
    /// Paths in the bundle of its licence texts, sorted.
    pub files: Vec<String>,
}

impl Merged {
    /// Computes what the layout has to know.
    pub fn layout_facts(&self) -> LayoutFacts {
        let tree = self.tree();
        let mut facts = LayoutFacts {
            nvidia_folders: self.nvidia_folders(),
            startup_hooks: tree.startup_hooks().to_vec(),
            files: tree.nodes().count(),
            unpacked: tree.unpacked_size(),
            ..LayoutFacts::default()
        };
        for part in tree.parts() {
            let component = &part.component;
            facts.licenses.push(license(component));
            if let Some(distribution) = &component.distribution {
                let names = distribution.top_level.clone();
                facts.top_level.insert(component.name.clone(), names);
            }
            if component.name == "certifi" {
                let path =
                    |e: &&crate::formats::component::Entry| e.path.ends_with("/certifi/cacert.pem");
                facts.ca_file = component.entries.iter().find(path).map(|e| e.path.clone());
            }
        }
        facts
    }

    /// Folders whose every shared library comes from a component of NVIDIA's and is one of its libraries.
    fn nvidia_folders(&self) -> Vec<String> {
        let mut nvidia: BTreeSet<&str> = BTreeSet::new();
        let mut other: BTreeSet<&str> = BTreeSet::new();
        for node in self.tree().nodes() {
            let (folder, _) = node.entry.path.rsplit_once('/').unwrap_or_default();
            match &node.entry.facts {
                Some(FileFacts::Elf(elf)) if elf.is_loadable() => {
                    if is_nvidia(&node.owner.component, elf) {
                        nvidia.insert(folder);
                    } else {
                        other.insert(folder);
                    }
                }
                Some(FileFacts::BrokenElf(_)) => {
                    other.insert(folder);
                }
                _ => {}
            }
        }
        nvidia.difference(&other).map(|f| (*f).to_owned()).collect()
    }
}

fn is_nvidia(component: &Component, elf: &ElfFacts) -> bool {
    component.kind == ComponentKind::Wheel
        && component.name.starts_with("nvidia-")
        && !elf.is_program()
        && elf
            .soname
            .as_deref()
            .is_some_and(|s| s.starts_with("lib") && s.contains(".so"))
}

fn license(component: &Component) -> LicenseFacts {
    let mut files = match &component.distribution {
        Some(distribution) => distribution.license_files.clone(),
        None => component
            .entries
            .iter()
            .filter(|e| e.kind == EntryKind::File && is_license_name(&e.path))
            .map(|e| e.path.clone())
            .collect(),
    };
    files.sort();
    files.dedup();
    LicenseFacts {
        name: component.name.clone(),
        version: component.version.clone(),
        license: component
            .distribution
            .as_ref()
            .and_then(|d| d.license.clone()),
        files,
    }
}

/// A licence of a component that is no wheel: a file called so, not deeper than its standard places.
fn is_license_name(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path).to_ascii_uppercase();
    let named = ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|n| {
        name.strip_prefix(n)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '-', '_']))
    });
    named && !path.contains("/site-packages/") && path.matches('/').count() <= 4
}
