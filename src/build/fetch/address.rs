//! Where aliases point: recipe, `--index ALIAS=URL`, `POINTCEPT_BUNDLER_INDEX_<ALIAS>`, and the machine's default index.
//! Addresses are kept without user name and password: those go into the credential store of `base::http`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use url::Url;

/// What an alias points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Root of a simple API (PEP 503, PEP 691): `<url>/<project>/`. Also the base of `Place::Under`.
    Simple(Url),
    /// One page that lists files.
    FindLinks(Url),
    /// A release page of a code forge; its assets are listed elsewhere.
    Release(Url),
    /// A folder of files, or a simple API tree on disk.
    Folder(PathBuf),
}

/// Where aliases point.
#[derive(Debug, Clone, Default)]
pub struct Addresses {
    map: BTreeMap<String, Address>,
}

impl Addresses {
    /// Sets the address of an alias.
    pub fn set(&mut self, alias: &str, address: Address) {
        self.map.insert(alias.to_owned(), address);
    }

    /// The address of an alias, if it has one.
    pub fn get(&self, alias: &str) -> Option<&Address> {
        self.map.get(alias)
    }
}
