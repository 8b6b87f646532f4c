//! `bundler inspect` as a user runs it.

use assert_cmd::Command;

use crate::synthetic::bundle;

fn inspect() -> Command {
    let mut command = Command::cargo_bin("bundler").unwrap();
    command.env_clear().arg("inspect");
    command
}

fn stdout(command: &mut Command) -> String {
    let out = command.assert().success().get_output().clone();
    assert!(out.stderr.is_empty());
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn text_tells_what_it_is_and_what_is_inside() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), false);
    let text = stdout(inspect().arg(&packed.path));
    insta::with_settings!({filters => vec![
        (r"[0-9a-f]{64}", "[sha256]"),
        (r"zstd \d+\.\d+\.\d+", "zstd [version]"),
    ]}, { insta::assert_snapshot!(text, @r"
    pointcept-runtime 1.0
      target     amd64-cu130
      identity   [sha256]
      python     3.12.1
      size       290.1 kB packed, 1.2 MB unpacked in 308 files
      layer      base [sha256]
      layer      app [sha256]
      encoding   zstd [version] level 3, window 2^21, 16 segments

    component  version  kind   layer  entries  unpacked    packed
    cpython    1.0      wheel  base         5  703.0 kB  187.9 kB
    app        1.0      wheel  app          4  300.0 kB     342 B
    source     1.0      wheel  app        300  289.4 kB   84.0 kB
    "); });
}

#[test]
fn json_is_the_same_value() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), false);
    let text = stdout(
        inspect()
            .arg(&packed.path)
            .args(["--output-format", "json"]),
    );
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["schema_version"], 1);
    assert_eq!(json["identity"], packed.identity.to_string());
    assert_eq!(json["packed"], packed.size);
    assert_eq!(json["bundle"]["components"].as_array().unwrap().len(), 3);
    let shares = json["components"].as_array().unwrap();
    let share: u64 = shares.iter().map(|c| c["packed"].as_u64().unwrap()).sum();
    assert!(share > 0 && share < packed.size);
    assert_eq!(shares[0]["name"], "cpython");
    assert!(!text.contains("null"));
}

#[test]
fn reads_only_the_first_segments_and_the_last() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), false);
    let want = stdout(inspect().arg(&packed.path));
    let mut bytes = std::fs::read(&packed.path).unwrap();
    let reader = bundler::formats::bundle_reader::BundleReader::open(&bytes[..]).unwrap();
    let first = reader.table().segments[1].offset as usize;
    let last = reader.table().segments.last().unwrap();
    let end = last.offset as usize;
    bytes[first..end].fill(0xEE);
    std::fs::write(&packed.path, bytes).unwrap();
    assert_eq!(stdout(inspect().arg(&packed.path)), want);
}

#[test]
fn what_is_no_bundle_is_refused_with_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), false);
    let bytes = std::fs::read(&packed.path).unwrap();
    let path = dir.path().join("x.tar.zst");
    let mut seen = String::new();
    for (what, bytes) in [
        ("empty", &b""[..]),
        ("text", &b"not a bundle at all"[..]),
        ("cut short", &bytes[..bytes.len() / 2]),
    ] {
        std::fs::write(&path, bytes).unwrap();
        let out = inspect().arg(&path).assert().code(2).get_output().clone();
        let text = String::from_utf8(out.stderr).unwrap();
        seen += &format!(
            "{what}:\n{}\n",
            text.replace(path.to_str().unwrap(), "x.tar.zst")
        );
    }
    let out = inspect()
        .arg(dir.path().join("absent"))
        .assert()
        .code(2)
        .get_output()
        .clone();
    let text = String::from_utf8(out.stderr).unwrap();
    seen += &format!(
        "absent:\n{}",
        text.replace(dir.path().to_str().unwrap(), "[dir]")
    );
    insta::assert_snapshot!(seen, @r"
    empty:
    error: could not inspect x.tar.zst
      caused by: this is no bundle
      caused by: it does not begin with zstd's magic number
    hint: name the file that `bundler make` wrote; one that was downloaded can be compared with its .sha256 file

    text:
    error: could not inspect x.tar.zst
      caused by: this is no bundle
      caused by: it does not begin with zstd's magic number
    hint: name the file that `bundler make` wrote; one that was downloaded can be compared with its .sha256 file

    cut short:
    error: could not inspect x.tar.zst
      caused by: the bundle is cut short or damaged at its end
      caused by: it does not end as a bundle does
    hint: get the bundle again and compare it with its .sha256 file

    absent:
    error: could not inspect [dir]/absent
      caused by: could not open [dir]/absent
      caused by: No such file or directory (os error 2)
    hint: check the path [dir]/absent
    ");
}
