//! Wheel file names and the WHEEL file. `{distribution}-{version}(-{build})?-{python}-{abi}-{platform}.whl`, split as the
//! binary distribution format says; the name is already free of percent escapes. WHEEL: format version 1.x, tags dotted
//! or one per line, `Root-Is-Purelib`.

use std::str::FromStr;

use pep440_rs::Version;

use super::distribution::normalized_name;
use super::metadata::{Headers, MetadataError};
use super::tags::{Tag, expand};

/// What a wheel's file name says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelName {
    /// Distribution, as written.
    pub distribution: String,
    /// Version, local part included.
    pub version: Version,
    /// Build tag.
    pub build: Option<String>,
    /// Compatibility tags, expanded.
    pub tags: Vec<Tag>,
}

/// Why a text is no wheel file name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WheelNameError {
    /// No `.whl` at the end.
    #[error("the file name does not end in .whl")]
    Suffix,
    /// Not five or six parts.
    #[error("the file name has {0} parts between dashes instead of 5 or 6")]
    Parts(usize),
    /// Characters no distribution name has.
    #[error("the file name does not begin with a distribution name")]
    Distribution,
    /// Not PEP 440.
    #[error("{0:?} in the file name is no version")]
    Version(String),
    /// A build tag begins with a digit.
    #[error("{0:?} in the file name is no build tag")]
    Build(String),
    /// Malformed tags.
    #[error("{0:?} in the file name is no compatibility tag")]
    Tags(String),
}

impl WheelName {
    /// The distribution's name as PEP 503 writes it.
    pub fn normalized(&self) -> String {
        normalized_name(&self.distribution)
    }
}

impl FromStr for WheelName {
    type Err = WheelNameError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let stem = text.strip_suffix(".whl").ok_or(WheelNameError::Suffix)?;
        let parts: Vec<&str> = stem.split('-').collect();
        let (distribution, version, build, tags) = match parts.as_slice() {
            [name, version, tags @ ..] if tags.len() == 3 => (*name, *version, None, tags),
            [name, version, build, tags @ ..] if tags.len() == 3 => {
                (*name, *version, Some(*build), tags)
            }
            other => return Err(WheelNameError::Parts(other.len())),
        };
        if !is_name(distribution) {
            return Err(WheelNameError::Distribution);
        }
        let version = version
            .replace('_', "-")
            .parse()
            .map_err(|_| WheelNameError::Version(version.to_owned()))?;
        if let Some(build) = build.filter(|build| !is_build(build)) {
            return Err(WheelNameError::Build(build.to_owned()));
        }
        let tags = tags.join("-");
        Ok(Self {
            distribution: distribution.to_owned(),
            version,
            build: build.map(str::to_owned),
            tags: expand(&tags).ok_or(WheelNameError::Tags(tags))?,
        })
    }
}

fn is_name(text: &str) -> bool {
    let alphanumeric = |end: Option<u8>| end.is_some_and(|b| b.is_ascii_alphanumeric());
    let mut bytes = text.bytes();
    text.bytes()
        .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.')
        && alphanumeric(bytes.next())
        && alphanumeric(text.bytes().last())
}

fn is_build(text: &str) -> bool {
    let word = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'.' || b == b'+';
    text.starts_with(|c: char| c.is_ascii_digit()) && text.bytes().all(word)
}

/// What a WHEEL file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WheelFile {
    /// `Wheel-Version`, the minor part.
    pub minor: u32,
    /// `Root-Is-Purelib`.
    pub purelib: bool,
    /// `Tag` lines, expanded, each once, sorted.
    pub tags: Vec<Tag>,
}

/// Why a WHEEL file is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WheelFileError {
    /// Not readable as headers.
    #[error("WHEEL cannot be read")]
    Headers(#[from] MetadataError),
    /// Another major version, or none.
    #[error("WHEEL has the format version {0:?}; only 1.x is known")]
    FormatVersion(String),
    /// Neither true nor false.
    #[error("WHEEL says {0:?} for Root-Is-Purelib instead of true or false")]
    Purelib(String),
    /// A malformed tag.
    #[error("WHEEL has the tag {0:?}, which is none")]
    Tag(String),
}

