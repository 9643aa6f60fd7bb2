//! The same results on one thread with `ndarray` alone: what the distributed ones are compared with. Of the crates
//! under test only the shape of the process grid is taken; who holds what is worked out here again.

use std::fs;

use ndarray::{Array2, ArrayView2, Axis, s};

use crate::{EAST_WEST, NORTH_SOUTH, Result};

/// The whole elevation model.
pub(crate) struct Terrain {
    pub(crate) elevation: Array2<i16>,
}

impl Terrain {
    /// Reads a `.npy` 1.0 file of 344 × 403 little-endian int16 in C order: 10 bytes, a header, the elements.
    pub(crate) fn read(path: &str) -> Result<Self> {
        let bytes = fs::read(path)?;
        if bytes.len() < 10 {
            return Err(format!("{path}: {} byte(s), allowed: at least 10", bytes.len()).into());
        }
        let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
        let elements = bytes[start..]
            .chunks_exact(2)
            .map(|pair| i16::from_le_bytes([pair[0], pair[1]]));
        Ok(Self {
            elevation: Array2::from_shape_vec((344, 403), elements.collect())?,
        })
    }

    /// Bytes of its elements.
    pub(crate) fn bytes(&self) -> u64 {
        2 * self.elevation.len() as u64
    }

    /// Horn's sums for all cells at once, from nine shifted copies of the terrain with its edge repeated.
    fn falls(&self) -> (Array2<f64>, Array2<f64>) {
        let (rows, columns) = self.elevation.dim();
        let wide = Array2::from_shape_fn((rows + 2, columns + 2), |(i, j)| {
            let (i, j) = (
                i.saturating_sub(1).min(rows - 1),
                j.saturating_sub(1).min(columns - 1),
            );
            f64::from(self.elevation[[i, j]])
        });
        let shifted =
            |down: usize, right: usize| wide.slice(s![down..down + rows, right..right + columns]);
        let (west, east) = (
            [shifted(0, 0), shifted(1, 0), shifted(2, 0)],
            [shifted(0, 2), shifted(1, 2), shifted(2, 2)],
        );
        let (north, south) = (
            [shifted(0, 0), shifted(0, 1), shifted(0, 2)],
            [shifted(2, 0), shifted(2, 1), shifted(2, 2)],
        );
        let weigh =
            |side: &[ArrayView2<'_, f64>; 3]| side[0].to_owned() + side[1] + side[1] + side[2];
        // Sums of whole metres are exact in f64, whatever their order: the results have the same bits.
        let to_east = (weigh(&east) - weigh(&west)) / (8.0 * EAST_WEST);
        let to_north = (weigh(&north) - weigh(&south)) / (8.0 * NORTH_SOUTH);
        (to_east, to_north)
    }

    /// Slope in degrees.
    pub(crate) fn slope(&self) -> Array2<f64> {
        let (east, north) = self.falls();
        (&east * &east + &north * &north).mapv(|steepness| steepness.sqrt().atan().to_degrees())
    }

    /// Brightness from 0 to 255 under a light from the north-west, 45° high.
    pub(crate) fn hillshade(&self) -> Array2<f32> {
        let (east, north) = self.falls();
        let half = 0.5_f64;
        let facing = (&east * half - &north * half + half.sqrt())
            / (&east * &east + &north * &north + 1.0).mapv(f64::sqrt);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the brightness is kept in single precision"
        )]
        facing.mapv(|cosine| (255.0 * cosine.max(0.0)) as f32)
    }

    /// Whether these are least, mean and greatest of elevation and slope. The mean of the slopes may differ in the last
    /// bits: it is a sum in another order.
    #[expect(clippy::float_cmp, reason = "the same bits are asked for")]
    pub(crate) fn has_statistics(
        &self,
        elevation: (i16, f64, i16),
        slope: (f64, f64, f64),
    ) -> bool {
        let sum: f64 = self.elevation.iter().copied().map(f64::from).sum();
        let count = 344.0 * 403.0;
        let slopes = self.slope();
        let least = slopes.iter().copied().fold(f64::INFINITY, f64::min);
        let greatest = slopes.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.elevation.iter().min() == Some(&elevation.0)
            && elevation.1 == sum / count
            && self.elevation.iter().max() == Some(&elevation.2)
            && slope.0 == least
            && (slope.1 - slopes.sum() / count).abs() < 1e-12
            && slope.2 == greatest
    }
}

/// Rows and columns of the whole that a rank stores.
pub(crate) type Places = (Vec<usize>, Vec<usize>);

/// Places of a rank's block, with `padding` cells of its neighbours around it.
pub(crate) fn blocks(grid: &[usize], rank: usize, padding: usize) -> Places {
    places(grid, rank, |extent, ranks, coordinate| {
        let length = extent.div_ceil(ranks);
        let (start, stop) = (
            (coordinate * length).min(extent),
            ((coordinate + 1) * length).min(extent),
        );
        (start.saturating_sub(padding)..(stop + padding).min(extent)).collect()
    })
}

/// Places of a rank when squares of `side` × `side` are dealt in turn.
pub(crate) fn squares(grid: &[usize], rank: usize, side: usize) -> Places {
    places(grid, rank, |extent, ranks, coordinate| {
        (0..extent)
            .filter(|at| at / side % ranks == coordinate)
            .collect()
    })
}

/// Places of a rank when single columns are dealt in turn.
pub(crate) fn columns(ranks: usize, rank: usize) -> Places {
    ((0..344).collect(), (rank..403).step_by(ranks).collect())
}

fn places(
    grid: &[usize],
    rank: usize,
    along: impl Fn(usize, usize, usize) -> Vec<usize>,
) -> Places {
    if rank >= grid[0] * grid[1] {
        return (Vec::new(), Vec::new());
    }
    (
        along(344, grid[0], rank / grid[1]),
        along(403, grid[1], rank % grid[1]),
    )
}

/// These rows and columns of the whole.
pub(crate) fn part<T: Clone>(whole: &Array2<T>, places: &Places) -> Array2<T> {
    whole.select(Axis(0), &places.0).select(Axis(1), &places.1)
}
