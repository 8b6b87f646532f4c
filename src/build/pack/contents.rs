//! What packing makes itself: bundle.json, files.jsonl, the base layer's record and `.complete`, computed from the
//! components' facts alone.

use std::collections::BTreeSet;

use super::{PackError, PackRequest};
use crate::base::digest::Digest;
use crate::build::assemble::Placed;
use crate::formats::bundle::{
    BUNDLE_JSON, Bundle, ComponentRecord, Digests, LayerRecord, SCHEMA_VERSION, Size,
};
use crate::formats::component::{EntryKind, Layer};
use crate::formats::manifest::{self, Complete, LayerFile, Row};
use crate::formats::recorded;

/// What packing makes itself.
pub(super) struct Contents {
    pub bundle: Bundle,
    pub bundle_json: Vec<u8>,
    pub identity: Digest,
    pub files: Vec<u8>,
    /// facts.jsonl.
    pub facts: Vec<u8>,
    pub folders: BTreeSet<String>,
    /// Path and bytes of the base layer's record, where there is a base layer.
    pub base_record: Option<(String, Vec<u8>)>,
    /// The length of the last segment is not known yet.
    pub complete: Complete,
}

/// Computes it.
pub(super) fn contents(parts: &[Placed], request: &PackRequest) -> Result<Contents, PackError> {
    let name = &request.facts.name;
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        return Err(PackError::Name(name.clone()));
    }
    check_parts(parts)?;
    let mut rows = rows(parts)?;
    let base = base_record(parts, &rows)?;
    let base_record = match &base {
        None => None,
        Some(record) => {
            let (path, bytes) = (record.path(), record.to_bytes()?);
            rows.push((Row::made(&path, &bytes), "packing"));
            Some((path, bytes))
        }
    };
    let facts = facts(parts)?;
    rows.push((Row::made(recorded::FACTS, &facts), "packing"));
    let folders = manifest::folders(rows.iter().map(|(row, _)| row.path.as_str()));
    rows.extend(folders.iter().map(|path| (Row::folder(path), "a folder")));
    rows.sort_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    if let Some([(a, first), (_, second)]) = rows
        .array_windows()
        .find(|[(a, _), (b, _)]| a.path == b.path)
    {
        return Err(PackError::Twice {
            path: a.path.clone(),
            first: (*first).to_owned(),
            second: (*second).to_owned(),
        });
    }
    let files = manifest::write_files(rows.iter().map(|(row, _)| row))?;
    let digest = Digest::of(&files);
    let complete = Complete {
        entries: rows.len() as u64,
        files: digest,
        layers: base.iter().map(|record| record.id).collect(),
        tail: 0,
    };
    let bundle = bundle(parts, request, digest);
    let bundle_json = bundle.to_bytes()?;
    Ok(Contents {
        identity: Digest::of(&bundle_json),
        bundle,
        bundle_json,
        files,
        facts,
        folders,
        base_record,
        complete,
    })
}

fn check_parts(parts: &[Placed]) -> Result<(), PackError> {
    let mut last = Layer::Base;
    for part in parts {
        let bad = |what| {
            let name = part.label();
            Err(PackError::Component { name, what })
        };
        if part.layer < last {
            return bad("it belongs to the base layer but comes after the app layer's");
        }
        last = part.layer;
        for entry in &part.component.entries {
            if entry.kind == EntryKind::Dir {
                return bad("it holds a folder, which packing makes");
            }
            let top = entry.path.split('/').next().unwrap_or_default();
            if [
                BUNDLE_JSON,
                manifest::FILES,
                manifest::COMPLETE,
                manifest::LAYERS,
                recorded::FACTS,
            ]
            .contains(&top)
            {
                let (name, path) = (part.label(), entry.path.clone());
                return Err(PackError::Reserved { name, path });
            }
        }
    }
    Ok(())
}

