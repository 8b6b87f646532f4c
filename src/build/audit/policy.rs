//! The policy: what the rules have to know of the world, as data. Read once from the embedded `policy.toml`.

use std::sync::OnceLock;

use serde::Deserialize;

/// Data of the rules.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Policy {
    /// Libraries that every host within the floor has.
    pub host: Vec<HostGroup>,
}

/// Host libraries of one kind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct HostGroup {
    /// Why they may be expected.
    pub why: String,
}

impl Policy {
    /// The policy that this program was built with.
    pub fn embedded() -> &'static Self {
        static POLICY: OnceLock<Policy> = OnceLock::new();
        POLICY.get_or_init(|| toml::from_str(include_str!("policy.toml")).unwrap_or_default())
    }
}
