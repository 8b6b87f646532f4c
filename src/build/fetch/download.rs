//! One address → one blob: goes on where an earlier try or process stopped, digests while writing, and never lets bytes
//! through that are not the wanted ones.
//!
//! A body is continued only where the server proves that it continues (206, `Content-Range` at our place, same total, same
//! ETag); anything else begins anew, a bounded number of times (RFC 9110, 13.1.5 and 14).

use std::path::PathBuf;

use url::Url;

use super::blobs::Blobs;
use super::error::FetchError;
use super::partial::{self, Claim, Partial};
use crate::base::digest::Digest;
use crate::base::fs;
use crate::base::http::{Http, HttpError, Patience, Redacted, Request, Response};
use crate::base::progress::{Progress, Task};
use crate::base::space::NoSpace;

/// How often received bytes may be thrown away for one blob.
const MAX_RESTARTS: u32 = 5;

/// One download.
pub(super) struct Download<'a> {
    pub http: &'a Http,
    pub blobs: &'a Blobs,
    pub progress: &'a Progress,
    pub label: &'a str,
    pub url: &'a Url,
    pub digest: Digest,
    pub size: Option<u64>,
    /// Other places stand ready: give up within seconds unless bytes come.
    pub hurried: bool,
    pub stopped: &'a dyn Fn() -> bool,
}

/// Why a try ended without all bytes.
enum Broken {
    /// The network: may be tried again.
    Http(HttpError),
    /// The bytes so far cannot be continued.
    Restart(&'static str),
    /// The body cannot be the wanted one.
    Wrong(String),
    /// Something else.
    Other(FetchError),
}

impl From<HttpError> for Broken {
    fn from(error: HttpError) -> Self {
        Self::Http(error)
    }
}

impl From<FetchError> for Broken {
    fn from(error: FetchError) -> Self {
        Self::Other(error)
    }
}

impl Download<'_> {
    /// Brings the blob into the cache; gives its path and size.
    pub(super) fn run(&self) -> Result<(PathBuf, u64), FetchError> {
        let config = self.http.config();
        let waiting = || {
            self.progress.note(format!(
                "waiting for another process that fetches {}",
                self.label
            ));
        };
        let claim = partial::claim(
            self.blobs,
            &self.digest,
            config.give_up,
            &waiting,
            self.stopped,
        )?;
        let mut partial = match claim {
            Claim::Mine(partial) => partial,
            Claim::Finished => {
                // Ours only after its digest was seen, like every cached blob.
                return match self.blobs.check(&self.digest)? {
                    super::blobs::Seen::Good { size } => Ok((self.blobs.path(&self.digest), size)),
                    _ => self.run(),
                };
            }
        };
        let room = self.check_room(&partial);
        if let Err(error) = room.and_then(|()| self.fill(&mut partial)) {
            if partial.len() == 0 {
                partial.discard()?;
            }
            return Err(error);
        }
        let size = partial.len();
        let path = partial.finish(self.blobs, &self.digest)?;
        Ok((path, size))
    }

    /// Asks for no byte that has no room.
    fn check_room(&self, partial: &Partial) -> Result<(), FetchError> {
        let Some(size) = self.size else {
            return Ok(());
        };
        let need = size.saturating_sub(partial.len());
        if fs::free_space(self.blobs.cache())? < need {
            return Err(NoSpace::at(self.blobs.cache(), need)?.into());
        }
        Ok(())
    }

    /// Tries until the digest of all bytes matches or patience ends.
    fn fill(&self, partial: &mut Partial) -> Result<(), FetchError> {
        let task = self.progress.task(self.label, self.size);
        task.advance(partial.len());
        let config = self.http.config();
        let mut patience = if self.hurried {
            Patience::hurried(config)
        } else {
            Patience::new(config)
        };
        let mut restarts = 0;
        let mut wrong = 0;
        loop {
            if (self.stopped)() {
                return Err(FetchError::Stopped);
            }
            let broken = match self.attempt(partial, &mut patience, &task) {
                Ok(()) => return Ok(()),
                Err(broken) => broken,
            };
            match broken {
                Broken::Http(error) => self.http.pause(patience.after(error)?),
                Broken::Restart(why) => {
                    restarts += 1;
                    if restarts > MAX_RESTARTS {
                        let url = Redacted::new(self.url);
                        return Err(FetchError::Restarts { url, why });
                    }
                    partial.clear()?;
                }
                Broken::Wrong(what) => {
                    wrong += 1;
                    partial.clear()?;
                    if wrong > 1 {
                        let from = Redacted::new(self.url).to_string();
                        return Err(FetchError::WrongBytes { from, what });
                    }
                }
                Broken::Other(error) => return Err(error),
            }
        }
    }

