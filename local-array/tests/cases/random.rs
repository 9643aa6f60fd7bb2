//! Random arrays: the same for every layout, and distributed as they say.

use std::collections::HashMap;

use dap_protocol::Element;
use dist_comm::{Communicator, SingleComm};
use dist_maps::Distribution;
use half::{bf16, f16};
use local_array::random::{
    Beta, Draw, Exponential, Normal, Randint, Random, RankRandom, StandardNormal, StandardUniform,
    Uniform, label_mask, label_state,
};
use local_array::{ArrayError, LocalArray};
use ndarray::{ArrayD, Axis, Dimension, Ix1, IxDyn};

use super::numpy::{Close, Whole, alike, gathered, shape_of, spread};
use super::plain::{self, Kind, SHAPES, cells, zoo};
use super::{Outcome, ensure, refused_everywhere, same};

cases! {
    random_rand,
    random_randn,
    random_normal,
    random_uniform,
    random_exponential,
    random_beta,
    random_randint,
    random_own_distribution,
    random_permutation,
    random_shuffle_global,
    random_shuffle_local,
    random_shuffle_out_of_step,
    random_values_without_a_size,
    random_seed_begins_anew,
    random_numbers_are_these,
    random_wrong_arguments,
    random_label_state,
    random_as_distarray_draws,
}

const SEED: u64 = 20_140_417;

/// The same bits for every way to spread an array, in padding too.
fn same_in_every_way<T: Close>(
    comm: &dyn Communicator,
    what: &str,
    make: impl Fn(&mut Random, &Distribution, &dyn Communicator) -> Result<ArrayParts<T>, ArrayError>,
) -> Outcome {
    for &shape in SHAPES {
        let alone = Distribution::over(1).shape(shape).build()?;
        let draw = |d: &Distribution, comm: &dyn Communicator| {
            let mut random = Random::new(SEED);
            random.value::<f64>(&StandardUniform); // the second array
            make(&mut random, d, comm)
        };
        let (wanted, _) = draw(&alone, &SingleComm::new())?;
        for d in zoo(shape, comm.size()) {
            let (stored, whole) = draw(&d, comm)?;
            if d.coords(comm.rank()).is_none() {
                continue;
            }
            let cells = cells(&d, comm.rank());
            for (x, (index, _)) in stored.iter().zip(cells) {
                let index: Vec<usize> = index.iter().map(|&g| g as usize).collect();
                let (x, y) = (*x, wanted[&*index]);
                let same = bytemuck::bytes_of(&x) == bytemuck::bytes_of(&y);
                ensure(same, || {
                    format!("{what} {shape:?} at {index:?}: {x:?} and {y:?}")
                })?;
            }
            same(whole, shape.to_vec(), "shape")?;
        }
    }
    Ok(())
}

/// What a rank stores, and the global shape.
type ArrayParts<T> = (ArrayD<T>, Vec<u64>);

fn parts<T>(array: LocalArray<T, IxDyn, &dyn Communicator>) -> ArrayParts<T> {
    let shape = array.global_shape().to_vec();
    (array.into_local(), shape)
}

/// Many draws, for statistics; on one rank only, as every rank has the same.
fn sample<T: Element>(draw: &impl Draw<T>, seed: u64) -> Result<Vec<T>, ArrayError> {
    let d = Distribution::over(1).shape([40_000]).build()?;
    let a: LocalArray<T, Ix1, _> = Random::new(seed).array(draw, &d, SingleComm::new())?;
    Ok(a.into_local().to_vec())
}

/// The Kolmogorov-Smirnov test against a distribution function.
fn distributed(sample: &[f64], what: &str, cdf: impl Fn(f64) -> f64) -> Outcome {
    let mut sorted = sample.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len() as f64;
    let gap = |(i, &x): (usize, &f64)| {
        let f = cdf(x);
        (f - i as f64 / n).abs().max(((i + 1) as f64 / n - f).abs())
    };
    let most = sorted.iter().enumerate().map(gap).fold(0.0, f64::max);
    // 1.95 in one of a thousand
    ensure(most * n.sqrt() < 1.95, || {
        format!("{what}: distance {}", most * n.sqrt())
    })?;
    // neighbours have nothing to do with one another
    let u: Vec<f64> = sample.iter().map(|&x| cdf(x) - 0.5).collect();
    let product: f64 = u.windows(2).map(|pair| pair[0] * pair[1]).sum();
    let correlation = product / n * 12.0;
    ensure(correlation.abs() * n.sqrt() < 3.3, || {
        format!("{what}: correlation {correlation}")
    })
}

