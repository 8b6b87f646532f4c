//! The `zip` crate as a second, independent reader of the directory: whatever it sees differently than we do is a
//! difference that an attacker could use.

use std::io::Cursor;

use ::zip::ZipArchive;

use super::directory::Entry;
use crate::base::archive::name::escaped;

/// Says what differs, if anything does.
pub(super) fn agrees(bytes: &[u8], entries: &[Entry<'_>]) -> Result<(), String> {
    let archive = ZipArchive::new(Cursor::new(bytes)).map_err(|e| e.to_string())?;
    if archive.len() != entries.len() {
        return Err(format!("{} members", archive.len()));
    }
    let metadata = archive.metadata();
    for (number, ours) in entries.iter().enumerate() {
        let theirs = metadata.entry(number).map_err(|e| e.to_string())?;
        let same = theirs.name_raw() == ours.name
            && theirs.header_start() == ours.offset
            && theirs.compressed_size() == ours.packed
            && theirs.size() == ours.unpacked
            && theirs.crc32() == ours.crc32;
        if !same {
            return Err(format!("it differs at {}", escaped(ours.name)));
        }
    }
    Ok(())
}
