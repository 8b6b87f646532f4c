//! A transfer that is not done: `<cache>/partial/<digest>` and beside it `<digest>.json`, which says which ETag of which
//! address (as a digest) the bytes belong to. Kept over runs, so that a new process goes on where a killed one stopped.
//!
//! One process at a time writes a partial (flock); others wait as long as it grows, and then go on alone in a file of
//! their own. The lock saves work; what comes out is right without it, as every byte is digested.

use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use url::Url;

use super::blobs::{self, Blobs};
use super::error::FetchError;
use crate::base::digest::{Digest, Hasher};
use crate::base::fs::{self, At, DraftDir, File, TryLockError};
use crate::base::http::without_user;
use crate::base::space::NoSpace;

/// How often a waiting process looks again.
const LOOK: Duration = Duration::from_millis(50);

/// A transfer that is not done, open and ours.
pub(super) struct Partial {
    file: File,
    path: PathBuf,
    side: PathBuf,
    hasher: Hasher,
    len: u64,
    /// The folder of a file that is this process's alone.
    _alone: Option<DraftDir>,
}

/// Who has the partial of a blob.
pub(super) enum Claim {
    /// We.
    Mine(Partial),
    /// Nobody any more: another process finished it while we waited.
    Finished,
}

#[derive(Debug, Serialize, Deserialize)]
struct Side {
    etag: String,
    source: Digest,
}

/// Takes the partial of `digest`. Waits for another process as long as its file grows; `waiting` is called once then.
pub(super) fn claim(
    blobs: &Blobs,
    digest: &Digest,
    give_up: Duration,
    waiting: &dyn Fn(),
    stopped: &dyn Fn() -> bool,
) -> Result<Claim, FetchError> {
    let unusable = |source| FetchError::Cache {
        cache: blobs.cache().to_owned(),
        source,
    };
    let folder = blobs.partial_folder();
    fs::create_dir_all(&folder).map_err(unusable)?;
    let path = folder.join(digest.to_string());
    let mut told = false;
    let mut grown = (0, Instant::now());
    loop {
        let file = match fs::open_rw(&path) {
            Ok(file) => file,
            // Of another user: his bytes cannot be continued.
            Err(e) if e.source.kind() == std::io::ErrorKind::PermissionDenied => {
                return private(&folder, digest).map_err(unusable).map(Claim::Mine);
            }
            Err(e) => return Err(unusable(e)),
        };
        match file.try_lock() {
            Ok(()) if is_at(&file, &path)? => {
                let partial = Partial::open(file, path)?;
                if partial.len == 0 && blobs.has(digest, None) {
                    partial.discard()?;
                    return Ok(Claim::Finished);
                }
                return Ok(Claim::Mine(partial));
            }
            // Finished and renamed between open and lock.
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let len = file.metadata().at("look at", &path)?.len();
                if len != grown.0 {
                    grown = (len, Instant::now());
                }
                if grown.1.elapsed() > give_up {
                    return private(&folder, digest).map_err(unusable).map(Claim::Mine);
                }
                if !std::mem::replace(&mut told, true) {
                    waiting();
                }
                if stopped() {
                    return Err(FetchError::Stopped);
                }
                std::thread::sleep(LOOK);
            }
            // A file system without locks.
            Err(TryLockError::Error(_)) => {
                return private(&folder, digest).map_err(unusable).map(Claim::Mine);
            }
        }
        if blobs.has(digest, None) {
            return Ok(Claim::Finished);
        }
    }
}

/// Whether `file` still has the name `path`.
fn is_at(file: &File, path: &Path) -> Result<bool, FetchError> {
    let own = file.metadata().at("look at", path)?;
    let named = fs::metadata(path)?;
    Ok(named.is_some_and(|n| (n.dev(), n.ino()) == (own.dev(), own.ino())))
}

/// A file of this process alone.
fn private(folder: &Path, digest: &Digest) -> fs::FsResult<Partial> {
    let own = DraftDir::new(folder)?;
    let path = own.path().join(digest.to_string());
    Ok(Partial {
        file: fs::open_rw(&path)?,
        side: path.with_extension("json"),
        path,
        hasher: Hasher::new(),
        len: 0,
        _alone: Some(own),
    })
}

impl Partial {
    fn open(mut file: File, path: PathBuf) -> fs::FsResult<Self> {
        let (hasher, len) = blobs::digest_on(&mut file, &path, Hasher::new())?;
        Ok(Self {
            file,
            side: path.with_extension("json"),
            path,
            hasher,
            len,
            _alone: None,
        })
    }

    /// Bytes that are here.
    pub(super) fn len(&self) -> u64 {
        self.len
    }

    /// Digest of the bytes that are here.
    pub(super) fn digest(&self) -> Digest {
        self.hasher.clone().finish()
    }

    /// The ETag that the bytes belong to, if they came from `url`.
    pub(super) fn etag(&self, url: &Url) -> Option<String> {
        let bytes = fs::read_if_exists(&self.side, 1 << 16).ok()??;
        let side: Side = serde_json::from_slice(&bytes).ok()?;
        (side.source == name_of(url)).then_some(side.etag)
    }

