//! No rank is sent more than its share: a wrapped communicator counts, so that what one rank would gather in secret shows.

use dist_comm::Communicator;
use dist_maps::Distribution;
use local_array::random::Random;
use local_array::{
    ArrayError, Dot, IndexMode, LocalArray, Order, SearchSide, SlidingMode, SortKind, Tolerance,
    concatenate, convolve, correlate, cross, inner, outer, tensordot, vdot,
};
use ndarray::{Ix1, Ix2};

use super::counting::Counting;
use super::{Outcome, ensure};

cases! {
    received_by_movements,
    received_by_rearrangements,
    received_by_searches,
    received_by_reductions,
    received_by_products,
}

type Counted<'a> = Counting<&'a dyn Communicator>;
type Line<'a> = LocalArray<f64, Ix1, Counted<'a>>;
type Matrix<'a> = LocalArray<f64, Ix2, Counted<'a>>;

/// Elements of the line, and of the matrix.
const LEN: usize = 30_000;
const ROWS: usize = 300;
const COLUMNS: usize = LEN / ROWS;
/// Bytes of the line, and of the matrix.
const BYTES: usize = 8 * LEN;

/// What messages are about besides elements: agreement, counts, bounds, samples.
const BESIDES: usize = 12_000;

/// A number of an index, in no order.
fn number(index: &[i64]) -> f64 {
    let flat = index.iter().fold(7_i64, |flat, &g| flat * 1_009 + g);
    (flat * 7_919 % 10_007) as f64
}

fn lines<'a>(comm: &Counted<'a>) -> Result<(Line<'a>, Line<'a>), ArrayError> {
    let over = || Distribution::over(comm.size()).shape([LEN as u64]);
    let (blocks, dealt) = (over().block(0).build()?, over().block_cyclic(0, 7).build()?);
    Ok((
        LocalArray::from_fn(&blocks, comm.clone(), number)?,
        LocalArray::from_fn(&dealt, comm.clone(), |g| number(&[g[0] + 31]))?,
    ))
}

fn matrices<'a>(comm: &Counted<'a>) -> Result<(Matrix<'a>, Matrix<'a>), ArrayError> {
    let over = || Distribution::over(comm.size()).shape([ROWS as u64, COLUMNS as u64]);
    let (rows, columns) = (over().block(0).build()?, over().cyclic(1).build()?);
    Ok((
        LocalArray::from_fn(&rows, comm.clone(), number)?,
        LocalArray::from_fn(&columns, comm.clone(), number)?,
    ))
}

/// Fails if a call moves more than its share of `bytes` to a rank, from four ranks on: below, half is a share too.
struct Check<'a, 'b> {
    comm: &'b Counted<'a>,
}

impl Check<'_, '_> {
    fn call<T>(
        &self,
        what: &str,
        bytes: usize,
        outcome: impl FnOnce() -> Result<T, ArrayError>,
    ) -> Outcome {
        self.comm.take();
        outcome()?;
        let received = self.comm.take();
        let ranks = self.comm.size();
        if ranks < 4 {
            return Ok(());
        }
        // blocks and samples are not quite equal
        let allowed = bytes.div_ceil(ranks) * 5 / 4 + BESIDES;
        ensure(received <= allowed, || {
            format!("{what}: a rank received {received} bytes, allowed {allowed}")
        })
    }
}

fn received_by_movements(comm: &dyn Communicator) -> Outcome {
    let comm = &Counting::new(comm);
    let check = Check { comm };
    let (line, dealt) = lines(comm)?;
    let (rows, columns) = matrices(comm)?;
    check.call("redistribute", BYTES, || {
        line.redistribute(dealt.distribution())
    })?;
    check.call("asdist_like", BYTES, || rows.asdist_like(&columns))?;
    check.call("equal layouts", 0, || {
        line.redistribute(line.distribution())
    })?;
    // that this can fail: all on one rank is more than its share
    let alone = Distribution::over(comm.size())
        .shape([LEN as u64])
        .build()?;
    let gathered = check.call("one rank", BYTES, || line.redistribute(&alone));
    let is_large = comm.size() >= 4 && comm.rank() == alone.targets()[0];
    ensure(gathered.is_err() == is_large, || {
        "what one rank gathers does not show".into()
    })
}

