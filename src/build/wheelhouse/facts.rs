//! Gathering: names and text files of a folder or page; of a folder also what the wheels hold.

use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use super::{Content, HousedWheel, Wheelhouse};
use crate::base::archive::{ArchiveError, Zip};
use crate::base::fs::{self, FsError};
use crate::base::http::{HttpError, Request};
use crate::base::target::Arch;
use crate::build::fetch::{FetchError, Fetcher};
use crate::formats::elf;
use crate::formats::floor::DottedVersion;
use crate::formats::wheelhouse::{last_run, requirements};

/// Largest text file that is read.
const TEXT_LIMIT: u64 = 16 << 20;
/// Largest library that is read.
const LIBRARY_LIMIT: u64 = 4 << 30;

/// Libraries that belong to torch, NVIDIA or the driver: a second copy of one conflicts at run time.
const FOREIGN: &[&str] = &[
    "libtorch",
    "libc10",
    "libshm",
    "libcaffe2",
    "libgomp",
    "libcudart",
    "libnvrtc",
    "libcublas",
    "libcusparse",
    "libcurand",
    "libcufft",
    "libcusolver",
    "libnvJitLink",
    "libnvToolsExt",
    "libcudnn",
    "libnccl",
    "libcupti",
    "libnvshmem",
    "libcuda.so",
];

/// Why a wheelhouse could not be looked at.
#[derive(Debug, thiserror::Error)]
pub enum WheelhouseError {
    /// The folder.
    #[error("cannot look at the wheelhouse")]
    Folder(#[from] FsError),
    /// The page.
    #[error("cannot look at the wheelhouse {place}")]
    Page {
        /// Its address, as shown.
        place: String,
        /// Why.
        #[source]
        source: Box<FetchError>,
    },
    /// A file on it.
    #[error("cannot read {file} of the wheelhouse")]
    File {
        /// The file.
        file: String,
        /// Why.
        #[source]
        source: HttpError,
    },
}

impl WheelhouseError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Folder(e) => e.hint(),
            Self::Page { source, .. } => source.hint(),
            Self::File { source, .. } => source.hint(),
        }
    }
}

/// Looks at a folder, and into its wheels.
pub fn of_folder(folder: &Path, arch: Arch) -> Result<Wheelhouse, WheelhouseError> {
    let text = |name: &str| -> Result<Option<String>, WheelhouseError> {
        let bytes = fs::read_if_exists(&folder.join(name), TEXT_LIMIT)?;
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    };
    let mut wheels = Vec::new();
    for path in fs::list(folder)? {
        let name = path
            .file_name()
            .and_then(|n| n.to_str())
            .unwrap_or_default();
        if name.strip_suffix(".whl").is_none() {
            continue;
        }
        let content = content(&path, arch).unwrap_or_else(|error| Content {
            broken: Some(chain(&error)),
            ..Content::default()
        });
        wheels.push(HousedWheel {
            file: name.to_owned(),
            size: fs::metadata(&path)?.map(|m| m.len()),
            content: Some(content),
        });
    }
    Ok(put_together(
        folder.display().to_string(),
        wheels,
        text("manifest.txt")?,
        text("requirements-pypi.txt")?,
    ))
}

/// Looks at the page an alias points at: names and text files, not into the wheels.
pub fn of_index(
    fetcher: &Fetcher,
    alias: &str,
    place: &str,
) -> Result<Wheelhouse, WheelhouseError> {
    let rows = fetcher
        .rows(alias, "")
        .map_err(|source| WheelhouseError::Page {
            place: place.to_owned(),
            source: Box::new(source),
        })?;
    let text = |name: &str| -> Result<Option<String>, WheelhouseError> {
        let Some(row) = rows.iter().find(|row| row.file == name) else {
            return Ok(None);
        };
        let page = fetcher
            .http()
            .page(&Request::file(row.url.clone()), TEXT_LIMIT)
            .map_err(|source| WheelhouseError::File {
                file: name.to_owned(),
                source,
            })?;
        Ok(page
            .body
            .map(|body| String::from_utf8_lossy(&body).into_owned()))
    };
    let wheels = rows
        .iter()
        .filter(|row| row.file.strip_suffix(".whl").is_some())
        .map(|row| HousedWheel {
            file: row.file.clone(),
            size: row.size,
            content: None,
        })
        .collect();
    Ok(put_together(
        place.to_owned(),
        wheels,
        text("manifest.txt")?,
        text("requirements-pypi.txt")?,
    ))
}

fn put_together(
    place: String,
    mut wheels: Vec<HousedWheel>,
    manifest: Option<String>,
    needs: Option<String>,
) -> Wheelhouse {
    wheels.sort_by(|a, b| a.file.cmp(&b.file));
    let (run, earlier_runs) = manifest
        .map(|text| last_run(&text))
        .map_or((None, 0), |(run, earlier)| (Some(run), earlier));
    Wheelhouse {
        place,
        wheels,
        run,
        earlier_runs,
        requirements: needs.map(|text| requirements(&text)),
    }
}

fn content(path: &Path, arch: Arch) -> Result<Content, ArchiveError> {
    let zip = Zip::open(path)?;
    let mut out = Content::default();
    for (number, member) in zip.members().iter().enumerate() {
        let last = member.name.rsplit('/').next().unwrap_or_default();
        if member.is_dir || !last.contains(".so") || member.unpacked > LIBRARY_LIMIT {
            continue;
        }
        if FOREIGN.iter().any(|name| last.starts_with(name)) {
            out.bundled.push(member.name.clone());
        }
        let mut bytes = Vec::new();
        if let Err(error) = zip.reader(number).read_to_end(&mut bytes) {
            out.broken = Some(format!("{}: {error}", member.name));
            continue;
        }
        if !elf::is_elf(&bytes) {
            continue;
        }
        let Ok(facts) = elf::read(&bytes) else {
            out.broken = Some(format!("{}: not a readable ELF file", member.name));
            continue;
        };
        if !facts.fits(arch) && facts.machine != elf::MACHINE_CUDA {
            out.foreign.push(member.name.clone());
        }
        let versions = facts
            .version_needs
            .iter()
            .flat_map(|(_, versions)| versions);
        let glibc = versions
            .filter_map(|version| DottedVersion::from_str(version.strip_prefix("GLIBC_")?).ok())
            .max();
        if let Some(glibc) = glibc
            && out
                .glibc
                .as_ref()
                .is_none_or(|(highest, _)| glibc > *highest)
        {
            out.glibc = Some((glibc, member.name.clone()));
        }
    }
    Ok(out)
}

fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}
