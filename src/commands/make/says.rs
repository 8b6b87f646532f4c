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
    let errors: Vec<&Finding> = refused
        .audit
        .findings
        .iter()
        .filter(|f| f.severity == Severity::Error)
        .collect();
    let (noun, it, each) = match errors.len() {
        1 => ("error", "it", "it"),
        _ => ("errors", "them", "each"),
    };
    let _ = writeln!(
        out,
        "no bundle was made: the audit found {} {noun}; mend {it}, or allow {each} in the recipe",
        errors.len()
    );
    // Start-up hooks have a table of their own, which their hints give.
    if let Some(first) = errors.iter().find(|f| f.code != "startup-hook") {
        let quoted = |text: &str| toml_edit::Value::from(text).to_string();
        let _ = writeln!(
            out,
            "such as:\n  [[waiver]]\n  code = {}\n  path = {}\n  reason = \"…\"",
            quoted(&first.code),
            quoted(&first.path)
        );
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_bundle_is_followed_by_a_waiver_that_can_be_taken() {
        let finding = |severity| Finding {
            severity,
            code: "elf-needed".to_owned(),
            path: "a \"b\"/c.pth".to_owned(),
            message: "runs code".to_owned(),
            hint: None,
        };
        for (count, noun) in [(1, "1 error; mend it,"), (2, "2 errors; mend them,")] {
            let mut findings = vec![finding(Severity::Error); count];
            findings.push(finding(Severity::Warning));
            let refused = Refused {
                schema_version: 1,
                bundle: None,
                audit: Report {
                    findings,
                    ..Report::default()
                },
            };
            let text = rejected_text(&refused);
            assert!(text.contains(noun), "{text}");
            let at = text.find("  [[waiver]]").unwrap();
            let waiver: toml::Table = text[at..].parse().unwrap();
            let first = &waiver["waiver"][0];
            assert_eq!(first["code"].as_str(), Some("elf-needed"));
            assert_eq!(first["path"].as_str(), Some("a \"b\"/c.pth"));
        }
    }
}
