//! Index pages: bytes in, rows out. Simple API JSON (PEP 691, PEP 700) and HTML (PEP 503, 592, 658, 714), find-links pages
//! and release pages of a code forge (HTML fragment or REST answer). No network, no paths.
//!
//! Links are resolved against the page's final address, then its `<base href>` (RFC 3986); a file name is decoded once.

mod html;
mod json;

use percent_encoding::percent_decode_str;
use serde::{Deserialize, Serialize};
use url::Url;

use crate::base::digest::Digest;

/// What a client of the simple API accepts, best first (PEP 691).
pub const ACCEPT: &str = "application/vnd.pypi.simple.v1+json, \
    application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.01";

/// One file of a page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// File name, percent-decoded once. A plain name: no separators, no control characters.
    pub file: String,
    /// Where it is, without fragment.
    pub url: Url,
    /// SHA-256 of the file, where the page gives it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<Digest>,
    /// Bytes, where the page gives them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// What the page says of a metadata file beside it.
    pub metadata: Sidecar,
    /// `Requires-Python`, as written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_python: Option<String>,
    /// Reason (may be empty) when the file was withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub yanked: Option<String>,
    /// Upload time, as written (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_time: Option<String>,
}

/// Whether `<url>.metadata` exists (PEP 658, PEP 714). Its digest is not that of the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sidecar {
    /// Not offered.
    Absent,
    /// Offered without digest.
    Offered,
    /// Offered with this digest of the metadata file.
    Digest(Digest),
}

