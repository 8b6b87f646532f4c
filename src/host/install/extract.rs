//! Components written to disk: largest first, one thread each, every file digested while it is written and compared with
//! the bundle's list. Memory is bounded by the number of threads and the size of the largest segment.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{InstallError, InstallOptions, Material, Plan};
use crate::base::digest::Hasher;
use crate::base::fs::{self, At, Confined, ReadAt};
use crate::base::progress::{Progress, Task};
use crate::formats::component::EntryKind;
use crate::formats::manifest::Row;
use crate::formats::tar_reader::{Entries, TarEntry};

/// Bytes of a file read and written at a time.
const PIECE: usize = 256 << 10;

/// Memory for segments of all threads: each holds one packed (twice, while it is decoded) and one unpacked.
const MEMORY: u64 = 384 << 20;

/// Bytes written between two pushes to the disk: it works from the start instead of at the end.
const PUSH: u64 = 128 << 20;

/// Where components are written.
#[derive(Debug, Clone, Copy)]
pub(super) enum Goal<'a> {
    /// For a store: each into a folder named by its id, below this one; files without write bits, because bundles share them.
    Components(&'a Path),
    /// All into this folder, which is there.
    Tree(&'a Path),
}

impl Goal<'_> {
    fn path(self) -> PathBuf {
        match self {
            Self::Components(path) | Self::Tree(path) => path.to_owned(),
        }
    }

    fn mode(self, listed: u32) -> u32 {
        match self {
            Self::Components(_) => stored(listed),
            Self::Tree(_) => listed,
        }
    }
}

/// Writes the components `missing` into folders of `draft` named by their ids.
pub(crate) fn extract<R: ReadAt>(
    material: &Material<'_, R>,
    plan: &Plan,
    missing: &[usize],
    draft: &Path,
    options: &InstallOptions,
    progress: &Progress,
) -> Result<(), InstallError> {
    let goal = Goal::Components(draft);
    extract_to(material, plan, missing, goal, options, progress)
}

/// Writes components.
pub(super) fn extract_to<R: ReadAt>(
    material: &Material<'_, R>,
    plan: &Plan,
    missing: &[usize],
    goal: Goal<'_>,
    options: &InstallOptions,
    progress: &Progress,
) -> Result<(), InstallError> {
    let mut order = missing.to_vec();
    order.sort_by_key(|number| std::cmp::Reverse(plan.record(*number).unpacked));
    let total = order.iter().map(|n| plan.record(*n).unpacked).sum();
    let work = Work {
        material,
        plan,
        goal,
        options,
        order,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        failed: Mutex::new(None),
        written: AtomicU64::new(0),
        task: progress.task("installing", Some(total)),
    };
    if options.jobs <= 1 {
        work.run();
    }
    let running = AtomicUsize::new(work.threads());
    std::thread::scope(|scope| {
        for _ in 0..work.threads() {
            scope.spawn(|| {
                work.run();
                running.fetch_sub(1, Ordering::AcqRel);
            });
        }
        scope.spawn(|| push(&work, &running));
    });
    let failed = work.failed.into_inner();
    match failed.unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None => Ok(()),
    }
}

/// Sends what was written to the disk while more is being written.
fn push<R: ReadAt>(work: &Work<'_, R>, running: &AtomicUsize) {
    let mut pushed = 0;
    while running.load(Ordering::Acquire) > 0 && !work.stop.load(Ordering::Relaxed) {
        let written = work.written.load(Ordering::Relaxed);
        if written - pushed < PUSH {
            std::thread::sleep(Duration::from_millis(5));
            continue;
        }
        pushed = written;
        if let Err(error) = fs::sync_file_system(&work.goal.path()) {
            work.fail(error.into());
        }
    }
}

struct Work<'a, R> {
    material: &'a Material<'a, R>,
    plan: &'a Plan,
    goal: Goal<'a>,
    options: &'a InstallOptions,
    order: Vec<usize>,
    next: AtomicUsize,
    stop: AtomicBool,
    failed: Mutex<Option<InstallError>>,
    written: AtomicU64,
    task: Task,
}

