//! Tar entries in the one dialect bundles use: ustar where path, link target and size fit, else one PAX header
//! (POSIX.1-2001) with `path`, `linkpath` and `size` before it, and for the last entry `comment`. Never GNU, global or
//! sparse headers.
//!
//! An entry's path, mode and size in, the bytes before its content out. Owners are 0 without names and the time is
//! one constant, so the same entry is the same bytes wherever it is made. Paths are relative to the bundle's root;
//! the [`ROOT`] folder is put in front here and nowhere else.

use super::bundle::ROOT;
use super::component::EntryKind;

/// Bytes of a tar block: headers are this long, content is padded to it.
pub const BLOCK: usize = 512;

/// The time of every entry, 1980-01-02T00:00:00Z: earlier ones break Python's zipfile.
pub const MTIME: u64 = 315_619_200;

/// Two blocks of zeros end an archive.
pub const END: [u8; 2 * BLOCK] = [0; 2 * BLOCK];

/// Longest path or link target an entry may have, root folder included (Linux `PATH_MAX`).
const MAX_PATH: usize = 4096;

const NAME: usize = 100;
const PREFIX: usize = 155;

/// The largest size eleven octal digits hold: 8 GiB less a byte.
const MAX_USTAR_SIZE: u64 = (1 << 33) - 1;

/// Why an entry has no header.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TarEntryError {
    /// A path that names nothing inside the root.
    #[error("{path:?} cannot be the path of an entry: {what}")]
    Path {
        /// The path, or link target.
        path: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A mode other than 0644, 0755 or 0777 for links.
    #[error("{path:?} has mode {mode:04o}: only 0644 and 0755 are written, 0777 for links")]
    Mode {
        /// Path of the entry.
        path: String,
        /// The mode asked for.
        mode: u32,
    },
}

/// The header of an entry: a PAX header with its records first where one is needed. Content of `size` bytes and
/// [`padding`] follow for a file; nothing follows for the other kinds. An empty path with kind `Dir` is the root.
pub fn header(
    path: &str,
    kind: &EntryKind,
    mode: u32,
    size: u64,
) -> Result<Vec<u8>, TarEntryError> {
    check_mode(path, kind, mode)?;
    let name = full_name(path, kind)?;
    let link = match kind {
        EntryKind::File | EntryKind::Dir => String::new(),
        EntryKind::Symlink { target } => {
            check_link(target)?;
            target.clone()
        }
        EntryKind::Hardlink { target } => full_name(target, &EntryKind::File)?,
    };
    let (flag, size) = match kind {
        EntryKind::File => (b'0', size),
        EntryKind::Hardlink { .. } => (b'1', 0),
        EntryKind::Symlink { .. } => (b'2', 0),
        EntryKind::Dir => (b'5', 0),
    };
    let split = split(&name);
    let mut records = Vec::new();
    if split.is_none() {
        record(&mut records, "path", &name);
    }
    if link.len() > NAME {
        record(&mut records, "linkpath", &link);
    }
    if size > MAX_USTAR_SIZE {
        record(&mut records, "size", &size.to_string());
    }
    let mut out = Vec::with_capacity(BLOCK);
    if !records.is_empty() {
        let len = records.len();
        out.extend_from_slice(&block("", "././@PaxHeader", "", b'x', 0o644, len as u64));
        out.extend_from_slice(&records);
        out.resize(out.len() + padding(len as u64), 0);
    }
    let (prefix, short) = split.unwrap_or(("", cut(&name, NAME)));
    let shown = if size > MAX_USTAR_SIZE { 0 } else { size };
    out.extend_from_slice(&block(prefix, short, cut(&link, NAME), flag, mode, shown));
    Ok(out)
}

/// The header of a file of the root folder with a PAX comment before it, which every tar program passes over.
pub fn header_with_comment(path: &str, size: u64, comment: &str) -> Result<Vec<u8>, TarEntryError> {
    let mut records = Vec::new();
    record(&mut records, "comment", comment);
    let mut out = Vec::new();
    pax(&mut out, &records);
    out.extend_from_slice(&header(path, &EntryKind::File, 0o644, size)?);
    Ok(out)
}

/// A PAX header and its records.
fn pax(out: &mut Vec<u8>, records: &[u8]) {
    let len = records.len() as u64;
    out.extend_from_slice(&block("", "././@PaxHeader", "", b'x', 0o644, len));
    out.extend_from_slice(records);
    out.resize(out.len() + padding(len), 0);
}

/// Zero bytes between the end of `size` bytes of content and the next block.
pub fn padding(size: u64) -> usize {
    (size.wrapping_neg() % BLOCK as u64) as usize
}

