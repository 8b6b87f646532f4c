//! `bundler lock`: resolves each target, says what changed, writes the locks. Also what `make` does when no lock is there.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::{Answer, Failure, Outcome, edge, report, terminal};
use crate::base::fs;
use crate::base::progress::Progress;
use crate::base::target::{Arch, Target};
use crate::build::fetch::Fetcher;
use crate::build::lock::resolve::Upgrade;
use crate::build::lock::uv::{Uv, UvError};
use crate::build::lock::write::{Change, ChangeKind, changes};
use crate::build::lock::{self, Found, Lock, LockError, Terms, tool};
use crate::build::recipe::{Recipe, Wanted};
use crate::cli::{Global, LockArgs, LockExport};
use crate::formats::distribution::normalized_name;

/// What was done for one target.
#[derive(serde::Serialize)]
struct Row {
    target: Target,
    path: PathBuf,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    wheels: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    download: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    changes: Vec<Change>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exported: Option<PathBuf>,
}

/// How a lock stands.
#[derive(Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Current,
    Missing,
    Stale,
    Written,
    Unchanged,
    WouldChange,
}

#[derive(serde::Serialize)]
struct Report {
    schema_version: u32,
    recipe: String,
    locks: Vec<Row>,
}

/// Runs `bundler lock`.
pub fn run(args: &LockArgs, global: &Global) -> Answer {
    let dir = edge::working_dir()?;
    let recipe = Recipe::find(&args.recipe.recipe, &dir)?;
    let targets: Vec<Target> = if args.targets.is_empty() {
        recipe.targets().collect()
    } else {
        args.targets.clone()
    };
    let mut locks = Vec::new();
    let mut uv = None;
    for target in targets {
        let wanted = recipe.wanted(target)?;
        locks.push(if args.check {
            check(&recipe, &wanted, &dir)?
        } else {
            update(args, global, &recipe, &wanted, &dir, &mut uv)?
        });
    }
    let bad = |row: &Row| matches!(row.state, State::Missing | State::Stale);
    let outcome = if locks.iter().any(bad) {
        Outcome::No
    } else {
        Outcome::Done
    };
    let report = Report {
        schema_version: 1,
        recipe: recipe.stem().to_owned(),
        locks,
    };
    report::answer(global, &report, text)?;
    Ok(outcome)
}

fn check(recipe: &Recipe, wanted: &Wanted, dir: &Path) -> Result<Row, Failure> {
    let (state, path, reason) = match lock::current(recipe, wanted, dir) {
        Ok(found) => (State::Current, found.path, None),
        Err(LockError::Missing { path, .. }) => (State::Missing, path, None),
        Err(LockError::Stale { path, reason, .. }) => (State::Stale, path, Some(reason)),
        Err(error) => return Err(error.into()),
    };
    Ok(row(wanted.target, path, state, reason))
}

fn row(target: Target, path: PathBuf, state: State, reason: Option<String>) -> Row {
    Row {
        target,
        path,
        state,
        reason,
        wheels: None,
        download: None,
        changes: Vec::new(),
        exported: None,
    }
}

fn update(
    args: &LockArgs,
    global: &Global,
    recipe: &Recipe,
    wanted: &Wanted,
    dir: &Path,
    uv: &mut Option<Uv>,
) -> Result<Row, Failure> {
    let progress = terminal::progress(global);
    let fetcher = edge::fetcher(global, &args.recipe, wanted, None, &progress)?;
    let uv = match uv {
        Some(uv) => &*uv,
        None => uv.insert(find_uv(args.uv.as_deref(), wanted, &fetcher)?),
    };
    // A lock that cannot be read is no reason not to write a new one.
    let previous = lock::find(recipe, wanted.target, dir).ok().flatten();
    let upgrade = if args.upgrade {
        Upgrade::All
    } else if args.upgrade_package.is_empty() {
        Upgrade::Nothing
    } else {
        Upgrade::Packages(
            args.upgrade_package
                .iter()
                .map(|n| normalized_name(n))
                .collect::<BTreeSet<_>>(),
        )
    };
    let old = previous.as_ref().map(|found| &found.lock);
    let exclude_newer = args.exclude_newer.as_deref().or_else(|| {
        old.and_then(|lock| lock.exclude_newer.as_deref())
            .filter(|_| !args.upgrade)
    });
    let task = progress.task(&format!("resolving {}", wanted.target), None);
    let new = lock::make(
        wanted,
        &Terms {
            uv,
            fetcher: &fetcher,
            previous: old,
            upgrade: &upgrade,
            exclude_newer,
            scratch: fetcher.blobs().cache(),
            progress: &progress,
        },
    )?;
    drop(task);
    let path = lock::path(recipe, wanted.target, dir);
    let in_place = previous.as_ref().is_some_and(|found| !found.built_in);
    let same = old.is_some_and(|old| same_but_uv(old, &new));
    let (lock, state) = match old {
        Some(old) if same && in_place => (old, State::Unchanged),
        _ if args.dry_run => (
            &new,
            if same {
                State::Unchanged
            } else {
                State::WouldChange
            },
        ),
        _ => {
            fs::write(&path, new.to_text().as_bytes())?;
            (&new, State::Written)
        }
    };
    let exported = match args.export {
        Some(LockExport::Pylock) if !args.dry_run => {
            let to = fs::parent(&path).join(format!("pylock.{}.toml", wanted.target));
            fs::write(&to, lock::pylock(lock, &fetcher)?.as_bytes())?;
            Some(to)
        }
        _ => None,
    };
    Ok(Row {
        wheels: Some(lock.wheels.len()),
        download: Some(lock.wheels.iter().map(|wheel| wheel.size).sum()),
        changes: changes(old, lock),
        exported,
        ..row(wanted.target, path, state, None)
    })
}

