//! Version specifiers (PEP 440), with short versions compared as the standard says.

use pep440_rs::{Version, VersionSpecifiers};

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
    specifiers.iter().all(|specifier| {
        let exact = matches!(specifier.operator(), pep440_rs::Operator::ExactEqual);
        specifier.contains(padded.as_ref().filter(|_| !exact).unwrap_or(version))
    })
}
