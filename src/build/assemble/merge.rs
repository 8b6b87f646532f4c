//! Finds the one owner of every path. Equal things in two components go to the one that comes first in the bundle, and the
//! other is to be ingested again without them; different things are a collision. The result does not depend on the order
//! in which components are given.

use std::collections::{BTreeMap, BTreeSet};

use super::collision::{AssembleError, Collision, without_bytecode};
use super::{Placed, StartupHook, Tree, places, startup};
use crate::base::digest::Digest;
use crate::formats::component::{ComponentKind, Entry, EntryKind};

/// Paths that a component must be made without.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Without {
    /// The component's cache key.
    pub component: Digest,
    /// Its name, for messages.
    pub name: String,
    /// Paths that another component owns with equal bytes, sorted.
    pub paths: Vec<String>,
}

/// What became of components.
#[derive(Debug)]
pub enum Merge {
    /// Every path has one owner.
    Done(Merged),
    /// These components are to be ingested again, then all merged anew.
    Again(Vec<Without>),
}

/// Components without collisions, still without a layout.
#[derive(Debug, Clone)]
pub struct Merged {
    pub(super) tree: Tree,
}

/// Merges components into one tree.
///
/// # Errors
/// Names everything that collides.
pub fn merge(mut parts: Vec<Placed>) -> Result<Merge, AssembleError> {
    parts.sort_by(|a, b| a.order().cmp(&b.order()));
    let mut collisions = BTreeSet::new();
    twice(&parts, &mut collisions);
    let mut index: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    let mut folders: BTreeMap<String, usize> = BTreeMap::new();
    let mut without: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    let mut hooks: Vec<StartupHook> = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        places::check(part, &mut collisions);
        for (entry_number, entry) in part.component.entries.iter().enumerate() {
            hooks.extend(startup::hook(part, entry));
            for (at, _) in entry.path.match_indices('/') {
                let folder = entry.path.get(..at).unwrap_or_default();
                if !folders.contains_key(folder) {
                    folders.insert(folder.to_owned(), number);
                }
            }
            if entry.kind == EntryKind::Dir {
                folders.entry(entry.path.clone()).or_insert(number);
                continue;
            }
            let Some(&(owner, owned)) = index.get(&entry.path) else {
                index.insert(entry.path.clone(), (number, entry_number));
                continue;
            };
            let first = parts
                .get(owner)
                .and_then(|p| Some((p, p.component.entries.get(owned)?)));
            let Some((first, first_entry)) = first else {
                continue;
            };
            match difference(first_entry, entry) {
                None if owner != number => {
                    without.entry(number).or_default().push(entry.path.clone());
                }
                None => {}
                Some(difference) => {
                    collisions.insert(Collision::Clash {
                        path: entry.path.clone(),
                        first: first.label(),
                        second: part.label(),
                        difference,
                    });
                }
            }
        }
    }
    files_and_folders(&parts, &index, &folders, &mut collisions);
    same_names(&parts, &index, &folders, &mut collisions);
    if !collisions.is_empty() {
        return Err(AssembleError::Collisions(without_bytecode(collisions)));
    }
    if !without.is_empty() {
        return Ok(Merge::Again(again(&parts, without)));
    }
    hooks.sort();
    let folders = folders.into_keys().collect();
    Ok(Merge::Done(Merged {
        tree: Tree {
            parts,
            index,
            folders,
            hooks,
        },
    }))
}

impl Merged {
    /// The tree so far, without the layout.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Adds the layout and makes the tree whole.
    ///
    /// # Errors
    /// Names everything of the layout that collides with a component, equal bytes or not.
    pub fn finish(self, layout: Placed) -> Result<Tree, AssembleError> {
        let mut parts = self.tree.parts;
        let label = layout.label();
        parts.push(layout);
        match merge(parts)? {
            Merge::Done(merged) => Ok(merged.tree),
            Merge::Again(shared) => Err(AssembleError::Collisions(
                shared
                    .into_iter()
                    .flat_map(|w| w.paths)
                    .map(|path| Collision::NotItsPlace {
                        path,
                        component: label.clone(),
                        why: "another component holds the path",
                    })
                    .collect(),
            )),
        }
    }
}

