//! RECORD: the list of a distribution's files with their digests. CSV rows `path,sha256=<urlsafe base64, no padding>,size`.
//! Reading is strict: each path once, sha256 in exactly the form of the specification; only RECORD itself and its
//! signatures may stand without a digest. Writing is deterministic: rows in the order given, RECORD last.

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
