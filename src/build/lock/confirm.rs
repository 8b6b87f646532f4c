//! Pins → locked wheels: each file must stand on the page of its own index, with the digest uv saw. What the page does not
//! say is found out: a size is asked of the server, a digest is computed from the bytes and marked so.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::time::Duration;

use super::error::ResolveError;
use super::resolve::Pin;
use super::{Lock, LockedWheel, sidecar};
use crate::base::digest::{Digest, Hasher};
use crate::base::fs::{self, At};
use crate::base::http::{Http, HttpError, Patience, Request};
use crate::base::progress::Progress;
use crate::build::fetch::{FetchError, Fetcher};
use crate::build::recipe::Wanted;
use crate::formats::simple_index::Row;

/// Pages asked for at a time.
const WORKERS: usize = 8;

/// How long the head of an answer is waited for.
const WAIT: Duration = Duration::from_secs(30);

/// Confirms every pin; the result is in the order of the pins.
pub(super) fn confirm(
    fetcher: &Fetcher,
    wanted: &Wanted,
    pins: &[Pin],
    progress: &Progress,
) -> Result<Vec<LockedWheel>, ResolveError> {
    let queue = Mutex::new(pins.iter().enumerate());
    let results = Mutex::new(Vec::with_capacity(pins.len()));
    let next = || queue.lock().ok().and_then(|mut queue| queue.next());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS.min(pins.len()) {
            scope.spawn(|| {
                while let Some((number, pin)) = next() {
                    let result = wheel(fetcher, wanted, pin, progress);
                    let failed = result.is_err();
                    if let Ok(mut results) = results.lock() {
                        results.push((number, result));
                    }
                    if failed {
                        return;
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(number, _)| *number);
    results.into_iter().map(|(_, result)| result).collect()
}

/// Asks for pages that will be wanted, while uv resolves; what cannot be had is asked for again, and told, in its turn.
pub(super) fn look_ahead(fetcher: &Fetcher, wanted: &Wanted, previous: Option<&Lock>) {
    let wishes = wanted
        .requirements
        .iter()
        .map(|wish| (wish.index.as_str(), wish.name.as_str()));
    let locked = previous
        .into_iter()
        .flat_map(|lock| &lock.wheels)
        .map(|wheel| (wheel.index.as_str(), wheel.name.as_str()));
    let pages: BTreeSet<(&str, &str)> = wishes.chain(locked).collect();
    let queue = Mutex::new(pages.into_iter());
    let next = || queue.lock().ok().and_then(|mut queue| queue.next());
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                while let Some((alias, name)) = next() {
                    let _ = fetcher.rows(alias, name);
                }
            });
        }
    });
}

fn wheel(
    fetcher: &Fetcher,
    wanted: &Wanted,
    pin: &Pin,
    progress: &Progress,
) -> Result<LockedWheel, ResolveError> {
    let index = |source: FetchError| ResolveError::Index {
        alias: pin.index.clone(),
        name: pin.name.clone(),
        source: Box::new(source),
    };
    let rows = fetcher.rows(&pin.index, &pin.name).map_err(index)?;
    let row = row(&rows, pin)?;
    if let Some(reason) = &row.yanked {
        let why = if reason.is_empty() {
            "no reason given"
        } else {
            reason
        };
        progress.note(format!(
            "warning: {} was withdrawn from index {}: {why}",
            pin.file, pin.index
        ));
    }
    if let Some(difference) = sidecar::difference(fetcher, &rows, row, wanted.python) {
        progress.note(difference);
    }
    let listed = row.sha256.or(pin.sha256);
    let (sha256, size) = match (listed, row.size.or(pin.size)) {
        (Some(sha256), Some(size)) => (sha256, size),
        (Some(sha256), None) => (sha256, size_of(fetcher.http(), row).map_err(index)?),
        (None, _) => {
            progress.note(format!(
                "{}: index {} gives no digest, computing it",
                pin.file, pin.index
            ));
            digest_of(fetcher.http(), row).map_err(index)?
        }
    };
    Ok(LockedWheel {
        name: pin.name.clone(),
        version: pin.version.clone(),
        file: pin.file.clone(),
        sha256,
        size,
        index: pin.index.clone(),
        layer: pin.layer,
        computed: row.sha256.is_none(),
        metadata: sidecar::digest(fetcher, row).map_err(index)?,
    })
}

/// The row of the pin's file; one with uv's own digest where the page lists several.
fn row<'r>(rows: &'r [Row], pin: &Pin) -> Result<&'r Row, ResolveError> {
    let named = || rows.iter().filter(|row| row.file == pin.file);
    let same =
        |row: &&Row| row.sha256.is_none() || pin.sha256.is_none() || row.sha256 == pin.sha256;
    if let Some(row) = named().find(same) {
        return Ok(row);
    }
    match named().next() {
        Some(other) => Err(ResolveError::OtherBytes {
            file: pin.file.clone(),
            alias: pin.index.clone(),
            listed: other.sha256.map(|d| d.to_string()).unwrap_or_default(),
            seen: pin.sha256.map(|d| d.to_string()).unwrap_or_default(),
        }),
        None => Err(ResolveError::NotListed {
            file: pin.file.clone(),
            alias: pin.index.clone(),
            from: pin
                .url
                .as_ref()
                .and_then(|url| url.host_str())
                .unwrap_or("elsewhere")
                .to_owned(),
        }),
    }
}

/// The size of a file, by the head of the server's answer; where that does not say, by reading it.
fn size_of(http: &Http, row: &Row) -> Result<u64, FetchError> {
    if let Ok(path) = row.url.to_file_path() {
        return Ok(fs::metadata(&path)?.map_or(0, |m| m.len()));
    }
    let response = patiently(http, |wait| {
        http.send(&Request::file(row.url.clone()), wait)
    })?;
    if let Some(size) = response
        .header("content-length")
        .and_then(|text| text.trim().parse().ok())
    {
        return Ok(size);
    }
    digest_of(http, row).map(|(_, size)| size)
}

/// Reads a file to its end, keeping nothing.
fn digest_of(http: &Http, row: &Row) -> Result<(Digest, u64), FetchError> {
    if let Ok(path) = row.url.to_file_path() {
        let mut file = fs::open(&path)?;
        let mut hasher = Hasher::new();
        let size = std::io::copy(&mut file, &mut hasher).at("read", &path)?;
        return Ok((hasher.finish(), size));
    }
    let read = |wait| -> Result<(Digest, u64), HttpError> {
        let mut response = http.send(&Request::file(row.url.clone()), wait)?;
        let promised: Option<u64> = response
            .header("content-length")
            .and_then(|text| text.trim().parse().ok());
        let mut hasher = Hasher::new();
        let mut size = 0;
        while let Some(chunk) = response.chunk(wait)? {
            hasher.update(chunk.as_ref());
            size += chunk.as_ref().len() as u64;
        }
        if promised.is_some_and(|promised| promised != size) {
            return Err(response.broken("the body is shorter than it was said to be"));
        }
        Ok((hasher.finish(), size))
    };
    Ok(patiently(http, read)?)
}

fn patiently<T>(
    http: &Http,
    mut attempt: impl FnMut(Duration) -> Result<T, HttpError>,
) -> Result<T, HttpError> {
    let mut patience = Patience::new(http.config());
    loop {
        match attempt(WAIT) {
            Ok(value) => return Ok(value),
            Err(error) => http.pause(patience.after(error)?),
        }
    }
}
