//! A bundle → a file that unpacks itself: a shell script, the static bundler of the bundle's architecture where there is
//! one, and the bundle as it is. Script and program are filled up to whole blocks of 4 KiB, so that `dd` reaches what is behind
//! them; the script's first lines say where everything begins, and each part's sha256.

mod cksum;

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use crate::base::digest::{Digest, Hasher};
use crate::base::fs::{self, At, Draft, File, FsError, ReadAt};
use crate::base::progress::Progress;
use crate::base::target::Arch;
use crate::formats::bundle::{Bundle, ComponentRecord};
use crate::formats::bundle_reader::{BundleReadError, BundleReader};
use crate::formats::elf;
use crate::formats::self_extracting::{ALIGN, MAGIC};

/// The script; `@NAME@`s are filled in.
const SCRIPT: &str = include_str!("script.sh.in");

/// No program is larger.
const MAX_PROGRAM: u64 = 256 << 20;

/// Bytes copied at a time.
const PIECE: usize = 1 << 20;

/// What to put into the file.
#[derive(Debug, Clone)]
pub struct SelfExtractRequest<'a> {
    /// The bundle.
    pub bundle: &'a Path,
    /// A static bundler; one that was asked for must fit.
    pub program: Option<&'a Path>,
    /// The file to write.
    pub out: &'a Path,
}

/// A file that unpacks itself.
#[derive(Debug, Clone)]
pub struct SelfExtracting {
    /// The file.
    pub path: PathBuf,
    /// Its size.
    pub size: u64,
    /// Its digest.
    pub sha256: Digest,
    /// The program in it.
    pub program: Option<PathBuf>,
}

/// Why there is no such file.
#[derive(Debug, thiserror::Error)]
pub enum SelfExtractError {
    /// A file operation failed.
    #[error("could not write the self-extracting file")]
    File(#[from] FsError),
    /// Not a bundle.
    #[error("could not read the bundle {path}", path = .path.display())]
    Bundle {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: Box<BundleReadError>,
    },
    /// A bundle without its base layer.
    #[error("{path} is a layer, not a whole bundle", path = .0.display())]
    Layer(PathBuf),
    /// A program that cannot go with the bundle.
    #[error("{path} cannot be put into the file: {what}", path = .path.display())]
    Program {
        /// The program.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
}

impl SelfExtractError {
    /// What to do about it, where that is known.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(e) => e.hint(),
            Self::Program { .. } => Some(
                "release/build makes static programs; without --program and without one at hand the file needs zstd and tar on the host"
                    .to_owned(),
            ),
            Self::Bundle { source, .. } => source.hint(),
            Self::Layer(_) => Some("name the bundle itself".to_owned()),
        }
    }
}

/// Why a file is no program for such a file, if it is none.
pub fn unfit(program: &Path, arch: Arch) -> Result<Option<String>, FsError> {
    Ok(judge(&fs::read(program, MAX_PROGRAM)?, arch))
}

fn judge(bytes: &[u8], arch: Arch) -> Option<String> {
    match elf::read(bytes) {
        Err(_) => Some("it is no program of Linux".to_owned()),
        Ok(facts) if !facts.fits(arch) => Some(format!("it is not for {arch}")),
        Ok(facts) if facts.interpreter.is_some() || !facts.needed.is_empty() => {
            Some("it is not static: it needs libraries of the host".to_owned())
        }
        Ok(_) => None,
    }
}

/// Writes the file, and its `.sha256` beside it.
pub fn self_extract(
    request: &SelfExtractRequest<'_>,
    progress: &Progress,
) -> Result<SelfExtracting, SelfExtractError> {
    let bundle = fs::open(request.bundle)?;
    let described = describe(&bundle, request.bundle)?;
    let arch = described.facts.target.target().arch;
    let program = match request.program {
        None => Vec::new(),
        Some(path) => {
            let mut bytes = fs::read(path, MAX_PROGRAM)?;
            if let Some(what) = judge(&bytes, arch) {
                let path = path.to_owned();
                return Err(SelfExtractError::Program { path, what });
            }
            bytes.resize(bytes.len().next_multiple_of(ALIGN as usize), 0);
            bytes
        }
    };
    let size = bundle.size().at("look at", request.bundle)?;
    let task = progress.task("self-extract", Some(size.saturating_mul(2)));
    let mut payload = Hasher::new();
    pieces(&bundle, request.bundle, size, |piece| {
        payload.update(piece);
        task.advance(piece.len() as u64);
        Ok(())
    })?;
    let script = script(&described, &program, size, &payload.finish());
    let mut draft = Draft::new(request.out)?;
    let mut whole = Hasher::new();
    for part in [&script, &program] {
        whole.update(part);
        draft.file().write_all(part).at("write", request.out)?;
    }
    pieces(&bundle, request.bundle, size, |piece| {
        whole.update(piece);
        task.advance(piece.len() as u64);
        draft.file().write_all(piece).at("write", request.out)
    })?;
    let sha256 = whole.finish();
    let beside = beside(request.out);
    fs::remove_file(&beside)?;
    draft.keep_program()?;
    let name = request.out.file_name().unwrap_or_default();
    let sum = format!("{sha256}  {}\n", name.to_string_lossy());
    fs::write(&beside, sum.as_bytes())?;
    Ok(SelfExtracting {
        path: request.out.to_owned(),
        size: (script.len() + program.len()) as u64 + size,
        sha256,
        program: request.program.map(ToOwned::to_owned),
    })
}

