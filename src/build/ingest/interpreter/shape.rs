//! Archive or folder → [`Tree`], with the Maven build put together the way python-build-standalone is: libpython in `lib/`,
//! libffi beside the modules that need it, x bits, names for the program.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use super::tree::{Node, Tree};
use super::{InterpreterError, Subject};
use crate::base::archive::tar::{Held, Kind, Limits, read_all_as};
use crate::base::archive::{Zip, folder};
use crate::base::fs;
use crate::base::python::{NotAPythonMinor, PythonMinor};
use crate::base::target::Arch;

/// Room for every interpreter seen (about 150 MB), and for memory.
const LIMITS: Limits = Limits {
    members: 50_000,
    bytes: 768 << 20,
};

/// Where the Maven build keeps its tree, less the classifier.
const MAVEN_TOP: &str = "org/bytedeco/cpython/";

/// `3.12.14` → `3.12`.
pub(super) fn minor(version: &str) -> Result<PythonMinor, NotAPythonMinor> {
    let mut parts = version.splitn(3, '.');
    let (major, minor) = (
        parts.next().unwrap_or_default(),
        parts.next().unwrap_or_default(),
    );
    format!("{major}.{minor}").parse()
}

/// Its names differ in case alone, so it could not stand on every file system; the host's is used.
fn is_terminfo(path: &str) -> bool {
    path.contains("share/terminfo/")
}

/// Reads the tree. Which shape it has is told by what is in it.
pub(super) fn read(subject: &Subject<'_>) -> Result<Tree, InterpreterError> {
    let path = subject.request.archive;
    if fs::metadata(path)?.is_some_and(|m| m.is_dir()) {
        return from_folder(path, subject);
    }
    let mut magic = [0; 4];
    let read = fs::open(path)?.read(&mut magic);
    if read.is_ok() && magic.starts_with(b"PK") {
        return from_jar(path, subject);
    }
    let mut tree = Tree::default();
    for Held { member, bytes } in read_all_as(path, &subject.archive, LIMITS, &is_terminfo)? {
        let Some(inside) = member.path.strip_prefix("python/") else {
            continue;
        };
        match member.kind {
            Kind::Symlink(goal) => tree.insert(inside, Node::Link(goal)),
            Kind::File | Kind::Hardlink(_) => tree.insert_file(inside, bytes, is_program(inside)),
            Kind::Dir => {}
        }
    }
    Ok(tree)
}

fn from_folder(path: &Path, subject: &Subject<'_>) -> Result<Tree, InterpreterError> {
    let below = path.join("python");
    let top = match fs::metadata(&below.join("bin"))? {
        Some(_) => below,
        None => path.to_owned(),
    };
    let mut tree = Tree::default();
    let mut total = 0_u64;
    for member in folder::members(&top, LIMITS.members, &is_terminfo)? {
        match member.kind {
            Kind::Symlink(goal) => tree.insert(member.path, Node::Link(goal)),
            Kind::File | Kind::Hardlink(_) => {
                total = total.saturating_add(member.size);
                if total > LIMITS.bytes {
                    return Err(subject.lacks("a size below the limit"));
                }
                let bytes = fs::read(&top.join(&member.path), member.size)?;
                let executable = is_program(&member.path);
                tree.insert_file(member.path, bytes, executable);
            }
            Kind::Dir => {}
        }
    }
    Ok(tree)
}

fn from_jar(path: &Path, subject: &Subject<'_>) -> Result<Tree, InterpreterError> {
    let zip = Zip::open_without_as(path, &subject.archive, is_terminfo)?;
    let classifier = match subject.request.arch {
        Arch::Amd64 => "linux-x86_64",
        Arch::Arm64 => "linux-arm64",
    };
    let top = format!("{MAVEN_TOP}{classifier}/");
    let mut tree = Tree::default();
    let mut total = 0_u64;
    for (number, member) in zip.members().iter().enumerate() {
        let Some(inside) = member.name.strip_prefix(&top) else {
            continue;
        };
        let Some(place) = maven_place(inside, subject).filter(|_| !member.is_dir) else {
            continue;
        };
        total = total.saturating_add(member.unpacked);
        if total > LIMITS.bytes {
            return Err(subject.lacks("a size below the limit"));
        }
        let mut bytes = Vec::new();
        zip.read_into(number, LIMITS.bytes, &mut bytes)?;
        let executable = is_program(&place);
        tree.insert_file(place, bytes, executable);
    }
    if tree.paths(|_| true).is_empty() {
        return Err(subject.lacks(&top));
    }
    Ok(tree)
}

