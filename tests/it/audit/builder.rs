//! Texts that name folders of a builder, read from bytes as ingest reads them.

use bundler::base::finding::Severity;
use bundler::build::audit::AuditRequest;

use super::{at, clean, judged, judged_by, one};
use crate::trees::{read, request, tree};

#[test]
fn marks_of_build_machines_are_told_and_folders_of_documentation_are_not() {
    let of = |text: &str| judged(&tree(vec![read(&at("p/config.py"), text.as_bytes())]));
    for text in [
        "path = '/tmp/build-env-x1y2z3/bin/python'",
        "include = \"-I/opt/_internal/cpython-3.12.1/include\"",
        "x = '/project/.mesonpy-abc/lib'",
        "url: file:///home/runner/work/x/x",
        "src=/__w/x/x/src",
        "/github/workspace/build/x.c",
        "/opt/conda/conda-bld/x_1/work/x.c",
    ] {
        let finding = one(&of(text), "builder-path", "p/config.py", Severity::Note);
        assert!(finding.message.contains('/'), "{}", finding.message);
    }
    for text in [
        "open('/home/user/data.npy')",
        "cache = '/tmp/x/y'",
        "path = '/root/.cache/hub'",
        "https://x.org/home/runner/work/x",
        "/usr/local/cuda/lib64",
        "'/project/src'",
    ] {
        clean(&of(text));
    }
}

#[test]
fn folders_of_this_build_are_a_warning_in_any_text() {
    let here = AuditRequest {
        made_in: vec!["/home/me/work/app".to_owned()],
        ..request()
    };
    let of = |text: &str| {
        let entry = read(&at("p/settings.toml"), text.as_bytes());
        judged_by(&tree(vec![entry]), &here)
    };
    for text in [
        "root = '/home/me/work/app/data'",
        "root = '/home/me/work/app'",
    ] {
        one(
            &of(text),
            "builder-path",
            "p/settings.toml",
            Severity::Warning,
        );
    }
    for text in ["root = '/home/me/work/apps/data'", "root = '/home/me/work'"] {
        clean(&of(text));
    }
}

#[test]
fn what_only_builds_read_is_a_warning_and_what_python_reads_an_error() {
    let of = |path: &str, text: &str| judged(&tree(vec![read(&at(path), text.as_bytes())]));
    for (path, text) in [
        (
            "x/share/cmake/X/XTargets.cmake",
            "set(X \"a;/usr/local/cuda/lib64/libcudart.so\")\n",
        ),
        (
            "x/XConfig.cmake",
            "set(X_INCLUDE \"/pytorch/torch/include\")\n",
        ),
        (
            "x-1.dist-info/direct_url.json",
            "{\"url\": \"file:///home/ci/src/x\", \"dir_info\": {}}",
        ),
    ] {
        one(&of(path, text), "builder-path", path, Severity::Warning);
    }
    for (path, text) in [
        (
            "__editable___x_finder.py",
            "MAPPING = {'x': '/home/ci/src/x'}\n",
        ),
        ("x/lib/pkgconfig/x.pc", "prefix=/install\n"),
        ("x/lib/libx.la", "libdir='/opt/x/lib'\n"),
        ("x/bin/x-config", "prefix=\"/opt/x\"\n"),
    ] {
        one(&of(path, text), "absolute-path", path, Severity::Error);
    }
    clean(&of("x/FindX.cmake", "find_path(X \"/usr/local/cuda\")\n"));
    clean(&of(
        "x-1.dist-info/direct_url.json",
        "{\"url\": \"https://x.org/x-1.whl\"}",
    ));
    clean(&of(
        "x/XConfig.cmake",
        "set(P \"${PREFIX}/lib;/W3\") # \"/a/b\"\n",
    ));
}

#[test]
fn a_file_that_names_many_folders_names_the_first_few() {
    let text = (0..9).fold(String::new(), |all, n| {
        all + &format!("/tmp/pip-install-{n}/x\n")
    });
    let report = judged(&tree(vec![read(&at("p/log.txt"), text.as_bytes())]));
    let finding = one(&report, "builder-path", "p/log.txt", Severity::Note);
    assert!(finding.message.ends_with(", 6 more"), "{}", finding.message);
    let binary = format!("\0{text}");
    clean(&judged(&tree(vec![read(
        &at("p/x.bin"),
        binary.as_bytes(),
    )])));
}
