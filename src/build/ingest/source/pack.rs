//! A planned source → one tar archive with one folder at its top: how a mirror carries a git revision. The same files give
//! the same bytes, and planned again they are the same tree.

use super::{PlannedSource, SourceError};
use crate::base::fs;
use crate::build::ingest::Content;
use crate::formats::component::EntryKind;
use crate::formats::tar_entry::{append_file, header};

/// Packs what ships of the source in `src/<folder>`.
///
/// # Errors
/// A file that cannot be read; a path no archive can hold.
pub fn archive(source: &PlannedSource, folder: &str) -> Result<Vec<u8>, SourceError> {
    let top = format!("src/{folder}/");
    let mut out = Vec::new();
    for entry in &source.plan.entries {
        let Some(path) = entry.path.strip_prefix(&top) else {
            continue;
        };
        match &entry.content {
            Content::Symlink(target) => {
                let target = target.clone();
                let kind = EntryKind::Symlink { target };
                out.extend_from_slice(&header(path, &kind, entry.mode, 0)?);
            }
            Content::Bytes(bytes) => append_file(&mut out, path, entry.mode, bytes)?,
            Content::File(file) => {
                append_file(&mut out, path, entry.mode, &fs::read(file, entry.size)?)?;
            }
            Content::Member(_) | Content::Hardlink { .. } => {}
        }
    }
    // Two empty blocks end an archive.
    out.resize(out.len() + 1024, 0);
    Ok(out)
}
