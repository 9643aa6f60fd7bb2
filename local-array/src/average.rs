//! Weighted means: [`average`](LocalArrayBase::average), of the whole and over axes.

use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use dist_maps::{AxisDist, Distribution};
use ndarray::{ArrayD, ArrayViewD, ArrayViewMutD, Axis, Data, DataMut, Dimension, IxDyn, Zip};

use crate::cumulate::write;
use crate::exact::ExactSum;
use crate::operand::Lent;
use crate::over::{Over, Plan, counted, with_block};
use crate::part::Part;
use crate::reduction::{Exact, PairSums, Reduction, fold_over_ranks};
use crate::take::check_ranks;
use crate::{
    Arithmetic, ArrayError, Axes, Cast, Floating, LocalArray, LocalArrayBase, Parts, Reproducible,
    ReproducibleOver, Summable,
};

/// What elements weigh in an [`average`](LocalArrayBase::average), which has an example: an array by reference, or
/// [`Unweighted`].
///
/// An array has the shape and distribution of the averaged one, or one dimension for each reduced axis, in the order in which
/// the axes are named, and any distribution: then each rank gets the weights that it needs. Its elements are of any type that
/// can be cast to `A`, the type of the average. Every rank gives its part of the same array, or all give [`Unweighted`].
pub trait Weights<A> {
    /// The type of the weights.
    type Elem: Cast<A>;

    /// The weights; `None` where all elements weigh the same.
    #[doc(hidden)]
    fn lent<'a>(self) -> Option<Lent<'a, Self::Elem>>
    where
        Self: 'a;
}

/// No weights, for [`average`](LocalArrayBase::average), which has an example: it is the mean, and the sum of weights the number
/// of elements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unweighted;

impl<A: Cast<A>> Weights<A> for Unweighted {
    type Elem = A;

    fn lent<'a>(self) -> Option<Lent<'a, A>>
    where
        Self: 'a,
    {
        None
    }
}

impl<A, S, D, C> Weights<A> for &LocalArrayBase<S, D, C>
where
    S: Data<Elem: Cast<A>>,
    D: Dimension,
    C: Communicator,
{
    type Elem = S::Elem;

    fn lent<'a>(self) -> Option<Lent<'a, S::Elem>>
    where
        Self: 'a,
    {
        Some(LocalArrayBase::lent(self))
    }
}

/// An average and the sum of its weights, over axes.
type Averages<A, C> = Result<(LocalArray<A, IxDyn, C>, LocalArray<A, IxDyn, C>), ArrayError>;

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
    /// Both are cast to the type of a [`mean`](Self::mean) first; [`average_as`](Self::average_as) chooses another. Products and
    /// weights are added up in pairs, in the order of a [`sum`](Self::sum), and take twice as much memory as the elements have in
    /// that type.
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
    ///     let of_last = a.map(|&x| f32::from(x > 10)); // of 11 alone
    ///     assert_eq!((a.average_as::<f32>(&of_last)?, a.average_returned_as(&of_last)?), (11.0, (11.0_f32, 1.0)));
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
    /// The same on every rank: [`ArrayError::IncompatibleArray`] for weights that lie elsewhere, [`ArrayError::Shape`] for
    /// weights of another shape, [`ArrayError::Argument`] for weights that add up to zero or lie elsewhere on some ranks
    /// alone, [`ArrayError::Comm`].
    pub fn average(
        &self,
        weights: impl Weights<<S::Elem as Summable>::Mean>,
    ) -> Result<<S::Elem as Summable>::Mean, ArrayError>
    where
        S::Elem: Summable,
    {
        Ok(self.average_returned(weights)?.0)
    }

    /// The same of elements and weights cast to `A`. Collective. Example: see [`average`](Self::average).
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
    /// Example: see [`average`](Self::average).
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

    /// The same of elements and weights cast to `A`. Collective. Example: see [`average`](Self::average).
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
        let found = over.average_of(weights.lent(), "", &PairSums::<A>::new(), PairSums::pair)?;
        match found {
            Some(found) => Ok(found),
            None => Ok((self.mean_as()?, A::near(over.count_of_all()))),
        }
    }
}

