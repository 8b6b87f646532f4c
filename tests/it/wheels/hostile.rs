//! Hostile wheels by class: each is refused, by the fault its class stands for, and the message names the member.

use std::collections::BTreeMap;

use super::forge::{Archive, Part, Spoil, Wheel, extra, local_header};
use super::{hostile_members, hostile_metadata, hostile_names, hostile_places, judge};

/// A wheel that must be refused.
pub struct Hostile {
    pub class: &'static str,
    pub file_name: String,
    pub bytes: Vec<u8>,
    /// Begin of the fault's variant.
    pub fault: &'static str,
    /// What the message must name: a member, or the archive where no member is at fault.
    pub named: String,
}

/// Gathers hostile wheels.
#[derive(Default)]
pub struct Collection(pub Vec<Hostile>);

impl Collection {
    pub fn add(&mut self, class: &'static str, fault: &'static str, named: &str, bytes: Vec<u8>) {
        self.add_named(class, fault, named, "pkg-1.0-py3-none-any.whl", bytes);
    }

    pub fn add_named(
        &mut self,
        class: &'static str,
        fault: &'static str,
        named: &str,
        file_name: &str,
        bytes: Vec<u8>,
    ) {
        self.0.push(Hostile {
            class,
            file_name: file_name.to_owned(),
            bytes,
            fault,
            named: named.to_owned(),
        });
    }

    /// The small wheel with a change to each of its members in turn.
    pub fn each_part(
        &mut self,
        class: &'static str,
        fault: &'static str,
        change: impl Fn(&mut Part),
    ) {
        for index in 0..Wheel::small().parts().len() {
            self.part(class, fault, index, &change);
        }
    }

    /// The small wheel with a change to one member.
    pub fn part(
        &mut self,
        class: &'static str,
        fault: &'static str,
        index: usize,
        change: impl Fn(&mut Part),
    ) {
        let mut archive = Wheel::small().archive();
        let part = &mut archive.parts[index];
        let name = String::from_utf8(part.central.name.clone()).unwrap();
        change(part);
        self.add(class, fault, &name, archive.bytes());
    }

    /// The small wheel with a change to the archive around the members.
    pub fn archive(
        &mut self,
        class: &'static str,
        fault: &'static str,
        named: &str,
        change: impl Fn(&mut Archive),
    ) {
        let mut archive = Wheel::small().archive();
        change(&mut archive);
        self.add(class, fault, named, archive.bytes());
    }
}

const ARCHIVE: &str = "pkg-1.0-py3-none-any.whl";

fn containers(all: &mut Collection) {
    for after in [&b"x"[..], b"\0\0x", b"PK", b"PK\x03\x04"] {
        all.archive("bytes after the end record", "Trailing", ARCHIVE, |a| {
            a.end.after = after.to_vec();
        });
    }
    let whole = Wheel::small().archive().bytes();
    all.add(
        "bytes after the end record",
        "DirectoryPlace",
        ARCHIVE,
        [&whole[..], &whole].concat(),
    );
    for prefix in [&b"#"[..], b"#!/bin/sh\nexit 1\n", b"PK\x03\x04"] {
        all.archive(
            "bytes before the first member",
            "DirectoryPlace",
            ARCHIVE,
            |a| {
                a.prefix = prefix.to_vec();
                let start: usize = a
                    .parts
                    .iter()
                    .map(|p| 30 + p.local.name.len() + p.body.len())
                    .sum();
                a.end.start = Some(u32::try_from(start).unwrap());
            },
        );
        all.archive("bytes before the first member", "Prefix", ARCHIVE, |a| {
            a.prefix = prefix.to_vec();
        });
    }
    let hidden = Wheel::small().archive();
    for inner in [hidden.bytes(), Archive::default().bytes()] {
        all.archive(
            "a second end record in the comment",
            "TwoEnds",
            ARCHIVE,
            |a| {
                let end = a.bytes().len() - 22;
                let mut fake = inner[inner.len() - 22..].to_vec();
                let start = u32::try_from(end).unwrap();
                fake[12..16].copy_from_slice(&22_u32.to_le_bytes());
                fake[16..20].copy_from_slice(&start.to_le_bytes());
                a.end.comment = fake;
            },
        );
    }
    for cut in [
        1,
        10,
        21,
        22,
        60,
        whole.len() / 2,
        whole.len() - 1,
        whole.len(),
    ] {
        all.add(
            "cut off",
            "NoEnd",
            ARCHIVE,
            whole[..whole.len() - cut].to_vec(),
        );
    }
    all.archive("comment cut off", "CommentCut", ARCHIVE, |a| {
        a.end.comment = vec![b'c'; 100];
    });
    let last = all.0.last_mut().unwrap();
    last.bytes.truncate(last.bytes.len() - 40);
    ends(all);
    damaged_directories(all, &whole);
    zip64_ends(all);
}

