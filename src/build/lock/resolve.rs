//! Wanted → pins: two runs of `uv pip compile`, one over everything and one over the base layer's requirements. uv decides
//! versions and files; which index a package comes from is decided here, by the project file it is given.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use url::Url;

use super::error::{ResolveError, Said};
use super::file::Lock;
use super::markers;
use super::project::{Project, UvIndex, project};
use super::rank::rank;
use super::uv::Uv;
use crate::base::digest::Digest;
use crate::base::fs;
use crate::base::python::PythonMinor;
use crate::base::target::Target;
use crate::build::recipe::{Wanted, Wish};
use crate::formats::component::Layer;
use crate::formats::distribution::normalized_name;
use crate::formats::pylock::{File, Package, Pylock};

/// Largest answer of uv that is read.
const LIMIT: u64 = 64 << 20;

/// Which pins of an earlier lock may move.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Upgrade {
    /// Only those the recipe no longer allows.
    #[default]
    Nothing,
    /// These, by normalised name.
    Packages(BTreeSet<String>),
    /// All.
    All,
}

/// What is resolved, and how.
pub struct Question<'a> {
    /// The target's wishes.
    pub wanted: &'a Wanted,
    /// Every index of the recipe, as uv is told of it.
    pub indexes: &'a [UvIndex],
    /// The lock there was.
    pub previous: Option<&'a Lock>,
    /// Which of its pins may move.
    pub upgrade: &'a Upgrade,
    /// Look only at files uploaded before this.
    pub exclude_newer: Option<&'a str>,
    /// Further wishes: names that a wheelhouse claimed, as `name`.
    pub claimed: &'a [Wish],
    /// A folder for temporary files.
    pub scratch: &'a Path,
    /// Where it is remembered which Python uv works with.
    pub tools: &'a Path,
    /// Use uv's cache only.
    pub offline: bool,
}

/// One wheel uv chose.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pin {
    /// Normalised name.
    pub name: String,
    /// Version.
    pub version: String,
    /// File name.
    pub file: String,
    /// Where uv saw it.
    pub url: Option<Url>,
    /// Digest, where uv knows one.
    pub sha256: Option<Digest>,
    /// Bytes, where uv knows them.
    pub size: Option<u64>,
    /// Alias of the index it comes from.
    pub index: String,
    /// Layer.
    pub layer: Layer,
}

/// Resolves one target.
pub fn resolve(uv: &Uv, question: &Question<'_>) -> Result<Vec<Pin>, ResolveError> {
    let wanted = question.wanted;
    let target = wanted.target;
    let scratch = fs::DraftDir::new(question.scratch).map_err(ResolveError::Fs)?;
    let all: Vec<&Wish> = wanted.requirements.iter().chain(question.claimed).collect();
    let base: Vec<&Wish> = all
        .iter()
        .copied()
        .filter(|w| w.layer == Layer::Base)
        .collect();
    let run = |name: &str, wishes: &[&Wish], with: With<'_>| {
        compile(uv, question, scratch.path(), name, wishes, with)
    };
    let previous = previous_pylock(question);
    let ask_whole = || run("all", &all, With::Previous(&previous));
    let ask_base = || {
        if base.is_empty() {
            return Ok(Vec::new());
        }
        run("base", &base, With::Previous(&previous))
    };
    // Where the recipe is the one of the earlier lock, its base layer is the base layer still, unless a version in it moved.
    // Else both runs at once: the base's own closure is nearly always a part of the whole's; if it is not, it is asked
    // again with the versions that were chosen.
    let known = question
        .previous
        .filter(|lock| lock.recipe_digest == wanted.digest());
    let (whole, part) = match known {
        Some(lock) => (ask_whole()?, base_of(lock)),
        None => std::thread::scope(|scope| {
            let part = scope.spawn(ask_base);
            let whole = ask_whole();
            let part = part.join().map(Result::unwrap_or_default);
            whole.map(|whole| (whole, part.unwrap_or_default()))
        })?,
    };
    let versions: BTreeMap<String, String> = whole
        .iter()
        .map(|p| (p.name.clone(), p.version.clone()))
        .collect();
    let inside = part
        .iter()
        .all(|p| versions.get(&p.name) == Some(&p.version));
    let part = if inside && (base.is_empty() || !part.is_empty()) {
        part
    } else {
        run("base-again", &base, With::Exactly(&versions))?
    };
    let in_base: BTreeSet<&str> = part.iter().map(|p| p.name.as_str()).collect();
    let indexes: BTreeMap<&str, &str> = all
        .iter()
        .map(|w| (w.name.as_str(), w.index.as_str()))
        .collect();
    let default = wanted.default_alias();
    whole
        .into_iter()
        .map(|raw| {
            let index = indexes
                .get(raw.name.as_str())
                .copied()
                .or(default)
                .ok_or_else(|| ResolveError::Answer {
                    target,
                    message: format!(
                        "{} is listed by no group, and the recipe has no default index",
                        raw.name
                    ),
                })?;
            Ok(Pin {
                index: index.to_owned(),
                layer: if in_base.contains(raw.name.as_str()) {
                    Layer::Base
                } else {
                    Layer::App
                },
                name: raw.name,
                version: raw.version,
                file: raw.file,
                url: raw.url,
                sha256: raw.sha256,
                size: raw.size,
            })
        })
        .collect()
}

