//! The same bits for any layout and number of ranks: each result is compared with that of one rank.

use dist_comm::{Communicator, SingleComm};
use dist_maps::Distribution;
use half::{bf16, f16};
use local_array::{Dot, ExactlySummable, Floating, LocalArray, Parts, Real, Summable};
use ndarray::{ArrayD, Dimension, Ix1, Ix2, IxDyn};
use num_complex::{Complex32, Complex64};

use super::numpy::{Close, gathered, shape_of, spread};
use super::plain::{Kind, distribution, draw, some};
use super::{Outcome, ensure, same};

cases! {
    exact_sums_are_right,
    exact_results_do_not_depend_on_the_layout,
    exact_results_over_axes_do_not_depend_on_the_layout,
    exact_products_do_not_depend_on_the_layout,
    exact_products_of_matrices,
    exact_products_of_many_kinds,
    fixed_trees_do_not_depend_on_the_layout,
    fixed_trees_of_other_types_do_not_depend_on_the_layout,
    fixed_trees_equal_plain_results,
    exact_averages_over_axes_do_not_depend_on_the_layout,
    exact_averages_and_covariances_do_not_depend_on_the_layout,
    exact_results_of_parts,
    exact_results_of_special_numbers,
}

/// Numbers of very different size, whose sum depends on the order.
fn awkward(shape: &[usize]) -> ArrayD<f64> {
    ArrayD::from_shape_fn(IxDyn(shape), |at| {
        let n = at.slice().iter().fold(1.0, |n, &i| n * 31.0 + i as f64);
        let sign = if n % 3.0 == 0.0 { -1.0 } else { 1.0 };
        sign * 10_f64.powi((n % 13.0) as i32 - 6) / (n + 0.7)
    })
}

/// At the numbers of ranks for which it is promised: the four layouts that are named, along the first axis, and one of
/// them along the last. At others, and besides: some of many.
fn layouts(shape: &[u64], ranks: usize, salt: usize) -> Vec<Distribution> {
    if ![1, 2, 3, 4, 7].contains(&ranks) {
        return some(shape, ranks, salt, 2);
    }
    let named = [Kind::Block, Kind::Cyclic(1), Kind::Cyclic(3), Kind::List(5)];
    let along = |axis: usize, kind: Kind| {
        let mut kinds = vec![Kind::Whole; shape.len()];
        if let Some(slot) = kinds.get_mut(axis) {
            *slot = kind;
        }
        distribution(shape, &kinds, 0, ranks)
    };
    let mut all = named.map(|kind| along(0, kind)).to_vec();
    if shape.len() > 1 {
        all.push(along(shape.len() - 1, named[(ranks + salt) % 4]));
    }
    all.extend(some(shape, ranks, salt, 1));
    all
}

type One<T> = LocalArray<T, IxDyn, SingleComm>;

/// The same array on one rank.
fn alone<T: Close>(whole: &ArrayD<T>) -> Result<One<T>, super::Failure> {
    let d = Distribution::over(1).shape(shape_of(whole)).build()?;
    Ok(LocalArray::from_array(
        whole.clone(),
        &d,
        SingleComm::new(),
    )?)
}

fn bits<T: bytemuck::NoUninit>(x: T) -> Vec<u8> {
    bytemuck::bytes_of(&x).to_vec()
}

