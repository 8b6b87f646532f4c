//! Absolute paths that text files name: where configuration says that things are, and folders in which people and machines
//! work (`/home/…`, `/tmp/…`) anywhere in a text. No judgement here: documentation names such folders too.

use std::collections::BTreeMap;

/// First elements of paths in which builds happen; folders that every system has are not among them.
const ROOTS: [&[u8]; 27] = [
    b"Users",
    b"Volumes",
    b"__w",
    b"build",
    b"buildbot",
    b"builds",
    b"croot",
    b"data",
    b"github",
    b"home",
    b"io",
    b"jenkins",
    b"lustre",
    b"mnt",
    b"opt",
    b"private",
    b"project",
    b"root",
    b"runner",
    b"scratch",
    b"shared",
    b"srv",
    b"tmp",
    b"var",
    b"work",
    b"workspace",
    b"workspaces",
];

/// Longest of them.
const LONGEST_ROOT: usize = 10;
/// Longer paths are cut.
const MAX_PATH: usize = 200;
/// So many different folders of one file are kept.
const MAX_FOLDERS: usize = 32;
/// Folders are told apart by so many elements.
const DEPTH: usize = 3;
/// A zero among the first so many bytes makes a file binary.
const LOOK: usize = 1024;

/// Paths of work folders that a text names, one for each folder, in order; nothing for a file that is no text.
pub(super) fn mentioned(bytes: &[u8]) -> Vec<String> {
    let start = bytes.get(..LOOK).unwrap_or(bytes);
    if memchr::memchr(0, start).is_some() {
        return Vec::new();
    }
    let mut found: BTreeMap<&[u8], &[u8]> = BTreeMap::new();
    for at in memchr::memchr_iter(b'/', bytes) {
        let rest = bytes.get(at..).unwrap_or_default();
        if !begins_in_root(rest) || !is_start(bytes.get(..at).unwrap_or_default()) {
            continue;
        }
        let path = path_at(rest);
        let folder = folder(path);
        if path.len() > folder.len() || elements(path) > 1 {
            if found.len() == MAX_FOLDERS && !found.contains_key(folder) {
                break;
            }
            found.entry(folder).or_insert(path);
        }
    }
    let texts = found.into_values();
    texts
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect()
}

fn begins_in_root(path: &[u8]) -> bool {
    let inside = path.get(1..LONGEST_ROOT + 2).or_else(|| path.get(1..));
    let Some(inside) = inside else { return false };
    let Some(end) = inside.iter().position(|b| *b == b'/') else {
        return false;
    };
    let first = inside.get(..end).unwrap_or_default();
    ROOTS.binary_search(&first).is_ok()
}

/// True where a path may begin after `before`: not inside a longer path, an address or a variable's value.
fn is_start(before: &[u8]) -> bool {
    // `-I/home/x`, `-L/home/x`, `file:///home/x`.
    if [&b"-I"[..], b"-L", b"file://"]
        .iter()
        .any(|s| before.ends_with(s))
    {
        return true;
    }
    before.last().is_none_or(|b| {
        !is_path_byte(*b) && !matches!(b, b'~' | b'}' | b')' | b']' | b'*' | b'>' | b'%' | 0x80..)
    })
}

fn is_path_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b'+' | b'/' | b'@')
}

/// The path that `rest` begins with, without what ends a sentence.
fn path_at(rest: &[u8]) -> &[u8] {
    let rest = rest.get(..MAX_PATH).unwrap_or(rest);
    let end = rest.iter().position(|b| !is_path_byte(*b));
    let mut path = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    while let Some(shorter) = path.strip_suffix(b".").or_else(|| path.strip_suffix(b"/")) {
        path = shorter;
    }
    path
}

fn elements(path: &[u8]) -> usize {
    memchr::memchr_iter(b'/', path).count()
}

