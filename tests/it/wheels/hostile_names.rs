//! Members whose names reach out of the tree or collide.

use super::forge::{Archive, Part, UTF8, Wheel};
use super::hostile::Collection;

fn with(names: &[&[u8]], flags: u16) -> Vec<u8> {
    let mut archive = Wheel::small().archive();
    for name in names {
        let mut part = Part::new("placeholder", b"x = 1\n");
        part.both(|h| (h.name, h.flags) = (name.to_vec(), flags));
        if name.ends_with(b"/") {
            part = folder(name, flags);
        }
        archive.parts.push(part);
    }
    archive.bytes()
}

fn folder(name: &[u8], flags: u16) -> Part {
    let mut part = Part::folder("placeholder/");
    part.both(|h| (h.name, h.flags) = (name.to_vec(), flags));
    part
}

pub fn add(all: &mut Collection) {
    let single: [(&'static str, &'static str, &[&str]); 8] = [
        (
            "absolute name",
            "Name(Absolute",
            &["/etc/passwd", "//x", "/", "C:/x.py", "c:x"],
        ),
        (
            "name that leaves the tree",
            "Name(Parent",
            &[
                "..",
                "../x",
                "pkg/../../x",
                "pkg/..",
                "../../../../etc/cron.d/x",
                "pkg/../x/",
            ],
        ),
        (
            "name with a dot part",
            "Name(Dot",
            &[".", "./x", "pkg/./x", "pkg/."],
        ),
        (
            "name with an empty part",
            "Name(EmptyPart",
            &["pkg//x", "pkg///x", "pkg/x//"],
        ),
        (
            "name with a backslash",
            "Name(Backslash",
            &["pkg\\x.py", "..\\x", "\\\\host\\x"],
        ),
        (
            "name with a control character",
            "Name(Control",
            &[
                "a\0b",
                "a\0",
                "a\nb",
                "a\rb",
                "\u{1b}[2Jx",
                "a\tb",
                "a\u{7f}",
                "a\u{85}b",
                "a\u{9b}31m",
                "\u{1}",
            ],
        ),
        (
            "name in cp437 or UTF-8",
            "Name(NotMarkedUtf8",
            &["pkg/ü.py", "pkg/日本.py"],
        ),
        ("empty name", "Name(Empty", &[""]),
    ];
    for (class, fault, names) in single {
        for name in names {
            let flags = if fault.contains("NotMarked") { 0 } else { UTF8 };
            let shown = bundler::base::archive::escaped(name.as_bytes());
            all.add(class, fault, &shown, with(&[name.as_bytes()], flags));
        }
    }
    for name in [
        &b"pkg/\xff.py"[..],
        b"\xc3",
        b"pkg/\xed\xa0\x80",
        b"pkg/\xc0\xafx",
    ] {
        let shown = bundler::base::archive::escaped(name);
        all.add(
            "name that is not UTF-8",
            "Name(NotUtf8",
            &shown,
            with(&[name], UTF8),
        );
    }
    for name in [
        "a".repeat(256),
        format!("{}x", "a/".repeat(1100)),
        "ü".repeat(128),
    ] {
        let shown = &name[..40];
        all.add(
            "name longer than file systems hold",
            "Name(TooLong",
            shown,
            with(&[name.as_bytes()], UTF8),
        );
    }
    pairs(all);
}

fn pairs(all: &mut Collection) {
    let pairs: [(&'static str, &'static str, &str, &str); 15] = [
        ("the same name twice", "Name(Duplicate", "a.py", "a.py"),
        (
            "the same name twice",
            "Name(Duplicate",
            "pkg/mod.py",
            "b.py",
        ),
        ("the same name twice", "Name(Duplicate", "sub/", "sub/"),
        (
            "file and folder at once",
            "Name(FileAndFolder",
            "a",
            "a/b.py",
        ),
        (
            "file and folder at once",
            "Name(FileAndFolder",
            "a/b.py",
            "a",
        ),
        ("file and folder at once", "Name(FileAndFolder", "a/", "a"),
        (
            "file and folder at once",
            "Name(FileAndFolder",
            "pkg/mod.py/x",
            "b.py",
        ),
        ("names equal but for case", "Name(FoldsLike", "A.py", "a.py"),
        (
            "names equal but for case",
            "Name(FoldsLike",
            "PKG/x.py",
            "b.py",
        ),
        (
            "names equal but for case",
            "Name(FoldsLike",
            "pkg/Mod.py",
            "b.py",
        ),
        (
            "names equal but for case",
            "Name(FoldsLike",
            "ß.py",
            "SS.py",
        ),
        (
            "names equal but for case",
            "Name(FoldsLike",
            "ΣΑΣ.py",
            "σας.py",
        ),
        (
            "names equal after NFC",
            "Name(FoldsLike",
            "é.py",
            "e\u{301}.py",
        ),
        (
            "names equal after NFC",
            "Name(FoldsLike",
            "Å.py",
            "A\u{30a}.py",
        ),
        (
            "names equal after NFC",
            "Name(FoldsLike",
            "\u{212b}.py",
            "\u{c5}.py",
        ),
    ];
    for (class, fault, first, second) in pairs {
        let named = if first.starts_with("pkg") || first.starts_with("PKG") {
            first
        } else {
            second
        };
        let bytes = with(&[first.as_bytes(), second.as_bytes()], UTF8);
        all.add(class, fault, named.trim_end_matches('/'), bytes);
    }
    // One entry of the directory, two of its name: the second has other bytes.
    let mut archive = Archive::of(Wheel::small().parts());
    archive
        .parts
        .push(Part::new("pkg/__init__.py", b"VALUE = 2\n"));
    all.add(
        "the same name twice",
        "Name(Duplicate",
        "pkg/__init__.py",
        archive.bytes(),
    );
}
