//! Covariances and correlations of variables: [`covariance`](LocalArrayBase::covariance).
//!
//! ```text
//! few variables    the observations are dealt to the ranks; each multiplies its own, and the products are added up in
//!                  order of rank, every rank the rows that it has of the result
//! many variables   the variables are dealt to the ranks; each multiplies its own by those of every rank in turn
//! reproducible     the observations are dealt to the ranks; sums of elements and of products are exact
//! ```

mod exactly;
mod observations;
mod rows;
mod variables;

use std::fmt;
use std::sync::Arc;

use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};
use dist_maps::{AxisDist, Distribution};
use ndarray::{Data, Dimension, IxDyn};

use exactly::exactly;
use observations::by_observations;
use rows::{Rows, variables_of};
use variables::by_variables;

use crate::agreement::{Bits, same_everywhere};
use crate::output::room;
use crate::summable::Center;
use crate::{ArrayError, Cast, Floating, LocalArray, LocalArrayBase, Summable};

/// What covariances of a type are kept in: `f64`, or [`Complex64`](num_complex::Complex64) for complex elements.
type Kept<T> = <<T as Summable>::Mean as Floating>::Center;

/// Variables whose covariances are to be taken, made by [`covariance`](LocalArrayBase::covariance).
///
/// Choosing is local, [`cov`](Self::cov) and [`corrcoef`](Self::corrcoef) are collective.
///
/// Plain ones take two passes: the means are taken from the elements, and what is left is multiplied, as matrices. Those made
/// [`reproducible`](Self::reproducible) come from exact sums of elements and of products, as
/// [`Reproducible`](crate::Reproducible)'s.
///
/// | method | of `NumPy` | default |
/// |---|---|---|
/// | [`with`](Self::with) | `y`: more variables, of the same observations | none |
/// | [`rowvar`](Self::rowvar) | `rowvar`: whether variables are rows, or columns | `true` |
/// | [`bias`](Self::bias) | `bias`: whether to divide by the number of observations, or by one less | `false` |
/// | [`ddof`](Self::ddof) | `ddof`: what to divide by less than the number, over `bias` | none |
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray};
/// use ndarray::Ix2;
///
/// ThreadComm::run(2, |comm| {
///     let columns = Distribution::over(2).shape([2, 4]).block(1).build()?;
///     let a = LocalArray::<f64, Ix2, _>::from_fn(&columns, comm, |g| ((1 + g[0]) * g[1]) as f64)?; // 0 1 2 3, 0 2 4 6
///     assert_eq!(a.covariance().ddof(0).cov()?.max()?, 5.0); // of 0 2 4 6
///     assert_eq!(a.covariance().ddof(0).reproducible().cov()?.max()?, 5.0);
///     let observations = a.covariance().rowvar(false); // four variables: the columns
///     assert_eq!(observations.cov()?.global_shape(), [4, 4]);
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
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
    /// Covariances ([`cov`](Covariance::cov)) or correlations ([`corrcoef`](Covariance::corrcoef)) of the variables in this
    /// array: of its rows, each a variable, each column an observation; of one dimension it is one variable. Local; what
    /// follows is collective. The elements are copied as `f64`, complex ones as [`Complex64`](num_complex::Complex64).
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
    /// Example: see [`covariance`](LocalArrayBase::covariance).
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
    /// Example: see [`Covariance`].
    pub fn rowvar(mut self, rows: bool) -> Self {
        self.rowvar = rows;
        self
    }

    /// Whether to divide by the number of observations, instead of one less. Local; every rank gives the same.
    /// Example: see [`covariance`](LocalArrayBase::covariance).
    pub fn bias(mut self, bias: bool) -> Self {
        self.bias = bias;
        self
    }

    /// Divides by the number of observations less `ddof`, whatever `bias` is. Local; every rank gives the same.
    /// Example: see [`Covariance`].
    pub fn ddof(mut self, ddof: impl Into<f64>) -> Self {
        self.ddof = Some(ddof.into());
        self
    }

    /// The same bits for any distribution and number of ranks: products are added up exactly. A rank then has all variables
    /// of its share of the observations, and all sums of products of one variable at a time, 0.5 KiB each, which the ranks join
    /// as a tree on the one that has the row of that variable. Local; every rank calls it or none.
    /// Example: see [`Covariance`].
    pub fn reproducible(mut self) -> Self {
        self.exact = true;
        self
    }

    /// The covariances, of shape (variables, variables), of no dimension for one variable; rows in blocks over all ranks.
    /// Collective; every rank gives the same arguments. Example: see [`covariance`](LocalArrayBase::covariance).
    ///
    /// Those of complex variables are of the first and the conjugate of the second. Where `ddof` leaves nothing to divide by
    /// they are infinite or NaN. Memory per rank: that of its elements, twice, and of one other rank's;
    /// [`reproducible`](Self::reproducible) takes its elements four times.
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
    /// `ddof` change nothing. Shape and distribution as of [`cov`](Self::cov). Collective. Example: see
    /// [`covariance`](LocalArrayBase::covariance).
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
        let laid: Vec<_> = self.sets.iter().map(|set| set.part.laid()).collect();
        let arguments = (
            self.rowvar,
            self.bias,
            self.ddof.map(Bits),
            self.exact,
            laid,
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
        // each rank has the products of its variables with all; of few variables first those of all
        let own = if is_few && !self.exact {
            variables
        } else {
            variables.div_ceil(ranks)
        };
        let count = usize::try_from(own.saturating_mul(variables)).unwrap_or(usize::MAX);
        drop(agree(comm, room::<K>(count, comm.rank()))?);
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