impl<R: ReadAt> Work<'_, R> {
    fn threads(&self) -> usize {
        let by_memory = (MEMORY / self.material.largest().max(1)).max(1) as usize;
        self.options
            .jobs
            .max(1)
            .min(by_memory)
            .min(self.order.len().max(1))
    }

    fn run(&self) {
        while !self.stop.load(Ordering::Relaxed) {
            let next = self.next.fetch_add(1, Ordering::Relaxed);
            let Some(number) = self.order.get(next) else {
                return;
            };
            if let Err(error) = self.component(*number) {
                self.fail(error);
            }
        }
    }

    fn fail(&self, error: InstallError) {
        self.stop.store(true, Ordering::Relaxed);
        let mut failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        failed.get_or_insert(error);
    }

    fn component(&self, number: usize) -> Result<(), InstallError> {
        let name = &self.plan.record(number).name;
        let mut path = self.goal.path();
        if matches!(self.goal, Goal::Components(_)) {
            path.push(self.plan.id(number).to_string());
            fs::create_dir(&path)?;
        }
        let mut target = Confined::open(&path, self.options.way)?;
        let mut entries = self.material.component(self.plan, number)?;
        let archive = |source| InstallError::Archive {
            component: name.clone(),
            source,
        };
        let mut buffer = vec![0; PIECE];
        let mut seen = 0;
        while let Some(entry) = entries.next_entry().map_err(archive)? {
            if self.stop.load(Ordering::Relaxed) {
                return Ok(());
            }
            let bad = |what| InstallError::Entry {
                component: name.clone(),
                path: entry.path.clone(),
                what,
            };
            let row = self.plan.row(number, &entry.path);
            let row = row.ok_or_else(|| bad("is not in the bundle's list of files"))?;
            if row.kind != entry.kind || row.mode != entry.mode {
                return Err(bad(
                    "is of another kind or mode than the list of files says",
                ));
            }
            if let Some((folder, _)) = entry.path.rsplit_once('/') {
                target.make_folder(folder)?;
            }
            match &entry.kind {
                EntryKind::File => {
                    self.file(&mut entries, &entry, row, &mut target, &mut buffer)?
                        .map_err(bad)?;
                }
                EntryKind::Symlink { target: goal } => target.make_symlink(&entry.path, goal)?,
                EntryKind::Hardlink { target: goal } => self.hard_link(&mut target, goal, row)?,
                EntryKind::Dir => return Err(bad("is a folder, which components do not hold")),
            }
            seen += 1;
        }
        if seen == self.plan.rows_of(number).len() {
            return Ok(());
        }
        let what = format!("component {name} holds {seen} entries, fewer than its list of files");
        Err(InstallError::Whole { what })
    }

    /// Writes one file; the inner error says why it is not the one of the list.
    fn file<S: Read>(
        &self,
        entries: &mut Entries<S>,
        entry: &TarEntry,
        row: &Row,
        target: &mut Confined,
        buffer: &mut [u8],
    ) -> Result<Result<(), &'static str>, InstallError> {
        if row.size != Some(entry.size) {
            return Ok(Err("has another size than the list of files says"));
        }
        let path = target.path().join(&entry.path);
        let mut file = target.make_file(&entry.path, self.goal.mode(entry.mode))?;
        let mut hasher = Hasher::new();
        let mut content = entries.content();
        loop {
            let read = match content.read(buffer) {
                Ok(0) => break,
                Ok(read) => read,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(source) => {
                    let what = "the content of an entry";
                    let error =
                        crate::formats::bundle_reader::BundleReadError::Read { what, source };
                    return Err(error.into());
                }
            };
            let piece = buffer.get(..read).unwrap_or_default();
            hasher.update(piece);
            file.write_all(piece).at("write", &path)?;
            self.written.fetch_add(read as u64, Ordering::Relaxed);
            self.task.advance(read as u64);
            if self.stop.load(Ordering::Relaxed) {
                return Ok(Ok(()));
            }
        }
        if row.sha256 == Some(hasher.finish()) {
            Ok(Ok(()))
        } else {
            Ok(Err("has other bytes than the list of files says"))
        }
    }

    fn hard_link(&self, target: &mut Confined, goal: &str, row: &Row) -> Result<(), InstallError> {
        let path = target.path().join(&row.path);
        match target.link_own(goal, &row.path) {
            Ok(()) => Ok(()),
            Err(e) if super::tree::cannot_link(&e) => {
                let mut from = target.open_file(goal)?;
                let mut to = target.make_file(&row.path, self.goal.mode(row.mode))?;
                std::io::copy(&mut from, &mut to).at("write", &path)?;
                Ok(())
            }
            Err(e) => Err(e).at("link", &path).map_err(InstallError::File),
        }
    }
}

/// The mode a file has in the store: without write bits, because several bundles share it.
pub(crate) fn stored(mode: u32) -> u32 {
    mode & 0o555
}
