//! Configuration that names the place the interpreter was built in: sysconfig data, Makefile, pkg-config files. They are
//! rewritten to follow the place they stand in.

use super::tree::{Node, Tree};
use super::{Subject, note};
use crate::base::finding::Finding;

const SYSCONFIG_TAIL: &str = include_str!("files/sysconfig_tail.py");

/// Rewrites what can follow; notes what still names the old place.
pub(super) fn relocate(tree: &mut Tree, subject: &Subject<'_>, notes: &mut Vec<Finding>) {
    let stdlib = subject.stdlib();
    let data = tree.paths(|path| {
        path.strip_prefix(&format!("{stdlib}/_sysconfigdata_"))
            .is_some_and(|rest| ends_in(rest, "py") && !rest.contains('/'))
    });
    let Some(prefix) = data.iter().find_map(|path| built_in(tree.text(path)?)) else {
        notes.push(note(
            "interpreter-prefix-unknown",
            &stdlib,
            "no _sysconfigdata names the place it was built in, so configuration is kept as it is",
        ));
        return;
    };
    for path in &data {
        edit(tree, path, |text| {
            let text = replace_path(&plain_tools(text), &prefix, "@PREFIX@");
            format!("{}{SYSCONFIG_TAIL}", text.trim_end())
        });
    }
    for path in tree
        .paths(|path| path.starts_with(&format!("{stdlib}/config-")) && path.ends_with("/Makefile"))
    {
        edit(tree, &path, |text| makefile(&plain_tools(text), &prefix));
    }
    for path in tree.paths(|path| path.starts_with("lib/pkgconfig/") && ends_in(path, "pc")) {
        edit(tree, &path, |text| pkg_config(text, &prefix));
    }
    link_library(tree, subject);
    note_leftovers(tree, &prefix, notes);
}

/// `lib/libpython3.12.so`, the name linkers look for.
fn link_library(tree: &mut Tree, subject: &Subject<'_>) {
    let plain = format!("lib/libpython{}.so", subject.minor);
    let full = format!("libpython{}.so.1.0", subject.minor);
    if tree.contains(&format!("lib/{full}")) && !tree.contains(&plain) {
        tree.insert(plain, Node::Link(full));
    }
}

fn edit(tree: &mut Tree, path: &str, change: impl FnOnce(&str) -> String) {
    if let Some(text) = tree.text(path) {
        let text = change(text);
        tree.insert_file(path, text.into_bytes(), false);
    }
}

/// The value of `'prefix'` in sysconfig data.
fn built_in(text: &str) -> Option<String> {
    let (_, rest) = text.split_once("\n 'prefix': '")?;
    let (prefix, _) = rest.split_once('\'')?;
    (prefix.len() > 1 && prefix.starts_with('/')).then(|| prefix.to_owned())
}

fn ends_in(path: &str, extension: &str) -> bool {
    path.rsplit_once('.')
        .is_some_and(|(_, own)| own == extension)
}

fn is_path_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '+')
}

/// Replaces `path` where it stands as a path of its own: not inside a longer name.
fn replace_path(text: &str, path: &str, with: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(path) {
        let (before, found) = rest.split_at(at);
        let after = found.get(path.len()..).unwrap_or_default();
        // `-I/install`, `./install` (a build tree of that name): these may stand directly before a path.
        let before_it = before
            .strip_suffix("-I")
            .or_else(|| before.strip_suffix("-L"))
            .or_else(|| before.strip_suffix('.'))
            .unwrap_or(before);
        let begins = !before_it.ends_with(|c| is_path_char(c) || c == '/');
        let ends = !after.chars().next().is_some_and(is_path_char);
        out.push_str(before);
        out.push_str(if begins && ends { with } else { path });
        rest = after;
    }
    out.push_str(rest);
    out
}

/// Names of the build machine's compilers and flags for its processor give way to those of any machine.
fn plain_tools(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for piece in text.split_inclusive([' ', '\'', '"', '\n', '\t', '=']) {
        let word = piece.trim_end_matches([' ', '\'', '"', '\n', '\t', '=']);
        let (_, end) = piece.split_at(word.len());
        out.push_str(&plain_word(word));
        out.push_str(end);
    }
    out
}