/// The first elements of a path.
fn folder(path: &[u8]) -> &[u8] {
    let mut slashes = memchr::memchr_iter(b'/', path);
    match slashes.nth(DEPTH) {
        Some(end) => path.get(..end).unwrap_or(path),
        None => path,
    }
}

/// Files in which builds and installers say where things are, by what their text looks like.
#[derive(Debug, Clone, Copy)]
enum Form {
    /// `key = value` or `key: value`.
    Keys,
    /// Quoted lists, as CMake exports them.
    CMake,
    /// `"url": "file:///…"`.
    DirectUrl,
    /// `MAPPING = {'name': '/path'}` of an editable install.
    Editable,
}

fn form(path: &str) -> Option<Form> {
    let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
    if let Some(stem) = name.strip_suffix(".cmake") {
        let stem = stem.to_ascii_lowercase();
        let exported = stem.ends_with("config") || stem.contains("targets");
        return exported.then_some(Form::CMake);
    }
    if name == "direct_url.json" && folder.ends_with(".dist-info") {
        return Some(Form::DirectUrl);
    }
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    if name.starts_with("__editable__") && extension == "py" {
        return Some(Form::Editable);
    }
    let keys = matches!(extension, "pc" | "la")
        || name.ends_with("-config")
        || name.starts_with("_sysconfigdata_")
        || name == "pyvenv.cfg"
        || (name == "Makefile" && folder.contains("/config-"));
    keys.then_some(Form::Keys)
}

/// Absolute paths at which a file of configuration says that things are; nothing for other files.
pub(super) fn configured(path: &str, bytes: &[u8]) -> Vec<String> {
    let Some(form) = form(path) else {
        return Vec::new();
    };
    let text = String::from_utf8_lossy(bytes);
    let mut paths: Vec<String> = match form {
        Form::Keys => text.lines().filter_map(absolute_prefix).collect(),
        Form::CMake => text.lines().flat_map(quoted_lists).collect(),
        Form::DirectUrl => local_address(bytes).into_iter().collect(),
        Form::Editable => text.lines().flat_map(mapped).collect(),
    };
    paths.sort();
    paths.dedup();
    paths
}

/// `prefix=/install`, `LIBDIR= /install/lib`, `'prefix': '/install'` → the path. Only keys that say where a tree was
/// installed; `SHELL=/bin/sh` names the host's own.
fn absolute_prefix(line: &str) -> Option<String> {
    let (key, value) = line.split_once(['=', ':'])?;
    let quotes: &[char] = &['\'', '"', ' ', '\t', '{'];
    let key = key.trim_matches(quotes).to_ascii_lowercase();
    let places = key.ends_with("prefix")
        || key.ends_with("dir")
        || key.ends_with("dirs")
        || matches!(
            key.as_str(),
            "libpl" | "destshared" | "pythonpath" | "cudaroot" | "home"
        );
    let value = value.trim_start_matches(quotes);
    let end = value
        .find(|c: char| c.is_whitespace() || quotes.contains(&c) || c == ',')
        .unwrap_or(value.len());
    let value = value.get(..end)?;
    (places && value.starts_with('/') && value.len() > 1).then(|| value.to_owned())
}

/// `"a;/usr/local/lib/libx.so"` → the absolute ones, up to a comment.
fn quoted_lists(line: &str) -> Vec<String> {
    let mut out = Vec::new();
    for (number, piece) in line.split('"').enumerate() {
        if number % 2 == 1 {
            let items = piece.split(';');
            let absolute = items.filter(|i| is_place(i) && !i.contains(['$', '<', ' ']));
            out.extend(absolute.map(str::to_owned));
        } else if piece.contains('#') {
            break;
        }
    }
    out
}

/// More than a slash and a word: `/W3` is a compiler's flag.
fn is_place(text: &str) -> bool {
    text.starts_with('/') && elements(text.as_bytes()) > 1
}

/// The folder or file a distribution was installed from (PEP 610).
fn local_address(bytes: &[u8]) -> Option<String> {
    let json: serde_json::Value = serde_json::from_slice(bytes).ok()?;
    let url = json.get("url")?.as_str()?;
    url.strip_prefix("file://").map(str::to_owned)
}

