//! Proxies that tunnel: CONNECT for https, SOCKS for everything (P22). Each leads to one server, whatever host is named.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use super::tls::{company, https};
use super::{at, config, hasty};
use crate::fault_server::{FaultServer, Reply};
use bundler::base::http::{HttpConfig, Proxies, Trust};
use bundler::base::progress::Progress;
use bundler::build::fetch::Fetcher;

/// A proxy of one connection: `greet` takes the client's wish and gives what was wished.
fn tunnel(
    goal: String,
    greet: impl Fn(&mut TcpStream) -> String + Send + 'static,
) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let wishes = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&wishes);
    std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let wish = greet(&mut client);
        log.lock().unwrap().push(wish);
        let server = TcpStream::connect(goal).unwrap();
        let (mut up, mut down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
        let (mut client, mut server) = (client, server);
        std::thread::spawn(move || {
            let _ = std::io::copy(&mut up, &mut server);
            let _ = server.shutdown(Shutdown::Write);
        });
        let _ = std::io::copy(&mut down, &mut client);
        let _ = client.shutdown(Shutdown::Write);
    });
    (port, wishes)
}

/// Reads up to the empty line and grants the wish.
fn connect(client: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).unwrap() == 1 {
        head.push(byte[0]);
    }
    client
        .write_all(b"HTTP/1.1 200 Established\r\n\r\n")
        .unwrap();
    String::from_utf8(head).unwrap()
}

/// SOCKS 5 without login (RFC 1928); gives the host name that was wished.
fn socks(client: &mut TcpStream) -> String {
    let mut read = |count: usize| {
        let mut bytes = vec![0; count];
        client.read_exact(&mut bytes).unwrap();
        bytes
    };
    let hello = read(2);
    read(hello[1].into());
    client.write_all(&[5, 0]).unwrap();
    let mut head = [0; 5];
    client.read_exact(&mut head).unwrap();
    assert_eq!(&head[..4], &[5, 1, 0, 3], "a name, not an address");
    let mut name = vec![0; usize::from(head[4]) + 2];
    client.read_exact(&mut name).unwrap();
    client.write_all(&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0]).unwrap();
    name.truncate(usize::from(head[4]));
    String::from_utf8(name).unwrap()
}

fn goal(server: &FaultServer) -> String {
    server.url("").replace("http://", "")
}

#[test]
fn p22_https_goes_through_a_proxy_by_connect() {
    let dir = tempfile::tempdir().unwrap();
    let (file, tls) = company(dir.path());
    let server = FaultServer::start_tls(tls, |_| Reply::ok("abc"));
    let (port, wishes) = tunnel(goal(&server), connect);
    let http = HttpConfig {
        trust: Trust::Only(vec![file]),
        proxies: Proxies {
            https: Some(format!("http://me:geheim@127.0.0.1:{port}")),
            ..Proxies::default()
        },
        ..hasty()
    };
    let fetcher = Fetcher::new(config(dir.path(), http), Progress::silent());
    fetcher.one(&at(&https(&server, "/x"), b"abc")).unwrap();
    let wish = wishes.lock().unwrap()[0].to_lowercase();
    assert!(
        wish.starts_with(&format!("connect {} http/1.1\r\n", goal(&server))),
        "{wish}"
    );
    // The proxy's password is the proxy's alone.
    assert!(
        wish.contains("\r\nproxy-authorization: basic bwu6z2vozwlt\r\n"),
        "{wish}"
    );
    let asked = server.asked();
    assert_eq!(asked[0].target, "/x");
    for name in ["proxy-authorization", "authorization"] {
        assert_eq!(asked[0].header(name), None);
    }
}

#[test]
fn p22_a_socks_proxy_is_given_the_hosts_name() {
    let dir = tempfile::tempdir().unwrap();
    let server = FaultServer::start(|_| Reply::ok("abc"));
    let (port, wishes) = tunnel(goal(&server), socks);
    let http = HttpConfig {
        proxies: Proxies {
            http: Some(format!("socks5h://127.0.0.1:{port}")),
            ..Proxies::default()
        },
        ..hasty()
    };
    let fetcher = Fetcher::new(config(dir.path(), http), Progress::silent());
    fetcher.one(&at("http://host.invalid/x", b"abc")).unwrap();
    assert_eq!(*wishes.lock().unwrap(), ["host.invalid"]);
    assert_eq!(server.asked()[0].header("host"), Some("host.invalid"));
}
