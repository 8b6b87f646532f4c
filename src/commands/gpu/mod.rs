//! `bundler gpu`: which GPU code a bundle, wheel, folder or file holds, and on which devices it runs. Needs neither a GPU
//! nor the vendor's tools. The answer is no where a device that was asked for is not covered, where something expected is
//! missing, or where code cannot be read.

mod files;
mod look;
mod text;

use anyhow::Context;
use serde::Serialize;

use super::{Answer, Outcome, edge, report};
use crate::base::finding::Finding;
use crate::cli::{Global, GpuArgs};

/// Version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// What is told.
#[derive(Debug, Serialize)]
struct GpuReport {
    schema_version: u32,
    /// As given on the command line.
    file: String,
    /// Files with GPU code, in the order they lie.
    libraries: Vec<look::Library>,
    /// What is wrong.
    findings: Vec<Finding>,
}

/// Runs it.
pub fn run(args: &GpuArgs, global: &Global) -> Answer {
    let file = args.file.display().to_string();
    let mut libraries = Vec::new();
    let mut findings = Vec::new();
    // Kernel names are wanted for what is expected too, unless it is a target.
    let expects_kernels = args.expect.iter().any(|name| !is_target(name));
    let with_kernels = args.kernels || expects_kernels;
    files::each(&args.file, &edge::scratch(global), &mut |name, bytes| {
        let name = if name.is_empty() { &file } else { name };
        if bytes.is_empty() {
            findings.push(look::error(
                "gpu-file-empty",
                name,
                "the file is empty".to_owned(),
            ));
            return;
        }
        libraries.extend(look::library(
            name,
            bytes,
            &args.cc,
            with_kernels,
            &mut findings,
        ));
    })
    .with_context(|| format!("could not look for GPU code in {file}"))?;
    if libraries.is_empty() && findings.is_empty() {
        files::refuse_unknown(&args.file)?;
    }
    for name in &args.expect {
        if !libraries.iter().any(|library| holds(library, name)) {
            findings.push(look::error(
                "gpu-expected-missing",
                &file,
                format!("holds no {name}"),
            ));
        }
    }
    if libraries.is_empty() && !args.cc.is_empty() && findings.is_empty() {
        let message = "holds no GPU code at all".to_owned();
        findings.push(look::error("gpu-arch-uncovered", &file, message));
    }
    if !args.kernels {
        for library in &mut libraries {
            library.kernels.clear();
        }
    }
    let answer = GpuReport {
        schema_version: SCHEMA_VERSION,
        file,
        libraries,
        findings,
    };
    report::answer(global, &answer, text::text)?;
    Ok(if answer.findings.is_empty() {
        Outcome::Done
    } else {
        Outcome::No
    })
}

/// `sm_90a`, `compute_120`, `lto_75`.
fn is_target(name: &str) -> bool {
    ["sm_", "compute_", "lto_"]
        .iter()
        .filter_map(|prefix| name.strip_prefix(prefix))
        .any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

/// Whether a library holds a target or a kernel. A kernel may be named as in the source: then its length and name stand in the
/// mangled name.
fn holds(library: &look::Library, name: &str) -> bool {
    if is_target(name) {
        return library.code.iter().any(|code| code.name == name);
    }
    let inside = format!("{}{name}", name.len());
    let mut kernels = library.kernels.iter().flat_map(|entry| &entry.kernels);
    kernels.any(|kernel| kernel == name || (kernel.starts_with("_Z") && kernel.contains(&inside)))
}
