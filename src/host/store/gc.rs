//! Taking away what no installed bundle needs: components, downloads that nobody continues, drafts of killed processes.

use std::collections::BTreeSet;
use std::path::Path;

use super::{HostStoreError, Store};
use crate::base::digest::Digest;
use crate::base::fs;

/// What was taken away.
#[derive(Debug, Default)]
pub struct Collected {
    /// Ids of components.
    pub components: Vec<String>,
    /// Number of downloads.
    pub downloads: usize,
    /// Bytes of their files (files that a removed bundle's copy still holds are counted too).
    pub bytes: u64,
}

/// Takes away what no installed bundle needs. The store must be held.
pub fn gc(store: &Store) -> Result<Collected, HostStoreError> {
    store.prepare()?;
    // Every description must be readable: what an unreadable one needs is not known.
    let mut needed: BTreeSet<Digest> = BTreeSet::new();
    for one in store.installed()? {
        needed.extend(one.bundle()?.0.components.iter().map(|c| c.id));
    }
    let mut out = Collected::default();
    let draft = fs::DraftDir::new(&store.drafts())?;
    for path in fs::list(&store.components())? {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        let name = name.unwrap_or_default();
        let is_needed = name.parse().is_ok_and(|id| needed.contains(&id));
        if is_needed {
            continue;
        }
        out.bytes += fs::bytes_below(&path)?;
        // Out of sight at once, so that nobody finds half of it.
        let gone = draft.path().join(&name);
        fs::rename(&path, &gone)?;
        fs::remove_dir_all(&gone)?;
        out.components.push(name);
    }
    collect_downloads(&store.downloads(), &mut out)?;
    Ok(out)
}

fn collect_downloads(dir: &Path, out: &mut Collected) -> Result<(), HostStoreError> {
    if fs::metadata(dir)?.is_none() {
        return Ok(());
    }
    for path in fs::list(dir)? {
        out.bytes += fs::bytes_below(&path)?;
        fs::remove_file(&path)?;
        out.downloads += 1;
    }
    Ok(())
}
