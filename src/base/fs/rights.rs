//! Which folder or file stands in the way of a user who was refused, in words.

use std::path::{Path, PathBuf};

use super::parent;

/// What a user may do with what stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Right {
    Read,
    Write,
    Enter,
}

/// The verbs of [`super::FsError`] that only look.
const LOOKING: [&str; 6] = ["open", "read", "list", "look at", "read link", "map"];

/// `user 1000 may not write in /srv (of user 0, mode 755)`.
pub(super) fn refused(doing: &str, path: &Path) -> String {
    let user = rustix::process::geteuid().as_raw();
    let (verb, place) = in_the_way(doing, path, &may);
    let whose = std::fs::symlink_metadata(&place).map_or_else(
        |_| String::new(),
        |there| {
            use std::os::unix::fs::MetadataExt;
            format!(
                " (of user {}, mode {:o})",
                there.uid(),
                there.mode() & 0o7777
            )
        },
    );
    format!("user {user} may not {verb} {}{whose}", super::shown(&place))
}

/// The first thing on the way to a path that lacks a right which `doing` needs, and what may not be done with it.
fn in_the_way(
    doing: &str,
    path: &Path,
    may: &dyn Fn(&Path, Right) -> bool,
) -> (&'static str, PathBuf) {
    let path = super::place(path);
    let folder = parent(path);
    let mut above: Vec<&Path> = folder
        .ancestors()
        .filter(|above| !above.as_os_str().is_empty() && above.exists())
        .collect();
    above.reverse();
    if let Some(closed) = above.iter().find(|above| !may(above, Right::Enter)) {
        return ("enter", (*closed).to_owned());
    }
    if path.is_dir() && (doing.ends_with(" in") || doing == "list") {
        let verb = if doing == "list" { "list" } else { "write in" };
        return (verb, path.to_owned());
    }
    if LOOKING.contains(&doing) && !may(path, Right::Read) {
        return ("read", path.to_owned());
    }
    match above.last() {
        Some(last) if !may(last, Right::Write) => ("write in", (*last).to_owned()),
        _ => ("change", path.to_owned()),
    }
}

/// Whether a folder, or the nearest above that is there, can be written in.
pub(super) fn may_write_in(dir: &Path) -> bool {
    let there = dir
        .ancestors()
        .filter(|above| !above.as_os_str().is_empty())
        .chain([Path::new(".")])
        .find(|above| above.exists());
    there.is_none_or(|there| may(there, Right::Write) && may(there, Right::Enter))
}

fn may(path: &Path, right: Right) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    let access = match right {
        Right::Read => Access::READ_OK,
        Right::Write => Access::WRITE_OK,
        Right::Enter => Access::EXEC_OK,
    };
    accessat(CWD, path, access, AtFlags::EACCESS).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_in_the_way_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let closed = dir.path().join("closed");
        std::fs::create_dir_all(closed.join("below")).unwrap();
        std::fs::write(closed.join("file"), b"").unwrap();
        let below = closed.join("below");
        let lacking = |right: Right| {
            move |path: &Path, asked: Right| {
                asked != right || !(path.ends_with("closed") || path.ends_with("file"))
            }
        };
        let no_write = lacking(Right::Write);
        let no_enter = lacking(Right::Enter);
        let no_read = lacking(Right::Read);
        let file = closed.join("file");
        for (doing, path, may, verb, place) in [
            (
                "write",
                closed.join("new"),
                &no_write as &dyn Fn(&Path, Right) -> bool,
                "write in",
                &closed,
            ),
            (
                "make folder",
                closed.join("a/b/c"),
                &no_write,
                "write in",
                &closed,
            ),
            (
                "write a temporary file in",
                closed.clone(),
                &no_write,
                "write in",
                &closed,
            ),
            ("write", below.join("x"), &no_enter, "enter", &closed),
            ("open", file.clone(), &no_read, "read", &file),
            ("list", closed.clone(), &no_read, "list", &closed),
            ("set mode of", file.clone(), &no_read, "change", &file),
        ] {
            assert_eq!(
                in_the_way(doing, &path, may),
                (verb, place.clone()),
                "{doing}"
            );
        }
    }
}
