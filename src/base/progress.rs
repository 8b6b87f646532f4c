//! How stages tell what they are doing without printing: they feed a `Progress`, `commands` decides what is shown.

use std::sync::Arc;

/// Receives what stages report. Implemented by `commands`; every method may be called from any thread.
pub trait Sink: Send + Sync {
    /// A task begins; `total` is its size in bytes where known. Returns the task's number.
    fn start(&self, name: &str, total: Option<u64>) -> usize;
    /// `bytes` more of a task are done.
    fn advance(&self, task: usize, bytes: u64);
    /// A task is over.
    fn finish(&self, task: usize);
    /// A line a person should see, such as a source that was given up.
    fn note(&self, line: &str);
}

struct Silent;

impl Sink for Silent {
    fn start(&self, _: &str, _: Option<u64>) -> usize {
        0
    }
    fn advance(&self, _: usize, _: u64) {}
    fn finish(&self, _: usize) {}
    fn note(&self, _: &str) {}
}

/// A cheap handle to a sink.
#[derive(Clone)]
pub struct Progress(Arc<dyn Sink>);

impl Progress {
    /// Reports to `sink`.
    pub fn new(sink: impl Sink + 'static) -> Self {
        Self(Arc::new(sink))
    }

    /// Reports to nobody.
    pub fn silent() -> Self {
        Self::new(Silent)
    }

    /// Begins a task of `total` bytes; it ends when the returned value is dropped.
    pub fn task(&self, name: &str, total: Option<u64>) -> Task {
        Task {
            id: self.0.start(name, total),
            sink: Arc::clone(&self.0),
        }
    }

    /// Passes on a line a person should see.
    pub fn note(&self, line: impl AsRef<str>) {
        self.0.note(line.as_ref());
    }
}

/// A running task.
pub struct Task {
    id: usize,
    sink: Arc<dyn Sink>,
}

impl Task {
    /// `bytes` more are done.
    pub fn advance(&self, bytes: u64) {
        self.sink.advance(self.id, bytes);
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.sink.finish(self.id);
    }
}
