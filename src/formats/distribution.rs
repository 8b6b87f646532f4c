//! What a wheel's own metadata says of the distribution, as facts for audit, manifest and SBOM.

use serde::{Deserialize, Serialize};

/// Facts of one distribution, read from its dist-info.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DistributionFacts {
    /// Wheel file name.
    pub file_name: String,
    /// `Name` of METADATA, as written.
    pub name: String,
    /// `Version` of METADATA, as written (may lack the file name's local version).
    pub version: String,
    /// Path of the dist-info folder in the bundle.
    pub dist_info: String,
    /// Compatibility tags of WHEEL, expanded.
    pub tags: Vec<String>,
    /// `Root-Is-Purelib`.
    pub purelib: bool,
    /// `Requires-Dist` lines.
    pub requires_dist: Vec<String>,
    /// `Requires-Python`.
    pub requires_python: Option<String>,
    /// `License-Expression`, else `License` when it is short, else the licence classifiers.
    pub license: Option<String>,
    /// Paths in the bundle of licence texts (`License-File`, `licenses/`, LICENSE*, NOTICE* in dist-info).
    pub license_files: Vec<String>,
    /// Top-level importable names (packages and modules directly in site-packages).
    pub top_level: Vec<String>,
    /// Console and GUI scripts made as launchers: name and `module:attr`.
    pub entry_points: Vec<(String, String)>,
    /// Paths in the bundle of files that run at interpreter start (`.pth` with code, sitecustomize, usercustomize).
    pub startup_hooks: Vec<String>,
}

/// A distribution's name as PEP 503 writes it: lower case, runs of `-`, `_`, `.` one `-`.
pub fn normalized_name(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        if !matches!(c, '-' | '_' | '.') {
            out.push(c.to_ascii_lowercase());
        } else if !out.ends_with('-') {
            out.push('-');
        }
    }
    out
}
