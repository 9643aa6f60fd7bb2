//! Weighted means: [`average`](LocalArrayBase::average), of the whole and over axes.

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use dist_maps::{AxisDist, Distribution};
use ndarray::{ArrayD, ArrayViewD, Axis, Data, DataMut, Dimension, IxDyn};

use crate::cumulate::write;
use crate::in_step::in_step;
use crate::over::{Over, counted};
use crate::part::Part;
use crate::reduction::Sum;
use crate::reproducible::exact_sum;
use crate::take::check_ranks;
use crate::{
    Arithmetic, ArrayError, Axes, Cast, Floating, LocalArray, LocalArrayBase, LocalArrayView,
    Parts, Reproducible, Summable,
};

/// What elements weigh in an [`average`](LocalArrayBase::average): an array by reference, or [`Unweighted`].
///
/// An array has the shape and distribution of the averaged one, or one dimension for each reduced axis, in the order in which
/// the axes are named, and any distribution: then each rank gets the weights that it needs.
pub trait Weights<A> {
    /// The weights as an `A`.
    #[doc(hidden)]
    fn weights(self) -> WeightsOf<A>;
}

/// What [`Weights`] are.
#[doc(hidden)]
#[derive(Debug)]
pub struct WeightsOf<A>(Option<(ArrayD<A>, Arc<Part>)>);

/// No weights, for [`average`](LocalArrayBase::average): it is the mean, and the sum of weights the number of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unweighted;

impl<A> Weights<A> for Unweighted {
    fn weights(self) -> WeightsOf<A> {
        WeightsOf(None)
    }
}

impl<A, S, D, C> Weights<A> for &LocalArrayBase<S, D, C>
where
    S: Data<Elem: Cast<A>>,
    D: Dimension,
    C: Communicator,
{
    fn weights(self) -> WeightsOf<A> {
        let elements = self.data.mapv(Cast::cast).into_dyn();
        WeightsOf(Some((elements, Arc::clone(&self.part))))
    }
}

/// An average and the sum of its weights, over axes.
type Averages<A, C> = Result<(LocalArray<A, IxDyn, C>, LocalArray<A, IxDyn, C>), ArrayError>;

/// Elements times their weights, and the weights, both stored as the elements are.
struct Weighted<A> {
    products: ArrayD<A>,
    weights: ArrayD<A>,
}

