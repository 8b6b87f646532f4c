//! Every rule of the audit finds its fault and leaves what is right alone. ELF files are made by gcc.

mod builder;
mod size;

use bundler::base::digest::Digest;
use bundler::base::finding::{Finding, Severity};
use bundler::base::target::Arch;
use bundler::build::assemble::Tree;
use bundler::build::audit::{AuditRequest, Policy, Report, audit, report};
use bundler::build::recipe::Waiver;
use bundler::formats::bundle::{CodeSet, Coverage};
use bundler::formats::component::{Entry, FileFacts, TextFacts};
use bundler::formats::fatbin::GpuFacts;
use bundler::formats::floor::Floor;

use crate::fatbin::{container, library, ptx, sass};
use crate::trees::{Gcc, SITE, file, interpreter, link, request, text, tree, tree_of, wheel};

fn at(rest: &str) -> String {
    format!("{SITE}/{rest}")
}

fn judged(tree: &Tree) -> Report {
    judged_by(tree, &request())
}

fn judged_by(tree: &Tree, request: &AuditRequest) -> Report {
    report(tree, request, Policy::embedded())
}

/// The codes found, sorted, with the paths below site-packages.
fn codes(report: &Report) -> Vec<(String, String)> {
    let short = |f: &Finding| {
        let path = f.path.strip_prefix(&format!("{SITE}/")).unwrap_or(&f.path);
        (f.code.clone(), path.to_owned())
    };
    report.findings.iter().map(short).collect()
}

#[track_caller]
fn one(report: &Report, code: &str, path: &str, severity: Severity) -> Finding {
    assert_eq!(
        codes(report),
        [(code.to_owned(), path.to_owned())],
        "{report:#?}"
    );
    let finding = report.findings[0].clone();
    assert_eq!(finding.severity, severity);
    assert!(!finding.message.ends_with('.') && !finding.message.is_empty());
    finding
}

#[track_caller]
fn clean(report: &Report) {
    assert!(report.findings.is_empty(), "{:#?}", report.findings);
}

/// A library `libdep.so.1` and one that needs it with these extra linker arguments.
fn pair(args: &[&str]) -> (Vec<u8>, Vec<u8>) {
    let gcc = Gcc::new();
    let dep = gcc.library("libdep.so.1", &[]);
    let mut all = vec!["-l:libdep.so.1"];
    all.extend(args);
    (dep, gcc.library("libuser.so", &all))
}

#[test]
fn a_library_nobody_has_is_an_error() {
    let (_, user) = pair(&[]);
    let report = judged(&tree(vec![file(&at("p/libuser.so"), &user)]));
    let finding = one(
        &report,
        "elf-needed-missing",
        "p/libuser.so",
        Severity::Error,
    );
    assert!(finding.message.contains("libdep.so.1"));
    assert!(finding.hint.is_some());
    assert!(audit(tree(vec![file(&at("p/libuser.so"), &user)]), &request()).is_err());
}

#[test]
fn a_library_on_the_runpath_is_found() {
    for tags in ["-Wl,--enable-new-dtags", "-Wl,--disable-new-dtags"] {
        for element in ["$ORIGIN/../q", "${ORIGIN}/../q", "/nowhere:$ORIGIN/../q"] {
            let rpath = format!("-Wl,-rpath,{element}");
            let (dep, user) = pair(&[tags, &rpath]);
            let report = judged(&tree(vec![
                file(&at("p/libuser.so"), &user),
                file(&at("q/libdep.so.1"), &dep),
            ]));
            let errors = report
                .findings
                .iter()
                .filter(|f| f.severity == Severity::Error);
            assert_eq!(errors.count(), 0, "{tags} {element}: {:?}", report.findings);
        }
    }
}

#[test]
fn a_library_that_is_there_but_not_on_the_path_is_an_error_that_says_where_it_is() {
    let (dep, user) = pair(&[]);
    let report = judged(&tree(vec![
        file(&at("p/libuser.so"), &user),
        file(&at("q/libdep.so.1"), &dep),
    ]));
    let finding = one(
        &report,
        "elf-needed-unreachable",
        "p/libuser.so",
        Severity::Error,
    );
    assert!(finding.message.contains(&at("q/libdep.so.1")));
}

