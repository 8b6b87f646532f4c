//! A place → bytes: finds a file on its index by name, below a base address, in a folder, or through Maven.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

use percent_encoding::percent_decode_str;
use url::Url;

use super::address::Address;
use super::download::Download;
use super::error::FetchError;
use super::fetcher::{Fetcher, Inner, Terms};
use super::pages::Age;
use super::{MavenArtifact, Order, Place, maven};
use crate::base::digest::Digest;
use crate::base::fs;
use crate::base::http::Redacted;
use crate::formats::simple_index::{Row, is_plain, normalized};

type Found = Result<(PathBuf, u64), FetchError>;

impl Fetcher {
    /// The address of an alias; asks the machine where the alias is its default index.
    pub fn address(&self, alias: &str) -> Result<Address, FetchError> {
        self.inner.address(alias)
    }

    /// What an index lists for a project, as fresh as its server asks for. For a folder, the files in it.
    pub fn rows(&self, alias: &str, project: &str) -> Result<Arc<Vec<Row>>, FetchError> {
        let address = self.inner.address(alias)?;
        let Some(page) = page_of(&address, project) else {
            let Address::Folder(folder) = &address else {
                return Err(FetchError::NoDefaultIndex);
            };
            return rows_of_folder(folder, project).map(Arc::new);
        };
        let listing = self.inner.pages.get(&self.inner.http, &page, Age::Fresh)?;
        Ok(listing.rows)
    }
}

impl Inner {
    pub(super) fn address(&self, alias: &str) -> Result<Address, FetchError> {
        let known = self.config.addresses.get(alias);
        let known = known.ok_or_else(|| FetchError::Alias {
            alias: alias.to_owned(),
        })?;
        if *known != Address::MachineDefault {
            return Ok(known.clone());
        }
        // Held while asking, so that the machine is asked once.
        let mut slot = self.default.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(address) = &*slot {
            return Ok(address.clone());
        }
        let address = self.config.machine.default_index()?;
        Ok(slot.insert(address).clone())
    }

    pub(super) fn take_from(&self, place: &Place, order: &Order, terms: &Terms<'_>) -> Found {
        match place {
            Place::File(path) => self.import(path, order),
            Place::Url(url) if url.scheme() == "file" => match url.to_file_path() {
                Ok(path) => self.import(&path, order),
                Err(()) => Err(FetchError::NoPlace),
            },
            Place::Url(url) => self.download(url, order, order.size, terms),
            Place::Index { alias, project } => {
                // Offline, nothing is asked of pip or uv either.
                if self.config.http.offline && !self.is_folder(alias) {
                    return Err(offline(format!("index {alias}")));
                }
                match self.address(alias)? {
                    Address::Folder(folder) => self.in_folder(&folder, project, order),
                    address => match page_of(&address, project) {
                        Some(page) => self.on_page(&page, order, terms),
                        None => Err(FetchError::NoDefaultIndex),
                    },
                }
            }
            Place::Under { alias, base, path } => {
                let known = self.config.addresses.get(alias);
                match (known, base) {
                    (Some(address), _) => self.under(address, path, order, terms),
                    (None, Some(base)) => {
                        self.under(&Address::Simple(base.clone()), path, order, terms)
                    }
                    (None, None) => Err(FetchError::Alias {
                        alias: alias.clone(),
                    }),
                }
            }
            Place::Maven(artifact) => self.by_maven(artifact, order, terms),
        }
    }

    fn is_folder(&self, alias: &str) -> bool {
        let named = self.config.addresses.get(alias);
        match named {
            Some(Address::MachineDefault) => {
                matches!(self.config.machine.named, Some(Address::Folder(_)))
            }
            Some(Address::Folder(_)) | None => true,
            _ => false,
        }
    }

    fn download(&self, url: &Url, order: &Order, size: Option<u64>, terms: &Terms<'_>) -> Found {
        if self.config.http.offline {
            return Err(offline(Redacted::new(url).to_string()));
        }
        let download = Download {
            http: &self.http,
            blobs: &self.blobs,
            progress: &self.progress,
            label: &order.label,
            url,
            digest: order.sha256,
            size,
            hurried: terms.hurried,
            stopped: terms.stopped,
        };
        download.run()
    }

    /// By name on a page. A remembered page that does not lead to the file is asked for anew, once.
    fn on_page(&self, page: &Url, order: &Order, terms: &Terms<'_>) -> Found {
        let mut age = Age::Any;
        loop {
            let listing = self.pages.get(&self.http, page, age)?;
            let place = || Redacted::new(page).to_string();
            let result = pick(&listing.rows, &order.file, &order.sha256, place)
                .and_then(|row| self.download(&row.url, order, order.size.or(row.size), terms));
            match result {
                Err(error) if !listing.asked && is_stale(&error) => age = Age::Asked,
                other => return other,
            }
        }
    }

    fn in_folder(&self, folder: &Path, project: &str, order: &Order) -> Found {
        for file in [
            folder.join(&order.file),
            folder.join(normalized(project)).join(&order.file),
        ] {
            if fs::metadata(&file)?.is_some() {
                return self.import(&file, order);
            }
        }
        let rows = rows_of_folder(folder, project).unwrap_or_default();
        Err(not_listed(&rows, &order.file, folder.display().to_string()))
    }

