//! The host's shared libraries as its loader would find them: folders of `ld.so.conf` and the built-in ones, without
//! `ldconfig` or its cache, which slim hosts lack. A file for another architecture is passed over, as the loader does.
//! Versions come from the symbol versions a library defines, not from its name.

use std::collections::BTreeSet;

use serde::Serialize;

use super::root::Root;
use crate::base::target::Arch;
use crate::formats::elf;
use crate::formats::floor::DottedVersion;

/// No C or C++ library is larger.
const MAX_LIBRARY: u64 = 64 << 20;
/// Files of `ld.so.conf` that are read.
const MAX_CONF: usize = 256;

/// Folders beside the loader's own where the parts of a driver lie.
const DRIVER_FOLDERS: &[&str] = &[
    "/usr/lib/wsl/lib",
    "/usr/lib/TRIPLET/nvidia",
    "/usr/lib/TRIPLET/nvidia/current",
    "/usr/lib/TRIPLET/tegra",
    "/usr/lib64/nvidia",
    "/usr/lib/nvidia",
    "/usr/local/nvidia/lib64",
    "/usr/local/nvidia/lib",
    "/run/opengl-driver/lib",
];

/// The C library of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase", tag = "kind")]
pub enum Libc {
    /// The GNU C library.
    Glibc {
        /// The newest version it defines.
        version: DottedVersion,
        /// Its file.
        path: String,
    },
    /// musl: programs made for glibc do not run.
    Musl {
        /// Its loader.
        path: String,
    },
    /// None was found.
    None,
}

/// The C++ library of a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LibStdCxx {
    /// Its file.
    pub path: String,
    /// The newest `GLIBCXX_` it defines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glibcxx: Option<DottedVersion>,
    /// The newest `CXXABI_` it defines.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cxxabi: Option<DottedVersion>,
}

/// What a host's loader finds.
#[derive(Debug, Clone)]
pub struct Libraries<'a> {
    root: &'a Root,
    machine: u16,
    folders: Vec<String>,
}

/// The machine number in the head of a 64-bit little-endian ELF file.
fn machine_of(head: &[u8]) -> Option<u16> {
    let is_ours = head.starts_with(b"\x7fELF\x02\x01");
    let field = head.get(18..20)?;
    is_ours.then(|| u16::from_le_bytes([field[0], field[1]]))
}

fn number(arch: Arch) -> u16 {
    match arch {
        Arch::Amd64 => elf::MACHINE_X86_64,
        Arch::Arm64 => elf::MACHINE_AARCH64,
    }
}

/// The architecture of the programs on a host: that of a shell or loader, else of its kernel.
pub fn architecture(root: &Root) -> Option<Arch> {
    const PROGRAMS: [&str; 8] = [
        "/bin/sh",
        "/usr/bin/env",
        "/lib64/ld-linux-x86-64.so.2",
        "/lib/ld-linux-aarch64.so.1",
        "/lib/ld-musl-x86_64.so.1",
        "/lib/ld-musl-aarch64.so.1",
        "/lib/x86_64-linux-gnu/libc.so.6",
        "/lib/aarch64-linux-gnu/libc.so.6",
    ];
    let of = |path: &&str| machine_of(&root.head(path, 64)?);
    match PROGRAMS.iter().find_map(of) {
        Some(elf::MACHINE_X86_64) => return Some(Arch::Amd64),
        Some(elf::MACHINE_AARCH64) => return Some(Arch::Arm64),
        _ => {}
    }
    root.text("/proc/sys/kernel/arch")?.trim().parse().ok()
}

impl<'a> Libraries<'a> {
    /// The folders a loader for `arch` searches; `preset` is `LD_LIBRARY_PATH`.
    pub fn new(root: &'a Root, arch: Arch, preset: Option<&str>) -> Self {
        let triplet = format!("{}-linux-gnu", arch.machine());
        let mut folders: Vec<String> = preset
            .unwrap_or_default()
            .split(':')
            .filter(|folder| folder.starts_with('/'))
            .map(ToOwned::to_owned)
            .collect();
        configured(root, "/etc/ld.so.conf", &mut folders, &mut BTreeSet::new());
        for folder in [
            &format!("/lib/{triplet}"),
            &format!("/usr/lib/{triplet}"),
            "/lib64",
            "/usr/lib64",
            "/lib",
            "/usr/lib",
        ] {
            folders.push(folder.to_owned());
        }
        Self {
            root,
            machine: number(arch),
            folders,
        }
    }

