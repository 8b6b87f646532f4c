//! Opens what a command was given as a bundle: a bundle file, or an unpacked one.

use std::path::Path;

use anyhow::Context;

use crate::base::digest::Digest;
use crate::base::fs;
use crate::formats::bundle::{BUNDLE_JSON, Bundle, MAX_BUNDLE_JSON};
use crate::formats::bundle_reader::BundleReader;
use crate::formats::compare::Side;
use crate::formats::manifest::{FILES, read_files};
use crate::formats::self_extracting;

/// No list of files is larger.
const MAX_FILES: u64 = 1 << 30;

/// What a bundle says of itself.
pub fn side(path: &Path) -> anyhow::Result<Side> {
    read(path).with_context(|| format!("could not read the bundle {}", path.display()))
}

fn read(path: &Path) -> anyhow::Result<Side> {
    if fs::metadata(path)?.is_some_and(|m| m.is_dir()) {
        let bytes = fs::read(&path.join(BUNDLE_JSON), MAX_BUNDLE_JSON)?;
        return Ok(Side {
            bundle: Bundle::parse(&bytes)?,
            identity: Digest::of(&bytes),
            rows: read_files(&fs::read(&path.join(FILES), MAX_FILES)?)?,
            table: None,
        });
    }
    let reader = BundleReader::open(self_extracting::payload(fs::open(path)?))?;
    let described = reader.describe()?;
    Ok(Side {
        bundle: described.bundle,
        identity: described.identity,
        rows: reader.files()?,
        table: Some(reader.table().clone()),
    })
}
