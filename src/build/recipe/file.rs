//! The shape of a recipe file: every key, its type and its default, nothing else. The doc comments are the text of
//! `recipes/recipe.schema.json`; `recipes/README.md` says the same with examples. Unknown keys are refused.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::base::capability::ComputeCapability;
use crate::base::digest::Digest;
use crate::base::python::PythonMinor;
use crate::base::target::{Arch, Target};
use crate::formats::component::Layer;

/// A recipe: what one product is made of, for each of its targets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecipeFile {
    /// Name of the product, kept in bundle.json.
    pub name: String,
    /// Version of the bundle; `--bundle-version` replaces it.
    pub version: String,
    /// Python minor version, such as "3.12".
    #[schemars(with = "String")]
    pub python: PythonMinor,
    /// How bytecode is shipped.
    #[serde(default)]
    pub bytecode: Bytecode,
    /// How segments are compressed.
    #[serde(default)]
    pub encoding: EncodingKeys,
    /// Where the interpreter comes from, tried in this order.
    pub interpreter: Vec<InterpreterSpec>,
    /// The indexes packages come from, by alias.
    #[serde(default)]
    pub index: BTreeMap<String, IndexSpec>,
    /// Packages of every target.
    #[serde(default)]
    pub packages: Vec<PackageGroup>,
    /// The targets, `<arch>-<accelerator>`.
    #[schemars(with = "BTreeMap<String, TargetSpec>")]
    pub target: BTreeMap<Target, TargetSpec>,
    /// The application source.
    #[serde(default)]
    pub source: Option<SourceSpec>,
    /// Findings of the audit that are allowed.
    #[serde(default)]
    pub waiver: Vec<Waiver>,
    /// Faults of a wheel that are allowed.
    #[serde(default)]
    pub wheel_waiver: Vec<WheelWaiver>,
    /// Files that may run code when the interpreter starts.
    #[serde(default)]
    pub startup_hook: Vec<StartupHook>,
    /// What the host gives.
    #[serde(default)]
    pub host: HostKeys,
    /// The oldest system the bundle runs on.
    #[serde(default)]
    pub floor: FloorKeys,
    /// How large a bundle and its parts may be.
    #[serde(default)]
    pub size: SizeKeys,
}

/// How bytecode is shipped.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Bytecode {
    /// Compiled at build time, never checked against the source (PEP 552): the fastest start.
    #[default]
    UncheckedHash,
    /// Not shipped: a smaller bundle that starts slower.
    None,
}

/// How segments are compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct EncodingKeys {
    /// zstd level, 1 to 19; `--level` replaces it.
    #[schemars(range(min = 1, max = 19))]
    pub level: i32,
    /// Base-2 logarithm of the zstd window, 20 to 27 (stock tools read up to 27).
    #[schemars(range(min = 20, max = 27))]
    pub window_log: u32,
    /// Bytes of tar in a segment, a multiple of 512 from 1 MiB to 256 MiB.
    pub segment_size: u64,
}

impl Default for EncodingKeys {
    fn default() -> Self {
        Self {
            level: 3,
            window_log: 23,
            segment_size: 16 << 20,
        }
    }
}

/// A kind of interpreter source.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum InterpreterKind {
    /// A python-build-standalone release asset, or a mirror of it.
    Pbs,
    /// A CPython build published as a Maven artifact, fetched by the `mvn` client.
    Maven,
    /// A local archive or folder.
    Path,
}

impl InterpreterKind {
    /// The word used in recipes, locks and `--interpreter`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pbs => "pbs",
            Self::Maven => "maven",
            Self::Path => "path",
        }
    }
}

impl std::fmt::Display for InterpreterKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// One interpreter source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct InterpreterSpec {
    /// What kind of source it is.
    pub kind: InterpreterKind,
    /// Full Python version, such as "3.12.14".
    pub version: String,
    /// kind "pbs": the release, such as "20260814".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<String>,
    /// kind "maven": `group:artifact:version`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub artifact: Option<String>,
    /// kind "maven": the artifact's classifier, by architecture.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub classifier: BTreeMap<Arch, String>,
    /// kind "path": an archive or a folder, by architecture; relative to the recipe's folder.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub path: BTreeMap<Arch, String>,
    /// sha256 of the archive, by architecture (not for a folder).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, String>")]
    pub sha256: BTreeMap<Arch, Digest>,
    /// Size of the archive in bytes, by architecture, where it is known.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, u64>")]
    pub size: BTreeMap<Arch, u64>,
    /// The glibc this interpreter needs, where it is newer than the recipe's floor: bundles made of it have this floor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub glibc: Option<String>,
}

