//! One owner per path, whatever the order of the components; everything that collides is named with both owners.

use bundler::base::target::Target;
use bundler::build::assemble::{AssembleError, Collision, LayoutRequest, Merge, Placed, merge};
use bundler::build::ingest::Content;
use bundler::formats::component::{ComponentKind, Entry, EntryKind, Layer, TextFacts};
use bundler::formats::distribution::DistributionFacts;
use std::sync::Arc;

use crate::trees::{Gcc, SITE, component, file, interpreter, layout, link, text, tree_of, wheel};

fn at(rest: &str) -> String {
    format!("{SITE}/{rest}")
}

#[track_caller]
fn collisions(parts: Vec<Placed>) -> Vec<Collision> {
    match merge(parts) {
        Err(AssembleError::Collisions(all)) => all,
        other => panic!("no collision: {other:?}"),
    }
}

/// The same result forwards and backwards.
#[track_caller]
fn collisions_in_any_order(parts: Vec<Placed>) -> Vec<Collision> {
    let backwards: Vec<Placed> = parts.iter().rev().cloned().collect();
    let one = collisions(parts);
    assert_eq!(one, collisions(backwards));
    one
}

#[test]
fn different_bytes_at_one_path_name_both_owners() {
    let a = wheel("alpha", vec![file(&at("same/mod.py"), b"1")]);
    let b = wheel("beta", vec![file(&at("same/mod.py"), b"2")]);
    let found = collisions_in_any_order(vec![b, a]);
    assert_eq!(
        found[0].to_string(),
        format!(
            "{SITE}/same/mod.py is in alpha 1.0 and in beta 1.0, and they differ in their bytes"
        )
    );
}

#[test]
fn two_commands_of_one_name_collide_unless_equal() {
    let script = |name: &str, body: &[u8]| {
        let entry = Entry {
            mode: 0o755,
            ..file("python/bin/tool", body)
        };
        wheel(
            name,
            vec![entry, file(&at(&format!("{name}/__init__.py")), b"")],
        )
    };
    let found = collisions_in_any_order(vec![script("a", b"a:main"), script("b", b"b:main")]);
    assert!(matches!(&found[0], Collision::Clash { path, .. } if path == "python/bin/tool"));
    let shared = merge(vec![script("a", b"x"), script("b", b"x")]).unwrap();
    assert!(matches!(shared, Merge::Again(w) if w[0].name == "b"));
}

#[test]
fn equal_bytes_go_to_the_first_by_name_and_the_other_is_made_without() {
    let a = wheel(
        "nvidia-a",
        vec![
            file(&at("nvidia/__init__.py"), b""),
            file(&at("nvidia/a.py"), b"a"),
        ],
    );
    let b = wheel(
        "nvidia-b",
        vec![
            file(&at("nvidia/__init__.py"), b""),
            file(&at("nvidia/b.py"), b"b"),
        ],
    );
    for parts in [vec![a.clone(), b.clone()], vec![b.clone(), a.clone()]] {
        let Merge::Again(without) = merge(parts).unwrap() else {
            panic!("not shared")
        };
        assert_eq!(without.len(), 1);
        assert_eq!(without[0].component, b.component.key);
        assert_eq!(without[0].paths, [at("nvidia/__init__.py")]);
    }
}

#[test]
fn the_base_layer_owns_before_the_app_whatever_the_names() {
    let app = wheel(
        "aaa",
        vec![file(&at("ns/__init__.py"), b""), file(&at("ns/a.py"), b"")],
    );
    let base = component(
        ComponentKind::Wheel,
        Layer::Base,
        "zzz",
        vec![file(&at("ns/__init__.py"), b""), file(&at("ns/z.py"), b"")],
    );
    let Merge::Again(without) = merge(vec![app, base]).unwrap() else {
        panic!("not shared")
    };
    assert_eq!(without[0].name, "aaa");
}

