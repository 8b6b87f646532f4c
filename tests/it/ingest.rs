//! The engine and the component cache: same components whatever the threads and cache state, refusals that name the
//! member, limits that hold, processes that share work or die.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use bundler::base::archive::Zip;
use bundler::base::digest::Digest;
use bundler::base::progress::Progress;
use bundler::base::segments::{self, Encoding};
use bundler::build::ingest::bytecode::Bytecode;
use bundler::build::ingest::engine::{Engine, Item, Planner, in_memory};
use bundler::build::ingest::store::{Claimed, Ingredients, Store, StoreError, Stored};
use bundler::build::ingest::{Content, IngestError, Plan, PlannedEntry, RecordPlan};
use bundler::formats::component::{ComponentKind, EntryKind, FileFacts};

const SITE: &str = "python/lib/python3.12/site-packages";

/// A zip archive with these members.
fn archive(path: &Path, files: &[(String, Vec<u8>)]) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated);
    for (name, bytes) in files {
        zip.start_file(name.as_str(), options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap();
}

/// Bytes that compress a little, different for each seed.
fn noise(seed: u64, size: usize) -> Vec<u8> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut out = Vec::with_capacity(size + 8);
    while out.len() < size {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&(state & 0x0F0F_0F0F_FFFF_0F0F).to_le_bytes());
    }
    out.truncate(size);
    out
}

fn plan(path: &Path, name: &str, expected: Option<(&str, Digest)>) -> Plan {
    let zip = Arc::new(Zip::open(path).unwrap());
    let mut entries: Vec<_> = zip
        .members()
        .iter()
        .enumerate()
        .filter(|(_, member)| !member.is_dir)
        .map(|(number, member)| PlannedEntry {
            path: format!("{SITE}/{}", member.name),
            mode: 0o644,
            size: member.unpacked,
            content: Content::Member(number),
            expected: expected
                .filter(|(name, _)| *name == member.name)
                .map(|(_, digest)| digest),
        })
        .collect();
    entries.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    Plan {
        name: name.to_owned(),
        version: Some("1".to_owned()),
        kind: ComponentKind::Wheel,
        artifact: Some(Digest::of(name.as_bytes())),
        entries,
        record: Some(RecordPlan {
            path: format!("{SITE}/{name}-1.dist-info/RECORD"),
            site_packages: SITE.to_owned(),
        }),
        archive: Some(zip),
        distribution: None,
        notes: Vec::new(),
    }
}

fn ingredients(name: &str) -> Ingredients {
    Ingredients {
        kind: ComponentKind::Wheel,
        name: name.to_owned(),
        version: Some("1".to_owned()),
        file: None,
        artifact: Digest::of(name.as_bytes()),
        python: "3.12".to_owned(),
        target: None,
        bytecode: Bytecode::None,
        without: Vec::new(),
        options: Vec::new(),
        encoding: Encoding {
            segment_size: 1 << 20,
            ..Encoding::default()
        },
    }
}

fn item(position: usize, ingredients: Ingredients, path: PathBuf) -> Item {
    let name = ingredients.name.clone();
    let planner: Planner = Box::new(move || Ok(plan(&path, &name, None)));
    Item {
        position,
        ingredients,
        size: 1000 - position as u64,
        planner,
    }
}

fn engine(cache: &Path, threads: usize) -> Engine {
    Engine {
        store: Store::new(cache),
        threads: NonZeroUsize::new(threads).unwrap(),
        python: None,
        progress: Progress::silent(),
    }
}

fn run(engine: &Engine, items: Vec<Item>) -> Result<Vec<Stored>, IngestError> {
    let (send, receive) = mpsc::channel();
    items.into_iter().for_each(|item| send.send(item).unwrap());
    drop(send);
    engine.run(receive)
}

/// The tar bytes of a component.
fn tar(stored: &Stored) -> Vec<u8> {
    let (mut blocks, mut piece, mut out) = (Vec::new(), Vec::new(), Vec::new());
    for (number, segment) in stored.component.segments.iter().enumerate() {
        stored.read_segment(number, &mut blocks).unwrap();
        segments::decode_segment(&blocks, segment.unpacked, &mut piece).unwrap();
        out.extend_from_slice(&piece);
    }
    out
}

