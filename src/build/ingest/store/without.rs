//! A component without some of its files: made from the cached whole one. Only the segments that held those files are
//! made anew; where segments are cut does not move. Neither the artifact nor RECORD is needed or changed.

use super::{Ingredients, Store, StoreError, Stored};
use crate::base::segments;
use crate::formats::component::{Component, Entry, EntryKind, SegmentRef, component_id};
use crate::formats::tar_entry;

impl Store {
    /// The component of `ingredients` from the whole one; see [`Ingredients::whole`].
    pub fn without(&self, whole: &Stored, ingredients: &Ingredients) -> Result<Stored, StoreError> {
        let old = &whole.component;
        check(old, &ingredients.without)?;
        let draft = self.draft(&old.name)?;
        draft.copy_from(whole)?;
        let mut segments = Vec::with_capacity(old.segments.len());
        for (number, (segment, rows)) in old.segments.iter().zip(rows(old)?).enumerate() {
            if !rows.iter().any(|row| row.left_out(ingredients)) {
                segments.push(segment.clone());
                continue;
            }
            let tar = rest(whole, number, segment, &rows, ingredients)?;
            if tar.is_empty() {
                continue;
            }
            let mut blocks = Vec::new();
            segments::encode(&ingredients.encoding, &tar, &mut blocks).map_err(|source| {
                StoreError::Segment {
                    name: old.name.clone(),
                    segment: number,
                    source,
                }
            })?;
            segments.push(draft.append(&blocks, tar.len() as u64)?);
        }
        let mut component = old.clone();
        component
            .entries
            .retain(|entry| !is_left_out(&entry.path, ingredients));
        component.key = ingredients.key();
        component.id = component_id(&component.entries);
        component.segments = segments;
        draft.keep(component)
    }
}

fn is_left_out(path: &str, ingredients: &Ingredients) -> bool {
    ingredients.without.iter().any(|p| p == path)
}

/// Each path must be a file of the component that no hard link needs.
fn check(component: &Component, without: &[String]) -> Result<(), StoreError> {
    for path in without {
        let refuse = |what| {
            Err(StoreError::Without {
                name: component.name.clone(),
                path: path.clone(),
                what,
            })
        };
        if !component.entries.iter().any(|e| e.path == *path) {
            return refuse("it has no such file");
        }
        let needed = |e: &Entry| {
            matches!(&e.kind, EntryKind::Hardlink { target } if target == path)
                && !without.contains(&e.path)
        };
        if component.entries.iter().any(needed) {
            return refuse("another file is a hard link to it");
        }
    }
    Ok(())
}

/// The part of an entry's tar bytes that lies in one segment.
struct Piece<'a> {
    entry: &'a Entry,
    bytes: u64,
}

impl Piece<'_> {
    fn left_out(&self, ingredients: &Ingredients) -> bool {
        is_left_out(&self.entry.path, ingredients)
    }
}

/// What lies in each segment, from the sizes of entries and segments.
fn rows(component: &Component) -> Result<Vec<Vec<Piece<'_>>>, StoreError> {
    let mut out = Vec::with_capacity(component.segments.len());
    let mut entries = component.entries.iter();
    let mut left: Option<Piece<'_>> = None;
    for segment in &component.segments {
        let (mut room, mut rows) = (segment.unpacked, Vec::new());
        while room > 0 {
            let piece = match left.take() {
                Some(piece) => piece,
                None => match entries.next() {
                    Some(entry) => Piece {
                        entry,
                        bytes: span(component, entry)?,
                    },
                    None => break,
                },
            };
            let bytes = piece.bytes.min(room);
            room -= bytes;
            if bytes < piece.bytes {
                left = Some(Piece {
                    bytes: piece.bytes - bytes,
                    ..piece
                });
            }
            rows.push(Piece { bytes, ..piece });
        }
        out.push(rows);
    }
    Ok(out)
}

fn span(component: &Component, entry: &Entry) -> Result<u64, StoreError> {
    tar_entry::span(&entry.path, &entry.kind, entry.mode, entry.size).map_err(|source| {
        StoreError::Entry {
            name: component.name.clone(),
            source,
        }
    })
}

/// The tar bytes of a segment less those of the files left out.
fn rest(
    whole: &Stored,
    number: usize,
    segment: &SegmentRef,
    rows: &[Piece<'_>],
    ingredients: &Ingredients,
) -> Result<Vec<u8>, StoreError> {
    let damaged = |source| StoreError::Segment {
        name: whole.component.name.clone(),
        segment: number,
        source,
    };
    if rows.iter().all(|row| row.left_out(ingredients)) {
        return Ok(Vec::new());
    }
    let (mut blocks, mut tar) = (Vec::new(), Vec::new());
    whole.read_segment(number, &mut blocks)?;
    segments::decode_segment(&blocks, segment.unpacked, &mut tar).map_err(damaged)?;
    let (mut out, mut rest) = (Vec::with_capacity(tar.len()), &tar[..]);
    for row in rows {
        let Some((bytes, behind)) = rest.split_at_checked(row.bytes as usize) else {
            break;
        };
        if !row.left_out(ingredients) {
            out.extend_from_slice(bytes);
        }
        rest = behind;
    }
    Ok(out)
}
