//! Finds every container of a file: back to back in the sections made for them, by their magic number in all other data.

use memchr::memmem::Finder;

use super::container::{Container, FatbinError, MAGIC};
use super::kernels;
use super::shape::{GpuFacts, Shapes};
use super::single;
use crate::formats::elf::{self, Section};

/// Containers begin at multiples of this.
const ALIGN: u64 = 8;
/// After so many beginnings in one section that lead nowhere its search ends: reading each can take the whole section.
const MAX_IN_VAIN: usize = 256;
/// So many faults are told.
const MAX_FAULTS: usize = 8;

/// Something found in a file.
#[derive(Debug)]
pub enum Found<'a> {
    /// A container, and the section it lies in.
    Container(&'a str, Container<'a>),
    /// A place in a section of containers where none could be read.
    Fault(FatbinError),
}

/// Calls `tell` for every container of an ELF file or of a file that is one container after another.
///
/// # Errors
/// Where the file's own structure cannot be read.
pub fn scan<'a>(bytes: &'a [u8], mut tell: impl FnMut(Found<'a>)) -> Result<(), elf::ElfError> {
    if bytes.starts_with(&MAGIC) {
        chain("", bytes, 0, &mut tell);
        return Ok(());
    }
    if !elf::is_elf(bytes) {
        return Ok(());
    }
    let finder = Finder::new(&MAGIC);
    for section in elf::sections(bytes)? {
        if is_for_containers(section.name) {
            chain(section.name, section.bytes, section.offset, &mut tell);
        } else if section.loaded && !section.executable {
            search(&finder, &section, &mut tell);
        }
    }
    Ok(())
}

impl GpuFacts {
    /// The GPU code of a file; `None` where it has none. With `look_inside`, small entries are unpacked to tell containers
    /// without kernels from others; else none counts as empty.
    pub fn read(bytes: &[u8], look_inside: bool) -> Option<Self> {
        Self::read_with(bytes, look_inside, &mut |_| {})
    }

    /// [`Self::read`], which calls `passed` with the offset behind each container.
    pub fn read_with(bytes: &[u8], look_inside: bool, passed: &mut dyn FnMut(u64)) -> Option<Self> {
        if let Some(shape) = single::shape(bytes) {
            return Some(Self {
                shapes: vec![shape],
                faults: Vec::new(),
            });
        }
        let mut shapes = Shapes::default();
        let mut faults = Vec::new();
        let read = scan(bytes, |found| match found {
            Found::Container(section, container) => {
                let empty = look_inside && kernels::is_empty(&container);
                shapes.add(section, &container, empty);
                passed(container.offset.saturating_add(container.size as u64));
            }
            Found::Fault(fault) if faults.len() < MAX_FAULTS => faults.push(fault.to_string()),
            Found::Fault(_) => {}
        });
        if let Err(error) = read {
            faults.push(error.to_string());
        }
        let facts = Self {
            shapes: shapes.finish(),
            faults,
        };
        (!facts.is_empty()).then_some(facts)
    }
}

/// Sections that hold containers and nothing else; the name may have an end of its own per module.
fn is_for_containers(name: &str) -> bool {
    name.starts_with(".nv_fatbin") || name.starts_with("__nv_relfatbin")
}

/// Containers back to back. Zero bytes between them are passed over; anything else is a fault that ends the walk.
fn chain<'a>(section: &'a str, bytes: &'a [u8], offset: u64, tell: &mut impl FnMut(Found<'a>)) {
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|r| !r.is_empty()) {
        let zeros = rest.iter().take_while(|b| **b == 0).count();
        if zeros > 0 {
            at += zeros;
            continue;
        }
        match Container::read(rest, offset.saturating_add(at as u64)) {
            Ok(container) => {
                at += container.size;
                tell(Found::Container(section, container));
            }
            Err(fault) => {
                tell(Found::Fault(fault));
                return;
            }
        }
    }
}

/// Valid containers anywhere in a section. What is none from end to end is a constant of somebody's code.
fn search<'a>(finder: &Finder<'_>, section: &Section<'a>, tell: &mut impl FnMut(Found<'a>)) {
    let (mut at, mut in_vain) = (0, 0);
    while let Some(rest) = section.bytes.get(at..) {
        let Some(step) = finder.find(rest) else {
            return;
        };
        let offset = section.offset.saturating_add((at + step) as u64);
        let here = rest.get(step..).unwrap_or_default();
        if !offset.is_multiple_of(ALIGN) {
            at += step + MAGIC.len();
            continue;
        }
        let read = Container::read(here, offset);
        let valid = read
            .ok()
            .filter(|c| !c.items.is_empty() && c.items.iter().all(|i| is_known(i.kind)));
        match valid {
            Some(container) => {
                at += step + container.size;
                tell(Found::Container(section.name, container));
            }
            None if in_vain == MAX_IN_VAIN => {
                let why = "is one of more beginnings of containers that lead nowhere than any real file has";
                tell(Found::Fault(FatbinError::Bad {
                    what: "container",
                    offset,
                    why,
                }));
                return;
            }
            None => {
                in_vain += 1;
                at += step + MAGIC.len();
            }
        }
    }
}

fn is_known(kind: u16) -> bool {
    matches!(kind, 1 | 2 | 4 | 8 | 0x10 | 0x20 | 0x40 | 0x80 | 0x100)
}
