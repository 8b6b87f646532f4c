//! Files that are code themselves: a cubin, or PTX as text. They look like a container with one entry.

use super::kernels::of_ptx;
use super::shape::{Code, Kind, Shape, Suffix};
use crate::formats::elf;

/// PTX names its version within so many bytes, after a comment.
const HEAD: usize = 4096;

/// True for PTX as text.
pub fn is_ptx(bytes: &[u8]) -> bool {
    let head = bytes.get(..HEAD.min(bytes.len())).unwrap_or_default();
    let Ok(text) = std::str::from_utf8(head)
        .or_else(|e| std::str::from_utf8(head.get(..e.valid_up_to()).unwrap_or_default()))
    else {
        return false;
    };
    let has = |word: &str| text.lines().any(|l| l.trim_start().starts_with(word));
    has(".version ") && has(".target ")
}

/// The shape of a file that is a cubin or PTX.
pub(super) fn shape(bytes: &[u8]) -> Option<Shape> {
    let code = if is_ptx(bytes) {
        ptx(bytes)?
    } else {
        cubin(bytes)?
    };
    Some(Shape {
        section: String::new(),
        code: vec![(code, 1)],
        empty: false,
        containers: 1,
    })
}

fn ptx(bytes: &[u8]) -> Option<Code> {
    let said = of_ptx(bytes);
    let target = said.ptx_target?;
    let target = target.split(',').next()?.trim().strip_prefix("sm_")?;
    let digits = target.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let isa = said
        .ptx_version
        .as_deref()
        .and_then(|v| v.trim().split_once('.'));
    Some(Code {
        kind: Kind::Ptx,
        arch: digits.parse().ok()?,
        suffix: match target.get(digits.len()..)? {
            "a" => Suffix::A,
            "f" => Suffix::F,
            _ => Suffix::Plain,
        },
        isa: isa.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?))),
        obfuscated: false,
    })
}

/// A cubin tells its architecture in its flags, whose form depends on its ABI version; not reliably its suffix.
fn cubin(bytes: &[u8]) -> Option<Code> {
    let half = |at: usize| Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?));
    if !elf::is_elf(bytes) || half(18)? != elf::MACHINE_CUDA {
        return None;
    }
    let flags = u32::from_le_bytes(bytes.get(48..52)?.try_into().ok()?);
    let (arch, is_a) = match *bytes.get(8)? {
        8.. => ((flags >> 8) & 0xff, flags & 0x8 != 0),
        _ => (flags & 0xff, flags & 0x800 != 0),
    };
    Some(Code {
        kind: Kind::Sass,
        arch: arch as u16,
        suffix: if is_a { Suffix::A } else { Suffix::Plain },
        isa: None,
        obfuscated: false,
    })
}
