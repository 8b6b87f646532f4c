//! nvidia-smi: run on this machine, or read from a recorded host. Old ones do not know the compute capability: they are
//! asked again for what they know. What it prints for "not known" (`[N/A]`, `[Not Supported]`) is left out.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::child;
use super::root::Root;
use crate::base::capability::ComputeCapability;
use crate::formats::driver::DriverVersion;

/// A driver without persistence takes seconds to wake each device.
const LIMIT: Duration = Duration::from_secs(30);

const FIELDS: &str = "--query-gpu=name,compute_cap,driver_version,mig.mode.current";
const OLD_FIELDS: &str = "--query-gpu=name,driver_version";
const FORMAT: &str = "--format=csv,noheader";

/// Where nvidia-smi may be, beside PATH.
const FOLDERS: [&str; 4] = [
    "/usr/bin",
    "/usr/local/bin",
    "/usr/lib/wsl/lib",
    "/usr/local/nvidia/bin",
];

/// One device, as nvidia-smi tells of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// Name.
    pub name: String,
    /// Compute capability, where it tells.
    pub capability: Option<ComputeCapability>,
    /// Version of the driver.
    pub driver: Option<DriverVersion>,
    /// Whether MIG is on, for devices that have it.
    pub mig: Option<bool>,
    /// MIG instances on it.
    pub instances: Vec<String>,
}

/// What nvidia-smi tells; an error is what it said instead.
pub fn devices(root: &Root, path: Option<&str>) -> Option<Result<Vec<Device>, String>> {
    let ask: Box<dyn Fn(&[&str]) -> Result<String, String>> = if root.is_live() {
        let program = program(root, path)?;
        Box::new(move |arguments| run(&program, arguments))
    } else {
        let recorded = root.recorded().nvidia_smi.clone()?;
        Box::new(move |arguments| {
            let answer = match arguments.first() {
                Some(&FIELDS) => &recorded.query,
                Some(&OLD_FIELDS) => &recorded.short_query,
                _ => &recorded.list,
            };
            answer.clone().ok_or_else(|| "it failed".to_owned())
        })
    };
    let found = ask(&[FIELDS, FORMAT])
        .map(|text| read(&text, true))
        .or_else(|first| match ask(&[OLD_FIELDS, FORMAT]) {
            Ok(text) => Ok(read(&text, false)),
            Err(_) => Err(first),
        });
    Some(found.map(|mut devices| {
        if devices.iter().any(|device| device.mig == Some(true)) {
            add_instances(&mut devices, &ask(&["-L"]).unwrap_or_default());
        }
        devices
    }))
}

fn program(root: &Root, path: Option<&str>) -> Option<String> {
    let folders = path
        .unwrap_or_default()
        .split(':')
        .filter(|f| f.starts_with('/'));
    let place = |folder: &str| format!("{folder}/nvidia-smi");
    folders
        .chain(FOLDERS)
        .map(place)
        .find(|path| root.has(path))
}

fn run(program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(Path::new(program));
    command.args(arguments).env("LC_ALL", "C").current_dir("/");
    let said = child::ask(&mut command, LIMIT).map_err(|e| e.to_string())?;
    if said.status.success() {
        return Ok(said.out);
    }
    // It says what is wrong on standard output.
    let last = said.out.lines().rev().find(|line| !line.trim().is_empty());
    let text = last.map_or(said.error.as_str(), str::trim);
    Err(format!("nvidia-smi failed: {text}"))
}

/// Lines such as `NVIDIA H100 80GB HBM3, 9.0, 550.54.15, Disabled`.
fn read(text: &str, all: bool) -> Vec<Device> {
    let line = |line: &str| {
        let mut fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let mig = if all { fields.pop() } else { None };
        let driver = fields.pop()?.parse().ok();
        let capability = if all {
            fields.pop()?.parse().ok()
        } else {
            None
        };
        let name = fields.join(", ");
        (!name.is_empty() && driver.is_some()).then_some(Device {
            name,
            capability,
            driver,
            mig: match mig {
                Some("Enabled") => Some(true),
                Some("Disabled") => Some(false),
                _ => None,
            },
            instances: Vec::new(),
        })
    };
    text.lines().filter_map(line).collect()
}

/// `-L` prints a line for each device, and below it one for each of its instances.
fn add_instances(devices: &mut [Device], list: &str) {
    let mut at = None;
    for line in list.lines() {
        let line = line.trim();
        if line.starts_with("GPU ") {
            at = Some(at.map_or(0, |at: usize| at + 1));
        } else if let Some(rest) = line.strip_prefix("MIG ") {
            let name = rest.split_whitespace().next().unwrap_or_default();
            if let Some(device) = at.and_then(|at| devices.get_mut(at)) {
                device.instances.push(name.to_owned());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_new_and_old_answers() {
        let text =
            "NVIDIA H100 80GB HBM3, 9.0, 550.54.15, Enabled\nTesla T4, 7.5, 550.54.15, [N/A]\n";
        let mut devices = read(text, true);
        assert_eq!(devices[0].capability, "9.0".parse().ok());
        assert_eq!((devices[0].mig, devices[1].mig), (Some(true), None));
        let list = "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)\n  MIG 1g.10gb     Device  0: (UUID: MIG-1)\n\
                    GPU 1: Tesla T4 (UUID: GPU-2)\n";
        add_instances(&mut devices, list);
        assert_eq!(devices[0].instances, ["1g.10gb"]);
        assert!(devices[1].instances.is_empty());
        let old = read("Tesla V100-SXM2-32GB, 418.67\n", false);
        assert_eq!(old[0].name, "Tesla V100-SXM2-32GB");
        assert_eq!(old[0].capability, None);
        for junk in ["", "No devices were found\n", "a,b\n", ",,,\n"] {
            assert_eq!(read(junk, true), [], "{junk:?}");
        }
    }
}
