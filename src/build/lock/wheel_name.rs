//! Wheel file names (PEP 427, with the normalising of PEP 503 and 440) and whether their tags fit a target (PEP 425, 600).

use std::str::FromStr;

use pep440_rs::Version;

use crate::base::python::PythonMinor;
use crate::base::target::Arch;
use crate::build::recipe::normalized;

/// The newest glibc minor version whose manylinux wheels are taken.
const GLIBC_MINOR: u32 = 28;

/// A wheel's file name, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelName {
    /// Normalised name.
    pub name: String,
    /// Version.
    pub version: Version,
    /// Build tag: its number and what follows.
    pub build: Option<(u64, String)>,
    /// Python tags.
    pub pythons: Vec<String>,
    /// ABI tags.
    pub abis: Vec<String>,
    /// Platform tags.
    pub platforms: Vec<String>,
}

/// A name that is no wheel's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no wheel's file name: {1}")]
pub struct NotAWheel(pub String, pub &'static str);

impl WheelName {
    /// Reads `name-version[-build]-python-abi-platform.whl`.
    pub fn parse(file: &str) -> Result<Self, NotAWheel> {
        let bad = |why| NotAWheel(file.to_owned(), why);
        let stem = file
            .strip_suffix(".whl")
            .ok_or_else(|| bad("it does not end in .whl"))?;
        let parts: Vec<&str> = stem.split('-').collect();
        let (name, version, build, tags) = match parts.as_slice() {
            [name, version, tags @ ..] if tags.len() == 3 => (name, version, None, tags),
            [name, version, build, tags @ ..] if tags.len() == 3 => {
                let build = build_tag(build)
                    .ok_or_else(|| bad("its build tag does not begin with a number"))?;
                (name, version, Some(build), tags)
            }
            _ => return Err(bad("expected five or six parts with `-` between")),
        };
        let fine = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.';
        if name.is_empty() || !name.bytes().all(fine) {
            return Err(bad(
                "its name holds other than letters, digits, `_` and `.`",
            ));
        }
        let version = Version::from_str(&version.replace('_', "-"))
            .map_err(|_| bad("its version is none"))?;
        let set = |i: usize| -> Result<Vec<String>, NotAWheel> {
            let text = tags.get(i).copied().unwrap_or_default();
            if text
                .split('.')
                .any(|tag| tag.is_empty() || !tag.bytes().all(|b| b != b'.' && fine(b)))
            {
                return Err(bad(
                    "a tag is empty or holds other than letters, digits and `_`",
                ));
            }
            Ok(text.split('.').map(str::to_owned).collect())
        };
        Ok(Self {
            name: normalized(name),
            version,
            build,
            pythons: set(0)?,
            abis: set(1)?,
            platforms: set(2)?,
        })
    }
}

fn build_tag(text: &str) -> Option<(u64, String)> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, rest) = text.split_at_checked(end)?;
    Some((number.parse().ok()?, rest.to_owned()))
}

/// Whether a wheel can be installed for a CPython of this minor version on Linux with glibc 2.28.
pub fn fits(wheel: &WheelName, arch: Arch, python: PythonMinor) -> bool {
    rank(wheel, arch, python).is_some()
}

/// How well a wheel fits: its best tag's place in the order of PEP 425, less is better; none if it does not fit. Of two
/// wheels that fit alike, the one with the higher build tag is better.
pub fn rank(wheel: &WheelName, arch: Arch, python: PythonMinor) -> Option<Rank> {
    let mut best: Option<(u8, u8, u32)> = None;
    for platform in &wheel.platforms {
        let distance = if platform == "any" {
            None
        } else if let Some(distance) = platform_distance(platform, arch) {
            Some(distance)
        } else {
            continue;
        };
        for tag in &wheel.pythons {
            for abi in &wheel.abis {
                if let Some((class, age)) = class(tag, abi, distance.is_some(), python) {
                    let this = (class, age, distance.unwrap_or(0));
                    best = Some(best.map_or(this, |b| b.min(this)));
                }
            }
        }
    }
    best.map(|tag| Rank {
        tag,
        build: std::cmp::Reverse(wheel.build.clone()),
    })
}

/// A place in the order of fitting wheels: less is better.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    tag: (u8, u8, u32),
    build: std::cmp::Reverse<Option<(u64, String)>>,
}

/// Class of a tag and how many minor versions it is older, in the order interpreters prefer them.
fn class(tag: &str, abi: &str, native: bool, python: PythonMinor) -> Option<(u8, u8)> {
    let own = tag == python.tag();
    match (abi, native) {
        (abi, true) if own && *abi == python.tag() => Some((0, 0)),
        ("abi3", true) => {
            let age = age(tag.strip_prefix("cp")?, python)?;
            Some((if age == 0 { 1 } else { 3 }, age))
        }
        ("none", true) if own => Some((2, 0)),
        ("none", false) if own => Some((5, 0)),
        ("none", _) => {
            let class = if native { 4 } else { 6 };
            let digits = tag.strip_prefix("py")?;
            if digits == python.major.to_string() {
                return Some((class, 1));
            }
            let age = age(digits, python)?;
            Some((class, if age == 0 { 0 } else { age + 1 }))
        }
        _ => None,
    }
}

