//! Version specifiers (PEP 440), with short versions compared as the standard says.

use pep440_rs::{Operator, Version, VersionSpecifier, VersionSpecifiers};

/// Whether a version fulfils all specifiers.
///
/// `==0.10.*` compares the release numbers one by one and `0` counts as `0.0`; `pep440_rs` stops at the shorter of the two
/// and lets `0.dev3` through. So the version is lengthened with zeros, which changes nothing else.
pub fn contain(specifiers: &VersionSpecifiers, version: &Version) -> bool {
    let longest = specifiers.iter().map(|s| s.version().release().len()).max();
    let release = version.release();
    let padded = longest.is_some_and(|n| n > release.len()).then(|| {
        let zeros = std::iter::repeat_n(0, longest.unwrap_or(0) - release.len());
        let numbers: Vec<u64> = release.iter().copied().chain(zeros).collect();
        version.clone().with_release(numbers)
    });
    specifiers
        .iter()
        .all(|specifier| match specifier.operator() {
            Operator::ExactEqual => specifier.contains(version),
            Operator::LessThan => is_below(specifier, version),
            _ => specifier.contains(padded.as_ref().unwrap_or(version)),
        })
}

/// `<V` leaves out V's own pre-releases unless V is one, and no others: `0b2` is below `0.post1`.
fn is_below(specifier: &VersionSpecifier, version: &Version) -> bool {
    let limit = specifier.version();
    if limit.any_prerelease() {
        version < limit
    } else {
        *version < limit.clone().with_dev(Some(0))
    }
}