impl WheelFile {
    /// Reads a WHEEL file.
    pub fn parse(bytes: &[u8]) -> Result<Self, WheelFileError> {
        let headers = Headers::parse(bytes)?;
        let version = headers.one("Wheel-Version")?.unwrap_or_default();
        let minor = version
            .strip_prefix("1.")
            .and_then(|minor| minor.parse().ok())
            .ok_or_else(|| WheelFileError::FormatVersion(version.clone()))?;
        let purelib = headers.one("Root-Is-Purelib")?.unwrap_or_default();
        let purelib = match purelib.to_ascii_lowercase().as_str() {
            "true" => true,
            "false" => false,
            _ => return Err(WheelFileError::Purelib(purelib)),
        };
        let mut tags = Vec::new();
        for line in headers.all("Tag") {
            tags.extend(expand(&line).ok_or(WheelFileError::Tag(line))?);
        }
        tags.sort();
        tags.dedup();
        Ok(Self {
            minor,
            purelib,
            tags,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_file_names_with_build_tags_and_local_versions() {
        let name: WheelName = "torch-2.9.1+cu130-1a-cp312-cp312-manylinux_2_28_x86_64.whl"
            .parse()
            .unwrap();
        assert_eq!(name.version.to_string(), "2.9.1+cu130");
        assert_eq!(name.build.as_deref(), Some("1a"));
        let name: WheelName = "Foo.Bar_x-1.0-py2.py3-none-any.whl".parse().unwrap();
        assert_eq!(name.normalized(), "foo-bar-x");
        assert_eq!(name.tags.len(), 2);
        let bad = |text: &str| WheelName::from_str(text).unwrap_err();
        assert_eq!(bad("x-1-py3-none-any.zip"), WheelNameError::Suffix);
        assert_eq!(bad("x-py3-none-any.whl"), WheelNameError::Parts(4));
        assert_eq!(bad("../x-1-py3-none-any.whl"), WheelNameError::Distribution);
        assert_eq!(
            bad("x-one-py3-none-any.whl"),
            WheelNameError::Version("one".into())
        );
        assert_eq!(
            bad("x-1-b1-py3-none-any.whl"),
            WheelNameError::Build("b1".into())
        );
        assert_eq!(
            bad("x-1-py3--any.whl"),
            WheelNameError::Tags("py3--any".into())
        );
    }

    #[test]
    fn expands_tags_written_dotted_or_line_by_line() {
        let head = "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: false\n";
        let platforms = "manylinux_2_17_aarch64.manylinux2014_aarch64";
        let dotted = WheelFile::parse(format!("{head}Tag: py3-none-{platforms}\n").as_bytes());
        let lines: Vec<String> = platforms
            .split('.')
            .map(|platform| format!("Tag: py3-none-{platform}\r\n"))
            .collect();
        let lines = lines.concat();
        let lines = WheelFile::parse(format!("{head}{lines}\n").as_bytes());
        assert_eq!(dotted.clone().unwrap().tags.len(), 2);
        assert_eq!(dotted, lines);
    }

    #[test]
    fn refuses_other_format_versions_and_broken_fields() {
        let parse = |text: &str| WheelFile::parse(text.as_bytes()).unwrap_err();
        let version = |text: &str| WheelFileError::FormatVersion(text.into());
        assert_eq!(
            parse("Wheel-Version: 2.0\nRoot-Is-Purelib: true\n"),
            version("2.0")
        );
        assert_eq!(parse("Root-Is-Purelib: true\n"), version(""));
        assert_eq!(
            parse("Wheel-Version: 1.0\n"),
            WheelFileError::Purelib(String::new())
        );
        let tag = parse("Wheel-Version: 1.9\nRoot-Is-Purelib: true\nTag: py3\n");
        assert_eq!(tag, WheelFileError::Tag("py3".into()));
    }
}
