//! bundle-layout/ → the entries of the layout component: env.sh, launchers, scripts, README. The folder mirrors the root of
//! an unpacked bundle; only `*.in` files are rendered, from a closed list of values, each checked for where it will stand.

use std::fmt::Write as _;

use include_dir::{Dir, DirEntry, include_dir};

use crate::base::digest::Digest;
use crate::base::target::Target;
use crate::build::ingest::{Content, PlannedEntry};

static LAYOUT: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/bundle-layout");

/// Everything a `*.in` file may name.
#[derive(Debug, Clone, Default)]
pub struct LayoutValues {
    /// `pointcept-runtime`.
    pub bundle_name: String,
    /// Version of the bundle.
    pub bundle_version: String,
    /// `amd64-cu130`.
    pub target: String,
    /// Python minor version, `3.12`.
    pub python_minor: String,
    /// Folder below `src/`, such as `pointcept`; none where no source is shipped.
    pub source_folder: Option<String>,
    /// Folders that hold nothing but NVIDIA libraries, relative to the root, in search order.
    pub nvidia_library_dirs: Vec<String>,
    /// The compiled-in OpenSSL folder where it is a system folder (see `interpreter::openssl_dir`).
    pub openssl_dir: Option<String>,
    /// Top-level modules doctor imports, in order (torch first).
    pub modules: Vec<String>,
    /// Name and version of what is inside that people ask for (torch, cuda …), for README.
    pub contents: Vec<(String, String)>,
}

/// Why the layout could not be rendered.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// A value that cannot stand where it is wanted.
    #[error("{name} cannot be written into the bundle's scripts: {value:?}")]
    Value {
        /// Name between the `@`.
        name: &'static str,
        /// The value.
        value: String,
    },
    /// A name that is not on the list.
    #[error("bundle-layout/{file} names @{name}@, which no value has")]
    Unknown {
        /// File of bundle-layout.
        file: String,
        /// The name.
        name: String,
    },
    /// A rendered file that is no text.
    #[error("bundle-layout/{0} is rendered but is not UTF-8")]
    NotText(String),
}

/// Renders all entries of the layout, sorted bytewise by path.
///
/// # Errors
/// A value that would break out of the place it stands in, and a file that names what has no value.
pub fn render(values: &LayoutValues) -> Result<Vec<PlannedEntry>, LayoutError> {
    let names = texts(values)?;
    let mut out = Vec::new();
    let mut folders = vec![&LAYOUT];
    while let Some(folder) = folders.pop() {
        for entry in folder.entries() {
            match entry {
                DirEntry::Dir(inner) => folders.push(inner),
                DirEntry::File(file) => out.push(planned(file, &names)?),
            }
        }
    }
    out.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    Ok(out)
}

fn planned(
    file: &include_dir::File<'_>,
    names: &[(&str, String)],
) -> Result<PlannedEntry, LayoutError> {
    let path = file.path().to_string_lossy().into_owned();
    let (path, bytes) = match path.strip_suffix(".in") {
        Some(plain) => {
            let text = file
                .contents_utf8()
                .ok_or_else(|| LayoutError::NotText(path.clone()))?;
            (plain.to_owned(), fill(text, names, &path)?.into_bytes())
        }
        None => (path, file.contents().to_vec()),
    };
    Ok(PlannedEntry {
        mode: if path.starts_with("bin/") {
            0o755
        } else {
            0o644
        },
        size: bytes.len() as u64,
        expected: Some(Digest::of(&bytes)),
        content: Content::Bytes(bytes.into()),
        path,
    })
}

