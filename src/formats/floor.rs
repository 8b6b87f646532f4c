//! What a bundle asks of its host: the lowest versions of the host's C and C++ libraries, and host libraries by name.
//! Computed by the audit, written into bundle.json, compared by the host commands.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A dotted number such as `2.28` or `3.4.22`, compared number by number (`2.9` is below `2.28`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DottedVersion(Vec<u32>);

/// A text that is no dotted number.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no version: expected numbers with dots, such as 2.28")]
pub struct NotDotted(pub String);

impl FromStr for DottedVersion {
    type Err = NotDotted;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || NotDotted(text.to_owned());
        let mut parts: Vec<u32> = text
            .split('.')
            .map(|part| {
                if part.bytes().all(|b| b.is_ascii_digit()) {
                    part.parse().map_err(|_| bad())
                } else {
                    Err(bad())
                }
            })
            .collect::<Result<_, _>>()?;
        while parts.len() > 2 && parts.last() == Some(&0) {
            parts.pop();
        }
        Ok(Self(parts))
    }
}

impl fmt::Display for DottedVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, part) in self.0.iter().enumerate() {
            write!(f, "{}{part}", if i == 0 { "" } else { "." })?;
        }
        Ok(())
    }
}

impl Serialize for DottedVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DottedVersion {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?
            .parse()
            .map_err(serde::de::Error::custom)
    }
}

/// The lowest versions of the host's C and C++ libraries. A name nothing needs is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Floor {
    /// `GLIBC_x.y`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glibc: Option<DottedVersion>,
    /// `GLIBCXX_x.y.z` of libstdc++.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glibcxx: Option<DottedVersion>,
    /// `CXXABI_x.y.z` of libstdc++.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cxxabi: Option<DottedVersion>,
}

/// A library that the host has to give.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct HostNeed {
    /// SONAME, such as `libz.so.1`.
    pub library: String,
    /// Paths in the bundle of files that need it, sorted; the first few where it is not optional.
    pub needed_by: Vec<String>,
    /// True where the bundle works without it, but for `switches_off`.
    pub optional: bool,
    /// What does not work where the host lacks it: import names or a few words.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub switches_off: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_compare_by_number_and_forget_trailing_zeros() {
        let v = |text: &str| text.parse::<DottedVersion>().unwrap();
        assert!(v("2.9") < v("2.28"));
        assert!(v("3.4") < v("3.4.22"));
        assert_eq!(v("2.28.0"), v("2.28"));
        assert_eq!(v("2.0").to_string(), "2.0");
    }

    #[test]
    fn refuses_what_is_no_version() {
        for text in ["", "2.", ".2", "2.x", "-1", "+2.3", "99999999999"] {
            assert!(text.parse::<DottedVersion>().is_err(), "{text:?}");
        }
    }
}
