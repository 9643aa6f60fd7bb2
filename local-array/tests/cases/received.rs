//! No rank is sent more than its share: a wrapped communicator counts, so that what one rank would gather in secret shows.

use dist_comm::Communicator;
use dist_maps::{Distribution, DistributionBuilder, Index, Slice};
use local_array::random::Random;
use local_array::{
    ArrayError, Dot, Equalised, IndexMode, LocalArray, Order, SearchSide, SlidingMode, SortKind,
    Tolerance, concatenate, convolve, correlate, cross, equalise, inner, outer, tensordot, vdot,
    where_,
};
use ndarray::{Ix1, Ix2, IxDyn};

use super::counting::Counting;
use super::{Outcome, ensure};

cases! {
    received_by_movements,
    received_by_rearrangements,
    received_by_searches,
    received_by_reductions,
    received_by_products,
    received_by_matrix_products,
    received_by_products_of_few_numbers,
    received_by_covariances,
    received_by_choices,
    received_by_items_and_halos,
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
        // blocks and samples are not quite equal
        let share = bytes.div_ceil(self.comm.size()) * 5 / 4;
        self.at_most(what, share, outcome)
    }

    /// Fails if a call moves more than so many bytes to a rank.
    fn at_most<T>(
        &self,
        what: &str,
        bytes: usize,
        outcome: impl FnOnce() -> Result<T, ArrayError>,
    ) -> Outcome {
        self.comm.take();
        outcome()?;
        let received = self.comm.take();
        if self.comm.size() < 4 {
            return Ok(());
        }
        let allowed = bytes + BESIDES;
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

/// An array of `LEN` elements in the distribution that `lay` makes.
fn matrix<'a>(
    comm: &Counted<'a>,
    shape: [usize; 2],
    lay: impl FnOnce(DistributionBuilder) -> DistributionBuilder,
) -> Result<Matrix<'a>, ArrayError> {
    let over = Distribution::over(comm.size()).shape(shape.map(|n| n as u64));
    LocalArray::from_fn(&lay(over).build()?, comm.clone(), number)
}

fn received_by_matrix_products(comm: &dyn Communicator) -> Outcome {
    let comm = &Counting::new(comm);
    let (check, ranks) = (Check { comm }, comm.size());
    let (rows, columns) = matrices(comm)?;
    let others = columns.transpose(None)?;
    // The rows stay, and each rank needs all of the other matrix, of which it has its share; not a byte of the rows more.
    let all_but_own = BYTES - BYTES / ranks;
    check.at_most("product of matrices", all_but_own, || rows.dot(&others))?;
    // Exact products take long: few of them, and no more than 128 rows and columns on a rank, which are made at a time.
    let (few, deep) = ([60, LEN / 60], [LEN / 60, 60]);
    let a = matrix(comm, few, |over| over.block(0))?;
    let b = matrix(comm, deep, |over| over.cyclic(0))?;
    check.at_most("exact product of matrices", all_but_own, || {
        a.reproducible().dot(&b)
    })?;
    if !ranks.is_multiple_of(2) {
        return Ok(());
    }
    // On a grid of two rows each rank needs half of one matrix and two parts of the other, and has one part of both.
    let grid = [2, ranks / 2];
    let spread = |over: DistributionBuilder| over.block(0).block(1).grid(grid);
    // uneven extents
    let needed = BYTES / 2 + BYTES / 20;
    let a = matrix(comm, [ROWS, COLUMNS], spread)?;
    let b = matrix(comm, [COLUMNS, ROWS], spread)?;
    check.at_most("product on a grid", needed, || a.dot(&b))?;
    let (a, b) = (matrix(comm, few, spread)?, matrix(comm, deep, spread)?);
    check.at_most("exact product on a grid", needed, || {
        a.reproducible().dot(&b)
    })
}

