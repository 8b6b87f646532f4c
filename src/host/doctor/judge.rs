//! Host and bundle → verdict: runs, runs with JIT, will not, or cannot be told, each with its reasons and ways out. Reasons
//! of severity error say why not; the others are worth knowing before the first start.

mod cuda;
mod system;

use serde::Serialize;

use super::Host;
use super::coverage::Code;
use crate::base::capability::ComputeCapability;
use crate::base::finding::{Finding, Severity};
use crate::formats::bundle::Bundle;

/// Whether a bundle runs on a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It runs.
    Runs,
    /// It runs, and the driver compiles some kernels when they are first used.
    RunsWithJit,
    /// The host does not tell what has to be known.
    Unknown,
    /// It does not run.
    WillNot,
}

/// What a bundle means for one GPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OnGpu {
    /// The driver's name of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its capability.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capability: Option<ComputeCapability>,
    /// The verdict for it.
    pub verdict: Verdict,
    /// What code there is for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub code: Option<Code>,
    /// Why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<Finding>,
}

/// What was found out about a bundle on a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Judged {
    /// The verdict: of several GPUs the best counts.
    pub verdict: Verdict,
    /// Why, the worst first.
    pub reasons: Vec<Finding>,
    /// The same for each GPU, where the bundle has GPU code.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gpus: Vec<OnGpu>,
}

/// Codes of what another start of the container or job may bring: no reason against having the bundle on the disk.
const PASSING: [&str; 6] = [
    "device-missing",
    "device-no-rights",
    "driver-missing",
    "gpus-hidden",
    "libcuda-missing",
    "mig-without-instances",
];

/// Codes of what unpacking finds out by itself, and counts more exactly.
const OF_THE_PLACE: [&str; 4] = [
    "no-inodes",
    "no-space",
    "place-noexec",
    "place-not-writable",
];

impl Judged {
    fn errors(&self) -> impl Iterator<Item = &Finding> {
        let errors = self.reasons.iter();
        errors.filter(|reason| reason.severity == Severity::Error)
    }

    /// Why the bundle should not even be unpacked here.
    pub fn against_unpacking(&self) -> Vec<Finding> {
        let is_against = |code: &str| !PASSING.contains(&code) && !OF_THE_PLACE.contains(&code);
        let against = self.errors().filter(|reason| is_against(&reason.code));
        against.cloned().collect()
    }

    /// Why it would not run as this process was started.
    pub fn passing(&self) -> impl Iterator<Item = &Finding> {
        self.errors()
            .filter(|reason| PASSING.contains(&reason.code.as_str()))
    }
}

/// Compares. `unpacked` is true for a bundle that lies unpacked: no room is needed for it.
pub fn judge(host: &Host, bundle: &Bundle, unpacked: bool) -> Judged {
    if let Some(reason) = system::architecture(host, bundle.facts.target.arch) {
        // Libraries and GPUs say nothing about a bundle for another architecture.
        return Judged {
            verdict: Verdict::WillNot,
            reasons: vec![reason],
            gpus: Vec::new(),
        };
    }
    let mut reasons = system::reasons(host, bundle, unpacked);
    let mut gpus = Vec::new();
    let mut verdict = Verdict::Runs;
    if bundle.facts.cuda.is_some() {
        reasons.extend(cuda::host_reasons(host, &bundle.facts));
        gpus = cuda::each_gpu(host, &bundle.facts);
        if let Some(best) = gpus.iter().map(|gpu| gpu.verdict).min() {
            verdict = best;
        } else {
            verdict = Verdict::Unknown;
            reasons.push(cuda::unknown_gpu(host));
        }
        if verdict != Verdict::Runs || gpus.len() == 1 {
            reasons.extend(gpus.iter().flat_map(|gpu| gpu.reasons.clone()));
        } else {
            let others = gpus.iter().filter(|gpu| gpu.verdict > verdict);
            reasons.extend(others.flat_map(|gpu| gpu.reasons.iter().map(softened)));
        }
    }
    if reasons.iter().any(|r| r.severity == Severity::Error) {
        verdict = Verdict::WillNot;
    }
    reasons.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.cmp(b)));
    reasons.dedup();
    Judged {
        verdict,
        reasons,
        gpus,
    }
}

/// What stops one of several GPUs does not stop the bundle.
fn softened(reason: &Finding) -> Finding {
    let mut reason = reason.clone();
    reason.severity = reason.severity.min(Severity::Warning);
    reason
}

/// One reason.
fn reason(
    severity: Severity,
    code: &str,
    about: impl Into<String>,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> Finding {
    let hint = hint.into();
    Finding {
        severity,
        code: code.to_owned(),
        path: about.into(),
        message: message.into(),
        hint: (!hint.is_empty()).then_some(hint),
    }
}