/// Files of a tar by path.
fn files(tar: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(tar);
    let mut out = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().to_str().unwrap().to_owned();
        let mut bytes = Vec::new();
        std::io::Read::read_to_end(&mut entry, &mut bytes).unwrap();
        assert!(out.insert(path, bytes).is_none());
    }
    out
}

/// What must be equal between two makes: everything but where segments lie in the cached file.
fn essence(stored: &Stored) -> (String, Vec<Vec<u8>>) {
    let mut component = stored.component.clone();
    for segment in &mut component.segments {
        segment.offset = 0;
    }
    let blocks = (0..component.segments.len()).map(|number| {
        let mut blocks = Vec::new();
        stored.read_segment(number, &mut blocks).unwrap();
        blocks
    });
    let blocks = blocks.collect();
    (serde_json::to_string(&component).unwrap(), blocks)
}

/// Three artifacts with small, middle and big files.
fn artifacts(dir: &Path) -> Vec<(String, PathBuf)> {
    (0..3_u64)
        .map(|n| {
            let name = format!("dist{n}");
            let mut files: Vec<(String, Vec<u8>)> = (0..200)
                .map(|i| {
                    let size = (i * 97 % 9000) as usize;
                    (format!("{name}/f{i}.txt"), noise(n * 1000 + i, size))
                })
                .collect();
            files.push((format!("{name}/middle.bin"), noise(n + 7, 1 << 20)));
            if n == 1 {
                files.push((format!("{name}/big.bin"), noise(n + 9, 5 << 20)));
            }
            let path = dir.join(format!("{name}.whl"));
            archive(&path, &files);
            (name, path)
        })
        .collect()
}

fn items(artifacts: &[(String, PathBuf)]) -> Vec<Item> {
    let one =
        |(n, (name, path)): (usize, &(String, PathBuf))| item(n, ingredients(name), path.clone());
    artifacts.iter().enumerate().map(one).collect()
}

#[test]
fn components_are_the_same_for_any_number_of_threads_and_any_cache_state() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = artifacts(dir.path());
    let mut seen = Vec::new();
    for threads in [1, 2, 8] {
        let cache = dir.path().join(format!("cache{threads}"));
        for _ in ["cold", "warm"] {
            let stored = run(&engine(&cache, threads), items(&artifacts)).unwrap();
            seen.push(stored.iter().map(essence).collect::<Vec<_>>());
        }
    }
    assert_eq!(seen[0].len(), 3);
    for other in &seen[1..] {
        assert!(*other == seen[0]);
    }
}

#[test]
fn a_component_holds_the_files_of_its_artifact_and_a_record_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = artifacts(dir.path());
    let stored = run(&engine(dir.path(), 2), items(&artifacts)).unwrap();
    let files = files(&tar(&stored[1]));
    assert_eq!(files.len(), 203);
    let big = &files[&format!("runtime/{SITE}/dist1/big.bin")];
    assert!(*big == noise(10, 5 << 20));
    let record =
        String::from_utf8(files[&format!("runtime/{SITE}/dist1-1.dist-info/RECORD")].clone());
    let record = record.unwrap();
    assert_eq!(record.lines().count(), 203);
    assert!(record.ends_with("dist1-1.dist-info/RECORD,,\n"));
    let row = format!(
        "dist1/big.bin,sha256={},{}\n",
        Digest::of(big).record_form(),
        5 << 20
    );
    assert!(record.contains(&row));
    for entry in &stored[1].component.entries {
        let bytes = &files[&format!("runtime/{}", entry.path)];
        assert_eq!(entry.sha256, Some(Digest::of(bytes)), "{}", entry.path);
    }
}

#[test]
fn bytes_that_are_not_those_of_record_are_refused_by_name() {
    let dir = tempfile::tempdir().unwrap();
    for (name, size) in [("small.txt", 100), ("big.bin", 5 << 20)] {
        let path = dir.path().join("bad.whl");
        archive(&path, &[(name.to_owned(), noise(1, size))]);
        let cache = dir.path().join("cache");
        let mut bad = item(0, ingredients("bad"), path.clone());
        bad.planner = Box::new(move || Ok(plan(&path, "bad", Some((name, Digest::of(b"other"))))));
        let error = run(&engine(&cache, 2), vec![bad]).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains(name) && text.contains("RECORD says"),
            "{text}"
        );
        assert_eq!(left_over(&cache), Vec::<String>::new());
    }
}