/// The base layer of an earlier lock.
fn base_of(lock: &Lock) -> Vec<Raw> {
    let in_base = lock.wheels.iter().filter(|w| w.layer == Layer::Base);
    in_base
        .map(|wheel| Raw {
            name: wheel.name.clone(),
            version: wheel.version.clone(),
            file: wheel.file.clone(),
            url: None,
            sha256: None,
            size: None,
        })
        .collect()
}

/// What a run starts from.
#[derive(Clone, Copy)]
enum With<'a> {
    /// An earlier answer, whose versions are kept where they fit.
    Previous(&'a str),
    /// Exactly these versions.
    Exactly(&'a BTreeMap<String, String>),
}

/// One package of uv's answer.
struct Raw {
    name: String,
    version: String,
    file: String,
    url: Option<Url>,
    sha256: Option<Digest>,
    size: Option<u64>,
}

fn compile(
    uv: &Uv,
    question: &Question<'_>,
    scratch: &Path,
    name: &str,
    wishes: &[&Wish],
    with: With<'_>,
) -> Result<Vec<Raw>, ResolveError> {
    let wanted = question.wanted;
    let target = wanted.target;
    let dir = scratch.join(name);
    let write = |file: &str, text: &str| -> Result<PathBuf, ResolveError> {
        let path = dir.join(file);
        fs::write(&path, text.as_bytes()).map_err(ResolveError::Fs)?;
        Ok(path)
    };
    let Project {
        text,
        mut variables,
    } = project(
        wishes,
        question.indexes,
        wanted.default_alias(),
        wanted.python,
    );
    write("pyproject.toml", &text)?;
    let empty = dir.join("no-index");
    fs::create_dir_all(&empty).map_err(ResolveError::Fs)?;
    default_index(question, &empty, &mut variables)?;
    let out = dir.join("pylock.toml");
    let mut args: Vec<OsString> = [
        "pip",
        "compile",
        "pyproject.toml",
        "--no-config",
        "--only-binary",
        ":all:",
        "--format",
        "pylock.toml",
        "--no-header",
        "--index-strategy",
        "first-index",
        "--python-platform",
    ]
    .iter()
    .map(Into::into)
    .collect();
    args.push(format!("{}-manylinux_2_28", target.arch.machine()).into());
    args.extend(["--python-version".into(), wanted.python.to_string().into()]);
    args.extend(["--output-file".into(), out.clone().into_os_string()]);
    if let Some(python) = uv.python(question.tools) {
        args.extend(["--python".into(), python.as_os_str().to_owned()]);
    }
    if let Some(date) = question.exclude_newer {
        args.extend(["--exclude-newer".into(), date.into()]);
    }
    match with {
        With::Previous(text) if !text.is_empty() => {
            write("pylock.toml", text)?;
        }
        With::Previous(_) => {}
        With::Exactly(versions) => {
            let mut lines = String::new();
            for (name, version) in versions {
                let _ = writeln!(lines, "{name}=={version}");
            }
            write("versions.txt", &lines)?;
            args.extend(["--constraints".into(), "versions.txt".into()]);
        }
    }
    if question.offline {
        args.push("--offline".into());
    }
    let ran = uv
        .run(&args, &variables, &dir)
        .map_err(|source| ResolveError::Uv { target, source })?;
    if !ran.ok {
        uv.forget_python(question.tools);
        return Err(explain(target, &ran.stderr, question.indexes));
    }
    let bytes = fs::read(&out, LIMIT).map_err(ResolveError::Fs)?;
    let text = String::from_utf8_lossy(&bytes);
    let lock = Pylock::parse(&text).map_err(|source| ResolveError::Pylock { target, source })?;
    lock.packages
        .into_iter()
        .filter_map(|package| chosen(package, target, wanted.python).transpose())
        .collect()
}

/// The default index of the run; a recipe without one gets an empty folder, so that nothing comes from elsewhere.
fn default_index(
    question: &Question<'_>,
    empty: &Path,
    variables: &mut BTreeMap<String, String>,
) -> Result<(), ResolveError> {
    let nothing = Url::from_directory_path(empty)
        .map(|url| url.to_string())
        .unwrap_or_default();
    let alias = question.wanted.default_alias();
    let index = alias.and_then(|a| question.indexes.iter().find(|i| i.alias == a));
    match (alias, index) {
        (Some(alias), None) => {
            return Err(ResolveError::NoAddress {
                alias: alias.to_owned(),
            });
        }
        (_, Some(index)) => {
            let mut url = index.url.clone();
            if let Some((user, password)) = &index.login {
                let _ = url.set_username(user);
                let _ = url.set_password(Some(password));
            }
            if index.flat {
                variables.insert("UV_DEFAULT_INDEX".to_owned(), nothing);
                variables.insert("UV_FIND_LINKS".to_owned(), url.to_string());
            } else {
                variables.insert("UV_DEFAULT_INDEX".to_owned(), url.to_string());
            }
        }
        (None, None) => {
            variables.insert("UV_DEFAULT_INDEX".to_owned(), nothing);
        }
    }
    Ok(())
}

/// The one wheel of a package, or nothing when its marker does not hold on the target.
fn chosen(
    package: Package,
    target: Target,
    python: PythonMinor,
) -> Result<Option<Raw>, ResolveError> {
    let wrong = |message: String| ResolveError::Answer { target, message };
    let name = normalized_name(&package.name);
    if let Some(marker) = &package.marker {
        let requirement = format!("{name}; {marker}").parse().map_err(|_| {
            wrong(format!(
                "{name} has a marker that cannot be read: {marker:?}"
            ))
        })?;
        if !markers::apply(&requirement, target.arch, python) {
            return Ok(None);
        }
    }
    let version = package
        .version
        .ok_or_else(|| wrong(format!("{name} has no version")))?;
    // uv lists every wheel an installer could pick; the one it would pick is taken.
    let mut fitting = Vec::new();
    for file in package.wheels {
        let file_name = file
            .file_name()
            .ok_or_else(|| wrong(format!("{name} {version} has a wheel without a name")))?;
        let wheel = file_name
            .parse()
            .map_err(|e| wrong(format!("{file_name:?}: {e}")))?;
        if let Some(rank) = rank(&wheel, target.arch, python) {
            fitting.push((rank, file_name, file));
        }
    }
    fitting.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    let (_, file_name, file) = fitting
        .into_iter()
        .next()
        .ok_or_else(|| wrong(format!("{name} {version} has no wheel that fits")))?;
    Ok(Some(Raw {
        sha256: file.sha256(),
        size: file.size,
        url: file.url,
        name,
        version,
        file: file_name,
    }))
}

/// The earlier lock as uv reads it: versions to keep. Pins that may move are left out.
fn previous_pylock(question: &Question<'_>) -> String {
    let Some(lock) = question.previous else {
        return String::new();
    };
    let keep = |name: &str| match question.upgrade {
        Upgrade::Nothing => true,
        Upgrade::Packages(names) => !names.contains(name),
        Upgrade::All => false,
    };
    let packages: Vec<Package> = lock
        .wheels
        .iter()
        .filter(|wheel| keep(&wheel.name))
        .map(|wheel| Package {
            name: wheel.name.clone(),
            version: Some(wheel.version.clone()),
            marker: None,
            sdist: None,
            wheels: vec![File {
                name: Some(wheel.file.clone()),
                url: Url::parse("https://example.org/")
                    .and_then(|u| u.join(&wheel.file))
                    .ok(),
                path: None,
                size: Some(wheel.size),
                hashes: BTreeMap::from([("sha256".to_owned(), wheel.sha256.to_string())]),
            }],
        })
        .collect();
    if packages.is_empty() {
        return String::new();
    }
    Pylock::new(format!(">={}", lock.python), packages).to_text()
}

/// Makes an error of what uv said: secrets out, the names it wants wheels for picked up.
fn explain(target: Target, stderr: &str, indexes: &[UvIndex]) -> ResolveError {
    let mut text = stderr.trim().to_owned();
    for (user, password) in indexes.iter().filter_map(|i| i.login.as_ref()) {
        for secret in [password, user] {
            if !secret.is_empty() {
                text = text.replace(secret.as_str(), "****");
            }
        }
    }
    let mut names = BTreeSet::new();
    for part in text.split("Wheels are required for `").skip(1) {
        if let Some((name, _)) = part.split_once('`') {
            names.insert(normalized_name(name));
        }
    }
    let told: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|line| {
            !line.is_empty() && !line.starts_with("hint:") && !line.starts_with("warning:")
        })
        .map(|line| {
            line.trim_start_matches("error: ")
                .trim_start_matches("cause: ")
                .trim_start_matches("× ")
                .trim_start_matches("╰─▶ ")
        })
        .filter(|line| *line != "No solution found when resolving dependencies")
        .collect();
    let source = Said(told.join(" "));
    if names.is_empty() {
        ResolveError::NoSolution { target, source }
    } else {
        ResolveError::NoWheel {
            target,
            names: names.into_iter().collect(),
            source,
        }
    }
}
