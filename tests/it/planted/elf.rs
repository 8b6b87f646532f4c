//! Faults of ELF files: damaged tables, wrong machines, names, search paths, versions, notes.

use bundler::base::target::Arch;
use bundler::build::audit::AuditRequest;
use bundler::formats::component::Entry;
use bundler::formats::floor::Floor;

use super::edit::{dynamic, header, put, swap};
use super::{Planted, at, planted, under};
use crate::trees::{Gcc, file, request};

const NEEDED: u64 = 1;
const STRTAB: u64 = 5;
const NULL: u64 = 0;
const GNU_STACK: u32 = 0x6474_e551;

pub(super) fn faults() -> Vec<Planted> {
    let mut out = damaged();
    out.extend(machines());
    out.extend(names());
    out.extend(versions());
    out.extend(loading());
    out
}

fn lib(path: &str, bytes: &[u8]) -> Vec<Entry> {
    vec![file(&at(path), bytes)]
}

fn damaged() -> Vec<Planted> {
    let gcc = Gcc::new();
    let good = gcc.library("libx.so", &["-Wl,-z,noexecstack"]);
    let wild = 0x7fff_ffff_ffff_u64.to_le_bytes();
    let strtab = dynamic(&good, STRTAB) + 8;
    let dynamic_header = header(&good, 2);
    let cases: Vec<(&'static str, Vec<u8>)> = vec![
        ("ELF header cut short", good[..40].to_vec()),
        (
            "program headers outside of the file",
            put(good.clone(), 32, &wild),
        ),
        (
            "program headers of another size",
            put(good.clone(), 54, &[55]),
        ),
        ("unknown class", put(good.clone(), 4, &[9])),
        (
            "dynamic section outside of the file",
            put(good.clone(), dynamic_header + 8, &wild),
        ),
        (
            "string table at no address",
            put(good.clone(), strtab, &wild),
        ),
        ("file cut in its middle", good[..good.len() / 8].to_vec()),
    ];
    let right = || lib("p/libx.so", &good);
    cases
        .into_iter()
        .map(|(kind, bytes)| {
            planted(
                kind,
                "elf-unreadable",
                &at("p/libx.so"),
                right(),
                lib("p/libx.so", &bytes),
            )
        })
        .collect()
}

fn machines() -> Vec<Planted> {
    let gcc = Gcc::new();
    let good = gcc.library("libx.so", &["-Wl,-z,noexecstack"]);
    let path = at("p/libx.so");
    let mut out = Vec::new();
    for (kind, machine) in [
        ("AArch64 file in an amd64 bundle", 183u16),
        ("32-bit Arm file", 40),
        ("s390 file", 22),
    ] {
        let bytes = put(good.clone(), 18, &machine.to_le_bytes());
        out.push(planted(
            kind,
            "elf-wrong-machine",
            &path,
            lib("p/libx.so", &good),
            lib("p/libx.so", &bytes),
        ));
    }
    let stack = header(&good, GNU_STACK) + 4;
    let executable = put(good.clone(), stack, &[7]);
    out.push(planted(
        "executable stack",
        "elf-executable-stack",
        &path,
        lib("p/libx.so", &good),
        lib("p/libx.so", &executable),
    ));
    let textrel = put(good.clone(), dynamic(&good, NULL), &22u64.to_le_bytes());
    out.push(planted(
        "text relocations",
        "elf-text-relocations",
        &path,
        lib("p/libx.so", &good),
        lib("p/libx.so", &textrel),
    ));
    let level = gcc.library("libv3.so", &["-Wl,-z,x86-64-v3"]);
    out.push(planted(
        "x86-64-v3 code",
        "cpu-level",
        &path,
        lib("p/libx.so", &good),
        lib("p/libx.so", &level),
    ));
    let arm = put(good.clone(), 18, &183u16.to_le_bytes());
    let mut large = arm.clone();
    let (table, count) = (64, usize::from(arm[56]));
    for header in (0..count).map(|n| table + n * 56) {
        if large[header..header + 4] == 1u32.to_le_bytes() {
            large = put(large, header + 48, &65_536u64.to_le_bytes());
        }
    }
    let arm64 = AuditRequest::plain(Arch::Arm64);
    out.push(under(
        "pages of 4 KiB on arm64",
        "elf-page-alignment",
        &path,
        lib("p/libx.so", &large),
        lib("p/libx.so", &arm),
        &arm64,
    ));
    out.push(under(
        "amd64 file in an arm64 bundle",
        "elf-wrong-machine",
        &path,
        lib("p/libx.so", &large),
        lib("p/libx.so", &good),
        &arm64,
    ));
    out
}

