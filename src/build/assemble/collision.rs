//! Why components do not make a tree. All collisions are found before anything is said, in an order that does not depend
//! on the order of the components.

use std::collections::{BTreeSet, HashSet};
use std::fmt;

/// Two things that cannot both be in a bundle.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Collision {
    /// Two components hold different things at one path.
    #[error("{path} is in {first} and in {second}, and they differ in {difference}")]
    Clash {
        /// The path.
        path: String,
        /// The component that comes first in the bundle.
        first: String,
        /// The other one.
        second: String,
        /// What differs.
        difference: &'static str,
    },
    /// A path is a file in one component and a folder in another.
    #[error("{path} is a file of {file_of} and a folder of {folder_of}")]
    FileAndFolder {
        /// The path.
        path: String,
        /// Component that holds the file.
        file_of: String,
        /// Component that holds something below it.
        folder_of: String,
    },
    /// Two paths that some file systems take for one.
    #[error(
        "{first_path} of {first} and {second_path} of {second} are one name where case or Unicode form is ignored"
    )]
    SameName {
        /// One path.
        first_path: String,
        /// Its component.
        first: String,
        /// The other path.
        second_path: String,
        /// Its component.
        second: String,
    },
    /// A component reaches outside the part of the tree that its kind may fill.
    #[error("{component} may not put {path} there: {why}")]
    NotItsPlace {
        /// The path.
        path: String,
        /// The component.
        component: String,
        /// The rule that forbids it.
        why: &'static str,
    },
    /// One distribution comes twice.
    #[error("{first} and {second} are one distribution: a bundle holds one version of each")]
    Twice {
        /// One.
        first: String,
        /// The other.
        second: String,
    },
}

/// The collisions without those of bytecode whose source collides as well: they say nothing more.
pub(super) fn without_bytecode(all: BTreeSet<Collision>) -> Vec<Collision> {
    let sources: HashSet<String> = all
        .iter()
        .filter_map(|collision| match collision {
            Collision::Clash { path, .. } => Some(path.clone()),
            _ => None,
        })
        .collect();
    all.into_iter()
        .filter(|collision| match collision {
            Collision::Clash { path, .. } => {
                source_of(path).is_none_or(|source| !sources.contains(&source))
            }
            _ => true,
        })
        .collect()
}

/// `a/__pycache__/b.cpython-312.pyc` → `a/b.py`.
fn source_of(path: &str) -> Option<String> {
    let (folder, name) = path.split_once("__pycache__/")?;
    let (stem, _) = name.strip_suffix(".pyc")?.rsplit_once(".cpython-")?;
    Some(format!("{folder}{stem}.py"))
}

/// Components that do not make a tree.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// Everything that collides, sorted.
    #[error("the components do not fit together:{}", Listed(.0))]
    Collisions(Vec<Collision>),
}

impl AssembleError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let Self::Collisions(all) = self;
        all.iter()
            .any(|c| matches!(c, Collision::Clash { .. } | Collision::SameName { .. }))
            .then(|| "leave one of the two out of this target (`without` of [target.ARCH-ACCEL] names packages of the recipe), \
             or pin a version that does not hold the path".to_owned())
    }
}

/// At most this many are written out.
const SHOWN: usize = 20;

struct Listed<'a>(&'a [Collision]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for collision in self.0.iter().take(SHOWN) {
            write!(f, "\n  {collision}")?;
        }
        match self.0.len().checked_sub(SHOWN) {
            Some(more @ 1..) => write!(f, "\n  and {more} more"),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytecode_is_named_only_where_its_source_is_not() {
        let clash = |path: &str| Collision::Clash {
            path: path.to_owned(),
            first: "a 1".to_owned(),
            second: "b 1".to_owned(),
            difference: "bytes",
        };
        let paths = [
            "p/__init__.py",
            "p/__pycache__/__init__.cpython-312.pyc",
            "p/__pycache__/x.cpython-312.pyc",
        ];
        let left = without_bytecode(paths.into_iter().map(clash).collect());
        assert_eq!(left, [clash(paths[0]), clash(paths[2])]);
    }
}
