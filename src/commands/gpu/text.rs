//! `bundler gpu` for people: a block per library, then one sentence per device.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::GpuReport;
use super::look::{Library, Listed};
use crate::commands::report::finding_text;
use crate::formats::fatbin::{Kind, Verdict};

/// So many libraries are named in a sentence.
const NAMED: usize = 5;

/// The whole answer.
pub fn text(report: &GpuReport) -> String {
    let mut out = String::new();
    if report.libraries.is_empty() {
        let _ = writeln!(out, "{}: no GPU code", report.file);
    }
    for library in &report.libraries {
        block(&mut out, library);
    }
    if report.libraries.len() > 1 {
        sentences(&mut out, &report.libraries);
    }
    for finding in &report.findings {
        out.push_str(&finding_text(finding));
    }
    out
}

fn block(out: &mut String, library: &Library) {
    let _ = writeln!(out, "{}", library.path);
    let mut counts = vec![plural(library.containers, "container")];
    if library.empty > 0 {
        counts.push(format!("{} without kernels", library.empty));
    }
    if library.relocatable > 0 {
        counts.push(format!("{} more as inputs of a link", library.relocatable));
    }
    let _ = writeln!(out, "  {}", counts.join(", "));
    codes(out, "", &library.code);
    codes(out, "link ", &library.relocatable_code);
    for answer in &library.coverage {
        let _ = writeln!(
            out,
            "  {:<9} {}",
            answer.capability.to_string(),
            sentence(&answer.verdict)
        );
    }
    for entry in &library.kernels {
        let target = entry.target.as_deref().map_or_else(String::new, |t| {
            format!(", PTX {} for {t}", entry.version.as_deref().unwrap_or("?"))
        });
        let _ = writeln!(
            out,
            "  {:#010x} {}{target}: {}",
            entry.offset,
            entry.name,
            plural(entry.kernels.len() as u32, "kernel")
        );
        for kernel in &entry.kernels {
            let _ = writeln!(out, "    {kernel}");
        }
    }
}

fn codes(out: &mut String, place: &str, all: &[Listed]) {
    let mut kinds: BTreeMap<Kind, Vec<&Listed>> = BTreeMap::new();
    for code in all {
        kinds.entry(code.kind).or_default().push(code);
    }
    for (kind, codes) in kinds {
        let word = match kind {
            Kind::Sass => "SASS",
            Kind::Ptx => "PTX",
            Kind::Lto => "LTO IR",
            Kind::Other(_) => "other",
        };
        let one = |code: &&Listed| {
            let isa = code
                .isa
                .as_ref()
                .map_or_else(String::new, |isa| format!(" (PTX {isa})"));
            let hidden = if code.obfuscated { " (obfuscated)" } else { "" };
            format!("{} ×{}{isa}{hidden}", code.name, code.entries)
        };
        let list: Vec<String> = codes.iter().map(one).collect();
        let _ = writeln!(out, "  {:<9} {}", format!("{place}{word}"), list.join("  "));
    }
}

fn sentence(verdict: &Verdict) -> String {
    match verdict {
        Verdict::NoCode => "no kernels".to_owned(),
        Verdict::Native { exact: true } => "native".to_owned(),
        Verdict::Native { exact: false } => {
            "native, by code of an earlier device of the same generation".to_owned()
        }
        Verdict::Jit { native, jit, cuda } => {
            let driver = cuda.map_or_else(
                || "an unknown driver".to_owned(),
                |(major, minor)| format!("a driver for CUDA {major}.{minor} or newer"),
            );
            let rest = if *native > 0 {
                format!("; {native} native")
            } else {
                String::new()
            };
            format!(
                "{} compiled at first use, by {driver}{rest}",
                plural(*jit, "container")
            )
        }
        Verdict::Partial { usable, unusable } => {
            format!(
                "partial: {usable} of {} containers",
                usable.saturating_add(*unusable)
            )
        }
        Verdict::None => "none".to_owned(),
    }
}

/// Per device: how many libraries run, and the names of those that do not or need the driver's compiler.
fn sentences(out: &mut String, libraries: &[Library]) {
    let mut devices: Vec<_> = libraries
        .iter()
        .flat_map(|l| l.coverage.iter().map(|a| a.capability))
        .collect();
    devices.sort();
    devices.dedup();
    for device in devices {
        let (mut native, mut other): (u32, BTreeMap<&str, Vec<&str>>) = (0, BTreeMap::new());
        for library in libraries {
            let name = library.path.rsplit('/').next().unwrap_or(&library.path);
            for answer in library.coverage.iter().filter(|a| a.capability == device) {
                match answer.verdict {
                    Verdict::Native { .. } => native += 1,
                    Verdict::NoCode => {}
                    Verdict::Jit { .. } => {
                        other.entry("compiled at first use").or_default().push(name);
                    }
                    Verdict::Partial { .. } => other.entry("partial").or_default().push(name),
                    Verdict::None => other.entry("none").or_default().push(name),
                }
            }
        }
        let _ = write!(out, "capability {device}: native in {native}");
        for (word, names) in other {
            let shown: Vec<&str> = names.iter().copied().take(NAMED).collect();
            let more = names.len().saturating_sub(NAMED);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let _ = write!(
                out,
                "; {word} in {} ({}{more})",
                names.len(),
                shown.join(", ")
            );
        }
        out.push('\n');
    }
}

fn plural(number: u32, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}
