//! The files of what was named on the command line: a bundle, a wheel, a folder, or one file. Files inside archives are
//! unpacked one at a time: small ones into memory, large ones into a file without a name.

use std::io::{Read, Write};
use std::path::Path;

use anyhow::Context;

use crate::base::archive::Zip;
use crate::base::fs::{self, At};
use crate::formats::bundle_reader::BundleReader;
use crate::formats::component::EntryKind;
use crate::formats::segment_table::Part;
use crate::formats::self_extracting;

/// Larger files of an archive go to a file on disk.
const IN_MEMORY: u64 = 64 << 20;
/// More bytes than needed to tell what a file is.
const HEAD: usize = 4096;

/// What is copied at once.
const PIECE: u64 = 1 << 20;

/// Calls `look` with the name and bytes of every file that may hold GPU code; large ones of an archive pass through the
/// folder `scratch`.
pub fn each(path: &Path, scratch: &Path, look: &mut dyn FnMut(&str, &[u8])) -> anyhow::Result<()> {
    if fs::metadata(path)?.is_some_and(|m| m.is_dir()) {
        return folder(path, "", look);
    }
    let file = fs::open(path)?;
    if fs::metadata(path)?.is_some_and(|m| m.len() == 0) {
        look("", &[]);
        return Ok(());
    }
    let map = fs::map(&file, path)?;
    match map.get(..4) {
        Some(b"\x28\xb5\x2f\xfd") => bundle(file),
        Some(b"#!/b") if map.starts_with(self_extracting::MAGIC.as_bytes()) => bundle(file),
        Some(b"PK\x03\x04") => return wheel(path, scratch, look),
        _ => {
            look("", &map);
            return Ok(());
        }
    }
    .and_then(|reader| components(&reader, scratch, look))
}

/// Refuses what cannot have been read: a file of another sort, or a folder without any file. "No GPU code" is an answer
/// about a file that was understood.
pub fn refuse_unknown(path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    if fs::metadata(path)?.is_some_and(|m| m.is_dir()) {
        if has_file(path)? {
            return Ok(());
        }
        anyhow::bail!("the folder {shown} holds no file");
    }
    let mut head = Vec::new();
    fs::open(path)?.take(HEAD as u64).read_to_end(&mut head)?;
    let is_archive = head.starts_with(b"PK\x03\x04")
        || head.starts_with(b"\x28\xb5\x2f\xfd")
        || head.starts_with(b"#!/b");
    if !is_archive && !may_hold_code(&path.to_string_lossy(), &head) {
        anyhow::bail!(
            "{shown} is none of what can be looked into: ELF file, cubin, fat binary, PTX (.ptx), wheel, bundle, folder"
        );
    }
    Ok(())
}

fn has_file(folder: &Path) -> anyhow::Result<bool> {
    for entry in fs::list(folder)? {
        match fs::symlink_metadata(&entry)? {
            Some(m) if m.is_dir() && has_file(&entry)? => return Ok(true),
            Some(m) if m.is_file() => return Ok(true),
            _ => {}
        }
    }
    Ok(false)
}

fn bundle(file: fs::File) -> anyhow::Result<BundleReader<fs::Window>> {
    Ok(BundleReader::open(self_extracting::payload(file))?)
}

fn folder(path: &Path, below: &str, look: &mut dyn FnMut(&str, &[u8])) -> anyhow::Result<()> {
    for entry in fs::list(path)? {
        let Some(metadata) = fs::symlink_metadata(&entry)? else {
            continue;
        };
        let name = entry
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        let name = if below.is_empty() {
            name
        } else {
            format!("{below}/{name}")
        };
        if metadata.is_dir() {
            folder(&entry, &name, look)?;
        } else if metadata.is_file() && metadata.len() > 0 {
            let file = fs::open(&entry)?;
            let map = fs::map(&file, &entry)?;
            if may_hold_code(&name, &map) {
                look(&name, &map);
            }
        }
    }
    Ok(())
}

fn wheel(path: &Path, scratch: &Path, look: &mut dyn FnMut(&str, &[u8])) -> anyhow::Result<()> {
    let zip = Zip::open(path)?;
    for (number, member) in zip.members().iter().enumerate() {
        if !member.is_dir {
            let name = &member.name;
            one(
                name,
                member.unpacked,
                &mut zip.reader(number),
                scratch,
                look,
            )
            .with_context(|| format!("could not read {name}"))?;
        }
    }
    Ok(())
}

fn components(
    reader: &BundleReader<fs::Window>,
    scratch: &Path,
    look: &mut dyn FnMut(&str, &[u8]),
) -> anyhow::Result<()> {
    for number in 0..reader.table().components.len() {
        let mut entries = reader.component(number as u32);
        if reader
            .segments_of(Part::Component(number as u32))
            .is_empty()
        {
            continue;
        }
        while let Some(entry) = entries.next_entry()? {
            if entry.kind == EntryKind::File {
                one(
                    &entry.path,
                    entry.size,
                    &mut entries.content(),
                    scratch,
                    look,
                )
                .with_context(|| format!("could not read {}", entry.path))?;
            }
        }
    }
    Ok(())
}

/// Reads one file of an archive as far as needed.
fn one(
    name: &str,
    size: u64,
    input: &mut dyn Read,
    scratch: &Path,
    look: &mut dyn FnMut(&str, &[u8]),
) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    input.take(HEAD as u64).read_to_end(&mut bytes)?;
    if !may_hold_code(name, &bytes) {
        return Ok(());
    }
    if size <= IN_MEMORY {
        input.read_to_end(&mut bytes)?;
        look(name, &bytes);
        return Ok(());
    }
    let mut file = fs::unnamed(scratch)?;
    let mut piece = bytes;
    while !piece.is_empty() {
        file.write_all(&piece).at(fs::TEMPORARY, scratch)?;
        piece.clear();
        input.take(PIECE).read_to_end(&mut piece)?;
    }
    look(name, &fs::map(&file, scratch)?);
    Ok(())
}

/// ELF files, fat binaries, and PTX by its name.
fn may_hold_code(name: &str, head: &[u8]) -> bool {
    const FATBIN: [u8; 4] = 0xBA55_ED50_u32.to_le_bytes();
    let is_ptx = Path::new(name).extension().is_some_and(|e| e == "ptx");
    head.starts_with(b"\x7fELF") || head.starts_with(&FATBIN) || is_ptx
}