#[test]
fn links_on_the_way_are_followed() {
    let (dep, user) = pair(&["-Wl,-rpath,$ORIGIN/../other"]);
    let entries = |goal: &str| {
        vec![
            file(&at("p/libuser.so"), &user),
            link(&at("other"), "real"),
            link(&at("real/libdep.so.1"), goal),
            file(&at("real/libdep.so.1.0"), &dep),
        ]
    };
    clean(&judged(&tree(entries("libdep.so.1.0"))));
    let report = judged(&tree(entries("libgone.so")));
    let found = codes(&report);
    assert!(found.contains(&(
        "elf-needed-unreachable".to_owned(),
        "p/libuser.so".to_owned()
    )));
    assert!(found.contains(&("link-dangling".to_owned(), "real/libdep.so.1".to_owned())));
}

#[test]
fn an_rpath_serves_what_it_loads_but_a_runpath_does_not() {
    let gcc = Gcc::new();
    let deep = gcc.library("libdeep.so.1", &[]);
    let middle = gcc.library("libmiddle.so.1", &["-l:libdeep.so.1"]);
    let top = |tags: &str| {
        gcc.library(
            "libtop.so",
            &[
                "-l:libmiddle.so.1",
                "-Wl,-rpath,$ORIGIN/lib",
                "-Wl,-rpath-link,.",
                tags,
            ],
        )
    };
    let of = |tags: &str| {
        judged(&tree(vec![
            file(&at("p/libtop.so"), &top(tags)),
            file(&at("p/lib/libmiddle.so.1"), &middle),
            file(&at("p/lib/libdeep.so.1"), &deep),
        ]))
    };
    clean(&of("-Wl,--disable-new-dtags"));
    one(
        &of("-Wl,--enable-new-dtags"),
        "elf-needed-unreachable",
        "p/lib/libmiddle.so.1",
        Severity::Error,
    );
}

#[test]
fn a_runpath_of_its_own_ends_what_a_file_inherits() {
    let gcc = Gcc::new();
    let deep = gcc.library("libdeep.so.1", &[]);
    let middle = gcc.library(
        "libmiddle.so.1",
        &["-l:libdeep.so.1", "-Wl,-rpath,$ORIGIN/none"],
    );
    let top = gcc.library(
        "libtop.so",
        &[
            "-l:libmiddle.so.1",
            "-Wl,-rpath,$ORIGIN/lib",
            "-Wl,-rpath-link,.",
            "-Wl,--disable-new-dtags",
        ],
    );
    let report = judged(&tree(vec![
        file(&at("p/libtop.so"), &top),
        file(&at("p/lib/libmiddle.so.1"), &middle),
        file(&at("p/lib/libdeep.so.1"), &deep),
    ]));
    one(
        &report,
        "elf-needed-unreachable",
        "p/lib/libmiddle.so.1",
        Severity::Error,
    );
}

#[test]
fn what_torch_preloads_is_there_for_others() {
    let gcc = Gcc::new();
    let blas = gcc.library("libcublas.so.13", &[]);
    let user = gcc.library("libuser.so", &["-l:libcublas.so.13"]);
    let entries = vec![
        file(&at("p/libuser.so"), &user),
        file(&at("nvidia/cu13/lib/libcublas.so.13"), &blas),
    ];
    let report = judged(&tree(entries.clone()));
    one(
        &report,
        "elf-needed-unreachable",
        "p/libuser.so",
        Severity::Error,
    );
    let torch = wheel("torch", vec![file(&at("torch/__init__.py"), b"")]);
    clean(&judged(
        &tree_of(vec![torch, wheel("pkg", entries)]).unwrap(),
    ));
}