fn without_weight() -> ArrayError {
    ArrayError::Argument {
        what: "weights",
        given: "that add up to zero".to_owned(),
        allowed: "a sum that is not zero".to_owned(),
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// The mean of all elements by their weights: the sum of the products over the sum of the weights. Collective.
    ///
    /// Both are cast to the type of a [`mean`](Self::mean) first; [`average_as`](Self::average_as) chooses another. The products
    /// take as much memory as the elements.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, Unweighted};
    /// use ndarray::{Ix1, Ix2};
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
    ///     let a = LocalArray::<i32, Ix2, _>::from_fn(&rows, comm, |g| (g[0] * 3 + g[1]) as i32)?;
    ///     assert_eq!(a.average(&a.map(|&x| u8::from(x > 9)))?, 10.5);
    ///     assert_eq!(a.average_returned(Unweighted)?, (5.5, 12.0));
    ///     // one weight a column, dealt in turn
    ///     let columns = Distribution::over(2).shape([3]).cyclic(0).build()?;
    ///     let weights = LocalArray::<f64, Ix1, _>::from_fn(&columns, comm, |g| g[0] as f64)?;
    ///     let (averages, sums) = a.over(1).average_returned(&weights)?;
    ///     assert!(sums.owned().iter().all(|&sum| sum == 3.0));
    ///     assert_eq!(averages.max()?, (10.0 + 2.0 * 11.0) / 3.0);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::IncompatibleArray`] for weights that lie elsewhere, [`ArrayError::Shape`] for weights
    /// of another shape, [`ArrayError::Argument`] for weights that add up to zero or lie elsewhere on some ranks alone,
    /// [`ArrayError::Comm`].
    pub fn average(
        &self,
        weights: impl Weights<<S::Elem as Summable>::Mean>,
    ) -> Result<<S::Elem as Summable>::Mean, ArrayError>
    where
        S::Elem: Summable,
    {
        Ok(self.average_returned(weights)?.0)
    }

    /// The same of elements and weights cast to `A`. Collective.
    ///
    /// # Errors
    /// As [`average`](Self::average).
    pub fn average_as<A: Floating>(&self, weights: impl Weights<A>) -> Result<A, ArrayError>
    where
        S::Elem: Cast<A>,
    {
        Ok(self.average_returned_as(weights)?.0)
    }

    /// The [`average`](Self::average) and the sum of the weights (`NumPy`'s `returned=True`). Collective.
    ///
    /// # Errors
    /// As [`average`](Self::average).
    pub fn average_returned<A: Floating>(
        &self,
        weights: impl Weights<A>,
    ) -> Result<(A, A), ArrayError>
    where
        S::Elem: Summable<Mean = A> + Cast<A>,
    {
        self.average_returned_as(weights)
    }

    /// The same of elements and weights cast to `A`. Collective.
    ///
    /// # Errors
    /// As [`average`](Self::average).
    pub fn average_returned_as<A: Floating>(
        &self,
        weights: impl Weights<A>,
    ) -> Result<(A, A), ArrayError>
    where
        S::Elem: Cast<A>,
    {
        let over = self.over(Axes::ALL);
        let sum = |array: &LocalArrayView<'_, A, IxDyn, &C>| array.sum_as::<A>();
        let Some(sums) = self.weighted_sums(weights, sum)? else {
            let count = over.count_of(&vec![true; self.ndim()]);
            return Ok((self.mean_as()?, A::near(count)));
        };
        mean_of(sums)
    }

    /// What `sum` makes of the elements times their weights, and of the weights; `None` without weights.
    fn weighted_sums<A: Floating>(
        &self,
        weights: impl Weights<A>,
        sum: impl Fn(&LocalArrayView<'_, A, IxDyn, &C>) -> Result<A, ArrayError>,
    ) -> Result<Option<(A, A)>, ArrayError>
    where
        S::Elem: Cast<A>,
    {
        let over = self.over(Axes::ALL);
        let Some(Weighted { products, weights }) = over.weighted(weights.weights())? else {
            return Ok(None);
        };
        let of = |elements: &ArrayD<A>| {
            sum(&LocalArrayView {
                data: elements.view(),
                part: Arc::clone(&self.part),
                comm: &self.comm,
            })
        };
        Ok(Some((of(&products)?, of(&weights)?)))
    }
}

/// A sum over a weight, and the weight.
fn mean_of<A: Floating>((sum, weight): (A, A)) -> Result<(A, A), ArrayError> {
    if weight == A::default() {
        return Err(without_weight());
    }
    Ok((Arithmetic::over(sum, weight), weight))
}

impl<S, D, C> Reproducible<'_, S, D, C>
where
    S: Data<Elem: Summable<Mean: Parts>>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// The mean by weight, and the sum of the weights: exact sums of elements times weights, each product rounded, and of
    /// weights. The same bits for any layout. Collective.
    ///
    /// # Errors
    /// As [`LocalArrayBase::average`].
    #[expect(clippy::type_complexity, reason = "two numbers of the type of a mean")]
    pub fn average(
        &self,
        weights: impl Weights<<S::Elem as Summable>::Mean>,
    ) -> Result<(<S::Elem as Summable>::Mean, <S::Elem as Summable>::Mean), ArrayError> {
        let exact =
            |array: &LocalArrayView<'_, <S::Elem as Summable>::Mean, IxDyn, &C>| exact_sum(array);
        if let Some(sums) = self.array.weighted_sums(weights, exact)? {
            return mean_of(sums);
        }
        let over = self.array.over(Axes::ALL);
        let count = over.count_of(&vec![true; self.array.ndim()]);
        Ok((self.mean()?, Floating::near(count)))
    }
}

impl<T: Element, C: Communicator + Clone> Over<'_, T, C> {
    /// The means by weight, of the type of a mean. Collective.
    ///
    /// # Errors
    /// As [`sum`](Self::sum) and [`LocalArrayBase::average`].
    pub fn average(
        &self,
        weights: impl Weights<T::Mean>,
    ) -> Result<LocalArray<T::Mean, IxDyn, C>, ArrayError>
    where
        T: Summable,
    {
        self.average_as(weights)
    }

    /// The means by weight, of elements and weights cast to `A`. Collective.
    ///
    /// # Errors
    /// As [`average`](Self::average).
    pub fn average_as<A: Floating>(
        &self,
        weights: impl Weights<A>,
    ) -> Result<LocalArray<A, IxDyn, C>, ArrayError>
    where
        T: Cast<A>,
    {
        Ok(self.average_returned_as(weights)?.0)
    }

    /// The means by weight, of elements and weights cast to the type of `out`, written to what it owns. Collective.
    ///
    /// # Errors
    /// As [`average`](Self::average), and [`ArrayError::IncompatibleArray`] when `out` is not distributed as the result.
    pub fn average_into<S, D, C2>(
        &self,
        weights: impl Weights<S::Elem>,
        out: &mut LocalArrayBase<S, D, C2>,
    ) -> Result<(), ArrayError>
    where
        T: Cast<S::Elem>,
        S: DataMut<Elem: Floating>,
        D: Dimension,
        C2: Communicator,
    {
        write(&self.average_as::<S::Elem>(weights)?, out)
    }

    /// The means by weight, and the sums of the weights, distributed alike. Collective.
    ///
    /// # Errors
    /// As [`average`](Self::average).
    pub fn average_returned(&self, weights: impl Weights<T::Mean>) -> Averages<T::Mean, C>
    where
        T: Summable,
    {
        self.average_returned_as(weights)
    }

    /// The means by weight, and the sums of the weights, of elements and weights cast to `A`. Collective.
    ///
    /// # Errors
    /// As [`average`](Self::average).
    pub fn average_returned_as<A: Floating>(&self, weights: impl Weights<A>) -> Averages<A, C>
    where
        T: Cast<A>,
    {
        let plan = self.plan("average", A::TYPE)?;
        let Some(Weighted { products, weights }) = self.weighted(weights.weights())? else {
            let means = self.mean_as::<A>()?;
            let count = A::near(self.count_of(&plan.reduced));
            let counts = means.map(|_| count);
            return Ok((means, counts));
        };
        let sums_of = |elements: &ArrayD<A>| {
            let over = Over {
                stored: elements.view(),
                part: self.part,
                comm: self.comm,
                axes: self.axes.clone(),
                keepdims: self.keepdims,
            };
            over.reduced("average", (), &Sum::<A>::new(), |&acc, _| A::narrow(acc))
        };
        let (mut means, weights) = (sums_of(&products)?, sums_of(&weights)?);
        let is_zero =
            weights.part.is_active() && weights.owned().iter().any(|&w| w == A::default());
        let zeros = self.comm.all_gather_value(u8::from(is_zero))?;
        if zeros.contains(&1) {
            return Err(without_weight());
        }
        means.zip_map_inplace(&weights, |mean, weight| {
            *mean = Arithmetic::over(*mean, weight);
        })?;
        Ok((means, weights))
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a mean is no more exact than its count as a float"
    )]
    fn count_of(&self, reduced: &[bool]) -> f64 {
        counted(self.part.distribution(), reduced) as f64
    }

    /// Elements and weights multiplied; `None` without weights. Collective.
    fn weighted<A: Floating>(
        &self,
        weights: WeightsOf<A>,
    ) -> Result<Option<Weighted<A>>, ArrayError>
    where
        T: Cast<A>,
    {
        let Some((elements, part)) = weights.0 else {
            return Ok(None);
        };
        let distribution = self.part.distribution();
        let is_whole = part.distribution().global_shape() == distribution.global_shape();
        let axes = self.axes.listed(distribution.ndim());
        let arguments = (axes.as_ref().ok(), self.part.digest(), part.digest());
        let fits = axes.clone().and_then(|axes| {
            if is_whole {
                return self.part.check_compatible(&part);
            }
            check_along(part.distribution(), distribution, &axes)
        });
        let zeros = |()| self.part.zeros::<A, IxDyn>();
        let mut weights = in_step(self.comm, "weights", &arguments, fits, zeros)?;
        let owned = if is_whole {
            part.owned_of(elements.view()).to_owned()
        } else {
            along_axes(elements, &part, distribution, &axes?, self.comm)?
        };
        let mut products: ArrayD<A> = self.stored.mapv(Cast::cast);
        if self.part.is_active() {
            let mut to = self.part.owned_of_mut(weights.view_mut());
            if let Some(from) = broadcast(&owned, to.shape()) {
                to.assign(&from);
            }
            let mut to = self.part.owned_of_mut(products.view_mut());
            to.zip_mut_with(&self.part.owned_of(weights.view()), |x, &w| *x = x.times(w));
        }
        Ok(Some(Weighted { products, weights }))
    }
}

