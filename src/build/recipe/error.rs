//! What is wrong with a recipe, said with its line, and for an unknown key with the nearest known one.

use std::path::PathBuf;

use crate::base::fs::FsError;
use crate::base::target::Target;

/// Why a recipe cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecipeError {
    /// No such file.
    #[error("no recipe at {}", .0.display())]
    NoFile(PathBuf),
    /// Neither a file in `./recipes` nor built in.
    #[error("no recipe is called {asked:?}{}", did_you_mean(asked, known))]
    NoName {
        /// What was asked for.
        asked: String,
        /// Names of the recipes there are.
        known: Vec<String>,
    },
    /// The file cannot be read.
    #[error("cannot read the recipe")]
    Read(#[source] FsError),
    /// Not TOML, a key of the wrong type, or a value that cannot be.
    #[error("recipe {shown}{}: {message}", line.map(|(l, c)| format!(", line {l} column {c}")).unwrap_or_default())]
    Key {
        /// The recipe.
        shown: String,
        /// Line and column, from 1.
        line: Option<(usize, usize)>,
        /// What is wrong.
        message: String,
    },
    /// A target the recipe does not have.
    #[error("recipe {recipe} has no target {target}: it has {}", known.join(", "))]
    NoTarget {
        /// The recipe.
        recipe: String,
        /// The target asked for.
        target: Target,
        /// The targets there are.
        known: Vec<String>,
    },
}

impl RecipeError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoFile(_) => "`bundler recipe new NAME` writes one to start from".to_owned(),
            Self::NoName { known, .. } => format!(
                "there are: {}; `bundler recipe new NAME` writes one to start from",
                known.join(", ")
            ),
            Self::Read(e) => return e.hint(),
            Self::Key { .. } => "every key is described in recipes/README.md".to_owned(),
            Self::NoTarget {
                recipe,
                target,
                known,
            } => {
                let arch = format!("{}-", target.arch);
                let near = known.iter().find(|known| known.starts_with(&arch));
                format!("bundler make {} --recipe {recipe}", near.or(known.first())?)
            }
        })
    }
}

/// A fault found by checking, with a text to look for in the file to tell the line.
#[derive(Debug)]
pub(super) struct Fault {
    /// What is wrong.
    pub message: String,
    /// Texts that stand on the faulty line, outermost first: each is looked for behind the one before.
    pub near: Vec<String>,
}

impl Fault {
    /// A fault of the thing that stands where the texts of `near` lead to.
    pub fn new(near: &[&str], message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            near: near.iter().map(|&s| s.to_owned()).collect(),
        }
    }
}

/// Gives a fault the line its texts lead to.
pub(super) fn located(shown: &str, text: &str, fault: Fault) -> RecipeError {
    let mut at = 0;
    let mut found = false;
    for near in &fault.near {
        let Some(rest) = text.get(at..) else { break };
        if let Some(offset) = rest.find(near.as_str()) {
            at += offset;
            found = true;
        }
    }
    RecipeError::Key {
        shown: shown.to_owned(),
        line: found.then(|| line_and_column(text, at)),
        message: fault.message,
    }
}

/// Turns what the TOML reader says into one line, with a nearest key.
pub(super) fn from_toml(shown: &str, text: &str, error: &toml::de::Error) -> RecipeError {
    let said = error.message().lines().collect::<Vec<_>>().join(" ");
    RecipeError::Key {
        shown: shown.to_owned(),
        line: error.span().map(|span| line_and_column(text, span.start)),
        message: unknown_key(&said).unwrap_or(said),
    }
}

/// `unknown field `levle`, expected one of `level`, …` → `unknown key "levle"; did you mean "level"?`
pub(crate) fn unknown_key(said: &str) -> Option<String> {
    let rest = said.strip_prefix("unknown field ")?;
    let mut quoted = rest.split('`').skip(1).step_by(2);
    let key = quoted.next()?;
    let known: Vec<String> = quoted.map(str::to_owned).collect();
    let meant = did_you_mean(key, &known);
    if meant.is_empty() && !known.is_empty() {
        return Some(format!(
            "unknown key {key:?}: known are {}",
            known.join(", ")
        ));
    }
    Some(format!("unknown key {key:?}{meant}"))
}

/// `; did you mean "level"?`, or nothing if none is near.
pub(crate) fn did_you_mean(asked: &str, known: &[String]) -> String {
    known
        .iter()
        .map(|k| (strsim::damerau_levenshtein(asked, k), k))
        .filter(|(distance, k)| *distance <= 1 + k.len() / 3)
        .min()
        .map(|(_, k)| format!("; did you mean {k:?}?"))
        .unwrap_or_default()
}

pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |i| i + 1);
    (
        before.matches('\n').count() + 1,
        before[line_start..].chars().count() + 1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_the_nearest_known_key() {
        let said = "unknown field `levle`, expected one of `level`, `window_log`";
        assert_eq!(
            unknown_key(said).unwrap(),
            "unknown key \"levle\"; did you mean \"level\"?"
        );
        let said = "unknown field `zzzzzz`, expected `level` or `window_log`";
        assert_eq!(
            unknown_key(said).unwrap(),
            "unknown key \"zzzzzz\": known are level, window_log"
        );
        assert!(unknown_key("invalid type").is_none());
    }

    #[test]
    fn counts_lines_and_columns_from_one() {
        assert_eq!(line_and_column("ab\ncü d", 6), (2, 3));
        assert_eq!(line_and_column("", 0), (1, 1));
    }
}