/// Bytes an entry takes in the archive: header, content and padding.
pub fn span(path: &str, kind: &EntryKind, mode: u32, size: u64) -> Result<u64, TarEntryError> {
    let header = header(path, kind, mode, size)?.len() as u64;
    Ok(match kind {
        EntryKind::File => header
            .saturating_add(size)
            .saturating_add(padding(size) as u64),
        _ => header,
    })
}

/// Appends a whole file: header, content, padding.
pub fn append_file(
    out: &mut Vec<u8>,
    path: &str,
    mode: u32,
    content: &[u8],
) -> Result<(), TarEntryError> {
    let size = content.len() as u64;
    out.extend_from_slice(&header(path, &EntryKind::File, mode, size)?);
    out.extend_from_slice(content);
    out.resize(out.len() + padding(size), 0);
    Ok(())
}

fn check_mode(path: &str, kind: &EntryKind, mode: u32) -> Result<(), TarEntryError> {
    let fine = match kind {
        EntryKind::File | EntryKind::Hardlink { .. } => mode == 0o644 || mode == 0o755,
        EntryKind::Dir => mode == 0o755,
        EntryKind::Symlink { .. } => mode == 0o777,
    };
    let path = path.to_owned();
    fine.then_some(()).ok_or(TarEntryError::Mode { path, mode })
}

/// The path as the archive has it: below the root folder, folders with `/` at the end.
fn full_name(path: &str, kind: &EntryKind) -> Result<String, TarEntryError> {
    let is_dir = *kind == EntryKind::Dir;
    let bad = |what| {
        let path = path.to_owned();
        Err(TarEntryError::Path { path, what })
    };
    if path.is_empty() {
        return if is_dir {
            Ok(format!("{ROOT}/"))
        } else {
            bad("it is empty")
        };
    }
    if path.len() + ROOT.len() + 2 > MAX_PATH {
        return bad("it is too long");
    }
    if path.contains('\0') {
        return bad("it holds a NUL");
    }
    if path.split('/').any(|part| matches!(part, "" | "." | "..")) {
        return bad("it has an empty, `.` or `..` part");
    }
    Ok(format!("{ROOT}/{path}{}", if is_dir { "/" } else { "" }))
}

/// Symbolic links are relative; whether they stay in the tree was decided where they came in.
fn check_link(target: &str) -> Result<(), TarEntryError> {
    let what = match target {
        "" => "an empty link target",
        t if t.starts_with('/') => "an absolute link target",
        t if t.contains('\0') => "a link target that holds a NUL",
        t if t.len() >= MAX_PATH => "a link target that is too long",
        _ => return Ok(()),
    };
    let path = target.to_owned();
    Err(TarEntryError::Path { path, what })
}

/// ustar's two fields: at most 155 bytes, a `/` that is not stored, at most 100 bytes.
fn split(name: &str) -> Option<(&str, &str)> {
    if name.len() <= NAME {
        return Some(("", name));
    }
    name.match_indices('/')
        .map(|(at, _)| (&name[..at], &name[at + 1..]))
        .find(|(prefix, rest)| prefix.len() <= PREFIX && rest.len() <= NAME && !rest.is_empty())
}

/// The first bytes of a text, cut between characters.
fn cut(text: &str, len: usize) -> &str {
    &text[..text.floor_char_boundary(len)]
}

/// A PAX record: its length in decimal counts itself.
fn record(out: &mut Vec<u8>, key: &str, value: &str) {
    let rest = key.len() + value.len() + 3;
    let digits = |n: usize| n.to_string().len();
    let mut len = rest + digits(rest);
    if rest + digits(len) != len {
        len = rest + digits(len);
    }
    out.extend_from_slice(format!("{len} {key}={value}\n").as_bytes());
}

