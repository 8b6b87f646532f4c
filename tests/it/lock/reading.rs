//! The committed locks, hostile locks, stale and missing ones.

use std::fmt::Write as _;
use std::path::Path;

use bundler::build::lock::{self, Lock, LockError};
use bundler::build::recipe::{self, Origin, Recipe};

const COMMITTED: &[(&str, &[&str])] = &[
    ("numpy", &["amd64-cu130", "arm64-cu130"]),
    ("registry", &["amd64-cu126", "amd64-cu130", "arm64-cu130"]),
];

fn text(name: &str, target: &str) -> &'static str {
    recipe::embedded_text(&format!("{name}.{target}.lock.toml")).expect("a committed lock")
}

#[test]
fn committed_locks_follow_from_their_recipes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for (name, targets) in COMMITTED {
        let recipe = Recipe::find(name, root).unwrap();
        for target in *targets {
            let wanted = recipe.wanted(target.parse().unwrap()).unwrap();
            let found = lock::current(&recipe, &wanted, root).unwrap();
            assert!(!found.built_in);
            assert_eq!(found.text, found.lock.to_text(), "{name} {target}");
        }
    }
}

#[test]
fn committed_locks_name_no_host() {
    for (name, targets) in COMMITTED {
        for target in *targets {
            let text = text(name, target);
            for trace in ["://", "http:", "/home", "www."] {
                assert!(!text.contains(trace), "{name} {target}: {trace}");
            }
        }
    }
}

#[test]
fn registry_locks_hold_what_their_targets_need() {
    let wheel = |target: &str, name: &str| {
        let lock = Lock::parse(text("registry", target), target).unwrap();
        lock.wheel(name).map(|w| w.version.clone())
    };
    for target in ["amd64-cu130", "arm64-cu130"] {
        assert_eq!(wheel(target, "torch").unwrap(), "2.11.0");
        assert_eq!(wheel(target, "torchvision").unwrap(), "0.26.0");
        assert_eq!(wheel(target, "spconv-triton").unwrap(), "1.0.0");
        assert!(wheel(target, "nvidia-cudnn-cu13").is_some());
    }
    assert_eq!(wheel("amd64-cu126", "torch").unwrap(), "2.7.1");
    assert!(wheel("amd64-cu126", "cumm-cu126").is_some());
    let lock = Lock::parse(text("registry", "arm64-cu130"), "x").unwrap();
    let pins: Vec<String> = lock
        .interpreters
        .iter()
        .map(|i| format!("{} {}", i.source, i.arch))
        .collect();
    assert_eq!(
        pins,
        ["pbs arm64", "pbs amd64", "maven arm64", "maven amd64"]
    );
}

#[test]
fn a_lock_that_no_writer_makes_is_refused() {
    let good = text("numpy", "amd64-cu130");
    let mut said = String::new();
    for (from, to) in HOSTILE {
        assert!(good.contains(from), "{from:?}");
        let text = good.replacen(from, to, 1);
        let error = Lock::parse(&text, "x.lock.toml").expect_err(to);
        let _ = writeln!(said, "{from:?} as {to:?}\n  {error}");
    }
    insta::assert_snapshot!("hostile_locks", said);
}

/// A line of the numpy lock, what stands in its place, and what is said of it.
const HOSTILE: &[(&str, &str)] = &[
    ("schema_version = 1", "schema_version = 2"),
    (
        "schema_version = 1",
        "schema_version = 1\nurl = 'https://example.org'",
    ),
    ("index = \"pypi\"", "indx = \"pypi\""),
    ("sha256 = \"e7cbf5a5", "sha512 = \"e7cbf5a5"),
    ("sha256 = \"e7cbf5a5", "sha256 = \"E7CBF5A5"),
    ("size = 16632729", "size = -1"),
    ("size = 16632729", "size = 16632729\nsize = 1"),
    ("name = \"numpy\"", "name = \"certifi\""),
    ("name = \"numpy\"", "name = \"Numpy\""),
    ("name = \"numpy\"", "name = \"anumpy\""),
    ("version = \"2.3.1\"", "version = \"2.3.2\""),
    (
        "file = \"numpy-2.3.1-cp312-cp312-manylinux_2_28_x86_64.whl\"",
        "file = \"../numpy-2.3.1-cp312-cp312-manylinux_2_28_x86_64.whl\"",
    ),
    (
        "file = \"numpy-2.3.1-cp312-cp312-manylinux_2_28_x86_64.whl\"",
        "file = \"numpy-2.3.1-cp312-cp312-manylinux_2_28_aarch64.whl\"",
    ),
    (
        "file = \"numpy-2.3.1-cp312-cp312-manylinux_2_28_x86_64.whl\"",
        "file = \"numpy-2.3.1-cp313-cp313-manylinux_2_28_x86_64.whl\"",
    ),
    (
        "file = \"numpy-2.3.1-cp312-cp312-manylinux_2_28_x86_64.whl\"",
        "file = \"numpy-2.3.1-cp312-cp312-musllinux_1_2_x86_64.whl\"",
    ),
    (
        "file = \"numpy-2.3.1-cp312-cp312-manylinux_2_28_x86_64.whl\"",
        "file = \"numpy-2.3.1.tar.gz\"",
    ),
    ("layer = \"app\"", "layer = \"middle\""),
    ("target = \"amd64-cu130\"", "target = \"arm64-cu130\""),
    ("python = \"3.12\"", "python = \"3.11\""),
    ("arch = \"arm64\"", "arch = \"amd64\""),
    (
        "file = \"cpython-3.12.1-1.5.10-linux-x86_64.jar\"",
        "file = \"\\u001b[2J.jar\"",
    ),
];

