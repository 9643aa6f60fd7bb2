//! Products that keep little of their arrays: what is left to add up is shared by the ranks.

use dist_comm::Communicator;
use dist_maps::Distribution;
use local_array::{SlidingMode, convolve, correlate, cross, dot, inner, tensordot};
use ndarray::{ArrayD, Dimension as _, Ix1, IxDyn};
use num_complex::Complex64;

use super::numpy::{shape_of, spread, whole_alike};
use super::plain::{flat, zoo};
use super::{Outcome, ensure, same};

cases! {
    shares_of_crossed_vectors,
    shares_of_full_contractions,
    shares_of_few_sliding_sums,
}

/// Small numbers of both signs.
fn numbers(shape: &[usize], step: i64) -> ArrayD<i64> {
    let extents: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    ArrayD::from_shape_fn(IxDyn(shape), |at| {
        let index: Vec<i64> = at.slice().iter().map(|&i| i as i64).collect();
        (flat(&extents, &index) * step + 1) % 11 - 5
    })
}

/// Where the components of the vectors lie on several ranks no rank gets more than its share of the products.
fn shares_of_crossed_vectors(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.size();
    for components in [2, 3] {
        let (a, b) = (numbers(&[30, components], 3), numbers(&[30, 3], 7));
        let wanted = ArrayD::from_shape_fn(IxDyn(&[30, 3]), |at| {
            let x = |i: usize| a.get([at[0], i]).copied().unwrap_or(0);
            let (i, j) = ((at[1] + 1) % 3, (at[1] + 2) % 3);
            x(i) * b[[at[0], j]] - x(j) * b[[at[0], i]]
        });
        let over = |shape: Vec<u64>| Distribution::over(ranks).shape(shape);
        let blocks = over(shape_of(&a)).block(1).build()?;
        let dealt = over(shape_of(&b)).cyclic(1).build()?;
        let (a, b) = (spread(&a, &blocks, comm)?, spread(&b, &dealt, comm)?);
        let product = cross(&a, &b, -1)?;
        whole_alike(&product, &wanted, 0.0, "cross of spread components")?;
        let mine = product.local_size();
        ensure(mine <= 3 * 30_usize.div_ceil(ranks), || {
            format!("{mine} of 90 elements on one of {ranks} ranks")
        })?;
    }
    Ok(())
}

/// No dimension is left: the sum of all products, once, not conjugated.
fn shares_of_full_contractions(comm: &dyn Communicator) -> Outcome {
    let (a, b) = (numbers(&[4, 3, 5], 3), numbers(&[5, 4, 3], 7));
    let sum: i64 = a
        .indexed_iter()
        .map(|(at, x)| x * b[[at[2], at[0], at[1]]])
        .sum();
    let number = |sum: i64| ArrayD::from_elem(IxDyn(&[]), sum);
    let (left, right) = (zoo(&[4, 3, 5], comm.size()), zoo(&[5, 4, 3], comm.size()));
    for (n, d) in left.iter().enumerate() {
        let (x, y) = (
            spread(&a, d, comm)?,
            spread(&b, &right[(n + 3) % right.len()], comm)?,
        );
        for axes in [([0, 1, 2], [1, 2, 0]), ([2, 0, 1], [0, 1, 2])] {
            let found = tensordot(&x, &y, axes)?;
            same(found.distribution().targets(), &[0][..], "on rank 0")?;
            whole_alike(&found, &number(sum), 0.0, "tensordot")?;
        }
    }
    let (a, b) = (numbers(&[1300], 3), numbers(&[1300], 7));
    let sum: i64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
    let turn = |x: i64| Complex64::new(0.0, x as f64);
    let turned = ArrayD::from_elem(IxDyn(&[]), Complex64::new(-sum as f64, 0.0));
    let lines = zoo(&[1300], comm.size());
    for (n, d) in lines.iter().enumerate() {
        let e = &lines[(n + comm.size()) % lines.len()];
        let (x, y) = (spread(&a, d, comm)?, spread(&b, e, comm)?);
        whole_alike(&inner(&x, &y)?, &number(sum), 0.0, "inner")?;
        whole_alike(&dot(&x, &y)?, &number(sum), 0.0, "dot of IxDyn")?;
        whole_alike(&tensordot(&x, &y, 1)?, &number(sum), 0.0, "tensordot")?;
        let (x, y) = (
            spread(&a.mapv(turn), d, comm)?,
            spread(&b.mapv(turn), e, comm)?,
        );
        whole_alike(&inner(&x, &y)?, &turned, 0.0, "inner of complex numbers")?;
        let (x, y) = (
            spread(&a.mapv(|x| x > 4), d, comm)?,
            spread(&b.mapv(|y| y > 4), e, comm)?,
        );
        let any = a.iter().zip(&b).any(|(&x, &y)| x > 4 && y > 4);
        let any = ArrayD::from_elem(IxDyn(&[]), any);
        whole_alike(&inner(&x, &y)?, &any, 0.0, "inner of bool")?;
    }
    let none = numbers(&[0], 1);
    let d = &zoo(&[0], comm.size())[0];
    let none = spread(&none, d, comm)?;
    whole_alike(&inner(&none, &none)?, &number(0), 0.0, "inner of none")?;
    let two = spread(&number(2), &zoo(&[], comm.size())[0], comm)?;
    whole_alike(&dot(&two, &two)?, &number(4), 0.0, "dot of numbers")
}

/// Fewer sums than ranks, of vectors in any layout.
fn shares_of_few_sliding_sums(comm: &dyn Communicator) -> Outcome {
    let complex = |n: usize, step: i64| {
        let parts = numbers(&[n], step);
        ArrayD::from_shape_fn(IxDyn(&[n]), |at| {
            Complex64::new(parts[at[0]] as f64, (at[0] % 3) as f64)
        })
    };
    for (number, (m, n)) in [(23, 23), (25, 23), (23, 24), (9, 7), (1, 1)]
        .into_iter()
        .enumerate()
    {
        let (x, y) = (complex(m, 3), complex(n, 7));
        let few = m.min(n);
        let (long, short) = if n > m { (&y, &x) } else { (&x, &y) };
        let len = m.max(n) - few + 1;
        let slid = ArrayD::from_shape_fn(IxDyn(&[len]), |k| {
            (0..few).map(|j| long[k[0] + few - 1 - j] * short[j]).sum()
        });
        let correlated = ArrayD::from_shape_fn(IxDyn(&[len]), |k| -> Complex64 {
            if n > m {
                // the first vector slides along the second, from its end
                let from = len - 1 - k[0];
                (0..few).map(|j| y[from + j].conj() * x[j]).sum()
            } else {
                (0..few).map(|j| x[k[0] + j] * y[j].conj()).sum()
            }
        });
        let (left, right) = (zoo(&[m as u64], comm.size()), zoo(&[n as u64], comm.size()));
        for (turn, d) in left.iter().enumerate() {
            let e = &right[(turn + number) % right.len()];
            let x = spread(&x, d, comm)?.into_dimensionality::<Ix1>()?;
            let y = spread(&y, e, comm)?.into_dimensionality::<Ix1>()?;
            let found = convolve(&x, &y, SlidingMode::Valid)?;
            whole_alike(&found, &slid, 0.0, "convolve")?;
            let found = correlate(&x, &y, SlidingMode::Valid)?;
            whole_alike(&found, &correlated, 0.0, "correlate")?;
        }
    }
    Ok(())
}
