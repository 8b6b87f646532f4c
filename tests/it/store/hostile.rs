//! Generated bundles that lie are refused, whatever they lie about: nothing is installed, nothing outside of the store is
//! touched, and there is one message.

use std::collections::BTreeSet;

use bundler::formats::component::EntryKind;
use bundler::formats::manifest::Row;

use super::forge::{Forge, file, link_row, raw, row, seal};
use super::world::{World, contents};

struct Case {
    class: String,
    what: String,
    forge: Forge,
}

struct Cases(Vec<Case>);

impl Cases {
    fn add(&mut self, class: &str, what: impl Into<String>, change: impl FnOnce(&mut Forge)) {
        let mut forge = Forge::honest();
        change(&mut forge);
        let (class, what) = (class.to_owned(), what.into());
        self.0.push(Case { class, what, forge });
    }
}

fn bad_paths() -> Vec<(&'static str, String)> {
    let mut out: Vec<(&str, String)> = [
        ("parent", "../victim/x"),
        ("parent", "a/../../victim/x"),
        ("parent", ".."),
        ("parent", "a/.."),
        ("absolute", "/tmp/victim-x"),
        ("absolute", "//x"),
        ("drive", "C:/x"),
        ("dot", "./x"),
        ("dot", "a/./x"),
        ("empty part", "a//z"),
        ("empty part", "a/"),
        ("backslash", "a\\z"),
        ("control", "a/\u{1b}[2J"),
        ("control", "a/n\nl"),
        ("control", "a/t\tb"),
        ("control", "a/\u{7f}"),
        ("reserved", "bundle.json"),
        ("reserved", "files.jsonl"),
        ("reserved", ".complete"),
        ("reserved", "facts.jsonl"),
        ("reserved", ".layers/x.json"),
        ("folds", "A/x"),
        ("folds", "a/X"),
        ("file and folder", "a"),
        ("file and folder", "a/x/deep"),
    ]
    .iter()
    .map(|(class, path)| (*class, (*path).to_owned()))
    .collect();
    out.push(("long", format!("a/{}", "n".repeat(256))));
    out.push(("long", format!("a/{}", "d/".repeat(1200)) + "x"));
    out
}

fn path_cases(cases: &mut Cases) {
    for (class, path) in bad_paths() {
        cases.add(
            &format!("path: {class}"),
            format!("{path:?} in list and archive"),
            |f| {
                f.rows.push(row(&path, b"evil"));
                f.tar.extend(file(&path, b"evil"));
            },
        );
        cases.add(
            &format!("archive alone: {class}"),
            format!("{path:?}"),
            |f| {
                f.tar.extend(file(&path, b"evil"));
            },
        );
        cases.add(
            &format!("archive for another: {class}"),
            format!("{path:?}"),
            |f| {
                f.tar = [file(&path, b"hello"), file("a/y", b"other")].concat();
            },
        );
        cases.add(&format!("list alone: {class}"), format!("{path:?}"), |f| {
            f.rows.push(row(&path, b"evil"));
        });
        cases.add(&format!("link at: {class}"), format!("{path:?}"), |f| {
            let target = "x".to_owned();
            let kind = EntryKind::Symlink { target };
            f.rows.push(link_row(&path, kind, 0o777));
            f.tar.extend(raw(
                format!("runtime/{path}").as_bytes(),
                b'2',
                0o777,
                0,
                b"x",
            ));
        });
    }
    for name in [
        &b"other/a/x"[..],
        b"a/x",
        b"runtime",
        b"runtime/../x",
        b"/runtime/a/x",
        b"runtime/a/\xff",
    ] {
        cases.add("another root", format!("{name:?}"), |f| {
            f.tar = [raw(name, b'0', 0o644, 0, b""), file("a/y", b"other")].concat();
        });
    }
}

