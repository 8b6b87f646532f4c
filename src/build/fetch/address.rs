//! Where aliases point. Order for each alias: `--index ALIAS=URL`, `POINTCEPT_BUNDLER_INDEX_<ALIAS>`, the recipe; an alias
//! without any is the machine's default index. Addresses are kept without user name and password: those go into the
//! credentials, tied to their host.

use std::collections::BTreeMap;
use std::path::PathBuf;

use url::Url;

use crate::base::http::{Credentials, Redacted, Secret, without_user};

/// What an alias points at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// Root of a simple API (PEP 503, PEP 691): `<url>/<project>/`. Also the base of `Place::Under`.
    Simple(Url),
    /// One page that lists files.
    FindLinks(Url),
    /// A folder of files, or a simple API tree on disk.
    Folder(PathBuf),
    /// The default index of the machine.
    MachineDefault,
}

/// How an index lists its files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Simple API.
    Simple,
    /// One page of links, a release page among them.
    FindLinks,
}

/// An index as the recipe names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedIndex {
    /// Alias.
    pub alias: String,
    /// Address or folder; `None` for the machine's default index.
    pub url: Option<String>,
    /// How it lists files, where the address does not tell.
    pub form: Option<Form>,
}

/// Where aliases point.
#[derive(Debug, Clone, Default)]
pub struct Addresses {
    map: BTreeMap<String, Address>,
}

/// An address or alias that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// Not `ALIAS=URL`.
    #[error("--index needs ALIAS=URL")]
    Shape,
    /// No such alias.
    #[error("the recipe has no index {alias:?}; it has {}", known.join(", "))]
    Alias {
        /// What was given.
        alias: String,
        /// What exists.
        known: Vec<String>,
    },
    /// Neither a web address nor a folder.
    #[error("the address of index {alias:?} is neither a web address nor a folder")]
    Address {
        /// Alias.
        alias: String,
    },
}

impl Addresses {
    /// Puts the addresses of a recipe's indexes together. `sources` are aliases that have an address only when somebody
    /// gives them one (`pbs`, `maven`); `overrides` are `ALIAS=URL` texts of the command line.
    /// User names, passwords and tokens found on the way go into `credentials`.
    pub fn gather(
        indexes: &[NamedIndex],
        sources: &[&str],
        overrides: &[String],
        var: &dyn Fn(&str) -> Option<String>,
        credentials: &mut Credentials,
    ) -> Result<Self, AddressError> {
        let mut given = BTreeMap::new();
        for text in overrides {
            let (alias, url) = text.split_once('=').ok_or(AddressError::Shape)?;
            let known = indexes.iter().map(|i| i.alias.as_str());
            let mut known = known.chain(sources.iter().copied());
            if !known.clone().any(|k| k == alias) {
                return Err(AddressError::Alias {
                    alias: alias.to_owned(),
                    known: known.by_ref().map(ToOwned::to_owned).collect(),
                });
            }
            given.insert(alias, url.to_owned());
        }
        let mut out = Self::default();
        let optional = sources.iter().map(|alias| NamedIndex {
            alias: (*alias).to_owned(),
            url: None,
            form: None,
        });
        for index in indexes.iter().cloned().chain(optional) {
            let name = variable_part(&index.alias);
            let named = |text: String| var(&text).filter(|v| !v.is_empty());
            let other = given
                .remove(index.alias.as_str())
                .or_else(|| named(format!("POINTCEPT_BUNDLER_INDEX_{name}")));
            // Another address may list its files in another way than the recipe's.
            let form = index.form.filter(|_| other.is_none());
            let Some(text) = other.or_else(|| index.url.clone()) else {
                if !sources.contains(&index.alias.as_str()) {
                    out.map.insert(index.alias, Address::MachineDefault);
                }
                continue;
            };
            let address = out.set_text(&index.alias, &text, form, credentials)?;
            if let Address::Simple(url) | Address::FindLinks(url) = address
                && let Some(secret) = token(&name, &named)
            {
                credentials.add(url, secret);
            }
        }
        Ok(out)
    }

