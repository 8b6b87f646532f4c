//! Hostile and honest tar archives, written block by block.

use std::io::Write;

use super::*;

/// One header and body, written plainly so that every field can be wrong.
fn member(name: &str, kind: u8, goal: &str, body: &[u8]) -> Vec<u8> {
    sized(name, kind, goal, body, body.len() as u64)
}

fn sized(name: &str, kind: u8, goal: &str, body: &[u8], size: u64) -> Vec<u8> {
    let mut header = ::tar::Header::new_ustar();
    let block = header.as_mut_bytes();
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[157..157 + goal.len()].copy_from_slice(goal.as_bytes());
    header.set_entry_type(::tar::EntryType::new(kind));
    header.set_mode(0o4755);
    header.set_size(size);
    header.set_cksum();
    let mut out = header.as_bytes().to_vec();
    out.extend_from_slice(body);
    out.resize(out.len().next_multiple_of(BLOCK), 0);
    out
}

fn pax(records: &[(&str, &str)]) -> Vec<u8> {
    let mut body = Vec::new();
    for (key, value) in records {
        let rest = format!(" {key}={value}\n");
        let mut length = rest.len() + 1;
        while length != rest.len() + length.to_string().len() {
            length += 1;
        }
        write!(body, "{length}{rest}").unwrap();
    }
    member("x", b'x', "", &body)
}

fn archive(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut out = parts.concat();
    out.resize(out.len() + 2 * BLOCK, 0);
    out
}

fn read(bytes: &[u8]) -> Result<Vec<(Member, Vec<u8>)>, TarError> {
    let limits = Limits {
        members: 50,
        bytes: 10_000,
    };
    let left_out = |path: &str| path.starts_with("share/terminfo/");
    let mut tar = Tar::new("x.tar", bytes, limits, &left_out);
    let mut out = Vec::new();
    while let Some(member) = tar.next_member()? {
        let body = tar.read_body()?;
        out.push((member, body));
    }
    Ok(out)
}

#[track_caller]
fn fault(bytes: &[u8]) -> TarFault {
    match read(bytes).unwrap_err() {
        TarError::Archive { source, .. } | TarError::Member { source, .. } => source,
        other => panic!("{other:?}"),
    }
}

#[test]
fn reads_files_folders_and_links_and_no_other_bit() {
    let long = "d/".repeat(60) + "file";
    let bytes = archive(&[
        member("./", b'5', "", b""),
        pax(&[("path", &long), ("comment", "a=b")]),
        member("short", b'0', "", b"body"),
        member("y", b'L', "", format!("{long}2\0").as_bytes()),
        member("short", b'0', "", b""),
        member("./bin/", b'5', "", b""),
        member("bin/a", b'0', "", &[7; 513]),
        member("bin/b", b'1', "bin/a", b""),
        member("bin/c", b'2', "../bin/a", b""),
        member("share/terminfo/N", b'0', "", b"1"),
        member("share/terminfo/n", b'0', "", b"2"),
    ]);
    let members = read(&bytes).unwrap();
    let paths: Vec<&str> = members.iter().map(|(m, _)| m.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            ".",
            &long,
            &format!("{long}2"),
            "bin",
            "bin/a",
            "bin/b",
            "bin/c"
        ]
    );
    assert_eq!(members[1].1, b"body");
    assert_eq!(members[4].1, [7; 513]);
    assert!(members[4].0.executable);
    assert_eq!(members[5].0.kind, Kind::Hardlink("bin/a".into()));
    assert_eq!(members[6].0.kind, Kind::Symlink("../bin/a".into()));
}

#[test]
fn refuses_names_links_and_types() {
    use crate::base::archive::links::LinkFault;
    use crate::base::archive::name::NameFault;
    let one = |name, kind, goal| {
        fault(&archive(&[
            member("f", b'0', "", b"1"),
            member(name, kind, goal, b""),
        ]))
    };
    assert_eq!(one("/etc/x", b'0', ""), TarFault::Name(NameFault::Absolute));
    assert_eq!(one("a/../b", b'0', ""), TarFault::Name(NameFault::Parent));
    assert_eq!(one("f", b'0', ""), TarFault::Name(NameFault::Duplicate));
    assert_eq!(
        one("F", b'0', ""),
        TarFault::Name(NameFault::FoldsLike("f".into()))
    );
    assert_eq!(
        one("f/x", b'0', ""),
        TarFault::Name(NameFault::FileAndFolder("f".into()))
    );
    assert_eq!(one("a/", b'0', ""), TarFault::FileWithSlash);
    for kind in *b"34678SVM" {
        assert_eq!(one("a", kind, ""), TarFault::Type(kind));
    }
    assert_eq!(
        one("a", b'2', "/etc"),
        TarFault::Link("/etc".into(), LinkFault::Absolute)
    );
    assert_eq!(
        one("a/b", b'2', "../../x"),
        TarFault::Link("../../x".into(), LinkFault::Leaves)
    );
    assert_eq!(one("a", b'1', "a"), TarFault::NoSuchFile("a".into()));
    assert_eq!(
        one("a", b'1', "later"),
        TarFault::NoSuchFile("later".into())
    );
    assert_eq!(
        one("a", b'1', "../../etc/passwd"),
        TarFault::Name(NameFault::Parent)
    );
    let astray = archive(&[
        member("s/here", b'2', ".", b""),
        member("up", b'2', "s/here/../..", b""),
    ]);
    assert_eq!(fault(&astray), TarFault::Leads(LinkFault::Leaves));
    let through = archive(&[
        member("foo", b'2', "bar", b""),
        member("foo/", b'5', "", b""),
    ]);
    assert!(matches!(
        fault(&through),
        TarFault::Name(NameFault::FileAndFolder(_))
    ));
}

