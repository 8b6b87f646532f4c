//! The cache of artifacts: `<cache>/blobs/sha256/ab/<digest>`, addressed by content alone, never by address or name.
//! A blob is digested each time it is used; one that does not match is set aside as `<digest>.bad-<n>`.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::base::digest::{Digest, Hasher};
use crate::base::fs::{self, At, FsResult};

/// Bytes read at a time.
const BUFFER: usize = 1 << 20;

/// The cache of artifacts.
#[derive(Debug, Clone)]
pub struct Blobs {
    cache: PathBuf,
}

/// What a look at a blob gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// Not there.
    Absent,
    /// There, and its digest matches.
    Good {
        /// Bytes.
        size: u64,
    },
    /// There, but with other bytes; it was set aside.
    Bad {
        /// Its name now.
        aside: PathBuf,
    },
}

impl Blobs {
    /// The cache below `cache`.
    pub fn new(cache: &Path) -> Self {
        Self {
            cache: cache.to_owned(),
        }
    }

    /// Root of the cache.
    pub fn cache(&self) -> &Path {
        &self.cache
    }

    /// Folder of all blobs.
    pub fn folder(&self) -> PathBuf {
        self.cache.join("blobs").join("sha256")
    }

    /// Where a blob is or would be.
    pub fn path(&self, digest: &Digest) -> PathBuf {
        let name = digest.to_string();
        let (front, _) = name.split_at(2);
        self.folder().join(front).join(&name)
    }

    /// Folder of transfers that are not done.
    pub fn partial_folder(&self) -> PathBuf {
        self.cache.join("partial")
    }

    /// Folder of remembered index pages.
    pub fn pages_folder(&self) -> PathBuf {
        self.cache.join("pages")
    }

    /// Folder of programs, and of what is known of the machine's own.
    pub fn tools_folder(&self) -> PathBuf {
        self.cache.join("tools")
    }

    /// Whether a blob is there with this size, without reading it: for plans.
    pub fn has(&self, digest: &Digest, size: Option<u64>) -> bool {
        let found = fs::metadata(&self.path(digest)).ok().flatten();
        found.is_some_and(|m| m.is_file() && size.is_none_or(|s| s == m.len()))
    }

    /// Looks at a blob and digests it.
    pub fn check(&self, digest: &Digest) -> FsResult<Seen> {
        let path = self.path(digest);
        if fs::metadata(&path)?.is_none() {
            return Ok(Seen::Absent);
        }
        let (found, size) = digest_of(&path)?;
        if found == *digest {
            // For pruning only; a cache of another user may refuse it.
            let _ = fs::touch(&path);
            return Ok(Seen::Good { size });
        }
        let aside = set_aside(&path)?;
        Ok(Seen::Bad { aside })
    }

    /// Gives a finished file its name as a blob. The caller has seen its digest.
    pub(super) fn adopt(&self, file: &Path, digest: &Digest) -> FsResult<PathBuf> {
        let path = self.path(digest);
        fs::create_dir_all(fs::parent(&path))?;
        fs::rename(file, &path)?;
        Ok(path)
    }
}

/// Renames a damaged blob to the first free `<digest>.bad-<n>`.
fn set_aside(path: &Path) -> FsResult<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut number = 1;
    loop {
        let aside = path.with_file_name(format!("{name}.bad-{number}"));
        if fs::symlink_metadata(&aside)?.is_none() {
            // Another process may have been faster: then there is nothing left to set aside.
            return match fs::rename(path, &aside) {
                Err(e) if e.source.kind() == std::io::ErrorKind::NotFound => Ok(aside),
                other => other.map(|()| aside),
            };
        }
        number += 1;
    }
}

/// Digest and size of a file.
pub fn digest_of(path: &Path) -> FsResult<(Digest, u64)> {
    let mut file = fs::open(path)?;
    let (hasher, size) = digest_on(&mut file, path, Hasher::new())?;
    Ok((hasher.finish(), size))
}

/// Reads `file` to its end into `hasher`; gives the bytes read.
pub(super) fn digest_on(
    file: &mut impl Read,
    path: &Path,
    mut hasher: Hasher,
) -> FsResult<(Hasher, u64)> {
    let mut buffer = vec![0; BUFFER];
    let mut size = 0;
    loop {
        let read = file.read(&mut buffer).at("read", path)?;
        if read == 0 {
            return Ok((hasher, size));
        }
        hasher.update(buffer.get(..read).unwrap_or_default());
        size += read as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c71_a_changed_blob_is_set_aside() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path());
        let digest = Digest::of(b"abc");
        assert_eq!(blobs.check(&digest).unwrap(), Seen::Absent);
        fs::write(&blobs.path(&digest), b"abc").unwrap();
        assert_eq!(blobs.check(&digest).unwrap(), Seen::Good { size: 3 });
        assert!(blobs.has(&digest, Some(3)) && !blobs.has(&digest, Some(4)));
        for (number, bytes) in [(1, b"".as_slice()), (2, b"abd")] {
            fs::write(&blobs.path(&digest), bytes).unwrap();
            let aside = blobs.path(&digest).with_extension(format!("bad-{number}"));
            assert_eq!(
                blobs.check(&digest).unwrap(),
                Seen::Bad {
                    aside: aside.clone()
                }
            );
            assert_eq!(fs::read(&aside, 9).unwrap(), bytes);
            assert_eq!(blobs.check(&digest).unwrap(), Seen::Absent);
        }
    }
}
