//! Lock → Fetched: every artifact as a blob on disk whose digest was seen to match.
//!
//! An [`Order`] says which bytes are wanted and where they may be found; the [`Fetcher`] looks into the cache (each blob is
//! digested each time it is used), a mirror folder, local folders and indexes, and downloads with resume what is missing.
//! Under `offline` no socket is opened. Only this stage can make a [`Fetched`].

pub mod address;
mod blobs;
mod download;
mod error;
mod fetcher;
mod import;
pub mod machine;
mod maven;
mod order;
mod pages;
mod partial;
mod places;
mod tend;

use std::path::{Path, PathBuf};

use url::Url;

use crate::base::digest::Digest;
use crate::base::fs::Stamp;
use crate::base::http::HttpConfig;
use address::Addresses;
use machine::Machine;

pub use blobs::{Blobs, Seen, digest_of};
pub use error::FetchError;
pub use fetcher::{Downloads, Fetcher};
pub use import::{SUMS, write_mirror};
pub use tend::{BlobsSize, Weight};

/// Which bytes are wanted, and the places where they may be found, in order of preference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// For people: `torch 2.11.0`.
    pub label: String,
    /// Plain file name.
    pub file: String,
    /// What the bytes must digest to.
    pub sha256: Digest,
    /// Bytes, where known.
    pub size: Option<u64>,
    /// Tried in this order until one gives the bytes.
    pub places: Vec<Place>,
}

/// Where an artifact may be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// By file name on the index (simple API, find-links page, folder, release page) with this alias.
    Index {
        /// Alias of the index.
        alias: String,
        /// Project name, normalised or not.
        project: String,
    },
    /// At an address of its own.
    Url(Url),
    /// Below an alias that is a base address (`pbs`): `<address>/<path>`.
    Under {
        /// Alias of the base address.
        alias: String,
        /// The address of an alias that nobody set.
        base: Option<Url>,
        /// Percent-encoded path below it.
        path: String,
    },
    /// A Maven artifact, by the `mvn` program, or by plain download when alias `maven` has an address.
    Maven(MavenArtifact),
    /// A local file.
    File(PathBuf),
}

/// Coordinates of a Maven artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MavenArtifact {
    /// Group, such as `org.bytedeco`.
    pub group: String,
    /// Artifact, such as `cpython`.
    pub artifact: String,
    /// Version, such as `3.12.1-1.5.10`.
    pub version: String,
    /// Classifier, such as `linux-x86_64`.
    pub classifier: Option<String>,
    /// Extension, such as `jar`.
    pub extension: String,
}

/// An artifact on disk whose digest was seen to match. Only this stage makes one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fetched {
    digest: Digest,
    size: u64,
    path: PathBuf,
    file: String,
    /// Of a file that is used where the user keeps it.
    stamp: Option<Stamp>,
}

impl Fetched {
    /// SHA-256 of the bytes.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How it looked when it was digested, if it is a mirror's and not the cache's: others may write to it.
    pub fn stamp(&self) -> Option<Stamp> {
        self.stamp
    }

    /// Where the bytes are; never changed in place.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The artifact's own file name (the blob is named by digest).
    pub fn file(&self) -> &str {
        &self.file
    }
}

/// What a fetcher works with. All values come from the command line and environment by way of `commands`.
#[derive(Debug, Clone)]
pub struct FetchConfig {
    /// Root of the cache.
    pub cache: PathBuf,
    /// Where aliases point.
    pub addresses: Addresses,
    /// What the machine says of its default index.
    pub machine: Machine,
    /// How the network is used; `offline` stands here.
    pub http: HttpConfig,
    /// Folder looked in before any index (`--mirror`).
    pub mirror: Option<PathBuf>,
    /// Downloads at a time.
    pub parallel: usize,
    /// Seconds since 1970, for the freshness of remembered index pages.
    pub now: u64,
    /// The `mvn` program.
    pub mvn: PathBuf,
    /// Maven's local repository.
    pub maven_repository: PathBuf,
}
