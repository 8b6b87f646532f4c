//! Python files → unchecked-hash bytecode (PEP 552), the same bytes on every machine and in every order: code is
//! compiled by a process without surroundings and brought into one canonical form ([`canonical`]).

mod marshal;
mod siphash;
mod worker;

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;
pub use marshal::{MarshalError, canonical};
use worker::Worker;

/// Longer files are data, and compiling them takes more memory than there is.
pub const MAX_SOURCE: u64 = 8 << 20;

/// Whether a component ships compiled Python files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum Bytecode {
    /// Python compiles in memory at each start.
    None,
    /// Each `.py` has a `.pyc` that is never checked against it.
    UncheckedHash {
        /// Digest of the artifact of the interpreter that compiles; its version must be the bundle's.
        interpreter: Digest,
    },
    /// Of the interpreter's component only what it imports before it is told not to write bytecode
    /// ([`is_early_module`](super::interpreter::is_early_module)): else the first start would write into the tree.
    StartUp {
        /// As above.
        interpreter: Digest,
    },
}

impl Bytecode {
    /// The same policy for components other than the interpreter.
    #[must_use]
    pub fn of_others(&self) -> Self {
        match self {
            Self::StartUp { .. } => Self::None,
            policy => policy.clone(),
        }
    }

    /// The word recipes and `--bytecode` use.
    pub fn policy(&self) -> &'static str {
        match self {
            Self::None | Self::StartUp { .. } => "none",
            Self::UncheckedHash { .. } => "unchecked-hash",
        }
    }
}

/// Why bytecode could not be made. A file that does not compile is no error: it ships without.
#[derive(Debug, thiserror::Error)]
pub enum BytecodeError {
    /// Bytecode was asked for, no interpreter given.
    #[error("no interpreter of the bundle's version is at hand")]
    NoInterpreter,
    /// The interpreter could not be had.
    #[error("could not prepare the interpreter that compiles")]
    Prepare(#[source] super::error::Cause),
    /// The program did not start.
    #[error("could not run {}", program.display())]
    Start {
        /// Which.
        program: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It started, but is no CPython that does what it is told.
    #[error("{} is no CPython that can compile for a bundle{}", program.display(), said.as_ref().map(|s| format!(": it says: {s}")).unwrap_or_default())]
    NotPython {
        /// Which.
        program: PathBuf,
        /// The last line it wrote on standard error.
        said: Option<String>,
    },
    /// Another version than the bundle's.
    #[error("{} is Python {found}, the bundle has {expected}", program.display())]
    Version {
        /// Which.
        program: PathBuf,
        /// Minor version.
        found: String,
        /// Minor version.
        expected: String,
    },
    /// Code of an unknown form.
    #[error("could not read the code that {} made of {path}", program.display())]
    Code {
        /// Which.
        program: PathBuf,
        /// File.
        path: String,
        /// Why.
        #[source]
        source: MarshalError,
    },
}

/// `a/b.py` → `a/__pycache__/b.cpython-312.pyc` for Python `3.12`.
pub fn cached_path(path: &str, python: &str) -> Option<String> {
    let stem = path.strip_suffix(".py")?;
    let (folder, name) = match stem.rsplit_once('/') {
        Some((folder, name)) => (format!("{folder}/"), name),
        None => (String::new(), stem),
    };
    let digits: String = python.split('.').collect();
    (!name.is_empty()).then(|| format!("{folder}__pycache__/{name}.cpython-{digits}.pyc"))
}

/// Compiles files, one at a time.
pub struct Compiler {
    program: PathBuf,
    python: String,
    worker: Option<Worker>,
}

impl Compiler {
    /// A compiler with the interpreter at `program`, which must be of version `python` (`3.12`).
    pub fn new(program: &Path, python: &str) -> Self {
        Self {
            program: program.to_owned(),
            python: python.to_owned(),
            worker: None,
        }
    }

    /// The bytecode of a file that will stand at `path` (from the bundle's root), or why it does not compile.
    pub fn compile(
        &mut self,
        path: &str,
        source: &[u8],
    ) -> Result<Result<Vec<u8>, String>, BytecodeError> {
        let worker = self.worker()?;
        let magic = worker.greeting.magic;
        let Ok(answer) = worker.compile(path, source) else {
            // It took too long, too much, or found a fault of the compiler: the next file gets a new process.
            self.worker = None;
            return Ok(Err("the compiler did not survive it".into()));
        };
        let code = match answer {
            Ok(code) => code,
            Err(why) => return Ok(Err(why)),
        };
        let code = canonical(&code).map_err(|source| BytecodeError::Code {
            program: self.program.clone(),
            path: path.to_owned(),
            source,
        })?;
        let mut out = Vec::with_capacity(16 + code.len());
        out.extend_from_slice(&magic);
        // PEP 552: hash-based, not to be checked.
        out.extend_from_slice(&1_u32.to_le_bytes());
        out.extend_from_slice(&siphash::source_hash(magic, source));
        out.extend_from_slice(&code);
        Ok(Ok(out))
    }

    fn worker(&mut self) -> Result<&mut Worker, BytecodeError> {
        if self.worker.as_ref().is_some_and(Worker::is_worn) {
            self.worker = None;
        }
        if self.worker.is_none() {
            let worker = Worker::start(&self.program)?;
            let greeting = &worker.greeting;
            let tag = format!("cpython-{}", self.python.replace('.', ""));
            if greeting.version != self.python || greeting.cache_tag != tag {
                return Err(BytecodeError::Version {
                    program: self.program.clone(),
                    found: greeting.version.clone(),
                    expected: self.python.clone(),
                });
            }
            self.worker = Some(worker);
        }
        self.worker.as_mut().ok_or(BytecodeError::NoInterpreter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_bytecode_as_python_does() {
        assert_eq!(
            cached_path("a/b.py", "3.12").as_deref(),
            Some("a/__pycache__/b.cpython-312.pyc")
        );
        assert_eq!(
            cached_path("b.py", "3.11").as_deref(),
            Some("__pycache__/b.cpython-311.pyc")
        );
        assert_eq!(cached_path("a/.py", "3.12"), None);
        assert_eq!(cached_path("a/b.pyi", "3.12"), None);
    }
}
