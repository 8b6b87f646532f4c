//! Looking after the cache of artifacts: its size, pruning, checking. Safe while others use it: a blob that is open is read
//! on, and a transfer that runs is locked and stays.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::blobs::{Blobs, Seen};
use crate::base::digest::Digest;
use crate::base::fs::{self, FsResult};

/// Files and bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight {
    /// Files.
    pub files: u64,
    /// Bytes of them.
    pub bytes: u64,
}

/// What the cache of artifacts takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BlobsSize {
    /// Artifacts.
    pub artifacts: Weight,
    /// Transfers that are not done.
    pub transfers: Weight,
    /// Remembered index pages.
    pub pages: Weight,
}

impl Blobs {
    /// Counts files and bytes.
    pub fn size(&self) -> FsResult<BlobsSize> {
        Ok(BlobsSize {
            artifacts: weigh(&self.folder())?,
            transfers: weigh(&self.partial_folder())?,
            pages: weigh(&self.pages_folder())?,
        })
    }

    /// Removes what was last used before `before`, damaged copies that were set aside, and what killed processes left.
    pub fn prune(&self, before: SystemTime) -> FsResult<Weight> {
        let mut removed = Weight::default();
        let folders = [self.folder(), self.partial_folder(), self.pages_folder()];
        for folder in &folders {
            if fs::metadata(folder)?.is_some() {
                fs::sweep_drafts(folder)?;
            }
        }
        for path in folders
            .iter()
            .map(|f| files(f))
            .collect::<FsResult<Vec<_>>>()?
            .concat()
        {
            let Some(metadata) = fs::metadata(&path)? else {
                continue;
            };
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let is_old = metadata.modified().is_ok_and(|used| used < before);
            if !is_old && !name.contains(".bad-") {
                continue;
            }
            // Held while the name goes: who waits for it sees that it is gone.
            let file = fs::open(&path)?;
            if matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock)) {
                continue;
            }
            fs::remove_file(&path)?;
            removed.files += 1;
            removed.bytes += metadata.len();
        }
        Ok(removed)
    }

    /// Digests every blob and sets damaged ones aside; `passed` hears the bytes of each. Gives how many were looked at,
    /// and the damaged ones.
    pub fn verify(&self, passed: &dyn Fn(u64)) -> FsResult<(u64, Vec<Digest>)> {
        let mut damaged = Vec::new();
        let mut looked = 0;
        for path in files(&self.folder())? {
            let name = path.file_name().and_then(|n| n.to_str());
            let Some(digest) = name.and_then(|n| n.parse().ok()) else {
                continue;
            };
            let bytes = fs::metadata(&path)?.map_or(0, |m| m.len());
            looked += 1;
            if let Seen::Bad { .. } = self.check(&digest)? {
                damaged.push(digest);
            }
            passed(bytes);
        }
        Ok((looked, damaged))
    }
}

/// The files below a folder, drafts of running processes left out; none where it is missing.
fn files(folder: &Path) -> FsResult<Vec<PathBuf>> {
    let mut out = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        if fs::symlink_metadata(&folder)?.is_none() {
            continue;
        }
        for path in fs::list(&folder)? {
            let hidden = path
                .file_name()
                .is_none_or(|n| n.as_encoded_bytes().starts_with(b"."));
            match fs::symlink_metadata(&path)? {
                Some(_) | None if hidden => {}
                Some(m) if m.is_dir() => folders.push(path),
                Some(_) => out.push(path),
                None => {}
            }
        }
    }
    Ok(out)
}

fn weigh(folder: &Path) -> FsResult<Weight> {
    let mut out = Weight::default();
    for path in files(folder)? {
        out.files += 1;
        out.bytes += fs::symlink_metadata(&path)?.map_or(0, |m| m.len());
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn pruning_takes_old_and_damaged_files_and_leaves_running_transfers() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path());
        let digest = Digest::of(b"abc");
        fs::write(&blobs.path(&digest), b"abc").unwrap();
        let other = Digest::of(b"x");
        fs::write(&blobs.path(&other), b"damaged").unwrap();
        assert_eq!(blobs.verify(&|_| {}).unwrap(), (2, vec![other]));
        let running = blobs.partial_folder().join(digest.to_string());
        fs::write(&running, b"ab").unwrap();
        let held = fs::open(&running).unwrap();
        held.lock().unwrap();
        assert_eq!(blobs.size().unwrap().artifacts.files, 2);
        let removed = blobs.prune(SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!((removed.files, removed.bytes), (1, 7));
        let later = SystemTime::now() + Duration::from_secs(9);
        assert_eq!(blobs.prune(later).unwrap().files, 1);
        assert_eq!(blobs.size().unwrap().transfers.files, 1);
        drop(held);
        assert_eq!(blobs.prune(later).unwrap().files, 1);
    }
}