fn exact_sums_are_right(comm: &dyn Communicator) -> Outcome {
    // multiples of 2^-30, each with its negative but for some: an integer sum
    let whole = ArrayD::from_shape_fn(IxDyn(&[40, 51]), |at| {
        let n = (at[0] * 51 + at[1]) as i64;
        (n * n * 12_345_678_901 % 987_654_321_987 - 400_000_000_000) as f64 / 1_073_741_824.0
    });
    let sum: i128 = whole.iter().map(|x| (x * 1_073_741_824.0) as i128).sum();
    let squares: i128 = whole
        .iter()
        .map(|x| (x * 1_073_741_824.0) as i128)
        .map(|x| x * x)
        .sum();
    let n = whole.len() as i128;
    // n² · variance, without rounding but the last
    let variance = (squares * n - sum * sum) as f64 / (n * n) as f64 / 1_073_741_824.0_f64.powi(2);
    for d in some(&shape_of(&whole), comm.size(), 0, 3) {
        let a = spread(&whole, &d, comm)?;
        same(a.reproducible().sum()?, sum as f64 / 1_073_741_824.0, "sum")?;
        same(
            a.reproducible().mean()?,
            sum as f64 / 1_073_741_824.0 / n as f64,
            "mean",
        )?;
        same(
            a.reproducible().vdot(&a)?,
            squares as f64 / 1_073_741_824.0_f64.powi(2),
            "dot",
        )?;
        let found = a.reproducible().var(0.0)?;
        ensure((found - variance).abs() <= 1e-15 * variance, || {
            format!("var {found}, wanted {variance}")
        })?;
    }
    // a mean far from zero costs no digits of the variance
    let far = ArrayD::from_shape_fn(IxDyn(&[1000]), |at| 1e12 + (at[0] % 2) as f64);
    for d in some(&[1000], comm.size(), 1, 2) {
        same(
            spread(&far, &d, comm)?.reproducible().var(0.0)?,
            0.25,
            "variance far from zero",
        )?;
        same(
            spread(&far, &d, comm)?
                .over(0)
                .reproducible()
                .std(0.0)?
                .sum()?,
            0.5,
            "deviation over an axis",
        )?;
    }
    Ok(())
}

fn check<T>(whole: &ArrayD<T>, comm: &dyn Communicator) -> Outcome
where
    T: Close + Summable<Sum: ExactlySummable, Mean: Parts>,
{
    let one = alone(whole)?;
    let results = |sum: T::Sum, mean: T::Mean, var: [<T::Mean as Floating>::Real; 3]| {
        [
            bits(sum),
            bits(mean),
            bits(var[0].to_f64()),
            bits(var[1].to_f64()),
            bits(var[2].to_f64()),
        ]
    };
    let r = one.reproducible();
    let wanted = results(r.sum()?, r.mean()?, [r.var(0.0)?, r.var(1.0)?, r.std(0.0)?]);
    let salt = size_of::<T>() + whole.len();
    // All that are named for types of eight bytes, and for all types of one shape.
    let all = if size_of::<T>() == 8 || whole.shape() == [13, 9] {
        layouts(&shape_of(whole), comm.size(), salt)
    } else {
        some(&shape_of(whole), comm.size(), salt, 2)
    };
    for d in all {
        let a = spread(whole, &d, comm)?;
        let r = a.reproducible();
        let found = results(r.sum()?, r.mean()?, [r.var(0.0)?, r.var(1.0)?, r.std(0.0)?]);
        same(&found, &wanted, &format!("{} {:?}", T::TYPE, whole.shape()))?;
    }
    Ok(())
}

fn exact_results_do_not_depend_on_the_layout(comm: &dyn Communicator) -> Outcome {
    for shape in [
        &[][..],
        &[0],
        &[1],
        &[2100],
        &[13, 9],
        &[5, 0, 2],
        &[7, 8, 30],
    ] {
        let whole = awkward(shape);
        check(&whole, comm)?;
        check(&whole.mapv(|x| x as f32), comm)?;
        check(&whole.mapv(f16::from_f64), comm)?;
        check(&whole.mapv(|x| Complex64::new(x, 1.0 / (x + 2.0))), comm)?;
        check(&whole.mapv(|x| Complex32::new(x as f32, -x as f32)), comm)?;
        check(&whole.mapv(|x| (x * 1e3) as i32), comm)?;
        check(&whole.mapv(|x| x > 0.0), comm)?;
    }
    Ok(())
}

