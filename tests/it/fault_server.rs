//! A web server that misbehaves as told: per request a status, headers, a body cut at some byte, a slow body, a wrong
//! length, silence. Loopback only; one request per connection; ends with the value.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// One request as it came.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Path and query, as sent.
    pub target: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// How many requests for this target came before.
    pub nth: usize,
}

impl Asked {
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut all = self.headers.iter();
        all.find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    /// First byte asked for by `Range`.
    pub fn range(&self) -> Option<usize> {
        let value = self.header("range")?;
        value
            .strip_prefix("bytes=")?
            .strip_suffix('-')?
            .parse()
            .ok()
    }
}

/// What the server does with a request.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// `Content-Length` to claim; `None` is the body's own.
    pub claimed: Option<usize>,
    /// Send no `Content-Length`: the end of the connection is the end of the body.
    pub unmeasured: bool,
    /// Bytes of the body that are sent before the connection is closed.
    pub cut: Option<usize>,
    /// Bytes sent at a time, with a pause after each.
    pub rate: Option<(usize, Duration)>,
    /// Never answer.
    pub silent: bool,
    /// Say nothing more after the (cut) body, but keep the connection open.
    pub hang: bool,
}

impl Reply {
    pub fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            body: body.into(),
            ..Self::default()
        }
    }

    pub fn html(body: impl Into<Vec<u8>>) -> Self {
        Self::ok(body).with("content-type", "text/html")
    }

    pub fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    pub fn redirect(to: &str) -> Self {
        Self::status(302).with("location", to)
    }

    pub fn silent() -> Self {
        Self {
            silent: true,
            ..Self::default()
        }
    }

    /// What an honest server with ranges and ETags answers.
    pub fn file(asked: &Asked, body: &[u8], etag: &str) -> Self {
        let same = asked.header("if-range").is_none_or(|e| e == etag);
        let reply = match asked.range() {
            Some(from) if same && from < body.len() => {
                let range = format!("bytes {from}-{}/{}", body.len() - 1, body.len());
                Self {
                    status: 206,
                    body: body[from..].to_vec(),
                    ..Self::default()
                }
                .with("content-range", &range)
            }
            Some(_) if same => {
                Self::status(416).with("content-range", &format!("bytes */{}", body.len()))
            }
            _ => Self::ok(body),
        };
        reply.with("etag", etag)
    }

    pub fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub fn cut(mut self, bytes: usize) -> Self {
        self.cut = Some(bytes);
        self
    }
}

/// A running server.
pub struct FaultServer {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<Asked>>>,
    connections: Arc<AtomicUsize>,
    sent: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
}

impl FaultServer {
    pub fn start(answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static) -> Self {
        Self::begin(None, answer)
    }

    /// One that speaks TLS.
    pub fn start_tls(
        tls: Arc<ServerConfig>,
        answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Self {
        Self::begin(Some(tls), answer)
    }

    fn begin(
        tls: Option<Arc<ServerConfig>>,
        answer: impl Fn(&Asked) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self {
            address: listener.local_addr().unwrap(),
            asked: Arc::default(),
            connections: Arc::default(),
            sent: Arc::default(),
            stop: Arc::default(),
        };
        let answer = Arc::new(answer);
        let (asked, stop) = (Arc::clone(&server.asked), Arc::clone(&server.stop));
        let (connections, sent) = (Arc::clone(&server.connections), Arc::clone(&server.sent));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                connections.fetch_add(1, Ordering::SeqCst);
                let (answer, asked) = (Arc::clone(&answer), Arc::clone(&asked));
                let (sent, stop, tls) = (Arc::clone(&sent), Arc::clone(&stop), tls.clone());
                std::thread::spawn(move || {
                    let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
                    let _ = stream.set_nodelay(true);
                    let _ = match tls.map(ServerConnection::new) {
                        None => serve(&stream, answer.as_ref(), &asked, &sent, &stop),
                        Some(Ok(tls)) => {
                            let mut secure = StreamOwned::new(tls, &stream);
                            let done = serve(&mut secure, answer.as_ref(), &asked, &sent, &stop);
                            secure.conn.send_close_notify();
                            let _ = secure.flush();
                            done
                        }
                        Some(Err(_)) => Ok(()),
                    };
                    finish(&stream);
                });
            }
        });
        server
    }

    /// `http://127.0.0.1:PORT` and `path`.
    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    /// All requests so far.
    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    /// Requests whose target begins with `path`.
    pub fn count(&self, path: &str) -> usize {
        let asked = self.asked.lock().unwrap();
        asked.iter().filter(|a| a.target.starts_with(path)).count()
    }

    pub fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Bytes of bodies handed to the system so far.
    pub fn sent(&self) -> usize {
        self.sent.load(Ordering::SeqCst)
    }
}

impl Drop for FaultServer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

/// Closes in an orderly way, so that what was sent arrives.
fn finish(mut stream: &TcpStream) {
    let _ = stream.shutdown(Shutdown::Write);
    let mut rest = [0; 64];
    while stream.read(&mut rest).is_ok_and(|n| n > 0) {}
}

fn serve(
    stream: impl Read + Write,
    answer: &dyn Fn(&Asked) -> Reply,
    log: &Mutex<Vec<Asked>>,
    sent: &AtomicUsize,
    stop: &AtomicBool,
) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    if target.is_empty() {
        return Ok(());
    }
    let asked = {
        let mut log = log.lock().unwrap();
        let nth = log.iter().filter(|a| a.target == target).count();
        let asked = Asked {
            target,
            headers,
            nth,
        };
        log.push(asked.clone());
        asked
    };
    let reply = answer(&asked);
    let wait = || {
        while !stop.load(Ordering::SeqCst) {
            std::thread::sleep(Duration::from_millis(10));
        }
    };
    if reply.silent {
        wait();
        return Ok(());
    }
    let mut head = format!("HTTP/1.1 {} X\r\nconnection: close\r\n", reply.status);
    for (name, value) in &reply.headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    if !reply.unmeasured {
        let length = reply.claimed.unwrap_or(reply.body.len());
        head.extend(["content-length: ", &length.to_string(), "\r\n"]);
    }
    let mut stream = reader.into_inner();
    stream.write_all((head + "\r\n").as_bytes())?;
    let body = &reply.body[..reply.cut.unwrap_or(reply.body.len()).min(reply.body.len())];
    let (size, pause) = reply.rate.unwrap_or((1 << 16, Duration::ZERO));
    for piece in body.chunks(size) {
        stream.write_all(piece)?;
        sent.fetch_add(piece.len(), Ordering::SeqCst);
        if !pause.is_zero() {
            std::thread::sleep(pause);
        }
        if stop.load(Ordering::SeqCst) {
            return Ok(());
        }
    }
    if reply.hang {
        wait();
    }
    stream.flush()
}