/// Where a file of the jar belongs; `None` for what is Java's.
fn maven_place(inside: &str, subject: &Subject<'_>) -> Option<String> {
    match inside {
        _ if inside.starts_with("libpython") => Some(format!("lib/{inside}")),
        // The modules' RUNPATH looks beside them first.
        _ if inside.starts_with("libffi.so.") => {
            Some(format!("{}/lib-dynload/{inside}", subject.stdlib()))
        }
        _ if ["bin/", "include/", "lib/", "share/"]
            .iter()
            .any(|f| inside.starts_with(f)) =>
        {
            Some(inside.to_owned())
        }
        _ => None,
    }
}

/// Nothing but programs and scripts is made to be run.
fn is_program(path: &str) -> bool {
    path.starts_with("bin/") || path.ends_with("/install-sh") || path.ends_with("/makesetup")
}

/// Sees to it that this is the interpreter that was asked for.
pub(super) fn check(tree: &Tree, subject: &Subject<'_>) -> Result<(), InterpreterError> {
    let program = format!("bin/python{}", subject.minor);
    let bytes = tree
        .bytes(&program)
        .ok_or_else(|| subject.lacks(&program))?;
    for needed in [
        format!("{}/os.py", subject.stdlib()),
        format!("{}/encodings/__init__.py", subject.stdlib()),
    ] {
        if !tree.contains(&needed) {
            return Err(subject.lacks(&needed));
        }
    }
    let wanted = subject.request.arch;
    let found = machine(bytes);
    if found != wanted.machine() {
        return Err(InterpreterError::Arch {
            archive: subject.archive.clone(),
            found: found.to_owned(),
            wanted,
        });
    }
    let header = format!("include/python{}/patchlevel.h", subject.minor);
    let text = tree.text(&header).ok_or_else(|| subject.lacks(&header))?;
    let found = text
        .lines()
        .filter_map(|line| line.strip_prefix("#define"))
        .filter_map(|line| line.trim_start().strip_prefix("PY_VERSION "))
        .map(|rest| rest.trim().trim_matches('"'))
        .next()
        .unwrap_or_default();
    if found != subject.request.version {
        return Err(InterpreterError::Version {
            archive: subject.archive.clone(),
            found: crate::base::archive::escaped(found.as_bytes()),
            wanted: subject.request.version.to_owned(),
        });
    }
    Ok(())
}

/// The architecture an ELF program is for.
fn machine(bytes: &Arc<[u8]>) -> &'static str {
    match (bytes.get(..4), bytes.get(18..20)) {
        (Some(b"\x7fELF"), Some([62, 0])) => "x86_64",
        (Some(b"\x7fELF"), Some([183, 0])) => "aarch64",
        (Some(b"\x7fELF"), _) => "another architecture",
        _ => "nothing: its program is no ELF file",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_minor_version_and_the_machine() {
        assert_eq!(minor("3.12.14").unwrap().to_string(), "3.12");
        assert!(minor("3").is_err() && minor("x.y.z").is_err() && minor("").is_err());
        let elf = |machine: u8| {
            let mut bytes = b"\x7fELF".to_vec();
            bytes.resize(20, 0);
            bytes[18] = machine;
            Arc::from(bytes)
        };
        assert_eq!(machine(&elf(62)), "x86_64");
        assert_eq!(machine(&elf(183)), "aarch64");
        assert_eq!(machine(&elf(8)), "another architecture");
        assert!(machine(&Arc::from(*b"#!/bin/sh")).starts_with("nothing"));
    }
}
