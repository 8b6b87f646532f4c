//! Which devices code runs on, by the vendor's compatibility rules: a cubin on its own major version from its minor version up,
//! `a` code on exactly one device, `f` code on a family, PTX on every later device whose driver knows its instruction set.

use serde::{Deserialize, Serialize};

use super::shape::{Code, GpuFacts, Kind, Shape, Suffix};
use crate::base::capability::ComputeCapability;

/// Cubins that do not run where the plain rule says so: embedded devices with the same major version.
const NOT_ON: &[(u16, u16)] = &[
    (50, 53),
    (52, 53),
    (60, 62),
    (61, 62),
    (70, 72),
    (80, 87),
    (86, 87),
    (100, 101),
];
/// Embedded devices, whose cubins run on nothing else.
const EXACT_ONLY: &[u16] = &[53, 62, 72, 87];
/// One device with two numbers.
const RENUMBERED: (u16, u16) = (101, 110);
/// Devices that family code runs on.
const FAMILIES: &[(u16, &[u16])] = &[
    (100, &[100, 103]),
    (101, &[101, 110]),
    (103, &[103]),
    (110, &[110]),
    (120, &[120, 121]),
    (121, &[121]),
];
/// Major and minor version of the PTX instruction set.
type Isa = (u8, u8);
/// Major and minor version of a CUDA release.
type Cuda = (u16, u16);
/// PTX instruction set → the CUDA release whose driver first knew it.
const ISA_OF_CUDA: &[(Isa, Cuda)] = &[
    ((7, 0), (11, 0)),
    ((7, 1), (11, 1)),
    ((7, 2), (11, 2)),
    ((7, 3), (11, 3)),
    ((7, 4), (11, 4)),
    ((7, 5), (11, 5)),
    ((7, 6), (11, 6)),
    ((7, 7), (11, 7)),
    ((7, 8), (11, 8)),
    ((8, 0), (12, 0)),
    ((8, 1), (12, 1)),
    ((8, 2), (12, 2)),
    ((8, 3), (12, 3)),
    ((8, 4), (12, 4)),
    ((8, 5), (12, 5)),
    ((8, 6), (12, 7)),
    ((8, 7), (12, 8)),
    ((8, 8), (12, 9)),
    ((9, 0), (13, 0)),
    ((9, 1), (13, 1)),
    ((9, 2), (13, 2)),
];

/// What a library's code means for a device. Counts are containers with kernels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// The file has no GPU code with kernels.
    NoCode,
    /// Machine code for the device.
    Native {
        /// All of it made for exactly this device, not an earlier one of its generation.
        exact: bool,
    },
    /// At least in part compiled by the driver when first used.
    Jit {
        /// Containers with machine code.
        native: u32,
        /// Containers the driver compiles.
        jit: u32,
        /// The CUDA version the driver must have for all of them; `None` where the instruction set is unknown.
        cuda: Option<(u16, u16)>,
    },
    /// Some containers have nothing for the device.
    Partial {
        /// Containers with machine code or PTX for it.
        usable: u32,
        /// Containers without.
        unusable: u32,
    },
    /// Nothing for the device.
    None,
}

/// Whether `code` is machine code that runs on `device`.
pub fn runs_sass(code: &Code, device: ComputeCapability) -> bool {
    if code.kind != Kind::Sass {
        return false;
    }
    let (arch, number) = (code.arch, device.number());
    let same = arch == number || (arch, number) == RENUMBERED || (number, arch) == RENUMBERED;
    match code.suffix {
        Suffix::A => same,
        Suffix::F => in_family(arch, number),
        Suffix::Plain if same => true,
        Suffix::Plain => {
            arch / 10 == number / 10
                && arch < number
                && !EXACT_ONLY.contains(&arch)
                && !NOT_ON.contains(&(arch, number))
        }
    }
}

/// Whether `code` is PTX that a driver can compile for `device`.
pub fn runs_ptx(code: &Code, device: ComputeCapability) -> bool {
    let number = device.number();
    code.kind == Kind::Ptx
        && match code.suffix {
            Suffix::Plain => number >= code.arch,
            Suffix::A => number == code.arch,
            Suffix::F => in_family(code.arch, number),
        }
}

fn in_family(arch: u16, number: u16) -> bool {
    let family = FAMILIES.iter().find(|(a, _)| *a == arch);
    family.map_or(arch == number, |(_, members)| members.contains(&number))
}

/// The CUDA release whose driver first knew a PTX instruction set.
pub fn cuda_of_isa(isa: (u8, u8)) -> Option<(u16, u16)> {
    ISA_OF_CUDA
        .iter()
        .find(|(i, _)| *i == isa)
        .map(|(_, cuda)| *cuda)
}

/// What one container has for a device.
enum Has {
    Native { exact: bool },
    Jit(Option<(u16, u16)>),
    Nothing,
}

fn has(shape: &Shape, device: ComputeCapability) -> Has {
    let codes = || shape.code.iter().map(|(code, _)| code);
    if codes().any(|c| runs_sass(c, device)) {
        let exact = codes().any(|c| runs_sass(c, device) && c.arch == device.number());
        return Has::Native { exact };
    }
    // The driver takes the PTX nearest to the device.
    let nearest = codes()
        .filter(|c| runs_ptx(c, device))
        .max_by_key(|c| c.arch);
    match nearest {
        Some(code) => Has::Jit(code.isa.and_then(cuda_of_isa)),
        None => Has::Nothing,
    }
}

