//! The version of an NVIDIA driver, such as `580.65.06`: compared number by number, printed as it was written.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use super::floor::{DottedVersion, NotDotted};

/// A driver's version.
#[derive(Debug, Clone, Eq)]
pub struct DriverVersion {
    text: String,
    version: DottedVersion,
}

impl DriverVersion {
    /// Its numbers.
    pub fn numbers(&self) -> &DottedVersion {
        &self.version
    }
}

impl FromStr for DriverVersion {
    type Err = NotDotted;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(Self {
            text: text.to_owned(),
            version: text.parse()?,
        })
    }
}

impl PartialEq for DriverVersion {
    fn eq(&self, other: &Self) -> bool {
        self.version == other.version
    }
}

impl PartialOrd for DriverVersion {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for DriverVersion {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.version.cmp(&other.version)
    }
}

impl fmt::Display for DriverVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Serialize for DriverVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_its_text_and_compares_numbers() {
        let v = |text: &str| text.parse::<DriverVersion>().unwrap();
        assert_eq!(v("580.65.06").to_string(), "580.65.06");
        assert_eq!(v("580.65.06"), v("580.65.6"));
        assert!(v("580.9") < v("580.65.06") && v("570.26") < v("570.124.06"));
        assert!("580.x".parse::<DriverVersion>().is_err());
    }
}