fn broadcast<'a, A>(from: &'a ArrayD<A>, shape: &[usize]) -> Option<ArrayViewD<'a, A>> {
    from.broadcast(IxDyn(shape))
}

/// Checks that weights have one dimension for each of `axes`, over as many ranks.
fn check_along(
    given: &Distribution,
    target: &Distribution,
    axes: &[usize],
) -> Result<(), ArrayError> {
    let shape = target.global_shape();
    let wanted: Vec<u64> = axes.iter().map(|&axis| shape[axis]).collect();
    if given.global_shape() != wanted {
        return Err(ArrayError::Shape {
            what: "the weights",
            given: given.global_shape().to_vec(),
            allowed: format!("{shape:?} or {wanted:?}"),
        });
    }
    check_ranks(target, given)
}

/// Weights with one dimension for each of `axes`, brought to where they are needed: what a rank owns of them, of extent 1 along
/// other axes. Collective.
fn along_axes<A: Element, C: Communicator + Clone>(
    mut elements: ArrayD<A>,
    part: &Part,
    target: &Distribution,
    axes: &[usize],
    comm: &C,
) -> Result<ArrayD<A>, ArrayError> {
    let (given, shape) = (part.distribution(), target.global_shape());
    // Ascending axes, then axes of extent 1 between them.
    let mut order: Vec<usize> = (0..axes.len()).collect();
    order.sort_by_key(|&at| axes[at]);
    let turned = given.transpose(Some(&order))?;
    elements = elements.permuted_axes(IxDyn(&order));
    let mut all = turned.axes().to_vec();
    for axis in (0..shape.len()).filter(|axis| !axes.contains(axis)) {
        all.insert(axis, AxisDist::whole(1)?);
        elements.insert_axis_inplace(Axis(axis));
        if !part.is_active() {
            elements.slice_axis_inplace(Axis(axis), (0..0).into());
        }
    }
    let lifted = Distribution::from_axes(all, turned.ranks(), turned.targets().to_vec())?;
    let weights = LocalArray::from_array(elements, &lifted, comm.clone())?;
    Ok(weights.carried_to(target)?.owned().to_owned())
}