fn beside(out: &Path) -> PathBuf {
    let mut name = out.as_os_str().to_owned();
    name.push(".sha256");
    PathBuf::from(name)
}

fn describe(file: &File, path: &Path) -> Result<Bundle, SelfExtractError> {
    let broken = |source| SelfExtractError::Bundle {
        path: path.to_owned(),
        source: Box::new(source),
    };
    let reader = BundleReader::open(file).map_err(broken)?;
    let bundle = reader.describe().map_err(broken)?.bundle;
    let is_here = |(number, record): (usize, &ComponentRecord)| {
        record.entries == 0 || reader.has_component(number as u32)
    };
    if bundle.components.iter().enumerate().all(is_here) {
        Ok(bundle)
    } else {
        Err(SelfExtractError::Layer(path.to_owned()))
    }
}

/// Reads `size` bytes of a file front to back.
fn pieces(
    file: &File,
    path: &Path,
    size: u64,
    mut each: impl FnMut(&[u8]) -> Result<(), FsError>,
) -> Result<(), FsError> {
    let mut buffer = vec![0; PIECE];
    let mut at = 0;
    while at < size {
        let len = (size - at).min(PIECE as u64);
        let piece = buffer.get_mut(..len as usize).unwrap_or_default();
        let read: io::Result<()> = file.read_exact_at(piece, at);
        read.at("read", path)?;
        each(piece)?;
        at += len;
    }
    Ok(())
}

/// The script, filled up with line feeds to whole blocks.
fn script(bundle: &Bundle, program: &[u8], payload_size: u64, payload: &Digest) -> Vec<u8> {
    let facts = &bundle.facts;
    let target = facts.target.target();
    let machine = match target.arch {
        Arch::Amd64 => "x86_64",
        Arch::Arm64 => "aarch64",
    };
    let without = if program.is_empty() {
        "have it installed, or take a file that carries the program which needs none"
    } else {
        "no folder was found in which the program of this file runs: set TMPDIR to one that is not mounted noexec"
    };
    // Names and versions come from a recipe: nothing of them is read by the shell.
    let plain = |text: &str| -> String {
        let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '+' | '-' | '_' | '!');
        text.chars().filter(|c| fine(*c)).collect()
    };
    let fill = |at: u64| {
        let values = [
            ("@NAME@", plain(&facts.name)),
            ("@VERSION@", plain(&facts.version)),
            ("@TARGET@", target.to_string()),
            ("@PAYLOAD_AT@", (at + program.len() as u64).to_string()),
            (
                "@PAYLOAD_FROM@",
                (at + program.len() as u64 + 1).to_string(),
            ),
            ("@PAYLOAD_SIZE@", payload_size.to_string()),
            ("@PAYLOAD_SHA256@", payload.to_string()),
            ("@PROGRAM_AT@", at.to_string()),
            ("@PROGRAM_SIZE@", program.len().to_string()),
            ("@PROGRAM_SHA256@", Digest::of(program).to_string()),
            ("@PROGRAM_CKSUM@", format!("'{}'", cksum::cksum(program))),
            ("@MACHINE@", machine.to_owned()),
            ("@WITHOUT@", without.to_owned()),
        ];
        let fill = |text: String, (name, value): &(&str, String)| text.replace(name, value);
        values.iter().fold(SCRIPT.to_owned(), fill)
    };
    // Numbers may have more digits with the length of the script: a block is more than that.
    let len = (fill(u64::MAX / 2).len() as u64).next_multiple_of(ALIGN);
    let mut out = fill(len).into_bytes();
    debug_assert!(out.starts_with(MAGIC.as_bytes()));
    out.resize(len as usize, b'\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_of_the_template_is_left() {
        let names = |text: &str| -> Vec<String> {
            let is_name = |part: &&str| {
                !part.is_empty()
                    && part
                        .chars()
                        .all(|c| c.is_ascii_uppercase() || c == '_' || c.is_ascii_digit())
            };
            text.lines()
                .flat_map(|line| line.split('@').skip(1).filter(is_name))
                .map(ToOwned::to_owned)
                .collect()
        };
        assert!(names(SCRIPT).len() > 12);
        let described = crate::formats::bundle::tests::bundle();
        let filled = script(&described, b"program", 42, &Digest::of(b"payload"));
        assert_eq!(
            names(&String::from_utf8(filled).unwrap()),
            Vec::<String>::new()
        );
    }
}
