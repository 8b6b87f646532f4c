//! Equal files of one wheel are written once: the first by path keeps the bytes, the others become hard links to it (three
//! names of one library are common). Equality is RECORD's word here; the engine reads every copy and holds it to that.

use std::collections::HashMap;

use super::note;
use crate::base::finding::Finding;
use crate::build::ingest::{Content, PlannedEntry};

/// Smaller files are not worth a link.
const LEAST: u64 = 64 << 10;

/// Turns later copies into links; `entries` are sorted. Says what was saved.
pub(super) fn link_equal(entries: &mut [PlannedEntry], name: &str) -> Option<Finding> {
    let mut first = HashMap::new();
    let (mut count, mut saved) = (0_u64, 0_u64);
    for entry in entries {
        let (Content::Member(member), Some(digest)) = (&entry.content, entry.expected) else {
            continue;
        };
        if entry.size < LEAST {
            continue;
        }
        let member = *member;
        let target = first
            .entry((digest, entry.size, entry.mode))
            .or_insert_with(|| entry.path.clone());
        if *target != entry.path {
            entry.content = Content::Hardlink {
                target: target.clone(),
                member,
            };
            count += 1;
            saved += entry.size;
        }
    }
    (count > 0).then(|| {
        let message =
            format!("hard links instead of equal files save {saved} bytes (files: {count})");
        note("hard-links", name, message)
    })
}