fn received_by_rearrangements(comm: &dyn Communicator) -> Outcome {
    let comm = &Counting::new(comm);
    let check = Check { comm };
    let (line, dealt) = lines(comm)?;
    let (rows, columns) = matrices(comm)?;
    check.call("reshape", BYTES, || line.reshape(&[100, 300]).map(drop))?;
    check.call("ravel", BYTES, || rows.ravel(Order::F).map(drop))?;
    check.call("flatten", BYTES, || columns.flatten(Order::C))?;
    check.call("resize", 2 * BYTES, || {
        rows.clone().resize(&[200, 300], Order::C)
    })?;
    check.call("repeat", 2 * BYTES, || line.repeat(2, 0))?;
    check.call("concatenate", 2 * BYTES, || {
        concatenate(&[&line, &dealt], 0)
    })?;
    check.call("concatenate columns", 2 * BYTES, || {
        concatenate(&[&rows, &columns], 1)
    })?;
    check.call("diagonal", 8 * COLUMNS, || columns.diagonal(0, 0, 1))?;
    check.call("shuffle", BYTES, || Random::new(3).permuted(&rows))?;
    let mut draws = Random::new(3);
    check.call("permutation", 2 * BYTES, || {
        draws.permutation::<Ix1, _>(dealt.distribution(), comm.clone())
    })?;
    check.call("part", 0, || line.part()?.sorted(0, SortKind::Quick))
}

fn received_by_searches(comm: &dyn Communicator) -> Outcome {
    let comm = &Counting::new(comm);
    let check = Check { comm };
    let (line, dealt) = lines(comm)?;
    let (rows, columns) = matrices(comm)?;
    // a value, or a value and its place, to where it is sorted, and what comes of it to where it belongs; samples of ranks
    check.call("sorted", 2 * BYTES, || line.sorted(0, SortKind::Quick))?;
    check.call("sorted columns", 2 * BYTES, || {
        rows.sorted(0, SortKind::Stable)
    })?;
    check.call("argsort", 5 * BYTES, || dealt.argsort(0, SortKind::Quick))?;
    check.call("argsort rows", 5 * BYTES, || {
        columns.argsort(1, SortKind::Quick)
    })?;
    let sorted = line
        .sorted(0, SortKind::Quick)?
        .into_dimensionality::<Ix1>()?;
    // each value to those who may have its place, and a place back
    check.call("searchsorted", 4 * BYTES, || {
        sorted.searchsorted(&dealt, SearchSide::Left)
    })?;
    check.call("digitize", 0, || line.digitize(&[10.0, 20.0], false))?;
    check.call("nonzero", BYTES, || line.nonzero())?;
    let mask = rows.map(|x| *x > 5_000.0);
    check.call("compress_where", BYTES, || rows.compress_where(&mask))?;
    let places: Vec<i64> = (0..ROWS as i64).rev().step_by(3).collect();
    check.call("take", BYTES / 3 + 8 * places.len(), || {
        rows.take(&places[..], 0, IndexMode::Raise)
    })?;
    let places = line.map(|x| 3 * *x as i64);
    // places there, elements back
    check.call("take_at", 3 * BYTES, || {
        line.take_at(&places, IndexMode::Wrap)
    })?;
    check.call("put_at", 3 * BYTES, || {
        line.clone().put_at(&places, &line, IndexMode::Wrap)
    })?;
    check.call("median", 2 * BYTES, || line.median())?;
    check.call("median over rows", 2 * BYTES, || rows.over(0).median())
}

