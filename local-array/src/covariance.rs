//! Covariances and correlations of variables: [`covariance`](LocalArrayBase::covariance).
//!
//! ```text
//! few variables    the observations are dealt to the ranks; each multiplies its own, and the products are added up in
//!                  order of rank, every rank the rows that it has of the result
//! many variables   the variables are dealt to the ranks; each multiplies its own by those of every rank in turn
//! ```

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use dist_comm::{CommExt, Communicator};
use dist_maps::{AxisDist, Distribution};
use ndarray::{Array1, Array2, Axis, Data, Dimension, Ix2, IxDyn, Slice, concatenate};

use crate::agreement::{Bits, same_everywhere};
use crate::exact::{ExactSum, covariance};
use crate::redistribute::moved_to;
use crate::summable::Center;
use crate::{
    Arithmetic, ArrayError, Cast, Floating, LocalArray, LocalArrayBase, LocalArrayView, Summable,
};

/// What covariances of a type are kept in: `f64`, or [`Complex64`](num_complex::Complex64) for complex elements.
type Kept<T> = <<T as Summable>::Mean as Floating>::Center;

/// Variables whose covariances are to be taken, made by [`covariance`](LocalArrayBase::covariance).
///
/// | method | of `NumPy` | default |
/// |---|---|---|
/// | [`with`](Self::with) | `y`: more variables, of the same observations | none |
/// | [`rowvar`](Self::rowvar) | `rowvar`: whether variables are rows, or columns | `true` |
/// | [`bias`](Self::bias) | `bias`: whether to divide by the number of observations, or by one less | `false` |
/// | [`ddof`](Self::ddof) | `ddof`: what to divide by less than the number, over `bias` | none |
#[must_use]
pub struct Covariance<K, C> {
    /// Rows are variables, but for arrays of one dimension, as given.
    sets: Vec<LocalArray<K, IxDyn, C>>,
    rowvar: bool,
    bias: bool,
    ddof: Option<f64>,
    exact: bool,
}

impl<K, C> fmt::Debug for Covariance<K, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Covariance")
            .field("rowvar", &self.rowvar)
            .field("bias", &self.bias)
            .field("ddof", &self.ddof)
            .finish_non_exhaustive()
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Summable>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// Covariances ([`cov`](Covariance::cov)) or correlations ([`corrcoef`](Covariance::corrcoef)) of the variables in this array: of
    /// its rows, each a variable, each column an observation; of one dimension it is one variable. Local; what follows is
    /// collective. The elements are copied as `f64`, complex ones as [`Complex64`](num_complex::Complex64).
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, Ix2, array};
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let columns = Distribution::over(2).shape([2, 4]).block(1).build()?;
    ///     let a = LocalArray::<i32, Ix2, _>::from_fn(&columns, comm, |g| ((1 - 2 * g[0]) * g[1]) as i32)?;
    ///     let whole = a.covariance().bias(true).cov()?.gather_to(0)?;
    ///     assert_eq!(whole.is_none(), comm.rank() > 0);
    ///     assert!(whole.is_none_or(|c| c == array![[1.25, -1.25], [-1.25, 1.25]].into_dyn()));
    ///     let line = Distribution::over(2).shape([4]).block(0).build()?;
    ///     let y = LocalArray::<f32, Ix1, _>::from_fn(&line, comm, |g| g[0] as f32 * 3.0)?;
    ///     let three = a.covariance().with(&y).corrcoef()?;
    ///     assert!(three.global_shape() == [3, 3] && (three.sum()? - 1.0).abs() < 1e-12);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn covariance(&self) -> Covariance<Kept<S::Elem>, C> {
        Covariance {
            sets: vec![self.centers()],
            rowvar: true,
            bias: false,
            ddof: None,
            exact: false,
        }
    }

    fn centers(&self) -> LocalArray<Kept<S::Elem>, IxDyn, C> {
        let center = |&x: &S::Elem| Cast::<<S::Elem as Summable>::Mean>::cast(x).center();
        LocalArray {
            data: self.data.map(center).into_dyn(),
            part: Arc::clone(&self.part),
            comm: self.comm.clone(),
        }
    }
}

