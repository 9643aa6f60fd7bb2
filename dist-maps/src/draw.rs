//! Who owns what, as text, as SVG and as pixels.

mod raster;
mod segments;

use std::fmt::Write as _;

use crate::Distribution;
use segments::{Segment, cells, exact};

pub use raster::{Raster, draw_rgb};

/// Cells of the text across and down, and segments of an axis that the SVG shows one by one.
const ACROSS: u64 = 64;
const DOWN: u64 = 24;
const SHOWN: usize = 256;

/// Ranks that the legend names.
const NAMED: usize = 64;

const SYMBOLS: &[u8; 62] = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/// The owner of every element of a 1-D or 2-D distribution as a letter, with a legend: `*` where
/// several ranks own it, `.` where none does. Of a large array one letter stands for several
/// elements, `*` where they have not all the same one owner. Other numbers of dimensions give the
/// legend alone, a table of the ranks' parts.
///
/// ```
/// use dist_maps::{Distribution, draw_text};
/// let d = Distribution::over(4).shape([4, 6]).block(0).cyclic(1).build()?;
/// let text = draw_text(&d);
/// assert!(text.starts_with("4 x 6 over a grid of 2 x 2, 4 ranks\n\n010101\n010101\n232323\n232323\n"));
/// # Ok::<(), dist_maps::MapError>(())
/// ```
#[must_use]
pub fn draw_text(d: &Distribution) -> String {
    let mut text = format!("{}\n\n", title(d));
    if let Some((rows, columns)) = planes(d, |d, axis| {
        let most = if axis + 1 == d.ndim() { ACROSS } else { DOWN };
        cells(&d.axes()[axis], most)
    }) {
        for row in &rows {
            text.extend(columns.iter().map(|column| symbol(owner(d, row, column))));
            text.push('\n');
        }
        let step = |segments: &[Segment]| segments.first().map_or(1, |s| s.to - s.from);
        let (down, across) = (step(&rows), step(&columns));
        if down > 1 || across > 1 {
            let _ = writeln!(text, "\none letter: {down} x {across} elements");
        }
        text.push('\n');
    }
    for rank in (0..d.ranks()).take(NAMED) {
        let _ = writeln!(text, "{} {}", symbol(Owner::Rank(rank)), part(d, rank));
    }
    if d.ranks() > NAMED {
        let _ = writeln!(text, "and {} more ranks", d.ranks() - NAMED);
    }
    text
}

/// The owner of every element of a 1-D or 2-D distribution as a picture, a colour for each rank,
/// with a legend, grey where several ranks own it. Parts are drawn to scale; of an axis in more than
/// 256 pieces, equal cells that stand for several elements, grey where they have not all the same one
/// owner. Other numbers of dimensions give the legend alone.
///
/// ```
/// use dist_maps::{Distribution, draw_svg};
/// let d = Distribution::over(4).shape([344, 403]).block(0).block(1).build()?;
/// let svg = draw_svg(&d);
/// assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
/// # Ok::<(), dist_maps::MapError>(())
/// ```
#[must_use]
pub fn draw_svg(d: &Distribution) -> String {
    let mut body = String::new();
    let mut width = 0;
    let mut height = 24;
    let _ = writeln!(body, r#"<text x="8" y="16">{}</text>"#, title(d));
    if let Some((rows, columns)) = planes(d, |d, axis| {
        let axis = &d.axes()[axis];
        exact(axis, SHOWN).unwrap_or_else(|| cells(axis, SHOWN as u64))
    }) {
        let (across, down) = scale(&rows, &columns);
        for row in &rows {
            for column in &columns {
                let who = owner(d, row, column);
                let (x, w) = place(column, &columns, across);
                let (y, h) = place(row, &rows, down);
                let _ = writeln!(
                    body,
                    r##"<rect x="{:.2}" y="{:.2}" width="{w:.2}" height="{h:.2}" fill="{}" stroke="#fff" stroke-width="0.3"><title>{}, [{}, {}) x [{}, {})</title></rect>"##,
                    x + 8.0,
                    y + 24.0,
                    colour(who),
                    name(who),
                    row.from,
                    row.to,
                    column.from,
                    column.to,
                );
            }
        }
        width = 16 + across;
        height = 32 + down;
    }
    let mut y = 24;
    for rank in (0..d.ranks()).take(NAMED) {
        let _ = writeln!(
            body,
            r#"<rect x="{}" y="{y}" width="12" height="12" fill="{}"/><text x="{}" y="{}">{}</text>"#,
            width + 8,
            colour(Owner::Rank(rank)),
            width + 26,
            y + 10,
            part(d, rank),
        );
        y += 16;
    }
    if d.ranks() > NAMED {
        let more = d.ranks() - NAMED;
        let _ = writeln!(
            body,
            r#"<text x="{}" y="{}">and {more} more ranks</text>"#,
            width + 8,
            y + 10
        );
        y += 16;
    }
    let height = height.max(y + 8);
    let width = width + 300;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"11\">\n{body}</svg>\n"
    )
}

#[derive(Clone, Copy)]
enum Owner {
    Rank(usize),
    Several,
    Nobody,
}

/// The pieces of the vertical and of the horizontal axis; a missing vertical one is a single piece.
fn planes(
    d: &Distribution,
    pieces: impl Fn(&Distribution, usize) -> Vec<Segment>,
) -> Option<(Vec<Segment>, Vec<Segment>)> {
    match d.ndim() {
        1 => Some((vec![Segment::single()], pieces(d, 0))),
        2 => Some((pieces(d, 0), pieces(d, 1))),
        _ => None,
    }
}

