//! `bundler list`: what is installed, and which one is current.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;

use super::{Answer, Outcome, edge, report};
use crate::cli::{Global, StoreArgs};
use crate::host::store::current;

#[derive(Serialize)]
struct Listing {
    schema_version: u32,
    root: PathBuf,
    bundles: Vec<Item>,
}

#[derive(Serialize)]
struct Item {
    name: String,
    path: PathBuf,
    is_current: bool,
    /// Absent where bundle.json is damaged.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unpacked: Option<u64>,
}

/// Runs it.
pub fn run(args: &StoreArgs, global: &Global) -> Answer {
    let store = edge::store(args)?;
    let current = current(&store)?.map(|one| one.name);
    let mut bundles = Vec::new();
    for one in store.installed()? {
        let bundle = one.bundle().ok().map(|(bundle, _)| bundle);
        let facts = bundle.as_ref().map(|bundle| &bundle.facts);
        bundles.push(Item {
            is_current: current.as_ref() == Some(&one.name),
            version: facts.map(|facts| facts.version.clone()),
            target: facts.map(|facts| facts.target.target().to_string()),
            unpacked: bundle.as_ref().map(|bundle| bundle.size.unpacked),
            name: one.name,
            path: one.path,
        });
    }
    let listing = Listing {
        schema_version: 1,
        root: store.root().to_owned(),
        bundles,
    };
    report::answer(global, &listing, text)?;
    Ok(Outcome::Done)
}

fn text(listing: &Listing) -> String {
    let mut out = String::new();
    for item in &listing.bundles {
        let mark = if item.is_current { '*' } else { ' ' };
        let size = match item.unpacked {
            Some(bytes) => report::size(bytes),
            None => "damaged: run `bundler verify`".to_owned(),
        };
        let _ = writeln!(out, "{mark} {}  {size}", item.name);
    }
    if listing.bundles.is_empty() {
        let _ = writeln!(out, "nothing is installed in {}", listing.root.display());
    }
    out
}