/// Paths that the finder of an editable install maps names to.
fn mapped(line: &str) -> Vec<String> {
    let table = line.starts_with("MAPPING") || line.starts_with("NAMESPACES");
    let strings = line.split(['\'', '"']).skip(1).step_by(2);
    strings
        .filter(|s| table && is_place(s))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roots_are_sorted_and_no_longer_than_said() {
        assert!(ROOTS.is_sorted());
        assert_eq!(ROOTS.iter().map(|r| r.len()).max(), Some(LONGEST_ROOT));
    }

    #[test]
    fn finds_work_folders_wherever_a_text_names_them() {
        let found = |text: &str| mentioned(text.as_bytes());
        for (text, path) in [
            ("/home/ci/src/x.c", "/home/ci/src/x.c"),
            ("args = [\"-I/home/ci/include\"]", "/home/ci/include"),
            ("url: file:///home/ci/x", "/home/ci/x"),
            (
                "see /tmp/build-env-x1y2/bin/python.",
                "/tmp/build-env-x1y2/bin/python",
            ),
            ("('/__w/x/x/src/', 3)", "/__w/x/x/src"),
            ("a=/workspaces/p/q", "/workspaces/p/q"),
        ] {
            assert_eq!(found(text), [path], "{text}");
        }
        for text in [
            "https://x.org/home/ci/x",
            "https://home/ci",
            "${ROOT}/build/x",
            "~/work/x",
            "lib/build/x",
            "/usr/lib/x",
            "/home",
            "/tmp/",
            "a/tmp/b",
            "\0/home/ci/x",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }

    #[test]
    fn names_each_folder_once_and_not_too_many() {
        let text = "/home/ci/a/b /home/ci/a/c /home/ci/d /home/ci";
        let all = mentioned(text.as_bytes());
        assert_eq!(all, ["/home/ci", "/home/ci/a/b", "/home/ci/d"]);
        let many: String = (0..100).fold(String::new(), |all, n| all + &format!("/tmp/{n}/x "));
        assert_eq!(mentioned(many.as_bytes()).len(), MAX_FOLDERS);
        let long = format!("/tmp/{}", "x".repeat(1000));
        assert_eq!(mentioned(long.as_bytes())[0].len(), MAX_PATH);
    }

    #[test]
    fn reads_each_form_of_configuration() {
        let is = |path: &str, text: &str| configured(path, text.as_bytes());
        assert_eq!(
            is("p/lib/pkgconfig/x.pc", "prefix=/install\n"),
            ["/install"]
        );
        assert_eq!(
            is(
                "p/XTargets.cmake",
                "# \"/a/b\"\n set(X \"${P}/x;/usr/local/cuda/lib\" \"/W3\")\nset(Y \"/pytorch/torch\")\n"
            ),
            ["/pytorch/torch", "/usr/local/cuda/lib"]
        );
        assert!(is("p/FindX.cmake", "set(X \"/usr/local/cuda\")").is_empty());
        assert_eq!(
            is(
                "s/x-1.dist-info/direct_url.json",
                "{\"url\": \"file:///home/ci/x\"}"
            ),
            ["/home/ci/x"]
        );
        assert!(
            is(
                "s/x-1.dist-info/direct_url.json",
                "{\"url\": \"https://x.org/x.whl\"}"
            )
            .is_empty()
        );
        assert_eq!(
            is(
                "s/__editable___x_finder.py",
                "MAPPING: dict[str, str] = {'x': '/home/ci/src/x'}\nPATH = '/a/b'\n"
            ),
            ["/home/ci/src/x"]
        );
        assert_eq!(
            is("e/pyvenv.cfg", "home = /opt/python/bin\n"),
            ["/opt/python/bin"]
        );
        assert!(is("p/x.py", "prefix=/install\n").is_empty());
    }
}