#[test]
fn the_interpreter_serves_extension_modules() {
    let gcc = Gcc::new();
    let libpython = gcc.library("libpython3.12.so.1.0", &[]);
    let module = gcc.library(
        "mod.cpython-312-x86_64-linux-gnu.so",
        &["-l:libpython3.12.so.1.0"],
    );
    let main = gcc.make(
        "python3.12",
        "int main(void) { return 0; }",
        &[
            "-L.",
            "-l:libpython3.12.so.1.0",
            "-Wl,-rpath,$ORIGIN/../lib",
        ],
    );
    let python = interpreter(vec![
        file("python/bin/python3.12", &main),
        file("python/lib/libpython3.12.so.1.0", &libpython),
    ]);
    let user = wheel(
        "pkg",
        vec![file(&at("mod.cpython-312-x86_64-linux-gnu.so"), &module)],
    );
    clean(&judged(&tree_of(vec![python, user.clone()]).unwrap()));
    let report = judged(&tree_of(vec![user]).unwrap());
    one(
        &report,
        "elf-needed-missing",
        "mod.cpython-312-x86_64-linux-gnu.so",
        Severity::Error,
    );
}

#[test]
fn host_libraries_of_policy_and_recipe_become_host_needs() {
    let gcc = Gcc::new();
    let special = gcc.library("libspecial.so.3", &[]);
    drop(special);
    let user = gcc.make(
        "libuser.so",
        "#include <stdio.h>\nvoid hello(void) { puts(\"\"); }",
        &["-shared", "-fPIC", "-L.", "-l:libspecial.so.3"],
    );
    let tree = tree(vec![file(&at("p/libuser.so"), &user)]);
    one(
        &judged(&tree),
        "elf-needed-missing",
        "p/libuser.so",
        Severity::Error,
    );
    let request = AuditRequest {
        host_libraries: vec!["libspecial.so.3".to_owned()],
        ..request()
    };
    let report = judged_by(&tree, &request);
    clean(&report);
    let libraries: Vec<(&str, bool)> = report
        .host_needs
        .iter()
        .map(|n| (n.library.as_str(), n.optional))
        .collect();
    assert_eq!(
        libraries,
        [("libc.so.6", false), ("libspecial.so.3", false)]
    );
    assert_eq!(report.host_needs[1].needed_by, [at("p/libuser.so")]);
}

#[test]
fn plug_ins_may_lack_their_libraries_and_only_those() {
    let gcc = Gcc::new();
    gcc.library("libmpi.so.40", &[]);
    gcc.library("libodd.so.1", &[]);
    let plugin = gcc.library("nvshmem_bootstrap_mpi.so.3", &["-l:libmpi.so.40"]);
    let odd = gcc.library("nvshmem_bootstrap_mpi.so.3", &["-l:libodd.so.1"]);
    let path = at("nvidia/nvshmem/lib/nvshmem_bootstrap_mpi.so.3");
    let report = judged(&tree(vec![file(&path, &plugin)]));
    clean(&report);
    let need = &report.host_needs[0];
    assert_eq!(
        (need.library.as_str(), need.optional),
        ("libmpi.so.40", true)
    );
    assert_eq!(need.needed_by, std::slice::from_ref(&path));
    assert_eq!(
        need.switches_off,
        ["starting NVSHMEM through MPI, OpenSHMEM or PMIx"]
    );
    let report = judged(&tree(vec![file(&path, &odd)]));
    assert_eq!(report.findings[0].code, "elf-needed-missing");
}

#[test]
fn interpreter_modules_may_lack_their_library_and_say_which_they_are() {
    let gcc = Gcc::new();
    gcc.library("libsqlite3.so.0", &[]);
    let module = gcc.library(
        "_sqlite3.cpython-312-x86_64-linux-gnu.so",
        &["-l:libsqlite3.so.0"],
    );
    let name = "_sqlite3.cpython-312-x86_64-linux-gnu.so";
    let inside = interpreter(vec![file(
        &format!("python/lib/python3.12/lib-dynload/{name}"),
        &module,
    )]);
    let report = judged(&tree_of(vec![inside]).unwrap());
    clean(&report);
    assert_eq!(report.host_needs[0].switches_off, ["_sqlite3"]);
    assert!(report.host_needs[0].optional);
    let report = judged(&tree(vec![file(&at(name), &module)]));
    assert_eq!(report.findings[0].code, "elf-needed-missing");
}

