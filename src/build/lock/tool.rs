//! uv where the machine has none: the wheel of it named here, fetched from the default index, checked by its digest, and
//! unpacked into the cache.

use std::path::PathBuf;

use super::error::ResolveError;
use crate::base::archive::Zip;
use crate::base::fs;
use crate::base::target::Arch;
use crate::build::fetch::{Fetcher, Order, Place};

/// The uv that is fetched, and its wheels: the program in them runs on any Linux.
const VERSION: &str = "0.13.9";
const WHEELS: &[(Arch, &str, &str, u64)] = &[
    (
        Arch::Amd64,
        "uv-0.13.9-py3-none-musllinux_1_1_x86_64.whl",
        "2c45530751517d6c3bbc69a19473f6effe47cce047bede01ffd8af7ea7b36b25",
        19_295_638,
    ),
    (
        Arch::Arm64,
        "uv-0.13.9-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl",
        "5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe",
        18_026_789,
    ),
];

/// The uv program in the cache, fetched from the index `alias` if it is not there yet.
pub fn fetched(fetcher: &Fetcher, alias: &str, arch: Arch) -> Result<PathBuf, ResolveError> {
    let missing = |source| ResolveError::Index {
        alias: alias.to_owned(),
        name: "uv".to_owned(),
        source: Box::new(source),
    };
    let Some((_, file, sha256, size)) = WHEELS.iter().find(|(a, ..)| *a == arch) else {
        return Err(ResolveError::NoUv);
    };
    let digest = sha256.parse().map_err(|_| ResolveError::NoUv)?;
    let program = fetcher
        .blobs()
        .cache()
        .join("tools")
        .join(format!("uv-{digest}"));
    if fs::metadata(&program).map_err(ResolveError::Fs)?.is_some() {
        return Ok(program);
    }
    let wheel = fetcher
        .one(&Order {
            label: format!("uv {VERSION}"),
            file: (*file).to_owned(),
            sha256: digest,
            size: Some(*size),
            places: vec![Place::Index {
                alias: alias.to_owned(),
                project: "uv".to_owned(),
            }],
        })
        .map_err(missing)?;
    let zip = Zip::open(wheel.path()).map_err(|e| ResolveError::BadUv(Box::new(e)))?;
    let inside = format!("uv-{VERSION}.data/scripts/uv");
    let number = zip
        .members()
        .iter()
        .position(|member| member.name == inside)
        .ok_or(ResolveError::NoUv)?;
    let mut draft = fs::Draft::new(&program).map_err(ResolveError::Fs)?;
    let mut reader = zip.reader(number);
    fs::At::at(std::io::copy(&mut reader, draft.file()), "write", &program)
        .map_err(ResolveError::Fs)?;
    draft.keep_program().map_err(ResolveError::Fs)?;
    Ok(program)
}
