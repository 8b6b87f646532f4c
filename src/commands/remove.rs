//! `bundler remove` and `bundler gc`: bundles go, then what no other needs.

use serde::Serialize;

use super::{Answer, Outcome, edge, report, terminal};
use crate::cli::{Global, RemoveArgs, StoreArgs};
use crate::host::store::{self, hold};

#[derive(Serialize)]
struct Gone {
    schema_version: u32,
    name: String,
    was_current: bool,
}

#[derive(Serialize)]
struct Freed {
    schema_version: u32,
    components: Vec<String>,
    downloads: usize,
    bytes: u64,
}

/// `bundler remove NAME`
pub fn remove(args: &RemoveArgs, global: &Global) -> Answer {
    let store = edge::store(&args.store)?;
    let bundle = store.find(&args.name)?;
    let _held = hold(&store, &terminal::progress(global))?;
    let removed = store::remove(&store, &bundle, args.force)?;
    let gone = Gone {
        schema_version: 1,
        name: removed.name,
        was_current: removed.was_current,
    };
    report::answer(global, &gone, |gone| {
        format!(
            "removed {}; `bundler gc` frees what no other bundle needs\n",
            gone.name
        )
    })?;
    Ok(Outcome::Done)
}

/// `bundler gc`
pub fn gc(args: &StoreArgs, global: &Global) -> Answer {
    let store = edge::store(args)?;
    let _held = hold(&store, &terminal::progress(global))?;
    let collected = store::gc(&store)?;
    let freed = Freed {
        schema_version: 1,
        components: collected.components,
        downloads: collected.downloads,
        bytes: collected.bytes,
    };
    report::answer(global, &freed, |freed| {
        let count = freed.components.len();
        format!(
            "freed {} in {count} components\n",
            report::size(freed.bytes)
        )
    })?;
    Ok(Outcome::Done)
}