    /// Sets the address of an alias from text.
    pub fn set_text(
        &mut self,
        alias: &str,
        text: &str,
        form: Option<Form>,
        credentials: &mut Credentials,
    ) -> Result<&Address, AddressError> {
        let address = address(text, form, credentials).ok_or_else(|| AddressError::Address {
            alias: alias.to_owned(),
        })?;
        let slot = self
            .map
            .entry(alias.to_owned())
            .or_insert(Address::MachineDefault);
        *slot = address;
        Ok(slot)
    }

    /// Sets the address of an alias.
    pub fn set(&mut self, alias: &str, address: Address) {
        self.map.insert(alias.to_owned(), address);
    }

    /// The address of an alias, if it is known.
    pub fn get(&self, alias: &str) -> Option<&Address> {
        self.map.get(alias)
    }

    /// All aliases and their addresses, without secrets.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Address)> {
        self.map
            .iter()
            .map(|(alias, address)| (alias.as_str(), address))
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Simple(url) | Self::FindLinks(url) => Redacted::new(url).fmt(f),
            Self::Folder(path) => path.display().fmt(f),
            Self::MachineDefault => f.write_str("the default index"),
        }
    }
}

/// Reads an address: a web address, a `file:` address or a path.
pub fn address(text: &str, form: Option<Form>, credentials: &mut Credentials) -> Option<Address> {
    let text = text.trim();
    let url = match Url::parse(text) {
        Ok(url) if url.scheme() == "file" => return url.to_file_path().ok().map(Address::Folder),
        Ok(url) if matches!(url.scheme(), "http" | "https") => url,
        Ok(_) => return None,
        Err(_) if text.is_empty() => return None,
        Err(_) => return Some(Address::Folder(PathBuf::from(text))),
    };
    if let Some(secret) = Secret::of(&url) {
        credentials.add(&url, secret);
    }
    let url = without_user(&url);
    if let Some(assets) = release_assets(&url) {
        return Some(Address::FindLinks(assets));
    }
    let form = form.unwrap_or_else(|| guess(&url));
    Some(match form {
        Form::Simple => Address::Simple(url),
        Form::FindLinks => Address::FindLinks(url),
    })
}

/// A page with the ending of one, and the REST form of a release, list their files themselves.
fn guess(url: &Url) -> Form {
    let path = url.path();
    let parts: Vec<&str> = path.split('/').filter(|p| !p.is_empty()).collect();
    let ends_as_page = [".html", ".htm", ".json"]
        .iter()
        .any(|end| path.ends_with(end));
    if ends_as_page || matches!(parts.as_slice(), [.., "releases", "tags", _]) {
        Form::FindLinks
    } else {
        Form::Simple
    }
}

/// A release page loads its list of assets lazily from `expanded_assets`; both addresses mean that list.
fn release_assets(url: &Url) -> Option<Url> {
    let path = url.path().trim_end_matches('/');
    let (front, tag) = path.rsplit_once('/')?;
    let mut out = url.clone();
    if let Some(repository) = front.strip_suffix("/releases/tag") {
        out.set_path(&format!("{repository}/releases/expanded_assets/{tag}"));
        return Some(out);
    }
    front.ends_with("/releases/expanded_assets").then_some(out)
}

/// An alias as part of a variable's name.
fn variable_part(alias: &str) -> String {
    let upper = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_uppercase()
        } else {
            '_'
        }
    };
    alias.chars().map(upper).collect()
}

