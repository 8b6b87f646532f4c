//! Every refusal has a way out: a hint is found along the chain of each error, as `main` prints it.

use std::sync::Arc;

use bundler::base::archive::{ArchiveError, ContainerFault};
use bundler::base::digest::Digest;
use bundler::base::fs::{DraftDir, FsError, TEMPORARY};
use bundler::base::target::Arch;
use bundler::build::ingest::IngestError;
use bundler::build::ingest::bytecode::BytecodeError;
use bundler::build::ingest::interpreter::{self, InterpreterError, InterpreterRequest};
use bundler::build::ingest::source::GitError;
use bundler::build::ingest::wheel::{WheelError, WheelFault};
use bundler::build::lock::{ResolveError, Said};
use bundler::commands::report::{failure_text, hint_of};

use crate::synthetic::noise;

fn said(error: impl Into<anyhow::Error>) -> String {
    let error = error.into();
    let hint = hint_of(&error);
    failure_text(&bundler::commands::Failure { error, hint }, false)
}

#[test]
fn what_ingest_refuses_has_a_way_out() {
    let wheel = |fault: WheelFault| IngestError::Plan {
        name: "demo".to_owned(),
        source: Box::new(WheelError {
            wheel: "demo-1-py3-none-any.whl".to_owned(),
            sha256: Digest::of(b"demo"),
            source: Box::new(fault),
        }),
    };
    let cut = || ArchiveError::Container {
        archive: "demo-1-py3-none-any.whl".to_owned(),
        source: ContainerFault::NoEnd,
    };
    let (name, path) = ("demo".to_owned(), "demo/x.py".to_owned());
    let table: Vec<(IngestError, &str)> = vec![
        (wheel(WheelFault::NoDistInfo), "wheelhouse"),
        (wheel(WheelFault::Archive(cut())), "get it again"),
        (
            IngestError::Record {
                name: name.clone(),
                wheel: Some(Digest::of(b"demo")),
                path: path.clone(),
                expected: Digest::of(b"1"),
                found: Digest::of(b"2"),
            },
            "[[wheel_waiver]] sha256 = \"2a97516c354b68848cdbd8f54a226a0a55b21ed138e207ad6c5cbb9c00aa5aea\"",
        ),
        (
            IngestError::Size {
                name: name.clone(),
                path: path.clone(),
                expected: 2,
                found: 1,
            },
            "bundler cache verify",
        ),
        (
            IngestError::Read {
                name,
                path,
                source: std::io::Error::other("cut off"),
            },
            "bundler cache verify",
        ),
        (
            IngestError::Compiler {
                source: BytecodeError::NoInterpreter,
            },
            "--bytecode none",
        ),
    ];
    for (error, way) in table {
        let text = said(error);
        let (message, hint) = text
            .split_once("\nhint: ")
            .unwrap_or_else(|| panic!("no hint: {text}"));
        assert!(hint.contains(way), "{text}");
        assert!(
            message.contains("demo") || message.contains("interpreter"),
            "{text}"
        );
    }
}

#[test]
fn an_interpreter_that_cannot_compile_is_blamed_and_no_wheel_is() {
    let text = said(IngestError::Compiler {
        source: BytecodeError::NotPython {
            program: "/opt/py/bin/python3.12".into(),
            said: None,
        },
    });
    assert!(
        text.starts_with("error: the interpreter that compiles"),
        "{text}"
    );
    assert!(
        text.contains("/opt/py/bin/python3.12 is no CPython"),
        "{text}"
    );
}

#[test]
fn an_interpreter_that_cannot_be_unpacked_gives_its_own_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let archive = dir.path().join("0123abcd");
    std::fs::write(&archive, noise(7, 5000)).unwrap();
    let source = planned(&archive, Some("cpython.tar.gz")).unwrap_err();
    // Each thread that wanted to compile is told the same error.
    let shared: Arc<dyn std::error::Error + Send + Sync> = Arc::new(source);
    let text = said(IngestError::Compiler {
        source: BytecodeError::Prepare(Box::new(shared)),
    });
    assert!(text.contains("the tar archive cpython.tar.gz"), "{text}");
    assert!(
        text.contains("hint: correct this [[interpreter]]"),
        "{text}"
    );
}

fn planned(archive: &std::path::Path, file: Option<&str>) -> Result<(), InterpreterError> {
    let request = InterpreterRequest {
        archive,
        file,
        artifact: None,
        version: "3.12.1",
        arch: Arch::Amd64,
    };
    interpreter::plan(&request).map(drop)
}

