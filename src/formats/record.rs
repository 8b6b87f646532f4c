//! RECORD: the list of a distribution's files with their digests. CSV rows `path,sha256=<urlsafe base64, no padding>,size`.
//! Reading is strict: each path once, sha256 in exactly the form of the specification; only RECORD itself and its
//! signatures may stand without a digest. Writing is deterministic: rows in the order given, RECORD last.

use std::collections::HashSet;

use crate::base::digest::Digest;

/// One row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// Path relative to the folder that holds the dist-info folder (may begin with `../` in our own rows).
    pub path: String,
    /// Digest of the file; none only for RECORD itself.
    pub sha256: Option<Digest>,
    /// Bytes of the file.
    pub size: Option<u64>,
}

/// Why a RECORD is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// Not CSV.
    #[error("RECORD is not valid CSV: {0}")]
    Csv(String),
    /// Not three columns.
    #[error("line {line} of RECORD has {columns} columns instead of 3")]
    Columns {
        /// Counted from 1.
        line: u64,
        /// As found.
        columns: usize,
    },
    /// The same path twice.
    #[error("RECORD lists {0} twice")]
    Twice(String),
    /// No digest where one must be.
    #[error("RECORD gives no digest for {0}")]
    NoDigest(String),
    /// A digest in hexadecimal.
    #[error(
        "RECORD writes the sha256 of {0} in hexadecimal instead of urlsafe base64 without padding"
    )]
    Hex(String),
    /// A digest with `=` at its end.
    #[error("RECORD writes the sha256 of {0} with padding, which the wheel format forbids")]
    Padded(String),
    /// Another algorithm.
    #[error("RECORD gives a {algorithm} digest for {path}; only sha256 is taken")]
    Algorithm {
        /// Which file.
        path: String,
        /// Its name.
        algorithm: String,
    },
    /// Something else.
    #[error("RECORD gives {digest:?} for {path}, which is no sha256 digest")]
    Digest {
        /// Which file.
        path: String,
        /// As found, escaped.
        digest: String,
    },
    /// A size that is no number.
    #[error("RECORD gives {size:?} as the size of {path}")]
    Size {
        /// Which file.
        path: String,
        /// As found, escaped.
        size: String,
    },
}

/// Reads the RECORD of the dist-info folder `dist_info` (relative to the wheel's root).
pub fn parse(bytes: &[u8], dist_info: &str) -> Result<Vec<Row>, RecordError> {
    rows(bytes, &|path| is_exempt(path, dist_info))
}

/// Reads a RECORD that an installer wrote: rows without a digest, as for files compiled later, are taken.
pub fn parse_installed(bytes: &[u8]) -> Result<Vec<Row>, RecordError> {
    rows(bytes, &|_| true)
}

fn rows(bytes: &[u8], exempt: &dyn Fn(&str) -> bool) -> Result<Vec<Row>, RecordError> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(bytes);
    let mut rows = Vec::new();
    let mut seen = HashSet::new();
    for record in reader.records() {
        let record = record.map_err(|e| RecordError::Csv(e.to_string()))?;
        let line = record.position().map_or(0, csv::Position::line);
        let [path, digest, size] = std::array::from_fn(|column| record.get(column).unwrap_or(""));
        if record.len() != 3 {
            return Err(RecordError::Columns {
                line,
                columns: record.len(),
            });
        }
        if !seen.insert(path.to_owned()) {
            return Err(RecordError::Twice(escaped(path)));
        }
        rows.push(Row {
            sha256: read_digest(path, digest, exempt(path))?,
            size: read_size(path, size)?,
            path: path.to_owned(),
        });
    }
    Ok(rows)
}

/// RECORD itself and its signatures need no digest, and need not be listed.
pub fn is_exempt(path: &str, dist_info: &str) -> bool {
    path.strip_prefix(dist_info)
        .is_some_and(|name| matches!(name, "/RECORD" | "/RECORD.jws" | "/RECORD.p7s"))
}

fn read_digest(path: &str, text: &str, exempt: bool) -> Result<Option<Digest>, RecordError> {
    if exempt && (text.is_empty() || path.ends_with("/RECORD")) {
        return Ok(None);
    }
    let path = escaped(path);
    let Some((algorithm, value)) = text.split_once('=') else {
        return Err(match text {
            "" => RecordError::NoDigest(path),
            other => RecordError::Digest {
                path,
                digest: escaped(other),
            },
        });
    };
    if algorithm != "sha256" {
        return Err(RecordError::Algorithm {
            path,
            algorithm: escaped(algorithm),
        });
    }
    let hex = value.len() == 64 && value.bytes().all(|b| b.is_ascii_hexdigit());
    match Digest::from_record_form(value) {
        Some(digest) => Ok(Some(digest)),
        None if hex => Err(RecordError::Hex(path)),
        None if Digest::from_record_form(value.trim_end_matches('=')).is_some() => {
            Err(RecordError::Padded(path))
        }
        None => Err(RecordError::Digest {
            path,
            digest: escaped(value),
        }),
    }
}

