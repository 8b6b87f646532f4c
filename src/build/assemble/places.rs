//! Which part of the tree a component of each kind may fill, and which names nobody may take.

use std::collections::BTreeSet;

use unicode_normalization::UnicodeNormalization;

use super::Placed;
use super::collision::Collision;
use crate::formats::component::{ComponentKind, Entry};

/// Root names that packing makes itself.
const PACKED_BY_US: &[&str] = &[
    "bundle.json",
    "files.jsonl",
    "facts.jsonl",
    ".complete",
    ".layers",
];

/// Collects the entries of `placed` that are not where its kind belongs.
pub(super) fn check(placed: &Placed, out: &mut BTreeSet<Collision>) {
    for entry in &placed.component.entries {
        if let Some(why) = misplaced(placed.component.kind, entry) {
            out.insert(Collision::NotItsPlace {
                path: entry.path.clone(),
                component: placed.label(),
                why,
            });
        }
    }
}

fn misplaced(kind: ComponentKind, entry: &Entry) -> Option<&'static str> {
    let path = entry.path.as_str();
    let root = path.split('/').next().unwrap_or_default();
    let allowed = match kind {
        ComponentKind::Interpreter | ComponentKind::Wheel | ComponentKind::Shim => {
            (root == "python" && root != path, "it belongs under python/")
        }
        ComponentKind::Source => (
            (root == "src" && root != path) || is_site_hook(path),
            "it belongs under src/",
        ),
        ComponentKind::Library => (root == "lib" && root != path, "it belongs under lib/"),
        ComponentKind::Layout => (
            !PACKED_BY_US.contains(&root),
            "the name is taken by packing",
        ),
    };
    if !allowed.0 {
        return Some(allowed.1);
    }
    if matches!(kind, ComponentKind::Wheel | ComponentKind::Shim) && changes_start(path) {
        return Some("it would change how the interpreter starts");
    }
    None
}

/// The relative `.pth` by which a source is found.
fn is_site_hook(path: &str) -> bool {
    path.starts_with("python/lib/python")
        && path.contains("/site-packages/")
        && has_suffix(path, ".pth")
}

/// Names that the interpreter reads before it looks at any file of ours: `pyvenv.cfg`, `python3._pth`, the zipped standard library.
fn changes_start(path: &str) -> bool {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    match folder {
        "python" | "python/bin" => name == "pyvenv.cfg" || has_suffix(name, "._pth"),
        "python/lib" => name.starts_with("python") && has_suffix(name, ".zip"),
        _ => false,
    }
}

fn has_suffix(name: &str, suffix: &str) -> bool {
    name.len() > suffix.len() && name.to_ascii_lowercase().ends_with(suffix)
}

/// The form in which a file system that ignores case and Unicode form sees a name.
pub(super) fn folded(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    name.nfc().flat_map(char::to_lowercase).nfc().collect()
}
