//! `bundler check-wheelhouse` as a user types it, on folders and on a release page.

use std::path::Path;
use std::process::Command;

use bundler::base::target::Arch;

use crate::fault_server::{FaultServer, Reply};
use crate::lock::world::Wheel;

fn recipe(floor: &str) -> String {
    format!(
        r#"name = "small"
version = "1"
python = "3.12"

[[interpreter]]
kind = "path"
version = "3.12.1"
path = {{ amd64 = "python", arm64 = "python" }}

[index.wheelhouse]
kind = "find-links"
url = "https://example.org/{{arch}}-{{accel}}.html"

[[packages]]
index = "wheelhouse"
require = ["spconv-{{accel}}", "pointops", "pccm", "onlyarm; platform_machine == 'sparc'"]

[target.amd64-cu130]
torch = "2.9.1"
cuda_arch = ["8.0", "9.0"]

[target.arm64-cu130]
torch = "2.9.1"
cuda_arch = ["8.0", "9.0"]

[floor]
glibc = "{floor}"
"#
    )
}

fn check(dir: &Path, args: &[&str]) -> (String, i32) {
    let output = assert_cmd::Command::cargo_bin("bundler")
        .unwrap()
        .current_dir(dir)
        .args(["check-wheelhouse", "--recipe", "small"])
        .args(args)
        .env("HOME", dir)
        .env("XDG_CACHE_HOME", dir.join("cache"))
        .env("NO_PROXY", "127.0.0.1")
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text).replace(&dir.display().to_string(), "[DIR]");
    (text, output.status.code().unwrap_or(-1))
}

fn place(floor: &str) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("recipes")).unwrap();
    std::fs::write(dir.path().join("recipes/small.toml"), recipe(floor)).unwrap();
    dir
}

fn put(folder: &Path, wheels: &[Wheel], manifest: &str) {
    std::fs::create_dir_all(folder).unwrap();
    for wheel in wheels {
        std::fs::write(folder.join(&wheel.file), &wheel.bytes).unwrap();
    }
    std::fs::write(folder.join("manifest.txt"), manifest).unwrap();
}

const NATIVE: &str = "cp312-cp312-manylinux_2_28_x86_64";
const ANY: &str = "py3-none-any";
const RUN: &str = "# 2026-01-01 10:00:00Z build_wheels.sh\nFAILED pointops\n\
                   # 2026-01-02 10:00:00Z build_wheels.sh\n# cuda arch list: 8.0 9.0+PTX\n";

fn good() -> Vec<Wheel> {
    vec![
        Wheel::new("spconv-cu130", "2.3.8", NATIVE, &[]),
        Wheel::new("pointops", "1.0+pt29cu130", "cp312-cp312-linux_x86_64", &[]),
        Wheel::new("pccm", "0.4", ANY, &[]),
    ]
}

#[test]
fn a_wheelhouse_that_holds_everything_fits() {
    let dir = place("2.28");
    let folder = "linux-amd64/cu130/torch2.9.1-cp312";
    put(&dir.path().join(folder), &good(), RUN);
    let (out, code) = check(dir.path(), &[folder]);
    assert_eq!(code, 0, "{out}");
    assert!(
        out.starts_with(&format!("[DIR]/{folder} fits amd64-cu130 (3 wheels)\n")),
        "{out}"
    );
    assert!(!out.contains("error["), "{out}");
}

#[test]
fn each_fault_of_a_wheelhouse_is_a_finding() {
    let dir = place("2.28");
    let mut wheels = vec![
        Wheel::new("spconv-cu126", "2.3.8", NATIVE, &[]),
        Wheel::new("pointops", "1.0+pt28cu128", NATIVE, &[]),
        Wheel::new("other", "1.0", "cp311-cp311-manylinux_2_28_x86_64", &[]),
        Wheel::new("broken", "1.0", ANY, &[]),
    ];
    wheels[3].bytes.truncate(100);
    let folder = dir.path().join("house");
    put(
        &folder,
        &wheels,
        "# 2026-01-02 10:00:00Z build_wheels.sh\n# cuda arch list: 8.0\nFAILED pccm\n",
    );
    std::fs::write(folder.join("requirements-pypi.txt"), "numpy>=2\n").unwrap();
    let (out, code) = check(dir.path(), &["house", "--target", "amd64-cu130"]);
    assert_eq!(code, 1, "{out}");
    let lines: Vec<&str> = out
        .lines()
        .filter(|line| {
            line.contains(']') && line.contains('[') && !line.contains("[DIR]/house does")
        })
        .collect();
    insta::assert_snapshot!("wheelhouse_faults", lines.join("\n"));
}

#[test]
fn the_measured_glibc_and_second_copies_of_cuda_are_found() {
    let dir = place("2.1");
    let source = dir.path().join("a.c");
    let library = dir.path().join("libcudart.so.13");
    std::fs::write(
        &source,
        "int puts(const char *); int f(void) { return puts(\"x\"); }\n",
    )
    .unwrap();
    let made = Command::new("gcc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .status()
        .unwrap();
    assert!(made.success());
    let arch = Arch::host();
    let tags = format!("cp312-cp312-linux_{}", arch.machine());
    let bytes = std::fs::read(&library).unwrap();
    let wheel = Wheel::with(
        "spconv-cu130",
        "2.3.8",
        &tags,
        &[],
        &[("spconv.libs/libcudart.so.13", bytes.as_slice())],
    );
    put(&dir.path().join("house"), &[wheel], RUN);
    let (out, _) = check(dir.path(), &["house", "--target", &format!("{arch}-cu130")]);
    assert!(
        out.contains("it brings a second copy of spconv.libs/libcudart.so.13"),
        "{out}"
    );
    assert!(
        out.contains("error[glibc-too-new] spconv_cu130-2.3.8"),
        "{out}"
    );
    let other = if arch == Arch::Amd64 {
        "arm64"
    } else {
        "amd64"
    };
    let (out, _) = check(
        dir.path(),
        &["house", "--target", &format!("{other}-cu130")],
    );
    assert!(
        out.contains("error[elf-machine]") && out.contains("error[wheel-tag]"),
        "{out}"
    );
}

#[test]
fn of_several_places_it_says_which_fits() {
    let wheels = good();
    let server = FaultServer::start(move |asked| match asked.target.as_str() {
        "/linux-amd64-cu130.html" => Reply::html(
            wheels
                .iter()
                .map(|w| format!("<a href=\"files/{}\">x</a>\n", w.file.replace('+', "%2B")))
                .collect::<String>()
                + "<a href=\"files/manifest.txt\">m</a>",
        ),
        "/files/manifest.txt" => Reply::ok(RUN),
        _ => Reply::status(404),
    });
    let dir = place("2.28");
    std::fs::create_dir(dir.path().join("linux-amd64-cu130")).unwrap();
    let url = server.url("/linux-amd64-cu130.html");
    let (out, code) = check(dir.path(), &["linux-amd64-cu130", &url]);
    assert_eq!(code, 0, "{out}");
    assert!(
        out.contains("/linux-amd64-cu130 does not fit amd64-cu130 (0 wheels)"),
        "{out}"
    );
    assert!(out.contains(".html fits amd64-cu130 (3 wheels)"), "{out}");
    assert!(out.contains("error[wheelhouse-empty]"), "{out}");
}
