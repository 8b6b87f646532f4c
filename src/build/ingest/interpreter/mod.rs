//! A CPython archive or folder → a plan in one shape, `python/{bin,include,lib,share}`, that runs from any place. Two sources
//! are known: python-build-standalone (`python/` at the top) and the Maven build (a jar, to be put together first). What
//! names the place it was built in is rewritten or left out, and each thing left out is a note of the plan.
//! Refused: another architecture or version than asked for, and archives that `base::archive` refuses.

mod config;
mod hook;
mod prune;
mod scripts;
mod shape;
mod tree;
mod unpack;

use std::path::Path;

pub use unpack::unpack;

use crate::base::archive::ArchiveError;
use crate::base::archive::folder::FolderError;
use crate::base::archive::tar::TarError;
use crate::base::digest::Digest;
use crate::base::finding::{Finding, Severity};
use crate::base::fs::FsError;
use crate::base::python::{NotAPythonMinor, PythonMinor};
use crate::base::target::Arch;
use crate::build::ingest::Plan;
use crate::formats::component::ComponentKind;

/// Code of the note that names the folder OpenSSL was compiled to look in, where that is a folder of the system.
const OPENSSL_DIR: &str = "interpreter-openssl-dir";

/// Which interpreter is to be planned, and from what.
#[derive(Debug, Clone)]
pub struct InterpreterRequest<'a> {
    /// The archive (tar, tar.gz, tar.zst, or a jar of the Maven build), or a folder of the same shape.
    pub archive: &'a Path,
    /// The name the archive has for people, where it lies under another: a cache keeps it under its digest.
    pub file: Option<&'a str>,
    /// Digest of the archive, where it is one file.
    pub artifact: Option<Digest>,
    /// Full Python version, such as `3.12.14`.
    pub version: &'a str,
    /// Processor architecture it must be for.
    pub arch: Arch,
}

/// Why no plan could be made.
#[derive(Debug, thiserror::Error)]
pub enum InterpreterError {
    /// The tar archive is refused.
    #[error(transparent)]
    Tar(#[from] TarError),
    /// The zip archive is refused.
    #[error(transparent)]
    Zip(#[from] ArchiveError),
    /// The folder is refused.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file could not be read or written.
    #[error(transparent)]
    File(#[from] FsError),
    /// Neither of the shapes we know.
    #[error("{archive} holds no CPython of a known shape: {missing} is not in it")]
    Shape {
        /// The archive or folder.
        archive: String,
        /// What was looked for.
        missing: String,
    },
    /// Made for another architecture.
    #[error("{archive} holds a CPython for {found}, but {wanted} is wanted")]
    Arch {
        /// The archive or folder.
        archive: String,
        /// What its program is for.
        found: String,
        /// What was asked for.
        wanted: Arch,
    },
    /// Another version.
    #[error("{archive} holds CPython {found}, but {wanted} is wanted")]
    Version {
        /// The archive or folder.
        archive: String,
        /// What its headers say.
        found: String,
        /// What was asked for.
        wanted: String,
    },
    /// The version asked for.
    #[error("the interpreter's version cannot be used")]
    Minor(#[from] NotAPythonMinor),
}

impl InterpreterError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            // Only what is unpacked is written, and into the cache.
            Self::File(e) if e.source.kind() == std::io::ErrorKind::StorageFull => {
                e.hint_or(crate::base::fs::CACHE)
            }
            Self::File(e) => e.hint(),
            Self::Tar(TarError::File { source, .. })
            | Self::Zip(ArchiveError::File { source, .. }) => source.hint(),
            Self::Arch { .. } | Self::Version { .. } => Some(
                "correct `version`, `sha256` and `path` of this [[interpreter]] in the recipe".to_owned(),
            ),
            Self::Shape { .. } | Self::Tar(_) | Self::Zip(_) => Some(
                "correct this [[interpreter]] in the recipe: give an install_only_stripped archive of python-build-standalone, a jar of the Maven build, \
                 or a folder with bin, include and lib"
                    .to_owned(),
            ),
            _ => None,
        }
    }
}

/// What every step of normalising knows.
struct Subject<'a> {
    /// For messages.
    archive: String,
    minor: PythonMinor,
    request: &'a InterpreterRequest<'a>,
}

impl Subject<'_> {
    /// `lib/python3.12`.
    fn stdlib(&self) -> String {
        format!("lib/python{}", self.minor)
    }

    fn lacks(&self, missing: &str) -> InterpreterError {
        InterpreterError::Shape {
            archive: self.archive.clone(),
            missing: missing.to_owned(),
        }
    }
}

/// Plans an interpreter.
///
/// # Errors
/// An archive that is refused, of no known shape, or not the interpreter that was asked for.
pub fn plan(request: &InterpreterRequest<'_>) -> Result<Plan, InterpreterError> {
    let path = request.archive;
    let name = path.file_name().unwrap_or(path.as_os_str());
    let name = request.file.map_or(name.as_encoded_bytes(), str::as_bytes);
    let subject = Subject {
        archive: crate::base::archive::escaped(name),
        minor: shape::minor(request.version)?,
        request,
    };
    let mut tree = shape::read(&subject)?;
    shape::check(&tree, &subject)?;
    let mut notes = Vec::new();
    prune::leave_out(&mut tree, &subject, &mut notes);
    let openssl_dir = hook::openssl_dir(&tree);
    config::relocate(&mut tree, &subject, &mut notes);
    scripts::make_launchers(&mut tree, &subject, &mut notes);
    hook::add(&mut tree, &subject, openssl_dir.as_deref(), &mut notes);
    Ok(Plan {
        name: "cpython".to_owned(),
        version: Some(request.version.to_owned()),
        kind: ComponentKind::Interpreter,
        artifact: request.artifact,
        entries: tree.into_entries(),
        record: None,
        archive: None,
        distribution: None,
        notes,
    })
}

/// The folder an interpreter's OpenSSL looks in by itself, told by the notes of its plan; `None` where that is a folder
/// of the machine it was built on.
pub fn openssl_dir(notes: &[Finding]) -> Option<&str> {
    let note = notes.iter().find(|note| note.code == OPENSSL_DIR)?;
    Some(&note.path)
}

/// A note about the interpreter; `path` is relative to `python/`.
fn note(code: &str, path: &str, message: impl Into<String>) -> Finding {
    Finding {
        severity: Severity::Note,
        code: code.to_owned(),
        path: format!("python/{path}"),
        message: message.into(),
        hint: None,
    }
}

/// Whether a module (path in the bundle) may be imported before the start-up module forbids writing bytecode. These ship
/// as bytecode whatever the recipe's policy is, or the first start would write it into the tree. Any encoding may be the
/// locale's.
pub fn is_early_module(path: &str) -> bool {
    path.strip_prefix("python/lib/python")
        .and_then(|rest| rest.split_once('/'))
        .is_some_and(|(_, module)| {
            module == "sitecustomize.py"
                || (module.starts_with("encodings/")
                    && module
                        .rsplit_once('.')
                        .is_some_and(|(_, ending)| ending == "py"))
        })
}