fn received_by_reductions(comm: &dyn Communicator) -> Outcome {
    let comm = &Counting::new(comm);
    let check = Check { comm };
    let (line, dealt) = lines(comm)?;
    let (rows, columns) = matrices(comm)?;
    check.call("sum", 0, || line.sum())?;
    check.call("var", 0, || dealt.var(0.0))?;
    check.call("argmax", 0, || rows.argmax())?;
    check.call("average", BYTES, || line.average(&line))?;
    check.call("allclose", BYTES, || {
        line.allclose(&line, Tolerance::default())
    })?;
    check.call("histogram", 0, || line.histogram(20).count())?;
    // partial results of the columns, from as many ranks as a tree has levels
    check.call("sum over rows", 8 * COLUMNS * comm.size() * 3, || {
        rows.over(0).sum()
    })?;
    check.call("sum over columns", 8 * ROWS * comm.size() * 3, || {
        columns.over(1).sum()
    })?;
    check.call("max over rows", 8 * COLUMNS * comm.size() * 3, || {
        rows.over(0).max()
    })?;
    check.call("cumsum", BYTES, || rows.cumsum(0))?;
    check.call("cumsum flat", 2 * BYTES, || dealt.cumsum(None))?;
    check.call("exact sum", 0, || line.reproducible().sum())?;
    check.call("exact mean", 0, || dealt.reproducible().mean())?;
    check.call("product by a tree", BYTES, || line.reproducible().prod())?;
    check.call("product by a tree, moved", 2 * BYTES, || {
        dealt.reproducible().prod()
    })?;
    check.call("running sums by a tree", 2 * BYTES, || {
        dealt.reproducible().cumsum(0)
    })?;
    check.call("printed", 0, || line.distarray2string())
}

fn received_by_products(comm: &dyn Communicator) -> Outcome {
    let comm = &Counting::new(comm);
    let check = Check { comm };
    let (line, dealt) = lines(comm)?;
    let (rows, columns) = matrices(comm)?;
    check.call("vdot", BYTES, || vdot(&line, &dealt))?;
    check.call("dot of lines", BYTES, || line.dot(&dealt))?;
    check.call("exact vdot", BYTES, || line.reproducible().vdot(&dealt))?;
    check.call("inner", BYTES, || inner(&line, &dealt))?;
    check.call("tensordot of all", BYTES, || tensordot(&rows, &columns, 2))?;
    let across = Distribution::over(comm.size())
        .shape([10_000, 3])
        .cyclic(0)
        .build()?;
    let vectors: Matrix = LocalArray::from_fn(&across, comm.clone(), number)?;
    let components = Distribution::over(comm.size())
        .shape([10_000, 3])
        .block(1)
        .build()?;
    let components: Matrix = LocalArray::from_fn(&components, comm.clone(), number)?;
    check.call("cross", 3 * BYTES, || cross(&vectors, &components, -1))?;
    let short = LocalArray::<f64, Ix1, _>::from_fn(
        &Distribution::over(comm.size())
            .shape([50])
            .block(0)
            .build()?,
        comm.clone(),
        number,
    )?;
    check.call("outer", 8 * 50 * comm.size() + BYTES, || {
        outer(&short, &line)
    })?;
    check.call("convolve", 2 * BYTES, || {
        convolve(&line, &short, SlidingMode::Same)
    })?;
    check.call("correlate", 2 * BYTES, || {
        correlate(&dealt, &short, SlidingMode::Valid)
    })?;
    // all observations pass by each rank, whose variables meet all others
    let passing = comm.size() * (BYTES + 8 * COLUMNS);
    check.call("covariance", passing, || {
        rows.covariance().rowvar(false).cov()
    })?;
    // on a grid of p × q each rank needs a p-th of one matrix and a q-th of the other
    let needed = comm.size() * (BYTES / 2 + BYTES / 2);
    check.call("product of matrices", needed, || {
        rows.dot(&columns.transpose(None)?)
    })?;
    let vector = LocalArray::<f64, Ix1, _>::from_fn(
        &Distribution::over(comm.size())
            .shape([COLUMNS as u64])
            .block(0)
            .build()?,
        comm.clone(),
        number,
    )?;
    check.call("matrix and vector", 8 * COLUMNS * comm.size(), || {
        rows.dot(&vector)
    })
}
