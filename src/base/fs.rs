//! All file operations: the only module that names `std::fs`. Every error says what was tried on which path;
//! everything that appears under its final name appears by rename, complete.

mod confined;
mod draft;
mod live;
mod lock;
mod range;
mod rights;
mod room;
mod stamp;

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

pub use std::fs::{File, TryLockError};

pub use confined::{Confined, Way};
use draft::DRAFT;
pub use draft::{Draft, DraftDir, sweep_drafts, unnamed};
pub use live::abandon_drafts;
pub use lock::{touch, try_lock};
pub use memmap2::Mmap;
pub use range::{
    ReadAt, Window, append_range, clone_file, data_end, free_space, write_all_at, write_behind,
};
pub use room::{Room, bytes_below, room, sync_file_system};
pub use stamp::Stamp;

/// A file operation that failed.
#[derive(Debug, thiserror::Error)]
#[error("could not {doing} {}", shown(path))]
pub struct FsError {
    /// The verb: `open`, `write`, `rename` …
    pub doing: &'static str,
    /// The path it was tried on.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

/// What is done with files that have no name; they are all the cache's.
pub const TEMPORARY: &str = "write a temporary file in";

/// How another place for what is cached is chosen.
pub const CACHE: &str =
    "another folder for the cache (--cache-dir DIR, or POINTCEPT_BUNDLER_CACHE_DIR)";

/// Result of a file operation.
pub type FsResult<T> = Result<T, FsError>;

/// Names the operation and path of an `io::Error`.
pub trait At<T> {
    /// Says that `doing` was tried on `path`.
    fn at(self, doing: &'static str, path: &Path) -> FsResult<T>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, doing: &'static str, path: &Path) -> FsResult<T> {
        self.map_err(|source| FsError {
            doing,
            path: path.to_owned(),
            source,
        })
    }
}

impl At<()> for rustix::io::Result<()> {
    fn at(self, doing: &'static str, path: &Path) -> FsResult<()> {
        self.map_err(io::Error::from).at(doing, path)
    }
}

impl FsError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        self.hint_or(match self.doing {
            TEMPORARY => CACHE,
            _ => "another place",
        })
    }

    /// The same where it is known how another place is chosen; `other` says it.
    pub fn hint_or(&self, other: &str) -> Option<String> {
        match self.source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some(format!(
                "free some space on the file system of {}, or choose {other}",
                place(&self.path).display()
            )),
            io::ErrorKind::NotFound => Some(format!("check the path {}", shown(&self.path))),
            io::ErrorKind::IsADirectory => {
                Some(format!("{} is a folder: give a file", shown(&self.path)))
            }
            io::ErrorKind::PermissionDenied => Some(format!(
                "{}: give it the rights, or choose {other}",
                rights::refused(self.doing, &self.path)
            )),
            io::ErrorKind::ReadOnlyFilesystem => Some(format!(
                "{} is on a file system that is mounted read-only: choose {other}",
                place(&self.path).display()
            )),
            _ => None,
        }
    }
}

/// The draft that a path lies in or is.
fn draft_of(path: &Path) -> Option<&Path> {
    let is_draft = |part: &std::ffi::OsStr| part.as_encoded_bytes().starts_with(DRAFT.as_bytes());
    path.ancestors()
        .find(|above| above.file_name().is_some_and(is_draft))
}

/// A path, or for what is in a draft the folder that the draft is in.
fn place(path: &Path) -> &Path {
    draft_of(path).map_or(path, parent)
}

/// A path for messages. What is in a draft is said to be so: the draft's own name is one that nobody has heard of.
fn shown(path: &Path) -> String {
    let Some(draft) = draft_of(path) else {
        return path.display().to_string();
    };
    let folder = parent(draft).display();
    if path == draft {
        format!("a draft in {folder}")
    } else {
        let inside = path.strip_prefix(draft).unwrap_or(path).display();
        format!("{inside} of a draft in {folder}")
    }
}

/// Refuses a folder that this user cannot write in, or could not make.
pub fn may_write_in(dir: &Path) -> FsResult<()> {
    if rights::may_write_in(dir) {
        return Ok(());
    }
    Err(io::Error::from_raw_os_error(
        rustix::io::Errno::ACCESS.raw_os_error(),
    ))
    .at("write in", dir)
}

/// Opens a file for reading.
pub fn open(path: &Path) -> FsResult<File> {
    File::open(path).at("open", path)
}

/// Opens a file for reading and writing, making it if needed, never cutting it.
pub fn open_rw(path: &Path) -> FsResult<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .at("open", path)
}

/// Reads a whole file of at most `limit` bytes.
pub fn read(path: &Path, limit: u64) -> FsResult<Vec<u8>> {
    let file = open(path)?;
    let mut bytes = Vec::new();
    file.take(limit + 1)
        .read_to_end(&mut bytes)
        .at("read", path)?;
    if bytes.len() as u64 > limit {
        let text = format!("larger than {limit} bytes");
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, text)).at("read", path);
    }
    Ok(bytes)
}

/// Reads a whole file, if it exists.
pub fn read_if_exists(path: &Path, limit: u64) -> FsResult<Option<Vec<u8>>> {
    match read(path, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(e) => Err(e),
    }
}