#[test]
fn refuses_what_programs_read_differently() {
    let file = || member("f", b'0', "", b"0123456789abcdef");
    for (parts, expected) in [
        (
            vec![pax(&[("size", "2048")]), file()],
            "its size is not that of the header, so programs read it differently",
        ),
        (
            vec![pax(&[("size", "+16")]), file()],
            "its size is no number",
        ),
        (
            vec![pax(&[("path", "a"), ("path", "b")]), file()],
            "something is said twice",
        ),
        (
            vec![pax(&[("path", "a")]), member("y", b'L', "", b"b\0"), file()],
            "something is said twice",
        ),
        (
            vec![pax(&[]), pax(&[]), file()],
            "it is the second of its kind",
        ),
        (
            vec![member("x", b'g', "", b"10 path=a\n"), file()],
            "it speaks of all members at once",
        ),
        (
            vec![pax(&[("GNU.sparse.major", "1")]), file()],
            "sparse files have no place here",
        ),
        (
            vec![member("y", b'L', "", b"a\0b\0"), file()],
            "the long name has a NUL",
        ),
        (
            vec![member("x", b'x', "", b"99 path=a\n"), file()],
            "a record of it cannot be read",
        ),
    ] {
        assert_eq!(fault(&archive(&parts)), TarFault::Extension(expected));
    }
    assert_eq!(
        fault(&archive(&[pax(&[("path", "a")])])),
        TarFault::Dangling
    );
    let half = [vec![0; BLOCK], archive(&[file()])].concat();
    assert_eq!(fault(&half), TarFault::HalfEnd);
    assert_eq!(
        fault(&[archive(&[]), archive(&[file()])].concat()),
        TarFault::BehindEnd
    );
    assert_eq!(
        fault(&archive(&[member("d/", b'5', "", b"bytes")])),
        TarFault::Body
    );
    read(&archive(&[
        member("x", b'g', "", b"18 comment=0123ab\n"),
        file(),
    ]))
    .unwrap();
    read(&archive(&[pax(&[("size", "16")]), file()])).unwrap();
    read(&archive(&[
        pax(&[("size", "16")]),
        sized("f", b'0', "", &[1; 16], 0),
    ]))
    .unwrap();
}

#[test]
fn a_cut_damaged_or_oversized_archive_is_refused() {
    let whole = archive(&[member("f", b'0', "", &[1; 600])]);
    for cut in 1..whole.len() {
        assert_eq!(fault(&whole[..cut]), TarFault::Cut, "{cut}");
    }
    assert_eq!(fault(b""), TarFault::NoTar("an empty file".into()));
    let other = [&[0xca, 0xfe, 0xba, 0xbe][..], &[0xff; 600]].concat();
    assert_eq!(
        fault(&other),
        TarFault::NoTar("bytes that begin with ca fe ba be ff ff ff ff".into())
    );
    let mut damaged = whole.clone();
    damaged[3] ^= 1;
    assert_eq!(fault(&damaged), TarFault::Checksum);
    let many: Vec<_> = (0..51)
        .map(|n| member(&n.to_string(), b'0', "", b""))
        .collect();
    assert_eq!(fault(&archive(&many)), TarFault::TooMany(50));
    let huge = archive(&[sized("f", b'0', "", b"", 1 << 60)]);
    assert_eq!(fault(&huge), TarFault::TooLarge(10_000));
}

#[test]
fn each_packing_is_read_and_a_second_stream_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let plain = archive(&[member("f", b'0', "", b"text"), member("g", b'1', "f", b"")]);
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&plain).unwrap();
    let gzip = encoder.finish().unwrap();
    let file = dir.path().join("x");
    let all = |bytes: &[u8]| {
        crate::base::fs::write(&file, bytes).unwrap();
        read_all(&file, Limits::default(), &|_| false)
    };
    for packed in [&plain, &gzip] {
        let held = all(packed).unwrap();
        assert_eq!(held.len(), 2);
        assert!(held.iter().all(|h| &*h.bytes == b"text"));
    }
    assert!(matches!(
        all(&[&gzip[..], &gzip].concat()),
        Err(TarError::Archive {
            source: TarFault::SecondStream,
            ..
        })
    ));
    assert!(all(&gzip[..gzip.len() - 4]).is_err(), "a cut checksum");
    assert!(all(b"").is_err());
    assert!(all(b"PK\x03\x04").is_err());
}
