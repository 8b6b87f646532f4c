//! What a bundle says of itself, checked before anything is written: every path plain and once, every link inside, each
//! file of exactly one component, and each component's list of files the one its id stands for. So what is written is
//! named by the bundle's identity down to the last byte, and a component can be shared whoever brings it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::InstallError;
use crate::base::archive::links::{self, Links};
use crate::base::archive::name::{Names, check_path};
use crate::base::digest::Digest;
use crate::base::fs::ReadAt;
use crate::formats::bundle::{BUNDLE_JSON, Bundle, ComponentRecord};
use crate::formats::bundle_reader::{Begin, BundleReader};
use crate::formats::component::{Entry, EntryKind, Layer, component_id};
use crate::formats::manifest::{self, COMPLETE, FILES, LAYERS, LayerFile, Row};
use crate::formats::recorded::FACTS;
use crate::host::store::name_of;

/// A bundle whose description was checked.
#[derive(Debug)]
pub struct Plan {
    /// The name it is installed under.
    pub name: String,
    /// Its identity.
    pub identity: Digest,
    bundle: Bundle,
    /// Grouped by component, folders and records of layers first; sorted by path in each group.
    rows: Vec<Row>,
    groups: Vec<Range<usize>>,
    own: Range<usize>,
    /// What packing made: path and bytes. bundle.json, files.jsonl, `.complete`.
    pub(super) descriptions: [(&'static str, Vec<u8>); 3],
    facts: Option<Vec<u8>>,
}

impl Plan {
    /// Reads and checks what a bundle says of itself.
    pub fn new<R: ReadAt>(reader: &BundleReader<R>) -> Result<Self, InstallError> {
        let Begin {
            bundle,
            identity,
            bundle_json,
            files,
            rows,
            facts,
            folders,
        } = reader.begin()?;
        check_folders(&rows, &folders)?;
        let complete = reader.complete().to_bytes();
        let descriptions = [
            (BUNDLE_JSON, bundle_json),
            (FILES, files),
            (COMPLETE, complete),
        ];
        let mut plan = Self::of(bundle, identity, rows, descriptions)?;
        let row = plan.own_rows().find(|row| row.path == FACTS);
        let digest = facts.as_deref().map(Digest::of);
        if row.and_then(|row| row.sha256) != digest {
            return Err(whole(format!(
                "{FACTS} is not the one of its list of files"
            )));
        }
        plan.facts = facts;
        Ok(plan)
    }

    /// The plan of an installed tree's own descriptions.
    pub fn of(
        bundle: Bundle,
        identity: Digest,
        rows: Vec<Row>,
        descriptions: [(&'static str, Vec<u8>); 3],
    ) -> Result<Self, InstallError> {
        let name = name_of(&bundle.facts, &identity)?;
        check_paths(&rows)?;
        check_links(&rows)?;
        let (rows, own, groups) = group(rows, &bundle)?;
        let plan = Self {
            name,
            identity,
            bundle,
            rows,
            groups,
            own,
            descriptions,
            facts: None,
        };
        plan.check_components()?;
        Ok(plan)
    }

    /// bundle.json.
    pub fn bundle(&self) -> &Bundle {
        &self.bundle
    }

    /// How many components.
    pub fn components(&self) -> usize {
        self.groups.len()
    }

    /// What bundle.json says of a component. Numbers are below [`Self::components`].
    pub fn record(&self, number: usize) -> &ComponentRecord {
        &self.bundle.components[number]
    }

    /// The id of a component.
    pub fn id(&self, number: usize) -> Digest {
        self.record(number).id
    }

    /// The rows of a component, sorted by path.
    pub fn rows_of(&self, number: usize) -> std::slice::Iter<'_, Row> {
        self.rows[self.groups[number].clone()].iter()
    }

    /// A row of a component by its path.
    pub fn row(&self, number: usize, path: &str) -> Option<&Row> {
        let rows = &self.rows[self.groups[number].clone()];
        let at = rows.binary_search_by(|row| row.path.as_str().cmp(path));
        at.ok().map(|at| &rows[at])
    }

    /// Folders, and files that belong to no component.
    pub fn own_rows(&self) -> std::slice::Iter<'_, Row> {
        self.rows[self.own.clone()].iter()
    }

    /// The rows of the records of layers.
    pub fn layer_rows(&self) -> impl Iterator<Item = &Row> {
        self.own_rows()
            .filter(|row| row.kind == EntryKind::File && row.path != FACTS)
    }

    /// The record of a layer, made from what it is a record of: it must be the one that is listed.
    pub fn layer_record(&self, row: &Row) -> Result<Vec<u8>, InstallError> {
        let wrong = || path(row, "it is no record of a layer of this bundle");
        for layer in [Layer::Base, Layer::App] {
            let numbers = (0..self.components()).filter(|n| self.record(*n).layer == layer);
            let numbers: Vec<usize> = numbers.collect();
            let ids: Vec<Digest> = numbers.iter().map(|n| self.id(*n)).collect();
            let mut rows: Vec<&Row> = numbers.iter().flat_map(|n| self.rows_of(*n)).collect();
            rows.sort_by(|a, b| a.path.cmp(&b.path));
            let record = LayerFile {
                schema_version: 1,
                layer,
                id: manifest::layer_id(&ids),
                entries: rows.len() as u64,
                sha256: Digest::of(&manifest::write_files(rows).map_err(|_| wrong())?),
            };
            let bytes = record.to_bytes().map_err(|_| wrong())?;
            if row.path == record.path() && row.sha256 == Some(Digest::of(&bytes)) {
                return Ok(bytes);
            }
        }
        Err(wrong())
    }

    /// All rows.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// facts.jsonl, where the bundle has one and the plan was read from the bundle itself.
    pub fn facts(&self) -> Option<&[u8]> {
        self.facts.as_deref()
    }

    /// What packing made: path and bytes.
    pub fn descriptions(&self) -> &[(&'static str, Vec<u8>)] {
        &self.descriptions
    }

    fn check_components(&self) -> Result<(), InstallError> {
        let (mut unpacked, mut files) = (0u64, 0u64);
        for number in 0..self.components() {
            let record = self.record(number);
            let entries: Vec<Entry> = self.rows_of(number).map(entry).collect();
            let sizes = entries.iter().filter(|e| e.kind == EntryKind::File);
            let bytes = sizes.fold(0u64, |sum, e| sum.saturating_add(e.size));
            if component_id(&entries) != record.id
                || entries.len() as u64 != record.entries
                || bytes != record.unpacked
            {
                let name = &record.name;
                return Err(whole(format!(
                    "the list of files of component {name} is not the one its id stands for"
                )));
            }
            unpacked = unpacked.saturating_add(bytes);
            files += self.rows_of(number).filter(|r| r.size.is_some()).count() as u64;
        }
        if (unpacked, files) != (self.bundle.size.unpacked, self.bundle.size.files) {
            return Err(whole("its size is not that of its files"));
        }
        Ok(())
    }
}

fn whole(what: impl Into<String>) -> InstallError {
    InstallError::Whole { what: what.into() }
}

fn path(row: &Row, what: impl Into<String>) -> InstallError {
    InstallError::Path {
        path: row.path.clone(),
        what: what.into(),
    }
}

fn entry(row: &Row) -> Entry {
    Entry {
        path: row.path.clone(),
        kind: row.kind.clone(),
        mode: row.mode,
        size: row.size.unwrap_or(0),
        sha256: row.sha256,
        facts: None,
    }
}

/// The folders in the archive are those of the list.
fn check_folders(rows: &[Row], folders: &[String]) -> Result<(), InstallError> {
    let listed = rows.iter().filter(|row| row.kind == EntryKind::Dir);
    let mut listed: Vec<&str> = listed.map(|row| row.path.as_str()).collect();
    listed.insert(0, "");
    if folders.iter().map(String::as_str).eq(listed) {
        Ok(())
    } else {
        Err(whole("its folders are not those of its list of files"))
    }
}

fn check_paths(rows: &[Row]) -> Result<(), InstallError> {
    let mut names = Names::new();
    for made in [BUNDLE_JSON, FILES, COMPLETE] {
        let _ = names.add(made, false);
    }
    for row in rows {
        let is_dir = row.kind == EntryKind::Dir;
        check_path(row.path.as_bytes()).map_err(|f| path(row, f.to_string()))?;
        names
            .add(&row.path, is_dir)
            .map_err(|f| path(row, f.to_string()))?;
        let has_bytes = matches!(row.kind, EntryKind::File | EntryKind::Hardlink { .. });
        let fine = match row.kind {
            EntryKind::File | EntryKind::Hardlink { .. } => matches!(row.mode, 0o644 | 0o755),
            EntryKind::Dir => row.mode == 0o755,
            EntryKind::Symlink { .. } => row.mode == 0o777,
        };
        if !fine {
            return Err(path(row, "its mode is none that bundles have"));
        }
        if row.size.is_some() != has_bytes || row.sha256.is_some() != has_bytes {
            return Err(path(
                row,
                "its size or digest is missing, or has no place there",
            ));
        }
    }
    let folders = manifest::folders(rows.iter().map(|row| row.path.as_str()));
    let listed = rows.iter().filter(|row| row.kind == EntryKind::Dir);
    let listed: BTreeSet<&str> = listed.map(|row| row.path.as_str()).collect();
    if folders
        .iter()
        .map(String::as_str)
        .eq(listed.iter().copied())
    {
        Ok(())
    } else {
        Err(whole("its folders are not those its files lie in"))
    }
}

fn check_links(rows: &[Row]) -> Result<(), InstallError> {
    let mut all = Links::new();
    let by_path: BTreeMap<&str, &Row> = rows.iter().map(|r| (r.path.as_str(), r)).collect();
    for row in rows {
        match &row.kind {
            EntryKind::Symlink { target } => {
                links::check_goal(&row.path, target.as_bytes())
                    .map_err(|f| path(row, f.to_string()))?;
                all.add(&row.path, target);
            }
            EntryKind::Hardlink { target } => {
                let same = |goal: &Row| {
                    goal.kind == EntryKind::File
                        && goal.origin == row.origin
                        && (goal.mode, goal.size, goal.sha256) == (row.mode, row.size, row.sha256)
                };
                let goal = by_path.get(target.as_str());
                if !goal.is_some_and(|goal| same(goal)) {
                    let what = format!(
                        "it is a hard link to {target:?}, which is no file of its component with the same bytes"
                    );
                    return Err(path(row, what));
                }
            }
            EntryKind::File | EntryKind::Dir => {}
        }
    }
    all.finish().map_err(|(path, fault)| InstallError::Path {
        path,
        what: fault.to_string(),
    })
}

type Grouped = (Vec<Row>, Range<usize>, Vec<Range<usize>>);

/// Rows by component, in the components' order; what belongs to none first.
fn group(rows: Vec<Row>, bundle: &Bundle) -> Result<Grouped, InstallError> {
    let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, component) in bundle.components.iter().enumerate() {
        if numbers.insert(&component.name, number).is_some() {
            let name = &component.name;
            return Err(whole(format!("it has two components named {name:?}")));
        }
    }
    let records: BTreeSet<String> = bundle
        .layers
        .iter()
        .map(|layer| format!("{LAYERS}/{}.json", layer.id))
        .collect();
    let mut groups: Vec<Vec<Row>> = vec![Vec::new(); bundle.components.len()];
    let mut out = Vec::with_capacity(rows.len());
    for row in rows {
        let is_layers = row.path.split('/').next() == Some(LAYERS);
        match &row.origin {
            None if row.kind == EntryKind::Dir => out.push(row),
            None if row.kind == EntryKind::File
                && (row.path == FACTS || records.contains(&row.path)) =>
            {
                out.push(row);
            }
            Some(name) if row.kind != EntryKind::Dir && !is_layers && row.path != FACTS => {
                let number = numbers.get(name.as_str()).copied();
                let group = number.and_then(|number| groups.get_mut(number));
                match group {
                    Some(group) => group.push(row),
                    None => return Err(path(&row, "it belongs to no component of the bundle")),
                }
            }
            _ => return Err(path(&row, "it belongs to no component of the bundle")),
        }
    }
    let own = 0..out.len();
    let mut ranges = Vec::new();
    for group in groups {
        let start = out.len();
        out.extend(group);
        ranges.push(start..out.len());
    }
    Ok((out, own, ranges))
}