fn link_cases(cases: &mut Cases) {
    let long = "l".repeat(99);
    for (class, goal) in [
        ("absolute", "/etc/passwd"),
        ("absolute", "//etc"),
        ("leaves", "../../victim"),
        ("leaves", "b/../../../victim"),
        ("leaves", ".."),
        ("itself", "l"),
        ("text", "x\\y"),
        ("text", "x\ny"),
        ("text", ""),
        ("through the other", "up/../../victim"),
        ("through the other", "up/../.."),
    ] {
        cases.add(&format!("symlink: {class}"), format!("{goal:?}"), |f| {
            let link = |path: &str, goal: &str| {
                let target = goal.to_owned();
                link_row(path, EntryKind::Symlink { target }, 0o777)
            };
            f.rows.push(link("a/l", goal));
            f.rows.push(link("a/up", "../a"));
            f.rows.push(link("a/b", "."));
            for (path, goal) in [("a/l", goal), ("a/up", "../a"), ("a/b", ".")] {
                let name = format!("runtime/{path}");
                f.tar
                    .extend(raw(name.as_bytes(), b'2', 0o777, 0, goal.as_bytes()));
            }
            if class == "leaves" && goal == ".." {
                f.rows.retain(|row| row.path != "a/l");
                f.rows.push(link("l", ".."));
            }
        });
        cases.add(
            &format!("symlink in the archive alone: {class}"),
            format!("{goal:?}"),
            |f| {
                f.tar = [
                    raw(b"runtime/a/x", b'2', 0o777, 0, goal.as_bytes()),
                    file("a/y", b"other"),
                ]
                .concat();
            },
        );
    }
    for (class, goal) in [
        ("itself", "a/h"),
        ("later", "a/z"),
        ("outside", "../victim/secret"),
        ("outside", "/etc/passwd"),
        ("nowhere", "a/none"),
        ("a folder", "a"),
        ("long", long.as_str()),
    ] {
        cases.add(&format!("hard link: {class}"), format!("{goal:?}"), |f| {
            let target = goal.to_owned();
            let kind = EntryKind::Hardlink { target };
            let mut hard = row("a/h", b"hello");
            hard.kind = kind;
            f.rows.push(hard);
            let name = format!("runtime/{goal}");
            f.tar.extend(raw(
                b"runtime/a/h",
                b'1',
                0o644,
                0,
                &name.as_bytes()[..name.len().min(100)],
            ));
            if class == "later" {
                f.rows.push(row("a/z", b"hello"));
                f.tar.extend(file("a/z", b"hello"));
            }
        });
        cases.add(
            &format!("hard link in the archive alone: {class}"),
            format!("{goal:?}"),
            |f| {
                let name = format!("runtime/{goal}");
                let link = &name.as_bytes()[..name.len().min(100)];
                f.tar = [
                    raw(b"runtime/a/x", b'1', 0o644, 0, link),
                    file("a/y", b"other"),
                ]
                .concat();
            },
        );
    }
    cases.add("write through a link", "a -> victim, then a/x", |f| {
        let target = "../../../../victim".to_owned();
        f.tar = [
            raw(b"runtime/a", b'2', 0o777, 0, target.as_bytes()),
            file("a/x", b"hello"),
            file("a/y", b"other"),
        ]
        .concat();
    });
    cases.add(
        "chmod through a link",
        "link, then folder of that name",
        |f| {
            f.tar
                .extend(raw(b"runtime/l", b'2', 0o777, 0, b"../../victim"));
            f.tar.extend(raw(b"runtime/l/", b'5', 0o700, 0, b""));
        },
    );
}

