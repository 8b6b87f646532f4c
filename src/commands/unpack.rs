//! `bundler unpack`: a bundle into a folder, without a store.

use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;

use super::{Answer, Outcome, edge, fit, report, terminal};
use crate::base::digest::Digest;
use crate::base::fs::Way;
use crate::cli::{Global, HostArgs, StoreArgs, UnpackArgs};
use crate::formats::bundle::ROOT;
use crate::host::install::{InstallOptions, open_here, unpack};

/// What was unpacked.
#[derive(Serialize)]
struct Done {
    schema_version: u32,
    path: PathBuf,
    identity: Digest,
    entries: usize,
}

/// The paths in it.
#[derive(Serialize)]
struct Listing {
    schema_version: u32,
    paths: Vec<String>,
}

/// Runs it.
pub fn run(args: &UnpackArgs, global: &Global) -> Answer {
    let progress = terminal::progress(global);
    let opened = open_here(&args.files)?;
    if args.list {
        let plan = opened.plan()?;
        let described = plan.descriptions().iter().map(|(path, _)| *path);
        let listed = plan.rows().iter().map(|row| row.path.as_str());
        let mut paths: Vec<String> = described.chain(listed).map(ToOwned::to_owned).collect();
        paths.sort();
        let listing = Listing {
            schema_version: 1,
            paths,
        };
        report::answer(global, &listing, |listing| {
            let mut out = String::new();
            for path in &listing.paths {
                let _ = writeln!(out, "{ROOT}/{path}");
            }
            out
        })?;
        return Ok(Outcome::Done);
    }
    let prefix = std::path::absolute(&args.prefix)?;
    if !args.force {
        let host = HostArgs {
            sysroot: PathBuf::from("/"),
            gpu: Vec::new(),
            driver: None,
            store: StoreArgs {
                root: Some(prefix.clone()),
            },
        };
        if let Some(refused) = fit::refused(&opened.describe()?, &args.files, &host, &progress)? {
            return fit::no(&refused, global);
        }
    }
    let options = InstallOptions {
        copy: true,
        jobs: edge::jobs(args.jobs),
        way: Way::Kernel,
        expected: None,
        origin: Vec::new(),
    };
    let unpacked = unpack(&prefix, &opened.material()?, &options, &progress)?;
    let done = Done {
        schema_version: 1,
        path: unpacked.path,
        identity: unpacked.identity,
        entries: unpacked.entries,
    };
    report::answer(global, &done, words)?;
    Ok(Outcome::Done)
}

fn words(done: &Done) -> String {
    let mut out = String::new();
    let path = done.path.display();
    let _ = writeln!(out, "unpacked {} entries into {path}", done.entries);
    let _ = writeln!(out, "start with: {path}/bin/python");
    out
}
