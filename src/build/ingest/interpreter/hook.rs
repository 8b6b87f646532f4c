//! What is added to an interpreter: the start-up module, the note for pip that nothing is installed here, and on an
//! interpreter without lzma a stand-in that can be imported.

use super::tree::{Node, Tree};
use super::{OPENSSL_DIR, Subject, note};
use crate::base::finding::Finding;

const SITECUSTOMIZE: &str = include_str!("files/sitecustomize.py");
const LZMA: &str = include_str!("files/_lzma.py");
const EXTERNALLY_MANAGED: &str = include_str!("files/EXTERNALLY-MANAGED");

/// Folders of the system that an OpenSSL may have been compiled to look in.
const SYSTEM_DIRS: [&str; 4] = ["/etc/ssl", "/etc/pki/tls", "/usr/lib/ssl", "/usr/local/ssl"];

/// The folder OpenSSL looks in by itself, if it is one of the system's. It stands in the library as `OPENSSLDIR: "…"`.
pub(super) fn openssl_dir(tree: &Tree) -> Option<String> {
    let finder = memchr::memmem::Finder::new(b"OPENSSLDIR: \"");
    tree.iter()
        .filter_map(|(path, node)| match node {
            Node::File { bytes, .. }
                if path.contains("_ssl.")
                    || path.contains("libcrypto")
                    || path.contains("libpython") =>
            {
                Some(bytes)
            }
            _ => None,
        })
        .find_map(|bytes| {
            let at = finder.find(bytes)? + finder.needle().len();
            let rest = bytes.get(at..)?;
            let end = rest.iter().take(1024).position(|&b| b == b'"')?;
            std::str::from_utf8(rest.get(..end)?)
                .ok()
                .map(str::to_owned)
        })
        .filter(|dir| SYSTEM_DIRS.contains(&dir.as_str()))
}

/// Adds what is ours, and says so.
pub(super) fn add(
    tree: &mut Tree,
    subject: &Subject<'_>,
    openssl_dir: Option<&str>,
    notes: &mut Vec<Finding>,
) {
    let stdlib = subject.stdlib();
    let text = SITECUSTOMIZE
        .replace("@OPENSSL_DIR@", openssl_dir.unwrap_or_default())
        .replace("@PYTHON_MINOR@", &subject.minor.to_string());
    let hook = format!("{stdlib}/sitecustomize.py");
    tree.insert_file(hook.as_str(), text.into_bytes(), false);
    notes.push(note(
        "interpreter-hook",
        &hook,
        "added: runs at every start (no user site, no bytecode written, certificates and newer libraries found)",
    ));
    if let Some(dir) = openssl_dir {
        let mut note = note(
            OPENSSL_DIR,
            "",
            "OpenSSL looks for certificates in this folder of the system",
        );
        dir.clone_into(&mut note.path);
        notes.push(note);
    }
    tree.insert_file(
        format!("{stdlib}/EXTERNALLY-MANAGED"),
        EXTERNALLY_MANAGED.as_bytes(),
        false,
    );
    let dynload = format!("{stdlib}/lib-dynload/");
    let has = |module: &str| {
        !tree
            .paths(|path| path.starts_with(&format!("{dynload}{module}.")))
            .is_empty()
    };
    // Where `_bz2` is a file, `_lzma` would be one too; else both are inside the program.
    if has("_bz2") && !has("_lzma") {
        let path = format!("{dynload}_lzma.py");
        tree.insert_file(path.as_str(), LZMA.as_bytes(), false);
        notes.push(note(
            "interpreter-shim",
            &path,
            "added: a stand-in for _lzma, which this interpreter was built without; importing lzma works, using it raises",
        ));
    }
}
