//! What a member of an archive may be called: a relative UTF-8 path with `/` between its parts that means the same on every
//! file system and cannot collide with another one. Bytes in, `&str` out; everything else is refused with a reason.

use std::collections::HashMap;
use std::fmt::Write as _;

use unicode_normalization::UnicodeNormalization as _;

/// Longest part of a path that Linux file systems hold, in bytes.
const MAX_PART: usize = 255;
/// Longest path taken from an archive, in bytes: leaves room for the folder it is unpacked into below Linux' 4,096.
const MAX_PATH: usize = 2048;
/// Most bytes held for the names of one archive and the folders they imply: deep paths would multiply what it claims.
const MOST_HELD: usize = 256 << 20;

/// Why a name is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameFault {
    /// No bytes at all.
    #[error("the name is empty")]
    Empty,
    /// `/x`, `//x`, `C:/x`.
    #[error("the name is an absolute path")]
    Absolute,
    /// A `..` between slashes.
    #[error("the name leaves the archive through `..`")]
    Parent,
    /// A `.` between slashes.
    #[error("the name has a part that is `.`")]
    Dot,
    /// Two slashes in a row, or a slash where none belongs.
    #[error("the name has an empty part")]
    EmptyPart,
    /// A backslash, which some programs read as a slash.
    #[error("the name has a backslash")]
    Backslash,
    /// NUL, escape, newline and the like.
    #[error("the name has the control character U+{0:04X}")]
    Control(u32),
    /// Bytes that are no UTF-8.
    #[error("the name is not UTF-8")]
    NotUtf8,
    /// Non-ASCII bytes without the mark that says they are UTF-8.
    #[error("the name is not ASCII and not marked as UTF-8, so programs read it differently")]
    NotMarkedUtf8,
    /// A part over 255 bytes, or a path over 2,048.
    #[error("the name is too long for a file system ({0} bytes)")]
    TooLong(usize),
    /// The same name twice.
    #[error("the name stands in the archive twice")]
    Duplicate,
    /// All names and folders of the archive together are too much to compare.
    #[error("the names of the archive, with all their folders, take more than {MOST_HELD} bytes")]
    Crowd,
    /// `a` is a file and `a/b` exists.
    #[error("{} is a file and a folder at once", escaped(.0.as_bytes()))]
    FileAndFolder(String),
    /// Equal after case folding or normalisation.
    #[error("the name equals {} on file systems that fold case or normalise Unicode", escaped(.0.as_bytes()))]
    FoldsLike(String),
}

/// Reads the name of a file or folder (without the slash at a folder's end).
///
/// # Errors
/// Anything but a plain relative path.
pub fn check_path(bytes: &[u8]) -> Result<&str, NameFault> {
    let name = std::str::from_utf8(bytes).map_err(|_| NameFault::NotUtf8)?;
    if name.is_empty() {
        return Err(NameFault::Empty);
    }
    if let Some(c) = name.chars().find(|c| c.is_control()) {
        return Err(NameFault::Control(c.into()));
    }
    if name.contains('\\') {
        return Err(NameFault::Backslash);
    }
    if name.starts_with('/') || has_drive(bytes) {
        return Err(NameFault::Absolute);
    }
    if name.len() > MAX_PATH {
        return Err(NameFault::TooLong(name.len()));
    }
    for part in name.split('/') {
        match part {
            "" => return Err(NameFault::EmptyPart),
            "." => return Err(NameFault::Dot),
            ".." => return Err(NameFault::Parent),
            long if long.len() > MAX_PART => return Err(NameFault::TooLong(long.len())),
            _ => {}
        }
    }
    Ok(name)
}

fn has_drive(bytes: &[u8]) -> bool {
    matches!(bytes, [letter, b':', ..] if letter.is_ascii_alphabetic())
}

/// All names of one archive, with the folders they imply; refuses one that collides with an earlier one.
#[derive(Debug)]
pub struct Names {
    folded: HashMap<String, Seen>,
    held: usize,
    most: usize,
}

#[derive(Debug)]
struct Seen {
    name: String,
    is_dir: bool,
    /// Whether the archive names it itself, as opposed to a folder implied by what lies in it.
    stated: bool,
}

impl Default for Names {
    fn default() -> Self {
        Self::new()
    }
}

impl Names {
    /// No names yet.
    pub fn new() -> Self {
        Self::holding(MOST_HELD)
    }

    fn holding(most: usize) -> Self {
        Self {
            folded: HashMap::new(),
            held: 0,
            most,
        }
    }

    /// Adds a checked path. A folder may be implied any number of times but stated once.
    ///
    /// # Errors
    /// A duplicate, a file that is also a folder, or a name equal to another one after folding.
    pub fn add(&mut self, path: &str, is_dir: bool) -> Result<(), NameFault> {
        let parents = path.match_indices('/').map(|(at, _)| at);
        for end in parents.collect::<Vec<_>>().into_iter().rev() {
            let parent = path.get(..end).unwrap_or_default();
            if !self.add_one(parent, true, false)? {
                break;
            }
        }
        self.add_one(path, is_dir, true).map(|_| ())
    }

