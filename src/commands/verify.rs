//! `bundler verify`: is it intact? Exit code 1 when something is not.

use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

use serde::Serialize;

use super::{Answer, Failure, Outcome, edge, report};
use crate::base::finding::{Finding, Severity};
use crate::base::fs;
use crate::cli::{Global, VerifyArgs};
use crate::formats::bundle_reader::Archive;
use crate::formats::self_extracting;
use crate::host::intact;
use crate::host::store::Installed;

#[derive(Serialize)]
struct Verified {
    schema_version: u32,
    checked: Vec<Checked>,
}

#[derive(Serialize)]
struct Checked {
    /// Name, folder or file.
    what: String,
    is_intact: bool,
    /// Paths looked at.
    entries: usize,
    findings: Vec<Finding>,
}

/// Runs it.
pub fn run(args: &VerifyArgs, global: &Global) -> Answer {
    let jobs = edge::jobs(args.jobs);
    let mut checked = Vec::new();
    if args.what.is_empty() {
        for one in edge::store(&args.store)?.installed()? {
            checked.push(installed(&one, jobs)?);
        }
    }
    for what in &args.what {
        checked.push(one(what, args, jobs)?);
    }
    let verified = Verified {
        schema_version: 1,
        checked,
    };
    report::answer(global, &verified, text)?;
    if verified.checked.iter().all(|one| one.is_intact) {
        Ok(Outcome::Done)
    } else {
        Ok(Outcome::No)
    }
}

/// A path with a slash or to something that exists is a folder or file; everything else is a name.
fn one(what: &str, args: &VerifyArgs, jobs: usize) -> Result<Checked, Failure> {
    let path = Path::new(what);
    match fs::metadata(path)? {
        Some(there) if there.is_dir() => {
            let judged = intact::tree(path, jobs)?;
            let entries = judged.plan.as_ref().map_or(0, |plan| plan.rows().len());
            Ok(Checked::of(what, entries, judged.findings))
        }
        Some(_) => Ok(file(what, path, jobs)?),
        None => installed(&edge::store(&args.store)?.find(what)?, jobs),
    }
}

fn installed(one: &Installed, jobs: usize) -> Result<Checked, Failure> {
    let judged = intact::tree(&one.path, jobs)?;
    let mut findings = judged.findings;
    if let Some(plan) = &judged.plan
        && !one.is_named_after(&plan.identity)
    {
        findings.push(Finding {
            severity: Severity::Error,
            code: "description-damaged".to_owned(),
            path: crate::formats::bundle::BUNDLE_JSON.to_owned(),
            message: "it is that of another bundle".to_owned(),
            hint: None,
        });
    }
    let entries = judged.plan.as_ref().map_or(0, |plan| plan.rows().len());
    let mut checked = Checked::of(&one.name, entries, findings);
    for finding in &mut checked.findings {
        finding.hint = Some(format!("bundler repair {}", one.name));
    }
    Ok(checked)
}

fn file(what: &str, path: &Path, jobs: usize) -> Result<Checked, Failure> {
    let judged = || -> anyhow::Result<_> {
        match Archive::open(self_extracting::payload(fs::open(path)?))? {
            Archive::Bundle(bundle) => Ok(intact::file(&bundle, jobs)?),
            Archive::Layer(layer) => Ok(intact::layer(&layer, jobs)),
        }
    };
    match judged() {
        Ok(judged) => Ok(Checked::of(what, judged.entries, judged.findings)),
        // A bundle that cannot be read is not intact; a file that cannot be opened was not judged.
        Err(error) if error.chain().any(<dyn Error>::is::<fs::FsError>) => Err(error.into()),
        Err(error) => {
            let finding = Finding {
                severity: Severity::Error,
                code: "archive-damaged".to_owned(),
                path: what.to_owned(),
                message: format!("{error:#}"),
                hint: None,
            };
            Ok(Checked::of(what, 0, vec![finding]))
        }
    }
}

impl Checked {
    fn of(what: &str, entries: usize, findings: Vec<Finding>) -> Self {
        Self {
            what: what.to_owned(),
            is_intact: findings.is_empty(),
            entries,
            findings,
        }
    }
}

fn text(verified: &Verified) -> String {
    let mut out = String::new();
    for one in &verified.checked {
        let mut hint = None;
        for finding in &one.findings {
            hint.clone_from(&finding.hint);
            let bare = Finding {
                hint: None,
                ..finding.clone()
            };
            out.push_str(&report::finding_text(&bare));
        }
        let what = &one.what;
        let _ = match one.findings.len() {
            0 => writeln!(out, "{what} is intact: {} entries", one.entries),
            1 => writeln!(out, "{what} is damaged: 1 finding"),
            count => writeln!(out, "{what} is damaged: {count} findings"),
        };
        if let Some(hint) = hint {
            let _ = writeln!(out, "hint: {hint}");
        }
    }
    if verified.checked.is_empty() {
        out.push_str("nothing is installed\n");
    }
    out
}