fn exact_results_over_axes_do_not_depend_on_the_layout(comm: &dyn Communicator) -> Outcome {
    for shape in [&[300][..], &[13, 90], &[5, 0, 2], &[7, 8, 30]] {
        let whole = awkward(shape);
        let one = alone(&whole)?;
        for axes in [vec![0], vec![-1], (0..shape.len() as i32).collect()] {
            let wanted = one.over(axes.clone()).keepdims().reproducible();
            let wanted = [
                wanted.sum()?,
                wanted.mean()?,
                wanted.var(0.0)?,
                wanted.std(1.0)?,
            ]
            .map(LocalArray::into_local);
            for d in layouts(&shape_of(&whole), comm.size(), axes.len()) {
                let a = spread(&whole, &d, comm)?;
                let found = a.over(axes.clone()).keepdims().reproducible();
                let found = [
                    found.sum()?,
                    found.mean()?,
                    found.var(0.0)?,
                    found.std(1.0)?,
                ];
                for (found, wanted) in found.iter().zip(&wanted) {
                    let (found, wanted) = (
                        gathered(found)?.mapv(f64::to_bits),
                        wanted.mapv(f64::to_bits),
                    );
                    same(found, wanted, &format!("{shape:?} over {axes:?}"))?;
                }
            }
        }
    }
    Ok(())
}

fn exact_products_do_not_depend_on_the_layout(comm: &dyn Communicator) -> Outcome {
    let (a, b) = (awkward(&[11, 70]), awkward(&[70, 11]).mapv(|x| x * 3.3));
    let (p, q) = (
        a.mapv(|x| Complex64::new(x, x * x)),
        b.mapv(|x| Complex64::new(1.0 - x, x)),
    );
    let wanted = alone(&a)?.reproducible().vdot(&alone(&b)?)?;
    let complex = alone(&p)?.reproducible().vdot(&alone(&q)?)?;
    let straight: f64 = a.iter().zip(&b).map(|(x, y)| x * y).sum();
    ensure((wanted - straight).abs() <= 1e-9 * straight.abs(), || {
        format!("{wanted} is not {straight}")
    })?;
    let straight: Complex64 = p.iter().zip(&q).map(|(x, y)| x.conj() * y).sum();
    ensure(
        (complex - straight).norm() <= 1e-9 * straight.norm(),
        || format!("{complex} is not {straight}"),
    )?;
    let rights = layouts(&[70, 11], comm.size(), 1);
    // Each on the left and each on the right, in other pairs for each number of ranks.
    for (number, left) in layouts(&[11, 70], comm.size(), 0).into_iter().enumerate() {
        let right = &rights[(number + comm.size()) % rights.len()];
        let found = spread(&a, &left, comm)?
            .reproducible()
            .vdot(&spread(&b, right, comm)?)?;
        same(found.to_bits(), wanted.to_bits(), "vdot of floats")?;
        let found = spread(&p, &left, comm)?
            .reproducible()
            .vdot(&spread(&q, right, comm)?)?;
        same(bits(found), bits(complex), "vdot")?;
    }
    Ok(())
}

/// Matrices of multiples of 2⁻³⁰, whose products have more bits than a float: each sum is the float nearest to the truth.
fn exact_products_of_matrices(comm: &dyn Communicator) -> Outcome {
    const UNIT: f64 = 1_073_741_824.0;
    let numbers = |shape: [usize; 2], seed: u64| {
        let mut seed = seed;
        ArrayD::from_shape_simple_fn(IxDyn(&shape), || {
            let high = i128::from(draw(&mut seed) % (1 << 31)) - (1 << 30);
            high * (1 << 8) + i128::from(draw(&mut seed) % 256)
        })
    };
    let float = |n: &i128| *n as f64 / UNIT;
    for [m, k, n] in [
        [5, 700, 9],
        [130, 3, 5],
        [4, 2, 140],
        [1, 1, 1],
        [4, 0, 3],
        [0, 2, 3],
        [2, 9, 0],
    ] {
        let (a, b) = (numbers([m, k], 5), numbers([k, n], 8));
        let wanted = ArrayD::from_shape_fn(IxDyn(&[m, n]), |at| {
            let sum: i128 = (0..k).map(|l| a[[at[0], l]] * b[[l, at[1]]]).sum();
            // to the nearest, as integers are converted; the unit is a power of two
            (sum as f64 / (UNIT * UNIT)).to_bits()
        });
        let (x, y) = (a.map(float), b.map(float));
        let rights = layouts(&[k as u64, n as u64], comm.size(), 1);
        let lefts = layouts(&[m as u64, k as u64], comm.size(), 0);
        for (number, left) in lefts.into_iter().enumerate() {
            let right = &rights[(number + comm.size()) % rights.len()];
            let (x, y) = (spread(&x, &left, comm)?, spread(&y, right, comm)?);
            let what = format!("{m} x {k} x {n}, {} and {}", x.dist(), y.dist());
            let found = x.reproducible().dot(&y)?;
            same(gathered(&found)?.mapv(f64::to_bits), &wanted, &what)?;
            let (x, y) = (
                x.into_dimensionality::<Ix2>()?,
                y.into_dimensionality::<Ix2>()?,
            );
            let found = gathered(&x.reproducible().dot(&y)?)?;
            same(found.mapv(f64::to_bits), &wanted, &what)?;
        }
    }
    Ok(())
}

