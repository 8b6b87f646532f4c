//! Several processes on one component cache, and the memory of one. The helper process is this test program itself.

use std::io::Write as _;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use bundler::base::archive::Zip;
use bundler::base::digest::Digest;
use bundler::base::progress::Progress;
use bundler::base::segments::Encoding;
use bundler::build::ingest::bytecode::Bytecode;
use bundler::build::ingest::engine::{Engine, Item};
use bundler::build::ingest::store::{Ingredients, Store};
use bundler::build::ingest::{Content, Plan, PlannedEntry, RecordPlan};
use bundler::formats::component::ComponentKind;

const HELPER: &str = "BUNDLER_TEST_INGEST";

/// Ingests the archives of a folder into the cache beside it; says which plans it made and what came out.
fn ingest(folder: &Path) -> String {
    let mut archives: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|e| e == "whl"))
        .collect();
    archives.sort();
    let engine = Engine {
        store: Store::new(&folder.join("cache")),
        threads: NonZeroUsize::new(2).unwrap(),
        python: None,
        progress: Progress::silent(),
    };
    let (send, receive) = mpsc::channel();
    for (position, path) in archives.into_iter().enumerate() {
        send.send(item(position, path)).unwrap();
    }
    drop(send);
    let stored = match engine.run(receive) {
        Ok(stored) => stored,
        Err(error) => {
            let mut text = format!("error: {error}\n");
            let mut cause = std::error::Error::source(&error);
            while let Some(error) = cause {
                text.push_str(&format!("  caused by: {error}\n"));
                cause = error.source();
            }
            return text;
        }
    };
    let mut out = String::new();
    for one in &stored {
        one.check().unwrap();
        out.push_str(&format!("{} {}\n", one.component.name, one.component.id));
    }
    out
}

fn item(position: usize, path: PathBuf) -> Item {
    let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
    let artifact = Digest::of(name.as_bytes());
    Item {
        position,
        ingredients: Ingredients {
            kind: ComponentKind::Wheel,
            name: name.clone(),
            version: None,
            file: None,
            artifact,
            python: "3.12".to_owned(),
            target: None,
            bytecode: Bytecode::None,
            without: Vec::new(),
            options: Vec::new(),
            encoding: Encoding::default(),
        },
        size: 1,
        planner: Box::new(move || {
            // One write: lines of two threads do not mix.
            std::io::stderr()
                .write_all(format!("planned {name}\n").as_bytes())
                .unwrap();
            let zip = Arc::new(Zip::open(&path)?);
            let entries = zip.members().iter().enumerate().map(|(n, m)| PlannedEntry {
                path: format!("site/{}", m.name),
                mode: 0o644,
                size: m.unpacked,
                content: Content::Member(n),
                expected: None,
            });
            let mut entries: Vec<_> = entries.collect();
            entries.sort_by(|a, b| a.path.cmp(&b.path));
            Ok(Plan {
                name: name.clone(),
                version: None,
                kind: ComponentKind::Wheel,
                artifact: Some(artifact),
                entries,
                record: Some(RecordPlan {
                    path: format!("site/{name}.dist-info/RECORD"),
                    site_packages: "site".to_owned(),
                }),
                archive: Some(zip),
                distribution: None,
                notes: Vec::new(),
            })
        }),
    }
}

#[test]
fn the_helper_process_of_other_tests() {
    if let Some(folder) = std::env::var_os(HELPER) {
        let made = ingest(Path::new(&folder));
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let peak = status.lines().find(|l| l.starts_with("VmHWM:")).unwrap();
        std::io::stderr()
            .write_all(format!("{made}{peak}\n").as_bytes())
            .unwrap();
    }
}

fn helper(folder: &Path) -> Child {
    start(Command::new(std::env::current_exe().unwrap()), folder)
}

/// A helper that can write no file of more than so many blocks of 512 bytes, as on a full disk.
fn limited_helper(folder: &Path, blocks: u32) -> Child {
    let mut shell = Command::new("sh");
    // An ignored signal stays ignored: the write fails instead.
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    shell
        .args(["-c", &script])
        .arg(std::env::current_exe().unwrap());
    start(shell, folder)
}

