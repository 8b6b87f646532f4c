//! `bundler audit` for people: findings, what the host must bring, what each GPU gets, and one line that sums up.

use std::fmt::Write as _;

use super::{Told, table};
use crate::base::finding::{Finding, Severity};
use crate::build::audit::FactsFrom;
use crate::commands::report::finding_text;

/// The whole answer; notes only when asked for.
pub(super) fn text(told: &Told, notes: bool) -> String {
    let report = &told.report;
    let mut out = String::new();
    let shown = |f: &&Finding| notes || f.severity > Severity::Note;
    for finding in report.findings.iter().filter(shown) {
        out.push_str(&finding_text(finding));
    }
    for waived in &report.waived {
        let finding = &waived.finding;
        let _ = writeln!(
            out,
            "waived[{}] {}: {}",
            finding.code, finding.path, waived.reason
        );
    }
    let _ = writeln!(out, "{}", told.file);
    let mut line = |name: &str, text: String| {
        if !text.is_empty() {
            let _ = writeln!(out, "  {name:<10} {text}");
        }
    };
    line(
        "target",
        told.target.map(|t| t.to_string()).unwrap_or_default(),
    );
    line(
        "facts",
        match report.facts {
            FactsFrom::Cache => "from the cache",
            FactsFrom::Records => "from the bundle's own records (--full reads every byte again)",
            FactsFrom::Bytes => "from every byte, read again",
        }
        .to_owned(),
    );
    for what in &report.unread {
        line("not read", what.clone());
    }
    for blame in &report.blame {
        line("needs", format!("{} for {}", blame.version, blame.path));
    }
    line("runs on", report.distributions.join("; "));
    let required = report.host_needs.iter().filter(|n| !n.optional);
    let required: Vec<&str> = required.map(|n| n.library.as_str()).collect();
    line("host gives", required.join(", "));
    for need in report.host_needs.iter().filter(|n| n.optional) {
        line(
            "optional",
            format!(
                "{} (without it: {})",
                need.library,
                need.switches_off.join(", ")
            ),
        );
    }
    for outlook in &report.outlook {
        line("gpu", outlook.sentence.clone());
    }
    if !report.outlook.is_empty() {
        out.push_str(&table::coverage(&report.outlook));
    }
    let count = |severity| {
        report
            .findings
            .iter()
            .filter(|f| f.severity == severity)
            .count()
    };
    let _ = writeln!(
        out,
        "{} files and links: {}, {}, {}, {} waived",
        told.entries,
        plural(count(Severity::Error), "error"),
        plural(count(Severity::Warning), "warning"),
        plural(count(Severity::Note), "note"),
        report.waived.len()
    );
    out
}

fn plural(number: usize, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}
