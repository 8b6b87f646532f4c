//! Which bundle is current, and which were before. `current` is a link to `uses/N`, itself a link to a bundle: the next
//! use gets the next number, and one rename of `current` makes it so. Going back is going to a smaller number.

use std::path::{Path, PathBuf};

use super::{HostStoreError, Installed, Store};
use crate::base::fs;

/// A use of a bundle.
struct Use {
    number: u64,
    name: String,
}

/// The bundle in use, if one is.
pub fn current(store: &Store) -> Result<Option<Installed>, HostStoreError> {
    let Some(number) = current_number(store)? else {
        return Ok(None);
    };
    let found = read(store, number)?;
    found.map_or(Ok(None), |used| installed(store, &used.name))
}

/// Makes a bundle the current one. Uses that were gone back from are forgotten.
pub fn switch(store: &Store, to: &Installed) -> Result<(), HostStoreError> {
    let now = current_number(store)?;
    if let Some(number) = now
        && read(store, number)?.is_some_and(|used| used.name == to.name)
    {
        return Ok(());
    }
    let next = now.unwrap_or(0).saturating_add(1);
    let dir = store.root().join("uses");
    fs::create_dir_all(&dir)?;
    let goal = format!("../bundles/{}", to.name);
    replace_link(store, &goal, &dir.join(next.to_string()))?;
    point(store, next)?;
    for used in uses(store)? {
        if used.number > next {
            fs::remove_file(&dir.join(used.number.to_string()))?;
        }
    }
    Ok(())
}

/// Goes back to the bundle that was in use before, among those still installed.
pub fn rollback(store: &Store) -> Result<Installed, HostStoreError> {
    let none = || HostStoreError::NoEarlier {
        root: store.root().to_owned(),
    };
    let now = current_number(store)?.ok_or_else(none)?;
    let name = read(store, now)?.map(|used| used.name);
    let mut earlier = uses(store)?;
    earlier.sort_by_key(|used| std::cmp::Reverse(used.number));
    for used in earlier.into_iter().filter(|used| used.number < now) {
        if Some(&used.name) == name.as_ref() {
            continue;
        }
        if let Some(found) = installed(store, &used.name)? {
            point(store, used.number)?;
            return Ok(found);
        }
    }
    Err(none())
}

/// Ends the use of a bundle that is about to go.
pub(super) fn forget(store: &Store, name: &str) -> Result<(), HostStoreError> {
    if let Some(number) = current_number(store)?
        && read(store, number)?.is_some_and(|used| used.name == name)
    {
        fs::remove_file(&store.root().join("current"))?;
        fs::sync_dir(store.root())?;
    }
    let dir = store.root().join("uses");
    for used in uses(store)?.iter().filter(|used| used.name == name) {
        fs::remove_file(&dir.join(used.number.to_string()))?;
    }
    Ok(())
}

fn installed(store: &Store, name: &str) -> Result<Option<Installed>, HostStoreError> {
    let mut all = store.installed()?.into_iter();
    Ok(all.find(|one| one.name == name))
}

/// Points `current` at a use, by one rename.
fn point(store: &Store, number: u64) -> Result<(), HostStoreError> {
    replace_link(
        store,
        &format!("uses/{number}"),
        &store.root().join("current"),
    )?;
    fs::sync_dir(store.root())?;
    Ok(())
}

fn replace_link(store: &Store, goal: &str, path: &Path) -> Result<(), HostStoreError> {
    fs::create_dir_all(&store.drafts())?;
    fs::replace_symlink(goal, path, &store.drafts())?;
    Ok(())
}

fn current_number(store: &Store) -> Result<Option<u64>, HostStoreError> {
    let goal = goal(&store.root().join("current"))?;
    let number = goal.as_deref().and_then(Path::file_name);
    Ok(number.and_then(|n| n.to_str()).and_then(|n| n.parse().ok()))
}

fn read(store: &Store, number: u64) -> Result<Option<Use>, HostStoreError> {
    let goal = goal(&store.root().join("uses").join(number.to_string()))?;
    let name = goal.as_deref().and_then(Path::file_name);
    Ok(name.and_then(|n| n.to_str()).map(|name| Use {
        number,
        name: name.to_owned(),
    }))
}

fn uses(store: &Store) -> Result<Vec<Use>, HostStoreError> {
    let dir = store.root().join("uses");
    if fs::metadata(&dir)?.is_none() {
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    for path in fs::list(&dir)? {
        let number = path.file_name().and_then(|n| n.to_str()?.parse().ok());
        if let Some(number) = number {
            out.extend(read(store, number)?);
        }
    }
    Ok(out)
}

fn goal(path: &Path) -> Result<Option<PathBuf>, HostStoreError> {
    match fs::symlink_metadata(path)? {
        Some(there) if there.is_symlink() => Ok(Some(fs::read_link(path)?)),
        _ => Ok(None),
    }
}
