//! What Ctrl-C and a scheduler's SIGTERM do.

use std::io::Read;
use std::net::TcpListener;
use std::process::{Command, Stdio};

/// A program that waits for a server which says nothing gets a signal.
fn stopped_by(signal: &str) -> (Option<i32>, String, Vec<String>) {
    let server = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/x.tar.zst", server.local_addr().unwrap());
    let dir = tempfile::tempdir().unwrap();
    let mut child = Command::new(assert_cmd::cargo::cargo_bin("bundler"))
        .env_clear()
        .env("HOME", dir.path())
        .args(["install", &address, "--root"])
        .arg(dir.path().join("store"))
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let _asking = server.accept().unwrap();
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args([signal, &pid])
            .status()
            .unwrap()
            .success()
    );
    let mut said = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    let code = child.wait().unwrap().code();
    let drafts = walkdir::WalkDir::new(dir.path())
        .into_iter()
        .map(|entry| entry.unwrap().path().display().to_string())
        .filter(|path| path.contains(".bundler-draft-"))
        .collect();
    (code, said, drafts)
}

#[test]
fn ctrl_c_leaves_with_130_one_line_and_nothing_half_made() {
    let (code, said, drafts) = stopped_by("-INT");
    assert_eq!(code, Some(130), "{said}");
    assert_eq!(said, "interrupted; the next run goes on from here\n");
    assert!(drafts.is_empty(), "{drafts:?}");
}

#[test]
fn sigterm_leaves_with_143_and_the_same_line() {
    let (code, said, drafts) = stopped_by("-TERM");
    assert_eq!(code, Some(143), "{said}");
    assert_eq!(said, "interrupted; the next run goes on from here\n");
    assert!(drafts.is_empty(), "{drafts:?}");
}
