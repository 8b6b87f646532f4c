//! Python files → unchecked-hash bytecode (PEP 552), the same bytes on every machine and in every order.

use serde::{Deserialize, Serialize};

use crate::base::digest::Digest;

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
}

/// Why bytecode could not be made. A file that does not compile is no error: it ships without.
#[derive(Debug, thiserror::Error)]
pub enum BytecodeError {
    /// Bytecode was asked for, no interpreter given.
    #[error("no interpreter of the bundle's version is at hand")]
    NoInterpreter,
}
