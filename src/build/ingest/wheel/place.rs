//! Where a member goes: root and `.data/{purelib,platlib}` → site-packages, headers, scripts and data beside it. What only
//! its first installer may write, stale signatures and bytecode stay out; what would change the interpreter is refused.

use super::WheelFault;
use crate::base::archive::escaped;
use crate::base::python::PythonMinor;

/// What becomes of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// A file at this path of the bundle.
    File(String),
    /// A script of this name in `python/bin`.
    Script(String),
    /// Written anew by us, or of no use in a bundle.
    Dropped,
    /// Compiled by someone else for an unknown interpreter: we compile ourselves.
    Bytecode,
}

/// The places of one wheel.
pub(super) struct Places<'a> {
    python: PythonMinor,
    /// `name-version.dist-info`.
    dist_info: &'a str,
    /// `name-version.data`.
    data: String,
    /// Distribution, normalised.
    name: &'a str,
}

impl<'a> Places<'a> {
    pub fn new(python: PythonMinor, dist_info: &'a str, name: &'a str) -> Self {
        let stem = dist_info.strip_suffix(".dist-info").unwrap_or(dist_info);
        Self {
            python,
            dist_info,
            data: format!("{stem}.data"),
            name,
        }
    }

    /// The place of the file `member`.
    pub fn of(&self, member: &str) -> Result<Place, WheelFault> {
        let Some((folder, rest)) = member.split_once('/') else {
            return self.library(member);
        };
        if folder == self.dist_info && is_written_by_installer(rest) {
            return Ok(Place::Dropped);
        }
        if folder.strip_suffix(".data").is_none() {
            return self.library(member);
        }
        if folder != self.data {
            return Err(WheelFault::OtherData(escaped(folder.as_bytes())));
        }
        let unknown = || WheelFault::UnknownScheme(escaped(member.as_bytes()));
        let (scheme, rest) = rest.split_once('/').ok_or_else(unknown)?;
        let path = match scheme {
            "purelib" | "platlib" => return self.library(rest),
            "scripts" if rest.contains('/') => {
                return Err(WheelFault::ScriptInFolder(escaped(member.as_bytes())));
            }
            "scripts" => return Ok(Place::Script(rest.to_owned())),
            "headers" => format!("python/include/python{}/{}/{rest}", self.python, self.name),
            "data" => format!("python/{rest}"),
            _ => return Err(unknown()),
        };
        if self.is_interpreters(&path) {
            return Err(WheelFault::Interpreter {
                member: escaped(member.as_bytes()),
                path: escaped(path.as_bytes()),
            });
        }
        Ok(Self::file(path))
    }

    #[expect(clippy::unnecessary_wraps, reason = "same shape as its caller")]
    fn library(&self, rest: &str) -> Result<Place, WheelFault> {
        Ok(Self::file(format!(
            "{}/{rest}",
            self.python.site_packages()
        )))
    }

    fn file(path: String) -> Place {
        let mut parts = path.rsplit('/');
        let is_bytecode = parts
            .next()
            .is_some_and(|name| name.strip_suffix(".pyc").is_some());
        if is_bytecode && parts.next() == Some("__pycache__") {
            return Place::Bytecode;
        }
        Place::File(path)
    }

    /// Below the standard library a module would be found before the interpreter's own of the same name; the others are
    /// read at start, before any file of ours.
    fn is_interpreters(&self, path: &str) -> bool {
        let library = format!("python/lib/python{}/", self.python);
        let packages = format!("{}/", self.python.site_packages());
        let (folder, name) = path.rsplit_once('/').unwrap_or(("", path));
        match folder {
            "python" | "python/bin" => name == "pyvenv.cfg" || name.ends_with("._pth"),
            "python/lib" => name.starts_with("python") && name.strip_suffix(".zip").is_some(),
            _ => path.starts_with(&library) && !path.starts_with(&packages),
        }
    }
}

/// Files of a dist-info folder that tell of the installation, which is ours, and signatures of the RECORD we replace.
fn is_written_by_installer(name: &str) -> bool {
    matches!(
        name,
        "RECORD" | "RECORD.jws" | "RECORD.p7s" | "INSTALLER" | "REQUESTED" | "direct_url.json"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(member: &str) -> Result<String, String> {
        let python = "3.12".parse().unwrap();
        let places = Places::new(python, "X_y-1.dist-info", "x-y");
        match places.of(member).map_err(|e| e.to_string())? {
            Place::File(path) => Ok(path),
            other => Ok(format!("{other:?}")),
        }
    }

    #[test]
    fn members_go_where_their_scheme_says() {
        let packages = "python/lib/python3.12/site-packages";
        for (member, path) in [
            ("a.py", format!("{packages}/a.py")),
            (
                "X_y-1.dist-info/METADATA",
                format!("{packages}/X_y-1.dist-info/METADATA"),
            ),
            ("X_y-1.data/purelib/p/a.py", format!("{packages}/p/a.py")),
            ("X_y-1.data/platlib/a.so", format!("{packages}/a.so")),
            (
                "X_y-1.data/headers/h/a.h",
                "python/include/python3.12/x-y/h/a.h".into(),
            ),
            (
                "X_y-1.data/data/share/man/a.1",
                "python/share/man/a.1".into(),
            ),
            ("X_y-1.data/scripts/tool", "Script(\"tool\")".into()),
            ("X_y-1.dist-info/RECORD", "Dropped".into()),
            ("X_y-1.dist-info/INSTALLER", "Dropped".into()),
            ("X_y-1.dist-info/RECORD.jws", "Dropped".into()),
            ("p/__pycache__/a.cpython-312.pyc", "Bytecode".into()),
            ("p/a.pyc", format!("{packages}/p/a.pyc")),
            ("p/RECORD", format!("{packages}/p/RECORD")),
        ] {
            assert_eq!(place(member), Ok(path), "{member}");
        }
    }

    #[test]
    fn what_would_change_the_interpreter_or_has_no_scheme_is_refused() {
        for member in [
            "X_y-1.data/data/lib/python3.12/os.cpython-312-x86_64-linux-gnu.so",
            "X_y-1.data/data/lib/python3.12/sitecustomize.py",
            "X_y-1.data/data/lib/python312.zip",
            "X_y-1.data/data/bin/pyvenv.cfg",
            "X_y-1.data/data/bin/python3._pth",
            "X_y-1.data/data/pyvenv.cfg",
            "X_y-1.data/bin/tool",
            "X_y-1.data/tool",
            "X_y-1.data/scripts/a/tool",
            "x_y-1.data/scripts/tool",
            "other-1.data/purelib/a.py",
        ] {
            assert!(place(member).is_err(), "{member}");
        }
    }
}
