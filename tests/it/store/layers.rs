//! Layers of a bundle: two files that together are the bundle, installed and unpacked from, and shared between apps.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use bundler::base::progress::Progress;
use bundler::build::pack::{PackedBundle, PackedLayer, split};
use bundler::formats::component::Layer;

use super::world::{World, contents, unpacked};
use crate::fault_server::FaultServer;
use crate::synthetic::{component, file, noise, program};

/// The layers of a bundle, in `dir`.
fn layers(bundle: &PackedBundle, dir: &Path) -> [PackedLayer; 2] {
    split(&bundle.path, dir, &Progress::silent()).unwrap()
}

/// The files of an example app, as the source of a bundle.
fn example(name: &str) -> Vec<(bundler::formats::component::Entry, Vec<u8>)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("examples")
        .join(name);
    let mut out = Vec::new();
    for entry in walkdir::WalkDir::new(&root).sort_by_file_name() {
        let entry = entry.unwrap();
        let path = entry.path().strip_prefix(&root).unwrap().to_str().unwrap();
        if entry.file_type().is_file() && !path.contains("__pycache__") {
            let bytes = std::fs::read(entry.path()).unwrap();
            out.push(file(&format!("src/app/{path}"), 0o644, bytes));
        }
    }
    assert!(out.len() > 4, "{}", root.display());
    out
}

/// A bundle of an example app on a base that all have in common.
fn app(world: &World, name: &str) -> PackedBundle {
    world.bundle_of(name, |parts| {
        let dir = world.path(&format!("app-{name}"));
        std::fs::create_dir(&dir).unwrap();
        let torch = vec![file(
            "python/lib/site/libtorch.so",
            0o755,
            noise(11, 9_000_000),
        )];
        parts.truncate(1);
        parts.push(component(&dir, "torch", Layer::Base, torch));
        let mut source = example(name);
        source.push(file("env.sh", 0o644, "# sourced\n"));
        parts.push(component(&dir, "source", Layer::App, source));
    })
}

fn tar(archive: &Path, to: &Path) {
    let done = Command::new("tar")
        .arg("--zstd")
        .arg("-xf")
        .arg(archive)
        .arg("-C")
        .arg(to)
        .status();
    assert!(done.unwrap().success());
}

#[test]
fn both_layers_in_any_order_are_exactly_the_bundles_tree() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let whole = unpacked(&bundle.path, &world.path("whole"));
    let [base, app] = layers(&bundle, &world.path("layers"));
    for (name, order) in [("ab", [&base, &app]), ("ba", [&app, &base])] {
        let dir = world.path(name);
        std::fs::create_dir(&dir).unwrap();
        for layer in order {
            tar(&layer.path, &dir);
        }
        assert_eq!(contents(&dir.join("runtime")), contents(&whole));
    }
    let diff = Command::new("diff")
        .args(["-r", "--no-dereference"])
        .arg(world.path("ab"))
        .arg(world.path("whole"))
        .status();
    assert!(diff.unwrap().success());
}

#[test]
fn one_layer_alone_does_not_pass_for_a_whole_bundle() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let [base, app] = layers(&bundle, &world.path("layers"));
    let dir = world.path("base");
    std::fs::create_dir(&dir).unwrap();
    tar(&base.path, &dir);
    assert!(
        !dir.join("runtime/.complete").exists(),
        "no last entry, no start"
    );
    let dir = world.path("app");
    std::fs::create_dir(&dir).unwrap();
    tar(&app.path, &dir);
    let complete = std::fs::read_to_string(dir.join("runtime/.complete")).unwrap();
    let needed = complete
        .lines()
        .find_map(|l| l.strip_prefix("layer "))
        .unwrap();
    assert_eq!(needed, base.id.to_string());
    assert!(!dir.join(format!("runtime/.layers/{needed}.json")).exists());
}