fn alone(comm: &dyn Communicator) -> bool {
    comm.size() == 1
}

fn normal_cdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

fn random_rand(comm: &dyn Communicator) -> Outcome {
    same_in_every_way::<f64>(comm, "rand f64", |r, d, comm| r.rand(d, comm).map(parts))?;
    same_in_every_way::<f32>(comm, "rand f32", |r, d, comm| r.rand(d, comm).map(parts))?;
    same_in_every_way::<f16>(comm, "rand f16", |r, d, comm| r.rand(d, comm).map(parts))?;
    same_in_every_way::<bf16>(comm, "rand bf16", |r, d, comm| r.rand(d, comm).map(parts))?;
    if alone(comm) {
        distributed(&sample(&StandardUniform, 1)?, "rand", |x| x)?;
        let singles: Vec<f32> = sample(&StandardUniform, 2)?;
        let singles: Vec<f64> = singles.into_iter().map(f64::from).collect();
        ensure(singles.iter().all(|x| (0.0..1.0).contains(x)), || {
            "out of range".into()
        })?;
        distributed(&singles, "rand f32", |x| x)?;
    }
    Ok(())
}

fn random_randn(comm: &dyn Communicator) -> Outcome {
    same_in_every_way::<f64>(comm, "randn", |r, d, comm| r.randn(d, comm).map(parts))?;
    same_in_every_way::<f32>(comm, "randn f32", |r, d, comm| r.randn(d, comm).map(parts))?;
    if alone(comm) {
        distributed(&sample(&StandardNormal, 3)?, "randn", normal_cdf)?;
    }
    Ok(())
}

fn random_normal(comm: &dyn Communicator) -> Outcome {
    same_in_every_way::<f64>(comm, "normal", |r, d, comm| {
        r.normal(3.0, 0.5, d, comm).map(parts)
    })?;
    if alone(comm) {
        let draws = sample(&Normal::new(3.0, 0.5)?, 4)?;
        distributed(&draws, "normal", |x| normal_cdf((x - 3.0) / 0.5))?;
        let constant: Vec<f64> = sample(&Normal::new(3.0, 0.0)?, 4)?;
        ensure(constant.iter().all(|&x| x == 3.0), || "no deviation".into())?;
    }
    Ok(())
}

fn random_uniform(comm: &dyn Communicator) -> Outcome {
    same_in_every_way::<f64>(comm, "uniform", |r, d, comm| {
        r.uniform(-2.0, 6.0, d, comm).map(parts)
    })?;
    if alone(comm) {
        let draws = sample(&Uniform::new(-2.0, 6.0)?, 5)?;
        ensure(draws.iter().all(|x| (-2.0..6.0).contains(x)), || {
            "out of range".into()
        })?;
        distributed(&draws, "uniform", |x| (x + 2.0) / 8.0)?;
    }
    Ok(())
}

fn random_exponential(comm: &dyn Communicator) -> Outcome {
    same_in_every_way::<f64>(comm, "exponential", |r, d, comm| {
        r.exponential(2.5, d, comm).map(parts)
    })?;
    if alone(comm) {
        let draws = sample(&Exponential::new(2.5)?, 6)?;
        distributed(&draws, "exponential", |x| 1.0 - (-x / 2.5).exp())?;
    }
    Ok(())
}

/// The distribution function of beta with whole parameters: a binomial tail.
fn beta_cdf(a: u32, b: u32, x: f64) -> f64 {
    let n = a + b - 1;
    let mut choose = 1.0;
    let mut sum = 0.0;
    for j in 0..=n {
        if j >= a {
            sum += choose * x.powi(j as i32) * (1.0 - x).powi((n - j) as i32);
        }
        choose *= f64::from(n - j) / f64::from(j + 1);
    }
    sum
}

