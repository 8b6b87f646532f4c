//! `bundler report BUNDLE`: one page of HTML about a bundle.

use anyhow::Context;
use serde::Serialize;

use super::{Answer, Failure, Outcome, bundles, edge, report};
use crate::base::fs;
use crate::build::audit::open::open;
use crate::build::audit::{Policy, report_of};
use crate::build::overview::{Overview, page};
use crate::cli::{Global, ReportArgs};

/// What was written.
#[derive(Debug, Serialize)]
struct Written {
    schema_version: u32,
    file: String,
    bytes: usize,
}

/// Runs it.
pub fn run(args: &ReportArgs, global: &Global) -> Answer {
    let path = &args.bundle;
    let opening = edge::opening(false, global);
    let opened =
        open(path, &opening).with_context(|| format!("could not report on {}", path.display()))?;
    let Some(bundle) = &opened.bundle else {
        return Err(Failure {
            error: anyhow::anyhow!("{} is no bundle", path.display()),
            hint: Some("give a bundle file, or the folder runtime/ of an unpacked one".to_owned()),
        });
    };
    let request = opened.request(None, path)?;
    let audited = report_of(&opened, &request, Policy::embedded());
    let metadata = fs::metadata(path)?;
    let html = page(&Overview {
        bundle,
        identity: bundles::side(path)?.identity,
        packed: metadata.and_then(|m| m.is_file().then_some(m.len())),
        tree: opened.told.tree(),
        report: &audited,
    });
    let out = args.out.clone().unwrap_or_else(|| {
        let mut name = path.file_name().unwrap_or_default().to_owned();
        name.push(".html");
        path.with_file_name(name)
    });
    fs::write(&out, html.as_bytes())?;
    let written = Written {
        schema_version: 1,
        file: out.display().to_string(),
        bytes: html.len(),
    };
    report::answer(global, &written, |w| format!("{}\n", w.file))?;
    Ok(Outcome::Done)
}