fn ends(all: &mut Collection) {
    for (start, size) in [
        (Some(0), None),
        (Some(u32::MAX), None),
        (None, Some(1)),
        (Some(1), Some(u32::MAX)),
        (None, Some(0)),
    ] {
        all.archive(
            "directory in another place",
            "DirectoryPlace",
            ARCHIVE,
            |a| {
                (a.end.start, a.end.size) = (start, size);
            },
        );
    }
    all.archive(
        "directory in another place",
        "DirectoryPlace",
        ARCHIVE,
        |a| {
            a.end.before = b"between".to_vec();
        },
    );
    for count in [0, 1, 5, 7, u16::MAX] {
        all.archive("another number of members", "Count", ARCHIVE, |a| {
            a.end.count = Some(count);
        });
    }
    all.archive("split over several files", "Split", ARCHIVE, |a| {
        a.end.disk = 1;
    });
    all.archive("split over several files", "Split", ARCHIVE, |a| {
        a.end.directory_disk = 1;
    });
    all.archive("split over several files", "Split", ARCHIVE, |a| {
        a.end.count_here = Some(1);
    });
    all.each_part("member on another disk", "Split", |p| p.disk = 1);
}

fn damaged_directories(all: &mut Collection, whole: &[u8]) {
    let entries = find_all(whole, b"PK\x01\x02");
    for entry in entries {
        let mut bytes = whole.to_vec();
        bytes[entry] = b'X';
        all.add(
            "directory entry without signature",
            "Directory",
            ARCHIVE,
            bytes,
        );
    }
}

fn find_all(bytes: &[u8], what: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(what.len()).enumerate();
    windows
        .filter(|(_, w)| *w == what)
        .map(|(at, _)| at)
        .collect()
}

