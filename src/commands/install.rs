//! `bundler install`: a bundle into the store, and current from then on.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::doctor::{host, offers, text, unknown_gpu};
use super::{Answer, Outcome, edge, fit, report, terminal};
use crate::base::digest::Digest;
use crate::base::fs::Way;
use crate::cli::{Global, HostArgs, InstallArgs};
use crate::host::install::{InstallOptions, Receipt, Sharing, install, open};
use crate::host::select::select;
use crate::host::store::{hold, switch};

/// What was installed.
#[derive(Serialize)]
struct Done {
    schema_version: u32,
    name: String,
    path: PathBuf,
    identity: Digest,
    /// It stood there already.
    was_there: bool,
    /// It is the current one now.
    is_current: bool,
    components: Components,
    /// How the tree holds its files: `clones`, `links` or `copies`.
    files_are: &'static str,
}

/// Components, and bytes of their files.
#[derive(Serialize)]
struct Components {
    written: usize,
    written_bytes: u64,
    reused: usize,
    reused_bytes: u64,
}

/// Runs it.
pub fn run(args: &InstallArgs, global: &Global) -> Answer {
    let progress = terminal::progress(global);
    let store = edge::store(&args.store)?;
    let (sources, expected) = choose(args, global)?;
    let http = edge::http(global)?;
    let held = hold(&store, &progress)?;
    let opened = open(&store, &sources, &http, &progress)?;
    if !args.force {
        let host = host_args(args);
        if let Some(refused) = fit::refused(&opened.describe()?, &sources, &host, &progress)? {
            return fit::no(&refused, global);
        }
    }
    let options = InstallOptions {
        copy: args.copy,
        jobs: edge::jobs(args.jobs),
        way: Way::Kernel,
        expected,
        origin: opened.origin(),
    };
    let receipt = install(&store, &opened.material()?, &options, &progress)?;
    opened.finish()?;
    if !args.no_use {
        switch(&store, &receipt.installed)?;
    }
    drop(held);
    report::answer(global, &done(receipt, !args.no_use), words)?;
    Ok(Outcome::Done)
}

/// This host, with the store as the place.
fn host_args(args: &InstallArgs) -> HostArgs {
    HostArgs {
        sysroot: PathBuf::from("/"),
        gpu: args.gpu.clone(),
        driver: None,
        store: args.store.clone(),
    }
}

/// What to install and, where it stands in an index, the identity it must have.
fn choose(
    args: &InstallArgs,
    global: &Global,
) -> Result<(Vec<String>, Option<Digest>), super::Failure> {
    let [source] = args.source.as_slice() else {
        return Ok((args.source.clone(), None));
    };
    let path = source.split(['?', '#']).next().unwrap_or_default();
    if Path::new(path).extension() != Some(OsStr::new("json")) {
        return Ok((args.source.clone(), None));
    }
    let offers = offers(source, global)?;
    let host = host(&host_args(args), &offers)?;
    let selection = select(&offers, &host);
    let Some(best) = selection.best else {
        if offers.is_empty() || !selection.offers.iter().all(|o| o.judged.reasons.is_empty()) {
            let mut why = String::new();
            for offer in &selection.offers {
                why.push_str(&text::ranked(offer, false));
            }
            return Err(super::Failure {
                error: anyhow::anyhow!("no bundle of the index is sure to run on this host\n{why}"),
                hint: Some("`bundler select` says more; --gpu X.Y names a GPU; a bundle's own address with --force installs it all the same".to_owned()),
            });
        }
        return Err(unknown_gpu(&host));
    };
    let chosen = offers.iter().find(|offer| offer.place == best);
    let bytes = chosen.map(|offer| offer.bundle.to_bytes()).transpose()?;
    Ok((vec![best], bytes.map(|bytes| Digest::of(&bytes))))
}

fn done(receipt: Receipt, is_current: bool) -> Done {
    Done {
        schema_version: 1,
        name: receipt.installed.name,
        path: receipt.installed.path,
        identity: receipt.identity,
        was_there: receipt.was_there,
        is_current,
        components: Components {
            written: receipt.written.0,
            written_bytes: receipt.written.1,
            reused: receipt.reused.0,
            reused_bytes: receipt.reused.1,
        },
        files_are: match receipt.sharing {
            Sharing::Clones => "clones",
            Sharing::Links => "links",
            Sharing::Copies => "copies",
        },
    }
}

fn words(done: &Done) -> String {
    let Components {
        written,
        written_bytes,
        reused,
        reused_bytes,
    } = &done.components;
    let mut out = String::new();
    let _ = if done.was_there {
        writeln!(out, "{} is installed already", done.name)
    } else {
        writeln!(
            out,
            "installed {}: {written} components written ({}), {reused} shared ({})",
            done.name,
            report::size(*written_bytes),
            report::size(*reused_bytes)
        )
    };
    if !done.was_there && done.files_are == "copies" {
        let bytes = report::size(written_bytes + reused_bytes);
        let _ = writeln!(
            out,
            "its files are copies: {bytes} more than shared files take"
        );
    }
    let _ = writeln!(out, "in {}", done.path.display());
    out
}
