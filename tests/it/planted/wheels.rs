//! Faults of wheels' metadata: requirements, python, tags, missing files.

use std::sync::Arc;

use bundler::build::assemble::Placed;
use bundler::build::audit::AuditRequest;
use bundler::formats::distribution::DistributionFacts;

use super::{Planted, at, judged};
use crate::trees::{file, request, tree_of, wheel};

fn named(name: &str, facts: DistributionFacts, files: &[&str]) -> Placed {
    let dist_info = at(&format!("{name}-1.0.dist-info"));
    let entries = files
        .iter()
        .map(|f| file(&format!("{dist_info}/{f}"), b"x"));
    let mut placed = wheel(name, entries.collect());
    let mut component = placed.component.as_ref().clone();
    component.distribution = Some(DistributionFacts {
        name: name.to_owned(),
        version: "1.0".to_owned(),
        dist_info,
        ..facts
    });
    placed.component = Arc::new(component);
    placed
}

fn good() -> DistributionFacts {
    DistributionFacts {
        tags: vec!["py3-none-any".to_owned()],
        license: Some("MIT".to_owned()),
        ..DistributionFacts::default()
    }
}

pub(super) fn faults() -> Vec<Planted> {
    let whole = &["METADATA", "RECORD"][..];
    let request = AuditRequest {
        python: Some("3.12".parse().unwrap()),
        python_version: Some("3.12.3".to_owned()),
        ..request()
    };
    let plant = |kind, code, facts: DistributionFacts, files: &[&str]| {
        let tree = |facts, files: &[&str]| {
            tree_of(vec![
                named("app", facts, files),
                named("dep", good(), whole),
            ])
            .unwrap()
        };
        Planted {
            kind,
            code,
            path: at("app-1.0.dist-info"),
            right: judged(&tree(right(), whole), &request),
            wrong: judged(&tree(facts, files), &request),
        }
    };
    let requiring = |text: &str| DistributionFacts {
        requires_dist: vec![text.to_owned()],
        ..right()
    };
    let tagged = |file_name: &str, tag: &str| DistributionFacts {
        file_name: file_name.to_owned(),
        tags: vec![tag.to_owned()],
        ..right()
    };
    vec![
        plant(
            "requirement left out",
            "requires-dist-missing",
            requiring("gone>=1"),
            whole,
        ),
        plant(
            "requirement of the target left out",
            "requires-dist-missing",
            requiring("gone; sys_platform == 'linux'"),
            whole,
        ),
        plant(
            "requirement of another version",
            "requires-dist-version",
            requiring("dep>=2"),
            whole,
        ),
        plant(
            "requirement that is none",
            "requires-dist-unreadable",
            requiring("dep >< 2"),
            whole,
        ),
        plant(
            "wheel for a newer python",
            "requires-python",
            DistributionFacts {
                requires_python: Some(">=3.13".to_owned()),
                ..right()
            },
            whole,
        ),
        plant(
            "wheel for another architecture",
            "wheel-tag",
            tagged("", "cp312-cp312-manylinux_2_17_aarch64"),
            whole,
        ),
        plant(
            "wheel for another CPython",
            "wheel-tag",
            tagged("", "cp310-cp310-manylinux_2_17_x86_64"),
            whole,
        ),
        plant(
            "file name for another system",
            "wheel-tag",
            tagged("app-1.0-cp312-cp312-win_amd64.whl", "py3-none-any"),
            whole,
        ),
        plant(
            "tag inside that the file name lacks",
            "wheel-tag-inside",
            tagged("app-1.0-py3-none-any.whl", "py3-none-manylinux2014_sbsa"),
            whole,
        ),
        plant("no RECORD", "dist-info-incomplete", right(), &["METADATA"]),
        plant("no METADATA", "dist-info-incomplete", right(), &["RECORD"]),
        plant(
            "no licence",
            "license-unknown",
            DistributionFacts {
                license: None,
                ..right()
            },
            whole,
        ),
    ]
}

fn right() -> DistributionFacts {
    DistributionFacts {
        requires_dist: vec![
            "dep>=1; python_version >= '3.9'".to_owned(),
            "extra; extra == 'all'".to_owned(),
        ],
        requires_python: Some(">=3.9".to_owned()),
        ..good()
    }
}