fn received_by_products_of_few_numbers(comm: &dyn Communicator) -> Outcome {
    /// Bytes of an exact sum of real and imaginary parts.
    const SUM: usize = 1_120;
    let comm = &Counting::new(comm);
    let (check, ranks) = (Check { comm }, comm.size());
    let (line, dealt) = lines(comm)?;
    let list = |shift: usize| {
        let place = move |g: usize| (g / 3 + shift) % ranks;
        (0..ranks).map(move |rank| {
            let own = (0..LEN).filter(|&g| place(g) == rank).map(|g| g as i64);
            own.collect::<Vec<i64>>()
        })
    };
    // One number. One factor is moved, or both are.
    let row = matrix(comm, [1, LEN], |over| over.block(1))?;
    let column = matrix(comm, [LEN, 1], |over| over.cyclic(0))?;
    check.call("one number", BYTES, || row.dot(&column))?;
    check.call("one exact number", BYTES, || {
        row.reproducible().dot(&column)
    })?;
    check.call("inner of a line and a row", BYTES, || inner(&dealt, &row))?;
    check.call("inner of a row and itself", 0, || inner(&row, &row))?;
    let row = matrix(comm, [1, LEN], |over| over.unstructured(1, list(0)))?;
    let column = matrix(comm, [LEN, 1], |over| over.unstructured(0, list(1)))?;
    check.call("one number of lists", 2 * BYTES, || row.dot(&column))?;
    check.call("one exact number of lists", 2 * BYTES, || {
        row.reproducible().dot(&column)
    })?;
    let row = matrix(comm, [1, LEN], |over| over.block(0))?;
    check.call("one number, from one rank", 2 * BYTES, || row.dot(&column))?;
    check.call("line and column", 2 * BYTES, || {
        line.view().into_dyn().dot(&column.view().into_dyn())
    })?;
    // An axis of one element is left.
    let deep = LocalArray::<f64, IxDyn, _>::from_fn(
        &Distribution::over(ranks)
            .shape([ROWS as u64, 1, COLUMNS as u64])
            .block(0)
            .build()?,
        comm.clone(),
        number,
    )?;
    let (rows, columns) = matrices(comm)?;
    // turned into a matrix, and what was turned dealt
    check.call("tensordot but for one", 3 * BYTES, || {
        tensordot(&deep, &rows, ([0, 2], [0, 1]))
    })?;
    check.call("tensordot of columns", 3 * BYTES, || {
        tensordot(&columns, &deep, ([0, 1], [0, 2]))
    })?;
    // Nine numbers, of which a rank has no more than twice its share.
    let a = matrix(comm, [3, LEN / 3], |over| over.block(0))?;
    let b = matrix(comm, [LEN / 3, 3], |over| over.cyclic(0))?;
    check.call("three by three", BYTES, || a.dot(&b))?;
    let sums = ranks * 2 * 9_usize.div_ceil(ranks) * SUM;
    check.at_most("exact three by three", BYTES / ranks * 5 / 4 + sums, || {
        a.reproducible().dot(&b)
    })?;
    // The rows of the first on a rank alone, though its grid has all.
    let bounds: Vec<u64> = (0..=ranks)
        .map(|rank| if rank == 0 { 0 } else { 2 })
        .collect();
    let a = matrix(comm, [2, COLUMNS], |over| over.block_bounds(0, bounds))?;
    let b = matrix(comm, [COLUMNS, ROWS], |over| over.block(0))?;
    check.call("rows on one rank", BYTES + ranks * 8 * 2 * COLUMNS, || {
        a.dot(&b)
    })?;
    let product = a.dot(&b)?;
    ensure(
        product.owned().len() <= 2 * (2 * ROWS).div_ceil(ranks),
        || format!("{} of {} on one rank", product.owned().len(), 2 * ROWS),
    )
}

fn received_by_covariances(comm: &dyn Communicator) -> Outcome {
    let comm = &Counting::new(comm);
    let (check, ranks) = (Check { comm }, comm.size());
    let (rows, _) = matrices(comm)?;
    // Many variables: dealt to the ranks, then those of each other rank pass by. A gather besides would be as much again.
    let passing = BYTES / ranks * 5 / 4 + (BYTES - BYTES / ranks);
    check.at_most("covariance", passing, || {
        rows.covariance().rowvar(false).cov()
    })?;
    // Few: the observations are dealt to the ranks.
    let few = matrix(comm, [4, LEN / 4], |over| over.cyclic(0))?;
    check.call("covariance of few", BYTES, || few.covariance().cov())?;
    check.call("correlation of few", BYTES, || few.covariance().corrcoef())?;
    // Besides, exact sums: of each variable; of the products of a variable with each, as many as a tree has levels.
    let (sum, levels) = (1_120, ranks.next_power_of_two().ilog2() as usize);
    let sums = 4 * sum + 4 * levels * (4 * sum / 2 + 8);
    check.at_most("exact covariance", BYTES / ranks * 5 / 4 + sums, || {
        few.covariance().reproducible().cov()
    })
}