/// `POINTCEPT_BUNDLER_INDEX_<ALIAS>_TOKEN`, else uv's `UV_INDEX_<NAME>_USERNAME` and `_PASSWORD`.
fn token(name: &str, var: &dyn Fn(String) -> Option<String>) -> Option<Secret> {
    if let Some(token) = var(format!("POINTCEPT_BUNDLER_INDEX_{name}_TOKEN")) {
        return Some(Secret::Bearer(token));
    }
    let user = var(format!("UV_INDEX_{name}_USERNAME"));
    let password = var(format!("UV_INDEX_{name}_PASSWORD"));
    (user.is_some() || password.is_some())
        .then(|| Secret::Basic(user.unwrap_or_default(), password.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Option<Address> {
        address(text, None, &mut Credentials::default())
    }

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn named(alias: &str, url: Option<&str>) -> NamedIndex {
        NamedIndex {
            alias: alias.to_owned(),
            url: url.map(ToOwned::to_owned),
            form: None,
        }
    }

    #[test]
    fn c53_a_release_page_means_its_list_of_assets() {
        let list = Address::FindLinks(url("https://f.example/o/r/releases/expanded_assets/v1%2B2"));
        for text in [
            "https://f.example/o/r/releases/tag/v1%2B2",
            "https://f.example/o/r/releases/tag/v1%2B2/",
            "https://f.example/o/r/releases/expanded_assets/v1%2B2",
        ] {
            assert_eq!(parsed(text), Some(list.clone()), "{text}");
        }
        let rest = "https://api.f.example/repos/o/r/releases/tags/v1";
        assert_eq!(parsed(rest), Some(Address::FindLinks(url(rest))));
    }

    #[test]
    fn tells_pages_folders_and_simple_indexes_apart() {
        let simple = "https://h.example/whl/cu130";
        assert_eq!(parsed(simple), Some(Address::Simple(url(simple))));
        let page = "https://h.example/torch_stable.html";
        assert_eq!(parsed(page), Some(Address::FindLinks(url(page))));
        assert_eq!(
            parsed("file:///srv/w%20h"),
            Some(Address::Folder("/srv/w h".into()))
        );
        assert_eq!(parsed("./wheels"), Some(Address::Folder("./wheels".into())));
        assert_eq!(parsed("ftp://h.example/"), None);
        assert_eq!(parsed(""), None);
    }

    #[test]
    fn command_line_beats_environment_beats_recipe() {
        let indexes = [
            named("pypi", None),
            named("torch-cu130", Some("https://r.example/t")),
            named("w", Some("https://r.example/w")),
        ];
        let var = |name: &str| match name {
            "POINTCEPT_BUNDLER_INDEX_TORCH_CU130" => Some("https://u:p@e.example/t".to_owned()),
            "POINTCEPT_BUNDLER_INDEX_W" => Some("https://e.example/w".to_owned()),
            "POINTCEPT_BUNDLER_INDEX_W_TOKEN" => Some("tok".to_owned()),
            _ => None,
        };
        let mut credentials = Credentials::default();
        let overrides = ["w=https://c.example/w?a=b".to_owned()];
        let all =
            Addresses::gather(&indexes, &["pbs"], &overrides, &var, &mut credentials).unwrap();
        assert_eq!(all.get("pypi"), Some(&Address::MachineDefault));
        assert_eq!(all.get("pbs"), None);
        assert_eq!(
            all.get("torch-cu130"),
            Some(&Address::Simple(url("https://e.example/t")))
        );
        assert_eq!(
            all.get("w"),
            Some(&Address::Simple(url("https://c.example/w?a=b")))
        );
        assert_eq!(all.get("w").unwrap().to_string(), "https://c.example/w");
        let secret = |text: &str| credentials.for_url(&url(text)).cloned();
        assert_eq!(
            secret("https://e.example/x"),
            Some(Secret::Basic("u".into(), "p".into()))
        );
        assert_eq!(
            secret("https://c.example/x"),
            Some(Secret::Bearer("tok".into()))
        );
        assert_eq!(secret("https://r.example/x"), None);
    }

    #[test]
    fn an_alias_that_the_recipe_lacks_is_refused() {
        let error = Addresses::gather(
            &[named("pypi", None)],
            &["pbs"],
            &["pipy=https://h.example".to_owned()],
            &|_| None,
            &mut Credentials::default(),
        );
        assert_eq!(
            error.unwrap_err().to_string(),
            "the recipe has no index \"pipy\"; it has pypi, pbs"
        );
    }
}
