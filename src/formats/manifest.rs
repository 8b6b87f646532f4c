//! files.jsonl, `.layers/<id>.json` and `.complete`: what a tree must hold, and the proof that all of it is there.
//!
//! files.jsonl has one row per path, sorted bytewise, for every path but itself, bundle.json and `.complete`.
//! `.complete` is the last entry of a bundle and is made of plain lines, so that `sh` can read it.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::component::{Entry, EntryKind, Layer};
use crate::base::digest::{Digest, Hasher};

/// Path of the list of files.
pub const FILES: &str = "files.jsonl";

/// Path of the last entry.
pub const COMPLETE: &str = ".complete";

/// Folder of the layers' records.
pub const LAYERS: &str = ".layers";

/// One row of files.jsonl.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Path from the bundle's root.
    pub path: String,
    /// What it is.
    #[serde(flatten)]
    pub kind: EntryKind,
    /// As four octal digits in the file.
    #[serde(serialize_with = "octal", deserialize_with = "from_octal")]
    pub mode: u32,
    /// Bytes, for files and hard links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Digest of the bytes, for files and hard links.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// Name of the component it came from; absent for folders and what packing makes itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

fn octal<S: Serializer>(mode: &u32, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(&format_args!("{mode:04o}"))
}

fn from_octal<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u32, D::Error> {
    let text = String::deserialize(deserializer)?;
    u32::from_str_radix(&text, 8).map_err(serde::de::Error::custom)
}

/// Why a text is none of these files.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// A row that cannot be read or written.
    #[error("line {line} of files.jsonl is damaged")]
    Row {
        /// Line, counted from 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// Rows out of order, or twice.
    #[error("line {line} of files.jsonl: {path:?} is out of order or stands there twice")]
    Order {
        /// Line, counted from 1.
        line: usize,
        /// Path of the row.
        path: String,
    },
    /// A layer's record that cannot be read or written.
    #[error("the record of a layer is damaged")]
    Layer(#[source] serde_json::Error),
    /// Not a `.complete`.
    #[error(".complete is damaged: {0}")]
    Complete(&'static str),
}

impl Row {
    /// The row of a component's entry.
    pub fn of(entry: &Entry, origin: &str) -> Self {
        let has_bytes = matches!(entry.kind, EntryKind::File | EntryKind::Hardlink { .. });
        Self {
            path: entry.path.clone(),
            kind: entry.kind.clone(),
            mode: entry.mode,
            size: has_bytes.then_some(entry.size),
            sha256: entry.sha256.filter(|_| has_bytes),
            origin: Some(origin.to_owned()),
        }
    }

    /// The row of a folder.
    pub fn folder(path: &str) -> Self {
        Self {
            path: path.to_owned(),
            kind: EntryKind::Dir,
            mode: 0o755,
            size: None,
            sha256: None,
            origin: None,
        }
    }

    /// The row of a file that packing makes itself.
    pub fn made(path: &str, bytes: &[u8]) -> Self {
        Self {
            path: path.to_owned(),
            kind: EntryKind::File,
            mode: 0o644,
            size: Some(bytes.len() as u64),
            sha256: Some(Digest::of(bytes)),
            origin: None,
        }
    }
}

/// Writes files.jsonl. Rows must be sorted; [`read_files`] refuses them otherwise.
pub fn write_files<'a>(rows: impl IntoIterator<Item = &'a Row>) -> Result<Vec<u8>, ManifestError> {
    let mut out = Vec::new();
    for (index, row) in rows.into_iter().enumerate() {
        let line = index + 1;
        serde_json::to_writer(&mut out, row)
            .map_err(|source| ManifestError::Row { line, source })?;
        out.push(b'\n');
    }
    Ok(out)
}

/// Reads files.jsonl.
pub fn read_files(bytes: &[u8]) -> Result<Vec<Row>, ManifestError> {
    let mut rows: Vec<Row> = Vec::new();
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    for (index, text) in lines.split(|byte| *byte == b'\n').enumerate() {
        let line = index + 1;
        let row: Row =
            serde_json::from_slice(text).map_err(|source| ManifestError::Row { line, source })?;
        if rows.last().is_some_and(|last| last.path >= row.path) {
            let path = row.path;
            return Err(ManifestError::Order { line, path });
        }
        rows.push(row);
    }
    Ok(rows)
}

/// All folders that `paths` lie in, the root not among them.
pub fn folders<'a>(paths: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    for path in paths {
        for (at, _) in path.rmatch_indices('/') {
            if !out.insert(path[..at].to_owned()) {
                break;
            }
        }
    }
    out
}

/// `.layers/<id>.json`: says that a layer's entries came along whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerFile {
    /// 1.
    pub schema_version: u32,
    /// Which layer.
    pub layer: Layer,
    /// Identity, see [`layer_id`].
    pub id: Digest,
    /// Entries of its components.
    pub entries: u64,
    /// Digest of those entries' rows as they stand in files.jsonl, in that order.
    pub sha256: Digest,
}

