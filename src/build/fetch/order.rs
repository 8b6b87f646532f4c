//! What a lock names → orders: where each kind of artifact may be found.

use std::path::Path;

use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use url::Url;

use super::{MavenArtifact, Order, Place};
use crate::base::digest::Digest;
use crate::build::lock::{LockedInterpreter, LockedWheel};
use crate::build::recipe::InterpreterKind;

/// Where release assets of python-build-standalone are, when alias `pbs` has no address.
const PBS: &str = "https://github.com/astral-sh/python-build-standalone/releases/download";

/// What must be encoded in one part of a path; `+` too, as forges ask for `%2B`.
const PART: &AsciiSet = &CONTROLS
    .add(b' ')
    .add(b'"')
    .add(b'#')
    .add(b'%')
    .add(b'+')
    .add(b'/')
    .add(b'<')
    .add(b'>')
    .add(b'?')
    .add(b'[')
    .add(b'\\')
    .add(b']')
    .add(b'^')
    .add(b'`')
    .add(b'{')
    .add(b'|')
    .add(b'}');

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

    /// An interpreter archive. `path` is the recipe's file for kind `path`.
    pub fn interpreter(interpreter: &LockedInterpreter, path: Option<&Path>) -> Self {
        let part = |text: &str| utf8_percent_encode(text, PART).to_string();
        let place = match interpreter.source {
            InterpreterKind::Pbs => {
                let release = interpreter.release.as_deref().unwrap_or_default();
                Some(Place::Under {
                    alias: "pbs".to_owned(),
                    base: Url::parse(PBS).ok(),
                    path: format!("{}/{}", part(release), part(&interpreter.file)),
                })
            }
            InterpreterKind::Maven => maven(interpreter).map(Place::Maven),
            InterpreterKind::Path => path.map(|p| Place::File(p.to_owned())),
        };
        Self {
            label: format!("cpython {} ({})", interpreter.version, interpreter.source),
            file: interpreter.file.clone(),
            sha256: interpreter.sha256,
            size: interpreter.size,
            places: place.into_iter().collect(),
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

/// The coordinates of a Maven interpreter.
fn maven(interpreter: &LockedInterpreter) -> Option<MavenArtifact> {
    let mut parts = interpreter.artifact.as_deref()?.split(':');
    let mut next = || parts.next().map(ToOwned::to_owned);
    Some(MavenArtifact {
        group: next()?,
        artifact: next()?,
        version: next()?,
        classifier: interpreter.classifier.clone(),
        extension: "jar".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::target::Arch;

    fn locked(source: InterpreterKind) -> LockedInterpreter {
        LockedInterpreter {
            source,
            arch: Arch::Amd64,
            version: "3.12.14".to_owned(),
            release: Some("20260814".to_owned()),
            artifact: Some("org.bytedeco:cpython:3.12.1-1.5.10".to_owned()),
            classifier: Some("linux-x86_64".to_owned()),
            file: "cpython-3.12.14+20260814-x86_64.tar.gz".to_owned(),
            sha256: Digest::of(b""),
            size: None,
            glibc: None,
        }
    }

    #[test]
    fn a_release_asset_is_asked_for_with_an_encoded_plus() {
        let order = Order::interpreter(&locked(InterpreterKind::Pbs), None);
        let [Place::Under { path, .. }] = order.places.as_slice() else {
            panic!("{order:?}")
        };
        assert_eq!(path, "20260814/cpython-3.12.14%2B20260814-x86_64.tar.gz");
    }

    #[test]
    fn a_maven_interpreter_has_its_coordinates() {
        let order = Order::interpreter(&locked(InterpreterKind::Maven), None);
        let [Place::Maven(artifact)] = order.places.as_slice() else {
            panic!("{order:?}")
        };
        assert_eq!(
            artifact.coordinates(),
            "org.bytedeco:cpython:3.12.1-1.5.10:jar:linux-x86_64"
        );
    }
}
