//! `--deep`: the driver itself is asked, through the python of an unpacked bundle, since a static program cannot load
//! libcuda. In a child with a time limit: a broken driver hangs or kills who asks it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;

use super::child::{self, ChildError};
use super::{Gpu, Host, Source};
use crate::base::capability::ComputeCapability;
use crate::base::finding::{Finding, Severity};

const SCRIPT: &str = include_str!("ask_libcuda.py");
/// Devices without persistence take seconds each to wake.
const LIMIT: Duration = Duration::from_mins(1);

/// Why the driver could not be asked.
#[derive(Debug, thiserror::Error)]
pub enum DeepError {
    /// No python to ask with.
    #[error("{} has no bin/python to ask the driver with", .0.display())]
    NoPython(PathBuf),
    /// The child did not answer.
    #[error("could not ask the driver")]
    Child(#[from] ChildError),
}

#[derive(Debug, Deserialize)]
struct Answer {
    driver: Option<u32>,
    error: i64,
    devices: Vec<Device>,
}

#[derive(Debug, Deserialize)]
struct Device {
    name: String,
    major: u8,
    minor: u8,
}

/// Asks libcuda through the python of the bundle unpacked at `tree`; what it says replaces what was read, and what keeps it
/// from working is a finding.
pub fn ask_libcuda(tree: &Path, host: &mut Host) -> Result<Vec<Finding>, DeepError> {
    let python = tree.join("bin/python");
    if !python.is_file() {
        return Err(DeepError::NoPython(tree.to_owned()));
    }
    let mut command = Command::new(&python);
    command.args(["-I", "-c", SCRIPT]).current_dir("/");
    let said = child::ask(&mut command, LIMIT)?;
    let finding = |message: String, hint: &str| {
        vec![Finding {
            severity: Severity::Error,
            code: "libcuda-fails".to_owned(),
            path: "libcuda.so.1".to_owned(),
            message,
            hint: Some(hint.to_owned()),
        }]
    };
    let Ok(answer) = serde_json::from_str::<Answer>(&said.out) else {
        let why = if said.error.is_empty() {
            format!("it ended with {}", said.status)
        } else {
            said.error
        };
        return Ok(finding(
            format!("the driver's library does not load: {why}"),
            "check that the driver is installed for this architecture",
        ));
    };
    if answer.error != 0 {
        let (what, hint) = meaning(answer.error);
        return Ok(finding(
            format!("the driver answers with error {}: {what}", answer.error),
            hint,
        ));
    }
    let device = |device: Device| Gpu {
        name: Some(device.name),
        capability: Some(ComputeCapability {
            major: device.major,
            minor: device.minor,
        }),
        mig: None,
        mig_instances: Vec::new(),
    };
    host.gpus.devices = answer.devices.into_iter().map(device).collect();
    host.gpus.source = Some(Source::Libcuda);
    if let (Some(driver), Some(number)) = (&mut host.driver, answer.driver) {
        driver.cuda = Some(((number / 1000) as u16, (number % 1000 / 10) as u16));
    }
    Ok(Vec::new())
}

/// What the driver's error codes mean, and what helps.
fn meaning(code: i64) -> (&'static str, &'static str) {
    match code {
        34 => (
            "a stub library was loaded instead of the driver",
            "take the folder of stubs out of LD_LIBRARY_PATH",
        ),
        46 => (
            "a device is unavailable",
            "see nvidia-smi for who uses it, and in which mode it is",
        ),
        100 => (
            "it sees no device",
            "check CUDA_VISIBLE_DEVICES, MIG, and the container's devices",
        ),
        802 => (
            "the system is not ready",
            "start the fabric manager (nvidia-fabricmanager)",
        ),
        803 => (
            "library and kernel module are of different versions",
            "reboot, or reload the kernel module",
        ),
        804 => (
            "a compatibility library does not support this device",
            "take cuda-compat out of LD_LIBRARY_PATH",
        ),
        999 => (
            "it does not say why",
            "check /dev/nvidia-uvm (nvidia-modprobe -u) and the kernel's log",
        ),
        _ => (
            "see CUDA's list of driver errors",
            "check the driver with nvidia-smi",
        ),
    }
}