/// One ustar header block.
fn block(prefix: &str, name: &str, link: &str, flag: u8, mode: u32, size: u64) -> [u8; BLOCK] {
    let mut out = [0; BLOCK];
    let mut put = |at: usize, bytes: &[u8]| out[at..at + bytes.len()].copy_from_slice(bytes);
    put(0, name.as_bytes());
    put(100, format!("{mode:07o}").as_bytes());
    put(108, b"0000000");
    put(116, b"0000000");
    put(124, format!("{size:011o}").as_bytes());
    put(136, format!("{MTIME:011o}").as_bytes());
    put(148, b"        ");
    put(156, &[flag]);
    put(157, link.as_bytes());
    put(257, b"ustar\x0000");
    put(329, b"0000000");
    put(337, b"0000000");
    put(345, prefix.as_bytes());
    let sum: u32 = out.iter().map(|byte| u32::from(*byte)).sum();
    out[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(path: &str, size: u64) -> Vec<u8> {
        header(path, &EntryKind::File, 0o644, size).unwrap()
    }

    #[test]
    fn writes_plain_ustar_where_it_fits() {
        let block = file("bin/python", 17);
        assert_eq!(block.len(), BLOCK);
        assert_eq!(&block[..18], b"runtime/bin/python");
        assert_eq!(&block[100..108], b"0000644\0");
        assert_eq!(&block[124..136], b"00000000021\0");
        assert_eq!(&block[136..148], b"02263773600\0");
        assert_eq!(&block[257..265], b"ustar\x0000");
        assert!(block[265..329].iter().all(|byte| *byte == 0), "no names");
        let sum: u32 = block.iter().map(|b| u32::from(*b)).sum::<u32>()
            - block[148..156].iter().map(|b| u32::from(*b)).sum::<u32>()
            + 8 * 32;
        assert_eq!(&block[148..156], format!("{sum:06o}\0 ").as_bytes());
    }

    #[test]
    fn splits_long_paths_and_takes_pax_only_past_that() {
        let deep = format!("{}/{}", "d".repeat(140), "f".repeat(100));
        let block = file(&deep, 0);
        assert_eq!(block.len(), BLOCK);
        assert_eq!(&block[..100], "f".repeat(100).as_bytes());
        assert_eq!(
            block[345..345 + 148],
            *format!("runtime/{}", "d".repeat(140)).as_bytes()
        );
        let long = "n".repeat(101);
        let pax = file(&long, 0);
        assert_eq!(pax.len(), 3 * BLOCK);
        assert_eq!(pax[156], b'x');
        let record = format!("119 path=runtime/{long}\n");
        assert_eq!(record.len(), 119);
        assert_eq!(pax[BLOCK..BLOCK + 119], *record.as_bytes());
        assert_eq!(pax[2 * BLOCK + 156], b'0');
    }

    #[test]
    fn record_lengths_count_themselves() {
        for len in 1..1200 {
            let mut out = Vec::new();
            record(&mut out, "path", &"x".repeat(len));
            let text = String::from_utf8(out).unwrap();
            let (number, _) = text.split_once(' ').unwrap();
            assert_eq!(number.parse(), Ok(text.len()));
        }
    }

    #[test]
    fn sizes_past_eight_gib_stand_in_pax_alone() {
        assert_eq!(file("a", MAX_USTAR_SIZE).len(), BLOCK);
        let pax = file("a", 1 << 33);
        assert_eq!(pax[BLOCK..BLOCK + 19], *b"19 size=8589934592\n");
        assert_eq!(&pax[2 * BLOCK + 124..2 * BLOCK + 136], b"00000000000\0");
    }

    #[test]
    fn links_name_their_goal() {
        let target = "../lib/x.so".to_owned();
        let soft = header("bin/x", &EntryKind::Symlink { target }, 0o777, 0).unwrap();
        assert_eq!((soft[156], &soft[157..168]), (b'2', &b"../lib/x.so"[..]));
        let target = "lib/x.so".to_owned();
        let hard = header("lib/y.so", &EntryKind::Hardlink { target }, 0o755, 99).unwrap();
        assert_eq!(
            (hard[156], &hard[157..173]),
            (b'1', &b"runtime/lib/x.so"[..])
        );
        assert_eq!(
            &hard[124..136],
            b"00000000000\0",
            "a hard link has no content"
        );
        let target = format!("../{}", "t".repeat(200));
        let long = header("bin/x", &EntryKind::Symlink { target }, 0o777, 0).unwrap();
        assert!(long[BLOCK..].starts_with(b"217 linkpath=../ttt"));
    }

    #[test]
    fn refuses_paths_modes_and_targets_that_leave_the_dialect() {
        for path in ["", "/a", "a//b", "a/", "../a", "a/./b", "a/../b", "a\0b"] {
            assert!(
                header(path, &EntryKind::File, 0o644, 0).is_err(),
                "{path:?}"
            );
        }
        for mode in [0, 0o600, 0o4755, 0o777] {
            assert!(header("a", &EntryKind::File, mode, 0).is_err(), "{mode:o}");
        }
        for target in ["", "/etc/passwd", "a\0b"] {
            let target = target.to_owned();
            assert!(header("a", &EntryKind::Symlink { target }, 0o777, 0).is_err());
        }
    }

    #[test]
    fn root_folder_and_padding() {
        let root = header("", &EntryKind::Dir, 0o755, 0).unwrap();
        assert_eq!((&root[..9], root[156]), (&b"runtime/\0"[..], b'5'));
        for (size, pad) in [(0, 0), (1, 511), (511, 1), (512, 0), (u64::MAX, 1)] {
            assert_eq!(padding(size), pad);
        }
    }
}
