//! How much room a file system has, said before and after it runs out: file system, need, free.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::fs::{self, At, FsResult};

/// Not enough room.
#[derive(Debug, thiserror::Error)]
#[error("the file system at {} has {free} bytes free, {need} are needed for {}", mount.display(), path.display())]
pub struct NoSpace {
    /// Where the file system is mounted.
    pub mount: PathBuf,
    /// What was to be written.
    pub path: PathBuf,
    /// Bytes needed.
    pub need: u64,
    /// Bytes free for this user.
    pub free: u64,
}

impl NoSpace {
    /// What is known about the file system of `path`, where `need` bytes did not fit.
    pub fn at(path: &Path, need: u64) -> FsResult<Self> {
        Ok(Self {
            mount: mount_of(path)?,
            path: path.to_owned(),
            need,
            free: fs::free_space(path)?,
        })
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        format!(
            "free some space on {}, or choose another place (--cache-dir, --out-dir)",
            self.mount.display()
        )
    }
}

/// Where the file system of `path` is mounted.
pub fn mount_of(path: &Path) -> FsResult<PathBuf> {
    let start = std::path::absolute(existing(path)?).at("look at", path)?;
    let device = |path: &Path| Ok(fs::metadata(path)?.map(|m| m.dev()));
    let own = device(&start)?;
    let mut mount = start.as_path();
    while let Some(above) = mount.parent() {
        if device(above)? != own {
            break;
        }
        mount = above;
    }
    Ok(mount.to_owned())
}

fn existing(path: &Path) -> FsResult<&Path> {
    let mut place = path;
    while fs::metadata(place)?.is_none() {
        let above = fs::parent(place);
        if above == place {
            break;
        }
        place = above;
    }
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_the_file_system_of_a_path_that_does_not_exist_yet() {
        assert_eq!(
            mount_of(Path::new("/proc/none/such")).unwrap(),
            Path::new("/proc")
        );
        let space = NoSpace::at(Path::new("/proc/none/such"), 7).unwrap();
        assert_eq!(
            space.to_string(),
            "the file system at /proc has 0 bytes free, 7 are needed for /proc/none/such"
        );
    }
}

/// What a file system still takes from an ordinary user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes.
    pub bytes: u64,
    /// Files; as many as there are numbers where the file system does not count them.
    pub inodes: u64,
    /// Nothing can be written at all.
    pub read_only: bool,
    /// Programs cannot be run from it.
    pub no_exec: bool,
}

/// The room on the file system of `path` (or of its folder, while it does not exist).
pub fn room(path: &Path) -> FsResult<Room> {
    use rustix::fs::StatVfsMountFlags as Flags;
    let at = existing(path)?;
    let stat = rustix::fs::statvfs(at).map_err(std::io::Error::from);
    let stat = stat.at("ask the free space of", at)?;
    Ok(Room {
        bytes: stat.f_bavail.saturating_mul(stat.f_frsize),
        inodes: if stat.f_files == 0 {
            u64::MAX
        } else {
            stat.f_favail
        },
        read_only: stat.f_flag.contains(Flags::RDONLY),
        no_exec: stat.f_flag.contains(Flags::NOEXEC),
    })
}

/// Whether this process may read and write `path`.
pub fn may_read_and_write(path: &Path) -> bool {
    may(path, Access::READ_OK | Access::WRITE_OK)
}

/// Whether this process may make files in the folder `path`.
pub fn may_fill(path: &Path) -> bool {
    may(path, Access::WRITE_OK | Access::EXEC_OK)
}

fn may(path: &Path, access: Access) -> bool {
    use rustix::fs::{AtFlags, CWD, accessat};
    accessat(CWD, path, access, AtFlags::EACCESS).is_ok()
}
