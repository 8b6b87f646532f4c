//! Whose certificates are believed, and that nothing leads from https to http (P22).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{at, chain, config, hasty};
use crate::fault_server::{FaultServer, Reply};
use bundler::base::http::{HttpConfig, Trust};
use bundler::base::progress::Progress;
use bundler::build::fetch::{FetchError, Fetched, Fetcher};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::WebPkiClientVerifier;

/// A company's CA as a file, and a server it vouches for.
pub fn company(dir: &Path) -> (PathBuf, Arc<ServerConfig>) {
    let (file, server, _) = company_with_client(dir, false);
    (file, server)
}

/// The same, with the certificate and key of somebody it vouches for; the server may ask for them.
fn company_with_client(dir: &Path, asks: bool) -> (PathBuf, Arc<ServerConfig>, PathBuf) {
    let ca_key = KeyPair::generate().unwrap();
    let mut ca = CertificateParams::new(Vec::new()).unwrap();
    ca.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let ca_certificate = ca.self_signed(&ca_key).unwrap();
    let issuer = Issuer::new(ca, ca_key);
    let key = KeyPair::generate().unwrap();
    let names = vec!["127.0.0.1".to_owned(), "localhost".to_owned()];
    let certificate = CertificateParams::new(names)
        .unwrap()
        .signed_by(&key, &issuer)
        .unwrap();
    let file = dir.join("ca.pem");
    // Text around the certificate is usual in such files.
    std::fs::write(&file, format!("Company CA\n{}", ca_certificate.pem())).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let own_key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec!["worker".to_owned()])
        .unwrap()
        .signed_by(&own_key, &issuer)
        .unwrap();
    let client = dir.join("client.pem");
    std::fs::write(&client, own.pem() + &own_key.serialize_pem()).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = if asks {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(ca_certificate.der().clone()).unwrap();
        let verifier =
            WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        builder.with_client_cert_verifier(verifier.unwrap())
    } else {
        builder.with_no_client_auth()
    };
    let server = builder
        .with_single_cert(
            vec![certificate.der().clone()],
            PrivateKeyDer::Pkcs8(key.serialize_der().into()),
        )
        .unwrap();
    (file, Arc::new(server), client)
}

pub fn https(server: &FaultServer, path: &str) -> String {
    server.url(path).replacen("http://", "https://", 1)
}

fn take(cache: &Path, http: HttpConfig, url: &str) -> Result<Fetched, FetchError> {
    Fetcher::new(config(cache, http), Progress::silent()).one(&at(url, b"abc"))
}

#[test]
fn a_certificate_nobody_vouches_for_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (_, tls) = company(dir.path());
    let server = FaultServer::start_tls(tls, |_| Reply::ok("abc"));
    let error = take(dir.path(), hasty(), &https(&server, "/x")).unwrap_err();
    let text = chain(&error);
    assert!(
        text.contains("the certificate of https://127.0.0.1"),
        "{text}"
    );
    assert!(error.hint().unwrap().contains("SSL_CERT_FILE"));
    assert_eq!((server.connections(), server.asked().len()), (1, 0));
}

#[test]
fn a_companys_ca_is_believed_as_file_and_as_folder() {
    let dir = tempfile::tempdir().unwrap();
    let (file, tls) = company(dir.path());
    let server = FaultServer::start_tls(tls, |_| Reply::ok("abc"));
    let folder = dir.path().join("certs");
    std::fs::create_dir(&folder).unwrap();
    std::fs::copy(&file, folder.join("0a1b2c3d.0")).unwrap();
    for (number, place) in [file, folder].into_iter().enumerate() {
        let http = HttpConfig {
            trust: Trust::Only(vec![place]),
            ..hasty()
        };
        let cache = dir.path().join(number.to_string());
        take(&cache, http, &https(&server, "/x")).unwrap();
    }
}

#[test]
fn a_file_without_certificates_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let (_, tls) = company(dir.path());
    let server = FaultServer::start_tls(tls, |_| Reply::ok("abc"));
    let file = dir.path().join("empty.pem");
    std::fs::write(&file, "nothing").unwrap();
    let http = HttpConfig {
        trust: Trust::Only(vec![file]),
        ..hasty()
    };
    let error = take(dir.path(), http, &https(&server, "/x")).unwrap_err();
    assert!(
        chain(&error).contains("no certificate was found in"),
        "{}",
        chain(&error)
    );
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_host_may_be_named_that_is_not_checked() {
    let dir = tempfile::tempdir().unwrap();
    let (_, tls) = company(dir.path());
    let server = FaultServer::start_tls(tls, |_| Reply::ok("abc"));
    let http = HttpConfig {
        insecure_hosts: vec!["127.0.0.1".to_owned()],
        ..hasty()
    };
    take(dir.path(), http, &https(&server, "/x")).unwrap();
}

#[test]
fn a_client_certificate_is_shown_to_a_server_that_asks() {
    let dir = tempfile::tempdir().unwrap();
    let (file, tls, client) = company_with_client(dir.path(), true);
    let server = FaultServer::start_tls(tls, |_| Reply::ok("abc"));
    let mut http = HttpConfig {
        trust: Trust::Only(vec![file.clone()]),
        ..hasty()
    };
    assert!(take(dir.path(), http.clone(), &https(&server, "/x")).is_err());
    assert!(server.asked().is_empty());
    http.client_certificate = Some(client);
    take(dir.path(), http.clone(), &https(&server, "/x")).unwrap();
    assert_eq!(server.asked().len(), 1);
    // A file without a key is an error before anything is sent.
    http.client_certificate = Some(file);
    let error = take(&dir.path().join("other"), http, &https(&server, "/x")).unwrap_err();
    let text = chain(&error);
    assert!(text.contains("SSL_CLIENT_CERT names"), "{text}");
}

#[test]
fn a_redirect_from_https_to_http_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let (file, tls) = company(dir.path());
    let plain = FaultServer::start(|_| Reply::ok("abc"));
    let to = plain.url("/y");
    let server = FaultServer::start_tls(tls, move |_| Reply::redirect(&to));
    let http = HttpConfig {
        trust: Trust::Only(vec![file]),
        ..hasty()
    };
    let error = take(dir.path(), http.clone(), &https(&server, "/x")).unwrap_err();
    assert!(
        chain(&error).contains("from https to http"),
        "{}",
        chain(&error)
    );
    assert_eq!(plain.connections(), 0);
    let http = HttpConfig {
        insecure_hosts: vec!["127.0.0.1".to_owned()],
        ..http
    };
    take(dir.path(), http, &https(&server, "/x")).unwrap();
}
