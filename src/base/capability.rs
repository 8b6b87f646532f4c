//! A GPU's compute capability, written `9.0`; code compiled for it is called `sm_90`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A compute capability such as 9.0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ComputeCapability {
    /// The generation.
    pub major: u8,
    /// The revision, one digit.
    pub minor: u8,
}

impl ComputeCapability {
    /// The number toolkits use: 90 for 9.0, 121 for 12.1.
    pub fn number(self) -> u16 {
        u16::from(self.major) * 10 + u16::from(self.minor)
    }
}

impl fmt::Display for ComputeCapability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A text that is no compute capability.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a compute capability: expected two numbers, such as 9.0 or 12.1")]
pub struct NotACapability(pub String);

impl FromStr for ComputeCapability {
    type Err = NotACapability;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let bad = || NotACapability(text.to_owned());
        let (major, minor) = text.split_once('.').ok_or_else(bad)?;
        let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        let plain = digits(major) && digits(minor) && !major.starts_with('0') && minor.len() == 1;
        if !plain {
            return Err(bad());
        }
        Ok(Self {
            major: major.parse().map_err(|_| bad())?,
            minor: minor.parse().map_err(|_| bad())?,
        })
    }
}

impl Serialize for ComputeCapability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ComputeCapability {
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
    fn reads_and_prints_capabilities() {
        let capability: ComputeCapability = "12.1".parse().unwrap();
        assert_eq!(
            (capability.number(), capability.to_string()),
            (121, "12.1".into())
        );
        for text in [
            "9", "90", "9.10", "sm_90", "9.0a", "", ".0", "09.0", "999.0",
        ] {
            assert!(text.parse::<ComputeCapability>().is_err(), "{text}");
        }
    }
}
