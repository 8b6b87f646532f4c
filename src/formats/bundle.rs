//! bundle.json: the contract of a bundle with the host, and its first entry. Facts only: no verdicts, no times, no
//! packed sizes, no tool version. What is not known is absent, never null. Its bytes are canonical (fixed order of
//! keys, two spaces, one line feed at the end), so their sha256 is the bundle's identity.

use serde::{Deserialize, Serialize};

use super::component::{ComponentKind, Layer};
pub use super::floor::{Floor, HostNeed};
use crate::base::digest::Digest;
use crate::base::segments::Encoding;
use crate::base::target::{Accelerator, Arch, Target};

/// The folder everything of a bundle lies in.
pub const ROOT: &str = "runtime";

/// Path of bundle.json.
pub const BUNDLE_JSON: &str = "bundle.json";

/// Version of the schema of bundle.json.
pub const SCHEMA_VERSION: u32 = 1;

/// Version of how trees become bytes: tar dialect, order, segment table. Part of the encoding.
pub const FORMAT_VERSION: u32 = 1;

/// No bundle.json is larger.
pub const MAX_BUNDLE_JSON: u64 = 16 << 20;

/// What a bundle is and needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bundle {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// What was found out before packing.
    #[serde(flatten)]
    pub facts: BundleFacts,
    /// What unpacking takes.
    pub size: Size,
    /// Layers that own entries, base first.
    pub layers: Vec<LayerRecord>,
    /// Components in tar order.
    pub components: Vec<ComponentRecord>,
    /// Digests of what this bundle was made from and holds.
    pub digests: Digests,
    /// How its bytes were made.
    pub encoding: EncodingRecord,
}

/// The part of bundle.json that is known before packing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundleFacts {
    /// Product, such as `pointcept-runtime`.
    pub name: String,
    /// Version of the product.
    pub version: String,
    /// What it is made for.
    pub target: TargetRecord,
    /// Version of CPython.
    pub python: String,
    /// Version of torch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// CUDA needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<Cuda>,
    /// Compute capabilities the recipe promises.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda_arch: Option<CudaArch>,
    /// GPU code per library, as read from its bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub coverage: Vec<Coverage>,
    /// Oldest libraries the host may have.
    pub floor: Floor,
    /// Libraries the host brings.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub host_needs: Vec<HostNeed>,
    /// Distributions of ours that stand in for others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shims: Vec<Shim>,
    /// The pinned source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

/// A target, part by part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TargetRecord {
    /// `linux`.
    pub os: String,
    /// Architecture.
    pub arch: Arch,
    /// Accelerator.
    pub accel: Accelerator,
}

impl From<Target> for TargetRecord {
    fn from(target: Target) -> Self {
        Self {
            os: "linux".to_owned(),
            arch: target.arch,
            accel: target.accel,
        }
    }
}

impl TargetRecord {
    /// As the value the rest of the program uses.
    pub fn target(&self) -> Target {
        Target {
            arch: self.arch,
            accel: self.accel,
        }
    }
}

/// CUDA needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cuda {
    /// Version of the CUDA run time.
    pub version: String,
    /// Oldest driver that can run it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_floor: Option<String>,
}

/// Compute capabilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CudaArch {
    /// As the recipe declares them, such as `9.0`.
    pub declared: Vec<String>,
}

/// GPU code of one library.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coverage {
    /// Path of the library.
    pub library: String,
    /// Code for exactly these (`sm_90`).
    pub sass: Vec<String>,
    /// Code that newer devices compile (`compute_90`).
    pub ptx: Vec<String>,
    /// The library chooses among its containers itself: one that runs is enough.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dispatches: bool,
    /// Which code stands together in one container: a device needs one of each set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sets: Vec<CodeSet>,
}

/// Containers with the same code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CodeSet {
    /// `sm_90`, and PTX with the version of its instruction set: `compute_90 8.5`.
    pub code: Vec<String>,
    /// How many containers hold exactly these.
    pub containers: u32,
}

/// A distribution of ours that stands in for another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shim {
    /// Name of the distribution it stands in for.
    pub name: String,
    /// Version.
    pub version: String,
    /// What works and what does not, in one sentence.
    pub note: String,
}

/// The pinned source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// Where it comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repository: Option<String>,
    /// Git revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Digest of its archive, or of its entries for a folder.
    pub sha256: Digest,
}

/// What unpacking takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Size {
    /// Bytes of all files of all components.
    pub unpacked: u64,
    /// Regular files of all components, hard links among them.
    pub files: u64,
}

/// A layer of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerRecord {
    /// Which.
    pub layer: Layer,
    /// Identity, see [`layer_id`](super::manifest::layer_id).
    pub id: Digest,
    /// Entries of its components.
    pub entries: u64,
    /// Bytes of its files.
    pub unpacked: u64,
}

/// A component of the bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ComponentRecord {
    /// Name.
    pub name: String,
    /// Version, where its artifact has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Kind of artifact.
    pub kind: ComponentKind,
    /// Identity: digest of its entries.
    pub id: Digest,
    /// Digest of the artifact, where it is one file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// Alias of the index or interpreter source it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Layer.
    pub layer: Layer,
    /// How many entries.
    pub entries: u64,
    /// Bytes of its files.
    pub unpacked: u64,
}

/// Digests of what a bundle was made from and holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Digests {
    /// Of files.jsonl.
    pub files: Digest,
    /// Of the recipe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recipe: Option<Digest>,
    /// Of the lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Digest>,
}

