//! The policy: what the rules have to know of the world, as data. Read once from the embedded `policy.toml`.
//! A library rule without a version (`libcuda.so`) holds for every version of the SONAME, one with a version for that alone.

use std::sync::OnceLock;

use serde::Deserialize;

use super::waiver::glob;
use crate::base::finding::Severity;
use crate::formats::elf::ElfFacts;
use crate::formats::floor::DottedVersion;

/// Data of the rules.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Policy {
    /// Libraries that every host within the floor has.
    pub host: Vec<HostRule>,
    /// Libraries that python code loads itself.
    pub preload: Vec<PreloadRule>,
    /// Files that are loaded on demand only, and work or are left alone where their libraries are missing.
    pub plugin: Vec<PluginRule>,
    /// Libraries that never ship.
    pub forbidden: Vec<ForbiddenRule>,
    /// What may be absolute.
    pub absolute: AbsoluteRule,
    /// Folders of build machines.
    pub builder: BuilderRule,
    /// How GPU code is judged.
    pub gpu: GpuRule,
    /// Libraries of which one copy is enough.
    pub single: Vec<SingleRule>,
    /// Libraries that others load by name.
    pub named: Vec<NamedRule>,
    /// Programs that compile for GPUs.
    pub compiler: Vec<CompilerRule>,
    /// C++ interfaces.
    pub abi: Vec<AbiRule>,
    /// What distributions give.
    pub distribution: Vec<DistributionRule>,
    /// Thread-local storage.
    pub tls: TlsRule,
    /// Licences that are told by name.
    pub licence: Vec<LicenceRule>,
    /// Sizes.
    pub size: SizeRule,
}

/// Libraries of which one copy is enough.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SingleRule {
    /// What they are, in words.
    pub what: String,
    /// SONAMEs.
    pub libraries: Vec<String>,
}

/// Libraries that others load by a name in their data.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct NamedRule {
    /// Who loads.
    pub by: Vec<String>,
    /// What must be there if it is named.
    pub libraries: Vec<String>,
    /// What happens else.
    pub why: String,
}

/// A program that compiles for GPUs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CompilerRule {
    /// Globs of its path.
    pub files: Vec<String>,
    /// Glob of the path of another one, for newer devices.
    pub newer: String,
    /// From this architecture number on the other one is used.
    pub newer_from: u16,
    /// What it is used for.
    pub what: String,
    /// Ends of paths: it is needed where a file of the tree ends so.
    pub when: Vec<String>,
}

/// A C++ interface.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AbiRule {
    /// Finding code.
    pub code: String,
    /// Outermost namespaces.
    pub namespaces: Vec<String>,
    /// SONAMEs of libraries that must be there for the rule to hold.
    pub given_by: Vec<String>,
    /// What it is called.
    pub what: String,
}

/// What a distribution gives.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DistributionRule {
    /// Its name.
    pub name: String,
    /// Version of glibc.
    pub glibc: DottedVersion,
    /// Highest `GLIBCXX_`.
    pub glibcxx: DottedVersion,
    /// Highest `CXXABI_`.
    pub cxxabi: DottedVersion,
}

/// Thread-local storage.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct TlsRule {
    /// Bytes that the loader keeps for libraries that are loaded late.
    pub surplus: u64,
}

/// Licences that are told by name.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct LicenceRule {
    /// How they are called.
    pub name: String,
    /// Globs of the distributions that have them.
    pub distributions: Vec<String>,
}

/// Sizes in bytes once unpacked; 0 is no limit.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SizeRule {
    /// Of a bundle.
    pub bundle: u64,
    /// Of a component.
    pub component: u64,
}

/// Folders of build machines.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct BuilderRule {
    /// Globs of paths that only build machines have.
    pub folders: Vec<String>,
}

/// How GPU code is judged.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct GpuRule {
    /// Libraries that choose among their containers themselves, so that one that runs is enough.
    pub dispatching: Vec<String>,
}

/// Host libraries of one kind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct HostRule {
    /// SONAMEs.
    pub libraries: Vec<String>,
    /// Why they may be expected.
    pub why: String,
}

/// What python code loads before others need it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PreloadRule {
    /// Ends of paths: the rule holds where a file of the tree ends so.
    pub when: Vec<String>,
    /// SONAMEs that are loaded.
    pub libraries: Vec<String>,
    /// Where they lie: globs of paths below site-packages.
    pub folders: Vec<String>,
    /// Who loads them.
    pub why: String,
}

/// Files that are loaded on demand.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct PluginRule {
    /// SONAMEs or file names of the plug-ins.
    pub files: Vec<String>,
    /// SONAMEs that may be missing.
    pub missing: Vec<String>,
    /// What does not work without them.
    pub switches_off: String,
}