fn owner(d: &Distribution, row: &Segment, column: &Segment) -> Owner {
    let coords: Result<Vec<usize>, Owner> = if d.ndim() == 1 {
        column.coord().map(|c| vec![c])
    } else {
        row.coord().and_then(|r| Ok(vec![r, column.coord()?]))
    };
    match coords {
        Ok(coords) => d.rank_at(&coords).map_or(Owner::Nobody, Owner::Rank),
        Err(who) => who,
    }
}

impl Segment {
    fn coord(&self) -> Result<usize, Owner> {
        match self.owner {
            segments::Coord::One(coord) => Ok(coord),
            segments::Coord::Several => Err(Owner::Several),
            segments::Coord::Nobody => Err(Owner::Nobody),
        }
    }
}

fn title(d: &Distribution) -> String {
    let shape = times(d.global_shape());
    let grid = times(d.grid().shape());
    format!("{shape} over a grid of {grid}, {} ranks", d.ranks())
}

fn times<T: ToString>(extents: &[T]) -> String {
    let list: Vec<String> = extents.iter().map(T::to_string).collect();
    if list.is_empty() {
        "scalar".to_owned()
    } else {
        list.join(" x ")
    }
}

fn part(d: &Distribution, rank: usize) -> String {
    match d.coords(rank) {
        None => format!("rank {rank}: inactive"),
        Some(coords) => format!(
            "rank {rank} at {coords:?}: owns {}, stores {}",
            times(&d.owned_shape(rank)),
            times(&d.local_shape(rank))
        ),
    }
}

fn symbol(owner: Owner) -> char {
    match owner {
        Owner::Rank(rank) => char::from(SYMBOLS[rank % SYMBOLS.len()]),
        Owner::Several => '*',
        Owner::Nobody => '.',
    }
}

fn name(owner: Owner) -> String {
    match owner {
        Owner::Rank(rank) => format!("rank {rank}"),
        Owner::Several => "several ranks".to_owned(),
        Owner::Nobody => "nobody".to_owned(),
    }
}

/// Hues a golden angle apart, so that neighbours differ however many there are.
fn colour(owner: Owner) -> String {
    match owner {
        Owner::Rank(rank) => format!("hsl({},62%,{}%)", rank * 137 % 360, 52 + rank % 3 * 10),
        Owner::Several => "#bbb".to_owned(),
        Owner::Nobody => "#eee".to_owned(),
    }
}

/// Width and height of the picture: the longer side 480, the shorter in proportion, at least 24.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 24 and 480"
)]
fn scale(rows: &[Segment], columns: &[Segment]) -> (u32, u32) {
    let (down, across) = (extent(rows), extent(columns));
    let longest = down.max(across);
    let side = |n: f64| (480.0 * n / longest).clamp(24.0, 480.0) as u32;
    (side(across), side(down))
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn extent(segments: &[Segment]) -> f64 {
    segments.last().map_or(1.0, |last| last.to as f64).max(1.0)
}

#[expect(clippy::cast_precision_loss, reason = "a picture")]
fn place(segment: &Segment, all: &[Segment], pixels: u32) -> (f64, f64) {
    let unit = f64::from(pixels) / extent(all);
    let length = (segment.to - segment.from) as f64;
    (segment.from as f64 * unit, length * unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(d: &Distribution) -> Vec<String> {
        draw_text(d).lines().map(str::to_owned).collect()
    }

    #[test]
    fn large_arrays_are_drawn_in_cells() {
        let d = Distribution::over(4)
            .shape([1 << 40])
            .block(0)
            .build()
            .unwrap();
        let lines = text(&d);
        let quarter = |c: &str| c.repeat(16);
        let expected = ["0", "1", "2", "3"].map(quarter).concat();
        assert_eq!(lines[2], expected);
        let d = Distribution::over(4)
            .shape([1 << 40])
            .cyclic(0)
            .build()
            .unwrap();
        assert_eq!(text(&d)[2], "*".repeat(64));
        assert!(draw_svg(&d).contains("several ranks"));
    }

    #[test]
    fn every_number_of_dimensions_and_size_0() {
        for d in [
            Distribution::over(3).shape([]).build(),
            Distribution::over(3).shape([0]).block(0).build(),
            Distribution::over(3).shape([0, 5]).block(1).build(),
            Distribution::over(8)
                .shape([2, 3, 4])
                .block(0)
                .cyclic(2)
                .build(),
            Distribution::over(100).shape([1000]).block(0).build(),
            Distribution::over(2)
                .shape([5])
                .unstructured(0, [vec![4, 0], vec![2]])
                .build(),
        ] {
            let d = d.unwrap();
            assert!(text(&d).len() >= 3);
            let svg = draw_svg(&d);
            assert_eq!(svg.matches("<rect").count(), svg.matches("fill=").count());
            assert!(!svg.contains("NaN") && !svg.contains("inf"));
        }
        let d = Distribution::over(2)
            .shape([5])
            .unstructured(0, [vec![4, 0], vec![2]]);
        assert_eq!(text(&d.build().unwrap())[2], "0.1.0");
    }

    #[test]
    fn what_several_ranks_own_is_shown_as_shared() {
        let lists = [vec![4, 0, 1], vec![2, 1]];
        let d = Distribution::over(2).shape([6]).unstructured(0, lists);
        let d = d.build().unwrap();
        assert_eq!(text(&d)[2], "0*1.0.");
        assert!(draw_svg(&d).contains("<title>several ranks, [0, 1) x [1, 2)</title>"));
        // one shared element makes a cell of many shared
        let lists = [(0..100).collect(), vec![70]];
        let d = Distribution::over(2)
            .shape([200])
            .unstructured::<Vec<i64>>(0, lists);
        let expected = ["0".repeat(17), "*".into(), "0".repeat(7), ".".repeat(25)].concat();
        assert_eq!(text(&d.build().unwrap())[2], expected);
    }
}