/// `libv.so.1` that defines these versions, and `libuser.so` that needs `V_2` of it.
fn versioned(defined: &str) -> (Vec<u8>, Vec<u8>) {
    let gcc = Gcc::new();
    std::fs::write(
        gcc.path("full.map"),
        "V_1 { global: one; };\nV_2 { global: two; } V_1;\n",
    )
    .unwrap();
    std::fs::write(gcc.path("used.map"), defined).unwrap();
    let source = "int one(void) { return 1; }\nint two(void) { return 2; }";
    let args = ["-shared", "-fPIC", "-nostdlib", "-Wl,-soname,libv.so.1"];
    gcc.make(
        "libv.so.1",
        source,
        &[&args[..], &["-Wl,--version-script,full.map"]].concat(),
    );
    let user = gcc.make(
        "libuser.so",
        "int two(void); int both(void) { return two(); }",
        &[
            "-shared",
            "-fPIC",
            "-nostdlib",
            "-L.",
            "-l:libv.so.1",
            "-Wl,-rpath,$ORIGIN",
        ],
    );
    let script: &[&str] = if defined.is_empty() {
        &[]
    } else {
        &["-Wl,--version-script,used.map"]
    };
    let library = gcc.make("libv.so.1", source, &[&args[..], script].concat());
    (library, user)
}

#[test]
fn a_library_of_the_tree_must_have_the_versions_asked_for() {
    let of = |defined: &str| {
        let (library, user) = versioned(defined);
        judged(&tree(vec![
            file(&at("p/libuser.so"), &user),
            file(&at("p/libv.so.1"), &library),
        ]))
    };
    let finding = one(
        &of("V_1 { global: one; two; };\n"),
        "elf-version-missing",
        "p/libuser.so",
        Severity::Error,
    );
    assert!(finding.message.contains("V_2"));
    clean(&of("V_1 { global: one; };\nV_2 { global: two; } V_1;\n"));
    clean(&of(""));
}

/// A library that needs GLIBC_2.34 of the host, whatever glibc the builder has.
fn needs_glibc(version: &str) -> Vec<u8> {
    let gcc = Gcc::new();
    std::fs::write(gcc.path("c.map"), format!("{version} {{ global: f; }};\n")).unwrap();
    let args = [
        "-shared",
        "-fPIC",
        "-nostdlib",
        "-Wl,-soname,libc.so.6",
        "-Wl,--version-script,c.map",
    ];
    gcc.make("fake.so", "int f(void) { return 1; }", &args);
    gcc.make(
        "libuser.so",
        "int f(void); int g(void) { return f(); }",
        &["-shared", "-fPIC", "-nostdlib", "-L.", "-l:fake.so"],
    )
}

fn floor(glibc: &str) -> AuditRequest {
    AuditRequest {
        declared: Floor {
            glibc: Some(glibc.parse().unwrap()),
            ..Floor::default()
        },
        ..request()
    }
}

#[test]
fn the_floor_is_measured_and_the_file_to_blame_is_named() {
    let tree = tree(vec![
        file(&at("a/low.so"), &needs_glibc("GLIBC_2.9")),
        file(&at("b/high.so"), &needs_glibc("GLIBC_2.30")),
        file(&at("c/high.so"), &needs_glibc("GLIBC_2.30")),
        file(&at("d/private.so"), &needs_glibc("GLIBC_PRIVATE")),
    ]);
    let report = judged_by(&tree, &floor("2.30"));
    clean(&report);
    assert_eq!(report.floor.glibc, Some("2.30".parse().unwrap()));
    assert_eq!(
        (
            report.blame[0].version.as_str(),
            report.blame[0].path.as_str()
        ),
        ("GLIBC_2.30", at("b/high.so").as_str())
    );
    let report = judged_by(&tree, &floor("2.28"));
    let wanted = ["b/high.so", "c/high.so"].map(|p| ("glibc-too-new".to_owned(), p.to_owned()));
    assert_eq!(codes(&report), wanted);
}