impl LayerFile {
    /// Its path in the bundle.
    pub fn path(&self) -> String {
        format!("{LAYERS}/{}.json", self.id)
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ManifestError> {
        let mut out = serde_json::to_vec_pretty(self).map_err(ManifestError::Layer)?;
        out.push(b'\n');
        Ok(out)
    }

    /// Reads it.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        serde_json::from_slice(bytes).map_err(ManifestError::Layer)
    }
}

/// The identity of a layer: sha256 over the ids of its components in tar order, one per line.
pub fn layer_id<'a>(components: impl IntoIterator<Item = &'a Digest>) -> Digest {
    let mut hasher = Hasher::new();
    for id in components {
        hasher.update(format!("{id}\n").as_bytes());
    }
    hasher.finish()
}

/// `.complete`, line by line: `bundle 1`, `entries N` (rows of files.jsonl), `files SHA256` (of files.jsonl), and
/// `layer ID` for each `.layers/ID.json` the tree must have, and `tail N`, the bytes of the archive's last segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Complete {
    /// Rows of files.jsonl.
    pub entries: u64,
    /// Digest of files.jsonl.
    pub files: Digest,
    /// Layers it needs.
    pub layers: Vec<Digest>,
    /// Bytes of the blocks of the last segment, in which it stands: how a reader finds the segment table.
    pub tail: u64,
}

impl Complete {
    /// Its bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = format!("bundle 1\nentries {}\nfiles {}\n", self.entries, self.files);
        for layer in &self.layers {
            let _ = writeln!(out, "layer {layer}");
        }
        let _ = writeln!(out, "tail {}", self.tail);
        out.into_bytes()
    }

    /// Reads exactly what [`Self::to_bytes`] writes.
    pub fn parse(bytes: &[u8]) -> Result<Self, ManifestError> {
        let bad = ManifestError::Complete;
        let text = std::str::from_utf8(bytes).map_err(|_| bad("not text"))?;
        let mut lines = text.lines();
        let mut next = |key: &str| lines.next()?.strip_prefix(key);
        if next("bundle ") != Some("1") {
            return Err(bad("another version, or none"));
        }
        let entries = next("entries ").and_then(|n| n.parse().ok());
        let files = next("files ").and_then(|d| d.parse().ok());
        let tail = lines
            .next_back()
            .and_then(|line| line.strip_prefix("tail "));
        let layers = lines.map(|line| line.strip_prefix("layer ")?.parse().ok());
        let out = Self {
            entries: entries.ok_or(bad("no count of entries"))?,
            files: files.ok_or(bad("no digest of files.jsonl"))?,
            layers: layers
                .collect::<Option<_>>()
                .ok_or(bad("not the id of a layer"))?,
            tail: tail
                .and_then(|n| n.parse().ok())
                .ok_or(bad("no size of the last segment"))?,
        };
        if out.to_bytes() == bytes {
            Ok(out)
        } else {
            Err(bad("not in canonical form"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_come_back_and_read_like_this() {
        let target = "../lib/x".to_owned();
        let rows = [
            Row::folder("bin"),
            Row {
                kind: EntryKind::Symlink { target },
                mode: 0o777,
                origin: Some("layout".to_owned()),
                ..Row::folder("bin/x")
            },
            Row::made("lib/x", b""),
        ];
        let text = write_files(&rows).unwrap();
        let empty = Digest::of(b"");
        let want = format!(
            "{{\"path\":\"bin\",\"kind\":\"dir\",\"mode\":\"0755\"}}\n\
             {{\"path\":\"bin/x\",\"kind\":\"symlink\",\"target\":\"../lib/x\",\"mode\":\"0777\",\"origin\":\"layout\"}}\n\
             {{\"path\":\"lib/x\",\"kind\":\"file\",\"mode\":\"0644\",\"size\":0,\"sha256\":\"{empty}\"}}\n"
        );
        assert_eq!(String::from_utf8(text.clone()).unwrap(), want);
        assert_eq!(read_files(&text).unwrap(), rows);
        let twice = write_files([&rows[0], &rows[0]]).unwrap();
        assert!(matches!(
            read_files(&twice),
            Err(ManifestError::Order { line: 2, .. })
        ));
        assert!(matches!(
            read_files(&text[..20]),
            Err(ManifestError::Row { line: 1, .. })
        ));
    }

    #[test]
    fn folders_are_all_parents() {
        let made: Vec<String> = folders(["a/b/c", "a/b/d", "e", "f/g"])
            .into_iter()
            .collect();
        assert_eq!(made, ["a", "a/b", "f"]);
    }

    #[test]
    fn complete_is_plain_lines_and_only_those() {
        let files = Digest::of(b"");
        let complete = Complete {
            entries: 7,
            files,
            layers: vec![layer_id([&files])],
            tail: 9,
        };
        let bytes = complete.to_bytes();
        assert_eq!(Complete::parse(&bytes).unwrap(), complete);
        let text = String::from_utf8(bytes.clone()).unwrap();
        assert!(
            text.starts_with("bundle 1\nentries 7\nfiles e3b0"),
            "{text}"
        );
        for bad in [
            "",
            "bundle 2\n",
            &text[..40],
            text.trim_end(),
            &format!("{text}\n"),
            &format!("{text}x 1\n"),
        ] {
            assert!(Complete::parse(bad.as_bytes()).is_err(), "{bad:?}");
        }
    }
}
