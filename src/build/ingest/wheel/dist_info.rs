//! The one dist-info folder of a wheel, and whether it is that of the file name: folder, METADATA and WHEEL. Only a folder
//! at the root counts (a vendored package may bring its own deeper down). A missing local version is told, more is refused.

use std::collections::BTreeSet;

use pep440_rs::Version;

use super::WheelFault;
use super::note;
use crate::base::archive::{Zip, escaped};
use crate::base::finding::{Finding, Severity};
use crate::formats::distribution::{DistributionFacts, normalized_name};
use crate::formats::metadata;
use crate::formats::wheel::{WheelFile, WheelName};

/// More than any METADATA, WHEEL, RECORD or entry_points.txt ever was.
pub(super) const MOST_METADATA: u64 = 64 << 20;

/// What the dist-info folder says.
pub(super) struct DistInfo {
    /// `name-version.dist-info`.
    pub folder: String,
    pub facts: DistributionFacts,
    /// `License-File` fields.
    pub license_files: Vec<String>,
    pub notes: Vec<Finding>,
}

impl DistInfo {
    pub fn read(zip: &Zip, name: &WheelName, file_name: &str) -> Result<Self, WheelFault> {
        let folder = find(zip)?;
        let mut notes = Vec::new();
        let of_file = (name.normalized(), &name.version);
        match identity(&folder) {
            Some((folder_name, version))
                if folder_name == of_file.0 && same_but_local(&version, of_file.1) =>
            {
                if version != *of_file.1 {
                    let message = format!(
                        "the folder {} has another local version than the file name ({})",
                        escaped(folder.as_bytes()),
                        of_file.1
                    );
                    notes.push(Finding {
                        severity: Severity::Warning,
                        ..note("dist-info-version", file_name, message)
                    });
                }
            }
            _ => {
                return Err(WheelFault::DistInfoName {
                    folder: escaped(folder.as_bytes()),
                    name: of_file.0,
                    version: of_file.1.to_string(),
                });
            }
        }
        let (mut facts, license_files) = metadata::read(&member(zip, &folder, "METADATA")?)?;
        check_metadata(&facts, name, file_name, &mut notes)?;
        let wheel = WheelFile::parse(&member(zip, &folder, "WHEEL")?)?;
        let mut of_name = name.tags.clone();
        of_name.sort();
        of_name.dedup();
        if of_name != wheel.tags {
            let message = "the tags of WHEEL are not those of the file name".into();
            notes.push(note("wheel-tags", file_name, message));
        }
        facts.tags = wheel.tags.iter().map(ToString::to_string).collect();
        facts.purelib = wheel.purelib;
        Ok(Self {
            folder,
            facts,
            license_files,
            notes,
        })
    }

    /// Reads another file of the folder, if it is there.
    pub fn optional(&self, zip: &Zip, name: &str) -> Result<Option<Vec<u8>>, WheelFault> {
        match member(zip, &self.folder, name) {
            Err(WheelFault::Missing(_)) => Ok(None),
            other => other.map(Some),
        }
    }
}

fn find(zip: &Zip) -> Result<String, WheelFault> {
    let folders: BTreeSet<&str> = zip
        .members()
        .iter()
        .filter_map(|member| match member.name.split_once('/') {
            Some((folder, _)) => Some(folder),
            None if member.is_dir => Some(member.name.as_str()),
            None => None,
        })
        .filter(|folder| folder.ends_with(".dist-info"))
        .collect();
    match folders.iter().collect::<Vec<_>>().as_slice() {
        [] => Err(WheelFault::NoDistInfo),
        [one] => Ok((**one).to_owned()),
        many => {
            let names: Vec<String> = many.iter().map(|f| escaped(f.as_bytes())).collect();
            Err(WheelFault::ManyDistInfo(names.join(", ")))
        }
    }
}

/// Name (normalised) and version of a dist-info folder's name.
fn identity(folder: &str) -> Option<(String, Version)> {
    let (name, version) = folder.strip_suffix(".dist-info")?.split_once('-')?;
    let version = version.replace('_', "-").parse().ok()?;
    Some((normalized_name(name), version))
}

/// Equal, or one of them lacks the local part or has another one.
fn same_but_local(a: &Version, b: &Version) -> bool {
    a.clone().without_local() == b.clone().without_local()
}

pub(super) fn member(zip: &Zip, folder: &str, name: &str) -> Result<Vec<u8>, WheelFault> {
    let path = format!("{folder}/{name}");
    let found = zip
        .members()
        .iter()
        .position(|member| member.name == path && !member.is_dir);
    match found {
        Some(index) => Ok(zip.read_whole(index, MOST_METADATA)?),
        None => Err(WheelFault::Missing(escaped(path.as_bytes()))),
    }
}

fn check_metadata(
    facts: &DistributionFacts,
    name: &WheelName,
    file_name: &str,
    notes: &mut Vec<Finding>,
) -> Result<(), WheelFault> {
    let differs = |found: &str, expected: String| WheelFault::MetadataName {
        found: escaped(found.as_bytes()),
        expected,
    };
    if normalized_name(&facts.name) != name.normalized() {
        return Err(differs(&facts.name, name.normalized()));
    }
    let version: Option<Version> = facts.version.parse().ok();
    match version {
        Some(version) if version == name.version => Ok(()),
        Some(version) if same_but_local(&version, &name.version) => {
            let message = format!(
                "METADATA says version {version}, the file name says {}",
                name.version
            );
            notes.push(note("metadata-version", file_name, message));
            Ok(())
        }
        _ => Err(differs(&facts.version, name.version.to_string())),
    }
}
