//! `bundler diff A B`: what differs between two bundles, and of two that should be equal the first thing that is not. The answer
//! is no where they differ.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Answer, Outcome, bundles, report};
use crate::cli::{DiffArgs, Global};
use crate::formats::compare::{Change, Difference, compare};

/// Version of the JSON form.
const SCHEMA_VERSION: u32 = 1;
/// So many changes of a kind are shown to people.
const SHOWN: usize = 20;

/// What is told.
#[derive(Debug, Serialize)]
struct Told {
    schema_version: u32,
    a: String,
    b: String,
    #[serde(flatten)]
    difference: Difference,
}

/// Runs it.
pub fn run(args: &DiffArgs, global: &Global) -> Answer {
    let (a, b) = (bundles::side(&args.a)?, bundles::side(&args.b)?);
    let told = Told {
        schema_version: SCHEMA_VERSION,
        a: args.a.display().to_string(),
        b: args.b.display().to_string(),
        difference: compare(&a, &b),
    };
    report::answer(global, &told, |told| text(told, global.verbose > 0))?;
    Ok(if told.difference.equal {
        Outcome::Done
    } else {
        Outcome::No
    })
}

fn text(told: &Told, all: bool) -> String {
    let difference = &told.difference;
    let mut out = format!("a {}\nb {}\n", told.a, told.b);
    let Some(first) = &difference.first else {
        out.push_str("they are the same bundle\n");
        return out;
    };
    let _ = writeln!(
        out,
        "first difference: {} of {}\n  a {}\n  b {}",
        first.attribute, first.entry, first.a, first.b
    );
    for (title, changes) in [
        ("needs", &difference.needs),
        ("components", &difference.components),
        ("bytes unpacked", &difference.sizes),
        ("GPU code", &difference.coverage),
        ("files", &difference.files),
    ] {
        block(
            &mut out,
            title,
            changes,
            if all { usize::MAX } else { SHOWN },
        );
    }
    out
}

fn block(out: &mut String, title: &str, changes: &[Change], limit: usize) {
    if changes.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title}: {}", changes.len());
    for change in changes.iter().take(limit) {
        let _ = match (&change.a, &change.b) {
            (Some(a), Some(b)) => writeln!(out, "  {}: {a} → {b}", change.name),
            (Some(a), None) => writeln!(out, "  - {}: {a}", change.name),
            (None, Some(b)) => writeln!(out, "  + {}: {b}", change.name),
            (None, None) => Ok(()),
        };
    }
    let more = changes.len().saturating_sub(limit);
    if more > 0 {
        let _ = writeln!(out, "  and {more} more (-v shows all)");
    }
}
