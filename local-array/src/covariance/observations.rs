//! Few variables: the observations are dealt to the ranks, and the products of each are added up in order of rank.

use dist_comm::{CommExt, Communicator};
use ndarray::{Array2, Ix2};

use super::rows::{Rows, block, center, dealt, sums_of, times_conjugate};
use crate::summable::Center;
use crate::{Arithmetic, ArrayError, LocalArrayView};

pub(super) fn by_observations<K: Center, C: Communicator + Clone>(
    sets: &[LocalArrayView<'_, K, Ix2, C>],
    n: u64,
    variables: u64,
    comm: &C,
) -> Result<Rows<K>, ArrayError> {
    let ranks = comm.size();
    let mut own = dealt(sets, n, ranks)?;
    let mut sums = sums_of(&own).to_vec();
    comm.all_reduce_with(&mut sums, |a, &b| *a = Arithmetic::plus(*a, b))?;
    center(&mut own, &sums.into(), n);
    let all = times_conjugate(&own, &own);
    // Each rank gets its rows of the products of all.
    let blocks = (0..ranks).map(|rank| block(variables, ranks, rank));
    let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    let flat: Vec<K> = all.iter().copied().collect();
    let width = all.ncols();
    let sends: Vec<&[K]> = blocks
        .iter()
        .map(|rows| &flat[rows.start * width..rows.end * width])
        .collect();
    let received = comm.all_to_all_slice(&sends)?;
    let mine = blocks[comm.rank()].clone();
    let mut products = Array2::from_elem((mine.len(), width), K::NOTHING);
    for part in received {
        for (product, term) in products.iter_mut().zip(part) {
            *product = Arithmetic::plus(*product, term);
        }
    }
    Ok(Rows {
        products,
        mine,
        observations: n,
    })
}
