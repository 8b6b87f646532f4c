//! A folder on disk, read by the rules for archives: checked names, links that stay inside, files and folders only. A link
//! is never followed; file bytes are not read here.

use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::links::{LinkFault, Links, check_goal};
use super::name::{NameFault, Names, check_path, escaped};
use super::tar::{Kind, Member};
use crate::base::fs::{self, FsError};

/// Folders inside folders read at most.
const DEEPEST: usize = 100;

/// A folder that is refused.
#[derive(Debug, thiserror::Error)]
pub enum FolderError {
    /// It could not be read.
    #[error(transparent)]
    File(#[from] FsError),
    /// What stands at `path` has a name that is refused.
    #[error("{path} in the folder {folder} is refused")]
    Name {
        /// The folder.
        folder: String,
        /// Path inside it, escaped.
        path: String,
        /// Why.
        #[source]
        source: NameFault,
    },
    /// A symbolic link.
    #[error("the symbolic link {path} in the folder {folder} is refused")]
    Link {
        /// The folder.
        folder: String,
        /// Path inside it.
        path: String,
        /// Why.
        #[source]
        source: LinkFault,
    },
    /// A device, fifo or socket, or folders without end.
    #[error("{path} in the folder {folder} is no file, folder or link, or lies too deep")]
    Type {
        /// The folder.
        folder: String,
        /// Path inside it.
        path: String,
    },
    /// Over the limit.
    #[error("the folder {folder} has more than {limit} members")]
    TooMany {
        /// The folder.
        folder: String,
        /// The limit.
        limit: u64,
    },
}

/// Lists what is in `root`, sorted bytewise. What `left_out` names is passed over whole, unread.
///
/// # Errors
/// What cannot be read, and what an archive could not hold either.
pub fn members(
    root: &Path,
    limit: u64,
    left_out: &dyn Fn(&str) -> bool,
) -> Result<Vec<Member>, FolderError> {
    let mut walk = Walk {
        label: escaped(root.as_os_str().as_bytes()),
        limit,
        left_out,
        names: Names::new(),
        links: Links::new(),
        out: Vec::new(),
    };
    walk.folder(root, "", 0)?;
    walk.links
        .finish()
        .map_err(|(path, source)| FolderError::Link {
            folder: walk.label.clone(),
            path,
            source,
        })?;
    walk.out
        .sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    Ok(walk.out)
}

struct Walk<'a> {
    label: String,
    limit: u64,
    left_out: &'a dyn Fn(&str) -> bool,
    names: Names,
    links: Links,
    out: Vec<Member>,
}

impl Walk<'_> {
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), FolderError> {
        for path in fs::list(folder)? {
            let name = path.file_name().unwrap_or_default().as_bytes();
            let raw = [prefix.as_bytes(), name].concat();
            let inside = match check_path(&raw) {
                Ok(inside) => inside.to_owned(),
                Err(source) => return Err(self.name(&raw, source)),
            };
            if !(self.left_out)(&inside) {
                self.one(&path, inside, depth)?;
            }
        }
        Ok(())
    }

    fn one(&mut self, path: &Path, inside: String, depth: usize) -> Result<(), FolderError> {
        let Some(metadata) = fs::symlink_metadata(path)? else {
            return Ok(());
        };
        let kind = if metadata.is_symlink() {
            let goal = fs::read_link(path)?;
            let goal = check_goal(&inside, goal.as_os_str().as_bytes());
            let goal = goal
                .map(str::to_owned)
                .map_err(|source| FolderError::Link {
                    folder: self.label.clone(),
                    path: escaped(inside.as_bytes()),
                    source,
                })?;
            self.links.add(&inside, &goal);
            Kind::Symlink(goal)
        } else if metadata.is_dir() && depth < DEEPEST {
            Kind::Dir
        } else if metadata.is_file() {
            Kind::File
        } else {
            return Err(FolderError::Type {
                folder: self.label.clone(),
                path: escaped(inside.as_bytes()),
            });
        };
        let is_dir = kind == Kind::Dir;
        if let Err(source) = self.names.add(&inside, is_dir) {
            return Err(self.name(inside.as_bytes(), source));
        }
        if self.out.len() as u64 >= self.limit {
            return Err(FolderError::TooMany {
                folder: self.label.clone(),
                limit: self.limit,
            });
        }
        let size = if kind == Kind::File {
            metadata.len()
        } else {
            0
        };
        let executable = metadata.permissions().mode() & 0o100 != 0;
        let below = format!("{inside}/");
        self.out.push(Member {
            path: inside,
            kind,
            executable,
            size,
        });
        if is_dir {
            self.folder(path, &below, depth + 1)?;
        }
        Ok(())
    }

    fn name(&self, path: &[u8], source: NameFault) -> FolderError {
        FolderError::Name {
            folder: self.label.clone(),
            path: escaped(path),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_a_folder_and_refuses_what_an_archive_could_not_hold() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        std::fs::create_dir_all(root.join("pkg/.git/objects")).unwrap();
        std::fs::write(root.join("pkg/a.py"), "x").unwrap();
        std::os::unix::fs::symlink("a.py", root.join("pkg/b.py")).unwrap();
        let left_out = |path: &str| path.ends_with(".git");
        let list = || members(root, 10, &left_out);
        let paths: Vec<String> = list().unwrap().into_iter().map(|m| m.path).collect();
        assert_eq!(paths, ["pkg", "pkg/a.py", "pkg/b.py"]);
        assert!(matches!(
            members(root, 2, &left_out),
            Err(FolderError::TooMany { limit: 2, .. })
        ));

        std::os::unix::fs::symlink("../../etc", root.join("pkg/out")).unwrap();
        assert!(matches!(
            list(),
            Err(FolderError::Link {
                source: LinkFault::Leaves,
                ..
            })
        ));
        std::fs::remove_file(root.join("pkg/out")).unwrap();
        std::fs::write(root.join("pkg/A.py"), "x").unwrap();
        assert!(matches!(
            list(),
            Err(FolderError::Name {
                source: NameFault::FoldsLike(_),
                ..
            })
        ));
        std::fs::remove_file(root.join("pkg/A.py")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
        assert!(matches!(list(), Err(FolderError::Type { .. })));
    }
}
