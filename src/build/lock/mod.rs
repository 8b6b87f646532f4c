//! Wanted → [`Lock`]: every input of a bundle, named and pinned. A lock names no host: file name, sha256, size and the
//! alias of the index; where the alias leads is said by the recipe or the machine.
//!
//! Making one: uv chooses versions and files, names that a wheelhouse has are taken from it and nowhere else, every file is
//! found again on its own index, and every wheel must be of the bundle's accelerator.

pub mod accelerator;
mod check;
mod claims;
mod confirm;
mod error;
mod export;
mod file;
pub mod markers;
mod place;
pub mod project;
mod rank;
pub mod resolve;
pub mod revision;
mod sidecar;
pub mod specifiers;
pub mod tool;
pub mod uv;
pub mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::base::http::Secret;
use crate::base::progress::Progress;
use crate::build::fetch::Fetcher;
use crate::build::fetch::address::Address;
use crate::build::recipe::Wanted;
use project::UvIndex;
use resolve::{Pin, Question, Upgrade};
use uv::Uv;

pub use error::{ResolveError, Said};
pub use export::pylock;
pub use file::{
    Lock, LockError, LockedInterpreter, LockedSource, LockedWheel, SCHEMA_VERSION, file_name,
};
pub use place::{Found, current, find, path};

/// How a lock is made.
pub struct Terms<'a> {
    /// The resolver.
    pub uv: &'a Uv,
    /// Indexes and network.
    pub fetcher: &'a Fetcher,
    /// The lock there was: its pins stay where the recipe allows them.
    pub previous: Option<&'a Lock>,
    /// Which of them may move.
    pub upgrade: &'a Upgrade,
    /// Look only at files uploaded before this.
    pub exclude_newer: Option<&'a str>,
    /// A folder for temporary files.
    pub scratch: &'a Path,
    /// Who is told.
    pub progress: &'a Progress,
}

/// Makes the lock of a target.
pub fn make(wanted: &Wanted, terms: &Terms<'_>) -> Result<Lock, ResolveError> {
    let tools = terms.fetcher.blobs().tools_folder();
    let indexes = std::thread::scope(|scope| {
        // Both ask programs of the machine, which takes a while.
        scope.spawn(|| terms.uv.python(&tools));
        uv_indexes(wanted, terms.fetcher)
    })?;
    let names = claims::names(terms.fetcher, wanted)?;
    let revision = revision::revision(terms.fetcher, wanted)?;
    let offline = terms.fetcher.http().config().offline;
    let pins = std::thread::scope(|scope| {
        if !offline {
            scope.spawn(|| confirm::look_ahead(terms.fetcher, wanted, terms.previous));
        }
        pins(wanted, terms, &indexes, &names, &tools)
    })?;
    let wheels = confirm::confirm(terms.fetcher, wanted, &pins, terms.progress)?;
    let findings = accelerator::judge(wanted.target, &wheels);
    if !findings.is_empty() {
        return Err(ResolveError::Accelerator {
            target: wanted.target,
            findings,
        });
    }
    Ok(write::lock(
        wanted,
        write::Parts {
            uv: terms.uv.version().to_owned(),
            exclude_newer: terms.exclude_newer.map(ToOwned::to_owned),
            revision,
            wheels,
        },
    ))
}

/// What uv chooses once every name a wheelhouse has is taken from it.
fn pins(
    wanted: &Wanted,
    terms: &Terms<'_>,
    indexes: &[UvIndex],
    names: &BTreeMap<String, BTreeSet<String>>,
    tools: &Path,
) -> Result<Vec<Pin>, ResolveError> {
    let mut claimed = Vec::new();
    loop {
        let pins = resolve::resolve(
            terms.uv,
            &Question {
                wanted,
                indexes,
                previous: terms.previous,
                upgrade: terms.upgrade,
                exclude_newer: terms.exclude_newer,
                claimed: &claimed,
                scratch: terms.scratch,
                tools,
                offline: terms.fetcher.http().config().offline,
            },
        )?;
        // Each round claims at least one more name, so this ends.
        let more = claims::claimed(wanted, &pins, names);
        let news = more.iter().filter(|w| !claimed.contains(w)).count();
        if news == 0 {
            return Ok(pins);
        }
        claimed.extend(more);
        claimed.sort_by(|a, b| a.name.cmp(&b.name));
        claimed.dedup();
    }
}

/// Every index of the recipe as uv is told of it.
fn uv_indexes(wanted: &Wanted, fetcher: &Fetcher) -> Result<Vec<UvIndex>, ResolveError> {
    let mut out = Vec::new();
    for alias in wanted.indexes.keys() {
        let address = fetcher
            .address(alias)
            .map_err(|source| ResolveError::Index {
                alias: alias.clone(),
                name: alias.clone(),
                source: Box::new(source),
            })?;
        let flat = project::is_flat(&address);
        let url = match address {
            Address::Simple(url) | Address::FindLinks(url) => url,
            Address::Folder(folder) => std::path::absolute(&folder)
                .ok()
                .and_then(|folder| url::Url::from_file_path(folder).ok())
                .ok_or_else(|| ResolveError::NoAddress {
                    alias: alias.clone(),
                })?,
            Address::MachineDefault => {
                return Err(ResolveError::NoAddress {
                    alias: alias.clone(),
                });
            }
        };
        let login = match fetcher.http().config().credentials.for_url(&url) {
            Some(Secret::Basic(user, password)) => Some((user.clone(), password.clone())),
            // The user name PyPI's own tokens go by; other servers do not look at it.
            Some(Secret::Bearer(token)) => Some(("__token__".to_owned(), token.clone())),
            None => None,
        };
        out.push(UvIndex {
            alias: alias.clone(),
            url,
            flat,
            login,
        });
    }
    Ok(out)
}