#[test]
fn an_interpreter_of_random_bytes_says_what_was_expected_and_found() {
    let dir = tempfile::tempdir().unwrap();
    let with = |magic: &[u8]| [magic, &noise(7, 5000)].concat();
    let tar = "expected a tar archive (plain, gzip or zstd), found ";
    let table = [
        (
            "cpython.tar.gz",
            with(b"\xca\xfe\xba\xbe"),
            format!("{tar}bytes that begin with ca fe ba be"),
        ),
        ("cpython.tar", Vec::new(), format!("{tar}an empty file")),
        (
            "cpython.jar",
            with(b"PK\x03\x04"),
            "no end record: not a zip archive, or cut off".to_owned(),
        ),
        (
            "packed.tar.gz",
            with(b"\x1f\x8b\x08\x00"),
            "could not unpack the archive".to_owned(),
        ),
    ];
    for (file, bytes, found) in table {
        // As a cache keeps it.
        let archive = dir.path().join("0123abcd");
        std::fs::write(&archive, bytes).unwrap();
        let text = said(planned(&archive, Some(file)).unwrap_err());
        assert!(text.contains(file) && text.contains(&found), "{text}");
        assert!(!text.contains("0123abcd"), "{text}");
        assert!(
            text.contains("\nhint: correct this [[interpreter]] in the recipe"),
            "{text}"
        );
    }
}

#[test]
fn what_the_system_refuses_names_the_place_and_never_a_draft() {
    use std::io::ErrorKind;
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().display().to_string();
    let draft = DraftDir::new(dir.path()).unwrap();
    let uid = rustix::process::geteuid().as_raw();
    let at = |doing, path: &std::path::Path, kind: ErrorKind| {
        said(FsError {
            doing,
            path: path.to_owned(),
            source: kind.into(),
        })
    };
    let text = at(TEMPORARY, dir.path(), ErrorKind::StorageFull);
    assert!(
        text.contains(&format!("could not write a temporary file in {folder}\n")),
        "{text}"
    );
    assert!(
        text.contains("--cache-dir DIR, or POINTCEPT_BUNDLER_CACHE_DIR"),
        "{text}"
    );
    let text = at("write", &draft.path().join("a/b"), ErrorKind::StorageFull);
    assert!(
        text.contains(&format!("could not write a/b of a draft in {folder}\n")),
        "{text}"
    );
    let text = at("make folder", draft.path(), ErrorKind::PermissionDenied);
    assert!(
        text.contains(&format!("could not make folder a draft in {folder}\n")),
        "{text}"
    );
    assert!(
        text.contains(&format!("hint: user {uid} may not ")),
        "{text}"
    );
    assert!(!text.contains(".bundler-draft"), "{text}");
    let text = at("read", dir.path(), ErrorKind::IsADirectory);
    assert!(
        text.contains(&format!("{folder} is a folder: give a file")),
        "{text}"
    );
    // Through a reader or writer of bytes.
    let inner = FsError {
        doing: TEMPORARY,
        path: dir.path().to_owned(),
        source: ErrorKind::StorageFull.into(),
    };
    let text = said(anyhow::Error::new(std::io::Error::other(inner)).context("could not read x"));
    assert!(text.contains("--cache-dir"), "{text}");
}

#[test]
fn what_git_refuses_has_a_way_out() {
    let repository = "https://h/x".to_owned();
    let table = [
        (
            GitError::Address("git+https://h/x".to_owned()),
            "leave `git+` out",
        ),
        (GitError::Address("x".to_owned()), "https://HOST/PATH"),
        (
            GitError::NoSuchName {
                repository: repository.clone(),
                name: "abcdef1".to_owned(),
            },
            "all its 40 digits",
        ),
        (
            GitError::Failed {
                doing: "list what is in",
                repository,
                said: "no".to_owned(),
            },
            "git ls-remote",
        ),
    ];
    for (error, way) in table {
        let text = said(error);
        assert!(text.contains("\nhint: ") && text.contains(way), "{text}");
    }
}

#[test]
fn what_cannot_be_resolved_has_a_way_out() {
    let target = "amd64-cu130".parse().unwrap();
    let no_solution = |said: &str| ResolveError::NoSolution {
        target,
        source: Said(said.to_owned()),
    };
    let (file, alias) = ("a-1-py3-none-any.whl".to_owned(), "house".to_owned());
    let table = [
        (
            no_solution("Because zz was not found in the package registry"),
            "[[packages]] group",
        ),
        (
            no_solution("Failed to download `gg==1.0`"),
            "get the file again",
        ),
        (
            no_solution("Because only aa==1.0 is available"),
            "loosen the requirements",
        ),
        (
            ResolveError::Gone {
                file: file.clone(),
                alias: alias.clone(),
            },
            "--upgrade-package",
        ),
        (
            ResolveError::OtherBytes {
                file,
                alias,
                listed: "1".to_owned(),
                seen: "2".to_owned(),
            },
            "--index house=URL",
        ),
    ];
    for (error, way) in table {
        let text = said(error);
        assert!(text.contains("\nhint: ") && text.contains(way), "{text}");
    }
}
