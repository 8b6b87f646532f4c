//! The default recipe as a user meets it: locked for all six targets, then made by the user's own command.

use std::path::PathBuf;
use std::process::Command;

use bundler::build::lock::Lock;
use bundler::build::recipe;

use super::stage::{Stage, TARGETS, Typed};

fn locked(stage: &Stage, target: &str) -> (Lock, String) {
    let path = stage
        .dir
        .path()
        .join(format!("recipes/pointcept.{target}.lock.toml"));
    let text = std::fs::read_to_string(path).unwrap();
    (Lock::parse(&text, target).unwrap(), text)
}

/// The server of signed addresses refuses requests with credentials; here that none came.
#[track_caller]
fn assert_nothing_leaked(stage: &Stage) {
    let asked = stage.store.asked();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|a| a.header("authorization").is_none()));
}

#[test]
fn the_default_recipe_locks_all_six_targets() {
    let stage = Stage::new(None);
    let Typed { out, err, code } = stage.types(&["lock"]);
    assert_eq!(code, 0, "{out}{err}");
    for target in TARGETS {
        let (lock, text) = locked(&stage, target);
        let accel = target.split_once('-').unwrap().1;
        let source = lock.source.as_ref().unwrap();
        assert_eq!(source.revision.as_deref(), Some(stage.revision.as_str()));
        let torch = lock.wheel("torch").unwrap();
        assert_eq!(torch.version, format!("2.9.1+{accel}"));
        assert_eq!(torch.index, "pytorch");
        assert!(!torch.computed && lock.wheel("torchvision").unwrap().computed);
        let pointops = lock.wheel("pointops").unwrap();
        assert_eq!(
            (pointops.version.as_str(), pointops.index.as_str()),
            ("1.0", "wheelhouse")
        );
        assert!(lock.wheel(&format!("cumm-{accel}")).is_some());
        assert!(
            lock.wheel("pointcept").is_none(),
            "the source is pinned instead"
        );
        assert_eq!(lock.wheel("open3d").is_some(), target.starts_with("amd64"));
        for secret in ["127.0.0.1", "s3cret", "signature", "geheim"] {
            assert!(!text.contains(secret), "{target}: {secret}");
        }
    }
    assert!(!format!("{out}{err}").contains("s3cret"));
    assert_nothing_leaked(&stage);
}

#[test]
fn a_wheelhouse_made_of_another_revision_is_refused() {
    let stage = Stage::new(Some(&"0123456789".repeat(4)));
    let Typed { err, code, .. } = stage.types(&["lock", "amd64-cu130"]);
    assert_eq!(code, 2);
    assert!(
        err.starts_with(&format!(
            "error: pointcept-1.7.0.post1+g012345678-py3-none-any.whl on index wheelhouse was not made of the source's revision {}\n",
            stage.revision
        )),
        "{err}"
    );
}

fn bundle(stage: &Stage, target: &str) -> PathBuf {
    stage
        .dir
        .path()
        .join(format!("pointcept-runtime-{target}.tar.zst"))
}

/// The files of a bundle by what any user has: tar and zstd.
fn listed(bundle: &std::path::Path) -> Vec<String> {
    let output = Command::new("tar")
        .args(["--zstd", "-tf"])
        .arg(bundle)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(ToOwned::to_owned).collect()
}

