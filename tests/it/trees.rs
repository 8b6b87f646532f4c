//! Small components, trees and ELF files for the tests of assemble and audit.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use bundler::base::digest::Digest;
use bundler::base::target::Arch;
use bundler::build::assemble::{AssembleError, Merge, Placed, Tree, merge};
use bundler::build::audit::AuditRequest;
use bundler::build::ingest::facts;
use bundler::build::ingest::store::Backing;
use bundler::formats::component::{
    Component, ComponentKind, Entry, EntryKind, FileFacts, Layer, TextFacts, component_id,
};
use bundler::formats::elf;

pub const SITE: &str = "python/lib/python3.12/site-packages";

/// A file with these bytes; ELF facts are read from them.
pub fn file(path: &str, bytes: &[u8]) -> Entry {
    let facts = elf::is_elf(bytes).then(|| match elf::read_deep(bytes) {
        Ok(facts) => FileFacts::Elf(Box::new(facts)),
        Err(e) => FileFacts::BrokenElf(e.to_string()),
    });
    Entry {
        path: path.to_owned(),
        kind: EntryKind::File,
        mode: 0o644,
        size: bytes.len() as u64,
        sha256: Some(Digest::of(bytes)),
        facts,
    }
}

/// A file with these bytes and the facts that ingest reads from them.
pub fn read(path: &str, bytes: &[u8]) -> Entry {
    Entry {
        facts: facts::of(path, bytes),
        ..file(path, bytes)
    }
}

pub fn text(path: &str, facts: TextFacts) -> Entry {
    let bytes = format!("{facts:?}");
    Entry {
        facts: Some(FileFacts::Text(facts)),
        ..file(path, bytes.as_bytes())
    }
}

pub fn link(path: &str, target: &str) -> Entry {
    Entry {
        path: path.to_owned(),
        kind: EntryKind::Symlink {
            target: target.to_owned(),
        },
        mode: 0o777,
        size: 0,
        sha256: None,
        facts: None,
    }
}

pub fn component(kind: ComponentKind, layer: Layer, name: &str, mut entries: Vec<Entry>) -> Placed {
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    let id = component_id(&entries);
    Placed {
        component: Arc::new(Component {
            key: Digest::of(format!("{name} {id}").as_bytes()),
            id,
            name: name.to_owned(),
            version: Some("1.0".to_owned()),
            kind,
            artifact: None,
            entries,
            segments: Vec::new(),
            distribution: None,
            notes: Vec::new(),
        }),
        layer,
        segments: Backing::Memory(Arc::from([])),
        source: None,
    }
}

pub fn wheel(name: &str, entries: Vec<Entry>) -> Placed {
    component(ComponentKind::Wheel, Layer::App, name, entries)
}

pub fn interpreter(entries: Vec<Entry>) -> Placed {
    component(ComponentKind::Interpreter, Layer::Base, "cpython", entries)
}

pub fn layout(entries: Vec<Entry>) -> Placed {
    component(ComponentKind::Layout, Layer::App, "layout", entries)
}

pub fn tree_of(parts: Vec<Placed>) -> Result<Tree, AssembleError> {
    match merge(parts)? {
        Merge::Done(merged) => merged.finish(layout(vec![file("env.sh", b"#!/bin/sh\n")])),
        Merge::Again(without) => panic!("shared paths: {without:?}"),
    }
}

/// One wheel called `pkg` with these entries, as a tree.
pub fn tree(entries: Vec<Entry>) -> Tree {
    tree_of(vec![wheel("pkg", entries)]).unwrap()
}

pub fn request() -> AuditRequest {
    AuditRequest::plain(Arch::Amd64)
}

/// A workshop that makes ELF files with gcc; libraries made earlier can be linked against.
pub struct Gcc {
    dir: tempfile::TempDir,
}

impl Gcc {
    pub fn new() -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Compiles `source` with `args` into `name` and gives its bytes.
    pub fn make(&self, name: &str, source: &str, args: &[&str]) -> Vec<u8> {
        let input = self.path(&format!("{name}.c"));
        std::fs::write(&input, source).unwrap();
        let output = self.path(name);
        let done = Command::new("gcc")
            .current_dir(self.dir.path())
            .args(["-Wl,--no-as-needed", "-o"])
            .arg(&output)
            .arg(&input)
            .args(args)
            .output()
            .expect("gcc is a required tool");
        assert!(
            done.status.success(),
            "{}",
            String::from_utf8_lossy(&done.stderr)
        );
        std::fs::read(&output).unwrap()
    }

    /// A shared library without the C library.
    pub fn library(&self, name: &str, args: &[&str]) -> Vec<u8> {
        let soname = format!("-Wl,-soname,{name}");
        let mut all = vec!["-shared", "-fPIC", "-nostdlib", "-L.", &soname];
        all.extend(args);
        self.make(name, "int answer(void) { return 42; }", &all)
    }
}