/// What OCI images may hold in a layer, by another reader of tar than ours.
const OCI: &str = r#"
import sys, tarfile, json, hashlib
layer, side = sys.argv[1:]
DESCRIPTIONS = ["runtime/bundle.json", "runtime/files.jsonl", "runtime/facts.jsonl"]
seen = {}
with tarfile.open(fileobj=sys.stdin.buffer, mode="r|") as archive:
    for entry in archive:
        name = entry.name.rstrip("/")
        parts = name.split("/")
        assert not name.startswith("/") and not {"", ".", ".."} & set(parts), name
        assert not any(part.startswith(".wh.") for part in parts), name
        assert name not in seen, f"{name} twice"
        assert entry.isreg() or entry.isdir() or entry.issym() or entry.islnk(), name
        assert (entry.uid, entry.gid, entry.uname, entry.gname) == (0, 0, "", ""), name
        assert entry.mode in (0o644, 0o755, 0o777), name
        if entry.islnk():
            assert seen[entry.linkname] == "file", name
        before = len(parts) == 1 or seen.get("/".join(parts[:-1])) == "dir"
        assert before or name in DESCRIPTIONS, f"{name} before its folder"
        seen[name] = "dir" if entry.isdir() else "file"
assert seen, "an empty layer"
with open(side) as file:
    told = json.load(file)["descriptor"]
with open(layer, "rb") as file:
    data = file.read()
assert told == {
    "mediaType": "application/vnd.oci.image.layer.v1.tar+zstd",
    "digest": "sha256:" + hashlib.sha256(data).hexdigest(),
    "size": len(data),
}, told
"#;

#[test]
fn each_layer_is_one_that_oci_images_may_have() {
    let world = World::new();
    for layer in layers(&world.bundle("1.0"), &world.path("layers")) {
        let tar = world.path("layer.tar");
        let zstd = Command::new(program("zstd"))
            .args(["-dfq", "-o"])
            .args([&tar, &layer.path])
            .status();
        assert!(zstd.unwrap().success());
        let side = format!("{}.json", layer.path.display());
        let out = Command::new(program("python3"))
            .args(["-c", OCI])
            .arg(&layer.path)
            .arg(side)
            .stdin(std::fs::File::open(&tar).unwrap())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "{}: {text}", layer.layer.name());
        let sum = std::fs::read_to_string(format!("{}.sha256", layer.path.display())).unwrap();
        assert!(sum.starts_with(&layer.sha256.to_string()));
    }
}

#[test]
fn layers_are_installed_as_the_bundle_is_and_the_base_is_asked_for() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let whole = unpacked(&bundle.path, &world.path("whole"));
    let [base, app] = layers(&bundle, &world.path("layers"));
    let [base_file, app_file] = [&base, &app].map(|layer| layer.path.to_str().unwrap());
    let text = world.fails(2, &["install", app_file]);
    assert!(
        text.contains("is in the base layer, which neither these files"),
        "{text}"
    );
    assert!(text.contains(&format!("(its id is {})", base.id)), "{text}");
    let text = world.fails(2, &["install", base_file]);
    assert!(
        text.contains("is a base layer, which is no bundle by itself"),
        "{text}"
    );
    assert!(world.is_empty());
    world.ok(&["install", app_file, base_file]);
    assert_eq!(contents(&world.installed("1.0")), contents(&whole));
    world.ok(&["verify"]);
    // What they came from is remembered: both are read for repair.
    let lost = world.installed("1.0").join("python/lib/libpython.so");
    std::fs::remove_file(lost).unwrap();
    for entry in walkdir::WalkDir::new(world.root().join("components")) {
        let path = entry.unwrap().into_path();
        if path.ends_with("libpython.so") {
            std::fs::remove_file(path).unwrap();
        }
    }
    let said = world.ok(&["repair"]);
    assert!(said.contains("1 component"), "{said}");
    world.ok(&["verify"]);
}

