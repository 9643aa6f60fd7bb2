//! Products that keep little of their arrays: what is left to add up is shared by the ranks.

use dist_comm::{Communicator, SingleComm};
use dist_maps::Distribution;
use half::f16;
use local_array::{
    Dot, LocalArray, SlidingMode, convolve, correlate, cross, dot, inner, tensordot,
};
use ndarray::{ArrayD, Dimension as _, Ix1, Ix2, IxDyn};
use num_complex::Complex64;

use super::numpy::{gathered, shape_of, spread, whole_alike};
use super::plain::{flat, zoo};
use super::{Outcome, ensure, refused_everywhere, same};

cases! {
    shares_of_crossed_vectors,
    shares_of_full_contractions,
    shares_of_few_sliding_sums,
    shares_of_products_of_few_numbers,
    shares_of_products_of_few_numbers_of_many_kinds,
    shares_of_products_in_grids_of_fewer_ranks,
    shares_of_products_of_rows_that_are_no_whole,
    shares_of_uneven_rows,
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

/// The sum over `k` of `a[i, k] · b[k, j]`, by hand.
fn by_hand<T: Copy>(
    a: &ArrayD<T>,
    b: &ArrayD<T>,
    zero: T,
    add: impl Fn(T, T, T) -> T,
) -> ArrayD<T> {
    let [m, k, n] = [a.shape()[0], a.shape()[1], b.shape()[1]];
    ArrayD::from_shape_fn(IxDyn(&[m, n]), |at| {
        (0..k).fold(zero, |sum, l| add(sum, a[[at[0], l]], b[[l, at[1]]]))
    })
}

/// Fewer numbers than ranks, and a few more, of factors in any layout: the summed dimension is dealt to all ranks.
fn shares_of_products_of_few_numbers(comm: &dyn Communicator) -> Outcome {
    for (number, [m, k, n]) in [
        [1, 1100, 1],
        [3, 200, 3],
        [1, 90, 2],
        [4, 60, 1],
        [2, 130, 5],
        [1, 3, 1],
        [2, 1, 2],
        [1, 0, 1],
    ]
    .into_iter()
    .enumerate()
    {
        let (a, b) = (numbers(&[m, k], 3), numbers(&[k, n], 7));
        let wanted = by_hand(&a, &b, 0, |sum, x, y| sum + x * y);
        let float = wanted.mapv(|x| x as f64);
        let lefts = zoo(&[m as u64, k as u64], comm.size());
        let rights = zoo(&[k as u64, n as u64], comm.size());
        for (turn, d) in lefts.iter().enumerate() {
            // Each pair at some number of ranks.
            let e = &rights[(turn * 3 + number + comm.size()) % rights.len()];
            let what = format!("{m} x {k} x {n}, {d:?} and {e:?}");
            let (x, y) = (spread(&a, d, comm)?, spread(&b, e, comm)?);
            whole_alike(&dot(&x, &y)?, &wanted, 0.0, &what)?;
            let (x, y) = (x.astype::<f64>(), y.astype::<f64>());
            whole_alike(&dot(&x, &y)?, &float, 0.0, &what)?;
            whole_alike(&x.reproducible().dot(&y)?, &float, 0.0, &what)?;
            // added up in f32 without rounding, and rounded once
            let (x, y) = (x.astype::<f16>(), y.astype::<f16>());
            let half = float.mapv(f16::from_f64);
            whole_alike(&dot(&x, &y)?, &half, 0.0, &what)?;
            whole_alike(&x.reproducible().dot(&y)?, &half, 0.0, &what)?;
        }
    }
    Ok(())
}

/// Two layouts of the summed dimension that are alike but for a rank that has nothing of it in one and is not there in the other.
fn shares_of_products_in_grids_of_fewer_ranks(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.size();
    for k in [9, 300] {
        let (a, b) = (numbers(&[1, k], 3), numbers(&[k, 1], 7));
        let wanted = by_hand(&a, &b, 0, |sum, x, y| sum + x * y).mapv(|x| x as f64);
        let (a, b) = (a.mapv(|x| x as f64), b.mapv(|x| x as f64));
        // The last has nothing, where there are others.
        let places = (ranks - 1).max(1);
        let mut bounds: Vec<u64> = (0..=places).map(|i| (i * k / places) as u64).collect();
        bounds.resize(ranks + 1, k as u64);
        let over = |shape| Distribution::over(ranks).shape(shape);
        let row = over([1, k as u64])
            .block_bounds(1, bounds.clone())
            .build()?;
        let column = over([k as u64, 1]).block_bounds(0, bounds).build()?;
        ensure(ranks == 1 || column.drop_empty() != column, || {
            format!("{column:?} has a rank too many")
        })?;
        for (d, e) in [
            (row.clone(), column.clone()),
            (row.clone(), column.drop_empty()),
            (row.drop_empty(), column.clone()),
            (row.drop_empty(), column.drop_empty()),
        ] {
            let what = format!("{k}, {d:?} and {e:?}");
            let (x, y) = (spread(&a, &d, comm)?, spread(&b, &e, comm)?);
            whole_alike(&dot(&x, &y)?, &wanted, 0.0, &what)?;
            whole_alike(&inner(&x, &y.transpose(None)?)?, &wanted, 0.0, &what)?;
            whole_alike(&x.reproducible().dot(&y)?, &wanted, 0.0, &what)?;
        }
    }
    Ok(())
}

/// Rows in lists that lack one, or name one outside: the product has them as the first factor does.
fn shares_of_products_of_rows_that_are_no_whole(comm: &dyn Communicator) -> Outcome {
    let (ranks, k) = (comm.size(), 1000);
    let left = |g: &[i64]| ((g[0] * 7 + g[1] * 3) % 11 - 5) as f64;
    let right = |g: &[i64]| ((g[0] * 5 + 2) % 13 - 6) as f64;
    let over = |shape| Distribution::over(ranks).shape(shape);
    let mut lacking = vec![vec![]; ranks];
    lacking[0].push(0_i64);
    let mut free = lacking.clone();
    free[0].insert(0, -1);
    free[ranks - 1].push(1);
    let b = over([k, 1]).block(0).build()?;
    let b = LocalArray::<f64, Ix2, _>::from_fn(&b, comm, right)?;
    for (lists, d) in [
        (
            &lacking,
            over([2, k]).unstructured(0, lacking.clone()).build()?,
        ),
        (
            &free,
            over([2, k]).unstructured_free(0, free.clone()).build()?,
        ),
    ] {
        let a = LocalArray::<f64, Ix2, _>::from_fn(&d, comm, left)?;
        let exact = a.reproducible().dot(&b);
        let products = if lists == &free {
            refused_everywhere(comm, exact, "rows outside, exactly")?;
            vec![a.dot(&b)?]
        } else {
            vec![a.dot(&b)?, exact?]
        };
        for product in products {
            let wanted = lists[comm.rank()].iter().map(|&row| {
                let terms = (0..k.cast_signed()).map(|i| left(&[row, i]) * right(&[i, 0]));
                terms.sum::<f64>()
            });
            let (found, wanted) = (product.local(), wanted.collect::<Vec<_>>());
            same(
                found.iter().copied().collect::<Vec<_>>(),
                wanted,
                &format!("{d:?}"),
            )?;
        }
    }
    Ok(())
}

/// Types whose sums are kept in others, or that wrap, or are or; the same bits twice; vectors and arrays that leave one.
fn shares_of_products_of_few_numbers_of_many_kinds(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.size();
    let (a, b) = (numbers(&[2, 300], 3), numbers(&[300, 2], 7));
    let (lefts, rights) = (zoo(&[2, 300], ranks), zoo(&[300, 2], ranks));
    for (turn, d) in lefts.iter().enumerate() {
        let e = &rights[(turn * 5 + ranks) % rights.len()];
        let (p, q) = (a.mapv(|x| x == 4), b.mapv(|y| y == 4));
        let (x, y) = (spread(&p, d, comm)?, spread(&q, e, comm)?);
        let wanted = by_hand(&p, &q, false, |sum, x, y| sum || (x && y));
        whole_alike(&dot(&x, &y)?, &wanted, 0.0, "bool")?;
        let (p, q) = (a.mapv(|x| x as i8), b.mapv(|y| y as i8));
        let (x, y) = (spread(&p, d, comm)?, spread(&q, e, comm)?);
        let wanted = by_hand(&p, &q, 0_i8, |sum, x, y| {
            sum.wrapping_add(x.wrapping_mul(y))
        });
        whole_alike(&dot(&x, &y)?, &wanted, 0.0, "i8")?;
        let turned = |x: i64| Complex64::new(x as f64, (x % 3) as f64);
        let (p, q) = (a.mapv(turned), b.mapv(turned));
        let (x, y) = (spread(&p, d, comm)?, spread(&q, e, comm)?);
        let wanted = by_hand(&p, &q, Complex64::ZERO, |sum, x, y| sum + x * y);
        whole_alike(&dot(&x, &y)?, &wanted, 0.0, "complex")?;
        whole_alike(&x.reproducible().dot(&y)?, &wanted, 0.0, "complex, exact")?;
        // sums that depend on the order: the same twice, and the exact ones for any layout
        let awkward = |x: i64| 1.0 / (x as f64 + 0.3);
        let (p, q) = (a.mapv(awkward), b.mapv(awkward));
        let (x, y) = (spread(&p, d, comm)?, spread(&q, e, comm)?);
        let (once, again) = (gathered(&dot(&x, &y)?)?, gathered(&dot(&x, &y)?)?);
        same(once.mapv(f64::to_bits), again.mapv(f64::to_bits), "twice")?;
        let alone = Distribution::over(1);
        let one = |whole: &ArrayD<f64>| {
            let d = alone.clone().shape(shape_of(whole)).build()?;
            LocalArray::from_array(whole.clone(), &d, SingleComm::new())
        };
        let wanted = one(&p)?.reproducible().dot(&one(&q)?)?.into_local();
        let found = gathered(&x.reproducible().dot(&y)?)?;
        same(found.mapv(f64::to_bits), wanted.mapv(f64::to_bits), "exact")?;
    }
    let (v, deep) = (numbers(&[40], 3), numbers(&[8, 1, 5], 7));
    let flat = deep.clone().into_shape_with_order(IxDyn(&[40]))?;
    let sum: i64 = v.iter().zip(&flat).map(|(x, y)| x * y).sum();
    let table = v.clone().into_shape_with_order(IxDyn(&[8, 5]))?;
    let row = v.clone().into_shape_with_order(IxDyn(&[1, 40]))?;
    let one = ArrayD::from_elem(IxDyn(&[1]), sum);
    for (turn, d) in zoo(&[40], ranks).iter().enumerate() {
        let pick = |shape: &[u64]| {
            let mut all = zoo(shape, ranks);
            let at = (turn * 3 + ranks) % all.len();
            all.swap_remove(at)
        };
        let line = spread(&flat, d, comm)?;
        let row = spread(&row, &pick(&[1, 40]), comm)?;
        whole_alike(&inner(&line, &row)?, &one, 0.0, "inner of line and row")?;
        whole_alike(&inner(&row, &line)?, &one, 0.0, "inner of row and line")?;
        let deep = spread(&deep, &pick(&[8, 1, 5]), comm)?;
        let table = spread(&table, &pick(&[8, 5]), comm)?;
        let axes = ([0, 2], [0, 1]);
        whole_alike(
            &tensordot(&deep, &table, axes)?,
            &one,
            0.0,
            "an axis of one",
        )?;
        let axes = ([0, 1], [0, 2]);
        whole_alike(
            &tensordot(&table, &deep, axes)?,
            &one,
            0.0,
            "an axis of one",
        )?;
    }
    Ok(())
}

/// Where only some places of the grid have rows, the product is not left to them.
fn shares_of_uneven_rows(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.size();
    for at in 0..ranks {
        let bounds: Vec<u64> = (0..=ranks).map(|c| if c <= at { 0 } else { 2 }).collect();
        let over = |shape: [u64; 2]| Distribution::over(ranks).shape(shape);
        let (d, e) = (
            over([2, 9]).block_bounds(0, bounds).build()?,
            over([9, 60]).block(0).build()?,
        );
        let (a, b) = (numbers(&[2, 9], 3), numbers(&[9, 60], 7));
        let product = dot(&spread(&a, &d, comm)?, &spread(&b, &e, comm)?)?;
        let wanted = by_hand(&a, &b, 0, |sum, x, y| sum + x * y);
        whole_alike(&product, &wanted, 0.0, "rows on one rank")?;
        let mine = product.owned().len();
        ensure(mine <= 2 * 120_usize.div_ceil(ranks), || {
            format!("{mine} of 120 elements on one of {ranks} ranks")
        })?;
        // Blocks that are not quite equal are kept.
        let d = over([9, 9]).block(0).build()?;
        let a = numbers(&[9, 9], 3);
        let product = dot(&spread(&a, &d, comm)?, &spread(&b, &e, comm)?)?;
        same(&product.distribution().axes()[0], &d.axes()[0], "rows kept")?;
    }
    Ok(())
}