fn random_beta(comm: &dyn Communicator) -> Outcome {
    for (a, b) in [(2.0, 6.0), (0.5, 0.5), (0.3, 4.0)] {
        let what = format!("beta {a} {b}");
        same_in_every_way::<f64>(comm, &what, |r, d, comm| r.beta(a, b, d, comm).map(parts))?;
    }
    if alone(comm) {
        let whole = [
            (1, 1),
            (2, 1),
            (1, 3),
            (2, 2),
            (3, 2),
            (2, 7),
            (7, 2),
            (20, 30),
        ];
        for (seed, (a, b)) in (0..).zip(whole) {
            let draws = sample(&Beta::new(a.into(), b.into())?, 70 + seed)?;
            distributed(&draws, &format!("beta {a} {b}"), |x| beta_cdf(a, b, x))?;
        }
        let arcsine = |x: f64| x.sqrt().asin() * 2.0 / std::f64::consts::PI;
        distributed(&sample(&Beta::new(0.5, 0.5)?, 80)?, "beta ½ ½", arcsine)?;
        // with one parameter 1 the other's power
        distributed(&sample(&Beta::new(0.2, 1.0)?, 81)?, "beta 0.2 1", |x| {
            x.powf(0.2)
        })?;
        distributed(&sample(&Beta::new(1.0, 0.2)?, 82)?, "beta 1 0.2", |x| {
            1.0 - (1.0 - x).powf(0.2)
        })?;
        distributed(&sample(&Beta::new(4.5, 1.0)?, 83)?, "beta 4.5 1", |x| {
            x.powf(4.5)
        })?;
        for (a, b) in [
            (1e-3, 1e-3),
            (1e-300, 5.0),
            (1e300, 1e-3),
            (1e150, 1e200),
            (1e3, 1e3),
        ] {
            let draws: Vec<f64> = sample(&Beta::new(a, b)?, 84)?;
            ensure(draws.iter().all(|x| (0.0..=1.0).contains(x)), || {
                format!("beta {a} {b}")
            })?;
            let mean = draws.iter().sum::<f64>() / draws.len() as f64;
            ensure((mean - a / (a + b)).abs() < 0.01, || {
                format!("beta {a} {b}: mean {mean}")
            })?;
        }
    }
    Ok(())
}

fn random_randint(comm: &dyn Communicator) -> Outcome {
    same_in_every_way::<u8>(comm, "randint", |r, d, comm| {
        r.randint(200, Some(256), d, comm).map(parts)
    })?;
    same_in_every_way::<i64>(comm, "randint", |r, d, comm| {
        r.randint(1 << 40, None, d, comm).map(parts)
    })?;
    same_in_every_way::<bool>(comm, "randint", |r, d, comm| {
        r.randint(2, None, d, comm).map(parts)
    })?;
    if alone(comm) {
        for (low, high) in [(-3_i128, 4_i128), (0, 100), (5, 6)] {
            let draws: Vec<i16> = sample(&Randint::new::<i16>(low, high)?, 9)?;
            let mut counts = HashMap::new();
            for x in draws {
                ensure((low..high).contains(&x.into()), || {
                    format!("{x} of {low}..{high}")
                })?;
                *counts.entry(x).or_insert(0) += 1;
            }
            let (kinds, n) = ((high - low) as f64, 40_000.0);
            same(counts.len(), kinds as usize, "all of them")?;
            let wanted = n / kinds;
            let chi2: f64 = counts
                .values()
                .map(|&c| (f64::from(c) - wanted).powi(2) / wanted)
                .sum();
            // near normal with mean k - 1 and variance 2 (k - 1)
            let most = kinds - 1.0 + 4.0 * (2.0 * (kinds - 1.0)).sqrt() + 1.0;
            ensure(chi2 < most, || format!("{low}..{high}: chi² {chi2}"))?;
        }
        let bits: Vec<bool> = sample(&Randint::new::<bool>(0, 2)?, 10)?;
        let ones = bits.iter().filter(|x| **x).count();
        ensure(ones.abs_diff(20_000) < 400, || format!("{ones} of 40000"))?;
    }
    Ok(())
}

/// A distribution of the test's own: three words, many rejections.
struct Triangle;

impl Draw<f64> for Triangle {
    fn words(&self) -> usize {
        3
    }
    fn draw(&self, words: &[u64]) -> Option<f64> {
        let [a, b, _] = [0, 1, 2].map(|i| (words[i] >> 11) as f64 / (1_u64 << 53) as f64);
        (b < a && words[2].is_multiple_of(4)).then_some(a)
    }
}

fn random_own_distribution(comm: &dyn Communicator) -> Outcome {
    same_in_every_way::<f64>(comm, "own", |r, d, comm| {
        r.array(&Triangle, d, comm).map(parts)
    })?;
    if alone(comm) {
        distributed(&sample(&Triangle, 11)?, "own", |x| x * x)?;
    }
    Ok(())
}

