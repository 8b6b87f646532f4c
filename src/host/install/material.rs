//! What a bundle is installed from: its own file and, where that lacks the components of its base layer, files of layers.

use super::{InstallError, Plan, Supply};
use crate::base::digest::Digest;
use crate::base::fs::ReadAt;
use crate::formats::bundle_reader::BundleReader;
use crate::formats::component::Layer;
use crate::formats::layer_reader::LayerReader;
use crate::formats::segment_table::Part;
use crate::formats::segmented::{Segmented, Stream};
use crate::formats::tar_reader::Entries;

/// A bundle and layers, each with the supply of its segments.
pub struct Material<'a, R> {
    bundle: (BundleReader<R>, &'a dyn Supply),
    layers: Vec<(LayerReader<R>, &'a dyn Supply)>,
}

impl<'a, R: ReadAt> Material<'a, R> {
    /// A bundle, without layers.
    pub fn new(bundle: BundleReader<R>, supply: &'a dyn Supply) -> Self {
        Self {
            bundle: (bundle, supply),
            layers: Vec::new(),
        }
    }

    /// Adds a layer.
    pub fn add(&mut self, layer: LayerReader<R>, supply: &'a dyn Supply) {
        self.layers.push((layer, supply));
    }

    /// The bundle.
    pub fn bundle(&self) -> &BundleReader<R> {
        &self.bundle.0
    }

    /// Where the segments of a component are.
    fn find(&self, plan: &Plan, number: usize) -> Option<(&Segmented<R>, u32, &dyn Supply)> {
        let (bundle, supply) = &self.bundle;
        if plan.rows_of(number).len() == 0 || bundle.has_component(number as u32) {
            return Some((bundle, number as u32, *supply));
        }
        let id = plan.id(number);
        let mut layers = self.layers.iter();
        layers.find_map(|(layer, supply)| {
            let number = layer.number_of(&id)?;
            Some((&**layer, number, *supply))
        })
    }

    fn found(
        &self,
        plan: &Plan,
        number: usize,
    ) -> Result<(&Segmented<R>, u32, &dyn Supply), InstallError> {
        self.find(plan, number)
            .ok_or_else(|| InstallError::NoComponent {
                component: plan.record(number).name.clone(),
                layer: plan.record(number).layer,
                id: layer_of(plan, plan.record(number).layer),
            })
    }

    /// Refuses what lacks one of these components.
    pub fn has(&self, plan: &Plan, numbers: &[usize]) -> Result<(), InstallError> {
        let mut numbers = numbers.iter();
        numbers.try_for_each(|number| self.found(plan, *number).map(|_| ()))
    }

    /// The entries of a component.
    pub fn component(
        &self,
        plan: &Plan,
        number: usize,
    ) -> Result<Entries<Stream<'_, R>>, InstallError> {
        let (segmented, number, _) = self.found(plan, number)?;
        Ok(segmented.component(number))
    }

    /// Makes the segments of these components readable.
    pub fn need(&self, plan: &Plan, numbers: &[usize]) -> Result<(), InstallError> {
        for (supply, segments) in self.supplies(plan, numbers) {
            supply.need(&segments)?;
        }
        Ok(())
    }

    /// Bytes of disk it takes to do so.
    pub fn bytes(&self, plan: &Plan, numbers: &[usize]) -> u64 {
        let supplies = self.supplies(plan, numbers).into_iter();
        supplies
            .map(|(supply, segments)| supply.bytes(&segments))
            .sum()
    }

    /// The segments of these components, by the file they are in.
    fn supplies(&self, plan: &Plan, numbers: &[usize]) -> Vec<(&dyn Supply, Vec<usize>)> {
        let files = std::iter::once((&*self.bundle.0, self.bundle.1));
        let layers = self
            .layers
            .iter()
            .map(|(layer, supply)| (&**layer, *supply));
        let of = |(file, supply): (&Segmented<R>, _)| {
            let here = numbers.iter().filter_map(|number| {
                let (segmented, number, _) = self.find(plan, *number)?;
                std::ptr::eq(segmented, file).then(|| file.segments_of(Part::Component(number)))
            });
            (supply, here.flatten().collect())
        };
        files.chain(layers).map(of).collect()
    }

    /// Bytes of memory that the largest segment takes while it is read: packed, twice, and unpacked.
    pub fn largest(&self) -> u64 {
        let layers = self.layers.iter().map(|(layer, _)| &**layer);
        let files = std::iter::once(&*self.bundle.0).chain(layers);
        let segments = files.flat_map(|file| &file.table().segments);
        let sizes = segments.map(|s| 2 * s.packed + s.unpacked);
        sizes.max().unwrap_or(0)
    }
}

/// The id of the layer of a bundle; what bundle.json says of it.
fn layer_of(plan: &Plan, layer: Layer) -> Option<Digest> {
    let mut layers = plan.bundle().layers.iter();
    layers.find(|one| one.layer == layer).map(|one| one.id)
}
