//! What of a host may get in the way of any bundle: variables that shadow, folders that cannot be written, caches on a
//! network. None of it stops a bundle by itself: its launchers drop or replace what they can.

use super::Host;
use crate::base::finding::{Finding, Severity};

/// Several machines may write to these, and rename is slow or late there.
const SHARED: [&str; 10] = [
    "nfs",
    "cifs",
    "smb",
    "lustre",
    "gpfs",
    "afs",
    "ceph",
    "fuse.sshfs",
    "beegfs",
    "9p",
];

/// Remarks on a host, the worst first.
pub fn remarks(host: &Host) -> Vec<Finding> {
    let mut out = Vec::new();
    let mut add = |severity, code: &str, about: &str, message: String, hint: &str| {
        out.push(Finding {
            severity,
            code: code.to_owned(),
            path: about.to_owned(),
            message,
            hint: (!hint.is_empty()).then(|| hint.to_owned()),
        });
    };
    for (name, value) in &host.variables {
        let set = !value.is_empty();
        match name.as_str() {
            "LD_PRELOAD" | "LD_AUDIT" if set => add(
                Severity::Warning,
                "host-preload",
                name,
                format!("it puts {value} before the bundle's libraries"),
                &format!("unset {name} before starting the bundle"),
            ),
            "LD_LIBRARY_PATH" if set => {
                let shadows = value
                    .split(':')
                    .any(|part| part.is_empty() || !part.starts_with('/'));
                if shadows {
                    let message = "an empty or relative element means the current folder, from which libraries would be loaded";
                    add(
                        Severity::Warning,
                        "host-library-path",
                        name,
                        message.to_owned(),
                        "name absolute folders only",
                    );
                } else {
                    let message =
                        format!("{value}: the bundle's own NVIDIA libraries are put before it");
                    add(Severity::Note, "host-library-path", name, message, "");
                }
            }
            "PYTHONHOME" | "PYTHONPATH" | "PYTHONSTARTUP" if set => {
                let message = "the bundle's launchers drop it".to_owned();
                add(Severity::Note, "host-python", name, message, "");
            }
            "CUDA_FORCE_PTX_JIT" if value != "0" && set => add(
                Severity::Warning,
                "force-jit",
                name,
                "it throws machine code away; torch's libraries have no PTX to compile instead"
                    .to_owned(),
                "unset CUDA_FORCE_PTX_JIT",
            ),
            _ => {}
        }
    }
    match &host.home {
        None => add(
            Severity::Note,
            "no-home",
            "HOME",
            "there is none: caches go to a private folder below TMPDIR".to_owned(),
            "",
        ),
        Some(home) if !home.writable => add(
            Severity::Note,
            "home-not-writable",
            &home.path,
            "it cannot be written: caches go to a private folder below TMPDIR".to_owned(),
            "",
        ),
        Some(_) => {}
    }
    if let Some(cache) = &host.cache {
        let kind = cache.filesystem.as_deref().unwrap_or_default();
        if SHARED.iter().any(|shared| kind.starts_with(shared)) {
            let message = format!(
                "compiled kernels are kept on {kind}, where processes of several machines may disturb each other"
            );
            add(
                Severity::Warning,
                "cache-shared",
                &cache.path,
                message,
                "set TRITON_CACHE_DIR and CUDA_CACHE_PATH to a local disk",
            );
        }
    }
    out.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.cmp(b)));
    out
}
