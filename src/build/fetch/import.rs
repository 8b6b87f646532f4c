//! Local files: used in place (a mirror's), into the cache (copied and digested in one pass, so that nobody can change
//! them afterwards), and out of it into a mirror folder with `SHA256SUMS`.

use std::fmt::Write as _;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use super::blobs::Blobs;
use super::error::FetchError;
use super::{Fetched, Order};
use crate::base::digest::{Digest, Hasher};
use crate::base::fs::{self, At, Draft, File, FsResult, Stamp};
use crate::base::progress::Progress;
use crate::base::space::NoSpace;
use crate::formats::simple_index::is_plain;

/// Bytes copied at a time.
const BUFFER: usize = 256 << 10;
/// Bytes of a mapped file digested before their memory is let go.
const MAPPED: usize = 4 << 20;
/// Name of the list of digests in a mirror.
pub const SUMS: &str = "SHA256SUMS";

/// Digests a file of a mirror, which stays where it is: gigabytes are not written a second time.
pub(super) fn in_place(
    file: &Path,
    order: &Order,
    progress: &Progress,
) -> Result<(u64, Stamp), FetchError> {
    let before = Stamp::of(file)?;
    let (source, size) = open_sized(file, order)?;
    let task = progress.task(&order.label, Some(size));
    let mut hasher = Hasher::new();
    if size > 0 {
        // It is mapped to be unpacked anyway; read, every byte would be copied once more.
        let map = fs::map(&source, file)?;
        for start in (0..map.len()).step_by(MAPPED) {
            let end = map.len().min(start + MAPPED);
            let bytes = map.get(start..end).unwrap_or_default();
            hasher.update(bytes);
            fs::forget(&map, start..end);
            task.advance(bytes.len() as u64);
        }
    }
    wanted(file, order, hasher.finish())?;
    match (before, Stamp::of(file)?) {
        (Some(before), Some(after)) if before == after => Ok((size, after)),
        _ => Err(FetchError::WrongBytes {
            from: file.display().to_string(),
            what: "other bytes than a moment ago".to_owned(),
        }),
    }
}

/// Takes a local file into the cache, if it holds the wanted bytes.
pub(super) fn import(
    blobs: &Blobs,
    file: &Path,
    order: &Order,
    progress: &Progress,
) -> Result<(PathBuf, u64), FetchError> {
    let path = blobs.path(&order.sha256);
    let (mut source, len) = open_sized(file, order)?;
    let unusable = |source| FetchError::Cache {
        cache: blobs.cache().to_owned(),
        source,
    };
    let mut draft = Draft::new(&path).map_err(unusable)?;
    let task = progress.task(&order.label, Some(len));
    let passed = pass(&mut source, file, |bytes| {
        draft.file().write_all(bytes).at("write", &path)?;
        task.advance(bytes.len() as u64);
        Ok(())
    });
    let (found, size) = passed.map_err(|e| full(e, len))?;
    wanted(file, order, found)?;
    draft.keep(false).map_err(unusable)?;
    Ok((path, size))
}

/// Opens a file and says its size, which must be the order's.
fn open_sized(file: &Path, order: &Order) -> Result<(File, u64), FetchError> {
    let source = fs::open(file)?;
    let len = source.metadata().at("look at", file)?.len();
    match order.size {
        Some(size) if size != len => Err(FetchError::WrongBytes {
            from: file.display().to_string(),
            what: format!("{len} bytes instead of {size}"),
        }),
        _ => Ok((source, len)),
    }
}

/// Refuses other bytes than the order's.
fn wanted(file: &Path, order: &Order, found: Digest) -> Result<(), FetchError> {
    if found == order.sha256 {
        return Ok(());
    }
    Err(FetchError::WrongBytes {
        from: file.display().to_string(),
        what: format!("sha256 {found} instead of {}", order.sha256),
    })
}

/// Reads all of it once, digested and handed to `each`; gives the digest and how many bytes there were.
fn pass(
    source: &mut impl Read,
    from: &Path,
    mut each: impl FnMut(&[u8]) -> FsResult<()>,
) -> FsResult<(Digest, u64)> {
    let mut hasher = Hasher::new();
    let mut buffer = vec![0; BUFFER];
    let mut size = 0;
    loop {
        let read = source.read(&mut buffer).at("read", from)?;
        if read == 0 {
            return Ok((hasher.finish(), size));
        }
        let bytes = buffer.get(..read).unwrap_or_default();
        hasher.update(bytes);
        each(bytes)?;
        size += read as u64;
    }
}

/// Says how much room there is when that was the trouble.
fn full(error: fs::FsError, need: u64) -> FetchError {
    let is_full = matches!(
        error.source.kind(),
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
    );
    match NoSpace::at(&error.path, need) {
        Ok(space) if is_full => space.into(),
        _ => error.into(),
    }
}

