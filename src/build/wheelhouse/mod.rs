//! A folder or page of wheels → [`Wheelhouse`] → findings: does it hold what a recipe's target needs, and nothing of another
//! accelerator, torch, Python or architecture? Facts are gathered in `facts`, judged in `judge`.

mod facts;
mod judge;

use serde::Serialize;

use crate::formats::floor::DottedVersion;
use crate::formats::wheelhouse::Run;

pub use facts::{WheelhouseError, of_folder, of_index};
pub use judge::{Subject, judge};

/// What a wheelhouse holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Wheelhouse {
    /// Folder or address, as shown.
    pub place: String,
    /// Its wheels, by file name.
    pub wheels: Vec<HousedWheel>,
    /// The last run of `manifest.txt`, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// Runs before that one.
    pub earlier_runs: usize,
    /// `requirements-pypi.txt`, where there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requirements: Option<Vec<String>>,
}

/// One wheel of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct HousedWheel {
    /// File name.
    pub file: String,
    /// Its size, where known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What was read in it; only in a folder.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Content>,
}

/// What was read in a wheel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Content {
    /// The newest glibc symbol version its libraries need, and the library.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub glibc: Option<(DottedVersion, String)>,
    /// Libraries of torch or NVIDIA that it brings along.
    pub bundled: Vec<String>,
    /// Libraries for another architecture.
    pub foreign: Vec<String>,
    /// Why it could not be read, if it could not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub broken: Option<String>,
}