#[test]
fn relative_relocations_raise_the_floor_to_the_glibc_that_knows_them() {
    let report = judged_by(
        &tree(vec![file(&at("a.so"), &needs_glibc("GLIBC_ABI_DT_RELR"))]),
        &floor("2.28"),
    );
    one(&report, "glibc-too-new", "a.so", Severity::Error);
    assert_eq!(report.floor.glibc, Some("2.36".parse().unwrap()));
}

#[test]
fn versions_that_the_tree_gives_are_not_the_hosts_affair() {
    let gcc = Gcc::new();
    std::fs::write(gcc.path("x.map"), "GLIBCXX_3.4.99 { global: f; };\n").unwrap();
    let library = gcc.make(
        "libstdc++.so.6",
        "int f(void) { return 1; }",
        &[
            "-shared",
            "-fPIC",
            "-nostdlib",
            "-Wl,-soname,libstdc++.so.6",
            "-Wl,--version-script,x.map",
        ],
    );
    let user = gcc.make(
        "libuser.so",
        "int f(void); int g(void) { return f(); }",
        &[
            "-shared",
            "-fPIC",
            "-nostdlib",
            "-L.",
            "-l:libstdc++.so.6",
            "-Wl,-rpath,$ORIGIN",
        ],
    );
    let alone = judged(&tree(vec![file(&at("p/libuser.so"), &user)]));
    assert_eq!(alone.floor.glibcxx, Some("3.4.99".parse().unwrap()));
    let both = judged(&tree(vec![
        file(&at("p/libuser.so"), &user),
        file(&at("p/libstdc++.so.6"), &library),
    ]));
    assert_eq!(both.floor.glibcxx, None);
}

#[test]
fn a_file_for_another_machine_is_an_error() {
    let (dep, _) = pair(&[]);
    let mut foreign = dep.clone();
    foreign[18..20].copy_from_slice(&183u16.to_le_bytes());
    let entries = |bytes: &[u8]| tree(vec![file(&at("x.so"), bytes)]);
    let finding = one(
        &judged(&entries(&foreign)),
        "elf-wrong-machine",
        "x.so",
        Severity::Error,
    );
    assert_eq!(
        finding.message,
        "is built for AArch64, the bundle is for amd64"
    );
    clean(&judged(&entries(&dep)));
    let arm = AuditRequest {
        arch: Arch::Arm64,
        ..request()
    };
    one(
        &judged_by(&entries(&dep), &arm),
        "elf-wrong-machine",
        "x.so",
        Severity::Error,
    );
}

#[test]
fn device_code_and_object_files_are_not_judged_as_libraries() {
    let gcc = Gcc::new();
    let object = gcc.make("x.o", "int x;", &["-c"]);
    let mut cubin = pair(&[]).0;
    cubin[18..20].copy_from_slice(&190u16.to_le_bytes());
    clean(&judged(&tree(vec![
        file(&at("x.o"), &object),
        file(&at("k.cubin"), &cubin),
    ])));
}

#[test]
fn a_damaged_elf_file_is_an_error_with_an_offset() {
    let (dep, _) = pair(&[]);
    let report = judged(&tree(vec![file(&at("x.so"), &dep[..100])]));
    let finding = one(&report, "elf-unreadable", "x.so", Severity::Error);
    assert!(
        finding.message.contains("at offset 0x40"),
        "{}",
        finding.message
    );
}

