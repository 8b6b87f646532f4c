//! Compatibility tags (`cp312-abi3-manylinux_2_17_x86_64`): reads them, expands dotted sets, and says which ones a CPython
//! of a minor version runs on a glibc Linux of an architecture. Follows the platform compatibility tags specification and
//! agrees with Python's `packaging` (see the table in the tests); free-threaded builds and musl are not among the targets.

use std::fmt;

use crate::base::target::Arch;

/// One tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag {
    /// `py3`, `cp312` …
    pub python: String,
    /// `none`, `abi3`, `cp312` …
    pub abi: String,
    /// `any`, `linux_x86_64`, `manylinux_2_28_x86_64` …
    pub platform: String,
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.python, self.abi, self.platform)
    }
}

/// Most tags one dotted set may stand for.
const MOST_TAGS: usize = 1000;

/// Expands `py2.py3-none-any` to its single tags, in lower case, in the order written. `None` if it is no tag set.
pub fn expand(text: &str) -> Option<Vec<Tag>> {
    let text = text.to_ascii_lowercase();
    let sets: Vec<Vec<&str>> = text
        .split('-')
        .map(|set| set.split('.').collect())
        .collect();
    let [pythons, abis, platforms] = sets.as_slice() else {
        return None;
    };
    let words = sets.iter().flatten();
    if words.clone().any(|word| !is_word(word))
        || pythons.len() * abis.len() * platforms.len() > MOST_TAGS
    {
        return None;
    }
    let mut tags = Vec::new();
    for python in pythons {
        for abi in abis {
            for platform in platforms {
                tags.push(Tag {
                    python: (*python).to_owned(),
                    abi: (*abi).to_owned(),
                    platform: (*platform).to_owned(),
                });
            }
        }
    }
    Some(tags)
}

fn is_word(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// What a bundle's interpreter runs on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Compatibility {
    /// Minor version of CPython 3.
    pub python_minor: u16,
    /// Architecture.
    pub arch: Arch,
    /// The glibc floor, 2.x: a wheel may ask for this one or an older one.
    pub glibc_minor: u16,
}

impl Compatibility {
    /// Whether a wheel with this tag runs there.
    pub fn accepts(&self, tag: &Tag) -> bool {
        let any = tag.platform == "any";
        if !any && !self.accepts_platform(&tag.platform) {
            return false;
        }
        let this = self.python_minor;
        match (Interpreter::read(&tag.python), tag.abi.as_str()) {
            (Some(Interpreter::CPython(minor)), "none") => minor == this,
            (Some(Interpreter::CPython(minor)), "abi3") => !any && (2..=this).contains(&minor),
            (Some(Interpreter::CPython(minor)), abi) => {
                !any && minor == this && abi.strip_prefix("cp3") == Some(&this.to_string())
            }
            (Some(Interpreter::Python(None)), "none") => true,
            (Some(Interpreter::Python(Some(minor))), "none") => minor <= this,
            _ => false,
        }
    }

    /// Whether one tag of a set is accepted.
    pub fn accepts_any<'a>(&self, tags: impl IntoIterator<Item = &'a Tag>) -> bool {
        tags.into_iter().any(|tag| self.accepts(tag))
    }

    fn accepts_platform(self, platform: &str) -> bool {
        let Some((system, oldest)) = platform
            .strip_suffix(self.arch.machine())
            .and_then(|system| system.strip_suffix('_'))
            .map(|system| (system, self.oldest_glibc()))
        else {
            return false;
        };
        let minor = match system {
            "linux" => return true,
            "manylinux1" if self.arch == Arch::Amd64 => 5,
            "manylinux2010" if self.arch == Arch::Amd64 => 12,
            "manylinux2014" => 17,
            other => match other.strip_prefix("manylinux_2_").and_then(number) {
                Some(minor) => minor,
                None => return false,
            },
        };
        (oldest..=self.glibc_minor).contains(&minor)
    }

    /// The oldest glibc for which manylinux tags of the architecture exist.
    fn oldest_glibc(self) -> u16 {
        match self.arch {
            Arch::Amd64 => 5,
            Arch::Arm64 => 17,
        }
    }
}

enum Interpreter {
    /// `cp3N`.
    CPython(u16),
    /// `py3`, `py3N`.
    Python(Option<u16>),
}

impl Interpreter {
    fn read(text: &str) -> Option<Self> {
        if let Some(minor) = text.strip_prefix("cp3") {
            return number(minor).map(Self::CPython);
        }
        match text.strip_prefix("py3")? {
            "" => Some(Self::Python(None)),
            minor => number(minor).map(|minor| Self::Python(Some(minor))),
        }
    }
}

/// Digits only, no leading zero.
fn number(text: &str) -> Option<u16> {
    let plain = text == "0" || !text.starts_with(['0', '+']);
    text.parse().ok().filter(|_| plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expands_dotted_sets_and_refuses_what_is_none() {
        let tags: Vec<String> = expand("py2.py3-none-any")
            .unwrap()
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(tags, ["py2-none-any", "py3-none-any"]);
        assert_eq!(expand("cp312-abi3-A.b").unwrap().len(), 2);
        for bad in [
            "",
            "py3-none",
            "py3--any",
            "py3-none-any-x",
            "py3.-none-any",
            "py3-none-a b",
        ] {
            assert_eq!(expand(bad), None, "{bad}");
        }
        let many = ["a"; 40].join(".");
        assert_eq!(expand(&format!("{many}-{many}-any")), None);
    }
}