/// Vectors, complex and short floats, more dimensions: the bits of one rank, and near what the plain product gives.
fn exact_products_of_many_kinds(comm: &dyn Communicator) -> Outcome {
    let m = awkward(&[6, 150]).mapv(|x| Complex64::new(x, 1.0 / (x + 7.0)));
    let v = awkward(&[150]).mapv(|x| Complex64::new(-x, x * x));
    let w = awkward(&[6]).mapv(|x| Complex64::new(x, 3.0));
    let (small, deep) = (
        awkward(&[7, 40]).mapv(|x| half::f16::from_f64(x / 1e3)),
        awkward(&[3, 40, 2]).mapv(|x| half::f16::from_f64(x / 1e3)),
    );
    let one = (alone(&m)?, alone(&v)?, alone(&w)?);
    let wanted = [
        one.0.reproducible().dot(&one.1)?,
        one.2.reproducible().dot(&one.0)?,
    ]
    .map(|a| a.into_local());
    let line = one.1.clone().into_dimensionality::<Ix1>()?;
    let of_line = line.reproducible().dot(&line)?;
    let of_small = alone(&small)?
        .reproducible()
        .dot(&alone(&deep)?)?
        .into_local();
    for (d, e, f) in layouts(&[6, 150], comm.size(), 0)
        .into_iter()
        .zip(layouts(&[150], comm.size(), 1))
        .zip(layouts(&[6], comm.size(), 2))
        .map(|((d, e), f)| (d, e, f))
    {
        let (m, v, w) = (
            spread(&m, &d, comm)?.into_dimensionality::<Ix2>()?,
            spread(&v, &e, comm)?.into_dimensionality::<Ix1>()?,
            spread(&w, &f, comm)?.into_dimensionality::<Ix1>()?,
        );
        let found = [m.reproducible().dot(&v)?, w.reproducible().dot(&m)?];
        let plain = [m.dot(&v)?, w.dot(&m)?];
        for ((found, wanted), plain) in found.iter().zip(&wanted).zip(&plain) {
            let found = gathered(found)?;
            same(found.mapv(bits), wanted.mapv(bits), "matrix and vector")?;
            for (x, y) in found.iter().zip(&gathered(plain)?) {
                ensure((x - y).norm() <= 1e-9 * y.norm().max(1.0), || {
                    format!("{x} is not {y}")
                })?;
            }
        }
        let number = v.reproducible().dot(&v)?;
        same(bits(number), bits(of_line), "vector and vector")?;
        let wanted: Complex64 = one.1.local().iter().map(|x| x * x).sum();
        ensure((number - wanted).norm() <= 1e-9 * wanted.norm(), || {
            format!("{number} is not {wanted}")
        })?;
    }
    for (d, e) in
        layouts(&[7, 40], comm.size(), 1)
            .into_iter()
            .zip(layouts(&[3, 40, 2], comm.size(), 0))
    {
        let found = spread(&small, &d, comm)?
            .reproducible()
            .dot(&spread(&deep, &e, comm)?)?;
        same(found.global_shape(), [7, 3, 2].as_slice(), "shape")?;
        same(
            gathered(&found)?.mapv(half::f16::to_bits),
            of_small.mapv(half::f16::to_bits),
            "halves",
        )?;
    }
    Ok(())
}