#[test]
fn driver_and_c_libraries_never_ship() {
    let gcc = Gcc::new();
    for (name, code) in [
        ("libcuda.so.1", "driver-library-shipped"),
        ("libcuda-984fdb42.so.570.133.07", "driver-library-shipped"),
        ("libnvidia-ml.so.1", "driver-library-shipped"),
        ("libc.so.6", "libc-shipped"),
        ("libm-9f1a2b3c.so.6", "libc-shipped"),
    ] {
        let bytes = gcc.library(name, &[]);
        let report = judged(&tree(vec![file(&at(&format!("x.libs/{name}")), &bytes)]));
        one(&report, code, &format!("x.libs/{name}"), Severity::Error);
    }
    for name in [
        "libcudart.so.13",
        "libcudnn.so.9",
        "libnvrtc.so.13",
        "libcrypt-0a1b2c3d.so.1",
        "libcublas.so.13",
    ] {
        let bytes = gcc.library(name, &[]);
        clean(&judged(&tree(vec![file(
            &at(&format!("x.libs/{name}")),
            &bytes,
        )])));
    }
    let loader = "torchvision.libs/ld-linux-aarch64.5cbc5e90.so.1";
    let bytes = gcc.library("ld-linux-aarch64.5cbc5e90.so.1", &[]);
    let report = judged(&tree(vec![file(&at(loader), &bytes)]));
    one(&report, "loader-shipped", loader, Severity::Warning);
    let stub = gcc.library("libcuda.so.1", &[]);
    clean(&judged(&tree(vec![file(
        &at("nvidia/cu13/lib/stubs/libcuda.so"),
        &stub,
    )])));
}

#[test]
fn executable_stacks_and_text_relocations_are_warnings() {
    let gcc = Gcc::new();
    let stack = gcc.library("libstack.so", &["-z", "execstack"]);
    one(
        &judged(&tree(vec![file(&at("a.so"), &stack)])),
        "elf-executable-stack",
        "a.so",
        Severity::Warning,
    );
    clean(&judged(&tree(vec![file(
        &at("a.so"),
        &gcc.library("libplain.so", &[]),
    )])));
    let source = "__asm__(\".text\\n.globl f\\nf: .quad f\\n\");";
    let args = [
        "-shared",
        "-nostdlib",
        "-Wl,-z,notext",
        "-Wl,-soname,libtext.so",
    ];
    let text = gcc.make("libtext.so", source, &args);
    one(
        &judged(&tree(vec![file(&at("a.so"), &text)])),
        "elf-text-relocations",
        "a.so",
        Severity::Warning,
    );
}

#[test]
fn arm64_files_must_be_aligned_for_large_pages() {
    let gcc = Gcc::new();
    let made = |size: &str| {
        let mut bytes = gcc.library("libx.so", &[size]);
        bytes[18..20].copy_from_slice(&183u16.to_le_bytes());
        judged_by(
            &tree(vec![file(&at("a.so"), &bytes)]),
            &AuditRequest {
                arch: Arch::Arm64,
                ..request()
            },
        )
    };
    one(
        &made("-Wl,-z,max-page-size=4096"),
        "elf-page-alignment",
        "a.so",
        Severity::Warning,
    );
    clean(&made("-Wl,-z,max-page-size=65536"));
}

#[test]
fn rpaths_that_leave_the_tree_are_warnings_from_a_wheel_and_errors_from_the_interpreter() {
    let gcc = Gcc::new();
    for (element, code) in [
        ("/usr/local/cuda/lib64", "absolute-rpath"),
        ("lib", "relative-rpath"),
        ("$ORIGIN:", "relative-rpath"),
        ("$ORIGIN/../../../../../../lib", "rpath-leaves-tree"),
    ] {
        let bytes = gcc.library("libx.so", &[&format!("-Wl,-rpath,{element}")]);
        one(
            &judged(&tree(vec![file(&at("a.so"), &bytes)])),
            code,
            "a.so",
            Severity::Warning,
        );
        let python = interpreter(vec![file("python/lib/libx.so", &bytes)]);
        let report = judged(&tree_of(vec![python]).unwrap());
        one(&report, code, "python/lib/libx.so", Severity::Error);
    }
    let bytes = gcc.library("libx.so", &["-Wl,-rpath,$ORIGIN/../lib:${ORIGIN}"]);
    clean(&judged(&tree(vec![file(&at("a.so"), &bytes)])));
}

