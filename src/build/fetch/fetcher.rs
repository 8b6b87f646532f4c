//! The fetcher: cache, mirror folder, then the places of an order one after the other; many orders at a time.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use super::address::Address;
use super::blobs::{Blobs, Seen};
use super::error::FetchError;
use super::pages::Pages;
use super::{FetchConfig, Fetched, Order};
use crate::base::digest::Digest;
use crate::base::fs::Stamp;
use crate::base::http::Http;
use crate::base::progress::Progress;
use crate::formats::simple_index;

/// Finds and fetches artifacts. Cheap to clone; may be used from any thread.
#[derive(Clone)]
pub struct Fetcher {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub config: FetchConfig,
    pub http: Http,
    pub blobs: Blobs,
    pub pages: Pages,
    pub progress: Progress,
    pub default: Mutex<Option<Address>>,
}

/// What one fetch is told besides its order.
pub(super) struct Terms<'a> {
    /// Other places stand ready: give up within seconds unless bytes come.
    pub hurried: bool,
    pub stopped: &'a dyn Fn() -> bool,
}

/// Results of many orders as they are done: the number of the order, and what came of it. Dropping it stops the rest.
pub struct Downloads {
    results: mpsc::Receiver<(usize, Result<Fetched, FetchError>)>,
    stop: Arc<AtomicBool>,
}

impl Iterator for Downloads {
    type Item = (usize, Result<Fetched, FetchError>);

    fn next(&mut self) -> Option<Self::Item> {
        self.results.recv().ok()
    }
}

