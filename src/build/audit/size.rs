//! Sizes once unpacked, of the bundle, its layers and components. More than the recipe allows is an error; where it says
//! nothing, more than the policy's limits is a warning.

use std::collections::BTreeMap;

use super::AuditRequest;
use super::policy::Policy;
use super::waiver::glob;
use crate::base::finding::{Finding, Severity};
use crate::build::assemble::{Placed, Tree};
use crate::formats::bundle::BUNDLE_JSON;
use crate::formats::component::{EntryKind, Layer};

pub(super) fn check(tree: &Tree, request: &AuditRequest, policy: &Policy, out: &mut Vec<Finding>) {
    let limits = &request.size;
    let whole = tree.unpacked_size();
    let limit = Limit::of(limits.bundle, policy.size.bundle);
    limit.judge(BUNDLE_JSON, "the bundle", whole, out);
    let mut layers: BTreeMap<Layer, u64> = BTreeMap::new();
    for part in tree.parts() {
        *layers.entry(part.layer).or_default() += bytes(part);
    }
    for (layer, limit) in &limits.layer {
        let size = layers.get(layer).copied().unwrap_or(0);
        let what = match layer {
            Layer::Base => "the base layer",
            Layer::App => "the app layer",
        };
        Limit::of(Some(*limit), 0).judge(BUNDLE_JSON, what, size, out);
    }
    for part in tree.parts() {
        let name = &part.component.name;
        let fits = limits.component.iter().filter(|(rule, _)| glob(rule, name));
        let own = fits
            .max_by_key(|(rule, _)| (rule.as_str() == name, rule.len()))
            .map(|(_, limit)| *limit);
        let limit = Limit::of(own, policy.size.component);
        limit.judge(name, "the component", bytes(part), out);
    }
    for rule in limits.component.keys() {
        if !tree
            .parts()
            .iter()
            .any(|part| glob(rule, &part.component.name))
        {
            let message =
                "the recipe limits the size of it, but there is no such component".to_owned();
            let code = "size-limit-unused";
            out.push(Finding::new(Severity::Note, code, rule, message, None));
        }
    }
}

/// How much, and who says so.
struct Limit {
    bytes: u64,
    severity: Severity,
    hint: &'static str,
}

impl Limit {
    /// The recipe's, else the policy's; 0 is no limit.
    fn of(recipe: Option<u64>, policy: u64) -> Self {
        match recipe {
            Some(bytes) => Self {
                bytes,
                severity: Severity::Error,
                hint: "leave out what is not needed, or raise the limit under [size] in the recipe",
            },
            None => Self {
                bytes: policy,
                severity: Severity::Warning,
                hint: "leave out what is not needed, or set a limit under [size] in the recipe",
            },
        }
    }

    fn judge(&self, path: &str, what: &str, size: u64, out: &mut Vec<Finding>) {
        if self.bytes == 0 || size <= self.bytes {
            return;
        }
        let message = format!(
            "{what} takes {size} bytes, more than the {} it may",
            self.bytes
        );
        out.push(Finding::new(
            self.severity,
            "size-budget",
            path,
            message,
            Some(self.hint),
        ));
    }
}

fn bytes(part: &Placed) -> u64 {
    let files = part.component.entries.iter();
    let files = files.filter(|e| e.kind == EntryKind::File);
    files.map(|e| e.size).sum()
}
