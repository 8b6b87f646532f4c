//! Planted faults: files that are right are edited byte by byte, wheels and trees piece by piece; every fault is found, under its
//! code and at its path, and nothing of the kind is said of what is right.

mod code;
mod edit;
mod elf;
mod text;
mod wheels;

use bundler::build::assemble::Tree;
use bundler::build::audit::{AuditRequest, Policy, Report, report};
use bundler::formats::component::Entry;

use crate::trees::{SITE, request, tree};

/// A fault, what was said of the right thing, and what was said of the wrong one.
struct Planted {
    kind: &'static str,
    code: &'static str,
    path: String,
    right: Report,
    wrong: Report,
}

fn at(rest: &str) -> String {
    format!("{SITE}/{rest}")
}

fn judged(tree: &Tree, request: &AuditRequest) -> Report {
    report(tree, request, Policy::embedded())
}

/// Judges two trees of one wheel by the plain request.
fn planted(
    kind: &'static str,
    code: &'static str,
    path: &str,
    right: Vec<Entry>,
    wrong: Vec<Entry>,
) -> Planted {
    under(kind, code, path, right, wrong, &request())
}

fn under(
    kind: &'static str,
    code: &'static str,
    path: &str,
    right: Vec<Entry>,
    wrong: Vec<Entry>,
    request: &AuditRequest,
) -> Planted {
    Planted {
        kind,
        code,
        path: path.to_owned(),
        right: judged(&tree(right), request),
        wrong: judged(&tree(wrong), request),
    }
}

#[test]
fn every_planted_fault_is_found_and_none_where_there_is_none() {
    let mut all = elf::faults();
    all.extend(code::faults());
    all.extend(text::faults());
    all.extend(wheels::faults());
    let mut kinds: Vec<&str> = all.iter().map(|p| p.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), all.len(), "each kind once");
    assert!(kinds.len() >= 40, "{} kinds", kinds.len());
    let has = |report: &Report, planted: &Planted| {
        let mut findings = report.findings.iter();
        findings.any(|f| f.code == planted.code && f.path == planted.path)
    };
    let mut missed = Vec::new();
    for planted in &all {
        if !has(&planted.wrong, planted) {
            missed.push(format!(
                "{} not found: {:?}",
                planted.kind, planted.wrong.findings
            ));
        }
        if has(&planted.right, planted) {
            missed.push(format!("{} found where there is none", planted.kind));
        }
    }
    assert!(missed.is_empty(), "{missed:#?}");
}
