//! Files whose tables name one place again and again, so that a reader which believes them works for hours or fills the
//! memory: the readers of ELF files and of GPU code end after work in proportion to the file.

use bundler::formats::elf::{self, symbols};
use bundler::formats::fatbin::GpuFacts;

/// How many mutated inputs a test tries: `few`, or what `BUNDLER_MUTANTS` says (`tests/real/run mutants`).
pub fn rounds(few: u32) -> u32 {
    let asked = std::env::var("BUNDLER_MUTANTS");
    asked.map_or(few, |n| n.parse().expect("BUNDLER_MUTANTS is a number"))
}

const LOAD: u32 = 1;
const DYNAMIC: u32 = 2;
const NOTE: u32 = 4;
const HEADER: usize = 64;

/// A part of the file as a table names it: type, offset, size.
#[derive(Clone, Copy)]
struct Named(u32, u64, u64);

/// A 64-bit little-endian shared object: header, program headers, `body`, section headers (all of them loaded data; the
/// first is empty, section `names` holds the names and the others' links). `body` is given its own offset.
fn forged(
    segments: usize,
    sections: usize,
    make: impl Fn(u64) -> (Vec<Named>, Vec<u8>, Vec<Named>),
) -> Vec<u8> {
    let at = (HEADER + segments * 56) as u64;
    let (segment, body, section) = make(at);
    assert_eq!((segment.len(), section.len()), (segments, sections));
    let sections_at = at + body.len() as u64;
    let mut out = b"\x7fELF\x02\x01\x01".to_vec();
    out.resize(16, 0);
    let word =
        |out: &mut Vec<u8>, n: u64, size: usize| out.extend_from_slice(&n.to_le_bytes()[..size]);
    for (n, size) in [
        (3, 2),
        (62, 2),
        (1, 4),
        (0, 8),
        (HEADER as u64, 8),
        (sections_at, 8),
        (0, 4),
        (64, 2),
        (56, 2),
    ] {
        word(&mut out, n, size);
    }
    for n in [segments as u64, 64, sections as u64, 0] {
        word(&mut out, n, 2);
    }
    for Named(kind, offset, size) in segment {
        word(&mut out, u64::from(kind), 4);
        word(&mut out, 4, 4);
        for n in [offset, offset, offset, size, size, 4] {
            word(&mut out, n, 8);
        }
    }
    out.extend(body);
    for Named(kind, offset, size) in section {
        word(&mut out, 1, 4);
        word(&mut out, u64::from(kind), 4);
        for n in [2, 0, offset, size] {
            word(&mut out, n, 8);
        }
        word(&mut out, 1, 4);
        word(&mut out, 0, 4);
        word(&mut out, 8, 8);
        word(&mut out, 24, 8);
    }
    out
}

#[test]
fn sections_on_top_of_each_other_are_refused() {
    let bytes = forged(0, 60_000, |at| {
        (
            vec![],
            vec![7; 1 << 20],
            vec![Named(1, at, 1 << 20); 60_000],
        )
    });
    let said = elf::sections(&bytes).unwrap_err().to_string();
    assert!(said.contains("on top of each other"), "{said}");
    let facts = GpuFacts::read(&bytes, true).unwrap();
    assert!(facts.faults[0].contains("on top of each other"));
    assert_eq!(elf::named(&bytes), elf::Named::default());
}

#[test]
fn segments_on_top_of_each_other_are_refused() {
    let mut bytes = forged(60_000, 0, |at| {
        (
            vec![Named(LOAD, at, 1 << 20); 60_000],
            vec![7; 1 << 20],
            vec![],
        )
    });
    bytes[40..48].fill(0); // no section headers
    let said = elf::sections(&bytes).unwrap_err().to_string();
    assert!(said.contains("on top of each other"), "{said}");
}

#[test]
fn notes_named_by_many_segments_are_walked_once() {
    let bytes = forged(60_000, 0, |at| {
        (
            vec![Named(NOTE, at, 1 << 20); 60_000],
            vec![0; 1 << 20],
            vec![],
        )
    });
    assert_eq!(elf::read(&bytes).unwrap().build_id, None);
}

#[test]
fn one_long_name_needed_again_and_again_is_refused() {
    let bytes = forged(2, 0, |at| {
        let mut body = vec![b'x'; 8000];
        body.push(0);
        let dynamic = body.len() as u64;
        let mut entry = |tag: u64, value: u64| {
            body.extend(tag.to_le_bytes());
            body.extend(value.to_le_bytes());
        };
        entry(5, at);
        entry(10, 8001);
        (0..60_000).for_each(|_| entry(1, 0));
        entry(0, 0);
        let size = body.len() as u64;
        (
            vec![
                Named(LOAD, at, size),
                Named(DYNAMIC, at + dynamic, size - dynamic),
            ],
            body,
            vec![],
        )
    });
    let said = elf::read(&bytes).unwrap_err().to_string();
    assert!(said.contains("more names than any real file has"), "{said}");
}

#[test]
fn one_long_symbol_named_again_and_again_counts_for_nothing() {
    const SYMBOLS: usize = 400_000;
    let bytes = forged(0, 2, |at| {
        let mut body = b"\0_ZN".to_vec();
        body.resize(4000, b'x');
        body.push(0);
        let table = body.len() as u64;
        for _ in 0..SYMBOLS {
            body.extend([1, 0, 0, 0, 0x12, 0, 1, 0]);
            body.extend([0; 16]);
        }
        let size = body.len() as u64 - table;
        (
            vec![],
            body,
            vec![Named(11, at + table, size), Named(3, at, table)],
        )
    });
    assert!(symbols(&bytes).is_empty());
}

#[test]
fn beginnings_of_containers_that_lead_nowhere_end_the_search() {
    const ITEMS: usize = 12_000;
    let bytes = forged(0, 1, |at| {
        let pad = at.next_multiple_of(8) - at;
        let mut body = vec![0; pad as usize];
        for left in (0..ITEMS).rev() {
            let mut item = [0u8; 64];
            item[0] = if left == 0 { 0x77 } else { 2 };
            item[4] = 64;
            item[0x1c] = 80;
            // The header of a container that reaches to the end, and whose last entry is of no known kind.
            item[0x30..0x38].copy_from_slice(&[0x50, 0xed, 0x55, 0xba, 1, 0, 16, 0]);
            item[0x38..].copy_from_slice(&(left as u64 * 64).to_le_bytes());
            body.extend(item);
        }
        let size = body.len() as u64;
        (vec![], body, vec![Named(1, at, size)])
    });
    let facts = GpuFacts::read(&bytes, false).unwrap();
    assert!(
        facts.faults[0].contains("lead nowhere"),
        "{:?}",
        facts.faults
    );
}
