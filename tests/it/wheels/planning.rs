//! What a wheel becomes: places, modes, commands, links, facts; and what the metadata may differ in.

use std::sync::Arc;

use bundler::base::archive::Zip;
use bundler::base::digest::Digest;
use bundler::build::ingest::wheel::{WheelWaiver, plan};
use bundler::build::ingest::{Content, Plan, PlannedEntry};

use super::forge::{Archive, Wheel};
use super::{Refusal, request};

const PACKAGES: &str = "python/lib/python3.12/site-packages";
const INFO: &str = "pkg-1.0.dist-info";

fn planned(wheel: &Wheel) -> Plan {
    planned_with(wheel, wheel.archive(), &[]).unwrap_or_else(|refusal| panic!("{refusal:?}"))
}

fn planned_with(wheel: &Wheel, archive: Archive, waivers: &[WheelWaiver]) -> Result<Plan, Refusal> {
    let zip = Arc::new(Zip::from_bytes(&wheel.file_name, archive.bytes())?);
    Ok(plan(zip, &request(&wheel.file_name, waivers))?)
}

fn entry<'a>(plan: &'a Plan, path: &str) -> &'a PlannedEntry {
    let found = plan.entries.iter().find(|entry| entry.path == path);
    found.unwrap_or_else(|| panic!("no {path} in {:?}", paths(plan)))
}

fn paths(plan: &Plan) -> Vec<&str> {
    plan.entries.iter().map(|e| e.path.as_str()).collect()
}

fn text(plan: &Plan, path: &str) -> String {
    match &entry(plan, path).content {
        Content::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        other => panic!("{path} is {other:?}"),
    }
}

fn note<'a>(plan: &'a Plan, code: &str) -> Option<&'a str> {
    let found = plan.notes.iter().find(|note| note.code == code);
    found.map(|note| note.message.as_str())
}

#[test]
fn files_stand_in_site_packages_sorted_with_digests_and_record_last() {
    let wheel = Wheel::small();
    let plan = planned(&wheel);
    let expected = [
        "pkg-1.0.dist-info/INSTALLER",
        "pkg-1.0.dist-info/METADATA",
        "pkg-1.0.dist-info/WHEEL",
        "pkg/__init__.py",
        "pkg/data.bin",
        "pkg/mod.py",
    ]
    .map(|path| format!("{PACKAGES}/{path}"));
    assert_eq!(paths(&plan), expected);
    assert_eq!(text(&plan, &expected[0]), "bundler\n");
    let module = entry(&plan, &expected[5]);
    assert_eq!(module.expected, Some(Digest::of(&wheel.files[3].1)));
    assert_eq!(
        (module.mode, module.size),
        (0o644, wheel.files[3].1.len() as u64)
    );
    let record = plan.record.unwrap();
    assert_eq!(record.path, format!("{PACKAGES}/{INFO}/RECORD"));
    assert_eq!(record.site_packages, PACKAGES);
    assert_eq!(
        (plan.name.as_str(), plan.version.as_deref()),
        ("pkg", Some("1.0"))
    );
    assert_eq!(plan.distribution.unwrap().top_level, ["pkg"]);
}

#[test]
fn what_tells_of_another_installation_stays_out() {
    let wheel = Wheel::small()
        .file(&format!("{INFO}/INSTALLER"), b"pip\n")
        .file(&format!("{INFO}/REQUESTED"), b"")
        .file(&format!("{INFO}/direct_url.json"), b"{}")
        .file("pkg/__pycache__/mod.cpython-312.pyc", b"\0")
        .file("pkg/legacy.pyc", b"\0");
    let mut parts = wheel.parts();
    parts.push(super::forge::Part::new(
        &format!("{INFO}/RECORD.jws"),
        b"{}",
    ));
    let plan = planned_with(&wheel, Archive::of(parts), &[]).unwrap();
    let left: Vec<&str> = paths(&plan)
        .into_iter()
        .filter(|path| {
            [
                "REQUESTED",
                "direct_url.json",
                "RECORD.jws",
                "RECORD",
                "mod.cpython-312.pyc",
            ]
            .iter()
            .any(|name| path.ends_with(&format!("/{name}")))
        })
        .collect();
    assert_eq!(left, [""; 0]);
    assert_eq!(
        text(&plan, &format!("{PACKAGES}/{INFO}/INSTALLER")),
        "bundler\n"
    );
    entry(&plan, &format!("{PACKAGES}/pkg/legacy.pyc"));
    assert_eq!(
        note(&plan, "bytecode-left-out"),
        Some("1 .pyc files in __pycache__ are left out")
    );
}

