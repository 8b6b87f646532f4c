//! Which interpreter source is used: the one that was asked for, else the first of the lock that can be reached. A source
//! that cannot be reached is given up within seconds, with a line that says so. Same choice, same bytes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use url::Url;

use super::engine::Python;
use super::error::Cause;
use super::inputs::{Common, Input, interpreter_order};
use super::interpreter::{self, InterpreterRequest};
use super::store::{Store, StoreError};
use crate::base::progress::Progress;
use crate::base::target::Arch;
use crate::build::fetch::{FetchError, Fetcher, MavenArtifact, Place};
use crate::build::lock::{Lock, LockedInterpreter};
use crate::build::recipe::InterpreterKind;

/// The interpreter of a bundle.
pub struct Choice {
    /// The lock's entry.
    pub locked: LockedInterpreter,
    /// How it is ingested.
    pub input: Input,
    /// What it has in common with all other artifacts.
    pub common: Common,
}

/// Why no interpreter could be chosen.
#[derive(Debug, thiserror::Error)]
pub enum ChoiceError {
    /// No such source in the lock.
    #[error("the lock has no interpreter source {asked:?} for {arch}; it has {}", known.join(", "))]
    Unknown {
        /// What was asked for.
        asked: String,
        /// Architecture.
        arch: Arch,
        /// What exists.
        known: Vec<String>,
    },
    /// The recipe gives no digest for this architecture, so that nothing could be pinned.
    #[error("the lock has no interpreter for {arch}")]
    Unpinned {
        /// Architecture.
        arch: Arch,
    },
    /// None could be reached.
    #[error("no interpreter source of the lock can be used: {}", tried.join("; "))]
    None {
        /// Each source and what was said of it.
        tried: Vec<String>,
        /// The file of a `path` source, where one was looked for.
        path: Option<PathBuf>,
        /// What the last one said.
        #[source]
        last: Option<FetchError>,
    },
    /// One gave wrong bytes.
    #[error(transparent)]
    Fetch(#[from] FetchError),
    /// The component cache could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl ChoiceError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unpinned { arch } => Some(format!(
                "give `sha256.{arch}` of the interpreter in the recipe, and lock again"
            )),
            Self::Unknown { known, .. } => known.first().map(|name| format!("pass --interpreter {name}")),
            Self::None { path: Some(path), .. } => Some(format!(
                "put the archive at {}, or correct `path` of that [[interpreter]] in the recipe",
                path.display()
            )),
            Self::None { .. } => Some(
                "pass --interpreter NAME for one that can be reached, or --index pbs=URL for a mirror of it".to_owned(),
            ),
            Self::Fetch(e) => e.hint(),
            Self::Store(_) => None,
        }
    }
}

/// Chooses the interpreter for an architecture. `forced` names a source; `common` says what all artifacts of the bundle
/// have in common when a candidate is taken.
#[expect(
    clippy::too_many_arguments,
    reason = "what is asked for, and where to look"
)]
pub fn choose(
    lock: &Lock,
    arch: Arch,
    forced: Option<&str>,
    folder: Option<&Path>,
    common: &dyn Fn(&LockedInterpreter) -> Common,
    fetcher: &Fetcher,
    store: &Store,
    progress: &Progress,
) -> Result<Choice, ChoiceError> {
    let fitting: Vec<&LockedInterpreter> = lock
        .interpreters
        .iter()
        .filter(|i| i.arch == arch)
        .collect();
    if fitting.is_empty() {
        return Err(ChoiceError::Unpinned { arch });
    }
    let named = |i: &&&LockedInterpreter| forced.is_none_or(|name| name == i.source.name());
    let candidates: Vec<&LockedInterpreter> = fitting.iter().filter(named).copied().collect();
    if let (true, Some(asked)) = (candidates.is_empty(), forced) {
        let known = fitting.iter().map(|i| i.source.name().to_owned()).collect();
        return Err(ChoiceError::Unknown {
            asked: asked.to_owned(),
            arch,
            known,
        });
    }
    let mut tried = Vec::new();
    let (mut path, mut last) = (None, None);
    for (number, candidate) in candidates.iter().enumerate() {
        let common = common(candidate);
        let input = Input::interpreter(candidate, places(candidate, folder), &common);
        let choice = Choice {
            locked: (*candidate).clone(),
            input,
            common,
        };
        if store.get(&choice.input.ingredients.key())?.is_some() {
            return Ok(choice);
        }
        let Some(order) = choice.input.order() else {
            continue;
        };
        let is_last = number + 1 == candidates.len();
        let fetched = if is_last {
            fetcher.one(order)
        } else {
            fetcher.hurried(order)
        };
        match fetched {
            Ok(_) => return Ok(choice),
            Err(e) if e.is_wrong_bytes() || e.is_of_this_machine() => return Err(e.into()),
            Err(e) => {
                let name = candidate.source.name();
                if !is_last {
                    progress.note(format!(
                        "warning: interpreter source {name} cannot be used ({}), trying the next",
                        root_cause(&e)
                    ));
                }
                tried.push(format!("{name}: {}", root_cause(&e)));
                if candidate.source == InterpreterKind::Path {
                    path = file_of(&places(candidate, folder));
                }
                last = Some(e);
            }
        }
    }
    Err(ChoiceError::None { tried, path, last })
}

