//! `bundler use` and `bundler rollback`: which installed bundle is current.

use std::path::PathBuf;

use serde::Serialize;

use super::{Answer, Outcome, edge, report, terminal};
use crate::cli::{Global, NameArgs, StoreArgs};
use crate::host::store::{self, Installed, hold};

#[derive(Serialize)]
struct Current {
    schema_version: u32,
    name: String,
    path: PathBuf,
}

/// `bundler use NAME`
pub fn switch(args: &NameArgs, global: &Global) -> Answer {
    let store = edge::store(&args.store)?;
    let bundle = store.find(&args.name)?;
    let _held = hold(&store, &terminal::progress(global))?;
    store::switch(&store, &bundle)?;
    tell(bundle, global)
}

/// `bundler rollback`
pub fn rollback(args: &StoreArgs, global: &Global) -> Answer {
    let store = edge::store(args)?;
    let _held = hold(&store, &terminal::progress(global))?;
    let bundle = store::rollback(&store)?;
    tell(bundle, global)
}

fn tell(bundle: Installed, global: &Global) -> Answer {
    let current = Current {
        schema_version: 1,
        name: bundle.name,
        path: bundle.path,
    };
    report::answer(global, &current, |c| format!("{} is in use\n", c.name))?;
    Ok(Outcome::Done)
}
