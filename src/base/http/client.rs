//! Requests: one try, redirects followed by us; pages with retries. Blocking outside, one small runtime inside.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{self, HeaderMap, HeaderValue};
use tokio::runtime::Runtime;
use tokio::time::timeout;
use url::Url;

use super::credentials::Secret;
use super::{Cause, HttpConfig, HttpError, Patience, Redacted, http_date, trust, without_user};

/// Redirects of one request.
const MAX_REDIRECTS: usize = 10;

/// What a request is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A page: small, may be compressed on the way, many on one connection.
    Page,
    /// A file: taken as it is, on a connection of its own.
    File,
}

/// A GET request.
#[derive(Debug, Clone)]
pub struct Request {
    /// Address; a user name and password in it are sent to its own host only.
    pub url: Url,
    /// What it is for.
    pub kind: Kind,
    /// `Accept`.
    pub accept: Option<&'static str>,
    /// First byte wanted, and the strong ETag that the earlier bytes belong to.
    pub range: Option<(u64, Option<String>)>,
    /// Last byte wanted, where a range does not go to the end.
    pub until: Option<u64>,
    /// Validator of what we have already.
    pub if_none_match: Option<String>,
}

impl Request {
    /// A request for a file.
    pub fn file(url: Url) -> Self {
        Self {
            url,
            kind: Kind::File,
            accept: None,
            range: None,
            until: None,
            if_none_match: None,
        }
    }
}

/// A page that came, or word that it has not changed.
#[derive(Debug)]
pub struct Page {
    /// Address after redirects, without user name.
    pub url: Url,
    /// The bytes; `None` when the page has not changed.
    pub body: Option<Vec<u8>>,
    /// `Content-Type`.
    pub content_type: String,
    /// `ETag`.
    pub etag: Option<String>,
    /// Seconds of `Cache-Control: max-age`.
    pub max_age: Option<u64>,
}

/// The network. Cheap to clone; may be used from any thread outside of async code.
#[derive(Clone)]
pub struct Http {
    inner: Arc<Inner>,
}

struct Inner {
    config: HttpConfig,
    runtime: Mutex<Option<Arc<Runtime>>>,
    /// By kind and by whether certificates go unchecked.
    clients: Mutex<Vec<(Kind, bool, reqwest::Client)>>,
}

