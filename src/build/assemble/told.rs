//! A tree as records or a folder tell it: nobody merged it, so it proves nothing about collisions. It can be judged, never packed.

use std::collections::BTreeMap;

use super::{Placed, Tree, startup};
use crate::formats::component::EntryKind;
use crate::formats::manifest;

/// A tree that was not made by merging components.
#[derive(Debug, Clone)]
pub struct Told(Tree);

impl Told {
    /// Takes the parts as they are; of two entries with one path the first counts.
    pub fn new(parts: Vec<Placed>) -> Self {
        let mut index: BTreeMap<String, (usize, usize)> = BTreeMap::new();
        let mut hooks = Vec::new();
        for (number, part) in parts.iter().enumerate() {
            for (at, entry) in part.component.entries.iter().enumerate() {
                if entry.kind != EntryKind::Dir {
                    index.entry(entry.path.clone()).or_insert((number, at));
                    hooks.extend(startup::hook(part, entry));
                }
            }
        }
        hooks.sort();
        let folders = manifest::folders(index.keys().map(String::as_str));
        Self(Tree {
            parts,
            index,
            folders,
            hooks,
        })
    }

    /// The tree, for judging.
    pub fn tree(&self) -> &Tree {
        &self.0
    }
}
