//! Where a component's tar is cut into segments. Decided by the sizes of entries alone, before any byte is read, so
//! it is the same on every machine and does not move when a file's bytes change.

use std::ops::Range;

/// A file of more bytes than this stands in segments of its own (half a segment, where that is less).
const BIG: u64 = 8 << 20;

/// Entries that share segments. The tar bytes of a part are cut every `segment_size` bytes; a part of several
/// entries fits into one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    /// Numbers of the entries.
    pub rows: Range<usize>,
    /// Their bytes of tar.
    pub tar: u64,
    /// Number of the part's first segment.
    pub first_segment: usize,
    /// How many it has.
    pub segments: usize,
}

/// The sizes that decide.
#[derive(Debug, Clone, Copy)]
pub(super) struct Sizes {
    /// Header, content and padding.
    pub span: u64,
    /// Content in the archive.
    pub content: u64,
}

/// Cuts entries in tar order: runs of small ones of up to `segment_size`, big ones alone. `last_alone` puts the last
/// entry (RECORD, known only when all others are) into a part of its own.
pub(super) fn cut(
    sizes: impl IntoIterator<Item = Sizes>,
    segment_size: u64,
    last_alone: bool,
) -> Vec<Part> {
    let big = BIG.min(segment_size / 2);
    let sizes: Vec<Sizes> = sizes.into_iter().collect();
    let mut parts: Vec<Part> = Vec::new();
    let mut open = false;
    for (row, size) in sizes.iter().enumerate() {
        let alone = size.content > big || (last_alone && row + 1 == sizes.len());
        match parts.last_mut() {
            Some(part) if open && !alone && part.tar + size.span <= segment_size => {
                part.rows.end = row + 1;
                part.tar += size.span;
            }
            _ => parts.push(Part {
                rows: row..row + 1,
                tar: size.span,
                first_segment: 0,
                segments: 0,
            }),
        }
        open = !alone;
    }
    let mut next = 0;
    for part in &mut parts {
        part.first_segment = next;
        part.segments = part.tar.div_ceil(segment_size) as usize;
        next += part.segments;
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(contents: &[u64], last_alone: bool) -> Vec<(Range<usize>, usize)> {
        let sizes = contents.iter().map(|content| Sizes {
            span: 512 + content.next_multiple_of(512),
            content: *content,
        });
        cut(sizes, 16 << 20, last_alone)
            .into_iter()
            .map(|part| (part.rows, part.segments))
            .collect()
    }

    #[test]
    fn small_files_share_a_segment_and_big_ones_stand_alone() {
        assert_eq!(
            cuts(&[1, 2, 9 << 20, 3, 40 << 20], false),
            [(0..2, 1), (2..3, 1), (3..4, 1), (4..5, 3)]
        );
        assert_eq!(cuts(&[], true), []);
    }

    #[test]
    fn a_run_ends_where_the_next_file_would_not_fit() {
        let seven = 7 << 20;
        assert_eq!(
            cuts(&[seven, seven, seven, 0, 5], false),
            [(0..2, 1), (2..5, 1)]
        );
    }

    #[test]
    fn the_last_entry_can_stand_alone() {
        assert_eq!(cuts(&[1, 2, 3], true), [(0..2, 1), (2..3, 1)]);
        assert_eq!(cuts(&[3], true), [(0..1, 1)]);
    }

    #[test]
    fn segments_are_numbered_in_order() {
        let sizes = [1 << 30, 5, 1 << 25].map(|content| Sizes {
            span: 512 + content,
            content,
        });
        let parts = cut(sizes, 16 << 20, false);
        let first: Vec<_> = parts.iter().map(|p| p.first_segment).collect();
        assert_eq!(first, [0, 65, 66]);
    }
}