/// Replaces each `@NAME@`. A name is of capitals and `_`; a lone `@` stays.
fn fill(text: &str, names: &[(&str, String)], file: &str) -> Result<String, LayoutError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('@') {
        out.push_str(before);
        let is_name = |name: &str| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        };
        if let Some((name, behind)) = after.split_once('@').filter(|(name, _)| is_name(name)) {
            let (_, value) =
                names
                    .iter()
                    .find(|(n, _)| *n == name)
                    .ok_or_else(|| LayoutError::Unknown {
                        file: file.to_owned(),
                        name: name.to_owned(),
                    })?;
            out.push_str(value);
            rest = behind;
        } else {
            out.push('@');
            rest = after;
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// The closed list: each name with its text, checked.
fn texts(values: &LayoutValues) -> Result<Vec<(&'static str, String)>, LayoutError> {
    let target: Target = values.target.parse().map_err(|_| LayoutError::Value {
        name: "TARGET",
        value: values.target.clone(),
    })?;
    let mut folders = String::new();
    for folder in &values.nvidia_library_dirs {
        // A loader's search path has no way to quote these.
        if folder.contains([':', ';', '$']) {
            return Err(LayoutError::Value {
                name: "NVIDIA_LIBRARY_DIRS",
                value: folder.clone(),
            });
        }
        let folder = printable("NVIDIA_LIBRARY_DIRS", folder)?.replace('\'', "'\\''");
        let blank = if folders.is_empty() { "" } else { " " };
        let _ = write!(folders, "{blank}'{folder}'");
    }
    let mut contents = String::new();
    for (name, version) in &values.contents {
        let comma = if contents.is_empty() { "" } else { ", " };
        let _ = write!(
            contents,
            "{comma}{} {}",
            printable("CONTENTS", name)?,
            printable("CONTENTS", version)?
        );
    }
    let modules = serde_json::to_string_pretty(&values.modules).unwrap_or_default();
    let source = values.source_folder.as_deref().unwrap_or_default();
    Ok(vec![
        (
            "BUNDLE_NAME",
            printable("BUNDLE_NAME", &values.bundle_name)?.to_owned(),
        ),
        (
            "BUNDLE_VERSION",
            printable("BUNDLE_VERSION", &values.bundle_version)?.to_owned(),
        ),
        ("TARGET", target.to_string()),
        ("MACHINE", target.arch.machine().to_owned()),
        (
            "PYTHON_MINOR",
            plain("PYTHON_MINOR", &values.python_minor)?.to_owned(),
        ),
        ("SOURCE_FOLDER", plain("SOURCE_FOLDER", source)?.to_owned()),
        (
            "OPENSSL_DIR",
            plain(
                "OPENSSL_DIR",
                values.openssl_dir.as_deref().unwrap_or_default(),
            )?
            .to_owned(),
        ),
        ("NVIDIA_LIBRARY_DIRS", folders),
        ("MODULES", modules),
        ("CONTENTS", contents),
    ])
}

/// Text without control characters.
fn printable<'a>(name: &'static str, value: &'a str) -> Result<&'a str, LayoutError> {
    only(name, value, |c| !c.is_control())
}

/// Text that means itself in shell and Python.
fn plain<'a>(name: &'static str, value: &'a str) -> Result<&'a str, LayoutError> {
    only(name, value, |c| {
        c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '+' | '/')
    })
}

fn only<'a>(
    name: &'static str,
    value: &'a str,
    allowed: fn(char) -> bool,
) -> Result<&'a str, LayoutError> {
    if value.chars().all(allowed) {
        return Ok(value);
    }
    Err(LayoutError::Value {
        name,
        value: value.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values() -> LayoutValues {
        LayoutValues {
            bundle_name: "pointcept-runtime".to_owned(),
            bundle_version: "1".to_owned(),
            target: "amd64-cu130".to_owned(),
            python_minor: "3.12".to_owned(),
            ..LayoutValues::default()
        }
    }

    #[test]
    fn fills_names_and_refuses_unknown_ones() {
        let names = [("A_B", "x@C@".to_owned())];
        assert_eq!(fill("a@b @A_B@ @", &names, "f").unwrap(), "a@b x@C@ @");
        assert!(matches!(
            fill("@NO@", &names, "f"),
            Err(LayoutError::Unknown { .. })
        ));
    }

    #[test]
    fn every_file_is_rendered_and_programs_can_be_run() {
        let entries = render(&values()).unwrap();
        let paths: Vec<&str> = entries.iter().map(|e| e.path.as_str()).collect();
        for path in [
            "README.md",
            "bin/doctor",
            "bin/infer",
            "bin/python",
            "bin/train",
            "env.sh",
            "scripts/environment.sh",
        ] {
            assert!(paths.contains(&path), "{path}");
        }
        assert!(paths.is_sorted() && !paths.iter().any(|p| p.ends_with(".in")));
        for entry in &entries {
            assert_eq!(
                entry.mode == 0o755,
                entry.path.starts_with("bin/"),
                "{}",
                entry.path
            );
        }
    }

    #[test]
    fn a_value_cannot_break_out_of_its_place() {
        let render = |change: fn(&mut LayoutValues)| {
            let mut values = values();
            change(&mut values);
            render(&values)
        };
        for change in [
            (|v| v.python_minor = "3.12$(id)".into()) as fn(&mut LayoutValues),
            |v| v.openssl_dir = Some("/etc/ssl'".into()),
            |v| v.bundle_version = "1\n. /tmp/x".into(),
            |v| v.nvidia_library_dirs = vec!["a:b".into()],
            |v| v.target = "x".into(),
            |v| v.contents = vec![("a".into(), "\u{1b}[2J".into())],
        ] {
            assert!(matches!(render(change), Err(LayoutError::Value { .. })));
        }
        let entries =
            render(|v| v.nvidia_library_dirs = vec!["a/it's".into(), "b".into()]).unwrap();
        let script = entries
            .iter()
            .find(|e| e.path == "scripts/environment.sh")
            .unwrap();
        let Content::Bytes(bytes) = &script.content else {
            panic!("bytes")
        };
        assert!(String::from_utf8_lossy(bytes).contains("set -- 'a/it'\\''s' 'b'\n"));
    }
}
