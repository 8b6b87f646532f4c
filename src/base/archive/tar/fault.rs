//! Why a tar archive is refused: which archive, which member, and the reason as the source of the error.

use std::io;

use crate::base::archive::AT_FAULT;
use crate::base::archive::links::LinkFault;
use crate::base::archive::name::{NameFault, escaped};
use crate::base::fs::FsError;

/// A tar archive, or a member of one, that is refused.
#[derive(Debug, thiserror::Error)]
pub enum TarError {
    /// The file could not be opened.
    #[error("could not read the archive {archive}")]
    File {
        /// File name of the archive.
        archive: String,
        /// What failed.
        #[source]
        source: FsError,
    },
    /// The stream could not be read or unpacked.
    #[error("could not unpack the archive {archive}")]
    Read {
        /// File name of the archive.
        archive: String,
        /// What failed.
        #[source]
        source: io::Error,
    },
    /// Something around the members is wrong.
    #[error("the tar archive {archive} is refused")]
    Archive {
        /// File name of the archive.
        archive: String,
        /// Why.
        #[source]
        source: TarFault,
    },
    /// One member is wrong.
    #[error("member {member} of the tar archive {archive} is refused")]
    Member {
        /// File name of the archive.
        archive: String,
        /// Name of the member, escaped.
        member: String,
        /// Why.
        #[source]
        source: TarFault,
    },
}

impl TarError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File { source, .. } => source.hint(),
            Self::Read { .. } | Self::Archive { .. } | Self::Member { .. } => {
                Some(AT_FAULT.to_owned())
            }
        }
    }

    pub(super) fn member(archive: &str, name: &[u8], source: TarFault) -> Self {
        Self::Member {
            archive: archive.to_owned(),
            member: escaped(name),
            source,
        }
    }
}

/// What is wrong with a tar archive or a member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TarFault {
    /// The first block is no header.
    #[error("expected a tar archive (plain, gzip or zstd), found {0}")]
    NoTar(String),
    /// The stream ends before the end mark.
    #[error("it ends in the middle: cut off, or no tar archive")]
    Cut,
    /// The header's checksum is not that of its bytes.
    #[error("the checksum of its header is wrong: damaged, or no tar archive")]
    Checksum,
    /// A size or mode that is no number.
    #[error("a number in its header cannot be read")]
    Number,
    /// One zero block where there must be two.
    #[error("a single zero block stands between members, so programs read it differently")]
    HalfEnd,
    /// Something other than zeros behind the end mark.
    #[error("there are bytes behind its end, so programs read it differently")]
    BehindEnd,
    /// A second gzip member or zstd frame, or other bytes behind the first.
    #[error("there is more behind its compressed stream, so programs read it differently")]
    SecondStream,
    /// More members than the limit.
    #[error("it has more than {0} members")]
    TooMany(u64),
    /// More bytes than the limit.
    #[error("with it the archive unpacks to more than {0} bytes")]
    TooLarge(u64),
    /// The name.
    #[error(transparent)]
    Name(NameFault),
    /// A regular file whose name ends with a slash.
    #[error("it is a file whose name ends with a slash, so programs read it differently")]
    FileWithSlash,
    /// A device, fifo, sparse file or other type.
    #[error("its type {:?} is none of file, folder and link", char::from(*.0))]
    Type(u8),
    /// A folder or link with bytes of its own.
    #[error("it is no file but has bytes, so programs read it differently")]
    Body,
    /// The text of a symbolic link's goal.
    #[error("it is a symbolic link to {0}")]
    Link(String, #[source] LinkFault),
    /// Where a symbolic link leads by way of others.
    #[error("it is a symbolic link that leads astray by way of others")]
    Leads(#[source] LinkFault),
    /// A hard link to something that is no earlier file.
    #[error("it is a hard link to {0}, which is no earlier file of the archive")]
    NoSuchFile(String),
    /// An extension header.
    #[error("its extension header is refused: {0}")]
    Extension(&'static str),
    /// An extension header with no member behind it.
    #[error("an extension header stands at its end, with no member behind it")]
    Dangling,
}
