//! [`Rows`]: what each way to multiply makes, and the steps that several of them take.

use std::ops::Range;

use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution};
use ndarray::{Array1, Array2, Axis, Ix2, IxDyn, concatenate};

use crate::redistribute::moved_to;
use crate::summable::Center;
use crate::{Arithmetic, ArrayError, LocalArray, LocalArrayView};

/// Some rows of the sums of products.
pub(super) struct Rows<K> {
    pub(super) products: Array2<K>,
    /// Which rows.
    pub(super) mine: Range<usize>,
    pub(super) observations: u64,
}

/// An array as (variables, observations); nothing is copied.
pub(super) fn variables_of<K: Center, C: Communicator + Clone>(
    set: &LocalArray<K, IxDyn, C>,
    rowvar: bool,
) -> Result<LocalArrayView<'_, K, Ix2, C>, ArrayError> {
    let ndim = set.ndim();
    let Some(lead) = 2_usize.checked_sub(ndim) else {
        return Err(ArrayError::Shape {
            what: "an array of variables",
            given: set.global_shape().to_vec(),
            allowed: "at most two dimensions".to_owned(),
        });
    };
    let turned = if rowvar || ndim < 2 {
        set.view_of()
    } else {
        set.permuted(&[1, 0])?
    };
    turned.with_axes(&vec![0; lead])?.into_dimensionality()
}

/// What this rank gets of a set in another distribution of (variables, observations).
pub(super) fn moved<K: Center, C: Communicator + Clone>(
    set: &LocalArrayView<'_, K, Ix2, C>,
    axes: &[AxisDist; 2],
) -> Result<Array2<K>, ArrayError> {
    let ranks = set.comm.size();
    let distribution =
        Distribution::from_axes(axes.to_vec(), ranks, (0..ranks).collect::<Vec<_>>())?;
    Ok(moved_to(set, &distribution)?.into_local())
}

/// Takes the mean of each row from it.
pub(super) fn center<K: Center>(rows: &mut Array2<K>, sums: &Array1<K>, count: u64) {
    #[expect(clippy::cast_precision_loss, reason = "a count as a float")]
    let factor = (count as f64).recip();
    for (mut row, &sum) in rows.outer_iter_mut().zip(sums) {
        let mean = sum.scaled(factor);
        row.mapv_inplace(|x| Arithmetic::minus(x, mean));
    }
}

pub(super) fn sums_of<K: Center>(rows: &Array2<K>) -> Array1<K> {
    rows.outer_iter()
        .map(|row| match row.as_slice() {
            Some(row) => crate::reduction::pairwise(row, K::NOTHING, K::plus),
            None => row.iter().copied().fold(K::NOTHING, K::plus),
        })
        .collect()
}

pub(super) fn times_conjugate<K: Center>(a: &Array2<K>, b: &Array2<K>) -> Array2<K> {
    a.dot(&b.t().mapv(K::conjugate))
}

/// The ends of the blocks of rows of each rank.
pub(super) fn block(variables: u64, ranks: usize, rank: usize) -> Result<Range<usize>, ArrayError> {
    let range = AxisDist::block_balanced(variables, ranks)?
        .owned_range(rank)
        .unwrap_or(0..0);
    let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    Ok(index(range.start)..index(range.end))
}

/// Some of the observations of all variables on each rank.
pub(super) fn dealt<K: Center, C: Communicator + Clone>(
    sets: &[LocalArrayView<'_, K, Ix2, C>],
    n: u64,
    ranks: usize,
) -> Result<Array2<K>, ArrayError> {
    let parts = sets.iter().map(|set| {
        let rows = AxisDist::whole(set.global_shape()[0])?;
        moved(set, &[rows, AxisDist::block_balanced(n, ranks)?])
    });
    joined(&parts.collect::<Result<Vec<_>, ArrayError>>()?)
}

/// The variables of all sets, in C order.
pub(super) fn joined<K: Center>(parts: &[Array2<K>]) -> Result<Array2<K>, ArrayError> {
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    let joined = concatenate(Axis(0), &views).map_err(|_| ArrayError::Shape {
        what: "the second array of variables",
        given: vec![],
        allowed: "as many observations as of the first".to_owned(),
    })?;
    Ok(joined.as_standard_layout().into_owned())
}