fn start(mut command: Command, folder: &Path) -> Child {
    command
        .args([
            "--exact",
            "ingest_processes::the_helper_process_of_other_tests",
        ])
        .args(["--nocapture", "--test-threads=1"])
        .env(HELPER, folder)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// What a helper said, when it ended well.
fn said(child: Child) -> String {
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{text}");
    text
}

fn archive(path: &Path, members: &[(&str, u64)]) {
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).unwrap());
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .large_file(false);
    let zeros = vec![0; 1 << 20];
    for (name, size) in members {
        zip.start_file(*name, options).unwrap();
        let mut left = *size as usize;
        while left > 0 {
            let len = left.min(zeros.len());
            zip.write_all(&zeros[..len]).unwrap();
            left -= len;
        }
    }
    zip.finish().unwrap();
}

fn folder_of_three() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for name in ["one", "two", "three"] {
        let members = [("a", 9 << 20), ("b", 1000), ("c", 40 << 20)];
        archive(&dir.path().join(format!("{name}.whl")), &members);
    }
    dir
}

#[test]
fn memory_stays_bounded_whatever_a_member_unpacks_to() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bomb.whl");
    archive(&path, &[("huge", 1 << 30), ("middle", 30 << 20)]);
    let packed = std::fs::metadata(&path).unwrap().len();
    assert!(packed < 4 << 20, "{packed}");
    let text = said(helper(dir.path()));
    let peak = text.lines().find_map(|l| l.strip_prefix("VmHWM:")).unwrap();
    let peak: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    assert!(peak < 400 << 10, "{peak} KiB");
}

#[test]
fn two_processes_at_once_do_the_work_once() {
    let dir = folder_of_three();
    let texts: Vec<_> = [helper(dir.path()), helper(dir.path())]
        .into_iter()
        .map(said)
        .collect();
    let planned = |text: &String| text.lines().filter(|l| l.starts_with("planned")).count();
    assert_eq!(texts.iter().map(planned).sum::<usize>(), 3, "{texts:?}");
    let made = |text: &str| {
        let lines = text.lines().filter(|l| !l.starts_with("planned"));
        let lines = lines.filter(|l| !l.starts_with("VmHWM"));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(made(&texts[0]), made(&texts[1]));
    assert_eq!(made(&texts[0]).len(), 3);
}

/// Names in the cache that are neither entries nor the folder of claims.
fn left_over(store: &Store) -> Vec<String> {
    let names = std::fs::read_dir(store.root()).unwrap();
    names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with('.') && name != ".claims")
        .collect()
}

#[test]
fn a_write_that_fails_gives_one_message_and_leaves_nothing_half_made() {
    let dir = tempfile::tempdir().unwrap();
    let mut state = 1_u64;
    let noise: Vec<u8> = (0..3 << 20)
        .map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 56) as u8
        })
        .collect();
    let mut zip = zip::ZipWriter::new(std::fs::File::create(dir.path().join("one.whl")).unwrap());
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    zip.start_file("noise", stored).unwrap();
    zip.write_all(&noise).unwrap();
    zip.finish().unwrap();
    let text = said(limited_helper(dir.path(), 1000));
    assert!(
        text.contains("error: ") && text.contains("could not write"),
        "{text}"
    );
    let store = Store::new(&dir.path().join("cache"));
    assert_eq!(store.size().unwrap().components, 0);
    assert_eq!(left_over(&store), Vec::<String>::new());
    let text = said(helper(dir.path()));
    assert!(text.contains("one ") && !text.contains("error"), "{text}");
}

#[test]
fn killed_processes_and_pruning_leave_nothing_that_harms() {
    let dir = folder_of_three();
    let store = Store::new(&dir.path().join("cache"));
    let everything = || std::time::SystemTime::now() + Duration::from_secs(1000);
    for round in 0..12 {
        let mut killed = helper(dir.path());
        let other = helper(dir.path());
        std::thread::sleep(Duration::from_millis(round * 20));
        if round % 3 == 0 {
            store.prune(everything()).unwrap();
        }
        let _ = killed.kill();
        killed.wait().unwrap();
        let text = said(other);
        assert!(
            text.contains("one ") && text.contains("three "),
            "round {round}: {text}"
        );
        assert_eq!(store.verify().unwrap(), [], "round {round}");
    }
    said(helper(dir.path()));
    assert_eq!(left_over(&store), Vec::<String>::new(), "orphans are swept");
}
