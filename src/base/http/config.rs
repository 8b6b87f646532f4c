//! How the network is used, as one value: time-outs, proxies, trust, credentials. Read from an environment that is
//! handed in, by the names pip, uv and curl know.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::HttpError;
use super::credentials::Credentials;
use crate::base::fs;

/// How the network is used.
#[derive(Debug, Clone)]
pub struct HttpConfig {
    /// Open no socket.
    pub offline: bool,
    /// How long a connection may take to stand.
    pub connect_timeout: Duration,
    /// How long a server may send nothing.
    pub stall: Duration,
    /// How long a transfer may go without progress, over all tries.
    pub give_up: Duration,
    /// Tries in a row without progress.
    pub tries: u32,
    /// Pause after the first failed try; doubled each time.
    pub pause: Duration,
    /// Whose certificates are believed.
    pub trust: Trust,
    /// A client certificate with its key (PEM).
    pub client_certificate: Option<PathBuf>,
    /// Hosts whose certificate is not checked.
    pub insecure_hosts: Vec<String>,
    /// Proxies.
    pub proxies: Proxies,
    /// User names, passwords, tokens.
    pub credentials: Credentials,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            offline: false,
            connect_timeout: Duration::from_secs(5),
            stall: Duration::from_secs(20),
            give_up: Duration::from_secs(55),
            tries: 6,
            pause: Duration::from_millis(250),
            trust: Trust::System,
            client_certificate: None,
            insecure_hosts: Vec::new(),
            proxies: Proxies::default(),
            credentials: Credentials::default(),
        }
    }
}

/// Whose certificates are believed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// The system's, and Mozilla's for hosts that have none.
    System,
    /// Those in these files and folders, and no others.
    Only(Vec<PathBuf>),
}

/// Proxies for each kind of address; values may hold user names and passwords.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http://`.
    pub http: Option<String>,
    /// For `https://`.
    pub https: Option<String>,
    /// Hosts asked without proxy, comma-separated.
    pub except: Option<String>,
}

impl fmt::Debug for Proxies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Proxies")
    }
}

impl HttpConfig {
    /// The configuration that an environment asks for; `home` is where `.netrc` is looked for.
    ///
    /// Reads `{HTTP,HTTPS,ALL,NO}_PROXY` in both cases of letters (no `HTTP_PROXY` under CGI), `SSL_CERT_FILE`,
    /// `SSL_CERT_DIR`, `PIP_CERT`, `REQUESTS_CA_BUNDLE`, `CURL_CA_BUNDLE`, `SSL_CLIENT_CERT`, `NETRC`.
    pub fn from_env(
        var: &dyn Fn(&str) -> Option<String>,
        home: Option<&Path>,
    ) -> Result<Self, HttpError> {
        let var = |name: &str| var(name).filter(|value| !value.is_empty());
        let mut out = Self {
            proxies: proxies(&var),
            trust: trust(&var)?,
            client_certificate: var("SSL_CLIENT_CERT").map(PathBuf::from),
            ..Self::default()
        };
        let netrc = match var("NETRC") {
            Some(path) => Some(PathBuf::from(path)),
            None => home.map(|home| home.join(".netrc")),
        };
        if let Some(path) = netrc
            && let Some(bytes) = fs::read_if_exists(&path, 1 << 20)?
        {
            out.credentials.add_netrc(&String::from_utf8_lossy(&bytes));
        }
        Ok(out)
    }
}

fn proxies(var: &dyn Fn(&str) -> Option<String>) -> Proxies {
    let either = |name: &str| var(&name.to_lowercase()).or_else(|| var(name));
    let all = either("ALL_PROXY");
    // A CGI program gets the request's `Proxy:` header as HTTP_PROXY.
    let http =
        var("http_proxy").or_else(|| var("HTTP_PROXY").filter(|_| var("REQUEST_METHOD").is_none()));
    Proxies {
        http: http.or_else(|| all.clone()),
        https: either("HTTPS_PROXY").or(all),
        except: either("NO_PROXY"),
    }
}

fn trust(var: &dyn Fn(&str) -> Option<String>) -> Result<Trust, HttpError> {
    let mut places = Vec::new();
    for name in [
        "SSL_CERT_FILE",
        "PIP_CERT",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
    ] {
        let Some(value) = var(name) else { continue };
        let path = PathBuf::from(&value);
        if fs::metadata(&path)?.is_none() {
            return Err(HttpError::Config {
                what: format!("{name} names {value}, which does not exist"),
            });
        }
        places.push(path);
    }
    // A list; OpenSSL passes over folders that do not exist, and so do we.
    for folder in var("SSL_CERT_DIR").iter().flat_map(|v| v.split(':')) {
        let path = PathBuf::from(folder);
        if !folder.is_empty() && fs::metadata(&path)?.is_some() {
            places.push(path);
        }
    }
    let mut seen: Vec<PathBuf> = Vec::new();
    for path in places {
        if !seen.contains(&path) {
            seen.push(path);
        }
    }
    Ok(if seen.is_empty() {
        Trust::System
    } else {
        Trust::Only(seen)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<HttpConfig, HttpError> {
        let var = |name: &str| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        HttpConfig::from_env(&var, None)
    }

    #[test]
    fn proxies_come_from_both_cases_and_all() {
        let config = read(&[
            ("ALL_PROXY", "socks5h://a:1"),
            ("https_proxy", "http://b:2"),
            ("NO_PROXY", "x.example"),
        ])
        .unwrap();
        assert_eq!(config.proxies.http.as_deref(), Some("socks5h://a:1"));
        assert_eq!(config.proxies.https.as_deref(), Some("http://b:2"));
        assert_eq!(config.proxies.except.as_deref(), Some("x.example"));
    }

    #[test]
    fn upper_case_http_proxy_is_not_believed_under_cgi() {
        let env = [("HTTP_PROXY", "http://a:1"), ("REQUEST_METHOD", "GET")];
        assert_eq!(read(&env).unwrap().proxies.http, None);
        assert!(read(&env[..1]).unwrap().proxies.http.is_some());
    }

    #[test]
    fn a_certificate_file_that_does_not_exist_is_an_error() {
        let error = read(&[("SSL_CERT_FILE", "/nonexistent/ca.pem")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "SSL_CERT_FILE names /nonexistent/ca.pem, which does not exist"
        );
        assert_eq!(read(&[]).unwrap().trust, Trust::System);
    }
}
