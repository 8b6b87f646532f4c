//! `bundler evidence`: writes what is known of a bundle beside it, and says whether what was written still holds.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Serialize;

use super::{Answer, Outcome, edge, report};
use crate::base::digest::Digest;
use crate::base::digest::Hasher;
use crate::base::fs;
use crate::build::audit::open::open;
use crate::build::audit::{Policy, Report, report_of};
use crate::build::evidence::{Known, evidence, page, sbom, toolchain};
use crate::cli::{EvidenceArgs, EvidenceCheckArgs, EvidenceCommand, EvidenceWriteArgs, Global};
use crate::formats::bundle::Bundle;
use crate::formats::bundle_reader::BundleReader;
use crate::formats::evidence::{Evidence, MAX_EVIDENCE, Now, Subject};
use crate::formats::self_extracting;
use crate::formats::wheelhouse::{Run, last_run};

/// Version of the JSON form.
const SCHEMA_VERSION: u32 = 1;
/// No manifest of a wheelhouse is larger.
const MAX_MANIFEST: u64 = 64 << 20;
/// Bytes digested at a time.
const PIECE: usize = 1 << 20;

/// Runs it.
pub fn run(args: &EvidenceArgs, global: &Global) -> Answer {
    match &args.command {
        EvidenceCommand::Write(args) => write_of(args, global),
        EvidenceCommand::Check(args) => check(args, global),
    }
}

/// Files that were written.
#[derive(Debug, Serialize)]
struct Written {
    schema_version: u32,
    statement: String,
    files: Vec<PathBuf>,
}

fn write_of(args: &EvidenceWriteArgs, global: &Global) -> Answer {
    let path = &args.bundle;
    let could_not = || format!("could not write the evidence of {}", path.display());
    let opening = edge::opening(args.full, global);
    let opened = open(path, &opening).with_context(could_not)?;
    let request = opened.request(None, path)?;
    let report = report_of(&opened, &request, Policy::embedded());
    let (bundle, identity, size) = described(path).with_context(could_not)?;
    let subject = Subject {
        file: bundle.file_name(),
        size,
        sha256: digest(path).with_context(could_not)?,
        identity,
    };
    let known = Known {
        bundle: &bundle,
        subject,
        tree: opened.told.tree(),
        report: &report,
        wheelhouse: runs(&args.manifest)?,
        date: edge::source_date()?,
    };
    let written = Written {
        schema_version: SCHEMA_VERSION,
        statement: evidence(&known)?.statement,
        files: beside(path, &known)?,
    };
    report::answer(global, &written, |written| {
        let files: Vec<String> = written
            .files
            .iter()
            .map(|f| f.display().to_string())
            .collect();
        format!("{}\n{}\n", files.join("\n"), written.statement)
    })?;
    Ok(Outcome::Done)
}

/// Build runs of manifests.
pub fn runs(manifests: &[PathBuf]) -> anyhow::Result<Vec<Run>> {
    let read = |path: &PathBuf| {
        let bytes = fs::read(path, MAX_MANIFEST)?;
        Ok(last_run(&String::from_utf8_lossy(&bytes)).0)
    };
    manifests.iter().map(read).collect()
}

/// Writes evidence, its page and the bill of materials beside a bundle.
pub fn beside(path: &Path, known: &Known<'_>) -> anyhow::Result<Vec<PathBuf>> {
    let evidence = evidence(known)?;
    let bill = serde_json::to_vec(&sbom(known))?;
    let mut out = Vec::new();
    for (ending, bytes) in [
        ("evidence.json", evidence.to_bytes()?),
        ("evidence.md", page(&evidence).into_bytes()),
        ("cdx.json", bill),
    ] {
        let file = with_ending(path, ending);
        fs::write(&file, &bytes)?;
        out.push(file);
    }
    Ok(out)
}

/// What `make` knows of a bundle it just packed.
pub fn made(
    packed: &crate::build::pack::PackedBundle,
    audited: &crate::build::audit::Audited,
) -> anyhow::Result<Vec<PathBuf>> {
    let report: &Report = audited.report();
    let known = Known {
        bundle: &packed.bundle,
        subject: Subject {
            file: packed.bundle.file_name(),
            size: packed.size,
            sha256: packed.sha256,
            identity: packed.identity,
        },
        tree: audited.tree(),
        report,
        wheelhouse: Vec::new(),
        date: edge::source_date()?,
    };
    beside(&packed.path, &known)
}

fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".");
    name.push(ending);
    path.with_file_name(name)
}

fn described(path: &Path) -> anyhow::Result<(Bundle, Digest, u64)> {
    let reader = BundleReader::open(self_extracting::payload(fs::open(path)?))?;
    let described = reader.describe()?;
    Ok((described.bundle, described.identity, reader.size()))
}

fn digest(path: &Path) -> anyhow::Result<Digest> {
    use std::io::Read;
    let mut file = fs::open(path)?;
    let mut hasher = Hasher::new();
    let mut piece = vec![0; PIECE];
    loop {
        let read = file.read(&mut piece)?;
        match piece.get(..read).filter(|p| !p.is_empty()) {
            Some(piece) => hasher.update(piece),
            None => return Ok(hasher.finish()),
        }
    }
}

/// Whether evidence still holds.
#[derive(Debug, Serialize)]
struct Checked {
    schema_version: u32,
    evidence: PathBuf,
    /// `verified on …`, `not verified`, or `stale`.
    statement: String,
    stale: Vec<String>,
}

fn check(args: &EvidenceCheckArgs, global: &Global) -> Answer {
    let path = &args.bundle;
    let file = args
        .evidence
        .clone()
        .unwrap_or_else(|| with_ending(path, "evidence.json"));
    let could_not = || format!("could not check the evidence {}", file.display());
    let evidence = Evidence::parse(&fs::read(&file, MAX_EVIDENCE).with_context(could_not)?)
        .with_context(could_not)?;
    let (bundle, identity, size) = described(path).with_context(could_not)?;
    let now = Now {
        identity,
        size,
        sha256: if args.full { Some(digest(path)?) } else { None },
        toolchain: toolchain(&bundle),
        driver: args.driver.clone(),
    };
    let stale = evidence.stale(&now);
    let checked = Checked {
        schema_version: SCHEMA_VERSION,
        statement: if stale.is_empty() {
            evidence.said()
        } else {
            "stale".to_owned()
        },
        evidence: file,
        stale,
    };
    report::answer(global, &checked, |checked| {
        let mut out = format!("{}: {}\n", checked.evidence.display(), checked.statement);
        for reason in &checked.stale {
            out += "  ";
            out += reason;
            out.push('\n');
        }
        out
    })?;
    Ok(if checked.stale.is_empty() {
        Outcome::Done
    } else {
        Outcome::No
    })
}