/// The first local file among places.
fn file_of(places: &[Place]) -> Option<PathBuf> {
    places.iter().find_map(|place| match place {
        Place::File(file) => Some(file.clone()),
        _ => None,
    })
}

/// Where python-build-standalone publishes its releases, when alias `pbs` has no address.
const PBS: &str = "https://github.com/astral-sh/python-build-standalone/releases/download";

/// What a fetch failed of, in one line.
fn root_cause(error: &FetchError) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

/// Where an interpreter archive may be found. Paths of the recipe start from `folder`.
pub fn places(locked: &LockedInterpreter, folder: Option<&Path>) -> Vec<Place> {
    match locked.source {
        InterpreterKind::Pbs => {
            let release = locked.release.as_deref().unwrap_or_default();
            let path = format!("{release}/{}", locked.file.replace('+', "%2B"));
            vec![Place::Under {
                alias: "pbs".to_owned(),
                base: Url::parse(PBS).ok(),
                path,
            }]
        }
        InterpreterKind::Maven => {
            let mut parts = locked
                .artifact
                .as_deref()
                .unwrap_or_default()
                .splitn(3, ':')
                .map(ToOwned::to_owned);
            let mut next = || parts.next().unwrap_or_default();
            vec![Place::Maven(MavenArtifact {
                group: next(),
                artifact: next(),
                version: next(),
                classifier: locked.classifier.clone(),
                extension: "jar".to_owned(),
            })]
        }
        InterpreterKind::Path => {
            let file = PathBuf::from(locked.path.as_ref().unwrap_or(&locked.file));
            vec![Place::File(
                folder.map_or_else(|| file.clone(), |f| f.join(&file)),
            )]
        }
    }
}

/// The interpreter that compiles bytecode on this machine: the same source and version, the builder's architecture.
pub fn compiler<'a>(chosen: &LockedInterpreter, lock: &'a Lock) -> Option<&'a LockedInterpreter> {
    let fits = |i: &&LockedInterpreter| {
        i.source == chosen.source && i.version == chosen.version && i.arch == Arch::host()
    };
    lock.interpreters.iter().find(fits)
}

/// Fetches and unpacks the compiler when it is first needed.
pub fn python(
    locked: LockedInterpreter,
    folder: Option<PathBuf>,
    fetcher: Fetcher,
    cache: PathBuf,
) -> Python {
    Arc::new(move || -> Result<PathBuf, Cause> {
        let fetched = fetcher.one(&interpreter_order(
            &locked,
            places(&locked, folder.as_deref()),
        ))?;
        let plan = interpreter::plan(&InterpreterRequest {
            archive: fetched.path(),
            file: Some(locked.path.as_ref().unwrap_or(&locked.file)),
            artifact: Some(fetched.digest()),
            version: &locked.version,
            arch: locked.arch,
        })?;
        Ok(interpreter::unpack(&plan, &cache.join("tools"))?)
    })
}