/// Maps a file into memory for reading. The caller must own the file: nobody may cut it while it is mapped
/// (cached blobs and unlinked temporary files are only ever replaced by rename).
pub fn map(file: &File, path: &Path) -> FsResult<Mmap> {
    // SAFETY: by this module's rule, files are changed by rename only, so a mapped file is never cut. A mirror's files
    // are the user's: whoever cuts one while it is read stops the process (SIGBUS), which writes nothing wrong.
    #[expect(unsafe_code, reason = "memory-mapping is unsafe by nature; see above")]
    unsafe { Mmap::map(file) }.at("map", path)
}

/// Lets go of the memory behind a part of a mapped file that was read; reading it again fetches it again. What is
/// mapped and was touched counts as memory of this process.
pub fn forget(map: &Mmap, part: std::ops::Range<usize>) {
    if part.start < part.end && part.end <= map.len() {
        // SAFETY: pages of a read-only mapping of a file are the file's; dropping them changes no byte.
        #[expect(
            unsafe_code,
            reason = "advice is unsafe where it can lose data, which it cannot here"
        )]
        let _ = unsafe {
            map.unchecked_advise_range(
                memmap2::UncheckedAdvice::DontNeed,
                part.start,
                part.end - part.start,
            )
        };
    }
}

/// Makes a folder and its parents.
pub fn create_dir_all(path: &Path) -> FsResult<()> {
    fs::create_dir_all(path).at("make folder", path)
}

/// Makes one folder, which must not exist yet.
pub fn create_dir(path: &Path) -> FsResult<()> {
    fs::create_dir(path).at("make folder", path)
}

/// Removes a file; a missing one is fine.
pub fn remove_file(path: &Path) -> FsResult<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e).at("remove", path),
        _ => Ok(()),
    }
}

/// Removes a folder with all that is in it; a missing one is fine.
pub fn remove_dir_all(path: &Path) -> FsResult<()> {
    match fs::remove_dir_all(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e).at("remove folder", path),
        _ => Ok(()),
    }
}

/// Renames, replacing what stands there.
pub fn rename(from: &Path, to: &Path) -> FsResult<()> {
    fs::rename(from, to).at("rename to", to)
}

/// What stands at `path` (links followed), if anything does.
pub fn metadata(path: &Path) -> FsResult<Option<fs::Metadata>> {
    optional(fs::metadata(path), path)
}

/// What stands at `path` (links not followed), if anything does.
pub fn symlink_metadata(path: &Path) -> FsResult<Option<fs::Metadata>> {
    optional(fs::symlink_metadata(path), path)
}

fn optional(result: io::Result<fs::Metadata>, path: &Path) -> FsResult<Option<fs::Metadata>> {
    match result {
        Ok(metadata) => Ok(Some(metadata)),
        Err(e)
            if matches!(
                e.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            Ok(None)
        }
        Err(e) => Err(e).at("look at", path),
    }
}

/// The names in a folder, sorted bytewise.
pub fn list(path: &Path) -> FsResult<Vec<PathBuf>> {
    let mut out = Vec::new();
    for entry in fs::read_dir(path).at("list", path)? {
        out.push(entry.at("list", path)?.path());
    }
    out.sort();
    Ok(out)
}

/// Where a symbolic link points.
pub fn read_link(path: &Path) -> FsResult<PathBuf> {
    fs::read_link(path).at("read link", path)
}

/// Writes a whole file at once, by rename.
pub fn write(path: &Path, bytes: &[u8]) -> FsResult<()> {
    let mut draft = Draft::new(path)?;
    draft.file().write_all(bytes).at("write", path)?;
    draft.keep(false)
}

/// Writes a file that must not exist yet, with exactly this mode; for folders nobody else sees yet.
pub fn write_new(path: &Path, bytes: &[u8], mode: u32) -> FsResult<()> {
    use std::os::unix::fs::PermissionsExt;
    let mut file = File::create_new(path).at("make", path)?;
    file.write_all(bytes).at("write", path)?;
    file.set_permissions(fs::Permissions::from_mode(mode))
        .at("set mode of", path)
}

/// Sets exactly this mode.
pub fn set_mode(path: &Path, mode: u32) -> FsResult<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).at("set mode of", path)
}

/// Makes a symbolic link to `goal`.
pub fn symlink(goal: &str, path: &Path) -> FsResult<()> {
    std::os::unix::fs::symlink(goal, path).at("make link", path)
}

/// Makes `path` a symbolic link to `goal` by one rename, whatever file or link stood there. `drafts` is a folder of the
/// same file system that nobody looks into.
pub fn replace_symlink(goal: &str, path: &Path, drafts: &Path) -> FsResult<()> {
    let draft = DraftDir::new(drafts)?;
    let link = draft.path().join("link");
    symlink(goal, &link)?;
    rename(&link, path)
}

/// Makes the names in a folder durable.
pub fn sync_dir(path: &Path) -> FsResult<()> {
    open(path)?.sync_all().at("sync", path)
}

/// The folder a path stands in (`.` for a bare name).
pub fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(p) if !p.as_os_str().is_empty() => p,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_a_file_over_the_limit() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        write(&path, b"12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert_eq!(
            read(&path, 4).unwrap_err().source.kind(),
            io::ErrorKind::FileTooLarge
        );
    }
}
