//! The edge of the process: what environment, home folder and clock say, read once and passed down as values.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use super::Failure;
use crate::base::progress::Progress;
use crate::build::fetch::address::{Addresses, Form, NamedIndex};
use crate::build::fetch::machine::Machine;
use crate::build::fetch::{FetchConfig, Fetcher};
use crate::build::recipe::{IndexKind, Wanted};
use crate::cli::{Global, RecipeArgs};

/// Where python-build-standalone publishes its releases.
const PBS: &str = "https://github.com/astral-sh/python-build-standalone/releases/download";

/// Downloads at a time.
const PARALLEL: usize = 6;

/// A variable of the environment; one that is not Unicode counts as unset.
pub fn var(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

/// The home folder, where there is one.
pub fn home() -> Option<PathBuf> {
    var("HOME").filter(|h| !h.is_empty()).map(PathBuf::from)
}

/// The working folder.
pub fn working_dir() -> Result<PathBuf, Failure> {
    Ok(std::env::current_dir()?)
}

/// Seconds since 1970.
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs())
}

/// The cache folder: `--cache-dir`, `$XDG_CACHE_HOME/pointcept-bundler`, `~/.cache/pointcept-bundler`.
pub fn cache_dir(global: &Global) -> Result<PathBuf, Failure> {
    if let Some(dir) = &global.cache_dir {
        return Ok(std::path::absolute(dir)?);
    }
    let xdg = var("XDG_CACHE_HOME")
        .map(PathBuf::from)
        .filter(|p| p.is_absolute());
    match xdg.or_else(|| home().map(|h| h.join(".cache"))) {
        Some(base) => Ok(base.join("pointcept-bundler")),
        None => Err(Failure {
            error: anyhow::anyhow!(
                "there is no folder for the cache: neither HOME nor XDG_CACHE_HOME is set"
            ),
            hint: Some("pass --cache-dir DIR".to_owned()),
        }),
    }
}

/// A fetcher for what a recipe's target names.
pub fn fetcher(
    global: &Global,
    args: &RecipeArgs,
    wanted: &Wanted,
    mirror: Option<PathBuf>,
    progress: &Progress,
) -> Result<Fetcher, Failure> {
    let config = fetch_config(global, args, wanted, mirror)?;
    Ok(Fetcher::new(config, progress.clone()))
}

/// What that fetcher works with.
pub fn fetch_config(
    global: &Global,
    args: &RecipeArgs,
    wanted: &Wanted,
    mirror: Option<PathBuf>,
) -> Result<FetchConfig, Failure> {
    let home = home();
    let mut http = crate::base::http::HttpConfig::from_env(&var, home.as_deref())?;
    http.offline = global.offline;
    http.insecure_hosts.clone_from(&args.allow_insecure_host);
    let addresses = Addresses::gather(
        &named_indexes(wanted),
        &args.index,
        &var,
        &mut http.credentials,
    )?;
    let machine = Machine::from_env(
        args.default_index.as_deref(),
        &var,
        home.as_deref(),
        &mut http.credentials,
    )?;
    let maven = home.map_or_else(|| PathBuf::from(".m2"), |h| h.join(".m2"));
    Ok(FetchConfig {
        cache: cache_dir(global)?,
        addresses,
        machine,
        http,
        mirror,
        parallel: PARALLEL,
        now: now(),
        mvn: PathBuf::from("mvn"),
        maven_repository: maven.join("repository"),
    })
}

fn named_indexes(wanted: &Wanted) -> Vec<NamedIndex> {
    let of_recipe = wanted.indexes.iter().map(|(alias, index)| NamedIndex {
        alias: alias.clone(),
        url: index.url.clone(),
        form: Some(match index.kind {
            IndexKind::Simple => Form::Simple,
            _ => Form::FindLinks,
        }),
    });
    let of_interpreters = [("pbs", Some(PBS.to_owned())), ("maven", None)];
    of_recipe
        .chain(of_interpreters.map(|(alias, url)| NamedIndex {
            alias: alias.to_owned(),
            url,
            form: Some(Form::Simple),
        }))
        .collect()
}