impl Drop for Downloads {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Fetcher {
    /// A fetcher; opens no socket and makes no folder yet.
    pub fn new(config: FetchConfig, progress: Progress) -> Self {
        let blobs = Blobs::new(&config.cache);
        let inner = Inner {
            http: Http::new(config.http.clone()),
            pages: Pages::new(blobs.pages_folder(), config.now),
            blobs,
            default: Mutex::new(None),
            progress,
            config,
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Fetches one artifact.
    pub fn one(&self, order: &Order) -> Result<Fetched, FetchError> {
        let terms = Terms {
            hurried: false,
            stopped: &|| false,
        };
        self.inner.fetch(order, &terms)
    }

    /// Fetches one artifact for which others stand ready: given up within seconds unless bytes come.
    pub fn hurried(&self, order: &Order) -> Result<Fetched, FetchError> {
        let terms = Terms {
            hurried: true,
            stopped: &|| false,
        };
        self.inner.fetch(order, &terms)
    }

    /// Fetches many, several at a time, largest first.
    pub fn many(&self, orders: Vec<Order>) -> Downloads {
        let (send, results) = mpsc::channel();
        let stop = Arc::new(AtomicBool::new(false));
        let mut numbered: Vec<(usize, Order)> = orders.into_iter().enumerate().collect();
        // One whose size is not known may be large.
        numbered.sort_by_key(|(_, order)| std::cmp::Reverse(order.size.unwrap_or(u64::MAX)));
        let workers = self.inner.config.parallel.clamp(1, 64).min(numbered.len());
        let queue = Arc::new(Mutex::new(VecDeque::from(numbered)));
        for _ in 0..workers {
            let (send, stop, queue) = (send.clone(), Arc::clone(&stop), Arc::clone(&queue));
            let inner = Arc::clone(&self.inner);
            std::thread::spawn(move || {
                let stopped = || stop.load(Ordering::Relaxed);
                let next = || {
                    let mut queue = queue.lock().unwrap_or_else(PoisonError::into_inner);
                    queue.pop_front()
                };
                while let Some((number, order)) = next() {
                    let terms = Terms {
                        hurried: false,
                        stopped: &stopped,
                    };
                    let result = inner.fetch(&order, &terms);
                    if stopped() || send.send((number, result)).is_err() {
                        return;
                    }
                }
            });
        }
        Downloads { results, stop }
    }

    /// Fetches a file no lock has a digest of from the mirror, if there is one that lists it; the mirror's list decides.
    ///
    /// # Errors
    /// A list that cannot be read; bytes that are not those it names.
    pub fn from_mirror(&self, label: &str, file: &str) -> Result<Option<Fetched>, FetchError> {
        let Some(folder) = &self.inner.config.mirror else {
            return Ok(None);
        };
        let Some(sha256) = super::import::listed(folder, file)? else {
            return Ok(None);
        };
        let order = Order {
            label: label.to_owned(),
            file: file.to_owned(),
            sha256,
            size: None,
            places: Vec::new(),
        };
        self.one(&order).map(Some)
    }

    /// Whether the blob is in the cache, by name and size alone: for plans.
    pub fn has(&self, digest: &Digest, size: Option<u64>) -> bool {
        self.inner.blobs.has(digest, size)
    }

    /// The cache of artifacts.
    pub fn blobs(&self) -> &Blobs {
        &self.inner.blobs
    }

    /// The network, for other requests of the same run.
    pub fn http(&self) -> &Http {
        &self.inner.http
    }
}

impl Inner {
    /// Fetches one artifact: from the cache, else the mirror, else its places.
    pub(super) fn fetch(&self, order: &Order, terms: &Terms<'_>) -> Result<Fetched, FetchError> {
        let named = |source: FetchError| FetchError::Artifact {
            label: order.label.clone(),
            source: Box::new(source),
        };
        let (path, size, stamp) = self.bring(order, terms).map_err(named)?;
        // The size of the lock is a promise of its own.
        if let Some(wanted) = order.size
            && wanted != size
        {
            return Err(named(FetchError::WrongBytes {
                from: path.display().to_string(),
                what: format!("{size} bytes instead of {wanted}"),
            }));
        }
        Ok(Fetched {
            digest: order.sha256,
            size,
            path,
            file: order.file.clone(),
            stamp,
        })
    }

    /// Path and size; a stamp as well where the file is not the cache's own.
    fn bring(
        &self,
        order: &Order,
        terms: &Terms<'_>,
    ) -> Result<(PathBuf, u64, Option<Stamp>), FetchError> {
        if !simple_index::is_plain(&order.file) {
            return Err(FetchError::Name {
                name: order.file.clone(),
            });
        }
        match self.blobs.check(&order.sha256)? {
            Seen::Good { size } => return Ok((self.blobs.path(&order.sha256), size, None)),
            Seen::Bad { aside } => self.progress.note(format!(
                "warning: the cached copy of {} was damaged (kept as {}): fetching it once more",
                order.label,
                aside.display()
            )),
            Seen::Absent => {}
        }
        if let Some(mirror) = &self.config.mirror {
            let file = mirror.join(&order.file);
            if crate::base::fs::metadata(&file)?.is_some() {
                match super::import::in_place(&file, order, &self.progress) {
                    Err(error @ FetchError::WrongBytes { .. }) if !self.config.http.offline => {
                        self.progress
                            .note(format!("warning: {error}; looking elsewhere"));
                    }
                    other => return other.map(|(size, stamp)| (file, size, Some(stamp))),
                }
            }
        }
        let mut first = None;
        for (number, place) in order.places.iter().enumerate() {
            if (terms.stopped)() {
                return Err(FetchError::Stopped);
            }
            match self.take_from(place, order, terms) {
                Ok((path, size)) => return Ok((path, size, None)),
                Err(error) => {
                    if number + 1 < order.places.len() {
                        self.progress.note(format!(
                            "warning: {}: {error}; looking elsewhere",
                            order.label
                        ));
                    }
                    first.get_or_insert(error);
                }
            }
        }
        Err(first.unwrap_or(FetchError::NoPlace))
    }

    /// Takes a local file into the cache, if it holds the wanted bytes.
    pub(super) fn import(&self, file: &Path, order: &Order) -> Result<(PathBuf, u64), FetchError> {
        super::import::import(&self.blobs, file, order, &self.progress)
    }
}
