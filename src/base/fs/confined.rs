//! Writing below one folder and nowhere else: every path is taken part by part from the folder's own descriptor, links
//! are never followed, files are only made where nothing stands. The kernel does it (`openat2`) or, where it or a
//! sandbox refuses that call, a walk over the parts does.

use std::collections::HashSet;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use super::draft::current_umask;
use super::{At, FsResult};

/// Set once `openat2` was refused: asking again for every folder would only cost time.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// How folders below the root are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// By `openat2`, else part by part.
    Kernel,
    /// Part by part.
    Walk,
}

/// A folder that is written into. Not for sharing between threads: each opens its own.
#[derive(Debug)]
pub struct Confined {
    root: OwnedFd,
    path: PathBuf,
    way: Way,
    /// The folder used last: entries come folder by folder.
    last: Option<(String, OwnedFd)>,
    made: HashSet<String>,
    /// What the umask takes away from new files' modes.
    masked: u32,
}

impl Confined {
    /// Opens an existing folder.
    pub fn open(path: &Path, way: Way) -> FsResult<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty());
        Ok(Self {
            root: root.map_err(io::Error::from).at("open", path)?,
            path: path.to_owned(),
            way,
            last: None,
            made: HashSet::new(),
            masked: current_umask(),
        })
    }

    /// Its path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a folder with all it lies in, mode 0755; one that is there is fine, anything else is not.
    pub fn make_folder(&mut self, path: &str) -> FsResult<()> {
        if path.is_empty() || self.made.contains(path) {
            return Ok(());
        }
        let (parent, name) = split(path);
        self.make_folder(parent)?;
        let full = self.path.join(path);
        let masked = self.masked;
        let at = self.folder(parent)?;
        match rustix::fs::mkdirat(at, name, Mode::from_raw_mode(0o755)) {
            Ok(()) if masked & 0o755 == 0 => {}
            Ok(()) => {
                let mode = Mode::from_raw_mode(0o755);
                let done = rustix::fs::chmodat(at, name, mode, AtFlags::empty());
                done.at("set mode of", &full)?;
            }
            // Opening it below refuses everything but a folder.
            Err(Errno::EXIST) => {
                self.folder(path)?;
            }
            Err(e) => return Err(io::Error::from(e)).at("make folder", &full),
        }
        self.made.insert(path.to_owned());
        Ok(())
    }

    /// Makes a file where nothing stands; its folder must be there. It gets `mode` whatever the umask.
    pub fn make_file(&mut self, path: &str, mode: u32) -> FsResult<File> {
        let full = self.path.join(path);
        let masked = self.masked;
        let (parent, name) = split(path);
        let at = self.folder(parent)?;
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let bits = Mode::from_raw_mode(mode);
        let file = rustix::fs::openat(at, name, flags, bits);
        let file = file.map_err(io::Error::from).at("make", &full)?;
        if masked & mode != 0 {
            rustix::fs::fchmod(&file, bits).at("set mode of", &full)?;
        }
        Ok(File::from(file))
    }

    /// Makes a symbolic link where nothing stands.
    pub fn make_symlink(&mut self, path: &str, goal: &str) -> FsResult<()> {
        let full = self.path.join(path);
        let (parent, name) = split(path);
        let at = self.folder(parent)?;
        rustix::fs::symlinkat(goal, at, name).at("make link", &full)
    }

    /// Makes `path` another name of the file `from` below `other`. What refuses hard links says so in the error's
    /// [`io::ErrorKind`] or code; nothing was made then.
    pub fn link(&mut self, other: &mut Self, from: &str, path: &str) -> io::Result<()> {
        let (from_parent, from_name) = split(from);
        let from_at = other.folder(from_parent).map_err(|e| e.source)?;
        let (parent, name) = split(path);
        let at = self.folder(parent).map_err(|e| e.source)?;
        rustix::fs::linkat(from_at, from_name, at, name, AtFlags::empty()).map_err(io::Error::from)
    }

    /// Makes `path` another name of its own file `from`.
    pub fn link_own(&mut self, from: &str, path: &str) -> io::Result<()> {
        let (parent, name) = split(from);
        let held = self.folder(parent).map_err(|e| e.source)?;
        let held = held.try_clone_to_owned()?;
        let (to_parent, to_name) = split(path);
        let at = self.folder(to_parent).map_err(|e| e.source)?;
        rustix::fs::linkat(held, name, at, to_name, AtFlags::empty()).map_err(io::Error::from)
    }

    /// Opens a regular file for reading, never through a link.
    pub fn open_file(&mut self, path: &str) -> FsResult<File> {
        let full = self.path.join(path);
        let (parent, name) = split(path);
        let at = self.folder(parent)?;
        // Without NONBLOCK, a fifo that somebody put there would be waited for.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = rustix::fs::openat(at, name, flags, Mode::empty());
        Ok(File::from(file.map_err(io::Error::from).at("open", &full)?))
    }

    /// The folder `path` below the root; the empty path is the root.
    fn folder(&mut self, path: &str) -> FsResult<BorrowedFd<'_>> {
        if path.is_empty() {
            return Ok(self.root.as_fd());
        }
        let known = self.last.as_ref().is_some_and(|(last, _)| last == path);
        if !known {
            let opened = beneath(self.root.as_fd(), path, self.way);
            let opened = opened
                .map_err(io::Error::from)
                .at("open folder", &self.path.join(path))?;
            self.last = Some((path.to_owned(), opened));
        }
        match &self.last {
            Some((_, folder)) => Ok(folder.as_fd()),
            None => Ok(self.root.as_fd()),
        }
    }
}

