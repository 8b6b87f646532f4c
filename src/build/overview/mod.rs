//! One page of HTML about a bundle: what fills it, what runs where, what was found. Self-contained: no script, no network, no
//! font of its own; readable at any width, light and dark.

mod html;
mod treemap;

use std::collections::BTreeMap;

use crate::base::capability::ComputeCapability;
use crate::base::digest::Digest;
use crate::base::finding::Severity;
use crate::build::assemble::Tree;
use crate::build::audit::Report;
use crate::formats::bundle::Bundle;
use crate::formats::component::{ComponentKind, EntryKind};
use crate::formats::fatbin::{LibraryOutlook, Outlook, Verdict, cuda_of_driver};
use html::{Html, escaped};
use treemap::{Item, Tile, squarify};

/// Devices that the heat map shows beside those of the recipe.
const DEVICES: [&str; 11] = [
    "7.5", "8.0", "8.6", "8.7", "8.9", "9.0", "10.0", "10.3", "11.0", "12.0", "12.1",
];
/// Smaller shares of a component's bytes, in thousandths of the bundle, are one tile.
const SMALLEST: u64 = 4;

/// What the page is about.
#[derive(Debug)]
pub struct Overview<'a> {
    /// bundle.json.
    pub bundle: &'a Bundle,
    /// Its digest.
    pub identity: Digest,
    /// Bytes of the bundle file, where it is one.
    pub packed: Option<u64>,
    /// The tree.
    pub tree: &'a Tree,
    /// What the audit found.
    pub report: &'a Report,
}

/// The page.
pub fn page(overview: &Overview<'_>) -> String {
    let bundle = overview.bundle;
    let title = format!("{} {}", bundle.file_name(), bundle.facts.version);
    let mut html = Html::new(&title);
    summary(&mut html, overview);
    map(&mut html, overview);
    coverage(&mut html, overview);
    findings(&mut html, overview.report);
    host(&mut html, overview.report);
    components(&mut html, overview);
    html.finish()
}

