//! The edge of the process: what environment, home folder and clock say, read once and passed down as values.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use url::Url;

use super::Failure;
use crate::base::fs;
use crate::base::http::{Http, HttpConfig, Secret, Trust};
use crate::base::progress::Progress;
use crate::build::audit::open::Opening;
use crate::build::fetch::address::{Addresses, Form, NamedIndex};
use crate::build::fetch::machine::{Machine, PipSettings};
use crate::build::fetch::{FetchConfig, Fetcher};
use crate::build::recipe::{IndexKind, Recipe, Wanted};
use crate::cli::{Global, RecipeArgs, StoreArgs};
use crate::host::store::{HostStoreError, Installed, Store};

/// Aliases every recipe has: interpreter sources, and the repository of the application source.
const SOURCES: [&str; 3] = ["pbs", "maven", "source"];

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

/// `SOURCE_DATE_EPOCH`, which dates evidence and nothing else.
pub fn source_date() -> anyhow::Result<Option<u64>> {
    let Some(text) = var("SOURCE_DATE_EPOCH") else {
        return Ok(None);
    };
    let bad = |_| anyhow::anyhow!("SOURCE_DATE_EPOCH is {text:?}: expected seconds since 1970");
    text.parse().map(Some).map_err(bad)
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

/// A folder for big temporary files without names: the cache's, as when they are made, for the machine's own may be small.
/// Where there can be no cache, the machine's own.
pub fn scratch(global: &Global) -> PathBuf {
    cache_dir(global)
        .ok()
        .filter(|dir| fs::create_dir_all(dir).is_ok())
        .unwrap_or_else(std::env::temp_dir)
}

/// How a bundle or folder is opened to be judged.
pub fn opening(full: bool, global: &Global) -> Opening {
    Opening {
        full,
        threads: std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
        scratch: scratch(global),
    }
}

/// The store: `--root`, `$XDG_DATA_HOME/pointcept-runtime`, `~/.local/share/pointcept-runtime`.
pub fn store(args: &StoreArgs) -> Result<Store, Failure> {
    if let Some(root) = &args.root {
        return Ok(Store::at(std::path::absolute(root)?));
    }
    let absolute = |dir: &PathBuf| dir.is_absolute();
    let xdg = var("XDG_DATA_HOME").map(PathBuf::from).filter(absolute);
    let home = home().filter(absolute).map(|h| h.join(".local/share"));
    match xdg.or(home) {
        Some(base) => Ok(Store::at(base.join("pointcept-runtime"))),
        None => Err(Failure {
            error: anyhow::anyhow!(
                "there is no folder for installed bundles: neither HOME nor XDG_DATA_HOME is set"
            ),
            hint: Some("pass --root DIR".to_owned()),
        }),
    }
}

/// The bundle that was named, else the current one.
pub fn bundle(store: &Store, name: Option<&str>) -> Result<Installed, Failure> {
    if let Some(name) = name {
        return Ok(store.find(name)?);
    }
    let root = store.root().to_owned();
    let current = crate::host::store::current(store)?;
    Ok(current.ok_or(HostStoreError::NoCurrent { root })?)
}

/// The network as the environment wants it used, for what is not a recipe's.
pub fn http(global: &Global) -> Result<Http, Failure> {
    let mut config = HttpConfig::from_env(&var, home().as_deref())?;
    config.offline = global.offline;
    Ok(Http::new(config))
}

/// Threads: as asked for, else all processors.
pub fn jobs(asked: Option<u16>) -> usize {
    let all = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    asked.map_or_else(all, usize::from)
}

/// A fetcher for what a recipe's target names.
pub fn fetcher(
    global: &Global,
    args: &RecipeArgs,
    wanted: &Wanted,
    mirror: Option<PathBuf>,
    progress: &Progress,
) -> Result<Fetcher, Failure> {
    if let Some(folder) = &mirror
        && !crate::base::fs::metadata(folder)?.is_some_and(|m| m.is_dir())
    {
        return Err(Failure {
            error: anyhow::anyhow!("there is no mirror folder at {}", folder.display()),
            hint: Some(
                "--mirror takes a folder that `bundler fetch --mirror DIR` wrote".to_owned(),
            ),
        });
    }
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
    let mut http = HttpConfig::from_env(&var, home.as_deref())?;
    http.offline = global.offline;
    // Addresses given from outside may hold the recipe's names too: one `--index` serves all targets.
    let mut overrides = Vec::with_capacity(args.index.len());
    for text in &args.index {
        let filled = wanted.put_into(text);
        overrides.push(filled.map_err(|what| anyhow::anyhow!("--index {what}"))?);
    }
    let filled = |name: &str| {
        let text = var(name)?;
        let address = name.starts_with("POINTCEPT_BUNDLER_INDEX_");
        let other = address.then(|| wanted.put_into(&text).ok()).flatten();
        Some(other.unwrap_or(text))
    };
    let addresses = Addresses::gather(
        &named_indexes(args, wanted)?,
        &SOURCES,
        &overrides,
        &filled,
        &mut http.credentials,
    )?;
    let machine = Machine::from_env(
        args.default_index.as_deref(),
        &var,
        home.as_deref(),
        &mut http.credentials,
    )?;
    follow_pip(&machine.pip, &mut http);
    for host in args
        .allow_insecure_host
        .iter()
        .chain(&machine.pip.trusted_hosts)
    {
        let bare = host
            .rsplit_once(':')
            .filter(|(_, port)| port.parse::<u16>().is_ok());
        http.insecure_hosts
            .push(bare.map_or(host.as_str(), |(name, _)| name).to_owned());
    }
    // The web pages of a release need no token; its REST form does, for private repositories.
    let token = var("GH_TOKEN")
        .or_else(|| var("GITHUB_TOKEN"))
        .filter(|t| !t.is_empty());
    if let (Some(token), Ok(api)) = (token, Url::parse("https://api.github.com/")) {
        http.credentials.add(&api, Secret::Bearer(token));
    }
    let repository = var("MAVEN_REPO_LOCAL").map(PathBuf::from);
    let repository = repository.or_else(|| home.map(|h| h.join(".m2/repository")));
    Ok(FetchConfig {
        cache: cache_dir(global)?,
        addresses,
        machine,
        http,
        mirror,
        parallel: PARALLEL,
        now: now(),
        mvn: PathBuf::from("mvn"),
        maven_repository: repository.unwrap_or_default(),
    })
}

/// Takes over what pip.conf says of the network, where the environment says nothing.
fn follow_pip(pip: &PipSettings, http: &mut HttpConfig) {
    if let (Trust::System, Some(file)) = (&http.trust, &pip.cert) {
        http.trust = Trust::Only(vec![file.clone()]);
    }
    if let Some(proxy) = &pip.proxy {
        for slot in [&mut http.proxies.http, &mut http.proxies.https] {
            slot.get_or_insert_with(|| proxy.clone());
        }
    }
}

/// The recipe's indexes; a folder of a recipe file is relative to the file's own folder.
fn named_indexes(args: &RecipeArgs, wanted: &Wanted) -> Result<Vec<NamedIndex>, Failure> {
    let mut out = Vec::new();
    for (alias, index) in &wanted.indexes {
        let mut url = index.url.clone();
        if let Some(path) = url.as_ref().filter(|text| Url::parse(text).is_err()) {
            let recipe = Recipe::find(&args.recipe, &working_dir()?)?;
            let folder = recipe.folder().unwrap_or(Path::new("."));
            url = Some(folder.join(path).display().to_string());
        }
        out.push(NamedIndex {
            alias: alias.clone(),
            url,
            form: Some(match index.kind {
                IndexKind::Simple => Form::Simple,
                _ => Form::FindLinks,
            }),
        });
    }
    Ok(out)
}