/// A kind of index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum IndexKind {
    /// The simple API: one page per project, JSON or HTML (PEP 503, 691, 700).
    Simple,
    /// One HTML page with links to files.
    FindLinks,
    /// A local folder of wheels, or the same folder served as a page.
    Wheelhouse,
    /// The assets of a GitHub release, given as its tag's page or its `expanded_assets` page.
    GithubRelease,
}

/// An index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IndexSpec {
    /// What kind of index it is.
    pub kind: IndexKind,
    /// Its address or folder; `{arch}`, `{machine}`, `{accel}`, `{torch}`, `{python}`, `{cp}` and `{version}` are put in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// This is the machine's own default index, as pip and uv know it; packages nobody lists come from here.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default: bool,
}

/// Packages that come from one index and go into one layer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PackageGroup {
    /// Alias of the index.
    pub index: String,
    /// `base`: these and all they need are the base layer; `app`: everything else.
    #[serde(default = "app")]
    #[schemars(with = "String")]
    pub layer: Layer,
    /// Requirements (PEP 508) with markers; the same names are put in as in an index's url.
    pub require: Vec<String>,
}

fn app() -> Layer {
    Layer::App
}

/// One target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TargetSpec {
    /// The torch version, checked against the accelerator's floor; put in for `{torch}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// Compute capabilities the GPU code is compiled for, such as `["8.0", "9.0"]`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(with = "Vec<String>")]
    pub cuda_arch: Vec<ComputeCapability>,
    /// The oldest NVIDIA driver that runs the bundle, such as "580.65.06".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_floor: Option<String>,
    /// Packages of this target alone; one of the same name takes the place of the recipe's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub packages: Vec<PackageGroup>,
    /// Names of the recipe's packages this target does without.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<String>,
}

/// The application source: exactly one of `path`, `git`, `archive`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceSpec {
    /// Name of its folder under `src/` in the bundle.
    pub folder: String,
    /// A folder, relative to the recipe's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A git repository.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git: Option<String>,
    /// With `git`: a revision, tag or branch; the lock holds the full revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rev: Option<String>,
    /// Address of a `.tar.gz`, `.tar.zst` or `.zip`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archive: Option<String>,
    /// With `archive`: its sha256.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub sha256: Option<Digest>,
    /// A wheel of the same source on one of the indexes: it is not installed, but the `+g<revision>` of its version must
    /// be this source's revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wheel: Option<String>,
}

/// A finding of the audit that is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Waiver {
    /// Code of the finding, such as "elf-needed-missing".
    pub code: String,
    /// Path in the bundle as the finding gives it; "*" stands for any text without "/", "**" for any text, "?" for
    /// one character.
    pub path: String,
    /// Why it is no fault here.
    pub reason: String,
}

/// A fault of one wheel that is allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WheelWaiver {
    /// sha256 of the wheel.
    #[schemars(with = "String")]
    pub sha256: Digest,
    /// Code of the fault, such as "record-mismatch".
    pub code: String,
    /// Why it is no fault here.
    pub reason: String,
}

/// A file that may run code when the interpreter starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StartupHook {
    /// sha256 of the file.
    #[schemars(with = "String")]
    pub sha256: Digest,
    /// What it does and why that is wanted.
    pub reason: String,
}

/// What the host gives.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct HostKeys {
    /// SONAMEs every host of this product has, besides glibc's own.
    pub libraries: Vec<String>,
}

/// The oldest system the bundle runs on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FloorKeys {
    /// The newest glibc symbol version anything in the bundle may need.
    pub glibc: String,
}

impl Default for FloorKeys {
    fn default() -> Self {
        Self {
            glibc: "2.28".to_owned(),
        }
    }
}

/// How large a bundle and its parts may be, in bytes once unpacked. More than that is an error finding of the audit.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SizeKeys {
    /// The whole bundle.
    pub bundle: Option<u64>,
    /// Layers by name, `base` and `app`.
    #[schemars(with = "BTreeMap<String, u64>")]
    pub layer: BTreeMap<Layer, u64>,
    /// Components by name; "*" in a name stands for any text. The exact name holds, else the longest that fits.
    pub component: BTreeMap<String, u64>,
}
