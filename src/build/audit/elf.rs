//! Rules about single ELF files: the right machine, readable, none that must not ship, nothing newer loaders refuse.

use super::AuditRequest;
use super::policy::{Policy, names};
use super::resolve::Links;
use super::waiver::glob;
use crate::base::finding::{Finding, Severity};
use crate::base::target::Arch;
use crate::build::assemble::Tree;
use crate::formats::component::FileFacts;
use crate::formats::elf::{ElfFacts, MACHINE_AARCH64, MACHINE_X86_64};

/// Arm64 kernels have pages of up to so many bytes.
const ARM64_PAGE: u64 = 65_536;

pub(super) fn check(
    tree: &Tree,
    links: &Links<'_>,
    request: &AuditRequest,
    policy: &Policy,
    out: &mut Vec<Finding>,
) {
    for node in tree.nodes() {
        let path = &node.entry.path;
        match &node.entry.facts {
            Some(FileFacts::BrokenElf(why)) => {
                let message = format!("begins like an ELF file but cannot be read: {why}");
                let hint =
                    "the wheel is damaged or holds test data; waive this if nothing loads the file";
                out.push(Finding::new(
                    Severity::Error,
                    "elf-unreadable",
                    path,
                    message,
                    Some(hint),
                ));
            }
            Some(FileFacts::Elf(elf)) if elf.is_loadable() && !elf.fits(request.arch) => {
                let message = wrong_machine(elf, request.arch);
                let hint = "the wheel is for another architecture: check its tags, or waive this if nothing loads the file";
                out.push(Finding::new(
                    Severity::Error,
                    "elf-wrong-machine",
                    path,
                    message,
                    Some(hint),
                ));
            }
            _ => {}
        }
    }
    for (path, object) in &links.objects {
        let elf = object.elf;
        for rule in &policy.forbidden {
            if names(&rule.libraries, path, elf) && !rule.except.iter().any(|e| glob(e, path)) {
                let hint = "take a wheel that was repaired without taking this library in";
                out.push(Finding::new(
                    rule.severity.unwrap_or(Severity::Error),
                    &rule.code,
                    path,
                    rule.why.clone(),
                    Some(hint),
                ));
            }
        }
        if elf.executable_stack {
            let message =
                "asks for an executable stack, which newer C libraries refuse to give to a library"
                    .to_owned();
            out.push(Finding::new(
                Severity::Warning,
                "elf-executable-stack",
                path,
                message,
                None,
            ));
        }
        if elf.text_relocations {
            let message = "has text relocations: the loader must write into its code, which hardened hosts forbid".to_owned();
            out.push(Finding::new(
                Severity::Warning,
                "elf-text-relocations",
                path,
                message,
                None,
            ));
        }
        if let Some(level) = elf.x86_isa_needed.and_then(x86_level) {
            let message = format!("needs a processor of level {level}; an older one stops at it");
            let hint = "take a wheel built for every x86-64";
            out.push(Finding::new(
                Severity::Warning,
                "cpu-level",
                path,
                message,
                Some(hint),
            ));
        }
        if request.arch == Arch::Arm64 && elf.load_align < ARM64_PAGE {
            let message = format!(
                "is aligned for pages of {} bytes only: kernels with 64 KiB pages cannot load it",
                elf.load_align
            );
            out.push(Finding::new(
                Severity::Warning,
                "elf-page-alignment",
                path,
                message,
                None,
            ));
        }
    }
}

/// The level above the baseline that a file's note asks for.
fn x86_level(bits: u32) -> Option<&'static str> {
    match bits {
        8.. => Some("x86-64-v4"),
        4..8 => Some("x86-64-v3"),
        2..4 => Some("x86-64-v2"),
        _ => None,
    }
}

fn wrong_machine(elf: &ElfFacts, arch: Arch) -> String {
    let name = match elf.machine {
        3 => "32-bit x86".to_owned(),
        40 => "32-bit Arm".to_owned(),
        MACHINE_X86_64 => "x86-64".to_owned(),
        MACHINE_AARCH64 => "AArch64".to_owned(),
        other => format!("machine {other}"),
    };
    let form = match (elf.is_64, elf.big_endian) {
        (false, _) => " in 32-bit form",
        (true, true) => " in big-endian form",
        _ => "",
    };
    format!("is built for {name}{form}, the bundle is for {arch}")
}
