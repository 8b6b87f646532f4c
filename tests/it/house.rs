//! The house rules of ARCHITECTURE.md that a text search can see: who may name what, which way imports point,
//! how long files are.

use std::path::{Path, PathBuf};

fn sources() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut folders = vec![root.clone()];
    let mut out = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let name = path
                    .strip_prefix(&root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                out.push((name, std::fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(out.len() > 20, "the sources were not found");
    out.sort();
    out
}

/// The part of a file that ships: everything before its unit tests, without comments.
fn shipped(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    code.lines()
        .filter(|line| !line.trim_start().starts_with("//"))
        .collect::<Vec<_>>()
        .join("\n")
}

/// Files that contain one of `words` although their path starts with none of `allowed`.
fn offenders(words: &[&str], allowed: &[&str]) -> Vec<String> {
    let mut out = Vec::new();
    for (name, text) in sources() {
        if allowed.iter().any(|a| name.starts_with(a)) {
            continue;
        }
        for (number, line) in shipped(&text).lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) {
                out.push(format!("{name}: {} ({number})", line.trim()));
            }
        }
    }
    out
}

#[track_caller]
fn none(words: &[&str], allowed: &[&str]) {
    let found = offenders(words, allowed);
    assert!(
        found.is_empty(),
        "only {allowed:?} may name {words:?}:\n{}",
        found.join("\n")
    );
}

#[test]
fn each_door_has_one_keeper() {
    none(&["std::fs::", "use std::fs", "fs_err::"], &["base/fs"]);
    none(&["reqwest::"], &["base/http"]);
    none(
        &[
            "tar::Archive",
            "tar::Header",
            "tar::Builder",
            "zip::",
            "flate2::",
        ],
        &["base/archive"],
    );
    none(
        &["zstd::", "zstd_sys::", "zstd_safe::"],
        &["base/segments", "formats/fatbin"],
    );
    none(&["goblin::"], &["formats/elf"]);
    none(
        &[
            "println!",
            "eprintln!",
            "print!(",
            "eprint!(",
            "std::io::stdout",
        ],
        &["commands/", "main.rs"],
    );
    none(&["process::exit"], &["main.rs"]);
    none(&["unsafe {"], &["base/segments", "base/fs"]);
}

#[test]
fn nothing_points_up() {
    none(
        &["crate::commands", "crate::cli"],
        &["commands/", "cli.rs", "main.rs", "lib.rs"],
    );
    none(&["crate::build"], &["commands/", "build/"]);
    none(&["crate::host"], &["commands/", "host/"]);
    for (name, text) in sources() {
        let text = shipped(&text);
        if name.starts_with("base/") {
            assert!(
                !text.contains("crate::formats"),
                "{name} reaches up to formats"
            );
        }
        if name.starts_with("host/") {
            assert!(!text.contains("crate::build"), "{name} imports build");
        }
    }
}

#[test]
fn no_clock_and_no_environment_below_commands() {
    none(
        &[
            "SystemTime::now",
            "env::var",
            "env::vars",
            "env::current_dir",
        ],
        &["commands/", "main.rs", "base/fs"],
    );
}

#[test]
fn files_are_short_and_say_what_they_are_for() {
    for (name, text) in sources() {
        let lines = text.lines().count();
        assert!(
            lines <= 500,
            "{name} has {lines} lines: is there a second job in it?"
        );
        assert!(
            text.starts_with("//!"),
            "{name} does not say what it is for"
        );
    }
}

#[test]
fn nothing_is_left_for_later() {
    none(&["todo!(", "unimplemented!(", "#[ignore"], &[]);
}

/// The crates whose older versions have known holes, and the first version without.
#[test]
fn security_floors_hold_in_the_lock_file() {
    let lock = include_str!("../../Cargo.lock");
    let floors = [
        ("tar", [0, 4, 46]),
        ("zip", [2, 3, 0]),
        ("lz4_flex", [0, 14, 0]),
        ("h2", [0, 4, 16]),
        ("rustls-webpki", [0, 103, 13]),
        ("aws-lc-sys", [0, 39, 1]),
    ];
    for (krate, floor) in floors {
        let mut seen = 0;
        let name = format!("name = \"{krate}\"");
        let mut lines = lock.lines();
        while let Some(line) = lines.next() {
            if line == name {
                let version = lines
                    .next()
                    .unwrap()
                    .trim_start_matches("version = ")
                    .trim_matches('"');
                let numbers: Vec<u32> = version
                    .split(['.', '+', '-'])
                    .take(3)
                    .map(|n| n.parse().unwrap())
                    .collect();
                assert!(
                    numbers.as_slice() >= floor.as_slice(),
                    "{krate} {version} is below {floor:?}"
                );
                seen += 1;
            }
        }
        assert!(seen > 0, "{krate} is not in Cargo.lock");
    }
}

/// `data/cases.txt` says which test stands for which known trouble of tools of this kind.
#[test]
fn every_case_of_the_table_names_a_test_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let files = ["tests/it", "src"].map(|folder| walkdir::WalkDir::new(root.join(folder)));
    let code: String = files
        .into_iter()
        .flatten()
        .map(Result::unwrap)
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "rs"))
        .map(|entry| std::fs::read_to_string(entry.path()).unwrap())
        .collect();
    let rows: Vec<(&str, &str)> = include_str!("data/cases.txt")
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .collect();
    assert!(rows.len() > 40 && rows.iter().all(|(case, _)| case.starts_with('C')));
    let missing: Vec<_> = rows
        .iter()
        .filter(|(_, test)| {
            !code.contains(&format!("#[test]\nfn {test}()"))
                && !code.contains(&format!("#[test]\n    fn {test}()"))
        })
        .collect();
    assert!(missing.is_empty(), "no such test: {missing:?}");
}
