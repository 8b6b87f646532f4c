//! Whether there is room: bytes and inodes, counted before anything is written.

use std::collections::BTreeSet;
use std::path::Path;

use super::{InstallError, Plan, Sharing};
use crate::base::fs;
use crate::formats::component::EntryKind;
use crate::formats::manifest;

/// Kept free for what file systems need beside the files themselves.
const SPARE: u64 = 4 << 20;

/// Refuses a place whose programs the system does not run.
pub(super) fn check_place(root: &Path) -> Result<(), InstallError> {
    if fs::room(root)?.is_noexec {
        let path = root.to_owned();
        return Err(InstallError::Noexec { path });
    }
    Ok(())
}

/// Refuses what does not fit: the components that are missing, and the tree.
pub(super) fn check(
    root: &Path,
    plan: &Plan,
    missing: &[usize],
    sharing: Sharing,
    to_fetch: u64,
) -> Result<(), InstallError> {
    let space = fs::room(root)?;
    let whole = |bytes: u64| bytes.div_ceil(space.block).saturating_mul(space.block);
    let (mut bytes, mut inodes) = (SPARE.saturating_add(to_fetch), 0u64);
    for number in missing {
        let rows = plan.rows_of(*number);
        let folders: BTreeSet<_> = manifest::folders(rows.clone().map(|row| row.path.as_str()));
        inodes += folders.len() as u64 + 1;
        bytes = bytes.saturating_add(space.block.saturating_mul(folders.len() as u64 + 1));
        for row in rows.filter(|row| !matches!(row.kind, EntryKind::Hardlink { .. })) {
            inodes += 1;
            bytes = bytes.saturating_add(whole(row.size.unwrap_or(0)));
        }
    }
    for row in plan.rows() {
        let own = row.origin.is_none() || matches!(row.kind, EntryKind::Symlink { .. });
        if own || sharing != Sharing::Links {
            inodes += 1;
        }
        if row.kind == EntryKind::Dir {
            bytes = bytes.saturating_add(space.block);
        } else if sharing == Sharing::Copies {
            bytes = bytes.saturating_add(whole(row.size.unwrap_or(0)));
        }
    }
    for (_, content) in &plan.descriptions {
        inodes += 1;
        bytes = bytes.saturating_add(whole(content.len() as u64));
    }
    let path = root.to_owned();
    if bytes > space.bytes {
        return Err(InstallError::Room {
            path,
            needed: bytes,
            free: space.bytes,
        });
    }
    match space.inodes {
        Some(free) if inodes > free => Err(InstallError::Inodes {
            path,
            needed: inodes,
            free,
        }),
        _ => Ok(()),
    }
}
