//! What a bundle needs of a host beside its GPU: architecture, C and C++ libraries, libraries by name, room.

use super::super::advice;
use super::super::{Host, Libc, Platform};
use super::reason;
use crate::base::finding::{Finding, Severity};
use crate::base::target::Arch;
use crate::formats::bundle::Bundle;

/// Whatever the driver brings is judged with the driver.
const OF_THE_DRIVER: [&str; 5] = [
    "libcuda.so",
    "libnvidia-",
    "libnvcuvid.so",
    "libnvoptix.so",
    "libnvToolsExt.so",
];

pub(super) fn reasons(host: &Host, bundle: &Bundle, unpacked: bool) -> Vec<Finding> {
    let mut out = Vec::new();
    libc(host, bundle, &mut out);
    libstdcxx(host, bundle, &mut out);
    named(host, bundle, &mut out);
    if host.system.platform == Platform::JetsonTegra && bundle.facts.cuda.is_some() {
        out.push(reason(
            Severity::Error,
            "jetson-libraries",
            "the board",
            "this Jetson runs only NVIDIA's own builds for it: CUDA libraries for servers do not work on its driver",
            "use NVIDIA's packages for this JetPack; boards with JetPack 7 and later run bundles",
        ));
    }
    if !unpacked {
        room(host, bundle, &mut out);
    }
    triton(host, bundle, &mut out);
    out
}

/// Why the bundle's programs are none of this host's.
pub(super) fn architecture(host: &Host, wanted: Arch) -> Option<Finding> {
    let (code, message, hint) = match host.system.arch {
        Some(arch) if arch == wanted => return None,
        Some(arch) => (
            "arch-mismatch",
            format!("the bundle is for {wanted}, this host is {arch}"),
            format!("take the bundle for {arch}"),
        ),
        None => (
            "arch-unknown",
            format!(
                "the bundle is for {wanted}; what this host runs is neither amd64 nor arm64, or could not be told"
            ),
            "run this program on the host itself".to_owned(),
        ),
    };
    Some(reason(Severity::Error, code, "architecture", message, hint))
}

fn libc(host: &Host, bundle: &Bundle, out: &mut Vec<Finding>) {
    let needed = bundle.facts.floor.glibc.as_ref();
    let needs = needed.map_or_else(|| "glibc".to_owned(), |v| format!("glibc {v} or newer"));
    let other = "use a host or container with a newer glibc; nothing a user installs changes it";
    match &host.libc {
        Libc::Glibc { version, path } => {
            if needed.is_some_and(|needed| version < needed) {
                let message = format!("the bundle needs {needs}, this host has {version}");
                out.push(reason(
                    Severity::Error,
                    "glibc-too-old",
                    path,
                    message,
                    other,
                ));
            }
        }
        Libc::Musl { path } => {
            let message = format!("the bundle needs {needs}, this host has musl");
            let hint = "use a host or container with glibc, such as Debian, Ubuntu or RHEL";
            out.push(reason(
                Severity::Error,
                "glibc-missing",
                path,
                message,
                hint,
            ));
        }
        Libc::None => {
            let message = format!("the bundle needs {needs}, none was found on this host");
            let hint = "use a host or container with glibc, such as Debian, Ubuntu or RHEL";
            out.push(reason(
                Severity::Error,
                "glibc-missing",
                "libc.so.6",
                message,
                hint,
            ));
        }
    }
}

