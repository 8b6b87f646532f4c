//! A packed bundle, read at random by its segment table: bundle.json from the first segments alone, any segment or run
//! of segments decoded alone and by any number of threads. What the table says is checked against the frame before
//! anything is believed; blocks are checked by XXH3 before they are decoded.
//!
//! What cannot be read at random is read front to back: [`front_to_back`].

use std::io::{self, Read};
use std::ops::Deref;

use super::bundle::{BUNDLE_JSON, Bundle, BundleJsonError, MAX_BUNDLE_JSON};
use super::component::{EntryKind, Layer};
use super::layer_reader::LayerReader;
use super::manifest::{self, Complete};
use super::recorded::{FACTS, Recorded, RecordedError};
use super::segment_table::Part;
use super::segmented::{Segmented, Stream};
use super::tail::{Last, TailError};
use super::tar_reader::{Ends, Entries, TarReadError};
use crate::base::digest::Digest;
use crate::base::fs::ReadAt;
use crate::base::segments::{self, SegmentError};

/// No files.jsonl is larger.
const MAX_FILES: u64 = 1 << 30;

/// Why a bundle cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum BundleReadError {
    /// The file could not be read.
    #[error("could not read {what}")]
    Read {
        /// Which part.
        what: &'static str,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Not a bundle at all.
    #[error("this is no bundle")]
    Header(#[source] SegmentError),
    /// The end with the segment table is missing or damaged.
    #[error("the bundle is cut short or damaged at its end")]
    End(#[source] TailError),
    /// A segment whose bytes are not those that were written.
    #[error("segment {0} is damaged: its checksum does not match")]
    Checksum(usize),
    /// A segment that does not decode.
    #[error("segment {number} is damaged")]
    Segment {
        /// Number of the segment.
        number: usize,
        /// Why.
        #[source]
        source: SegmentError,
    },
    /// There is no such segment.
    #[error("the bundle has no segment {0}")]
    NoSegment(usize),
    /// The archive inside is not in the dialect of bundles.
    #[error("the archive inside is damaged")]
    Archive(#[from] TarReadError),
    /// An entry stands where another one should.
    #[error("the bundle does not begin with {BUNDLE_JSON} and {}", manifest::FILES)]
    Begin,
    /// bundle.json is damaged, or newer.
    #[error("could not read the bundle's description")]
    Json(#[from] BundleJsonError),
    /// The list of files is damaged.
    #[error("could not read the bundle's list of files")]
    Files(#[from] manifest::ManifestError),
    /// The recorded facts are damaged, or newer.
    #[error("could not read the bundle's recorded facts")]
    Recorded(#[from] RecordedError),
    /// A layer, which is no bundle by itself.
    #[error("this is the {} layer of bundles, not a bundle", .0.name())]
    IsLayer(Layer),
    /// A bundle, or the layer with everything but the base.
    #[error("this is a bundle, not the base layer of one")]
    NoLayer,
    /// The record at a layer's end is of another layer than the one in the file.
    #[error("the record of the layer is not that of its components")]
    LayerDiffers,
    /// bundle.json and the bundle's end speak of different things.
    #[error("bundle.json names other components, layers or files than the end of the bundle")]
    Differs,
    /// files.jsonl is not the one bundle.json names.
    #[error("the list of files is not the one bundle.json was written with")]
    FilesDigest,
}

impl BundleReadError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Read { source, .. } if source.kind() == io::ErrorKind::IsADirectory => {
                "this is a folder: name a bundle's file"
            }
            Self::Header(_) => {
                "name the file that `bundler make` wrote; one that was downloaded can be compared with its .sha256 file"
            }
            Self::IsLayer(_) => "name the bundle itself, or its base and app layers together",
            Self::NoLayer => "`bundler layers BUNDLE` writes the layers of a bundle",
            _ => "get the bundle again and compare it with its .sha256 file",
        };
        Some(text.to_owned())
    }
}

/// What the first entries of a bundle say.
#[derive(Debug, Clone)]
pub struct Described {
    /// bundle.json.
    pub bundle: Bundle,
    /// Digest of its bytes: the identity of the bundle.
    pub identity: Digest,
}

/// What the first segments of a bundle hold.
#[derive(Debug, Clone)]
pub struct Begin {
    /// bundle.json.
    pub bundle: Bundle,
    /// Digest of its bytes: the identity of the bundle.
    pub identity: Digest,
    /// Its bytes.
    pub bundle_json: Vec<u8>,
    /// The bytes of files.jsonl, whose digest is the one in bundle.json.
    pub files: Vec<u8>,
    /// Its rows.
    pub rows: Vec<manifest::Row>,
    /// The bytes of facts.jsonl, where the bundle has one.
    pub facts: Option<Vec<u8>>,
    /// Folders, as they stand in the archive; the root is the empty path.
    pub folders: Vec<String>,
}

/// A bundle open for reading at random.
#[derive(Debug)]
pub struct BundleReader<R> {
    segmented: Segmented<R>,
    complete: Complete,
}

impl<R> Deref for BundleReader<R> {
    type Target = Segmented<R>;

    fn deref(&self) -> &Segmented<R> {
        &self.segmented
    }
}

/// What a file in the form of bundles is.
#[derive(Debug)]
pub enum Archive<R> {
    /// A bundle, or one without the components of its base layer.
    Bundle(BundleReader<R>),
    /// A base layer.
    Layer(LayerReader<R>),
}

impl<R: ReadAt> Archive<R> {
    /// Reads header and segment table; decodes nothing.
    pub fn open(source: R) -> Result<Self, BundleReadError> {
        let (segmented, last) = Segmented::open(source)?;
        Ok(match last {
            Last::Complete(complete) => Self::Bundle(BundleReader {
                segmented,
                complete,
            }),
            Last::Layer(record) => Self::Layer(LayerReader::new(segmented, record)?),
        })
    }
}

impl<R: ReadAt> BundleReader<R> {
    /// Reads header and segment table; decodes nothing.
    pub fn open(source: R) -> Result<Self, BundleReadError> {
        match Archive::open(source)? {
            Archive::Bundle(bundle) => Ok(bundle),
            Archive::Layer(layer) => Err(BundleReadError::IsLayer(layer.record().layer)),
        }
    }

    /// bundle.json, from the first segment.
    pub fn describe(&self) -> Result<Described, BundleReadError> {
        let described = describe(&mut self.head())?;
        let bundle = &described.bundle;
        let ids = bundle.components.iter().map(|c| c.id);
        let layers = &self.complete.layers;
        let known = |id| bundle.layers.iter().any(|layer| layer.id == id);
        if ids.eq(self.table().components.iter().copied())
            && layers.iter().copied().all(known)
            && self.complete.files == bundle.digests.files
        {
            Ok(described)
        } else {
            Err(BundleReadError::Differs)
        }
    }

    /// What `.complete` says.
    pub fn complete(&self) -> &Complete {
        &self.complete
    }

    /// The rows of files.jsonl, from the first segments.
    pub fn files(&self) -> Result<Vec<manifest::Row>, BundleReadError> {
        let mut head = self.head();
        let described = describe(&mut head)?;
        Ok(self.read_files(&mut head, &described.bundle)?.1)
    }

    /// Everything the first segments hold: the descriptions as bytes, the rows, and the folders they make.
    pub fn begin(&self) -> Result<Begin, BundleReadError> {
        let Described { bundle, identity } = self.describe()?;
        let mut head = self.head();
        head.next_entry()?;
        let bundle_json = head.read_content(MAX_BUNDLE_JSON)?;
        let (files, rows) = self.read_files(&mut head, &bundle)?;
        let mut folders = Vec::new();
        let mut facts = None;
        while let Some(entry) = head.next_entry()? {
            match entry.kind {
                EntryKind::Dir => folders.push(entry.path),
                EntryKind::File if entry.path == FACTS && facts.is_none() && folders.is_empty() => {
                    facts = Some(head.read_content(MAX_FILES)?);
                }
                _ => return Err(BundleReadError::Begin),
            }
        }
        Ok(Begin {
            bundle,
            identity,
            bundle_json,
            files,
            rows,
            facts,
            folders,
        })
    }

    fn read_files<S: Read>(
        &self,
        head: &mut Entries<S>,
        bundle: &Bundle,
    ) -> Result<(Vec<u8>, Vec<manifest::Row>), BundleReadError> {
        match head.next_entry()? {
            Some(entry) if entry.path == manifest::FILES => {}
            _ => return Err(BundleReadError::Begin),
        }
        let bytes = head.read_content(MAX_FILES)?;
        if Digest::of(&bytes) != bundle.digests.files {
            return Err(BundleReadError::FilesDigest);
        }
        let rows = manifest::read_files(&bytes)?;
        if rows.len() as u64 == self.complete.entries {
            Ok((bytes, rows))
        } else {
            Err(BundleReadError::Differs)
        }
    }

    /// The facts recorded when the bundle was made, with the rows of files.jsonl; no facts for a bundle without facts.jsonl.
    pub fn recorded(&self) -> Result<(Vec<manifest::Row>, Option<Recorded>), BundleReadError> {
        let rows = self.files()?;
        let Some(row) = rows.iter().find(|row| row.path == FACTS) else {
            return Ok((rows, None));
        };
        let mut head = self.head();
        while let Some(entry) = head.next_entry()? {
            if entry.path == FACTS {
                let bytes = head.read_content(MAX_FILES)?;
                return if row.sha256 == Some(Digest::of(&bytes)) {
                    Ok((rows, Some(Recorded::parse(&bytes)?)))
                } else {
                    Err(BundleReadError::FilesDigest)
                };
            }
        }
        Err(BundleReadError::Differs)
    }

    fn head(&self) -> Entries<Stream<'_, R>> {
        let numbers = self.segments_of(Part::Head);
        Entries::new(self.stream(numbers), Ends::Entry)
    }
}

/// bundle.json of an archive: its first entry.
pub fn describe<R: Read>(entries: &mut Entries<R>) -> Result<Described, BundleReadError> {
    match entries.next_entry()? {
        Some(entry) if entry.path == BUNDLE_JSON => {}
        _ => return Err(BundleReadError::Begin),
    }
    let bytes = entries.read_content(MAX_BUNDLE_JSON)?;
    Ok(Described {
        bundle: Bundle::parse(&bytes)?,
        identity: Digest::of(&bytes),
    })
}

/// All entries of a bundle as any decoder sees them, for sources that cannot be read at random.
pub fn front_to_back<R: Read>(packed: R) -> Result<Entries<impl Read>, BundleReadError> {
    let what = "the bundle";
    let tar =
        segments::decode_stream(packed).map_err(|source| BundleReadError::Read { what, source })?;
    Ok(Entries::new(tar, Ends::Archive))
}
