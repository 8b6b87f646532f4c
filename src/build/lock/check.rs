//! What a lock must obey, alone and against the recipe it claims to follow from.

use std::collections::BTreeSet;
use std::str::FromStr;

use pep440_rs::Version;
use pep508_rs::{Requirement, VerbatimUrl, VersionOrUrl};

use super::file::{Lock, LockedInterpreter, LockedWheel, SCHEMA_VERSION};
use super::rank::rank;
use crate::build::recipe::Wanted;
use crate::formats::distribution::normalized_name;
use crate::formats::wheel::WheelName;

/// Checks a lock alone; says the first thing that is wrong.
pub(super) fn check(lock: &Lock) -> Result<(), String> {
    if lock.schema_version != SCHEMA_VERSION {
        return Err(format!(
            "schema_version {} is not known: this program reads {SCHEMA_VERSION}",
            lock.schema_version
        ));
    }
    let mut seen = BTreeSet::new();
    for interpreter in &lock.interpreters {
        if !seen.insert((interpreter.source, interpreter.arch)) {
            return Err(format!(
                "interpreter {} for {} stands twice",
                interpreter.source, interpreter.arch
            ));
        }
        self::interpreter(lock, interpreter)?;
    }
    if let Some(source) = &lock.source {
        if let Some(revision) = &source.revision
            && !(revision.len() == 40 && revision.bytes().all(|b| b.is_ascii_hexdigit()))
        {
            return Err(format!("source revision {revision:?} is not 40 hex digits"));
        }
        if source.file.is_some() != source.sha256.is_some() {
            return Err("source: file and sha256 go together".to_owned());
        }
    }
    for pair in lock.wheels.windows(2) {
        if let [a, b] = pair {
            if a.name == b.name {
                return Err(format!("wheel {} stands twice", a.name));
            }
            if a.name > b.name {
                return Err(format!("wheel {} stands before {}", a.name, b.name));
            }
        }
    }
    lock.wheels.iter().try_for_each(|w| wheel(lock, w))
}

fn interpreter(lock: &Lock, interpreter: &LockedInterpreter) -> Result<(), String> {
    if !lock.python.covers(&interpreter.version) {
        return Err(format!(
            "interpreter {} has version {:?}, which is no Python {}",
            interpreter.source, interpreter.version, lock.python
        ));
    }
    plain_file_name(&interpreter.file)
}

fn wheel(lock: &Lock, wheel: &LockedWheel) -> Result<(), String> {
    plain_file_name(&wheel.file)?;
    let name: WheelName = wheel
        .file
        .parse()
        .map_err(|e| format!("wheel {:?}: {e}", wheel.file))?;
    if normalized_name(&wheel.name) != wheel.name {
        return Err(format!("wheel name {:?} is not normalised", wheel.name));
    }
    if name.normalized() != wheel.name {
        return Err(format!(
            "wheel {}: file {:?} is of {}",
            wheel.name,
            wheel.file,
            name.normalized()
        ));
    }
    let same = Version::from_str(&wheel.version).is_ok_and(|v| v == name.version);
    if !same {
        return Err(format!(
            "wheel {} {}: file {:?} has another version",
            wheel.name, wheel.version, wheel.file
        ));
    }
    if rank(&name, lock.target.arch, lock.python).is_none() {
        return Err(format!(
            "wheel {:?} does not fit {} and Python {}",
            wheel.file, lock.target, lock.python
        ));
    }
    Ok(())
}

fn plain_file_name(name: &str) -> Result<(), String> {
    let fine = !name.is_empty()
        && name.len() <= 255
        && !name.starts_with(['.', '-'])
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._+-!".contains(&b));
    if fine {
        Ok(())
    } else {
        Err(format!("{name:?} is no file name of an artifact"))
    }
}

/// What differs between a lock and the recipe, if anything does.
pub(super) fn difference(lock: &Lock, wanted: &Wanted) -> Option<String> {
    for wish in &wanted.requirements {
        let Ok(requirement) = Requirement::<VerbatimUrl>::from_str(&wish.requirement) else {
            continue;
        };
        if !super::markers::apply(&requirement, wanted.target.arch, wanted.python) {
            continue;
        }
        let Some(wheel) = lock.wheel(&wish.name) else {
            return Some(format!("{} is not in it", wish.requirement));
        };
        if wheel.index != wish.index {
            return Some(format!(
                "{} is from index {}, the recipe says {}",
                wish.name, wheel.index, wish.index
            ));
        }
        if let Some(VersionOrUrl::VersionSpecifier(specifiers)) = &requirement.version_or_url
            && let Ok(version) = Version::from_str(&wheel.version)
            && !super::specifiers::contain(specifiers, &version)
        {
            return Some(format!(
                "it has {} {}, the recipe says {}",
                wish.name, wheel.version, wish.requirement
            ));
        }
    }
    (lock.recipe_digest != wanted.digest())
        .then(|| "the recipe has changed since it was made".to_owned())
}
