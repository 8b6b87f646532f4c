//! Which roots a client believes, and its proxies. Rule: `SSL_CERT_FILE` and its kin replace all other roots, as in
//! pip and uv; else the system's roots and Mozilla's together, so that a host without certificates works too.

use std::path::{Path, PathBuf};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::config::{Proxies, Trust};
use super::{Cause, HttpError};
use crate::base::fs;

/// Certificates of a file may take this much.
const LIMIT: u64 = 64 << 20;

/// Sets the roots of a client.
pub(super) fn with_trust(
    builder: reqwest::ClientBuilder,
    trust: &Trust,
) -> Result<reqwest::ClientBuilder, HttpError> {
    match trust {
        Trust::System => {
            let mozilla = webpki_root_certs::TLS_SERVER_ROOT_CERTS.iter();
            let mozilla = mozilla.filter_map(|der| reqwest::Certificate::from_der(der).ok());
            Ok(builder.tls_certs_merge(mozilla))
        }
        Trust::Only(places) => Ok(builder.tls_certs_only(roots(places)?)),
    }
}

fn roots(places: &[PathBuf]) -> Result<Vec<reqwest::Certificate>, HttpError> {
    let mut ders: Vec<CertificateDer<'static>> = Vec::new();
    for place in places {
        let is_folder = fs::metadata(place)?.is_some_and(|m| m.is_dir());
        let files = if is_folder {
            hashed(fs::list(place)?)
        } else {
            vec![place.clone()]
        };
        for file in files {
            let bytes = fs::read(&file, LIMIT)?;
            ders.extend(CertificateDer::pem_slice_iter(&bytes).filter_map(Result::ok));
        }
    }
    ders.sort_by(|a, b| a.as_ref().cmp(b.as_ref()));
    ders.dedup();
    // One that cannot be a root (such files exist in system bundles) must not spoil the others.
    let usable = ders.into_iter().filter(|der| {
        let mut alone = rustls::RootCertStore::empty();
        alone.add(der.clone()).is_ok()
    });
    let out: Vec<_> = usable
        .filter_map(|der| reqwest::Certificate::from_der(&der).ok())
        .collect();
    if out.is_empty() {
        let names: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        return Err(HttpError::Config {
            what: format!("no certificate was found in {}", names.join(", ")),
        });
    }
    Ok(out)
}

/// The files of a certificate folder that OpenSSL would read: `<8 hex digits>.<number>`.
fn hashed(files: Vec<PathBuf>) -> Vec<PathBuf> {
    let is_hashed = |path: &Path| {
        let name = path.file_name().and_then(|n| n.to_str());
        name.and_then(|n| n.split_once('.'))
            .is_some_and(|(hash, n)| {
                hash.len() == 8
                    && hash.bytes().all(|b| b.is_ascii_hexdigit())
                    && n.bytes().all(|b| b.is_ascii_digit())
            })
    };
    files.into_iter().filter(|path| is_hashed(path)).collect()
}

/// Sets the proxies of a client, and nothing that the process's environment says.
pub(super) fn with_proxies(
    builder: reqwest::ClientBuilder,
    proxies: &Proxies,
) -> Result<reqwest::ClientBuilder, HttpError> {
    let except = proxies.except.as_deref();
    let except = except.and_then(reqwest::NoProxy::from_string);
    // The value may hold a password: it is not shown.
    let bad = |which: &str| HttpError::Config {
        what: format!("the value of {which} is not the address of a proxy"),
    };
    let mut builder = builder.no_proxy();
    if let Some(address) = &proxies.http {
        let proxy = reqwest::Proxy::http(address).map_err(|_| bad("HTTP_PROXY"))?;
        builder = builder.proxy(proxy.no_proxy(except.clone()));
    }
    if let Some(address) = &proxies.https {
        let proxy = reqwest::Proxy::https(address).map_err(|_| bad("HTTPS_PROXY"))?;
        builder = builder.proxy(proxy.no_proxy(except));
    }
    Ok(builder)
}

/// Sets a client certificate.
pub(super) fn with_identity(
    builder: reqwest::ClientBuilder,
    file: Option<&PathBuf>,
) -> Result<reqwest::ClientBuilder, HttpError> {
    let Some(file) = file else {
        return Ok(builder);
    };
    let pem = fs::read(file, LIMIT)?;
    let identity = reqwest::Identity::from_pem(&pem).map_err(|_| HttpError::Config {
        what: format!(
            "SSL_CLIENT_CERT names {}, which does not hold a certificate and its key",
            file.display()
        ),
    })?;
    Ok(builder.identity(identity))
}

/// Why a client could not be made.
pub(super) fn unusable(error: &reqwest::Error) -> HttpError {
    let cause =
        Cause(std::error::Error::source(error).map_or_else(String::new, ToString::to_string));
    HttpError::Config {
        what: format!("the network client could not be set up: {cause}"),
    }
}
