//! What runs whenever the bundle's python starts: `.pth` files with code, `sitecustomize`, `usercustomize`.

use serde::{Deserialize, Serialize};

use super::Placed;
use crate::base::digest::Digest;
use crate::formats::component::{ComponentKind, Entry, FileFacts};

/// A file that runs at every start of the interpreter.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct StartupHook {
    /// Path in the bundle.
    pub path: String,
    /// Digest of the file, by which a recipe allows it.
    pub sha256: Digest,
    /// The component it comes from, with version.
    pub component: String,
    /// The lines of a `.pth` that run code; empty for a module.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub code: Vec<String>,
    /// Ours: part of the interpreter's standard library or of the layout.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own: bool,
}

/// The hook that `entry` is, if it is one.
pub(super) fn hook(placed: &Placed, entry: &Entry) -> Option<StartupHook> {
    let sha256 = entry.sha256?;
    let code = match &entry.facts {
        Some(FileFacts::Text(text)) => text.pth_code.clone(),
        _ => Vec::new(),
    };
    if code.is_empty() && !is_custom_module(&entry.path) {
        return None;
    }
    Some(StartupHook {
        path: entry.path.clone(),
        sha256,
        component: placed.label(),
        code,
        own: matches!(
            placed.component.kind,
            ComponentKind::Layout | ComponentKind::Interpreter
        ),
    })
}

/// `sitecustomize` or `usercustomize`, as a module or a package, in a folder that is on `sys.path`.
fn is_custom_module(path: &str) -> bool {
    let Some(rest) = path.strip_prefix("python/lib/python") else {
        return false;
    };
    let Some((minor, rest)) = rest.split_once('/') else {
        return false;
    };
    let plain_minor = minor.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let rest = rest
        .strip_prefix("site-packages/")
        .or_else(|| rest.strip_prefix("lib-dynload/"))
        .unwrap_or(rest);
    let named = |module: &str| {
        rest.strip_prefix(module).is_some_and(|tail| {
            tail == "/__init__.py"
                || tail == "/__init__.pyc"
                || (tail.starts_with('.')
                    && !tail.contains('/')
                    && [".py", ".pyc", ".so"].iter().any(|s| tail.ends_with(s)))
        })
    };
    plain_minor && (named("sitecustomize") || named("usercustomize"))
}

#[cfg(test)]
mod tests {
    use super::is_custom_module;

    #[test]
    fn knows_every_shape_of_a_customizing_module() {
        for path in [
            "python/lib/python3.12/site-packages/sitecustomize.py",
            "python/lib/python3.12/sitecustomize.py",
            "python/lib/python3.13/site-packages/usercustomize/__init__.py",
            "python/lib/python3.12/site-packages/usercustomize.cpython-312-x86_64-linux-gnu.so",
            "python/lib/python3.12/lib-dynload/sitecustomize.abi3.so",
            "python/lib/python3.12/site-packages/sitecustomize.pyc",
        ] {
            assert!(is_custom_module(path), "{path}");
        }
    }

    #[test]
    fn leaves_other_files_of_that_name_alone() {
        for path in [
            "python/lib/python3.12/site-packages/pkg/sitecustomize.py",
            "python/lib/python3.12/site-packages/sitecustomize_extra.py",
            "python/lib/python3.12/site-packages/sitecustomize.txt",
            "src/app/sitecustomize.py",
        ] {
            assert!(!is_custom_module(path), "{path}");
        }
    }
}
