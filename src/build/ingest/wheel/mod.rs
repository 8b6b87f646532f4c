//! A wheel → what it becomes in a bundle. The archive has passed the gate of `base::archive`; here its metadata is
//! judged against its file name and its RECORD, and each member gets its place: site-packages, headers, data, launchers.
//! Follows the binary distribution format; nothing is unpacked, and the bytes are checked by the engine as they pass.

use std::sync::Arc;

use super::Plan;
use crate::base::archive::Zip;
use crate::base::digest::Digest;
use crate::base::target::Arch;

/// What a wheel is to become part of.
#[derive(Debug, Clone)]
pub struct WheelRequest<'a> {
    /// File name as the index gives it, percent escapes decoded.
    pub file_name: &'a str,
    /// Digest of the whole file, seen to match.
    pub sha256: Digest,
    /// Minor version of the bundle's CPython 3.
    pub python_minor: u16,
    /// Architecture of the bundle.
    pub arch: Arch,
    /// Newest glibc 2.x a wheel may ask for by its tag.
    pub glibc_minor: u16,
    /// Waivers of the recipe; those for other wheels are passed over.
    pub waivers: &'a [WheelWaiver],
}

/// The recipe's word that a wheel whose RECORD disagrees with its members is taken as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelWaiver {
    /// The one file it is about.
    pub sha256: Digest,
    /// What is waived, by code: `record-mismatch`.
    pub code: String,
    /// Why, in the recipe author's words.
    pub reason: String,
}

/// Why a wheel is refused.
#[derive(Debug, thiserror::Error)]
pub enum WheelError {}

/// Judges a wheel and plans its entries.
///
/// # Errors
/// A wheel that does not keep the format's rules, is made for something else, or contradicts itself.
pub fn plan(zip: Arc<Zip>, request: &WheelRequest<'_>) -> Result<Plan, WheelError> {
    let _ = (zip, request);
    unimplemented!("comes with the metadata readers")
}
