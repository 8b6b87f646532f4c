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
        let (name, version, tags) = match parts.as_slice() {
            [name, version, tags @ ..] if tags.len() == 3 => (name, version, tags),
            [name, version, build, tags @ ..] if tags.len() == 3 => {
                if !build.starts_with(|c: char| c.is_ascii_digit()) {
                    return Err(bad("its build tag does not begin with a digit"));
                }
                (name, version, tags)
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
            pythons: set(0)?,
            abis: set(1)?,
            platforms: set(2)?,
        })
    }
}

/// Whether a wheel can be installed for a CPython of this minor version on Linux with glibc 2.28.
pub fn fits(wheel: &WheelName, arch: Arch, python: PythonMinor) -> bool {
    let platform = wheel.platforms.iter().any(|p| platform_fits(p, arch));
    let pure = wheel.platforms.iter().any(|p| p == "any");
    wheel.pythons.iter().any(|tag| {
        wheel.abis.iter().any(|abi| {
            if abi == "none" {
                (platform || pure) && python_fits(tag, python)
            } else if abi == "abi3" {
                platform && older_or_same(tag, python)
            } else {
                platform && *abi == python.tag() && *tag == python.tag()
            }
        })
    })
}

fn python_fits(tag: &str, python: PythonMinor) -> bool {
    if tag == python.tag() || tag == format!("cp{}", python.major) {
        return true;
    }
    let Some(digits) = tag.strip_prefix("py") else {
        return false;
    };
    let Some(minor) = digits.strip_prefix(&python.major.to_string()) else {
        return false;
    };
    minor.is_empty() || minor.parse::<u8>().is_ok_and(|m| m <= python.minor)
}

fn older_or_same(tag: &str, python: PythonMinor) -> bool {
    tag.strip_prefix(&format!("cp{}", python.major))
        .and_then(|minor| minor.parse::<u8>().ok())
        .is_some_and(|minor| (2..=python.minor).contains(&minor))
}

fn platform_fits(tag: &str, arch: Arch) -> bool {
    let Some(kind) = tag
        .strip_suffix(arch.machine())
        .and_then(|rest| rest.strip_suffix('_'))
    else {
        return false;
    };
    let amd64 = arch == Arch::Amd64;
    match kind {
        "linux" | "manylinux2014" => true,
        "manylinux1" | "manylinux2010" => amd64,
        _ => kind
            .strip_prefix("manylinux_2_")
            .and_then(|minor| minor.parse::<u32>().ok())
            .is_some_and(|minor| minor <= GLIBC_MINOR),
    }
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
}
