//! [`draw_rgb`]: who owns what, as pixels.

use super::segments::{Segment, pieces_of};
use super::{Owner, owner, planes};
use crate::Distribution;

/// Height of the strip that a 1-D distribution is drawn as, in pixels.
const STRIP: usize = 32;

/// A picture, three bytes a pixel (red, green, blue), row by row from the top.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Raster {
    /// Pixels across, at least 1.
    pub width: usize,
    /// Pixels down, at least 1.
    pub height: usize,
    /// `3 * width * height` bytes.
    pub pixels: Vec<u8>,
}

/// The owner of every element of a 1-D or 2-D distribution in the colours of `draw_svg`, the longer side
/// `longest` pixels or a little less; `None` for other numbers of dimensions. Elements are squares; of a large array one pixel
/// stands for several, grey where they have not all the same one owner.
///
/// ```
/// use dist_maps::{Distribution, draw_rgb};
/// let d = Distribution::over(2).shape([2, 3]).cyclic(1).build()?;
/// let picture = draw_rgb(&d, 6).unwrap(); // 2 x 2 pixels an element
/// assert_eq!((picture.width, picture.height), (6, 4));
/// assert_eq!(picture.pixels[0..3], picture.pixels[4 * 3..5 * 3]); // columns 0 and 2
/// assert_ne!(picture.pixels[0..3], picture.pixels[2 * 3..3 * 3]); // columns 0 and 1
/// # Ok::<(), dist_maps::MapError>(())
/// ```
#[must_use]
pub fn draw_rgb(d: &Distribution, longest: u16) -> Option<Raster> {
    let most = u64::from(longest.max(1));
    let extent = d.global_shape().iter().copied().max().unwrap_or(0);
    let step = extent.div_ceil(most).max(1);
    let (rows, columns) = planes(d, |d, axis| pieces_of(&d.axes()[axis], step))?;
    if rows.is_empty() || columns.is_empty() {
        return Some(Raster {
            width: 1,
            height: 1,
            pixels: colour(Owner::Nobody).to_vec(),
        });
    }
    let scale = usize::from(longest.max(1)) / rows.len().max(columns.len());
    let scale = scale.max(1);
    let down = if d.ndim() == 1 { STRIP } else { scale };
    let mut pixels = Vec::new();
    for row in &rows {
        let line = line(d, row, &columns, scale);
        for _ in 0..down {
            pixels.extend_from_slice(&line);
        }
    }
    Some(Raster {
        width: columns.len() * scale,
        height: rows.len() * down,
        pixels,
    })
}

fn line(d: &Distribution, row: &Segment, columns: &[Segment], scale: usize) -> Vec<u8> {
    let colours = columns.iter().map(|column| colour(owner(d, row, column)));
    colours
        .flat_map(|colour| std::iter::repeat_n(colour, scale))
        .flatten()
        .collect()
}

/// The colours of `draw_svg`.
fn colour(owner: Owner) -> [u8; 3] {
    match owner {
        Owner::Rank(rank) => {
            // hue in degrees, lightness in thousandths; the saturation is 62 %
            let hue = u32::try_from(rank % 360 * 137 % 360).unwrap_or(0);
            let lightness = [520, 620, 720][rank % 3];
            hsl(hue, lightness)
        }
        Owner::Several => [0xbb; 3],
        Owner::Nobody => [0xee; 3],
    }
}

fn hsl(hue: u32, lightness: u32) -> [u8; 3] {
    let chroma = (1000 - (2 * lightness).abs_diff(1000)) * 62 / 100;
    let second = chroma * (60 - (hue % 120).abs_diff(60)) / 60;
    let parts = match hue / 60 {
        0 => [chroma, second, 0],
        1 => [second, chroma, 0],
        2 => [0, chroma, second],
        3 => [0, second, chroma],
        4 => [second, 0, chroma],
        _ => [chroma, 0, second],
    };
    let least = lightness - chroma / 2;
    parts.map(|part| u8::try_from((part + least) * 255 / 1000).unwrap_or(u8::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hues_are_those_of_css() {
        // hsl(0,62%,52%), hsl(137,62%,62%), hsl(274,62%,72%) within the rounding of thousandths
        for (rank, css) in [
            (0, [209, 57, 57]),
            (1, [98, 218, 132]),
            (2, [190, 139, 228]),
        ] {
            let found = colour(Owner::Rank(rank));
            let near = found.iter().zip(css).all(|(&a, b)| a.abs_diff(b) <= 2);
            assert!(near, "rank {rank}: {found:?}, not {css:?}");
        }
        assert_eq!(colour(Owner::Rank(360 * 3)), colour(Owner::Rank(0)));
    }

    #[test]
    fn every_size_has_a_picture() {
        let size = |d: Distribution, longest: u16| {
            let picture = draw_rgb(&d, longest).unwrap();
            assert_eq!(picture.pixels.len(), 3 * picture.width * picture.height);
            (picture.width, picture.height)
        };
        let over = |shape: &[u64]| Distribution::over(4).shape(shape).block(0).build().unwrap();
        assert_eq!(size(over(&[8]), 64), (64, STRIP));
        assert_eq!(size(over(&[4, 8]), 64), (64, 32));
        assert_eq!(size(over(&[1 << 40, 1 << 39]), 64), (32, 64));
        assert_eq!(size(over(&[1 << 40, 2]), 64), (1, 64));
        assert_eq!(size(over(&[0, 3]), 64), (1, 1));
        assert_eq!(size(over(&[3, 2]), 0), (1, 1));
        let d = Distribution::over(2).shape([2, 2, 2]).block(0).build();
        assert_eq!(draw_rgb(&d.unwrap(), 64), None);
        let d = Distribution::over(2).shape([]).build().unwrap();
        assert_eq!(draw_rgb(&d, 64), None);
    }

    #[test]
    fn a_pixel_of_several_owners_is_grey() {
        let d = Distribution::over(2)
            .shape([100])
            .cyclic(0)
            .build()
            .unwrap();
        let picture = draw_rgb(&d, 10).unwrap();
        assert!(picture.pixels.iter().all(|&byte| byte == 0xbb));
        let d = Distribution::over(2).shape([100]).block(0).build().unwrap();
        let picture = draw_rgb(&d, 10).unwrap();
        assert_eq!(picture.pixels[..15], colour(Owner::Rank(0)).repeat(5));
        assert_eq!(picture.pixels[15..30], colour(Owner::Rank(1)).repeat(5));
    }
}
