//! Sound archives whose files or commands would go where they must not.

use super::forge::{Archive, Wheel};
use super::hostile::Collection;
use super::hostile_metadata::whole;

const INFO: &str = "pkg-1.0.dist-info";

pub fn add(all: &mut Collection) {
    places(all);
    entry_points(all);
}

fn places(all: &mut Collection) {
    let small = Wheel::small();
    let data = "pkg-1.0.data";
    for path in ["lib/x", "tool", "PURELIB/x.py"] {
        let path = format!("{data}/{path}");
        whole(
            all,
            "file in no scheme",
            "UnknownScheme",
            &path,
            &small.clone().file(&path, b"x"),
        );
    }
    for folder in ["other-1.0.data", "pkg-1.0.0.data", ".data"] {
        let path = format!("{folder}/scripts/tool");
        whole(
            all,
            ".data folder of another name",
            "OtherData",
            folder,
            &small.clone().file(&path, b"x"),
        );
    }
    let path = format!("{data}/scripts/sub/tool");
    whole(
        all,
        "script in a folder",
        "ScriptInFolder",
        &path,
        &small.clone().file(&path, b"x"),
    );
    for inside in [
        "lib/python3.12/os.py",
        "lib/python3.12/lib-dynload/evil.so",
        "lib/python3.12/sitecustomize.py",
        "lib/python312.zip",
        "bin/pyvenv.cfg",
        "pyvenv.cfg",
        "bin/python312._pth",
    ] {
        let path = format!("{data}/data/{inside}");
        whole(
            all,
            "file in the interpreter's place",
            "Interpreter",
            &path,
            &small.clone().file(&path, b"x"),
        );
    }
    for (scheme, path) in [
        ("purelib", "pkg/mod.py"),
        ("platlib", "pkg/mod.py"),
        ("data", "lib/python3.12/site-packages/pkg/mod.py"),
    ] {
        let path = format!("{data}/{scheme}/{path}");
        whole(
            all,
            "two files for one path",
            "SamePath",
            &path,
            &small.clone().file(&path, b"x"),
        );
    }
    let twice = small
        .clone()
        .file(&format!("{data}/scripts/t"), b"#!/bin/sh\n")
        .file(&format!("{data}/data/bin/t"), b"x");
    whole(
        all,
        "two files for one path",
        "SamePath",
        "scripts/t",
        &twice,
    );
    for path in [
        "purelib/PKG/x.py",
        "purelib/pkg/mod.py/x",
        "data/LIB/x",
        "data/bin/A",
    ] {
        let path = format!("{data}/{path}");
        let wheel = small
            .clone()
            .file(&path, b"x")
            .file(&format!("{data}/scripts/a"), b"x");
        whole(
            all,
            "paths that collide once in place",
            "Collision",
            "python/",
            &wheel,
        );
    }
    let mut wrong = small
        .clone()
        .file(&format!("{data}/scripts/tool"), b"#!python\nprint(1)\n");
    let record = wrong.record();
    wrong = wrong.file(&format!("{data}/scripts/tool"), b"#!python\nprint(2)\n");
    let bytes = Archive::of(wrong.parts_with_record(&record)).bytes();
    all.add(
        "script with another digest",
        "Digest",
        "scripts/tool",
        bytes,
    );
}

fn entry_points(all: &mut Collection) {
    let path = format!("{INFO}/entry_points.txt");
    for line in [
        "../evil = pkg:main",
        "a/b = pkg:main",
        "-rf = pkg:main",
        "$(id) = pkg:main",
        "a;b = pkg:main",
        "x = pkg:main; import os",
        "x = pkg:main()",
        "x = pkg",
        "x = pkg:__import__('os')",
        "x",
    ] {
        for section in ["console_scripts", "gui_scripts"] {
            let text = format!("[{section}]\n{line}\n");
            let wheel = Wheel::small().file(&path, text.as_bytes());
            whole(
                all,
                "entry point that is more than a name",
                "EntryPoint",
                line,
                &wheel,
            );
        }
    }
    let twice = "[console_scripts]\nt = pkg:a\n[gui_scripts]\nt = pkg:b\n";
    whole(
        all,
        "two commands of one name",
        "SamePath",
        "python/bin/t",
        &Wheel::small().file(&path, twice.as_bytes()),
    );
    whole(
        all,
        "entry points that are no text",
        "EntryPoint",
        "UTF-8",
        &Wheel::small().file(&path, b"\xff"),
    );
}
