//! A Python minor version, written `3.12`: a recipe value, never a literal in code.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A Python minor version such as 3.12.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PythonMinor {
    /// 3.
    pub major: u8,
    /// 12.
    pub minor: u8,
}

impl PythonMinor {
    /// The digits wheels use: `312` in `cp312`.
    pub fn digits(self) -> String {
        format!("{}{}", self.major, self.minor)
    }

    /// The interpreter tag of wheels: `cp312`.
    pub fn tag(self) -> String {
        format!("cp{}", self.digits())
    }

    /// Where distributions are installed, from the bundle's root: `python/lib/python3.12/site-packages`.
    pub fn site_packages(self) -> String {
        format!("python/lib/python{self}/site-packages")
    }

    /// Whether `version` (`3.12.14`) is a release of this minor version.
    pub fn covers(self, version: &str) -> bool {
        version == self.to_string() || version.starts_with(&format!("{self}."))
    }
}

impl fmt::Display for PythonMinor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A text that is no Python minor version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a Python minor version: expected two numbers, such as 3.12")]
pub struct NotAPythonMinor(pub String);

impl FromStr for PythonMinor {
    type Err = NotAPythonMinor;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let number = |part: &str| -> Option<u8> {
            let plain =
                part.bytes().all(|b| b.is_ascii_digit()) && (part == "0" || !part.starts_with('0'));
            plain.then(|| part.parse().ok()).flatten()
        };
        text.split_once('.')
            .and_then(|(major, minor)| {
                Some(Self {
                    major: number(major)?,
                    minor: number(minor)?,
                })
            })
            .filter(|version| version.major == 3)
            .ok_or_else(|| NotAPythonMinor(text.to_owned()))
    }
}

impl Serialize for PythonMinor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for PythonMinor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_prints_minor_versions() {
        let version: PythonMinor = "3.12".parse().unwrap();
        assert_eq!(version.tag(), "cp312");
        assert!(version.covers("3.12.14") && !version.covers("3.1.2") && !version.covers("3.120"));
        for text in ["3", "3.12.1", "2.7", "3.x", "3.012", "3.999", " 3.12"] {
            assert!(text.parse::<PythonMinor>().is_err(), "{text}");
        }
    }
}
