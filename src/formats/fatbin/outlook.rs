//! What a bundle's libraries mean for one device and driver: a verdict per library, and one sentence for all. Works on the
//! coverage that stands in bundle.json, so it needs neither the bundle's bytes nor a GPU.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::coverage::{Verdict, cuda_of_isa};
use super::driver::driver_of_cuda;
use super::shape::{Code, GpuFacts, Kind, Shape, Suffix};
use crate::base::capability::ComputeCapability;
use crate::formats::bundle::{CodeSet, Coverage};

/// So many libraries are named in a sentence.
const NAMED: usize = 4;

/// What one library means for a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LibraryOutlook {
    /// Path of the library.
    pub library: String,
    /// What runs there.
    #[serde(flatten)]
    pub verdict: Verdict,
    /// The driver's compiler is needed and the driver that was named is too old for it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub driver_too_old: bool,
}

impl LibraryOutlook {
    /// True where the library works on the device.
    pub fn works(&self) -> bool {
        let runs = matches!(
            self.verdict,
            Verdict::NoCode | Verdict::Native { .. } | Verdict::Jit { .. }
        );
        runs && !self.driver_too_old
    }
}

/// What all libraries mean for a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outlook {
    /// The device.
    pub device: ComputeCapability,
    /// Every library is covered, natively or by the driver's compiler.
    pub works: bool,
    /// By library, in the order of bundle.json.
    pub libraries: Vec<LibraryOutlook>,
    /// All of it in one sentence.
    pub sentence: String,
}

impl Outlook {
    /// Judges the libraries for a device; with the CUDA release its driver knows, also whether that can compile their PTX.
    pub fn of(
        coverage: &[Coverage],
        device: ComputeCapability,
        driver: Option<(u16, u16)>,
    ) -> Self {
        let one = |c: &Coverage| {
            let verdict = c.gpu_facts().verdict(device, c.dispatches);
            let too_old = |needs: Option<(u16, u16)>| driver.zip(needs).is_some_and(|(d, n)| d < n);
            LibraryOutlook {
                library: c.library.clone(),
                verdict,
                driver_too_old: matches!(verdict, Verdict::Jit { cuda, .. } if too_old(cuda)),
            }
        };
        let libraries: Vec<LibraryOutlook> = coverage.iter().map(one).collect();
        Self {
            device,
            works: libraries.iter().all(LibraryOutlook::works),
            sentence: sentence(device, &libraries),
            libraries,
        }
    }
}

fn sentence(device: ComputeCapability, libraries: &[LibraryOutlook]) -> String {
    if libraries.is_empty() {
        return format!("capability {device}: there is no GPU code to run");
    }
    let of = |wanted: fn(&LibraryOutlook) -> bool| -> Vec<&str> {
        let those = libraries.iter().filter(|l| wanted(l));
        those
            .map(|l| l.library.rsplit('/').next().unwrap_or_default())
            .collect()
    };
    let native = of(|l| matches!(l.verdict, Verdict::Native { .. } | Verdict::NoCode)).len();
    let mut out = format!("capability {device}: ");
    let jit = of(|l| matches!(l.verdict, Verdict::Jit { .. }) && !l.driver_too_old);
    let old = of(|l| l.driver_too_old);
    let partial = of(|l| matches!(l.verdict, Verdict::Partial { .. }));
    let none = of(|l| l.verdict == Verdict::None);
    let word = match (
        jit.is_empty() && old.is_empty(),
        partial.is_empty() && none.is_empty(),
    ) {
        (true, true) => "everything runs natively",
        (false, true) if old.is_empty() => "everything runs",
        (_, true) => "not everything runs with this driver",
        _ if native == 0 && jit.is_empty() => "nothing runs",
        _ => "not everything runs",
    };
    let _ = write!(out, "{word} ({native} of {} native", libraries.len());
    for (names, what) in [
        (jit, "compiled by the driver at first use"),
        (old, "need a newer driver to be compiled"),
        (partial, "in part without code"),
        (none, "without code"),
    ] {
        if !names.is_empty() {
            let more = names.len().saturating_sub(NAMED);
            let more = if more > 0 {
                format!(" and {more} more")
            } else {
                String::new()
            };
            let shown: Vec<&str> = names.iter().copied().take(NAMED).collect();
            let _ = write!(out, "; {what}: {}{more}", shown.join(", "));
        }
    }
    let needs = libraries.iter().filter_map(|l| match l.verdict {
        Verdict::Jit { cuda, .. } => cuda,
        _ => None,
    });
    if let Some(cuda) = needs.max() {
        let driver =
            driver_of_cuda(cuda).map_or_else(String::new, |d| format!(", driver {d} or newer"));
        let _ = write!(
            out,
            "; the driver must know CUDA {}.{}{driver}",
            cuda.0, cuda.1
        );
    }
    out.push(')');
    out
}

impl Coverage {
    /// The coverage of a library; `None` where it has no code with kernels that runs as it is.
    pub fn of(library: &str, gpu: &GpuFacts, dispatches: bool) -> Option<Self> {
        let mut sets: std::collections::BTreeMap<Vec<Code>, u32> =
            std::collections::BTreeMap::new();
        for shape in gpu
            .shapes
            .iter()
            .filter(|s| !s.empty && !s.is_relocatable())
        {
            let mut codes: Vec<Code> = shape
                .code
                .iter()
                .map(|(code, _)| Code {
                    obfuscated: false,
                    ..*code
                })
                .filter(|code| matches!(code.kind, Kind::Sass | Kind::Ptx))
                .collect();
            codes.sort_unstable();
            codes.dedup();
            if !codes.is_empty() {
                let count = sets.entry(codes).or_default();
                *count = count.saturating_add(shape.containers);
            }
        }
        let coverage = Self {
            library: library.to_owned(),
            sass: gpu.names(Kind::Sass),
            ptx: gpu.names(Kind::Ptx),
            dispatches,
            sets: sets
                .into_iter()
                .map(|(codes, containers)| CodeSet {
                    code: codes.iter().map(written).collect(),
                    containers,
                })
                .collect(),
        };
        (!coverage.sass.is_empty() || !coverage.ptx.is_empty()).then_some(coverage)
    }