    /// One try. Ends well only when the digest of all bytes matches.
    fn attempt(
        &self,
        partial: &mut Partial,
        patience: &mut Patience,
        task: &Task,
    ) -> Result<(), Broken> {
        let have = partial.len();
        if self.size.is_some_and(|size| have > size) {
            return Err(Broken::Restart("more bytes are here than the file has"));
        }
        if have > 0 && self.size == Some(have) {
            return self.judge(partial);
        }
        let mut request = Request::file(self.url.clone());
        let etag = partial.etag(self.url);
        if have > 0 {
            request.range = Some((have, etag.clone()));
        }
        let wait = self.http.config().stall.min(patience.left());
        let mut response = self.http.send(&request, wait)?;
        let total = self.accept(&response, have, etag.as_deref())?;
        if response.status() == 416 {
            return self.judge(partial);
        }
        if have == 0 {
            partial.set_etag(self.url, response.header("etag"))?;
        }
        while let Some(chunk) = response.chunk(patience.left())? {
            if (self.stopped)() {
                return Err(Broken::Other(FetchError::Stopped));
            }
            let bytes = chunk.as_ref();
            let len = partial.len() + bytes.len() as u64;
            if self.size.is_some_and(|size| len > size) {
                return Err(Broken::Wrong(self.size_text(&format!("more than {len}"))));
            }
            partial.append(bytes, self.size.or(total))?;
            task.advance(bytes.len() as u64);
            if !bytes.is_empty() {
                patience.progress();
            }
        }
        let wanted = self.size.or(total);
        if let Some(wanted) = wanted
            && partial.len() < wanted
        {
            let why = format!("{} of {wanted} bytes came", partial.len());
            return Err(response.broken(why).into());
        }
        self.judge(partial)
    }

    /// Whether the answer gives the bytes from `have` on; gives the size of the whole, where the server says it.
    fn accept(
        &self,
        response: &Response,
        have: u64,
        etag: Option<&str>,
    ) -> Result<Option<u64>, Broken> {
        let length = response
            .header("content-length")
            .and_then(|v| v.parse::<u64>().ok());
        match response.status() {
            206 if have == 0 => Err(Broken::Wrong(
                "a part where the whole was asked for".to_owned(),
            )),
            206 => {
                let range = response.header("content-range").and_then(content_range);
                let Some((start, total)) = range else {
                    return Err(Broken::Restart("it does not say which part it sends"));
                };
                if start != have {
                    return Err(Broken::Restart("it sends another part than was asked for"));
                }
                if let (Some(size), Some(total)) = (self.size, total)
                    && size != total
                {
                    return Err(Broken::Wrong(self.size_text(&total.to_string())));
                }
                if let (Some(old), Some(new)) = (etag, response.header("etag"))
                    && old != new
                {
                    return Err(Broken::Restart("the file was changed meanwhile"));
                }
                Ok(total.or(length.map(|l| have + l)))
            }
            416 => {
                let total = response.header("content-range").and_then(unsatisfied_range);
                if total == Some(have) && self.size.is_none_or(|size| size == have) {
                    return Ok(total);
                }
                Err(Broken::Restart("it refuses to continue"))
            }
            200 if have > 0 => Err(Broken::Restart(
                "it sends the whole file where a part was asked for",
            )),
            200 => {
                let coded = response
                    .header("content-encoding")
                    .is_some_and(|c| c != "identity");
                if let (Some(size), Some(length), false) = (self.size, length, coded)
                    && size != length
                {
                    return Err(Broken::Wrong(self.size_text(&length.to_string())));
                }
                Ok(length)
            }
            status => Err(Broken::Http(HttpError::Status {
                url: Redacted::new(response.url()),
                status,
                retry_after: None,
            })),
        }
    }

    fn judge(&self, partial: &Partial) -> Result<(), Broken> {
        let found = partial.digest();
        if found == self.digest {
            return Ok(());
        }
        Err(Broken::Wrong(format!(
            "sha256 {found} instead of {}",
            self.digest
        )))
    }

    fn size_text(&self, came: &str) -> String {
        match self.size {
            Some(size) => format!("{came} bytes instead of {size}"),
            None => format!("{came} bytes"),
        }
    }
}

/// `bytes START-END/TOTAL`, where TOTAL may be `*`.
fn content_range(value: &str) -> Option<(u64, Option<u64>)> {
    let (range, total) = value.trim().strip_prefix("bytes ")?.split_once('/')?;
    let (start, end) = range.split_once('-')?;
    let (start, end): (u64, u64) = (start.trim().parse().ok()?, end.trim().parse().ok()?);
    let total = match total.trim() {
        "*" => None,
        total => Some(total.parse().ok()?),
    };
    let sound = start <= end && total.is_none_or(|total| end < total);
    sound.then_some((start, total))
}

/// `bytes */TOTAL`.
fn unsatisfied_range(value: &str) -> Option<u64> {
    value.trim().strip_prefix("bytes */")?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_content_ranges_and_refuses_unsound_ones() {
        assert_eq!(content_range("bytes 3-9/10"), Some((3, Some(10))));
        assert_eq!(content_range("bytes 3-9/*"), Some((3, None)));
        for bad in [
            "bytes 9-3/10",
            "bytes 3-10/10",
            "bytes */10",
            "items 3-9/10",
            "bytes 3-/10",
            "",
        ] {
            assert_eq!(content_range(bad), None, "{bad}");
        }
        assert_eq!(unsatisfied_range("bytes */10"), Some(10));
    }
}