#[test]
fn entry_points_and_scripts_of_any_python_get_one_form_of_launcher() {
    let data = "pkg-1.0.data/scripts";
    let entry_points =
        "[console_scripts]\ntool = pkg.mod:main\n[gui_scripts]\nwin = pkg:Gui.run [x]\n";
    let wheel = Wheel::small()
        .file(&format!("{INFO}/entry_points.txt"), entry_points.as_bytes())
        .file(&format!("{data}/hashpython"), b"#!python\nprint(1)\n")
        .file(
            &format!("{data}/absolute"),
            b"#!/usr/bin/python3 -u\nprint(2)\n",
        )
        .file(
            &format!("{data}/env"),
            b"#!/usr/bin/env python\n\"\"\"Doc.\"\"\"\nfrom __future__ import annotations\n",
        )
        .file(
            &format!("{data}/trampoline"),
            b"#!/bin/sh\n'''exec' \"/home/ci/a b/bin/python3\" \"$0\" \"$@\"\n' '''\nprint(4)\n",
        )
        .file(&format!("{data}/shell"), b"#!/bin/bash\necho 3\n")
        .file(&format!("{data}/perl"), b"#!/opt/ci/bin/perl\n")
        .file(&format!("{data}/program"), b"\x7fELF\x02\x01\x01")
        .file(
            &format!("{data}/tool-script.py"),
            b"#!python\nold wrapper\n",
        );
    let plan = planned(&wheel);
    for name in ["tool", "win", "hashpython", "absolute", "env", "trampoline"] {
        let path = format!("python/bin/{name}");
        let script = text(&plan, &path);
        assert!(
            script.starts_with("#!/bin/sh\n'''exec' "),
            "{name}: {script}"
        );
        assert_eq!(entry(&plan, &path).mode, 0o755);
        assert_eq!(entry(&plan, &path).expected, None);
    }
    assert!(text(&plan, "python/bin/absolute").ends_with("\nprint(2)\n"));
    let trampoline = text(&plan, "python/bin/trampoline");
    assert!(!trampoline.contains("/home/ci"), "{trampoline}");
    for name in ["shell", "perl", "program"] {
        let entry = entry(&plan, &format!("python/bin/{name}"));
        assert!(matches!(entry.content, Content::Member(_)), "{name}");
        assert_eq!(entry.mode, 0o755);
        assert!(entry.expected.is_some());
    }
    assert!(!paths(&plan).contains(&"python/bin/tool-script.py"));
    assert!(
        note(&plan, "script-is-entry-point")
            .unwrap()
            .contains("tool-script.py")
    );
    let points = plan.distribution.unwrap().entry_points;
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(
        points,
        [pair("tool", "pkg.mod:main"), pair("win", "pkg:Gui.run")]
    );
}

#[test]
fn every_scheme_has_its_place_and_no_mode_but_x_is_kept() {
    let data = "pkg-1.0.data";
    let wheel = Wheel::small()
        .program("pkg/bin/tool", b"\x7fELF", 0o104_755)
        .program("pkg/shared", b"x", 0o102_664)
        .program("pkg/one", b"x", 0o100_010)
        .file(&format!("{data}/purelib/ns/a.py"), b"")
        .file(&format!("{data}/platlib/ns/b.so"), b"")
        .file(&format!("{data}/headers/a.h"), b"")
        .file(&format!("{data}/data/share/x/y"), b"");
    let plan = planned(&wheel);
    for (path, mode) in [
        (format!("{PACKAGES}/pkg/bin/tool"), 0o755),
        (format!("{PACKAGES}/pkg/shared"), 0o644),
        (format!("{PACKAGES}/pkg/one"), 0o755),
        (format!("{PACKAGES}/ns/a.py"), 0o644),
        (format!("{PACKAGES}/ns/b.so"), 0o644),
        ("python/include/python3.12/pkg/a.h".to_owned(), 0o644),
        ("python/share/x/y".to_owned(), 0o644),
    ] {
        assert_eq!(entry(&plan, &path).mode, mode, "{path}");
    }
    assert_eq!(plan.distribution.unwrap().top_level, ["ns", "pkg"]);
}

