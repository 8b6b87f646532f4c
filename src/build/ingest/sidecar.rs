//! Wheels against the metadata their index published beside them (PEP 658, PEP 714): the lock was resolved from that, so a
//! wheel whose own METADATA differs may need what is not there.

use super::error::IngestError;
use super::store::Stored;
use crate::build::lock::LockedWheel;
use crate::formats::component::ComponentKind;

/// Compares each wheel's METADATA with the digest its lock entry has, if it has one.
///
/// # Errors
/// The first wheel whose METADATA is another.
pub fn check(wheels: &[LockedWheel], stored: &[Stored]) -> Result<(), IngestError> {
    for wheel in wheels {
        let Some(published) = wheel.metadata else {
            continue;
        };
        let own = |stored: &&Stored| {
            let component = &stored.component;
            component.kind == ComponentKind::Wheel && component.artifact == Some(wheel.sha256)
        };
        let Some(stored) = stored.iter().find(own) else {
            continue;
        };
        let facts = stored.component.distribution.as_ref();
        let path = facts.map(|facts| format!("{}/METADATA", facts.dist_info));
        let entries = &stored.component.entries;
        let found = entries
            .iter()
            .find(|entry| Some(&entry.path) == path.as_ref());
        if let Some(found) = found.and_then(|entry| entry.sha256)
            && found != published
        {
            return Err(IngestError::Metadata {
                file: wheel.file.clone(),
                alias: wheel.index.clone(),
                published,
                found,
            });
        }
    }
    Ok(())
}
