//! `bundler audit`, `diff`, `evidence` and `report` on a bundle, as a user runs them.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use bundler::base::progress::Progress;
use bundler::build::pack::pack_parts;
use bundler::formats::component::FileFacts;
use bundler::formats::elf;
use serde_json::Value;

use crate::synthetic::{component, file, request};
use crate::trees::Gcc;

const SITE: &str = "python/lib/python3.12/site-packages";

fn run(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundler"));
    command.env_clear().args(args).output().unwrap()
}

fn json(args: &[&str]) -> (Option<i32>, Value) {
    let done = run(&[args, &["--output-format", "json"]].concat());
    let value = serde_json::from_slice(&done.stdout);
    let value = value.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&done.stderr)));
    (done.status.code(), value)
}

/// A bundle with one library that needs a library nobody has, or nothing.
fn bundle(dir: &Path, needs: bool) -> PathBuf {
    let gcc = Gcc::new();
    gcc.library("libdep.so.1", &[]);
    let args: &[&str] = if needs { &["-l:libdep.so.1"] } else { &[] };
    let bytes = gcc.library("libuser.so", args);
    let mut library = file(&format!("{SITE}/p/libuser.so"), 0o644, bytes.clone());
    let facts = elf::read_deep(&bytes).unwrap();
    library.0.facts = Some(FileFacts::Elf(Box::new(facts)));
    let text = file(&format!("{SITE}/p/__init__.py"), 0o644, "pass\n");
    let layer = bundler::formats::component::Layer::App;
    let parts = [component(dir, "p", layer, vec![text, library])];
    pack_parts(&parts, &request(&dir.join("out")), &Progress::silent())
        .unwrap()
        .path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_bundle_is_judged_from_its_records_and_from_its_bytes_alike() {
    let dir = tempfile::tempdir().unwrap();
    let path = bundle(dir.path(), true);
    let (code, records) = json(&["audit", text(&path)]);
    let (full_code, bytes) = json(&["audit", text(&path), "--full"]);
    assert_eq!((code, full_code), (Some(1), Some(1)));
    assert_eq!(
        (&records["facts"], &bytes["facts"]),
        (&"records".into(), &"bytes".into())
    );
    assert_eq!(records["findings"], bytes["findings"]);
    assert_eq!(records["findings"][0]["code"], "elf-needed-missing");
    assert_eq!(records["schema_version"], 1);
    let good = bundle(&dir.path().join("good").tap_dir(), false);
    assert_eq!(run(&["audit", text(&good)]).status.code(), Some(0));
}

#[test]
fn a_changed_file_of_an_unpacked_bundle_is_found_by_reading_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = bundle(dir.path(), false);
    crate::synthetic::program("zstd");
    let tar = crate::synthetic::program("tar");
    let done = Command::new(tar)
        .arg("--zstd")
        .arg("-xf")
        .arg(&path)
        .current_dir(dir.path())
        .status();
    assert!(done.unwrap().success());
    let root = dir.path().join("runtime");
    assert_eq!(
        run(&["audit", text(&root), "--full"]).status.code(),
        Some(0)
    );
    std::fs::write(root.join(format!("{SITE}/p/__init__.py")), "other\n").unwrap();
    std::fs::write(root.join("added"), "x").unwrap();
    assert_eq!(
        run(&["audit", text(&root)]).status.code(),
        Some(0),
        "records alone do not tell"
    );
    let (code, told) = json(&["audit", text(&root), "--full"]);
    assert_eq!(code, Some(1));
    let found: Vec<&str> = told["findings"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["path"].as_str().unwrap())
        .collect();
    assert_eq!(found, ["added", &format!("{SITE}/p/__init__.py")]);
}

#[test]
fn a_folder_that_does_not_say_its_target_needs_one() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("x"), "y").unwrap();
    let done = run(&["audit", text(dir.path())]);
    assert_eq!(done.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&done.stderr).contains("--target"));
    assert_eq!(
        run(&["audit", text(dir.path()), "--target", "amd64-cu130"])
            .status
            .code(),
        Some(0)
    );
}

#[test]
fn two_bundles_are_equal_or_the_first_difference_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let a = bundle(&dir.path().join("a").tap_dir(), true);
    let same = bundle(&dir.path().join("same").tap_dir(), true);
    let b = bundle(&dir.path().join("b").tap_dir(), false);
    let (code, told) = json(&["diff", text(&a), text(&same)]);
    assert_eq!((code, &told["equal"]), (Some(0), &Value::Bool(true)));
    let (code, told) = json(&["diff", text(&a), text(&b)]);
    assert_eq!((code, &told["equal"]), (Some(1), &Value::Bool(false)));
    assert_eq!(told["first"]["entry"], format!("{SITE}/p/libuser.so"));
    assert!(["size", "sha256"].contains(&told["first"]["attribute"].as_str().unwrap()));
    assert_eq!(told["components"][0]["name"], "p");
}

#[test]
fn evidence_says_not_verified_and_goes_stale_with_its_bundle() {
    let dir = tempfile::tempdir().unwrap();
    let path = bundle(dir.path(), false);
    let (code, told) = json(&["evidence", "write", text(&path)]);
    assert_eq!(
        (code, &told["statement"]),
        (Some(0), &"not verified".into())
    );
    let beside = |ending: &str| PathBuf::from(format!("{}.{ending}", text(&path)));
    let page = std::fs::read_to_string(beside("evidence.md")).unwrap();
    assert!(page.contains("**Not verified.**"), "{page}");
    let bill: Value = serde_json::from_slice(&std::fs::read(beside("cdx.json")).unwrap()).unwrap();
    assert_eq!(
        (&bill["bomFormat"], &bill["specVersion"]),
        (&"CycloneDX".into(), &"1.6".into())
    );
    assert_eq!(bill["components"][0]["purl"], "pkg:pypi/p@1.0");
    assert_eq!(
        bill["components"][0]["components"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert_eq!(
        run(&["evidence", "check", text(&path), "--full"])
            .status
            .code(),
        Some(0)
    );
    let evidence = beside("evidence.json");
    let kept = dir.path().join("kept.json");
    std::fs::copy(&evidence, &kept).unwrap();
    let other = bundle(&dir.path().join("other").tap_dir(), true);
    let (code, told) = json(&["evidence", "check", text(&other), "--evidence", text(&kept)]);
    assert_eq!((code, &told["statement"]), (Some(1), &"stale".into()));
    assert!(
        told["stale"][0]
            .as_str()
            .unwrap()
            .starts_with("the identity was ")
    );
}

#[test]
fn the_page_stands_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = bundle(dir.path(), true);
    let out = dir.path().join("page.html");
    assert_eq!(
        run(&["report", text(&path), "-o", text(&out)])
            .status
            .code(),
        Some(0)
    );
    let page = std::fs::read_to_string(out).unwrap();
    for needed in [
        "<!doctype html>",
        "class=\"map\"",
        "elf-needed-missing",
        "prefers-color-scheme:dark",
    ] {
        assert!(page.contains(needed), "{needed}");
    }
    for foreign in ["<script", "http://", "https://", "url(", "@import"] {
        assert!(!page.contains(foreign), "{foreign}");
    }
}

/// Makes a folder and gives its path.
trait TapDir {
    fn tap_dir(&self) -> PathBuf;
}

impl TapDir for PathBuf {
    fn tap_dir(&self) -> PathBuf {
        std::fs::create_dir_all(self).unwrap();
        self.clone()
    }
}
