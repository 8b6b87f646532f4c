//! Index pages with memory: `<cache>/pages/<digest of the address>.json`. A remembered page of any age may tell where a
//! file with a known digest is (the digest decides); whoever resolves asks for a fresh one.
//!
//! Nothing secret is remembered: a page whose links carry queries is read anew in each run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use url::Url;

use super::error::FetchError;
use crate::base::digest::Digest;
use crate::base::fs;
use crate::base::http::{Http, Kind, Redacted, Request, has_secret, without_user};
use crate::formats::simple_index::{self, Row};

/// The largest page that is read.
const LIMIT: u64 = 128 << 20;
/// A page is fresh for at most this many seconds, whatever the server says.
const LONGEST_AGE: u64 = 600;

/// How old a remembered page may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Age {
    /// Any age.
    Any,
    /// As the server allows.
    Fresh,
    /// The server is asked.
    Asked,
}

/// A page as remembered.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Memory {
    schema_version: u32,
    /// Address after redirects.
    page: Url,
    etag: Option<String>,
    max_age: Option<u64>,
    /// Seconds since 1970.
    asked: u64,
    rows: Vec<Row>,
}

/// The rows of a page.
#[derive(Debug, Clone)]
pub(super) struct Listing {
    pub rows: Arc<Vec<Row>>,
    /// Whether the server was asked in this run.
    pub asked: bool,
    /// Whether it is as fresh as the server wants it.
    fresh: bool,
}

type Slot = Arc<Mutex<Option<Listing>>>;

/// Index pages with memory.
pub(super) struct Pages {
    folder: PathBuf,
    now: u64,
    seen: Mutex<BTreeMap<String, Slot>>,
}

impl Pages {
    pub(super) fn new(folder: PathBuf, now: u64) -> Self {
        Self {
            folder,
            now,
            seen: Mutex::default(),
        }
    }

    /// The rows of the page at `url`.
    pub(super) fn get(&self, http: &Http, url: &Url, age: Age) -> Result<Listing, FetchError> {
        let slot = {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(seen.entry(url.to_string()).or_default())
        };
        // Held while asking, so that one page is asked once however many want it.
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |listing: &Listing| {
            listing.asked || age == Age::Any || age == Age::Fresh && listing.fresh
        };
        if let Some(listing) = slot.as_ref().filter(|l| fits(l)) {
            return Ok(listing.clone());
        }
        let memory = self.recall(url);
        let remembered = memory.as_ref().is_some_and(|memory| {
            age == Age::Any || age == Age::Fresh && self.is_fresh(memory) || http.config().offline
        });
        let listing = match memory {
            Some(memory) if remembered => Listing {
                fresh: self.is_fresh(&memory),
                asked: false,
                rows: Arc::new(memory.rows),
            },
            memory => self.ask(http, url, memory)?,
        };
        Ok(slot.insert(listing).clone())
    }

    fn is_fresh(&self, memory: &Memory) -> bool {
        let age = memory.max_age.unwrap_or(LONGEST_AGE).min(LONGEST_AGE);
        (memory.asked..memory.asked.saturating_add(age)).contains(&self.now)
    }

    fn ask(&self, http: &Http, url: &Url, memory: Option<Memory>) -> Result<Listing, FetchError> {
        let place = Redacted::new(url).to_string();
        let request = Request {
            url: url.clone(),
            kind: Kind::Page,
            accept: Some(simple_index::ACCEPT),
            range: None,
            until: None,
            if_none_match: memory.as_ref().and_then(|m| m.etag.clone()),
        };
        let page = http.page(&request, LIMIT)?;
        let memory = match (page.body, memory) {
            (None, Some(old)) => Memory {
                asked: self.now,
                max_age: page.max_age,
                ..old
            },
            (body, _) => {
                let base = without_user(&page.url);
                let rows =
                    simple_index::parse(&base, &page.content_type, &body.unwrap_or_default());
                let rows = rows.map_err(|source| FetchError::Page {
                    place: place.clone(),
                    source,
                })?;
                Memory {
                    schema_version: 1,
                    page: base,
                    etag: page.etag,
                    max_age: page.max_age,
                    asked: self.now,
                    rows,
                }
            }
        };
        if memory.rows.is_empty() {
            return Err(FetchError::NoFiles { place });
        }
        self.remember(url, &memory);
        Ok(Listing {
            rows: Arc::new(memory.rows),
            asked: true,
            fresh: true,
        })
    }

    fn path(&self, url: &Url) -> PathBuf {
        let name = Digest::of(Redacted::new(url).as_str().as_bytes());
        self.folder.join(format!("{name}.json"))
    }

    fn recall(&self, url: &Url) -> Option<Memory> {
        let bytes = fs::read_if_exists(&self.path(url), LIMIT).ok()??;
        let memory: Memory = serde_json::from_slice(&bytes).ok()?;
        (memory.schema_version == 1).then_some(memory)
    }

    /// A page that cannot be remembered (a read-only cache, say) is still a page.
    fn remember(&self, url: &Url, memory: &Memory) {
        let secret = has_secret(url)
            || has_secret(&memory.page)
            || memory.rows.iter().any(|row| has_secret(&row.url));
        if secret {
            return;
        }
        if let Ok(bytes) = serde_json::to_vec(memory) {
            let _ = fs::write(&self.path(url), &bytes);
        }
    }
}
