//! What the doctor says, for people: the host in a few lines, then each bundle with its verdict, reasons and ways out.

use std::fmt::Write as _;

use super::Examined;
use crate::base::finding::{Finding, Severity};
use crate::commands::report::{finding_text, size};
use crate::host::doctor::{Folder, Gpu, Gpus, Host, Libc, Platform, Source, Verdict};
use crate::host::select::Ranked;

/// All of it.
pub fn text(examined: &Examined, notes: bool) -> String {
    let mut out = host(&examined.host);
    let shown = examined
        .remarks
        .iter()
        .filter(|r| notes || r.severity > Severity::Note);
    for remark in shown {
        out.push_str(&finding_text(remark));
    }
    for bundle in &examined.bundles {
        out.push('\n');
        out.push_str(&ranked(bundle, notes));
    }
    out
}

/// A bundle with its verdict; what is only worth knowing is counted, or with `notes` shown.
pub fn ranked(bundle: &Ranked, notes: bool) -> String {
    let verdict = match bundle.judged.verdict {
        Verdict::Runs => "runs",
        Verdict::RunsWithJit => "runs with JIT",
        Verdict::Unknown => "cannot be told",
        Verdict::WillNot => "will not run",
    };
    let mut out = format!(
        "{verdict}: {} {} {} ({})\n",
        bundle.name, bundle.version, bundle.target, bundle.place
    );
    if let Some(why) = &bundle.why {
        let _ = writeln!(out, "  {why}");
    }
    let is_shown = |reason: &&Finding| notes || reason.severity > Severity::Note;
    let reasons = &bundle.judged.reasons;
    for reason in reasons.iter().filter(is_shown) {
        for line in finding_text(reason).lines() {
            let _ = writeln!(out, "  {line}");
        }
    }
    match reasons.len() - reasons.iter().filter(is_shown).count() {
        0 => {}
        1 => out.push_str("  1 note (-v shows it)\n"),
        more => {
            let _ = writeln!(out, "  {more} notes (-v shows them)");
        }
    }
    out
}

fn host(host: &Host) -> String {
    let mut out = String::from("host\n");
    let mut line = |name: &str, text: String| {
        if !text.is_empty() {
            let _ = writeln!(out, "  {name:<10} {text}");
        }
    };
    let system = &host.system;
    let arch = system
        .arch
        .map_or_else(|| "unknown".to_owned(), |arch| arch.to_string());
    let platform = match system.platform {
        Platform::Plain => "",
        Platform::Wsl2 => ", WSL2",
        Platform::JetsonTegra => ", Jetson with its own libraries",
        Platform::JetsonSbsa => ", Jetson (SBSA)",
    };
    let container = if system.container {
        ", in a container"
    } else {
        ""
    };
    line("arch", format!("{arch}{platform}{container}"));
    line("system", system.distribution.clone().unwrap_or_default());
    line("kernel", system.kernel.clone().unwrap_or_default());
    line(
        "C library",
        match &host.libc {
            Libc::Glibc { version, path } => format!("glibc {version} ({path})"),
            Libc::Musl { path } => format!("musl ({path})"),
            Libc::None => "none found".to_owned(),
        },
    );
    line("C++", cxx(host));
    line("driver", driver(host));
    line("GPU", gpus(&host.gpus));
    let libraries = &host.driver_libraries;
    let named = [
        ("libcuda", &libraries.libcuda),
        ("PTX JIT", &libraries.ptx_jit),
    ];
    for (name, path) in named {
        if host.driver.is_some() || path.is_some() {
            line(name, path.clone().unwrap_or_else(|| "missing".to_owned()));
        }
    }
    let nodes = host.nodes.iter().map(|node| {
        if node.usable {
            node.path.clone()
        } else {
            format!("{} (no rights)", node.path)
        }
    });
    line("devices", nodes.collect::<Vec<_>>().join(" "));
    line("place", folder(&host.place));
    line(
        "home",
        host.home.as_ref().map_or_else(|| "none".to_owned(), folder),
    );
    line("cache", host.cache.as_ref().map(folder).unwrap_or_default());
    let compiler = host
        .compiler
        .path
        .clone()
        .unwrap_or_else(|| "none".to_owned());
    let headers = if host.compiler.headers {
        ""
    } else {
        ", no C headers"
    };
    line("compiler", format!("{compiler}{headers}"));
    for (name, value) in &host.variables {
        line("variable", format!("{name}={value}"));
    }
    out
}

fn cxx(host: &Host) -> String {
    let Some(found) = &host.libstdcxx else {
        return "none found".to_owned();
    };
    let version = |name: &str, v: &Option<crate::formats::floor::DottedVersion>| {
        v.as_ref().map(|v| format!("{name}_{v}"))
    };
    let versions = [
        version("GLIBCXX", &found.glibcxx),
        version("CXXABI", &found.cxxabi),
    ];
    let versions: Vec<String> = versions.into_iter().flatten().collect();
    format!("{} ({})", versions.join(", "), found.path)
}

fn driver(host: &Host) -> String {
    let Some(driver) = &host.driver else {
        return "none found".to_owned();
    };
    let cuda = match &driver.cuda {
        Some((major, minor)) => format!(", CUDA {major}.{minor}"),
        None => ", too old for any CUDA this program knows".to_owned(),
    };
    let open = match driver.open_module {
        Some(true) => ", open kernel module",
        _ => "",
    };
    format!("{}{cuda}{open} ({})", driver.version, source(driver.source))
}

fn source(source: Source) -> &'static str {
    match source {
        Source::Given => "as given",
        Source::NvidiaSmi => "nvidia-smi",
        Source::KernelModule => "kernel module",
        Source::DeviceTree => "device tree",
        Source::Libcuda => "libcuda",
    }
}

fn gpus(gpus: &Gpus) -> String {
    let Some(from) = gpus.source else {
        return match gpus.on_bus {
            0 => "unknown".to_owned(),
            n => format!("unknown; {n} NVIDIA devices are on the bus"),
        };
    };
    let one = |gpu: &Gpu| {
        let capability = gpu
            .capability
            .map_or_else(|| "capability unknown".to_owned(), |c| c.to_string());
        let mig = match (gpu.mig, gpu.mig_instances.is_empty()) {
            (Some(true), true) => ", MIG without instances".to_owned(),
            (Some(true), false) => format!(", MIG {}", gpu.mig_instances.join(" ")),
            _ => String::new(),
        };
        match &gpu.name {
            Some(name) => format!("{name} ({capability}{mig})"),
            None => format!("{capability}{mig}"),
        }
    };
    let all: Vec<String> = gpus.devices.iter().map(one).collect();
    format!("{} ({})", all.join(", "), source(from))
}

fn folder(folder: &Folder) -> String {
    let mut out = folder.path.clone();
    if let Some(kind) = &folder.filesystem {
        let _ = write!(out, ", {kind}");
    }
    if let Some(free) = folder.free {
        let _ = write!(out, ", {} free", size(free));
    }
    if let Some(inodes) = folder.inodes {
        let _ = write!(out, ", {inodes} files");
    }
    for (is, word) in [
        (!folder.writable, ", not writable"),
        (folder.no_exec, ", noexec"),
    ] {
        if is {
            out.push_str(word);
        }
    }
    out
}