#[test]
fn equal_bytes_with_different_modes_collide() {
    let plain = file(&at("x/tool"), b"t");
    let program = Entry {
        mode: 0o755,
        ..plain.clone()
    };
    let found = collisions_in_any_order(vec![wheel("a", vec![plain]), wheel("b", vec![program])]);
    assert!(
        matches!(&found[0], Collision::Clash { difference, .. } if *difference == "their modes")
    );
}

#[test]
fn links_collide_by_where_they_point() {
    let one = |name: &str, goal: &str| wheel(name, vec![link(&at("l"), goal)]);
    assert!(matches!(
        merge(vec![one("a", "x"), one("b", "x")]).unwrap(),
        Merge::Again(_)
    ));
    collisions_in_any_order(vec![one("a", "x"), one("b", "y")]);
    collisions_in_any_order(vec![one("a", "x"), wheel("b", vec![file(&at("l"), b"x")])]);
}

#[test]
fn a_file_that_is_a_folder_elsewhere_collides() {
    let a = wheel("a", vec![file(&at("thing"), b"")]);
    let b = wheel("b", vec![file(&at("thing/__init__.py"), b"")]);
    let found = collisions_in_any_order(vec![a, b]);
    assert_eq!(
        found[0].to_string(),
        format!("{SITE}/thing is a file of a 1.0 and a folder of b 1.0")
    );
}

#[test]
fn names_equal_after_case_folding_or_normalising_collide_once() {
    let a = wheel(
        "a",
        vec![file(&at("Pkg/x.py"), b""), file(&at("Pkg/y.py"), b"")],
    );
    let b = wheel(
        "b",
        vec![file(&at("pkg/x.py"), b""), file(&at("pkg/z.py"), b"")],
    );
    let found = collisions_in_any_order(vec![a, b]);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        matches!(&found[0], Collision::SameName { first_path, .. } if *first_path == at("Pkg"))
    );
    let composed = wheel("a", vec![file(&at("caf\u{e9}.py"), b"")]);
    let decomposed = wheel("b", vec![file(&at("cafe\u{301}.py"), b"")]);
    collisions_in_any_order(vec![composed, decomposed]);
}

#[test]
fn a_namespace_is_merged_file_by_file() {
    let a = wheel("a", vec![file(&at("ns/a.py"), b"a")]);
    let b = wheel("b", vec![file(&at("ns/b.py"), b"b")]);
    let tree = tree_of(vec![b, a]).unwrap();
    assert_eq!(tree.get(&at("ns/a.py")).unwrap().owner.component.name, "a");
    assert_eq!(tree.get(&at("ns/b.py")).unwrap().owner.component.name, "b");
    assert!(tree.is_folder(&at("ns")));
}

#[test]
fn no_wheel_writes_over_the_interpreter_or_the_layout() {
    let python = interpreter(vec![file("python/lib/python3.12/os.py", b"import sys")]);
    let bad = wheel("bad", vec![file("python/lib/python3.12/os.py", b"evil")]);
    let found = collisions_in_any_order(vec![python, bad]);
    assert!(matches!(&found[0], Collision::Clash { first, .. } if first == "cpython 1.0"));
    for path in [
        "env.sh",
        "bundle.json",
        "files.jsonl",
        ".complete",
        "bin/python",
        "lib/x.so",
        "src/a/b.py",
    ] {
        let found = collisions(vec![wheel("bad", vec![file(path, b"evil")])]);
        assert!(matches!(&found[0], Collision::NotItsPlace { .. }), "{path}");
    }
}

#[test]
fn no_wheel_changes_how_the_interpreter_starts() {
    for path in [
        "python/pyvenv.cfg",
        "python/bin/pyvenv.cfg",
        "python/bin/python312._pth",
        "python/lib/python312.zip",
    ] {
        let found = collisions(vec![wheel("bad", vec![file(path, b"home = /x")])]);
        assert!(matches!(&found[0], Collision::NotItsPlace { .. }), "{path}");
    }
}

