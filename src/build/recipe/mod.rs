//! A recipe file → [`Recipe`] → (for a target) [`Wanted`].
//!
//! A recipe is checked as a whole when it is read: unknown keys, contradictions, a torch below its accelerator's floor and
//! a GPU list the toolkit cannot emit are refused with the line. No number is ever replaced by another.

mod check;
mod error;
mod file;
mod place;
mod wanted;

use std::path::{Path, PathBuf};

use crate::base::digest::Digest;
use crate::base::target::Target;

pub use check::not_a_word;
pub use error::RecipeError;
pub(crate) use error::{line_and_column, unknown_key};
pub use file::{
    Bytecode, EncodingKeys, FloorKeys, HostKeys, IndexKind, IndexSpec, InterpreterKind,
    InterpreterSpec, PackageGroup, RecipeFile, SizeKeys, SourceSpec, StartupHook, TargetSpec,
    Waiver, WheelWaiver,
};
pub use place::{embedded_names, embedded_source, embedded_text};
pub use wanted::{Index, Wanted, Wish};

/// Largest recipe file that is read.
const LIMIT: u64 = 1 << 20;

/// A recipe that was read and checked.
#[derive(Debug, Clone)]
pub struct Recipe {
    file: RecipeFile,
    text: String,
    origin: Origin,
    stem: String,
}

/// Where a recipe was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// A file.
    File(PathBuf),
    /// Built into this program.
    Embedded,
}

impl Recipe {
    /// Reads the recipe a user asked for: a NAME is `<dir>/recipes/NAME.toml`, else the one built in; anything with a
    /// slash or ending in `.toml` is a file. `dir` is the working folder.
    pub fn find(asked: &str, dir: &Path) -> Result<Self, RecipeError> {
        place::find(asked, dir)
    }

    /// Reads and checks the text of a recipe; `stem` is its file name without `.toml`.
    pub fn parse(text: &str, stem: &str, origin: Origin) -> Result<Self, RecipeError> {
        let shown = match &origin {
            Origin::File(path) => path.display().to_string(),
            Origin::Embedded => format!("{stem} (built in)"),
        };
        let file: RecipeFile =
            toml::from_str(text).map_err(|e| error::from_toml(&shown, text, &e))?;
        check::check(&file).map_err(|fault| error::located(&shown, text, fault))?;
        let recipe = Self {
            file,
            text: text.to_owned(),
            origin,
            stem: stem.to_owned(),
        };
        for target in recipe.targets() {
            wanted::of(&recipe, target).map_err(|fault| error::located(&shown, text, fault))?;
        }
        Ok(recipe)
    }

    /// Every key.
    pub fn keys(&self) -> &RecipeFile {
        &self.file
    }

    /// The text it was read from.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Digest of its text.
    pub fn digest(&self) -> Digest {
        Digest::of(self.text.as_bytes())
    }

    /// Where it was found.
    pub fn origin(&self) -> &Origin {
        &self.origin
    }

    /// The name it is asked by: its file name without `.toml`.
    pub fn stem(&self) -> &str {
        &self.stem
    }

    /// The folder relative paths of it start from; none for a recipe that is built in.
    pub fn folder(&self) -> Option<&Path> {
        match &self.origin {
            Origin::File(path) => Some(crate::base::fs::parent(path)),
            Origin::Embedded => None,
        }
    }

    /// Its targets.
    pub fn targets(&self) -> impl Iterator<Item = Target> + '_ {
        self.file.target.keys().copied()
    }

    /// Everything one target is made of.
    pub fn wanted(&self, target: Target) -> Result<Wanted, RecipeError> {
        if !self.file.target.contains_key(&target) {
            return Err(RecipeError::NoTarget {
                recipe: self.stem.clone(),
                target,
                known: self.targets().map(|t| t.to_string()).collect(),
            });
        }
        wanted::of(self, target).map_err(|fault| RecipeError::Key {
            shown: self.stem.clone(),
            line: None,
            message: fault.message,
        })
    }
}

/// The JSON schema of recipe files, as committed in `recipes/recipe.schema.json`.
pub fn schema() -> String {
    let schema = schemars::schema_for!(RecipeFile);
    let mut text = serde_json::to_string_pretty(&schema).unwrap_or_default();
    text.push('\n');
    text
}
