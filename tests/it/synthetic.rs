//! Components made up for tests: entries with bytes at hand, packed the way ingest packs them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bundler::base::digest::Digest;
use bundler::base::fs::File;
use bundler::base::progress::Progress;
use bundler::base::segments::{self, Encoding};
use bundler::build::assemble::Placed;
use bundler::build::ingest::store::Backing;
use bundler::build::pack::{PackRequest, PackedBundle, pack_parts};
use bundler::formats::bundle::BundleFacts;
use bundler::formats::component::{
    Component, ComponentKind, Entry, EntryKind, Layer, SegmentRef, component_id,
};
use bundler::formats::floor::Floor;
use bundler::formats::tar_entry;

/// Small segments, so that small files span several.
pub const ENCODING: Encoding = Encoding {
    level: 3,
    window_log: 21,
    segment_size: 128 << 10,
};

/// An entry and its bytes.
pub fn file(path: &str, mode: u32, bytes: impl Into<Vec<u8>>) -> (Entry, Vec<u8>) {
    let bytes = bytes.into();
    let entry = Entry {
        path: path.to_owned(),
        kind: EntryKind::File,
        mode,
        size: bytes.len() as u64,
        sha256: Some(Digest::of(&bytes)),
        facts: None,
    };
    (entry, bytes)
}

/// A symbolic link.
pub fn symlink(path: &str, target: &str) -> (Entry, Vec<u8>) {
    let (mut entry, bytes) = file(path, 0o777, Vec::new());
    let target = target.to_owned();
    entry.kind = EntryKind::Symlink { target };
    entry.sha256 = None;
    (entry, bytes)
}

/// Another name of an earlier file.
pub fn hardlink(path: &str, target: &(Entry, Vec<u8>)) -> (Entry, Vec<u8>) {
    let mut entry = target.0.clone();
    entry.kind = EntryKind::Hardlink {
        target: entry.path.clone(),
    };
    entry.path = path.to_owned();
    (entry, Vec::new())
}

/// Bytes that compress about as well as programs do, different for each seed.
pub fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let word = state.to_le_bytes();
        out.extend_from_slice(if state.is_multiple_of(3) {
            &word
        } else {
            b"mov rax, rbx; "
        });
    }
    out.truncate(len);
    out
}

/// A component whose segments lie in `dir`.
pub fn component(dir: &Path, name: &str, layer: Layer, made: Vec<(Entry, Vec<u8>)>) -> Placed {
    let mut tars = vec![Vec::new()];
    for (entry, bytes) in &made {
        let header = tar_entry::header(&entry.path, &entry.kind, entry.mode, entry.size).unwrap();
        let padding = tar_entry::padding(bytes.len() as u64);
        let limit = ENCODING.segment_size as usize;
        if tars.last().unwrap().len() + header.len() > limit {
            tars.push(Vec::new());
        }
        tars.last_mut().unwrap().extend(header);
        for block in [&bytes[..], &vec![0; padding]].concat().chunks(512) {
            if tars.last().unwrap().len() == limit {
                tars.push(Vec::new());
            }
            tars.last_mut().unwrap().extend(block);
        }
    }
    let mut packed = b"junk before".to_vec();
    let mut refs = Vec::new();
    for tar in tars.iter().filter(|tar| !tar.is_empty()) {
        let offset = packed.len() as u64;
        let len = segments::encode(&ENCODING, tar, &mut packed).unwrap();
        refs.push(SegmentRef {
            offset,
            packed: len,
            unpacked: tar.len() as u64,
            xxh3: segments::xxh3(&packed[offset as usize..]),
        });
    }
    let path = dir.join(format!("{name}.segments"));
    std::fs::write(&path, packed).unwrap();
    let entries: Vec<Entry> = made.into_iter().map(|(entry, _)| entry).collect();
    Placed {
        component: Arc::new(Component {
            key: Digest::of(name.as_bytes()),
            id: component_id(&entries),
            name: name.to_owned(),
            version: Some("1.0".to_owned()),
            kind: ComponentKind::Wheel,
            artifact: Some(Digest::of(name.as_bytes())),
            entries,
            segments: refs,
            distribution: None,
            notes: Vec::new(),
        }),
        layer,
        segments: Backing::File {
            file: Arc::new(File::open(&path).unwrap()),
            path,
        },
        source: Some("index".to_owned()),
    }
}

/// Three components with everything a tree can hold: programs, links, empty files, files that span segments, paths and
/// link targets past ustar's fields, names that are not ASCII.
pub fn parts(dir: &Path, long_paths: bool) -> Vec<Placed> {
    let library = file("python/lib/libpython.so", 0o755, noise(1, 700_000));
    let again = hardlink("python/lib/libpython.so.1", &library);
    let python = vec![
        file("python/bin/python3", 0o755, noise(2, 3000)),
        symlink("python/bin/python", "python3"),
        library,
        again,
        file("python/lib/empty", 0o644, ""),
    ];
    let mut app = vec![
        file("python/lib/site/naïve/日本.py", 0o644, "print('ü')\n"),
        file("python/lib/site/with blank 'and quote'.py", 0o644, "pass\n"),
        file("python/lib/site/zeros", 0o644, vec![0; 300_000]),
        file(
            &format!(
                "python/lib/site/{}/{}.h",
                "d".repeat(100),
                "split".repeat(19)
            ),
            0o644,
            "by ustar's prefix\n",
        ),
    ];
    if long_paths {
        let long = format!("python/lib/site/{}", "long".repeat(50));
        app.push(file(&long, 0o644, noise(3, 1000)));
        app.push(symlink("python/lib/site/to-long", &"long".repeat(50)));
    }
    let many = (0..300).map(|i| {
        let path = format!("src/many/{i:03}.txt");
        file(&path, 0o644, noise(100 + i, (i as usize * 37) % 2000))
    });
    vec![
        component(dir, "cpython", Layer::Base, python),
        component(dir, "app", Layer::App, app),
        component(dir, "source", Layer::App, many.collect()),
    ]
}

/// What packing is told.
pub fn request(out_dir: &Path) -> PackRequest {
    let target: bundler::base::target::Target = "amd64-cu130".parse().unwrap();
    PackRequest {
        facts: BundleFacts {
            name: "pointcept-runtime".to_owned(),
            version: "1.0".to_owned(),
            target: target.into(),
            python: "3.12.1".to_owned(),
            torch: None,
            cuda: None,
            cuda_arch: None,
            coverage: Vec::new(),
            floor: Floor::default(),
            host_needs: Vec::new(),
            shims: Vec::new(),
            source: None,
        },
        recipe: None,
        lock: None,
        encoding: ENCODING,
        out_dir: out_dir.to_owned(),
    }
}

/// The bundle of [`parts`], in `dir`.
pub fn bundle(dir: &Path, long_paths: bool) -> PackedBundle {
    let parts = parts(dir, long_paths);
    pack_parts(&parts, &request(&dir.join("out")), &Progress::silent()).unwrap()
}

/// A program the tests need; a missing one fails the test that needs it.
pub fn program(name: &str) -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path)
        .map(|dir| dir.join(name))
        .find(|path| path.is_file())
        .unwrap_or_else(|| panic!("this test needs the program `{name}`: tests/run installs it"))
}
