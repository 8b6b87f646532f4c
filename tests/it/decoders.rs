//! One bundle, many readers: stock decoders and tar programs see what the manifest says, as a whole and in small
//! reads. Go and Node read the same bytes in tests/real/decoders.sh.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

use bundler::base::digest::{Digest, Hasher};
use bundler::build::pack::PackedBundle;
use bundler::formats::bundle_reader::BundleReader;
use bundler::formats::component::EntryKind;
use bundler::formats::manifest::Row;

use crate::synthetic::{bundle, program};

/// The tar bytes, put together from segments decoded alone.
fn tar_of(packed: &PackedBundle) -> Vec<u8> {
    let reader = BundleReader::open(std::fs::File::open(&packed.path).unwrap()).unwrap();
    let mut whole = Vec::new();
    reader
        .stream(0..reader.table().segments.len())
        .read_to_end(&mut whole)
        .unwrap();
    whole
}

#[test]
fn stock_library_reads_the_same_bytes_in_reads_of_any_size() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), true);
    let want = Digest::of(&tar_of(&packed));
    let bytes = std::fs::read(&packed.path).unwrap();
    for (input, output) in [(1, 64 << 10), (7, 513), (4096, 1), (1 << 20, 1 << 20)] {
        let source = std::io::BufReader::with_capacity(input, &bytes[..]);
        let mut decoder = zstd::stream::read::Decoder::with_buffer(source).unwrap();
        let mut buffer = vec![0; output];
        let mut hasher = Hasher::new();
        loop {
            match decoder.read(&mut buffer).unwrap() {
                0 => break,
                read => hasher.update(&buffer[..read]),
            }
        }
        assert_eq!(
            hasher.finish(),
            want,
            "input by {input}, output by {output}"
        );
    }
}

#[test]
fn zstd_program_reads_the_same_bytes_from_file_and_pipe() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), true);
    let want = tar_of(&packed);
    // tests/real/decoders.sh goes on from here.
    if let Some(copy) = std::env::var_os("COPY_OF_SYNTHETIC_BUNDLE") {
        std::fs::copy(&packed.path, copy).unwrap();
    }
    let zstd = program("zstd");
    let from_file = Command::new(&zstd)
        .arg("-dcq")
        .arg(&packed.path)
        .output()
        .unwrap();
    assert!(from_file.status.success() && from_file.stdout == want);
    let pipe = std::fs::File::open(&packed.path).unwrap();
    let from_pipe = Command::new(&zstd)
        .arg("-dcq")
        .stdin(pipe)
        .output()
        .unwrap();
    assert!(from_pipe.status.success() && from_pipe.stdout == want);
    let cut = dir.path().join("cut.zst");
    let bytes = std::fs::read(&packed.path).unwrap();
    std::fs::write(&cut, &bytes[..bytes.len() / 2]).unwrap();
    let cut = Command::new(&zstd).arg("-dcq").arg(&cut).output().unwrap();
    assert!(!cut.status.success(), "half a bundle is an error");
}

/// What a path of an unpacked tree is, as a row of the manifest would say it; hard links by their own bytes.
fn seen(root: &Path, row: &Row) -> String {
    let path = root.join(&row.path);
    let meta = std::fs::symlink_metadata(&path).unwrap_or_else(|e| panic!("{path:?}: {e}"));
    let mode = meta.permissions().mode() & 0o7777;
    let time = meta.mtime();
    if meta.is_dir() {
        format!("dir {mode:04o}")
    } else if meta.is_symlink() {
        format!("link {}", std::fs::read_link(&path).unwrap().display())
    } else {
        let bytes = std::fs::read(&path).unwrap();
        format!(
            "file {mode:04o} {} {} {time}",
            bytes.len(),
            Digest::of(&bytes)
        )
    }
}

fn wanted(row: &Row) -> String {
    match &row.kind {
        EntryKind::Dir => format!("dir {:04o}", row.mode),
        EntryKind::Symlink { target } => format!("link {target}"),
        EntryKind::File | EntryKind::Hardlink { .. } => {
            let (size, sha256) = (row.size.unwrap(), row.sha256.unwrap());
            format!("file {:04o} {size} {sha256} 315619200", row.mode)
        }
    }
}

