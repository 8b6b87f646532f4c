//! `<bundle>.evidence.json`: what is known of a packed bundle and how it is known. Written when it is made; `verify` adds what
//! real machines showed. It says "verified on" a GPU and driver, or "not verified", never more, and only of the very bundle
//! whose identity it names.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::bundle::{ComponentRecord, Cuda, EncodingRecord, Source, TargetRecord};
use super::fatbin::cuda_of_driver;
use super::floor::DottedVersion;
use super::wheelhouse::Run;
use crate::base::digest::Digest;

/// Version of the schema.
pub const SCHEMA_VERSION: u32 = 1;

/// No evidence is larger.
pub const MAX_EVIDENCE: u64 = 256 << 20;

/// What is known of a packed bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Evidence {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// `verified on …`, or `not verified`.
    pub statement: String,
    /// The bundle.
    pub bundle: Subject,
    /// What made it.
    pub made: Made,
    /// What it was made with and for: a change of any of these makes the evidence stale.
    pub toolchain: Toolchain,
    /// Every artifact with the alias it came from.
    pub artifacts: Vec<ComponentRecord>,
    /// The pinned source.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// Build runs of wheelhouses: commands, compute capabilities, what was compiled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wheelhouse: Vec<Run>,
    /// What each file needs of others, by path.
    pub needed: BTreeMap<String, Vec<String>>,
    /// The audit's report: findings, waivers, floors, GPU code.
    pub audit: serde_json::Value,
    /// What real machines showed; filled by `verify`.
    pub verifications: Vec<Verification>,
}

/// Which bundle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its file name.
    pub file: String,
    /// Its bytes.
    pub size: u64,
    /// Its digest.
    pub sha256: Digest,
    /// Digest of its bundle.json.
    pub identity: Digest,
}

/// What made it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Architecture of the machine.
    pub builder_arch: String,
    /// Programs and their versions.
    pub tools: BTreeMap<String, String>,
    /// When, in seconds since 1970, where it was asked for (`SOURCE_DATE_EPOCH`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<u64>,
}

/// What a bundle was made with and for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Toolchain {
    /// Target.
    pub target: TargetRecord,
    /// Version of CPython.
    pub python: String,
    /// Version of torch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub torch: Option<String>,
    /// CUDA.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuda: Option<Cuda>,
    /// How its bytes were made.
    pub encoding: EncodingRecord,
}

/// What one machine showed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verification {
    /// Identity of the bundle that was run.
    pub identity: Digest,
    /// Architecture of the machine.
    pub arch: String,
    /// Name of the GPU.
    pub gpu: String,
    /// Its compute capability.
    pub capability: String,
    /// Version of the driver.
    pub driver: String,
    /// What nvidia-smi printed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nvidia_smi: Option<String>,
    /// Stages that were run.
    pub runs: Vec<StageRun>,
}

/// One stage on one machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRun {
    /// Which: `import`, `native`, `ptx` …
    pub stage: String,
    /// What was run.
    pub command: Vec<String>,
    /// How it ended.
    pub exit_code: i32,
    /// The end of what it printed.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub log: String,
}

impl Verification {
    /// True where every stage ended well, and there was one.
    pub fn passed(&self) -> bool {
        !self.runs.is_empty() && self.runs.iter().all(|run| run.exit_code == 0)
    }
}

/// Why bytes are no evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// Another schema.
    #[error("the evidence has schema version {0}, this program reads {SCHEMA_VERSION}")]
    Version(u32),
    /// Not the JSON expected.
    #[error("the evidence does not have the expected form")]
    Json(#[source] serde_json::Error),
}

/// What a bundle and a machine are now, to be compared with evidence.
#[derive(Debug, Clone)]
pub struct Now {
    /// Identity of the bundle.
    pub identity: Digest,
    /// Bytes of the bundle.
    pub size: u64,
    /// Its digest, where it was computed.
    pub sha256: Option<Digest>,
    /// What it was made with and for.
    pub toolchain: Toolchain,
    /// The driver it is to run with.
    pub driver: Option<DottedVersion>,
}

impl Evidence {
    /// Reads it.
    pub fn parse(bytes: &[u8]) -> Result<Self, EvidenceError> {
        #[derive(Deserialize)]
        struct Version {
            schema_version: u32,
        }
        let version: Version = serde_json::from_slice(bytes).map_err(EvidenceError::Json)?;
        if version.schema_version != SCHEMA_VERSION {
            return Err(EvidenceError::Version(version.schema_version));
        }
        serde_json::from_slice(bytes).map_err(EvidenceError::Json)
    }

    /// Its bytes.
    pub fn to_bytes(&self) -> Result<Vec<u8>, EvidenceError> {
        let mut out = serde_json::to_vec_pretty(self).map_err(EvidenceError::Json)?;
        out.push(b'\n');
        Ok(out)
    }

    /// What may be said: the GPUs and drivers on which this very bundle passed, else that it is not verified.
    pub fn said(&self) -> String {
        let passed = self.verifications.iter();
        let passed = passed.filter(|v| v.passed() && v.identity == self.bundle.identity);
        let mut on: Vec<String> = passed
            .map(|v| format!("{}, driver {}", v.gpu, v.driver))
            .collect();
        on.sort();
        on.dedup();
        if on.is_empty() {
            "not verified".to_owned()
        } else {
            format!("verified on {}", on.join("; "))
        }
    }

    /// Adds what a machine showed.
    pub fn add(&mut self, verification: Verification) {
        self.verifications.push(verification);
        self.statement = self.said();
    }

    /// Everything that changed since the evidence was written; empty where it still holds.
    pub fn stale(&self, now: &Now) -> Vec<String> {
        let mut out = Vec::new();
        let mut differs = |what: &str, then: String, now: String| {
            if then != now {
                out.push(format!("{what} was {then}, is {now}"));
            }
        };
        let (then, new) = (&self.toolchain, &now.toolchain);
        differs(
            "the identity",
            self.bundle.identity.to_string(),
            now.identity.to_string(),
        );
        differs(
            "the size",
            self.bundle.size.to_string(),
            now.size.to_string(),
        );
        if let Some(sha256) = now.sha256 {
            differs(
                "the digest",
                self.bundle.sha256.to_string(),
                sha256.to_string(),
            );
        }
        differs(
            "the target",
            then.target.target().to_string(),
            new.target.target().to_string(),
        );
        differs("python", then.python.clone(), new.python.clone());
        let text = |v: &Option<String>| v.clone().unwrap_or_else(|| "none".to_owned());
        differs("torch", text(&then.torch), text(&new.torch));
        let cuda = |t: &Toolchain| t.cuda.as_ref().map(|c| c.version.clone());
        differs("CUDA", text(&cuda(then)), text(&cuda(new)));
        let encoding =
            |t: &Toolchain| format!("zstd {} level {}", t.encoding.libzstd, t.encoding.level);
        differs("the encoding", encoding(then), encoding(new));
        for verification in &self.verifications {
            if verification.identity != now.identity {
                out.push(format!(
                    "{} ran another bundle, {}",
                    verification.gpu, verification.identity
                ));
            }
        }
        if let Some(driver) = &now.driver {
            let class = cuda_of_driver(driver);
            let same =
                |v: &&Verification| v.driver.parse().ok().and_then(|d| cuda_of_driver(&d)) == class;
            if !self.verifications.is_empty() && !self.verifications.iter().any(|v| same(&v)) {
                out.push(format!(
                    "no verification was run with a driver of the class of {driver}"
                ));
            }
        }
        out
    }
}