fn script(path: &str, line: &str, mode: u32) -> Entry {
    let facts = TextFacts {
        shebang: Some(line.to_owned()),
        ..TextFacts::default()
    };
    Entry {
        mode,
        ..text(path, facts)
    }
}

#[test]
fn commands_never_start_a_python_of_the_host() {
    let tool = "python/bin/tool";
    for line in [
        "/usr/bin/python3",
        "/usr/bin/env python3",
        "/usr/bin/env -S python3 -u",
        "/home/ci/v/bin/python",
        "/install/bin/x",
    ] {
        one(
            &judged(&tree(vec![script(tool, line, 0o755)])),
            "absolute-path",
            tool,
            Severity::Error,
        );
    }
    for line in ["/bin/sh", "/usr/bin/perl", "/usr/bin/env bash"] {
        clean(&judged(&tree(vec![script(tool, line, 0o755)])));
    }
}

#[test]
fn modules_with_a_shebang_are_left_alone_unless_it_names_the_builder() {
    let module = at("pkg/tool.py");
    clean(&judged(&tree(vec![script(
        &module,
        "/usr/bin/env python3",
        0o755,
    )])));
    clean(&judged(&tree(vec![script(
        &module,
        "/home/ci/v/bin/python",
        0o644,
    )])));
    one(
        &judged(&tree(vec![script(&module, "/home/ci/v/bin/python", 0o755)])),
        "absolute-path",
        "pkg/tool.py",
        Severity::Error,
    );
}

#[test]
fn links_must_stay_in_the_bundle_and_lead_somewhere() {
    let of = |goal: &str| judged(&tree(vec![link(&at("l"), goal), file(&at("d/f"), b"")]));
    one(&of("/etc/passwd"), "absolute-path", "l", Severity::Error);
    one(
        &of("../../../../../x"),
        "link-leaves-tree",
        "l",
        Severity::Error,
    );
    one(&of("gone"), "link-dangling", "l", Severity::Warning);
    one(&of("l"), "link-dangling", "l", Severity::Warning);
    clean(&of("d/f"));
    clean(&of("d"));
    clean(&of("../site-packages/d/../d/f"));
}

#[test]
fn pth_lines_must_stay_in_the_bundle() {
    let of = |line: &str| {
        let facts = TextFacts {
            pth_paths: vec![line.to_owned()],
            ..TextFacts::default()
        };
        judged(&tree(vec![text(&at("x.pth"), facts)]))
    };
    one(
        &of("/home/ci/src"),
        "absolute-path",
        "x.pth",
        Severity::Error,
    );
    one(
        &of("../../../../../x"),
        "pth-leaves-tree",
        "x.pth",
        Severity::Error,
    );
    clean(&of("../../../../src/app"));
}

#[test]
fn configuration_names_no_place_of_the_builder() {
    let of = |paths: &[&str]| {
        let absolute_paths = paths.iter().map(|p| (*p).to_owned()).collect();
        judged(&tree(vec![text(
            &at("x.pc"),
            TextFacts {
                absolute_paths,
                ..TextFacts::default()
            },
        )]))
    };
    let finding = one(
        &of(&["/install", "/a", "/b", "/c", "/d"]),
        "absolute-path",
        "x.pc",
        Severity::Error,
    );
    assert!(
        finding.message.ends_with("/install, /a, /b, 2 more"),
        "{}",
        finding.message
    );
    clean(&of(&["/bin/sh", "/dev/null"]));
}

