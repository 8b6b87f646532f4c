//! A bundle → its layers: the base, which every bundle on the same interpreter and torch closure has in common, and the app,
//! which is everything else. Segments are copied as they are; only what opens and closes a file is made.
//!
//! The base holds no bundle's description: its last entry is the layer's record, as in the bundle. The app layer begins as the
//! bundle does and ends with the bundle's own `.complete`, which names the base it needs. So both together, in any
//! order, are exactly the bundle's tree, each alone refuses to start, and each is a layer as OCI images have them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::laid::{self, Copied, Laid, Line, Origin};
use super::{PackError, put, side};
use crate::base::digest::Digest;
use crate::base::fs::{self, Window};
use crate::base::progress::Progress;
use crate::base::segments::Encoding;
use crate::build::ingest::store::Backing;
use crate::formats::bundle::{Bundle, ComponentRecord, layer_file_name};
use crate::formats::bundle_reader::{Begin, BundleReader};
use crate::formats::component::{Layer, SegmentRef};
use crate::formats::manifest::{self, LAYERS, LayerFile, Row};
use crate::formats::segment_table::Part;
use crate::formats::self_extracting;
use crate::formats::tail;

/// What OCI calls such a file.
const MEDIA_TYPE: &str = "application/vnd.oci.image.layer.v1.tar+zstd";

/// A layer on disk.
#[derive(Debug, Clone, Serialize)]
pub struct PackedLayer {
    /// Which.
    pub layer: Layer,
    /// Identity of the layer.
    pub id: Digest,
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub size: u64,
    /// Its digest.
    pub sha256: Digest,
}

/// The file beside a layer: which layer it is, and its descriptor as OCI manifests have them.
#[derive(Debug, Serialize)]
struct Beside {
    schema_version: u32,
    layer: Layer,
    id: Digest,
    descriptor: Descriptor,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Descriptor {
    media_type: &'static str,
    digest: String,
    size: u64,
}

/// Writes the base and the app layer of a bundle into `out_dir`.
pub fn split(
    bundle: &Path,
    out_dir: &Path,
    progress: &Progress,
) -> Result<[PackedLayer; 2], PackError> {
    let open = |source| PackError::Open {
        path: bundle.to_owned(),
        source: Box::new(source),
    };
    let window = self_extracting::payload(fs::open(bundle)?);
    let reader = BundleReader::open(&window).map_err(open)?;
    let split = Split {
        path: bundle,
        begin: reader.begin().map_err(open)?,
        start: window.start(),
        backing: Backing::File {
            file: Arc::clone(window.file()),
            path: bundle.to_owned(),
        },
        reader,
    };
    split.check()?;
    let encoding = split.encoding();
    let out = |layer, laid: &Laid| split.write(layer, laid, out_dir, progress);
    let base = split.base(&encoding)?;
    let app = split.app(&encoding)?;
    Ok([out(Layer::Base, &base)?, out(Layer::App, &app)?])
}

struct Split<'a> {
    path: &'a Path,
    reader: BundleReader<&'a Window>,
    begin: Begin,
    /// Where the bundle begins in its file.
    start: u64,
    backing: Backing,
}