    /// The code again as [`GpuFacts`]. Without sets, all code counts as one container's.
    pub fn gpu_facts(&self) -> GpuFacts {
        let shape = |code: Vec<(Code, u32)>, containers| Shape {
            section: String::new(),
            code,
            empty: false,
            containers,
        };
        let read = |names: &[String]| -> Vec<(Code, u32)> {
            names
                .iter()
                .filter_map(|n| Some((read_code(n)?, 1)))
                .collect()
        };
        let shapes = if self.sets.is_empty() {
            vec![shape([read(&self.sass), read(&self.ptx)].concat(), 1)]
        } else {
            self.sets
                .iter()
                .map(|s| shape(read(&s.code), s.containers))
                .collect()
        };
        GpuFacts {
            shapes,
            faults: Vec::new(),
        }
    }

    /// The newest CUDA release whose driver some PTX needs.
    pub fn newest_ptx(&self) -> Option<(u16, u16)> {
        let facts = self.gpu_facts();
        let isas = facts
            .shapes
            .iter()
            .flat_map(|s| s.code.iter().filter_map(|(c, _)| c.isa));
        isas.filter_map(cuda_of_isa).max()
    }
}

/// `sm_90a`, `compute_90 8.5`: the version of PTX's instruction set behind it.
fn written(code: &Code) -> String {
    match code.isa {
        Some((major, minor)) => format!("{code} {major}.{minor}"),
        None => code.to_string(),
    }
}

/// Reads what [`written`] writes.
fn read_code(text: &str) -> Option<Code> {
    let (name, isa) = match text.split_once(' ') {
        Some((name, isa)) => {
            let (major, minor) = isa.split_once('.')?;
            (name, Some((major.parse().ok()?, minor.parse().ok()?)))
        }
        None => (text, None),
    };
    let (kind, rest) = match name.split_once('_')? {
        ("sm", rest) => (Kind::Sass, rest),
        ("compute", rest) => (Kind::Ptx, rest),
        _ => return None,
    };
    let digits = rest.trim_end_matches(['a', 'f']);
    let suffix = match rest.get(digits.len()..)? {
        "" => Suffix::Plain,
        "a" => Suffix::A,
        "f" => Suffix::F,
        _ => return None,
    };
    Some(Code {
        kind,
        arch: digits.parse().ok()?,
        suffix,
        isa,
        obfuscated: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn coverage(sets: &[(&[&str], u32)], dispatches: bool) -> Coverage {
        let set = |(code, containers): &(&[&str], u32)| CodeSet {
            code: code.iter().map(|c| (*c).to_owned()).collect(),
            containers: *containers,
        };
        Coverage {
            library: "a/lib/libx.so".to_owned(),
            sass: Vec::new(),
            ptx: Vec::new(),
            dispatches,
            sets: sets.iter().map(set).collect(),
        }
    }

    fn device(text: &str) -> ComputeCapability {
        text.parse().unwrap()
    }

    #[test]
    fn codes_come_back_as_written() {
        for text in [
            "sm_90",
            "sm_90a",
            "sm_100f",
            "compute_90 8.5",
            "compute_120f 9.0",
        ] {
            assert_eq!(written(&read_code(text).unwrap()), text);
        }
        for text in [
            "",
            "sm",
            "sm_",
            "sm_90x",
            "lto_75",
            "compute_90 x",
            "sm_90af",
        ] {
            assert!(read_code(text).is_none(), "{text}");
        }
    }

    #[test]
    fn the_worst_library_decides() {
        let all = [
            coverage(&[(&["sm_80", "sm_90"], 3)], false),
            coverage(&[(&["sm_80"], 1), (&["sm_80", "sm_90"], 2)], false),
        ];
        let good = Outlook::of(&all[..1], device("9.0"), None);
        assert!(
            good.works && good.sentence.contains("everything runs natively"),
            "{}",
            good.sentence
        );
        let bad = Outlook::of(&all, device("9.0"), None);
        assert!(
            !bad.works && bad.sentence.contains("libx.so"),
            "{}",
            bad.sentence
        );
        let any = [coverage(&[(&["sm_80"], 1), (&["sm_80", "sm_90"], 2)], true)];
        assert!(Outlook::of(&any, device("9.0"), None).works);
        assert!(!Outlook::of(&any, device("10.0"), None).works);
    }

    #[test]
    fn ptx_needs_a_driver_that_knows_it() {
        let all = [coverage(&[(&["sm_80", "compute_90 8.5"], 1)], false)];
        let at = |driver| Outlook::of(&all, device("12.0"), driver);
        assert!(at(None).works && at(Some((12, 5))).works && at(Some((13, 0))).works);
        assert!(!at(Some((12, 4))).works);
        assert!(
            at(None).sentence.contains("555.42"),
            "{}",
            at(None).sentence
        );
        assert!(Outlook::of(&all, device("8.6"), Some((12, 0))).works);
    }
}
