//! A base layer, read at random: segments of components without a bundle's description, so that every bundle on the same
//! base can use it. Its last entry is the record of the layer; what a component must hold, the bundle says.

use std::ops::Deref;

use super::bundle_reader::{Archive, BundleReadError};
use super::manifest::{self, LayerFile};
use super::segmented::Segmented;
use crate::base::digest::Digest;
use crate::base::fs::ReadAt;

/// A base layer open for reading at random.
#[derive(Debug)]
pub struct LayerReader<R> {
    segmented: Segmented<R>,
    record: LayerFile,
}

impl<R> Deref for LayerReader<R> {
    type Target = Segmented<R>;

    fn deref(&self) -> &Segmented<R> {
        &self.segmented
    }
}

impl<R: ReadAt> LayerReader<R> {
    /// Reads header and segment table; decodes nothing.
    pub fn open(source: R) -> Result<Self, BundleReadError> {
        match Archive::open(source)? {
            Archive::Layer(layer) => Ok(layer),
            Archive::Bundle(_) => Err(BundleReadError::NoLayer),
        }
    }

    /// The record must be that of the components in the table.
    pub(super) fn new(segmented: Segmented<R>, record: LayerFile) -> Result<Self, BundleReadError> {
        if manifest::layer_id(&segmented.table().components) == record.id {
            Ok(Self { segmented, record })
        } else {
            Err(BundleReadError::LayerDiffers)
        }
    }

    /// What the layer says of itself.
    pub fn record(&self) -> &LayerFile {
        &self.record
    }

    /// The number of a component.
    pub fn number_of(&self, id: &Digest) -> Option<u32> {
        let mut ids = self.table().components.iter();
        ids.position(|one| one == id).map(|at| at as u32)
    }
}
