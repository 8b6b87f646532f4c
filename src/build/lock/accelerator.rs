//! Every chosen wheel must belong to the bundle's accelerator. What is known before a wheel is opened: names such as
//! `spconv-cu126` and `nvidia-cudnn-cu13`, local versions such as `2.9.1+cu130`, the CUDA runtime torch asks for, and a
//! torch that asks for none.

use std::str::FromStr;

use pep440_rs::Version;

use super::LockedWheel;
use crate::base::finding::{Finding, Severity};
use crate::base::target::{Accelerator, Target};
use crate::formats::component::Layer;

/// Distributions whose version is that of the CUDA release they belong to.
const RELEASES: &[&str] = &["nvidia-cuda-runtime", "cuda-toolkit"];

/// Judges the wheels of a target; each finding is an error.
pub fn judge(target: Target, wheels: &[LockedWheel]) -> Vec<Finding> {
    let mut findings: Vec<Finding> = wheels
        .iter()
        .filter_map(|wheel| of_wheel(target, wheel))
        .collect();
    findings.extend(of_torch(target, wheels));
    findings.sort();
    findings
}

/// What a distribution's name and local version say against an accelerator.
pub fn disagreement(accel: Accelerator, name: &str, version: &Version) -> Option<String> {
    if let Some(mark) = mark_of_name(name)
        && !mark.agrees(accel)
    {
        return Some(format!("{name} is made for {mark}, the bundle for {accel}"));
    }
    let local: Vec<String> = version.local().iter().map(ToString::to_string).collect();
    if let Some(mark) = local.iter().find_map(|part| mark_in(part))
        && !mark.agrees(accel)
    {
        return Some(format!(
            "{name} {version} is built for {mark}, the bundle for {accel}"
        ));
    }
    local
        .iter()
        .any(|part| part == "cpu")
        .then(|| format!("{name} {version} is built for the CPU alone, the bundle for {accel}"))
}

fn of_wheel(target: Target, wheel: &LockedWheel) -> Option<Finding> {
    let version = Version::from_str(&wheel.version).ok()?;
    if let Some(message) = disagreement(target.accel, &wheel.name, &version) {
        return Some(finding(wheel, message, way_out(wheel, target)));
    }
    let release = RELEASES.iter().any(|name| {
        wheel.name == *name || wheel.name.strip_prefix(name).is_some_and(is_major_mark)
    });
    if release {
        let [major, minor, ..] = version.release() else {
            return None;
        };
        let same =
            (*major, *minor) == (u64::from(target.accel.major), u64::from(target.accel.minor));
        if !same {
            return Some(finding(
                wheel,
                format!(
                    "{} {} is of CUDA {major}.{minor}, the bundle of {}",
                    wheel.name, wheel.version, target.accel
                ),
                format!(
                    "torch asks for it: the torch of this index is not built for {}; take torch from the PyTorch index of {} or choose a target of cu{major}{minor}",
                    target.accel, target.accel
                ),
            ));
        }
    }
    None
}

/// A torch without any CUDA library beside it, and without a local version that says what it is for, is a CPU build.
fn of_torch(target: Target, wheels: &[LockedWheel]) -> Option<Finding> {
    let torch = wheels.iter().find(|wheel| wheel.name == "torch")?;
    let says = Version::from_str(&torch.version).is_ok_and(|v| {
        v.local()
            .iter()
            .any(|part| mark_in(&part.to_string()).is_some())
    });
    let cuda = wheels.iter().any(|wheel| {
        wheel.layer == Layer::Base
            && (wheel.name.starts_with("nvidia-") || wheel.name == "cuda-toolkit")
    });
    if says || cuda {
        return None;
    }
    Some(finding(
        torch,
        format!(
            "torch {} asks for no CUDA library: it is built for the CPU alone, the bundle for {}",
            torch.version, target.accel
        ),
        way_out(torch, target),
    ))
}

fn way_out(wheel: &LockedWheel, target: Target) -> String {
    format!(
        "take {} from an index of {}, such as the PyTorch index, or choose a version whose wheel on index {} is built for it",
        wheel.name, target.accel, wheel.index
    )
}

fn finding(wheel: &LockedWheel, message: String, hint: String) -> Finding {
    Finding {
        severity: Severity::Error,
        code: "accelerator-mismatch".to_owned(),
        path: wheel.file.clone(),
        message,
        hint: Some(hint),
    }
}

