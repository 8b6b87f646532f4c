//! `bundler audit`: on which hosts and GPUs a bundle or folder will run, and which file is to blame where it will not. Needs
//! neither a GPU nor the vendor's tools. The answer is no where an error finding is left that no waiver covers.

mod table;
mod text;

use anyhow::Context;
use serde::Serialize;

use super::{Answer, Outcome, edge, report};
use crate::base::finding::Severity;
use crate::base::target::Target;
use crate::build::audit::open::open;
use crate::build::audit::{Policy, Report, report_of};
use crate::cli::{AuditArgs, Global};

/// Version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

/// What is told.
#[derive(Debug, Serialize)]
struct Told {
    schema_version: u32,
    /// As given on the command line.
    file: String,
    /// The target it was judged for, where it is a bundle or one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Target>,
    /// Files and links that were judged.
    entries: usize,
    /// What was found.
    #[serde(flatten)]
    report: Report,
}

/// Runs it.
pub fn run(args: &AuditArgs, global: &Global) -> Answer {
    let file = args.path.display().to_string();
    let opening = edge::opening(args.full, global);
    let opened = open(&args.path, &opening).with_context(|| format!("could not audit {file}"))?;
    let mut request = opened.request(args.target, &args.path)?;
    if !args.gpu.is_empty() {
        request.gpus.clone_from(&args.gpu);
    }
    if let Some(driver) = &args.driver {
        request.driver = Some(driver.clone());
    }
    if let Some(glibc) = &args.glibc {
        request.declared.glibc = Some(glibc.clone());
    }
    let own = opened.bundle.as_ref().map(|b| b.facts.target.target());
    let told = Told {
        schema_version: SCHEMA_VERSION,
        file,
        target: args.target.or(own),
        entries: opened.told.tree().nodes().count(),
        report: report_of(&opened, &request, Policy::embedded()),
    };
    report::answer(global, &told, |told| text::text(told, global.verbose > 0))?;
    let errors = told
        .report
        .findings
        .iter()
        .any(|f| f.severity == Severity::Error);
    Ok(if errors { Outcome::No } else { Outcome::Done })
}