fn names() -> Vec<Planted> {
    let gcc = Gcc::new();
    let dep = gcc.library("libdep.so.1", &[]);
    let user = gcc.library(
        "libuser.so",
        &[
            "-l:libdep.so.1",
            "-Wl,-rpath,$ORIGIN/../q",
            "-Wl,--enable-new-dtags",
        ],
    );
    let path = at("p/libuser.so");
    let with = |user: &[u8], dep_at: &str| vec![file(&path, user), file(&at(dep_at), &dep)];
    let right = || with(&user, "q/libdep.so.1");
    let case = |kind, code, wrong| planted(kind, code, &path, right(), wrong);
    let edited = |from: &str, to: &str| with(&swap(user.clone(), from, to), "q/libdep.so.1");
    let soname = |name: &'static str| {
        let gcc = Gcc::new();
        gcc.library(name, &[])
    };
    let mut out = vec![
        case(
            "needed library misspelt",
            "elf-needed-missing",
            edited("libdep.so.1", "libdeq.so.1"),
        ),
        case(
            "needed library of another version",
            "elf-needed-missing",
            edited("libdep.so.1", "libdep.so.2"),
        ),
        case(
            "needed library left out",
            "elf-needed-missing",
            vec![file(&path, &user)],
        ),
        case(
            "needed library off the search path",
            "elf-needed-unreachable",
            with(&user, "r/libdep.so.1"),
        ),
        case(
            "search path leads elsewhere",
            "elf-needed-unreachable",
            edited("$ORIGIN/../q", "$ORIGIN/../z"),
        ),
        case(
            "absolute search path",
            "absolute-rpath",
            edited("$ORIGIN/../q", "/opt/build/q"),
        ),
        case(
            "relative search path",
            "relative-rpath",
            edited("$ORIGIN/../q", "lib/of/built"),
        ),
        case(
            "search path in the current folder",
            "relative-rpath",
            edited("$ORIGIN/../q", "$ORIGIM/../q"),
        ),
    ];
    let far = gcc.library(
        "libuser.so",
        &["-l:libdep.so.1", "-Wl,-rpath,$ORIGIN/../../../../../../q"],
    );
    out.push(case(
        "search path out of the tree",
        "rpath-leaves-tree",
        with(&far, "q/libdep.so.1"),
    ));
    for (kind, name, code) in [
        ("libcuda shipped", "libcuda.so.1", "driver-library-shipped"),
        (
            "libcuda under the name of a repair tool",
            "libcuda-984fdb42.so.570.133.07",
            "driver-library-shipped",
        ),
        (
            "libnvidia-ml shipped",
            "libnvidia-ml.so.1",
            "driver-library-shipped",
        ),
        ("libc shipped", "libc.so.6", "libc-shipped"),
        ("loader shipped", "ld-linux-x86-64.so.2", "libc-shipped"),
    ] {
        let place = at(&format!("x.libs/{name}"));
        let wrong = vec![file(&place, &soname(name))];
        out.push(planted(
            kind,
            code,
            &place,
            Vec::from([file(&at("x.libs/libother.so"), &dep)]),
            wrong,
        ));
    }
    let twice = vec![
        file(&at("a.libs/libgomp-a34b3233.so.1.0.0"), &dep),
        file(&at("torch/lib/libgomp.so.1"), &soname("libgomp.so.1")),
    ];
    let once = vec![file(&at("a.libs/libgomp-a34b3233.so.1.0.0"), &dep)];
    out.push(planted(
        "two OpenMP libraries",
        "library-twice",
        &at("a.libs/libgomp-a34b3233.so.1.0.0"),
        once,
        twice,
    ));
    let _ = NEEDED;
    out
}

fn versions() -> Vec<Planted> {
    let mut out = Vec::new();
    for (kind, library, version, newer, code) in [
        (
            "glibc above the floor",
            "libc.so.6",
            "GLIBC_2.17",
            "GLIBC_2.39",
            "glibc-too-new",
        ),
        (
            "GLIBCXX above the floor",
            "libstdc++.so.6",
            "GLIBCXX_3.4.20",
            "GLIBCXX_3.4.33",
            "glibcxx-too-new",
        ),
        (
            "CXXABI above the floor",
            "libstdc++.so.6",
            "CXXABI_1.3.11",
            "CXXABI_1.3.15",
            "cxxabi-too-new",
        ),
    ] {
        let user = needing(library, version);
        let path = at("p/libuser.so");
        let floor = AuditRequest {
            declared: Floor {
                glibc: Some("2.28".parse().unwrap()),
                glibcxx: Some("3.4.25".parse().unwrap()),
                cxxabi: Some("1.3.11".parse().unwrap()),
            },
            ..request()
        };
        let wrong = swap(user.clone(), version, newer);
        out.push(under(
            kind,
            code,
            &path,
            lib("p/libuser.so", &user),
            lib("p/libuser.so", &wrong),
            &floor,
        ));
    }
    let gcc = Gcc::new();
    std::fs::write(gcc.path("map"), "VER_1.4 { global: answer; };").unwrap();
    let dep = gcc.library("libdep.so.1", &["-Wl,--version-script,map"]);
    let user = gcc.make(
        "libuser.so",
        "int answer(void); int user(void) { return answer(); }",
        &[
            "-shared",
            "-fPIC",
            "-nostdlib",
            "-L.",
            "-l:libdep.so.1",
            "-Wl,-rpath,$ORIGIN",
        ],
    );
    let with = |dep: &[u8]| {
        vec![
            file(&at("p/libuser.so"), &user),
            file(&at("p/libdep.so.1"), dep),
        ]
    };
    let older = swap(dep.clone(), "VER_1.4", "VER_1.3");
    out.push(planted(
        "library of the tree too old",
        "elf-version-missing",
        &at("p/libuser.so"),
        with(&dep),
        with(&older),
    ));
    out
}