    /// Remembers which ETag of `url` the bytes to come belong to.
    pub(super) fn set_etag(&self, url: &Url, etag: Option<&str>) -> Result<(), FetchError> {
        let Some(etag) = etag.filter(|e| is_strong(e)) else {
            return Ok(fs::remove_file(&self.side)?);
        };
        let side = Side {
            etag: etag.to_owned(),
            source: name_of(url),
        };
        let bytes = serde_json::to_vec(&side).unwrap_or_default();
        Ok(fs::write(&self.side, &bytes)?)
    }

    /// Throws the bytes away.
    pub(super) fn clear(&mut self) -> Result<(), FetchError> {
        self.file.set_len(0).at("cut", &self.path)?;
        self.file
            .seek(SeekFrom::Start(0))
            .at("seek in", &self.path)?;
        self.hasher = Hasher::new();
        self.len = 0;
        Ok(fs::remove_file(&self.side)?)
    }

    /// Appends bytes. On a full file system the partial goes, so that nothing half-made stays.
    pub(super) fn append(&mut self, bytes: &[u8], total: Option<u64>) -> Result<(), FetchError> {
        if let Err(error) = self.file.write_all(bytes) {
            let full = matches!(
                error.kind(),
                std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
            );
            if full {
                let need = total.unwrap_or(self.len + bytes.len() as u64);
                self.discard()?;
                return Err(NoSpace::at(&self.path, need)?.into());
            }
            return Err(error).at("write", &self.path).map_err(Into::into);
        }
        self.hasher.update(bytes);
        self.len += bytes.len() as u64;
        Ok(())
    }

    /// Removes the partial.
    pub(super) fn discard(&self) -> Result<(), FetchError> {
        fs::remove_file(&self.side)?;
        Ok(fs::remove_file(&self.path)?)
    }

    /// Gives the bytes their name as a blob. The caller has compared the digest.
    pub(super) fn finish(self, blobs: &Blobs, digest: &Digest) -> Result<PathBuf, FetchError> {
        fs::remove_file(&self.side)?;
        Ok(blobs.adopt(&self.path, digest)?)
    }
}

/// Whether an ETag may be used to continue a body (RFC 9110, 13.1.5: weak ones may not).
fn is_strong(etag: &str) -> bool {
    etag.starts_with('"') && etag.ends_with('"') && etag.len() > 1 && etag.len() < 1024
}

/// An address as a digest, its user name, query and fragment left out: nothing of it can be read back.
fn name_of(url: &Url) -> Digest {
    let mut url = without_user(url);
    url.set_query(None);
    url.set_fragment(None);
    Digest::of(url.as_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(blobs: &Blobs, digest: &Digest) -> Claim {
        claim(blobs, digest, Duration::from_millis(200), &|| {}, &|| false).unwrap()
    }

    fn mine(claim: Claim) -> Partial {
        match claim {
            Claim::Mine(partial) => partial,
            Claim::Finished => panic!("finished by nobody"),
        }
    }

    #[test]
    fn bytes_stay_for_the_next_one_with_their_etag() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path());
        let digest = Digest::of(b"abcdef");
        let url = Url::parse("http://u:secret@h.example/x?sig=secret").unwrap();
        let mut partial = mine(take(&blobs, &digest));
        partial.set_etag(&url, Some("\"1\"")).unwrap();
        partial.append(b"abc", None).unwrap();
        drop(partial);
        let mut partial = mine(take(&blobs, &digest));
        assert_eq!(partial.len(), 3);
        assert_eq!(partial.etag(&url).as_deref(), Some("\"1\""));
        assert_eq!(partial.etag(&url.join("/y").unwrap()), None);
        let side = fs::read(&partial.side, 1000).unwrap();
        assert!(!String::from_utf8(side).unwrap().contains("secret"));
        partial.append(b"def", None).unwrap();
        assert_eq!(partial.digest(), digest);
        let path = partial.finish(&blobs, &digest).unwrap();
        assert_eq!(fs::read(&path, 9).unwrap(), b"abcdef");
        assert!(fs::list(&blobs.partial_folder()).unwrap().is_empty());
    }

    #[test]
    fn weak_etags_are_not_kept() {
        for etag in ["W/\"1\"", "1", "\"", ""] {
            assert!(!is_strong(etag), "{etag}");
        }
        assert!(is_strong("\"1\""));
    }

    #[test]
    fn who_waits_too_long_goes_on_alone() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(dir.path());
        let digest = Digest::of(b"abc");
        let first = mine(take(&blobs, &digest));
        let mut second = mine(take(&blobs, &digest));
        assert_ne!(second.path, first.path);
        second.append(b"abc", None).unwrap();
        second.finish(&blobs, &digest).unwrap();
        assert!(matches!(take(&blobs, &digest), Claim::Finished));
        drop(first);
        assert_eq!(fs::list(&blobs.partial_folder()).unwrap().len(), 1);
    }
}
