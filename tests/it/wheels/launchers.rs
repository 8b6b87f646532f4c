//! Launchers as wheels get them, started by real shells from places with difficult names. The bundle's `bin/python` is a
//! stand-in that prints what it was given.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use bundler::base::archive::Zip;
use bundler::base::fs;
use bundler::build::ingest::Content;
use bundler::build::ingest::wheel::plan;

use super::forge::Wheel;
use super::request;

const PYTHON: &str =
    "#!/bin/sh\nprintf '%s\\n' \"python of $(cat \"$(dirname \"$0\")/../name\")\" \"$@\"\n";

/// A bundle's root with `python/bin/tool` (entry point) and `python/bin/script` (from `.data/scripts`).
fn bundle(root: &Path) {
    let wheel = Wheel::small()
        .file("pkg-1.0.dist-info/entry_points.txt", b"[console_scripts]\ntool = pkg.mod:main\n")
        .file(
            "pkg-1.0.data/scripts/script",
            b"#!/usr/bin/env python\n# -*- coding: utf-8 -*-\n\n\"\"\"What it does.\"\"\"\nfrom __future__ import annotations\nimport sys\nprint(sys.argv[1:], __doc__.endswith('What it does.'))\n",
        );
    let zip = Zip::from_bytes(&wheel.file_name, wheel.archive().bytes()).unwrap();
    let plan = plan(Arc::new(zip), &request(&wheel.file_name, &[])).unwrap();
    for entry in &plan.entries {
        if let (Content::Bytes(bytes), true) =
            (&entry.content, entry.path.starts_with("python/bin/"))
        {
            executable(&root.join(&entry.path), bytes);
        }
    }
    executable(&root.join("bin/python"), PYTHON.as_bytes());
    fs::write(&root.join("name"), b"this bundle").unwrap();
}

fn executable(path: &Path, bytes: &[u8]) {
    fs::write(path, bytes).unwrap();
    let file = fs::open(path).unwrap();
    file.set_permissions(std::fs::Permissions::from_mode(0o755))
        .unwrap();
}

fn lines(output: &Output) -> Vec<String> {
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && error.is_empty(), "{error}");
    String::from_utf8(output.stdout.clone())
        .unwrap()
        .lines()
        .map(str::to_owned)
        .collect()
}

/// Arguments that a careless shell script would split, expand or run.
const ARGUMENTS: [&str; 6] = ["a b", "", "*", "$(id)", "'\"", "-x"];

fn check(output: &Output, script: &str) {
    let mut expected = vec!["python of this bundle", script];
    expected.extend(ARGUMENTS);
    assert_eq!(lines(output), expected);
}

fn places(base: &Path) -> Vec<PathBuf> {
    let long = "long".repeat(60);
    [
        "plain",
        "a b",
        "it's \"quoted\"",
        "ü 日本",
        "$(id) `id` * \\",
        "-dash",
        &format!("{long}/{long}"),
    ]
    .iter()
    .map(|name| base.join(name))
    .collect()
}

#[test]
fn launchers_find_their_bundle_from_any_path_in_every_shell() {
    let folder = tempfile::tempdir().unwrap();
    let shells = ["sh", "dash", "bash", "zsh", "busybox"];
    for root in places(folder.path()) {
        bundle(&root);
        for name in ["tool", "script"] {
            let path = root.join("python/bin").join(name);
            let text = path.to_str().unwrap();
            check(&Command::new(&path).args(ARGUMENTS).output().unwrap(), text);
            for shell in shells {
                let mut command = Command::new(shell);
                if shell == "busybox" {
                    command.arg("sh");
                }
                match command.arg(&path).args(ARGUMENTS).output() {
                    Ok(output) => check(&output, text),
                    Err(e) if shell != "sh" => eprintln!("not tried with {shell}: {e}"),
                    Err(e) => panic!("{shell}: {e}"),
                }
            }
        }
    }
}

#[test]
fn launchers_find_their_bundle_through_links_and_the_search_path() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("a b/ü");
    bundle(&root);
    let bin = root.join("python/bin");
    let elsewhere = folder.path().join("elsewhere");
    fs::create_dir_all(&elsewhere).unwrap();
    symlink(bin.join("tool"), elsewhere.join("tool link")).unwrap();
    symlink("tool link", elsewhere.join("second")).unwrap();
    symlink(&root, folder.path().join("moved")).unwrap();
    for path in [
        elsewhere.join("tool link"),
        elsewhere.join("second"),
        folder.path().join("moved/python/bin/tool"),
    ] {
        let output = Command::new(&path).args(ARGUMENTS).output().unwrap();
        check(&output, path.to_str().unwrap());
    }
    let output = Command::new("/bin/sh")
        .args(["-c", "cd \"$1\" && shift && ./tool \"$@\"", "sh"])
        .arg(&bin)
        .args(ARGUMENTS)
        .output()
        .unwrap();
    check(&output, "./tool");
    let search = format!("{}:/usr/bin:/bin", bin.display());
    let output = Command::new("/bin/sh")
        .args(["-c", "exec tool \"$@\"", "sh"])
        .args(ARGUMENTS)
        .env_clear()
        .env("PATH", search)
        .output()
        .unwrap();
    check(&output, bin.join("tool").to_str().unwrap());
}

#[test]
fn busyboxs_own_tools_are_enough() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("a b");
    bundle(&root);
    let tools = folder.path().join("tools");
    fs::create_dir_all(&tools).unwrap();
    let Ok(found) = Command::new("sh")
        .args(["-c", "command -v busybox"])
        .output()
    else {
        panic!("no sh");
    };
    let busybox = String::from_utf8(found.stdout).unwrap();
    if busybox.is_empty() {
        eprintln!("not tried: there is no busybox");
        return;
    }
    for tool in ["sh", "dirname", "realpath", "cat", "printf"] {
        symlink(busybox.trim(), tools.join(tool)).unwrap();
    }
    let path = root.join("python/bin/tool");
    let output = Command::new(tools.join("sh"))
        .arg(&path)
        .args(ARGUMENTS)
        .env_clear()
        .env("PATH", &tools)
        .output()
        .unwrap();
    check(&output, path.to_str().unwrap());
}

#[test]
fn a_launcher_is_a_python_file_whose_docstring_and_future_imports_work() {
    let folder = tempfile::tempdir().unwrap();
    bundle(folder.path());
    let script = folder.path().join("python/bin/script");
    let output = Command::new("python3").arg(&script).arg("x").output();
    match output {
        Ok(output) => assert_eq!(lines(&output), ["['x'] True"]),
        Err(e) => eprintln!("not tried: python3: {e}"),
    }
}
