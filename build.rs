//! Gives the program a digest of the code that makes components, so that a cache entry never outlives the code it was
//! made with.

use std::fs;
use std::path::{Path, PathBuf};

/// Whatever can change the bytes or facts of a component.
const INGEST: [&str; 7] = [
    "build.rs",
    "Cargo.lock",
    "src/base/archive",
    "src/base/segments",
    "src/base/target.rs",
    "src/build/ingest",
    "src/formats",
];

fn main() {
    let mut digest = Fnv::new();
    for path in INGEST {
        println!("cargo::rerun-if-changed={path}");
        take(Path::new(path), &mut digest);
    }
    println!("cargo::rustc-env=BUNDLER_INGEST_CODE={:032x}", digest.0);
}

fn take(path: &Path, digest: &mut Fnv) {
    if path.is_dir() {
        let mut names: Vec<PathBuf> = fs::read_dir(path)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .collect();
        names.sort();
        names.iter().for_each(|name| take(name, digest));
    } else if let Ok(bytes) = fs::read(path) {
        digest.update(path.to_string_lossy().as_bytes());
        digest.update(&(bytes.len() as u64).to_le_bytes());
        digest.update(&bytes);
    }
}

/// FNV-1a with 128 bits: no dependency, and nobody attacks a build with its own sources.
struct Fnv(u128);

impl Fnv {
    fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte))
                .wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
    }
}
