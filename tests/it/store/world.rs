//! Bundles of two versions that share most of their components, and a store to put them in.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use assert_cmd::Command;
use bundler::base::progress::Progress;
use bundler::build::assemble::Placed;
use bundler::build::pack::{PackedBundle, pack_parts};
use bundler::formats::component::Layer;

use crate::synthetic::{component, file, noise, parts, request};

/// A folder with bundles and a store that is not there yet.
pub struct World {
    pub dir: tempfile::TempDir,
}

/// What a bundle's env.sh does here: enough to see that it was read.
const ENV: &str = "export SEEN=\"${SEEN-}yes\"\nPATH=$ROOT_OF_TEST/bin:$PATH\n";

impl World {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir }
    }

    pub fn root(&self) -> PathBuf {
        self.dir.path().join("store")
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.dir.path().join(below)
    }

    /// A bundle whose source says `version`; everything else is the same in all versions.
    pub fn bundle(&self, version: &str) -> PackedBundle {
        self.bundle_of(version, |_| ())
    }

    pub fn bundle_of(&self, version: &str, change: impl FnOnce(&mut Vec<Placed>)) -> PackedBundle {
        let made = self.path(&format!("made-{version}"));
        std::fs::create_dir_all(&made).unwrap();
        let mut parts = parts(&made, true);
        parts.pop();
        let text = format!("version = {version:?}\n");
        let source = vec![
            file("env.sh", 0o644, ENV),
            file("src/app/version.py", 0o644, text),
            file("src/app/same.py", 0o644, noise(7, 5000)),
        ];
        parts.push(component(&made, "source", Layer::App, source));
        change(&mut parts);
        let mut request = request(&made.join("out"));
        request.facts.version = version.to_owned();
        pack_parts(&parts, &request, &Progress::silent()).unwrap()
    }

    /// The program with this store.
    pub fn bundler(&self, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("bundler").unwrap();
        command
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("POINTCEPT_BUNDLER_ROOT", self.root())
            .args(args);
        command
    }

    /// Runs it; it must succeed. Gives what it printed.
    pub fn ok(&self, args: &[&str]) -> String {
        let out = self.bundler(args).assert().success().get_output().clone();
        String::from_utf8(out.stdout).unwrap()
    }

    /// Runs it; it must fail with this exit code. Gives its error text.
    pub fn fails(&self, code: i32, args: &[&str]) -> String {
        let out = self.bundler(args).assert().code(code).get_output().clone();
        String::from_utf8(out.stderr).unwrap()
    }

    pub fn install(&self, bundle: &PackedBundle) -> PathBuf {
        self.ok(&["install", bundle.path.to_str().unwrap()]);
        self.installed(&bundle.bundle.facts.version)
    }

    /// The tree of the installed bundle of this version.
    pub fn installed(&self, version: &str) -> PathBuf {
        PathBuf::from(self.ok(&["where", version]).trim_end())
    }

    /// Nothing is left but the store's own folders, and none of them holds anything.
    pub fn is_empty(&self) -> bool {
        ["bundles", "components", "drafts"].iter().all(|name| {
            std::fs::read_dir(self.root().join(name)).map_or(0, std::iter::Iterator::count) == 0
        }) && !self.root().join("current").exists()
    }
}

/// All paths below a folder: what they are and hold.
pub fn contents(root: &Path) -> BTreeMap<String, String> {
    let mut out = BTreeMap::new();
    for entry in walkdir::WalkDir::new(root).min_depth(1) {
        let entry = entry.unwrap();
        let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap();
        let there = entry.metadata().unwrap();
        let text = if there.is_symlink() {
            format!("-> {}", std::fs::read_link(entry.path()).unwrap().display())
        } else if there.is_dir() {
            "folder".to_owned()
        } else {
            let bytes = std::fs::read(entry.path()).unwrap();
            let digest = bundler::base::digest::Digest::of(&bytes);
            format!("{:o} {digest}", there.mode() & 0o111)
        };
        out.insert(path.to_owned(), text);
    }
    out
}

/// What tar and zstd make of a bundle.
pub fn unpacked(bundle: &Path, to: &Path) -> PathBuf {
    std::fs::create_dir_all(to).unwrap();
    let done = std::process::Command::new("tar")
        .arg("--zstd")
        .arg("-xf")
        .arg(bundle)
        .arg("-C")
        .arg(to)
        .status()
        .unwrap();
    assert!(done.success());
    to.join("runtime")
}
