//! Edits of 64-bit little-endian ELF files.

/// Puts bytes at an offset.
pub fn put(mut file: Vec<u8>, offset: usize, bytes: &[u8]) -> Vec<u8> {
    file[offset..offset + bytes.len()].copy_from_slice(bytes);
    file
}

/// Replaces every occurrence of a string by one as long.
pub fn swap(mut file: Vec<u8>, from: &str, to: &str) -> Vec<u8> {
    assert_eq!(from.len(), to.len());
    let mut found = 0;
    for at in 0..file.len() - from.len() {
        if file[at..].starts_with(from.as_bytes()) {
            file[at..at + from.len()].copy_from_slice(to.as_bytes());
            found += 1;
        }
    }
    assert!(found > 0, "{from} is not in the file");
    file
}

fn long(file: &[u8], at: usize) -> usize {
    u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize
}

/// Offset of the first program header of a type.
pub fn header(file: &[u8], wanted: u32) -> usize {
    let (table, count) = (long(file, 32), usize::from(file[56]));
    let headers = (0..count).map(|n| table + n * 56);
    let mut those = headers.filter(|at| file[*at..at + 4] == wanted.to_le_bytes());
    those.next().expect("a header of that type")
}

/// Offset of the first dynamic entry with a tag.
pub fn dynamic(file: &[u8], tag: u64) -> usize {
    let start = long(file, header(file, 2) + 8);
    let entries = (0..).map(|n| start + n * 16);
    let mut those = entries.filter(|at| file[*at..at + 8] == tag.to_le_bytes());
    those.next().expect("a dynamic entry with that tag")
}
