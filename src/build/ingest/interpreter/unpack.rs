//! A planned interpreter as files on this machine, so that it can be run (for bytecode). Made once by whoever comes first:
//! written beside its final name, then renamed.

use std::path::{Path, PathBuf};

use super::InterpreterError;
use crate::base::digest::{Digest, Hasher};
use crate::base::fs;
use crate::build::ingest::{Content, Plan, PlannedEntry};

/// Writes `plan` under `cache` if it is not there yet, and gives the path of its program.
///
/// # Errors
/// A place that cannot be written.
pub fn unpack(plan: &Plan, cache: &Path) -> Result<PathBuf, InterpreterError> {
    let home = cache.join(key(plan).to_string());
    let program = home.join("python/bin/python");
    if fs::symlink_metadata(&home)?.is_some() {
        if is_whole(plan, &home)? {
            return Ok(program);
        }
        // A power cut left it so: out of the way under a name of its own, then gone.
        let aside = fs::DraftDir::new(cache)?;
        fs::rename(&home, &aside.path().join("old"))?;
    }
    let draft = fs::DraftDir::new(cache)?;
    for entry in &plan.entries {
        write(entry, draft.path())?;
    }
    // Somebody else may have been first, with the same bytes.
    draft.keep(&home)?;
    Ok(program)
}

/// Digest of paths, modes and bytes: what is unpacked, not where it came from.
fn key(plan: &Plan) -> Digest {
    let mut hasher = Hasher::new();
    for entry in &plan.entries {
        let bytes = match &entry.content {
            Content::Bytes(bytes) => Digest::of(bytes).to_string(),
            Content::Symlink(goal) => format!("-> {goal}"),
            other => format!("{other:?}"),
        };
        hasher.update(format!("{}\0{:o}\0{bytes}\n", entry.path, entry.mode).as_bytes());
    }
    hasher.finish()
}

fn is_whole(plan: &Plan, home: &Path) -> Result<bool, InterpreterError> {
    for entry in &plan.entries {
        let found = fs::symlink_metadata(&home.join(&entry.path))?;
        let as_planned = found.is_some_and(|found| match entry.content {
            Content::Symlink(_) => found.is_symlink(),
            _ => found.is_file() && found.len() == entry.size,
        });
        if !as_planned {
            return Ok(false);
        }
    }
    Ok(true)
}

fn write(entry: &PlannedEntry, into: &Path) -> Result<(), InterpreterError> {
    let path = into.join(&entry.path);
    fs::create_dir_all(fs::parent(&path))?;
    match &entry.content {
        Content::Bytes(bytes) => fs::write_new(&path, bytes, entry.mode)?,
        Content::Symlink(goal) => fs::symlink(goal, &path)?,
        // An interpreter's plan holds nothing else.
        _ => {}
    }
    Ok(())
}
