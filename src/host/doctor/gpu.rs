//! The host's driver and devices, from the first source that tells: what the user says, nvidia-smi, the kernel module's
//! files and the device tree with the table of models. Where none does, the device is unknown: nothing is guessed.

use serde::Serialize;

use super::known::{Board, Known};
use super::libraries::Libraries;
use super::root::Root;
use super::smi;
use crate::base::capability::ComputeCapability;
use crate::formats::driver::DriverVersion;
use crate::formats::fatbin::cuda_of_driver;

/// Where a fact comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The user said so.
    Given,
    /// nvidia-smi.
    NvidiaSmi,
    /// Files of the kernel module below `/proc/driver/nvidia`.
    KernelModule,
    /// The board's device tree.
    DeviceTree,
    /// The driver's library, asked through a bundle's python.
    Libcuda,
}

/// One GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Gpu {
    /// The driver's name of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Compute capability, where it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<ComputeCapability>,
    /// Whether MIG is on, where it has it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mig: Option<bool>,
    /// Profiles of its MIG instances.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mig_instances: Vec<String>,
}

/// The host's GPUs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Gpus {
    /// Where they are known from; absent where nothing tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// All of them.
    pub devices: Vec<Gpu>,
    /// NVIDIA display devices on the bus, with or without a driver.
    pub on_bus: usize,
    /// Why nvidia-smi did not answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nvidia_smi_failed: Option<String>,
}

/// The host's driver.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Driver {
    /// Version; on WSL2 that of Windows.
    pub version: DriverVersion,
    /// Where it is known from.
    pub source: Source,
    /// The newest CUDA it supports by itself; absent where the driver is older than all that are known.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[serde(serialize_with = "dotted_pair")]
    pub cuda: Option<(u16, u16)>,
    /// The kernel module is the open one; absent where that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_module: Option<bool>,
}

#[expect(clippy::ref_option, reason = "the shape serde asks for")]
fn dotted_pair<S: serde::Serializer>(
    pair: &Option<(u16, u16)>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match pair {
        Some((major, minor)) => serializer.collect_str(&format_args!("{major}.{minor}")),
        None => serializer.serialize_none(),
    }
}

/// Driver and devices together.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The driver, where there is one.
    pub driver: Option<Driver>,
    /// The devices.
    pub gpus: Gpus,
}

/// Looks for them; `given_gpu` and `given_driver` are what the user says.
pub fn find(
    root: &Root,
    board: Option<&Board>,
    given_gpu: &[ComputeCapability],
    given_driver: Option<&DriverVersion>,
    path: Option<&str>,
) -> Found {
    let known = Known::built_in();
    let mut found = Found::default();
    found.gpus.on_bus = on_bus(root);
    let module = module_version(root);
    let asked = smi::devices(root, path);
    let mut smi_driver = None;
    match asked {
        Some(Ok(devices)) => {
            smi_driver = devices.iter().find_map(|device| device.driver.clone());
            if !devices.is_empty() {
                found.gpus.source = Some(Source::NvidiaSmi);
                found.gpus.devices = devices.into_iter().map(|d| gpu_of(d, known)).collect();
            }
        }
        Some(Err(text)) => found.gpus.nvidia_smi_failed = Some(text),
        None => {}
    }
    if found.gpus.source.is_none() {
        found.gpus.devices = of_module(root, known);
        if !found.gpus.devices.is_empty() {
            found.gpus.source = Some(Source::KernelModule);
        } else if let Some(board) = board {
            found.gpus.source = Some(Source::DeviceTree);
            found.gpus.devices = vec![Gpu {
                name: Some(board.name.clone()),
                capability: Some(board.capability),
                mig: None,
                mig_instances: Vec::new(),
            }];
        }
    }
    if !given_gpu.is_empty() {
        found.gpus.source = Some(Source::Given);
        found.gpus.devices = given_gpu.iter().map(|c| given(*c)).collect();
    }
    let open_module = module.as_ref().map(|(_, open)| *open);
    let version = match (given_driver, module, smi_driver) {
        (Some(version), _, _) => Some((version.clone(), Source::Given)),
        // A compatibility package changes what nvidia-smi says; the kernel module does not change.
        (_, Some((version, _)), _) => Some((version, Source::KernelModule)),
        (_, _, Some(version)) => Some((version, Source::NvidiaSmi)),
        _ => None,
    };
    found.driver = version.map(|(version, source)| Driver {
        cuda: cuda_of_driver(version.numbers()),
        version,
        source,
        open_module,
    });
    found
}

