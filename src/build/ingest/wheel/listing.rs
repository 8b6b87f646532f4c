//! RECORD against the members: every file once, with sha256 and size. Digests of bytes are checked by the engine as they
//! pass; here only the lists are compared, unless a waiver of the recipe asks what exactly it covers.

use std::collections::HashMap;
use std::io::Read;

use super::dist_info::{DistInfo, member};
use super::error::Mismatch;
use super::{WheelFault, WheelRequest, note};
use crate::base::archive::{ArchiveError, Member, Zip, escaped};
use crate::base::digest::{Digest, Hasher};
use crate::base::finding::Finding;
use crate::formats::record::{self, Row};

/// The code by which a recipe waives a wrong RECORD.
const WAIVED: &str = "record-mismatch";

/// The digest each member must have, by its number; `None` for folders, what needs none, and what is waived.
pub(super) fn expected(
    zip: &Zip,
    info: &DistInfo,
    request: &WheelRequest<'_>,
    notes: &mut Vec<Finding>,
) -> Result<Vec<Option<Digest>>, WheelFault> {
    let bytes = member(zip, &info.folder, "RECORD")?;
    let waiver = request
        .waivers
        .iter()
        .find(|waiver| waiver.sha256 == request.sha256 && waiver.code == WAIVED);
    let (problem, digests) = match record::parse(&bytes, &info.folder) {
        Err(error) if waiver.is_none() => return Err(error.into()),
        Err(error) => (error.to_string(), vec![None; zip.members().len()]),
        Ok(rows) => {
            let (mut mismatch, mut digests) = compare(zip.members(), &rows, &info.folder);
            if waiver.is_none() && !mismatch.is_empty() {
                return Err(WheelFault::RecordMismatch(mismatch));
            }
            if waiver.is_some() {
                forget_wrong(zip, &mut digests, &mut mismatch)?;
            }
            (mismatch.to_string(), digests)
        }
    };
    if let Some(waiver) = waiver {
        let message = match problem.as_str() {
            "" => "its waiver is not needed: RECORD describes its files".to_owned(),
            problem => format!(
                "taken though RECORD is wrong ({problem}): {}",
                waiver.reason
            ),
        };
        notes.push(note(WAIVED, request.file_name, message));
    }
    Ok(digests)
}

fn compare(members: &[Member], rows: &[Row], dist_info: &str) -> (Mismatch, Vec<Option<Digest>>) {
    let mut listed: HashMap<&str, &Row> = rows.iter().map(|row| (row.path.as_str(), row)).collect();
    let mut mismatch = Mismatch::default();
    let mut digests = vec![None; members.len()];
    for (member, digest) in members.iter().zip(&mut digests) {
        if member.is_dir {
            continue;
        }
        match listed.remove(member.name.as_str()) {
            None if record::is_exempt(&member.name, dist_info) => {}
            None => mismatch.unlisted.push(escaped(member.name.as_bytes())),
            Some(row) if row.sha256.is_some() && row.size.is_some_and(|s| s != member.unpacked) => {
                mismatch.sizes.push(escaped(member.name.as_bytes()));
            }
            Some(row) => *digest = row.sha256,
        }
    }
    // In the order of RECORD, not of the map.
    mismatch.absent = rows
        .iter()
        .filter(|row| listed.contains_key(row.path.as_str()))
        .map(|row| escaped(row.path.as_bytes()))
        .collect();
    (mismatch, digests)
}

/// Reads every member: a waiver covers exactly those whose digest is wrong.
fn forget_wrong(
    zip: &Zip,
    digests: &mut [Option<Digest>],
    mismatch: &mut Mismatch,
) -> Result<(), ArchiveError> {
    for (index, slot) in digests.iter_mut().enumerate() {
        if slot.is_some() && Some(digest(zip, index)?) != *slot {
            *slot = None;
            let name = zip.members().get(index).map(|m| m.name.as_bytes());
            mismatch.digests.push(escaped(name.unwrap_or_default()));
        }
    }
    Ok(())
}

fn digest(zip: &Zip, index: usize) -> Result<Digest, ArchiveError> {
    let mut reader = zip.reader(index);
    let mut buffer = vec![0; 1 << 16];
    let mut hasher = Hasher::new();
    loop {
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(hasher.finish()),
            Ok(len) => hasher.update(buffer.get(..len).unwrap_or_default()),
            Err(error) => return Err(zip.read_error(index, error)),
        }
    }
}
