//! The slabs of the second phase: whole chunks, contiguous in the file, as equal as that allows.

use dist_maps::{AxisDist, Distribution};

use crate::{FileLayout, IoError};

/// Cuts the slowest dimension; where it has fewer chunks than there are ranks, one chunk each and the next dimension too.
pub(super) fn slabs(
    distribution: &Distribution,
    layout: &FileLayout,
) -> Result<Distribution, IoError> {
    let ranks = distribution.ranks();
    let mut left = ranks;
    let mut axes = Vec::with_capacity(distribution.ndim());
    for (axis, &size) in distribution.global_shape().iter().enumerate() {
        let step = layout.step(axis);
        let units = size.div_ceil(step).max(1);
        let parts = usize::try_from(units).map_or(left, |units| units.min(left));
        let bound = |c: usize| {
            let unit = u128::from(units) * c as u128 / parts as u128;
            let bound = (unit * u128::from(step)).min(u128::from(size));
            u64::try_from(bound).unwrap_or(size)
        };
        let bounds: Vec<u64> = (0..=parts).map(bound).collect();
        axes.push(AxisDist::block_bounds(bounds)?);
        // only what is one chunk thick may be cut further: the slabs stay contiguous
        left = if parts as u64 == units {
            left / parts
        } else {
            1
        };
    }
    let places: usize = axes.iter().map(AxisDist::ranks).product();
    let targets: Vec<usize> = (0..places).collect();
    Ok(Distribution::from_axes(axes, ranks, targets)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cuts(shape: &[u64], layout: &FileLayout, ranks: usize) -> Vec<Vec<usize>> {
        let d = Distribution::over(ranks).shape(shape).build().unwrap();
        let slabs = slabs(&d, layout).unwrap();
        (0..ranks).map(|rank| slabs.owned_shape(rank)).collect()
    }

    #[test]
    fn rows_first_then_columns_of_single_rows() {
        let whole = FileLayout::Contiguous;
        assert_eq!(cuts(&[7, 3], &whole, 3), [[2, 3], [2, 3], [3, 3]]);
        assert_eq!(
            cuts(&[2, 9], &whole, 5),
            [vec![1, 4], vec![1, 5], vec![1, 4], vec![1, 5], vec![0, 0]]
        );
        assert!(cuts(&[0, 3], &whole, 2).iter().all(|shape| shape[0] == 0));
        assert_eq!(cuts(&[], &whole, 2), [vec![], Vec::<usize>::new()]);
    }

    #[test]
    fn chunks_stay_whole() {
        let chunked = FileLayout::Chunked { chunk: vec![4, 2] };
        assert_eq!(cuts(&[10, 3], &chunked, 2), [[4, 3], [6, 3]]);
        assert_eq!(cuts(&[3, 7], &chunked, 3), [[3, 2], [3, 2], [3, 3]]);
    }
}