/// Whether two locks differ in nothing but the resolver's version.
fn same_but_uv(old: &Lock, new: &Lock) -> bool {
    let as_new = Lock {
        uv: new.uv.clone(),
        ..old.clone()
    };
    as_new == *new
}

/// What `make` may do when no lock follows from the recipe.
#[derive(Debug, Clone, Copy)]
pub struct May<'a> {
    /// The uv program that was named.
    pub uv: Option<&'a Path>,
    /// Resolve at all: not under `--locked`.
    pub resolve: bool,
    /// Write the new lock: not in a dry run.
    pub write: bool,
}

/// The lock `make` works with: the one there is, or, where it is missing or stale and may be made, a new one.
pub fn ensure(
    recipe: &Recipe,
    wanted: &Wanted,
    dir: &Path,
    fetcher: &Fetcher,
    may: May<'_>,
    progress: &Progress,
) -> Result<Found, Failure> {
    let missing = match lock::current(recipe, wanted, dir) {
        Ok(found) => return Ok(found),
        Err(error) if !may.resolve || fetcher.http().config().offline => return Err(error.into()),
        Err(error @ (LockError::Missing { .. } | LockError::Stale { .. })) => error,
        Err(error) => return Err(error.into()),
    };
    progress.note(format!("{missing}: resolving"));
    let previous = lock::find(recipe, wanted.target, dir)?;
    let uv = find_uv(may.uv, wanted, fetcher)?;
    let lock = lock::make(
        wanted,
        &Terms {
            uv: &uv,
            fetcher,
            previous: previous.as_ref().map(|found| &found.lock),
            upgrade: &Upgrade::Nothing,
            exclude_newer: previous
                .as_ref()
                .and_then(|found| found.lock.exclude_newer.as_deref()),
            scratch: fetcher.blobs().cache(),
            progress,
        },
    )?;
    let path = lock::path(recipe, wanted.target, dir);
    let text = lock.to_text();
    if may.write {
        fs::write(&path, text.as_bytes())?;
        progress.note(format!(
            "wrote {} ({} wheels)",
            path.display(),
            lock.wheels.len()
        ));
    }
    Ok(Found {
        lock,
        text,
        path,
        built_in: false,
    })
}

/// The uv that was named, the one on PATH, else one that is fetched.
fn find_uv(named: Option<&Path>, wanted: &Wanted, fetcher: &Fetcher) -> Result<Uv, Failure> {
    let missing = match Uv::new(named.unwrap_or(Path::new("uv")), std::env::vars_os()) {
        Ok(uv) => return Ok(uv),
        Err(error) => error,
    };
    let absent = matches!(&missing, UvError::Start { source, .. } if source.kind() == std::io::ErrorKind::NotFound);
    match wanted.default_alias() {
        Some(alias) if named.is_none() && absent && !fetcher.http().config().offline => {
            let program = tool::fetched(fetcher, alias, Arch::host())?;
            Ok(Uv::new(&program, std::env::vars_os())?)
        }
        _ => {
            let hint = missing.hint();
            Err(Failure {
                error: missing.into(),
                hint: Some(hint),
            })
        }
    }
}

fn text(report: &Report) -> String {
    let mut out = String::new();
    for row in &report.locks {
        let state = match row.state {
            State::Current => "follows from the recipe",
            State::Missing => "does not exist",
            State::Stale => "is stale",
            State::Written => "written",
            State::Unchanged => "unchanged",
            State::WouldChange => "would change",
        };
        let _ = write!(out, "{}: {} {state}", row.target, row.path.display());
        if let Some(reason) = &row.reason {
            let _ = write!(out, ": {reason}");
        }
        if let (Some(wheels), Some(download)) = (row.wheels, row.download) {
            let noun = if wheels == 1 { "wheel" } else { "wheels" };
            let _ = write!(out, " ({wheels} {noun}, {})", report::size(download));
        }
        out.push('\n');
        for change in &row.changes {
            let _ = writeln!(out, "  {}", change_text(change));
        }
        if let Some(exported) = &row.exported {
            let _ = writeln!(out, "  exported {}", exported.display());
        }
    }
    out
}

fn change_text(change: &Change) -> String {
    let name = &change.name;
    let before = change.before.as_deref().unwrap_or_default();
    let after = change.after.as_deref().unwrap_or_default();
    match change.kind {
        ChangeKind::Added => format!("+ {name} {after}"),
        ChangeKind::Removed => format!("- {name} {before}"),
        ChangeKind::Version => format!("~ {name} {before} -> {after}"),
        ChangeKind::Index => format!("~ {name} from index {after} instead of {before}"),
        ChangeKind::File => format!("~ {name} file {before} -> {after}"),
        ChangeKind::Layer => format!("~ {name} layer {before} -> {after}"),
    }
}
