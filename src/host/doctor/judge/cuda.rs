//! What a bundle with GPU code needs of the driver and of each GPU. The driver's version decides what may run, its
//! libraries and device nodes whether this process reaches it, and the bundle's code what is there for a device.

use super::super::coverage::{self, Code};
use super::super::known::Known;
use super::super::{Gpu, Host, Platform};
use super::{OnGpu, Verdict, reason};
use crate::base::capability::ComputeCapability;
use crate::base::finding::{Finding, Severity};
use crate::formats::bundle::BundleFacts;
use crate::formats::driver::DriverVersion;
use crate::formats::fatbin::driver_of_cuda;

/// Libraries named in a reason.
const SHOWN: usize = 3;

/// What concerns every GPU.
pub(super) fn host_reasons(host: &Host, facts: &BundleFacts) -> Vec<Finding> {
    let mut out = Vec::new();
    let error = |code: &str, about: &str, message: String, hint: String| {
        reason(Severity::Error, code, about, message, hint)
    };
    let floor = driver_floor(facts);
    let wanted = floor
        .as_ref()
        .map_or_else(String::new, |floor| format!(" {floor} or newer"));
    let Some(driver) = &host.driver else {
        let message = format!("no NVIDIA driver was found; the bundle needs{wanted}");
        let hint = if host.system.container {
            "start the container with its GPUs (--gpus all, or the engine's CDI devices), or pass --gpu and --driver"
        } else {
            "have the driver installed; to ask about another host pass --gpu and --driver"
        };
        // On WSL2 and on boards it is only nvidia-smi that knows the version.
        let absent = host.driver_libraries.libcuda.is_none();
        let severity = if absent {
            Severity::Error
        } else {
            Severity::Warning
        };
        let code = if absent {
            "driver-missing"
        } else {
            "driver-version-unknown"
        };
        let message = if absent {
            message
        } else {
            format!("the driver's version is not known; the bundle needs{wanted}")
        };
        out.push(reason(severity, code, "driver", message, hint));
        out.extend(reach(host));
        return out;
    };
    if let Some(floor) = floor.filter(|floor| driver.version < *floor) {
        let compat = match &host.driver_libraries.compat {
            Some(path) => format!(
                "; or, on data centre GPUs, put the folder of {path} first in LD_LIBRARY_PATH"
            ),
            None => format!(
                "; or, on data centre GPUs, NVIDIA's cuda-compat package for CUDA {}",
                cuda_text(facts)
            ),
        };
        out.push(error(
            "driver-too-old",
            "driver",
            format!(
                "the driver is {}, the bundle needs {floor} or newer",
                driver.version
            ),
            format!("have the driver updated, or take a bundle for an older CUDA{compat}"),
        ));
    }
    if !host.supposed {
        out.extend(reach(host));
    }
    out
}

/// Whether a process reaches the driver: its library, its device nodes, what the environment hides.
fn reach(host: &Host) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut add = |severity, code: &str, about: &str, message: &str, hint: &str| {
        out.push(reason(severity, code, about, message, hint));
    };
    let has_driver = host.driver.is_some();
    if has_driver && host.driver_libraries.libcuda.is_none() {
        let hint = if host.system.container {
            "start the container with the driver capability `compute` (NVIDIA_DRIVER_CAPABILITIES=compute,utility)"
        } else {
            "install the driver's user part (libcuda.so.1) of the same version as the kernel module"
        };
        add(
            Severity::Error,
            "libcuda-missing",
            "libcuda.so.1",
            "the driver is loaded but its library is nowhere",
            hint,
        );
    }
    for node in host.nodes.iter().filter(|node| !node.usable) {
        let hint = "join the group that owns it (ls -l), or ask for the rights";
        add(
            Severity::Error,
            "device-no-rights",
            &node.path,
            "this user may not read and write it",
            hint,
        );
    }
    let node = |name: &str| host.nodes.iter().any(|node| node.path == name);
    let by_module = has_driver && host.system.platform == Platform::Plain;
    if by_module && !node("/dev/nvidiactl") {
        let hint = "start the container with its GPUs, or as root: nvidia-modprobe -c 0 -u";
        add(
            Severity::Error,
            "device-missing",
            "/dev/nvidiactl",
            "the driver's device node is missing",
            hint,
        );
    } else if by_module && !node("/dev/nvidia-uvm") {
        let severity = if host.has_modprobe {
            Severity::Note
        } else {
            Severity::Error
        };
        let message = if host.has_modprobe {
            "it is missing; the first CUDA program makes it through nvidia-modprobe"
        } else {
            "it is missing, and so is nvidia-modprobe, which would make it"
        };
        add(
            severity,
            "device-missing",
            "/dev/nvidia-uvm",
            message,
            "as root: modprobe nvidia-uvm && nvidia-modprobe -u",
        );
    }
    let hidden = host
        .variables
        .get("CUDA_VISIBLE_DEVICES")
        .map(|value| value.trim());
    if matches!(hidden, Some("" | "-1" | "none" | "NoDevFiles")) {
        add(
            Severity::Error,
            "gpus-hidden",
            "CUDA_VISIBLE_DEVICES",
            "it hides every GPU",
            "unset CUDA_VISIBLE_DEVICES",
        );
    }
    if matches!(
        host.variables
            .get("NVIDIA_VISIBLE_DEVICES")
            .map(String::as_str),
        Some("void" | "none")
    ) && !has_driver
    {
        let hint = "start the container with its GPUs (--gpus all)";
        add(
            Severity::Warning,
            "gpus-hidden",
            "NVIDIA_VISIBLE_DEVICES",
            "it keeps GPUs out of this container",
            hint,
        );
    }
    out
}