impl Http {
    /// A network that opens nothing until it is asked to.
    pub fn new(config: HttpConfig) -> Self {
        let inner = Inner {
            config,
            runtime: Mutex::new(None),
            clients: Mutex::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// Its configuration.
    pub fn config(&self) -> &HttpConfig {
        &self.inner.config
    }

    /// One try: sends the request, follows redirects, waits for the head of the answer (at most `wait`).
    /// Answers other than 2xx, 304 and 416 are errors.
    pub fn send(&self, request: &Request, wait: Duration) -> Result<Response, HttpError> {
        let config = &self.inner.config;
        if config.offline {
            let url = Redacted::new(&request.url);
            return Err(HttpError::Offline { url });
        }
        let runtime = self.runtime()?;
        let mut own = Secret::of(&request.url);
        let mut url = without_user(&request.url);
        let mut at_home = true;
        for _ in 0..=MAX_REDIRECTS {
            let mut headers = headers(request);
            let secret = own.as_ref().or_else(|| config.credentials.for_url(&url));
            if at_home && let Some(secret) = secret {
                headers.insert(header::AUTHORIZATION, sensitive(&secret.header())?);
            }
            let client = self.client(&url, request.kind)?;
            let sent = runtime.block_on(async {
                timeout(wait, client.get(url.clone()).headers(headers).send()).await
            });
            let response = match sent {
                Ok(Ok(response)) => response,
                Ok(Err(error)) => return Err(HttpError::of(&url, error)),
                Err(_) => {
                    let url = Redacted::new(&url);
                    return Err(HttpError::Stalled { url, after: wait });
                }
            };
            let status = response.status().as_u16();
            if !matches!(status, 301 | 302 | 303 | 307 | 308) {
                return Response::new(response, runtime, url, config.stall).checked();
            }
            let next = self.target(&url, response.headers())?;
            if next.origin() != url.origin() {
                at_home = false;
                own = None;
            }
            url = next;
        }
        Err(HttpError::Redirect {
            url: Redacted::new(&request.url),
            why: "there were more than 10 in a row",
        })
    }

    /// Where a redirect leads. The bytes of `Location` are kept: signed addresses must not be written anew.
    fn target(&self, from: &Url, headers: &HeaderMap) -> Result<Url, HttpError> {
        let refuse = |why| HttpError::Redirect {
            url: Redacted::new(from),
            why,
        };
        let location = headers.get(header::LOCATION);
        let location = location.and_then(|value| value.to_str().ok());
        let location = location.ok_or_else(|| refuse("it names no place"))?;
        let to = from
            .join(location)
            .map_err(|_| refuse("its place is not an address"))?;
        if !matches!(to.scheme(), "http" | "https") {
            return Err(refuse("it leads out of the web"));
        }
        let insecure = to.host_str().is_some_and(|host| self.is_insecure(host));
        if from.scheme() == "https" && to.scheme() == "http" && !insecure {
            return Err(refuse("it leads from https to http"));
        }
        Ok(without_user(&to))
    }

    /// Fetches a page of at most `limit` bytes, trying again as long as that makes sense.
    pub fn page(&self, request: &Request, limit: u64) -> Result<Page, HttpError> {
        let mut patience = Patience::new(&self.inner.config);
        loop {
            let error = match self.page_once(request, limit, patience.left()) {
                Ok(page) => return Ok(page),
                Err(error) => error,
            };
            self.pause(patience.after(error)?);
        }
    }

    fn page_once(&self, request: &Request, limit: u64, left: Duration) -> Result<Page, HttpError> {
        let stall = self.inner.config.stall.min(left);
        let mut response = self.send(request, stall)?;
        let text = |name: &str| response.header(name).map(ToOwned::to_owned);
        let mut page = Page {
            url: response.url().clone(),
            body: None,
            content_type: text("content-type").unwrap_or_default(),
            etag: text("etag"),
            max_age: text("cache-control").and_then(|value| max_age(&value)),
        };
        if response.status() == 304 {
            return Ok(page);
        }
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk(stall)? {
            body.extend_from_slice(chunk.as_ref());
            if body.len() as u64 > limit {
                let url = Redacted::new(response.url());
                return Err(HttpError::TooLarge { url, limit });
            }
        }
        page.body = Some(body);
        Ok(page)
    }

    /// Lets time pass between two tries.
    pub fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn runtime(&self) -> Result<Arc<Runtime>, HttpError> {
        let mut slot = lock(&self.inner.runtime);
        if let Some(runtime) = &*slot {
            return Ok(Arc::clone(runtime));
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("network")
            .enable_all()
            .build()
            .map_err(|e| HttpError::Config {
                what: format!("the network threads could not be started: {e}"),
            })?;
        Ok(Arc::clone(slot.insert(Arc::new(runtime))))
    }

    fn is_insecure(&self, host: &str) -> bool {
        let hosts = &self.inner.config.insecure_hosts;
        hosts.iter().any(|h| h.eq_ignore_ascii_case(host))
    }

    fn client(&self, url: &Url, kind: Kind) -> Result<reqwest::Client, HttpError> {
        let insecure = url.host_str().is_some_and(|host| self.is_insecure(host));
        let mut clients = lock(&self.inner.clients);
        let known = clients
            .iter()
            .find(|(k, i, _)| (*k, *i) == (kind, insecure));
        if let Some((_, _, client)) = known {
            return Ok(client.clone());
        }
        let client = self.build(kind, insecure)?;
        clients.push((kind, insecure, client.clone()));
        Ok(client)
    }

    fn build(&self, kind: Kind, insecure: bool) -> Result<reqwest::Client, HttpError> {
        // A second call finds the first one's provider in place, which is the same.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
        let config = &self.inner.config;
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("pointcept-bundler/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(config.connect_timeout)
            .redirect(reqwest::redirect::Policy::none())
            .referer(false)
            .retry(reqwest::retry::never())
            .gzip(kind == Kind::Page)
            .tls_danger_accept_invalid_certs(insecure);
        if kind == Kind::File {
            builder = builder.http1_only();
        }
        let builder = trust::with_proxies(builder, &config.proxies)?;
        let builder = trust::with_identity(builder, config.client_certificate.as_ref())?;
        let builder = trust::with_trust(builder, &config.trust)?;
        builder.build().map_err(|e| trust::unusable(&e))
    }
}

fn headers(request: &Request) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if request.kind == Kind::File {
        headers.insert(
            header::ACCEPT_ENCODING,
            HeaderValue::from_static("identity"),
        );
    }
    if let Some(accept) = request.accept {
        headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
    }
    if let Some((from, etag)) = &request.range {
        let until = request
            .until
            .map_or_else(String::new, |last| last.to_string());
        if let Ok(value) = HeaderValue::from_str(&format!("bytes={from}-{until}")) {
            headers.insert(header::RANGE, value);
        }
        if let Some(Ok(value)) = etag.as_deref().map(HeaderValue::from_str) {
            headers.insert(header::IF_RANGE, value);
        }
    }
    if let Some(Ok(value)) = request.if_none_match.as_deref().map(HeaderValue::from_str) {
        headers.insert(header::IF_NONE_MATCH, value);
    }
    headers
}

fn sensitive(value: &str) -> Result<HeaderValue, HttpError> {
    let mut value = HeaderValue::from_str(value).map_err(|_| HttpError::Config {
        what: "a password or token holds control characters".to_owned(),
    })?;
    value.set_sensitive(true);
    Ok(value)
}

fn max_age(cache_control: &str) -> Option<u64> {
    let mut parts = cache_control.split(',').map(str::trim);
    parts.find_map(|part| part.strip_prefix("max-age=")?.parse().ok())
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The head of an answer, and its body as it comes.
pub struct Response {
    answer: reqwest::Response,
    runtime: Arc<Runtime>,
    url: Url,
    stall: Duration,
}

impl Response {
    fn new(response: reqwest::Response, runtime: Arc<Runtime>, url: Url, stall: Duration) -> Self {
        Self {
            answer: response,
            runtime,
            url,
            stall,
        }
    }

    fn checked(self) -> Result<Self, HttpError> {
        let status = self.status();
        if matches!(status, 200..300 | 304 | 416) {
            return Ok(self);
        }
        let date = self.header("date");
        let wish = self.header("retry-after");
        Err(HttpError::Status {
            url: Redacted::new(&self.url),
            status,
            retry_after: wish.and_then(|wish| http_date::pause(wish, date)),
        })
    }

    /// Status code: 2xx, 304 or 416.
    pub fn status(&self) -> u16 {
        self.answer.status().as_u16()
    }

    /// The first header of this name, if it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.answer.headers().get(name)?.to_str().ok()
    }

    /// Address after redirects.
    pub fn url(&self) -> &Url {
        &self.url
    }

    /// The next bytes of the body (waited for at most `wait`, and never longer than the configured stall), `None` at its end.
    pub fn chunk(&mut self, wait: Duration) -> Result<Option<impl AsRef<[u8]> + use<>>, HttpError> {
        let wait = wait.min(self.stall);
        let response = &mut self.answer;
        let came = self
            .runtime
            .block_on(async { timeout(wait, response.chunk()).await });
        match came {
            Ok(Ok(chunk)) => Ok(chunk),
            Ok(Err(error)) => Err(HttpError::of(&self.url, error)),
            Err(_) => Err(HttpError::Stalled {
                url: Redacted::new(&self.url),
                after: wait,
            }),
        }
    }

    /// An error that says that this answer broke off.
    pub fn broken(&self, why: impl Into<String>) -> HttpError {
        HttpError::Broken {
            url: Redacted::new(&self.url),
            source: Cause(why.into()),
        }
    }
}