fn zip64_ends(all: &mut Collection) {
    let spoils: [(&'static str, Spoil); 12] = [
        ("Zip64", |record, _| record[32] += 1),
        ("Zip64", |record, _| record[40] ^= 1),
        ("Zip64", |record, _| record[48] ^= 1),
        ("Zip64", |record, _| record[0] = b'X'),
        ("Zip64", |record, _| record[4] = 45),
        ("Zip64", |record, _| record.push(0)),
        ("Zip64", |_, locator| locator[8] ^= 1),
        ("Zip64", |_, locator| locator[15] = 0xff),
        ("Zip64", |record, _| record.clear()),
        ("Split", |_, locator| locator[4] = 1),
        ("Split", |_, locator| locator[16] = 2),
        ("Zip64", |record, _| record[16] = 1),
    ];
    for (fault, spoil) in spoils {
        all.archive("zip64 end record at odds", fault, ARCHIVE, |a| {
            a.end.zip64 = Some(spoil);
        });
    }
}

fn layouts(all: &mut Collection) {
    for index in 0..6 {
        for gap in [&b"\0"[..], b"hidden bytes"] {
            let mut archive = Wheel::small().archive();
            if index + 1 == archive.parts.len() {
                continue;
            }
            archive.parts[index + 1].gap = gap.to_vec();
            let name = String::from_utf8(archive.parts[index].central.name.clone()).unwrap();
            all.add("bytes between members", "Gap", &name, archive.bytes());
        }
        // A local header, with bytes, that the directory does not know.
        let mut archive = Wheel::small().archive();
        let mut hidden = Part::new("pkg/hidden.py", b"import os\n");
        hidden.listed = false;
        let name = String::from_utf8(archive.parts[index].central.name.clone()).unwrap();
        archive.parts.insert(index + 1, hidden);
        all.add(
            "member the directory does not list",
            "Gap",
            &name,
            archive.bytes(),
        );
        // The same name twice, the directory listing the second: a front-to-back reader takes the first.
        if index > 0 {
            let mut archive = Wheel::small().archive();
            let mut first = archive.parts[index].clone();
            first.listed = false;
            let before = String::from_utf8(archive.parts[index - 1].central.name.clone()).unwrap();
            archive.parts.insert(index, first);
            all.add("local header repeated", "Gap", &before, archive.bytes());
        }
    }
    overlaps(all);
    offsets(all);
}

fn overlaps(all: &mut Collection) {
    // The first of two stored members holds the whole second one, local header and all.
    let inner = Part::with_method("pkg/inner.py", b"x = 1\n", 0);
    let mut inside = Vec::new();
    local_header(&mut inside, &inner.local);
    inside.extend_from_slice(&inner.body);
    for listed_first in [true, false] {
        let outer = Part::with_method("pkg/outer.bin", &inside, 0);
        let mut nested = inner.clone();
        nested.written = false;
        nested.offset = Some(30 + u32::try_from(outer.local.name.len()).unwrap());
        let mut parts = vec![outer];
        parts.insert(usize::from(listed_first), nested);
        all.add(
            "members that overlap",
            "Overlap",
            "pkg/outer.bin",
            Archive::of(parts).bytes(),
        );
    }
    // Many entries for one local header.
    for copies in [1, 3] {
        let first = Part::new("pkg/a.py", &[0; 5000]);
        let mut again = first.clone();
        (again.written, again.offset) = (false, Some(0));
        let mut parts = vec![first];
        parts.extend(std::iter::repeat_n(again, copies));
        all.add(
            "members that overlap",
            "Overlap",
            "pkg/a.py",
            Archive::of(parts).bytes(),
        );
    }
    // Bytes that reach into the directory.
    let mut archive = Wheel::small().archive();
    let last = archive.parts.last_mut().unwrap();
    last.both(|h| (h.method, h.packed, h.unpacked) = (0, 4000, 4000));
    all.add(
        "bytes that reach into the directory",
        "TooShort",
        "RECORD",
        archive.bytes(),
    );
    let mut archive = Wheel::small().archive();
    archive.parts[0].both(|h| (h.method, h.packed, h.unpacked) = (0, u32::MAX - 1, u32::MAX - 1));
    all.add(
        "bytes that reach into the directory",
        "TooShort",
        "METADATA",
        archive.bytes(),
    );
}

fn offsets(all: &mut Collection) {
    for (mine, other) in [(0, 1), (1, 0), (2, 5), (5, 2)] {
        let mut archive = Wheel::small().archive();
        let sizes = archive
            .parts
            .iter()
            .map(|p| 30 + p.local.name.len() + p.body.len());
        let at: usize = sizes.take(other).sum();
        let part = &mut archive.parts[mine];
        part.offset = Some(u32::try_from(at).unwrap());
        let name = String::from_utf8(part.central.name.clone()).unwrap();
        all.add(
            "offset of another member",
            "LocalDiffers { field: \"name\"",
            &name,
            archive.bytes(),
        );
    }
    for offset in [1, 29, 100_000, u32::MAX - 1] {
        all.part("offset of no local header", "NoLocalHeader", 2, |p| {
            p.offset = Some(offset);
        });
    }
    all.part("offset of no local header", "Extra", 2, |p| {
        p.offset = Some(u32::MAX);
    });
    let huge = extra(1, &u64::MAX.to_le_bytes());
    all.part("offset of no local header", "NoLocalHeader", 2, |p| {
        (p.offset, p.central.extra) = (Some(u32::MAX), huge.clone());
    });
}

#[test]
fn every_hostile_wheel_is_refused_and_the_member_named() {
    let mut all = Collection::default();
    containers(&mut all);
    layouts(&mut all);
    hostile_members::add(&mut all);
    hostile_names::add(&mut all);
    hostile_metadata::add(&mut all);
    hostile_places::add(&mut all);

    let mut faults = Vec::new();
    let mut classes: BTreeMap<&str, usize> = BTreeMap::new();
    for (number, hostile) in all.0.iter().enumerate() {
        let what = format!("#{number} {}", hostile.class);
        *classes.entry(hostile.class).or_default() += 1;
        match judge(&hostile.file_name, hostile.bytes.clone()) {
            Ok(_) => faults.push(format!("{what}: accepted")),
            Err(refusal) => {
                if !refusal.fault.starts_with(hostile.fault) {
                    let expected = hostile.fault;
                    faults.push(format!("{what}: expected {expected}, got {refusal:?}"));
                }
                if !refusal.text.contains(&hostile.named) {
                    let named = &hostile.named;
                    faults.push(format!("{what}: does not name {named}: {}", refusal.text));
                }
                if refusal.text.chars().any(char::is_control) {
                    faults.push(format!(
                        "{what}: raw control characters in {:?}",
                        refusal.text
                    ));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    assert!(all.0.len() >= 200, "only {} hostile wheels", all.0.len());
    assert!(classes.len() >= 40, "only {} classes", classes.len());
}
