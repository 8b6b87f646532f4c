//! Recipe, what a target wants, and its lock: what every command that builds begins with.

use std::path::{Path, PathBuf};

use super::Failure;
use crate::base::fs;
use crate::base::target::Target;
use crate::build::lock::{Lock, LockError, file_name};
use crate::build::recipe::{Origin, Recipe, Wanted, embedded_text};

/// Largest lock that is read.
const LIMIT: u64 = 16 << 20;

/// What every command that builds begins with.
#[derive(Debug)]
pub struct Inputs {
    /// The recipe.
    pub recipe: Recipe,
    /// What the target wants of it.
    pub wanted: Wanted,
    /// Its lock, which fits.
    pub lock: Lock,
}

/// Reads recipe and lock of a target. A missing or stale lock is an error. `dir` is the working folder.
pub fn inputs(asked: &str, target: Target, dir: &Path) -> Result<Inputs, Failure> {
    let recipe = Recipe::find(asked, dir)?;
    let wanted = recipe.wanted(target)?;
    let path = lock_path(&recipe, target, dir);
    let name = recipe.stem().to_owned();
    let Some(lock) = read_lock(&recipe, target, dir)? else {
        return Err(LockError::Missing {
            recipe: asked.to_owned(),
            target,
            path,
        }
        .into());
    };
    if let Some(reason) = lock.staleness(&wanted) {
        return Err(LockError::Stale {
            path,
            reason,
            recipe: if asked.contains('/') {
                asked.to_owned()
            } else {
                name
            },
            target,
        }
        .into());
    }
    Ok(Inputs {
        recipe,
        wanted,
        lock,
    })
}

/// Where a target's lock stands: beside its recipe; for one that is built in, in `./recipes`.
pub fn lock_path(recipe: &Recipe, target: Target, dir: &Path) -> PathBuf {
    let name = file_name(recipe.stem(), target);
    match recipe.folder() {
        Some(folder) => folder.join(name),
        None => dir.join("recipes").join(name),
    }
}

/// The lock of a target, if there is one; for a recipe that is built in, the built-in lock counts too.
pub fn read_lock(recipe: &Recipe, target: Target, dir: &Path) -> Result<Option<Lock>, LockError> {
    let path = lock_path(recipe, target, dir);
    let shown = path.display().to_string();
    if let Some(bytes) = fs::read_if_exists(&path, LIMIT).map_err(LockError::Read)? {
        return Lock::parse(&String::from_utf8_lossy(&bytes), &shown).map(Some);
    }
    if *recipe.origin() != Origin::Embedded {
        return Ok(None);
    }
    let name = file_name(recipe.stem(), target);
    match embedded_text(&name) {
        Some(text) => Lock::parse(text, &format!("{name} (built in)")).map(Some),
        None => Ok(None),
    }
}
