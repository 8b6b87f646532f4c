//! Metadata that an index publishes beside wheels (PEP 658, PEP 714), and uv where the machine has none.

use std::path::Path;

use bundler::base::digest::Digest;
use bundler::build::lock::Lock;

use super::interpreters;
use super::world::{Place, Wheel};
use crate::fault_server::{FaultServer, Reply};

const RECIPE: &str = r#"name = "small"
version = "1"
python = "3.12"

[[interpreter]]
kind = "path"
version = "3.12.14"
path = { amd64 = "../AMD64", arm64 = "../ARM64" }
sha256 = { amd64 = "SHA_AMD64", arm64 = "SHA_ARM64" }

[index.pypi]
kind = "simple"
default = true

[[packages]]
index = "pypi"
require = ["thing"]

[target.amd64-cu130]
[target.arm64-cu130]
"#;

/// How a page speaks of the metadata beside a wheel.
#[derive(Clone, Copy)]
enum Says {
    Digest,
    Offered,
}

/// Serves wheels with the metadata that stands beside each.
fn serve(wheels: Vec<(Wheel, String)>, says: Says) -> FaultServer {
    FaultServer::start(move |asked| {
        let path = asked.target.trim_matches('/');
        if let Some(file) = path.strip_prefix("f/") {
            let whole = wheels.iter().find(|(wheel, _)| wheel.file == file);
            let beside = |(wheel, _): &&(Wheel, String)| format!("{}.metadata", wheel.file) == file;
            return match (whole, wheels.iter().find(beside)) {
                (Some((wheel, _)), _) => Reply::file(asked, &wheel.bytes, "\"1\""),
                (None, Some((_, text))) => Reply::ok(text.clone()),
                (None, None) => Reply::status(404),
            };
        }
        let begin = format!("{}-", path.trim_start_matches("s/"));
        let files: Vec<serde_json::Value> = wheels
            .iter()
            .filter(|(wheel, _)| wheel.file.starts_with(&begin))
            .map(|(wheel, text)| {
                let metadata = match says {
                    Says::Digest => serde_json::json!({ "sha256": Digest::of(text.as_bytes()).to_string() }),
                    Says::Offered => true.into(),
                };
                serde_json::json!({
                    "filename": wheel.file, "url": format!("/f/{}", wheel.file), "size": wheel.bytes.len(),
                    "hashes": { "sha256": Digest::of(&wheel.bytes).to_string() }, "core-metadata": metadata,
                })
            })
            .collect();
        if files.is_empty() {
            return Reply::status(404);
        }
        let page = serde_json::json!({ "meta": { "api-version": "1.1" }, "name": "x", "versions": [], "files": files });
        Reply::ok(page.to_string()).with("content-type", "application/vnd.pypi.simple.v1+json")
    })
}

/// A wheel and the text of its METADATA.
fn wheel(name: &str, tags: &str, requires: &[&str]) -> (Wheel, String) {
    let mut text = format!("Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n");
    for requirement in requires {
        text += &format!("Requires-Dist: {requirement}\n");
    }
    (Wheel::new(name, "1.0", tags, requires), text)
}

fn place() -> Place {
    let place = Place::new("");
    let mut recipe = RECIPE.to_owned();
    for (name, bytes) in interpreters::archives(place.dir.path()) {
        let arch = if name.contains("x86_64") {
            "AMD64"
        } else {
            "ARM64"
        };
        recipe = recipe.replace(&format!("SHA_{arch}"), &Digest::of(&bytes).to_string());
        recipe = recipe.replace(&format!("../{arch}"), &format!("../{name}"));
    }
    place.write_recipe(&recipe);
    place
}

