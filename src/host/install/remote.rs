//! A bundle on a web server: only the segments that are needed, by Range, into a sparse file of the bundle's size. What
//! arrived stays there over breaks and kills; every segment is taken only when its checksum is the table's. A server
//! without ranges gives the whole file.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use url::Url;

use super::spool::Spool;
use super::{InstallError, Supply};
use crate::base::fs::{ReadAt, Window};
use crate::base::http::{Http, HttpError, Patience, Redacted, Request, Response};
use crate::base::progress::{Progress, Task};
use crate::formats::segment_table::{Part, Segment, SegmentTable};
use crate::formats::segmented::Segmented;
use crate::formats::tail;
use crate::host::store::Store;

/// Bytes asked for at either end before anything is known.
const EDGE: u64 = 64 << 10;

/// Requests at a time.
const PARALLEL: usize = 4;

/// Bytes of one request: so much is shared out between connections at a time.
const JOB: u64 = 32 << 20;

/// A bundle that is fetched as far as it is needed.
pub(super) struct Remote<'a> {
    server: Server<'a>,
    spool: Spool,
    table: SegmentTable,
    /// The whole file is here.
    is_whole: bool,
}

/// Whom to ask, and what it said of the file.
struct Server<'a> {
    http: &'a Http,
    url: Url,
    size: u64,
    etag: Option<String>,
    progress: &'a Progress,
}

impl<'a> Remote<'a> {
    /// Asks for the beginning and the end of the file, and reads the table.
    pub(super) fn open(
        store: &Store,
        http: &'a Http,
        url: &Url,
        progress: &'a Progress,
    ) -> Result<Self, InstallError> {
        let mut patience = Patience::new(http.config());
        let (server, response) = loop {
            match Server::ask(http, url, progress, &patience) {
                Ok(answer) => break answer,
                Err(error) => http.pause(patience.after(error)?),
            }
        };
        let spool = Spool::open(store, url, server.size)?;
        let is_whole = response.status() != 206;
        if is_whole {
            progress.note(format!(
                "{} does not serve parts of files: fetching all of it",
                Redacted::new(url)
            ));
            server.all(response, &spool)?;
        } else {
            let end = server.size.min(EDGE);
            server.range(0, end, &spool, &quiet())?;
            server.range(
                server.size.saturating_sub(EDGE),
                server.size,
                &spool,
                &quiet(),
            )?;
            server.tail(&spool)?;
        }
        let (segmented, _) = Segmented::open(spool.file())?;
        let table = segmented.table().clone();
        let remote = Self {
            server,
            spool,
            table,
            is_whole,
        };
        let rows = remote.table.segments.iter().enumerate();
        let first: Vec<usize> = rows
            .filter(|(_, segment)| segment.part == Part::Head)
            .map(|(number, _)| number)
            .collect();
        remote.need(&first)?;
        Ok(remote)
    }

    /// The file as it can be read so far.
    pub(super) fn file(&self) -> &Window {
        self.spool.file()
    }

    /// The bundle is installed: what arrived is not needed any more.
    pub(super) fn finish(self) -> Result<(), InstallError> {
        Ok(self.spool.remove()?)
    }

    /// The segments that are not here yet.
    fn missing(&self, numbers: &[usize]) -> Vec<Segment> {
        let rows = numbers.iter().filter_map(|n| self.table.segments.get(*n));
        let mut out: Vec<Segment> = rows
            .filter(|segment| !self.spool.has(segment))
            .copied()
            .collect();
        out.sort_by_key(|segment| segment.offset);
        out
    }

    /// Neighbouring segments in one request, up to [`JOB`]; one that arrived in part begins a request of its own.
    fn jobs(&self, missing: &[Segment]) -> Vec<Vec<Segment>> {
        let mut out: Vec<Vec<Segment>> = Vec::new();
        for segment in missing {
            let goes_on = out.last_mut().filter(|job| {
                let first = job.first().map_or(0, |first| first.offset);
                job.last()
                    .is_some_and(|last| last.offset + last.packed == segment.offset)
                    && segment.offset + segment.packed - first <= JOB
                    && self.spool.arrived(segment) == segment.offset
            });
            if let Some(job) = goes_on {
                job.push(*segment);
            } else {
                out.push(vec![*segment]);
            }
        }
        out
    }