/// Names in a cache that are no complete entries.
fn left_over(cache: &Path) -> Vec<String> {
    let Ok(root) = std::fs::read_dir(cache.join("components")) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for entry in root {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let inside = std::fs::read_dir(entry.path()).unwrap().count();
        if name.starts_with('.') && (name != ".claims" || inside > 0) {
            out.push(name);
        }
    }
    out
}

#[test]
fn the_first_error_stops_items_that_are_still_to_come() {
    let dir = tempfile::tempdir().unwrap();
    let (send, receive) = mpsc::channel();
    let mut bad = item(0, ingredients("bad"), PathBuf::new());
    bad.planner = Box::new(|| Err("no wheel".into()));
    send.send(bad).unwrap();
    let began = Instant::now();
    let error = engine(dir.path(), 2).run(receive).unwrap_err();
    assert!(matches!(error, IngestError::Plan { .. }));
    assert!(
        began.elapsed() < Duration::from_secs(20),
        "it waited for more items"
    );
    assert!(
        send.send(item(1, ingredients("next"), PathBuf::new()))
            .is_err()
    );
}

#[test]
fn results_come_in_the_callers_order_whenever_items_arrive() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = artifacts(dir.path());
    let mut items = items(&artifacts);
    items.reverse();
    let (send, receive) = mpsc::channel();
    let sender = std::thread::spawn(move || {
        for item in items {
            std::thread::sleep(Duration::from_millis(30));
            send.send(item).unwrap();
        }
    });
    let stored = engine(dir.path(), 2).run(receive).unwrap();
    sender.join().unwrap();
    let names: Vec<_> = stored.iter().map(|s| s.component.name.as_str()).collect();
    assert_eq!(names, ["dist0", "dist1", "dist2"]);
}

#[test]
fn paths_left_out_change_only_the_segments_that_held_them() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = artifacts(dir.path());
    let path = format!("{SITE}/dist1/f7.txt");
    let less = || Ingredients {
        without: vec![path.clone()],
        ..ingredients("dist1")
    };
    let whole = run(&engine(dir.path(), 2), items(&artifacts)).unwrap();
    let asked = |cache: &Path| {
        let items = vec![item(0, less(), artifacts[1].1.clone())];
        run(&engine(cache, 2), items).unwrap().remove(0)
    };
    let derived = asked(dir.path());
    let made = asked(&dir.path().join("other"));
    assert!(essence(&derived) == essence(&made), "cached whole or not");
    assert_eq!(derived.component.key, less().key());
    assert_ne!(derived.component.id, whole[1].component.id);

    let (old, new) = (essence(&whole[1]).1, essence(&derived).1);
    let changed = old.iter().zip(&new).filter(|(a, b)| a != b).count();
    assert_eq!((old.len(), changed), (new.len(), 1));
    let mut expected = files(&tar(&whole[1]));
    expected.remove(&format!("runtime/{path}")).unwrap();
    assert!(files(&tar(&derived)) == expected);

    let mut wrong = less();
    wrong.without = vec![format!("{SITE}/nothing")];
    let error = run(
        &engine(dir.path(), 1),
        vec![item(0, wrong, artifacts[1].1.clone())],
    );
    assert!(error.unwrap_err().to_string().contains("nothing"));
}

/// A minimal little-endian 64-bit ELF file.
fn elf(kind: u8, size: usize) -> Vec<u8> {
    let mut bytes = vec![0; size.max(256)];
    bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
    (bytes[16], bytes[18], bytes[20]) = (kind, 62, 1);
    (bytes[52], bytes[54], bytes[58]) = (64, 56, 64);
    bytes
}

#[test]
fn elf_programs_of_any_size_get_their_x_bit_and_facts() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("elf.whl");
    let files = [
        ("big_library.so".to_owned(), elf(3, 3 << 20)),
        ("big_program".to_owned(), elf(2, 3 << 20)),
        ("library.so".to_owned(), elf(3, 0)),
        ("program".to_owned(), elf(2, 0)),
    ];
    archive(&path, &files);
    let stored = run(
        &engine(dir.path(), 2),
        vec![item(0, ingredients("elf"), path)],
    )
    .unwrap();
    let component = &stored[0].component;
    let modes: Vec<_> = component.entries.iter().map(|e| e.mode).collect();
    assert_eq!(modes, [0o644, 0o755, 0o644, 0o755, 0o644]);
    let elf_facts = |e: &&bundler::formats::component::Entry| matches!(&e.facts, Some(FileFacts::Elf(facts)) if facts.machine == 62);
    assert_eq!(component.entries.iter().filter(elf_facts).count(), 4);
    let notes: Vec<_> = component.notes.iter().map(|n| n.code.as_str()).collect();
    assert_eq!(notes, ["made-executable", "made-executable"]);
    let mut modes = Vec::new();
    for entry in tar::Archive::new(&tar(&stored[0])[..]).entries().unwrap() {
        modes.push(entry.unwrap().header().mode().unwrap());
    }
    assert_eq!(modes, [0o644, 0o755, 0o644, 0o755, 0o644]);
}

