//! Libraries and programs that are loaded or started by name, which no NEEDED shows: parts of cuDNN, NVRTC's built-ins, the
//! compiler that triton starts, and whether it knows the devices of the target.

use super::AuditRequest;
use super::policy::{CompilerRule, Policy, any_library, names};
use super::resolve::{Links, Object, file_name};
use super::waiver::glob;
use crate::base::capability::ComputeCapability;
use crate::base::finding::{Finding, Severity};
use crate::build::assemble::Tree;

pub(super) fn check(
    tree: &Tree,
    links: &Links<'_>,
    request: &AuditRequest,
    policy: &Policy,
    out: &mut Vec<Finding>,
) {
    named(links, policy, out);
    for rule in &policy.compiler {
        let used = tree
            .nodes()
            .any(|n| rule.when.iter().any(|w| n.entry.path.ends_with(w.as_str())));
        if used {
            compiler(links, rule, request, out);
        }
    }
}

fn named(links: &Links<'_>, policy: &Policy, out: &mut Vec<Finding>) {
    let is_there = |library: &str| {
        links
            .objects
            .values()
            .any(|o| file_name(o.path) == library || o.elf.soname.as_deref() == Some(library))
    };
    for object in links.objects.values() {
        for rule in policy
            .named
            .iter()
            .filter(|r| names(&r.by, object.path, object.elf))
        {
            let wanted = object.elf.named_libraries.iter();
            for library in wanted.filter(|l| any_library(&rule.libraries, l) && is_versioned(l)) {
                if !is_there(library) {
                    out.push(Finding {
                        severity: Severity::Error,
                        code: "dlopen-missing".to_owned(),
                        path: object.path.to_owned(),
                        message: format!("loads {library} by name, which is not in the bundle: {}", rule.why),
                        hint: Some("take a version of the distribution that has it, or add the one that does".to_owned()),
                    });
                }
            }
        }
    }
}

/// A name without a version is a pattern, or for another system.
fn is_versioned(library: &str) -> bool {
    library.contains(".so.")
}

fn compiler(
    links: &Links<'_>,
    rule: &CompilerRule,
    request: &AuditRequest,
    out: &mut Vec<Finding>,
) {
    let find = |pattern: &str| {
        links
            .objects
            .values()
            .find(|o| glob(pattern, o.path))
            .copied()
    };
    let plain = rule.files.iter().find_map(|f| find(f));
    let newer = find(&rule.newer);
    let Some(first) = plain.or(newer) else {
        let folder = rule.files.first().map(String::as_str).unwrap_or_default();
        out.push(Finding {
            severity: Severity::Warning,
            code: "compiler-missing".to_owned(),
            path: folder.trim_start_matches("**/").to_owned(),
            message: format!("is not in the bundle: {} cannot be compiled", rule.what),
            hint: Some("do not leave it out, or leave out what needs it".to_owned()),
        });
        return;
    };
    for gpu in &request.gpus {
        let takes = if gpu.number() >= rule.newer_from {
            newer.or(plain)
        } else {
            plain
        };
        let compiler = takes.unwrap_or(first);
        if let Some(target) = unknown(compiler, *gpu) {
            out.push(Finding {
                severity: Severity::Warning,
                code: "compiler-too-old".to_owned(),
                path: compiler.path.to_owned(),
                message: format!(
                    "does not know {target}: {} cannot be compiled for capability {gpu}",
                    rule.what
                ),
                hint: Some(
                    "take a version with a newer compiler, or name one in TRITON_PTXAS_PATH"
                        .to_owned(),
                ),
            });
        }
    }
}

/// The target that would be asked for and is not among those the program names; nothing where it names none at all.
fn unknown(compiler: Object<'_>, gpu: ComputeCapability) -> Option<String> {
    let known = &compiler.elf.named_targets;
    let suffix = if gpu.major >= 9 { "a" } else { "" };
    let target = format!("sm_{}{suffix}", gpu.number());
    (!known.is_empty() && !known.contains(&target)).then_some(target)
}
