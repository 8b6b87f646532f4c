//! Bundles that lie: any rows, any tar bytes, any description, put together with checksums that all match.

use bundler::base::digest::Digest;
use bundler::base::segments::{self, FRAME_HEADER_SIZE, LAST_BLOCK, frame_header};
use bundler::formats::bundle::{
    Bundle, BundleFacts, ComponentRecord, Digests, SCHEMA_VERSION, Size,
};
use bundler::formats::component::{ComponentKind, Entry, EntryKind, Layer, component_id};
use bundler::formats::manifest::{self, Complete, Row};
use bundler::formats::segment_table::{Part, Segment, SegmentTable};
use bundler::formats::{tail, tar_entry};

use crate::synthetic::{ENCODING, request};

/// A bundle with one component, `evil`.
#[derive(Clone)]
pub struct Forge {
    pub rows: Vec<Row>,
    /// The component's tar.
    pub tar: Vec<u8>,
    /// Folders of the head, the root first.
    pub folders: Option<Vec<String>>,
    /// Changes bundle.json last.
    pub twist: fn(&mut Bundle),
    /// Changes `.complete` last.
    pub twist_end: fn(&mut Complete),
}

/// A row of a file.
pub fn row(path: &str, bytes: &[u8]) -> Row {
    Row {
        origin: Some("evil".to_owned()),
        ..Row::made(path, bytes)
    }
}

/// A row of a link.
pub fn link_row(path: &str, kind: EntryKind, mode: u32) -> Row {
    Row {
        path: path.to_owned(),
        kind,
        mode,
        size: None,
        sha256: None,
        origin: Some("evil".to_owned()),
    }
}

/// A ustar header with any bytes in it, its checksum right.
pub fn raw(name: &[u8], flag: u8, mode: u32, size: u64, link: &[u8]) -> Vec<u8> {
    let good = tar_entry::header("x", &EntryKind::File, 0o644, 0).unwrap();
    let mut out = good;
    out[..100].fill(0);
    out[..name.len().min(100)].copy_from_slice(&name[..name.len().min(100)]);
    out[100..108].copy_from_slice(format!("{mode:07o}\0").as_bytes());
    out[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    out[156] = flag;
    out[157..157 + link.len()].copy_from_slice(link);
    seal(&mut out);
    out
}

/// Makes the checksum of a header right.
pub fn seal(header: &mut [u8]) {
    header[148..156].copy_from_slice(b"        ");
    let sum: u32 = header[..512].iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
}

/// A file below the root folder, whatever its path.
pub fn file(path: &str, bytes: &[u8]) -> Vec<u8> {
    let mut out = match tar_entry::header(path, &EntryKind::File, 0o644, bytes.len() as u64) {
        Ok(header) => header,
        Err(_) => raw(
            format!("runtime/{path}").as_bytes(),
            b'0',
            0o644,
            bytes.len() as u64,
            b"",
        ),
    };
    out.extend(bytes);
    out.resize(out.len() + tar_entry::padding(bytes.len() as u64), 0);
    out
}

impl Forge {
    /// One that does not lie.
    pub fn honest() -> Self {
        let mut tar = file("a/x", b"hello");
        tar.extend(file("a/y", b"other"));
        Self {
            rows: vec![row("a/x", b"hello"), row("a/y", b"other")],
            tar,
            folders: None,
            twist: |_| (),
            twist_end: |_| (),
        }
    }

    fn bundle(&self, files: Digest, rows: &[Row]) -> Bundle {
        let of: Vec<&Row> = rows.iter().filter(|row| row.origin.is_some()).collect();
        let entries: Vec<Entry> = of
            .iter()
            .map(|row| Entry {
                path: row.path.clone(),
                kind: row.kind.clone(),
                mode: row.mode,
                size: row.size.unwrap_or(0),
                sha256: row.sha256,
                facts: None,
            })
            .collect();
        let plain = entries.iter().filter(|e| e.kind == EntryKind::File);
        let unpacked = plain.fold(0u64, |sum, entry| sum.saturating_add(entry.size));
        let facts: BundleFacts = request(std::path::Path::new("/")).facts;
        Bundle {
            schema_version: SCHEMA_VERSION,
            facts,
            size: Size {
                unpacked,
                files: of.iter().filter(|row| row.size.is_some()).count() as u64,
            },
            layers: Vec::new(),
            components: vec![ComponentRecord {
                name: "evil".to_owned(),
                version: None,
                kind: ComponentKind::Wheel,
                id: component_id(&entries),
                sha256: None,
                source: None,
                layer: Layer::App,
                entries: entries.len() as u64,
                unpacked,
            }],
            digests: Digests {
                files,
                recipe: None,
                lock: None,
            },
            encoding: (&ENCODING).into(),
        }
    }

    /// The bytes of the bundle.
    pub fn bytes(&self) -> Vec<u8> {
        let mut rows = self.rows.clone();
        let folders = manifest::folders(rows.iter().map(|row| row.path.as_str()));
        let known: Vec<String> = rows.iter().map(|row| row.path.clone()).collect();
        rows.extend(
            folders
                .iter()
                .filter(|f| !known.contains(f))
                .map(|f| Row::folder(f)),
        );
        rows.sort_by(|a, b| a.path.cmp(&b.path));
        let files = manifest::write_files(&rows).unwrap();
        let mut bundle = self.bundle(Digest::of(&files), &rows);
        (self.twist)(&mut bundle);
        let mut complete = Complete {
            entries: rows.len() as u64,
            files: bundle.digests.files,
            layers: Vec::new(),
            tail: 0,
        };
        (self.twist_end)(&mut complete);
        let mut head = file("bundle.json", &bundle.to_bytes().unwrap());
        head.extend(file("files.jsonl", &files));
        let mut listed = vec![String::new()];
        listed.extend(
            rows.iter()
                .filter(|r| r.kind == EntryKind::Dir)
                .map(|r| r.path.clone()),
        );
        for folder in self.folders.clone().unwrap_or(listed) {
            let name = match folder.as_str() {
                "" => "runtime/".to_owned(),
                folder => format!("runtime/{folder}/"),
            };
            let header = tar_entry::header(&folder, &EntryKind::Dir, 0o755, 0);
            head.extend(header.unwrap_or_else(|_| raw(name.as_bytes(), b'5', 0o755, 0, b"")));
        }
        let ids = bundle.components.iter().map(|c| c.id).collect();
        pack(
            &[(Part::Head, &head), (Part::Component(0), &self.tar)],
            ids,
            &complete,
        )
    }
}

fn pack(parts: &[(Part, &Vec<u8>)], components: Vec<Digest>, complete: &Complete) -> Vec<u8> {
    let mut table = SegmentTable {
        segments: Vec::new(),
        components,
    };
    let mut body = Vec::new();
    let mut unpacked = 0;
    for (part, tar) in parts.iter().filter(|(_, tar)| !tar.is_empty()) {
        let mut blocks = Vec::new();
        segments::encode(&ENCODING, tar, &mut blocks).unwrap();
        table.segments.push(Segment {
            offset: (FRAME_HEADER_SIZE + body.len()) as u64,
            packed: blocks.len() as u64,
            unpacked: tar.len() as u64,
            xxh3: segments::xxh3(&blocks),
            part: *part,
        });
        unpacked += tar.len() as u64;
        body.extend(blocks);
    }
    let (end, end_len) = tail::write(&table, complete).unwrap();
    let mut out = frame_header(unpacked + end_len, ENCODING.window_log).to_vec();
    out.extend(body);
    out.extend(end);
    out.extend(LAST_BLOCK);
    out
}
