//! The host beside its GPUs: kernel, distribution, platform, device nodes, room and file systems, the user's folders and
//! variables, and what Triton needs to compile. Facts only; `judge` says what they mean.

use std::collections::BTreeMap;

use serde::Serialize;

use super::known::{Abi, Board, Known};
use super::root::Root;
use crate::base::target::Arch;

/// Variables that decide what a process loads, finds or sees.
const VARIABLES: [&str; 16] = [
    "CC",
    "CUDA_DISABLE_PTX_JIT",
    "CUDA_FORCE_PTX_JIT",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_VISIBLE_DEVICES",
    "PYTHONHOME",
    "PYTHONPATH",
    "PYTHONSTARTUP",
    "TRITON_CACHE_DIR",
    "TRITON_LIBCUDA_PATH",
    "XDG_CACHE_HOME",
];

/// What kind of machine it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Platform {
    /// A server, workstation or virtual machine.
    Plain,
    /// Linux on Windows: the driver is that of Windows.
    Wsl2,
    /// An embedded board with its own libraries: those on PyPI do not run.
    JetsonTegra,
    /// An embedded board that runs what servers run.
    JetsonSbsa,
}

/// What the system says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct System {
    /// Architecture of its programs, where it is one that bundles are made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arch: Option<Arch>,
    /// Release of the kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Distribution, as it calls itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distribution: Option<String>,
    /// `ID` and `ID_LIKE` of os-release, which say how packages are installed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub family: Vec<String>,
    /// What kind of machine.
    pub platform: Platform,
    /// It looks like the inside of a container.
    pub container: bool,
}

/// A device node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Path.
    pub path: String,
    /// The user may read and write it.
    pub usable: bool,
}

/// A folder that something is written to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Folder {
    /// Path.
    pub path: String,
    /// Type of its file system, where the host tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filesystem: Option<String>,
    /// The user may write there.
    pub writable: bool,
    /// Nothing on its file system can be run.
    pub no_exec: bool,
    /// Bytes free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub free: Option<u64>,
    /// Files that can still be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inodes: Option<u64>,
}

/// What Triton compiles with.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Compiler {
    /// The C compiler it would take.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The C library's headers are there.
    pub headers: bool,
}

/// The embedded board, if the host is one.
pub fn board(root: &Root) -> Option<&'static Board> {
    let text = root.text("/proc/device-tree/compatible");
    let text = text.or_else(|| root.text("/sys/firmware/devicetree/base/compatible"))?;
    let names: Vec<&str> = text.split(['\0', '\n']).filter(|n| !n.is_empty()).collect();
    Known::built_in().board(&names)
}

impl System {
    /// Reads what the system says of itself.
    pub fn read(root: &Root, arch: Option<Arch>, board: Option<&Board>) -> Self {
        let kernel = root.text("/proc/sys/kernel/osrelease");
        let kernel = kernel.map(|text| text.trim().to_owned());
        let release = |part: &str| {
            kernel
                .as_ref()
                .is_some_and(|k| k.to_lowercase().contains(part))
        };
        let platform = match board.map(|board| board.abi) {
            Some(Abi::Tegra) => Platform::JetsonTegra,
            Some(Abi::Sbsa) => Platform::JetsonSbsa,
            None if root.has("/dev/dxg") || release("microsoft") => Platform::Wsl2,
            // A JetPack whose board is not in the table.
            None if release("-tegra") => Platform::JetsonTegra,
            None => Platform::Plain,
        };
        let text = root.text("/etc/os-release");
        let text = text
            .or_else(|| root.text("/usr/lib/os-release"))
            .unwrap_or_default();
        let value = |key: &str| {
            let line = |line: &str| {
                let value = line.strip_prefix(key)?.strip_prefix('=')?;
                Some(value.trim().trim_matches(['"', '\'']).to_owned())
            };
            text.lines().find_map(line)
        };
        let family = [value("ID"), value("ID_LIKE")];
        Self {
            arch,
            distribution: value("PRETTY_NAME").or_else(|| value("NAME")),
            family: family
                .into_iter()
                .flatten()
                .flat_map(|ids| {
                    ids.split_whitespace()
                        .map(ToOwned::to_owned)
                        .collect::<Vec<_>>()
                })
                .collect(),
            kernel,
            platform,
            container: root.has("/.dockerenv") || root.has("/run/.containerenv"),
        }
    }
}

