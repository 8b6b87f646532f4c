//! A wheelhouse's names are its own: a package that stands on a page of files is never taken from the default index, whatever
//! version is there.

use std::collections::{BTreeMap, BTreeSet};

use super::error::ResolveError;
use super::rank::rank;
use super::resolve::Pin;
use crate::build::fetch::Fetcher;
use crate::build::fetch::address::Address;
use crate::build::recipe::{Wanted, Wish};
use crate::formats::wheel::WheelName;

/// The wanted indexes that are one page or folder of files, with what uv and we look at.
pub(super) fn flat_indexes(
    fetcher: &Fetcher,
    wanted: &Wanted,
) -> Result<Vec<(String, Address)>, ResolveError> {
    let mut out = Vec::new();
    for alias in wanted.indexes.keys() {
        let address = fetcher
            .address(alias)
            .map_err(|source| ResolveError::Index {
                alias: alias.clone(),
                name: alias.clone(),
                source: Box::new(source),
            })?;
        if !matches!(address, Address::Simple(_)) && wanted.default_alias() != Some(alias) {
            out.push((alias.clone(), address));
        }
    }
    Ok(out)
}

/// Names of wheels that fit, by the alias of the page they stand on.
pub(super) fn names(
    fetcher: &Fetcher,
    wanted: &Wanted,
) -> Result<BTreeMap<String, BTreeSet<String>>, ResolveError> {
    let mut out = BTreeMap::new();
    for (alias, _) in flat_indexes(fetcher, wanted)? {
        let rows = fetcher
            .rows(&alias, "")
            .map_err(|source| ResolveError::Index {
                alias: alias.clone(),
                name: alias.clone(),
                source: Box::new(source),
            })?;
        let names: BTreeSet<String> = rows
            .iter()
            .filter_map(|row| row.file.parse::<WheelName>().ok())
            .filter(|name| rank(name, wanted.target.arch, wanted.python).is_some())
            .map(|name| name.normalized())
            .collect();
        if names.is_empty() {
            return Err(ResolveError::EmptyIndex {
                alias,
                target: wanted.target,
                files: rows.len(),
            });
        }
        out.insert(alias, names);
    }
    Ok(out)
}

/// Pins of the default index whose name a wheelhouse claims, as wishes for that wheelhouse.
pub(super) fn claimed(
    wanted: &Wanted,
    pins: &[Pin],
    names: &BTreeMap<String, BTreeSet<String>>,
) -> Vec<Wish> {
    let listed: BTreeSet<&str> = wanted
        .requirements
        .iter()
        .map(|w| w.name.as_str())
        .collect();
    pins.iter()
        .filter(|pin| !listed.contains(pin.name.as_str()))
        .filter_map(|pin| {
            let (alias, _) = names
                .iter()
                .find(|(alias, names)| **alias != pin.index && names.contains(&pin.name))?;
            Some(Wish {
                name: pin.name.clone(),
                requirement: pin.name.clone(),
                index: alias.clone(),
                layer: crate::formats::component::Layer::App,
            })
        })
        .collect()
}
