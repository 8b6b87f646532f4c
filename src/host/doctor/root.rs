//! A host as a folder: everything the doctor reads of a machine is read through here, below one root. For the machine
//! itself that is `/`. Below any other root links are followed by us, so that an absolute link stays inside, and
//! nothing is run: what only a running machine can say may stand in `host.json` at the top of that folder.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;

use crate::base::fs::{self, FsError};
use crate::base::space::{self, Room};

/// Links followed on the way to one file, as Linux does.
const MAX_LINKS: u32 = 40;

/// No text of a host is longer.
const MAX_TEXT: u64 = 4 << 20;

/// Name of the file with what no folder can hold.
const RECORDED: &str = "host.json";

/// What a folder cannot hold of a host: written by hand or recorded on it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Recorded {
    /// Where the shape comes from: a recording, or which documents.
    pub origin: String,
    /// The environment of the user.
    pub environment: BTreeMap<String, String>,
    /// What nvidia-smi prints.
    pub nvidia_smi: Option<RecordedSmi>,
    /// What is free where bundles would be installed.
    pub room: Option<RecordedRoom>,
    /// Paths that are there but that the user may not read and write.
    pub denied: Vec<String>,
}

/// What nvidia-smi prints.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RecordedSmi {
    /// For the query of all fields that are wanted.
    pub query: Option<String>,
    /// For the query that old ones understand: name and driver.
    pub short_query: Option<String>,
    /// For `-L`.
    pub list: Option<String>,
}

/// Free room.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedRoom {
    /// Bytes.
    pub bytes: u64,
    /// Files that can still be made.
    pub inodes: u64,
}