/// The verdict for each GPU of the host.
pub(super) fn each_gpu(host: &Host, facts: &BundleFacts) -> Vec<OnGpu> {
    host.gpus
        .devices
        .iter()
        .map(|gpu| one(host, gpu, facts))
        .collect()
}

fn one(host: &Host, gpu: &Gpu, facts: &BundleFacts) -> OnGpu {
    let mut on = OnGpu {
        name: gpu.name.clone(),
        capability: gpu.capability,
        verdict: Verdict::Unknown,
        code: None,
        reasons: Vec::new(),
    };
    let Some(capability) = gpu.capability else {
        let name = gpu.name.as_deref().unwrap_or("the GPU");
        let message = "its compute capability is not known";
        on.reasons.push(reason(
            Severity::Warning,
            "gpu-unknown",
            name,
            message,
            "pass it: --gpu X.Y",
        ));
        return on;
    };
    let about = match &gpu.name {
        Some(name) => format!("{name} ({capability})"),
        None => format!("GPU {capability}"),
    };
    let code = coverage::of(facts, capability);
    on.reasons.extend(mig(gpu, &about));
    on.reasons.extend(known_by_driver(host, capability, &about));
    on.verdict = match &code {
        Code::NoneNeeded | Code::Native { .. } => Verdict::Runs,
        Code::Jit { libraries, cuda } => {
            let cuda = cuda.or_else(|| release(facts));
            on.reasons.extend(jit(host, cuda, libraries, &about));
            Verdict::RunsWithJit
        }
        Code::Missing { libraries, .. } => {
            let message = format!("the bundle has no code for it in {}", list(libraries));
            let hint = "take a bundle whose recipe declares this capability (bundler gpu BUNDLE shows what is inside)";
            on.reasons.push(reason(
                Severity::Error,
                "gpu-arch-uncovered",
                &about,
                message,
                hint,
            ));
            Verdict::WillNot
        }
        Code::Unpromised => {
            let message = "the bundle's recipe does not promise it, and the bundle does not say what code it holds";
            let hint = "take a bundle whose recipe declares this capability";
            on.reasons.push(reason(
                Severity::Error,
                "gpu-arch-uncovered",
                &about,
                message,
                hint,
            ));
            Verdict::WillNot
        }
    };
    if matches!(code, Code::Native { exact: false }) {
        let message = "it runs by code of an earlier device of its generation";
        on.reasons
            .push(reason(Severity::Note, "gpu-not-exact", &about, message, ""));
    }
    if on.reasons.iter().any(|r| r.severity == Severity::Error) {
        on.verdict = Verdict::WillNot;
    }
    on.code = Some(code);
    on
}

fn mig(gpu: &Gpu, about: &str) -> Option<Finding> {
    (gpu.mig == Some(true) && gpu.mig_instances.is_empty()).then(|| {
        let message = "MIG is on and has no instances: CUDA sees no device";
        let hint = "as root: nvidia-smi mig -cgi PROFILE -C, or switch MIG off (nvidia-smi -mig 0)";
        reason(
            Severity::Error,
            "mig-without-instances",
            about,
            message,
            hint,
        )
    })
}

