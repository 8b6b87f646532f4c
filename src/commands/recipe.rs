//! `bundler recipe new NAME`: a recipe to start from, under `./recipes`.

use super::{Answer, Failure, Outcome, edge, report};
use crate::base::fs;
use crate::build::recipe::{Origin, Recipe};
use crate::cli::{Global, RecipeCommand, RecipeCommandArgs};

/// What `recipe new` did.
#[derive(serde::Serialize)]
struct Made {
    schema_version: u32,
    path: std::path::PathBuf,
}

/// Runs the subcommand.
pub fn run(args: &RecipeCommandArgs, global: &Global) -> Answer {
    match &args.command {
        RecipeCommand::New { name, from } => new(name, from, global),
    }
}

fn new(name: &str, from: &str, global: &Global) -> Answer {
    let dir = edge::working_dir()?;
    let path = dir.join("recipes").join(format!("{name}.toml"));
    if fs::symlink_metadata(&path)?.is_some() {
        return Err(Failure {
            error: anyhow::anyhow!("there is a recipe at {} already", path.display()),
            hint: Some("choose another name, or edit that file".to_owned()),
        });
    }
    let model = Recipe::find(from, &dir)?;
    let old = format!("name = {:?}", model.keys().name);
    let text = model.text().replacen(&old, &format!("name = {name:?}"), 1);
    // Checks the new name before anything is written.
    Recipe::parse(&text, name, Origin::File(path.clone()))?;
    fs::write(&path, text.as_bytes())?;
    let made = Made {
        schema_version: 1,
        path,
    };
    report::answer(global, &made, |made| {
        format!(
            "wrote {}\nnext: edit it (every key is described in recipes/README.md), then `bundler lock --recipe {name}`\n",
            made.path.display()
        )
    })?;
    Ok(Outcome::Done)
}
