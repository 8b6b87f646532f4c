//! Takes items in, and watches those that another process is making: it is waited for as long as it gets on.

use std::sync::PoisonError;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::jobs::{Begin, Job};
use super::queue::{Cost, Rank};
use super::shared::Shared;
use super::{IngestError, Item};
use crate::build::ingest::store::{Claimed, Owner};

/// How often others are looked at.
const TICK: Duration = Duration::from_millis(50);

/// An owner whose sign does not change for so long is not waited for.
const PATIENCE: Duration = Duration::from_mins(1);

/// Reading a plan takes about this much memory.
const PLAN_MEMORY: u64 = 16 << 20;

/// An item that another process is making.
pub(super) struct Waiting {
    item: Item,
    owner: Owner,
    since: Instant,
}

impl Waiting {
    pub fn new(item: Item, owner: Owner) -> Self {
        Self {
            item,
            owner,
            since: Instant::now(),
        }
    }
}

impl Shared<'_> {
    /// Takes items in until their sender is gone and all are delivered, or something failed.
    pub fn feed(&self, items: Receiver<Item>) {
        let mut open = true;
        while !self.over(open) {
            if open {
                match items.recv_timeout(TICK) {
                    Ok(item) => self.accept(item),
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => open = false,
                }
            } else {
                let results = self.results();
                if results.outstanding > 0 && results.error.is_none() {
                    let waited = self.changed.wait_timeout(results, TICK);
                    drop(waited.unwrap_or_else(PoisonError::into_inner));
                }
            }
            if let Err(error) = self.look_at_others() {
                self.fail(error);
            }
        }
    }

    fn over(&self, open: bool) -> bool {
        let results = self.results();
        results.error.is_some() || self.queue.is_closed() || (!open && results.outstanding == 0)
    }

    fn accept(&self, item: Item) {
        self.results().outstanding += 1;
        self.push(item, None, false);
    }

    fn push(&self, item: Item, claim: Option<crate::build::ingest::store::Claim>, anyway: bool) {
        // Unpacked, it will be about twice as large.
        let rank = Rank::Weight(2 * item.size);
        let cost = Cost {
            memory: PLAN_MEMORY,
            disk: 0,
        };
        let begin = Begin {
            item,
            claim,
            anyway,
        };
        self.queue.push(Job::Begin(begin), rank, cost);
    }

    /// Takes up what others completed or gave up.
    fn look_at_others(&self) -> Result<(), IngestError> {
        let waiting = std::mem::take(&mut self.results().waiting);
        for mut one in waiting {
            let key = one.item.ingredients.key();
            let owner = match self.store.claim(&key)? {
                // Completed or given up: beginning it finds out which.
                Claimed::Ours(claim) => {
                    self.push(one.item, Some(claim), false);
                    continue;
                }
                Claimed::By(owner) => owner,
            };
            if owner != one.owner {
                one.owner = owner;
                one.since = Instant::now();
            }
            if one.since.elapsed() < PATIENCE {
                self.results().waiting.push(one);
                continue;
            }
            self.engine.progress.note(format!(
                "process {} makes no progress with {}: making it here",
                one.owner.pid(),
                one.item.ingredients.name
            ));
            self.push(one.item, None, true);
        }
        Ok(())
    }
}
