//! From flags and environment to a fetcher: the only place where the stages below learn of the machine they run on.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use url::Url;

use super::Failure;
use crate::base::http::{HttpConfig, Secret, Trust};
use crate::base::progress::Progress;
use crate::build::fetch::address::{Addresses, Form, NamedIndex};
use crate::build::fetch::machine::Machine;
use crate::build::fetch::{FetchConfig, Fetcher};
use crate::build::recipe::{Index, IndexKind, Recipe, Wanted};
use crate::cli::{Global, RecipeArgs};

/// Aliases of interpreter sources, which every recipe has.
const SOURCES: [&str; 2] = ["pbs", "maven"];

/// What a command says of fetching, besides the recipe.
#[derive(Debug, Clone, Copy)]
pub struct Fetching<'a> {
    /// Folder looked in before any index.
    pub mirror: Option<&'a Path>,
    /// Downloads at a time.
    pub parallel: usize,
}

/// The root of the cache: `--cache-dir`, else the user's cache folder.
pub fn cache_root(global: &Global) -> Result<PathBuf, Failure> {
    if let Some(dir) = &global.cache_dir {
        return Ok(dir.clone());
    }
    let base = variable("XDG_CACHE_HOME").map(PathBuf::from);
    let base = base.or_else(|| home().map(|home| home.join(".cache")));
    match base {
        Some(base) => Ok(base.join("pointcept-bundler")),
        None => Err(Failure {
            error: anyhow::anyhow!("no folder for the cache is known: HOME is not set"),
            hint: Some("name one with --cache-dir DIR".to_owned()),
        }),
    }
}

/// The fetcher for a target of a recipe.
pub fn fetcher(
    global: &Global,
    args: &RecipeArgs,
    recipe: &Recipe,
    wanted: &Wanted,
    fetching: Fetching<'_>,
    progress: &Progress,
) -> Result<Fetcher, Failure> {
    let config = config(global, args, recipe, wanted, fetching)?;
    Ok(Fetcher::new(config, progress.clone()))
}

/// Everything a fetcher works with.
pub fn config(
    global: &Global,
    args: &RecipeArgs,
    recipe: &Recipe,
    wanted: &Wanted,
    fetching: Fetching<'_>,
) -> Result<FetchConfig, Failure> {
    let home = home();
    let mut http = HttpConfig::from_env(&variable, home.as_deref())?;
    http.offline = global.offline;
    let machine = Machine::from_env(
        args.default_index.as_deref(),
        &variable,
        home.as_deref(),
        &mut http.credentials,
    )?;
    if http.trust == Trust::System
        && let Some(file) = &machine.pip.cert
    {
        http.trust = Trust::Only(vec![file.clone()]);
    }
    if http.proxies.https.is_none()
        && let Some(proxy) = &machine.pip.proxy
    {
        http.proxies.https = Some(proxy.clone());
        http.proxies.http.get_or_insert_with(|| proxy.clone());
    }
    let trusted = args.allow_insecure_host.iter();
    for host in trusted.chain(&machine.pip.trusted_hosts) {
        let bare = host
            .rsplit_once(':')
            .filter(|(_, port)| port.parse::<u16>().is_ok());
        http.insecure_hosts
            .push(bare.map_or(host.as_str(), |(name, _)| name).to_owned());
    }
    let indexes: Vec<NamedIndex> = wanted
        .indexes
        .iter()
        .map(|(alias, index)| named(alias, index, recipe))
        .collect();
    let addresses = Addresses::gather(
        &indexes,
        &SOURCES,
        &args.index,
        &variable,
        &mut http.credentials,
    )?;
    let token = variable("GH_TOKEN").or_else(|| variable("GITHUB_TOKEN"));
    // The web pages of a release need no token; its REST form does, for private repositories.
    if let (Some(token), Ok(api)) = (token, Url::parse("https://api.github.com/")) {
        http.credentials.add(&api, Secret::Bearer(token));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let repository = variable("MAVEN_REPO_LOCAL").map(PathBuf::from);
    let repository = repository.or_else(|| home.map(|home| home.join(".m2/repository")));
    Ok(FetchConfig {
        cache: cache_root(global)?,
        addresses,
        machine,
        http,
        mirror: fetching.mirror.map(Path::to_owned),
        parallel: fetching.parallel,
        now: now.map_or(0, |now| now.as_secs()),
        mvn: PathBuf::from("mvn"),
        maven_repository: repository.unwrap_or_default(),
    })
}

/// An index of the recipe; a folder is relative to the recipe's.
fn named(alias: &str, index: &Index, recipe: &Recipe) -> NamedIndex {
    let form = match index.kind {
        IndexKind::Simple => Form::Simple,
        IndexKind::FindLinks | IndexKind::Wheelhouse | IndexKind::GithubRelease => Form::FindLinks,
    };
    let url = index.url.as_ref().map(|text| {
        let is_path = Url::parse(text).is_err();
        match recipe.folder().filter(|_| is_path) {
            Some(folder) => folder.join(text).display().to_string(),
            None => text.clone(),
        }
    });
    NamedIndex {
        alias: alias.to_owned(),
        url,
        form: Some(form),
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").filter(|home| !home.is_empty());
    home.map(PathBuf::from)
}