impl<S, D, C> Reproducible<'_, S, D, C>
where
    S: Data<Elem: Summable<Mean: Parts>>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// The mean by weight: of exact sums of elements times weights, each product rounded, and of weights. The same bits for any
    /// layout. Collective.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([4]).block(0).build()?;
    ///     let a = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, |g| [1e20, 1.0, 3.0, -1e20][g[0] as usize])?;
    ///     let weights = LocalArray::<u8, Ix1, _>::ones(&blocks, comm)?;
    ///     assert_eq!(a.reproducible().average(&weights)?, 1.0); // 4 / 4
    ///     assert_eq!(a.reproducible().average_returned(&weights)?, (1.0, 4.0));
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`LocalArrayBase::average`].
    pub fn average(
        &self,
        weights: impl Weights<<S::Elem as Summable>::Mean>,
    ) -> Result<<S::Elem as Summable>::Mean, ArrayError> {
        Ok(self.average_returned(weights)?.0)
    }

    /// The [`average`](Self::average), which has an example, and the sum of the weights. Collective.
    ///
    /// # Errors
    /// As [`LocalArrayBase::average`].
    #[expect(clippy::type_complexity, reason = "two numbers of the type of a mean")]
    pub fn average_returned(
        &self,
        weights: impl Weights<<S::Elem as Summable>::Mean>,
    ) -> Result<(<S::Elem as Summable>::Mean, <S::Elem as Summable>::Mean), ArrayError> {
        let over = self.array.over(Axes::ALL);
        let found = over.average_of(weights.lent(), "exact", &exact_pairs(), exact_pair)?;
        match found {
            Some(found) => Ok(found),
            None => Ok((self.mean()?, Floating::near(over.count_of_all()))),
        }
    }
}

impl<T, C> ReproducibleOver<'_, T, C>
where
    T: Summable<Mean: Parts>,
    C: Communicator + Clone,
{
    /// The means by weight, the same bits for any layout: see [`Reproducible::average`]. Collective. Shape and distribution are
    /// those of [`Over::average`].
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, Ix2};
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let columns = Distribution::over(2).shape([2, 4]).block(1).build()?;
    ///     let a = LocalArray::<f64, Ix2, _>::from_fn(&columns, comm, |g| (g[0] + g[1]) as f64)?; // 0 1 2 3, 1 2 3 4
    ///     let last = LocalArray::<f64, Ix1, _>::arange(0, 4, 1, "b", comm)?; // weights 0 1 2 3 of the columns
    ///     let over = a.over(1).reproducible();
    ///     assert_eq!(over.average(&last)?.max()?, (1.0 * 2.0 + 2.0 * 3.0 + 3.0 * 4.0) / 6.0);
    ///     let (_, sums) = over.average_returned(&last)?;
    ///     assert_eq!(sums.max()?, 6.0);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`Over::average`].
    pub fn average(
        &self,
        weights: impl Weights<T::Mean>,
    ) -> Result<LocalArray<T::Mean, IxDyn, C>, ArrayError> {
        Ok(self.average_returned(weights)?.0)
    }

    /// The means by weight, and the sums of the weights, distributed alike. Collective. Example: see
    /// [`average`](Self::average).
    ///
    /// # Errors
    /// As [`Over::average`].
    pub fn average_returned(&self, weights: impl Weights<T::Mean>) -> Averages<T::Mean, C> {
        let (over, reduction) = (&self.0, exact_pairs());
        match over.averages_of(weights.lent(), "exact", &reduction, exact_pair)? {
            Some(found) => Ok(found),
            None => over.with_counts(self.mean()?),
        }
    }
}

/// Exact sums of the parts of the first of each pair, and of the second.
fn exact_pairs<A: Parts>() -> Exact<impl Fn(&[[A; 2]], &mut [ExactSum; 4]), 4> {
    Exact(|pairs: &[[A; 2]], sums: &mut [ExactSum; 4]| {
        for of in 0..2 {
            let numbers: Vec<A> = pairs.iter().map(|pair| pair[of]).collect();
            A::each_part(&numbers, |part, numbers| {
                sums[2 * of + part].add_all(numbers);
            });
        }
    })
}

fn exact_pair<A: Parts>(sums: &[ExactSum; 4]) -> (A, A) {
    let [a, b, c, d] = sums.each_ref().map(ExactSum::round);
    (A::of_parts([a, b]), A::of_parts([c, d]))
}

