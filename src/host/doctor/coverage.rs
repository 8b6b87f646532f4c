//! What a bundle's GPU code, as bundle.json lists it per library, means for one device. NVIDIA's own libraries choose
//! among their code by themselves; of all others the worst decides, since a kernel that is missing fails when it is used.

use serde::Serialize;

use crate::base::capability::ComputeCapability;
use crate::formats::bundle::{BundleFacts, Coverage};
use crate::formats::fatbin::{self, Kind, Suffix, Verdict};

/// What there is for a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "code")]
pub enum Code {
    /// The bundle has no GPU code.
    NoneNeeded,
    /// Machine code in every library.
    Native {
        /// All of it is for exactly this device, not an earlier one of its generation.
        exact: bool,
    },
    /// Some is compiled by the driver when it is first used.
    Jit {
        /// Libraries it is compiled for.
        libraries: Vec<String>,
        /// The CUDA release the driver must know for it, where the bundle says.
        #[serde(skip)]
        cuda: Option<(u16, u16)>,
    },
    /// Some libraries have nothing, or not enough, for it.
    Missing {
        /// Which.
        libraries: Vec<String>,
        /// How many have.
        others: usize,
    },
    /// The bundle does not say what it holds, and its recipe does not promise this device.
    Unpromised,
}

/// Folders of NVIDIA's wheels, and of tools that load no kernels of their own; for bundles that do not say it themselves.
const DISPATCHING: [&str; 3] = [
    "/site-packages/nvidia/",
    "/site-packages/cusparselt/",
    "/site-packages/triton/",
];

fn dispatches(row: &Coverage) -> bool {
    row.dispatches
        || DISPATCHING
            .iter()
            .any(|folder| row.library.contains(folder))
}

/// What `facts` has for `device`.
pub fn of(facts: &BundleFacts, device: ComputeCapability) -> Code {
    if facts.coverage.is_empty() {
        return promised(facts, device);
    }
    let (mut jit, mut missing, mut others, mut all_exact) = (Vec::new(), Vec::new(), 0, true);
    let mut newest = None;
    for row in facts.coverage.iter().filter(|row| !dispatches(row)) {
        match row.gpu_facts().verdict(device, false) {
            Verdict::Native { exact } => {
                all_exact &= exact;
                others += 1;
            }
            Verdict::NoCode => others += 1,
            Verdict::Jit { cuda, .. } => {
                newest = newest.max(cuda);
                jit.push(row.library.clone());
            }
            Verdict::Partial { .. } | Verdict::None => missing.push(row.library.clone()),
        }
    }
    match (missing.is_empty(), jit.is_empty()) {
        (false, _) => Code::Missing {
            others: others + jit.len(),
            libraries: missing,
        },
        (true, false) => Code::Jit {
            libraries: jit,
            cuda: newest,
        },
        (true, true) => Code::Native { exact: all_exact },
    }
}

/// Without a list of code, what the recipe promises is all there is to go by.
fn promised(facts: &BundleFacts, device: ComputeCapability) -> Code {
    if facts.cuda.is_none() {
        return Code::NoneNeeded;
    }
    let declared = facts.cuda_arch.iter().flat_map(|arch| &arch.declared);
    let declared: Vec<ComputeCapability> = declared.filter_map(|text| text.parse().ok()).collect();
    let runs = |built: &ComputeCapability| {
        let code = fatbin::Code {
            kind: Kind::Sass,
            arch: built.number(),
            suffix: Suffix::Plain,
            isa: None,
            obfuscated: false,
        };
        fatbin::runs_sass(&code, device)
    };
    if declared.iter().any(runs) {
        Code::Native {
            exact: declared.contains(&device),
        }
    } else {
        Code::Unpromised
    }
}