#[test]
fn any_cut_of_a_lock_is_refused_or_another_lock() {
    let good = text("numpy", "amd64-cu130");
    let whole = Lock::parse(good, "x").unwrap();
    for end in 0..good.len() {
        if let Some(part) = good.get(..end)
            && let Ok(lock) = Lock::parse(part, "x")
        {
            assert!(lock != whole || good[end..].trim().is_empty(), "{end}");
        }
    }
}

#[test]
fn a_changed_recipe_makes_a_lock_stale_and_says_why() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file = std::fs::read_to_string(root.join("recipes/numpy.toml")).unwrap();
    let lock = Lock::parse(text("numpy", "amd64-cu130"), "x").unwrap();
    let reason = |from: &str, to: &str| {
        assert!(file.contains(from), "{from}");
        let recipe = Recipe::parse(&file.replacen(from, to, 1), "numpy", Origin::Embedded).unwrap();
        lock.staleness(&recipe.wanted("amd64-cu130".parse().unwrap()).unwrap())
    };
    insta::assert_snapshot!(reason("numpy==2.3.1", "numpy==2.3.2").unwrap(), @"it has numpy 2.3.1, the recipe says numpy==2.3.2");
    insta::assert_snapshot!(reason("\"certifi\"", "\"certifi\", \"einops\"").unwrap(), @"einops is not in it");
    insta::assert_snapshot!(reason("linux-arm64", "linux-arm").unwrap(), @"the recipe has changed since it was made");
    assert_eq!(
        reason("numpy==2.3.1", "numpy == 2.3.*").as_deref(),
        Some("the recipe has changed since it was made")
    );
    for (from, to) in [
        ("# The smallest", "# A small"),
        ("version = \"1.0.0\"", "version = \"2.0.0\""),
        ("[target.arm64-cu130]", "[target.arm64-cu126]"),
        (
            "\"certifi\"",
            "\"certifi\", \"einops; sys_platform == 'win32'\"",
        ),
    ] {
        let stale = reason(from, to);
        assert!(stale.is_none() || to.contains("win32"), "{to}: {stale:?}");
    }
}

#[test]
fn a_missing_lock_and_a_stale_one_say_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recipe = Recipe::find("pointcept", dir.path()).unwrap();
    let wanted = recipe.wanted("arm64-cu130".parse().unwrap()).unwrap();
    let error = lock::current(&recipe, &wanted, dir.path()).unwrap_err();
    assert!(matches!(&error, LockError::Missing { path, .. }
        if path.ends_with("recipes/pointcept.arm64-cu130.lock.toml")));
    assert_eq!(
        error.hint().unwrap(),
        "bundler lock arm64-cu130 --recipe pointcept"
    );
    // The committed lock of a built-in recipe is built in too.
    let recipe = Recipe::find("numpy", dir.path()).unwrap();
    let wanted = recipe.wanted("amd64-cu130".parse().unwrap()).unwrap();
    assert!(
        lock::current(&recipe, &wanted, dir.path())
            .unwrap()
            .built_in
    );
    // One beside a recipe of the working folder is not the built-in one.
    std::fs::create_dir(dir.path().join("recipes")).unwrap();
    let own = dir.path().join("recipes/numpy.toml");
    std::fs::copy(root.join("recipes/numpy.toml"), &own).unwrap();
    let recipe = Recipe::find("numpy", dir.path()).unwrap();
    let error = lock::current(&recipe, &wanted, dir.path()).unwrap_err();
    assert!(matches!(error, LockError::Missing { .. }), "{error}");
}
