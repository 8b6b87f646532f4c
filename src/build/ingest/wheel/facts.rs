//! Facts that follow from the planned entries of a wheel: what can be imported, which licence texts there are, and what
//! runs whenever the interpreter starts.

use std::collections::BTreeSet;

use super::WheelFault;
use crate::base::archive::Zip;
use crate::build::ingest::{Content, PlannedEntry};
use crate::formats::launcher::is_object_path;

/// A `.pth` file larger than this is refused.
const MOST_PTH: u64 = 4 << 20;

/// Names of modules and packages directly in site-packages.
pub(super) fn top_level(entries: &[PlannedEntry], site_packages: &str) -> Vec<String> {
    let names: BTreeSet<&str> = entries
        .iter()
        .filter_map(|entry| inside(&entry.path, site_packages))
        .filter(|path| is_module(path))
        .filter_map(|path| path.split(['/', '.']).next())
        .filter(|name| is_object_path(name) && *name != "__pycache__")
        .collect();
    names.into_iter().map(str::to_owned).collect()
}

fn inside<'a>(path: &'a str, folder: &str) -> Option<&'a str> {
    path.strip_prefix(folder)?.strip_prefix('/')
}

/// A file that makes its first folder, or itself, importable.
fn is_module(path: &str) -> bool {
    let (folder, name) = path.split_once('/').unwrap_or(("", path));
    let importable = [".py", ".so", ".pyc"].iter().any(|s| name.ends_with(s));
    importable && !folder.contains('.')
}

/// Paths of licence texts in the dist-info folder `dist_info` (path in the bundle).
pub(super) fn license_files(
    entries: &[PlannedEntry],
    dist_info: &str,
    named: &[String],
) -> Vec<String> {
    entries
        .iter()
        .filter(|entry| {
            inside(&entry.path, dist_info).is_some_and(|name| {
                name.starts_with("licenses/")
                    || named.iter().any(|n| n == name)
                    || (!name.contains('/') && is_license_name(name))
            })
        })
        .map(|entry| entry.path.clone())
        .collect()
}

fn is_license_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    ["LICENSE", "LICENCE", "COPYING", "NOTICE"]
        .iter()
        .any(|start| name.starts_with(start))
}

/// Files that run at every start: `.pth` files with code, `sitecustomize` and `usercustomize` in any form.
pub(super) fn startup_hooks(
    zip: &Zip,
    entries: &[PlannedEntry],
    site_packages: &str,
) -> Result<Vec<String>, WheelFault> {
    let mut hooks = Vec::new();
    for entry in entries {
        let Some(name) = inside(&entry.path, site_packages) else {
            continue;
        };
        let top = name.split('/').next().unwrap_or(name);
        let stem = top.split('.').next().unwrap_or(top);
        let custom = matches!(stem, "sitecustomize" | "usercustomize")
            && is_module(name)
            && (top == name || name.matches('/').count() == 1 && name.contains("/__init__."));
        let code = name == top && top.strip_suffix(".pth").is_some() && runs_code(zip, entry)?;
        if custom || code {
            hooks.push(entry.path.clone());
        }
    }
    Ok(hooks)
}

/// `site` runs lines of a `.pth` file that begin with `import` and a blank or tab.
fn runs_code(zip: &Zip, entry: &PlannedEntry) -> Result<bool, WheelFault> {
    let bytes = match &entry.content {
        Content::Member(index) => zip.read_whole(*index, MOST_PTH)?,
        Content::Bytes(bytes) => bytes.to_vec(),
        _ => return Ok(false),
    };
    let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&bytes);
    // Any line end that Python's text mode knows, and those that `str.splitlines` adds.
    let lines = bytes.split(|b| matches!(b, b'\n' | b'\r' | 0x0b | 0x0c));
    Ok(lines
        .map(<[u8]>::trim_ascii_start)
        .any(|line| line.starts_with(b"import ") || line.starts_with(b"import\t")))
}
