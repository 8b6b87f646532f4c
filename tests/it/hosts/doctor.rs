//! `bundler doctor` on every shape, on this machine, and with bad input.

use std::path::Path;
use std::process::{Command, Output};

use bundler::base::digest::Digest;
use bundler::formats::bundle::{
    Announcement, Bundle, Coverage, Cuda, CudaArch, Digests, HostNeed, PackedRecord,
    SCHEMA_VERSION, Size,
};
use bundler::formats::component::{ComponentKind, Layer};
use bundler::formats::floor::Floor;
use bundler::formats::index::{Index, Published};
use serde_json::Value;

use super::shape::{all, folder};
use crate::synthetic;

/// A published bundle as real ones describe themselves.
fn published(
    name: &str,
    target: &str,
    floor: [&str; 3],
    driver: &str,
    coverage: &[(&str, &str, &str)],
) -> Published {
    let dir = Path::new("/nowhere");
    let mut facts = synthetic::request(dir).facts;
    let (_, accel) = target.split_once("-cu").unwrap();
    let (major, minor) = accel.split_at(accel.len() - 1);
    facts.name = name.to_owned();
    facts.target = target
        .parse::<bundler::base::target::Target>()
        .unwrap()
        .into();
    facts.cuda = Some(Cuda {
        version: format!("{major}.{minor}"),
        driver_floor: Some(driver.to_owned()),
    });
    facts.cuda_arch = Some(CudaArch {
        declared: vec!["9.0".to_owned()],
    });
    facts.floor = Floor {
        glibc: floor[0].parse().ok(),
        glibcxx: floor[1].parse().ok(),
        cxxabi: floor[2].parse().ok(),
    };
    facts.coverage = coverage
        .iter()
        .map(|(library, sass, ptx)| Coverage {
            library: format!("python/lib/python3.12/site-packages/{library}"),
            sass: sass.split_whitespace().map(|n| format!("sm_{n}")).collect(),
            ptx: ptx
                .split_whitespace()
                .map(|n| format!("compute_{n}"))
                .collect(),
            dispatches: false,
            sets: Vec::new(),
        })
        .collect();
    facts.host_needs = vec![
        HostNeed {
            library: "libz.so.1".to_owned(),
            needed_by: vec!["python/bin/python3.12".to_owned()],
            optional: false,
            switches_off: Vec::new(),
        },
        HostNeed {
            library: "libibverbs.so.1".to_owned(),
            needed_by: vec!["a.so".to_owned()],
            optional: true,
            switches_off: vec!["GPUDirect Storage over RDMA".to_owned()],
        },
    ];
    let small = name == "ops";
    let triton = bundler::formats::bundle::ComponentRecord {
        name: "triton".to_owned(),
        version: None,
        kind: ComponentKind::Wheel,
        id: Digest::of(b"triton"),
        sha256: None,
        source: None,
        layer: Layer::Base,
        entries: 1,
        unpacked: 1,
    };
    let bundle = Bundle {
        schema_version: SCHEMA_VERSION,
        facts,
        size: if small {
            Size {
                unpacked: 50_000_000,
                files: 500,
            }
        } else {
            Size {
                unpacked: 5_939_896_821,
                files: 56_071,
            }
        },
        layers: Vec::new(),
        components: if target.ends_with("cu130") {
            vec![triton]
        } else {
            Vec::new()
        },
        digests: Digests {
            files: Digest::of(b""),
            recipe: None,
            lock: None,
        },
        encoding: (&synthetic::ENCODING).into(),
    };
    let file = format!("{name}-{target}.tar.zst");
    Published {
        url: file.clone(),
        bundle: Announcement {
            packed: PackedRecord {
                file,
                size: if small { 20_000_000 } else { 2_818_350_296 },
                sha256: Digest::of(target.as_bytes()),
                identity: Digest::of(name.as_bytes()),
            },
            bundle,
        },
    }
}

/// What real bundles hold of torch 2.11 and 2.7.1, and a small one whose only library has PTX.
pub fn index() -> Index {
    let new = ["2.28", "3.4.22", "1.3.11"];
    let nvidia = ("nvidia/cu13/lib/libcufile.so.0", "75 80 86", "86");
    let cu130 = [
        (
            "torch/lib/libtorch_cuda.so",
            "75 80 86 89 90 90a 100 100a 103a 120 120a 121a",
            "",
        ),
        ("torch/lib/libtorch_cuda_linalg.so", "80 86 90 100 120", ""),
        ("torchvision/_C.so", "75 80 86 90 100 120", "120"),
        nvidia,
    ];
    let arm = [
        (
            "torch/lib/libtorch_cuda.so",
            "80 90 90a 100 100a 103a 110 110a 120 120a 121a",
            "",
        ),
        ("torchvision/_C.so", "80 90 100 110 120", "120"),
        nvidia,
    ];
    let cu126 = [
        (
            "torch/lib/libtorch_cuda.so",
            "50 60 70 75 80 86 89 90 90a",
            "",
        ),
        ("torch/lib/libtorch_cuda_linalg.so", "50 60 70 80 86 90", ""),
        ("spconv/core_cc.so", "50 52 60 61 70 75 80 86 89 90", "90"),
    ];
    let ops = [("ops/_C.so", "80 86", "80")];
    Index {
        schema_version: 1,
        bundles: vec![
            published("ops", "amd64-cu126", new, "525.60.13", &ops),
            published(
                "runtime",
                "amd64-cu126",
                ["2.17", "3.4.22", "1.3.11"],
                "525.60.13",
                &cu126,
            ),
            published("runtime", "amd64-cu130", new, "580.65.06", &cu130),
            published("runtime", "arm64-cu130", new, "580.65.06", &arm),
        ],
    }
}

