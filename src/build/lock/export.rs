//! A lock as `pylock.<target>.toml` (PEP 751), which uv and pip install from. Unlike the lock it names addresses, so it is
//! made for one network.

use std::collections::BTreeMap;

use super::Lock;
use super::error::ResolveError;
use crate::build::fetch::Fetcher;
use crate::formats::pylock::{File, Package, Pylock};

/// Writes the lock with the addresses its files have on their indexes now.
pub fn pylock(lock: &Lock, fetcher: &Fetcher) -> Result<String, ResolveError> {
    let mut packages = Vec::with_capacity(lock.wheels.len());
    for wheel in &lock.wheels {
        let rows =
            fetcher
                .rows(&wheel.index, &wheel.name)
                .map_err(|source| ResolveError::Index {
                    alias: wheel.index.clone(),
                    name: wheel.name.clone(),
                    source: Box::new(source),
                })?;
        let row = rows
            .iter()
            .filter(|row| row.file == wheel.file)
            .find(|row| row.sha256.is_none_or(|digest| digest == wheel.sha256))
            .ok_or_else(|| ResolveError::Gone {
                file: wheel.file.clone(),
                alias: wheel.index.clone(),
            })?;
        packages.push(Package {
            name: wheel.name.clone(),
            version: Some(wheel.version.clone()),
            marker: None,
            sdist: None,
            wheels: vec![File {
                name: Some(wheel.file.clone()),
                url: Some(row.url.clone()),
                path: None,
                size: Some(wheel.size),
                hashes: BTreeMap::from([("sha256".to_owned(), wheel.sha256.to_string())]),
            }],
        });
    }
    Ok(Pylock::new(format!("=={}.*", lock.python), packages).to_text())
}
