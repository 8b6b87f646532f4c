//! The default recipe, locked for all six targets against servers that behave like the real ones: the PyTorch index (HTML, local
//! versions, digests in fragments and files without), the wheelhouse releases (an assets page with relative links, redirects to a
//! signed address that refuses credentials), a default index, a git repository. Only the source's revision differs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use bundler::base::digest::Digest;
use bundler::build::lock::Lock;

use super::world::Wheel;
use crate::fault_server::{Asked, FaultServer, Reply};

const TARGETS: [&str; 6] = [
    "amd64-cu126",
    "amd64-cu128",
    "amd64-cu130",
    "arm64-cu126",
    "arm64-cu128",
    "arm64-cu130",
];

const NATIVE: [&str; 10] = [
    "torch-scatter",
    "torch-sparse",
    "torch-cluster",
    "flash-attn",
    "swin3d",
    "pointops",
    "pointops2",
    "pointgroup-ops",
    "pointseg",
    "pointrope",
];

const PURE: [&str; 20] = [
    "addict",
    "einops",
    "timm",
    "packaging",
    "peft",
    "scipy",
    "transformers",
    "wandb",
    "yapf",
    "h5py",
    "plyfile",
    "tensorboardx",
    "termcolor",
    "mlflow",
    "pyyaml",
    "pillow",
    "pandas",
    "certifi",
    "open3d",
    "numpy",
];

/// Every wheel the servers have, by the path it is served at.
fn wheels(revision: &str) -> BTreeMap<String, Wheel> {
    let any = "py3-none-any";
    let mut out = BTreeMap::new();
    let mut add = |folder: &str, wheel: Wheel| {
        out.insert(format!("{folder}/{}", wheel.file), wheel);
    };
    for name in PURE {
        add("pypi", Wheel::new(name, "1.0", any, &[]));
    }
    // What must not be taken: the same names, higher, elsewhere.
    for name in ["pointops", "torch", "spconv-cu130", "pccm"] {
        add("pypi", Wheel::new(name, "99.0", any, &[]));
    }
    for (release, version) in [("12", "12.6.77"), ("12", "12.8.90"), ("13", "13.0.96")] {
        let name = if release == "12" {
            "nvidia-cuda-runtime-cu12"
        } else {
            "nvidia-cuda-runtime"
        };
        add("pypi", Wheel::new(name, version, any, &[]));
    }
    for target in TARGETS {
        let (arch, accel) = target.split_once('-').unwrap();
        let machine = if arch == "amd64" { "x86_64" } else { "aarch64" };
        let native = format!("cp312-cp312-manylinux_2_28_{machine}");
        let runtime = match accel {
            "cu126" => "nvidia-cuda-runtime-cu12==12.6.77",
            "cu128" => "nvidia-cuda-runtime-cu12==12.8.90",
            _ => "nvidia-cuda-runtime==13.0.96",
        };
        let torch = format!("pytorch/{accel}");
        add(
            &torch,
            Wheel::new("torch", &format!("2.9.1+{accel}"), &native, &[runtime]),
        );
        let needs = format!("torch==2.9.1+{accel}");
        add(
            &torch,
            Wheel::new(
                "torchvision",
                &format!("0.24.1+{accel}"),
                &native,
                &[&needs, "pillow", "numpy"],
            ),
        );
        let house = format!("house/{target}");
        let spconv = format!("cumm-{accel}");
        add(
            &house,
            Wheel::new(
                &format!("spconv-{accel}"),
                "2.3.8",
                &native,
                &[&spconv, "pccm>=0.4"],
            ),
        );
        add(
            &house,
            Wheel::new(&spconv, "0.8.2", &native, &["pccm>=0.4"]),
        );
        for name in NATIVE {
            let plain = format!("cp312-cp312-linux_{machine}");
            add(&house, Wheel::new(name, "1.0", &plain, &["torch"]));
        }
        for (name, version) in [
            ("pccm", "0.4.16"),
            ("ocnn", "2.3"),
            ("torch-geometric", "2.7.0"),
        ] {
            add(&house, Wheel::new(name, version, any, &[]));
        }
        let own = format!("1.7.0.post1+g{}", &revision[..9]);
        add(&house, Wheel::new("pointcept", &own, any, &[]));
    }
    out
}

