//! Runs plans: artifacts in, components in the cache out, in parallel and within a memory limit.
//!
//! Items come in through a channel, so ingest begins while other artifacts are still on their way. An item is begun by
//! reading its plan; compiled, where bytecode is wanted; cut into parts; each part is one job; the last job completes
//! the component. The first error stops everything and leaves nothing half-made.

mod buffers;
mod compile;
mod cut;
mod feed;
mod finish;
mod jobs;
mod memory;
mod part;
mod queue;
mod read;
mod shared;
mod spill;
mod stream;
mod work;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::error::Cause;
use super::store::{Ingredients, Store, Stored};
use super::{IngestError, Plan, facts};
use crate::base::progress::Progress;
use jobs::Job;
pub use memory::in_memory;
use read::Origin;
use shared::Shared;

/// Memory all jobs together may take, with what their encoders hold: well below the 1 GiB of the whole process.
const MEMORY: u64 = 640 << 20;

/// Temporary files of big ELF files all jobs together may take; bytecode takes some more.
const DISK: u64 = 900 << 20;

/// Python's values nest; so do those who read them.
const STACK: usize = 8 << 20;

/// Makes the plan of an artifact that is there; called at most once, on a worker.
pub type Planner = Box<dyn FnOnce() -> Result<Plan, Cause> + Send>;

/// Gives the program that compiles Python files; called at most once, and only if something must be compiled. It may
/// wait for the program to arrive.
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
        // What killed processes left; nothing depends on its going.
        let _ = self.store.sweep();
        let shared = Shared::new(self);
        std::thread::scope(|scope| {
            for number in 0..shared.threads {
                let worker = std::thread::Builder::new()
                    .name(format!("ingest-{number}"))
                    .stack_size(STACK);
                if let Err(e) = worker.spawn_scoped(scope, || shared.work()) {
                    shared.fail_to_start(e);
                }
            }
            shared.feed(items);
            shared.close();
        });
        shared.outcome()
    }
}