fn bundler(dir: &Path, path: Option<&str>, words: &[&str]) -> (String, i32) {
    let mut command = assert_cmd::Command::cargo_bin("bundler").unwrap();
    command
        .current_dir(dir)
        .args(words)
        .env("HOME", dir)
        .env("XDG_CACHE_HOME", dir.join("cache"));
    for name in ["UV", "UV_DEFAULT_INDEX"] {
        command.env_remove(name);
    }
    if let Some(path) = path {
        command.env("PATH", path);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    (said, output.status.code().unwrap_or(-1))
}

#[test]
fn c44_each_target_follows_the_metadata_of_its_own_wheel_and_the_difference_is_said() {
    let any = "py3-none-any";
    let server = serve(
        vec![
            wheel("thing", "cp312-cp312-manylinux_2_28_x86_64", &["intel"]),
            wheel("thing", "cp312-cp312-manylinux_2_28_aarch64", &["arm"]),
            wheel("intel", any, &[]),
            wheel("arm", any, &[]),
        ],
        Says::Digest,
    );
    let place = place();
    let (out, err, code) = place.run(&server.url("/s"), &[]);
    assert_eq!(code, 0, "{out}{err}");
    for (target, needs) in [("amd64-cu130", "intel"), ("arm64-cu130", "arm")] {
        let lock = Lock::parse(&place.lock_text(target), target).unwrap();
        let names: Vec<&str> = lock.wheels.iter().map(|w| w.name.as_str()).collect();
        assert_eq!(names, [needs, "thing"], "{target}");
        assert!(lock.wheels.iter().all(|w| w.metadata.is_some()));
    }
    assert!(
        err.contains(
            "wheels of one version require different things: thing-1.0-cp312-cp312-manylinux_2_28_aarch64.whl was chosen; \
             thing-1.0-cp312-cp312-manylinux_2_28_x86_64.whl requires intel where it requires arm\n"
        ),
        "{err}"
    );
}

#[test]
fn metadata_beside_a_wheel_that_is_not_the_wheels_own_stops_the_build() {
    for says in [Says::Digest, Says::Offered] {
        let honest = wheel("thing", "py3-none-any", &[]);
        let (lied, _) = wheel("thing", "py3-none-any", &["other"]);
        let server = serve(vec![(lied, honest.1.clone())], says);
        let place = place();
        let index = server.url("/s");
        let (_, err, code) = place.run(&index, &["amd64-cu130"]);
        assert_eq!(code, 0, "{err}");
        let make = [
            "make",
            "amd64-cu130",
            "--recipe",
            "small",
            "--bytecode",
            "none",
            "--default-index",
            &index,
        ];
        let (err, code) = bundler(place.dir.path(), None, &make);
        assert_eq!(code, 2, "{err}");
        let begin = "error: METADATA of thing-1.0-py3-none-any.whl has sha256 ";
        assert!(err.starts_with(begin), "{err}");
        assert!(
            err.contains("which index pypi published beside it\nhint: the index describes"),
            "{err}"
        );
        assert!(
            !place
                .dir
                .path()
                .join("pointcept-runtime-amd64-cu130.tar.zst")
                .exists()
        );
    }
    let server = serve(vec![wheel("thing", "py3-none-any", &[])], Says::Digest);
    let place = place();
    let index = server.url("/s");
    let make = [
        "make",
        "amd64-cu130",
        "--recipe",
        "small",
        "--bytecode",
        "none",
        "--default-index",
        &index,
    ];
    let (err, code) = bundler(place.dir.path(), None, &make);
    assert_eq!(code, 0, "{err}");
}

#[test]
fn a_uv_that_is_not_the_one_named_here_is_never_started() {
    let file = "uv-0.13.9-py3-none-musllinux_1_1_x86_64.whl";
    let other =
        "uv-0.13.9-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl";
    let server = FaultServer::start(move |asked| match asked.target.as_str() {
        "/s/uv/" => Reply::html(format!(
            "<a href='/f/{file}'>x</a><a href='/f/{other}'>x</a>"
        )),
        target if target.starts_with("/f/") => Reply::ok("#!/bin/sh\n"),
        _ => Reply::status(404),
    });
    let place = place();
    let words = [
        "lock",
        "amd64-cu130",
        "--recipe",
        "small",
        "--default-index",
        &server.url("/s"),
    ];
    let (err, code) = bundler(place.dir.path(), Some("/nonexistent"), &words);
    assert_eq!(code, 2, "{err}");
    assert!(
        err.starts_with("error: could not look uv up on index pypi\n"),
        "{err}"
    );
    assert!(err.contains("bytes instead of"), "{err}");
    assert!(server.count("/f/uv-") >= 1);
    assert!(!place.lock("amd64-cu130").exists());
}
