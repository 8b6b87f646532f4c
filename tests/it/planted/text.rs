//! Faults of text files and links: paths of the machine where something was built.

use bundler::formats::component::TextFacts;

use super::{Planted, at, planted};
use crate::trees::{file, link, text};

pub(super) fn faults() -> Vec<Planted> {
    let shebang = |path: &str, line: &str| {
        vec![text(
            path,
            TextFacts {
                shebang: Some(line.to_owned()),
                ..TextFacts::default()
            },
        )]
    };
    let pth = |line: &str| {
        vec![text(
            &at("x.pth"),
            TextFacts {
                pth_paths: vec![line.to_owned()],
                ..TextFacts::default()
            },
        )]
    };
    let code = |lines: &[&str]| {
        vec![text(
            &at("y.pth"),
            TextFacts {
                pth_code: lines.iter().map(|l| (*l).to_owned()).collect(),
                ..TextFacts::default()
            },
        )]
    };
    let prefix = |path: &str| {
        vec![text(
            "python/lib/pkgconfig/x.pc",
            TextFacts {
                absolute_paths: vec![path.to_owned()],
                ..TextFacts::default()
            },
        )]
    };
    let goal = || file(&at("p/real"), b"x");
    let to = |target: &str| vec![goal(), link(&at("p/link"), target)];
    let command = "python/bin/tool";
    let path = at("p/link");
    vec![
        planted(
            "command starts a python of the builder",
            "absolute-path",
            command,
            shebang(command, "/bin/sh"),
            shebang(command, "/home/ci/venv/bin/python3"),
        ),
        planted(
            "command starts the host's python",
            "absolute-path",
            "python/bin/other",
            shebang("python/bin/other", "/bin/sh"),
            shebang("python/bin/other", "/usr/bin/env python3"),
        ),
        planted(
            "link to an absolute path",
            "absolute-path",
            &path,
            to("real"),
            to("/usr/lib/real"),
        ),
        planted(
            "link out of the bundle",
            "link-leaves-tree",
            &path,
            to("real"),
            to("../../../../../../../x"),
        ),
        planted(
            "link to nothing",
            "link-dangling",
            &path,
            to("real"),
            to("gone"),
        ),
        planted(
            "absolute line in a .pth",
            "absolute-path",
            &at("x.pth"),
            pth("../src"),
            pth("/home/ci/src"),
        ),
        planted(
            "line of a .pth out of the bundle",
            "pth-leaves-tree",
            &at("x.pth"),
            pth("."),
            pth("../../../../../src"),
        ),
        planted(
            "code in a .pth",
            "startup-hook",
            &at("y.pth"),
            code(&[]),
            code(&["import os"]),
        ),
        planted(
            "sitecustomize of a wheel",
            "startup-hook",
            &at("sitecustomize.py"),
            vec![file(&at("custom.py"), b"")],
            vec![file(&at("sitecustomize.py"), b"")],
        ),
        planted(
            "prefix of the builder",
            "absolute-path",
            "python/lib/pkgconfig/x.pc",
            prefix("/usr/bin/cc"),
            prefix("/install"),
        ),
    ]
}