fn order(n: u64, comm: &dyn Communicator) -> Result<Vec<i64>, super::Failure> {
    let d = Distribution::over(comm.size()).shape([n]).build()?;
    let a: LocalArray<i64, Ix1, _> = Random::new(SEED).permutation(&d, comm)?;
    Ok(gathered(&a)?.into_raw_vec_and_offset().0)
}

fn random_permutation(comm: &dyn Communicator) -> Outcome {
    for n in [0, 1, 2, 3, 17, 40, 101] {
        let wanted = order(n, &SingleComm::new())?;
        let mut sorted = wanted.clone();
        sorted.sort_unstable();
        same(sorted, (0..n as i64).collect::<Vec<_>>(), "all of them")?;
        for d in zoo(&[n], comm.size()) {
            let a: Whole<'_, i64> = Random::new(SEED).permutation(&d, comm)?;
            same(
                gathered(&a)?.into_raw_vec_and_offset().0,
                wanted.clone(),
                "permutation",
            )?;
            if d.coords(comm.rank()).is_some() {
                for (&x, (index, _)) in a.local().iter().zip(cells(&d, comm.rank())) {
                    same(x, wanted[index[0] as usize], "padding")?;
                }
            }
        }
    }
    if alone(comm) {
        let n = 4000_u64;
        let order = order(n, comm)?;
        let u: Vec<f64> = order.iter().map(|&x| (x as f64 + 0.5) / n as f64).collect();
        distributed(&u, "permutation", |x| x)?;
        let fixed = order.iter().zip(0..).filter(|(x, i)| *x == i).count();
        ensure(fixed < 8, || format!("{fixed} stay where they were"))?;
        // distances of neighbours, folded: no step is preferred
        let steps: Vec<f64> = order
            .windows(2)
            .map(|pair| ((pair[1] - pair[0]).rem_euclid(n as i64) as f64) / n as f64)
            .collect();
        distributed(&steps, "steps", |x| x)?;
    }
    Ok(())
}

fn shuffle_of<T: Close>(array: &ArrayD<T>, comm: &dyn Communicator) -> Outcome {
    let order = order(array.shape()[0] as u64, &SingleComm::new())?;
    let rows: Vec<usize> = order.iter().map(|&row| row as usize).collect();
    let wanted = array.select(Axis(0), &rows);
    for d in zoo(&shape_of(array), comm.size()) {
        let mut found = spread(array, &d, comm)?;
        let copy = Random::new(SEED).permuted(&found)?;
        alike(&gathered(&copy)?, &wanted, 0.0, "permuted")?;
        Random::new(SEED).shuffle(&mut found)?;
        alike(&gathered(&found)?, &wanted, 0.0, "shuffle")?;
    }
    Ok(())
}

fn ramp(shape: &[u64]) -> ArrayD<i64> {
    let extents: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
    ArrayD::from_shape_fn(IxDyn(&extents), |at| {
        let index: Vec<i64> = at.slice().iter().map(|&i| i as i64).collect();
        plain::flat(shape, &index)
    })
}

fn random_shuffle_global(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        if !shape.is_empty() {
            let array = ramp(shape);
            shuffle_of(&array, comm)?;
            shuffle_of(&array.mapv(|x| x % 3 == 0), comm)?;
        }
    }
    let d = plain::distribution(&[], &[], 0, comm.size());
    let mut scalar = LocalArray::<f64, IxDyn, _>::zeros(&d, comm)?;
    let refused = Random::new(1).shuffle(&mut scalar);
    ensure(
        matches!(refused, Err(ArrayError::InvalidDimension { .. })),
        || "0-d".into(),
    )?;
    // an index on every rank has the same value on all
    let lists = vec![vec![4_i64, 0, 2, 1, 3]; comm.size()];
    let d = Distribution::over(comm.size())
        .shape([5])
        .unstructured(0, lists)
        .build()?;
    let mut a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| g[0])?;
    Random::new(SEED).shuffle(&mut a)?;
    let order = order(5, &SingleComm::new())?;
    let wanted: Vec<i64> = [4, 0, 2, 1, 3].iter().map(|&i: &usize| order[i]).collect();
    same(a.local().as_slice(), Some(&*wanted), "repeated indices")
}

