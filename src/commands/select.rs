//! `bundler select`: which published bundle fits this host best, and why each other does not.

use std::fmt::Write as _;

use serde::Serialize;

use super::doctor::{host, offers, text, unknown_gpu};
use super::{Answer, Outcome, report};
use crate::cli::{Global, SelectArgs};
use crate::host::select::{Selection, select};

/// Version of the JSON form.
const SCHEMA_VERSION: u32 = 1;

#[derive(Debug, Serialize)]
struct Said {
    schema_version: u32,
    #[serde(flatten)]
    selection: Selection,
}

/// Runs it.
pub fn run(args: &SelectArgs, global: &Global) -> Answer {
    let offers = offers(&args.index, global)?;
    let host = host(&args.host, &offers)?;
    let said = Said {
        schema_version: SCHEMA_VERSION,
        selection: select(&offers, &host),
    };
    report::answer(global, &said, |said| {
        words(&said.selection, global.verbose > 0)
    })?;
    match &said.selection.best {
        Some(_) => Ok(Outcome::Done),
        None if said.selection.is_open() => Err(unknown_gpu(&host)),
        None => Ok(Outcome::No),
    }
}

fn words(selection: &Selection, notes: bool) -> String {
    let mut out = match &selection.best {
        Some(best) => format!("{best}\n\n"),
        None => "no bundle fits this host\n\n".to_owned(),
    };
    for offer in &selection.offers {
        let _ = write!(out, "{}", text::ranked(offer, notes));
    }
    out
}
