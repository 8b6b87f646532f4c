//! Start-up hooks: what runs at every start of the bundle's python must be allowed by digest in the recipe.

use super::AuditRequest;
use crate::base::finding::{Finding, Severity};
use crate::build::assemble::Tree;

pub(super) fn check(tree: &Tree, request: &AuditRequest, out: &mut Vec<Finding>) {
    for hook in tree.startup_hooks() {
        let what = match hook.code.first() {
            Some(line) => format!("runs code whenever python starts: {}", shown(line)),
            None => "is run whenever python starts".to_owned(),
        };
        let allowed = hook.own || request.allowed_hooks.contains(&hook.sha256);
        out.push(Finding {
            severity: if allowed {
                Severity::Note
            } else {
                Severity::Error
            },
            code: if allowed {
                "startup-hook-allowed"
            } else {
                "startup-hook"
            }
            .to_owned(),
            path: hook.path.clone(),
            message: format!("a file of {} {what}", hook.component),
            hint: (!allowed).then(|| {
                format!(
                    "read the file; if it may run, allow it in the recipe: [[startup_hook]] sha256 = \"{}\", reason = \"…\"",
                    hook.sha256
                )
            }),
        });
    }
}

/// A line as it may be shown: one short line without control characters.
fn shown(line: &str) -> String {
    let mut text: String = line
        .trim()
        .chars()
        .take(80)
        .filter(|c| !c.is_control())
        .collect();
    if text.chars().count() < line.trim().chars().count() {
        text.push('…');
    }
    text
}
