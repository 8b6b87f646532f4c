//! Sizes once unpacked, of the bundle, its layers and components, against the limits of the policy.

use super::policy::Policy;
use crate::base::finding::{Finding, Severity};
use crate::build::assemble::{Placed, Tree};
use crate::formats::component::EntryKind;

pub(super) fn check(tree: &Tree, policy: &Policy, out: &mut Vec<Finding>) {
    let limits = &policy.size;
    let mut over = |path: &str, what: &str, size: u64, limit: u64| {
        if limit > 0 && size > limit {
            out.push(Finding {
                severity: Severity::Warning,
                code: "size-budget".to_owned(),
                path: path.to_owned(),
                message: format!("{what} takes {size} bytes, more than the {limit} it may"),
                hint: Some("leave out what is not needed, or waive this in the recipe".to_owned()),
            });
        }
    };
    over(
        "bundle.json",
        "the bundle",
        tree.unpacked_size(),
        limits.bundle,
    );
    for part in tree.parts() {
        over(
            &part.component.name,
            "the component",
            bytes(part),
            limits.component,
        );
    }
}

fn bytes(part: &Placed) -> u64 {
    let files = part
        .component
        .entries
        .iter()
        .filter(|e| e.kind == EntryKind::File);
    files.map(|e| e.size).sum()
}
