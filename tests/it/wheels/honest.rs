//! Sound wheels in all the forms that packing tools give them: each is taken, and what is unusual is told.

use bundler::base::archive::Zip;
use bundler::base::digest::Digest;
use bundler::build::ingest::{Content, Plan, PlannedEntry};

use super::forge::{Archive, Descriptor, Part, Wheel, extra};
use super::judge;

fn taken(what: &str, archive: &Archive) -> Plan {
    let bytes = archive.bytes();
    match judge("pkg-1.0-py3-none-any.whl", bytes) {
        Ok(plan) => plan,
        Err(refusal) => panic!("{what}: {refusal:?}"),
    }
}

fn changed(what: &str, change: impl Fn(&mut Archive)) -> Plan {
    let mut archive = Wheel::small().archive();
    change(&mut archive);
    taken(what, &archive)
}

fn codes(plan: &Plan) -> Vec<&str> {
    plan.notes.iter().map(|note| note.code.as_str()).collect()
}

/// The member `pkg/mod.py`.
fn module(archive: &mut Archive) -> &mut Part {
    &mut archive.parts[3]
}

#[test]
fn takes_stored_deflated_and_zstd_members_and_tells_of_the_last() {
    for method in [0, 8, 93] {
        let mut parts = Wheel::small().parts();
        for part in &mut parts {
            let name = String::from_utf8(part.local.name.clone()).unwrap();
            let file = Wheel::small().files.into_iter().find(|f| f.0 == name);
            if let Some((_, data, _)) = file {
                *part = Part::with_method(&name, &data, method);
            }
        }
        let plan = taken("methods", &Archive::of(parts));
        let expected: &[&str] = if method == 93 { &["zip-zstd"] } else { &[] };
        assert_eq!(codes(&plan), expected);
    }
}

#[test]
fn takes_every_form_of_data_descriptor() {
    for signature in [true, false] {
        for form in [
            Descriptor::Narrow { signature },
            Descriptor::Wide { signature },
        ] {
            let plan = changed("streamed", |a| {
                for part in &mut a.parts {
                    *part = part.clone().stream(form.clone());
                }
            });
            assert_eq!(codes(&plan), [""; 0]);
            changed("streamed with sizes in front", |a| {
                let part = module(a);
                let sizes = part.local.clone();
                *part = part.clone().stream(form.clone());
                (part.local.packed, part.local.unpacked) = (sizes.packed, sizes.unpacked);
            });
        }
        let part = Part::with_method("pkg/stored.bin", b"no signature in here", 0);
        let archive = Archive::of(vec![part.stream(Descriptor::Narrow { signature })]);
        Zip::from_bytes("stored", archive.bytes()).unwrap();
    }
}

#[test]
fn takes_zip64_fields_wherever_they_are_needed_or_usual() {
    let sizes = |part: &Part| {
        let sizes = [part.central.unpacked, part.central.packed].map(u64::from);
        sizes.map(u64::to_le_bytes).concat()
    };
    changed("zip64 sizes in the local header only", |a| {
        let part = module(a);
        part.local.extra = extra(1, &sizes(part));
        (part.local.unpacked, part.local.packed) = (u32::MAX, u32::MAX);
    });
    changed("zip64 field beside true sizes", |a| {
        let part = module(a);
        part.local.extra = extra(1, &sizes(part));
    });
    changed("zip64 sizes in both", |a| {
        let part = module(a);
        let field = extra(1, &sizes(part));
        part.both(|h| (h.extra, h.unpacked, h.packed) = (field.clone(), u32::MAX, u32::MAX));
    });
    changed("zip64 streamed, empty sizes in front", |a| {
        let part = module(a);
        *part = part.clone().stream(Descriptor::Wide { signature: true });
        part.local.extra = extra(1, &[0; 16]);
        (part.local.unpacked, part.local.packed) = (u32::MAX, u32::MAX);
    });
    changed("zip64 offset", |a| {
        let offset: usize = a.parts[..3]
            .iter()
            .map(|p| 30 + p.local.name.len() + p.body.len())
            .sum();
        let part = module(a);
        part.offset = Some(u32::MAX);
        part.central.extra = extra(1, &(offset as u64).to_le_bytes());
    });
    changed("zip64 end", |a| a.end.zip64 = Some(|_, _| {}));
    changed("zip64 end, the plain one says see there", |a| {
        a.end.zip64 = Some(|_, _| {});
        (a.end.count, a.end.size, a.end.start) = (Some(u16::MAX), Some(u32::MAX), Some(u32::MAX));
    });
}

