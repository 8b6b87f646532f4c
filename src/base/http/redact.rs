//! Addresses as they may be shown: scheme, host, port and path, never a user name, password, query or fragment.

use std::fmt;

use url::Url;

/// An address without its secrets; prints as `https://host:port/path`.
#[derive(Clone, PartialEq, Eq)]
pub struct Redacted(String);

impl Redacted {
    /// Leaves the secrets of `url` out.
    pub fn new(url: &Url) -> Self {
        Self(plain(url).to_string())
    }

    /// The text itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `url` without user name, password, query and fragment.
fn plain(url: &Url) -> Url {
    let mut url = without_user(url);
    url.set_query(None);
    url.set_fragment(None);
    url
}

/// `url` without user name and password.
pub fn without_user(url: &Url) -> Url {
    let mut url = url.clone();
    // Both fail only on addresses that cannot hold a user name at all.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url
}

/// Whether an address carries something that must not be written down: a user name, password or query.
pub fn has_secret(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some() || url.query().is_some()
}

/// Whether the address of a repository, as it was written, holds a password, or a token in a user's place. Users of ssh
/// are no secret.
pub fn has_login(address: &str) -> bool {
    let Some((scheme, rest)) = address.split_once("://") else {
        return false;
    };
    let authority = rest.split('/').next().unwrap_or_default();
    let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
    !user.is_empty() && (scheme.starts_with("http") || user.contains(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_of_ssh_is_no_login() {
        for (address, is_login) in [
            ("https://h/x@v1", false),
            ("ssh://git@h/x", false),
            ("git@h:x", false),
            ("https://tok@h/x", true),
            ("ssh://me:pw@h/x", true),
        ] {
            assert_eq!(has_login(address), is_login, "{address}");
        }
    }

    #[test]
    fn shows_neither_user_nor_query() {
        let url = Url::parse("https://me:pw@h.example:8443/a%2Bb/c?sig=abc#sha256=1").unwrap();
        assert_eq!(
            Redacted::new(&url).to_string(),
            "https://h.example:8443/a%2Bb/c"
        );
        assert!(has_secret(&url));
        assert!(!has_secret(&Url::parse("https://h.example/a#f").unwrap()));
    }

    #[test]
    fn a_url_is_sent_as_it_was_given() {
        for text in [
            "https://h.example/a%2Bb%20c+d/%7efoo?sig=a%2fb%2Bc+d&x=%20&e=~",
            "https://h.example/x%252By.whl?X-Amz-Signature=0aF%3d&q=a:b@c/d?e",
        ] {
            assert_eq!(Url::parse(text).unwrap().as_str(), text);
        }
    }
}
