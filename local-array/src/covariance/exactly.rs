//! The same bits for any layout: sums of elements and of products are exact.

use dist_comm::{CommExt, Communicator};
use ndarray::{Array2, Ix2};

use super::rows::{Rows, block, dealt};
use crate::exact::{ExactSum, covariance};
use crate::reduction::Group;
use crate::summable::Center;
use crate::{ArrayError, LocalArrayView};

/// As [`by_observations`](super::observations::by_observations), by exact sums of the elements and of their products, the
/// means taken off at the end. The sums of products of a variable are joined as a tree whose root is the rank that has its
/// row of the result.
#[expect(clippy::cast_precision_loss, reason = "a count as a float")]
pub(super) fn exactly<K: Center, C: Communicator + Clone>(
    sets: &[LocalArrayView<'_, K, Ix2, C>],
    n: u64,
    variables: u64,
    comm: &C,
) -> Result<Rows<K>, ArrayError> {
    let ranks = comm.size();
    let own = dealt(sets, n, ranks)?;
    let part = |i: usize| -> Vec<Vec<f64>> {
        let row = |row: ndarray::ArrayView1<'_, K>| row.iter().map(|x| x.parts()[i]).collect();
        own.outer_iter().map(row).collect()
    };
    let (re, im) = (part(0), part(1));
    let mut sums: Vec<[ExactSum; 2]> = re
        .iter()
        .zip(&im)
        .map(|(re, im)| {
            let mut sums = [ExactSum::ZERO; 2];
            sums[0].add_all(re);
            sums[1].add_all(im);
            sums
        })
        .collect();
    let merge = |acc: &mut [ExactSum; 2], next: &[ExactSum; 2]| {
        acc.iter_mut()
            .zip(next)
            .for_each(|(acc, next)| acc.merge(next));
    };
    comm.all_reduce_with(&mut sums, merge)?;
    let sums: Vec<[[f64; 2]; 2]> = sums
        .iter()
        .map(|sums| sums.each_ref().map(ExactSum::pair))
        .collect();
    let blocks = (0..ranks).map(|rank| block(variables, ranks, rank));
    let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    let mine = blocks[comm.rank()].clone();
    let mut products = Array2::from_elem((mine.len(), re.len()), K::NOTHING);
    let (mut negative, mut message) = (Vec::new(), Vec::new());
    let owners = (0..ranks).flat_map(|rank| blocks[rank].clone().map(move |i| (i, rank)));
    for (i, owner) in owners {
        // x · conj(y) = (a + ib)(c - id) = ac + bd + i(bc - ad)
        negative.clear();
        negative.extend(re[i].iter().map(|x| -x));
        let mut of_row: Vec<ExactSum> = (0..re.len())
            .flat_map(|j| {
                let mut sums = [ExactSum::ZERO; 2];
                sums[0].add_products(&re[i], &re[j]);
                if K::COUNT == 2 {
                    sums[0].add_products(&im[i], &im[j]);
                    sums[1].add_products(&im[i], &re[j]);
                    sums[1].add_products(&negative, &im[j]);
                }
                sums.into_iter().take(K::COUNT)
            })
            .collect();
        let (group, count) = (Group::towards(owner, comm), of_row.len());
        if !group.join(comm, count, &mut of_row, &mut message, ExactSum::merge)? {
            continue;
        }
        let of_row = of_row
            .chunks(K::COUNT)
            .map(|sums| [0, 1].map(|part| sums.get(part).map_or([0.0; 2], ExactSum::pair)));
        let count = n as f64;
        let ([a, b], minus) = (sums[i], |x: [f64; 2]| x.map(|x| -x));
        for (product, (found, [c, d])) in products
            .row_mut(i - mine.start)
            .iter_mut()
            .zip(of_row.zip(&sums))
        {
            let of_re = covariance(
                [covariance(found[0], a, *c, count, 1.0), 0.0],
                b,
                *d,
                count,
                1.0,
            );
            let of_im = covariance(
                [covariance(found[1], b, *c, count, 1.0), 0.0],
                minus(a),
                *d,
                count,
                1.0,
            );
            *product = K::of_parts([of_re, of_im]);
        }
    }
    Ok(Rows {
        products,
        mine,
        observations: n,
    })
}
