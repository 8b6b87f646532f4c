//! `install`: what stands there afterwards, what is shared, what is refused.

use std::os::unix::fs::{MetadataExt, PermissionsExt};

use bundler::build::pack::PackedBundle;

use super::world::{World, contents, unpacked};

#[test]
fn an_installed_tree_is_what_tar_unpacks_and_is_current() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let tree = world.install(&bundle);
    let by_tar = unpacked(&bundle.path, &world.path("by-tar"));
    assert_eq!(contents(&tree), contents(&by_tar));
    assert!(contents(&tree).len() > 20);
    let current = std::fs::canonicalize(world.root().join("current")).unwrap();
    assert_eq!(current, std::fs::canonicalize(&tree).unwrap());
    assert!(
        world
            .ok(&["list"])
            .starts_with("* pointcept-runtime-1.0-amd64-cu130-")
    );
    let again = world.ok(&["install", bundle.path.to_str().unwrap()]);
    assert!(again.contains("is installed already"), "{again}");
    let drafts = std::fs::read_dir(world.root().join("drafts")).unwrap();
    assert_eq!(drafts.count(), 0, "nothing is left behind");
}

#[test]
fn a_second_version_shares_what_it_has_in_common_and_nobody_can_write_to_it() {
    let world = World::new();
    let one = world.install(&world.bundle("1.0"));
    let second = world.bundle("2.0");
    let said = world.ok(&["install", second.path.to_str().unwrap()]);
    assert!(said.contains("1 components written"), "{said}");
    assert!(said.contains("2 shared"), "{said}");
    let two = world.installed("2.0");
    let library = "python/lib/libpython.so";
    let meta = |tree: &std::path::Path, path: &str| std::fs::metadata(tree.join(path)).unwrap();
    let (a, b) = (meta(&one, library), meta(&two, library));
    let is_shared = a.ino() == b.ino();
    let is_clone = a.permissions().mode() & 0o7777 == 0o755;
    assert!(is_shared || is_clone);
    if is_shared {
        assert_eq!(a.permissions().mode() & 0o7777, 0o555);
        let text = meta(&one, "env.sh").permissions().mode() & 0o7777;
        assert_eq!(text, 0o444);
    }
    let version =
        |tree: &std::path::Path| std::fs::read_to_string(tree.join("src/app/version.py")).unwrap();
    assert_eq!(version(&one), "version = \"1.0\"\n");
    assert_eq!(version(&two), "version = \"2.0\"\n");
}

#[test]
fn copies_are_files_of_their_own_with_the_listed_modes() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let said = world.ok(&["install", "--copy", bundle.path.to_str().unwrap()]);
    assert!(said.contains("its files are copies"), "{said}");
    let tree = world.installed("1.0");
    let there = std::fs::metadata(tree.join("env.sh")).unwrap();
    assert_eq!(there.nlink(), 1);
    assert_eq!(there.permissions().mode() & 0o7777, 0o644);
    world.ok(&["verify"]);
}

#[test]
fn a_folder_with_one_bundle_is_taken_and_other_sources_are_refused_by_name() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let folder = bundle.path.parent().unwrap();
    let empty = world.path("empty");
    std::fs::create_dir(&empty).unwrap();
    let text = world.fails(2, &["install", empty.to_str().unwrap()]);
    assert!(text.contains("holds no bundle"), "{text}");
    let text = world.fails(2, &["install", "/nonexistent/x.tar.zst"]);
    assert!(
        text.contains("/nonexistent/x.tar.zst does not exist"),
        "{text}"
    );
    let junk = world.path("junk.tar.zst");
    std::fs::write(&junk, b"this is no bundle at all, only a line of text").unwrap();
    let text = world.fails(2, &["install", junk.to_str().unwrap()]);
    assert!(text.contains("this is no bundle"), "{text}");
    assert!(world.is_empty());
    world.ok(&["install", folder.to_str().unwrap()]);
}