/// Device nodes of the driver.
pub fn nodes(root: &Root) -> Vec<Node> {
    let is_ours = |name: &String| {
        name == "dxg"
            || name == "nvidiactl"
            || name == "nvidia-uvm"
            || name == "nvmap"
            || name == "nvhost-gpu"
            || name
                .strip_prefix("nvidia")
                .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    let node = |name: String| {
        let path = format!("/dev/{name}");
        let usable = root.may_read_and_write(&path);
        Node { path, usable }
    };
    root.names("/dev")
        .into_iter()
        .filter(is_ours)
        .map(node)
        .collect()
}

/// What is known of a folder, which need not be there yet.
pub fn folder(root: &Root, path: &str) -> Folder {
    let mount = mount(root, path);
    let room = root.room(path);
    let option = |wanted: &str| {
        mount
            .as_ref()
            .is_some_and(|m| m.options.iter().any(|o| o == wanted))
    };
    let read_only = option("ro") || room.is_some_and(|room| room.read_only);
    Folder {
        no_exec: option("noexec") || room.is_some_and(|room| room.no_exec),
        writable: !read_only && root.may_fill(path),
        filesystem: mount.map(|mount| mount.kind),
        free: room.map(|room| room.bytes),
        inodes: room.map(|room| room.inodes).filter(|n| *n != u64::MAX),
        path: path.to_owned(),
    }
}

struct Mount {
    kind: String,
    options: Vec<String>,
}

/// The file system of a path, by the longest mount point above it; the last mount on a point counts.
fn mount(root: &Root, path: &str) -> Option<Mount> {
    let text = root
        .text("/proc/self/mounts")
        .or_else(|| root.text("/proc/mounts"))?;
    let mut best: Option<(usize, Mount)> = None;
    for line in text.lines() {
        let mut fields = line.split(' ').skip(1);
        let (Some(point), Some(kind), Some(options)) =
            (fields.next(), fields.next(), fields.next())
        else {
            continue;
        };
        let point = point
            .replace("\\040", " ")
            .replace("\\011", "\t")
            .replace("\\134", "\\");
        let point = point.trim_end_matches('/');
        let below = path
            .strip_prefix(point)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        if below && best.as_ref().is_none_or(|(len, _)| point.len() >= *len) {
            let mount = Mount {
                kind: kind.to_owned(),
                options: options.split(',').map(ToOwned::to_owned).collect(),
            };
            best = Some((point.len(), mount));
        }
    }
    best.map(|(_, mount)| mount)
}

/// The variables that matter, where they are set.
pub fn variables(environment: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let set = |name: &&str| Some(((*name).to_owned(), environment.get(*name)?.clone()));
    VARIABLES.iter().filter_map(set).collect()
}

/// The C compiler Triton takes: `CC`, else gcc, else clang, and the C library's headers.
pub fn compiler(
    root: &Root,
    environment: &BTreeMap<String, String>,
    arch: Option<Arch>,
) -> Compiler {
    const FALLBACK: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    let path = environment.get("PATH").map_or(FALLBACK, String::as_str);
    let on_path = |name: &str| {
        if name.starts_with('/') {
            return root.has(name).then(|| name.to_owned());
        }
        let folders = path.split(':').filter(|folder| folder.starts_with('/'));
        let place = |folder: &str| format!("{}/{name}", folder.trim_end_matches('/'));
        folders.map(place).find(|path| root.has(path))
    };
    let own = environment
        .get("CC")
        .and_then(|cc| cc.split_whitespace().next());
    let path = match own {
        Some(program) => on_path(program),
        None => on_path("gcc").or_else(|| on_path("clang")),
    };
    let triplet = arch.map_or("", Arch::machine);
    let headers = [
        "/usr/include/stdio.h".to_owned(),
        format!("/usr/include/{triplet}-linux-gnu/stdio.h"),
    ];
    Compiler {
        path,
        headers: headers.iter().any(|path| root.has(path)),
    }
}