impl<K: Center, C: Communicator + Clone> Covariance<K, C> {
    /// More variables, of the same observations: `NumPy`'s `y`. Any distribution; complex where the others are. Local.
    pub fn with<S, D, C2>(mut self, y: &LocalArrayBase<S, D, C2>) -> Self
    where
        S: Data<Elem: Summable<Mean: Floating<Center = K>>>,
        D: Dimension,
        C2: Communicator,
    {
        let center = |&x: &S::Elem| Cast::<<S::Elem as Summable>::Mean>::cast(x).center();
        self.sets.push(LocalArray {
            data: y.data.map(center).into_dyn(),
            part: Arc::clone(&y.part),
            comm: self.sets[0].comm.clone(),
        });
        self
    }

    /// Whether rows are variables and columns observations, or the other way round. Local; every rank gives the same.
    pub fn rowvar(mut self, rows: bool) -> Self {
        self.rowvar = rows;
        self
    }

    /// Whether to divide by the number of observations, instead of one less. Local; every rank gives the same.
    pub fn bias(mut self, bias: bool) -> Self {
        self.bias = bias;
        self
    }

    /// Divides by the number of observations less `ddof`, whatever `bias` is. Local; every rank gives the same.
    pub fn ddof(mut self, ddof: impl Into<f64>) -> Self {
        self.ddof = Some(ddof.into());
        self
    }

    /// The same bits for any distribution and number of ranks: products are added up exactly. A rank then has all variables
    /// of its share of the observations, and all products of one variable at a time. Local; every rank calls it or none.
    pub fn reproducible(mut self) -> Self {
        self.exact = true;
        self
    }