#[test]
fn hard_links_are_compared_with_their_goal() {
    let dir = tempfile::tempdir().unwrap();
    for (second, fine) in [(&b"same"[..], true), (b"else", false)] {
        let path = dir.path().join("links.whl");
        let files = [
            ("a".to_owned(), b"same".to_vec()),
            ("b".to_owned(), second.to_vec()),
        ];
        archive(&path, &files);
        let mut links = item(0, ingredients("links"), path.clone());
        links.planner = Box::new(move || {
            let mut plan = plan(&path, "links", None);
            plan.entries[1].content = Content::Hardlink {
                target: format!("{SITE}/a"),
                member: 1,
            };
            Ok(plan)
        });
        let cache = dir.path().join(format!("{fine}"));
        let result = run(&engine(&cache, 2), vec![links]);
        if fine {
            let component = &result.as_ref().unwrap()[0].component;
            assert!(matches!(
                component.entries[1].kind,
                EntryKind::Hardlink { .. }
            ));
            assert_eq!(component.entries[0].sha256, component.entries[1].sha256);
        } else {
            let text = result.unwrap_err().to_string();
            assert!(text.contains("/b of links"), "{text}");
        }
    }
}

#[test]
fn damaged_entries_are_noticed_and_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = artifacts(dir.path());
    let engine = engine(dir.path(), 2);
    let good: Vec<_> = run(&engine, items(&artifacts))
        .unwrap()
        .iter()
        .map(essence)
        .collect();
    let key = ingredients("dist1").key();
    let folder = dir
        .path()
        .join(format!("components/{}/{key}", &key.to_string()[..2]));
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 6] = [
        ("segments", |p| truncate(p, 1)),
        ("segments", |p| std::fs::remove_file(p).unwrap()),
        ("component.json", |p| truncate(p, 1)),
        ("component.json", flip),
        ("check", |p| std::fs::write(p, b"").unwrap()),
        ("check", |p| std::fs::remove_file(p).unwrap()),
    ];
    for (file, damage) in damages {
        damage(&folder.join(file));
        assert!(engine.store.get(&key).unwrap().is_none(), "{file}");
        let again: Vec<_> = run(&engine, items(&artifacts))
            .unwrap()
            .iter()
            .map(essence)
            .collect();
        assert!(again == good, "{file}");
        assert_eq!(left_over(dir.path()), Vec::<String>::new());
    }
    // Changed bits of the same length are found when the segment is read.
    flip(&folder.join("segments"));
    let stored = engine.store.get(&key).unwrap().unwrap();
    match stored.check() {
        Err(StoreError::Damaged { key: found, .. }) => assert_eq!(found, key),
        other => panic!("{other:?}"),
    }
    assert_eq!(engine.store.verify().unwrap(), [key]);
    let again: Vec<_> = run(&engine, items(&artifacts))
        .unwrap()
        .iter()
        .map(essence)
        .collect();
    assert!(again == good);
    assert_eq!(engine.store.verify().unwrap(), []);
}

fn truncate(path: &Path, less: u64) {
    let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(file.metadata().unwrap().len() - less).unwrap();
}

fn flip(path: &Path) {
    let mut bytes = std::fs::read(path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(path, bytes).unwrap();
}

#[test]
fn pruning_takes_nothing_from_a_reader_and_keeps_what_was_used() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = artifacts(dir.path());
    let engine = engine(dir.path(), 2);
    let stored = run(&engine, items(&artifacts)).unwrap();
    let size = engine.store.size().unwrap();
    assert_eq!(size.components, 3);
    let long_ago = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    assert_eq!(engine.store.prune(long_ago).unwrap().components, 0);
    let later = std::time::SystemTime::now() + Duration::from_secs(1000);
    let pruned = engine.store.prune(later).unwrap();
    assert_eq!((pruned.components, pruned.bytes), (3, size.bytes));
    assert_eq!(engine.store.size().unwrap().components, 0);
    stored.iter().for_each(|s| s.check().unwrap());
}

