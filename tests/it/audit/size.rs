//! Size limits of the recipe and of the policy.

use std::collections::BTreeMap;

use bundler::base::finding::Severity;
use bundler::build::assemble::Tree;
use bundler::build::audit::{AuditRequest, Policy, report};
use bundler::build::recipe::SizeKeys;
use bundler::formats::component::Layer;

use super::{clean, codes, judged_by, one};
use crate::trees::{file, interpreter, request, tree_of, wheel};

fn made() -> Tree {
    tree_of(vec![
        interpreter(vec![file("python/lib/x.py", &[1; 400])]),
        wheel("torch", vec![file(&super::at("torch/a.py"), &[2; 300])]),
        wheel(
            "torchvision",
            vec![file(&super::at("torchvision/a.py"), &[3; 200])],
        ),
    ])
    .unwrap()
}

fn limited(size: SizeKeys) -> bundler::build::audit::Report {
    judged_by(&made(), &AuditRequest { size, ..request() })
}

fn components(limits: &[(&str, u64)]) -> SizeKeys {
    SizeKeys {
        component: limits.iter().map(|(n, b)| ((*n).to_owned(), *b)).collect(),
        ..SizeKeys::default()
    }
}

#[test]
fn a_bundle_larger_than_its_recipe_allows_is_an_error() {
    let of = |bundle| SizeKeys {
        bundle: Some(bundle),
        ..SizeKeys::default()
    };
    let whole = made().unpacked_size();
    clean(&limited(of(whole)));
    let report = limited(of(whole - 1));
    let finding = one(&report, "size-budget", "bundle.json", Severity::Error);
    assert!(
        finding.message.contains(&whole.to_string()),
        "{}",
        finding.message
    );
    assert!(finding.hint.unwrap().contains("[size]"));
}

#[test]
fn each_layer_has_its_own_limit() {
    let of = |layer, bytes| SizeKeys {
        layer: BTreeMap::from([(layer, bytes)]),
        ..SizeKeys::default()
    };
    clean(&limited(of(Layer::Base, 400)));
    let report = limited(of(Layer::Base, 399));
    let finding = one(&report, "size-budget", "bundle.json", Severity::Error);
    assert!(
        finding
            .message
            .starts_with("the base layer takes 400 bytes")
    );
    one(
        &limited(of(Layer::App, 499)),
        "size-budget",
        "bundle.json",
        Severity::Error,
    );
}

#[test]
fn the_longest_name_that_fits_a_component_gives_its_limit() {
    clean(&limited(components(&[
        ("*", 400),
        ("torch*", 300),
        ("torch", 300),
    ])));
    let report = limited(components(&[
        ("*", 1),
        ("torch*", 250),
        ("torch", 300),
        ("cpython", 400),
    ]));
    assert_eq!(codes(&report).len(), 1, "the layout is small: {report:#?}");
    one(
        &limited(components(&[("torch*", 250)])),
        "size-budget",
        "torch",
        Severity::Error,
    );
}

#[test]
fn a_limit_for_what_is_not_there_is_a_note() {
    one(
        &limited(components(&[("jax", 1)])),
        "size-limit-unused",
        "jax",
        Severity::Note,
    );
}

#[test]
fn without_limits_of_the_recipe_those_of_the_policy_are_warnings() {
    let mut policy = Policy::embedded().clone();
    policy.size.bundle = 10;
    policy.size.component = 300;
    let found = report(&made(), &request(), &policy);
    assert_eq!(codes(&found).len(), 2, "{found:#?}");
    assert!(
        found
            .findings
            .iter()
            .all(|f| f.code == "size-budget" && f.severity == Severity::Warning)
    );
    let own = AuditRequest {
        size: SizeKeys {
            bundle: Some(u64::MAX),
            ..components(&[("cpython", 500)])
        },
        ..request()
    };
    clean(&report(&made(), &own, &policy));
}