    /// The covariances, of shape (variables, variables), of no dimension for one variable; rows in blocks over all ranks.
    /// Collective; every rank gives the same arguments.
    ///
    /// Those of complex variables are of the first and the conjugate of the second. Where `ddof` leaves nothing to divide by
    /// they are infinite or NaN. Memory per rank: that of its elements, twice, and of one other rank's.
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::Shape`] for more than two dimensions or different numbers of observations,
    /// [`ArrayError::Argument`] when the ranks give different arguments, as [`redistribute`](LocalArrayBase::redistribute).
    pub fn cov(&self) -> Result<LocalArray<K, IxDyn, C>, ArrayError> {
        let (mut rows, variables) = self.products()?;
        let n = rows.observations;
        let ddof = self.ddof.unwrap_or(if self.bias { 0.0 } else { 1.0 });
        #[expect(clippy::cast_precision_loss, reason = "a count as a float")]
        let factor = (n as f64 - ddof).max(0.0).recip();
        rows.products.mapv_inplace(|product| product.scaled(factor));
        self.result(rows, variables)
    }

    /// The correlation coefficients: covariances over the standard deviations of both variables, cut off at -1 and 1. `bias` and
    /// `ddof` change nothing. Shape and distribution as of [`cov`](Self::cov). Collective.
    ///
    /// # Errors
    /// As [`cov`](Self::cov).
    pub fn corrcoef(&self) -> Result<LocalArray<K, IxDyn, C>, ArrayError> {
        let (mut rows, variables) = self.products()?;
        let (own, first) = (rows.products.nrows(), rows.mine.start);
        let diagonal: Vec<f64> = (0..own)
            .map(|i| rows.products[[i, first + i]].real().sqrt())
            .collect();
        let roots = self.comm().all_gather_slice(&diagonal)?.concat();
        for ((i, j), product) in rows.products.indexed_iter_mut() {
            *product = product
                .divided(roots[first + i])
                .divided(roots[j])
                .clipped();
        }
        self.result(rows, variables)
    }

    fn comm(&self) -> &C {
        &self.sets[0].comm
    }

    /// The array of some rows of products.
    fn result(&self, rows: Rows<K>, variables: u64) -> Result<LocalArray<K, IxDyn, C>, ArrayError> {
        let comm = self.comm();
        let ranks = comm.size();
        if variables == 1 {
            let one = Distribution::from_axes(vec![], ranks, vec![0])?;
            let value = rows.products.first().copied().unwrap_or(K::NOTHING);
            return LocalArray::from_array(ndarray::arr0(value).into_dyn(), &one, comm.clone());
        }
        let axes = vec![
            AxisDist::block_balanced(variables, ranks)?,
            AxisDist::whole(variables)?,
        ];
        let distribution = Distribution::from_axes(axes, ranks, (0..ranks).collect::<Vec<_>>())?;
        LocalArray::from_array(rows.products.into_dyn(), &distribution, comm.clone())
    }

    /// The sums of products of deviations, a block of rows on each rank.
    fn products(&self) -> Result<(Rows<K>, u64), ArrayError> {
        let comm = self.comm();
        let shapes: Vec<&[u64]> = self.sets.iter().map(LocalArrayBase::global_shape).collect();
        let arguments = (
            self.rowvar,
            self.bias,
            self.ddof.map(Bits),
            self.exact,
            shapes,
            K::TYPE,
        );
        same_everywhere(comm, "covariance", &arguments)?;
        let sets = self.sets.iter().map(|set| variables_of(set, self.rowvar));
        let sets = sets.collect::<Result<Vec<_>, _>>()?;
        let n = sets[0].global_shape()[1];
        let mut variables = 0_u64;
        for set in &sets {
            let shape = set.global_shape();
            if shape[1] != n {
                return Err(ArrayError::Shape {
                    what: "the second array of variables",
                    given: shape.to_vec(),
                    allowed: format!("{n} observations, as of the first"),
                });
            }
            variables = variables.saturating_add(shape[0]);
        }
        let ranks = comm.size() as u64;
        // A square of all products on each rank must not be larger than its share of the elements.
        let is_few = variables.saturating_mul(ranks) <= n || variables < ranks;
        let products = if self.exact {
            exactly(&sets, n, variables, comm)?
        } else if is_few {
            by_observations(&sets, n, variables, comm)?
        } else {
            by_variables(&sets, n, variables, comm)?
        };
        Ok((products, variables))
    }
}

/// Some rows of the sums of products.
struct Rows<K> {
    products: Array2<K>,
    /// Which rows.
    mine: Range<usize>,
    observations: u64,
}

/// An array as (variables, observations); nothing is copied.
fn variables_of<K: Center, C: Communicator + Clone>(
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
fn moved<K: Center, C: Communicator + Clone>(
    set: &LocalArrayView<'_, K, Ix2, C>,
    axes: &[AxisDist; 2],
) -> Result<Array2<K>, ArrayError> {
    let ranks = set.comm.size();
    let distribution =
        Distribution::from_axes(axes.to_vec(), ranks, (0..ranks).collect::<Vec<_>>())?;
    Ok(moved_to(set, &distribution)?.into_local())
}

/// Takes the mean of each row from it.
fn center<K: Center>(rows: &mut Array2<K>, sums: &Array1<K>, count: u64) {
    #[expect(clippy::cast_precision_loss, reason = "a count as a float")]
    let factor = (count as f64).recip();
    for (mut row, &sum) in rows.outer_iter_mut().zip(sums) {
        let mean = sum.scaled(factor);
        row.mapv_inplace(|x| Arithmetic::minus(x, mean));
    }
}

fn sums_of<K: Center>(rows: &Array2<K>) -> Array1<K> {
    rows.outer_iter()
        .map(|row| match row.as_slice() {
            Some(row) => crate::reduction::pairwise(row, K::NOTHING, K::plus),
            None => row.iter().copied().fold(K::NOTHING, K::plus),
        })
        .collect()
}

fn times_conjugate<K: Center>(a: &Array2<K>, b: &Array2<K>) -> Array2<K> {
    a.dot(&b.t().mapv(K::conjugate))
}

/// The ends of the blocks of rows of each rank.
fn block(variables: u64, ranks: usize, rank: usize) -> Result<Range<usize>, ArrayError> {
    let range = AxisDist::block_balanced(variables, ranks)?
        .owned_range(rank)
        .unwrap_or(0..0);
    let index = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    Ok(index(range.start)..index(range.end))
}

fn by_observations<K: Center, C: Communicator + Clone>(
    sets: &[LocalArrayView<'_, K, Ix2, C>],
    n: u64,
    variables: u64,
    comm: &C,
) -> Result<Rows<K>, ArrayError> {
    let ranks = comm.size();
    let parts = sets.iter().map(|set| {
        let rows = AxisDist::whole(set.global_shape()[0])?;
        moved(set, &[rows, AxisDist::block_balanced(n, ranks)?])
    });
    let parts = parts.collect::<Result<Vec<_>, ArrayError>>()?;
    let mut own = joined(&parts)?;
    drop(parts);
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

/// As [`by_observations`], by exact sums of the elements and of their products, the means taken off at the end.
#[expect(clippy::cast_precision_loss, reason = "a count as a float")]
fn exactly<K: Center, C: Communicator + Clone>(
    sets: &[LocalArrayView<'_, K, Ix2, C>],
    n: u64,
    variables: u64,
    comm: &C,
) -> Result<Rows<K>, ArrayError> {
    let ranks = comm.size();
    let parts = sets.iter().map(|set| {
        let rows = AxisDist::whole(set.global_shape()[0])?;
        moved(set, &[rows, AxisDist::block_balanced(n, ranks)?])
    });
    let own = joined(&parts.collect::<Result<Vec<_>, ArrayError>>()?)?;
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
    let mine = block(variables, ranks, comm.rank())?;
    let mut products = Array2::from_elem((mine.len(), re.len()), K::NOTHING);
    let mut negative = Vec::new();
    for i in 0..re.len() {
        // x · conj(y) = (a + ib)(c - id) = ac + bd + i(bc - ad)
        negative.clear();
        negative.extend(re[i].iter().map(|x| -x));
        let mut of_row: Vec<[ExactSum; 2]> = (0..re.len())
            .map(|j| {
                let mut sums = [ExactSum::ZERO; 2];
                sums[0].add_products(&re[i], &re[j]);
                if K::COUNT == 2 {
                    sums[0].add_products(&im[i], &im[j]);
                    sums[1].add_products(&im[i], &re[j]);
                    sums[1].add_products(&negative, &im[j]);
                }
                sums
            })
            .collect();
        comm.all_reduce_with(&mut of_row, merge)?;
        if !mine.contains(&i) {
            continue;
        }
        let count = n as f64;
        let ([a, b], minus) = (sums[i], |x: [f64; 2]| x.map(|x| -x));
        for (product, (found, [c, d])) in products
            .row_mut(i - mine.start)
            .iter_mut()
            .zip(of_row.iter().zip(&sums))
        {
            let of_re = covariance(
                [covariance(found[0].pair(), a, *c, count, 1.0), 0.0],
                b,
                *d,
                count,
                1.0,
            );
            let of_im = covariance(
                [covariance(found[1].pair(), b, *c, count, 1.0), 0.0],
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

fn by_variables<K: Center, C: Communicator + Clone>(
    sets: &[LocalArrayView<'_, K, Ix2, C>],
    n: u64,
    variables: u64,
    comm: &C,
) -> Result<Rows<K>, ArrayError> {
    let ranks = comm.size();
    let all = AxisDist::block_balanced(variables, ranks)?;
    let bounds: Vec<u64> = (0..ranks)
        .filter_map(|rank| all.owned_range(rank))
        .map(|range| range.start)
        .chain([variables])
        .collect();
    let mut first = 0;
    let mut parts = Vec::new();
    for set in sets {
        // The blocks of all variables, cut to those of this set.
        let count = set.global_shape()[0];
        let cut: Vec<u64> = bounds
            .iter()
            .map(|&bound| bound.saturating_sub(first).min(count))
            .collect();
        parts.push(moved(
            set,
            &[AxisDist::block_bounds(cut)?, AxisDist::whole(n)?],
        )?);
        first += count;
    }
    let mut own = joined(&parts)?;
    drop(parts);
    let sums = sums_of(&own);
    center(&mut own, &sums, n);
    let mine = block(variables, ranks, comm.rank())?;
    let width = block(variables, 1, 0)?.len();
    let mut products = Array2::from_elem((mine.len(), width), K::NOTHING);
    for rank in 0..ranks {
        let rows = block(variables, ranks, rank)?;
        let mut theirs = if rank == comm.rank() {
            own.clone()
        } else {
            Array2::from_elem((rows.len(), own.ncols()), K::NOTHING)
        };
        if let Some(elements) = theirs.as_slice_mut() {
            comm.broadcast_slice(rank, elements)?;
        }
        products
            .slice_axis_mut(Axis(1), Slice::from(rows))
            .assign(&times_conjugate(&own, &theirs));
    }
    Ok(Rows {
        products,
        mine,
        observations: n,
    })
}

/// The variables of all sets, in C order.
fn joined<K: Center>(parts: &[Array2<K>]) -> Result<Array2<K>, ArrayError> {
    let views: Vec<_> = parts.iter().map(|part| part.view()).collect();
    let joined = concatenate(Axis(0), &views).map_err(|_| ArrayError::Shape {
        what: "the second array of variables",
        given: vec![],
        allowed: "as many observations as of the first".to_owned(),
    })?;
    Ok(joined.as_standard_layout().into_owned())
}
