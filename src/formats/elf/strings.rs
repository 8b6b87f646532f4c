//! Names that stand as strings in the data of a file: libraries it may load by name (`libcudnn_ops.so.9`), and the GPU targets
//! a compiler knows (`sm_90a`). Code and device code are not looked at.

use std::collections::BTreeSet;

use memchr::memmem;

use super::sections::sections;

/// The longest name.
const MAX_NAME: usize = 96;
/// So many names of each sort are kept.
const MAX_NAMES: usize = 512;

/// Names found in one file, each sort sorted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Named {
    /// Libraries.
    pub libraries: Vec<String>,
    /// GPU targets.
    pub targets: Vec<String>,
}

/// Looks through the data sections of an ELF file.
pub fn named(bytes: &[u8]) -> Named {
    let (mut libraries, mut targets) = (BTreeSet::new(), BTreeSet::new());
    for section in sections(bytes).unwrap_or_default() {
        let is_data = [".rodata", ".data", ".lrodata"]
            .iter()
            .any(|n| section.name.starts_with(n));
        if !is_data || !section.loaded || section.executable {
            continue;
        }
        for at in memmem::find_iter(section.bytes, b".so") {
            if let Some(name) = around(section.bytes, at).filter(|n| is_library(n)) {
                keep(&mut libraries, name);
            }
        }
        for at in memmem::find_iter(section.bytes, b"sm_") {
            if let Some(name) = tail(section.bytes, at).filter(|n| is_target(n)) {
                keep(&mut targets, name);
            }
        }
    }
    Named {
        libraries: libraries.into_iter().map(str::to_owned).collect(),
        targets: targets.into_iter().map(str::to_owned).collect(),
    }
}

fn keep<'a>(names: &mut BTreeSet<&'a str>, name: &'a str) {
    if names.len() < MAX_NAMES {
        names.insert(name);
    }
}

/// The string between two NULs that holds the byte at `at`.
fn around(bytes: &[u8], at: usize) -> Option<&str> {
    let first = at.saturating_sub(MAX_NAME);
    let before = bytes.get(first..at)?;
    let start = first + memchr::memrchr(0, before).map_or(0, |n| n + 1);
    let after = bytes.get(at..bytes.len().min(at + MAX_NAME))?;
    let end = at + memchr::memchr(0, after)?;
    let text = std::str::from_utf8(bytes.get(start..end)?).ok()?;
    (text.len() <= MAX_NAME).then_some(text)
}

/// The string that begins at `at`, perhaps behind other words: linkers keep a string that ends another one only once.
fn tail(bytes: &[u8], at: usize) -> Option<&str> {
    let before = at.checked_sub(1).and_then(|n| bytes.get(n));
    if before.is_some_and(|b| b.is_ascii_alphanumeric() || *b == b'_') {
        return None;
    }
    let after = bytes.get(at..bytes.len().min(at + MAX_NAME))?;
    std::str::from_utf8(after.get(..memchr::memchr(0, after)?)?).ok()
}

/// `libx.so`, `libx.so.1.2`.
fn is_library(name: &str) -> bool {
    let Some((stem, rest)) = name.strip_prefix("lib").and_then(|r| r.split_once(".so")) else {
        return false;
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
    let version = rest.strip_prefix('.').unwrap_or("0");
    !stem.is_empty()
        && stem.chars().all(plain)
        && (rest.is_empty() || rest.starts_with('.'))
        && version
            .split('.')
            .all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// `sm_90`, `sm_90a`, `sm_100f`.
fn is_target(name: &str) -> bool {
    name.strip_prefix("sm_").is_some_and(|rest| {
        let digits = rest.trim_end_matches(['a', 'f']);
        rest.len() - digits.len() <= 1
            && (2..=3).contains(&digits.len())
            && digits.bytes().all(|b| b.is_ascii_digit())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_names_of_libraries_from_other_strings() {
        for name in [
            "libcudnn_ops.so.9",
            "libx.so",
            "libstdc++.so.6",
            "libnvrtc-builtins.so.13.0",
        ] {
            assert!(is_library(name), "{name}");
        }
        for name in [
            "lib.so",
            "x.so",
            "libx.so.",
            "libx.so.a",
            "lib%s.so",
            "libx.source",
            "/a/libx.so",
        ] {
            assert!(!is_library(name), "{name}");
        }
    }

    #[test]
    fn tells_targets_from_other_strings() {
        assert!(["sm_90", "sm_90a", "sm_121f"].iter().all(|n| is_target(n)));
        assert!(
            !["sm_", "sm_9", "sm_90b", "sm_90aa", "sm_x", "psm_90"]
                .iter()
                .any(|n| is_target(n))
        );
    }

    #[test]
    fn takes_the_string_between_two_nuls() {
        let bytes = b"a\0libx.so.1\0b";
        assert_eq!(around(bytes, 6), Some("libx.so.1"));
        assert_eq!(tail(b"%s on sm_89\0", 6), Some("sm_89"));
        assert_eq!(tail(b"psm_89\0", 1), None);
        assert_eq!(around(b"libx.so", 4), None);
        assert_eq!(around(b"libx.so\0", 4), Some("libx.so"));
    }
}
