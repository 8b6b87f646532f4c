//! `bundler gpu` as a user runs it: what is told, and when the answer is no.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::fatbin::{container, cubin, entry, library, ptx, ptx_text, sass};

fn gpu(file: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bundler"))
        .arg("gpu")
        .arg(file)
        .args(args)
        .env_clear()
        .output()
        .unwrap()
}

fn json(file: &Path, args: &[&str]) -> (Option<i32>, Value) {
    let done = gpu(file, &[args, &["--output-format", "json"]].concat());
    let value = serde_json::from_slice(&done.stdout);
    (
        done.status.code(),
        value.unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&done.stderr))),
    )
}

/// A folder with one file.
fn holding(name: &str, bytes: &[u8]) -> (tempfile::TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    std::fs::write(&path, bytes).unwrap();
    (dir, path)
}

#[test]
fn tells_code_and_devices_in_words() {
    let one = container(&[sass(80, 0), sass(90, 0), ptx(90, (8, 5))]);
    let old = container(&[sass(80, 0), ptx(80, (8, 5))]);
    let (_dir, path) = holding(
        "libops.so",
        &library(&[(".nv_fatbin", &[one, old].concat())]),
    );
    let done = gpu(&path, &["--cc", "9.0", "--cc", "8.6", "--cc", "7.5"]);
    assert_eq!(done.status.code(), Some(1));
    let text = String::from_utf8(done.stdout)
        .unwrap()
        .replace(path.to_str().unwrap(), "LIB");
    insta::assert_snapshot!(text, @r"
    LIB
      2 containers
      SASS      sm_80 ×2  sm_90 ×1
      PTX       compute_80 ×1 (PTX 8.5)  compute_90 ×1 (PTX 8.5)
      9.0       1 container compiled at first use, by a driver for CUDA 12.5 or newer; 1 native
      8.6       native, by code of an earlier device of the same generation
      7.5       none
    error[gpu-arch-uncovered] LIB: nothing in it runs on a device of capability 7.5
    ");
}

#[test]
fn a_file_without_gpu_code_is_no_fault_until_a_device_is_asked_for() {
    let (_dir, path) = holding("libcpu.so", &library(&[]));
    let done = gpu(&path, &[]);
    assert_eq!(done.status.code(), Some(0));
    assert!(
        String::from_utf8(done.stdout)
            .unwrap()
            .ends_with("libcpu.so: no GPU code\n")
    );
    let (code, value) = json(&path, &["--cc", "9.0"]);
    assert_eq!(
        (code, value["findings"][0]["code"].as_str()),
        (Some(1), Some("gpu-arch-uncovered"))
    );
}

#[test]
fn what_cannot_be_read_is_told_from_what_holds_no_code() {
    let (_dir, path) = holding(
        "libbad.so",
        &library(&[(".nv_fatbin", b"this is no container")]),
    );
    let (code, value) = json(&path, &[]);
    assert_eq!(
        (code, value["findings"][0]["code"].as_str()),
        (Some(1), Some("fatbin-unreadable"))
    );
    let (_dir, path) = holding("empty.ptx", b"");
    let (code, value) = json(&path, &[]);
    assert_eq!(
        (code, value["findings"][0]["code"].as_str()),
        (Some(1), Some("gpu-file-empty"))
    );
    let done = gpu(&path.with_file_name("missing.so"), &[]);
    assert_eq!(done.status.code(), Some(2));
    assert!(
        String::from_utf8(done.stderr)
            .unwrap()
            .contains("missing.so")
    );
}

#[test]
fn one_library_of_many_without_the_device_decides() {
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, arch| {
        std::fs::write(
            dir.path().join(name),
            library(&[(".nv_fatbin", &container(&[sass(arch, 0)]))]),
        )
        .unwrap();
    };
    write("good.so", 120);
    write("bad.so", 90);
    let (code, value) = json(dir.path(), &["--cc", "12.1"]);
    assert_eq!(code, Some(1));
    assert_eq!(value["findings"].as_array().unwrap().len(), 1);
    assert_eq!(value["findings"][0]["path"], "bad.so");
    let text = String::from_utf8(gpu(dir.path(), &["--cc", "12.1"]).stdout).unwrap();
    assert!(
        text.contains("capability 12.1: native in 1; none in 1 (bad.so)\n"),
        "{text}"
    );
}

#[test]
fn ptx_of_separate_compilation_is_seen() {
    let inputs = container(&[sass(80, 0), ptx(80, (8, 0))]);
    let (_dir, path) = holding("librdc.so", &library(&[("__nv_relfatbin", &inputs)]));
    let (_, value) = json(&path, &[]);
    let library = &value["libraries"][0];
    assert_eq!(
        (
            library["containers"].as_u64(),
            library["relocatable"].as_u64()
        ),
        (Some(0), Some(1))
    );
    let names: Vec<&str> = library["relocatable_code"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|c| c["name"].as_str())
        .collect();
    assert_eq!(names, ["sm_80", "compute_80"]);
}

#[test]
fn kernels_are_named_and_expected_ones_must_be_there() {
    let code = container(&[
        entry(2, 90, 1 << 15, (1, 8), &cubin(&["_Z6kernelPf", "plain"])),
        ptx(90, (9, 0)),
    ]);
    let (_dir, path) = holding("libops.so", &library(&[(".nv_fatbin", &code)]));
    let (code, value) = json(&path, &["--kernels"]);
    assert_eq!(code, Some(0));
    let entries = value["libraries"][0]["kernels"].as_array().unwrap();
    assert_eq!(
        entries[0]["kernels"],
        serde_json::json!(["_Z6kernelPf", "plain"])
    );
    assert_eq!(entries[1]["target"], "sm_90");
    for name in ["plain", "kernel", "_Z6kernelPf", "sm_90", "compute_90"] {
        assert_eq!(
            gpu(&path, &["--expect", name]).status.code(),
            Some(0),
            "{name}"
        );
    }
    for name in ["kern", "other", "sm_90a", "sm_80", "compute_80", "lto_90"] {
        let (code, value) = json(&path, &["--expect", name]);
        assert_eq!(
            (code, value["findings"][0]["code"].as_str()),
            (Some(1), Some("gpu-expected-missing")),
            "{name}"
        );
    }
}

#[test]
fn ptx_for_another_target_than_its_header_says_is_found() {
    let wrong = entry(1, 90, 1 << 13, (9, 0), ptx_text(80, &["k"]).as_bytes());
    let (_dir, path) = holding(
        "libops.so",
        &library(&[(".nv_fatbin", &container(&[wrong]))]),
    );
    assert_eq!(gpu(&path, &[]).status.code(), Some(0));
    let (code, value) = json(&path, &["--kernels"]);
    assert_eq!(
        (code, value["findings"][0]["code"].as_str()),
        (Some(1), Some("ptx-target-mismatch"))
    );
}

#[test]
fn cubins_and_ptx_are_files_of_their_own() {
    let (_dir, path) = holding("k.ptx", ptx_text(90, &["k"]).as_bytes());
    let (code, value) = json(&path, &["--kernels", "--cc", "12.0"]);
    assert_eq!(code, Some(0));
    let library = &value["libraries"][0];
    assert_eq!(
        (
            library["code"][0]["name"].as_str(),
            library["code"][0]["isa"].as_str()
        ),
        (Some("compute_90"), Some("9.0"))
    );
    assert_eq!(library["coverage"][0]["verdict"], "jit");
    assert_eq!(library["kernels"][0]["kernels"][0], "k");
    let mut bytes = cubin(&["k"]);
    bytes[48..52].copy_from_slice(&0x0600_5a04u32.to_le_bytes());
    let (_dir, path) = holding("k.cubin", &bytes);
    let (_, value) = json(&path, &["--kernels"]);
    assert_eq!(value["libraries"][0]["code"][0]["name"], "sm_90");
    assert_eq!(value["libraries"][0]["kernels"][0]["kernels"][0], "k");
}

#[test]
fn code_that_the_library_chooses_itself_needs_one_container_only() {
    let both = [container(&[sass(75, 0)]), container(&[sass(90, 0)])].concat();
    let bytes = library(&[(".nv_fatbin", &both)]);
    let (_dir, path) = holding("libcublas.so.13", &bytes);
    assert_eq!(
        gpu(path.parent().unwrap(), &["--cc", "9.0"]).status.code(),
        Some(0)
    );
    let (_dir, path) = holding("libops.so", &bytes);
    assert_eq!(
        gpu(path.parent().unwrap(), &["--cc", "9.0"]).status.code(),
        Some(1)
    );
}

#[test]
fn what_cannot_be_looked_into_is_no_file_without_gpu_code() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    std::fs::write(at("random"), crate::synthetic::noise(3, 9000)).unwrap();
    std::fs::write(at("empty"), "").unwrap();
    std::fs::create_dir_all(at("folder/deeper")).unwrap();
    std::fs::create_dir_all(at("texts/deeper")).unwrap();
    std::fs::write(at("texts/deeper/a.txt"), "a").unwrap();
    for (name, code, said) in [
        ("random", 2, "is none of what can be looked into"),
        ("folder", 2, "holds no file"),
        ("missing", 2, "hint: check the path"),
        ("empty", 1, "error[gpu-file-empty]"),
        ("texts", 0, "no GPU code"),
    ] {
        let mut command = assert_cmd::Command::cargo_bin("bundler").unwrap();
        let out = command
            .env_clear()
            .current_dir(dir.path())
            .args(["gpu", name])
            .assert()
            .code(code);
        let out = out.get_output();
        let text = String::from_utf8([&out.stdout[..], &out.stderr[..]].concat()).unwrap();
        assert!(text.contains(said), "{name}: {text}");
    }
}
