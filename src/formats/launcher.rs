//! The one form of a Python script in `python/bin`: for entry points and for scripts that an archive brings along. A file
//! that is shell and Python at once: the shell starts the bundle's own `bin/python`, found from the real place of the
//! script, so it works under any path, through symbolic links, after any move, with the environment the bundle needs.

/// The first lines of every launcher. To the shell: `exec <root>/bin/python <this file> <arguments>`; to Python: one string.
/// `realpath` is in coreutils and busybox; `--` and quotes keep blanks, dashes and anything else in paths apart.
const HEAD: &str = concat!(
    "#!/bin/sh\n",
    "'''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")/../../bin/python\" \"$0\" \"$@\"\n",
    "' '''\n",
);

/// A launcher for the entry point `module:attribute`; both were checked to be dotted identifiers by the caller
/// ([`is_object_path`]).
pub fn entry_point(module: &str, attribute: &str) -> String {
    let first = attribute.split('.').next().unwrap_or(attribute);
    format!(
        "{HEAD}import sys\nfrom {module} import {first}\nif __name__ == \"__main__\":\n    sys.exit({attribute}())\n"
    )
}

/// A script that ran under some Python, as a launcher: its first line gives way, the rest stays byte for byte. `None` when
/// its first line names no Python.
pub fn from_script(script: &[u8]) -> Option<Vec<u8>> {
    let end = script.iter().position(|&b| b == b'\n')?;
    let (first, rest) = script.split_at(end + 1);
    if !is_python_shebang(first) {
        return None;
    }
    // The encoding of a Python file is declared in its first two lines, which are ours now: keep the declaration.
    let second = rest.split(|&b| b == b'\n').next().unwrap_or_default();
    let mut out = Vec::with_capacity(HEAD.len() + rest.len() + second.len());
    if declares_other_encoding(second) {
        let (shebang, exec) = HEAD.split_at(HEAD.find('\n').map_or(0, |at| at + 1));
        out.extend_from_slice(shebang.as_bytes());
        out.extend_from_slice(second);
        out.push(b'\n');
        out.extend_from_slice(exec.as_bytes());
    } else {
        out.extend_from_slice(HEAD.as_bytes());
    }
    out.extend_from_slice(rest);
    Some(out)
}

/// Whether a first line (`#!…`) starts a Python of any place or name: `#!python`, `#!/x/y/python3.12 -E`,
/// `#!/usr/bin/env python3`, `#!/usr/bin/env -S python`, pip's `#!/bin/sh` form not among them.
pub fn is_python_shebang(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"#!") else {
        return false;
    };
    let text = String::from_utf8_lossy(rest);
    let is_python = |word: &str| {
        let name = word.trim_matches('"').rsplit('/').next().unwrap_or(word);
        name.strip_prefix("python")
            .or_else(|| name.strip_prefix("pypy"))
            .is_some_and(|tail| {
                tail.trim_end_matches('w')
                    .bytes()
                    .all(|b| b.is_ascii_digit() || b == b'.')
            })
    };
    let mut words = text.split_ascii_whitespace();
    match words.next() {
        Some(word) if word.rsplit('/').next() == Some("env") => words
            .find(|word| !word.starts_with('-') && !word.contains('='))
            .is_some_and(is_python),
        // An interpreter path with a blank in it is broken for the kernel, but it is still a Python's.
        Some(word) => {
            is_python(word)
                || (word.starts_with(['/', '"'])
                    && text.trim().rsplit('/').next().is_some_and(is_python))
        }
        None => false,
    }
}

/// Whether `text` is a dotted path of Python identifiers (the ASCII ones).
pub fn is_object_path(text: &str) -> bool {
    text.split('.').all(|part| {
        let mut bytes = part.bytes();
        bytes
            .next()
            .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
            && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
    })
}

/// PEP 263: a comment in the first two lines with `coding[:=] name`. UTF-8 is the default and needs no word.
fn declares_other_encoding(line: &[u8]) -> bool {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_start();
    if !text.starts_with('#') {
        return false;
    }
    let Some((_, after)) = text.split_once("coding") else {
        return false;
    };
    let Some(name) = after.strip_prefix([':', '=']) else {
        return false;
    };
    let name = name.trim_start().to_ascii_lowercase();
    !(name.starts_with("utf-8") || name.starts_with("utf8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_point_becomes_shell_and_python_at_once() {
        assert_eq!(
            entry_point("pkg.cli", "App.main"),
            "#!/bin/sh\n\
             '''exec' \"$(dirname -- \"$(realpath -- \"$0\")\")/../../bin/python\" \"$0\" \"$@\"\n\
             ' '''\n\
             import sys\n\
             from pkg.cli import App\n\
             if __name__ == \"__main__\":\n    sys.exit(App.main())\n"
        );
    }

    #[test]
    fn scripts_of_any_python_are_taken_and_others_are_not() {
        for line in [
            "#!python\n",
            "#!pythonw\n",
            "#!/usr/bin/python3 -E\n",
            "#! /usr/bin/env python3.12\n",
            "#!/usr/bin/env -S python -u\n",
            "#!/usr/bin/env -S A=b python\n",
            "#!/tmp/a b/bin/python3\n",
            "#!\"/tmp/a b/bin/python\"\n",
        ] {
            assert!(
                from_script(format!("{line}x = 1\n").as_bytes()).is_some(),
                "{line}"
            );
        }
        for line in [
            "#!/bin/sh\n",
            "#!/usr/bin/env perl\n",
            "#!/usr/bin/python-config\n",
            "import x\n",
            "",
        ] {
            assert!(
                from_script(format!("{line}x = 1\n").as_bytes()).is_none(),
                "{line}"
            );
        }
    }

    #[test]
    fn the_rest_of_a_script_stays_and_its_encoding_is_still_declared() {
        let out =
            from_script(b"#!/usr/bin/python\n# -*- coding: latin-1 -*-\ns = '\xe9'\n").unwrap();
        let lines: Vec<&[u8]> = out.split(|&b| b == b'\n').collect();
        assert_eq!(lines[1], b"# -*- coding: latin-1 -*-");
        assert!(out.ends_with(b"s = '\xe9'\n"));
        let out = from_script(b"#!python\n# coding: utf-8\nx\n").unwrap();
        assert!(out.starts_with(HEAD.as_bytes()) && out.ends_with(b"# coding: utf-8\nx\n"));
    }

    #[test]
    fn object_paths_are_identifiers_with_dots() {
        assert!(is_object_path("a.b_1.C"));
        for bad in ["", "a..b", "1a", "a b", "a;b", "a.b()", "a-b"] {
            assert!(!is_object_path(bad), "{bad}");
        }
    }
}
