//! Laws of products.

use dist_comm::Communicator;
use local_array::{Dot, dot};
use ndarray::{ArrayD, IxDyn};
use proptest::prelude::*;

use super::kind;
use crate::support::Outcome;
use crate::support::arrays::numbers;
use crate::support::numpy::{spread, whole_alike};
use crate::support::plain::{self, Kind};

/// Extents `m`, `k`, `n`, the kinds of the axes of each matrix, padding, and a seed.
pub type Factors = ([u64; 3], [(Kind, Kind); 2], u64, u64);

/// Few rows and columns, and any number of indices that are summed over: the product keeps little, or much.
pub fn factors() -> impl Strategy<Value = Factors> {
    let extents = (0..9_u64, 0..160_u64, 0..9_u64).prop_map(|(m, k, n)| [m, k, n]);
    let kinds = [(kind(), kind()), (kind(), kind())];
    (extents, kinds, 0..3_u64, any::<u64>())
}

/// Plain and exact products are the sums by hand.
pub fn matrices_multiply_as_by_hand(
    &([m, k, n], [left, right], padding, seed): &Factors,
    comm: &dyn Communicator,
) -> Outcome {
    let whole = |shape: [u64; 2], seed: u64| numbers(&shape, seed).mapv(|x| (x * 4.0) as i64);
    let (a, b) = (whole([m, k], seed), whole([k, n], !seed));
    let lay = |shape: [u64; 2], (rows, columns): (Kind, Kind)| {
        plain::distribution(&shape, &[rows, columns], padding, comm.size())
    };
    let (x, y) = (
        spread(&a, &lay([m, k], left), comm)?,
        spread(&b, &lay([k, n], right), comm)?,
    );
    let wanted = ArrayD::from_shape_fn(IxDyn(&[m as usize, n as usize]), |at| {
        (0..k as usize)
            .map(|l| a[[at[0], l]] * b[[l, at[1]]])
            .sum::<i64>()
    });
    whole_alike(&dot(&x, &y)?, &wanted, 0.0, "dot")?;
    let (x, y) = (x.astype::<f64>(), y.astype::<f64>());
    let exact = x.reproducible().dot(&y)?;
    whole_alike(&exact, &wanted.mapv(|x| x as f64), 0.0, "exact dot")
}
