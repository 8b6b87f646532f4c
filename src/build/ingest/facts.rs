//! What the audit wants to know of a file, read while its bytes pass: ELF facts, the interpreter of a script, what a
//! `.pth` file adds to the start of Python, absolute paths that texts name. No judgement here.

use super::named_paths;
use crate::formats::component::{Entry, FileFacts, TextFacts};
use crate::formats::elf::{self, SymbolSet};

/// Longest `#!` line the kernel reads.
const MAX_SHEBANG: usize = 256;

/// Larger files configure nothing.
const MAX_CONFIG: usize = 4 << 20;

/// Takes out of every file's wanted symbols those that another file of the component gives: files of one artifact were made
/// for each other.
pub fn settle(entries: &mut [Entry]) {
    let given: Vec<SymbolSet> = entries
        .iter()
        .filter_map(|entry| match &entry.facts {
            Some(FileFacts::Elf(elf)) => elf.symbols.as_ref().map(|s| s.given.clone()),
            _ => None,
        })
        .filter(|set| !set.is_empty())
        .collect();
    for entry in entries {
        if let Some(FileFacts::Elf(elf)) = &mut entry.facts
            && let Some(symbols) = &mut elf.symbols
        {
            symbols
                .wanted
                .retain(|name| !given.iter().any(|set| set.has(name)));
        }
    }
}

/// The facts of a whole file.
pub fn of(path: &str, bytes: &[u8]) -> Option<FileFacts> {
    if elf::is_elf(bytes) {
        return Some(match elf::read_deep(bytes) {
            Ok(facts) => FileFacts::Elf(Box::new(facts)),
            Err(error) => FileFacts::BrokenElf(error.to_string()),
        });
    }
    let facts = TextFacts {
        shebang: shebang(bytes),
        ..text(path, bytes)
    };
    (facts != TextFacts::default()).then_some(FileFacts::Text(facts))
}

/// The facts of a file too long to be held: of a text, its first line.
pub fn of_start(bytes: &[u8]) -> Option<FileFacts> {
    let shebang = shebang(bytes)?;
    Some(FileFacts::Text(TextFacts {
        shebang: Some(shebang),
        ..TextFacts::default()
    }))
}

/// Whether a file that begins with `bytes` (4 KiB are enough) is a program: an ELF file of type EXEC or with an
/// interpreter. GPU code is neither.
pub(super) fn is_program(bytes: &[u8]) -> bool {
    program(bytes).unwrap_or(false)
}

const EM_CUDA: u16 = 190;

fn program(bytes: &[u8]) -> Option<bool> {
    if !elf::is_elf(bytes) || *bytes.get(5)? != 1 {
        return None;
    }
    let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    let is_64 = *bytes.get(4)? == 2;
    let (kind, machine) = (half(16)?, half(18)?);
    let (table, size, count) = if is_64 {
        let table = u64::from_le_bytes(bytes.get(32..40)?.try_into().ok()?);
        (usize::try_from(table).ok()?, half(54)?, half(56)?)
    } else {
        let table = u32::from_le_bytes(bytes.get(28..32)?.try_into().ok()?);
        (table as usize, half(42)?, half(44)?)
    };
    if machine == EM_CUDA {
        return Some(false);
    }
    let mut has_interpreter = false;
    for number in 0..usize::from(count) {
        let at = table.checked_add(number.checked_mul(usize::from(size))?)?;
        let Some(bytes) = bytes.get(at..at.checked_add(4)?) else {
            break;
        };
        has_interpreter |= bytes == [3, 0, 0, 0];
    }
    Some(kind == 2 || (kind == 3 && has_interpreter))
}

fn shebang(bytes: &[u8]) -> Option<String> {
    let line = bytes.strip_prefix(b"#!")?;
    let line = line.get(..MAX_SHEBANG).unwrap_or(line);
    let end = line.iter().position(|b| *b == b'\n').unwrap_or(line.len());
    Some(String::from_utf8_lossy(line.get(..end)?).trim().to_owned())
}

fn text(path: &str, bytes: &[u8]) -> TextFacts {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    let mut facts = TextFacts::default();
    if bytes.len() > MAX_CONFIG {
        return facts;
    }
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if extension == "pth" && folder.ends_with("site-packages") {
        pth(bytes, &mut facts);
        return facts;
    }
    facts.absolute_paths = named_paths::configured(path, bytes);
    facts.named_paths = named_paths::mentioned(bytes);
    facts
}

/// As `site.addpackage` reads them: a byte-order mark is skipped, comments and blank lines are, `import` lines run.
fn pth(bytes: &[u8], facts: &mut TextFacts) {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    for line in String::from_utf8_lossy(bytes).lines() {
        if line.starts_with('#') || line.trim().is_empty() {
            continue;
        }
        if line.starts_with("import ") || line.starts_with("import\t") {
            facts.pth_code.push(line.trim_end().to_owned());
        } else {
            facts.pth_paths.push(line.trim_end().to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_facts(path: &str, text: &str) -> TextFacts {
        match of(path, text.as_bytes()) {
            Some(FileFacts::Text(facts)) => facts,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn reads_the_interpreter_of_a_script() {
        let facts = text_facts("python/bin/x", "#!/usr/bin/env python3 -s \nprint()\n");
        assert_eq!(facts.shebang.as_deref(), Some("/usr/bin/env python3 -s"));
        assert_eq!(of("python/bin/x", b"# no script"), None);
    }

    #[test]
    fn tells_paths_and_code_of_pth_files_apart() {
        let facts = text_facts(
            "python/lib/python3.12/site-packages/x.pth",
            "# comment\n\n../src\nimport os; os.x\nimportant\n",
        );
        assert_eq!(facts.pth_paths, ["../src", "important"]);
        assert_eq!(facts.pth_code, ["import os; os.x"]);
        assert_eq!(of("python/lib/x.pth", b"import os\n"), None);
    }

    #[test]
    fn finds_absolute_prefixes_and_nothing_else() {
        let facts = text_facts(
            "python/lib/pkgconfig/x.pc",
            "prefix=/install\nlibdir=${prefix}/lib\nshell=/bin/sh\nincludedir = /usr/include\n",
        );
        assert_eq!(facts.absolute_paths, ["/install", "/usr/include"]);
        let facts = text_facts(
            "python/lib/python3.12/_sysconfigdata_x.py",
            " 'LIBDIR': '/install/lib',\n 'CC': '/usr/bin/cc',\n 'prefix': '/install',\n",
        );
        assert_eq!(facts.absolute_paths, ["/install", "/install/lib"]);
    }

    #[test]
    fn a_program_is_executable_or_has_an_interpreter() {
        let elf = |kind: u8, machine: u8, segment: u8| {
            let mut bytes = vec![0; 256];
            bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
            (bytes[16], bytes[18]) = (kind, machine);
            (bytes[32], bytes[54], bytes[56]) = (64, 56, 2);
            bytes[64 + 56] = segment;
            bytes
        };
        assert!(is_program(&elf(2, 62, 1)));
        assert!(is_program(&elf(3, 62, 3)));
        assert!(!is_program(&elf(3, 62, 1)));
        assert!(!is_program(&elf(2, 190, 1)));
        assert!(!is_program(b"#!/bin/sh"));
        for cut in 0..58 {
            assert!(!is_program(&elf(2, 62, 1)[..cut]));
        }
    }
}
