//! `bundler check-wheelhouse PLACE…`: does a wheelhouse hold what the recipe's target wants? Of several places it says which fit.

use std::fmt::Write as _;

use super::{Answer, Failure, Outcome, edge, report, terminal};
use crate::base::finding::{Finding, Severity};
use crate::base::target::Target;
use crate::build::recipe::{IndexKind, Recipe, Wanted};
use crate::build::wheelhouse::{Subject, Wheelhouse, judge, of_folder, of_index};
use crate::cli::{Global, WheelhouseArgs};
use crate::formats::floor::DottedVersion;

#[derive(serde::Serialize)]
struct Report {
    schema_version: u32,
    wheelhouses: Vec<Row>,
}

#[derive(serde::Serialize)]
struct Row {
    target: Target,
    fits: bool,
    #[serde(flatten)]
    house: Wheelhouse,
    findings: Vec<Finding>,
}

/// Runs the command.
pub fn run(args: &WheelhouseArgs, global: &Global) -> Answer {
    let dir = edge::working_dir()?;
    let recipe = Recipe::find(&args.recipe.recipe, &dir)?;
    let floor: DottedVersion = recipe.keys().floor.glibc.parse()?;
    let mut rows = Vec::new();
    for place in &args.places {
        let Some(target) = args.target.or_else(|| target_in(place)) else {
            return Err(Failure {
                error: anyhow::anyhow!("{place} does not say which target it is for"),
                hint: Some("pass --target ARCH-ACCEL".to_owned()),
            });
        };
        let wanted = recipe.wanted(target)?;
        let alias = alias(&wanted)?;
        let web = place.contains("://") && !place.starts_with("file:");
        let house = if web {
            let mut known = args.recipe.clone();
            known
                .index
                .retain(|text| !text.starts_with(&format!("{alias}=")));
            known.index.push(format!("{alias}={place}"));
            let progress = terminal::progress(global);
            let fetcher = edge::fetcher(global, &known, &wanted, None, &progress)?;
            let shown = crate::base::http::Redacted::new(&url::Url::parse(place)?).to_string();
            of_index(&fetcher, &alias, &shown)?
        } else {
            of_folder(&dir.join(place.trim_start_matches("file://")), target.arch)?
        };
        let findings = judge(
            &house,
            &Subject {
                wanted: &wanted,
                alias: &alias,
                floor: &floor,
            },
        );
        rows.push(Row {
            target,
            fits: findings.iter().all(|f| f.severity != Severity::Error),
            house,
            findings,
        });
    }
    let outcome = if rows.iter().any(|row| row.fits) {
        Outcome::Done
    } else {
        Outcome::No
    };
    let report = Report {
        schema_version: 1,
        wheelhouses: rows,
    };
    report::answer(global, &report, text)?;
    Ok(outcome)
}

/// The index of the recipe that a wheelhouse stands for.
fn alias(wanted: &Wanted) -> Result<String, Failure> {
    let found = wanted
        .indexes
        .iter()
        .find(|(_, index)| index.kind != IndexKind::Simple);
    found.map(|(alias, _)| alias.clone()).ok_or_else(|| Failure {
        error: anyhow::anyhow!("recipe {} has no wheelhouse to compare with", wanted.recipe),
        hint: Some("pass --recipe NAME of a recipe with an index of kind wheelhouse, find-links or github-release".to_owned()),
    })
}

/// The target in the name of a folder or release: `linux-arm64-cu130…` or `linux-arm64/cu130/…`.
fn target_in(place: &str) -> Option<Target> {
    place.match_indices("linux-").find_map(|(at, word)| {
        let rest = place.get(at + word.len()..)?;
        let mut parts = rest.split(['-', '/', '.']);
        format!("{}-{}", parts.next()?, parts.next()?).parse().ok()
    })
}

fn text(report: &Report) -> String {
    let mut out = String::new();
    for row in &report.wheelhouses {
        let word = if row.fits { "fits" } else { "does not fit" };
        let _ = writeln!(
            out,
            "{} {word} {} ({} wheels)",
            row.house.place,
            row.target,
            row.house.wheels.len()
        );
        for wheel in &row.house.wheels {
            let glibc = wheel.content.as_ref().and_then(|c| c.glibc.as_ref());
            let floor = glibc.map_or_else(String::new, |(v, _)| format!(", glibc {v}"));
            let size = wheel
                .size
                .map_or_else(String::new, |s| format!(" {}", report::size(s)));
            let _ = writeln!(out, "  {}{size}{floor}", wheel.file);
        }
        for finding in &row.findings {
            out.push_str(&report::finding_text(finding));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_say_their_target() {
        for (place, target) in [
            (
                "https://example.org/v1.7.0-linux-arm64-cu130-torch2.9.1-cp312",
                "arm64-cu130",
            ),
            ("out/linux-amd64/cu126/torch2.9.1-cp312/", "amd64-cu126"),
        ] {
            assert_eq!(target_in(place).unwrap().to_string(), target);
        }
        assert_eq!(target_in("wheels"), None);
    }
}