/// Libraries that never ship.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct ForbiddenRule {
    /// SONAMEs.
    pub libraries: Vec<String>,
    /// Paths (globs) where they may lie all the same.
    pub except: Vec<String>,
    /// Finding code.
    pub code: String,
    /// Why not.
    pub why: String,
    /// How bad it is; an error where the policy does not say.
    pub severity: Option<Severity>,
}

/// What may be absolute.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct AbsoluteRule {
    /// Programs a shebang may name anywhere.
    pub shebangs: Vec<String>,
    /// Folders of host programs that a shebang may name in files that are no commands of the bundle.
    pub program_folders: Vec<String>,
    /// Beginnings of paths that mean the same on every host.
    pub prefixes: Vec<String>,
}

impl Policy {
    /// The policy that this program was built with.
    pub fn embedded() -> &'static Self {
        static POLICY: OnceLock<Policy> = OnceLock::new();
        POLICY.get_or_init(|| toml::from_str(include_str!("policy.toml")).unwrap_or_default())
    }

    /// True where a library chooses among its GPU code itself.
    pub fn dispatches(&self, path: &str) -> bool {
        any_library(&self.gpu.dispatching, super::resolve::file_name(path))
    }

    /// True where a path means the same on every host.
    pub(super) fn is_same_everywhere(&self, path: &str) -> bool {
        let mut prefixes = self.absolute.prefixes.iter();
        prefixes.any(|prefix| path.starts_with(prefix.as_str()))
    }

    /// True where the host may be expected to have `soname`.
    pub(super) fn is_host(&self, soname: &str) -> bool {
        self.host
            .iter()
            .any(|rule| any_library(&rule.libraries, soname))
    }

    /// The rule by which `file` may lack `library`.
    pub(super) fn plugin(&self, path: &str, elf: &ElfFacts, library: &str) -> Option<&PluginRule> {
        self.plugin
            .iter()
            .find(|rule| names(&rule.files, path, elf) && any_library(&rule.missing, library))
    }
}

impl PreloadRule {
    /// True where the rule loads this file.
    pub(super) fn holds(&self, path: &str, elf: &ElfFacts) -> bool {
        let below = path
            .split_once("/site-packages/")
            .map_or("", |(_, rest)| rest);
        let folder = below.rsplit_once('/').map_or("", |(folder, _)| folder);
        self.folders.iter().any(|f| glob(f, folder)) && names(&self.libraries, path, elf)
    }
}

/// True where a rule names the file, by SONAME or file name.
pub(super) fn names(rules: &[String], path: &str, elf: &ElfFacts) -> bool {
    let file = super::resolve::file_name(path);
    any_library(rules, file) || elf.soname.as_deref().is_some_and(|s| any_library(rules, s))
}

/// True where one of `rules` holds for `soname`.
pub(super) fn any_library(rules: &[String], soname: &str) -> bool {
    rules.iter().any(|rule| library(rule, soname))
}

/// `libx.so` holds for `libx.so` and `libx.so.1.2`; `libx.so.1` for itself only; `*` stands for any text.
fn library(rule: &str, soname: &str) -> bool {
    // Most rules speak of other names: told by their first letters, without a search.
    let plain = rule
        .bytes()
        .take_while(|b| !matches!(b, b'*' | b'.'))
        .count();
    if !soname
        .as_bytes()
        .starts_with(rule.as_bytes().get(..plain).unwrap_or_default())
    {
        return false;
    }
    let versioned = rule.split_once(".so.").is_some();
    let stem = match soname.find(".so.") {
        Some(at) if !versioned => soname.get(..at + 3).unwrap_or(soname),
        _ => soname,
    };
    glob(rule, stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_embedded_policy_is_read() {
        let policy: Policy = toml::from_str(include_str!("policy.toml")).unwrap();
        assert!(policy.is_host("libc.so.6"));
        assert_eq!(policy.host.len(), Policy::embedded().host.len());
    }

    #[test]
    fn a_rule_without_version_holds_for_every_version() {
        assert!(library("libcublas.so", "libcublas.so.13"));
        assert!(library("libcublas.so", "libcublas.so"));
        assert!(library("libnvidia-*.so", "libnvidia-ml.so.1"));
        assert!(!library("libcublas.so", "libcublasLt.so.13"));
    }

    #[test]
    fn a_rule_with_a_version_holds_for_that_one() {
        assert!(library("libcrypt.so.1", "libcrypt.so.1"));
        assert!(!library("libcrypt.so.1", "libcrypt.so.2"));
        assert!(!library("libcrypt.so.1", "libcrypt.so"));
    }
}