    /// Below a base address. A mirror may keep the folders of the original, or hold all files in one.
    fn under(&self, address: &Address, path: &str, order: &Order, terms: &Terms<'_>) -> Found {
        let last = path.rsplit('/').next().unwrap_or(path);
        match address {
            Address::Folder(folder) => {
                let inner = percent_decode_str(path).decode_utf8_lossy();
                let plain = inner.split('/').all(is_plain);
                for file in [folder.join(inner.as_ref()), folder.join(&order.file)] {
                    if plain && fs::metadata(&file)?.is_some() {
                        return self.import(&file, order);
                    }
                }
                Err(not_listed(&[], &order.file, folder.display().to_string()))
            }
            Address::FindLinks(page) => self.on_page(page, order, terms),
            Address::Simple(base) => {
                let found = self.download(&below(base, path), order, order.size, terms);
                match found {
                    Err(FetchError::Http(e)) if e.is_missing() && last != path => {
                        let flat = self.download(&below(base, last), order, order.size, terms);
                        flat.map_err(|_| FetchError::Http(e))
                    }
                    other => other,
                }
            }
            Address::MachineDefault => Err(FetchError::NoPlace),
        }
    }

    fn by_maven(&self, artifact: &MavenArtifact, order: &Order, terms: &Terms<'_>) -> Found {
        if let Some(address) = self.config.addresses.get("maven") {
            return self.under(address, &artifact.path(), order, terms);
        }
        let repository = &self.config.maven_repository;
        if artifact.is_plain()
            && let Some(file) = maven::in_repository(repository, artifact)
        {
            match self.import(&file, order) {
                // A damaged local repository is no reason to stop.
                Err(FetchError::WrongBytes { .. }) => {}
                other => return other,
            }
        }
        if self.config.http.offline {
            return Err(offline("Maven".to_owned()));
        }
        let task = self.progress.task(&order.label, None);
        let folder = fs::DraftDir::new(&self.blobs.partial_folder())?;
        let file = maven::get(&self.config.mvn, repository, artifact, folder.path())?;
        drop(task);
        self.import(&file, order)
    }
}

fn offline(place: String) -> FetchError {
    FetchError::Offline { place }
}

fn is_stale(error: &FetchError) -> bool {
    error.is_stale_address()
        || matches!(
            error,
            FetchError::NotListed { .. } | FetchError::ListedDigest { .. }
        )
}

/// The page that lists a project's files.
fn page_of(address: &Address, project: &str) -> Option<Url> {
    match address {
        Address::Simple(root) => Some(below(root, &format!("{}/", normalized(project)))),
        Address::FindLinks(page) => Some(page.clone()),
        Address::Folder(_) | Address::MachineDefault => None,
    }
}

/// `<base>/<path>`; a query of the base stays.
fn below(base: &Url, path: &str) -> Url {
    let mut out = base.clone();
    let front = base.path().trim_end_matches('/');
    out.set_path(&format!("{front}/{path}"));
    out
}

/// The row of a file: one with the wanted digest, else one without any.
fn pick<'r>(
    rows: &'r [Row],
    file: &str,
    wanted: &Digest,
    place: impl Fn() -> String,
) -> Result<&'r Row, FetchError> {
    let named = || rows.iter().filter(|row| row.file == file);
    if let Some(row) = named().find(|row| row.sha256.as_ref() == Some(wanted)) {
        return Ok(row);
    }
    if let Some(row) = named().find(|row| row.sha256.is_none()) {
        return Ok(row);
    }
    match named().find_map(|row| row.sha256) {
        Some(listed) => Err(FetchError::ListedDigest {
            file: file.to_owned(),
            place: place(),
            listed,
            wanted: *wanted,
        }),
        None => Err(not_listed(rows, file, place())),
    }
}

fn not_listed(rows: &[Row], file: &str, place: String) -> FetchError {
    let front = |name: &str| normalized(name.split('-').next().unwrap_or_default());
    // Those of the same project first, then the most alike.
    let mut near: Vec<(bool, f64, &str)> = rows
        .iter()
        .map(|row| {
            let other_project = front(&row.file) != front(file);
            (
                other_project,
                strsim::jaro_winkler(&row.file, file),
                row.file.as_str(),
            )
        })
        .collect();
    near.sort_by(|a, b| a.0.cmp(&b.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(b.2)));
    FetchError::NotListed {
        file: file.to_owned(),
        place,
        near: near.iter().take(3).map(|(.., n)| (*n).to_owned()).collect(),
    }
}

/// The files of a folder that may be a project's, and those in its sub-folder for the project.
fn rows_of_folder(folder: &Path, project: &str) -> Result<Vec<Row>, FetchError> {
    let own = folder.join(normalized(project));
    let mut files = fs::list(folder)?;
    if fs::metadata(&own)?.is_some_and(|m| m.is_dir()) {
        files.extend(fs::list(&own)?);
    }
    let mut rows = Vec::new();
    for path in files {
        let size = fs::metadata(&path)?.and_then(|m| m.is_file().then_some(m.len()));
        let absolute = std::path::absolute(&path).unwrap_or_else(|_| path.clone());
        let name = path.file_name().and_then(|n| n.to_str());
        if let (Some(size), Some(name), Ok(url)) = (size, name, Url::from_file_path(&absolute)) {
            rows.push(Row {
                file: name.to_owned(),
                url,
                sha256: None,
                size: Some(size),
                metadata: crate::formats::simple_index::Sidecar::Absent,
                requires_python: None,
                yanked: None,
                upload_time: None,
            });
        }
    }
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_lies_below_its_index_whatever_its_last_slash() {
        for root in ["https://h.example/simple", "https://h.example/simple/"] {
            let address = Address::Simple(Url::parse(root).unwrap());
            let page = page_of(&address, "Foo_Bar").unwrap();
            assert_eq!(page.as_str(), "https://h.example/simple/foo-bar/");
        }
        let base = Url::parse("https://h.example/m?k=v").unwrap();
        assert_eq!(
            below(&base, "r/a%2Bb").as_str(),
            "https://h.example/m/r/a%2Bb?k=v"
        );
    }
}
