//! Packing: what comes out, that it is the same every time, and that damage stops it.

use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;

use bundler::base::digest::Digest;
use bundler::base::progress::Progress;
use bundler::build::pack::{PackError, pack_parts};
use bundler::formats::bundle::{Announcement, Bundle};
use bundler::formats::bundle_reader::{BundleReader, front_to_back};
use bundler::formats::component::{EntryKind, Layer};
use bundler::formats::manifest::{Complete, LayerFile};
use bundler::formats::segment_table::Part;

use crate::synthetic::{bundle, component, file, parts, request};

#[test]
fn bundle_begins_with_its_description_and_ends_with_its_seal() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), true);
    let bytes = std::fs::read(&packed.path).unwrap();
    let mut entries = front_to_back(&bytes[..]).unwrap();
    let mut paths = Vec::new();
    let mut contents = Vec::new();
    while let Some(entry) = entries.next_entry().unwrap() {
        let content = entries.read_content(1 << 20).unwrap();
        paths.push(entry.path);
        contents.push(content);
    }
    assert_eq!(
        paths[..4],
        ["bundle.json", "files.jsonl", "facts.jsonl", ""]
    );
    assert_eq!(Digest::of(&contents[0]), packed.identity);
    assert_eq!(Bundle::parse(&contents[0]).unwrap(), packed.bundle);
    let complete = Complete::parse(contents.last().unwrap()).unwrap();
    assert_eq!(paths.last().unwrap(), ".complete");
    assert_eq!(complete.entries as usize, paths.len() - 4);
    assert_eq!(complete.files, Digest::of(&contents[1]));
    let [layer] = complete.layers[..] else {
        panic!("one layer is needed: {complete:?}")
    };
    let at = paths
        .iter()
        .position(|p| p.starts_with(".layers/"))
        .unwrap();
    let at = paths[at..]
        .iter()
        .position(|p| *p == format!(".layers/{layer}.json"))
        .unwrap()
        + at;
    assert_eq!(paths[at - 1], "python/lib/empty", "the base's last entry");
    let record = LayerFile::parse(&contents[at]).unwrap();
    assert_eq!(
        (record.layer, record.id, record.entries),
        (Layer::Base, layer, 5)
    );
    assert_eq!(packed.bundle.layers[0].id, layer);
}

#[test]
fn every_segment_decodes_alone_and_holds_what_the_manifest_says() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), true);
    let reader = BundleReader::open(std::fs::File::open(&packed.path).unwrap()).unwrap();
    let described = reader.describe().unwrap();
    assert_eq!(
        (described.identity, &described.bundle),
        (packed.identity, &packed.bundle)
    );
    let mut tar = Vec::new();
    let mut whole = Vec::new();
    for number in 0..reader.table().segments.len() {
        reader.decode(number, &mut tar).unwrap();
        whole.extend_from_slice(&tar);
    }
    let bytes = std::fs::read(&packed.path).unwrap();
    assert!(zstd::decode_all(&bytes[..]).unwrap() == whole);
    let rows = reader.files().unwrap();
    let mut seen = 0;
    for (number, record) in described.bundle.components.iter().enumerate() {
        let mut entries = reader.component(number as u32);
        let mut count = 0;
        while let Some(entry) = entries.next_entry().unwrap() {
            let at = rows
                .binary_search_by(|row| row.path.cmp(&entry.path))
                .unwrap();
            let row = &rows[at];
            assert_eq!(row.origin.as_ref(), Some(&record.name));
            assert_eq!((&row.kind, row.mode), (&entry.kind, entry.mode));
            if entry.kind == EntryKind::File {
                let content = entries.read_content(1 << 20).unwrap();
                assert_eq!(row.sha256, Some(Digest::of(&content)), "{}", row.path);
            }
            count += 1;
        }
        assert_eq!(count, record.entries);
        seen += count;
    }
    let folders = rows.iter().filter(|row| row.kind == EntryKind::Dir).count();
    assert_eq!(
        rows.len() as u64,
        seen + folders as u64 + 2,
        "and the facts and the layer's record"
    );
}

#[test]
fn same_parts_give_the_same_bytes_in_any_folder() {
    let (a, b) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let deep = b.path().join("with blank").join("ü");
    std::fs::create_dir_all(&deep).unwrap();
    let (first, second) = (bundle(a.path(), true), bundle(&deep, true));
    assert_eq!(first.sha256, second.sha256);
    assert_eq!(
        Digest::of(&std::fs::read(&first.path).unwrap()),
        first.sha256
    );
    let again = bundle(a.path(), true);
    assert_eq!((again.path, again.sha256), (first.path, first.sha256));
}

#[test]
fn side_files_tell_digest_and_size() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), false);
    let name = "pointcept-runtime-amd64-cu130.tar.zst";
    assert_eq!(packed.path.file_name().unwrap(), name);
    let [sum, json] = &packed.side_files[..] else {
        panic!("two side files")
    };
    let text = std::fs::read_to_string(sum).unwrap();
    assert_eq!(text, format!("{}  {name}\n", packed.sha256));
    let announced = Announcement::parse(&std::fs::read(json).unwrap()).unwrap();
    assert_eq!(announced.bundle, packed.bundle);
    assert_eq!(
        announced.packed.size,
        std::fs::metadata(&packed.path).unwrap().len()
    );
    assert_eq!(announced.packed.size, packed.size);
    assert_eq!(
        std::fs::read_dir(packed.path.parent().unwrap())
            .unwrap()
            .count(),
        3
    );
}

