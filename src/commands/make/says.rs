//! What `bundler make` says when it is done, or when the audit's answer is no.

use std::fmt::Write as _;

use serde::Serialize;

use super::job::Job;
use super::{Further, Made};
use crate::base::digest::Digest;
use crate::base::finding::{Finding, Severity};
use crate::build::audit::{Rejected, Report};
use crate::commands::report::{finding_text, size};
use crate::commands::{layers, self_extract};

/// A finished bundle.
#[derive(Debug, Serialize)]
pub struct Said {
    schema_version: u32,
    bundle: String,
    target: String,
    version: String,
    sha256: Digest,
    size: u64,
    unpacked: u64,
    files: u64,
    identity: Digest,
    interpreter: String,
    components: usize,
    audit: Report,
    #[serde(flatten)]
    further: Further,
}

/// What is said of a finished bundle.
pub fn made(job: &Job, made: &Made, further: Further) -> Said {
    let bundle = &made.packed.bundle;
    Said {
        schema_version: 1,
        bundle: made.packed.path.display().to_string(),
        target: job.wanted.target.to_string(),
        version: bundle.facts.version.clone(),
        sha256: made.packed.sha256,
        size: made.packed.size,
        unpacked: bundle.size.unpacked,
        files: bundle.size.files,
        identity: made.packed.identity,
        interpreter: format!(
            "{} ({})",
            job.interpreter.version,
            job.interpreter.source.name()
        ),
        components: bundle.components.len(),
        audit: made.audited.report().clone(),
        further,
    }
}

/// The same for people; notes only when asked for.
pub fn made_text(said: &Said, notes: bool) -> String {
    let mut out = String::new();
    let shown = |f: &&Finding| notes || f.severity > Severity::Note;
    for finding in said.audit.findings.iter().filter(shown) {
        out.push_str(&finding_text(finding));
    }
    for waived in &said.audit.waived {
        let _ = writeln!(
            out,
            "waived[{}] {}: {}",
            waived.finding.code, waived.finding.path, waived.reason
        );
    }
    let floor = &said.audit.floor;
    let needs = said.audit.host_needs.iter().filter(|n| n.optional).count();
    let _ = writeln!(out, "{}", said.bundle);
    let _ = writeln!(
        out,
        "  {} packed, {} in {} files unpacked, {} components, python {}",
        size(said.size),
        size(said.unpacked),
        said.files,
        said.components,
        said.interpreter
    );
    if let Some(glibc) = &floor.glibc {
        let _ = writeln!(
            out,
            "  needs glibc {glibc} or newer; {needs} optional libraries of the host"
        );
    }
    let _ = writeln!(out, "  sha256 {}", said.sha256);
    let Further {
        layers,
        self_extracting,
    } = &said.further;
    out.extend(layers.as_ref().map(|made| layers::text(made)));
    out.extend(self_extracting.as_ref().map(self_extract::text));
    out
}

/// A refused bundle.
#[derive(Debug, Serialize)]
pub struct Refused {
    schema_version: u32,
    bundle: Option<String>,
    audit: Report,
}

/// What is said when the audit's answer is no.
pub fn rejected(rejected: &Rejected) -> Refused {
    Refused {
        schema_version: 1,
        bundle: None,
        audit: rejected.report.clone(),
    }
}

/// The same for people.
pub fn rejected_text(refused: &Refused) -> String {
    let mut out: String = refused
        .audit
        .findings
        .iter()
        .filter(|f| f.severity > Severity::Note)
        .map(finding_text)
        .collect();
    let errors = refused
        .audit
        .findings
        .iter()
        .filter(|f| f.severity == Severity::Error)
        .count();
    let _ = writeln!(
        out,
        "no bundle was made: the audit found {errors} {}; mend them, or waive each in the recipe: \
         [[waiver]] code = \"…\", path = \"…\", reason = \"…\"",
        if errors == 1 { "error" } else { "errors" }
    );
    out
}
