//! The network, behind blocking functions: the only module that names reqwest.
//! Redirects are followed here, so that credentials never leave the host they were given for; no error shows a query,
//! user name or password; under `offline` no socket is opened.

mod client;
mod config;
mod credentials;
mod error;
mod http_date;
mod patience;
mod redact;
mod trust;

pub use client::{Http, Kind, Page, Request, Response};
pub use config::{HttpConfig, Proxies, Trust};
pub use credentials::{Credentials, Secret};
pub use error::{Cause, HttpError};
pub use patience::Patience;
pub use redact::{Redacted, has_login, has_secret, without_user};