fn answer(asked: &Asked, wheels: &BTreeMap<String, Wheel>) -> Reply {
    let target = asked.target.split('#').next().unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let path = path.trim_matches('/').replace("%2B", "+");
    let in_folder = |folder: &str| -> Vec<&Wheel> {
        let begin = format!("{folder}/");
        wheels
            .iter()
            .filter(|(at, _)| {
                at.strip_prefix(&begin)
                    .is_some_and(|rest| !rest.contains('/'))
            })
            .map(|(_, wheel)| wheel)
            .collect()
    };
    if let Some(file) = path.strip_prefix("signed/") {
        let allowed = query == "signature=s3cret" && asked.header("authorization").is_none();
        return match wheels.get(file) {
            Some(wheel) if allowed => Reply::file(asked, &wheel.bytes, "\"1\""),
            _ => Reply::status(403),
        };
    }
    if let Some(wheel) = wheels.get(&path) {
        if path.starts_with("house/") {
            let signed = format!("/signed/{}?signature=s3cret", path.replace('+', "%2B"));
            return Reply::redirect(&signed);
        }
        return Reply::file(asked, &wheel.bytes, "\"1\"");
    }
    if path.starts_with("house/") {
        let folder = path.trim_end_matches(".html");
        let files = in_folder(folder);
        if files.is_empty() || folder == path {
            return Reply::status(404);
        }
        let mut html = String::from("<div>\n");
        let last = folder.rsplit('/').next().unwrap_or_default();
        for wheel in files {
            let _ = writeln!(
                html,
                "<a href=\"{last}/{}\">x</a>",
                wheel.file.replace('+', "%2B")
            );
        }
        return Reply::html(html);
    }
    let Some((folder, project)) = path.rsplit_once('/') else {
        return Reply::status(404);
    };
    let mut html = String::from("<!DOCTYPE html>\n");
    let begin = format!("{}-", project.replace('-', "_"));
    let mut any = false;
    for wheel in in_folder(folder)
        .into_iter()
        .filter(|w| w.file.starts_with(&begin))
    {
        any = true;
        let at = format!("/{folder}/{}", wheel.file.replace('+', "%2B"));
        // The PyTorch index gives no digest for some files.
        let fragment = if wheel.file.starts_with("torchvision") {
            String::new()
        } else {
            format!("#sha256={}", Digest::of(&wheel.bytes))
        };
        let _ = writeln!(html, "<a href=\"{at}{fragment}\">{}</a>", wheel.file);
    }
    if any {
        Reply::html(html)
    } else {
        Reply::status(404)
    }
}

/// A repository with one commit, tagged as releases are; its revision.
fn repository(dir: &Path) -> String {
    std::fs::create_dir(dir).unwrap();
    let git = |args: &[&str]| {
        let output = Command::new("git")
            .args([
                "-c",
                "user.name=t",
                "-c",
                "user.email=t@example.org",
                "-c",
                "init.defaultBranch=main",
            ])
            .args(args)
            .current_dir(dir)
            .output()
            .unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    git(&["init", "-q"]);
    std::fs::write(dir.join("setup.py"), "").unwrap();
    git(&["add", "."]);
    git(&["commit", "-q", "-m", "one"]);
    git(&["tag", "-a", "-m", "release", "v1.7.0"]);
    git(&["rev-parse", "HEAD"])
}

fn lock_all(dir: &Path, server: &FaultServer, args: &[&str]) -> (String, String, i32) {
    let output = assert_cmd::Command::cargo_bin("bundler")
        .unwrap()
        .current_dir(dir)
        .arg("lock")
        .args(args)
        .args(["--default-index", &server.url("/pypi")])
        .args([
            "--index",
            &format!("pytorch={}", server.url("/pytorch/{accel}")),
        ])
        .args([
            "--index",
            &format!("source={}", dir.join("repository").display()),
        ])
        .env(
            "POINTCEPT_BUNDLER_INDEX_WHEELHOUSE",
            server.url("/house/{arch}-{accel}.html"),
        )
        .env("HOME", dir)
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .env("UV_CACHE_DIR", dir.join("uv-cache"))
        .env_remove("UV_DEFAULT_INDEX")
        .env_remove("UV")
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
        output.status.code().unwrap_or(-1),
    )
}

#[test]
fn the_default_recipe_locks_all_six_targets() {
    let dir = tempfile::tempdir().unwrap();
    let revision = repository(&dir.path().join("repository"));
    let all = wheels(&revision);
    let server = FaultServer::start(move |asked| answer(asked, &all));
    let (out, err, code) = lock_all(dir.path(), &server, &[]);
    assert_eq!(code, 0, "{out}{err}");
    for target in TARGETS {
        let path = dir
            .path()
            .join(format!("recipes/pointcept.{target}.lock.toml"));
        let text = std::fs::read_to_string(path).unwrap();
        let lock = Lock::parse(&text, target).unwrap();
        let accel = target.split_once('-').unwrap().1;
        let source = lock.source.as_ref().unwrap();
        assert_eq!(source.revision.as_deref(), Some(revision.as_str()));
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
        for secret in ["127.0.0.1", "s3cret", "signature"] {
            assert!(!text.contains(secret), "{target}: {secret}");
        }
    }
    let leaked = server
        .asked()
        .into_iter()
        .any(|a| a.header("authorization").is_some());
    assert!(!leaked && !out.contains("s3cret") && !err.contains("s3cret"));
}

#[test]
fn a_wheelhouse_made_of_another_revision_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let revision = repository(&dir.path().join("repository"));
    let all = wheels(&"0123456789".repeat(4));
    let server = FaultServer::start(move |asked| answer(asked, &all));
    let (_, err, code) = lock_all(dir.path(), &server, &["amd64-cu130"]);
    assert_eq!(code, 2);
    assert!(
        err.starts_with(&format!(
            "error: pointcept-1.7.0.post1+g012345678-py3-none-any.whl on index wheelhouse was not made of the source's revision {revision}\n"
        )),
        "{err}"
    );
}
