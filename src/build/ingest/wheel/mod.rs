//! A wheel → what it becomes in a bundle. The archive has passed the gate of `base::archive`; here its metadata is
//! judged against its file name and its RECORD, and each member gets its place: site-packages, headers, data, launchers.
//! Follows the binary distribution format; nothing is unpacked, and the bytes are checked by the engine as they pass.

mod dist_info;
mod entries;
mod error;
mod facts;
mod links;
mod listing;
mod place;
mod scripts;

use std::sync::Arc;

pub use error::{Mismatch, WheelError, WheelFault};

use super::{Plan, RecordPlan};
use crate::base::archive::{Zip, escaped};
use crate::base::digest::Digest;
use crate::base::finding::{Finding, Severity};
use crate::base::python::PythonMinor;
use crate::base::target::Arch;
use crate::formats::component::ComponentKind;
use crate::formats::tags::Compatibility;
use crate::formats::wheel::WheelName;

/// What a wheel is to become part of.
#[derive(Debug, Clone)]
pub struct WheelRequest<'a> {
    /// File name as the index gives it, percent escapes decoded.
    pub file_name: &'a str,
    /// Digest of the whole file, seen to match.
    pub sha256: Digest,
    /// The bundle's Python.
    pub python: PythonMinor,
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

/// Judges a wheel and plans its entries.
///
/// # Errors
/// A wheel that does not keep the format's rules, is made for something else, or contradicts itself.
pub fn plan(zip: Arc<Zip>, request: &WheelRequest<'_>) -> Result<Plan, WheelError> {
    plan_inner(zip, request).map_err(|source| WheelError {
        sha256: request.sha256,
        wheel: escaped(request.file_name.as_bytes()),
        source: Box::new(source),
    })
}

fn plan_inner(zip: Arc<Zip>, request: &WheelRequest<'_>) -> Result<Plan, WheelFault> {
    let name: WheelName = request.file_name.parse()?;
    check_tags(&name, request)?;
    let mut info = dist_info::DistInfo::read(&zip, &name, request.file_name)?;
    let mut notes = zip.notes().to_vec();
    notes.append(&mut info.notes);
    let expected = listing::expected(&zip, &info, request, &mut notes)?;

    let site_packages = request.python.site_packages();
    let normalized = name.normalized();
    let dist_info = format!("{site_packages}/{}", info.folder);
    let mut planned = entries::Entries::new(&zip, request, &info.folder, &normalized, &mut notes);
    let commands = match info.optional(&zip, "entry_points.txt")? {
        Some(text) => scripts::commands(&text)?,
        None => Vec::new(),
    };
    planned.add_commands(&commands)?;
    planned.add_members(&commands, &expected)?;
    planned.add_installer(&dist_info)?;
    let mut entries = planned.finish()?;

    let mut facts = info.facts;
    request.file_name.clone_into(&mut facts.file_name);
    facts.license_files = facts::license_files(&entries, &dist_info, &info.license_files);
    facts.top_level = facts::top_level(&entries, &site_packages);
    facts.startup_hooks = facts::startup_hooks(&zip, &entries, &site_packages)?;
    facts.entry_points = commands
        .iter()
        .map(|c| (c.name.clone(), c.object()))
        .collect();
    notes.extend(links::link_equal(&mut entries, request.file_name));
    notes.sort();
    let record = RecordPlan {
        path: format!("{dist_info}/RECORD"),
        site_packages,
    };
    facts.dist_info = dist_info;
    Ok(Plan {
        name: normalized,
        version: Some(name.version.to_string()),
        kind: ComponentKind::Wheel,
        artifact: Some(request.sha256),
        entries,
        record: Some(record),
        archive: Some(zip),
        distribution: Some(facts),
        notes,
    })
}

fn check_tags(name: &WheelName, request: &WheelRequest<'_>) -> Result<(), WheelFault> {
    let target = Compatibility {
        python_minor: request.python.minor.into(),
        arch: request.arch,
        glibc_minor: request.glibc_minor,
    };
    if target.accepts_any(&name.tags) {
        return Ok(());
    }
    let tags: Vec<String> = name.tags.iter().map(ToString::to_string).collect();
    Err(WheelFault::Incompatible {
        tags: tags.join(", "),
        target: format!(
            "CPython {} on {} with glibc 2.{}",
            request.python,
            request.arch.machine(),
            request.glibc_minor
        ),
    })
}

fn note(code: &str, path: &str, message: String) -> Finding {
    Finding {
        severity: Severity::Note,
        code: code.into(),
        path: path.into(),
        message,
        hint: None,
    }
}