#[test]
fn start_up_hooks_must_be_allowed_by_digest() {
    let facts = TextFacts {
        pth_code: vec!["import os; os.system('\u{1b}[2J')".to_owned()],
        ..TextFacts::default()
    };
    let hook = text(&at("x.pth"), facts);
    let sha256 = hook.sha256.unwrap();
    let report = judged(&tree(vec![hook.clone()]));
    let finding = one(&report, "startup-hook", "x.pth", Severity::Error);
    assert!(finding.hint.unwrap().contains(&sha256.to_string()));
    assert!(!finding.message.contains('\u{1b}'));
    let allowed = AuditRequest {
        allowed_hooks: vec![sha256],
        ..request()
    };
    one(
        &judged_by(&tree(vec![hook.clone()]), &allowed),
        "startup-hook-allowed",
        "x.pth",
        Severity::Note,
    );
    let other = AuditRequest {
        allowed_hooks: vec![Digest::of(b"other")],
        ..request()
    };
    one(
        &judged_by(&tree(vec![hook]), &other),
        "startup-hook",
        "x.pth",
        Severity::Error,
    );
}

#[test]
fn waivers_take_errors_away_and_are_told() {
    let (_, user) = pair(&[]);
    let waive = |path: &str| AuditRequest {
        waivers: vec![Waiver {
            code: "elf-needed-missing".to_owned(),
            path: path.to_owned(),
            reason: "loaded by hand".to_owned(),
        }],
        ..request()
    };
    let made = || tree(vec![file(&at("p/libuser.so"), &user)]);
    let audited = audit(made(), &waive("**/p/*.so")).unwrap();
    assert_eq!(audited.report().waived[0].reason, "loaded by hand");
    assert_eq!(audited.tree().parts().len(), 2);
    clean(audited.report());
    let rejected = audit(made(), &waive("other")).unwrap_err();
    let found: Vec<&str> = rejected
        .report
        .findings
        .iter()
        .map(|f| f.code.as_str())
        .collect();
    assert_eq!(found, ["elf-needed-missing", "waiver-unused"]);
    assert_eq!(
        rejected.to_string(),
        "the audit found 1 error that no waiver covers"
    );
}

#[test]
fn every_rule_of_the_policy_names_real_shapes_of_names() {
    let policy = Policy::embedded();
    let libraries = policy
        .host
        .iter()
        .flat_map(|r| &r.libraries)
        .chain(policy.preload.iter().flat_map(|r| &r.libraries))
        .chain(
            policy
                .plugin
                .iter()
                .flat_map(|r| r.files.iter().chain(&r.missing)),
        )
        .chain(policy.forbidden.iter().flat_map(|r| &r.libraries));
    let mut count = 0;
    for name in libraries {
        assert!(name.contains(".so"), "{name} is no SONAME");
        count += 1;
    }
    assert!(count > 60, "the policy is empty");
    assert!(policy.host.iter().all(|r| !r.why.is_empty()));
    assert!(policy.plugin.iter().all(|r| !r.switches_off.is_empty()));
}

#[test]
fn facts_of_elf_files_that_are_not_read_are_not_invented() {
    let broken = Entry {
        facts: Some(FileFacts::BrokenElf("cut".to_owned())),
        ..file(&at("x.so"), b"\x7fELF")
    };
    let report = judged(&tree(vec![broken]));
    assert_eq!(report.floor, Floor::default());
    assert!(report.host_needs.is_empty());
}

#[test]
fn gpu_code_per_library_is_a_fact_of_the_report() {
    let bytes = library(&[(
        ".nv_fatbin",
        &container(&[sass(80, 0), sass(90, 0), ptx(90, (8, 5))]),
    )]);
    let mut entry = file(&at("ops.so"), &bytes);
    if let Some(FileFacts::Elf(elf)) = &mut entry.facts {
        elf.gpu = GpuFacts::read(&bytes, true).map(Box::new);
    }
    let report = judged(&tree(vec![entry, file(&at("cpu.so"), &pair(&[]).0)]));
    clean(&report);
    let coverage = Coverage {
        library: at("ops.so"),
        sass: vec!["sm_80".to_owned(), "sm_90".to_owned()],
        ptx: vec!["compute_90".to_owned()],
        dispatches: false,
        sets: vec![CodeSet {
            code: ["sm_80", "sm_90", "compute_90 8.5"]
                .map(str::to_owned)
                .to_vec(),
            containers: 1,
        }],
    };
    assert_eq!(report.coverage, [coverage]);
}
