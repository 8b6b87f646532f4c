//! What a lock names → orders: where each kind of artifact may be found.

use url::Url;

use super::{Order, Place};
use crate::base::digest::Digest;
use crate::build::lock::LockedWheel;

impl Order {
    /// A wheel, by name on its index.
    pub fn wheel(wheel: &LockedWheel) -> Self {
        Self {
            label: format!("{} {}", wheel.name, wheel.version),
            file: wheel.file.clone(),
            sha256: wheel.sha256,
            size: Some(wheel.size),
            places: vec![Place::Index {
                alias: wheel.index.clone(),
                project: wheel.name.clone(),
            }],
        }
    }

    /// An archive at an address of its own, such as a pinned source.
    pub fn archive(label: &str, url: &Url, sha256: Digest) -> Self {
        let last = url.path().rsplit('/').next().unwrap_or_default();
        let file = percent_encoding::percent_decode_str(last).decode_utf8_lossy();
        Self {
            label: label.to_owned(),
            file: file.into_owned(),
            sha256,
            size: None,
            places: vec![Place::Url(url.clone())],
        }
    }
}