/// A CUDA release or a CUDA major version, as names carry it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// `cu130`.
    Release(Accelerator),
    /// `cu13`, `cuda12x`.
    Major(u16),
}

impl Mark {
    pub(super) fn agrees(self, accel: Accelerator) -> bool {
        match self {
            Self::Release(release) => release == accel,
            Self::Major(major) => major == accel.major,
        }
    }
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Release(release) => release.fmt(f),
            Self::Major(major) => write!(f, "CUDA {major}"),
        }
    }
}

/// The mark at the end of a distribution's name.
pub(super) fn mark_of_name(name: &str) -> Option<Mark> {
    mark(name.rsplit('-').next()?)
}

/// A mark anywhere in one part of a local version: `cu130`, `cu130torch2`, `pt29cu130`.
fn mark_in(part: &str) -> Option<Mark> {
    part.match_indices("cu").find_map(|(at, _)| {
        let rest = part.get(at..)?;
        let digits = rest
            .strip_prefix("cuda")
            .or_else(|| rest.strip_prefix("cu"))?;
        let end = digits
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(digits.len());
        mark(&format!("cu{}", digits.get(..end)?))
    })
}

fn mark(word: &str) -> Option<Mark> {
    let digits = match word.strip_prefix("cuda") {
        Some(rest) => rest.strip_suffix('x').unwrap_or(rest),
        None => word.strip_prefix("cu")?,
    };
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    match digits.len() {
        2 => digits.parse().ok().map(Mark::Major),
        3 => format!("cu{digits}").parse().ok().map(Mark::Release),
        _ => None,
    }
}

fn is_major_mark(rest: &str) -> bool {
    matches!(rest.strip_prefix('-').and_then(mark), Some(Mark::Major(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::digest::Digest;

    fn wheel(name: &str, version: &str, layer: Layer) -> LockedWheel {
        LockedWheel {
            name: name.to_owned(),
            version: version.to_owned(),
            file: format!("{}-{version}-py3-none-any.whl", name.replace('-', "_")),
            sha256: Digest::of(b""),
            size: 1,
            index: "pypi".to_owned(),
            layer,
            computed: false,
            metadata: None,
        }
    }

    fn codes(target: &str, wheels: &[(&str, &str)]) -> Vec<String> {
        let wheels: Vec<LockedWheel> = wheels
            .iter()
            .map(|(n, v)| wheel(n, v, Layer::Base))
            .collect();
        judge(target.parse().unwrap(), &wheels)
            .into_iter()
            .map(|f| f.message)
            .collect()
    }

    #[test]
    fn wheels_of_the_accelerator_pass() {
        let none: Vec<String> = Vec::new();
        let cu130 = [
            ("torch", "2.11.0"),
            ("nvidia-cuda-runtime", "13.0.96"),
            ("nvidia-cudnn-cu13", "9.19.0.56"),
            ("cuda-toolkit", "13.0.2"),
            ("nvidia-cufile", "1.15.1.6"),
            ("nvidia-ml-py", "13.590.44"),
        ];
        assert_eq!(codes("amd64-cu130", &cu130), none);
        let cu126 = [
            ("torch", "2.9.1+cu126"),
            ("nvidia-cuda-runtime-cu12", "12.6.77"),
            ("spconv-cu126", "2.3.8"),
            ("flash-attn", "2.8.3+cu12torch2.9"),
        ];
        assert_eq!(codes("arm64-cu126", &cu126), none);
        assert_eq!(codes("amd64-cu130", &[("numpy", "2.3.1")]), none);
    }

    #[test]
    fn a_cpu_torch_is_refused() {
        for version in ["2.9.1", "2.9.1+cpu"] {
            let told = codes("arm64-cu130", &[("torch", version), ("numpy", "2")]);
            assert!(told.iter().any(|t| t.contains("CPU alone")), "{told:?}");
        }
    }

    #[test]
    fn another_accelerator_is_refused() {
        for (name, version, part) in [
            ("torch", "2.9.1+cu128", "cu128"),
            ("nvidia-cuda-runtime-cu12", "12.8.90", "CUDA 12"),
            ("nvidia-cudnn-cu12", "9.1", "CUDA 12"),
            ("spconv-cu126", "2.3.8", "cu126"),
            ("pointops", "1.0+pt29cu128", "cu128"),
            ("cupy-cuda12x", "13.0", "CUDA 12"),
        ] {
            let told = codes("amd64-cu130", &[(name, version)]);
            assert!(told.iter().any(|t| t.contains(part)), "{name}: {told:?}");
        }
    }
}