#[test]
fn the_layout_may_not_take_a_path_that_is_owned_even_with_equal_bytes() {
    let Merge::Done(merged) = merge(vec![wheel("a", vec![file(&at("a.py"), b"a")])]).unwrap()
    else {
        panic!("not merged")
    };
    let error = merged
        .clone()
        .finish(layout(vec![file(&at("a.py"), b"a")]))
        .unwrap_err();
    assert!(
        error
            .to_string()
            .contains("another component holds the path"),
        "{error}"
    );
    assert!(
        merged
            .finish(layout(vec![file("bundle.json", b"{}")]))
            .is_err()
    );
}

#[test]
fn one_distribution_comes_once() {
    let one = wheel("numpy", vec![file(&at("numpy/a.py"), b"")]);
    let two = wheel("numpy", vec![file(&at("numpy/b.py"), b"")]);
    let found = collisions_in_any_order(vec![one, two]);
    assert!(matches!(&found[0], Collision::Twice { .. }));
}

#[test]
fn parts_stand_in_the_order_of_a_bundle() {
    let base = |kind, name: &str| component(kind, Layer::Base, name, vec![]);
    let parts = vec![
        component(ComponentKind::Source, Layer::App, "source", vec![]),
        wheel("alpha", vec![]),
        base(ComponentKind::Wheel, "torch"),
        base(ComponentKind::Wheel, "nvidia-a"),
        base(ComponentKind::Interpreter, "cpython"),
    ];
    let tree = tree_of(parts).unwrap();
    let names: Vec<&str> = tree
        .parts()
        .iter()
        .map(|p| p.component.name.as_str())
        .collect();
    assert_eq!(
        names,
        ["cpython", "nvidia-a", "torch", "alpha", "source", "layout"]
    );
}

#[test]
fn everything_that_runs_at_start_is_listed() {
    let code = TextFacts {
        pth_code: vec!["import os".to_owned()],
        ..TextFacts::default()
    };
    let paths = TextFacts {
        pth_paths: vec!["../x".to_owned()],
        ..TextFacts::default()
    };
    let tree = tree_of(vec![wheel(
        "a",
        vec![
            text(&at("code.pth"), code),
            text(&at("paths.pth"), paths),
            file(&at("sitecustomize.py"), b""),
            file(&at("a/sitecustomize.py"), b""),
        ],
    )])
    .unwrap();
    let hooks: Vec<&str> = tree
        .startup_hooks()
        .iter()
        .map(|h| h.path.as_str())
        .collect();
    assert_eq!(hooks, [at("code.pth"), at("sitecustomize.py")]);
}

#[test]
fn only_folders_of_nvidia_libraries_alone_reach_the_library_path() {
    let gcc = Gcc::new();
    let nv = gcc.library("libcudnn.so.9", &[]);
    let other = gcc.library("libother.so.1", &[]);
    let parts = vec![
        wheel(
            "nvidia-cudnn-cu13",
            vec![
                file(&at("nvidia/cudnn/lib/libcudnn.so.9"), &nv),
                file(&at("nvidia/mixed/lib/libcudnn.so.9"), &nv),
                file(&at("nvidia/cudnn/include/cudnn.h"), b""),
            ],
        ),
        wheel(
            "someone",
            vec![file(&at("nvidia/mixed/lib/libother.so.1"), &other)],
        ),
        wheel("numpy", vec![file(&at("numpy.libs/libother.so.1"), &other)]),
    ];
    assert_eq!(values(parts).nvidia_library_dirs, [at("nvidia/cudnn/lib")]);
}

fn layout_request() -> LayoutRequest {
    LayoutRequest {
        bundle_name: "demo-runtime".to_owned(),
        bundle_version: "1.2.3".to_owned(),
        target: "amd64-cu130".parse::<Target>().unwrap(),
        python_minor: "3.12".to_owned(),
        source_folder: None,
        openssl_dir: None,
        asked_for: vec!["numpy".to_owned(), "torch".to_owned()],
        provenance: vec![(
            "recipe.toml".to_owned(),
            b"name = 'demo'\n".as_slice().into(),
        )],
    }
}