impl<T: Element, C: Communicator + Clone> Over<'_, T, C> {
    /// The means by weight, of the type of a mean. Collective.
    ///
    /// Shape and distribution are those of [`sum`](Self::sum); `weights` are of this array's shape and distribution, or have one
    /// dimension for each reduced axis, as [`Weights`] says.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, Ix2};
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let rows = Distribution::over(2).shape([2, 3]).block(0).build()?;
    ///     let a = LocalArray::<i32, Ix2, _>::from_fn(&rows, comm, |g| (10 * g[0] + g[1]) as i32)?; // 0 1 2, 10 11 12
    ///     let weights = LocalArray::<u8, Ix1, _>::arange(0, 3, 1, "c", comm)?; // 0 1 2, of the columns
    ///     let rows_by = a.over(1);
    ///     let means = rows_by.average(&weights)?; // (1 + 2 · 2) / 3, and 10 more
    ///     assert_eq!((means.min()?, means.max()?), (5.0 / 3.0, 35.0 / 3.0));
    ///     let (of_f32, sums) = rows_by.average_returned_as::<f32>(&weights)?;
    ///     assert_eq!((of_f32.min()?, sums.min()?), (5.0 / 3.0, 3.0));
    ///     assert_eq!(rows_by.average_as::<f32>(&weights)?.min()?, 5.0 / 3.0);
    ///     assert_eq!(rows_by.average_returned(&weights)?.1.max()?, 3.0);
    ///     let mut out = means.zeros_like::<f64>()?;
    ///     rows_by.average_into(&weights, &mut out)?;
    ///     assert_eq!(out.max()?, 35.0 / 3.0);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
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

    /// The means by weight, of elements and weights cast to `A`. Collective. Example: see [`average`](Self::average).
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
    /// Example: see [`average`](Self::average).
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

    /// The means by weight, and the sums of the weights, distributed alike. Collective. Example: see
    /// [`average`](Self::average).
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
    /// Example: see [`average`](Self::average).
    ///
    /// # Errors
    /// As [`average`](Self::average).
    pub fn average_returned_as<A: Floating>(&self, weights: impl Weights<A>) -> Averages<A, C>
    where
        T: Cast<A>,
    {
        let reduction = PairSums::<A>::new();
        match self.averages_of(weights.lent(), "", &reduction, PairSums::pair)? {
            Some(found) => Ok(found),
            None => self.with_counts(self.mean_as::<A>()?),
        }
    }

    /// Means, and as many times the number of elements of each. Local.
    fn with_counts<A: Floating>(&self, means: LocalArray<A, IxDyn, C>) -> Averages<A, C> {
        let mut reduced = vec![false; self.part.distribution().ndim()];
        for axis in self.axes.listed(reduced.len())? {
            reduced[axis] = true;
        }
        let count = A::near(self.count_of(&reduced));
        let counts = means.map(|_| count);
        Ok((means, counts))
    }

    fn count_of_all(&self) -> f64 {
        self.count_of(&vec![true; self.part.distribution().ndim()])
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "a mean is no more exact than its count as a float"
    )]
    fn count_of(&self, reduced: &[bool]) -> f64 {
        counted(self.part.distribution(), reduced) as f64
    }

    /// The average of all elements and the sum of the weights, by a reduction of pairs of product and weight; `None` without
    /// weights. Collective.
    fn average_of<A: Floating, W: Cast<A>, R: Reduction<[A; 2]>>(
        &self,
        weights: Option<Lent<'_, W>>,
        how: &'static str,
        reduction: &R,
        pair: impl Fn(&R::State) -> (A, A),
    ) -> Result<Option<(A, A)>, ArrayError>
    where
        T: Cast<A>,
    {
        let Some(weights) = weights else {
            return Ok(None);
        };
        let (plan, pairs, ()) = self.weighted(&weights, how, |_| Ok(()))?;
        let (part, view) = (self.part, pairs.view());
        let state = with_block(part, &view, &plan.reduced, None, R::ORDER, |block| {
            fold_over_ranks(self.comm, block, reduction)
        })?;
        let (sum, weight) = state.map_or((A::default(), A::default()), |state| pair(&state));
        if weight == A::default() {
            return Err(without_weight());
        }
        Ok(Some((Arithmetic::over(sum, weight), weight)))
    }

    /// The averages and the sums of the weights, as [`average_of`](Self::average_of). Collective.
    #[expect(clippy::type_complexity, reason = "two arrays or none")]
    fn averages_of<A: Floating, W: Cast<A>, R: Reduction<[A; 2]>>(
        &self,
        weights: Option<Lent<'_, W>>,
        how: &'static str,
        reduction: &R,
        pair: impl Fn(&R::State) -> (A, A),
    ) -> Result<Option<(LocalArray<A, IxDyn, C>, LocalArray<A, IxDyn, C>)>, ArrayError>
    where
        T: Cast<A>,
    {
        let Some(weights) = weights else {
            return Ok(None);
        };
        let zeros = |plan: &Plan| LocalArray::<A, IxDyn, C>::zeros(&plan.result, self.comm.clone());
        let own = |plan: &Plan| Ok((zeros(plan)?, zeros(plan)?));
        let (plan, pairs, (mut means, mut sums)) = self.weighted(&weights, how, own)?;
        let mut is_zero = false;
        let mut slots = means.owned_mut().into_iter().zip(sums.owned_mut());
        plan.reduce(self, &pairs.view(), reduction, |state| {
            let (sum, weight) = pair(state);
            is_zero |= weight == A::default();
            if let Some((mean, of_weights)) = slots.next() {
                (*mean, *of_weights) = (Arithmetic::over(sum, weight), weight);
            }
        })?;
        let zeros = self.comm.all_gather_value(u8::from(is_zero))?;
        if zeros.contains(&1) {
            return Err(without_weight());
        }
        Ok(Some((means, sums)))
    }

    /// The plan, elements times their weights beside the weights, stored as the elements are, and what else a rank makes on its
    /// own. Collective.
    fn weighted<A: Floating, W: Cast<A>, R>(
        &self,
        weights: &Lent<'_, W>,
        how: &'static str,
        own: impl FnOnce(&Plan) -> Result<R, ArrayError>,
    ) -> Result<(Plan, ArrayD<[A; 2]>, R), ArrayError>
    where
        T: Cast<A>,
    {
        let (part, distribution) = (weights.part, self.part.distribution());
        let is_whole = part.distribution().global_shape() == distribution.global_shape();
        let axes = self.axes.listed(distribution.ndim());
        let arguments = (how, A::TYPE, &self.axes, self.part.laid(), part.laid());
        let fits = Plan::new(self).and_then(|plan| {
            if is_whole {
                self.part.check_compatible(part)?;
            } else {
                check_along(part.distribution(), distribution, &axes.clone()?)?;
            }
            Ok(plan)
        });
        let (plan, mut pairs, made) = self.in_step("average", arguments, fits, |plan| {
            let (pairs, made) = (self.part.zeros::<[A; 2], IxDyn>()?, own(&plan)?);
            Ok((plan, pairs, made))
        })?;
        let along = if is_whole {
            None
        } else {
            let elements = weights.stored.mapv(Cast::<A>::cast);
            Some(along_axes(elements, part, distribution, &axes?, self.comm)?)
        };
        if self.part.is_active() {
            let mut to = self.part.owned_of_mut(pairs.view_mut());
            match &along {
                None => set_weights(&mut to, &part.owned_of(weights.stored.view())),
                Some(along) => set_weights(&mut to, &along.view()),
            }
            Zip::from(&mut to)
                .and(&self.part.owned_of(self.stored.view()))
                .for_each(|pair, &x| pair[0] = x.cast().times(pair[1]));
        }
        Ok((plan, pairs, made))
    }
}

/// Writes weights, which broadcast to the pairs, to the second of each.
fn set_weights<A: Copy, W: Cast<A>>(
    pairs: &mut ArrayViewMutD<'_, [A; 2]>,
    weights: &ArrayViewD<'_, W>,
) {
    if let Some(weights) = weights.broadcast(pairs.raw_dim()) {
        let both = Zip::from(pairs).and(&weights);
        both.for_each(|pair, &weight| pair[1] = weight.cast());
    }
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