#[test]
fn the_users_own_command_resolves_writes_the_lock_says_so_and_makes_the_bundle() {
    let stage = Stage::new(None);
    let recipe = stage.pin();
    assert_differs_in_pins_only(&recipe);
    // The command exactly as users type it.
    let Typed { out, err, code } = stage.types(&["make", "arm64-cu130"]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        err.contains("recipes/pointcept.arm64-cu130.lock.toml"),
        "{err}"
    );
    assert!(
        err.contains(": resolving\n") && err.contains("\nwrote "),
        "{err}"
    );
    for target in TARGETS {
        let Typed { out, err, code } = stage.types(&["make", target]);
        assert_eq!(code, 0, "{target}: {out}{err}");
        // What has a lock is not resolved again.
        assert_eq!(err.contains("resolving"), target != "arm64-cu130", "{err}");
        let (lock, _) = locked(&stage, target);
        let files = listed(&bundle(&stage, target));
        let has = |path: &str| files.iter().any(|f| f == &format!("runtime/{path}"));
        let site = "python/lib/python3.12/site-packages";
        let accel = target.split_once('-').unwrap().1;
        for path in [
            "bundle.json".to_owned(),
            ".complete".to_owned(),
            "src/pointcept/setup.py".to_owned(),
            format!("provenance/pointcept.{target}.lock.toml"),
            format!("{site}/torch-2.9.1+{accel}.dist-info/METADATA"),
            format!("{site}/spconv_{accel}.py"),
            format!("{site}/__pycache__/torch.cpython-312.pyc"),
        ] {
            assert!(has(&path), "{target}: {path} is missing");
        }
        assert_eq!(
            lock.source.unwrap().revision.as_deref(),
            Some(stage.revision.as_str())
        );
        assert!(!format!("{out}{err}").contains("s3cret"));
    }
    assert_nothing_leaked(&stage);
}

#[test]
fn a_mirror_holds_all_that_the_same_bytes_are_made_of_without_any_network() {
    let stage = Stage::new(None);
    stage.pin();
    let Typed { err, code, .. } = stage.types(&["make", "arm64-cu130"]);
    assert_eq!(code, 0, "{err}");
    let made = std::fs::read(bundle(&stage, "arm64-cu130")).unwrap();
    let Typed { err, code, .. } = stage.types(&["fetch", "arm64-cu130", "--mirror", "mirror"]);
    assert_eq!(code, 0, "{err}");
    let listed = Command::new("sha256sum")
        .args(["--check", "--quiet", "--strict", "SHA256SUMS"])
        .current_dir(stage.dir.path().join("mirror"))
        .status();
    assert!(listed.unwrap().success());
    let before = (stage.pages.connections(), stage.store.connections());
    let words = [
        "make",
        "arm64-cu130",
        "--offline",
        "--mirror",
        "mirror",
        "--cache-dir",
        "empty",
        "-o",
        "out",
    ];
    let Typed { out, err, code } = stage.types_alone(&words);
    assert_eq!(code, 0, "{out}{err}");
    let again = stage
        .dir
        .path()
        .join("out/pointcept-runtime-arm64-cu130.tar.zst");
    assert!(std::fs::read(again).unwrap() == made, "other bytes");
    assert_eq!(
        (stage.pages.connections(), stage.store.connections()),
        before
    );
    // What is not what its list says is not taken.
    let source = format!("mirror/source-{}.tar", stage.revision);
    let source = stage.dir.path().join(source);
    let mut bytes = std::fs::read(&source).unwrap();
    bytes[600] ^= 1;
    std::fs::write(&source, bytes).unwrap();
    let words = [
        "make",
        "arm64-cu130",
        "--offline",
        "--mirror",
        "mirror",
        "--cache-dir",
        "empty2",
        "-o",
        "out2",
    ];
    let Typed { err, code, .. } = stage.types_alone(&words);
    assert_eq!(code, 2, "{err}");
    assert!(err.starts_with("error: could not fetch source\n"), "{err}");
}

/// The recipe is the default one but for the digests of the interpreters and the revision of the source.
#[track_caller]
fn assert_differs_in_pins_only(text: &str) {
    let default = recipe::embedded_text("pointcept.toml").unwrap();
    assert_eq!(text.lines().count(), default.lines().count());
    let changed: Vec<&str> = text
        .lines()
        .zip(default.lines())
        .filter(|(one, other)| one != other)
        .filter_map(|(one, _)| one.split_once(" = "))
        .map(|(key, _)| key)
        .collect();
    assert_eq!(changed, ["sha256.amd64", "sha256.arm64", "rev"]);
}
