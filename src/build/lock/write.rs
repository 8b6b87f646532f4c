//! Pins → [`Lock`]: the recipe's interpreters and source beside the wheels, in the lock's fixed order.

use super::file::{Lock, LockedInterpreter, LockedSource, LockedWheel, SCHEMA_VERSION};
use crate::base::digest::Digest;
use crate::base::target::Arch;
use crate::build::recipe::{InterpreterKind, InterpreterSpec, Wanted};

/// What a lock is made of, besides the recipe's own pins.
pub struct Parts {
    /// Version of uv that resolved.
    pub uv: String,
    /// Only files uploaded before this were looked at.
    pub exclude_newer: Option<String>,
    /// Full revision of a git source.
    pub revision: Option<String>,
    /// The wheels.
    pub wheels: Vec<LockedWheel>,
}

/// Puts a lock together.
pub fn lock(wanted: &Wanted, parts: Parts) -> Lock {
    let mut wheels = parts.wheels;
    wheels.sort_by(|a, b| a.name.cmp(&b.name));
    Lock {
        schema_version: SCHEMA_VERSION,
        recipe: wanted.recipe.clone(),
        recipe_digest: wanted.digest(),
        target: wanted.target,
        python: wanted.python,
        uv: parts.uv,
        exclude_newer: parts.exclude_newer,
        interpreters: interpreters(wanted),
        source: source(wanted, parts.revision),
        wheels,
    }
}

/// The archives of every source: the target's architecture, then the other, whose interpreter compiles bytecode on builders
/// of that kind.
fn interpreters(wanted: &Wanted) -> Vec<LockedInterpreter> {
    let other = match wanted.target.arch {
        Arch::Amd64 => Arch::Arm64,
        Arch::Arm64 => Arch::Amd64,
    };
    wanted
        .interpreters
        .iter()
        .flat_map(|spec| {
            [wanted.target.arch, other]
                .into_iter()
                .filter_map(|arch| interpreter(spec, arch))
        })
        .collect()
}

fn interpreter(spec: &InterpreterSpec, arch: Arch) -> Option<LockedInterpreter> {
    let sha256: Digest = *spec.sha256.get(&arch)?;
    let file = match spec.kind {
        InterpreterKind::Pbs => format!(
            "cpython-{}+{}-{}-unknown-linux-gnu-install_only_stripped.tar.gz",
            spec.version,
            spec.release.as_ref()?,
            arch.machine()
        ),
        InterpreterKind::Maven => {
            let mut parts = spec.artifact.as_ref()?.split(':').skip(1);
            format!(
                "{}-{}-{}.jar",
                parts.next()?,
                parts.next()?,
                spec.classifier.get(&arch)?
            )
        }
        InterpreterKind::Path => spec.path.get(&arch)?.rsplit('/').next()?.to_owned(),
    };
    let path = spec.path.get(&arch).filter(|path| **path != file);
    Some(LockedInterpreter {
        path: path.cloned(),
        source: spec.kind,
        arch,
        version: spec.version.clone(),
        release: spec.release.clone(),
        artifact: spec.artifact.clone(),
        classifier: spec.classifier.get(&arch).cloned(),
        file,
        sha256,
        size: spec.size.get(&arch).copied(),
        glibc: spec.glibc.clone(),
    })
}

fn source(wanted: &Wanted, revision: Option<String>) -> Option<LockedSource> {
    let spec = wanted.source.as_ref()?;
    if spec.path.is_some() {
        return None;
    }
    let file = spec.archive.as_ref().map(|url| {
        let path = url.split(['?', '#']).next().unwrap_or_default();
        path.rsplit('/').next().unwrap_or_default().to_owned()
    });
    Some(LockedSource {
        folder: spec.folder.clone(),
        revision,
        sha256: spec.sha256,
        file,
    })
}

/// What differs between two locks, for people and for JSON.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize)]
pub struct Change {
    /// What it is about: a distribution, an interpreter, the source.
    pub name: String,
    /// `added`, `removed`, `changed`.
    pub kind: ChangeKind,
    /// What it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

/// How something changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// It was not there.
    Added,
    /// It is not there any more.
    Removed,
    /// Another version.
    Version,
    /// The same version from another index.
    Index,
    /// Another file of the same version, or other bytes under the same name.
    File,
    /// Moved between layers.
    Layer,
}

/// What changed, by name.
pub fn changes(before: Option<&Lock>, after: &Lock) -> Vec<Change> {
    use std::collections::BTreeMap;
    let rows = |lock: &Lock| -> BTreeMap<String, [String; 4]> {
        let interpreters = lock.interpreters.iter().map(|i| {
            let name = format!("interpreter {} {}", i.source, i.arch);
            let file = format!("{} sha256 {}", i.file, i.sha256);
            (
                name,
                [i.version.clone(), String::new(), file, String::new()],
            )
        });
        let source = lock.source.iter().map(|s| {
            let version = s
                .revision
                .clone()
                .or_else(|| s.file.clone())
                .unwrap_or_default();
            let digest = s.sha256.map(|d| d.to_string()).unwrap_or_default();
            (
                "source".to_owned(),
                [version, String::new(), digest, String::new()],
            )
        });
        let wheels = lock.wheels.iter().map(|w| {
            let layer = format!("{:?}", w.layer).to_lowercase();
            let file = format!("{} sha256 {}", w.file, w.sha256);
            (
                w.name.clone(),
                [w.version.clone(), w.index.clone(), file, layer],
            )
        });
        interpreters.chain(source).chain(wheels).collect()
    };
    let old = before.map(rows).unwrap_or_default();
    let new = rows(after);
    let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let kinds = [
        ChangeKind::Version,
        ChangeKind::Index,
        ChangeKind::File,
        ChangeKind::Layer,
    ];
    names
        .into_iter()
        .filter_map(|name| {
            let (kind, before, after) = match (old.get(name), new.get(name)) {
                (Some(a), Some(b)) => {
                    let (i, kind) = kinds
                        .into_iter()
                        .enumerate()
                        .find(|(i, _)| a.get(*i) != b.get(*i))?;
                    (kind, a.get(i).cloned(), b.get(i).cloned())
                }
                (Some(a), None) => (ChangeKind::Removed, a.first().cloned(), None),
                (None, b) => (ChangeKind::Added, None, b.and_then(|b| b.first().cloned())),
            };
            Some(Change {
                name: name.clone(),
                kind,
                before,
                after,
            })
        })
        .collect()
}
