//! A host shape of `tests/hosts` made into a folder. Libraries are tiny ELF files that define symbol versions as the real
//! ones do; device nodes are empty files, since whoever runs the tests may not make real ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A host shape.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shape {
    /// What it is.
    pub about: String,
    /// `documents: …` or `recorded: …`.
    pub origin: String,
    pub arch: String,
    libdir: String,
    glibc: Option<String>,
    libstdcxx: Option<[String; 2]>,
    libraries: Vec<String>,
    #[serde(default)]
    driver_libraries: Vec<String>,
    driver_dir: Option<String>,
    #[serde(default)]
    pub arguments: Vec<String>,
    pub expect: Expect,
    files: BTreeMap<String, String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    host: toml::Table,
}

/// What is to be found out.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// Capabilities; empty for a device no table knows.
    pub gpus: Vec<String>,
    pub source: Option<String>,
    #[serde(default)]
    pub remarks: Vec<String>,
    /// The bundle `select` takes.
    pub select: Option<String>,
    /// Bundle → verdict, and the code of a reason that has to be among those given.
    pub verdicts: BTreeMap<String, String>,
}

/// The folder of the shapes.
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts")
}

/// All shapes by name.
pub fn all() -> BTreeMap<String, Shape> {
    let mut out = BTreeMap::new();
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let shape: Shape = toml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
        out.insert(name, shape);
    }
    out
}

impl Shape {
    /// Makes the folder.
    pub fn make(&self, top: &Path) {
        let put = |path: &str, bytes: &[u8]| {
            let path = top.join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        };
        let machine = if self.arch == "amd64" { 62 } else { 183 };
        for (path, text) in &self.files {
            match text.as_str() {
                "@elf" | "@program" => put(path, &library(machine, &[])),
                text => put(path, text.as_bytes()),
            }
        }
        let dir = &self.libdir;
        if let Some(version) = &self.glibc {
            let versions = ["GLIBC_2.2.5", &format!("GLIBC_{version}"), "GLIBC_PRIVATE"]
                .map(ToOwned::to_owned);
            put(&format!("{dir}/libc.so.6"), &library(machine, &versions));
        }
        if let Some([glibcxx, cxxabi]) = &self.libstdcxx {
            let versions = [
                "GLIBCXX_3.4".to_owned(),
                format!("GLIBCXX_{glibcxx}"),
                format!("CXXABI_{cxxabi}"),
                "CXXABI_TM_1".to_owned(),
            ];
            put(
                &format!("{dir}/libstdc++.so.6"),
                &library(machine, &versions),
            );
        }
        for name in &self.libraries {
            put(&format!("{dir}/{name}"), &library(machine, &[]));
        }
        let driver = self.driver_dir.as_ref().unwrap_or(dir);
        for name in &self.driver_libraries {
            put(&format!("{driver}/{name}"), &library(machine, &[]));
        }
        for (path, goal) in &self.links {
            let path = top.join(path.trim_start_matches('/'));
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::os::unix::fs::symlink(goal, path).unwrap();
        }
        let host = serde_json::to_vec(&self.host).unwrap();
        put("host.json", &host);
    }
}

/// A shared library that defines these versions and nothing else.
pub fn library(machine: u16, versions: &[String]) -> Vec<u8> {
    let mut strings = vec![0u8];
    let mut name = |text: &str| {
        let at = strings.len() as u32;
        strings.extend(text.as_bytes());
        strings.push(0);
        at
    };
    let names: Vec<u32> = versions.iter().map(|version| name(version)).collect();
    let mut defs = Vec::new();
    for (number, at) in names.iter().enumerate() {
        let next = if number + 1 == names.len() { 0u32 } else { 28 };
        defs.extend(1u16.to_le_bytes());
        defs.extend(0u16.to_le_bytes());
        defs.extend((number as u16 + 2).to_le_bytes());
        defs.extend(1u16.to_le_bytes());
        defs.extend(0u32.to_le_bytes());
        defs.extend(20u32.to_le_bytes());
        defs.extend(next.to_le_bytes());
        defs.extend(at.to_le_bytes());
        defs.extend(0u32.to_le_bytes());
    }
    let (headers, dynamic) = (64 + 2 * 56u64, 5 * 16u64);
    let strings_at = headers + dynamic;
    let defs_at = (strings_at + strings.len() as u64).next_multiple_of(8);
    let mut tags: Vec<(u64, u64)> = vec![(5, strings_at), (10, strings.len() as u64)];
    if !versions.is_empty() {
        tags.extend([(0x6fff_fffc, defs_at), (0x6fff_fffd, versions.len() as u64)]);
    }
    tags.resize(5, (0, 0));
    let end = defs_at + defs.len() as u64;

    let mut out = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    out.extend(3u16.to_le_bytes());
    out.extend(machine.to_le_bytes());
    out.extend(1u32.to_le_bytes());
    out.extend(0u64.to_le_bytes());
    out.extend(64u64.to_le_bytes());
    out.extend(0u64.to_le_bytes());
    out.extend(0u32.to_le_bytes());
    for field in [64u16, 56, 2, 64, 0, 0] {
        out.extend(field.to_le_bytes());
    }
    for (kind, offset, size) in [(1u32, 0, end), (2, headers, dynamic)] {
        out.extend(kind.to_le_bytes());
        out.extend(4u32.to_le_bytes());
        for field in [offset, offset, offset, size, size, 0x1000] {
            out.extend(field.to_le_bytes());
        }
    }
    for (tag, value) in tags {
        out.extend(tag.to_le_bytes());
        out.extend(value.to_le_bytes());
    }
    out.extend(&strings);
    out.resize(defs_at as usize, 0);
    out.extend(defs);
    out
}