#[test]
fn equal_files_of_one_wheel_become_links_to_the_first() {
    let library = vec![9; 70_000];
    let wheel = Wheel::small()
        .file("pkg/libx.so.1.2", &library)
        .file("pkg/libx.so", &library)
        .file("pkg/libx.so.1", &library)
        .program("pkg/libx.run", &library, 0o100_755)
        .file("pkg/small_a", &[1; 100])
        .file("pkg/small_b", &[1; 100]);
    let plan = planned(&wheel);
    let first = format!("{PACKAGES}/pkg/libx.so");
    assert!(matches!(entry(&plan, &first).content, Content::Member(_)));
    for (name, index) in [("libx.so.1", 7), ("libx.so.1.2", 5)] {
        let entry = entry(&plan, &format!("{PACKAGES}/pkg/{name}"));
        match &entry.content {
            Content::Hardlink { target, member } => {
                assert_eq!((target, *member), (&first, index));
            }
            other => panic!("{name} is {other:?}"),
        }
        assert_eq!(entry.expected, Some(Digest::of(&library)));
    }
    for name in ["libx.run", "small_b"] {
        let entry = entry(&plan, &format!("{PACKAGES}/pkg/{name}"));
        assert!(matches!(entry.content, Content::Member(_)), "{name}");
    }
    assert!(note(&plan, "hard-links").unwrap().contains("140000 bytes"));
}

#[test]
fn what_runs_at_start_and_the_licences_are_listed() {
    let wheel = Wheel::small()
        .file("a.pth", b"./somewhere\n")
        .file("b.pth", b"# comment\n\nimport os; os.system('x')\n")
        .file("c.pth", b"x\r\timport\tsys\r")
        .file("pkg/d.pth", b"import os\n")
        .file("sitecustomize.py", b"")
        .file("usercustomize/__init__.py", b"")
        .file("usercustomize/other.py", b"")
        .file("pkg/sitecustomize.py", b"")
        .file(&format!("{INFO}/LICENSE.txt"), b"")
        .file(&format!("{INFO}/NOTICE"), b"")
        .file(&format!("{INFO}/licenses/sub/MIT"), b"")
        .file(&format!("{INFO}/odd"), b"")
        .file(
            &format!("{INFO}/METADATA"),
            b"Metadata-Version: 2.4\nName: pkg\nVersion: 1.0\nLicense-Expression: MIT\nLicense-File: odd\n",
        );
    let facts = planned(&wheel).distribution.unwrap();
    let hooks = [
        "b.pth",
        "c.pth",
        "sitecustomize.py",
        "usercustomize/__init__.py",
    ];
    assert_eq!(
        facts.startup_hooks,
        hooks.map(|path| format!("{PACKAGES}/{path}"))
    );
    let licenses = ["LICENSE.txt", "NOTICE", "licenses/sub/MIT", "odd"];
    assert_eq!(
        facts.license_files,
        licenses.map(|path| format!("{PACKAGES}/{INFO}/{path}"))
    );
    assert_eq!(facts.license.as_deref(), Some("MIT"));
    assert_eq!(facts.top_level, ["pkg", "sitecustomize", "usercustomize"]);
}

#[test]
fn only_the_dist_info_at_the_root_counts() {
    let mut parts = Wheel::small()
        .file("pkg/_vendor/pip-24.dist-info/METADATA", b"Name: pip\n")
        .parts();
    let at = parts
        .iter()
        .position(|p| p.central.name.starts_with(b"pkg/_vendor"));
    let vendored = parts.remove(at.unwrap());
    parts.insert(0, vendored);
    let wheel = Wheel::small();
    let plan = planned_with(&wheel, Archive::of(parts), &[]).unwrap();
    assert_eq!(plan.distribution.unwrap().name, "pkg");
}

#[test]
fn names_are_compared_after_normalisation_and_versions_by_value() {
    let wheel = Wheel::new("Foo.Bar", "1.0").file("foo.py", b"");
    let wheel = wheel.named("foo_bar-1.0.0-py3-none-any.whl");
    let plan = planned(&wheel);
    assert_eq!(plan.name, "foo-bar");
    assert_eq!(plan.distribution.unwrap().name, "Foo.Bar");
    assert_eq!(plan.notes, []);
}