fn received_by_choices(comm: &dyn Communicator) -> Outcome {
    let comm = &Counting::new(comm);
    let check = Check { comm };
    let (line, dealt) = lines(comm)?;
    let mask = line.map(|x| *x > 5_000.0);
    let numbers = line.map(|x| (*x > 5_000.0) as i64);
    check.call("where", 0, || where_(&mask, &line, 1.0))?;
    check.call("where, equalised", BYTES, || {
        where_(&mask, &line, Equalised(&dealt))
    })?;
    check.call("sum, equalised", BYTES, || &line + Equalised(&dealt))?;
    check.call("choose", 0, || numbers.choose([1.0, 2.0], IndexMode::Raise))?;
    check.call("choose, equalised", 2 * BYTES, || {
        numbers.choose([Equalised(&dealt), Equalised(&dealt)], IndexMode::Raise)
    })?;
    check.call("putmask", 0, || line.clone().putmask(&mask, &line))?;
    check.call("putmask, equalised", BYTES, || {
        line.clone().putmask(&mask, Equalised(&dealt))
    })?;
    check.call("putmask, repeated", 0, || {
        line.clone().putmask_repeated(&mask, &[1.0, 2.0, 3.0])
    })?;
    check.call("equalise", BYTES, || equalise(&line, &dealt).map(drop))?;
    check.call("histogram, weighted", 0, || {
        line.histogram(20).weighted(&line)
    })?;
    check.call("histogram2d", 0, || line.histogram2d(&line, 5, 5).count())?;
    check.call("histogram2d, weighted", 0, || {
        line.histogram2d(&line, 5, 5).weighted(&line)
    })?;
    // four sums of half a KiB from each rank
    check.at_most("exact average", 2_400 * comm.size(), || {
        line.reproducible().average(&line)
    })?;
    check.call("average over rows", 3 * 8 * COLUMNS * comm.size(), || {
        let (rows, _) = matrices(comm)?;
        rows.over(0).average(&rows)
    })?;
    // sums of half a KiB, of ten columns and of their weights, as many as a tree has levels
    let tall = matrix(comm, [LEN / 10, 10], |over| over.block(0))?;
    let states = 3 * 10 * 1_200;
    check.at_most("exact sums over rows", states, || {
        tall.over(0).reproducible().sum()
    })?;
    check.at_most("exact average over rows", 2 * states, || {
        tall.over(0).reproducible().average(&tall)
    })?;
    check.call("median over both", 2 * BYTES, || tall.over([0, 1]).median())
}

fn received_by_items_and_halos(comm: &dyn Communicator) -> Outcome {
    let comm = &Counting::new(comm);
    let check = Check { comm };
    let (line, dealt) = lines(comm)?;
    let (rows, columns) = matrices(comm)?;
    check.call("get_item", 0, || line.get_item(&[LEN as i64 / 2]))?;
    check.call("set_item", 0, || line.clone().set_item(&[-1], 2.0))?;
    let back: [Index; 1] = [Slice::new(None, None, -1).into()];
    check.call("slice", BYTES, || dealt.slice(&back).map(drop))?;
    check.call("set_slice", BYTES, || line.clone().set_slice(&back, &dealt))?;
    check.call("fill_slice", 0, || line.clone().fill_slice(&back, 1.0))?;
    check.call("transposed and reshaped", BYTES, || {
        columns.transpose(None)?.reshape(&[LEN as i64]).map(drop)
    })?;
    check.call("diag of a matrix", 8 * COLUMNS, || columns.diag(0))?;
    let few = LocalArray::<f64, Ix1, _>::from_fn(
        &Distribution::over(comm.size())
            .shape([150])
            .block(0)
            .build()?,
        comm.clone(),
        number,
    )?;
    check.call("matrix of a diagonal", 8 * 150, || few.diag(0))?;
    check.call("trace", 0, || columns.trace(0, 0, 1))?;
    check.call("cumprod", 0, || rows.cumprod(1))?;
    check.call("cumprod over the ranks", BYTES, || rows.cumprod(0))?;
    check.call("cumprod flat", 2 * BYTES, || dealt.cumprod(None))?;
    let padded = Distribution::over(comm.size())
        .shape([ROWS as u64, COLUMNS as u64])
        .block(0)
        .padding_of(0, 1, 1)
        .build()?;
    let mut padded: Matrix = LocalArray::from_fn(&padded, comm.clone(), number)?;
    check.at_most("halo", 2 * 8 * COLUMNS, || padded.exchange_halo())
}