/// `runtime` bundles go by their target alone.
pub fn short(place: &str) -> String {
    let file = place
        .rsplit('/')
        .next()
        .unwrap()
        .trim_end_matches(".tar.zst");
    match file.split_once('-') {
        Some(("runtime", target)) => target.to_owned(),
        Some((name, target)) => format!("{name} {target}"),
        None => panic!("{place}"),
    }
}

pub fn bundler(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_bundler"))
        .args(arguments)
        .env_clear()
        .output()
        .unwrap()
}

pub fn json(out: &Output) -> Value {
    serde_json::from_slice(&out.stdout)
        .unwrap_or_else(|e| panic!("{e}: {}", String::from_utf8_lossy(&out.stderr)))
}

#[test]
fn every_shape_gets_its_verdicts() {
    let dir = tempfile::tempdir().unwrap();
    let index_path = dir.path().join("index.json");
    std::fs::write(&index_path, index().to_bytes().unwrap()).unwrap();
    let shapes = all();
    assert!(
        shapes.len() >= 40,
        "{} shapes in {}",
        shapes.len(),
        folder().display()
    );
    let mut wrong = Vec::new();
    for (name, shape) in &shapes {
        let origin_is_said =
            shape.origin.starts_with("documents: ") || shape.origin.starts_with("recorded: ");
        assert!(
            origin_is_said && !shape.about.is_empty(),
            "{name}: where does it come from?"
        );
        let root = dir.path().join(name);
        shape.make(&root);
        let mut arguments = vec![
            "doctor",
            index_path.to_str().unwrap(),
            "--sysroot",
            root.to_str().unwrap(),
        ];
        arguments.extend(["--output-format", "json"]);
        arguments.extend(shape.arguments.iter().map(String::as_str));
        let out = bundler(&arguments);
        let told = json(&out);
        let mut check = |what: &str, found: String, want: String| {
            if found != want {
                wrong.push(format!("{name}: {what} is {found}, not {want}"));
            }
        };
        let gpus: Vec<String> = told["host"]["gpus"]["devices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|gpu| gpu["capability"].as_str().unwrap_or_default().to_owned())
            .collect();
        check(
            "GPU",
            format!("{gpus:?}"),
            format!("{:?}", shape.expect.gpus),
        );
        let source = told["host"]["gpus"]["source"]
            .as_str()
            .map(ToOwned::to_owned);
        check(
            "source",
            format!("{source:?}"),
            format!("{:?}", shape.expect.source),
        );
        let codes = |findings: &Value| -> Vec<String> {
            let all = findings.as_array().unwrap().iter();
            all.map(|f| f["code"].as_str().unwrap().to_owned())
                .collect()
        };
        let mut remarks = codes(&told["remarks"]);
        remarks.sort();
        check(
            "remarks",
            format!("{remarks:?}"),
            format!("{:?}", shape.expect.remarks),
        );
        let mut best = 3;
        for bundle in told["bundles"].as_array().unwrap() {
            let place = short(bundle["place"].as_str().unwrap());
            let verdict = bundle["verdict"].as_str().unwrap();
            let rank = ["runs", "runs-with-jit", "unknown", "will-not"];
            best = best.min(rank.iter().position(|v| *v == verdict).unwrap());
            let want = shape.expect.verdicts[&place].as_str();
            let (want, reason) = want
                .split_once(' ')
                .map_or((want, None), |(v, r)| (v, Some(r)));
            check(&place, verdict.to_owned(), want.to_owned());
            let codes = codes(&bundle["reasons"]);
            if let Some(reason) = reason
                && !codes.iter().any(|code| code == reason)
            {
                check(&place, format!("{codes:?}"), reason.to_owned());
            }
            for reason in bundle["reasons"].as_array().unwrap() {
                // A no has a way out; what is only worth knowing need not.
                let has_hint = reason["hint"].as_str().is_some_and(|h| h.len() > 10);
                assert!(has_hint || reason["severity"] == "note", "{name}: {reason}");
            }
            let errors = bundle["reasons"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|r| r["severity"] == "error")
                .count();
            assert_eq!(verdict == "will-not", errors > 0, "{name}: {bundle}");
        }
        let code = match best {
            0 | 1 => 0,
            2 => 2,
            _ => 1,
        };
        check(
            "exit status",
            format!("{:?}", out.status.code()),
            format!("{:?}", Some(code)),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn shape(name: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    all()[name].make(dir.path());
    let path = dir.path().to_str().unwrap().to_owned();
    (dir, path)
}

#[test]
fn the_text_tells_host_verdict_reason_and_way_out() {
    let (dir, root) = shape("a100-ubuntu2204");
    let index_path = dir.path().join("index.json");
    std::fs::write(&index_path, index().to_bytes().unwrap()).unwrap();
    let out = bundler(&["doctor", index_path.to_str().unwrap(), "--sysroot", &root]);
    assert_eq!(out.status.code(), Some(0));
    let text = String::from_utf8(out.stdout).unwrap().replace(&root, "");
    insta::assert_snapshot!(text, @r"
    host
      arch       amd64
      system     Ubuntu 22.04.5 LTS
      kernel     5.15.0-130-generic
      C library  glibc 2.35 (/lib/x86_64-linux-gnu/libc.so.6)
      C++        GLIBCXX_3.4.30, CXXABI_1.3.13 (/lib/x86_64-linux-gnu/libstdc++.so.6)
      driver     550.54.15, CUDA 12.4 (kernel module)
      GPU        NVIDIA A100-SXM4-80GB (8.0) (nvidia-smi)
      libcuda    /lib/x86_64-linux-gnu/libcuda.so.1
      PTX JIT    /lib/x86_64-linux-gnu/libnvidia-ptxjitcompiler.so.1
      devices    /dev/nvidia-uvm /dev/nvidia0 /dev/nvidiactl
      place      /home/user/.local/share/pointcept-runtime, ext4, 900.0 GB free, 50000000 files
      home       /home/user, ext4, 900.0 GB free, 50000000 files
      cache      /home/user/.cache, ext4, 900.0 GB free, 50000000 files
      compiler   /usr/bin/gcc

    runs: ops 1.0 amd64-cu126 (/ops-amd64-cu126.tar.zst)
      1 note (-v shows it)

    runs: runtime 1.0 amd64-cu126 (/runtime-amd64-cu126.tar.zst)
      1 note (-v shows it)

    will not run: runtime 1.0 amd64-cu130 (/runtime-amd64-cu130.tar.zst)
      error[driver-too-old] driver: the driver is 550.54.15, the bundle needs 580.65.06 or newer
        hint: have the driver updated, or take a bundle for an older CUDA; or, on data centre GPUs, NVIDIA's cuda-compat package for CUDA 13.0
      1 note (-v shows it)

    will not run: runtime 1.0 arm64-cu130 (/runtime-arm64-cu130.tar.zst)
      error[arch-mismatch] architecture: the bundle is for arm64, this host is amd64
        hint: take the bundle for amd64
    ");
}

#[test]
fn without_a_known_gpu_it_says_so_and_exits_2() {
    for name in ["unknown-model", "no-driver"] {
        let (_dir, root) = shape(name);
        let out = bundler(&["doctor", "--sysroot", &root]);
        assert_eq!(out.status.code(), Some(2), "{name}");
        let text = String::from_utf8(out.stderr).unwrap();
        insta::allow_duplicates! { insta::assert_snapshot!(text, @r"
        error: the GPU of this host is unknown
        hint: pass --gpu X.Y, its compute capability, such as --gpu 9.0
        ") };
    }
}

#[test]
fn this_machine_can_be_examined() {
    let out = bundler(&[
        "doctor",
        "--gpu",
        "9.0",
        "--driver",
        "580.95.05",
        "--output-format",
        "json",
    ]);
    assert_eq!(out.status.code(), Some(0));
    let told = json(&out);
    assert_eq!(told["schema_version"], 1);
    assert_eq!(told["host"]["driver"]["version"], "580.95.05");
    assert_eq!(told["host"]["driver"]["cuda"], "13.0");
    assert_eq!(told["host"]["libc"]["kind"], "glibc");
    assert!(!String::from_utf8_lossy(&out.stdout).contains("null"));
}

#[test]
fn reads_bundles_trees_and_what_stands_beside_them() {
    let (dir, root) = shape("h100-debian12");
    let packed = synthetic::bundle(dir.path(), false);
    let tree = dir.path().join("runtime");
    std::fs::create_dir(&tree).unwrap();
    std::fs::write(tree.join("bundle.json"), packed.bundle.to_bytes().unwrap()).unwrap();
    let json_file = packed
        .side_files
        .iter()
        .find(|p| p.extension().is_some_and(|e| e == "json"));
    for path in [&packed.path, &tree, json_file.unwrap()] {
        let out = bundler(&[
            "doctor",
            path.to_str().unwrap(),
            "--sysroot",
            &root,
            "--output-format",
            "json",
        ]);
        assert_eq!(
            out.status.code(),
            Some(0),
            "{}: {}",
            path.display(),
            String::from_utf8_lossy(&out.stderr)
        );
        let told = json(&out);
        assert_eq!(told["bundles"][0]["verdict"], "runs");
        assert_eq!(told["bundles"][0]["target"], "amd64-cu130");
    }
}

#[test]
fn what_cannot_be_examined_is_refused_with_the_reason() {
    let (dir, root) = shape("h100-debian12");
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("junk.tar.zst"), b"junk").unwrap();
    std::fs::write(path("junk.json"), b"{}").unwrap();
    std::fs::write(path("new.json"), br#"{"schema_version": 7, "bundles": []}"#).unwrap();
    std::fs::create_dir(path("empty")).unwrap();
    let mut seen = String::new();
    for name in ["junk.tar.zst", "junk.json", "new.json", "empty", "absent"] {
        let out = bundler(&["doctor", &path(name), "--sysroot", &root]);
        assert_eq!(out.status.code(), Some(2), "{name}");
        seen += &format!("{name}:\n{}\n", String::from_utf8(out.stderr).unwrap());
    }
    let out = bundler(&["doctor", "--sysroot", &path("junk.json")]);
    seen += &format!("root:\n{}\n", String::from_utf8(out.stderr).unwrap());
    std::fs::write(path("host.json"), b"{\"nonsense\": 1}").unwrap();
    let out = bundler(&["doctor", "--sysroot", &root]);
    seen += &format!("host.json:\n{}\n", String::from_utf8(out.stderr).unwrap());
    let out = bundler(&["doctor", "--deep", "--sysroot", "/", "--gpu", "9.0"]);
    seen += &format!("deep:\n{}", String::from_utf8(out.stderr).unwrap());
    insta::assert_snapshot!(seen.replace(&root, "[dir]"), @r"
    junk.tar.zst:
    error: could not read the bundle [dir]/junk.tar.zst
      caused by: this is no bundle
      caused by: it does not begin with zstd's magic number

    junk.json:
    error: could not read the index [dir]/junk.json
      caused by: the index does not have the expected form
      caused by: missing field `schema_version` at line 1 column 2

    new.json:
    error: could not read the index [dir]/new.json
      caused by: the index has schema version 7, this program reads 1

    empty:
    error: [dir]/empty is no unpacked bundle: it has no bundle.json

    absent:
    error: [dir]/absent is not there

    root:
    error: [dir]/junk.json is no folder

    host.json:
    error: could not read what [dir]/host.json says of the host
      caused by: unknown field `nonsense`, expected one of `origin`, `environment`, `nvidia_smi`, `room`, `denied` at line 1 column 11

    deep:
    error: --deep asks the driver through the python of an unpacked bundle
    hint: name its folder: bundler doctor --deep path/to/runtime
    ");
}

#[test]
fn deep_asks_the_driver_through_the_bundle_and_never_waits_for_ever() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let packed = synthetic::bundle(dir.path(), false);
    let tree = dir.path().join("runtime");
    std::fs::create_dir_all(tree.join("bin")).unwrap();
    std::fs::write(tree.join("bundle.json"), packed.bundle.to_bytes().unwrap()).unwrap();
    let python = |script: &str| {
        let path = tree.join("bin/python");
        std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    };
    let deep = || {
        let out = bundler(&[
            "doctor",
            "--deep",
            tree.to_str().unwrap(),
            "--output-format",
            "json",
        ]);
        (out.status.code(), json(&out))
    };
    python(
        r#"echo '{"driver": 13000, "error": 0, "devices": [{"name": "NVIDIA H200", "major": 9, "minor": 0}]}'"#,
    );
    let (_, told) = deep();
    assert_eq!(told["host"]["gpus"]["source"], "libcuda");
    assert_eq!(told["host"]["gpus"]["devices"][0]["capability"], "9.0");
    python(r#"echo '{"driver": 13000, "error": 803, "devices": []}'"#);
    let (code, told) = deep();
    assert_eq!(code, Some(1));
    assert_eq!(told["remarks"][0]["code"], "libcuda-fails");
    assert!(
        told["remarks"][0]["message"]
            .as_str()
            .unwrap()
            .contains("803")
    );
    python("echo 'OSError: libcuda.so.1: cannot open shared object file' >&2; exit 1");
    let (code, told) = deep();
    assert_eq!(code, Some(1));
    assert!(
        told["remarks"][0]["message"]
            .as_str()
            .unwrap()
            .contains("cannot open")
    );
}