    fn job(&self, job: &[Segment], task: &Task) -> Result<(), InstallError> {
        let (Some(first), Some(last)) = (job.first(), job.last()) else {
            return Ok(());
        };
        let end = last.offset + last.packed;
        let from = self.spool.arrived(first);
        task.advance(from - first.offset);
        self.server.range(from, end, &self.spool, task)?;
        for segment in job.iter().filter(|segment| !self.spool.has(segment)) {
            // What an earlier process left may be of another file: once more, from its beginning.
            let end = segment.offset + segment.packed;
            self.server
                .range(segment.offset, end, &self.spool, &quiet())?;
            if !self.spool.has(segment) {
                let url = Redacted::new(&self.server.url);
                return Err(InstallError::Changed { url });
            }
        }
        Ok(())
    }
}

impl Supply for Remote<'_> {
    fn bytes(&self, segments: &[usize]) -> u64 {
        if self.is_whole {
            return 0;
        }
        self.missing(segments).iter().map(|s| s.packed).sum()
    }

    fn need(&self, segments: &[usize]) -> Result<(), InstallError> {
        if self.is_whole {
            return Ok(());
        }
        let missing = self.missing(segments);
        let jobs = self.jobs(&missing);
        let total = missing.iter().map(|segment| segment.packed).sum();
        let task = self.server.progress.task("fetching", Some(total));
        let next = AtomicUsize::new(0);
        let failed: Mutex<Option<InstallError>> = Mutex::new(None);
        let lock = || failed.lock().unwrap_or_else(PoisonError::into_inner);
        std::thread::scope(|scope| {
            for _ in 0..PARALLEL.min(jobs.len()) {
                scope.spawn(|| {
                    while lock().is_none() {
                        let Some(job) = jobs.get(next.fetch_add(1, Ordering::Relaxed)) else {
                            return;
                        };
                        if let Err(error) = self.job(job, &task) {
                            lock().get_or_insert(error);
                        }
                    }
                });
            }
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl<'a> Server<'a> {
    /// The first request: how large the file is, and whether parts of it are served.
    fn ask(
        http: &'a Http,
        url: &Url,
        progress: &'a Progress,
        patience: &Patience,
    ) -> Result<(Self, Response), HttpError> {
        let mut request = Request::file(url.clone());
        request.range = Some((0, None));
        request.until = Some(0);
        let response = http.send(&request, http.config().stall.min(patience.left()))?;
        let size = match response.status() {
            206 => content_range(&response).map(|(_, total)| total),
            200 => response
                .header("content-length")
                .and_then(|n| n.trim().parse().ok()),
            _ => None,
        };
        let size = size.ok_or_else(|| response.broken("it does not say how large the file is"))?;
        // A weak one does not promise the same bytes (RFC 9110, 8.8.1).
        let etag = response
            .header("etag")
            .filter(|etag| !etag.starts_with("W/"));
        let server = Self {
            http,
            url: url.clone(),
            size,
            etag: etag.map(ToOwned::to_owned),
            progress,
        };
        Ok((server, response))
    }

    /// Fetches the rest of the last segment, where it is longer than what came with the end.
    fn tail(&self, spool: &Spool) -> Result<(), InstallError> {
        let mut end = [0; tail::END_SIZE];
        let Some(at) = self.size.checked_sub(end.len() as u64) else {
            return Ok(());
        };
        let what = "the end of the bundle";
        let read = spool.file().read_exact_at(&mut end, at);
        read.map_err(
            |source| crate::formats::bundle_reader::BundleReadError::Read { what, source },
        )?;
        // Whatever is wrong with the end is told when the bundle is opened.
        let length = tail::length(&end).unwrap_or(0) + 3;
        let from = self.size.saturating_sub(length);
        if from < self.size.saturating_sub(EDGE) {
            let upto = self.size - EDGE;
            self.range(from, upto, spool, &quiet())?;
        }
        Ok(())
    }

    /// Fetches the bytes from `from` up to `end`, going on after breaks as long as some arrive.
    fn range(&self, from: u64, end: u64, spool: &Spool, task: &Task) -> Result<(), InstallError> {
        let mut at = from;
        let mut patience = Patience::new(self.http.config());
        while at < end {
            if let Err(error) = self.part(&mut at, end, spool, task, &mut patience)? {
                self.http.pause(patience.after(error)?);
            }
        }
        Ok(())
    }

    /// One request. The inner error is the network's and may be tried again.
    fn part(
        &self,
        at: &mut u64,
        end: u64,
        spool: &Spool,
        task: &Task,
        patience: &mut Patience,
    ) -> Result<Result<(), HttpError>, InstallError> {
        let mut request = Request::file(self.url.clone());
        request.range = Some((*at, self.etag.clone()));
        request.until = Some(end - 1);
        let wait = self.http.config().stall.min(patience.left());
        let mut response = match self.http.send(&request, wait) {
            Ok(response) => response,
            Err(error) => return Ok(Err(error)),
        };
        if response.status() != 206 || content_range(&response) != Some((*at, self.size)) {
            let url = Redacted::new(&self.url);
            return Err(InstallError::Changed { url });
        }
        while *at < end {
            let chunk = match response.chunk(patience.left()) {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(Err(response.broken("it ended early"))),
                Err(error) => return Ok(Err(error)),
            };
            let bytes = chunk.as_ref();
            let bytes = bytes
                .get(..bytes.len().min((end - *at) as usize))
                .unwrap_or_default();
            spool.write(bytes, *at)?;
            *at += bytes.len() as u64;
            task.advance(bytes.len() as u64);
            if !bytes.is_empty() {
                patience.progress();
            }
        }
        Ok(Ok(()))
    }

    /// Takes the whole file, beginning anew after each break.
    fn all(&self, first: Response, spool: &Spool) -> Result<(), InstallError> {
        let mut patience = Patience::new(self.http.config());
        let mut response = Some(first);
        let mut most = 0;
        loop {
            let answer = if let Some(response) = response.take() {
                Ok(response)
            } else {
                let wait = self.http.config().stall.min(patience.left());
                self.http.send(&Request::file(self.url.clone()), wait)
            };
            let error = match answer {
                Ok(response) => match self.body(response, spool, &mut most, &mut patience)? {
                    Ok(()) => return Ok(()),
                    Err(error) => error,
                },
                Err(error) => error,
            };
            self.http.pause(patience.after(error)?);
        }
    }

    fn body(
        &self,
        mut response: Response,
        spool: &Spool,
        most: &mut u64,
        patience: &mut Patience,
    ) -> Result<Result<(), HttpError>, InstallError> {
        let task = self.progress.task("fetching", Some(self.size));
        let mut at = 0;
        loop {
            let chunk = match response.chunk(patience.left()) {
                Ok(Some(chunk)) => chunk,
                Ok(None) if at == self.size => return Ok(Ok(())),
                Ok(None) => return Ok(Err(response.broken("it ended early"))),
                Err(error) => return Ok(Err(error)),
            };
            let bytes = chunk.as_ref();
            if at + bytes.len() as u64 > self.size {
                let url = Redacted::new(&self.url);
                return Err(InstallError::Changed { url });
            }
            spool.write(bytes, at)?;
            at += bytes.len() as u64;
            task.advance(bytes.len() as u64);
            if at > *most {
                *most = at;
                patience.progress();
            }
        }
    }
}

/// A task nobody sees.
fn quiet() -> Task {
    Progress::silent().task("", None)
}

/// First byte and total of a `Content-Range`.
fn content_range(response: &Response) -> Option<(u64, u64)> {
    let value = response.header("content-range")?.strip_prefix("bytes ")?;
    let (range, total) = value.split_once('/')?;
    let (first, _) = range.split_once('-')?;
    Some((first.trim().parse().ok()?, total.trim().parse().ok()?))
}
