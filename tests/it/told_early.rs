//! What is told before any work is done.

use assert_cmd::Command;

fn refused(folder: &std::path::Path, args: &[&str]) -> String {
    let mut command = Command::cargo_bin("bundler").unwrap();
    command.env_clear().current_dir(folder).args(args);
    let out = command.assert().code(2).get_output().clone();
    String::from_utf8(out.stderr).unwrap()
}

#[test]
fn an_output_folder_that_is_a_file_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    let args = ["make", "amd64-cu130", "--offline", "--cache-dir", "c", "-o"];
    let text = refused(dir.path(), &[&args[..], &["file"]].concat());
    assert!(text.contains("/file is no folder"), "{text}");
    assert!(text.contains("--out-dir"), "{text}");
    assert!(!dir.path().join("c").exists());
}

#[test]
fn a_version_that_no_file_could_carry_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    for version in ["", "1 2", "../x", "-1", "ü"] {
        let asked = format!("--bundle-version={version}");
        let args = ["make", "amd64-cu130", "--offline", "--cache-dir", "c"];
        let text = refused(dir.path(), &[&args[..], &[&asked]].concat());
        assert!(text.contains("--bundle-version"), "{text}");
        assert!(!dir.path().join("c").exists());
    }
}

#[test]
fn a_cache_that_is_a_file_is_no_empty_cache_and_a_missing_one_is_said() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("file"), "").unwrap();
    for command in ["size", "prune", "verify", "dir"] {
        let text = refused(dir.path(), &["cache", command, "--cache-dir", "file"]);
        assert!(text.contains("/file is no folder"), "{text}");
    }
    let mut size = Command::cargo_bin("bundler").unwrap();
    size.env_clear().current_dir(dir.path());
    let out = size.args(["cache", "size", "--cache-dir", "none"]).assert();
    let text = String::from_utf8(out.success().get_output().stderr.clone()).unwrap();
    assert!(text.contains("there is no cache at"), "{text}");
}

#[test]
fn what_a_command_line_lacks_is_told_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let numpy = ["make", "amd64-cu130", "--recipe", "numpy", "--offline"];
    let with = |more: &[&'static str]| [&numpy[..], more].concat();
    let table = [
        (
            vec!["lock", "--exclude-newer", "yesterday"],
            "a date like 2026-01-31",
        ),
        (
            vec!["lock", "--exclude-newer", "2026-13-01"],
            "a date like 2026-01-31",
        ),
        (
            vec!["lock", "--exclude-newer", "2026-12-32"],
            "a date like 2026-01-31",
        ),
        (
            vec!["lock", "--exclude-newer", "3 days"],
            "a date like 2026-01-31",
        ),
        (
            vec!["install", "x", "--upgrade"],
            "--upgrade is an option of `bundler lock`",
        ),
        (
            with(&["--prefix", "x"]),
            "--prefix is an option of `bundler unpack`",
        ),
        (
            with(&["--source", "nowhere"]),
            "--source PATH|URL gives another",
        ),
        (
            vec!["make", "amd64-cu130", "--source", "nowhere"],
            "nowhere is not there",
        ),
        (
            with(&["--source", "https://me:s3cret@h/x@a..b"]),
            "\"a..b\" is not a revision",
        ),
        (
            with(&["--source", "https://me:s3cret@h@x"]),
            "which revision \"HEAD\" of https://x is cannot",
        ),
        (
            with(&["--source", "git+https://h/x.git"]),
            "leave `git+` out",
        ),
    ];
    for (line, way) in table {
        let text = refused(dir.path(), &[&line[..], &["--cache-dir", "c"]].concat());
        assert!(text.contains(way), "{line:?}: {text}");
        assert!(!text.contains("s3cret"), "{line:?}: {text}");
        assert!(
            text.contains("hint: ") || text.contains("For more information"),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_bundle_is_refused_by_every_reader_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let whole = crate::synthetic::bundle(dir.path(), false).path;
    let bytes = std::fs::read(&whole).unwrap();
    std::fs::write(at("empty"), "").unwrap();
    std::fs::write(at("random"), crate::synthetic::noise(3, 9000)).unwrap();
    std::fs::write(
        at("other.tar.zst"),
        zstd::encode_all(&b"not ours"[..], 1).unwrap(),
    )
    .unwrap();
    std::fs::create_dir(at("folder")).unwrap();
    let cuts = [1, 100, bytes.len() / 2, bytes.len() - 600, bytes.len() - 1];
    for cut in cuts {
        std::fs::write(at(&format!("cut{cut}")), &bytes[..cut]).unwrap();
    }
    let cut = cuts.map(|cut| format!("cut{cut}"));
    let names = ["missing", "empty", "random", "other.tar.zst", "folder"];
    for name in names.into_iter().chain(cut.iter().map(String::as_str)) {
        let commands: [&[&str]; 7] = [
            &["inspect", name],
            &["audit", name],
            &["report", name],
            &["evidence", "write", name],
            &["layers", name],
            &["unpack", name, "--prefix", "p"],
            &["self-extract", name, "--program", "/bin/true"],
        ];
        for command in commands {
            let text = refused(dir.path(), command);
            assert!(
                text.starts_with("error: ") && text.contains("\nhint: "),
                "{command:?}: {text}"
            );
            assert!(
                text.contains(name) || text.contains("bundle"),
                "{command:?}: {text}"
            );
        }
        assert!(!at("p").exists());
    }
    for name in cut {
        let mut command = Command::cargo_bin("bundler").unwrap();
        command
            .env_clear()
            .current_dir(dir.path())
            .args(["verify", &format!("./{name}")]);
        let out = command.assert().code(1).get_output().clone();
        assert!(
            String::from_utf8(out.stdout)
                .unwrap()
                .contains("is damaged: 1 finding\n")
        );
    }
}

#[test]
fn a_closed_or_full_output_is_no_crash() {
    let dir = tempfile::tempdir().unwrap();
    let full = std::fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let bundle = crate::synthetic::bundle(dir.path(), false).path;
    let run = |stdout: std::process::Stdio| {
        let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin("bundler"));
        let command = command
            .env_clear()
            .current_dir(dir.path())
            .arg("inspect")
            .arg(&bundle);
        let out = command
            .stdout(stdout)
            .stderr(std::process::Stdio::piped())
            .output()
            .unwrap();
        (out.status.code(), String::from_utf8(out.stderr).unwrap())
    };
    let (code, text) = run(full.into());
    assert_eq!(code, Some(2), "{text}");
    assert!(text.contains("No space left"), "{text}");
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    assert_eq!(run(writer.into()), (Some(0), String::new()));
}
