//! The evidence for people: one page of Markdown with what was proved, what was not, and from what it was made.

use std::fmt::Write as _;

use crate::build::audit::Report;
use crate::formats::evidence::Evidence;

/// The page.
pub fn page(evidence: &Evidence) -> String {
    let report: Report = serde_json::from_value(evidence.audit.clone()).unwrap_or_default();
    let mut out = format!("# {}\n\n", evidence.bundle.file);
    let _ = writeln!(out, "**{}.**\n", sentence(&evidence.statement));
    rows(
        &mut out,
        &[
            ("sha256", evidence.bundle.sha256.to_string()),
            ("identity", evidence.bundle.identity.to_string()),
            ("bytes", evidence.bundle.size.to_string()),
            ("target", evidence.toolchain.target.target().to_string()),
            ("python", evidence.toolchain.python.clone()),
            (
                "torch",
                evidence.toolchain.torch.clone().unwrap_or_default(),
            ),
            ("made on", evidence.made.builder_arch.clone()),
            ("tools", pairs(&evidence.made.tools)),
            ("runs on", report.distributions.join(", ")),
        ],
    );
    out.push_str("\n## GPUs\n\n");
    for outlook in &report.outlook {
        let _ = writeln!(out, "- {}", outlook.sentence);
    }
    if report.outlook.is_empty() {
        out.push_str("No GPU is promised.\n");
    }
    out.push_str("\n## Verified\n\n");
    for verification in &evidence.verifications {
        let _ = writeln!(
            out,
            "- {} ({}), driver {}, {}",
            verification.gpu,
            verification.capability,
            verification.driver,
            if verification.passed() {
                "passed"
            } else {
                "failed"
            }
        );
        for run in &verification.runs {
            let _ = writeln!(
                out,
                "  - {}: exit code {} of `{}`",
                run.stage,
                run.exit_code,
                run.command.join(" ")
            );
        }
    }
    if evidence.verifications.is_empty() {
        out.push_str("Nothing was run on a GPU. What stands above is read from the files.\n");
    }
    out.push_str("\n## Findings\n\n");
    for finding in &report.findings {
        let _ = writeln!(
            out,
            "- `{}` {}: {}",
            finding.code, finding.path, finding.message
        );
    }
    for waived in &report.waived {
        let finding = &waived.finding;
        let _ = writeln!(
            out,
            "- waived: `{}` {}: {} ({})",
            finding.code, finding.path, finding.message, waived.reason
        );
    }
    if report.findings.is_empty() && report.waived.is_empty() {
        out.push_str("None.\n");
    }
    out.push_str("\n## Floors\n\n");
    for blame in &report.blame {
        let _ = writeln!(out, "- {} for {}", blame.version, blame.path);
    }
    out.push_str("\n## Artifacts\n\n| name | version | from | sha256 |\n|---|---|---|---|\n");
    for artifact in &evidence.artifacts {
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} |",
            artifact.name,
            artifact.version.as_deref().unwrap_or_default(),
            artifact.source.as_deref().unwrap_or_default(),
            artifact.sha256.map(|d| d.to_string()).unwrap_or_default()
        );
    }
    for run in &evidence.wheelhouse {
        let _ = writeln!(
            out,
            "\n## Wheelhouse\n\n`{}`\n",
            run.command.as_deref().unwrap_or("no command is told")
        );
        for line in &run.lines {
            let _ = writeln!(out, "- {line}");
        }
    }
    out
}

fn rows(out: &mut String, all: &[(&str, String)]) {
    out.push_str("| | |\n|---|---|\n");
    for (name, value) in all.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = writeln!(out, "| {name} | {value} |");
    }
}

fn pairs(all: &std::collections::BTreeMap<String, String>) -> String {
    let one = |(name, version): (&String, &String)| format!("{name} {version}");
    all.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
