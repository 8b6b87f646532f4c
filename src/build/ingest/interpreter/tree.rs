//! The interpreter's files in memory while they are put in shape: paths relative to `python/`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::build::ingest::{Content, PlannedEntry};

/// One file or link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Node {
    File { bytes: Arc<[u8]>, executable: bool },
    Link(String),
}

/// Files and links by path; folders show in the paths alone.
#[derive(Debug, Default)]
pub(super) struct Tree {
    nodes: BTreeMap<String, Node>,
}

impl Tree {
    pub(super) fn insert(&mut self, path: impl Into<String>, node: Node) {
        self.nodes.insert(path.into(), node);
    }

    pub(super) fn insert_file(
        &mut self,
        path: impl Into<String>,
        bytes: impl Into<Arc<[u8]>>,
        executable: bool,
    ) {
        let bytes = bytes.into();
        self.insert(path, Node::File { bytes, executable });
    }

    pub(super) fn remove(&mut self, path: &str) -> Option<Node> {
        self.nodes.remove(path)
    }

    /// The bytes of a file; links are not followed.
    pub(super) fn bytes(&self, path: &str) -> Option<&Arc<[u8]>> {
        match self.nodes.get(path) {
            Some(Node::File { bytes, .. }) => Some(bytes),
            _ => None,
        }
    }

    /// The text of a file that is UTF-8.
    pub(super) fn text(&self, path: &str) -> Option<&str> {
        self.bytes(path)
            .and_then(|bytes| std::str::from_utf8(bytes).ok())
    }

    pub(super) fn contains(&self, path: &str) -> bool {
        self.nodes.contains_key(path)
    }

    /// All paths that `wanted` picks.
    pub(super) fn paths(&self, wanted: impl Fn(&str) -> bool) -> Vec<String> {
        self.nodes
            .keys()
            .filter(|path| wanted(path))
            .cloned()
            .collect()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_str(), node))
    }

    /// Removes what `unwanted` picks; gives the number of files and their bytes.
    pub(super) fn remove_all(&mut self, unwanted: impl Fn(&str) -> bool) -> (usize, u64) {
        let mut gone = (0, 0);
        self.nodes.retain(|path, node| {
            if !unwanted(path) {
                return true;
            }
            gone.0 += 1;
            if let Node::File { bytes, .. } = node {
                gone.1 += bytes.len() as u64;
            }
            false
        });
        gone
    }

    /// Planned entries under `python/`, sorted bytewise. Only programs and scripts keep an x bit.
    pub(super) fn into_entries(self) -> Vec<PlannedEntry> {
        let entry = |(path, node): (String, Node)| {
            let (mode, size, content) = match node {
                Node::File { bytes, executable } => {
                    let mode = if executable { 0o755 } else { 0o644 };
                    (mode, bytes.len() as u64, Content::Bytes(bytes))
                }
                Node::Link(goal) => (0o777, 0, Content::Symlink(goal)),
            };
            PlannedEntry {
                path: format!("python/{path}"),
                mode,
                size,
                content,
                expected: None,
            }
        };
        self.nodes.into_iter().map(entry).collect()
    }
}