/// How the bytes of a bundle were made: the same tree and the same record give the same bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EncodingRecord {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// Version of libzstd.
    pub libzstd: String,
    /// zstd level.
    pub level: i32,
    /// Base-2 logarithm of the window.
    pub window_log: u32,
    /// Bytes of tar after which a segment is cut.
    pub segment_size: u64,
}

impl From<&Encoding> for EncodingRecord {
    fn from(encoding: &Encoding) -> Self {
        Self {
            format_version: FORMAT_VERSION,
            libzstd: crate::base::segments::libzstd_version().to_owned(),
            level: encoding.level,
            window_log: encoding.window_log,
            segment_size: encoding.segment_size,
        }
    }
}

/// The file `<bundle>.json` beside a bundle: bundle.json, and what only the packed file can tell.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Announcement {
    /// bundle.json.
    #[serde(flatten)]
    pub bundle: Bundle,
    /// The packed file.
    pub packed: PackedRecord,
}

/// A packed bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PackedRecord {
    /// File name.
    pub file: String,
    /// Bytes.
    pub size: u64,
    /// Digest of the file.
    pub sha256: Digest,
    /// Identity: digest of bundle.json.
    pub identity: Digest,
}

impl Announcement {
    /// Its bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BundleJsonError> {
        canonical(self)
    }

    /// Reads it.
    pub fn parse(bytes: &[u8]) -> Result<Self, BundleJsonError> {
        check_version(bytes)?;
        serde_json::from_slice(bytes).map_err(BundleJsonError::Json)
    }
}

/// Why bytes are no bundle.json of this schema.
#[derive(Debug, thiserror::Error)]
pub enum BundleJsonError {
    /// Another schema.
    #[error("bundle.json has schema version {0}, this program reads {SCHEMA_VERSION}")]
    Version(u64),
    /// Not the JSON expected.
    #[error("bundle.json does not have the expected form")]
    Json(#[source] serde_json::Error),
}

impl Bundle {
    /// The canonical bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BundleJsonError> {
        canonical(self)
    }

    /// Reads bundle.json; a newer schema is told from a broken file.
    pub fn parse(bytes: &[u8]) -> Result<Self, BundleJsonError> {
        check_version(bytes)?;
        serde_json::from_slice(bytes).map_err(BundleJsonError::Json)
    }

    /// The name of the file this bundle is packed into.
    pub fn file_name(&self) -> String {
        file_name(&self.facts.name, self.facts.target.target())
    }
}

fn canonical(value: &impl Serialize) -> Result<Vec<u8>, BundleJsonError> {
    let mut out = serde_json::to_vec_pretty(value).map_err(BundleJsonError::Json)?;
    out.push(b'\n');
    Ok(out)
}

fn check_version(bytes: &[u8]) -> Result<(), BundleJsonError> {
    #[derive(Deserialize)]
    struct Version {
        schema_version: u64,
    }
    let version: Version = serde_json::from_slice(bytes).map_err(BundleJsonError::Json)?;
    if version.schema_version == u64::from(SCHEMA_VERSION) {
        Ok(())
    } else {
        Err(BundleJsonError::Version(version.schema_version))
    }
}

/// `<name>-<target>.tar.zst`.
pub fn file_name(name: &str, target: Target) -> String {
    format!("{name}-{target}.tar.zst")
}

/// `<name>-<target>.<layer>.tar.zst`.
pub fn layer_file_name(name: &str, target: Target, layer: Layer) -> String {
    format!("{name}-{target}.{}.tar.zst", layer.name())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn bundle() -> Bundle {
        let digest = Digest::of(b"x");
        let target: Target = "amd64-cu130".parse().unwrap();
        Bundle {
            schema_version: SCHEMA_VERSION,
            facts: BundleFacts {
                name: "pointcept-runtime".to_owned(),
                version: "1.0".to_owned(),
                target: target.into(),
                python: "3.12.1".to_owned(),
                torch: None,
                cuda: None,
                cuda_arch: None,
                coverage: Vec::new(),
                floor: Floor::default(),
                host_needs: Vec::new(),
                shims: Vec::new(),
                source: None,
            },
            size: Size {
                unpacked: 3,
                files: 1,
            },
            layers: Vec::new(),
            components: Vec::new(),
            digests: Digests {
                files: digest,
                recipe: None,
                lock: None,
            },
            encoding: (&Encoding::default()).into(),
        }
    }

    #[test]
    fn bytes_are_canonical_and_come_back() {
        let bytes = bundle().to_bytes().unwrap();
        assert_eq!(Bundle::parse(&bytes).unwrap(), bundle());
        let text = String::from_utf8(bytes).unwrap();
        assert!(
            text.starts_with("{\n  \"schema_version\": 1,\n  \"name\": \"pointcept-runtime\",\n")
        );
        assert!(text.ends_with("}\n"));
        assert!(
            !text.contains("null"),
            "what is not known is absent: {text}"
        );
        assert_eq!(
            bundle().file_name(),
            "pointcept-runtime-amd64-cu130.tar.zst"
        );
    }

    #[test]
    fn tells_a_newer_schema_from_a_broken_file() {
        let newer = br#"{"schema_version": 2, "all": "else"}"#;
        assert!(matches!(
            Bundle::parse(newer),
            Err(BundleJsonError::Version(2))
        ));
        for broken in [&b"{}"[..], b"", br#"{"schema_version": 1}"#] {
            assert!(matches!(
                Bundle::parse(broken),
                Err(BundleJsonError::Json(_))
            ));
        }
    }
}