#[test]
fn a_cache_that_cannot_be_written_still_gives_what_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let artifacts = artifacts(dir.path());
    let cache = dir.path().join("cache");
    run(&engine(&cache, 2), items(&artifacts[..2])).unwrap();
    // A link to nowhere stands for a missing right: root may write anywhere.
    let locked = dir.path().join("locked");
    std::fs::create_dir(&locked).unwrap();
    std::os::unix::fs::symlink("/nonexistent/x", locked.join("components")).unwrap();
    let error = run(&engine(&locked, 2), items(&artifacts[2..])).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("dist2") && text.contains("cannot be written"),
        "{text}"
    );
    assert_eq!(
        run(&engine(&cache, 2), items(&artifacts[..2]))
            .unwrap()
            .len(),
        2
    );
}

#[test]
fn generated_entries_become_a_component_in_memory() {
    let bytes: Arc<[u8]> = b"#!/bin/sh\n".as_slice().into();
    let entry = |path: &str, content| PlannedEntry {
        path: path.to_owned(),
        mode: 0o755,
        size: 10,
        content,
        expected: None,
    };
    let mut link = entry("env", Content::Symlink("bin/x".to_owned()));
    link.mode = 0o777;
    let made = in_memory(
        Plan {
            name: "layout".to_owned(),
            version: None,
            kind: ComponentKind::Layout,
            artifact: None,
            entries: vec![entry("bin/x", Content::Bytes(bytes)), link],
            record: None,
            archive: None,
            distribution: None,
            notes: Vec::new(),
        },
        &Encoding::default(),
    )
    .unwrap();
    assert_eq!(files(&tar(&made))["runtime/bin/x"], b"#!/bin/sh\n");
    assert_eq!(made.component.segments.len(), 1);
}

#[test]
fn a_component_of_a_hundred_thousand_files_is_cut_into_runs() {
    let dir = tempfile::tempdir().unwrap();
    let bytes: Arc<[u8]> = b"x = 1\n".as_slice().into();
    let mut many = item(0, ingredients("many"), PathBuf::new());
    many.planner = Box::new(move || {
        let entries = (0..100_000).map(|n| PlannedEntry {
            path: format!("{SITE}/many/{n:06}.txt"),
            mode: 0o644,
            size: 6,
            content: Content::Bytes(Arc::clone(&bytes)),
            expected: None,
        });
        Ok(Plan {
            name: "many".to_owned(),
            version: None,
            kind: ComponentKind::Wheel,
            artifact: None,
            entries: entries.collect(),
            record: Some(RecordPlan {
                path: format!("{SITE}/many-1.dist-info/RECORD"),
                site_packages: SITE.to_owned(),
            }),
            archive: None,
            distribution: None,
            notes: Vec::new(),
        })
    });
    let stored = run(&engine(dir.path(), 2), vec![many]).unwrap();
    let component = &stored[0].component;
    assert_eq!(component.entries.len(), 100_001);
    // 1,024 bytes of tar each, 1 MiB per segment; RECORD behind.
    let record = &component.entries[100_000];
    let own = (512 + record.size).div_ceil(1 << 20) as usize;
    assert_eq!(component.segments.len(), 98 + own);
}

#[test]
fn a_claim_shows_its_owner_and_whether_it_gets_on() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    let key = Digest::of(b"x");
    let Claimed::Ours(claim) = store.claim(&key).unwrap() else {
        panic!("nobody else is here");
    };
    let owner = || match store.claim(&key).unwrap() {
        Claimed::By(owner) => owner,
        Claimed::Ours(_) => panic!("it is claimed"),
    };
    let first = owner();
    assert_eq!(first.pid(), std::process::id().to_string());
    assert_eq!(owner(), first);
    claim.beat();
    assert_ne!(owner(), first);
    drop(claim);
    assert!(matches!(store.claim(&key).unwrap(), Claimed::Ours(_)));
    assert_eq!(left_over(dir.path()), Vec::<String>::new());
}