/// Packs after `harm` was done to the cached segments of the app.
fn pack_harmed(harm: impl Fn(&mut std::fs::File)) -> (PackError, usize) {
    let dir = tempfile::tempdir().unwrap();
    let parts = parts(dir.path(), true);
    let cached = dir.path().join("app.segments");
    let open = std::fs::File::options().read(true).write(true).open(cached);
    harm(&mut open.unwrap());
    let out = dir.path().join("out");
    let error = pack_parts(&parts, &request(&out), &Progress::silent()).unwrap_err();
    (error, std::fs::read_dir(&out).unwrap().count())
}

#[test]
fn damaged_or_short_segments_stop_it_and_leave_nothing() {
    let (error, left) = pack_harmed(|file| {
        file.seek(SeekFrom::Start(30)).unwrap();
        let mut byte = [0];
        file.read_exact(&mut byte).unwrap();
        file.seek(SeekFrom::Start(30)).unwrap();
        file.write_all(&[byte[0] ^ 4]).unwrap();
    });
    assert!(matches!(&error, PackError::Damaged { name, segment: 0, .. } if name == "app 1.0"));
    assert!(error.hint().unwrap().contains("made anew"));
    assert_eq!(left, 0);
    let (error, left) = pack_harmed(|file| file.set_len(40).unwrap());
    assert!(
        matches!(&error, PackError::Read { name, .. } if name == "app 1.0"),
        "{error:?}"
    );
    assert_eq!(left, 0);
}

fn refused(dir: &Path, made: Vec<bundler::build::assemble::Placed>) -> String {
    let error = pack_parts(&made, &request(dir), &Progress::silent()).unwrap_err();
    error.to_string()
}

#[test]
fn refuses_parts_that_do_not_hold_together() {
    let tmp = tempfile::tempdir().unwrap();
    let dir = tmp.path();
    let one =
        |name: &str, layer, path: &str| component(dir, name, layer, vec![file(path, 0o644, "x")]);
    let twice = vec![one("a", Layer::App, "lib/x"), one("b", Layer::App, "lib/x")];
    assert_eq!(refused(dir, twice), r#""lib/x" comes from both a and b"#);
    let under = vec![
        one("a", Layer::App, "lib/x"),
        one("b", Layer::App, "lib/x/y"),
    ];
    assert!(refused(dir, under).starts_with(r#""lib/x" comes from both"#));
    let order = vec![one("a", Layer::App, "a"), one("b", Layer::Base, "b")];
    assert!(refused(dir, order).contains("belongs to the base layer"));
    for path in ["bundle.json", ".complete", "files.jsonl", ".layers/x"] {
        let text = refused(dir, vec![one("a", Layer::App, path)]);
        assert!(text.contains("which packing makes itself"), "{text}");
    }
    let mut cut = one("a", Layer::App, "a");
    let mut component = (*cut.component).clone();
    component.segments.clear();
    cut.component = std::sync::Arc::new(component);
    assert!(refused(dir, vec![cut]).contains("do not hold what its entries take"));
}

#[test]
fn every_truncation_is_an_error_of_our_reader() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), true);
    let bytes = std::fs::read(&packed.path).unwrap();
    let end = bytes.len();
    let cuts = (0..end)
        .step_by(1009)
        .chain((end - 5000..end).step_by(61))
        .chain(end - 20..end);
    for cut in cuts {
        assert!(BundleReader::open(&bytes[..cut]).is_err(), "{cut} by table");
        let read = || -> Result<(), Box<dyn std::error::Error>> {
            let mut entries = front_to_back(&bytes[..cut])?;
            while entries.next_entry()?.is_some() {}
            Ok(())
        };
        assert!(read().is_err(), "{cut} front to back");
    }
}

#[test]
fn changed_bytes_never_pass_for_the_bundle() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), false);
    let bytes = std::fs::read(&packed.path).unwrap();
    for at in (0..bytes.len()).step_by(bytes.len() / 300) {
        let mut bad = bytes.clone();
        bad[at] ^= 0x10;
        let read = || -> Result<(), Box<dyn std::error::Error>> {
            let reader = BundleReader::open(&bad[..])?;
            reader.describe()?;
            reader.files()?;
            let mut tar = Vec::new();
            for number in 0..reader.table().segments.len() {
                reader.decode(number, &mut tar)?;
            }
            Ok(())
        };
        assert!(read().is_err(), "byte {at}");
    }
}

#[test]
fn component_numbers_of_the_table_are_those_of_bundle_json() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), false);
    let reader = BundleReader::open(std::fs::File::open(&packed.path).unwrap()).unwrap();
    let ids: Vec<_> = packed.bundle.components.iter().map(|c| c.id).collect();
    assert_eq!(reader.table().components, ids);
    for number in 0..ids.len() as u32 {
        assert!(!reader.segments_of(Part::Component(number)).is_empty());
    }
    assert_eq!(reader.segments_of(Part::Layer).len(), 1);
    assert_eq!(reader.segments_of(Part::Component(99)), 0..0);
}
