//! What differs between two bundles: wheels, files, sizes, floors, coverage; and of two that should be equal the first thing that
//! is not. Works on records alone: equal digests are equal bytes.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::bundle::{Bundle, ComponentRecord, Coverage};
use super::component::EntryKind;
use super::manifest::Row;
use super::segment_table::{Part, Segment, SegmentTable};
use crate::base::digest::Digest;

/// One of the two.
#[derive(Debug)]
pub struct Side {
    /// bundle.json.
    pub bundle: Bundle,
    /// Its digest.
    pub identity: Digest,
    /// files.jsonl.
    pub rows: Vec<Row>,
    /// The segments, for a bundle that is one file.
    pub table: Option<SegmentTable>,
}

/// A value on both sides; absent where a side has none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Change {
    /// What it is about: a component, a path, a key of bundle.json.
    pub name: String,
    /// On the first side.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
    /// On the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
}

/// The first thing that differs, in the order of the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct First {
    /// Path of the entry.
    pub entry: String,
    /// Which attribute of it.
    pub attribute: String,
    /// On the first side.
    pub a: String,
    /// On the second.
    pub b: String,
}

/// What differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Both are the same bundle, bit for bit once unpacked.
    pub equal: bool,
    /// The first thing that differs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<First>,
    /// Components by name: version, or digest where the version is the same.
    pub components: Vec<Change>,
    /// Bytes unpacked: of the bundle, its layers, and components whose size differs.
    pub sizes: Vec<Change>,
    /// Floors, python, torch, CUDA, driver: what the host must have.
    pub needs: Vec<Change>,
    /// GPU code by library.
    pub coverage: Vec<Change>,
    /// Files and links only on one side, or with other bytes, mode or goal.
    pub files: Vec<Change>,
}

/// Compares two bundles.
pub fn compare(a: &Side, b: &Side) -> Difference {
    let first = first(a, b);
    Difference {
        equal: first.is_none(),
        components: changes(components(&a.bundle), components(&b.bundle)),
        sizes: changes(sizes(&a.bundle), sizes(&b.bundle)),
        needs: changes(needs(&a.bundle), needs(&b.bundle)),
        coverage: changes(coverage(&a.bundle), coverage(&b.bundle)),
        files: changes(files(&a.rows), files(&b.rows)),
        first,
    }
}

type Values = BTreeMap<String, String>;

fn changes(mut a: Values, mut b: Values) -> Vec<Change> {
    let names: BTreeSet<String> = a.keys().chain(b.keys()).cloned().collect();
    names
        .into_iter()
        .map(|name| Change {
            a: a.remove(&name),
            b: b.remove(&name),
            name,
        })
        .filter(|change| change.a != change.b)
        .collect()
}

fn components(bundle: &Bundle) -> Values {
    let text = |c: &ComponentRecord| {
        let id = c.id.to_string();
        let id = id.get(..12).unwrap_or_default();
        match &c.version {
            Some(version) => format!("{version} ({id})"),
            None => format!("({id})"),
        }
    };
    bundle
        .components
        .iter()
        .map(|c| (c.name.clone(), text(c)))
        .collect()
}

fn sizes(bundle: &Bundle) -> Values {
    let mut out = Values::new();
    out.insert("bundle".to_owned(), bundle.size.unpacked.to_string());
    out.insert("files".to_owned(), bundle.size.files.to_string());
    for layer in &bundle.layers {
        out.insert(
            format!("layer {:?}", layer.layer).to_lowercase(),
            layer.unpacked.to_string(),
        );
    }
    for component in &bundle.components {
        out.insert(component.name.clone(), component.unpacked.to_string());
    }
    out
}

fn needs(bundle: &Bundle) -> Values {
    let facts = &bundle.facts;
    let mut out = Values::new();
    let mut put = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            out.insert(name.to_owned(), value);
        }
    };
    put("target", Some(facts.target.target().to_string()));
    put("version", Some(facts.version.clone()));
    put("python", Some(facts.python.clone()));
    put("torch", facts.torch.clone());
    put("cuda", facts.cuda.as_ref().map(|c| c.version.clone()));
    put(
        "driver",
        facts.cuda.as_ref().and_then(|c| c.driver_floor.clone()),
    );
    put(
        "cuda_arch",
        facts.cuda_arch.as_ref().map(|c| c.declared.join(" ")),
    );
    put("glibc", facts.floor.glibc.as_ref().map(ToString::to_string));
    put(
        "glibcxx",
        facts.floor.glibcxx.as_ref().map(ToString::to_string),
    );
    put(
        "cxxabi",
        facts.floor.cxxabi.as_ref().map(ToString::to_string),
    );
    for need in &facts.host_needs {
        let how = if need.optional {
            "optional"
        } else {
            "required"
        };
        out.insert(need.library.clone(), how.to_owned());
    }
    out
}

fn coverage(bundle: &Bundle) -> Values {
    let text = |c: &Coverage| {
        [c.sass.join(" "), c.ptx.join(" ")]
            .join(" ")
            .trim()
            .to_owned()
    };
    bundle
        .facts
        .coverage
        .iter()
        .map(|c| (c.library.clone(), text(c)))
        .collect()
}

fn files(rows: &[Row]) -> Values {
    let rows = rows.iter().filter(|row| row.kind != EntryKind::Dir);
    rows.map(|row| (row.path.clone(), row_text(row))).collect()
}

