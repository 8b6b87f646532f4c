//! The tree of a bundle, put together from components: as clones of their blocks where the file system can do that, else
//! as hard links, else as copies. `.complete` is written last.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use super::extract::stored;
use super::{InstallError, InstallOptions, Plan};
use crate::base::fs::{self, At, Confined, Way};
use crate::formats::component::EntryKind;
use crate::formats::manifest::{COMPLETE, Row};
use crate::formats::recorded::FACTS;

/// How a tree holds files that components hold too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// As files of their own on the same blocks of disk.
    Clones,
    /// As further names of the same files, without write bits.
    Links,
    /// As copies.
    Copies,
}

/// Finds out what the file system of `draft` can do.
pub(crate) fn probe(draft: &Path, copy: bool) -> Result<Sharing, InstallError> {
    if copy {
        return Ok(Sharing::Copies);
    }
    let dir = draft.join("probe");
    fs::create_dir(&dir)?;
    let mut here = Confined::open(&dir, Way::Walk)?;
    here.make_file("a", 0o600)?
        .write_all(&[1; 4096])
        .at("write", &dir.join("a"))?;
    let (from, to) = (here.open_file("a")?, here.make_file("b", 0o600)?);
    let out = if fs::clone_file(&from, &to).is_ok() {
        Sharing::Clones
    } else if here.link_own("a", "c").is_ok() {
        Sharing::Links
    } else {
        Sharing::Copies
    };
    fs::remove_dir_all(&dir)?;
    Ok(out)
}

/// Whether an error says that this file cannot have another name here, but a copy may do.
pub(super) fn cannot_link(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::PermissionDenied
            | io::ErrorKind::Unsupported
            | io::ErrorKind::TooManyLinks
            | io::ErrorKind::CrossesDevices
    )
}

/// Builds the tree in `path`; `source` gives the folder of a component.
pub(super) fn build(
    plan: &Plan,
    source: &(dyn Fn(usize) -> PathBuf + Sync),
    path: &Path,
    sharing: Sharing,
    options: &InstallOptions,
) -> Result<(), InstallError> {
    fs::create_dir(path)?;
    fs::set_mode(path, 0o755)?;
    let mut tree = Confined::open(path, options.way)?;
    for row in plan.own_rows().filter(|row| row.kind == EntryKind::Dir) {
        tree.make_folder(&row.path)?;
    }
    let next = AtomicUsize::new(0);
    let work = || -> Result<(), InstallError> {
        let mut tree = Confined::open(path, options.way)?;
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= plan.components() {
                return Ok(());
            }
            let mut from = Confined::open(&source(number), options.way)?;
            for row in plan.rows_of(number) {
                put(&mut from, &mut tree, row, sharing)?;
            }
        }
    };
    if options.jobs <= 1 {
        work()?;
    }
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..options.jobs.clamp(1, 8))
            .map(|_| scope.spawn(work))
            .collect();
        let mut results = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        results.try_for_each(|result| match result {
            Ok(result) => result,
            Err(fault) => std::panic::resume_unwind(fault),
        })
    })?;
    write_own(plan, &mut tree)
}

/// Writes what belongs to no component: records of layers, facts, the descriptions; `.complete` last.
pub(super) fn write_own(plan: &Plan, tree: &mut Confined) -> Result<(), InstallError> {
    for row in plan.layer_rows() {
        write(tree, &row.path, &plan.layer_record(row)?)?;
    }
    if let Some(facts) = plan.facts() {
        write(tree, FACTS, facts)?;
    }
    for (name, bytes) in &plan.descriptions {
        write(tree, name, bytes)?;
    }
    Ok(())
}

/// Puts one file or link of a component into the tree.
pub(crate) fn put(
    from: &mut Confined,
    tree: &mut Confined,
    row: &Row,
    sharing: Sharing,
) -> Result<(), InstallError> {
    if let EntryKind::Symlink { target } = &row.kind {
        return Ok(tree.make_symlink(&row.path, target)?);
    }
    let path = tree.path().join(&row.path);
    if sharing == Sharing::Links {
        match tree.link(from, &row.path, &row.path) {
            Ok(()) => return Ok(()),
            Err(e) if cannot_link(&e) => {}
            Err(e) => return Err(e).at("link", &path).map_err(InstallError::File),
        }
    }
    let mut old = from.open_file(&row.path)?;
    // Nobody shares it: it keeps the mode of the list.
    let mode = match sharing {
        Sharing::Links => stored(row.mode),
        Sharing::Clones | Sharing::Copies => row.mode,
    };
    let mut new = tree.make_file(&row.path, mode)?;
    if sharing != Sharing::Clones || fs::clone_file(&old, &new).is_err() {
        io::copy(&mut old, &mut new).at("write", &path)?;
    }
    Ok(())
}

fn write(tree: &mut Confined, name: &str, bytes: &[u8]) -> Result<(), InstallError> {
    debug_assert!(name != COMPLETE || !bytes.is_empty());
    let path = tree.path().join(name);
    let mut file = tree.make_file(name, 0o644)?;
    file.write_all(bytes).at("write", &path)?;
    Ok(())
}