/// Writes artifacts and `SHA256SUMS` (coreutils form, sorted by name) into a folder. Files that are there with the right
/// bytes stay; other files of the folder are left alone. Gives the bytes written.
pub fn write_mirror(folder: &Path, artifacts: &[Fetched]) -> Result<u64, FetchError> {
    fs::create_dir_all(folder)?;
    let mut lines = std::collections::BTreeMap::new();
    let listed = fs::read_if_exists(&folder.join(SUMS), 64 << 20)?.unwrap_or_default();
    for (digest, name) in read_sums(&String::from_utf8_lossy(&listed)) {
        lines.insert(name, digest);
    }
    let mut written = 0;
    for artifact in artifacts {
        let to = folder.join(artifact.file());
        lines.insert(artifact.file().to_owned(), artifact.digest());
        if fs::metadata(&to)?.is_some_and(|m| m.len() == artifact.size())
            && super::blobs::digest_of(&to)?.0 == artifact.digest()
        {
            continue;
        }
        let mut source = fs::open(artifact.path())?;
        let mut draft = Draft::new(&to)?;
        let to = draft.path().to_owned();
        let copied = pass(&mut source, artifact.path(), |bytes| {
            draft.file().write_all(bytes).at("write", &to)
        });
        let (found, size) = copied.map_err(|e| full(e, artifact.size()))?;
        if found != artifact.digest() {
            return Err(FetchError::WrongBytes {
                from: artifact.path().display().to_string(),
                what: format!("sha256 {found} instead of {}", artifact.digest()),
            });
        }
        draft.keep(true)?;
        written += size;
    }
    let mut sums = String::new();
    for (name, digest) in &lines {
        let _ = writeln!(sums, "{digest}  {name}");
    }
    fs::write(&folder.join(SUMS), sums.as_bytes())?;
    Ok(written)
}

/// The digest that the list of a mirror gives for a file.
pub(super) fn listed(folder: &Path, file: &str) -> FsResult<Option<Digest>> {
    let list = fs::read_if_exists(&folder.join(SUMS), 64 << 20)?.unwrap_or_default();
    let lines = read_sums(&String::from_utf8_lossy(&list));
    let found = lines.into_iter().find(|(_, name)| name == file);
    Ok(found.map(|(digest, _)| digest))
}

/// The lines of a `SHA256SUMS` that name plain files.
fn read_sums(text: &str) -> Vec<(Digest, String)> {
    let line = |line: &str| {
        let (digest, name) = line.split_once(' ')?;
        let name = name.strip_prefix([' ', '*'])?;
        is_plain(name).then_some(())?;
        Some((digest.parse().ok()?, name.to_owned()))
    };
    text.lines().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(bytes: &[u8]) -> Order {
        Order {
            label: "x 1".to_owned(),
            file: "x-1+l.whl".to_owned(),
            sha256: Digest::of(bytes),
            size: Some(bytes.len() as u64),
            places: Vec::new(),
        }
    }

    #[test]
    fn only_the_wanted_bytes_come_in() {
        let dir = tempfile::tempdir().unwrap();
        let blobs = Blobs::new(&dir.path().join("cache"));
        let file = dir.path().join("x");
        fs::write(&file, b"abd").unwrap();
        let order = order(b"abc");
        let error = import(&blobs, &file, &order, &Progress::silent()).unwrap_err();
        assert!(error.to_string().contains("sha256"), "{error}");
        fs::write(&file, b"abcd").unwrap();
        let error = import(&blobs, &file, &order, &Progress::silent()).unwrap_err();
        assert!(
            error.to_string().ends_with("4 bytes instead of 3"),
            "{error}"
        );
        assert!(!blobs.has(&order.sha256, None));
        fs::write(&file, b"abc").unwrap();
        let (path, size) = import(&blobs, &file, &order, &Progress::silent()).unwrap();
        assert_eq!((fs::read(&path, 9).unwrap(), size), (b"abc".to_vec(), 3));
    }

    #[test]
    fn a_mirrors_file_is_digested_where_it_is_and_watched() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("x");
        fs::write(&file, b"abc").unwrap();
        let order = order(b"abc");
        let (size, stamp) = in_place(&file, &order, &Progress::silent()).unwrap();
        let fetched = Fetched {
            digest: order.sha256,
            size,
            path: file.clone(),
            file: "x".to_owned(),
            stamp: Some(stamp),
        };
        let now = || Stamp::of(&file).unwrap();
        assert!(size == 3 && fetched.stamp() == now());
        fs::write(&file, b"abd").unwrap();
        assert!(fetched.stamp() != now());
        let error = in_place(&file, &order, &Progress::silent()).unwrap_err();
        assert!(error.to_string().contains("sha256"), "{error}");
        fs::write(&file, b"ab").unwrap();
        let error = in_place(&file, &order, &Progress::silent()).unwrap_err();
        assert!(
            error.to_string().contains("2 bytes instead of 3"),
            "{error}"
        );
    }

    #[test]
    fn a_mirror_lists_what_it_holds_and_grows() {
        let dir = tempfile::tempdir().unwrap();
        let mirror = dir.path().join("mirror");
        let made = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            fs::write(&path, bytes).unwrap();
            Fetched {
                digest: Digest::of(bytes),
                size: bytes.len() as u64,
                path,
                file: name.to_owned(),
                stamp: None,
            }
        };
        assert_eq!(
            write_mirror(&mirror, &[made("b-1+l.whl", b"bb")]).unwrap(),
            2
        );
        let both = [made("b-1+l.whl", b"bb"), made("a.whl", b"a")];
        assert_eq!(write_mirror(&mirror, &both).unwrap(), 1);
        let sums = String::from_utf8(fs::read(&mirror.join(SUMS), 999).unwrap()).unwrap();
        let wanted = format!(
            "{}  a.whl\n{}  b-1+l.whl\n",
            Digest::of(b"a"),
            Digest::of(b"bb")
        );
        assert_eq!(sums, wanted);
    }
}
