//! Files and folders that are being made: beside their final name, locked, invisible until they are whole.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use super::{
    At, FsResult, TEMPORARY, create_dir_all, list, live, metadata, open, parent, remove_dir_all,
    remove_file, sync_dir,
};

/// A file being written beside its final name: invisible until `keep`, gone if dropped before.
#[derive(Debug)]
pub struct Draft {
    file: tempfile::NamedTempFile,
    to: PathBuf,
    live: live::Live,
}

/// The system's error alone: tempfile's names a path that nobody has heard of.
fn plain(error: io::Error) -> io::Error {
    let text = error.to_string();
    match text.split_once(" at path ") {
        Some((said, _)) => io::Error::new(error.kind(), said),
        None => error,
    }
}

/// Prefix of the names of drafts. A draft that nobody holds locked belongs to a process that is gone.
pub(super) const DRAFT: &str = ".bundler-draft-";

/// Removes the drafts that killed processes left in a folder; those of running ones are locked and stay.
pub fn sweep_drafts(dir: &Path) -> FsResult<()> {
    for path in list(dir)? {
        let name = path.file_name().map(|n| n.to_string_lossy().into_owned());
        if !name.is_some_and(|n| n.starts_with(DRAFT)) {
            continue;
        }
        // Gone in between, or another user's: not ours to judge.
        let Ok(file) = File::open(&path) else {
            continue;
        };
        if file.try_lock().is_err() {
            continue;
        }
        if file.metadata().at("look at", &path)?.is_dir() {
            remove_dir_all(&path)?;
        } else {
            remove_file(&path)?;
        }
    }
    Ok(())
}

impl Draft {
    /// Begins a draft of `to`, in the same folder (which is made if needed).
    pub fn new(to: &Path) -> FsResult<Self> {
        let dir = parent(to);
        create_dir_all(dir)?;
        let file = tempfile::Builder::new()
            .prefix(DRAFT)
            .tempfile_in(dir)
            .map_err(plain)
            .at("write", to)?;
        file.as_file().lock().at("lock", to)?;
        Ok(Self {
            live: live::Live::new(file.path()),
            file,
            to: to.to_owned(),
        })
    }

    /// The open file.
    pub fn file(&mut self) -> &mut File {
        self.file.as_file_mut()
    }

    /// The final path, for messages.
    pub fn path(&self) -> &Path {
        &self.to
    }

    /// Gives it its final name with mode 0644 (less the umask), after the bytes are on the disk when `durable`.
    pub fn keep(self, durable: bool) -> FsResult<()> {
        self.keep_as(0o644, durable)
    }

    /// Gives it its final name with mode 0755 (less the umask): a program that can be run.
    pub fn keep_program(self) -> FsResult<()> {
        self.keep_as(0o755, true)
    }

    fn keep_as(self, mode: u32, durable: bool) -> FsResult<()> {
        let Self {
            file,
            to,
            live: _live,
        } = self;
        if durable {
            file.as_file().sync_all().at("sync", &to)?;
        }
        set_shared_mode(file.as_file(), mode, &to)?;
        file.persist(&to).map_err(|e| e.error).at("write", &to)?;
        if durable {
            sync_dir(parent(&to))?;
        }
        Ok(())
    }
}

/// Temporary files are born 0600; what others may read gets its mode less the umask.
fn set_shared_mode(file: &File, mode: u32, path: &Path) -> FsResult<()> {
    use std::os::unix::fs::PermissionsExt;
    let mode = mode & !current_umask();
    file.set_permissions(fs::Permissions::from_mode(mode))
        .at("set mode of", path)
}

/// The umask as the kernel shows it, without changing it (setting it to read it would be a race between threads).
pub(super) fn current_umask() -> u32 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    status
        .lines()
        .find_map(|line| line.strip_prefix("Umask:"))
        .and_then(|octal| u32::from_str_radix(octal.trim(), 8).ok())
        .unwrap_or(0o022)
}

/// A file without a name in `dir`, gone when closed.
pub fn unnamed(dir: &Path) -> FsResult<File> {
    tempfile::tempfile_in(dir).map_err(plain).at(TEMPORARY, dir)
}

/// A folder being filled, removed when dropped unless kept; locked, so that `sweep_drafts` knows it is in use.
#[derive(Debug)]
pub struct DraftDir {
    dir: tempfile::TempDir,
    _live: live::Live,
    _lock: File,
}

impl DraftDir {
    /// Makes an empty one in `parent`, which is made if needed.
    pub fn new(parent: &Path) -> FsResult<Self> {
        use std::os::unix::fs::MetadataExt;
        create_dir_all(parent)?;
        loop {
            let dir = tempfile::Builder::new()
                .prefix(DRAFT)
                .tempdir_in(parent)
                .map_err(plain)
                .at("make folder in", parent)?;
            // A sweeper may come between the two lines above and below: then the folder is gone, or has no name.
            let Ok(lock) = open(dir.path()) else {
                continue;
            };
            lock.lock().at("lock", dir.path())?;
            let ours = lock.metadata().at("look at", dir.path())?;
            if metadata(dir.path())?.is_some_and(|there| there.ino() == ours.ino()) {
                let live = live::Live::new(dir.path());
                return Ok(Self {
                    dir,
                    _live: live,
                    _lock: lock,
                });
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Gives it its final name. If a folder with content already stands there, that one stays and this one goes:
    /// `false`.
    pub fn keep(self, to: &Path) -> FsResult<bool> {
        use std::os::unix::fs::PermissionsExt;
        let mask = current_umask();
        let mode = fs::Permissions::from_mode(0o755 & !mask);
        fs::set_permissions(self.dir.path(), mode).at("set mode of", self.dir.path())?;
        match fs::rename(self.dir.path(), to) {
            Ok(()) => {
                let _ = self.dir.keep();
                Ok(true)
            }
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists
                ) =>
            {
                Ok(false)
            }
            Err(e) => Err(e).at("rename to", to),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::super::read;
    use super::*;

    #[test]
    fn a_draft_is_invisible_until_kept_and_swept_when_orphaned() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("x");
        let mut draft = Draft::new(&to).unwrap();
        draft.file().write_all(b"new").unwrap();
        assert!(!to.exists());
        sweep_drafts(dir.path()).unwrap();
        draft.keep(true).unwrap();
        assert_eq!(read(&to, 10).unwrap(), b"new");

        fs::write(dir.path().join(format!("{DRAFT}dead")), b"half").unwrap();
        fs::create_dir(dir.path().join(format!("{DRAFT}deadfolder"))).unwrap();
        sweep_drafts(dir.path()).unwrap();
        assert_eq!(list(dir.path()).unwrap(), [to]);
    }

    #[test]
    fn no_error_names_a_draft() {
        let dir = tempfile::tempdir().unwrap();
        let gone = dir.path().join("gone");
        let error = tempfile::tempfile_in(&gone).map_err(plain).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        let made = tempfile::Builder::new().prefix(DRAFT).tempdir_in(&gone);
        let error = made.map_err(plain).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
        assert!(!error.to_string().contains(DRAFT), "{error}");
    }

    #[test]
    fn the_first_of_two_folders_stays() {
        let dir = tempfile::tempdir().unwrap();
        let to = dir.path().join("x");
        for (name, first) in [("a", true), ("b", false)] {
            let draft = DraftDir::new(dir.path()).unwrap();
            fs::write(draft.path().join(name), b"").unwrap();
            assert_eq!(draft.keep(&to).unwrap(), first);
        }
        assert_eq!(list(&to).unwrap(), [to.join("a")]);
        assert_eq!(list(dir.path()).unwrap(), [to]);
    }
}