    /// The file the loader takes for a SONAME.
    pub fn find(&self, soname: &str) -> Option<String> {
        self.folders
            .iter()
            .find_map(|folder| self.here(folder, soname))
    }

    /// The file of a library of the driver, which may lie where only its own tools look.
    pub fn find_of_driver(&self, soname: &str) -> Option<String> {
        let triplet = match self.machine {
            elf::MACHINE_AARCH64 => "aarch64-linux-gnu",
            _ => "x86_64-linux-gnu",
        };
        let further = || {
            DRIVER_FOLDERS
                .iter()
                .find_map(|folder| self.here(&folder.replace("TRIPLET", triplet), soname))
        };
        self.find(soname).or_else(further)
    }

    fn here(&self, folder: &str, soname: &str) -> Option<String> {
        let path = format!("{}/{soname}", folder.trim_end_matches('/'));
        let head = self.root.head(&path, 64)?;
        (machine_of(&head) == Some(self.machine)).then_some(path)
    }

    /// The C library.
    pub fn libc(&self) -> Libc {
        if let Some(path) = self.find("libc.so.6")
            && let Some(version) = self.newest(&path, "GLIBC_")
        {
            return Libc::Glibc { version, path };
        }
        let names = self.root.names("/lib");
        match names.iter().find(|name| name.starts_with("ld-musl-")) {
            Some(name) => Libc::Musl {
                path: format!("/lib/{name}"),
            },
            None => Libc::None,
        }
    }

    /// The C++ library.
    pub fn libstdcxx(&self) -> Option<LibStdCxx> {
        let path = self.find("libstdc++.so.6")?;
        Some(LibStdCxx {
            glibcxx: self.newest(&path, "GLIBCXX_"),
            cxxabi: self.newest(&path, "CXXABI_"),
            path,
        })
    }

    /// The highest numbered version with this prefix that a library defines.
    fn newest(&self, path: &str, prefix: &str) -> Option<DottedVersion> {
        let facts = elf::read(&self.root.read(path, MAX_LIBRARY)?).ok()?;
        let version = |name: &String| name.strip_prefix(prefix)?.parse().ok();
        facts.version_defs.iter().filter_map(version).max()
    }
}

/// Folders that `ld.so.conf` names, with the files it includes.
fn configured(root: &Root, file: &str, folders: &mut Vec<String>, seen: &mut BTreeSet<String>) {
    if seen.len() >= MAX_CONF || !seen.insert(file.to_owned()) {
        return;
    }
    for line in root.text(file).unwrap_or_default().lines() {
        let line = line.split('#').next().unwrap_or_default().trim();
        if let Some(pattern) = line
            .strip_prefix("include")
            .filter(|p| p.starts_with([' ', '\t']))
        {
            for included in matching(root, pattern.trim()) {
                configured(root, &included, folders, seen);
            }
        } else if line.starts_with('/') {
            folders.push(line.to_owned());
        }
    }
}

/// Files that a pattern such as `/etc/ld.so.conf.d/*.conf` names, with `*` in the last name only.
fn matching(root: &Root, pattern: &str) -> Vec<String> {
    let pattern = if pattern.starts_with('/') {
        pattern.to_owned()
    } else {
        format!("/etc/{pattern}")
    };
    let Some((folder, name)) = pattern.rsplit_once('/') else {
        return Vec::new();
    };
    let Some((before, after)) = name.split_once('*') else {
        return vec![pattern];
    };
    let names = root.names(folder).into_iter();
    names
        .filter(|n| {
            n.len() >= before.len() + after.len() && n.starts_with(before) && n.ends_with(after)
        })
        .map(|n| format!("{folder}/{n}"))
        .collect()
}