fn fixed_trees_do_not_depend_on_the_layout(comm: &dyn Communicator) -> Outcome {
    for shape in [
        &[][..],
        &[0],
        &[1],
        &[129],
        &[700],
        &[13, 90],
        &[300, 2, 3],
        &[4, 0],
    ] {
        // factors near 1, whose product depends on the order
        trees(&awkward(shape).mapv(|x| 1.0 + x / 1e4), comm)?;
    }
    Ok(())
}

/// The other floats. Halves are joined in `f32` and rounded: of large numbers that cancel, what is left of small ones between
/// them shows the order.
fn fixed_trees_of_other_types_do_not_depend_on_the_layout(comm: &dyn Communicator) -> Outcome {
    for shape in [&[300][..], &[140, 3], &[5, 20]] {
        let near = awkward(shape).mapv(|x| 1.0 + (x % 1.0) / 40.0);
        trees(&near.mapv(|x| x as f32), comm)?;
        trees(&near.mapv(|x| Complex64::from_polar(x, 9.0 * x)), comm)?;
        let narrow = |x: f64| Complex32::from_polar(x as f32, 9.0 * x as f32);
        trees(&near.mapv(narrow), comm)?;
        let mut n = 0;
        let cancelling = ArrayD::from_shape_simple_fn(IxDyn(shape), || {
            n += 1;
            match n % 2 {
                0 if n / 2 % 40 < 20 => 3_000.0,
                0 => -3_000.0,
                _ => 0.37 / f64::from(n),
            }
        });
        trees(&cancelling.mapv(f16::from_f64), comm)?;
        trees(&cancelling.mapv(bf16::from_f64), comm)?;
    }
    Ok(())
}

/// Products and running sums and products, flat and along each axis.
fn trees<T>(whole: &ArrayD<T>, comm: &dyn Communicator) -> Outcome
where
    T: Close + Summable<Sum: Close>,
{
    let shape = whole.shape();
    let one = alone(whole)?;
    let product = one.reproducible().prod()?;
    let flat = [
        one.reproducible().cumsum(None)?,
        one.reproducible().cumprod(None)?,
    ]
    .map(|a| a.into_local().into_dyn());
    for d in layouts(&shape_of(whole), comm.size(), shape.len()) {
        let a = spread(whole, &d, comm)?;
        let what = format!("{shape:?} of {} as {}", T::TYPE, a.dist());
        same(bits(a.reproducible().prod()?), bits(product), &what)?;
        let found = [
            a.reproducible().cumsum(None)?,
            a.reproducible().cumprod(None)?,
        ];
        for (found, wanted) in found.iter().zip(&flat) {
            same(gathered(found)?.mapv(bits), wanted.mapv(bits), &what)?;
        }
        for axis in 0..shape.len() as i32 {
            let wanted = [
                one.reproducible().cumsum(axis)?.into_local(),
                one.reproducible().cumprod(axis)?.into_local(),
                one.over(axis).reproducible().prod()?.into_local(),
                one.over(axis)
                    .keepdims()
                    .reproducible()
                    .prod()?
                    .into_local(),
            ];
            let found = [
                a.reproducible().cumsum(axis)?,
                a.reproducible().cumprod(axis)?,
                a.over(axis).reproducible().prod()?,
                a.over(axis).keepdims().reproducible().prod()?,
            ];
            same(
                found[0].distribution(),
                a.distribution(),
                "distribution of running sums",
            )?;
            for (found, wanted) in found.iter().zip(&wanted) {
                same(gathered(found)?.mapv(bits), wanted.mapv(bits), &what)?;
            }
        }
    }
    Ok(())
}

/// Averages over axes, with a weight for each element and with one for each place along an axis.
fn exact_averages_over_axes_do_not_depend_on_the_layout(comm: &dyn Communicator) -> Outcome {
    for shape in [&[300][..], &[13, 90], &[7, 8, 30]] {
        let whole = awkward(shape);
        let weights = whole.mapv(|x| 1.0 / (1.5 + x * x));
        averages(&whole, &weights, comm)?;
        averages(&whole.mapv(|x| x as f32), &weights.mapv(|x| x as f32), comm)?;
        let plane = |x: f64| Complex64::new(x, 1.0 / (x * x + 0.3));
        averages(&whole.mapv(plane), &weights.mapv(plane), comm)?;
    }
    Ok(())
}

