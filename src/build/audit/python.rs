//! What wheels say of themselves: that what they require is in the bundle, that they are for its python and target, that they
//! have a RECORD and METADATA, under which licence they stand.

use std::collections::BTreeMap;
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};
use pep508_rs::{Requirement, VerbatimUrl, VersionOrUrl};

use super::AuditRequest;
use super::abi::is_for_another_python;
use super::resolve::Links;
use crate::base::finding::{Finding, Severity};
use crate::build::assemble::{Placed, Tree};
use crate::build::lock::{markers, specifiers};
use crate::formats::component::ComponentKind;
use crate::formats::distribution::{DistributionFacts, normalized_name};
use crate::formats::tags::{Compatibility, Tag, expand};

/// Newest glibc a tag may ask for where the recipe names no floor.
const ANY_GLIBC: u16 = 999;

pub(super) fn check(
    tree: &Tree,
    links: &Links<'_>,
    request: &AuditRequest,
    out: &mut Vec<Finding>,
) {
    let wheels: Vec<(&Placed, &DistributionFacts)> = tree
        .parts()
        .iter()
        .filter_map(|part| Some((part, part.component.distribution.as_ref()?)))
        .collect();
    let there: BTreeMap<String, &str> = wheels
        .iter()
        .map(|(part, facts)| {
            let version = part.component.version.as_deref().unwrap_or(&facts.version);
            (normalized_name(&facts.name), version)
        })
        .collect();
    for (part, facts) in &wheels {
        requires(facts, &there, request, out);
        fits(facts, request, out);
        whole(tree, facts, out);
        if facts.license.is_none()
            && facts.license_files.is_empty()
            && part.component.kind == ComponentKind::Wheel
        {
            let message = "names no licence and brings no text of one".to_owned();
            out.push(note("license-unknown", &facts.dist_info, message, None));
        }
    }
    for object in links.objects.values() {
        if is_for_another_python(object.path, request) {
            let message =
                "is an extension module for another version of python, which is never loaded"
                    .to_owned();
            out.push(note(
                "extension-for-another-python",
                object.path,
                message,
                None,
            ));
        }
    }
}

fn requires(
    facts: &DistributionFacts,
    there: &BTreeMap<String, &str>,
    request: &AuditRequest,
    out: &mut Vec<Finding>,
) {
    let Some(python) = request.python else { return };
    for text in &facts.requires_dist {
        let Ok(requirement) = Requirement::<VerbatimUrl>::from_str(text) else {
            let message = format!("has a Requires-Dist that cannot be read: {text:?}");
            out.push(note(
                "requires-dist-unreadable",
                &facts.dist_info,
                message,
                None,
            ));
            continue;
        };
        if !markers::apply(&requirement, request.arch, python) {
            continue;
        }
        let name = normalized_name(requirement.name.as_ref());
        let Some(version) = there.get(&name) else {
            out.push(Finding {
                severity: Severity::Warning,
                code: "requires-dist-missing".to_owned(),
                path: facts.dist_info.clone(),
                message: format!(
                    "{} requires {text:?}, which is not in the bundle",
                    facts.name
                ),
                hint: Some(
                    "add it to the recipe, or waive this if what needs it is not used".to_owned(),
                ),
            });
            continue;
        };
        if let Some(VersionOrUrl::VersionSpecifier(wanted)) = &requirement.version_or_url
            && let Ok(version) = Version::from_str(version)
            && !specifiers::contain(wanted, &version)
        {
            out.push(Finding {
                severity: Severity::Warning,
                code: "requires-dist-version".to_owned(),
                path: facts.dist_info.clone(),
                message: format!("{} requires {text:?}, the bundle has {version}", facts.name),
                hint: Some(
                    "let both versions fit in the recipe, or waive this if it is known to work"
                        .to_owned(),
                ),
            });
        }
    }
}

fn fits(facts: &DistributionFacts, request: &AuditRequest, out: &mut Vec<Finding>) {
    let Some(python) = request.python else { return };
    let full = Version::from_str(
        request
            .python_version
            .as_deref()
            .unwrap_or(&python.to_string()),
    );
    if let (Some(text), Ok(full)) = (&facts.requires_python, full)
        && let Ok(wanted) = VersionSpecifiers::from_str(text)
        && !specifiers::contain(&wanted, &full)
    {
        out.push(Finding {
            severity: Severity::Error,
            code: "requires-python".to_owned(),
            path: facts.dist_info.clone(),
            message: format!(
                "{} {} wants python {text}, the bundle has {full}",
                facts.name, facts.version
            ),
            hint: Some("take a version of it for this python".to_owned()),
        });
    }
    let glibc = request.declared.glibc.as_ref().map(ToString::to_string);
    let minor = glibc.and_then(|g| g.rsplit('.').next()?.parse().ok());
    let runs = Compatibility {
        python_minor: python.minor.into(),
        arch: request.arch,
        glibc_minor: minor.unwrap_or(ANY_GLIBC),
    };
    let read = |texts: &[String]| -> Vec<Tag> {
        let tags = texts.iter().filter_map(|t| expand(t));
        tags.flatten().collect()
    };
    let (own, inside) = (read(&file_tags(facts)), read(&facts.tags));
    if !own.is_empty() && !inside.is_empty() && !runs.accepts_any(&inside) {
        let message = format!(
            "{} says {} inside, which its file name does not",
            facts.name,
            facts.tags.join(" ")
        );
        out.push(note("wheel-tag-inside", &facts.dist_info, message, None));
    }
    let (tags, shown) = if own.is_empty() {
        (inside, facts.tags.join(" "))
    } else {
        (own, file_tags(facts).join(" "))
    };
    if !tags.is_empty() && !runs.accepts_any(&tags) {
        out.push(Finding {
            severity: Severity::Error,
            code: "wheel-tag".to_owned(),
            path: facts.dist_info.clone(),
            message: format!(
                "{} is tagged {}, which does not fit python {python} on {} with glibc 2.{}",
                facts.name, shown, request.arch, runs.glibc_minor
            ),
            hint: Some("take a wheel for the target".to_owned()),
        });
    }
}

/// The tags in the file name, by which installers choose.
fn file_tags(facts: &DistributionFacts) -> Vec<String> {
    let stem = facts.file_name.strip_suffix(".whl").unwrap_or_default();
    let parts: Vec<&str> = stem.split('-').collect();
    match parts.as_slice() {
        [_, _, .., python, abi, platform] => vec![format!("{python}-{abi}-{platform}")],
        _ => Vec::new(),
    }
}

fn whole(tree: &Tree, facts: &DistributionFacts, out: &mut Vec<Finding>) {
    for name in ["RECORD", "METADATA"] {
        if tree.get(&format!("{}/{name}", facts.dist_info)).is_none() {
            out.push(Finding {
                severity: Severity::Error,
                code: "dist-info-incomplete".to_owned(),
                path: facts.dist_info.clone(),
                message: format!("has no {name}"),
                hint: None,
            });
        }
    }
}

fn note(code: &str, path: &str, message: String, hint: Option<String>) -> Finding {
    Finding {
        severity: Severity::Note,
        code: code.to_owned(),
        path: path.to_owned(),
        message,
        hint,
    }
}
