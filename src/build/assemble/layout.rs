//! The layout component: what [`render`] makes of values computed from the tree (by looking at it, not from lists), the
//! licences of what is inside, and the provenance files. Licence texts lie in the components already: `licenses/` links to
//! them and lists what each component says of itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use super::Merged;
use crate::base::digest::Digest;
use crate::base::target::Target;
use crate::build::ingest::layout::{LayoutError, LayoutValues, render};
use crate::build::ingest::{Content, Plan, PlannedEntry};
use crate::formats::component::{Component, ComponentKind, EntryKind, FileFacts};
use crate::formats::elf::ElfFacts;

/// What the layout is made from, besides the tree.
#[derive(Debug, Clone)]
pub struct LayoutRequest {
    /// `pointcept-runtime`.
    pub bundle_name: String,
    /// Version of the bundle.
    pub bundle_version: String,
    /// What the bundle is made for.
    pub target: Target,
    /// Python minor version, `3.12`.
    pub python_minor: String,
    /// Folder below `src/`; none where no source is shipped.
    pub source_folder: Option<String>,
    /// The compiled-in OpenSSL folder where it is a system folder.
    pub openssl_dir: Option<String>,
    /// Normalised names of the distributions the recipe asks for, in its order: doctor imports their modules.
    pub asked_for: Vec<String>,
    /// Files of `provenance/`: name and bytes.
    pub provenance: Vec<(String, Arc<[u8]>)>,
}

impl Merged {
    /// The plan of the layout component: ingest it like any other and give the result to [`Merged::finish`].
    pub fn layout_plan(&self, request: &LayoutRequest) -> Result<Plan, LayoutError> {
        let mut entries = render(&self.layout_values(request))?;
        entries.extend(self.licenses());
        for (name, bytes) in &request.provenance {
            entries.push(file(format!("provenance/{name}"), bytes.clone()));
        }
        entries.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        Ok(Plan {
            name: "layout".to_owned(),
            version: None,
            kind: ComponentKind::Layout,
            artifact: None,
            entries,
            record: None,
            archive: None,
            distribution: None,
            notes: Vec::new(),
        })
    }

    /// The values of the files that are rendered.
    pub fn layout_values(&self, request: &LayoutRequest) -> LayoutValues {
        LayoutValues {
            bundle_name: request.bundle_name.clone(),
            bundle_version: request.bundle_version.clone(),
            target: request.target.to_string(),
            python_minor: request.python_minor.clone(),
            source_folder: request.source_folder.clone(),
            nvidia_library_dirs: self.nvidia_folders(),
            openssl_dir: request.openssl_dir.clone(),
            modules: self.modules(&request.asked_for),
            contents: self.contents(request.target),
        }
    }

    /// Importable names of the distributions that were asked for; torch first, because bare extension modules need it loaded.
    fn modules(&self, asked_for: &[String]) -> Vec<String> {
        let by_name: BTreeMap<&str, &Component> = self.components().collect();
        let mut names: Vec<&str> = asked_for.iter().map(String::as_str).collect();
        names.sort_by_key(|name| *name != "torch");
        let mut out: Vec<String> = Vec::new();
        for distribution in names
            .into_iter()
            .filter_map(|name| by_name.get(name)?.distribution.as_ref())
        {
            for module in &distribution.top_level {
                if !module.starts_with('_') && !out.contains(module) {
                    out.push(module.clone());
                }
            }
        }
        out
    }

    fn contents(&self, target: Target) -> Vec<(String, String)> {
        let version = |name: &str| {
            let (_, component) = self.components().find(|(n, _)| *n == name)?;
            Some((name.to_owned(), component.version.clone()?))
        };
        let python = self
            .components()
            .find(|(_, c)| c.kind == ComponentKind::Interpreter)
            .and_then(|(_, c)| Some(("python".to_owned(), c.version.clone()?)));
        let cuda = (
            "cuda".to_owned(),
            format!("{}.{}", target.accel.major, target.accel.minor),
        );
        let torch = version("torch");
        let cuda = torch.is_some().then_some(cuda);
        [
            python,
            torch,
            cuda,
            version("torchvision"),
            version("triton"),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    fn components(&self) -> impl Iterator<Item = (&str, &Component)> {
        let parts = self.tree().parts().iter();
        parts.map(|p| (p.component.name.as_str(), &*p.component))
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

    /// Links to every licence text, and one list of what components say of their licence.
    fn licenses(&self) -> Vec<PlannedEntry> {
        let mut out = Vec::new();
        let mut list = String::from(
            "# Licences of what is in this bundle: component, version, licence, texts.\n",
        );
        for (name, component) in self.components() {
            let said = component
                .distribution
                .as_ref()
                .and_then(|d| d.license.as_deref());
            let texts = license_texts(component);
            let _ = writeln!(
                list,
                "{name}\t{}\t{}\t{}",
                component.version.as_deref().unwrap_or("-"),
                one_line(said.unwrap_or("-")),
                if texts.is_empty() {
                    "-".to_owned()
                } else {
                    format!("licenses/{name}/")
                },
            );
            for (short, path) in texts {
                let at = format!("licenses/{name}/{short}");
                let up = "../".repeat(at.matches('/').count());
                out.push(PlannedEntry {
                    path: at,
                    mode: 0o777,
                    size: 0,
                    content: Content::Symlink(format!("{up}{path}")),
                    expected: None,
                });
            }
        }
        out.push(file(
            "licenses/LIST.tsv".to_owned(),
            list.into_bytes().into(),
        ));
        out
    }
}

fn file(path: String, bytes: Arc<[u8]>) -> PlannedEntry {
    PlannedEntry {
        path,
        mode: 0o644,
        size: bytes.len() as u64,
        expected: Some(Digest::of(&bytes)),
        content: Content::Bytes(bytes),
    }
}

fn is_nvidia(component: &Component, elf: &ElfFacts) -> bool {
    component.kind == ComponentKind::Wheel
        && component.name.starts_with("nvidia-")
        && !elf.is_program()
        && elf.soname.as_deref().is_some_and(|s| s.contains(".so"))
}

/// Licence texts of a component: a short name for the link, unlike any other of the component, and the path.
fn license_texts(component: &Component) -> BTreeMap<String, String> {
    let dist_info = component
        .distribution
        .as_ref()
        .map(|d| d.dist_info.as_str());
    let paths: BTreeSet<&str> = match &component.distribution {
        Some(distribution) => distribution
            .license_files
            .iter()
            .map(String::as_str)
            .collect(),
        None => component
            .entries
            .iter()
            .filter(|e| e.kind == EntryKind::File && is_license_name(&e.path))
            .map(|e| e.path.as_str())
            .collect(),
    };
    let mut out = BTreeMap::new();
    for path in paths {
        let below = dist_info
            .and_then(|d| path.strip_prefix(d))
            .map(|rest| rest.trim_start_matches('/'))
            .map(|rest| rest.strip_prefix("licenses/").unwrap_or(rest));
        // Flat names: a text in a subfolder must not turn another text's name into a folder.
        let short = below.unwrap_or(path).replace('/', "_");
        out.insert(short, path.to_owned());
    }
    out
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

fn one_line(text: &str) -> String {
    let line: Vec<&str> = text.split_whitespace().collect();
    line.join(" ").chars().filter(|c| !c.is_control()).collect()
}