fn random_shuffle_local(comm: &dyn Communicator) -> Outcome {
    for d in zoo(&[13, 9], comm.size()) {
        if d.coords(comm.rank()).is_none() {
            continue;
        }
        let a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| plain::flat(&[13, 9], g))?;
        let part = Random::new(SEED).permuted(&a.part()?)?;
        let order = order(a.owned_shape()[0] as u64, &SingleComm::new())?;
        let rows: Vec<usize> = order.iter().map(|&row| row as usize).collect();
        same(
            part.local(),
            a.owned().select(Axis(0), &rows).view(),
            "rows of a part",
        )?;
    }
    Ok(())
}

fn random_values_without_a_size(comm: &dyn Communicator) -> Outcome {
    // a scalar is the element of a 0-d array
    let d = plain::distribution(&[], &[], 0, comm.size());
    let mut random = Random::new(SEED);
    let mut again = Random::new(SEED);
    macro_rules! values {
        ($($t:ty: $draw:expr, $call:ident($($arg:expr),*);)*) => {$(
            let x: $t = random.value(&$draw);
            let a: Whole<'_, $t> = again.$call($($arg,)* &d, comm)?;
            if d.coords(comm.rank()).is_some() {
                same(a.local().first().copied(), Some(x), stringify!($call))?;
            }
        )*};
    }
    values! {
        f64: Normal::new(1.0, 2.0)?, normal(1.0, 2.0);
        i32: Randint::new::<i32>(0, 1000)?, randint(1000, None);
        f32: Beta::new(0.5, 3.0)?, beta(0.5, 3.0);
        f64: StandardUniform, rand();
        f32: StandardNormal, randn();
    }
    Ok(())
}

fn random_seed_begins_anew(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[11], &[Kind::Block], 0, comm.size());
    let mut random = Random::new(1);
    let first: Whole<'_, f64> = random.rand(&d, comm)?;
    let second: Whole<'_, f64> = random.rand(&d, comm)?;
    random.seed(2);
    let other: Whole<'_, f64> = random.rand(&d, comm)?;
    random.seed(1);
    let again: Whole<'_, f64> = random.rand(&d, comm)?;
    let whole = [&first, &second, &other, &again].map(gathered);
    let [first, second, other, again] = whole;
    let (first, again) = (first?, again?);
    same(&again, &first, "again")?;
    ensure(second? != first && other? != first, || {
        "another array is the same".into()
    })
}

/// What was promised once: these must never change.
fn random_numbers_are_these(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[3], &[Kind::Cyclic(1)], 0, comm.size());
    let mut random = Random::new(42);
    let rand: Whole<'_, f64> = random.rand(&d, comm)?;
    let randn: Whole<'_, f64> = random.randn(&d, comm)?;
    let beta: Whole<'_, f64> = random.beta(2.0, 3.0, &d, comm)?;
    let waits: Whole<'_, f64> = random.exponential(1.0, &d, comm)?;
    let dice: Whole<'_, i64> = random.randint(1, Some(7), &d, comm)?;
    let order: Whole<'_, i64> = random.permutation(&d, comm)?;
    let found = format!(
        "{:?} {:?} {:?} {:?} {:?} {:?}",
        gathered(&rand)?.as_slice(),
        gathered(&randn)?.as_slice(),
        gathered(&beta)?.as_slice(),
        gathered(&waits)?.as_slice(),
        gathered(&dice)?.as_slice(),
        gathered(&order)?.as_slice()
    );
    same(found.as_str(), PROMISED, "numbers")
}

const PROMISED: &str = "\
    Some([0.8698921345145015, 0.006574619716973817, 0.16744698382851142]) \
    Some([1.6179189387554331, -0.6927909633283835, -0.8140197097574998]) \
    Some([0.7866745713921648, 0.392808293309067, 0.15163460831520942]) \
    Some([0.6469254643484372, 2.651201724695132, 1.0897455935027072]) \
    Some([3, 4, 3]) Some([2, 0, 1])";