/// Rows of all components' entries, each with the name of its component.
fn rows(parts: &[Placed]) -> Result<Vec<(Row, &str)>, PackError> {
    let mut out = Vec::new();
    for part in parts {
        let component = &part.component;
        for entry in &component.entries {
            let row = Row::of(entry, &component.name);
            if row.size.is_some() && row.sha256.is_none() {
                return Err(PackError::Component {
                    name: part.label(),
                    what: "it has a file without a digest",
                });
            }
            out.push((row, component.name.as_str()));
        }
    }
    Ok(out)
}

/// facts.jsonl: what ingest read out of the files, and what wheels say of themselves.
fn facts(parts: &[Placed]) -> Result<Vec<u8>, PackError> {
    let wheels = parts.iter().filter_map(|part| {
        let component = &part.component;
        Some((component.name.as_str(), component.distribution.as_ref()?))
    });
    let entries = parts.iter().flat_map(|part| &part.component.entries);
    let files = entries.filter_map(|e| Some((e.path.as_str(), e.facts.as_ref()?)));
    Ok(recorded::write(wheels, files)?)
}

fn of_layer(parts: &[Placed], layer: Layer) -> impl Iterator<Item = &Placed> {
    parts.iter().filter(move |part| part.layer == layer)
}

fn base_record(parts: &[Placed], rows: &[(Row, &str)]) -> Result<Option<LayerFile>, PackError> {
    let entries: usize = of_layer(parts, Layer::Base)
        .map(|part| part.component.entries.len())
        .sum();
    if of_layer(parts, Layer::Base).next().is_none() {
        return Ok(None);
    }
    // Rows stand in the order of components, and the base's come first.
    let mut base: Vec<&Row> = rows.iter().take(entries).map(|(row, _)| row).collect();
    base.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(Some(LayerFile {
        schema_version: 1,
        layer: Layer::Base,
        id: manifest::layer_id(of_layer(parts, Layer::Base).map(|part| &part.component.id)),
        entries: entries as u64,
        sha256: Digest::of(&manifest::write_files(base)?),
    }))
}

/// Bytes and number of the files among a component's entries.
fn size_of(part: &Placed) -> Size {
    let mut size = Size {
        unpacked: 0,
        files: 0,
    };
    for entry in &part.component.entries {
        match entry.kind {
            EntryKind::File => {
                size.unpacked += entry.size;
                size.files += 1;
            }
            EntryKind::Hardlink { .. } => size.files += 1,
            EntryKind::Dir | EntryKind::Symlink { .. } => {}
        }
    }
    size
}

fn bundle(parts: &[Placed], request: &PackRequest, files: Digest) -> Bundle {
    let mut layers = Vec::new();
    for layer in [Layer::Base, Layer::App] {
        if of_layer(parts, layer).next().is_some() {
            let ids = of_layer(parts, layer).map(|part| &part.component.id);
            layers.push(LayerRecord {
                layer,
                id: manifest::layer_id(ids),
                entries: of_layer(parts, layer)
                    .map(|part| part.component.entries.len() as u64)
                    .sum(),
                unpacked: of_layer(parts, layer).map(|p| size_of(p).unpacked).sum(),
            });
        }
    }
    let component = |part: &Placed| {
        let component = &part.component;
        ComponentRecord {
            name: component.name.clone(),
            version: component.version.clone(),
            kind: component.kind,
            id: component.id,
            sha256: component.artifact,
            source: part.source.clone(),
            layer: part.layer,
            entries: component.entries.len() as u64,
            unpacked: size_of(part).unpacked,
        }
    };
    Bundle {
        schema_version: SCHEMA_VERSION,
        facts: request.facts.clone(),
        size: Size {
            unpacked: parts.iter().map(|p| size_of(p).unpacked).sum(),
            files: parts.iter().map(|p| size_of(p).files).sum(),
        },
        layers,
        components: parts.iter().map(component).collect(),
        digests: Digests {
            files,
            recipe: request.recipe,
            lock: request.lock,
        },
        encoding: (&request.encoding).into(),
    }
}
