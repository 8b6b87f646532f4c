//! The files beside a bundle: `<bundle>.sha256` in the form coreutils check, and `<bundle>.json` with bundle.json and what
//! only the packed file can tell. They are removed before a new bundle takes the old one's name, so they never speak
//! of another file than the one they stand beside.

use std::path::{Path, PathBuf};

use super::{PackError, PackedBundle};
use crate::base::digest::Digest;
use crate::base::fs;
use crate::formats::bundle::{Announcement, PackedRecord};

/// Paths of the files beside a bundle.
pub(super) fn paths(bundle: &Path) -> Vec<PathBuf> {
    let beside = |ending| {
        let mut name = bundle.as_os_str().to_owned();
        name.push(ending);
        PathBuf::from(name)
    };
    vec![beside(".sha256"), beside(".json")]
}

/// Removes what stands beside an older bundle of the same name.
pub(super) fn remove(bundle: &Path) -> Result<(), PackError> {
    for path in paths(bundle) {
        fs::remove_file(&path)?;
    }
    Ok(())
}

/// Writes them.
pub(super) fn write(packed: &PackedBundle) -> Result<(), PackError> {
    let file = packed.bundle.file_name();
    let announcement = Announcement {
        bundle: packed.bundle.clone(),
        packed: PackedRecord {
            file,
            size: packed.size,
            sha256: packed.sha256,
            identity: packed.identity,
        },
    };
    put(&packed.path, &packed.sha256, &announcement.to_bytes()?)
}

/// Writes the files beside a bundle or a layer.
pub(super) fn put(file: &Path, sha256: &Digest, json: &[u8]) -> Result<(), PackError> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let sum = format!("{sha256}  {name}\n");
    for (path, bytes) in paths(file).iter().zip([sum.as_bytes(), json]) {
        fs::write(path, bytes)?;
    }
    Ok(())
}
