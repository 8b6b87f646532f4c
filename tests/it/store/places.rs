//! Places where nothing can be installed, or only just: one clear message, and nothing half-made. Mounts are made in a
//! namespace of the test's own; that takes the rights of root.

use std::process::Command;

use super::world::World;
use crate::synthetic::program;

/// Mounts a tmpfs with `options` on `$1` in a namespace of its own, then runs the rest as shell text.
fn on_tmpfs(world: &World, options: &str, script: &str) -> std::process::Output {
    let place = world.path("place");
    std::fs::create_dir_all(&place).unwrap();
    let bundle = world.bundle("1.0");
    let text = format!("mount -t tmpfs -o {options} tmpfs \"$1\" || exit 99\n{script}");
    Command::new(program("unshare"))
        .args(["--mount", "sh", "-c", &text, "sh"])
        .arg(&place)
        .arg(assert_cmd::cargo::cargo_bin("bundler"))
        .arg(&bundle.path)
        .output()
        .unwrap()
}

const INSTALL: &str = "env -i \"$2\" install --root \"$1/s\" \"$3\"; code=$?; find \"$1\" -type f | wc -l; exit $code";

fn refused(options: &str, script: &str, wanted: &str, files_left: &str) {
    let world = World::new();
    let out = on_tmpfs(&world, options, script);
    let text = String::from_utf8(out.stderr).unwrap();
    assert_eq!(out.status.code(), Some(2), "{options}: {text}");
    assert!(text.contains(wanted), "{options}: {text}");
    assert_eq!(text.matches("error: ").count(), 1, "{text}");
    assert_eq!(
        String::from_utf8(out.stdout).unwrap().trim(),
        files_left,
        "{options}"
    );
}

#[test]
fn places_without_room_or_rights_are_refused_with_one_message() {
    // The lock file is all that is left.
    refused("size=3m", INSTALL, "bytes, but its file system has", "1");
    refused(
        "size=64m,nr_inodes=20",
        INSTALL,
        "files and folders, but its file system has room for",
        "1",
    );
    refused("size=64m,noexec", INSTALL, "is mounted noexec", "1");
    let read_only = format!("mount -o remount,ro \"$1\"\n{INSTALL}");
    refused("size=64m", &read_only, "could not make folder", "0");
}

#[test]
fn a_disk_that_fills_while_writing_leaves_nothing_half_made() {
    let world = World::new();
    // Room by the count, then a neighbour takes it: made by failing writes.
    let bundle = world.bundle("1.0");
    for error in ["ENOSPC", "EDQUOT", "EIO"] {
        for at in [2, 6, 12] {
            let out = Command::new(program("strace"))
                .args(["-f", "-qqq", "-o", "/dev/null", "-e"])
                .arg(format!("inject=write:error={error}:when={at}+"))
                .arg(assert_cmd::cargo::cargo_bin("bundler"))
                .args(["install", "--jobs", "1"])
                .arg(&bundle.path)
                .env_clear()
                .env("POINTCEPT_BUNDLER_ROOT", world.root())
                .output()
                .unwrap();
            assert!(!out.status.success(), "{error} {at}");
            assert!(world.is_empty(), "{error} {at}");
        }
    }
    world.install(&bundle);
}

#[test]
fn an_unknown_user_without_home_installs_and_runs() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let place = world.path("open");
    std::fs::create_dir(&place).unwrap();
    let script = "chmod 755 \"$4\"; chmod 777 \"$1\"; chmod 644 \"$3\"; cp \"$2\" \"$1/bundler\"\n\
        cd / && exec setpriv --reuid 54321 --regid 54321 --clear-groups env -i sh -c '\n\
        b=$1/bundler; set -e; $b install --root \"$1/s\" \"$2\"; $b verify --root \"$1/s\"\n\
        if echo x >>\"$1/s/current/env.sh\"; then exit 9; fi\n\
        $b run --root \"$1/s\" true' sh \"$1\" \"$3\"";
    let out = Command::new("sh")
        .args(["-c", script, "sh"])
        .arg(&place)
        .arg(assert_cmd::cargo::cargo_bin("bundler"))
        .arg(&bundle.path)
        .arg(world.dir.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(out.status.success(), "{text}");
    assert!(
        text.contains("Permission denied"),
        "a shared file cannot be written: {text}"
    );
}

#[test]
fn c76_a_full_disk_a_short_file_and_a_damaged_one_are_told_apart() {
    // Full while it is written, though there was room by the count: a quota, say.
    let world = World::new();
    let bundle = world.bundle("1.0");
    let out = Command::new(program("strace"))
        .args(["-f", "-qqq", "-o", "/dev/null", "-e"])
        .arg("inject=write:error=ENOSPC:when=6")
        .arg(assert_cmd::cargo::cargo_bin("bundler"))
        .args(["install", "--jobs", "1"])
        .arg(&bundle.path)
        .env_clear()
        .env("POINTCEPT_BUNDLER_ROOT", world.root())
        .output()
        .unwrap();
    let full = String::from_utf8(out.stderr).unwrap();
    let good = std::fs::read(&bundle.path).unwrap();
    let bad = world.path("bad.tar.zst");
    let install = ["install", bad.to_str().unwrap()];
    std::fs::write(&bad, &good[..good.len() / 2]).unwrap();
    let short = world.fails(2, &install);
    let mut bytes = good.clone();
    bytes[good.len() / 3] ^= 0x10;
    std::fs::write(&bad, &bytes).unwrap();
    let damaged = world.fails(2, &install);
    for (what, text, says) in [
        ("full", &full, "No space left on device"),
        ("short", &short, "is cut short"),
        ("damaged", &damaged, "damaged"),
    ] {
        assert!(text.contains(says), "{what}: {text}");
        let room = text.contains("space") || text.contains("room");
        assert_eq!(room, what == "full", "{what}: {text}");
        assert_eq!(
            text.contains("cut short"),
            what == "short",
            "{what}: {text}"
        );
    }
}
