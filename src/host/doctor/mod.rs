//! Will a bundle run here? [`examine`] reads what a host is, below one root; [`judge`](judge::judge) compares it with what
//! a bundle's description says it needs. Reads and changes nothing; asks nvidia-smi, and libcuda only when told to.

mod advice;
pub mod child;
mod coverage;
mod deep;
mod gpu;
mod judge;
mod known;
mod libraries;
mod remarks;
mod root;
mod smi;
mod system;

use std::collections::BTreeMap;

use serde::Serialize;

use crate::base::capability::ComputeCapability;
use crate::formats::driver::DriverVersion;

pub use coverage::Code;
pub use deep::{DeepError, ask_libcuda};
pub use gpu::{Driver, DriverLibraries, Gpu, Gpus, Source};
pub use judge::{Judged, OnGpu, Verdict, judge};
pub use libraries::{LibStdCxx, Libc, Libraries};
pub use remarks::remarks;
pub use root::{Root, RootError};
pub use system::{Compiler, Folder, Node, Platform, System};

/// What the user says, and the environment.
#[derive(Debug, Clone, Default)]
pub struct Question {
    /// GPUs, instead of the host's.
    pub gpus: Vec<ComputeCapability>,
    /// Driver, instead of the host's.
    pub driver: Option<DriverVersion>,
    /// Folder a bundle would be installed in, instead of the usual one.
    pub place: Option<String>,
    /// The environment of the user; that of a recorded host stands in its folder.
    pub environment: BTreeMap<String, String>,
}

/// Everything that is known of a host.
#[derive(Debug, Clone, Serialize)]
pub struct Host {
    /// What it says of itself.
    pub system: System,
    /// C library.
    pub libc: Libc,
    /// C++ library, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub libstdcxx: Option<LibStdCxx>,
    /// Driver, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<Driver>,
    /// The driver's libraries.
    pub driver_libraries: DriverLibraries,
    /// GPUs.
    pub gpus: Gpus,
    /// Device nodes of the driver.
    pub nodes: Vec<Node>,
    /// Where a bundle would be installed.
    pub place: Folder,
    /// The home folder, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub home: Option<Folder>,
    /// Where compiled kernels are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache: Option<Folder>,
    /// Variables that decide what is loaded or seen.
    pub variables: BTreeMap<String, String>,
    /// What Triton compiles with.
    pub compiler: Compiler,
    /// Shared libraries that were looked for, and where they are.
    #[serde(skip)]
    pub(crate) found: BTreeMap<String, Option<String>>,
    /// It can make device nodes by itself.
    #[serde(skip)]
    pub(crate) has_modprobe: bool,
    /// The driver was named by the user: its parts are not looked for here.
    #[serde(skip)]
    pub(crate) supposed: bool,
}

/// Reads what a host is. `sonames` are libraries that somebody will ask about.
pub fn examine(root: &Root, question: &Question, sonames: &[String]) -> Host {
    let environment = if root.is_live() {
        &question.environment
    } else {
        &root.recorded().environment
    };
    let var = |name: &str| {
        environment
            .get(name)
            .map(String::as_str)
            .filter(|v| !v.is_empty())
    };
    let arch = libraries::architecture(root);
    let board = system::board(root);
    let libraries = arch.map(|arch| Libraries::new(root, arch, var("LD_LIBRARY_PATH")));
    let found = gpu::find(
        root,
        board,
        &question.gpus,
        question.driver.as_ref(),
        var("PATH"),
    );
    let home = var("HOME").map(ToOwned::to_owned);
    let below_home = |name: &str| {
        home.as_ref()
            .map(|home| format!("{}/{name}", home.trim_end_matches('/')))
    };
    let absolute = |name: &str| {
        var(name)
            .filter(|p| p.starts_with('/'))
            .map(ToOwned::to_owned)
    };
    let data = absolute("XDG_DATA_HOME").or_else(|| below_home(".local/share"));
    let place = question.place.clone();
    let place = place.or_else(|| data.map(|data| format!("{data}/pointcept-runtime")));
    let cache = absolute("XDG_CACHE_HOME").or_else(|| below_home(".cache"));
    Host {
        libc: libraries.as_ref().map_or(Libc::None, Libraries::libc),
        libstdcxx: libraries.as_ref().and_then(Libraries::libstdcxx),
        supposed: question.driver.is_some(),
        driver: found.driver,
        driver_libraries: libraries
            .as_ref()
            .map(|libraries| DriverLibraries::find(root, libraries))
            .unwrap_or_default(),
        gpus: found.gpus,
        nodes: system::nodes(root),
        place: system::folder(root, place.as_deref().unwrap_or("/tmp")),
        home: home.as_ref().map(|home| system::folder(root, home)),
        cache: cache.map(|cache| system::folder(root, &cache)),
        variables: system::variables(environment),
        compiler: system::compiler(root, environment, arch),
        found: sonames
            .iter()
            .map(|name| (name.clone(), libraries.as_ref().and_then(|l| l.find(name))))
            .collect(),
        has_modprobe: root.has("/usr/bin/nvidia-modprobe"),
        system: System::read(root, arch, board),
    }
}
