//! Squarified treemap: rectangles whose areas are sizes and whose sides are as equal as may be (Bruls, Huizing and van Wijk,
//! "Squarified Treemaps"). Coordinates are fractions of the whole.

/// Something with a size.
#[derive(Debug, Clone, Copy)]
pub(super) struct Item {
    pub key: usize,
    pub size: u64,
}

/// Its rectangle.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tile {
    pub key: usize,
    pub size: u64,
    pub left: f64,
    pub top: f64,
    pub width: f64,
    pub height: f64,
}

/// What is left of the area, in units of the drawing.
struct Area {
    left: f64,
    top: f64,
    width: f64,
    height: f64,
}

/// Lays items (largest first) into a rectangle of these proportions; those without size get none.
#[expect(
    clippy::cast_precision_loss,
    reason = "pixels need no more than 52 bits"
)]
pub(super) fn squarify(items: &[Item], width: f64, height: f64) -> Vec<Tile> {
    let total: f64 = items.iter().map(|i| i.size as f64).sum();
    let mut out = Vec::new();
    if total <= 0.0 || width <= 0.0 || height <= 0.0 {
        return out;
    }
    let scale = width * height / total;
    let mut area = Area {
        left: 0.0,
        top: 0.0,
        width,
        height,
    };
    let mut rest: Vec<(Item, f64)> = items
        .iter()
        .filter(|i| i.size > 0)
        .map(|i| (*i, i.size as f64 * scale))
        .collect();
    rest.sort_by_key(|(item, _)| std::cmp::Reverse(item.size));
    let mut rest = rest.as_slice();
    while !rest.is_empty() {
        let side = area.width.min(area.height);
        let mut count = 1;
        while count < rest.len()
            && worst(rest.get(..=count).unwrap_or(rest), side)
                <= worst(rest.get(..count).unwrap_or(rest), side)
        {
            count += 1;
        }
        let (row, after) = rest.split_at(count);
        place(row, &mut area, &mut out);
        rest = after;
    }
    for tile in &mut out {
        tile.left /= width;
        tile.width /= width;
        tile.top /= height;
        tile.height /= height;
    }
    out
}

/// The worst proportion of a row laid along a side.
fn worst(row: &[(Item, f64)], side: f64) -> f64 {
    let sum: f64 = row.iter().map(|(_, area)| area).sum();
    let thickness = sum / side;
    let ratio = |area: &f64| {
        let length = area / thickness;
        (length / thickness).max(thickness / length)
    };
    row.iter().map(|(_, area)| ratio(area)).fold(1.0, f64::max)
}

fn place(row: &[(Item, f64)], area: &mut Area, out: &mut Vec<Tile>) {
    let sum: f64 = row.iter().map(|(_, area)| area).sum();
    let upright = area.width >= area.height;
    let side = if upright { area.height } else { area.width };
    let thickness = sum / side;
    let mut at = 0.0;
    for (item, size) in row {
        let length = size / thickness;
        let (left, top, width, height) = if upright {
            (area.left, area.top + at, thickness, length)
        } else {
            (area.left + at, area.top, length, thickness)
        };
        out.push(Tile {
            key: item.key,
            size: item.size,
            left,
            top,
            width,
            height,
        });
        at += length;
    }
    if upright {
        area.left += thickness;
        area.width -= thickness;
    } else {
        area.top += thickness;
        area.height -= thickness;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_sizes_and_nothing_overlaps() {
        let items: Vec<Item> = [600, 600, 400, 300, 200, 200, 100, 0]
            .into_iter()
            .enumerate()
            .map(|(key, size)| Item { key, size })
            .collect();
        let tiles = squarify(&items, 16.0, 9.0);
        assert_eq!(tiles.len(), 7);
        for tile in &tiles {
            #[expect(clippy::cast_precision_loss, reason = "small numbers")]
            let share = tile.size as f64 / 2400.0;
            assert!((tile.width * tile.height - share).abs() < 1e-9);
            assert!(tile.left >= -1e-9 && tile.left + tile.width <= 1.0 + 1e-9);
            assert!(tile.top >= -1e-9 && tile.top + tile.height <= 1.0 + 1e-9);
        }
        for (n, a) in tiles.iter().enumerate() {
            for b in &tiles[n + 1..] {
                let apart = a.left + a.width <= b.left + 1e-9
                    || b.left + b.width <= a.left + 1e-9
                    || a.top + a.height <= b.top + 1e-9
                    || b.top + b.height <= a.top + 1e-9;
                assert!(apart, "{a:?} {b:?}");
            }
        }
        assert!(squarify(&[], 1.0, 1.0).is_empty());
    }
}
