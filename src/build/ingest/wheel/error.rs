//! Why a wheel is refused: which wheel, and the reason as the source of the error.

use crate::base::archive::{ArchiveError, NameFault};
use crate::base::digest::Digest;
use crate::build::ingest::error::record_hint;
use crate::formats::metadata::MetadataError;
use crate::formats::record::RecordError;
use crate::formats::wheel::{WheelFileError, WheelNameError};

/// A wheel that is refused.
#[derive(Debug, thiserror::Error)]
#[error("the wheel {wheel} is refused")]
pub struct WheelError {
    /// File name, escaped.
    pub wheel: String,
    /// Its digest.
    pub sha256: Digest,
    /// Why.
    #[source]
    pub source: Box<WheelFault>,
}

impl WheelError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match &*self.source {
            WheelFault::Record(_) | WheelFault::RecordMismatch(_) => {
                Some(record_hint(Some(self.sha256)))
            }
            WheelFault::Incompatible { .. } => {
                Some("run `bundler lock` again for this target".into())
            }
            WheelFault::Archive(source) => source.hint(),
            _ => Some(
                "pin another version of it, or put a wheel that is built right into a wheelhouse; its publisher should be told"
                    .into(),
            ),
        }
    }
}

/// What is wrong with a wheel. Paths and names from it are escaped.
#[derive(Debug, thiserror::Error)]
pub enum WheelFault {
    /// Its file name.
    #[error(transparent)]
    Name(#[from] WheelNameError),
    /// Made for something else.
    #[error("its tags {tags} do not run on {target}")]
    Incompatible {
        /// Tags of the file name.
        tags: String,
        /// What the bundle is for.
        target: String,
    },
    /// A member could not be read.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    /// No `.dist-info` folder at its root.
    #[error("it has no .dist-info folder at its root")]
    NoDistInfo,
    /// More than one.
    #[error("it has several .dist-info folders at its root: {0}")]
    ManyDistInfo(String),
    /// Named for another distribution or version.
    #[error("its folder {folder} is not that of {name} {version}")]
    DistInfoName {
        /// The `.dist-info` folder.
        folder: String,
        /// As the file name says.
        name: String,
        /// As the file name says.
        version: String,
    },
    /// METADATA, WHEEL or RECORD is not there.
    #[error("it has no {0}")]
    Missing(String),
    /// METADATA is broken.
    #[error("its METADATA is refused")]
    Metadata(#[from] MetadataError),
    /// METADATA is of another distribution.
    #[error("its METADATA is that of {found}, its file name says {expected}")]
    MetadataName {
        /// Name or version in METADATA.
        found: String,
        /// Name or version of the file name.
        expected: String,
    },
    /// WHEEL is broken.
    #[error("its WHEEL is refused")]
    WheelFile(#[from] WheelFileError),
    /// RECORD is broken.
    #[error("its RECORD is refused")]
    Record(#[from] RecordError),
    /// RECORD and members disagree.
    #[error("its RECORD does not describe its files: {0}")]
    RecordMismatch(Mismatch),
    /// A `.data` folder of another name, which some installers would take.
    #[error("its folder {0} looks like one of .data files but is not named for it")]
    OtherData(String),
    /// Not one of the schemes.
    #[error("{0} is in no known scheme (purelib, platlib, headers, scripts, data)")]
    UnknownScheme(String),
    /// A scripts folder has no folders.
    #[error("{0} is a script in a folder")]
    ScriptInFolder(String),
    /// A line of `entry_points.txt`.
    #[error("its entry point {0} is no name and no `module:attribute`")]
    EntryPoint(String),
    /// Two things want one path.
    #[error("{first} and {second} would both be {path}")]
    SamePath {
        /// Path in the bundle.
        path: String,
        /// Member or entry point.
        first: String,
        /// Member or entry point.
        second: String,
    },
    /// Paths that cannot stand side by side.
    #[error("{path} cannot stand beside its other files")]
    Collision {
        /// Path in the bundle.
        path: String,
        /// Why.
        #[source]
        source: NameFault,
    },
    /// A file where only the interpreter's own belong.
    #[error("{member} would become {path}, where only files of the interpreter belong")]
    Interpreter {
        /// Member.
        member: String,
        /// Path in the bundle.
        path: String,
    },
    /// A script that had to be rewritten has other bytes than RECORD says.
    #[error("{0} does not have the sha256 that RECORD says")]
    Digest(String),
}

/// How RECORD and members disagree: paths, escaped.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mismatch {
    /// Members that RECORD does not list.
    pub unlisted: Vec<String>,
    /// Rows without a member.
    pub absent: Vec<String>,
    /// Members of another size.
    pub sizes: Vec<String>,
    /// Members of another digest; looked for only where a waiver is at hand, else the engine finds them.
    pub digests: Vec<String>,
}

impl Mismatch {
    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 5;
        let kinds = [
            ("not listed", &self.unlisted),
            ("listed but not there", &self.absent),
            ("of another size", &self.sizes),
            ("of another sha256", &self.digests),
        ];
        let mut separator = "";
        for (kind, paths) in kinds.iter().filter(|(_, paths)| !paths.is_empty()) {
            write!(f, "{separator}{kind}: ")?;
            let shown: Vec<&str> = paths.iter().take(SHOWN).map(String::as_str).collect();
            f.write_str(&shown.join(", "))?;
            if let Some(more) = paths.len().checked_sub(SHOWN).filter(|more| *more > 0) {
                write!(f, " and {more} more")?;
            }
            separator = "; ";
        }
        Ok(())
    }
}
