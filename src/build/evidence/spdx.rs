//! Licences as SPDX expressions (SPDX specification, annex on licence expressions): told apart from free text, so that a bill of
//! materials claims an expression only where it is one.

/// Identifiers that wheels really use.
const KNOWN: &[&str] = &[
    "0BSD",
    "Apache-2.0",
    "Artistic-2.0",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "BSL-1.0",
    "CC0-1.0",
    "CC-BY-4.0",
    "CNRI-Python",
    "EPL-2.0",
    "GPL-2.0-only",
    "GPL-2.0-or-later",
    "GPL-3.0-only",
    "GPL-3.0-or-later",
    "HPND",
    "ISC",
    "LGPL-2.1-only",
    "LGPL-2.1-or-later",
    "LGPL-3.0-only",
    "LGPL-3.0-or-later",
    "MIT",
    "MIT-0",
    "MIT-CMU",
    "MPL-2.0",
    "NCSA",
    "OFL-1.1",
    "PSF-2.0",
    "Python-2.0",
    "Python-2.0.1",
    "SSPL-1.0",
    "Unicode-3.0",
    "Unicode-DFS-2016",
    "Unlicense",
    "WTFPL",
    "X11",
    "Zlib",
    "ZPL-2.1",
    "LLVM-exception",
    "GCC-exception-3.1",
    "Classpath-exception-2.0",
    "Bison-exception-2.2",
];

/// True where every word of a text is a known identifier, an operator, or a reference.
pub(super) fn is_expression(text: &str) -> bool {
    let spaced = text.replace(['(', ')'], " ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut wants_name = true;
    for word in &words {
        let is_operator = matches!(*word, "AND" | "OR" | "WITH");
        let is_name =
            word.starts_with("LicenseRef-") || KNOWN.contains(&word.trim_end_matches('+'));
        if wants_name != is_name || is_operator == wants_name {
            return false;
        }
        wants_name = !wants_name;
    }
    !words.is_empty() && !wants_name && balanced(text)
}

fn balanced(text: &str) -> bool {
    let mut depth = 0i32;
    for c in text.chars() {
        depth += match c {
            '(' => 1,
            ')' => -1,
            _ => 0,
        };
        if depth < 0 {
            return false;
        }
    }
    depth == 0
}

#[cfg(test)]
mod tests {
    use super::is_expression;

    #[test]
    fn tells_expressions_from_words() {
        for text in [
            "MIT",
            "Apache-2.0 OR MIT",
            "(BSD-3-Clause AND Zlib)",
            "GPL-3.0-or-later WITH GCC-exception-3.1",
            "LicenseRef-X",
        ] {
            assert!(is_expression(text), "{text}");
        }
        for text in [
            "",
            "BSD",
            "MIT License",
            "MIT OR",
            "OR MIT",
            "MIT MIT",
            "(MIT",
            "MIT)(",
            "Apache Software License",
        ] {
            assert!(!is_expression(text), "{text}");
        }
    }
}
