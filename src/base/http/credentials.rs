//! User names, passwords and tokens, each tied to the host it was given for.
//! Order: the address itself, credentials of an index, netrc. Nothing here prints what it holds.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use url::Url;

/// What is sent as `Authorization`.
#[derive(Clone, PartialEq, Eq)]
pub enum Secret {
    /// User name and password.
    Basic(String, String),
    /// A token.
    Bearer(String),
}

impl Secret {
    /// The user name and password of an address, decoded.
    pub fn of(url: &Url) -> Option<Self> {
        if url.username().is_empty() && url.password().is_none() {
            return None;
        }
        let decode = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        Some(Self::Basic(
            decode(url.username()),
            decode(url.password().unwrap_or_default()),
        ))
    }

    /// The value of the `Authorization` header.
    pub fn header(&self) -> String {
        match self {
            Self::Basic(user, password) => {
                format!("Basic {}", STANDARD.encode(format!("{user}:{password}")))
            }
            Self::Bearer(token) => format!("Bearer {token}"),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// All credentials of a run.
#[derive(Debug, Clone, Default)]
pub struct Credentials {
    origins: Vec<(url::Origin, Secret)>,
    machines: Vec<Machine>,
}

#[derive(Clone, PartialEq, Eq)]
struct Machine {
    /// `None` is netrc's `default`.
    host: Option<String>,
    secret: Secret,
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.host)
    }
}

impl Credentials {
    /// Ties `secret` to scheme, host and port of `url`. The first one for an origin wins.
    pub fn add(&mut self, url: &Url, secret: Secret) {
        self.origins.push((url.origin(), secret));
    }

    /// Takes the text of a netrc file in.
    pub fn add_netrc(&mut self, text: &str) {
        self.machines.extend(netrc(text));
    }

    /// What is sent to `url`, if anything.
    pub fn for_url(&self, url: &Url) -> Option<&Secret> {
        let origin = url.origin();
        if let Some((_, secret)) = self.origins.iter().find(|(o, _)| *o == origin) {
            return Some(secret);
        }
        let host = url.host_str()?;
        let of_host = |m: &&Machine| m.host.as_deref() == Some(host);
        let default = |m: &&Machine| m.host.is_none();
        let machine = self.machines.iter().find(of_host);
        machine
            .or_else(|| self.machines.iter().find(default))
            .map(|m| &m.secret)
    }
}

/// Reads a netrc file: `machine H login U password P`, `default …`, `#` comments, `macdef` up to a blank line.
fn netrc(text: &str) -> Vec<Machine> {
    let mut out = Vec::new();
    let mut current: Option<(Option<String>, String, String)> = None;
    let mut finish = |current: Option<(Option<String>, String, String)>| {
        if let Some((host, user, password)) = current
            && !(user.is_empty() && password.is_empty())
        {
            let secret = Secret::Basic(user, password);
            out.push(Machine { host, secret });
        }
    };
    let mut in_macro = false;
    for line in text.lines() {
        if in_macro {
            in_macro = !line.trim().is_empty();
            continue;
        }
        let mut words = words(line).into_iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "machine" => {
                    finish(current.take());
                    current = words
                        .next()
                        .map(|host| (Some(host), String::new(), String::new()));
                }
                "default" => {
                    finish(current.take());
                    current = Some((None, String::new(), String::new()));
                }
                "login" | "user" => {
                    if let (Some(entry), Some(value)) = (&mut current, words.next()) {
                        entry.1 = value;
                    }
                }
                "password" => {
                    if let (Some(entry), Some(value)) = (&mut current, words.next()) {
                        entry.2 = value;
                    }
                }
                "account" => drop(words.next()),
                "macdef" => {
                    in_macro = true;
                    break;
                }
                _ => {}
            }
        }
    }
    finish(current.take());
    out
}

/// The words of a line; a word may be quoted, with backslashes. A word that begins with `#` begins a comment, unless
/// it stands where a value is expected (passwords may begin with it).
fn words(line: &str) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut chars = line.chars().peekable();
    loop {
        while chars.next_if(|c| c.is_whitespace()).is_some() {}
        let Some(&first) = chars.peek() else {
            return out;
        };
        let value_next = out
            .last()
            .is_some_and(|w| matches!(w.as_str(), "login" | "user" | "password" | "account"));
        if first == '#' && !value_next {
            return out;
        }
        let quoted = first == '"';
        if quoted {
            chars.next();
        }
        let mut word = String::new();
        while let Some(c) = chars.next() {
            match c {
                '"' if quoted => break,
                '\\' => word.extend(chars.next()),
                c if c.is_whitespace() && !quoted => break,
                c => word.push(c),
            }
        }
        out.push(word);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn basic(user: &str, password: &str) -> Secret {
        Secret::Basic(user.into(), password.into())
    }

    #[test]
    fn a_secret_belongs_to_scheme_host_and_port() {
        let mut credentials = Credentials::default();
        let index = url("https://u%40x:p%3A@h.example/simple");
        credentials.add(&index, Secret::of(&index).unwrap());
        let found = credentials.for_url(&url("https://h.example/other"));
        assert_eq!(found, Some(&basic("u@x", "p:")));
        for other in [
            "http://h.example/",
            "https://h.example:444/",
            "https://x.h.example/",
        ] {
            assert_eq!(credentials.for_url(&url(other)), None, "{other}");
        }
        assert!(!format!("{credentials:?}").contains("p:"));
    }

    #[test]
    fn reads_netrc_with_quotes_comments_macros_and_default() {
        let mut credentials = Credentials::default();
        credentials.add_netrc(
            "# machine no.example login a password b\nmachine h.example\n login me\n password #p\"w # x\n\
             macdef init\n cd /\n machine m.example login no password no\n\nmachine q.example login \"a b\" password \"c\\\"d\"\n\
             default login any password one\n",
        );
        let of = |text: &str| credentials.for_url(&url(text)).cloned();
        assert_eq!(of("https://h.example/x"), Some(basic("me", "#p\"w")));
        assert_eq!(of("http://q.example:80/x"), Some(basic("a b", "c\"d")));
        for other in ["https://m.example/", "https://no.example/"] {
            assert_eq!(of(other), Some(basic("any", "one")));
        }
    }

    #[test]
    fn secrets_do_not_print() {
        assert_eq!(format!("{:?}", basic("me", "pw")), "***");
    }
}
