//! Jobs for workers: the heaviest first, and only while the memory and disk it takes are free. A job reserves all it
//! needs before it begins and never waits in between, so jobs cannot block each other.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard};

/// What a job takes while it runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Cost {
    /// Bytes of memory.
    pub memory: u64,
    /// Bytes of temporary files.
    pub disk: u64,
}

/// How urgent a job is: the heaviest first, but what ends others' waiting before that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// Work by its weight, about the bytes it handles.
    Weight(u64),
    /// Something that others wait for, or that holds memory.
    Urgent,
}

struct State<J> {
    jobs: BTreeMap<(std::cmp::Reverse<Rank>, u64), (J, Cost)>,
    used: Cost,
    handed_over: usize,
    next: u64,
    closed: bool,
}

/// The queue.
pub(super) struct Queue<J> {
    state: Mutex<State<J>>,
    changed: Condvar,
    limit: Cost,
    threads: usize,
}

impl<J> Queue<J> {
    /// A queue for so many workers, that together stay within `limit` (one job may exceed it alone).
    pub fn new(threads: usize, limit: Cost) -> Self {
        Self {
            state: Mutex::new(State {
                jobs: BTreeMap::new(),
                used: Cost::default(),
                handed_over: 0,
                next: 0,
                closed: false,
            }),
            changed: Condvar::new(),
            limit,
            threads,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State<J>> {
        // A worker that panicked left no half-made state: every change below is complete.
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Adds a job.
    pub fn push(&self, job: J, rank: Rank, cost: Cost) {
        let mut state = self.lock();
        state.add(job, rank, cost);
        drop(state);
        self.changed.notify_all();
    }

    /// Gives a running job's work to another worker, with the memory it holds; the job comes back when everybody has
    /// enough to do or memory is short, and its owner does it at once.
    pub fn hand_over(&self, job: J, memory: u64) -> Result<(), J> {
        let mut state = self.lock();
        let full = state.used.memory + memory > self.limit.memory;
        if full || state.handed_over + 1 >= self.threads {
            return Err(job);
        }
        state.handed_over += 1;
        state.used.memory += memory;
        state.add(job, Rank::Urgent, Cost::default());
        drop(state);
        self.changed.notify_all();
        Ok(())
    }

    /// A job that was handed over is done.
    pub fn handed_over_done(&self, memory: u64) {
        let mut state = self.lock();
        state.handed_over -= 1;
        state.used.memory -= memory;
        drop(state);
        self.changed.notify_all();
    }

    /// The next job that fits, when there is one; waits for it. `None` when the queue is closed.
    pub fn next(&self) -> Option<(J, Cost)> {
        let mut state = self.lock();
        loop {
            if state.closed {
                return None;
            }
            let found = state.next_that_fits(self.limit);
            if let Some((job, cost)) = found.and_then(|key| state.jobs.remove(&key)) {
                state.used.memory += cost.memory;
                state.used.disk += cost.disk;
                return Some((job, cost));
            }
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(std::sync::PoisonError::into_inner);
        }
    }

    /// A job of [`Queue::next`] is over.
    pub fn done(&self, cost: Cost) {
        let mut state = self.lock();
        state.used.memory -= cost.memory;
        state.used.disk -= cost.disk;
        drop(state);
        self.changed.notify_all();
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// Sends workers home; jobs not begun are dropped.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let jobs = std::mem::take(&mut state.jobs);
        drop(state);
        self.changed.notify_all();
        drop(jobs);
    }
}

impl<J> State<J> {
    /// The heaviest job for which there is room. Where nothing is in use, everything fits. A job that waits for disk
    /// is not overtaken by others that want disk.
    fn next_that_fits(&self, limit: Cost) -> Option<(std::cmp::Reverse<Rank>, u64)> {
        let over = |used: u64, cost: u64, limit: u64| used > 0 && cost > 0 && used + cost > limit;
        let mut disk_is_wanted = false;
        for (key, (_, cost)) in &self.jobs {
            let no_disk = over(self.used.disk, cost.disk, limit.disk);
            let overtakes = disk_is_wanted && cost.disk > 0;
            disk_is_wanted |= no_disk;
            if !no_disk && !overtakes && !over(self.used.memory, cost.memory, limit.memory) {
                return Some(*key);
            }
        }
        None
    }

    fn add(&mut self, job: J, rank: Rank, cost: Cost) {
        if self.closed {
            return;
        }
        let key = (std::cmp::Reverse(rank), self.next);
        self.next += 1;
        self.jobs.insert(key, (job, cost));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(memory: u64) -> Cost {
        Cost { memory, disk: 0 }
    }

    #[test]
    fn the_heaviest_comes_first_and_only_what_fits() {
        let queue = Queue::new(4, memory(100));
        queue.push("light", Rank::Weight(1), memory(10));
        queue.push("heavy", Rank::Weight(9), memory(80));
        queue.push("second", Rank::Weight(8), memory(80));
        queue.push("urgent", Rank::Urgent, memory(5));
        let urgent = queue.next().unwrap();
        assert_eq!(urgent.0, "urgent");
        assert_eq!(queue.next().unwrap().0, "heavy");
        assert_eq!(queue.next().unwrap().0, "light");
        queue.done(memory(80));
        assert_eq!(queue.next().unwrap().0, "second");
    }

    #[test]
    fn a_job_over_the_limit_runs_alone() {
        let queue = Queue::new(2, memory(100));
        queue.push("huge", Rank::Weight(1), memory(1000));
        assert_eq!(queue.next().unwrap().0, "huge");
        queue.push("small", Rank::Weight(1), memory(1));
        queue.done(memory(1000));
        assert_eq!(queue.next().unwrap().0, "small");
    }

    #[test]
    fn what_waits_for_disk_is_not_overtaken_for_it() {
        let disk = |disk| Cost { memory: 1, disk };
        let limit = Cost {
            memory: 100,
            disk: 100,
        };
        let queue = Queue::new(4, limit);
        queue.push("first", Rank::Weight(9), disk(60));
        queue.push("huge", Rank::Weight(8), disk(500));
        queue.push("third", Rank::Weight(7), disk(10));
        queue.push("none", Rank::Weight(1), disk(0));
        assert_eq!(queue.next().unwrap().0, "first");
        assert_eq!(queue.next().unwrap().0, "none");
        queue.done(disk(60));
        assert_eq!(queue.next().unwrap().0, "huge");
        queue.done(disk(500));
        assert_eq!(queue.next().unwrap().0, "third");
    }

    #[test]
    fn work_is_handed_over_only_to_others_and_within_the_limit() {
        let alone = Queue::new(1, memory(100));
        assert!(alone.hand_over("piece", 10).is_err());
        let queue = Queue::new(3, memory(100));
        assert!(queue.hand_over("first", 40).is_ok());
        assert!(queue.hand_over("too much", 70).is_err());
        assert!(queue.hand_over("second", 40).is_ok());
        assert!(queue.hand_over("third", 1).is_err());
        assert_eq!(queue.next().unwrap().0, "first");
        queue.handed_over_done(40);
        assert!(queue.hand_over("third", 1).is_ok());
    }

    #[test]
    fn a_closed_queue_sends_everybody_home() {
        let queue = Queue::new(2, memory(1));
        queue.push("dropped", Rank::Weight(1), memory(1));
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| {
                let _ = queue.next();
                queue.next().is_none()
            });
            queue.close();
            assert!(waiting.join().unwrap());
        });
    }
}
