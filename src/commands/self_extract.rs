//! `bundler self-extract`: a finished bundle as one file that unpacks itself.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::{Answer, Failure, Outcome, bundles, report, terminal};
use crate::base::digest::Digest;
use crate::base::fs;
use crate::base::progress::Progress;
use crate::base::target::Arch;
use crate::build::self_extract::{SelfExtractRequest, self_extract, unfit};
use crate::cli::{Global, SelfExtractArgs};

/// What was written.
#[derive(Debug, Serialize)]
pub struct Written {
    file: PathBuf,
    size: u64,
    sha256: Digest,
    /// The program in it; without one, hosts need zstd and tar.
    #[serde(skip_serializing_if = "Option::is_none")]
    program: Option<PathBuf>,
}

#[derive(Serialize)]
struct Said {
    schema_version: u32,
    #[serde(flatten)]
    written: Written,
}

/// Runs it.
pub fn run(args: &SelfExtractArgs, global: &Global) -> Answer {
    let progress = terminal::progress(global);
    let arch = bundles::side(&args.bundle)?
        .bundle
        .facts
        .target
        .target()
        .arch;
    let program = args.program.as_deref();
    let written = write(&args.bundle, arch, args.out.as_deref(), program, &progress)?;
    let said = Said {
        schema_version: 1,
        written,
    };
    report::answer(global, &said, |said| text(&said.written))?;
    Ok(Outcome::Done)
}

/// Writes the file for a bundle of `arch`: beside it unless `out` is given, with the program that is given or at hand.
pub fn write(
    bundle: &Path,
    arch: Arch,
    out: Option<&Path>,
    program: Option<&Path>,
    progress: &Progress,
) -> Result<Written, Failure> {
    let out = match out {
        Some(out) => out.to_owned(),
        None => beside(bundle),
    };
    let found = match program {
        Some(program) => Some(program.to_owned()),
        None => at_hand(arch)?,
    };
    let request = SelfExtractRequest {
        bundle,
        program: found.as_deref(),
        out: &std::path::absolute(out)?,
    };
    let made = self_extract(&request, progress)?;
    Ok(Written {
        file: made.path,
        size: made.size,
        sha256: made.sha256,
        program: made.program,
    })
}

/// `x.run` for `x.tar.zst`.
fn beside(bundle: &Path) -> PathBuf {
    let name = bundle.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.strip_suffix(".tar.zst").unwrap_or(&name);
    bundle.with_file_name(format!("{stem}.run"))
}

/// This program, or the one for `arch` that stands beside it under the name that `release/build` gives.
fn at_hand(arch: Arch) -> Result<Option<PathBuf>, Failure> {
    let Ok(own) = std::env::current_exe() else {
        return Ok(None);
    };
    let name = match arch {
        Arch::Amd64 => "bundler-x86_64",
        Arch::Arm64 => "bundler-aarch64",
    };
    for candidate in [own.with_file_name(name), own] {
        if fs::metadata(&candidate)?.is_some() && unfit(&candidate, arch)?.is_none() {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

/// The same for people.
pub fn text(written: &Written) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", written.file.display());
    let carries = match &written.program {
        Some(program) => format!("carries {}", program.display()),
        None => {
            "carries no program: hosts need zstd and tar (--program FILE puts one in)".to_owned()
        }
    };
    let _ = writeln!(out, "  {} packed, {carries}", report::size(written.size));
    let _ = writeln!(out, "  sha256 {}", written.sha256);
    out
}
