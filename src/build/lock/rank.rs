//! Which of a version's wheels an installer picks for a target: the order of PEP 425 tags that interpreters prefer.

use std::cmp::Reverse;

use crate::base::python::PythonMinor;
use crate::base::target::Arch;
use crate::formats::tags::{Compatibility, Tag};
use crate::formats::wheel::WheelName;

/// The newest glibc whose manylinux wheels are taken: 2.28.
const GLIBC_MINOR: u16 = 28;

/// What a target's interpreter runs.
pub fn compatibility(arch: Arch, python: PythonMinor) -> Compatibility {
    Compatibility {
        python_minor: python.minor.into(),
        arch,
        glibc_minor: GLIBC_MINOR,
    }
}

/// A place in the order of fitting wheels: less is better.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rank {
    tag: (u8, u8, u16),
    build: Reverse<Option<(u64, String)>>,
}

/// How well a wheel fits: the place of its best tag; none if it does not fit. Of two wheels that fit alike, the one with
/// the higher build tag is better.
pub fn rank(wheel: &WheelName, arch: Arch, python: PythonMinor) -> Option<Rank> {
    let compatibility = compatibility(arch, python);
    let best = wheel
        .tags
        .iter()
        .filter(|tag| compatibility.accepts(tag))
        .map(|tag| place(tag, arch, python))
        .min()?;
    let build = wheel.build.as_deref().map(|text| {
        let end = text.find(|c: char| !c.is_ascii_digit());
        let (number, rest) = text.split_at(end.unwrap_or(text.len()));
        (number.parse().unwrap_or(u64::MAX), rest.to_owned())
    });
    Some(Rank {
        tag: best,
        build: Reverse(build),
    })
}

/// Class, age of the Python tag, age of the platform tag, of a tag that is accepted.
fn place(tag: &Tag, arch: Arch, python: PythonMinor) -> (u8, u8, u16) {
    let native = tag.platform != "any";
    let age = |digits: &str| -> Option<u8> {
        let minor = digits.strip_prefix(&python.major.to_string())?;
        python.minor.checked_sub(minor.parse().ok()?)
    };
    let own = tag.python == python.tag();
    let (class, age) = match tag.abi.as_str() {
        "abi3" => match tag.python.strip_prefix("cp").and_then(age) {
            Some(0) => (1, 0),
            other => (3, other.unwrap_or(u8::MAX)),
        },
        "none" if own => (if native { 2 } else { 5 }, 0),
        "none" => {
            let digits = tag.python.strip_prefix("py").unwrap_or_default();
            // `py312`, then `py3`, then `py311` and older.
            let age = match age(digits) {
                Some(0) => 0,
                Some(older) => older.saturating_add(1),
                None => 1,
            };
            (if native { 4 } else { 6 }, age)
        }
        _ => (0, 0),
    };
    (
        class,
        age,
        if native {
            platform_age(&tag.platform, arch)
        } else {
            0
        },
    )
}

/// Steps below the newest glibc that is taken; an old alias stands right behind the tag it means.
fn platform_age(platform: &str, arch: Arch) -> u16 {
    let kind = platform
        .strip_suffix(arch.machine())
        .and_then(|rest| rest.strip_suffix('_'))
        .unwrap_or_default();
    let (minor, alias) = match kind {
        "manylinux2014" => (17, 1),
        "manylinux2010" => (12, 1),
        "manylinux1" => (5, 1),
        _ => match kind.strip_prefix("manylinux_2_").map(str::parse::<u16>) {
            Some(Ok(minor)) => (minor, 0),
            _ => return u16::MAX,
        },
    };
    GLIBC_MINOR.saturating_sub(minor) * 2 + alias
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_better_of_two_wheels_is_the_one_interpreters_prefer() {
        let order = [
            "a-1-2-cp312-cp312-manylinux_2_28_x86_64.whl",
            "a-1-1-cp312-cp312-manylinux_2_28_x86_64.whl",
            "a-1-cp312-cp312-manylinux_2_28_x86_64.whl",
            "a-1-cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
            "a-1-cp312-cp312-manylinux2014_x86_64.whl",
            "a-1-cp312-cp312-linux_x86_64.whl",
            "a-1-cp312-abi3-manylinux1_x86_64.whl",
            "a-1-cp312-none-manylinux_2_28_x86_64.whl",
            "a-1-cp311-abi3-manylinux_2_28_x86_64.whl",
            "a-1-cp39-abi3-manylinux_2_28_x86_64.whl",
            "a-1-py312-none-manylinux_2_28_x86_64.whl",
            "a-1-py3-none-manylinux_2_28_x86_64.whl",
            "a-1-py311-none-manylinux_2_28_x86_64.whl",
            "a-1-cp312-none-any.whl",
            "a-1-py312-none-any.whl",
            "a-1-py3-none-any.whl",
            "a-1-py30-none-any.whl",
        ];
        let python = "3.12".parse().unwrap();
        let of = |file: &str| rank(&file.parse().unwrap(), Arch::Amd64, python);
        let ranks: Vec<Rank> = order.iter().map(|file| of(file).unwrap()).collect();
        assert!(ranks.is_sorted_by(|a, b| a < b), "{ranks:#?}");
        for file in [
            "a-1-cp312-cp312-manylinux_2_31_x86_64.whl",
            "a-1-cp312-cp312-manylinux_2_17_aarch64.whl",
        ] {
            assert!(of(file).is_none(), "{file}");
        }
    }
}
