//! Inflate states of this thread, kept for the next member: making one costs more than unpacking a small file.

use std::cell::RefCell;

use flate2::Decompress;

/// More than a thread ever reads at once; the rest is freed.
const KEPT: usize = 2;

thread_local! {
    static IDLE: RefCell<Vec<Decompress>> = const { RefCell::new(Vec::new()) };
}

/// A raw inflate state in its first condition; goes back to the thread when dropped.
pub(super) struct State(Option<Decompress>);

impl State {
    pub fn take() -> Self {
        let idle = IDLE.with_borrow_mut(Vec::pop);
        Self(Some(idle.unwrap_or_else(|| Decompress::new(false))))
    }

    pub fn get(&mut self) -> &mut Decompress {
        self.0.get_or_insert_with(|| Decompress::new(false))
    }
}

impl Drop for State {
    fn drop(&mut self) {
        let Some(mut state) = self.0.take() else {
            return;
        };
        // Not reachable while the thread ends: then it is simply freed.
        let _ = IDLE.try_with(|idle| {
            if let Ok(mut idle) = idle.try_borrow_mut()
                && idle.len() < KEPT
            {
                state.reset(false);
                idle.push(state);
            }
        });
    }
}
