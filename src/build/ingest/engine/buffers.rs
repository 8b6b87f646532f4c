//! Memory used again: fresh pages cost more than the work on them for small components.

use std::sync::{Mutex, PoisonError};

/// Idle buffers, of at most so many bytes together.
pub(super) struct Buffers {
    idle: Mutex<Vec<Vec<u8>>>,
    limit: usize,
}

impl Buffers {
    /// Keeps at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self {
            idle: Mutex::default(),
            limit,
        }
    }

    /// An empty buffer with room for so many bytes.
    pub fn take(&self, room: u64) -> Vec<u8> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let mut buffer = idle.pop().unwrap_or_default();
        drop(idle);
        buffer.reserve_exact(room as usize);
        buffer
    }

    /// Gives one back.
    pub fn give(&self, mut buffer: Vec<u8>) {
        buffer.clear();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        let held: usize = idle.iter().map(Vec::capacity).sum();
        if buffer.capacity() > 0 && held + buffer.capacity() <= self.limit {
            idle.push(buffer);
        }
    }
}