fn averages<T>(whole: &ArrayD<T>, weights: &ArrayD<T>, comm: &dyn Communicator) -> Outcome
where
    T: Close + Summable<Mean = T> + Parts,
{
    let (one, heavy) = (alone(whole)?, alone(weights)?);
    let shape = whole.shape();
    for axes in [vec![0], vec![-1], (0..shape.len() as i32).collect()] {
        let wanted = one.over(axes.clone()).reproducible();
        let wanted = wanted.average_returned(&heavy)?;
        let wanted = [wanted.0, wanted.1].map(LocalArray::into_local);
        // right, too
        let plain = one.over(axes.clone()).average(&heavy)?;
        for (exact, plain) in wanted[0].iter().zip(plain.local()) {
            let (x, y) = (exact.parts(), plain.parts());
            let near = |i: usize| (x[i] - y[i]).abs() <= 1e-4 * (y[0].hypot(y[1]) + 1e-30);
            ensure(near(0) && near(1), || format!("{exact:?} is not {plain:?}"))?;
        }
        for d in layouts(&shape_of(whole), comm.size(), axes.len()) {
            let (a, w) = (spread(whole, &d, comm)?, spread(weights, &d, comm)?);
            let found = a.over(axes.clone()).reproducible().average_returned(&w)?;
            let what = format!("{shape:?} of {} over {axes:?} as {}", T::TYPE, a.dist());
            for (found, wanted) in [found.0, found.1].iter().zip(&wanted) {
                same(gathered(found)?.mapv(bits), wanted.mapv(bits), &what)?;
            }
        }
    }
    Ok(())
}

fn fixed_trees_equal_plain_results(comm: &dyn Communicator) -> Outcome {
    let whole = ArrayD::from_shape_fn(IxDyn(&[150, 4]), |at| {
        (at[0] * 7 + at[1] * 3) as i64 % 11 - 5
    });
    let signs = whole.mapv(|x| if x < 0 { -1_i64 } else { 1 });
    for d in some(&[150, 4], comm.size(), 0, 3) {
        let (a, s) = (spread(&whole, &d, comm)?, spread(&signs, &d, comm)?);
        let mut sums = whole.clone();
        sums.accumulate_axis_inplace(ndarray::Axis(0), |before, x| *x += before);
        same(
            gathered(&a.reproducible().cumsum(0)?)?,
            sums,
            "running sums",
        )?;
        let mut products = signs.clone();
        products.accumulate_axis_inplace(ndarray::Axis(1), |before, x| *x *= before);
        same(
            gathered(&s.reproducible().cumprod(-1)?)?,
            products,
            "running products",
        )?;
        same(s.reproducible().prod()?, signs.product(), "product")?;
        let flat: Vec<i64> = whole
            .iter()
            .scan(0, |sum, x| {
                *sum += x;
                Some(*sum)
            })
            .collect();
        same(
            gathered(&a.reproducible().cumsum(None)?)?
                .into_raw_vec_and_offset()
                .0,
            flat,
            "flat",
        )?;
        let bytes = spread(&whole.mapv(|x| x as i8), &d, comm)?;
        let wide: i64 = bytes.reproducible().prod()?;
        same(wide, 0, "a product of small integers, one of them 0")?;
        ensure(a.reproducible().cumsum(2).is_err(), || {
            "an axis that is not there".into()
        })?;
    }
    Ok(())
}

