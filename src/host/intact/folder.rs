//! A folder compared with rows of files.jsonl: kind, mode, size, bytes, goals of links. Links are never followed.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::base::digest::Hasher;
use crate::base::finding::{Finding, Severity};
use crate::base::fs::{self, Confined, FsError, FsResult, Way};
use crate::formats::component::EntryKind;
use crate::formats::manifest::Row;

/// Bytes read at a time.
const PIECE: usize = 256 << 10;

/// What differs at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Path from the folder.
    pub path: String,
    /// What differs.
    pub kind: FaultKind,
}

/// A difference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FaultKind {
    /// Nothing stands there.
    Missing,
    /// Something stands there that should not.
    Added,
    /// A file where a folder should be, and the like.
    Kind,
    /// Another size, or other bytes.
    Bytes(&'static str),
    /// Other permissions.
    Mode {
        /// As found.
        found: u32,
        /// As listed.
        listed: u32,
    },
    /// A link that leads elsewhere.
    Goal(String),
    /// It could not be read.
    Unreadable(String),
}

impl Fault {
    /// As a finding.
    pub fn finding(&self) -> Finding {
        let (code, message) = match &self.kind {
            FaultKind::Missing => ("path-missing", "it is missing".to_owned()),
            FaultKind::Added => ("path-added", "it does not belong to the bundle".to_owned()),
            FaultKind::Kind => (
                "kind-changed",
                "it is of another kind than it was".to_owned(),
            ),
            FaultKind::Bytes(what) => ("bytes-changed", format!("it has {what} than it had")),
            FaultKind::Mode { found, listed } => (
                "mode-changed",
                format!("its mode is {found:04o}, it was {listed:04o}"),
            ),
            FaultKind::Goal(found) => ("link-changed", format!("it leads to {found:?} now")),
            FaultKind::Unreadable(why) => ("unreadable", format!("it could not be read: {why}")),
        };
        Finding {
            severity: Severity::Error,
            code: code.to_owned(),
            path: self.path.clone(),
            message,
            hint: None,
        }
    }
}

/// All differences of a folder from these rows; whatever else lies in the folder is not looked at.
pub fn faults(folder: &Path, rows: &[&Row], jobs: usize) -> FsResult<Vec<Fault>> {
    compare(folder, rows, jobs, false)
}

/// Any one difference; stops at it.
pub fn first_fault(folder: &Path, rows: &[&Row], jobs: usize) -> FsResult<Option<Fault>> {
    Ok(compare(folder, rows, jobs, true)?.into_iter().next())
}

fn compare(folder: &Path, rows: &[&Row], jobs: usize, stop_at_one: bool) -> FsResult<Vec<Fault>> {
    let next = AtomicUsize::new(0);
    let stop = AtomicBool::new(false);
    let found = Mutex::new(Vec::new());
    let work = || -> FsResult<()> {
        let Ok(mut root) = Confined::open(folder, Way::Kernel) else {
            let path = String::new();
            let kind = FaultKind::Kind;
            push(&found, Fault { path, kind });
            return Ok(());
        };
        let mut buffer = vec![0; PIECE];
        while !stop.load(Ordering::Relaxed) {
            let Some(row) = rows.get(next.fetch_add(1, Ordering::Relaxed)) else {
                return Ok(());
            };
            if let Some(kind) = fault(&mut root, row, &mut buffer)? {
                let path = row.path.clone();
                push(&found, Fault { path, kind });
                stop.store(stop_at_one, Ordering::Relaxed);
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..jobs.max(1).min(rows.len().max(1)))
            .map(|_| scope.spawn(work))
            .collect();
        let mut results = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        results.try_for_each(|result| match result {
            Ok(result) => result,
            Err(fault) => std::panic::resume_unwind(fault),
        })
    })?;
    let mut found = found
        .into_inner()
        .unwrap_or_else(std::sync::PoisonError::into_inner);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found.dedup();
    Ok(found)
}

fn push(found: &Mutex<Vec<Fault>>, fault: Fault) {
    found
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
        .push(fault);
}

/// What is wrong with one path.
fn fault(root: &mut Confined, row: &Row, buffer: &mut [u8]) -> FsResult<Option<FaultKind>> {
    let path = root.path().join(&row.path);
    let there = match fs::symlink_metadata(&path) {
        Ok(Some(there)) => there,
        Ok(None) => return Ok(Some(FaultKind::Missing)),
        Err(error) => return unreadable(error),
    };
    let is_right_kind = match row.kind {
        EntryKind::File | EntryKind::Hardlink { .. } => there.is_file(),
        EntryKind::Dir => there.is_dir(),
        EntryKind::Symlink { .. } => there.is_symlink(),
    };
    if !is_right_kind {
        return Ok(Some(FaultKind::Kind));
    }
    if let EntryKind::Symlink { target } = &row.kind {
        let goal = fs::read_link(&path)?;
        let found = goal.display().to_string();
        return Ok((goal != Path::new(target)).then_some(FaultKind::Goal(found)));
    }
    let found = there.mode() & 0o7777;
    // Files that bundles share have no write bits.
    let is_shared = row.kind != EntryKind::Dir && found == row.mode & 0o555;
    if found != row.mode && !is_shared {
        let listed = row.mode;
        return Ok(Some(FaultKind::Mode { found, listed }));
    }
    if row.kind == EntryKind::Dir {
        return Ok(None);
    }
    if row.size != Some(there.len()) {
        return Ok(Some(FaultKind::Bytes("another size")));
    }
    let mut file = match root.open_file(&row.path) {
        Ok(file) => file,
        Err(error) => return unreadable(error),
    };
    let mut hasher = Hasher::new();
    loop {
        match file.read(buffer) {
            Ok(0) => break,
            Ok(read) => hasher.update(buffer.get(..read).unwrap_or_default()),
            Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
            Err(source) => {
                let doing = "read";
                return unreadable(FsError {
                    doing,
                    path,
                    source,
                });
            }
        }
    }
    if row.sha256 == Some(hasher.finish()) {
        Ok(None)
    } else {
        Ok(Some(FaultKind::Bytes("other bytes")))
    }
}

/// What cannot be read is a finding; that the process may open no more files is an error.
fn unreadable(error: FsError) -> FsResult<Option<FaultKind>> {
    match error.source.raw_os_error() {
        Some(code) if is_ours(code) => Err(error),
        _ => Ok(Some(FaultKind::Unreadable(error.source.to_string()))),
    }
}

/// Too many open files, of this process or of the system; no memory.
fn is_ours(code: i32) -> bool {
    use rustix::io::Errno;
    [Errno::MFILE, Errno::NFILE, Errno::NOMEM]
        .iter()
        .any(|errno| errno.raw_os_error() == code)
}
