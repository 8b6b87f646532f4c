//! Fetching against a server that misbehaves: what is received is kept, a wrong file never comes out, secrets stay at home.

mod bytes;
mod index;
mod proxies;
mod secrets;
mod sharing;
mod tls;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bundler::base::digest::Digest;
use bundler::base::http::{Credentials, HttpConfig};
use bundler::base::progress::{Progress, Sink};
use bundler::build::fetch::address::Addresses;
use bundler::build::fetch::machine::Machine;
use bundler::build::fetch::{FetchConfig, FetchError, Fetcher, Order, Place};
use url::Url;

/// `len` bytes that do not repeat.
pub fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut out = Vec::with_capacity(len + 8);
    while out.len() < len {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out.extend_from_slice(&state.to_le_bytes());
    }
    out.truncate(len);
    out
}

/// A network that loses patience quickly.
pub fn hasty() -> HttpConfig {
    HttpConfig {
        connect_timeout: Duration::from_millis(500),
        stall: Duration::from_millis(400),
        give_up: Duration::from_secs(2),
        pause: Duration::from_millis(1),
        ..HttpConfig::default()
    }
}

pub fn config(cache: &Path, http: HttpConfig) -> FetchConfig {
    FetchConfig {
        cache: cache.to_owned(),
        addresses: Addresses::default(),
        machine: Machine::default(),
        http,
        mirror: None,
        parallel: 4,
        now: 1_000_000,
        mvn: "/nonexistent/mvn".into(),
        maven_repository: "/nonexistent/repository".into(),
    }
}

pub fn fetcher(cache: &Path) -> Fetcher {
    Fetcher::new(config(cache, hasty()), Progress::silent())
}

/// `config` with one alias.
pub fn aliased(cache: &Path, alias: &str, address: &str) -> FetchConfig {
    let mut config = config(cache, hasty());
    let mut credentials = Credentials::default();
    config
        .addresses
        .set_text(alias, address, None, &mut credentials)
        .unwrap();
    config.http.credentials = credentials;
    config
}

pub fn order(file: &str, bytes: &[u8], place: Place) -> Order {
    Order {
        label: "thing 1".to_owned(),
        file: file.to_owned(),
        sha256: Digest::of(bytes),
        size: Some(bytes.len() as u64),
        places: vec![place],
    }
}

pub fn at(url: &str, bytes: &[u8]) -> Order {
    order("thing-1.whl", bytes, Place::Url(Url::parse(url).unwrap()))
}

pub fn on_index(file: &str, bytes: &[u8]) -> Order {
    let place = Place::Index {
        alias: "idx".to_owned(),
        project: "Thing".to_owned(),
    };
    order(file, bytes, place)
}

/// An error with all its causes, as one text.
pub fn chain(error: &FetchError) -> String {
    let mut out = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(e) = next {
        out += "\n";
        out += &e.to_string();
        next = e.source();
    }
    out
}

/// Collects notes.
#[derive(Clone, Default)]
pub struct Notes(pub Arc<Mutex<Vec<String>>>);

impl Sink for Notes {
    fn start(&self, _: &str, _: Option<u64>) -> usize {
        0
    }
    fn advance(&self, _: usize, _: u64) {}
    fn finish(&self, _: usize) {}
    fn note(&self, line: &str) {
        self.0.lock().unwrap().push(line.to_owned());
    }
}

/// Every file below a folder.
pub fn all_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut out = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                out.push(path);
            }
        }
    }
    out.sort();
    out
}

/// No file of the cache has bytes that are not those of its name.
#[track_caller]
pub fn assert_blobs_are_right(cache: &Path) {
    for path in all_files(&cache.join("blobs")) {
        let name = path.file_name().unwrap().to_str().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        if !name.contains(".bad-") {
            assert_eq!(Digest::of(&bytes).to_string(), name);
        }
    }
}