fn read_size(path: &str, text: &str) -> Result<Option<u64>, RecordError> {
    if text.is_empty() {
        return Ok(None);
    }
    let digits = text.bytes().all(|b| b.is_ascii_digit());
    match text.parse() {
        Ok(size) if digits => Ok(Some(size)),
        _ => Err(RecordError::Size {
            path: escaped(path),
            size: escaped(text),
        }),
    }
}

fn escaped(text: &str) -> String {
    crate::base::archive::escaped(text.as_bytes())
}

/// Writes rows as bytes: those given, in their order, then RECORD itself without digest and size.
pub fn render(rows: &[Row], record_path: &str) -> Vec<u8> {
    let mut out = Vec::new();
    for row in rows {
        let digest = row.sha256.map(|d| format!("sha256={}", d.record_form()));
        let size = row.size.map(|size| size.to_string());
        push_row(
            &mut out,
            &row.path,
            &digest.unwrap_or_default(),
            &size.unwrap_or_default(),
        );
    }
    push_row(&mut out, record_path, "", "");
    out
}

/// `path` as seen from the folder `base`, both relative to the bundle's root.
pub fn relative(base: &str, path: &str) -> String {
    let (mut base, mut path) = (base.split('/').peekable(), path.split('/').peekable());
    while base.peek().is_some() && base.peek() == path.peek() {
        base.next();
        path.next();
    }
    let up = base.map(|_| "..");
    up.chain(path).collect::<Vec<_>>().join("/")
}

fn push_row(out: &mut Vec<u8>, path: &str, digest: &str, size: &str) {
    if path.contains([',', '"', '\n', '\r']) {
        out.push(b'"');
        out.extend_from_slice(path.replace('"', "\"\"").as_bytes());
        out.push(b'"');
    } else {
        out.extend_from_slice(path.as_bytes());
    }
    out.extend_from_slice(format!(",{digest},{size}\n").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "x-1.dist-info";

    fn refused(text: &str) -> RecordError {
        parse(text.as_bytes(), INFO).unwrap_err()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let row = |path: &str| Row {
            path: path.into(),
            sha256: Some(Digest::of(path.as_bytes())),
            size: Some(path.len() as u64),
        };
        let mut rows = vec![row("a, \"b\".py"), row("pkg/\u{fc}.py")];
        let bytes = render(&rows, "x-1.dist-info/RECORD");
        rows.push(Row {
            path: "x-1.dist-info/RECORD".into(),
            sha256: None,
            size: None,
        });
        assert_eq!(parse(&bytes, INFO), Ok(rows));
    }

    #[test]
    fn a_digest_in_another_form_is_not_called_a_mismatch() {
        let digest = Digest::of(b"");
        let plain = digest.record_form();
        assert_eq!(
            refused(&format!("a.py,sha256={digest},0\n")),
            RecordError::Hex("a.py".into())
        );
        assert_eq!(
            refused(&format!("a.py,sha256={plain}=,0\n")),
            RecordError::Padded("a.py".into())
        );
        assert_eq!(refused("a.py,,0\n"), RecordError::NoDigest("a.py".into()));
        assert!(matches!(
            refused("a.py,md5=x,0\n"),
            RecordError::Algorithm { .. }
        ));
        assert!(matches!(
            refused("a.py,sha256=x,0\n"),
            RecordError::Digest { .. }
        ));
        assert!(matches!(refused("a.py,x,0\n"), RecordError::Digest { .. }));
    }

    #[test]
    fn only_record_and_its_signatures_go_without_a_digest() {
        let text =
            "x-1.dist-info/RECORD,,\nx-1.dist-info/RECORD.jws,,\nx-1.dist-info/RECORD.p7s,,\n";
        assert_eq!(parse(text.as_bytes(), INFO).unwrap().len(), 3);
        let other = "y-1.dist-info/RECORD";
        assert_eq!(
            refused(&format!("{other},,\n")),
            RecordError::NoDigest(other.into())
        );
    }

    #[test]
    fn refuses_rows_that_are_none() {
        assert!(matches!(
            refused("a.py\n"),
            RecordError::Columns {
                line: 1,
                columns: 1
            }
        ));
        let row = format!("a.py,sha256={},0\n", Digest::of(b"").record_form());
        assert_eq!(refused(&row.repeat(2)), RecordError::Twice("a.py".into()));
        assert!(matches!(
            refused(&row.replace(",0", ",-1")),
            RecordError::Size { .. }
        ));
        assert!(matches!(
            parse(b"a\xff,,\n", INFO),
            Err(RecordError::Csv(_))
        ));
    }

    #[test]
    fn paths_of_record_start_at_site_packages() {
        let base = "python/lib/python3.12/site-packages";
        let inside = "python/lib/python3.12/site-packages/torch/x.py";
        assert_eq!(relative(base, inside), "torch/x.py");
        assert_eq!(
            relative(base, "python/bin/torchrun"),
            "../../../bin/torchrun"
        );
        assert_eq!(relative(base, "src/x"), "../../../../src/x");
    }

    #[test]
    fn installers_leave_out_digests_of_what_is_compiled_later() {
        let text = "x.py,,\n__pycache__/x.pyc,,\n";
        assert_eq!(parse_installed(text.as_bytes()).unwrap().len(), 2);
        assert!(parse_installed(b"x.py,md5=a,0\n").is_err());
    }
}
