//! METADATA (and the other header files of a dist-info): bytes in, headers out, strict where programs would differ. Values
//! are UTF-8; a field that may stand once and stands twice is refused. Follows the core metadata specification.

use super::distribution::DistributionFacts;

/// Why a header file is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// Not lines of `Key: value`.
    #[error("it is not a list of headers: {0}")]
    Syntax(String),
    /// Bytes that are no UTF-8.
    #[error("the value of {0} is not UTF-8")]
    NotUtf8(String),
    /// A field of which there can be one only.
    #[error("{0} stands there twice")]
    Twice(&'static str),
    /// A field that must be there.
    #[error("{0} is missing")]
    Missing(&'static str),
    /// A future format.
    #[error("its format version is {0:?}; only 1.x and 2.x are known")]
    FormatVersion(String),
}

/// The headers of a file, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Headers(Vec<(String, String)>);

impl Headers {
    /// Reads headers up to the first empty line; what follows is text.
    pub fn parse(bytes: &[u8]) -> Result<Self, MetadataError> {
        let bytes = bytes.strip_prefix("\u{feff}".as_bytes()).unwrap_or(bytes);
        let (headers, _) =
            mailparse::parse_headers(bytes).map_err(|e| MetadataError::Syntax(e.to_string()))?;
        let mut out = Vec::with_capacity(headers.len());
        for header in headers {
            let key = header.get_key();
            let value = std::str::from_utf8(header.get_value_raw())
                .map_err(|_| MetadataError::NotUtf8(key.escape_default().to_string()))?;
            out.push((key, value.trim().to_owned()));
        }
        Ok(Self(out))
    }

    /// All values of a field, in order.
    pub fn all<'a>(&'a self, key: &'a str) -> impl Iterator<Item = String> + 'a {
        self.0
            .iter()
            .filter(move |(name, _)| name.eq_ignore_ascii_case(key))
            .map(|(_, value)| value.clone())
    }

    /// The value of a field that stands at most once.
    pub fn one(&self, key: &'static str) -> Result<Option<String>, MetadataError> {
        let mut values = self.all(key);
        let first = values.next();
        match values.next() {
            Some(_) => Err(MetadataError::Twice(key)),
            None => Ok(first),
        }
    }
}

/// Longest `License` text taken for a licence's name.
const LONGEST_LICENSE: usize = 120;

/// What METADATA says: the fields of [`DistributionFacts`] that come from it (the others stay empty), and the paths of its
/// `License-File` fields, relative to the dist-info folder.
pub fn read(bytes: &[u8]) -> Result<(DistributionFacts, Vec<String>), MetadataError> {
    let headers = Headers::parse(bytes)?;
    let must = |key| match headers.one(key)? {
        Some(value) if !value.is_empty() => Ok(value),
        _ => Err(MetadataError::Missing(key)),
    };
    let format = must("Metadata-Version")?;
    if !(format.starts_with("1.") || format.starts_with("2.")) {
        return Err(MetadataError::FormatVersion(format));
    }
    let facts = DistributionFacts {
        name: must("Name")?,
        version: must("Version")?,
        requires_dist: headers.all("Requires-Dist").map(one_line).collect(),
        requires_python: headers.one("Requires-Python")?.map(one_line),
        license: license(&headers),
        ..DistributionFacts::default()
    };
    Ok((facts, headers.all("License-File").collect()))
}

/// `License-Expression`, else a short `License`, else the licence classifiers.
fn license(headers: &Headers) -> Option<String> {
    let expression = headers.all("License-Expression").find(|l| !l.is_empty());
    if expression.is_some() {
        return expression;
    }
    let short = headers.all("License").find(|l| {
        !l.is_empty() && l.len() <= LONGEST_LICENSE && !l.contains('\n') && l != "UNKNOWN"
    });
    if short.is_some() {
        return short;
    }
    let classifiers: Vec<String> = headers
        .all("Classifier")
        .filter_map(|c| {
            Some(
                c.strip_prefix("License ::")?
                    .rsplit("::")
                    .next()?
                    .trim()
                    .to_owned(),
            )
        })
        .collect();
    (!classifiers.is_empty()).then(|| classifiers.join(", "))
}

/// Folded values become one line.
fn one_line(value: String) -> String {
    if value.contains(['\r', '\n']) {
        value.split_whitespace().collect::<Vec<_>>().join(" ")
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_a_bundle_wants_to_know() {
        let text = "Metadata-Version: 2.4\nName: Foo.Bar\nVersion: 1.0+l\nLicense: a\n  long text\n  of lines\n\
            Classifier: License :: OSI Approved :: MIT License\nRequires-Dist: x (>=1) ;\n  extra == 'y'\n\
            Requires-Python: >=3.8\nLicense-File: LICENSE\nLicense-File: sub/NOTICE\nAuthor: J\u{fc}rg\n\n\
            Name: in the description\n";
        let (facts, files) = read(text.as_bytes()).unwrap();
        assert_eq!(
            (facts.name.as_str(), facts.version.as_str()),
            ("Foo.Bar", "1.0+l")
        );
        assert_eq!(facts.requires_dist, ["x (>=1) ; extra == 'y'"]);
        assert_eq!(facts.requires_python.as_deref(), Some(">=3.8"));
        assert_eq!(facts.license.as_deref(), Some("MIT License"));
        assert_eq!(files, ["LICENSE", "sub/NOTICE"]);
    }

    #[test]
    fn refuses_what_two_programs_would_read_differently() {
        let read = |text: &[u8]| read(text).unwrap_err();
        assert_eq!(
            read(b"Metadata-Version: 2.1\nName: a\nVersion: 1\nname: b\n"),
            MetadataError::Twice("Name")
        );
        assert_eq!(
            read(b"Metadata-Version: 2.1\nName: a\n"),
            MetadataError::Missing("Version")
        );
        assert_eq!(
            read(b"Name: a\nVersion: 1\n"),
            MetadataError::Missing("Metadata-Version")
        );
        assert_eq!(
            read(b"Metadata-Version: 3.0\nName: a\nVersion: 1\n"),
            MetadataError::FormatVersion("3.0".into())
        );
        assert_eq!(
            read(b"Metadata-Version: 2.1\nName: \xff\nVersion: 1\n"),
            MetadataError::NotUtf8("Name".into())
        );
        assert_eq!(
            read(b"no headers\n"),
            MetadataError::Missing("Metadata-Version")
        );
    }
}