fn random_wrong_arguments(comm: &dyn Communicator) -> Outcome {
    let refused = |outcome: Option<ArrayError>, what: &str| {
        ensure(matches!(outcome, Some(ArrayError::Argument { .. })), || {
            format!("{what}: {outcome:?}")
        })
    };
    refused(Normal::new(0.0, -1.0).err(), "scale")?;
    refused(Normal::new(0.0, f64::NAN).err(), "scale NaN")?;
    refused(Exponential::new(-1.0).err(), "scale")?;
    refused(Uniform::new(1.0, 0.0).err(), "low above high")?;
    refused(Uniform::new(0.0, f64::INFINITY).err(), "no end")?;
    refused(Uniform::new(-1e308, 1e308).err(), "too far")?;
    for (a, b) in [
        (0.0, 1.0),
        (1.0, -1.0),
        (f64::NAN, 1.0),
        (1.0, f64::INFINITY),
        (1e308, 1e308),
    ] {
        refused(Beta::new(a, b).err(), "beta")?;
    }
    refused(Randint::new::<i8>(0, 129).err(), "i8")?;
    refused(Randint::new::<u8>(0, 0).err(), "none")?;
    let d = plain::distribution(&[2, 2], &[Kind::Block, Kind::Whole], 0, comm.size());
    let wrong = Random::new(1).permutation::<IxDyn, _>(&d, comm);
    ensure(
        matches!(wrong, Err(ArrayError::InvalidDimension { .. })),
        || "2-d".into(),
    )?;
    let wrong = Random::new(1).randint::<u8, IxDyn, _>(0, None, &d, comm);
    ensure(matches!(wrong, Err(ArrayError::Argument { .. })), || {
        "nothing below 0".into()
    })?;
    let wrong = Random::new(1).rand::<f64, Ix1, _>(&d, comm);
    ensure(
        matches!(wrong, Err(ArrayError::InvalidDimension { .. })),
        || "dimensions".into(),
    )
}

fn random_label_state(comm: &dyn Communicator) -> Outcome {
    for (rank, words) in [
        [0xaf55_70f5, 0xa181_0b7a, 0xf78c_af4b],
        [0xcbbc_4875, 0x0deb_b853, 0x5093_b3de],
        [0x9ee5_0aea, 0x7e52_f17d, 0xc807_488b],
    ]
    .iter()
    .enumerate()
    {
        same(&label_mask(rank as u32)[..3], &words[..], "mask")?;
    }
    same(label_mask(0)[623], 0x5032_3599, "the last word")?;
    // what DistArray 0.2 had on three ranks: the state's first words, and the numbers after the first one
    let states: [[u32; 8]; 3] = [
        [
            2_941_612_277,
            2_709_588_859,
            2_609_587_756,
            3_057_691_982,
            1_173_515_782,
            689_841_523,
            357_005_631,
            4_109_871_136,
        ],
        [
            3_418_114_165,
            233_551_954,
            1_016_347_321,
            3_737_282_366,
            83_425_030,
            3_331_431_859,
            307_203_302,
            3_099_907_018,
        ],
        [
            2_665_810_666,
            2_119_364_988,
            2_751_513_068,
            3_425_293_687,
            3_315_913_705,
            2_931_624_339,
            3_153_743_655,
            2_502_556_049,
        ],
    ];
    let numbers = [
        [
            0.442_479_465_763_470_97,
            0.512_061_794_797_254,
            0.416_516_172_104_229_64,
        ],
        [f64::NAN, 0.114_250_961_686_762_08, 0.861_524_875_833_143_4],
        [f64::NAN, 0.771_079_600_421_962_4, 0.409_729_310_281_440_33],
    ];
    let of_42 = [
        [0.636_116_227_395_968, 0.778_852_367_997_298_7],
        [0.480_887_690_323_887_34, 0.348_803_054_804_777_14],
    ];
    let rank = comm.rank();
    let mut state = RankRandom::state_of(0);
    label_state(&mut state, &comm);
    if let Some(wanted) = states.get(rank) {
        same(&state[..8], &wanted[..], "state")?;
        let found = RankRandom::from_state(&state).rand(3);
        same(&found[1..], &numbers[rank][1..], "numbers")?;
        if rank == 0 {
            same(found[0], numbers[0][0], "the first number")?;
        }
        same(RankRandom::seed(0, &comm).rand(3), found, "seeded")?;
    }
    if let Some(wanted) = of_42.get(rank) {
        same(
            RankRandom::seed(42, &comm).rand(2),
            wanted.to_vec(),
            "of 42",
        )?;
    }
    Ok(())
}

/// What a rank of `DistArray` 0.2.0 (`NumPy` 1.23.5) got after `seed(0)` and `label_state`: `rand` and `randint` of shape (6,),
/// `normal`, `beta` and `randn` of shape (4,), on three ranks.
struct Drawn {
    rand: &'static [f64],
    normal: &'static [f64],
    randint: &'static [i64],
    beta: &'static [f64],
    randn: &'static [f64],
}

