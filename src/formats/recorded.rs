//! facts.jsonl: what was read out of the bytes of a bundle's files when it was made, and what its wheels say of themselves,
//! so that a bundle can be judged again without its gigabytes. A line for the version, a line per wheel, a line per file with
//! facts; each kind sorted. Files without facts have no line.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::component::FileFacts;
use super::distribution::DistributionFacts;

/// Path of the file.
pub const FACTS: &str = "facts.jsonl";

/// Version of its form and of what is read out of files.
pub const FACTS_VERSION: u32 = 2;

/// The oldest form that can be read: it lacks the folders that texts name.
const OLDEST: u32 = 1;

/// What a bundle's own records tell beyond files.jsonl.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recorded {
    /// Version of the form.
    pub version: u32,
    /// By component.
    pub distributions: BTreeMap<String, DistributionFacts>,
    /// By path.
    pub files: BTreeMap<String, FileFacts>,
}

/// Why bytes are no facts.jsonl that this program can use.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// Written by a program that read other things.
    #[error("facts.jsonl has version {0}, this program reads up to {FACTS_VERSION}")]
    Version(u32),
    /// A line that cannot be read.
    #[error("line {line} of facts.jsonl is damaged")]
    Line {
        /// Line, counted from 1.
        line: usize,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
    /// A line that says nothing.
    #[error("line {0} of facts.jsonl belongs to no file and no component")]
    Unclear(usize),
}

/// One line: a version, a component with its distribution, or a path with its facts.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    facts_version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    component: Option<std::borrow::Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    distribution: Option<std::borrow::Cow<'a, DistributionFacts>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<std::borrow::Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<std::borrow::Cow<'a, FileFacts>>,
}

/// Writes facts.jsonl.
pub fn write<'a>(
    distributions: impl IntoIterator<Item = (&'a str, &'a DistributionFacts)>,
    files: impl IntoIterator<Item = (&'a str, &'a FileFacts)>,
) -> Result<Vec<u8>, RecordedError> {
    use std::borrow::Cow::Borrowed;
    let distributions: BTreeMap<_, _> = distributions.into_iter().collect();
    let files: BTreeMap<_, _> = files.into_iter().collect();
    let first = Line {
        facts_version: Some(FACTS_VERSION),
        ..Line::default()
    };
    let wheels = distributions.into_iter().map(|(name, facts)| Line {
        component: Some(Borrowed(name)),
        distribution: Some(Borrowed(facts)),
        ..Line::default()
    });
    let files = files.into_iter().map(|(path, facts)| Line {
        path: Some(Borrowed(path)),
        facts: Some(Borrowed(facts)),
        ..Line::default()
    });
    let mut out = Vec::new();
    for (number, line) in std::iter::once(first)
        .chain(wheels)
        .chain(files)
        .enumerate()
    {
        let failed = |source| RecordedError::Line {
            line: number + 1,
            source,
        };
        serde_json::to_writer(&mut out, &line).map_err(failed)?;
        out.push(b'\n');
    }
    Ok(out)
}

impl Recorded {
    /// Reads facts.jsonl.
    pub fn parse(bytes: &[u8]) -> Result<Self, RecordedError> {
        let mut out = Self::default();
        let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        for (number, text) in lines.split(|byte| *byte == b'\n').enumerate() {
            let number = number + 1;
            let line: Line<'_> =
                serde_json::from_slice(text).map_err(|source| RecordedError::Line {
                    line: number,
                    source,
                })?;
            match (
                line.facts_version,
                line.component,
                line.distribution,
                line.path,
                line.facts,
            ) {
                (Some(version), ..) if number == 1 => {
                    if !(OLDEST..=FACTS_VERSION).contains(&version) {
                        return Err(RecordedError::Version(version));
                    }
                    out.version = version;
                }
                (None, Some(name), Some(facts), ..) if number > 1 => {
                    out.distributions
                        .insert(name.into_owned(), facts.into_owned());
                }
                (None, None, None, Some(path), Some(facts)) if number > 1 => {
                    out.files.insert(path.into_owned(), facts.into_owned());
                }
                _ => return Err(RecordedError::Unclear(number)),
            }
        }
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::component::TextFacts;

    #[test]
    fn facts_come_back_sorted_and_bad_lines_do_not() {
        let text = FileFacts::Text(TextFacts {
            shebang: Some("/bin/sh".to_owned()),
            ..TextFacts::default()
        });
        let broken = FileFacts::BrokenElf("short".to_owned());
        let wheel = DistributionFacts {
            name: "X".to_owned(),
            ..DistributionFacts::default()
        };
        let bytes = write([("x", &wheel)], [("b", &text), ("a", &broken)]).unwrap();
        let back = Recorded::parse(&bytes).unwrap();
        assert_eq!(back.distributions.get("x"), Some(&wheel));
        assert_eq!(back.files.get("b"), Some(&text));
        let lines: Vec<&str> = std::str::from_utf8(&bytes).unwrap().lines().collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0], "{\"facts_version\":2}");
        assert!(lines[2].starts_with("{\"path\":\"a\",\"facts\":"));
        assert!(matches!(
            Recorded::parse(b"{\"facts_version\":3}\n"),
            Err(RecordedError::Version(3))
        ));
        for bad in [
            &b""[..],
            b"{}\n",
            b"{\"path\":\"a\"}\n",
            b"{\"facts_version\":1}\n{}\n",
        ] {
            assert!(Recorded::parse(bad).is_err());
        }
    }
}