#[test]
fn takes_a_comment_and_trailing_zeros_and_tells_of_them() {
    let plan = changed("comment", |a| a.end.comment = b"made by hand".to_vec());
    assert_eq!(codes(&plan), ["zip-comment"]);
    let plan = changed("padding", |a| a.end.after = vec![0; 4096]);
    assert_eq!(codes(&plan), ["zip-padding"]);
    let plan = changed("both", |a| {
        (a.end.comment, a.end.after) = (b"PK and\0zeros\0".to_vec(), vec![0; 3]);
    });
    assert_eq!(codes(&plan), ["zip-comment", "zip-padding"]);
}

#[test]
fn takes_folders_unicode_names_and_fields_other_tools_write() {
    changed("folders", |a| {
        a.parts.insert(0, Part::folder("pkg/"));
        a.parts.push(Part::folder("pkg/empty/"));
    });
    changed("fields of time and owner", |a| {
        let part = module(a);
        part.both(|h| h.extra = [extra(0x5455, &[1; 5]), extra(0x7875, &[1; 11])].concat());
        part.local.extra.extend_from_slice(&[0, 0, 0]);
        part.file_comment = b"a comment".to_vec();
    });
    changed("the same name in an extra field", |a| {
        let body = [&[1, 0, 0, 0, 0][..], b"pkg/mod.py"].concat();
        module(a).both(|h| h.extra = extra(0x7075, &body));
    });
    changed("made on another system", |a| {
        (module(a).made_by, module(a).external) = (20, 0x20);
    });
    changed("hints on the deflate level", |a| {
        module(a).both(|h| h.flags |= 0b110);
    });
    let wheel = Wheel::small()
        .file("pkg/ü 日本, \"x\".py", b"")
        .file("pkg/emptyfile", b"");
    let plan = taken("unicode", &wheel.archive());
    assert!(
        plan.entries
            .iter()
            .any(|e| e.path.ends_with("pkg/ü 日本, \"x\".py"))
    );
}

#[test]
fn takes_a_wheel_inside_a_wheel() {
    let inner = Wheel::new("inner", "2").archive().bytes();
    let mut parts = Wheel::small().parts();
    parts.pop();
    let wheel = Wheel::small().file("pkg/zz_inner.whl", &inner);
    parts.push(Part::with_method("pkg/zz_inner.whl", &inner, 0));
    parts.push(Part::new(&wheel.record_path(), &wheel.record()));
    taken("stored wheel", &Archive::of(parts));
}

#[test]
fn an_archive_without_members_is_an_archive() {
    let zip = Zip::from_bytes("empty.zip", Archive::default().bytes()).unwrap();
    assert!(zip.members().is_empty() && zip.notes().is_empty());
}

#[test]
fn left_out_members_may_collide_but_are_checked_otherwise() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.zip");
    let open = |archive: &Archive| {
        bundler::base::fs::write(&path, &archive.bytes()).unwrap();
        Zip::open_without(&path, |name| name.starts_with("share/terminfo/"))
    };
    let names = ["share/terminfo/n/x", "share/terminfo/N/x", "lib/a.py"];
    let mut archive = Archive::of(names.map(|n| Part::new(n, b"data")).to_vec());
    let zip = open(&archive).unwrap();
    assert_eq!(zip.members().len(), 1);
    assert_eq!(zip.read_whole(0, 10).unwrap(), b"data");
    archive.parts[1].local.crc32 ^= 1;
    assert!(open(&archive).is_err());
}

/// Paths, digests and sizes, read from the members themselves.
fn content(plan: &Plan) -> Vec<(String, Digest)> {
    let zip = plan.archive.as_ref().unwrap();
    let digest = |entry: &PlannedEntry| match &entry.content {
        Content::Member(index) => Digest::of(&zip.read_whole(*index, 1 << 20).unwrap()),
        Content::Bytes(bytes) => Digest::of(bytes),
        other => panic!("{other:?}"),
    };
    let entries = plan.entries.iter();
    entries.map(|e| (e.path.clone(), digest(e))).collect()
}

#[test]
fn a_changed_byte_anywhere_is_refused_or_changes_no_content() {
    let mut archive = Wheel::small().archive();
    module(&mut archive).both(|h| h.extra = extra(0x5455, &[1; 5]));
    archive.parts[4] = archive.parts[4]
        .clone()
        .stream(Descriptor::Wide { signature: false });
    archive.end.zip64 = Some(|_, _| {});
    archive.end.comment = b"comment".to_vec();
    let whole = archive.bytes();
    let name = "pkg-1.0-py3-none-any.whl";
    let before = content(&judge(name, whole.clone()).unwrap());
    let (mut refused, mut taken) = (0, 0);
    for at in 0..whole.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            match judge(name, bytes) {
                Err(_) => refused += 1,
                Ok(plan) => {
                    assert_eq!(content(&plan), before, "byte {at} ^ {change:#x}");
                    taken += 1;
                }
            }
        }
    }
    // Times, versions, comments and permission bits may differ; the rest may not.
    assert!(refused > 4 * taken, "{refused} refused, {taken} taken");
}