const DRAWN: [Drawn; 3] = [
    Drawn {
        rand: &[0.512_061_794_797_254, 0.416_516_172_104_229_64],
        normal: &[-0.905_949_792_736_587_5, 0.726_589_044_962_038_1],
        randint: &[88, 83],
        beta: &[0.348_371_086_438_098_17, 0.604_669_013_709_132_8],
        randn: &[0.054_124_729_213_138_524, 0.349_272_066_219_148_97],
    },
    Drawn {
        rand: &[0.114_250_961_686_762_08, 0.861_524_875_833_143_4],
        normal: &[0.345_870_973_204_736_1, 0.076_322_511_805_967_43],
        randint: &[93, 56],
        beta: &[0.452_274_701_974_427_8, 0.183_237_050_170_660_64],
        randn: &[2.780_554_501_287_422_7, -0.198_221_563_278_348_83],
    },
    Drawn {
        rand: &[0.771_079_600_421_962_4, 0.409_729_310_281_440_33],
        normal: &[],
        randint: &[94, 38],
        beta: &[],
        randn: &[],
    },
];

/// Equal but for what two mathematical libraries may differ in.
fn near(found: &[f64], wanted: &[f64], what: &str) -> Outcome {
    let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-13 * b.abs();
    let alike = found.len() == wanted.len() && found.iter().zip(wanted).all(is_near);
    ensure(alike, || format!("{what}: {found:?}, wanted {wanted:?}"))
}

fn random_as_distarray_draws(comm: &dyn Communicator) -> Outcome {
    // Each rank by itself, so that the numbers of a rank are compared under any number of ranks.
    let alone = &SingleComm::new();
    for (rank, wanted) in (0_u32..).zip(&DRAWN) {
        let mut state = RankRandom::state_of(0);
        state
            .iter_mut()
            .zip(label_mask(rank))
            .for_each(|(word, mask)| *word ^= mask);
        let mut random = RankRandom::from_state(&state);
        let of = |n: usize| Distribution::over(1).shape([n as u64]).build();
        let (six, four) = (of(wanted.rand.len())?, of(wanted.normal.len())?);
        let rand = random.array::<f64, Ix1, _>(|r, n| Ok(r.rand(n)), &six, alone)?;
        same(rand.local().to_vec(), wanted.rand.to_vec(), "rand")?;
        let normal = random.array::<f64, Ix1, _>(|r, n| r.normal(0.0, 1.0, n), &four, alone)?;
        near(&normal.local().to_vec(), wanted.normal, "normal")?;
        let dice = random.array::<i64, Ix1, _>(|r, n| r.randint(0, Some(100), n), &six, alone)?;
        same(dice.local().to_vec(), wanted.randint.to_vec(), "randint")?;
        let beta = random.array::<f64, Ix1, _>(|r, n| r.beta(2.0, 3.0, n), &four, alone)?;
        near(&beta.local().to_vec(), wanted.beta, "beta")?;
        let randn = random.array::<f64, Ix1, _>(|r, n| Ok(r.randn(n)), &four, alone)?;
        near(&randn.local().to_vec(), wanted.randn, "randn")?;
    }
    random_as_numpy_draws()?;
    let d = plain::distribution(&[7], &[Kind::Block], 1, comm.size());
    let mut random = RankRandom::seed(3, &comm);
    let a = random.array::<i64, Ix1, _>(|r, n| r.randint(5, None, n), &d, comm)?;
    let mut again = RankRandom::seed(3, &comm);
    again.randint(5, None, 1)?;
    let wanted = again.randint(5, None, a.local().len())?;
    same(a.local().to_vec(), wanted, "padding is drawn too")?;
    let refused = [
        random.randint(3, Some(3), 1).err(),
        random.randint(0, None, 0).err(),
        random.normal(0.0, -1.0, 1).err(),
        random.normal(0.0, f64::NAN, 1).err(),
        random.beta(0.0, 1.0, 1).err(),
        random.beta(1.0, f64::INFINITY, 1).err(),
        random
            .array::<f64, Ix1, _>(|r, n| Ok(r.rand(n + 1)), &d, comm)
            .err(),
    ];
    for (at, error) in refused.into_iter().enumerate() {
        ensure(matches!(error, Some(ArrayError::Argument { .. })), || {
            format!("{at}: {error:?}")
        })?;
    }
    Ok(())
}