/// index.json with the announcement of one bundle and the address of another, or the same.
fn index(world: &World, announced: &PackedBundle, at: &PackedBundle) -> String {
    let mut side = announced.path.clone().into_os_string();
    side.push(".json");
    let bundle: serde_json::Value = serde_json::from_slice(&std::fs::read(side).unwrap()).unwrap();
    let url = at.path.strip_prefix(world.dir.path()).unwrap();
    let json =
        serde_json::json!({"schema_version": 1, "bundles": [{"url": url, "bundle": bundle}]});
    let path = world.path("index.json");
    std::fs::write(&path, serde_json::to_vec(&json).unwrap()).unwrap();
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_index_names_the_bundle_and_only_that_one_is_taken() {
    let world = World::new();
    let (one, two) = (world.bundle("1.0"), world.bundle("2.0"));
    let lying = index(&world, &one, &two);
    let text = world.fails(2, &["install", "--gpu", "9.0", &lying]);
    assert!(text.contains("this is another bundle"), "{text}");
    assert!(world.ok(&["list"]).starts_with("nothing"));
    let honest = index(&world, &one, &one);
    world.ok(&["install", "--gpu", "9.0", &honest]);
    world.ok(&["verify", "1.0"]);
}

#[test]
fn a_changed_byte_anywhere_leaves_nothing_behind() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let good = std::fs::read(&bundle.path).unwrap();
    let bad = world.path("bad.tar.zst");
    // Spread over header, description, segments and end.
    for step in 0..60 {
        let at = good.len() * step / 60 + step % 7;
        let mut bytes = good.clone();
        bytes[at] ^= 0x10;
        std::fs::write(&bad, &bytes).unwrap();
        world.fails(2, &["install", bad.to_str().unwrap()]);
        assert!(world.is_empty(), "byte {at}");
    }
    for cut in [0, 1, 13, 14, 600, good.len() / 2, good.len() - 1] {
        std::fs::write(&bad, &good[..cut]).unwrap();
        world.fails(2, &["install", bad.to_str().unwrap()]);
        assert!(world.is_empty(), "cut at {cut}");
    }
}

#[test]
fn a_damaged_component_in_the_store_is_written_anew() {
    let world = World::new();
    world.install(&world.bundle("1.0"));
    let hit = walkdir::WalkDir::new(world.root().join("components"))
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .find(|path| path.ends_with("python/lib/libpython.so"))
        .unwrap();
    std::fs::set_permissions(&hit, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::write(&hit, b"broken by root").unwrap();
    std::fs::set_permissions(&hit, std::fs::Permissions::from_mode(0o555)).unwrap();
    let two = world.bundle("2.0");
    let out = world
        .bundler(&["install", two.path.to_str().unwrap()])
        .assert()
        .success()
        .get_output()
        .clone();
    let notes = String::from_utf8(out.stderr).unwrap();
    assert!(
        notes.contains("component cpython in the store is damaged"),
        "{notes}"
    );
    world.ok(&["verify", "2.0"]);
}

#[test]
fn umask_and_missing_home_change_nothing() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let program = assert_cmd::cargo::cargo_bin("bundler");
    let script = "umask 077; exec \"$0\" install \"$1\"";
    let run = |root: Option<&str>| {
        let mut command = std::process::Command::new("/bin/sh");
        command.env_clear().arg("-c").arg(script).arg(&program);
        command.arg(&bundle.path);
        if let Some(root) = root {
            command.env("XDG_DATA_HOME", root);
        }
        command.output().unwrap()
    };
    let out = run(None);
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(
        text,
        "error: there is no folder for installed bundles: neither HOME nor XDG_DATA_HOME is set\nhint: pass --root DIR\n"
    );
    let data = world.path("data");
    assert!(run(data.to_str()).status.success());
    let root = data.join("pointcept-runtime");
    let mut seen = 0;
    for entry in walkdir::WalkDir::new(root.join("current/")).follow_root_links(true) {
        let entry = entry.unwrap();
        let there = entry.metadata().unwrap();
        if !there.is_symlink() {
            let mode = there.permissions().mode();
            assert_eq!(mode & 0o444, 0o444, "{} {mode:o}", entry.path().display());
            seen += 1;
        }
    }
    assert!(seen > 20);
}