fn plain_word(word: &str) -> String {
    let built = |path: &str| path.starts_with("/tools/") || path.starts_with("/build/");
    let name = |path: &str| match path.rsplit('/').next().unwrap_or(path) {
        "clang" => "cc".to_owned(),
        "clang++" => "c++".to_owned(),
        "llvm-ar" => "ar".to_owned(),
        "llvm-ranlib" => "ranlib".to_owned(),
        other => other.to_owned(),
    };
    for cross in ["aarch64-linux-gnu-", "x86_64-linux-gnu-"] {
        if let Some(tool @ ("gcc" | "g++" | "ar" | "ranlib" | "strip" | "readelf" | "ld")) =
            word.strip_prefix(cross)
        {
            return tool.to_owned();
        }
    }
    if built(word) {
        return name(word);
    }
    let flag = word.get(..2).filter(|flag| ["-I", "-L"].contains(flag));
    if flag.is_some() && word.get(2..).is_some_and(built) {
        return String::new();
    }
    word.to_owned()
}

/// GNU make knows where it reads a file from.
fn makefile(text: &str, prefix: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line
            .strip_prefix("prefix=")
            .is_some_and(|value| value.trim() == prefix)
        {
            out.push_str("prefix=\t$(abspath $(dir $(lastword $(MAKEFILE_LIST)))../../..)");
        } else {
            out.push_str(&replace_path(line, prefix, "$(prefix)"));
        }
        out.push('\n');
    }
    out
}

fn pkg_config(text: &str, prefix: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line
            .strip_prefix("prefix=")
            .is_some_and(|value| value.trim() == prefix)
        {
            out.push_str("prefix=${pcfiledir}/../..");
        } else {
            out.push_str(&replace_path(line, prefix, "${prefix}"));
        }
        out.push('\n');
    }
    out
}

/// Text that still names the old place is told of; in a program or library it is a last resort that is never reached.
fn note_leftovers(tree: &Tree, prefix: &str, notes: &mut Vec<Finding>) {
    let finder = memchr::memmem::Finder::new(prefix.as_bytes());
    for (path, node) in tree.iter() {
        let Node::File { bytes, .. } = node else {
            continue;
        };
        // Scripts are still to come; those names are rewritten there.
        if path.starts_with("bin/") || path.ends_with("/python-config.py") || prefix.len() < 6 {
            continue;
        }
        let whole = finder.find_iter(bytes).any(|at| {
            let near =
                |c: Option<&u8>| c.is_some_and(|&b| is_path_char(char::from(b)) || b == b'/');
            let after = bytes.get(at + prefix.len());
            !near(at.checked_sub(1).and_then(|at| bytes.get(at)))
                && !after.is_some_and(|&b| is_path_char(char::from(b)))
        });
        if whole {
            let message = if bytes.starts_with(b"\x7fELF") {
                "the library names the place it was built in, as a last resort when nothing is found beside it"
            } else {
                "the text names the place it was built in"
            };
            notes.push(note("interpreter-build-prefix", path, message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_whole_paths_only() {
        let text = "a=/install b=/install/lib c='/usr/bin/install -c' -I/install/include /installer /x/install /install. './install/x'";
        assert_eq!(
            replace_path(text, "/install", "@P@"),
            "a=@P@ b=@P@/lib c='/usr/bin/install -c' -I@P@/include /installer /x/install /install. '.@P@/x'"
        );
    }

    #[test]
    fn names_plain_tools() {
        let text = "'CC': '/tools/llvm/bin/clang -pthread -L/tools/deps/lib', 'AR': '/tools/llvm/bin/llvm-ar',\n\
                    'LDCXXSHARED': 'aarch64-linux-gnu-g++ -shared', 'X': '/usr/bin/clang'";
        assert_eq!(
            plain_tools(text),
            "'CC': 'cc -pthread ', 'AR': 'ar',\n'LDCXXSHARED': 'g++ -shared', 'X': '/usr/bin/clang'"
        );
    }

    #[test]
    fn configuration_follows_its_own_place() {
        let text = "prefix=/install\nexec_prefix=/install\nlibdir=${exec_prefix}/lib\nCflags: -I/install/include/x\n";
        assert_eq!(
            pkg_config(text, "/install"),
            "prefix=${pcfiledir}/../..\nexec_prefix=${prefix}\nlibdir=${exec_prefix}/lib\nCflags: -I${prefix}/include/x\n"
        );
        let make = makefile(
            "prefix=\t/install\nINCLUDEDIR=\t/install/include\nINSTALL=\t/usr/bin/install -c\n",
            "/install",
        );
        assert!(make.starts_with("prefix=\t$(abspath "));
        assert!(make.ends_with("INCLUDEDIR=\t$(prefix)/include\nINSTALL=\t/usr/bin/install -c\n"));
        assert_eq!(
            built_in("x = {'a': 1,\n 'prefix': '/install',\n"),
            Some("/install".into())
        );
        assert_eq!(built_in("x = {'a': 1,\n 'prefix': '',\n"), None);
    }
}
