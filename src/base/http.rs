//! The network, behind blocking functions: the only module that names reqwest.
//! Redirects are followed here, so that credentials never leave the host they were given for; no error shows a query,
//! user name or password; under `offline` no socket is opened.

/// How the network is used.
#[derive(Debug, Clone, Default)]
pub struct HttpConfig {
    /// Open no socket.
    pub offline: bool,
}
