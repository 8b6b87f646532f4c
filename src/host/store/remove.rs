//! Removing a bundle: its name is gone at once, then its folders; components stay for the others until `gc`.

use super::{HostStoreError, Installed, Store, current, uses};
use crate::base::fs;

/// What was removed.
#[derive(Debug)]
pub struct Removed {
    /// Its name.
    pub name: String,
    /// Whether it was the current one; none is now.
    pub was_current: bool,
}

/// Removes a bundle. The one in use only with `force`. The store must be held.
pub fn remove(store: &Store, bundle: &Installed, force: bool) -> Result<Removed, HostStoreError> {
    store.prepare()?;
    let was_current = current(store)?.is_some_and(|now| now.name == bundle.name);
    if was_current && !force {
        let name = bundle.name.clone();
        return Err(HostStoreError::InUse { name });
    }
    uses::forget(store, &bundle.name)?;
    let draft = fs::DraftDir::new(&store.drafts())?;
    fs::rename(&bundle.path, &draft.path().join("tree"))?;
    fs::sync_dir(&store.bundles())?;
    fs::remove_file(&store.origin_path(&bundle.name))?;
    fs::remove_dir_all(&draft.path().join("tree"))?;
    Ok(Removed {
        name: bundle.name.clone(),
        was_current,
    })
}
