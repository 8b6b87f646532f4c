//! `bundler inspect`: what a bundle is, from its first segment and its segment table. Unpacks nothing, reads a few
//! hundred kilobytes of gigabytes.

use std::fmt::Write as _;

use anyhow::Context;
use serde::Serialize;

use super::{Answer, Outcome, report};
use crate::base::digest::Digest;
use crate::base::fs;
use crate::cli::{Global, InspectArgs};
use crate::formats::bundle::{Bundle, ComponentRecord};
use crate::formats::bundle_reader::BundleReader;
use crate::formats::component::{ComponentKind, Layer};
use crate::formats::segment_table::Part;
use crate::formats::self_extracting;

/// Version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// What is told of a bundle.
#[derive(Debug, Serialize)]
struct Inspection {
    schema_version: u32,
    /// As given on the command line.
    file: String,
    /// Bytes of the file.
    packed: u64,
    /// Bytes of the tar inside.
    tar: u64,
    /// Identity: digest of bundle.json.
    identity: Digest,
    /// Number of segments.
    segments: usize,
    /// Components with their share of the file.
    components: Vec<Share>,
    /// bundle.json.
    bundle: Bundle,
}

/// A component's share of the file.
#[derive(Debug, Serialize)]
struct Share {
    #[serde(flatten)]
    record: ComponentRecord,
    /// Bytes of its segments.
    packed: u64,
    /// Number of its segments.
    segments: usize,
}

/// Runs it.
pub fn run(args: &InspectArgs, global: &Global) -> Answer {
    let inspection = inspect(args)?;
    report::answer(global, &inspection, text)?;
    Ok(Outcome::Done)
}

fn inspect(args: &InspectArgs) -> anyhow::Result<Inspection> {
    let path = &args.bundle;
    let could_not = || format!("could not inspect {}", path.display());
    let file = fs::open(path).with_context(could_not)?;
    let reader = BundleReader::open(self_extracting::payload(file)).with_context(could_not)?;
    let described = reader.describe().with_context(could_not)?;
    let share = |(number, record): (usize, &ComponentRecord)| {
        let rows = &reader.table().segments[reader.segments_of(Part::Component(number as u32))];
        Share {
            record: record.clone(),
            packed: rows.iter().map(|segment| segment.packed).sum(),
            segments: rows.len(),
        }
    };
    let components = described.bundle.components.iter().enumerate();
    Ok(Inspection {
        schema_version: SCHEMA_VERSION,
        file: path.display().to_string(),
        packed: reader.size(),
        tar: reader.header().content_size,
        identity: described.identity,
        segments: reader.table().segments.len(),
        components: components.map(share).collect(),
        bundle: described.bundle,
    })
}

/// The form for people: what it is, what it needs, what is inside.
fn text(value: &Inspection) -> String {
    let Bundle {
        facts,
        size,
        layers,
        encoding,
        ..
    } = &value.bundle;
    let mut out = format!("{} {}\n", facts.name, facts.version);
    let mut line = |name: &str, text: String| {
        if !text.is_empty() {
            let _ = writeln!(out, "  {name:<10} {text}");
        }
    };
    line("target", facts.target.target().to_string());
    line("identity", value.identity.to_string());
    line("python", facts.python.clone());
    line("torch", facts.torch.clone().unwrap_or_default());
    if let Some(cuda) = &facts.cuda {
        let driver = cuda.driver_floor.as_ref();
        let driver = driver.map_or_else(String::new, |v| format!(", driver {v} or newer"));
        line("cuda", format!("{}{driver}", cuda.version));
    }
    line("host", floor(value));
    if let Some(source) = &facts.source {
        let from = source.repository.as_deref().unwrap_or("a folder");
        let revision = source.revision.as_ref();
        let revision = revision.map_or_else(String::new, |r| format!(" at {r}"));
        line("source", format!("{from}{revision}"));
    }
    let files = size.files;
    line(
        "size",
        format!(
            "{} packed, {} unpacked in {files} files",
            report::size(value.packed),
            report::size(size.unpacked)
        ),
    );
    for layer in layers {
        line("layer", format!("{} {}", layer_name(layer.layer), layer.id));
    }
    line(
        "encoding",
        format!(
            "zstd {} level {}, window 2^{}, {} segments",
            encoding.libzstd, encoding.level, encoding.window_log, value.segments
        ),
    );
    out.push('\n');
    table(&mut out, value);
    out
}

fn floor(value: &Inspection) -> String {
    let floor = &value.bundle.facts.floor;
    [
        ("glibc", &floor.glibc),
        ("GLIBCXX", &floor.glibcxx),
        ("CXXABI", &floor.cxxabi),
    ]
    .iter()
    .filter_map(|(name, version)| Some(format!("{name} {}", version.as_ref()?)))
    .collect::<Vec<_>>()
    .join(", ")
}

fn layer_name(layer: Layer) -> &'static str {
    match layer {
        Layer::Base => "base",
        Layer::App => "app",
    }
}

fn kind_name(kind: ComponentKind) -> &'static str {
    match kind {
        ComponentKind::Interpreter => "interpreter",
        ComponentKind::Wheel => "wheel",
        ComponentKind::Source => "source",
        ComponentKind::Shim => "shim",
        ComponentKind::Library => "library",
        ComponentKind::Layout => "layout",
    }
}

/// One line per component, in the order of the file.
fn table(out: &mut String, value: &Inspection) {
    let row = |share: &Share| {
        let record = &share.record;
        [
            record.name.clone(),
            record.version.clone().unwrap_or_default(),
            kind_name(record.kind).to_owned(),
            layer_name(record.layer).to_owned(),
            record.entries.to_string(),
            report::size(record.unpacked),
            report::size(share.packed),
        ]
    };
    let head = [
        "component",
        "version",
        "kind",
        "layer",
        "entries",
        "unpacked",
        "packed",
    ];
    let mut rows = vec![head.map(str::to_owned)];
    rows.extend(value.components.iter().map(row));
    let mut widths = [0; 7];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    for row in &rows {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(widths).enumerate() {
            // Numbers to the right.
            let _ = match column {
                0..4 => write!(line, "{cell:<width$}  "),
                _ => write!(line, "{cell:>width$}  "),
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}