impl Split<'_> {
    fn bundle(&self) -> &Bundle {
        &self.begin.bundle
    }

    fn encoding(&self) -> Encoding {
        let record = &self.bundle().encoding;
        Encoding {
            level: record.level,
            window_log: record.window_log,
            segment_size: record.segment_size,
        }
    }

    fn refuse(&self, what: &'static str) -> PackError {
        let path = self.path.to_owned();
        PackError::Layers { path, what }
    }

    /// Both layers must be in the file.
    fn check(&self) -> Result<(), PackError> {
        self.encoding().check()?;
        let numbers = |layer| self.numbers(layer).next().is_some();
        if !numbers(Layer::Base) || !numbers(Layer::App) {
            return Err(self.refuse("all its components are in one layer"));
        }
        let is_here = |(number, record): (usize, &ComponentRecord)| {
            record.entries == 0 || self.reader.has_component(number as u32)
        };
        if self.bundle().components.iter().enumerate().all(is_here) {
            Ok(())
        } else {
            Err(self.refuse("it is a layer itself"))
        }
    }

    fn numbers(&self, layer: Layer) -> impl Iterator<Item = u32> {
        let components = self.bundle().components.iter().enumerate();
        components
            .filter(move |(_, record)| record.layer == layer)
            .map(|(number, _)| number as u32)
    }

    fn ids(&self, layer: Layer) -> Vec<Digest> {
        let all = &self.reader.table().components;
        self.numbers(layer).map(|n| all[n as usize]).collect()
    }

    /// The rows of the base's components.
    fn base_rows(&self) -> Vec<&Row> {
        let names = self.numbers(Layer::Base);
        let names: Vec<&str> = names
            .map(|n| self.bundle().components[n as usize].name.as_str())
            .collect();
        let of_base = |row: &&Row| {
            let origin = row.origin.as_deref();
            origin.is_some_and(|origin| names.contains(&origin))
        };
        self.begin.rows.iter().filter(of_base).collect()
    }

    /// The layer's record, as it stands in the bundle.
    fn record(&self) -> Result<LayerFile, PackError> {
        let rows = self.base_rows();
        let record = LayerFile {
            schema_version: 1,
            layer: Layer::Base,
            id: manifest::layer_id(&self.ids(Layer::Base)),
            entries: rows.len() as u64,
            sha256: Digest::of(&manifest::write_files(rows)?),
        };
        let digest = Some(Digest::of(&record.to_bytes()?));
        let path = record.path();
        let mut all = self.begin.rows.iter();
        if all.any(|row| row.path == path && row.sha256 == digest) {
            Ok(record)
        } else {
            Err(self.refuse("the record of its base layer is not that of the components"))
        }
    }

    fn base<'s>(&'s self, encoding: &Encoding) -> Result<Laid<'s>, PackError> {
        let record = self.record()?;
        let mut line = Line::new(encoding, self.ids(Layer::Base));
        let rows = self.base_rows();
        let mut folders = manifest::folders(rows.iter().map(|row| row.path.as_str()));
        folders.insert(LAYERS.to_owned());
        line.made(laid::folders(&folders, encoding)?, Part::Head)?;
        for (at, number) in self.numbers(Layer::Base).enumerate() {
            let part = Part::Component(at as u32);
            self.copy(&mut line, Part::Component(number), part);
        }
        let tail = tail::write_layer(&line.table, &record)?;
        Ok(line.close(tail))
    }

    fn app<'s>(&'s self, encoding: &Encoding) -> Result<Laid<'s>, PackError> {
        let ids = self.reader.table().components.clone();
        let mut line = Line::new(encoding, ids);
        self.copy(&mut line, Part::Head, Part::Head);
        for number in self.numbers(Layer::App) {
            let part = Part::Component(number);
            self.copy(&mut line, part, part);
        }
        let tail = tail::write_filled(&line.table, self.reader.complete())?;
        Ok(line.close(tail))
    }

    fn copy<'s>(&'s self, line: &mut Line<'s, '_>, part: Part, into: Part) {
        for number in self.reader.segments_of(part) {
            let segment = self.reader.table().segments[number];
            let copied = Copied {
                backing: &self.backing,
                segment: SegmentRef {
                    offset: self.start + segment.offset,
                    packed: segment.packed,
                    unpacked: segment.unpacked,
                    xxh3: segment.xxh3,
                },
                number,
                from: Origin::Bundle(self.path),
            };
            line.copied(copied, into);
        }
    }

    fn write(
        &self,
        layer: Layer,
        laid: &Laid,
        out_dir: &Path,
        progress: &Progress,
    ) -> Result<PackedLayer, PackError> {
        let facts = &self.bundle().facts;
        let name = layer_file_name(&facts.name, facts.target.target(), layer);
        let path = out_dir.join(name);
        let sha256 = put(laid, &path, progress)?;
        let packed = PackedLayer {
            layer,
            id: manifest::layer_id(&self.ids(layer)),
            path,
            size: laid.size,
            sha256,
        };
        let beside = Beside {
            schema_version: 1,
            layer,
            id: packed.id,
            descriptor: Descriptor {
                media_type: MEDIA_TYPE,
                digest: format!("sha256:{sha256}"),
                size: packed.size,
            },
        };
        let mut json = serde_json::to_vec_pretty(&beside).unwrap_or_default();
        json.push(b'\n');
        side::put(&packed.path, &sha256, &json)?;
        Ok(packed)
    }
}
