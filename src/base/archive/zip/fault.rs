//! Why a zip archive is refused: which archive, which member, and the reason as the source of the error.

use crate::base::archive::AT_FAULT;
use crate::base::archive::name::{NameFault, escaped};
use crate::base::fs::FsError;

/// A zip archive, or a member of one, that is refused.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file could not be read.
    #[error("could not read the archive {archive}")]
    File {
        /// File name of the archive.
        archive: String,
        /// What failed.
        #[source]
        source: FsError,
    },
    /// Something around the members is wrong.
    #[error("the zip archive {archive} is refused")]
    Container {
        /// File name of the archive.
        archive: String,
        /// Why.
        #[source]
        source: ContainerFault,
    },
    /// One member is wrong.
    #[error("member {member} of the zip archive {archive} is refused")]
    Member {
        /// File name of the archive.
        archive: String,
        /// Name of the member, escaped.
        member: String,
        /// Why.
        #[source]
        source: MemberFault,
    },
}

impl ArchiveError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File { source, .. } => source.hint(),
            Self::Container { .. } | Self::Member { .. } => Some(AT_FAULT.to_owned()),
        }
    }

    /// Names the archive and the member of a fault.
    pub(super) fn member(archive: &str, name: &[u8], source: MemberFault) -> Self {
        Self::Member {
            archive: archive.to_owned(),
            member: escaped(name),
            source,
        }
    }
}

/// What is wrong with an archive as a whole.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ContainerFault {
    /// No end record in the last 65,557 bytes.
    #[error("it has no end record: not a zip archive, or cut off")]
    NoEnd,
    /// Two records could both be the end.
    #[error("it has two end records, so programs read it differently")]
    TwoEnds,
    /// The comment is longer than the file.
    #[error("its comment reaches beyond the end of the file")]
    CommentCut,
    /// Something follows the end record and its comment.
    #[error("{0} bytes follow its end record")]
    Trailing(u64),
    /// Something stands before the first member.
    #[error("{0} bytes stand before its first member")]
    Prefix(u64),
    /// Split over several files.
    #[error("it is one part of a split archive")]
    Split,
    /// The directory is not where the end record says.
    #[error("its directory does not lie between the last member and the end record")]
    DirectoryPlace,
    /// The zip64 records disagree with the rest.
    #[error("its zip64 end record is wrong: {0}")]
    Zip64(&'static str),
    /// A directory entry is cut off or has no signature.
    #[error("entry {0} of its directory is damaged")]
    Directory(u64),
    /// The directory holds more or fewer entries than the end record says.
    #[error("its directory does not hold the {0} entries the end record speaks of")]
    Count(u64),
    /// More members than any wheel has.
    #[error("it claims {0} members, more than the {limit} that are read", limit = super::MAX_MEMBERS)]
    TooMany(u64),
    /// A directory too large to be held.
    #[error("its directory is {0} bytes long, more than the {limit} that are read", limit = super::MAX_DIRECTORY)]
    DirectoryTooLarge(u64),
    /// The sizes add up to more than 2^63.
    #[error("its members claim to be larger than any disk")]
    TooLarge,
    /// A second reader sees something else.
    #[error("a second reader sees another list of members: {0}")]
    SecondReader(String),
}

/// What is wrong with a member.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemberFault {
    /// Its name.
    #[error(transparent)]
    Name(#[from] NameFault),
    /// Encrypted in one of the zip ways.
    #[error("it is encrypted")]
    Encrypted,
    /// A flag that changes how the bytes are to be read.
    #[error("its flags {0:#06x} ask for something that is not read")]
    Flags(u16),
    /// A packing method that is not read.
    #[error("it is packed with method {0}{name}; only stored (0), deflate (8) and zstd (93) are read", name = method_name(*.0))]
    Method(u16),
    /// Symbolic link bits.
    #[error("it is a symbolic link")]
    Symlink,
    /// Device, fifo, socket or an unknown type.
    #[error("it is no file or folder but of type {0:#o}")]
    SpecialFile(u32),
    /// A folder name with file bits, a file name with folder bits, or a folder with bytes.
    #[error("it is a folder by one mark and a file by another")]
    FolderOrFile,
    /// Starts on another disk.
    #[error("it lies in another part of a split archive")]
    Split,
    /// No local header where the directory says.
    #[error("its local header is not at offset {0}")]
    NoLocalHeader(u64),
    /// Directory and local header disagree.
    #[error("its local header says {local} for the {field}, the directory says {central}")]
    LocalDiffers {
        /// Which field.
        field: &'static str,
        /// As in the local header.
        local: String,
        /// As in the directory.
        central: String,
    },
    /// An extra field is damaged, doubled or gives another name.
    #[error("its extra fields are wrong: {0}")]
    Extra(&'static str),
    /// The descriptor behind the bytes is missing or disagrees.
    #[error("its data descriptor is missing or does not agree with the directory")]
    Descriptor,
    /// Stored, its size only known afterwards, and a second descriptor in its bytes.
    #[error("its bytes hold a data descriptor signature while its size stands behind them only")]
    HiddenDescriptor,
    /// The bytes of two members overlap.
    #[error("its bytes overlap those of {0}")]
    Overlap(String),
    /// Bytes between this member and the next that belong to neither.
    #[error("{0} bytes that belong to no member follow it")]
    Gap(u64),
    /// Packed and unpacked size cannot both be true.
    #[error("{packed} packed bytes cannot become {unpacked}")]
    ImpossibleSize {
        /// Packed bytes by the directory.
        packed: u64,
        /// Unpacked bytes by the directory.
        unpacked: u64,
    },
    /// The packed bytes are no valid stream.
    #[error("its packed bytes are damaged: {0}")]
    Damaged(String),
    /// Unpacks to more than the directory says.
    #[error("it unpacks to more than the {0} bytes of the directory")]
    TooLong(u64),
    /// Unpacks to less than the directory says.
    #[error("it unpacks to less than the {0} bytes of the directory")]
    TooShort(u64),
    /// The stream ends before the packed bytes do.
    #[error("{0} unused bytes follow its packed stream")]
    Unused(u64),
    /// The checksum of the unpacked bytes is another.
    #[error("its CRC-32 is {actual:08x}, the directory says {expected:08x}")]
    Crc {
        /// Of the directory.
        expected: u32,
        /// Of the bytes.
        actual: u32,
    },
    /// Larger than the caller is ready to hold in memory.
    #[error("it is {size} bytes long, at most {limit} are expected")]
    OverLimit {
        /// Unpacked bytes.
        size: u64,
        /// Most bytes the caller takes.
        limit: u64,
    },
}

fn method_name(method: u16) -> &'static str {
    match method {
        1 => " (shrink)",
        6 => " (implode)",
        9 => " (deflate64)",
        12 => " (bzip2)",
        14 => " (LZMA)",
        20 => " (an old zstd)",
        95 => " (xz)",
        97 => " (WavPack)",
        98 => " (PPMd)",
        99 => " (AES)",
        _ => "",
    }
}
