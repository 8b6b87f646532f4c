//! `verify`: every kind of difference is named, in installed bundles, folders and files.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use super::world::{World, unpacked};

fn codes(world: &World, what: &[&str]) -> Vec<(String, String)> {
    let mut args = vec!["verify", "--output-format", "json"];
    args.extend(what);
    let out = world.bundler(&args).assert().code(1).get_output().clone();
    let json: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["schema_version"], 1);
    let findings = json["checked"][0]["findings"].as_array().unwrap().clone();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    findings
        .iter()
        .map(|finding| (text(&finding["code"]), text(&finding["path"])))
        .collect()
}

#[test]
fn names_every_path_that_differs() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let tree = unpacked(&bundle.path, &world.path("t"));
    let folder = tree.to_str().unwrap();
    assert!(world.ok(&["verify", folder]).contains("is intact"));

    let at = |path: &str| tree.join(path);
    fs::write(at("env.sh"), "changed").unwrap();
    let bytes = fs::read(at("src/app/same.py")).unwrap();
    let flipped: Vec<u8> = bytes.iter().map(|byte| byte ^ 1).collect();
    fs::write(at("src/app/same.py"), flipped).unwrap();
    fs::remove_file(at("src/app/version.py")).unwrap();
    fs::write(at("python/added.py"), "").unwrap();
    fs::create_dir(at("python/lib/added")).unwrap();
    fs::set_permissions(at("python/bin/python3"), PermissionsExt::from_mode(0o4755)).unwrap();
    fs::remove_file(at("python/bin/python")).unwrap();
    symlink("/usr/bin/python3", at("python/bin/python")).unwrap();
    fs::remove_file(at("python/lib/empty")).unwrap();
    fs::create_dir(at("python/lib/empty")).unwrap();
    fs::remove_dir_all(at(".layers")).unwrap();

    let found = codes(&world, &[folder]);
    let mut want: Vec<(&str, String)> = vec![
        ("bytes-changed", "env.sh".into()),
        ("bytes-changed", "src/app/same.py".into()),
        ("kind-changed", "python/lib/empty".into()),
        ("link-changed", "python/bin/python".into()),
        ("mode-changed", "python/bin/python3".into()),
        ("path-added", "python/added.py".into()),
        ("path-added", "python/lib/added".into()),
        ("path-missing", ".layers".into()),
        ("path-missing", "src/app/version.py".into()),
    ];
    let mut found: Vec<(&str, String)> = found
        .iter()
        .filter(|(_, path)| !path.starts_with(".layers/"))
        .map(|(code, path)| (code.as_str(), path.clone()))
        .collect();
    found.sort();
    want.sort();
    assert_eq!(found, want);
}

#[test]
fn damaged_descriptions_are_named() {
    let world = World::new();
    let tree = world.install(&world.bundle("1.0"));
    assert!(world.ok(&["verify"]).contains("is intact"));
    for name in ["bundle.json", "files.jsonl", ".complete"] {
        let path = tree.join(name);
        let good = fs::read(&path).unwrap();
        let mut bad = good.clone();
        let middle = bad.len() / 2;
        bad[middle] ^= 1;
        for bad in [&bad[..], &good[..good.len() - 2], b""] {
            fs::write(&path, bad).unwrap();
            let found = codes(&world, &[]);
            assert_eq!(found.len(), 1, "{name}");
            assert_eq!(found[0].0, "description-damaged", "{name}");
        }
        fs::write(&path, &good).unwrap();
    }
    world.ok(&["verify"]);
}

#[test]
fn a_file_is_judged_without_unpacking() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let path = bundle.path.to_str().unwrap();
    assert!(world.ok(&["verify", path]).contains("is intact"));
    let mut bytes = fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    let bad = world.path("bad.tar.zst");
    fs::write(&bad, bytes).unwrap();
    let found = codes(&world, &[bad.to_str().unwrap()]);
    assert_eq!(found[0].0, "archive-damaged");
    let text = world.fails(2, &["verify", "no-such-name"]);
    assert!(text.contains("no installed bundle is called"), "{text}");
}
