//! The project file uv resolves: every package of an alias a direct dependency with that alias as its only source, every
//! index explicit. Credentials go into the child's environment, never into the file or the command line.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use url::Url;

use crate::base::python::PythonMinor;
use crate::build::fetch::address::Address;
use crate::build::recipe::Wish;

/// An index as uv is told of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UvIndex {
    /// Alias.
    pub alias: String,
    /// Address without credentials.
    pub url: Url,
    /// One page of files rather than the simple API.
    pub flat: bool,
    /// User and password, where there are some.
    pub login: Option<(String, String)>,
}

impl UvIndex {
    /// The variable names of uv's credentials for this index: `UV_INDEX_<NAME>_USERNAME`, `…_PASSWORD`.
    fn login_variables(&self) -> BTreeMap<String, String> {
        let name: String = self
            .alias
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() {
                    c.to_ascii_uppercase()
                } else {
                    '_'
                }
            })
            .collect();
        self.login
            .iter()
            .flat_map(|(user, password)| {
                [
                    (format!("UV_INDEX_{name}_USERNAME"), user.clone()),
                    (format!("UV_INDEX_{name}_PASSWORD"), password.clone()),
                ]
            })
            .collect()
    }
}

/// What uv is given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Text of `pyproject.toml`.
    pub text: String,
    /// Variables of the child.
    pub variables: BTreeMap<String, String>,
}

/// Whether uv must be told that an address is one page of files.
pub fn is_flat(address: &Address) -> bool {
    !matches!(address, Address::Simple(_))
}

/// Writes the project of these wishes. `default` is the default index's alias; packages nobody lists come from it.
pub fn project(
    wishes: &[&Wish],
    indexes: &[UvIndex],
    default: Option<&str>,
    python: PythonMinor,
) -> Project {
    let mut text = String::from("[project]\nname = \"bundle\"\nversion = \"0\"\n");
    let _ = writeln!(text, "requires-python = \"=={python}.*\"");
    text.push_str("dependencies = [\n");
    for wish in wishes {
        let _ = writeln!(text, "    {},", quoted(&wish.requirement));
    }
    text.push_str("]\n");
    let mut variables = BTreeMap::new();
    for index in indexes {
        let is_default = Some(index.alias.as_str()) == default;
        let _ = writeln!(
            text,
            "\n[[tool.uv.index]]\nname = {}\nurl = {}",
            quoted(&index.alias),
            quoted(index.url.as_str())
        );
        text.push_str(if is_default {
            "default = true\n"
        } else {
            "explicit = true\n"
        });
        if index.flat {
            text.push_str("format = \"flat\"\n");
        }
        variables.extend(index.login_variables());
    }
    text.push_str("\n[tool.uv.sources]\n");
    let sources: BTreeSet<(&str, &str)> = wishes
        .iter()
        .filter(|wish| Some(wish.index.as_str()) != default)
        .map(|wish| (wish.name.as_str(), wish.index.as_str()))
        .collect();
    for (name, index) in sources {
        let _ = writeln!(text, "{} = {{ index = {} }}", quoted(name), quoted(index));
    }
    Project { text, variables }
}

fn quoted(text: &str) -> String {
    toml::Value::String(text.to_owned()).to_string()
}