fn header_cases(cases: &mut Cases) {
    for flag in [
        b'3', b'4', b'6', b'7', b'S', b'L', b'K', b'g', b'D', b'M', b'V', b'N', 0, b'5', b'x',
    ] {
        cases.add(
            &format!("type {:?}", flag as char),
            "instead of a file",
            |f| {
                f.tar = [
                    raw(b"runtime/a/x", flag, 0o644, 0, b"n"),
                    file("a/y", b"other"),
                ]
                .concat();
            },
        );
    }
    for mode in [0o4755, 0o2755, 0o1777, 0o666, 0o777, 0o600, 0o000, 0o111] {
        cases.add("mode in the archive", format!("{mode:o}"), |f| {
            f.tar = [
                raw(b"runtime/a/x", b'0', mode, 5, b""),
                file("a/x", b"hello")[512..].to_vec(),
                file("a/y", b"other"),
            ]
            .concat();
        });
        cases.add("mode in list and archive", format!("{mode:o}"), |f| {
            f.rows[0].mode = mode;
            f.tar = [
                raw(b"runtime/a/x", b'0', mode, 5, b""),
                file("a/x", b"hello")[512..].to_vec(),
                file("a/y", b"other"),
            ]
            .concat();
        });
    }
    for (at, bytes, what) in [
        (108, &b"0001750\0"[..], "owner"),
        (116, b"0001750\0", "group"),
        (265, b"root", "owner's name"),
        (297, b"wheel", "group's name"),
        (136, b"00000000000", "time"),
        (257, b"ustar  \0", "GNU magic"),
        (329, b"0000001\0", "device number"),
        (345, b"runtime/a/", "prefix"),
        (124, b"\x80\0\0\0\0\0\0\0\0\0\0\x05", "size in base 256"),
        (500, b"junk", "junk in the padding"),
    ] {
        cases.add(&format!("header: {what}"), "", |f| {
            f.tar[at..at + bytes.len()].copy_from_slice(bytes);
            seal(&mut f.tar);
        });
    }
    cases.add("header: checksum", "", |f| f.tar[148] ^= 1);
    for size in [0u64, 4, 6, 512, 513, 1 << 32] {
        cases.add("size in the archive", format!("{size}"), |f| {
            let header = raw(b"runtime/a/x", b'0', 0o644, size, b"");
            f.tar[..512].copy_from_slice(&header);
        });
        cases.add("size in the list", format!("{size}"), |f| {
            f.rows[0].size = Some(size);
        });
    }
    cases.add("size beyond counting", "", |f| {
        f.rows[0].size = Some(u64::MAX);
    });
    cases.add("padding that is not zero", "", |f| f.tar[512 + 5] = 1);
    cases.add("cut", "inside a file", |f| f.tar.truncate(512));
    cases.add("end in the midst", "", |f| f.tar.extend([0; 1024]));
}

