//! A CPython archive or folder → a plan in one shape: `python/{bin,include,lib,share}`.

use std::path::Path;

use crate::base::digest::Digest;
use crate::base::target::Arch;
use crate::build::ingest::Plan;

/// Which interpreter is to be planned, and from what.
#[derive(Debug, Clone)]
pub struct InterpreterRequest<'a> {
    /// The archive (tar, tar.gz, tar.zst, or a jar of the Maven build), or a folder of the same shape.
    pub archive: &'a Path,
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
    /// Neither of the shapes we know.
    #[error("{0} holds no CPython of a known shape")]
    Shape(String),
}

/// Plans an interpreter.
pub fn plan(request: &InterpreterRequest<'_>) -> Result<Plan, InterpreterError> {
    Err(InterpreterError::Shape(
        request.archive.display().to_string(),
    ))
}