impl GpuFacts {
    /// What the code means for `device`. With `dispatches`, the library chooses among its containers itself, so one that runs
    /// is enough (NVIDIA's own libraries); else every container with kernels has to run.
    pub fn verdict(&self, device: ComputeCapability, dispatches: bool) -> Verdict {
        let (mut native, mut exact, mut jit, mut nothing) = (0u32, 0u32, 0u32, 0u32);
        let mut cuda = Some((0, 0));
        for shape in self
            .shapes
            .iter()
            .filter(|s| !s.empty && !s.is_relocatable())
        {
            let n = shape.containers;
            match has(shape, device) {
                Has::Native { exact: is_exact } => {
                    native = native.saturating_add(n);
                    exact = exact.saturating_add(if is_exact { n } else { 0 });
                }
                Has::Jit(needs) => {
                    jit = jit.saturating_add(n);
                    cuda = cuda.zip(needs).map(|(a, b)| a.max(b));
                }
                Has::Nothing => nothing = nothing.saturating_add(n),
            }
        }
        let usable = native.saturating_add(jit);
        match (native, jit, nothing) {
            (0, 0, 0) => Verdict::NoCode,
            (0, 0, _) => Verdict::None,
            (1.., _, _) if dispatches => Verdict::Native { exact: exact > 0 },
            (_, _, 1..) if !dispatches => Verdict::Partial {
                usable,
                unusable: nothing,
            },
            (_, 0, _) => Verdict::Native {
                exact: exact == native,
            },
            _ => Verdict::Jit { native, jit, cuda },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(kind: Kind, arch: u16, suffix: Suffix) -> Code {
        Code {
            kind,
            arch,
            suffix,
            isa: None,
            obfuscated: false,
        }
    }

    fn device(number: u16) -> ComputeCapability {
        ComputeCapability {
            major: (number / 10) as u8,
            minor: (number % 10) as u8,
        }
    }

    #[test]
    fn cubins_run_by_the_vendors_rules() {
        use Suffix::{A, F, Plain};
        let cases: &[(u16, Suffix, &[u16], &[u16])] = &[
            (75, Plain, &[75], &[70, 72, 80]),
            (80, Plain, &[80, 86, 89], &[75, 87, 90]),
            (86, Plain, &[86, 89], &[80, 87, 90]),
            (87, Plain, &[87], &[80, 86, 89]),
            (89, Plain, &[89], &[80, 86, 90]),
            (90, Plain, &[90], &[89, 100]),
            (90, A, &[90], &[100]),
            (100, Plain, &[100, 103], &[101, 110, 120]),
            (100, F, &[100, 103], &[101, 110, 120]),
            (100, A, &[100], &[103]),
            (101, Plain, &[101, 110], &[100]),
            (110, Plain, &[101, 110], &[120]),
            (103, F, &[103], &[100]),
            (120, Plain, &[120, 121], &[100, 103]),
            (120, F, &[120, 121], &[100]),
            (120, A, &[120], &[121]),
            (121, Plain, &[121], &[120]),
            (121, A, &[121], &[120]),
            (53, Plain, &[53], &[52]),
            (52, Plain, &[52], &[53, 50]),
            (70, Plain, &[70, 75], &[72]),
        ];
        for (arch, suffix, runs, runs_not) in cases {
            let sass = code(Kind::Sass, *arch, *suffix);
            for number in *runs {
                assert!(runs_sass(&sass, device(*number)), "{sass} on {number}");
            }
            for number in *runs_not {
                assert!(!runs_sass(&sass, device(*number)), "{sass} on {number}");
            }
        }
        assert!(!runs_sass(&code(Kind::Ptx, 80, Plain), device(80)));
        assert!(!runs_sass(&code(Kind::Lto, 80, Plain), device(80)));
    }

    #[test]
    fn ptx_is_compiled_for_later_devices() {
        let plain = code(Kind::Ptx, 80, Suffix::Plain);
        for number in [80, 86, 87, 90, 121] {
            assert!(runs_ptx(&plain, device(number)));
        }
        assert!(!runs_ptx(&plain, device(75)));
        assert!(runs_ptx(&code(Kind::Ptx, 90, Suffix::A), device(90)));
        assert!(!runs_ptx(&code(Kind::Ptx, 90, Suffix::A), device(100)));
        assert!(runs_ptx(&code(Kind::Ptx, 120, Suffix::F), device(121)));
        assert!(!runs_ptx(&code(Kind::Sass, 80, Suffix::Plain), device(90)));
    }

    #[test]
    fn instruction_sets_name_the_driver_that_knows_them() {
        assert_eq!(cuda_of_isa((8, 5)), Some((12, 5)));
        assert_eq!(cuda_of_isa((8, 6)), Some((12, 7)));
        assert_eq!(cuda_of_isa((9, 1)), Some((13, 1)));
        assert_eq!(cuda_of_isa((42, 0)), None);
    }
}