fn split(path: &str) -> (&str, &str) {
    path.rsplit_once('/').unwrap_or(("", path))
}

const FOLDER: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

fn beneath(root: BorrowedFd<'_>, path: &str, way: Way) -> Result<OwnedFd, Errno> {
    if way == Way::Walk || REFUSED.load(Ordering::Relaxed) {
        return walk(root, path);
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    match rustix::fs::openat2(root, path, FOLDER, Mode::empty(), resolve) {
        // Older kernels and sandboxes; a refusal that the walk meets too is told by the walk.
        Err(Errno::NOSYS | Errno::PERM | Errno::ACCESS | Errno::INVAL) => {
            let out = walk(root, path)?;
            REFUSED.store(true, Ordering::Relaxed);
            Ok(out)
        }
        // A rename or mount elsewhere got in the way; the walk does not mind.
        Err(Errno::AGAIN) => walk(root, path),
        other => other,
    }
}

fn walk(root: BorrowedFd<'_>, path: &str) -> Result<OwnedFd, Errno> {
    let mut here: Option<OwnedFd> = None;
    for part in path.split('/') {
        if matches!(part, "" | "." | "..") {
            return Err(Errno::XDEV);
        }
        let at = here.as_ref().map_or(root, AsFd::as_fd);
        here = Some(rustix::fs::openat(at, part, FOLDER, Mode::empty())?);
    }
    here.ok_or(Errno::INVAL)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn writes_below_its_root_both_ways_and_never_through_a_link() {
        for way in [Way::Kernel, Way::Walk] {
            let dir = tempfile::tempdir().unwrap();
            let outside = dir.path().join("outside");
            let inside = dir.path().join("inside");
            std::fs::create_dir(&outside).unwrap();
            std::fs::create_dir(&inside).unwrap();
            std::fs::write(outside.join("victim"), b"old").unwrap();
            let mut root = Confined::open(&inside, way).unwrap();
            root.make_folder("a/b/c").unwrap();
            root.make_folder("a/b").unwrap();
            let mut file = root.make_file("a/b/c/f", 0o444).unwrap();
            file.write_all(b"x").unwrap();
            let mode = std::fs::metadata(inside.join("a/b/c/f")).unwrap();
            assert_eq!(mode.permissions().mode() & 0o7777, 0o444);
            assert!(root.make_file("a/b/c/f", 0o644).is_err(), "stands there");
            root.link_own("a/b/c/f", "a/g").unwrap();
            root.make_symlink("up", "../outside").unwrap();
            root.make_symlink("file", "../outside/victim").unwrap();
            for path in ["up/new", "up/victim", "file"] {
                assert!(root.make_file(path, 0o644).is_err(), "{path} {way:?}");
                assert!(root.open_file(path).is_err(), "{path} {way:?}");
                assert!(root.make_symlink(path, "x").is_err(), "{path} {way:?}");
                assert!(root.link_own("a/g", path).is_err(), "{path} {way:?}");
            }
            for path in [
                "up/new",
                "up",
                "file",
                "../x",
                "a/../../x",
                "a//x",
                "/tmp/x",
            ] {
                assert!(root.make_folder(path).is_err(), "{path} {way:?}");
            }
            assert_eq!(std::fs::read(outside.join("victim")).unwrap(), b"old");
            assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 1);
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
        }
    }
}
