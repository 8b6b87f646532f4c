//! `bundler fetch TARGET…`: everything the locks name, into the cache; with `--mirror DIR` also into a folder that
//! `make --mirror DIR --offline` reads on a machine without network.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use serde::Serialize;
use url::Url;

use super::source::Search;
use super::{Answer, Failure, Outcome, edge, report, terminal};
use crate::base::digest::Digest;
use crate::base::progress::Progress;
use crate::base::target::Target;
use crate::build::fetch::{Fetched, Fetcher, Order, write_mirror};
use crate::build::ingest::choose::{compiler, places};
use crate::build::ingest::inputs::interpreter_order;
use crate::build::lock::{self, Lock, LockedInterpreter};
use crate::build::recipe::{Recipe, Wanted};
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

/// What one target is fetched with.
struct Job {
    recipe: Recipe,
    wanted: Wanted,
    lock: Lock,
    fetcher: Fetcher,
    progress: Progress,
}

/// Fetches what the locks of the targets name.
pub fn run(args: &FetchArgs, global: &Global) -> Answer {
    let progress = terminal::progress(global);
    let mut artifacts = BTreeMap::new();
    let mut fetched = Vec::new();
    for target in &args.target {
        let job = Job::new(args, global, *target, &progress)?;
        let mut orders: Vec<Order> = job.lock.wheels.iter().map(Order::wheel).collect();
        orders.extend(job.source()?);
        for order in &orders {
            note(&mut artifacts, order, &job.fetcher);
        }
        let candidates = job.interpreters(args.interpreter.as_deref())?;
        if args.dry_run {
            let first = candidates.first();
            for order in first.iter().flat_map(|first| job.with_compiler(first)) {
                note(&mut artifacts, &order, &job.fetcher);
            }
            continue;
        }
        fetched.extend(many(&job.fetcher, orders)?);
        if let Some(source) = job.git_source()? {
            artifacts.insert(
                source.file().to_owned(),
                Artifact {
                    name: "source".to_owned(),
                    file: source.file().to_owned(),
                    sha256: source.digest(),
                    size: Some(source.size()),
                    cached: false,
                },
            );
            fetched.push(source);
        }
        for (order, one) in job.take_interpreters(&candidates)? {
            note(&mut artifacts, &order, &job.fetcher);
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

impl Job {
    fn new(
        args: &FetchArgs,
        global: &Global,
        target: Target,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let dir = edge::working_dir()?;
        let recipe = Recipe::find(&args.recipe.recipe, &dir)?;
        let wanted = recipe.wanted(target)?;
        let lock = lock::current(&recipe, &wanted, &dir)?.lock;
        let mut config = edge::fetch_config(global, &args.recipe, &wanted, None)?;
        config.parallel = usize::from(args.jobs);
        Ok(Self {
            recipe,
            wanted,
            lock,
            fetcher: Fetcher::new(config, progress.clone()),
            progress: progress.clone(),
        })
    }

    /// The pinned source, where it is an archive.
    fn source(&self) -> Result<Option<Order>, Failure> {
        let address = self.wanted.source.as_ref().and_then(|s| s.archive.as_ref());
        let locked = self.lock.source.as_ref().and_then(|s| s.sha256);
        let (Some(address), Some(sha256)) = (address, locked) else {
            return Ok(None);
        };
        let url = Url::parse(address).map_err(|e| {
            anyhow::Error::new(e).context("the source's archive has no usable address")
        })?;
        Ok(Some(Order::archive("source", &url, sha256)))
    }

    /// The pinned source, where it is a git revision: brought into the cache, and packed as one file.
    fn git_source(&self) -> Result<Option<Fetched>, Failure> {
        Search {
            asked: None,
            recipe: &self.recipe,
            lock: &self.lock,
            cache: self.fetcher.blobs().cache(),
            fetcher: &self.fetcher,
            dir: &edge::working_dir()?,
            offline: self.fetcher.http().config().offline,
        }
        .for_mirror()
    }

    /// The interpreters of the target's architecture, in the recipe's order; `only` names one.
    fn interpreters(&self, only: Option<&str>) -> Result<Vec<&LockedInterpreter>, Failure> {
        let arch = self.wanted.target.arch;
        let of_arch = self.lock.interpreters.iter().filter(|i| i.arch == arch);
        let out: Vec<_> = of_arch
            .filter(|i| only.is_none_or(|name| name == i.source.name()))
            .collect();
        match only {
            Some(name) if out.is_empty() => Err(Failure {
                error: anyhow::anyhow!("the lock has no interpreter source {name:?} for {arch}"),
                hint: self
                    .lock
                    .interpreters
                    .iter()
                    .find(|i| i.arch == arch)
                    .map(|i| format!("pass --interpreter {}", i.source.name())),
            }),
            _ => Ok(out),
        }
    }

    fn order(&self, locked: &LockedInterpreter) -> Order {
        interpreter_order(locked, places(locked, self.recipe.folder()))
    }

    /// An interpreter, and the one that compiles bytecode on this machine where that is another.
    fn with_compiler(&self, locked: &LockedInterpreter) -> Vec<Order> {
        let mut out = vec![self.order(locked)];
        if let Some(other) = compiler(locked, &self.lock)
            && other.arch != locked.arch
        {
            out.push(self.order(other));
        }
        out
    }

    /// Takes the first interpreter that can be had, and its compiler.
    fn take_interpreters(
        &self,
        candidates: &[&LockedInterpreter],
    ) -> Result<Vec<(Order, Fetched)>, Failure> {
        for (number, candidate) in candidates.iter().enumerate() {
            let is_last = number + 1 == candidates.len();
            let order = self.order(candidate);
            let first = if is_last {
                self.fetcher.one(&order)
            } else {
                self.fetcher.hurried(&order)
            };
            match first {
                Ok(_) => {}
                Err(error) if is_last || error.is_wrong_bytes() || error.is_of_this_machine() => {
                    return Err(error.into());
                }
                Err(error) => {
                    let error = anyhow::Error::new(error);
                    let why = error.root_cause();
                    self.progress
                        .note(format!("warning: {error} ({why}), trying the next source"));
                    continue;
                }
            }
            let all = self.with_compiler(candidate);
            let fetched = many(&self.fetcher, all.clone())?;
            return Ok(all.into_iter().zip(fetched).collect());
        }
        Ok(Vec::new())
    }
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
    let what = if dry_run {
        format!("{missing} of {count} artifacts, {bytes}")
    } else {
        format!("{count} artifacts, {bytes}")
    };
    let _ = writeln!(out, "{verb}: {what}");
    if let (Some(folder), false) = (&summary.mirror, dry_run) {
        let _ = writeln!(out, "mirror: {}", folder.display());
    }
    out
}
