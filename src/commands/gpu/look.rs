//! What `bundler gpu` tells of one file, and what it finds wrong with it.

use serde::Serialize;

use crate::base::capability::ComputeCapability;
use crate::base::finding::{Finding, Severity};
use crate::build::audit::Policy;
use crate::formats::fatbin::{
    self, Code, Container, Found, GpuFacts, Item, Kernels, Kind, Suffix, Verdict,
};

/// GPU code of one file.
#[derive(Debug, Serialize)]
pub struct Library {
    /// Path in what was named, or the file itself as named.
    pub path: String,
    /// Containers whose code runs as it is.
    pub containers: u32,
    /// Those of them without any kernel.
    pub empty: u32,
    /// Containers that are inputs of a link.
    pub relocatable: u32,
    /// Code in containers that run as they are, by kind and number.
    pub code: Vec<Listed>,
    /// Code in inputs of a link.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relocatable_code: Vec<Listed>,
    /// The library chooses among its containers itself: one that runs is enough.
    pub dispatches: bool,
    /// What it means for the devices that were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Answer>,
    /// Kernels of every entry, where they were asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kernels: Vec<EntryKernels>,
}

/// One sort of code, and how many entries there are.
#[derive(Debug, Serialize)]
pub struct Listed {
    /// `sm_90a`, `compute_120`, `lto_75`.
    pub name: String,
    /// Kind.
    pub kind: Kind,
    /// Entries.
    pub entries: u32,
    /// Of PTX, the version of its instruction set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isa: Option<String>,
    /// Only its maker's libraries can read it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub obfuscated: bool,
}

/// What a library's code means for a device.
#[derive(Debug, Serialize)]
pub struct Answer {
    /// The device.
    pub capability: ComputeCapability,
    /// What runs there.
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Kernels of an entry.
#[derive(Debug, Serialize)]
pub struct EntryKernels {
    /// Code of the entry.
    pub name: String,
    /// Offset of the entry in the file.
    pub offset: u64,
    /// Kernel names as the compiler mangled them.
    pub kernels: Vec<String>,
    /// Of PTX, its `.version`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Of PTX, its `.target`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
}

/// Looks at one file; `None` where it has no GPU code.
pub fn library(
    path: &str,
    bytes: &[u8],
    capabilities: &[ComputeCapability],
    with_kernels: bool,
    findings: &mut Vec<Finding>,
) -> Option<Library> {
    let facts = GpuFacts::read(bytes, true)?;
    for fault in &facts.faults {
        findings.push(error("fatbin-unreadable", path, fault.clone()));
    }
    let dispatches = Policy::embedded().dispatches(path);
    let coverage = capabilities.iter().map(|capability| Answer {
        capability: *capability,
        verdict: facts.verdict(*capability, dispatches),
    });
    let coverage: Vec<Answer> = coverage.collect();
    for answer in &coverage {
        findings.extend(uncovered(path, answer));
    }
    let kernels = if with_kernels {
        kernels(path, bytes, findings)
    } else {
        Vec::new()
    };
    let empty = facts
        .shapes
        .iter()
        .filter(|s| s.empty && !s.is_relocatable());
    Some(Library {
        path: path.to_owned(),
        containers: facts.containers(false),
        empty: empty.map(|s| s.containers).sum(),
        relocatable: facts.containers(true),
        code: listed(&facts, false),
        relocatable_code: listed(&facts, true),
        dispatches,
        coverage,
        kernels,
    })
}

fn listed(facts: &GpuFacts, relocatable: bool) -> Vec<Listed> {
    let entries = facts.entries(|s| s.is_relocatable() == relocatable);
    entries
        .into_iter()
        .map(|(code, entries)| Listed {
            name: code.name(),
            kind: code.kind,
            entries,
            isa: code.isa.map(|(major, minor)| format!("{major}.{minor}")),
            obfuscated: code.obfuscated,
        })
        .collect()
}

fn uncovered(path: &str, answer: &Answer) -> Option<Finding> {
    let capability = answer.capability;
    let message = match answer.verdict {
        Verdict::None => format!("nothing in it runs on a device of capability {capability}"),
        Verdict::Partial { usable, unusable } => format!(
            "{unusable} of {} containers hold nothing for a device of capability {capability}",
            usable.saturating_add(unusable)
        ),
        _ => return None,
    };
    Some(error("gpu-arch-uncovered", path, message))
}

fn kernels(path: &str, bytes: &[u8], findings: &mut Vec<Finding>) -> Vec<EntryKernels> {
    let mut out = Vec::new();
    match fatbin::kernels_of_file(bytes) {
        Ok(Some(found)) => {
            out.push(entry_kernels("file".to_owned(), 0, found));
            return out;
        }
        Ok(None) => {}
        Err(e) => findings.push(error("fatbin-unreadable", path, e.to_string())),
    }
    let scanned = fatbin::scan(bytes, |found| {
        if let Found::Container(_, container) = found {
            of_container(path, &container, &mut out, findings);
        }
    });
    if let Err(e) = scanned {
        findings.push(error("fatbin-unreadable", path, e.to_string()));
    }
    out
}

fn of_container(
    path: &str,
    container: &Container<'_>,
    out: &mut Vec<EntryKernels>,
    findings: &mut Vec<Finding>,
) {
    for item in &container.items {
        let code = Code::of(item);
        if code.obfuscated || !matches!(code.kind, Kind::Sass | Kind::Ptx) {
            continue;
        }
        match fatbin::kernels(item) {
            Ok(found) => {
                findings.extend(mismatch(path, item, &code, &found));
                out.push(entry_kernels(code.name(), item.offset, found));
            }
            Err(e) => {
                let cause =
                    std::error::Error::source(&e).map_or_else(String::new, |s| format!(": {s}"));
                findings.push(error("fatbin-unreadable", path, format!("{e}{cause}")));
            }
        }
    }
}

fn entry_kernels(name: String, offset: u64, found: Kernels) -> EntryKernels {
    EntryKernels {
        name,
        offset,
        kernels: found.names,
        version: found.ptx_version,
        target: found.ptx_target,
    }
}

/// PTX whose text is for another target than its header says.
fn mismatch(path: &str, item: &Item<'_>, code: &Code, found: &Kernels) -> Option<Finding> {
    let target = found.ptx_target.as_deref()?;
    let suffix = match code.suffix {
        Suffix::Plain => "",
        Suffix::A => "a",
        Suffix::F => "f",
    };
    let wanted = format!("sm_{}{suffix}", code.arch);
    let said = target.split(',').next().unwrap_or_default().trim();
    (said != wanted).then(|| {
        let message = format!(
            "the PTX at offset {:#x} is for {said}, its header says {wanted}",
            item.offset
        );
        error("ptx-target-mismatch", path, message)
    })
}

/// An error finding without a hint.
pub fn error(code: &str, path: &str, message: String) -> Finding {
    Finding {
        severity: Severity::Error,
        code: code.to_owned(),
        path: path.to_owned(),
        message,
        hint: None,
    }
}
