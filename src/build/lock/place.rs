//! Where locks stand: beside their recipe, for a recipe that is built in under `./recipes`; its committed lock is built in
//! as well and is read when no file is there.

use std::path::{Path, PathBuf};

use super::file::{Lock, LockError, file_name};
use crate::base::fs;
use crate::base::target::Target;
use crate::build::recipe::{Origin, Recipe, Wanted, embedded_text};

/// Largest lock that is read.
const LIMIT: u64 = 16 << 20;

/// A lock that was found.
#[derive(Debug, Clone)]
pub struct Found {
    /// The lock.
    pub lock: Lock,
    /// Its bytes, as they go into a bundle's provenance.
    pub text: String,
    /// Where it stands, or would stand if it is built in.
    pub path: PathBuf,
    /// It came out of the program.
    pub built_in: bool,
}

/// Where the lock of a target stands or will be written. `dir` is the working folder.
pub fn path(recipe: &Recipe, target: Target, dir: &Path) -> PathBuf {
    let folder = recipe
        .folder()
        .map_or_else(|| dir.join("recipes"), Path::to_owned);
    folder.join(file_name(recipe.stem(), target))
}

/// The lock of a target, if there is one, whether it is stale or not.
pub fn find(recipe: &Recipe, target: Target, dir: &Path) -> Result<Option<Found>, LockError> {
    let path = path(recipe, target, dir);
    if let Some(bytes) = fs::read_if_exists(&path, LIMIT).map_err(LockError::Read)? {
        let shown = path.display().to_string();
        let text = String::from_utf8(bytes).map_err(|_| LockError::Bad {
            shown: shown.clone(),
            line: None,
            message: "not UTF-8".to_owned(),
        })?;
        let lock = Lock::parse(&text, &shown)?;
        return Ok(Some(Found {
            lock,
            text,
            path,
            built_in: false,
        }));
    }
    let name = file_name(recipe.stem(), target);
    match embedded_text(&name) {
        Some(text) if *recipe.origin() == Origin::Embedded => Ok(Some(Found {
            lock: Lock::parse(text, &format!("{name} (built in)"))?,
            text: text.to_owned(),
            path,
            built_in: true,
        })),
        _ => Ok(None),
    }
}

/// The lock of a target as `--locked` and `--offline` want it: there, and following from the recipe.
pub fn current(recipe: &Recipe, wanted: &Wanted, dir: &Path) -> Result<Found, LockError> {
    let target = wanted.target;
    let asked = match recipe.origin() {
        Origin::File(file) => file.display().to_string(),
        Origin::Embedded => recipe.stem().to_owned(),
    };
    let Some(found) = find(recipe, target, dir)? else {
        return Err(LockError::Missing {
            recipe: asked,
            target,
            path: path(recipe, target, dir),
        });
    };
    match found.lock.staleness(wanted) {
        None => Ok(found),
        Some(reason) => Err(LockError::Stale {
            path: found.path,
            reason,
            recipe: asked,
            target,
        }),
    }
}
