//! A finding is a judged fact: a stable code, how bad it is, what it is about, and the way out.
//! Audit, doctor and verify collect findings and report all of them; errors are something else.

use serde::{Deserialize, Serialize};

/// How bad a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing.
    Note,
    /// May bite on some hosts.
    Warning,
    /// Stops a build unless the recipe waives it.
    Error,
}

/// One judged fact.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// Stable code such as `elf-needed-missing`.
    pub code: String,
    /// What it is about: a path in the bundle, a distribution, a host file.
    pub path: String,
    /// One sentence, lower case, no full stop.
    pub message: String,
    /// What to do about it, if anything can be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

impl Finding {
    /// A finding about `path`.
    pub fn new(
        severity: Severity,
        code: &str,
        path: &str,
        message: String,
        hint: Option<&str>,
    ) -> Self {
        Self {
            severity,
            code: code.to_owned(),
            path: path.to_owned(),
            message,
            hint: hint.map(str::to_owned),
        }
    }
}
