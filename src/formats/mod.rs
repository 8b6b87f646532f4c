//! Bytes in, types out: no paths on disk, no network.

pub mod bundle;
pub mod bundle_reader;
pub mod compare;
pub mod component;
pub mod distribution;
pub mod driver;
pub mod elf;
pub mod evidence;
pub mod fatbin;
pub mod floor;
pub mod index;
pub mod launcher;
pub mod manifest;
pub mod metadata;
pub mod pylock;
pub mod record;
pub mod recorded;
pub mod segment_table;
pub mod simple_index;
pub mod tags;
pub mod tail;
pub mod tar_entry;
pub mod tar_reader;
pub mod wheel;
pub mod wheelhouse;
