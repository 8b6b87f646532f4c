//! RECORD files of wheels against the files of a bundle, an unpacked bundle and any folder, as a user audits them.

use std::path::{Path, PathBuf};
use std::process::Command;

use bundler::base::digest::Digest;
use bundler::base::progress::Progress;
use bundler::build::pack::pack_parts;
use bundler::formats::component::{Entry, Layer};
use bundler::formats::record::{Row, render};
use serde_json::Value;

use crate::synthetic::{component, file, request};

const SITE: &str = "python/lib/python3.12/site-packages";

type Made = (Entry, Vec<u8>);

fn row(path: &str, bytes: &str) -> Row {
    Row {
        path: path.to_owned(),
        sha256: Some(Digest::of(bytes.as_bytes())),
        size: Some(bytes.len() as u64),
    }
}

fn at(rest: &str) -> String {
    format!("{SITE}/{rest}")
}

/// A wheel of one module, with a RECORD of these rows.
fn wheel(name: &str, rows: &[Row]) -> Vec<Made> {
    let record = render(rows, &format!("{name}-1.dist-info/RECORD"));
    let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1\nLicense: MIT\n");
    vec![
        file(
            &at(&format!("{name}-1.dist-info/METADATA")),
            0o644,
            metadata,
        ),
        file(&at(&format!("{name}.py")), 0o644, "pass\n"),
        file(&at(&format!("{name}-1.dist-info/RECORD")), 0o644, record),
    ]
}

fn right(name: &str) -> Vec<Row> {
    let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1\nLicense: MIT\n");
    vec![
        row(&format!("{name}-1.dist-info/METADATA"), &metadata),
        row(&format!("{name}.py"), "pass\n"),
    ]
}

fn bundle(dir: &Path, wheels: Vec<(&str, Vec<Made>)>) -> PathBuf {
    let parts: Vec<_> = wheels
        .into_iter()
        .map(|(name, made)| component(dir, name, Layer::App, made))
        .collect();
    let packed = pack_parts(&parts, &request(&dir.join("out")), &Progress::silent());
    packed.unwrap().path
}

fn unpacked(bundle: &Path, dir: &Path) -> PathBuf {
    crate::synthetic::program("zstd");
    let tar = crate::synthetic::program("tar");
    let mut command = Command::new(tar);
    command
        .arg("--zstd")
        .arg("-xf")
        .arg(bundle)
        .current_dir(dir);
    assert!(command.status().unwrap().success());
    dir.join("runtime")
}

/// What is said of RECORD files: path below site-packages and message.
#[track_caller]
fn said(path: &Path, more: &[&str]) -> Vec<(String, String)> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bundler"));
    let path = path.to_str().unwrap();
    command
        .env_clear()
        .args(["audit", path, "--output-format", "json"])
        .args(more);
    let done = command.output().unwrap();
    let report: Value = serde_json::from_slice(&done.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&done.stderr)));
    let findings = report["findings"].as_array().unwrap();
    let of = |f: &Value| {
        let path = f["path"].as_str().unwrap();
        let path = path
            .strip_prefix(&format!("{SITE}/"))
            .unwrap_or(path)
            .to_owned();
        (path, f["message"].as_str().unwrap().to_owned())
    };
    let wrong = findings.iter().filter(|f| f["code"] == "record-mismatch");
    wrong.map(of).collect()
}

#[test]
fn a_wrong_record_is_found_from_the_records_of_a_bundle_without_reading_its_bytes() {
    let other = || vec![right("x")[0].clone(), row("x.py", "pass")];
    let gone = || [right("x"), vec![row("gone.py", "")]].concat();
    let unlisted = || right("x")[..1].to_vec();
    for (rows, what) in [
        (right("x"), None),
        (
            other(),
            Some("gives other digests or sizes than the files have: x.py"),
        ),
        (gone(), Some("lists files that are not there: gone.py")),
        (
            unlisted(),
            Some(&*format!(
                "does not list files of the distribution: {SITE}/x.py"
            )),
        ),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let bundle = bundle(dir.path(), vec![("x", wheel("x", &rows))]);
        let wanted: Vec<_> = what
            .map(|what| ("x-1.dist-info/RECORD".to_owned(), what.to_owned()))
            .into_iter()
            .collect();
        let runtime = unpacked(&bundle, dir.path());
        for path in [&bundle, &runtime] {
            assert_eq!(said(path, &[]), wanted, "{path:?}");
            assert_eq!(said(path, &["--full"]), wanted, "{path:?} --full");
        }
    }
}

#[test]
fn a_file_that_another_wheel_brings_is_no_fault_of_the_record_that_lists_it() {
    let dir = tempfile::tempdir().unwrap();
    let shared = row("ns/__init__.py", "");
    let mut owner = wheel("a", &[right("a"), vec![shared.clone()]].concat());
    owner.insert(2, file(&at("ns/__init__.py"), 0o644, ""));
    let other = wheel("b", &[right("b"), vec![shared]].concat());
    let bundle = bundle(dir.path(), vec![("a", owner), ("b", other)]);
    assert_eq!(said(&bundle, &[]), []);
    assert_eq!(said(&bundle, &["--full"]), []);
}

#[test]
fn any_folder_is_compared_with_its_records_as_installers_write_them() {
    let dir = tempfile::tempdir().unwrap();
    let site = dir.path().join(SITE);
    let info = site.join("x-1.dist-info");
    std::fs::create_dir_all(&info).unwrap();
    std::fs::write(site.join("x.py"), "pass\n").unwrap();
    std::fs::write(
        info.join("METADATA"),
        "Metadata-Version: 2.1\nName: x\nVersion: 1\n",
    )
    .unwrap();
    let write = |rows: &str| std::fs::write(info.join("RECORD"), rows).unwrap();
    let digest = Digest::of(b"pass\n").record_form();
    let target = ["--target", "amd64-cu130"];
    let compiled = "__pycache__/x.cpython-312.pyc,,\n../../../bin/x,,\nx-1.dist-info/RECORD,,\n";
    std::fs::create_dir_all(dir.path().join("python/bin")).unwrap();
    std::fs::write(dir.path().join("python/bin/x"), "#!/bin/sh\n").unwrap();
    write(&format!("x.py,sha256={digest},5\n{compiled}"));
    assert_eq!(said(dir.path(), &target), []);
    let own = "x-1.dist-info/RECORD".to_owned();
    write(&format!("x.py,sha256={digest},6\ny.py,,\n{compiled}"));
    let wanted = [
        "gives other digests or sizes than the files have: x.py",
        "lists files that are not there: y.py",
    ];
    assert_eq!(
        said(dir.path(), &target),
        wanted.map(|w| (own.clone(), w.to_owned()))
    );
    write("x.py,md5=aaaa,5\n");
    let found = said(dir.path(), &target);
    assert!(found[0].1.starts_with("cannot be believed: "), "{found:?}");
}