#[test]
fn a_missing_local_version_is_told_and_both_versions_are_kept() {
    let wheel = Wheel::small().named("pkg-1.0+cu130torch29-py3-none-any.whl");
    let plan = planned(&wheel);
    assert_eq!(plan.version.as_deref(), Some("1.0+cu130torch29"));
    assert!(
        note(&plan, "metadata-version")
            .unwrap()
            .contains("1.0+cu130torch29")
    );
    assert!(note(&plan, "dist-info-version").is_some());
    assert_eq!(plan.distribution.unwrap().version, "1.0");

    let metadata = "Metadata-Version: 2.1\nName: pkg\nVersion: 0.10.3\n";
    let mut wheel = Wheel::new("pkg", "0.10.3+123.ab1cd2e").file("pkg.py", b"");
    let path = format!("{}/METADATA", wheel.dist_info);
    wheel = wheel.file(&path, metadata.as_bytes());
    let plan = planned(&wheel.named("pkg-0.10.3-py3-none-any.whl"));
    assert!(
        note(&plan, "dist-info-version").is_some() && note(&plan, "metadata-version").is_none()
    );
}

#[test]
fn tags_are_compared_in_both_forms_and_a_difference_is_told() {
    let file = "pkg-1.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl";
    let head = "Wheel-Version: 1.0\nRoot-Is-Purelib: false\n";
    let with = |tags: &str| {
        let text = format!("{head}{tags}");
        let wheel = Wheel::small().file(&format!("{INFO}/WHEEL"), text.as_bytes());
        planned(&wheel.named(file))
    };
    let dotted = with("Tag: py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64\n");
    let lines = with("Tag: py3-none-manylinux2014_x86_64\nTag: py3-none-manylinux_2_17_x86_64\n");
    for plan in [dotted, lines] {
        assert_eq!(note(&plan, "wheel-tags"), None);
        assert_eq!(plan.distribution.unwrap().tags.len(), 2);
    }
    assert!(note(&with("Tag: py3-none-linux_x86_64\n"), "wheel-tags").is_some());
}

/// A wheel whose RECORD lists another path, and one file with another digest.
fn wrong_record() -> (Wheel, Archive) {
    let wheel = Wheel::small()
        .file("pkg-1.0.data/data/x/a.so", b"a")
        .file("pkg/changed.py", b"before");
    let record = String::from_utf8(wheel.record()).unwrap();
    let record = record.replace("x/a.so", "x/b.so");
    let wheel = wheel.file("pkg/changed.py", b"after!");
    let parts = wheel.parts_with_record(record.as_bytes());
    (wheel, Archive::of(parts))
}

#[test]
fn a_wrong_record_is_refused_with_both_lists_unless_waived_for_this_very_file() {
    let (wheel, archive) = wrong_record();
    let refused = planned_with(&wheel, archive.clone(), &[]).unwrap_err();
    assert!(
        refused
            .text
            .contains("not listed: pkg-1.0.data/data/x/a.so"),
        "{}",
        refused.text
    );
    assert!(
        refused.text.contains("not there: pkg-1.0.data/data/x/b.so"),
        "{}",
        refused.text
    );

    let mut waiver = WheelWaiver {
        sha256: Digest::of(b"another file"),
        code: "record-mismatch".into(),
        reason: "upstream is gone".into(),
    };
    planned_with(&wheel, archive.clone(), std::slice::from_ref(&waiver)).unwrap_err();
    waiver.sha256 = Digest::of(wheel.file_name.as_bytes());
    let other = WheelWaiver {
        code: "something-else".into(),
        ..waiver.clone()
    };
    planned_with(&wheel, archive.clone(), &[other]).unwrap_err();

    let plan = planned_with(&wheel, archive, &[waiver]).unwrap();
    let told = note(&plan, "record-mismatch").unwrap();
    for part in [
        "a.so",
        "b.so",
        "of another sha256: pkg/changed.py",
        "upstream is gone",
    ] {
        assert!(told.contains(part), "{told}");
    }
    let expected = |path: &str| entry(&plan, path).expected;
    assert_eq!(expected("python/x/a.so"), None);
    assert_eq!(expected(&format!("{PACKAGES}/pkg/changed.py")), None);
    assert!(expected(&format!("{PACKAGES}/pkg/mod.py")).is_some());
}

#[test]
fn a_waiver_that_is_not_needed_says_so() {
    let wheel = Wheel::small();
    let waiver = WheelWaiver {
        sha256: Digest::of(wheel.file_name.as_bytes()),
        code: "record-mismatch".into(),
        reason: "old".into(),
    };
    let plan = planned_with(&wheel, wheel.archive(), &[waiver]).unwrap();
    assert!(
        note(&plan, "record-mismatch")
            .unwrap()
            .contains("not needed")
    );
    assert!(
        entry(&plan, &format!("{PACKAGES}/pkg/mod.py"))
            .expected
            .is_some()
    );
}
