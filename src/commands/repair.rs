//! `bundler repair`: what `verify` finds damaged in installed bundles is restored.

use std::fmt::Write as _;

use serde::Serialize;

use super::{Answer, Failure, Outcome, edge, report, terminal};
use crate::base::fs::Way;
use crate::cli::{Global, RepairArgs};
use crate::host::install::{InstallError, InstallOptions, open};
use crate::host::repair::repair;
use crate::host::store::{Installed, hold};

#[derive(Serialize)]
struct Said {
    schema_version: u32,
    bundles: Vec<One>,
}

#[derive(Serialize)]
struct One {
    name: String,
    /// Paths that were put right.
    paths: usize,
    /// Components that were read from the bundle again.
    components: usize,
}

/// Runs it.
pub fn run(args: &RepairArgs, global: &Global) -> Answer {
    let progress = terminal::progress(global);
    let store = edge::store(&args.store)?;
    let http = edge::http(global)?;
    let bundles: Vec<Installed> = if args.names.is_empty() {
        store.installed()?
    } else {
        let found = args.names.iter().map(|name| store.find(name));
        found.collect::<Result<_, _>>()?
    };
    let options = InstallOptions {
        copy: false,
        jobs: edge::jobs(args.jobs),
        way: Way::Kernel,
        expected: None,
        origin: Vec::new(),
    };
    let _held = hold(&store, &progress)?;
    let mut said = Said {
        schema_version: 1,
        bundles: Vec::new(),
    };
    for bundle in &bundles {
        let sources = match (args.from.as_slice(), store.origin(&bundle.name)?) {
            ([], Some(origin)) => [vec![origin.source], origin.layers].concat(),
            (from, _) => from.to_vec(),
        };
        let open = || match sources.as_slice() {
            [_, ..] => open(&store, &sources, &http, &progress),
            [] => Err(InstallError::Source {
                what: format!("where {} came from is not known", bundle.name),
                hint: Some(hint(&bundle.name)),
            }),
        };
        let done = repair(&store, bundle, &open, &options, &progress).map_err(|error| {
            let mut failure = Failure::from(error);
            failure.hint.get_or_insert_with(|| hint(&bundle.name));
            failure
        })?;
        said.bundles.push(One {
            name: done.name,
            paths: done.paths,
            components: done.components,
        });
    }
    report::answer(global, &said, text)?;
    Ok(Outcome::Done)
}

fn hint(name: &str) -> String {
    format!("name the bundle's file or address: bundler repair {name} --from FILE|URL")
}

fn text(said: &Said) -> String {
    let mut out = String::new();
    for one in &said.bundles {
        let _ = match one.paths {
            0 => writeln!(out, "{} is intact", one.name),
            count => writeln!(
                out,
                "{}: {count} paths restored, {} components read again",
                one.name, one.components
            ),
        };
    }
    if said.bundles.is_empty() {
        out.push_str("nothing is installed\n");
    }
    out
}