/// Everything below `root`, by path.
fn paths_below(root: &Path) -> BTreeMap<String, ()> {
    let mut out = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            out.insert(name.to_owned(), ());
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            }
        }
    }
    out
}

/// Unpacks with a shell line that knows `$BUNDLE`, in an empty folder, and compares the tree with the manifest.
#[track_caller]
fn unpacks(line: &str, long_paths: bool) {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), long_paths);
    let to = dir.path().join("to");
    std::fs::create_dir(&to).unwrap();
    let out = Command::new("sh")
        .args(["-euc", line])
        .env("BUNDLE", &packed.path)
        .env("LC_ALL", "C.UTF-8")
        .current_dir(&to)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success() && text.is_empty(), "{line}: {text}");
    let reader = BundleReader::open(std::fs::File::open(&packed.path).unwrap()).unwrap();
    let rows = reader.files().unwrap();
    let root = to.join("runtime");
    for row in &rows {
        assert_eq!(seen(&root, row), wanted(row), "{line}: {}", row.path);
    }
    let mut left = paths_below(&root);
    for row in &rows {
        left.remove(&row.path);
    }
    let left: Vec<String> = left.into_keys().collect();
    assert_eq!(left, [".complete", "bundle.json", "files.jsonl"], "{line}");
    let ino = |name: &str| std::fs::metadata(root.join(name)).unwrap().ino();
    assert_eq!(
        ino("python/lib/libpython.so"),
        ino("python/lib/libpython.so.1")
    );
    assert_eq!(
        paths_below(&to).len(),
        rows.len() + 4,
        "nothing beside the root"
    );
}

#[test]
fn gnu_tar_unpacks_what_the_manifest_says() {
    program("zstd");
    unpacks(r#"tar --zstd -xpf "$BUNDLE""#, true);
    unpacks(r#"zstd -dcq "$BUNDLE" | tar -xpf -"#, true);
}

#[test]
fn bsdtar_unpacks_what_the_manifest_says() {
    program("bsdtar");
    unpacks(r#"bsdtar -xpf "$BUNDLE""#, true);
    unpacks(r#"cat "$BUNDLE" | bsdtar -xpf -"#, true);
}

#[test]
fn busybox_tar_unpacks_what_the_manifest_says() {
    program("busybox");
    unpacks(r#"zstd -dcq "$BUNDLE" | busybox tar -xpf -"#, true);
}

#[test]
fn python_reads_the_same_members_from_a_pipe_in_small_reads() {
    program("python3");
    program("zstd");
    let script = r#"
import os, sys, tarfile
class Small:
    def read(self, size):
        return os.read(0, min(size, 777))
with tarfile.open(fileobj=Small(), mode="r|", bufsize=512) as tar:
    kw = {"filter": "tar"} if hasattr(tarfile, "tar_filter") else {}
    tar.extractall(".", **kw)
"#;
    unpacks(
        &format!(r#"zstd -dcq "$BUNDLE" | python3 -c '{script}'"#),
        true,
    );
}

#[test]
fn listing_of_gnu_tar_shows_no_owner_and_one_time() {
    let dir = tempfile::tempdir().unwrap();
    let packed = bundle(dir.path(), true);
    let out = Command::new("tar")
        .args(["--zstd", "--full-time", "--utc", "-tvf"])
        .arg(&packed.path)
        .env("LC_ALL", "C.UTF-8")
        .output()
        .unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    assert!(out.status.success() && text.lines().count() > 300);
    for line in text.lines() {
        assert!(
            line.contains(" 0/0 ") && line.contains(" 1980-01-02 00:00:00 "),
            "{line}"
        );
        let mode = &line[1..10];
        assert!(
            ["rw-r--r--", "rwxr-xr-x", "rwxrwxrwx"].contains(&mode),
            "{line}"
        );
    }
}
