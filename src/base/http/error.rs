//! What can go wrong on the network: which address, what happened, whether another try makes sense, what to do.

use std::error::Error;
use std::time::Duration;

use url::Url;

use super::redact::Redacted;
use crate::base::fs::FsError;

/// What went wrong on the network.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Not tried.
    #[error("{url} was not asked, because of --offline")]
    Offline {
        /// Address.
        url: Redacted,
    },
    /// No connection.
    #[error("could not connect to {url}")]
    Connect {
        /// Address.
        url: Redacted,
        /// What the system or TLS said.
        #[source]
        source: Cause,
    },
    /// The certificate is not believed.
    #[error("the certificate of {url} is not trusted")]
    Untrusted {
        /// Address.
        url: Redacted,
        /// What TLS said.
        #[source]
        source: Cause,
    },
    /// Nothing came.
    #[error("{url} sent nothing for {} s", .after.as_secs_f32().ceil())]
    Stalled {
        /// Address.
        url: Redacted,
        /// How long was waited.
        after: Duration,
    },
    /// An answer that is none.
    #[error("{url} answered {status}")]
    Status {
        /// Address.
        url: Redacted,
        /// Status code.
        status: u16,
        /// When the server wants to be asked again.
        retry_after: Option<Duration>,
    },
    /// The body ended early or the protocol was broken.
    #[error("the answer of {url} broke off")]
    Broken {
        /// Address.
        url: Redacted,
        /// What happened.
        #[source]
        source: Cause,
    },
    /// A redirect that is not followed.
    #[error("{url} sent a redirect that was not followed: {why}")]
    Redirect {
        /// Address that redirected.
        url: Redacted,
        /// Why not.
        why: &'static str,
    },
    /// A page that is too large to be one.
    #[error("{url} is larger than {limit} bytes")]
    TooLarge {
        /// Address.
        url: Redacted,
        /// Limit.
        limit: u64,
    },
    /// An address or setting that cannot be used.
    #[error("{what}")]
    Config {
        /// What is wrong with which setting.
        what: String,
    },
    /// A file of certificates or passwords could not be read.
    #[error(transparent)]
    File(#[from] FsError),
}

/// What lies beneath, as text without addresses.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Cause(pub String);

impl Cause {
    /// The text of the deepest source, which is the one that says something; the address is left out.
    fn of(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let mut deepest: &dyn Error = &error;
        while let Some(next) = deepest.source() {
            deepest = next;
        }
        Self(deepest.to_string())
    }
}

impl HttpError {
    /// Names the address and kind of a client error.
    pub(super) fn of(url: &Url, error: reqwest::Error) -> Self {
        let url = Redacted::new(url);
        let connect = error.is_connect();
        let source = Cause::of(error);
        if source.0.contains("certificate") {
            Self::Untrusted { url, source }
        } else if connect {
            Self::Connect { url, source }
        } else {
            Self::Broken { url, source }
        }
    }

    /// Whether another try may help.
    pub fn is_transient(&self) -> bool {
        match self {
            Self::Connect { .. } | Self::Stalled { .. } | Self::Broken { .. } => true,
            Self::Status { status, .. } => {
                matches!(status, 408 | 429)
                    || (500..600).contains(status) && !matches!(status, 501 | 505)
            }
            _ => false,
        }
    }

    /// Whether the server says that there is no such thing.
    pub fn is_missing(&self) -> bool {
        matches!(
            self,
            Self::Status {
                status: 404 | 410,
                ..
            }
        )
    }

    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Offline { .. } => {
                "run without --offline; `make` also takes a folder that `bundler fetch --mirror DIR` wrote, with --mirror DIR"
            }
            Self::Connect { .. } | Self::Stalled { .. } => {
                "check the network and HTTPS_PROXY, or give another address with --index ALIAS=URL"
            }
            Self::Untrusted { .. } => {
                "name the file with your company's CA in SSL_CERT_FILE, or pass --allow-insecure-host HOST"
            }
            Self::Status {
                status: 401 | 403 | 407,
                ..
            } => {
                "give a token in POINTCEPT_BUNDLER_INDEX_<ALIAS>_TOKEN, or a user name and password in ~/.netrc or in the address of the index"
            }
            Self::Status {
                status: 404 | 410, ..
            } => "check name and version, and the address of the index (--index ALIAS=URL)",
            Self::Status { status: 429, .. } => {
                "the server asks for patience: run the same command again later"
            }
            Self::File(e) => return e.hint(),
            _ => return None,
        };
        Some(text.to_owned())
    }
}
