//! What workers share: the queue, memory, results; and how each lives.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};

use super::buffers::Buffers;
use super::feed::Waiting;
use super::jobs::Job;
use super::queue::{Cost, Queue};
use super::{DISK, Engine, MEMORY};
use crate::build::ingest::IngestError;
use crate::build::ingest::store::{Store, Stored};

/// Idle memory kept for the next job.
const IDLE: usize = 96 << 20;

/// What comes out.
#[derive(Default)]
pub(super) struct Results {
    /// Items accepted and not yet delivered.
    pub outstanding: usize,
    pub stored: BTreeMap<usize, Stored>,
    pub error: Option<IngestError>,
    /// Items that another process is making.
    pub waiting: Vec<Waiting>,
}

/// What workers share.
pub(super) struct Shared<'a> {
    pub engine: &'a Engine,
    pub store: &'a Store,
    pub threads: usize,
    pub queue: Queue<Job>,
    pub buffers: Buffers,
    pub changed: Condvar,
    results: Mutex<Results>,
    pub program: OnceLock<Result<Option<PathBuf>, Arc<dyn Error + Send + Sync>>>,
}

impl<'a> Shared<'a> {
    pub fn new(engine: &'a Engine) -> Self {
        let threads = engine.threads.get();
        let limit = Cost {
            memory: MEMORY,
            disk: DISK,
        };
        Self {
            engine,
            store: &engine.store,
            threads,
            queue: Queue::new(threads, limit),
            buffers: Buffers::new(IDLE),
            changed: Condvar::new(),
            results: Mutex::default(),
            program: OnceLock::new(),
        }
    }

    pub fn results(&self) -> MutexGuard<'_, Results> {
        self.results.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps the first error and sends everybody home.
    pub fn fail(&self, error: IngestError) {
        self.results().error.get_or_insert(error);
        self.close();
    }

    pub fn fail_to_start(&self, source: std::io::Error) {
        self.fail(IngestError::Threads { source });
    }

    pub fn close(&self) {
        self.queue.close();
        self.changed.notify_all();
    }

    pub fn outcome(self) -> Result<Vec<Stored>, IngestError> {
        let results = self
            .results
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        match results.error {
            Some(error) => Err(error),
            None => Ok(results.stored.into_values().collect()),
        }
    }

    pub fn deliver(&self, position: usize, stored: Stored) {
        let mut results = self.results();
        results.stored.insert(position, stored);
        results.outstanding -= 1;
        drop(results);
        self.changed.notify_all();
    }

    /// A worker's life.
    pub fn work(&self) {
        let _guard = CloseOnPanic(self);
        let mut compilers = BTreeMap::new();
        while let Some((job, cost)) = self.queue.next() {
            let done = self.run(job, &mut compilers);
            self.queue.done(cost);
            if let Err(error) = done {
                self.fail(error);
            }
        }
    }
}

/// A worker that panics must not leave the others waiting.
struct CloseOnPanic<'a>(&'a Shared<'a>);

impl Drop for CloseOnPanic<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.close();
        }
    }
}
