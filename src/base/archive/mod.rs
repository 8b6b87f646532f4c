//! Safe reading of zip and tar archives: the only module that names those crates. An archive that two programs could
//! read differently, or that reaches for anything outside its own tree, is refused with the member and the reason.

pub mod folder;
pub mod links;
pub mod name;
pub mod tar;
pub mod zip;

pub use name::{NameFault, Names, escaped};
pub use zip::{ArchiveError, ContainerFault, Member, MemberFault, MemberReader, Method, Zip};