    /// True if the name is new.
    fn add_one(&mut self, path: &str, is_dir: bool, stated: bool) -> Result<bool, NameFault> {
        match self.folded.entry(fold(path)) {
            std::collections::hash_map::Entry::Vacant(slot) => {
                self.held += 2 * path.len() + size_of::<(String, Seen)>();
                if self.held > self.most {
                    return Err(NameFault::Crowd);
                }
                slot.insert(Seen {
                    name: path.to_owned(),
                    is_dir,
                    stated,
                });
                Ok(true)
            }
            std::collections::hash_map::Entry::Occupied(mut slot) => {
                let seen = slot.get_mut();
                if seen.name != path {
                    return Err(NameFault::FoldsLike(seen.name.clone()));
                }
                if seen.is_dir != is_dir {
                    return Err(NameFault::FileAndFolder(path.to_owned()));
                }
                if stated && seen.stated {
                    return Err(NameFault::Duplicate);
                }
                seen.stated |= stated;
                Ok(false)
            }
        }
    }
}

/// Case-folded and in NFC, so that names equal for any usual file system are equal here.
fn fold(path: &str) -> String {
    if path.is_ascii() {
        return path.to_ascii_lowercase();
    }
    path.nfd()
        .flat_map(char::to_uppercase)
        .flat_map(char::to_lowercase)
        .nfc()
        .collect()
}

/// A name from an archive, fit for a terminal: control and direction characters, backslashes and bytes that are no UTF-8
/// are written as escapes, and a very long name is cut.
pub fn escaped(bytes: &[u8]) -> String {
    const LONGEST: usize = 300;
    let mut out = String::new();
    for part in bytes.utf8_chunks() {
        for c in part.valid().chars() {
            let direction = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
            if c.is_control() || direction || c == '\\' {
                out.extend(c.escape_default());
            } else {
                out.push(c);
            }
            if out.len() > LONGEST {
                out.push('…');
                return out;
            }
        }
        for byte in part.invalid() {
            let _ = write!(out, "\\x{byte:02x}");
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_every_kind_of_unsafe_name() {
        let cases: [(&[u8], NameFault); 14] = [
            (b"", NameFault::Empty),
            (b"/etc/passwd", NameFault::Absolute),
            (b"C:/x", NameFault::Absolute),
            (b"..", NameFault::Parent),
            (b"a/../b", NameFault::Parent),
            (b"a/./b", NameFault::Dot),
            (b"a//b", NameFault::EmptyPart),
            (b"a/", NameFault::EmptyPart),
            (b"a\\b", NameFault::Backslash),
            (b"a\0b", NameFault::Control(0)),
            (b"a\x1b[31m", NameFault::Control(27)),
            ("a\u{85}".as_bytes(), NameFault::Control(0x85)),
            (b"a\xff", NameFault::NotUtf8),
            (&[b'a'; 256], NameFault::TooLong(256)),
        ];
        for (name, fault) in cases {
            assert_eq!(check_path(name), Err(fault), "{}", escaped(name));
        }
        assert_eq!(check_path("ü/..x/a b.py".as_bytes()), Ok("ü/..x/a b.py"));
    }

    #[test]
    fn refuses_names_that_collide_and_lets_folders_repeat() {
        let mut names = Names::new();
        for (path, is_dir) in [("a/b.py", false), ("a", true), ("a/c.py", false)] {
            names.add(path, is_dir).unwrap();
        }
        assert_eq!(names.add("a", true), Err(NameFault::Duplicate));
        assert_eq!(names.add("a/b.py", false), Err(NameFault::Duplicate));
        assert_eq!(
            names.add("a/b.py/c", false),
            Err(NameFault::FileAndFolder("a/b.py".into()))
        );
        assert_eq!(
            names.add("a", false),
            Err(NameFault::FileAndFolder("a".into()))
        );
        assert_eq!(
            names.add("A/d.py", false),
            Err(NameFault::FoldsLike("a".into()))
        );
        names.add("stra\u{df}e", false).unwrap();
        assert_eq!(
            names.add("STRASSE", false),
            Err(NameFault::FoldsLike("stra\u{df}e".into()))
        );
        names.add("\u{e9}", false).unwrap();
        assert_eq!(
            names.add("e\u{301}", false),
            Err(NameFault::FoldsLike("\u{e9}".into()))
        );
    }

    #[test]
    fn deep_paths_do_not_multiply_memory_without_end() {
        let most = 4 << 20;
        let mut names = Names::holding(most);
        let refused = (0..10)
            .map(|n| names.add(&format!("{n}/{}x", "a/".repeat(1000)), false))
            .find_map(Result::err);
        assert_eq!(refused, Some(NameFault::Crowd));
        assert!(names.held <= most + 3 * MAX_PATH);
    }

    #[test]
    fn writes_names_without_raw_control_bytes() {
        assert_eq!(escaped(b"a\x1b[2J\xff\\\n"), "a\\u{1b}[2J\\xff\\\\\\n");
        assert_eq!(escaped("r\u{202e}ü".as_bytes()), "r\\u{202e}ü");
    }
}