#[test]
fn a_folder_with_both_layers_is_a_source_and_the_whole_bundle_goes_before_them() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let dir = world.path("layers");
    layers(&bundle, &dir);
    world.ok(&["install", dir.to_str().unwrap()]);
    world.ok(&["remove", "--force", "1.0"]);
    std::fs::copy(&bundle.path, dir.join(bundle.path.file_name().unwrap())).unwrap();
    world.ok(&["install", dir.to_str().unwrap()]);
    let origins: Vec<PathBuf> = std::fs::read_dir(world.root().join("origins"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let text = std::fs::read_to_string(&origins[0]).unwrap();
    assert!(!text.contains("\"layers\":"), "{text}");
}

#[test]
fn two_apps_on_one_base_have_one_base_layer_and_take_little_more_than_one() {
    let world = World::new();
    let (first, second) = (app(&world, "app"), app(&world, "shapes"));
    let [base, app_layer] = layers(&first, &world.path("l1"));
    let [other, shapes_layer] = layers(&second, &world.path("l2"));
    let bytes = |layer: &PackedLayer| std::fs::read(&layer.path).unwrap();
    assert!(bytes(&base) == bytes(&other), "the base is the same file");
    assert_ne!(app_layer.sha256, shapes_layer.sha256);
    world.ok(&[
        "install",
        base.path.to_str().unwrap(),
        app_layer.path.to_str().unwrap(),
    ]);
    let disk = |root: &Path| -> u64 {
        let mut seen = std::collections::BTreeSet::new();
        let entries = walkdir::WalkDir::new(root).into_iter();
        let of = |entry: walkdir::DirEntry| {
            let there = entry.metadata().unwrap();
            seen.insert(there.ino()).then(|| there.blocks() * 512)
        };
        entries.map(Result::unwrap).filter_map(of).sum()
    };
    let one = disk(&world.root());
    // The second app needs nothing of the base any more.
    let said = world.ok(&["install", shapes_layer.path.to_str().unwrap()]);
    assert!(said.contains("1 components written"), "{said}");
    assert!(said.contains("2 shared"), "{said}");
    let both = disk(&world.root());
    let extra = disk(&unpacked(&shapes_layer.path, &world.path("shapes-alone")));
    assert!(
        100 * both <= 105 * one + 100 * extra,
        "{one} {both} {extra}"
    );
    world.ok(&["verify"]);
    let seen = world.installed("shapes").join("src/app/shapes/features.py");
    assert!(seen.exists());
}

#[test]
fn layers_are_fetched_from_a_server_only_as_far_as_they_are_needed() {
    let world = World::new();
    let (first, second) = (app(&world, "app"), app(&world, "shapes"));
    let [base, app_layer] = layers(&first, &world.path("l1"));
    let [_, shapes_layer] = layers(&second, &world.path("l2"));
    let files = [base, app_layer, shapes_layer].map(|layer| std::fs::read(layer.path).unwrap());
    let server = FaultServer::start(move |asked| {
        let number = asked.target.trim_start_matches('/')[..1]
            .parse::<usize>()
            .unwrap();
        super::fetching::ranges(asked, &files[number], "\"one\"")
    });
    let url = |number: usize| server.url(&format!("/{number}.tar.zst"));
    world.ok(&["install", &url(1), &url(0)]);
    let before = server.sent();
    world.ok(&["install", &url(2), &url(0)]);
    let ends = 4 * (64 << 10);
    let sent = server.sent() - before;
    assert!(sent < ends + 60_000, "{sent} bytes for the second app");
    world.ok(&["verify"]);
}

#[test]
fn a_damaged_layer_is_told_and_installs_nothing() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let [base, app] = layers(&bundle, &world.path("layers"));
    for layer in [&base, &app] {
        let path = layer.path.to_str().unwrap();
        assert!(world.ok(&["verify", path]).contains("is intact"));
        let good = std::fs::read(&layer.path).unwrap();
        for step in 0..24 {
            let at = good.len() * step / 24 + step % 5;
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            std::fs::write(&layer.path, &bad).unwrap();
            world.bundler(&["verify", path]).assert().code(1);
            world.fails(
                2,
                &[
                    "install",
                    base.path.to_str().unwrap(),
                    app.path.to_str().unwrap(),
                ],
            );
            assert!(world.is_empty(), "{} byte {at}", layer.layer.name());
        }
        std::fs::write(&layer.path, &good).unwrap();
    }
}

#[test]
fn layers_are_written_by_the_command_the_same_each_time_and_from_bundles_only() {
    let world = World::new();
    let bundle = world.bundle("1.0");
    let [base, app] = layers(&bundle, &world.path("by-library"));
    let out = world.path("by-command");
    let file = bundle.path.to_str().unwrap();
    let said = world.ok(&["layers", file, "-o", out.to_str().unwrap()]);
    for layer in [&base, &app] {
        assert!(said.contains(&layer.sha256.to_string()), "{said}");
        let again = out.join(layer.path.file_name().unwrap());
        assert!(std::fs::read(&layer.path).unwrap() == std::fs::read(again).unwrap());
    }
    let text = world.fails(2, &["layers", app.path.to_str().unwrap()]);
    assert!(text.contains("it is a layer itself"), "{text}");
    let text = world.fails(2, &["layers", base.path.to_str().unwrap()]);
    assert!(text.contains("this is the base layer of bundles"), "{text}");
    let text = world.fails(2, &["inspect", base.path.to_str().unwrap()]);
    assert!(text.contains("this is the base layer of bundles"), "{text}");
}
