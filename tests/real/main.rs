//! Checks against real files; run with `BUNDLER_REAL_TREE=<folder> cargo test --test real`, where the folder is an unpacked
//! bundle, or a site-packages folder that holds what a bundle does. Needs readelf. Fails where the folder is not given.

mod elf;
mod fatbin;

use std::path::{Path, PathBuf};

/// The folder to look at.
fn tree() -> PathBuf {
    let folder = std::env::var_os("BUNDLER_REAL_TREE")
        .expect("set BUNDLER_REAL_TREE to an unpacked bundle or a site-packages folder");
    PathBuf::from(folder)
}

/// Every regular file below `root` that begins like an ELF file, sorted, without the root.
fn elf_files(root: &Path) -> Vec<PathBuf> {
    use std::io::Read;
    let mut out: Vec<PathBuf> = walkdir::WalkDir::new(root)
        .into_iter()
        .map(|e| e.expect("the folder can be read"))
        .filter(|e| e.file_type().is_file())
        .filter(|e| {
            let mut magic = Vec::new();
            let file = std::fs::File::open(e.path()).expect("the file can be read");
            file.take(4)
                .read_to_end(&mut magic)
                .expect("the file can be read");
            magic == b"\x7fELF"
        })
        .map(|e| {
            e.path()
                .strip_prefix(root)
                .expect("it is below the root")
                .to_owned()
        })
        .collect();
    out.sort();
    out
}