fn again(parts: &[Placed], without: BTreeMap<usize, Vec<String>>) -> Vec<Without> {
    without
        .into_iter()
        .filter_map(|(number, mut paths)| {
            paths.sort();
            let component = &parts.get(number)?.component;
            Some(Without {
                component: component.key,
                name: component.name.clone(),
                paths,
            })
        })
        .collect()
}

/// What differs between two entries of one path; `None` where either may stand for the other.
fn difference(a: &Entry, b: &Entry) -> Option<&'static str> {
    let is_file = |e: &Entry| matches!(e.kind, EntryKind::File | EntryKind::Hardlink { .. });
    if is_file(a) && is_file(b) {
        return if a.sha256.is_none() || a.sha256 != b.sha256 {
            Some("their bytes")
        } else if a.mode != b.mode {
            Some("their modes")
        } else {
            None
        };
    }
    match (&a.kind, &b.kind) {
        (EntryKind::Symlink { target: x }, EntryKind::Symlink { target: y }) if x == y => None,
        (EntryKind::Symlink { .. }, EntryKind::Symlink { .. }) => Some("where the link points"),
        _ => Some("what they are (one is a link)"),
    }
}

fn twice(parts: &[Placed], out: &mut BTreeSet<Collision>) {
    let mut seen: BTreeMap<(&str, u8), &Placed> = BTreeMap::new();
    for part in parts {
        let group = match part.component.kind {
            ComponentKind::Wheel | ComponentKind::Shim => 0,
            ComponentKind::Interpreter => 1,
            ComponentKind::Layout => 2,
            ComponentKind::Source | ComponentKind::Library => 3,
        };
        // There is one interpreter and one layout, whatever they are called.
        let name = if matches!(group, 1 | 2) {
            ""
        } else {
            part.component.name.as_str()
        };
        if let Some(first) = seen.insert((name, group), part) {
            out.insert(Collision::Twice {
                first: first.label(),
                second: part.label(),
            });
        }
    }
}

fn label(parts: &[Placed], number: usize) -> String {
    parts.get(number).map(Placed::label).unwrap_or_default()
}

fn files_and_folders(
    parts: &[Placed],
    index: &BTreeMap<String, (usize, usize)>,
    folders: &BTreeMap<String, usize>,
    out: &mut BTreeSet<Collision>,
) {
    for (path, (file_of, _)) in index {
        if let Some(folder_of) = folders.get(path) {
            out.insert(Collision::FileAndFolder {
                path: path.clone(),
                file_of: label(parts, *file_of),
                folder_of: label(parts, *folder_of),
            });
        }
    }
}

/// Names that differ only in case or Unicode form. A folder of that kind is reported once, not with all that is in it.
fn same_names(
    parts: &[Placed],
    index: &BTreeMap<String, (usize, usize)>,
    folders: &BTreeMap<String, usize>,
    out: &mut BTreeSet<Collision>,
) {
    let mut seen: BTreeMap<(&str, String), (&str, usize)> = BTreeMap::new();
    let files = index.iter().map(|(path, (owner, _))| (path, *owner));
    let mut all: Vec<_> = files.chain(folders.iter().map(|(p, o)| (p, *o))).collect();
    all.sort();
    for (path, owner) in all {
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        if let Some((other, other_owner)) =
            seen.insert((folder, places::folded(name)), (path, owner))
            && other != path
        {
            out.insert(Collision::SameName {
                first_path: other.to_owned(),
                first: label(parts, other_owner),
                second_path: path.clone(),
                second: label(parts, owner),
            });
        }
    }
}
