//! JSON answers: the simple API (PEP 691 with the additions of PEP 700 and 714), and the release object of a code
//! forge's REST API, which lists `assets`. Unknown keys are passed over, as the standard asks.

use serde::Deserialize;
use std::collections::BTreeMap;
use url::Url;

use super::{PageError, Row, Sidecar, is_plain, row};
use crate::base::digest::Digest;

#[derive(Deserialize)]
struct Answer {
    meta: Option<Meta>,
    files: Option<Vec<File>>,
    assets: Option<Vec<Asset>>,
}

#[derive(Deserialize)]
struct Meta {
    #[serde(rename = "api-version")]
    api_version: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct File {
    filename: String,
    url: String,
    #[serde(default)]
    hashes: BTreeMap<String, String>,
    core_metadata: Option<Offer>,
    dist_info_metadata: Option<Offer>,
    requires_python: Option<String>,
    yanked: Option<Yanked>,
    size: Option<u64>,
    upload_time: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Offer {
    Flag(bool),
    Hashes(BTreeMap<String, String>),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Yanked {
    Flag(bool),
    Reason(String),
}

#[derive(Deserialize)]
struct Asset {
    name: String,
    browser_download_url: String,
    size: Option<u64>,
    digest: Option<String>,
}

pub(super) fn parse(page: &Url, body: &[u8]) -> Result<Vec<Row>, PageError> {
    let answer: Answer = serde_json::from_slice(body).map_err(PageError::Json)?;
    if let Some(assets) = answer.assets {
        let rows = assets
            .into_iter()
            .filter_map(|asset| asset_row(page, asset));
        return Ok(rows.collect());
    }
    if let Some(meta) = answer.meta
        && meta.api_version.split('.').next() != Some("1")
    {
        return Err(PageError::Version(meta.api_version));
    }
    let files = answer
        .files
        .ok_or_else(|| PageError::Json(serde::de::Error::missing_field("files")))?;
    Ok(files
        .into_iter()
        .filter_map(|file| file_row(page, file))
        .collect())
}

fn sha256(hashes: &BTreeMap<String, String>) -> Option<Digest> {
    hashes.get("sha256")?.to_ascii_lowercase().parse().ok()
}

fn file_row(page: &Url, file: File) -> Option<Row> {
    let mut out = row(page.join(&file.url).ok()?)?;
    if !is_plain(&file.filename) {
        return None;
    }
    out.file = file.filename;
    out.sha256 = sha256(&file.hashes);
    out.size = file.size;
    out.metadata = match file.core_metadata.or(file.dist_info_metadata) {
        None | Some(Offer::Flag(false)) => Sidecar::Absent,
        Some(Offer::Flag(true)) => Sidecar::Offered,
        Some(Offer::Hashes(hashes)) => sha256(&hashes).map_or(Sidecar::Offered, Sidecar::Digest),
    };
    out.requires_python = file.requires_python;
    out.yanked = match file.yanked {
        None | Some(Yanked::Flag(false)) => None,
        Some(Yanked::Flag(true)) => Some(String::new()),
        Some(Yanked::Reason(reason)) => Some(reason),
    };
    out.upload_time = file.upload_time;
    Some(out)
}

fn asset_row(page: &Url, asset: Asset) -> Option<Row> {
    let mut out = row(page.join(&asset.browser_download_url).ok()?)?;
    if !is_plain(&asset.name) {
        return None;
    }
    out.file = asset.name;
    out.size = asset.size;
    let digest = asset.digest.as_deref();
    out.sha256 = digest.and_then(|text| text.strip_prefix("sha256:")?.parse().ok());
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    const SHA: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

    fn rows(body: &str) -> Result<Vec<Row>, PageError> {
        let page = Url::parse("https://h.example/simple/x/").unwrap();
        parse(
            &page,
            "application/vnd.pypi.simple.v1+json",
            body.as_bytes(),
        )
    }

    #[test]
    fn reads_the_simple_api() {
        let body = format!(
            r#"{{"meta": {{"api-version": "1.3", "_last-serial": 1}}, "name": "x", "versions": ["1"], "files": [
            {{"filename": "x-1+cu130-py3-none-any.whl", "url": "../../p/x-1%2Bcu130-py3-none-any.whl#f", "hashes": {{"sha256": "{SHA}"}},
              "requires-python": ">=3.9", "yanked": "broken", "size": 12, "core-metadata": {{"sha256": "{SHA}"}}, "upload-time": "2025-01-01T00:00:00Z"}},
            {{"filename": "x-2-py3-none-any.whl", "url": "https://o.example/x-2-py3-none-any.whl", "hashes": {{}}, "yanked": false, "core-metadata": true}}]}}"#
        );
        let rows = rows(&body).unwrap();
        assert_eq!(
            rows[0].url.as_str(),
            "https://h.example/p/x-1%2Bcu130-py3-none-any.whl"
        );
        assert_eq!((rows[0].size, rows[0].sha256), (Some(12), SHA.parse().ok()));
        assert_eq!(rows[0].yanked.as_deref(), Some("broken"));
        assert_eq!(rows[0].metadata, Sidecar::Digest(SHA.parse().unwrap()));
        assert_eq!(
            (&rows[1].yanked, rows[1].sha256, rows[1].metadata),
            (&None, None, Sidecar::Offered)
        );
    }

    #[test]
    fn reads_a_release_of_a_code_forge() {
        let body = format!(
            r#"{{"tag_name": "v1", "assets": [{{"name": "x-1+cu130-py3-none-any.whl", "size": 3, "digest": "sha256:{SHA}",
            "browser_download_url": "https://f.example/o/r/releases/download/v1/x-1%2Bcu130-py3-none-any.whl"}}]}}"#
        );
        let rows = rows(&body).unwrap();
        assert_eq!(rows[0].file, "x-1+cu130-py3-none-any.whl");
        assert_eq!(rows[0].sha256, SHA.parse().ok());
    }

    #[test]
    fn refuses_another_version_and_another_shape() {
        let error = rows(r#"{"meta": {"api-version": "2.0"}, "files": []}"#).unwrap_err();
        assert!(matches!(error, PageError::Version(v) if v == "2.0"));
        assert!(rows(r#"{"message": "not found"}"#).is_err());
        assert!(rows("[]").is_err());
    }
}
