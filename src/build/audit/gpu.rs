//! GPU code per library, as facts for bundle.json, and what it means for the devices the recipe promises: every library must
//! have code for each of them, natively or as PTX that the oldest allowed driver can compile.

use std::collections::BTreeMap;

use super::AuditRequest;
use super::policy::Policy;
use crate::base::finding::{Finding, Severity};
use crate::build::assemble::Tree;
use crate::formats::bundle::Coverage;
use crate::formats::component::{EntryKind, FileFacts};
use crate::formats::fatbin::{Outlook, Verdict, cuda_of_driver, driver_of_cuda};

/// What each file with GPU code holds, bytewise by path. Other names of one file, and files without kernels, are left out.
pub(super) fn coverage(tree: &Tree, policy: &Policy) -> Vec<Coverage> {
    tree.nodes()
        .filter_map(|node| {
            let (EntryKind::File, Some(FileFacts::Elf(elf))) =
                (&node.entry.kind, &node.entry.facts)
            else {
                return None;
            };
            let gpu = elf.gpu.as_ref()?;
            Coverage::of(&node.entry.path, gpu, policy.dispatches(&node.entry.path))
        })
        .collect()
}

/// Code that could not be read.
pub(super) fn unreadable(tree: &Tree, out: &mut Vec<Finding>) {
    for node in tree.nodes() {
        let (EntryKind::File, Some(FileFacts::Elf(elf))) = (&node.entry.kind, &node.entry.facts)
        else {
            continue;
        };
        for fault in elf.gpu.iter().flat_map(|gpu| &gpu.faults) {
            let message = format!("has GPU code that cannot be read: {fault}");
            out.push(Finding::new(
                Severity::Error,
                "fatbin-unreadable",
                &node.entry.path,
                message,
                None,
            ));
        }
    }
}

/// Judges the code for every promised device.
pub(super) fn check(
    coverage: &[Coverage],
    request: &AuditRequest,
    out: &mut Vec<Finding>,
) -> Vec<Outlook> {
    let driver = request.driver.as_ref().and_then(cuda_of_driver);
    let outlooks: Vec<Outlook> = request
        .gpus
        .iter()
        .map(|gpu| Outlook::of(coverage, *gpu, driver))
        .collect();
    let mut compiled: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for outlook in &outlooks {
        let device = outlook.device;
        for library in &outlook.libraries {
            let path = &library.library;
            match library.verdict {
                Verdict::None => {
                    let message = format!("holds no code for capability {device}");
                    let hint =
                        "build it for that device too, or do not promise the device in the recipe";
                    out.push(Finding::new(
                        Severity::Error,
                        "gpu-arch-uncovered",
                        path,
                        message,
                        Some(hint),
                    ));
                }
                Verdict::Partial { usable, unusable } => {
                    let all = usable.saturating_add(unusable);
                    let message = format!(
                        "{unusable} of {all} parts of its code have nothing for capability {device}"
                    );
                    let hint = "build all of it for that device, or do not promise the device in the recipe";
                    out.push(Finding::new(
                        Severity::Error,
                        "gpu-arch-partial",
                        path,
                        message,
                        Some(hint),
                    ));
                }
                Verdict::Jit { cuda, .. } if library.driver_too_old => {
                    let needs = cuda.map_or_else(String::new, |c| {
                        let driver = driver_of_cuda(c)
                            .map_or_else(String::new, |d| format!(" (driver {d})"));
                        format!("CUDA {}.{}{driver}", c.0, c.1)
                    });
                    let floor = request
                        .driver
                        .as_ref()
                        .map(ToString::to_string)
                        .unwrap_or_default();
                    let message = format!(
                        "has only PTX for capability {device}, which a driver must know {needs} to compile; the recipe allows driver {floor}"
                    );
                    let hint = "build it for the device, or raise the recipe's driver_floor";
                    out.push(Finding::new(
                        Severity::Error,
                        "gpu-ptx-too-new",
                        path,
                        message,
                        Some(hint),
                    ));
                }
                Verdict::Jit { .. } => compiled.entry(path).or_default().push(device.to_string()),
                Verdict::Native { .. } | Verdict::NoCode => {}
            }
        }
    }
    for (path, devices) in compiled {
        let message = format!(
            "is compiled by the driver when first used on {}",
            devices.join(", ")
        );
        out.push(Finding::new(Severity::Note, "gpu-jit", path, message, None));
    }
    outlooks
}
