//! `bundler fetch TARGET…`: everything the locks name, into the cache; with `--mirror DIR` also into a folder that
//! `make --mirror DIR --offline` reads on a machine without network.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;
use url::Url;

use super::inputs::{Inputs, inputs};
use super::network::{self, Fetching};
use super::{Answer, Failure, Outcome, report, terminal};
use crate::base::digest::Digest;
use crate::base::progress::Progress;
use crate::base::target::Arch;
use crate::build::fetch::{Fetched, Fetcher, Order, write_mirror};
use crate::build::recipe::InterpreterKind;
use crate::cli::{FetchArgs, Global};

#[derive(Serialize)]
struct Summary {
    schema_version: u32,
    artifacts: Vec<Artifact>,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mirror: Option<PathBuf>,
}

#[derive(Serialize)]
struct Artifact {
    name: String,
    file: String,
    sha256: Digest,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    cached: bool,
}

/// Fetches what the locks of the targets name.
pub fn run(args: &FetchArgs, global: &Global) -> Answer {
    let progress = terminal::progress(global);
    let dir = std::env::current_dir()?;
    let mut artifacts = BTreeMap::new();
    let mut fetched = Vec::new();
    for target in &args.target {
        let inputs = inputs(&args.recipe.recipe, *target, &dir)?;
        let fetching = Fetching {
            mirror: None,
            parallel: usize::from(args.jobs),
        };
        let fetcher = network::fetcher(
            global,
            &args.recipe,
            &inputs.recipe,
            &inputs.wanted,
            fetching,
            &progress,
        )?;
        let mut orders: Vec<Order> = inputs.lock.wheels.iter().map(Order::wheel).collect();
        orders.extend(source(&inputs)?);
        let interpreters = interpreters(&inputs, args.interpreter.as_deref())?;
        let all = interpreters.iter().flatten().chain(&orders);
        for order in all.filter(|_| args.dry_run) {
            note(&mut artifacts, order, &fetcher);
        }
        if args.dry_run {
            continue;
        }
        for order in &orders {
            note(&mut artifacts, order, &fetcher);
        }
        fetched.extend(many(&fetcher, orders)?);
        for (order, one) in take_interpreters(&fetcher, interpreters, &progress)? {
            note(&mut artifacts, &order, &fetcher);
            fetched.push(one);
        }
    }
    if let (Some(folder), false) = (&args.mirror, args.dry_run) {
        write_mirror(folder, &fetched)?;
    }
    let artifacts: Vec<Artifact> = artifacts.into_values().collect();
    let summary = Summary {
        schema_version: 1,
        bytes: artifacts.iter().filter_map(|a| a.size).sum(),
        artifacts,
        mirror: args.mirror.clone(),
    };
    report::answer(global, &summary, |s| text(s, args.dry_run))?;
    Ok(Outcome::Done)
}

fn note(artifacts: &mut BTreeMap<String, Artifact>, order: &Order, fetcher: &Fetcher) {
    artifacts
        .entry(order.file.clone())
        .or_insert_with(|| Artifact {
            name: order.label.clone(),
            file: order.file.clone(),
            sha256: order.sha256,
            size: order.size,
            cached: fetcher.has(&order.sha256, order.size),
        });
}

fn many(fetcher: &Fetcher, orders: Vec<Order>) -> Result<Vec<Fetched>, Failure> {
    let mut done = BTreeMap::new();
    for (number, result) in fetcher.many(orders) {
        done.insert(number, result?);
    }
    Ok(done.into_values().collect())
}

/// The pinned source, where it is an archive.
fn source(inputs: &Inputs) -> Result<Option<Order>, Failure> {
    let address = inputs
        .wanted
        .source
        .as_ref()
        .and_then(|s| s.archive.as_ref());
    let locked = inputs.lock.source.as_ref();
    let (Some(address), Some(sha256)) = (address, locked.and_then(|s| s.sha256)) else {
        return Ok(None);
    };
    let url = Url::parse(address)
        .map_err(|e| anyhow::Error::new(e).context("the source's archive has no usable address"))?;
    Ok(Some(Order::archive("source", &url, sha256)))
}

/// Alternatives for the target's interpreter; each is followed by the builder's own of the same kind, which compiles
/// bytecode, where the architectures differ.
fn interpreters(inputs: &Inputs, only: Option<&str>) -> Result<[Vec<Order>; 2], Failure> {
    let folder = inputs.recipe.folder().unwrap_or(Path::new("."));
    let order = |kind: InterpreterKind, arch: Arch| {
        let locked = inputs.lock.interpreter(kind, arch)?;
        let spec = inputs.wanted.interpreters.iter().find(|s| s.kind == kind);
        let path = spec.and_then(|s| s.path.get(&arch)).map(|p| folder.join(p));
        Some(Order::interpreter(locked, path.as_deref()))
    };
    let kinds = inputs.wanted.interpreters.iter().map(|spec| spec.kind);
    let kinds: Vec<_> = kinds
        .filter(|k| only.is_none_or(|o| o == k.name()))
        .collect();
    if let (Some(only), true) = (only, kinds.is_empty()) {
        return Err(anyhow::anyhow!("the recipe has no interpreter source {only:?}").into());
    }
    let arch = inputs.wanted.target.arch;
    let own = kinds.iter().filter_map(|k| order(*k, arch)).collect();
    let builder = kinds
        .iter()
        .filter(|_| arch != Arch::host())
        .filter_map(|k| order(*k, Arch::host()))
        .collect();
    Ok([own, builder])
}

/// Takes the first interpreter that can be had, and the builder's of the same kind.
fn take_interpreters(
    fetcher: &Fetcher,
    alternatives: [Vec<Order>; 2],
    progress: &Progress,
) -> Result<Vec<(Order, Fetched)>, Failure> {
    let [own, builder] = alternatives;
    let mut out = Vec::new();
    if own.is_empty() {
        return Ok(out);
    }
    let (number, fetched) = fetcher.first_of(&own)?;
    let Some(order) = own.into_iter().nth(number) else {
        return Ok(out);
    };
    progress.note(format!("interpreter: {}", order.label));
    let of_same_kind = builder.into_iter().find(|b| b.label == order.label);
    out.push((order, fetched));
    if let Some(builder) = of_same_kind {
        let fetched = fetcher.one(&builder)?;
        out.push((builder, fetched));
    }
    Ok(out)
}

fn text(summary: &Summary, dry_run: bool) -> String {
    let mut out = String::new();
    for artifact in &summary.artifacts {
        let size = artifact.size.map(report::size).unwrap_or_default();
        let cached = if artifact.cached { "  cached" } else { "" };
        if dry_run {
            let _ = writeln!(out, "{size:>9}  {}{cached}", artifact.file);
        }
    }
    let missing = summary.artifacts.iter().filter(|a| !a.cached);
    let missing: u64 = missing.filter_map(|a| a.size).sum();
    let verb = if dry_run { "to fetch" } else { "fetched" };
    let (count, bytes) = (summary.artifacts.len(), report::size(summary.bytes));
    let missing = report::size(missing);
    let _ = match dry_run {
        true => writeln!(out, "{verb}: {missing} of {count} artifacts, {bytes}"),
        false => writeln!(out, "{verb}: {count} artifacts, {bytes}"),
    };
    if let (Some(folder), false) = (&summary.mirror, dry_run) {
        let _ = writeln!(out, "mirror: {}", folder.display());
    }
    out
}
