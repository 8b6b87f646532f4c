//! Metadata beside wheels (PEP 658, PEP 714), which the resolver reads instead of whole wheels: what a lock notes of it, and
//! whether wheels of one version require different things on different machines.

use std::collections::{BTreeMap, BTreeSet};

use super::rank::rank;
use crate::base::digest::Digest;
use crate::base::fs;
use crate::base::http::{Kind, Request};
use crate::base::python::PythonMinor;
use crate::base::target::Arch;
use crate::build::fetch::{FetchError, Fetcher, Order, Place};
use crate::formats::metadata;
use crate::formats::simple_index::{Row, Sidecar};
use crate::formats::wheel::WheelName;

/// The largest metadata file that is read.
const LIMIT: u64 = 16 << 20;

/// The digest of the metadata beside a wheel; one that the page offers without a digest is read.
pub(super) fn digest(fetcher: &Fetcher, row: &Row) -> Result<Option<Digest>, FetchError> {
    match row.metadata {
        Sidecar::Absent => Ok(None),
        Sidecar::Digest(digest) => Ok(Some(digest)),
        Sidecar::Offered => {
            let request = Request {
                kind: Kind::Page,
                ..Request::file(address(row))
            };
            let page = fetcher.http().page(&request, LIMIT)?;
            Ok(page.body.map(|bytes| Digest::of(&bytes)))
        }
    }
}

fn address(row: &Row) -> url::Url {
    let mut url = row.url.clone();
    url.set_fragment(None);
    url.set_path(&format!("{}.metadata", row.url.path()));
    url
}

/// What wheels of the chosen one's version require differently, as one line; none where they agree or the index does not
/// publish it. Each target is resolved from the metadata of the very wheel it gets.
pub(super) fn difference(
    fetcher: &Fetcher,
    rows: &[Row],
    chosen: &Row,
    python: PythonMinor,
) -> Option<String> {
    let own: WheelName = chosen.file.parse().ok()?;
    // One wheel for each metadata file there is.
    let mut kinds: BTreeMap<Digest, &Row> = BTreeMap::new();
    for row in rows {
        let Sidecar::Digest(digest) = row.metadata else {
            continue;
        };
        let fits = |name: WheelName| {
            let runs = |arch| rank(&name, arch, python).is_some();
            name.version == own.version && (runs(Arch::Amd64) || runs(Arch::Arm64))
        };
        if row.file.parse().is_ok_and(fits) {
            kinds.entry(digest).or_insert(row);
        }
    }
    if kinds.len() < 2 {
        return None;
    }
    let Sidecar::Digest(digest) = chosen.metadata else {
        return None;
    };
    let ours = requires(fetcher, chosen, digest)?;
    let mut said = Vec::new();
    for (other, row) in kinds.into_iter().filter(|(other, _)| *other != digest) {
        let theirs = requires(fetcher, row, other)?;
        let without: Vec<&str> = theirs.difference(&ours).map(String::as_str).collect();
        let alone: Vec<&str> = ours.difference(&theirs).map(String::as_str).collect();
        if !without.is_empty() || !alone.is_empty() {
            said.push(format!(
                "{} requires {} where it requires {}",
                row.file,
                list(&without),
                list(&alone)
            ));
        }
    }
    (!said.is_empty()).then(|| {
        format!(
            "wheels of one version require different things: {} was chosen; {}",
            chosen.file,
            said.join("; ")
        )
    })
}

fn list(names: &[&str]) -> String {
    if names.is_empty() {
        "nothing".to_owned()
    } else {
        names.join(", ")
    }
}

/// `Requires-Dist` of the metadata beside a wheel, which is kept by its digest.
fn requires(fetcher: &Fetcher, row: &Row, sha256: Digest) -> Option<BTreeSet<String>> {
    let file = format!("{}.metadata", row.file);
    let fetched = fetcher.one(&Order {
        label: file.clone(),
        file,
        sha256,
        size: None,
        places: vec![Place::Url(address(row))],
    });
    let bytes = fs::read(fetched.ok()?.path(), LIMIT).ok()?;
    let (facts, _) = metadata::read(&bytes).ok()?;
    Some(facts.requires_dist.into_iter().collect())
}