fn row_text(row: &Row) -> String {
    let what = match (&row.kind, row.sha256) {
        (EntryKind::Symlink { target }, _) => format!("link to {target}"),
        (EntryKind::Hardlink { target }, _) => format!("same file as {target}"),
        (_, Some(digest)) => format!("{} bytes, {}", row.size.unwrap_or(0), short(digest)),
        _ => String::new(),
    };
    format!("{:04o} {what}", row.mode)
}

fn short(digest: Digest) -> String {
    digest.to_string().chars().take(12).collect()
}

/// The first difference in the order in which things stand in the archive: bundle.json, entries, compressed bytes. What
/// bundle.json tells of entries (ids, sizes, digests) is passed over where an entry explains it better.
fn first(a: &Side, b: &Side) -> Option<First> {
    entry(&a.rows, &b.rows)
        .or_else(|| (a.identity != b.identity).then(|| json(&a.bundle, &b.bundle)))
        .or_else(|| segments(a, b))
}

fn entry(a: &[Row], b: &[Row]) -> Option<First> {
    let (mut left, mut right) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let absent = |path: &str, in_a: bool| First {
            entry: path.to_owned(),
            attribute: "presence".to_owned(),
            a: if in_a { "there" } else { "not there" }.to_owned(),
            b: if in_a { "not there" } else { "there" }.to_owned(),
        };
        match (left.peek(), right.peek()) {
            (None, None) => return None,
            (Some(x), None) => return Some(absent(&x.path, true)),
            (None, Some(y)) => return Some(absent(&y.path, false)),
            (Some(x), Some(y)) if x.path < y.path => return Some(absent(&x.path, true)),
            (Some(x), Some(y)) if x.path > y.path => return Some(absent(&y.path, false)),
            (Some(x), Some(y)) => {
                // The facts and the layer's record follow from entries that come later.
                let follows = x.origin.is_none() && y.origin.is_none() && x.kind == EntryKind::File;
                if let Some(first) = attribute(x, y).filter(|_| !follows) {
                    return Some(first);
                }
                left.next();
                right.next();
            }
        }
    }
}

fn attribute(x: &Row, y: &Row) -> Option<First> {
    let size = |row: &Row| row.size.map(|s| s.to_string()).unwrap_or_default();
    let digest = |row: &Row| row.sha256.map(|d| d.to_string()).unwrap_or_default();
    let kind = |row: &Row| match &row.kind {
        EntryKind::File => "file".to_owned(),
        EntryKind::Dir => "folder".to_owned(),
        EntryKind::Symlink { target } => format!("link to {target}"),
        EntryKind::Hardlink { target } => format!("same file as {target}"),
    };
    let origin = |row: &Row| row.origin.clone().unwrap_or_default();
    let attributes = [
        ("kind", kind(x), kind(y)),
        ("mode", format!("{:04o}", x.mode), format!("{:04o}", y.mode)),
        ("size", size(x), size(y)),
        ("sha256", digest(x), digest(y)),
        ("origin", origin(x), origin(y)),
    ];
    let differs = attributes.into_iter().find(|(_, a, b)| a != b);
    differs.map(|(attribute, a, b)| First {
        entry: x.path.clone(),
        attribute: attribute.to_owned(),
        a,
        b,
    })
}

/// The first value of bundle.json that differs, by its place.
fn json(a: &Bundle, b: &Bundle) -> First {
    let values = [a, b].map(|bundle| serde_json::to_value(bundle).unwrap_or_default());
    let [a, b] = &values;
    let (place, a, b) = value("", a, b).unwrap_or_default();
    First {
        entry: super::bundle::BUNDLE_JSON.to_owned(),
        attribute: place,
        a,
        b,
    }
}

fn value(
    place: &str,
    a: &serde_json::Value,
    b: &serde_json::Value,
) -> Option<(String, String, String)> {
    use serde_json::Value::{Array, Object};
    match (a, b) {
        (Object(x), Object(y)) => {
            let keys = x.keys().chain(y.keys().filter(|k| !x.contains_key(*k)));
            let none = serde_json::Value::Null;
            keys.map(|key| {
                let place = if place.is_empty() {
                    key.clone()
                } else {
                    format!("{place}.{key}")
                };
                value(
                    &place,
                    x.get(key).unwrap_or(&none),
                    y.get(key).unwrap_or(&none),
                )
            })
            .find_map(|found| found)
        }
        (Array(x), Array(y)) if x.len() == y.len() => {
            let pairs = x.iter().zip(y).enumerate();
            pairs
                .map(|(n, (x, y))| value(&format!("{place}[{n}]"), x, y))
                .find_map(|found| found)
        }
        (a, b) => (a != b).then(|| (place.to_owned(), a.to_string(), b.to_string())),
    }
}

/// Equal entries, compressed to other bytes.
fn segments(a: &Side, b: &Side) -> Option<First> {
    let (ours, others) = (a.table.as_ref()?, b.table.as_ref()?);
    let bytes = |s: &Segment| (s.packed, s.unpacked, s.xxh3);
    let mut pairs = ours.segments.iter().zip(&others.segments).enumerate();
    let (number, (one, other)) =
        pairs.find(|(_, (one, other))| one.part != Part::Tail && bytes(one) != bytes(other))?;
    let component = match one.part {
        Part::Component(n) => a.bundle.components.get(n as usize).map(|c| c.name.clone()),
        _ => None,
    };
    let of = component.map_or_else(String::new, |name| format!(" of {name}"));
    let text = |s: &Segment| format!("{} bytes packed, checksum {:016x}", s.packed, s.xxh3);
    Some(First {
        entry: format!("segment {number}{of}"),
        attribute: "compressed bytes".to_owned(),
        a: text(one),
        b: text(other),
    })
}