fn values(parts: Vec<Placed>) -> bundler::build::ingest::layout::LayoutValues {
    match merge(parts).unwrap() {
        Merge::Done(merged) => merged.layout_values(&layout_request()),
        Merge::Again(w) => panic!("shared: {w:?}"),
    }
}

fn with_distribution(mut placed: Placed, facts: DistributionFacts) -> Placed {
    Arc::make_mut(&mut placed.component).distribution = Some(facts);
    placed
}

#[test]
fn doctor_imports_public_modules_of_what_was_asked_for_torch_first() {
    let of = |name: &str, modules: &[&str]| {
        let top_level = modules.iter().map(|m| (*m).to_owned()).collect();
        with_distribution(
            wheel(name, vec![]),
            DistributionFacts {
                top_level,
                ..Default::default()
            },
        )
    };
    let parts = vec![
        of("numpy", &["numpy", "_numpy_extra"]),
        of("torch", &["torch"]),
        of("six", &["six"]),
    ];
    assert_eq!(values(parts).modules, ["torch", "numpy"]);
}

#[test]
fn licences_are_linked_and_listed_and_provenance_travels() {
    let info = at("a-1.0.dist-info");
    let facts = DistributionFacts {
        dist_info: info.clone(),
        license: Some("MIT\nAND BSD".to_owned()),
        license_files: vec![
            format!("{info}/licenses/LICENSE"),
            format!("{info}/licenses/sub/NOTICE"),
        ],
        ..Default::default()
    };
    let files = facts
        .license_files
        .iter()
        .map(|p| file(p, p.as_bytes()))
        .collect();
    let parts = vec![
        with_distribution(wheel("a", files), facts),
        interpreter(vec![file("python/lib/python3.12/LICENSE.txt", b"PSF")]),
    ];
    let Merge::Done(merged) = merge(parts).unwrap() else {
        panic!("shared")
    };
    let plan = merged.layout_plan(&layout_request()).unwrap();
    let goal = |path: &str| match &plan
        .entries
        .iter()
        .find(|e| e.path == path)
        .unwrap()
        .content
    {
        Content::Symlink(goal) => goal.clone(),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        goal("licenses/a/LICENSE"),
        format!("../../{info}/licenses/LICENSE")
    );
    assert_eq!(
        goal("licenses/a/sub_NOTICE"),
        format!("../../{info}/licenses/sub/NOTICE")
    );
    assert_eq!(
        goal("licenses/cpython/python_lib_python3.12_LICENSE.txt"),
        "../../python/lib/python3.12/LICENSE.txt"
    );
    let Content::Bytes(list) = &plan
        .entries
        .iter()
        .find(|e| e.path == "licenses/LIST.tsv")
        .unwrap()
        .content
    else {
        panic!("no list")
    };
    let list = String::from_utf8(list.to_vec()).unwrap();
    assert!(
        list.contains("a\t1.0\tMIT AND BSD\tlicenses/a/\n"),
        "{list}"
    );
    assert!(
        plan.entries
            .iter()
            .any(|e| e.path == "provenance/recipe.toml")
    );
    assert!(plan.entries.is_sorted_by(|a, b| a.path < b.path));
}

#[test]
fn size_counts_other_names_of_a_file_once() {
    let one = file(&at("a.so"), b"12345");
    let other = Entry {
        path: at("b.so"),
        kind: EntryKind::Hardlink { target: at("a.so") },
        ..one.clone()
    };
    let tree = tree_of(vec![wheel("a", vec![one, other])]).unwrap();
    assert_eq!(tree.unpacked_size(), 5 + "#!/bin/sh\n".len() as u64);
}
