//! Floors: the highest GLIBC, GLIBCXX and CXXABI versions that any file asks of the host, the file to blame for each, and
//! whether that is above what the recipe declares. Versions that a library of the tree gives are not the host's affair.

use super::policy::Policy;
use super::resolve::{Links, Provider};
use super::{AuditRequest, Blame};
use crate::base::finding::{Finding, Severity};
use crate::formats::floor::{DottedVersion, Floor};

/// The glibc that first gave an ABI marker, where the marker is no version number.
const GLIBC_MARKERS: &[(&str, &str)] =
    &[("GLIBC_ABI_DT_RELR", "2.36"), ("GLIBC_ABI_GNU_TLS", "2.42")];

/// One name whose versions are ordered.
struct Family {
    prefix: &'static str,
    code: &'static str,
    library: &'static str,
    declared: fn(&Floor) -> Option<&DottedVersion>,
    measured: fn(&mut Floor) -> &mut Option<DottedVersion>,
}

const FAMILIES: [Family; 3] = [
    Family {
        prefix: "GLIBC_",
        code: "glibc-too-new",
        library: "glibc",
        declared: |f| f.glibc.as_ref(),
        measured: |f| &mut f.glibc,
    },
    Family {
        prefix: "GLIBCXX_",
        code: "glibcxx-too-new",
        library: "libstdc++",
        declared: |f| f.glibcxx.as_ref(),
        measured: |f| &mut f.glibcxx,
    },
    Family {
        prefix: "CXXABI_",
        code: "cxxabi-too-new",
        library: "libstdc++",
        declared: |f| f.cxxabi.as_ref(),
        measured: |f| &mut f.cxxabi,
    },
];

pub(super) fn check(
    links: &Links<'_>,
    request: &AuditRequest,
    out: &mut Vec<Finding>,
) -> (Floor, Vec<Blame>) {
    let mut floor = Floor::default();
    let mut blame = Vec::new();
    for family in &FAMILIES {
        let mut highest: Option<(DottedVersion, Blame)> = None;
        for path in links.objects.keys() {
            let Some((version, text)) = highest_of(links, path, family) else {
                continue;
            };
            if (family.declared)(&request.declared).is_some_and(|d| version > *d) {
                out.push(too_new(family, path, &text, &request.declared));
            }
            if highest.as_ref().is_none_or(|(h, _)| version > *h) {
                let path = (*path).to_owned();
                highest = Some((
                    version,
                    Blame {
                        version: text,
                        path,
                    },
                ));
            }
        }
        if let Some((version, culprit)) = highest {
            *(family.measured)(&mut floor) = Some(version);
            blame.push(culprit);
        }
    }
    (floor, blame)
}

/// The distributions whose libraries are at or above the floor.
pub(super) fn distributions(floor: &Floor, policy: &Policy) -> Vec<String> {
    let holds = |has: &DottedVersion, needs: &Option<DottedVersion>| {
        needs.as_ref().is_none_or(|n| has >= n)
    };
    policy
        .distribution
        .iter()
        .filter(|d| {
            holds(&d.glibc, &floor.glibc)
                && holds(&d.glibcxx, &floor.glibcxx)
                && holds(&d.cxxabi, &floor.cxxabi)
        })
        .map(|d| d.name.clone())
        .collect()
}

/// The highest version of a family that a file asks of the host.
fn highest_of(links: &Links<'_>, path: &str, family: &Family) -> Option<(DottedVersion, String)> {
    let object = links.objects.get(path)?;
    let needs = links.needs.get(path)?;
    let inside = |library: &str| {
        needs
            .iter()
            .any(|(name, provider)| *name == library && matches!(provider, Provider::Tree(_)))
    };
    object
        .elf
        .version_needs
        .iter()
        .filter(|(library, _)| !inside(library))
        .flat_map(|(_, versions)| versions)
        .filter_map(|text| Some((version(family, text)?, text.clone())))
        .max()
}

fn version(family: &Family, text: &str) -> Option<DottedVersion> {
    let marker = GLIBC_MARKERS
        .iter()
        .find(|(marker, _)| *marker == text && family.prefix == "GLIBC_");
    let number = match marker {
        Some((_, number)) => number,
        None => text.strip_prefix(family.prefix)?,
    };
    number.parse().ok()
}

fn too_new(family: &Family, path: &str, text: &str, declared: &Floor) -> Finding {
    let floor = (family.declared)(declared)
        .map(ToString::to_string)
        .unwrap_or_default();
    Finding {
        severity: Severity::Error,
        code: family.code.to_owned(),
        path: path.to_owned(),
        message: format!(
            "needs {text} of the host's {}, above the declared floor {floor}",
            family.library
        ),
        hint: Some(
            "take a version built for older systems, or raise the floor in the recipe".to_owned(),
        ),
    }
}
