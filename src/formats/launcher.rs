//! The one form of a Python script in `python/bin`: for entry points and for scripts that an archive brings along. A file
//! that is shell and Python at once: the shell starts the bundle's own `bin/python`, found from the real place of the
//! script, so it works under any path, through symbolic links, after any move, with the environment the bundle needs.

/// The first line of every launcher.
const SHELL: &str = "#!/bin/sh\n";
/// The next two. To the shell: `exec <root>/bin/python <this file> <arguments>`; to Python: one string.
/// `realpath` is in coreutils and busybox (whose own knows no `--`); quotes keep blanks and anything else in paths together.
const EXEC: &str = concat!(
    "'''exec' \"$(dirname \"$(realpath \"$0\")\")/../../bin/python\" \"$0\" \"$@\"\n",
    "' '''",
);

/// A launcher for the entry point `module:attribute`; both were checked to be dotted identifiers by the caller
/// ([`is_object_path`]).
pub fn entry_point(module: &str, attribute: &str) -> String {
    let first = attribute.split('.').next().unwrap_or(attribute);
    format!(
        "{SHELL}{EXEC}\nimport sys\nfrom {module} import {first}\nif __name__ == \"__main__\":\n    sys.exit({attribute}())\n"
    )
}

/// A script that ran under some Python, as a launcher: its first line gives way, the rest stays byte for byte. `None` when
/// it starts no Python.
pub fn from_script(script: &[u8]) -> Option<Vec<u8>> {
    let (first, rest) = split_line(script);
    let rest = if is_python_shebang(first) {
        rest
    } else {
        after_trampoline(first, rest)?
    };
    // Comments are comments to the shell too. Those at the top stay there: the second line may declare the encoding.
    let comments = rest
        .split_inclusive(|&b| b == b'\n')
        .take_while(|line| is_shell_comment(line))
        .map(<[u8]>::len)
        .sum();
    let (comments, code) = rest.split_at_checked(comments)?;
    // Of two strings in a row the second is no docstring, and no `from __future__` may follow it. Joined by a line
    // continuation they are one.
    let joint: &[u8] = if starts_with_string(code) {
        b" \\\n"
    } else {
        b"\n"
    };
    Some([SHELL.as_bytes(), comments, EXEC.as_bytes(), joint, code].concat())
}

/// A line with its end, and what follows.
fn split_line(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|&b| b == b'\n');
    text.split_at(end.map_or(text.len(), |at| at + 1))
}

/// What follows the shell lines of a script that is shell and Python at once: `"exec" "…/python3" "$0" "$@"`, or the same
/// in three single quotes over two lines. Installers and relocatable interpreters write both.
fn after_trampoline<'a>(first: &[u8], rest: &'a [u8]) -> Option<&'a [u8]> {
    if first.trim_ascii() != b"#!/bin/sh" {
        return None;
    }
    let (exec, after) = split_line(rest);
    let text = std::str::from_utf8(exec).ok()?;
    if !text.contains("python") {
        return None;
    }
    if text.starts_with("\"exec\" ") {
        return Some(after);
    }
    let (end, after) = split_line(after);
    (text.starts_with("'''exec' ") && end.trim_ascii() == b"' '''").then_some(after)
}

fn is_shell_comment(line: &[u8]) -> bool {
    let text = line.trim_ascii_start();
    let empty = text.is_empty() && !line.contains(&b'\r');
    line.ends_with(b"\n") && (text.starts_with(b"#") || empty)
}

fn starts_with_string(code: &[u8]) -> bool {
    let prefix = |letter: &[u8]| code.strip_prefix(letter);
    let quote = [b"r", b"R", b"u", b"U"].into_iter().find_map(|l| prefix(l));
    let quote = quote.unwrap_or(code);
    quote.starts_with(b"\"") || quote.starts_with(b"'")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_point_becomes_shell_and_python_at_once() {
        assert_eq!(
            entry_point("pkg.cli", "App.main"),
            "#!/bin/sh\n\
             '''exec' \"$(dirname \"$(realpath \"$0\")\")/../../bin/python\" \"$0\" \"$@\"\n\
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
        let head = [SHELL, EXEC, "\n"].concat();
        let out = from_script(b"#!/usr/bin/python\n# coding: latin-1\n\ns = '\xe9'\n").unwrap();
        let lines: Vec<&[u8]> = out.split(|&b| b == b'\n').collect();
        assert_eq!(lines[1], b"# coding: latin-1");
        assert!(out.ends_with(b"' '''\ns = '\xe9'\n"));
        let out = from_script(b"#!python\r\n\r\nx\r\n").unwrap();
        assert_eq!(out, [head.as_bytes(), b"\r\nx\r\n"].concat());
    }

    #[test]
    fn a_docstring_stays_the_first_string_of_its_file() {
        for code in ["\"\"\"Doc.\"\"\"\n", "r'''Doc'''\n", "u\"Doc\"\n"] {
            let out = from_script(format!("#!python\n# c\n{code}").as_bytes()).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert_eq!(text, format!("{SHELL}# c\n{EXEC} \\\n{code}"));
        }
    }

    #[test]
    fn shell_lines_of_other_installers_give_way() {
        let ours = from_script(b"#!python\nimport x\n").unwrap();
        for theirs in [
            "#!/bin/sh\n'''exec' '/old place/bin/python3' \"$0\" \"$@\"\n' '''\nimport x\n",
            "#!/bin/sh\n\"exec\" \"$(dirname $0)/python3.12\" \"$0\" \"$@\"\nimport x\n",
        ] {
            assert_eq!(from_script(theirs.as_bytes()).unwrap(), ours);
        }
        assert_eq!(from_script(b"#!/bin/sh\nexec python3 x\n"), None);
    }

    #[test]
    fn object_paths_are_identifiers_with_dots() {
        assert!(is_object_path("a.b_1.C"));
        for bad in ["", "a..b", "1a", "a b", "a;b", "a.b()", "a-b"] {
            assert!(!is_object_path(bad), "{bad}");
        }
    }
}