fn summary(html: &mut Html, overview: &Overview<'_>) {
    let facts = &overview.bundle.facts;
    let report = overview.report;
    let count = |severity| {
        report
            .findings
            .iter()
            .filter(|f| f.severity == severity)
            .count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let class = if errors > 0 { "bad" } else { "good" };
    let verdict = match errors {
        0 => "No error was found by reading the files".to_owned(),
        1 => "1 error was found".to_owned(),
        n => format!("{n} errors were found"),
    };
    html.raw(&format!(
        "<p class=\"verdict {class}\">{verdict}; {warnings} warnings, {} waived. Reading files does not replace a run on a GPU.</p>",
        report.waived.len()
    ));
    let size = &overview.bundle.size;
    let cuda = facts.cuda.as_ref();
    html.facts(&[
        ("target", facts.target.target().to_string()),
        ("python", facts.python.clone()),
        ("torch", facts.torch.clone().unwrap_or_default()),
        ("CUDA", cuda.map(|c| c.version.clone()).unwrap_or_default()),
        (
            "oldest driver",
            cuda.and_then(|c| c.driver_floor.clone())
                .unwrap_or_default(),
        ),
        (
            "glibc",
            facts
                .floor
                .glibc
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
        ),
        ("packed", overview.packed.map(bytes).unwrap_or_default()),
        (
            "unpacked",
            format!("{} in {} files", bytes(size.unpacked), size.files),
        ),
        ("runs on", report.distributions.join(", ")),
        ("identity", overview.identity.to_string()),
    ]);
}

/// The bytes: a tile per component, in it a tile per large file.
fn map(html: &mut Html, overview: &Overview<'_>) {
    html.heading("Where the bytes are");
    let total = overview.tree.unpacked_size().max(1);
    let mut parts: Vec<(usize, u64)> = overview
        .tree
        .parts()
        .iter()
        .enumerate()
        .map(|(number, part)| {
            let files = part
                .component
                .entries
                .iter()
                .filter(|e| e.kind == EntryKind::File);
            (number, files.map(|e| e.size).sum())
        })
        .collect();
    parts.sort_by_key(|(number, size)| (std::cmp::Reverse(*size), *number));
    let items: Vec<Item> = parts
        .iter()
        .map(|(number, size)| Item {
            key: *number,
            size: *size,
        })
        .collect();
    html.raw("<div class=\"map\" role=\"img\" aria-label=\"treemap of the bytes; the table of components says the same\">");
    let covered: Vec<&str> = overview
        .report
        .coverage
        .iter()
        .map(|c| c.library.as_str())
        .collect();
    for tile in squarify(&items, 16.0, 9.0) {
        let Some(part) = overview.tree.parts().get(tile.key) else {
            continue;
        };
        let has_gpu = part
            .component
            .entries
            .iter()
            .any(|e| covered.contains(&e.path.as_str()));
        let class = match part.component.kind {
            ComponentKind::Interpreter => "k1",
            _ if has_gpu => "k2",
            ComponentKind::Source | ComponentKind::Layout => "k3",
            _ => "k0",
        };
        let label = format!("{} {}", part.label(), bytes(tile.size));
        let mut files: BTreeMap<std::cmp::Reverse<u64>, Vec<&str>> = BTreeMap::new();
        for entry in part
            .component
            .entries
            .iter()
            .filter(|e| e.kind == EntryKind::File)
        {
            if entry.size.saturating_mul(1000) >= total.saturating_mul(SMALLEST) {
                files
                    .entry(std::cmp::Reverse(entry.size))
                    .or_default()
                    .push(&entry.path);
            }
        }
        let large: Vec<(&str, u64)> = files
            .iter()
            .flat_map(|(size, paths)| paths.iter().map(|path| (*path, size.0)))
            .collect();
        let inner = if large.len() > 1 { " g" } else { "" };
        open_tile(html, &tile, &format!("{class}{inner}"), &label);
        if large.len() > 1 {
            let rest = tile
                .size
                .saturating_sub(large.iter().map(|(_, size)| size).sum());
            let mut inner: Vec<Item> = large
                .iter()
                .enumerate()
                .map(|(key, (_, size))| Item { key, size: *size })
                .collect();
            inner.push(Item {
                key: usize::MAX,
                size: rest,
            });
            let ratio = (tile.width * 16.0, tile.height * 9.0);
            html.raw("<div class=\"in\">");
            for small in squarify(&inner, ratio.0, ratio.1) {
                let name = large
                    .get(small.key)
                    .map_or("all other files", |(path, _)| file_name(path));
                open_tile(html, &small, "f", &format!("{name} {}", bytes(small.size)));
                html.raw("</div>");
            }
            html.raw("</div>");
        }
        html.raw("</div>");
    }
    html.raw("</div><p class=\"key\"><span><i class=\"k2\"></i> with GPU code</span> <span><i class=\"k0\"></i> other wheels</span> <span><i class=\"k1\"></i> python</span> <span><i class=\"k3\"></i> source and scripts</span></p>");
}

/// Begins a tile; the smallest have no label, only a tooltip.
fn open_tile(html: &mut Html, tile: &Tile, class: &str, label: &str) {
    let label = escaped(label);
    html.raw(&format!(
        "<div class=\"t {class}\" title=\"{label}\" style=\"left:{:.2}%;top:{:.2}%;width:{:.2}%;height:{:.2}%\">",
        tile.left * 100.0,
        tile.top * 100.0,
        tile.width * 100.0,
        tile.height * 100.0
    ));
    if tile.width > 0.03 && tile.height > 0.03 {
        html.raw(&format!("<span>{label}</span>"));
    }
}

fn coverage(html: &mut Html, overview: &Overview<'_>) {
    html.heading("Which GPUs it runs on");
    let facts = &overview.bundle.facts;
    let declared: Vec<ComputeCapability> = facts
        .cuda_arch
        .iter()
        .flat_map(|c| c.declared.iter().filter_map(|d| d.parse().ok()))
        .collect();
    let mut devices: Vec<ComputeCapability> =
        DEVICES.iter().filter_map(|d| d.parse().ok()).collect();
    devices.extend(&declared);
    devices.sort_unstable();
    devices.dedup();
    let driver = facts.cuda.as_ref().and_then(|c| c.driver_floor.as_deref());
    let driver = driver
        .and_then(|d| d.parse().ok())
        .and_then(|d| cuda_of_driver(&d));
    let outlooks: Vec<Outlook> = devices
        .iter()
        .map(|d| Outlook::of(&overview.report.coverage, *d, driver))
        .collect();
    let Some(first) = outlooks.first().filter(|o| !o.libraries.is_empty()) else {
        html.raw("<p>There is no GPU code in it.</p>");
        return;
    };
    html.raw("<div class=\"wide\"><table class=\"heat\"><thead><tr><th>library</th>");
    for device in &devices {
        let mark = if declared.contains(device) {
            " class=\"own\""
        } else {
            ""
        };
        html.raw(&format!("<th{mark}>{device}</th>"));
    }
    html.raw("</tr></thead><tbody>");
    for number in 0..first.libraries.len() {
        let path = first
            .libraries
            .get(number)
            .map(|l| l.library.as_str())
            .unwrap_or_default();
        html.raw(&format!(
            "<tr><th title=\"{}\">{}</th>",
            escaped(path),
            escaped(file_name(path))
        ));
        for outlook in &outlooks {
            let (class, word) = outlook.libraries.get(number).map_or(("", ""), cell);
            html.raw(&format!("<td class=\"{class}\">{word}</td>"));
        }
        html.raw("</tr>");
    }
    html.raw("</tbody></table></div><p>Underlined devices are promised by the recipe. <b>exact</b>: code made for this very device; <b>native</b>: for an earlier one of its generation; <b>jit</b>: compiled by the driver at first use; <b>part</b>, <b>none</b>: code is missing.</p><ul>");
    for outlook in outlooks.iter().filter(|o| declared.contains(&o.device)) {
        html.raw(&format!("<li>{}</li>", escaped(&outlook.sentence)));
    }
    html.raw("</ul>");
}

fn cell(library: &LibraryOutlook) -> (&'static str, &'static str) {
    match library.verdict {
        Verdict::NoCode => ("", "–"),
        Verdict::Native { exact: true } => ("h4", "exact"),
        Verdict::Native { exact: false } => ("h3", "native"),
        Verdict::Jit { .. } if library.driver_too_old => ("h1", "driver"),
        Verdict::Jit { .. } => ("h2", "jit"),
        Verdict::Partial { .. } => ("h1", "part"),
        Verdict::None => ("h0", "none"),
    }
}

fn findings(html: &mut Html, report: &Report) {
    html.heading("What was found");
    let mut rows: Vec<Vec<String>> = Vec::new();
    for finding in &report.findings {
        let word = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Note => "note",
        };
        rows.push(vec![
            word.to_owned(),
            finding.code.clone(),
            finding.path.clone(),
            finding.message.clone(),
        ]);
    }
    for waived in &report.waived {
        let finding = &waived.finding;
        let message = format!("{} — accepted: {}", finding.message, waived.reason);
        rows.push(vec![
            "waived".to_owned(),
            finding.code.clone(),
            finding.path.clone(),
            message,
        ]);
    }
    html.table(&["", "code", "path", "what"], &rows);
}

