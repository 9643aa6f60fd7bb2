//! Words and tables for people.

use std::fmt::Write as _;

use dap_protocol::{Order, Padding};
use dist_maps::AxisDist;
use dnpy_format::npy;

/// `4 x 6`; a word where there is no dimension.
pub(super) fn times<T: ToString>(extents: &[T]) -> String {
    if extents.is_empty() {
        return "scalar".to_owned();
    }
    let extents: Vec<String> = extents.iter().map(T::to_string).collect();
    extents.join(" x ")
}

/// `1 rank`, `2 ranks`.
pub(super) fn count(n: usize, one: &str) -> String {
    let s = if n == 1 { "" } else { "s" };
    format!("{n} {one}{s}")
}

pub(super) fn order(order: Order) -> &'static str {
    match order {
        Order::C => "C order",
        Order::Fortran => "Fortran order",
    }
}

/// Byte order, and the order of elements, of an array in a file.
pub(super) fn layout(header: &npy::Header) -> String {
    let bytes = match header.byte_order() {
        _ if header.element_type().word_size() == 1 => return order(header.order()).to_owned(),
        npy::ByteOrder::Little => "little-endian",
        npy::ByteOrder::Big => "big-endian",
    };
    format!("{bytes}, {}", order(header.order()))
}

/// How an axis is distributed.
pub(super) fn axis(axis: &AxisDist) -> String {
    let ranks = count(axis.ranks(), "rank");
    match axis {
        AxisDist::Block {
            bounds,
            padding,
            boundary,
            periodic,
            ..
        } => {
            let mut text = if axis.ranks() == 1 {
                "not distributed".to_owned()
            } else {
                let lengths: Vec<u64> = bounds.windows(2).map(|b| b[1] - b[0]).collect();
                format!("blocks over {ranks}: {}", list(&lengths))
            };
            let widest = Padding::new(
                padding.iter().map(|p| p.lower).max().unwrap_or(0),
                padding.iter().map(|p| p.upper).max().unwrap_or(0),
            );
            for (what, width) in [("padding", widest), ("boundary", *boundary)] {
                if !width.is_none() {
                    // writing to a string cannot fail
                    let _ = write!(
                        text,
                        ", {what} {} below and {} above",
                        width.lower, width.upper
                    );
                }
            }
            if *periodic {
                text.push_str(", periodic");
            }
            text
        }
        AxisDist::Cyclic { block_size: 1, .. } => format!("cyclic over {ranks}"),
        AxisDist::Cyclic { block_size, .. } => format!("blocks of {block_size} dealt to {ranks}"),
        AxisDist::Unstructured {
            indices,
            one_to_one,
            ..
        } => {
            let lengths: Vec<u64> = indices.iter().map(|list| list.len() as u64).collect();
            let shared = if *one_to_one {
                ""
            } else {
                ", some on several ranks"
            };
            format!("lists of indices on {ranks}: {}{shared}", list(&lengths))
        }
    }
}

/// Numbers, or what they lie between where they are many.
fn list(numbers: &[u64]) -> String {
    if numbers.len() <= 8 {
        let all: Vec<String> = numbers.iter().map(u64::to_string).collect();
        return all.join(", ");
    }
    let least = numbers.iter().min().copied().unwrap_or(0);
    let most = numbers.iter().max().copied().unwrap_or(0);
    if least == most {
        return format!("{least} each");
    }
    format!("{least} to {most} each")
}

/// Rows in columns, the first one the titles; numbers to the right.
pub(super) fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let numeric = |column: usize| {
        let mut cells = rows.iter().skip(1).filter_map(|row| row.get(column));
        cells.all(|cell| cell.bytes().all(|b| b.is_ascii_digit()))
    };
    let columns: Vec<(usize, bool)> = (0..columns).map(|c| (width(c), numeric(c))).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, &(width, right)) in row.iter().zip(&columns) {
            line.push_str("  ");
            // writing to a string cannot fail
            let _ = if right {
                write!(line, "{cell:>width$}")
            } else {
                write!(line, "{cell:<width$}")
            };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_in_words() {
        let block = AxisDist::block(10, 4).unwrap();
        assert_eq!(axis(&block), "blocks over 4 ranks: 3, 3, 3, 1");
        let ring = AxisDist::block(100, 10)
            .unwrap()
            .with_padding(1, 2)
            .unwrap();
        let ring = ring
            .with_boundary(1, 2)
            .unwrap()
            .with_periodic(true)
            .unwrap();
        assert_eq!(
            axis(&ring),
            "blocks over 10 ranks: 10 each, padding 1 below and 2 above, \
             boundary 1 below and 2 above, periodic"
        );
        assert_eq!(axis(&AxisDist::whole(3).unwrap()), "not distributed");
        assert_eq!(
            axis(&AxisDist::cyclic(9, 2, 1).unwrap()),
            "cyclic over 2 ranks"
        );
        assert_eq!(
            axis(&AxisDist::cyclic(9, 2, 3).unwrap()),
            "blocks of 3 dealt to 2 ranks"
        );
        let lists = AxisDist::unstructured(4, [vec![0, 1], vec![1]]).unwrap();
        assert_eq!(
            axis(&lists),
            "lists of indices on 2 ranks: 2, 1, some on several ranks"
        );
    }

    #[test]
    fn numbers_stand_to_the_right() {
        let row = |cells: [&str; 2]| cells.map(str::to_owned).to_vec();
        let rows = [row(["rank", "file"]), row(["0", "a"]), row(["12", "bcdef"])];
        assert_eq!(table(&rows), "  rank  file\n     0  a\n    12  bcdef\n");
    }
}