fn known_by_driver(host: &Host, capability: ComputeCapability, about: &str) -> Option<Finding> {
    let first = Known::built_in().first_driver(capability)?;
    let driver = &host.driver.as_ref()?.version;
    (*driver < first).then(|| {
        let message = format!("the driver is {driver}; this GPU needs {first} or newer");
        reason(
            Severity::Error,
            "driver-too-old",
            about,
            message,
            "have the driver updated",
        )
    })
}

/// Whether the driver can compile what is left to it.
fn jit(host: &Host, cuda: Option<(u16, u16)>, libraries: &[String], about: &str) -> Vec<Finding> {
    let mut out = Vec::new();
    let has = host.driver.as_ref().and_then(|driver| driver.cuda);
    if let (Some(cuda), Some(has)) = (cuda, has)
        && has < cuda
    {
        let from = driver_of_cuda(cuda);
        let from = from.map_or_else(String::new, |v| format!(" ({v} or newer)"));
        let message = format!(
            "code in {} has to be compiled by the driver, which knows CUDA {}.{} and not {}.{}",
            list(libraries),
            has.0,
            has.1,
            cuda.0,
            cuda.1
        );
        let hint = format!(
            "have the driver updated{from}, or take a bundle with machine code for this GPU"
        );
        out.push(reason(Severity::Error, "ptx-too-new", about, message, hint));
    }
    let off = host
        .variables
        .get("CUDA_DISABLE_PTX_JIT")
        .is_some_and(|v| v != "0");
    if off {
        let message = format!(
            "code in {} has to be compiled by the driver, which this forbids",
            list(libraries)
        );
        out.push(reason(
            Severity::Error,
            "ptx-jit-off",
            "CUDA_DISABLE_PTX_JIT",
            message,
            "unset CUDA_DISABLE_PTX_JIT",
        ));
    }
    if !host.supposed && host.driver.is_some() && host.driver_libraries.ptx_jit.is_none() {
        let message = format!(
            "code in {} has to be compiled by the driver, whose compiler is missing",
            list(libraries)
        );
        let hint = if host.system.container {
            "start the container with the driver capability `compute` (NVIDIA_DRIVER_CAPABILITIES=compute,utility)"
        } else {
            "install all of the driver's user part"
        };
        out.push(reason(
            Severity::Error,
            "ptx-jit-missing",
            "libnvidia-ptxjitcompiler.so.1",
            message,
            hint,
        ));
    }
    if out.is_empty() {
        let message = format!(
            "the driver compiles code in {} at first use, which takes minutes once",
            list(libraries)
        );
        out.push(reason(Severity::Note, "gpu-jit", about, message, ""));
    }
    out
}

/// No GPU is known.
pub(super) fn unknown_gpu(host: &Host) -> Finding {
    let message = match (host.gpus.on_bus, &host.gpus.nvidia_smi_failed) {
        (_, Some(why)) => format!("the host's GPU is not known: {why}"),
        (0, None) => "no GPU was found".to_owned(),
        (n, None) => format!("{n} NVIDIA devices are on the bus, but nothing says which"),
    };
    reason(
        Severity::Warning,
        "gpu-unknown",
        "GPU",
        message,
        "pass its compute capability: --gpu X.Y",
    )
}

fn driver_floor(facts: &BundleFacts) -> Option<DriverVersion> {
    facts.cuda.as_ref()?.driver_floor.as_ref()?.parse().ok()
}

/// The CUDA release of the bundle: its PTX is of this or an earlier one.
fn release(facts: &BundleFacts) -> Option<(u16, u16)> {
    let (major, minor) = cuda_text(facts).split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn cuda_text(facts: &BundleFacts) -> &str {
    facts.cuda.as_ref().map_or("", |cuda| cuda.version.as_str())
}

/// The last names of a few paths.
fn list(libraries: &[String]) -> String {
    let name = |path: &String| path.rsplit('/').next().unwrap_or(path).to_owned();
    let shown: Vec<String> = libraries.iter().take(SHOWN).map(name).collect();
    match libraries.len().saturating_sub(SHOWN) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}
