//! Judges the NEEDED closure: what nobody in the tree gives must be a library of the host, or belong to a file that is only
//! loaded on demand. Also that a library of the tree has the symbol versions its users ask for.

use std::collections::{BTreeMap, BTreeSet};

use super::AuditRequest;
use super::policy::{Policy, any_library};
use super::resolve::{Links, Object, Provider, file_name};
use crate::base::finding::{Finding, Severity};
use crate::formats::component::ComponentKind;
use crate::formats::floor::HostNeed;

/// So many files are named for a library that every host has.
const SHOWN: usize = 4;

/// What is known of one host library while files are looked at.
#[derive(Default)]
struct Need {
    required_by: BTreeSet<String>,
    optional_for: BTreeSet<String>,
    switches_off: BTreeSet<String>,
}

pub(super) fn check(
    links: &Links<'_>,
    request: &AuditRequest,
    policy: &Policy,
    out: &mut Vec<Finding>,
) -> Vec<HostNeed> {
    let mut needs: BTreeMap<String, Need> = BTreeMap::new();
    for (path, provided) in &links.needs {
        let Some(object) = links.objects.get(path).copied() else {
            continue;
        };
        for (library, provider) in provided {
            match provider {
                Provider::Tree(file) => versions(links, object, library, file, out),
                Provider::Outside => {
                    outside(links, object, library, request, policy, &mut needs, out);
                }
            }
        }
    }
    needs
        .into_iter()
        .map(|(library, need)| host_need(library, need))
        .collect()
}

/// A need that the tree does not meet.
fn outside(
    links: &Links<'_>,
    object: Object<'_>,
    library: &str,
    request: &AuditRequest,
    policy: &Policy,
    needs: &mut BTreeMap<String, Need>,
    out: &mut Vec<Finding>,
) {
    let path = object.path.to_owned();
    if let Some(off) = switched_off(object, library, policy) {
        let need = needs.entry(library.to_owned()).or_default();
        need.optional_for.insert(path);
        need.switches_off.insert(off);
    } else if policy.is_host(library) || any_library(&request.host_libraries, library) {
        needs
            .entry(library.to_owned())
            .or_default()
            .required_by
            .insert(path);
    } else {
        out.push(missing(links, object, library));
    }
}

/// What does not work where `library` is missing, for a file that nothing but that needs.
fn switched_off(object: Object<'_>, library: &str, policy: &Policy) -> Option<String> {
    if let Some(rule) = policy.plugin(object.path, object.elf, library) {
        return Some(rule.switches_off.clone());
    }
    let is_module = object.origin == ComponentKind::Interpreter
        && object.path.contains("/lib-dynload/")
        && !policy.is_host(library);
    let module = file_name(object.path).split('.').next()?;
    is_module.then(|| module.to_owned())
}

fn missing(links: &Links<'_>, object: Object<'_>, library: &str) -> Finding {
    let elsewhere = links
        .objects
        .values()
        .find(|o| file_name(o.path) == library || o.elf.soname.as_deref() == Some(library));
    let (code, message, hint) = match elsewhere {
        Some(other) => (
            "elf-needed-unreachable",
            format!(
                "needs {library}, which is {} but neither on its search path nor loaded before",
                other.path
            ),
            "if python code loads that library first, waive this in the recipe and say so; else the wheel needs an RPATH",
        ),
        None => (
            "elf-needed-missing",
            format!("needs {library}, which is neither in the bundle nor a library of the host"),
            "add the distribution that holds it, or list it under the recipe's host libraries",
        ),
    };
    Finding {
        severity: Severity::Error,
        code: code.to_owned(),
        path: object.path.to_owned(),
        message,
        hint: Some(hint.to_owned()),
    }
}

/// Versions that `object` asks of `library` and that `file` does not define. A file without any version definitions serves all,
/// as the loader has it.
fn versions(
    links: &Links<'_>,
    object: Object<'_>,
    library: &str,
    file: &str,
    out: &mut Vec<Finding>,
) {
    let Some(provider) = links.objects.get(file) else {
        return;
    };
    if provider.elf.version_defs.is_empty() {
        return;
    }
    let asked = object
        .elf
        .version_needs
        .iter()
        .filter(|(name, _)| name == library);
    let lacking: Vec<&str> = asked
        .flat_map(|(_, versions)| versions)
        .filter(|v| !provider.elf.version_defs.contains(v))
        .map(String::as_str)
        .collect();
    if let Some(first) = lacking.first() {
        out.push(Finding {
            severity: Severity::Error,
            code: "elf-version-missing".to_owned(),
            path: object.path.to_owned(),
            message: format!("needs version {first} of {library}, which {file} does not define"),
            hint: Some(
                "take versions of both distributions that were made for each other".to_owned(),
            ),
        });
    }
}

fn host_need(library: String, need: Need) -> HostNeed {
    let optional = need.required_by.is_empty();
    let (by, off) = if optional {
        (
            need.optional_for.into_iter().collect(),
            need.switches_off.into_iter().collect(),
        )
    } else {
        (
            need.required_by.into_iter().take(SHOWN).collect(),
            Vec::new(),
        )
    };
    HostNeed {
        library,
        needed_by: by,
        optional,
        switches_off: off,
    }
}