fn host(html: &mut Html, report: &Report) {
    html.heading("What the host must have");
    let floors: Vec<Vec<String>> = report
        .blame
        .iter()
        .map(|b| vec![b.version.clone(), b.path.clone()])
        .collect();
    html.table(&["version", "the file that asks for it"], &floors);
    let need = |n: &crate::formats::floor::HostNeed| {
        let how = if n.optional {
            format!("optional; without it: {}", n.switches_off.join(", "))
        } else {
            "required".to_owned()
        };
        vec![
            n.library.clone(),
            how,
            n.needed_by.first().cloned().unwrap_or_default(),
        ]
    };
    let needs: Vec<Vec<String>> = report.host_needs.iter().map(need).collect();
    html.table(&["library", "", "for example for"], &needs);
}

fn components(html: &mut Html, overview: &Overview<'_>) {
    html.heading("What it is made of");
    let licence = |name: &str| {
        let found = overview
            .report
            .licences
            .iter()
            .find(|l| l.distribution == name);
        found
            .and_then(|l| l.licence.clone().or(l.terms.clone()))
            .unwrap_or_default()
    };
    let mut records: Vec<_> = overview.bundle.components.iter().collect();
    records.sort_by_key(|c| (std::cmp::Reverse(c.unpacked), c.name.clone()));
    let row = |c: &&crate::formats::bundle::ComponentRecord| {
        vec![
            c.name.clone(),
            c.version.clone().unwrap_or_default(),
            format!("{:?}", c.layer).to_lowercase(),
            bytes(c.unpacked),
            c.entries.to_string(),
            c.source.clone().unwrap_or_default(),
            licence(&c.name).chars().take(60).collect(),
        ]
    };
    let rows: Vec<Vec<String>> = records.iter().map(row).collect();
    html.table(
        &[
            "component",
            "version",
            "layer",
            "bytes",
            "entries",
            "from",
            "licence",
        ],
        &rows,
    );
}

fn file_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// `2.6 GB`, in powers of ten.
fn bytes(size: u64) -> String {
    let (unit, name) = match size {
        0..1_000 => return format!("{size} B"),
        1_000..1_000_000 => (1_000, "kB"),
        1_000_000..1_000_000_000 => (1_000_000, "MB"),
        _ => (1_000_000_000, "GB"),
    };
    format!("{}.{} {name}", size / unit, size % unit * 10 / unit)
}