/// Minor versions between `39` and Python 3.12; none for a newer one.
fn age(digits: &str, python: PythonMinor) -> Option<u8> {
    let minor = digits.strip_prefix(&python.major.to_string())?;
    python.minor.checked_sub(minor.parse().ok()?)
}

/// Steps below the newest glibc that is taken; none for a platform that does not fit.
fn platform_distance(tag: &str, arch: Arch) -> Option<u32> {
    let kind = tag.strip_suffix(arch.machine())?.strip_suffix('_')?;
    let amd64 = arch == Arch::Amd64;
    // An old alias stands right behind the tag it means.
    let (minor, alias) = match kind {
        "linux" => return Some(u32::MAX),
        "manylinux2014" => (17, 1),
        "manylinux2010" if amd64 => (12, 1),
        "manylinux1" if amd64 => (5, 1),
        _ => (kind.strip_prefix("manylinux_2_")?.parse::<u32>().ok()?, 0),
    };
    Some(GLIBC_MINOR.checked_sub(minor)? * 2 + alias)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits_at(file: &str, arch: Arch) -> bool {
        fits(
            &WheelName::parse(file).unwrap(),
            arch,
            "3.12".parse().unwrap(),
        )
    }

    #[test]
    fn takes_names_apart() {
        let name = WheelName::parse(
            "Foo.Bar_x-2.9.1+cu130-1b-cp312-cp312-manylinux_2_28_x86_64.linux_x86_64.whl",
        )
        .unwrap();
        assert_eq!(name.name, "foo-bar-x");
        assert_eq!(name.version.to_string(), "2.9.1+cu130");
        assert_eq!(name.platforms.len(), 2);
        for file in [
            "a-1.tar.gz",
            "a-1-py3-none.whl",
            "a-1-x-py3-none-any.whl",
            "a-one-py3-none-any.whl",
            "-1-py3-none-any.whl",
            "a-1-py3--any.whl",
            "a-1-py3-none-an/y.whl",
            "ü-1-py3-none-any.whl",
        ] {
            assert!(WheelName::parse(file).is_err(), "{file}");
        }
    }

    #[test]
    fn tags_fit_or_not() {
        for file in [
            "a-1-py3-none-any.whl",
            "a-1-py2.py3-none-any.whl",
            "a-1-py310-none-any.whl",
            "a-1-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
            "a-1-cp39-abi3-manylinux_2_28_x86_64.whl",
            "a-1-cp312-none-manylinux1_x86_64.whl",
            "a-1-cp312-cp312-linux_x86_64.whl",
            "a-1-py3-none-manylinux_2_28_x86_64.whl",
        ] {
            assert!(fits_at(file, Arch::Amd64), "{file}");
        }
        for file in [
            "a-1-cp312-cp312-manylinux_2_31_x86_64.whl",
            "a-1-cp312-cp312-musllinux_1_2_x86_64.whl",
            "a-1-cp312-cp312t-manylinux_2_17_x86_64.whl",
            "a-1-cp311-cp311-manylinux_2_17_x86_64.whl",
            "a-1-cp313-abi3-manylinux_2_17_x86_64.whl",
            "a-1-cp312-cp312-manylinux_2_17_aarch64.whl",
            "a-1-py2-none-any.whl",
            "a-1-py313-none-any.whl",
            "a-1-cp312-cp312-win_amd64.whl",
            "a-1-cp312-cp312-any.whl",
        ] {
            assert!(!fits_at(file, Arch::Amd64), "{file}");
        }
        assert!(!fits_at(
            "a-1-cp312-cp312-manylinux1_aarch64.whl",
            Arch::Arm64
        ));
        assert!(fits_at("a-1-cp312-cp312-linux_aarch64.whl", Arch::Arm64));
    }

    #[test]
    fn the_better_of_two_wheels_is_the_one_interpreters_prefer() {
        let order = [
            "a-1-2-cp312-cp312-manylinux_2_28_x86_64.whl",
            "a-1-1-cp312-cp312-manylinux_2_28_x86_64.whl",
            "a-1-cp312-cp312-manylinux_2_28_x86_64.whl",
            "a-1-cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
            "a-1-cp312-cp312-manylinux2014_x86_64.whl",
            "a-1-cp312-cp312-linux_x86_64.whl",
            "a-1-cp312-abi3-manylinux1_x86_64.whl",
            "a-1-cp312-none-manylinux_2_28_x86_64.whl",
            "a-1-cp311-abi3-manylinux_2_28_x86_64.whl",
            "a-1-cp39-abi3-manylinux_2_28_x86_64.whl",
            "a-1-py312-none-manylinux_2_28_x86_64.whl",
            "a-1-py3-none-manylinux_2_28_x86_64.whl",
            "a-1-py311-none-manylinux_2_28_x86_64.whl",
            "a-1-cp312-none-any.whl",
            "a-1-py312-none-any.whl",
            "a-1-py3-none-any.whl",
            "a-1-py30-none-any.whl",
        ];
        let ranks: Vec<Rank> = order
            .iter()
            .map(|file| {
                let python = "3.12".parse().unwrap();
                rank(&WheelName::parse(file).unwrap(), Arch::Amd64, python).unwrap()
            })
            .collect();
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:#?}");
    }
}