/// Why a page could not be read.
#[derive(Debug, thiserror::Error)]
pub enum PageError {
    /// Not JSON of the expected shape.
    #[error("the page is not a simple API answer")]
    Json(#[source] serde_json::Error),
    /// A version of the API that is not known.
    #[error("the page speaks version {0} of the simple API; version 1 is understood")]
    Version(String),
    /// A content type that is neither JSON nor HTML.
    #[error("the page is {0:?}, neither HTML nor JSON")]
    ContentType(String),
}

/// Reads a page of either form; `content_type` decides, and where it says nothing, the first byte.
pub fn parse(page: &Url, content_type: &str, body: &[u8]) -> Result<Vec<Row>, PageError> {
    let kind = content_type.split(';').next().unwrap_or_default().trim();
    let kind = kind.to_ascii_lowercase();
    let looks_like_json = || matches!(body.trim_ascii_start().first(), Some(b'{' | b'['));
    match kind.as_str() {
        _ if kind.ends_with("json") => json::parse(page, body),
        "" | "text/plain" | "application/octet-stream" if looks_like_json() => {
            json::parse(page, body)
        }
        _ if kind.ends_with("html") => Ok(html_rows(page, body)),
        "" | "text/plain" | "application/octet-stream" | "application/xhtml+xml" => {
            Ok(html_rows(page, body))
        }
        _ => Err(PageError::ContentType(kind)),
    }
}

fn html_rows(page: &Url, body: &[u8]) -> Vec<Row> {
    let text = String::from_utf8_lossy(body);
    let mut base = page.clone();
    let mut based = false;
    let mut out = Vec::new();
    for tag in html::tags(&text) {
        let Some(href) = tag.get("href") else {
            continue;
        };
        if tag.name == "base" {
            // Only the first one counts (HTML, 4.2.3).
            if !based && let Ok(url) = page.join(href.trim()) {
                base = url;
                based = true;
            }
            continue;
        }
        let Ok(url) = base.join(href.trim()) else {
            continue;
        };
        let digest = url.fragment().and_then(sha256_of_fragment);
        let Some(mut row) = row(url) else { continue };
        row.sha256 = digest;
        row.metadata = sidecar(
            tag.get("data-core-metadata")
                .or_else(|| tag.get("data-dist-info-metadata")),
        );
        row.requires_python = tag.get("data-requires-python").map(ToOwned::to_owned);
        row.yanked = tag.get("data-yanked").map(ToOwned::to_owned);
        out.push(row);
    }
    out
}

/// A row that knows its place only; `None` when the last part of the path is no file name.
fn row(mut url: Url) -> Option<Row> {
    url.set_fragment(None);
    let last = url.path_segments()?.next_back()?;
    let file = percent_decode_str(last).decode_utf8().ok()?.into_owned();
    is_plain(&file).then_some(Row {
        file,
        url,
        sha256: None,
        size: None,
        metadata: Sidecar::Absent,
        requires_python: None,
        yanked: None,
        upload_time: None,
    })
}

/// Whether a name is one that may be compared and written: no separators, no control characters, not `.` or `..`.
pub fn is_plain(name: &str) -> bool {
    !matches!(name, "" | "." | "..")
        && !name
            .chars()
            .any(|c| c.is_control() || matches!(c, '/' | '\\'))
}

/// `sha256=…` among the `&`-separated parts of a fragment.
fn sha256_of_fragment(fragment: &str) -> Option<Digest> {
    let mut parts = fragment.split('&');
    parts.find_map(|part| {
        part.strip_prefix("sha256=")?
            .to_ascii_lowercase()
            .parse()
            .ok()
    })
}

/// `true`, `sha256=…`, or anything else, which offers nothing (PEP 714).
fn sidecar(value: Option<&str>) -> Sidecar {
    match value {
        None | Some("false") => Sidecar::Absent,
        Some(text) => match sha256_of_fragment(text) {
            Some(digest) => Sidecar::Digest(digest),
            None => Sidecar::Offered,
        },
    }
}

/// The normalised form of a project name (PEP 503).
pub fn normalized(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for c in name.chars() {
        let c = match c {
            '-' | '_' | '.' if out.ends_with('-') => continue,
            '_' | '.' => '-',
            c => c.to_ascii_lowercase(),
        };
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHA: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn html(page: &str, body: &str) -> Vec<Row> {
        parse(
            &Url::parse(page).unwrap(),
            "text/html; charset=utf-8",
            body.as_bytes(),
        )
        .unwrap()
    }

    fn urls(page: &str, body: &str) -> Vec<String> {
        let rows = html(page, body);
        rows.iter().map(|r| r.url.to_string()).collect()
    }

    #[test]
    fn c41_keeps_the_digest_of_the_metadata_apart() {
        let body = format!(
            "<a href='a-1-py3-none-any.whl' data-core-metadata='sha256={SHA}'>a</a>\
             <a href='b-1-py3-none-any.whl#sha256={SHA}' data-dist-info-metadata=true>b</a>\
             <a href='c-1-py3-none-any.whl#md5=1&amp;sha256={SHA}' data-requires-python='&gt;=3.9' data-yanked='bad'>c</a>"
        );
        let rows = html("https://h.example/simple/a/", &body);
        let digest: Digest = SHA.parse().unwrap();
        assert_eq!(rows[0].sha256, None);
        assert_eq!(rows[0].metadata, Sidecar::Digest(digest));
        assert_eq!(rows[1].sha256, Some(digest));
        assert_eq!(rows[1].metadata, Sidecar::Offered);
        assert_eq!(rows[2].sha256, Some(digest));
        assert_eq!(rows[2].requires_python.as_deref(), Some(">=3.9"));
        assert_eq!(rows[2].yanked.as_deref(), Some("bad"));
    }

    #[test]
    fn c50_resolves_links_on_the_page_itself() {
        let up = "<a href='../t/x-1.whl'>x</a>";
        assert_eq!(
            urls("https://h.example/whl/cu113/index.html", up),
            ["https://h.example/whl/t/x-1.whl"]
        );
        assert_eq!(
            urls("https://h.example/whl/cu113", up),
            ["https://h.example/t/x-1.whl"]
        );
        assert_eq!(
            urls(
                "https://h.example/a/b",
                "<a href='x-1.whl'>x</a><a href='/r/y-1.whl'>y</a><a href='//o.example/z-1.whl'>z</a>"
            ),
            [
                "https://h.example/a/x-1.whl",
                "https://h.example/r/y-1.whl",
                "https://o.example/z-1.whl"
            ]
        );
    }

    #[test]
    fn c49_the_first_base_href_counts() {
        let body = "<base href='../f/'><base href='/no/'><a href='x-1.whl'>x</a>";
        assert_eq!(
            urls("https://h.example/s/x/", body),
            ["https://h.example/s/f/x-1.whl"]
        );
    }

    #[test]
    fn c52_decodes_a_name_once_and_keeps_the_bytes_of_the_address() {
        let body = "<a href='t-1%2Bcu130-py3-none-any.whl'></a><a href='t-2+cu130-py3-none-any.whl'></a>\
                    <a href='t-3%252Bcu130-py3-none-any.whl'></a><a href='t-4%2bcu130-py3-none-any.whl?k=a%2fb'></a>";
        let rows = html("https://h.example/t/", body);
        let names: Vec<_> = rows.iter().map(|r| r.file.as_str()).collect();
        assert_eq!(
            names,
            [
                "t-1+cu130-py3-none-any.whl",
                "t-2+cu130-py3-none-any.whl",
                "t-3%2Bcu130-py3-none-any.whl",
                "t-4+cu130-py3-none-any.whl"
            ]
        );
        assert_eq!(rows[0].url.path(), "/t/t-1%2Bcu130-py3-none-any.whl");
        assert!(
            rows[3]
                .url
                .as_str()
                .ends_with("%2bcu130-py3-none-any.whl?k=a%2fb")
        );
    }

    #[test]
    fn names_that_are_no_file_names_are_passed_over() {
        let body = "<a href='..'></a><a href='a%2Fb.whl'></a><a href='a%0Ab.whl'></a><a href='%ff.whl'></a><a href='d/'></a><a href='mailto:x'></a>";
        assert!(urls("https://h.example/s/", body).is_empty());
    }

    #[test]
    fn other_content_is_refused() {
        let page = Url::parse("https://h.example/").unwrap();
        let error = parse(&page, "image/png", b"").unwrap_err();
        assert_eq!(
            error.to_string(),
            "the page is \"image/png\", neither HTML nor JSON"
        );
    }

    #[test]
    fn project_names_are_normalized() {
        assert_eq!(normalized("Foo__Bar.-baz"), "foo-bar-baz");
    }
}
