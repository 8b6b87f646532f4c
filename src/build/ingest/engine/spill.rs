//! Bytecode waiting for its place in the tar: it must be complete before the first header can be written, and is too
//! much to be held in memory. A file without a name beside the cache.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;

use crate::base::fs::{self, At, File, FsError, TEMPORARY};
use crate::build::ingest::store::Store;

/// Bytes put aside.
pub(super) struct Spill {
    store: Store,
    state: Mutex<(Option<File>, u64)>,
    path: PathBuf,
}

impl Spill {
    /// An empty one; makes no file until needed.
    pub fn new(store: &Store) -> Self {
        Self {
            store: store.clone(),
            state: Mutex::new((None, 0)),
            path: store.root().to_owned(),
        }
    }

    /// Puts bytes aside and says where.
    pub fn put(&self, bytes: &[u8]) -> Result<u64, FsError> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = state.1;
        if state.0.is_none() {
            state.0 = Some(self.store.scratch()?);
        }
        if let Some(file) = &state.0 {
            fs::write_all_at(file, bytes, offset).at(TEMPORARY, &self.path)?;
        }
        state.1 += bytes.len() as u64;
        Ok(offset)
    }

    /// Reads bytes back.
    pub fn get(&self, offset: u64, out: &mut [u8]) -> Result<(), FsError> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match &state.0 {
            Some(file) => file
                .read_exact_at(out, offset)
                .at("read a temporary file in", &self.path),
            None => Ok(()),
        }
    }
}
