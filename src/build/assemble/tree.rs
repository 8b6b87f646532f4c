//! The tree: every path with its one owner. Only [`super::Merged::finish`] makes one, so a tree is a proof that nothing collides.

use std::collections::{BTreeMap, BTreeSet};

use super::{Placed, StartupHook};
use crate::formats::component::Entry;

/// A path of the tree.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    /// Its owner.
    pub owner: &'a Placed,
    /// The owner's entry.
    pub entry: &'a Entry,
}

/// Every path with its one owner.
#[derive(Debug, Clone)]
pub struct Tree {
    pub(super) parts: Vec<Placed>,
    /// Path → (number of the part, number of its entry).
    pub(super) index: BTreeMap<String, (usize, usize)>,
    pub(super) folders: BTreeSet<String>,
    pub(super) hooks: Vec<StartupHook>,
}

impl Tree {
    /// The components in the order of the bundle; the layout is the last one.
    pub fn parts(&self) -> &[Placed] {
        &self.parts
    }

    /// What stands at `path`.
    pub fn get(&self, path: &str) -> Option<Node<'_>> {
        self.index.get(path).and_then(|at| self.node(*at))
    }

    /// Every file and link, bytewise by path.
    pub fn nodes(&self) -> impl Iterator<Item = Node<'_>> {
        self.index.values().filter_map(|at| self.node(*at))
    }

    /// Every folder, bytewise by path, parents before children; the root is not among them.
    pub fn folders(&self) -> impl Iterator<Item = &str> {
        self.folders.iter().map(String::as_str)
    }

    /// True where `path` is a folder.
    pub fn is_folder(&self, path: &str) -> bool {
        path.is_empty() || self.folders.contains(path)
    }

    /// What runs at every start of the interpreter, sorted by path.
    pub fn startup_hooks(&self) -> &[StartupHook] {
        &self.hooks
    }

    /// Bytes of all files once unpacked; other names of one file count nothing.
    pub fn unpacked_size(&self) -> u64 {
        let own = |n: Node<'_>| match n.entry.kind {
            crate::formats::component::EntryKind::File => n.entry.size,
            _ => 0,
        };
        self.nodes().map(own).sum()
    }

    fn node(&self, (part, entry): (usize, usize)) -> Option<Node<'_>> {
        let owner = self.parts.get(part)?;
        let entry = owner.component.entries.get(entry)?;
        Some(Node { owner, entry })
    }
}
