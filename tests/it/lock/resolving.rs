//! `bundler lock` as a user types it, with the real uv against index servers on this machine.

use std::collections::BTreeMap;

use bundler::build::lock::Lock;

use super::world::{Index, Page, Place, Wheel, serve};
use crate::fault_server::FaultServer;

const RECIPE: &str = r#"name = "small"
version = "1"
python = "3.12"

[[interpreter]]
kind = "pbs"
version = "3.12.14"
release = "20260814"
sha256.amd64 = "5acfa3e9ba26b51ae161c83aff278da915b590d22373a424b2ba55b8afe91fcc"
sha256.arm64 = "2d8e17dfd732102cfeb18e0e1fa6769b24caa034e159981129590fe409c7157a"

[index.pypi]
kind = "simple"
default = true

[index.pytorch]
kind = "simple"
url = "SERVER/pytorch"

[index.wheelhouse]
kind = "find-links"
url = "SERVER/wheelhouse"

[[packages]]
index = "pytorch"
layer = "base"
require = ["torch=={torch}"]

[[packages]]
index = "wheelhouse"
require = ["spconv-{accel}"]

[[packages]]
index = "pypi"
require = ["einops", "onlywindows; sys_platform == 'win32'"]

[target.amd64-cu130]
torch = "2.9.1"

[target.arm64-cu130]
torch = "2.9.1"
"#;

/// Servers like the real ones: a default index with a higher version of everything, an accelerator's index in HTML with local
/// versions, a wheelhouse page without digests.
fn servers() -> FaultServer {
    serve(indexes())
}

fn indexes() -> BTreeMap<&'static str, Index> {
    let any = "py3-none-any";
    let both = |name: &str, version: &str, requires: &[&str]| {
        ["manylinux_2_28_x86_64", "manylinux_2_28_aarch64"]
            .map(|platform| Wheel::new(name, version, &format!("cp312-cp312-{platform}"), requires))
    };
    let cuda = "nvidia-cuda-runtime==13.0.96; platform_system == 'Linux'";
    let mut pypi = vec![
        Wheel::new("einops", "0.8.0", any, &[]),
        Wheel::new("einops", "0.8.1", any, &["filelock"]),
        Wheel::new("filelock", "3.0", any, &[]),
        Wheel::new("pccm", "99.0", any, &[]),
        Wheel::new("spconv-cu130", "99.0", any, &[]),
        Wheel::new("torch", "99.0", any, &[]),
        Wheel::new("nvidia-cuda-runtime", "13.0.96", any, &[]),
    ];
    pypi.extend(both("torch", "2.9.1", &[]));
    let torch = both("torch", "2.9.1+cu130", &["filelock", cuda]);
    let mut wheelhouse = vec![Wheel::new("pccm", "0.4", any, &[])];
    wheelhouse.extend(both("spconv-cu130", "2.3.8", &["pccm", "torch"]));
    let index = |page, flat, files| Index {
        page,
        flat,
        files,
        sdists: Vec::new(),
    };
    BTreeMap::from([
        ("pypi", index(Page::Json, false, pypi)),
        ("pytorch", index(Page::Html, false, torch.to_vec())),
        ("wheelhouse", index(Page::Bare, true, wheelhouse)),
    ])
}

fn place(server: &FaultServer) -> Place {
    Place::new(&RECIPE.replace("SERVER/", &server.url("/")))
}

fn rows(lock: &Lock) -> Vec<String> {
    lock.wheels
        .iter()
        .map(|w| {
            let layer = format!("{:?}", w.layer).to_lowercase();
            let computed = if w.computed { " computed" } else { "" };
            format!("{} {} {} {layer}{computed}", w.name, w.version, w.index)
        })
        .collect()
}

#[test]
fn each_package_comes_from_its_own_index_alone() {
    let server = servers();
    let place = place(&server);
    let (out, err, code) = place.run(&server.url("/pypi"), &["amd64-cu130", "arm64-cu130"]);
    assert_eq!(code, 0, "{out}{err}");
    for target in ["amd64-cu130", "arm64-cu130"] {
        let lock = Lock::parse(&place.lock_text(target), target).unwrap();
        assert_eq!(
            rows(&lock),
            [
                "einops 0.8.1 pypi app",
                "filelock 3.0 pypi base",
                "nvidia-cuda-runtime 13.0.96 pypi base",
                "pccm 0.4 wheelhouse app computed",
                "spconv-cu130 2.3.8 wheelhouse app computed",
                "torch 2.9.1+cu130 pytorch base",
            ]
        );
        let machine = if target.starts_with("arm64") {
            "aarch64"
        } else {
            "x86_64"
        };
        assert!(
            lock.wheel("torch")
                .unwrap()
                .file
                .ends_with(&format!("{machine}.whl"))
        );
        assert!(lock.wheels.iter().all(|w| w.size > 300));
    }
    assert!(!place.lock_text("amd64-cu130").contains("127.0.0.1"));
}

#[test]
fn a_second_run_elsewhere_makes_the_same_bytes() {
    let server = servers();
    let (one, two) = (place(&server), place(&server));
    for place in [&one, &two] {
        let (out, err, code) = place.run(&server.url("/pypi"), &["amd64-cu130"]);
        assert_eq!(code, 0, "{out}{err}");
    }
    assert_eq!(one.lock_text("amd64-cu130"), two.lock_text("amd64-cu130"));
    let (out, _, code) = one.run(&server.url("/pypi"), &["amd64-cu130"]);
    assert_eq!(code, 0);
    assert!(out.contains("unchanged (6 wheels"), "{out}");
}