/// Why a folder is no host.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// It is not there, or no folder.
    #[error("{} is no folder", .0.display())]
    NoFolder(PathBuf),
    /// Its `host.json` cannot be read.
    #[error("could not read what {} says of the host", path.display())]
    Recorded {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// A file operation failed.
    #[error("could not look at the host")]
    File(#[from] FsError),
}

/// A host, seen from the top of its file system.
#[derive(Debug, Clone)]
pub struct Root {
    top: PathBuf,
    live: bool,
    recorded: Recorded,
}

impl Root {
    /// The machine this program runs on, or the folder that stands for one.
    pub fn open(top: &Path) -> Result<Self, RootError> {
        if !fs::metadata(top)?.is_some_and(|m| m.is_dir()) {
            return Err(RootError::NoFolder(top.to_owned()));
        }
        let live = top == Path::new("/");
        let path = top.join(RECORDED);
        let recorded = match fs::read_if_exists(&path, MAX_TEXT)? {
            Some(bytes) if !live => serde_json::from_slice(&bytes)
                .map_err(|source| RootError::Recorded { path, source })?,
            _ => Recorded::default(),
        };
        Ok(Self {
            top: top.to_owned(),
            live,
            recorded,
        })
    }

    /// Whether this is the running machine, which can be asked and not only read.
    pub fn is_live(&self) -> bool {
        self.live
    }

    /// What a folder cannot hold.
    pub fn recorded(&self) -> &Recorded {
        &self.recorded
    }

    /// Where `path` of the host really lies, if it is there; links followed inside the root.
    pub fn real(&self, path: &str) -> Option<PathBuf> {
        if self.live {
            let path = Path::new("/").join(path);
            return fs::metadata(&path).ok()?.map(|_| path);
        }
        let mut left: Vec<PathBuf> = parts(Path::new(path));
        let mut at: Vec<PathBuf> = Vec::new();
        let mut links = 0;
        while let Some(name) = left.pop() {
            if name.as_os_str() == ".." {
                at.pop();
                continue;
            }
            let here = self.below(&at).join(&name);
            let there = fs::symlink_metadata(&here).ok()??;
            if !there.is_symlink() {
                at.push(name);
                continue;
            }
            links += 1;
            if links > MAX_LINKS {
                return None;
            }
            let goal = fs::read_link(&here).ok()?;
            if goal.is_absolute() {
                at.clear();
            }
            left.extend(parts(&goal));
        }
        Some(self.below(&at))
    }

    fn below(&self, at: &[PathBuf]) -> PathBuf {
        at.iter()
            .fold(self.top.clone(), |path, name| path.join(name))
    }

    /// Whether `path` is there.
    pub fn has(&self, path: &str) -> bool {
        self.real(path).is_some()
    }

    /// The first bytes of a regular file.
    pub fn head(&self, path: &str, limit: u64) -> Option<Vec<u8>> {
        use std::io::Read;
        let mut bytes = Vec::new();
        let file = fs::open(&self.regular(path)?).ok()?;
        file.take(limit).read_to_end(&mut bytes).ok()?;
        Some(bytes)
    }

    /// A whole regular file of at most `limit` bytes.
    pub fn read(&self, path: &str, limit: u64) -> Option<Vec<u8>> {
        fs::read(&self.regular(path)?, limit).ok()
    }

    /// A text file, with what is no UTF-8 replaced.
    pub fn text(&self, path: &str) -> Option<String> {
        let bytes = self.read(path, MAX_TEXT)?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Only regular files are opened: a pipe or a device could make us wait, or do something.
    fn regular(&self, path: &str) -> Option<PathBuf> {
        let real = self.real(path)?;
        let is_file = fs::metadata(&real).ok()?.is_some_and(|m| m.is_file());
        is_file.then_some(real)
    }

    /// Names in a folder, sorted.
    pub fn names(&self, path: &str) -> Vec<String> {
        let Some(real) = self.real(path) else {
            return Vec::new();
        };
        let paths = fs::list(&real).unwrap_or_default();
        let name = |path: PathBuf| Some(path.file_name()?.to_str()?.to_owned());
        paths.into_iter().filter_map(name).collect()
    }

    /// Whether the user may read and write `path`, which is there.
    pub fn may_read_and_write(&self, path: &str) -> bool {
        if self.live {
            self.real(path)
                .is_some_and(|real| space::may_read_and_write(&real))
        } else {
            !self.recorded.denied.iter().any(|denied| denied == path)
        }
    }

    /// The nearest folder to `path` that is there, going up.
    pub fn existing(&self, path: &str) -> String {
        let mut at = path.trim_end_matches('/');
        while !at.is_empty() && !self.has(at) {
            at = at.rsplit_once('/').map_or("", |(above, _)| above);
        }
        if at.is_empty() { "/" } else { at }.to_owned()
    }

    /// Whether the user may make files in the folder `path`, or could once it is made.
    pub fn may_fill(&self, path: &str) -> bool {
        let existing = self.existing(path);
        if self.live {
            space::may_fill(Path::new(&existing))
        } else {
            !self.recorded.denied.contains(&existing)
        }
    }

    /// The room on the file system of `path`.
    pub fn room(&self, path: &str) -> Option<Room> {
        if let Some(room) = self.recorded.room {
            return Some(Room {
                bytes: room.bytes,
                inodes: room.inodes,
                read_only: false,
                no_exec: false,
            });
        }
        space::room(&self.real(&self.existing(path))?).ok()
    }
}

/// The names of a path, the first one last; `..` stays, `/` and `.` do not.
fn parts(path: &Path) -> Vec<PathBuf> {
    let part = |component: Component<'_>| match component {
        Component::Normal(name) => Some(PathBuf::from(name)),
        Component::ParentDir => Some(PathBuf::from("..")),
        _ => None,
    };
    let mut parts: Vec<PathBuf> = path.components().filter_map(part).collect();
    parts.reverse();
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_stay_below_the_root() {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path();
        fs::create_dir_all(&top.join("usr/lib")).unwrap();
        fs::write(&top.join("usr/lib/x"), b"inside").unwrap();
        for (name, goal) in [
            ("lib", "usr/lib"),
            ("absolute", "/usr/lib/x"),
            ("above", "../../../../usr/lib/x"),
            ("loop", "loop"),
            ("outside", "/etc/passwd"),
        ] {
            fs::symlink(goal, &top.join(name)).unwrap();
        }
        let root = Root::open(top).unwrap();
        for path in ["/lib/x", "absolute", "above", "lib/../lib/x", "../../lib/x"] {
            assert_eq!(root.text(path).as_deref(), Some("inside"), "{path}");
        }
        for path in ["loop", "outside", "lib/x/y", "absent"] {
            assert_eq!(root.text(path), None, "{path}");
        }
        assert_eq!(root.names("lib"), ["x"]);
        assert!(Root::open(&top.join("usr/lib/x")).is_err());
    }
}
