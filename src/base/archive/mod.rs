//! Safe reading of zip and tar archives: the only module that names those crates. An archive that two programs could
//! read differently, or that reaches for anything outside its own tree, is refused with the member and the reason.

pub mod folder;
pub mod links;
pub mod name;
pub mod tar;
pub mod zip;

pub use name::{NameFault, Names, escaped};
pub use tar::TarError;
pub use zip::{ArchiveError, ContainerFault, Member, MemberFault, MemberReader, Method, Zip};

/// What to do about an archive that is itself at fault.
const AT_FAULT: &str = "the file itself is at fault: get it again, or take one that is built otherwise; \
    its publisher should be told";