#[test]
fn pins_stay_until_they_are_asked_to_move() {
    let server = servers();
    let place = place(&server);
    let recipe = RECIPE.replace("SERVER/", &server.url("/"));
    place.write_recipe(&recipe.replace("\"einops\"", "\"einops==0.8.0\""));
    let index = server.url("/pypi");
    assert_eq!(place.run(&index, &["amd64-cu130"]).2, 0);
    place.write_recipe(&recipe);
    let (out, err, code) = place.run(&index, &["amd64-cu130", "--check"]);
    assert_eq!(code, 1, "{err}");
    assert!(
        out.contains("is stale: the recipe has changed since it was made"),
        "{out}"
    );
    let version = || {
        let lock = Lock::parse(&place.lock_text("amd64-cu130"), "x").unwrap();
        lock.wheel("einops").unwrap().version.clone()
    };
    assert_eq!(place.run(&index, &["amd64-cu130"]).2, 0);
    assert_eq!(version(), "0.8.0");
    assert_eq!(place.run(&index, &["amd64-cu130", "--check"]).2, 0);
    let (out, _, _) = place.run(
        &index,
        &["amd64-cu130", "--upgrade-package", "Einops", "-n"],
    );
    assert!(out.contains("would change"), "{out}");
    assert!(out.contains("  ~ einops 0.8.0 -> 0.8.1\n"), "{out}");
    assert_eq!(version(), "0.8.0", "a dry run writes nothing");
    assert_eq!(place.run(&index, &["amd64-cu130", "--upgrade"]).2, 0);
    assert_eq!(version(), "0.8.1");
}

#[test]
fn a_requirement_without_any_wheel_is_refused_by_name() {
    let mut indexes = indexes();
    if let Some(pypi) = indexes.get_mut("pypi") {
        pypi.files.retain(|w| !w.file.starts_with("einops"));
        pypi.sdists.push("einops-0.9.tar.gz".to_owned());
    }
    let server = serve(indexes);
    let place = place(&server);
    let (_, err, code) = place.run(&server.url("/pypi"), &["amd64-cu130"]);
    assert_eq!(code, 2);
    assert!(
        err.starts_with("error: no wheel of einops fits amd64-cu130\n"),
        "{err}"
    );
    assert!(
        err.contains("hint: source archives are never built here"),
        "{err}"
    );
    assert!(!place.lock("amd64-cu130").exists());
}

#[test]
fn a_dependency_named_without_its_accelerator_is_refused() {
    let mut indexes = indexes();
    if let Some(wheelhouse) = indexes.get_mut("wheelhouse") {
        wheelhouse.files.retain(|w| !w.file.starts_with("pccm"));
        wheelhouse
            .files
            .push(Wheel::new("cumm", "0.5", "py3-none-any", &[]));
        for wheel in &mut wheelhouse.files {
            if wheel.file.starts_with("spconv") {
                let tags = wheel
                    .file
                    .trim_end_matches(".whl")
                    .splitn(3, '-')
                    .nth(2)
                    .unwrap()
                    .to_owned();
                *wheel = Wheel::new("spconv-cu130", "2.3.8", &tags, &["cumm-cu130>=0.7.11"]);
            }
        }
    }
    let server = serve(indexes);
    let place = place(&server);
    let (_, err, code) = place.run(&server.url("/pypi"), &["amd64-cu130"]);
    assert_eq!(code, 2);
    assert!(err.contains("cumm-cu130"), "{err}");
}

#[test]
fn a_torch_of_another_accelerator_is_refused_with_the_way_out() {
    let server = servers();
    let place = place(&server);
    let recipe = RECIPE
        .replace("SERVER/", &server.url("/"))
        .replace("index = \"pytorch\"\nlayer", "index = \"pypi\"\nlayer");
    place.write_recipe(&recipe);
    let (_, err, code) = place.run(&server.url("/pypi"), &["arm64-cu130"]);
    assert_eq!(code, 2);
    insta::assert_snapshot!("another_accelerator", err);
}

#[test]
fn a_page_of_files_without_a_fitting_wheel_is_an_error() {
    let mut indexes = indexes();
    if let Some(wheelhouse) = indexes.get_mut("wheelhouse") {
        wheelhouse.files.retain(|w| w.file.ends_with("aarch64.whl"));
    }
    let server = serve(indexes);
    let place = place(&server);
    let (_, err, code) = place.run(&server.url("/pypi"), &["amd64-cu130"]);
    assert_eq!(code, 2);
    assert!(
        err.starts_with(
            "error: none of the 1 files of index wheelhouse is a wheel for amd64-cu130\n"
        ),
        "{err}"
    );
}

#[test]
fn the_exported_lock_names_addresses_and_digests() {
    let server = servers();
    let place = place(&server);
    let (out, err, code) = place.run(&server.url("/pypi"), &["amd64-cu130", "--export", "pylock"]);
    assert_eq!(code, 0, "{out}{err}");
    let text =
        std::fs::read_to_string(place.dir.path().join("recipes/pylock.amd64-cu130.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    assert_eq!(table["lock-version"].as_str(), Some("1.0"));
    let packages = table["packages"].as_array().unwrap();
    assert_eq!(packages.len(), 6);
    for package in packages {
        let wheel = &package["wheels"].as_array().unwrap()[0];
        assert!(wheel["url"].as_str().unwrap().starts_with(&server.url("/")));
        assert_eq!(wheel["hashes"]["sha256"].as_str().unwrap().len(), 64);
    }
}

#[test]
fn without_a_network_a_missing_lock_is_an_error_and_no_server_is_asked() {
    let server = servers();
    let place = place(&server);
    let before = server.connections();
    let (_, err, code) = place.run(&server.url("/pypi"), &["amd64-cu130", "--offline"]);
    assert_eq!(code, 2, "{err}");
    assert_eq!(server.connections(), before);
}
