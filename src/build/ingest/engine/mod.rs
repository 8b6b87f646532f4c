//! Runs plans: artifacts in, components in the cache out, in parallel and within a memory limit.
//!
//! Items come in through a channel, so ingest begins while other artifacts are still on their way. The first error
//! stops everything and leaves nothing half-made.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::error::Cause;
use super::store::{Ingredients, Store, Stored};
use super::{IngestError, Plan};
use crate::base::progress::Progress;
use crate::base::segments::Encoding;

/// Makes the plan of an artifact that is there; called at most once, on a worker.
pub type Planner = Box<dyn FnOnce() -> Result<Plan, Cause> + Send>;

/// Gives the program that compiles Python files; called at most once, and only if something must be compiled.
pub type Python = Arc<dyn Fn() -> Result<PathBuf, Cause> + Send + Sync>;

/// One artifact to ingest.
pub struct Item {
    /// Place of its component in the result.
    pub position: usize,
    /// What decides its component.
    pub ingredients: Ingredients,
    /// Size of the artifact: the larger ones are begun first.
    pub size: u64,
    /// Reads it.
    pub planner: Planner,
}

/// Runs plans.
pub struct Engine {
    /// Where components are kept.
    pub store: Store,
    /// Threads that work.
    pub threads: NonZeroUsize,
    /// For bytecode.
    pub python: Option<Python>,
    /// Told of each component.
    pub progress: Progress,
}

impl Engine {
    /// Ingests items as they come until the sender is dropped; components by position. When this returns an error
    /// the receiver is gone, so a sender sees that it can stop.
    pub fn run(&self, items: Receiver<Item>) -> Result<Vec<Stored>, IngestError> {
        let _ = (
            items,
            &self.store,
            self.threads,
            &self.python,
            &self.progress,
        );
        Ok(Vec::new())
    }
}

/// Makes a small generated component (entries with bytes at hand, no RECORD) in memory; nothing is cached.
pub fn in_memory(plan: Plan, encoding: &Encoding) -> Result<Stored, IngestError> {
    let _ = (plan, encoding);
    todo_in_memory()
}

fn todo_in_memory() -> Result<Stored, IngestError> {
    Err(IngestError::Malformed {
        name: String::new(),
        path: String::new(),
        what: "cannot be made yet",
    })
}
