//! `bundler where`, `env` and `run`: an installed bundle as a folder, as a line for a shell, and around a command.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Serialize;

use super::{Answer, Failure, Outcome, edge, report};
use crate::cli::{Global, OptionalNameArgs, RunArgs};

/// Sources the env.sh of `$0` and becomes the command behind it.
const RUN: &str = ". \"$0/env.sh\" || exit 2\nexec \"$@\"";

/// The variable bundles read folders of further packages from.
const OVERLAY: &str = "POINTCEPT_OVERLAY";

#[derive(Serialize)]
struct Place {
    schema_version: u32,
    name: String,
    path: PathBuf,
    /// A line for sh that makes it use the bundle.
    env: String,
}

/// `bundler where [NAME]`
pub fn folder(args: &OptionalNameArgs, global: &Global) -> Answer {
    report::answer(global, &place(args)?, |place| {
        format!("{}\n", place.path.display())
    })?;
    Ok(Outcome::Done)
}

/// `bundler env [NAME]`
pub fn env(args: &OptionalNameArgs, global: &Global) -> Answer {
    report::answer(global, &place(args)?, |place| format!("{}\n", place.env))?;
    Ok(Outcome::Done)
}

fn place(args: &OptionalNameArgs) -> Result<Place, Failure> {
    let store = edge::store(&args.store)?;
    let bundle = edge::bundle(&store, args.name.as_deref())?;
    let script = bundle.path.join("env.sh");
    let env = format!(". {}", quoted(&script.display().to_string()));
    Ok(Place {
        schema_version: 1,
        name: bundle.name,
        path: bundle.path,
        env,
    })
}

/// A text as one word of sh.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// `bundler run COMMAND…`: becomes the command; returns only if that fails.
pub fn run(args: &RunArgs) -> Answer {
    let store = edge::store(&args.store)?;
    let bundle = edge::bundle(&store, args.bundle.as_deref())?;
    let mut command = Command::new("/bin/sh");
    command.arg("-c").arg(RUN).arg(&bundle.path);
    command.args(&args.command);
    if !args.overlay.is_empty() {
        command.env(OVERLAY, overlay(&args.overlay)?);
    }
    let error = command.exec();
    let what = format!(
        "could not run {} with {}",
        args.command[0].display(),
        bundle.name
    );
    Err(anyhow::Error::new(error).context(what).into())
}

/// The folders as one search path, before those the environment names already.
fn overlay(folders: &[PathBuf]) -> Result<OsString, Failure> {
    let mut all = Vec::new();
    for folder in folders {
        all.push(checked(folder)?);
    }
    let old = edge::var(OVERLAY).unwrap_or_default();
    all.extend(std::env::split_paths(&old).filter(|path| !path.as_os_str().is_empty()));
    std::env::join_paths(&all).map_err(|_| Failure {
        error: anyhow::anyhow!("a folder of --overlay has a ':' in its path"),
        hint: Some("give it by way of a link without ':'".to_owned()),
    })
}

fn checked(folder: &Path) -> Result<PathBuf, Failure> {
    let absolute = std::path::absolute(folder)?;
    let there = crate::base::fs::metadata(&absolute)?;
    if there.is_some_and(|there| there.is_dir()) {
        Ok(absolute)
    } else {
        let folder = folder.display();
        Err(anyhow::anyhow!("--overlay {folder}: there is no such folder").into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quote_in_a_path_stays_in_the_word() {
        assert_eq!(quoted("/a b/it's"), "'/a b/it'\\''s'");
    }
}