fn exact_averages_and_covariances_do_not_depend_on_the_layout(comm: &dyn Communicator) -> Outcome {
    let whole = awkward(&[4, 90]);
    let weights = whole.mapv(|x| 1.0 / (1.5 + x * x));
    let complex = whole.mapv(|x| Complex64::new(x, 1.0 / (x * x + 0.3)));
    let (one, heavy, plane) = (alone(&whole)?, alone(&weights)?, alone(&complex)?);
    let average = one.reproducible().average_returned(&heavy)?;
    let straight: f64 = whole.iter().zip(&weights).map(|(x, w)| x * w).sum::<f64>() / weights.sum();
    ensure(
        (average.0 - straight).abs() <= 1e-12 * straight.abs(),
        || format!("{} is not {straight}", average.0),
    )?;
    let tables = |a: &One<f64>, p: &One<Complex64>| -> Result<_, super::Failure> {
        let real = [
            a.covariance().reproducible().cov()?,
            a.covariance()
                .rowvar(false)
                .reproducible()
                .bias(true)
                .cov()?,
        ];
        let correlations = a.covariance().reproducible().corrcoef()?;
        let plane = p.covariance().with(p).reproducible().cov()?;
        Ok((
            real.map(LocalArray::into_local),
            correlations.into_local(),
            plane.into_local(),
        ))
    };
    let (real, correlations, planes) = tables(&one, &plane)?;
    // right, too
    let plain = [
        one.covariance().cov()?,
        one.covariance().rowvar(false).bias(true).cov()?,
    ]
    .map(LocalArray::into_local);
    for (exact, plain) in real.iter().zip(&plain) {
        let largest = plain.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
        let near = exact
            .iter()
            .zip(plain)
            .all(|(x, y)| (x - y).abs() <= 1e-12 * largest);
        ensure(near, || format!("{exact} is not {plain}"))?;
    }
    for d in layouts(&[4, 90], comm.size(), 0) {
        let a = spread(&whole, &d, comm)?;
        let found = a
            .reproducible()
            .average_returned(&spread(&weights, &d, comm)?)?;
        same(
            [found.0.to_bits(), found.1.to_bits()],
            [average.0.to_bits(), average.1.to_bits()],
            "average",
        )?;
        let found = [
            a.covariance().reproducible().cov()?,
            a.covariance()
                .rowvar(false)
                .reproducible()
                .bias(true)
                .cov()?,
        ];
        for (found, wanted) in found.iter().zip(&real) {
            same(
                gathered(found)?.mapv(f64::to_bits),
                wanted.mapv(f64::to_bits),
                "covariances",
            )?;
        }
        let found = gathered(&a.covariance().reproducible().corrcoef()?)?;
        same(
            found.mapv(f64::to_bits),
            correlations.mapv(f64::to_bits),
            "correlations",
        )?;
        let p = spread(&complex, &d, comm)?;
        let found = gathered(&p.covariance().with(&p).reproducible().cov()?)?;
        same(found.mapv(bits), planes.mapv(bits), "complex covariances")?;
    }
    Ok(())
}

fn exact_results_of_parts(comm: &dyn Communicator) -> Outcome {
    let whole = awkward(&[23, 12]);
    for d in some(&[23, 12], comm.size(), 0, 3) {
        let a = spread(&whole, &d, comm)?;
        let one = alone(&a.owned().to_owned())?;
        let part = a.part()?;
        same(
            bits(part.reproducible().sum()?),
            bits(one.reproducible().sum()?),
            "sum",
        )?;
        same(
            bits(part.reproducible().vdot(&part)?),
            bits(one.reproducible().vdot(&one)?),
            "vdot",
        )?;
        same(
            bits(part.reproducible().std(0.0)?),
            bits(one.reproducible().std(0.0)?),
            "std",
        )?;
    }
    Ok(())
}

fn exact_results_of_special_numbers(comm: &dyn Communicator) -> Outcome {
    for d in some(&[40], comm.size(), 0, 2) {
        let mut whole = awkward(&[40]);
        whole[7] = f64::INFINITY;
        same(
            spread(&whole, &d, comm)?.reproducible().sum()?,
            f64::INFINITY,
            "infinity",
        )?;
        ensure(
            spread(&whole, &d, comm)?.reproducible().var(0.0)?.is_nan(),
            || "variance".into(),
        )?;
        whole[30] = f64::NEG_INFINITY;
        ensure(
            spread(&whole, &d, comm)?.reproducible().sum()?.is_nan(),
            || "both infinities".into(),
        )?;
        whole.fill(f64::MAX);
        whole[0] = -f64::MAX;
        same(
            spread(&whole, &d, comm)?.reproducible().sum()?,
            f64::INFINITY,
            "beyond the range",
        )?;
    }
    Ok(())
}