fn list_cases(cases: &mut Cases) {
    cases.add("bytes", "other than listed", |f| f.tar[512] ^= 1);
    cases.add("twice", "same bytes", |f| {
        f.tar.extend(file("a/x", b"hello"));
    });
    cases.add("twice", "other bytes", |f| {
        f.tar.extend(file("a/x", b"evil!"));
    });
    cases.add("missing", "the second file", |f| f.tar.truncate(1024));
    cases.add("missing", "everything", |f| f.tar.clear());
    cases.add("unknown component", "", |f| {
        f.rows[0].origin = Some("other".to_owned());
    });
    cases.add("no component", "", |f| f.rows[0].origin = None);
    cases.add("file without digest", "", |f| f.rows[0].sha256 = None);
    cases.add("file without size", "", |f| f.rows[0].size = None);
    cases.add("folders of the archive", "one more", |f| {
        f.folders = Some(vec![String::new(), "a".into(), "b".into()]);
    });
    cases.add("folders of the archive", "one less", |f| {
        f.folders = Some(vec![String::new()]);
    });
    cases.add("folders of the archive", "outside", |f| {
        f.folders = Some(vec![String::new(), "a".into(), "../victim".into()]);
    });
    cases.add("folder of a component", "", |f| {
        f.rows.push(Row {
            origin: Some("evil".into()),
            ..Row::folder("b")
        });
    });
    cases.add("folder with another mode", "", |f| {
        f.rows.push(Row {
            mode: 0o777,
            ..Row::folder("a")
        });
    });
    for name in [
        "../evil", "a/b", "", ".", ".hidden", "-x", "n\u{1b}", "n\nm",
    ] {
        let twist: fn(&mut bundler::formats::bundle::Bundle) = match name {
            "../evil" => |b| b.facts.name = "../evil".into(),
            "a/b" => |b| b.facts.name = "a/b".into(),
            "" => |b| b.facts.name = String::new(),
            "." => |b| b.facts.version = "/../../..".into(),
            ".hidden" => |b| b.facts.name = ".hidden".into(),
            "-x" => |b| b.facts.name = "-x".into(),
            "n\u{1b}" => |b| b.facts.name = "n\u{1b}".into(),
            _ => |b| b.facts.name = "n".repeat(300),
        };
        cases.add("name of the bundle", format!("{name:?}"), |f| {
            f.twist = twist;
        });
    }
    cases.add("id of a component", "", |f| {
        f.twist = |b| b.components[0].id = bundler::base::digest::Digest::of(b"torch");
    });
    cases.add("counts", "entries", |f| {
        f.twist = |b| b.components[0].entries += 1;
    });
    cases.add("counts", "bytes of the component", |f| {
        f.twist = |b| b.components[0].unpacked = 0;
    });
    cases.add("counts", "bytes of the bundle", |f| {
        f.twist = |b| b.size.unpacked = 1;
    });
    cases.add("counts", "files", |f| f.twist = |b| b.size.files = 0);
    cases.add("components twice", "", |f| {
        f.twist = |b| b.components.push(b.components[0].clone());
    });
    cases.add("component without segments", "", |f| {
        f.twist = |b| b.components[0].name = "good".into();
    });
    cases.add("digest of the list", "", |f| {
        f.twist = |b| b.digests.files = bundler::base::digest::Digest::of(b"x");
    });
    cases.add("newer schema", "", |f| f.twist = |b| b.schema_version = 2);
    cases.add("end", "other count", |f| f.twist_end = |c| c.entries += 1);
    cases.add("end", "other list", |f| {
        f.twist_end = |c| c.files = bundler::base::digest::Digest::of(b"x");
    });
    cases.add("end", "unknown layer", |f| {
        f.twist_end = |c| c.layers.push(bundler::base::digest::Digest::of(b"x"));
    });
}

#[test]
fn generated_lies_are_refused_and_touch_nothing() {
    let mut cases = Cases(Vec::new());
    path_cases(&mut cases);
    link_cases(&mut cases);
    header_cases(&mut cases);
    list_cases(&mut cases);
    let classes: BTreeSet<&str> = cases.0.iter().map(|case| case.class.as_str()).collect();
    assert!(
        cases.0.len() >= 200 && classes.len() >= 40,
        "{} {}",
        cases.0.len(),
        classes.len()
    );

    let world = World::new();
    let victim = world.path("victim");
    std::fs::create_dir(&victim).unwrap();
    std::fs::write(victim.join("secret"), b"hello").unwrap();
    let before = contents(&victim);
    let evil = world.path("evil.tar.zst");
    let mut wrong = Vec::new();
    for case in &cases.0 {
        std::fs::write(&evil, case.forge.bytes()).unwrap();
        let out = world
            .bundler(&["install", evil.to_str().unwrap()])
            .output()
            .unwrap();
        let text = String::from_utf8(out.stderr).unwrap();
        let fine = out.status.code() == Some(2)
            && text.starts_with("error: ")
            && !text.contains("a fault in bundler")
            && !text.contains('\u{1b}')
            && world.is_empty();
        if !fine {
            wrong.push(format!(
                "{}: {} → {:?} {text}",
                case.class,
                case.what,
                out.status.code()
            ));
            let _ = std::fs::remove_dir_all(world.root());
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(contents(&victim), before);
    let mut left: Vec<String> = std::fs::read_dir(world.dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["evil.tar.zst", "store", "victim"]);
}

#[test]
fn the_same_forge_without_a_lie_is_installed() {
    let world = World::new();
    let good = world.path("good.tar.zst");
    std::fs::write(&good, Forge::honest().bytes()).unwrap();
    world.ok(&["install", good.to_str().unwrap()]);
    assert_eq!(
        std::fs::read(world.installed("1.0").join("a/x")).unwrap(),
        b"hello"
    );
}
