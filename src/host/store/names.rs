//! Installed bundles by name. A name says product, version, target and the first digits of the identity, so that two
//! bundles never have one; people may write any beginning of it, or a version, that only one bundle has.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::{HostStoreError, Store};
use crate::base::digest::Digest;
use crate::base::fs;
use crate::formats::bundle::{BUNDLE_JSON, Bundle, BundleFacts, MAX_BUNDLE_JSON};

/// Digits of the identity in a name.
const DIGITS: usize = 12;

/// No record of an origin is larger.
const MAX_ORIGIN: u64 = 64 << 10;

/// The name a bundle is installed under.
pub fn name_of(facts: &BundleFacts, identity: &Digest) -> Result<String, HostStoreError> {
    let target = facts.target.target();
    let mut identity = identity.to_string();
    identity.truncate(DIGITS);
    let name = format!("{}-{}-{target}-{identity}", facts.name, facts.version);
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | '_' | '!');
    let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts_well && name.len() <= 200 && name.chars().all(plain) {
        Ok(name)
    } else {
        Err(HostStoreError::Name(name))
    }
}

/// An installed bundle.
#[derive(Debug, Clone)]
pub struct Installed {
    /// Its name.
    pub name: String,
    /// The folder of its tree.
    pub path: PathBuf,
}

/// Where an installed bundle came from: what `repair` reads again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// 1.
    pub schema_version: u32,
    /// A path or an address (without user name and query).
    pub source: String,
    /// The same of layers that were given with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub layers: Vec<String>,
    /// Identity of the bundle.
    pub identity: Digest,
}

impl Installed {
    /// bundle.json, and the digest of its bytes.
    pub fn bundle(&self) -> Result<(Bundle, Digest), HostStoreError> {
        let bytes = fs::read(&self.path.join(BUNDLE_JSON), MAX_BUNDLE_JSON)?;
        let bundle = Bundle::parse(&bytes).map_err(|source| HostStoreError::Json {
            name: self.name.clone(),
            source,
        })?;
        Ok((bundle, Digest::of(&bytes)))
    }

    /// Whether `identity` is the one in its name.
    pub fn is_named_after(&self, identity: &Digest) -> bool {
        let tail = self.name.rsplit('-').next().unwrap_or_default();
        tail.len() == DIGITS && identity.to_string().starts_with(tail)
    }
}

impl Store {
    /// All installed bundles, by name.
    pub fn installed(&self) -> Result<Vec<Installed>, HostStoreError> {
        let dir = self.bundles();
        if fs::metadata(&dir)?.is_none() {
            return Ok(Vec::new());
        }
        let mut out = Vec::new();
        for path in fs::list(&dir)? {
            let name = path.file_name().and_then(|name| name.to_str());
            // A name appears by one rename, complete; links and files that lie here are not ours.
            if let Some(name) = name
                && fs::symlink_metadata(&path)?.is_some_and(|m| m.is_dir())
            {
                let name = name.to_owned();
                out.push(Installed { name, path });
            }
        }
        Ok(out)
    }

    /// The installed bundle that `what` means: its name, a beginning of it, its version, or the beginning of its identity.
    pub fn find(&self, what: &str) -> Result<Installed, HostStoreError> {
        let all = self.installed()?;
        if let Some(exact) = all.iter().find(|one| one.name == what) {
            return Ok(exact.clone());
        }
        let fits = |one: &&Installed| {
            let version = one.bundle().is_ok_and(|(b, _)| b.facts.version == what);
            let identity = one.name.rsplit('-').next().unwrap_or_default();
            version || one.name.starts_with(what) || what.len() >= 4 && identity.starts_with(what)
        };
        let mut found: Vec<&Installed> = all.iter().filter(fits).collect();
        if what.is_empty() {
            found.clear();
        }
        let names = |all: &[&Installed]| all.iter().map(|one| one.name.clone()).collect();
        match found.as_slice() {
            [one] => Ok((*one).clone()),
            [] => Err(HostStoreError::Unknown {
                what: what.to_owned(),
                root: self.root.clone(),
                names: names(&all.iter().collect::<Vec<_>>()),
            }),
            several => Err(HostStoreError::Ambiguous {
                what: what.to_owned(),
                names: names(several),
            }),
        }
    }

    /// Remembers where a bundle came from.
    pub fn write_origin(&self, name: &str, origin: &Origin) -> Result<(), HostStoreError> {
        let mut bytes = serde_json::to_vec_pretty(origin).unwrap_or_default();
        bytes.push(b'\n');
        fs::write(&self.origin_path(name), &bytes)?;
        Ok(())
    }

    /// Where a bundle came from, if that is known.
    pub fn origin(&self, name: &str) -> Result<Option<Origin>, HostStoreError> {
        let bytes = fs::read_if_exists(&self.origin_path(name), MAX_ORIGIN)?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    pub(super) fn origin_path(&self, name: &str) -> PathBuf {
        self.root.join("origins").join(format!("{name}.json"))
    }
}