/// A library that asks `library` for a symbol of `version`.
fn needing(library: &str, version: &str) -> Vec<u8> {
    let gcc = Gcc::new();
    std::fs::write(gcc.path("map"), format!("{version} {{ global: answer; }};")).unwrap();
    gcc.library(library, &["-Wl,--version-script,map"]);
    let link = format!("-l:{library}");
    gcc.make(
        "libuser.so",
        "int answer(void); int user(void) { return answer(); }",
        &["-shared", "-fPIC", "-nostdlib", "-L.", &link],
    )
}

fn loading() -> Vec<Planted> {
    let gcc = Gcc::new();
    let named = |soname: &str, string: &str| {
        let source =
            format!("const char name[] = \"{string}\"; const char *get(void) {{ return name; }}");
        let soname = format!("-Wl,-soname,{soname}");
        gcc.make(
            "named.so",
            &source,
            &["-shared", "-fPIC", "-nostdlib", &soname],
        )
    };
    let part = gcc.library("libpart.so", &[]);
    let mut out = Vec::new();
    for (kind, library, wanted) in [
        (
            "cuDNN without one of its parts",
            "libcudnn.so.9",
            "libcudnn_ops.so.9",
        ),
        (
            "NVRTC without its built-ins",
            "libnvrtc.so.13",
            "libnvrtc-builtins.so.13.0",
        ),
    ] {
        let path = at(&format!("nvidia/x/lib/{library}"));
        let own = named(library, wanted);
        let right = vec![
            file(&path, &own),
            file(&at(&format!("nvidia/x/lib/{wanted}")), &part),
        ];
        out.push(planted(
            kind,
            "dlopen-missing",
            &path,
            right,
            vec![file(&path, &own)],
        ));
    }
    out.extend(compilers());
    out.extend(interfaces());
    out
}

fn compilers() -> Vec<Planted> {
    let gcc = Gcc::new();
    let ptxas = |targets: &[&str]| {
        let strings: Vec<String> = targets.iter().map(|t| format!("\"{t}\"")).collect();
        let source = format!(
            "const char *all[] = {{{}, 0}}; int main(int n, char **v) {{ return all[n] != v[0]; }}",
            strings.join(", ")
        );
        gcc.make("ptxas", &source, &[])
    };
    let path = at("triton/backends/nvidia/bin/ptxas");
    let with = |targets: &[&str]| {
        vec![
            file(&at("triton/__init__.py"), b""),
            file(&path, &ptxas(targets)),
        ]
    };
    let request = AuditRequest {
        gpus: vec!["8.9".parse().unwrap(), "12.1".parse().unwrap()],
        ..request()
    };
    let all = || with(&["sm_89", "sm_90a", "sm_121a"]);
    vec![
        under(
            "ptxas that does not know a device",
            "compiler-too-old",
            &path,
            all(),
            with(&["sm_89", "sm_121"]),
            &request,
        ),
        under(
            "triton without ptxas",
            "compiler-missing",
            "site-packages/triton/backends/nvidia/bin/ptxas",
            all(),
            vec![file(&at("triton/__init__.py"), b"")],
            &request,
        ),
    ]
}

fn interfaces() -> Vec<Planted> {
    let gcc = Gcc::new();
    let giving = |soname: &str, symbol: &str| {
        let soname = format!("-Wl,-soname,{soname}");
        gcc.make(
            "given.so",
            &format!("int {symbol}(void) {{ return 1; }}"),
            &["-shared", "-fPIC", "-nostdlib", &soname],
        )
    };
    let wanting = |symbol: &str| {
        let source = format!("int {symbol}(void); int use(void) {{ return {symbol}(); }}");
        gcc.make("ext.so", &source, &["-shared", "-fPIC", "-nostdlib"])
    };
    let c10 = giving("libc10.so", "_ZN3c105ErrorEv");
    let python = giving("libpython3.12.so.1.0", "PyObject_Call");
    let both = |user: &[u8]| {
        vec![
            file(&at("torch/lib/libc10.so"), &c10),
            file(&at("q/libpython3.12.so.1.0"), &python),
            file(&at("ext.so"), user),
        ]
    };
    let right = || both(&wanting("_ZN3c105ErrorEv"));
    let case =
        |kind, code, symbol| planted(kind, code, &at("ext.so"), right(), both(&wanting(symbol)));
    vec![
        case(
            "extension of another torch",
            "torch-abi",
            "_ZN3c106Warning4fromEv",
        ),
        case(
            "extension of another torch's tables",
            "torch-abi",
            "_ZTVN2at4BaseE",
        ),
        case(
            "extension of another CPython",
            "python-abi",
            "PyUnstable_Gone",
        ),
    ]
}
