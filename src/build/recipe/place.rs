//! Finding a recipe: a file, a name under `./recipes`, or one built into the program.

use std::path::Path;

use include_dir::{Dir, include_dir};

use super::{LIMIT, Origin, Recipe, RecipeError};
use crate::base::fs;

static BUILT_IN: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/recipes");

/// What the built-in recipes take their source from.
static EXAMPLES: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/examples");

pub(super) fn find(asked: &str, dir: &Path) -> Result<Recipe, RecipeError> {
    if asked.contains('/') || asked.strip_suffix(".toml").is_some() {
        let path = dir.join(asked);
        let text = read(&path)?.ok_or_else(|| RecipeError::NoFile(path.clone()))?;
        return Recipe::parse(&text, &stem_of(&path), Origin::File(path));
    }
    let path = dir.join("recipes").join(format!("{asked}.toml"));
    if let Some(text) = read(&path)? {
        return Recipe::parse(&text, asked, Origin::File(path));
    }
    match embedded_text(&format!("{asked}.toml")) {
        Some(text) => Recipe::parse(text, asked, Origin::Embedded),
        None => Err(RecipeError::NoName {
            asked: asked.to_owned(),
            known: names_under(dir),
        }),
    }
}

/// A file of the `recipes` folder that is built in: a recipe or a lock.
pub fn embedded_text(file_name: &str) -> Option<&'static str> {
    BUILT_IN.get_file(file_name)?.contents_utf8()
}

/// The files of a folder that a built-in recipe names as its source, by path, sorted; none where it is not built in.
pub fn embedded_source(path: &str) -> Option<Vec<(String, &'static [u8])>> {
    let root = Path::new(path.strip_prefix("../examples/")?);
    let mut folders = vec![EXAMPLES.get_dir(root)?];
    let mut out = Vec::new();
    while let Some(folder) = folders.pop() {
        folders.extend(folder.dirs());
        for file in folder.files() {
            let below = file.path().strip_prefix(root).ok()?.to_str()?;
            out.push((below.to_owned(), file.contents()));
        }
    }
    out.sort();
    Some(out)
}

/// Names of the recipes that are built in.
pub fn embedded_names() -> Vec<String> {
    let mut names: Vec<String> = BUILT_IN
        .files()
        .filter_map(|file| recipe_name(file.path()))
        .collect();
    names.sort();
    names
}

fn names_under(dir: &Path) -> Vec<String> {
    let mut names = embedded_names();
    if let Ok(paths) = fs::list(&dir.join("recipes")) {
        names.extend(paths.iter().filter_map(|path| recipe_name(path)));
    }
    names.sort();
    names.dedup();
    names
}

fn recipe_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_suffix(".toml")?;
    (name.strip_suffix(".lock").is_none() && !name.starts_with("pylock.")).then(|| name.to_owned())
}

fn stem_of(path: &Path) -> String {
    path.file_stem()
        .map(|s| s.to_string_lossy().into_owned())
        .unwrap_or_default()
}

fn read(path: &Path) -> Result<Option<String>, RecipeError> {
    let Some(bytes) = fs::read_if_exists(path, LIMIT).map_err(RecipeError::Read)? else {
        return Ok(None);
    };
    String::from_utf8(bytes)
        .map(Some)
        .map_err(|_| RecipeError::Key {
            shown: path.display().to_string(),
            line: None,
            message: "not UTF-8".to_owned(),
        })
}
