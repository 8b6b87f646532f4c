//! What a bundle is made for: an architecture and an accelerator, written `arm64-cu130`.
//! Text in, types out; `x86_64` and `aarch64` are accepted, `amd64` and `arm64` are printed.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A processor architecture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Arch {
    /// x86-64.
    Amd64,
    /// 64-bit Arm.
    Arm64,
}

impl Arch {
    /// The name the kernel, wheels and Python use: `x86_64` or `aarch64`.
    pub fn machine(self) -> &'static str {
        match self {
            Self::Amd64 => "x86_64",
            Self::Arm64 => "aarch64",
        }
    }

    /// The architecture of the machine this program was built for.
    pub fn host() -> Self {
        if cfg!(target_arch = "aarch64") {
            Self::Arm64
        } else {
            Self::Amd64
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
        })
    }
}

impl FromStr for Arch {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "amd64" | "x86_64" => Ok(Self::Amd64),
            "arm64" | "aarch64" => Ok(Self::Arm64),
            _ => Err(TargetError::Arch(text.to_owned())),
        }
    }
}

/// A CUDA release the GPU code of a bundle is built with, written `cu130` for 13.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Accelerator {
    /// CUDA major version.
    pub major: u16,
    /// CUDA minor version, one digit.
    pub minor: u16,
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cu{}{}", self.major, self.minor)
    }
}

impl FromStr for Accelerator {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || TargetError::Accelerator(text.to_owned());
        let digits = text.strip_prefix("cu").ok_or_else(bad)?;
        if !(2..=3).contains(&digits.len()) || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(bad());
        }
        let (major, minor) = digits.split_at(digits.len() - 1);
        let major: u16 = major.parse().map_err(|_| bad())?;
        if digits.starts_with('0') {
            return Err(bad());
        }
        Ok(Self {
            major,
            minor: minor.parse().map_err(|_| bad())?,
        })
    }
}

/// What a bundle is made for: `<arch>-<accelerator>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Target {
    /// Processor architecture.
    pub arch: Arch,
    /// CUDA release.
    pub accel: Accelerator,
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.arch, self.accel)
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (arch, accel) = text
            .split_once('-')
            .ok_or_else(|| TargetError::Shape(text.to_owned()))?;
        Ok(Self {
            arch: arch.parse()?,
            accel: accel.parse()?,
        })
    }
}

/// Why a text is no target.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// No `-` between architecture and accelerator.
    #[error("{0:?} is not a target: expected <arch>-<accelerator>, such as amd64-cu130")]
    Shape(String),
    /// Unknown architecture.
    #[error("unknown architecture {0:?}: expected amd64 (x86_64) or arm64 (aarch64)")]
    Arch(String),
    /// Unknown accelerator.
    #[error("unknown accelerator {0:?}: expected cu and the CUDA version, such as cu130")]
    Accelerator(String),
}

macro_rules! as_text {
    ($($ty:ty),*) => {$(
        impl Serialize for $ty {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }
        impl<'de> Deserialize<'de> for $ty {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    )*};
}
as_text!(Arch, Accelerator, Target);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_both_spellings_and_prints_one() {
        for text in ["amd64-cu130", "x86_64-cu130"] {
            assert_eq!(text.parse::<Target>().unwrap().to_string(), "amd64-cu130");
        }
        let target: Target = "aarch64-cu126".parse().unwrap();
        assert_eq!((target.accel.major, target.accel.minor), (12, 6));
    }

    #[test]
    fn refuses_what_is_no_target() {
        for text in [
            "amd64",
            "amd64-",
            "sparc-cu130",
            "amd64-cu",
            "amd64-cu1x0",
            "amd64-cu0130",
            "amd64-cu1300",
        ] {
            assert!(text.parse::<Target>().is_err(), "{text}");
        }
    }
}
