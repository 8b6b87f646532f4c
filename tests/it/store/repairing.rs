//! `repair`: whatever `verify` finds is put right, from the store where it can be, else from the bundle.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use super::world::{World, contents};

/// Overwrites a file in place, as root or after chmod: every name of it changes.
fn break_file(path: &Path) {
    fs::set_permissions(path, PermissionsExt::from_mode(0o644)).unwrap();
    fs::write(path, b"broken").unwrap();
}

#[test]
fn everything_that_can_be_damaged_is_restored() {
    let world = World::new();
    let tree = world.install(&world.bundle("1.0"));
    let other = world.install(&world.bundle("2.0"));
    let (good, good_other) = (contents(&tree), contents(&other));
    let at = |path: &str| tree.join(path);
    break_file(&at("python/lib/libpython.so"));
    fs::remove_file(at("src/app/version.py")).unwrap();
    fs::write(at("python/added.py"), "").unwrap();
    fs::create_dir_all(at("python/lib/added/deep")).unwrap();
    fs::set_permissions(at("python/bin/python3"), PermissionsExt::from_mode(0o4711)).unwrap();
    fs::set_permissions(at("python/bin"), PermissionsExt::from_mode(0o777)).unwrap();
    fs::remove_file(at("python/bin/python")).unwrap();
    symlink("/bin/sh", at("python/bin/python")).unwrap();
    fs::remove_file(at("python/lib/empty")).unwrap();
    fs::create_dir(at("python/lib/empty")).unwrap();
    fs::remove_dir_all(at(".layers")).unwrap();
    fs::remove_dir_all(at("src")).unwrap();
    symlink("/tmp", at("src")).unwrap();
    break_file(&at("files.jsonl"));
    fs::remove_file(at(".complete")).unwrap();
    world.bundler(&["verify"]).assert().code(1);
    let said = world.ok(&["repair"]);
    assert!(said.contains("paths restored"), "{said}");
    assert_eq!(contents(&tree), good);
    assert_eq!(
        contents(&other),
        good_other,
        "the other bundle shared the broken library"
    );
    assert!(world.ok(&["verify"]).contains("is intact"));
    assert!(world.ok(&["repair"]).contains("is intact"));
    assert_eq!(
        fs::read_dir(world.root().join("drafts")).unwrap().count(),
        0
    );
}

#[test]
fn without_the_bundle_the_store_is_enough_where_it_is_intact() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let tree = world.install(&bundle);
    fs::remove_file(&bundle.path).unwrap();
    fs::remove_file(tree.join("env.sh")).unwrap();
    fs::remove_file(tree.join("python/bin/python")).unwrap();
    world.ok(&["repair"]);
    world.ok(&["verify"]);
    break_file(&tree.join("env.sh"));
    let text = world.fails(2, &["repair"]);
    assert!(text.contains("does not exist"), "{text}");
    world.bundler(&["verify"]).assert().code(1);
    let other = world.bundle("2.0");
    let text = world.fails(2, &["repair", "--from", other.path.to_str().unwrap()]);
    assert!(text.contains("cannot be repaired from"), "{text}");
    let again = world.bundle("1.0");
    world.ok(&["repair", "--from", again.path.to_str().unwrap()]);
    world.ok(&["verify"]);
}