fn libstdcxx(host: &Host, bundle: &Bundle, out: &mut Vec<Finding>) {
    let floor = &bundle.facts.floor;
    if floor.glibcxx.is_none() && floor.cxxabi.is_none() {
        return;
    }
    let soname = "libstdc++.so.6";
    let Some(found) = &host.libstdcxx else {
        let message = "the bundle needs the C++ library, which this host lacks";
        out.push(reason(
            Severity::Error,
            "library-missing",
            soname,
            message,
            advice::library(&host.system, soname),
        ));
        return;
    };
    let pairs = [
        ("GLIBCXX", &floor.glibcxx, &found.glibcxx),
        ("CXXABI", &floor.cxxabi, &found.cxxabi),
    ];
    for (name, needed, has) in pairs {
        if let Some(needed) = needed
            && has.as_ref().is_none_or(|has| has < needed)
        {
            let has = has
                .as_ref()
                .map_or_else(|| "none".to_owned(), ToString::to_string);
            let message =
                format!("the bundle needs {name}_{needed}, the host's C++ library has {has}");
            let hint = "use a host with a newer libstdc++, or a bundle whose recipe brings one";
            out.push(reason(
                Severity::Error,
                "libstdcxx-too-old",
                &found.path,
                message,
                hint,
            ));
        }
    }
}

/// Libraries by name.
fn named(host: &Host, bundle: &Bundle, out: &mut Vec<Finding>) {
    for need in &bundle.facts.host_needs {
        let soname = need.library.as_str();
        let elsewhere = soname == "libstdc++.so.6"
            || soname.starts_with("libc.so")
            || OF_THE_DRIVER.iter().any(|name| soname.starts_with(name));
        if elsewhere || !matches!(host.found.get(soname), Some(None)) {
            continue;
        }
        let hint = advice::library(&host.system, soname);
        let first = need.needed_by.first().map_or("the bundle", String::as_str);
        let finding = if need.optional {
            let off = need.switches_off.join(", ");
            let message = format!("this host lacks it; without it these do not work: {off}");
            reason(
                Severity::Note,
                "library-missing-optional",
                soname,
                message,
                hint,
            )
        } else {
            let message = format!("{first} needs it, and this host lacks it");
            reason(Severity::Error, "library-missing", soname, message, hint)
        };
        out.push(finding);
    }
}

fn room(host: &Host, bundle: &Bundle, out: &mut Vec<Finding>) {
    let place = &host.place;
    let elsewhere = "choose another folder: --root DIR";
    let mut no = |code: &str, message: String| {
        out.push(reason(
            Severity::Error,
            code,
            &place.path,
            message,
            elsewhere,
        ));
    };
    if !place.writable {
        no(
            "place-not-writable",
            "this user cannot write where the bundle would be installed".to_owned(),
        );
        return;
    }
    if place.no_exec {
        no(
            "place-noexec",
            "programs cannot be run from this file system (noexec)".to_owned(),
        );
    }
    let size = bundle.size;
    if let Some(free) = place.free.filter(|free| *free < size.unpacked) {
        no(
            "no-space",
            format!("{free} bytes are free, the bundle takes {}", size.unpacked),
        );
    }
    if let Some(inodes) = place.inodes.filter(|inodes| *inodes < size.files) {
        no(
            "no-inodes",
            format!(
                "{inodes} files can still be made, the bundle has {}",
                size.files
            ),
        );
    }
}

/// Triton compiles small C programs on the host.
fn triton(host: &Host, bundle: &Bundle, out: &mut Vec<Finding>) {
    let has = |name: &str| bundle.components.iter().any(|c| c.name == name);
    let brings = has("ziglang");
    if !has("triton") || brings {
        return;
    }
    let what = if has("spconv-triton") {
        "sparse convolutions and torch.compile"
    } else {
        "torch.compile"
    };
    if host.compiler.path.is_none() {
        let message = format!("no C compiler was found, which {what} need at run time");
        let hint = "install gcc or clang, or set CC; nothing else of the bundle needs one";
        out.push(reason(
            Severity::Warning,
            "compiler-missing",
            "CC",
            message,
            hint,
        ));
    } else if !host.compiler.headers {
        let message = format!("the C library's headers are missing, which {what} need at run time");
        let hint = "install the C library's development package (libc6-dev, glibc-devel)";
        out.push(reason(
            Severity::Warning,
            "headers-missing",
            "stdio.h",
            message,
            hint,
        ));
    }
}