/// What `NumPy` 1.26.4 gave after `numpy.random.seed(20_140_417)`: every branch of its methods.
fn random_as_numpy_draws() -> Outcome {
    let fresh = || RankRandom::from_state(&RankRandom::state_of(20_140_417));
    let betas: [((f64, f64), [f64; 4]); 7] = [
        (
            (0.5, 0.5),
            [
                0.342_667_895_964_763_9,
                0.986_142_277_025_127_1,
                0.995_115_024_913_345_5,
                0.044_338_363_051_219_8,
            ],
        ),
        (
            (0.3, 1.0),
            [
                0.001_892_943_606_216_723_8,
                0.717_708_662_479_633_8,
                0.003_897_419_640_609_303,
                0.177_554_567_344_295_28,
            ],
        ),
        (
            (1.0, 2.5),
            [
                0.030_145_883_987_110_71,
                0.575_569_385_015_174_5,
                0.774_606_175_590_439_5,
                0.547_739_470_153_103_3,
            ],
        ),
        (
            (0.25, 3.0),
            [
                2.237_802_761_954_591_7e-05,
                8.089_757_181_869_43e-06,
                0.000_309_428_178_970_157_2,
                0.011_059_457_172_026_707,
            ],
        ),
        (
            (4.0, 0.5),
            [
                0.998_045_959_273_067_3,
                0.991_973_111_263_284_9,
                0.954_122_203_239_403_3,
                0.982_413_544_509_107_8,
            ],
        ),
        ((0.001, 0.002), [0.0, 1.0, 1.0, 1.0]),
        (
            (7.0, 1.0),
            [
                0.985_807_363_806_905_6,
                0.930_944_520_398_421,
                0.869_199_848_242_036,
                0.887_854_615_127_404_6,
            ],
        ),
    ];
    for ((a, b), wanted) in betas {
        near(&fresh().beta(a, b, 4)?, &wanted, &format!("beta({a}, {b})"))?;
    }
    let integers = [
        ((0, 1), [0, 0, 0]),
        ((0, 2), [1, 0, 1]),
        ((-5, 7), [-2, -3, -5]),
        ((0, 1 << 32), [336_508_019, 936_834_782, 466_069_981]),
        (
            (0, (1 << 32) + 1),
            [487_522_067, 1_167_213_656, 1_094_403_928],
        ),
        (
            (i64::MIN, i64::MAX),
            [
                -7_778_081_099_471_194_402,
                -7_221_616_709_246_634_974,
                9_214_833_917_235_756_819,
            ],
        ),
        (
            (10, 1 << 40),
            [494_858_073_832, 950_753_571_884, 687_682_289_437],
        ),
    ];
    for ((low, high), wanted) in integers {
        let found = fresh().randint(low, Some(high), 3)?;
        same(found, wanted.to_vec(), &format!("randint({low}, {high})"))?;
    }
    let wanted = [
        2.651_978_967_137_332_6,
        3.079_558_055_330_776,
        2.933_448_678_278_712,
        3.320_924_130_127_014_7,
        3.201_724_100_069_204,
    ];
    near(&fresh().normal(3.0, 0.5, 5)?, &wanted, "normal(3, 0.5)")
}

fn random_shuffle_out_of_step(comm: &dyn Communicator) -> Outcome {
    let (ranks, rank) = (comm.size(), comm.rank());
    let kinds = [Kind::Block, Kind::List(5)];
    for kind in kinds {
        let d = plain::distribution(&[10], &[kind], 0, ranks);
        let mut a = LocalArray::<i64, Ix1, _>::from_fn(&d, comm, |g| g[0])?;
        if ranks > 1 {
            let seeds = Random::new(rank as u64).shuffle(&mut a);
            refused_everywhere(comm, seeds, "seeds")?;
            let mut random = Random::new(SEED);
            if rank == 0 {
                random.value::<f64>(&StandardUniform);
            }
            refused_everywhere(comm, random.permuted(&a), "draws")?;
        }
        Random::new(SEED).shuffle(&mut a)?;
        let mut all = gathered(&a.into_dyn())?.into_raw_vec_and_offset().0;
        all.sort_unstable();
        same(all, (0..10).collect::<Vec<i64>>(), "nothing is lost")?;
    }
    Ok(())
}