fn given(capability: ComputeCapability) -> Gpu {
    Gpu {
        name: None,
        capability: Some(capability),
        mig: None,
        mig_instances: Vec::new(),
    }
}

fn gpu_of(device: smi::Device, known: &Known) -> Gpu {
    Gpu {
        capability: device
            .capability
            .or_else(|| known.capability_of(&device.name)),
        name: Some(device.name),
        mig: device.mig,
        mig_instances: device.instances,
    }
}

/// Devices of the kernel module: `/proc/driver/nvidia/gpus/*/information`.
fn of_module(root: &Root, known: &Known) -> Vec<Gpu> {
    let folder = "/proc/driver/nvidia/gpus";
    let one = |slot: String| {
        let text = root.text(&format!("{folder}/{slot}/information"))?;
        let name = text.lines().find_map(|line| line.strip_prefix("Model:"))?;
        let name = name.trim();
        Some(Gpu {
            capability: known.capability_of(name),
            name: (!name.is_empty()).then(|| name.to_owned()),
            mig: None,
            mig_instances: Vec::new(),
        })
    };
    root.names(folder).into_iter().filter_map(one).collect()
}

/// Version of the loaded kernel module, and whether it is the open one.
fn module_version(root: &Root) -> Option<(DriverVersion, bool)> {
    let from_proc = || {
        let text = root.text("/proc/driver/nvidia/version")?;
        let line = text.lines().find(|line| line.contains("Module"))?;
        let (_, after) = line.split_once("Module")?;
        let version = after.split_whitespace().find_map(dotted)?;
        Some((version, line.contains("Open Kernel Module")))
    };
    from_proc().or_else(|| {
        let text = root.text("/sys/module/nvidia/version")?;
        Some((dotted(text.trim())?, false))
    })
}

fn dotted(word: &str) -> Option<DriverVersion> {
    let is_version = word.contains('.') && word.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    is_version.then(|| word.parse().ok())?
}

/// Display devices of NVIDIA's on the PCI bus.
fn on_bus(root: &Root) -> usize {
    let folder = "/sys/bus/pci/devices";
    let field = |slot: &str, name: &str| root.text(&format!("{folder}/{slot}/{name}"));
    root.names(folder)
        .iter()
        .filter(|slot| {
            let vendor = field(slot, "vendor").unwrap_or_default();
            let class = field(slot, "class").unwrap_or_default();
            vendor.trim() == "0x10de" && class.trim().starts_with("0x03")
        })
        .count()
}

/// The driver's libraries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct DriverLibraries {
    /// `libcuda.so.1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub libcuda: Option<String>,
    /// `libnvidia-ptxjitcompiler.so.1`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptx_jit: Option<String>,
    /// A compatibility package's `libcuda.so.1`, which is not used by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compat: Option<String>,
}

impl DriverLibraries {
    /// Looks for them.
    pub fn find(root: &Root, libraries: &Libraries<'_>) -> Self {
        let compat = |name: &String| name.starts_with("cuda");
        let place = |name: String| format!("/usr/local/{name}/compat/libcuda.so.1");
        Self {
            libcuda: libraries.find_of_driver("libcuda.so.1"),
            ptx_jit: libraries
                .find_of_driver("libnvidia-ptxjitcompiler.so.1")
                // WSL2 keeps it beside the driver itself.
                .or_else(|| wsl_store(root, "libnvidia-ptxjitcompiler.so.1")),
            compat: root
                .names("/usr/local")
                .into_iter()
                .filter(compat)
                .map(place)
                .find(|path| root.has(path)),
        }
    }
}

fn wsl_store(root: &Root, soname: &str) -> Option<String> {
    let folder = "/usr/lib/wsl/drivers";
    root.names(folder)
        .into_iter()
        .map(|name| format!("{folder}/{name}/{soname}"))
        .find(|path| root.has(path))
}
