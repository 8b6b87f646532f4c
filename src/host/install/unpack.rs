//! Unpacking a bundle into a folder of its own, without a store: verified while it is written, and complete or absent.

use std::path::{Path, PathBuf};

use super::extract::{Goal, extract_to};
use super::{InstallError, InstallOptions, Material, Plan, Sharing, room, tree};
use crate::base::digest::Digest;
use crate::base::fs::{self, Confined, DraftDir, ReadAt};
use crate::base::progress::Progress;
use crate::formats::bundle::ROOT;
use crate::formats::component::EntryKind;

/// What was unpacked.
#[derive(Debug)]
pub struct Unpacked {
    /// The tree.
    pub path: PathBuf,
    /// Identity of the bundle.
    pub identity: Digest,
    /// Paths in it.
    pub entries: usize,
}

/// Unpacks a bundle into the folder `runtime` of `prefix`, where nothing of that name may stand.
pub fn unpack<R: ReadAt>(
    prefix: &Path,
    material: &Material<'_, R>,
    options: &InstallOptions,
    progress: &Progress,
) -> Result<Unpacked, InstallError> {
    let plan = Plan::new(material.bundle())?;
    let all: Vec<usize> = (0..plan.components()).collect();
    material.has(&plan, &all)?;
    let to = prefix.join(ROOT);
    if fs::symlink_metadata(&to)?.is_some() {
        return Err(InstallError::Exists { path: to });
    }
    room::check_place(prefix)?;
    fs::create_dir_all(prefix)?;
    fs::sweep_drafts(prefix)?;
    let draft = DraftDir::new(prefix)?;
    room::check(prefix, &plan, &all, Sharing::Links, 0)?;
    let made = draft.path().join(ROOT);
    fs::create_dir(&made)?;
    fs::set_mode(&made, 0o755)?;
    let mut target = Confined::open(&made, options.way)?;
    for row in plan.own_rows().filter(|row| row.kind == EntryKind::Dir) {
        target.make_folder(&row.path)?;
    }
    extract_to(material, &plan, &all, Goal::Tree(&made), options, progress)?;
    tree::write_own(&plan, &mut target)?;
    fs::sync_file_system(&made)?;
    if fs::symlink_metadata(&to)?.is_some() {
        return Err(InstallError::Exists { path: to });
    }
    fs::rename(&made, &to)?;
    fs::sync_dir(prefix)?;
    Ok(Unpacked {
        path: to,
        identity: plan.identity,
        entries: plan.rows().len(),
    })
}
