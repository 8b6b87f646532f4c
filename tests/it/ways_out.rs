//! Every refusal has a way out: a hint is found along the chain of each error, as `main` prints it.

use bundler::base::archive::{ArchiveError, ContainerFault};
use bundler::base::target::Arch;
use bundler::build::ingest::IngestError;
use bundler::build::ingest::bytecode::BytecodeError;
use bundler::build::ingest::interpreter::{self, InterpreterRequest};
use bundler::build::ingest::source::GitError;
use bundler::build::ingest::wheel::{WheelError, WheelFault};
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
fn an_interpreter_of_random_bytes_is_named_with_a_way_out() {
    let dir = tempfile::tempdir().unwrap();
    for file in [
        "cpython.tar.gz",
        "cpython.tar",
        "cpython.tar.zst",
        "cpython.jar",
    ] {
        let archive = dir.path().join(file);
        std::fs::write(&archive, noise(7, 5000)).unwrap();
        let text = said(
            interpreter::plan(&InterpreterRequest {
                archive: &archive,
                artifact: None,
                version: "3.12.1",
                arch: Arch::Amd64,
            })
            .unwrap_err(),
        );
        assert!(text.contains(file) && text.contains("\nhint: "), "{text}");
    }
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
