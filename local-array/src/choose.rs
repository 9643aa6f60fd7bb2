//! Choosing elements: `where_`, `choose`, `putmask`.

use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_comm::agree::agree;
use ndarray::{Data, DataMut, Dimension};

use crate::agreement::in_step_with;
use crate::combine::{NOTHING, combine};
use crate::operand::{Lent, Operand, Side};
use crate::{ArrayError, Cast, IndexMode, LocalArray, LocalArrayBase};

/// The elements of `x` where `condition` is not zero, of `y` elsewhere, in a new array: `NumPy`'s `where` of three arguments.
/// `x` and `y` are arrays, single values or [`Equalised`](crate::Equalised). Local; collective with `Equalised`.
///
/// Shapes, distributions and padding are those of [`binary`](LocalArrayBase::binary).
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, where_};
/// use ndarray::Ix1;
///
/// let sums = ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([6]).block(0).build()?;
///     let a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |global| global[0])?;
///     where_(&a.less(3)?, &a, -1)?.sum() // 0, 1, 2, -1, -1, -1
/// })?;
/// assert_eq!(sums, [0; 2]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
///
/// # Errors
/// As [`binary`](LocalArrayBase::binary).
pub fn where_<S, D, C, T, X, Y>(
    condition: &LocalArrayBase<S, D, C>,
    x: X,
    y: Y,
) -> Result<LocalArray<T, Y::Dim, C>, ArrayError>
where
    S: Data<Elem: Cast<bool>>,
    D: Dimension,
    C: Communicator + Clone,
    T: Element,
    X: Operand<T, D>,
    Y: Operand<T, X::Dim>,
{
    let (x, y) = (x.side(), y.side());
    let moves = x.moves() || y.moves();
    let condition_side = Side::Array(if moves {
        condition.lent_to_move()
    } else {
        condition.lent()
    });
    let push = &mut |c: &[S::Elem], x: &[T], y: &[T], out: &mut Vec<T>| {
        let chosen = c
            .iter()
            .zip(x)
            .zip(y)
            .map(|((&c, &x), &y)| if c.cast() { x } else { y });
        out.extend(chosen);
    };
    combine((condition_side, x, y), &condition.comm, push)
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Cast<i64>>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// From this array of numbers of choices, the elements chosen, in a new array: each from that of `choices` whose number
    /// stands at its place. The choices are arrays, values or [`Equalised`](crate::Equalised), all of one kind. Collective.
    ///
    /// Choices broadcast to this array, whose distribution the result has; padding of the result is zero. `mode` says what a
    /// number beyond the choices means; with [`IndexMode::Raise`] negative ones are beyond, too.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, IndexMode, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let sums = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([6]).block(0).build()?;
    ///     let a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |global| global[0])?;
    ///     assert!(a.choose([10, 20], IndexMode::Raise).is_err());
    ///     let mut chosen = a.zeros_like::<i64>()?;
    ///     a.choose_into([10, 20], IndexMode::Clip, &mut chosen)?; // 10, 20, 20, 20, 20, 20
    ///     assert_eq!(chosen.sum()?, 110);
    ///     a.choose([&a, &a.square()], IndexMode::Wrap)?.sum() // 0, 1, 2, 9, 4, 25
    /// })?;
    /// assert_eq!(sums, [41; 2]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::OutOfBounds`] for a number beyond the choices with [`IndexMode::Raise`] and
    /// where there is no choice, of the lowest rank that has one; [`ArrayError::Argument`] for another number of choices or
    /// another mode on some rank; as [`zip_map_inplace`](Self::zip_map_inplace).
    pub fn choose<T, O>(
        &self,
        choices: impl IntoIterator<Item = O>,
        mode: IndexMode,
    ) -> Result<LocalArray<T, D, C>, ArrayError>
    where
        T: Element,
        O: Operand<T, D>,
    {
        let choices: Vec<O> = choices.into_iter().collect();
        let zeros = || Ok(self.with_data(self.part.zeros::<T, D>()?, self.comm.clone()));
        let mut chosen = self.check_choices(choices.len(), mode, (0, T::TYPE), Ok(()), zeros)?;
        self.write_choices(choices, mode, &mut chosen)?;
        Ok(chosen)
    }

    /// [`choose`](Self::choose), which has an example, written to `out`, which has this array's distribution. Collective.
    ///
    /// # Errors
    /// As [`choose`](Self::choose); what `out` holds after an error is not said.
    pub fn choose_into<T, O, S2, C2>(
        &self,
        choices: impl IntoIterator<Item = O>,
        mode: IndexMode,
        out: &mut LocalArrayBase<S2, D, C2>,
    ) -> Result<(), ArrayError>
    where
        T: Element,
        O: Operand<T, D>,
        S2: DataMut<Elem = T>,
        C2: Communicator,
    {
        let choices: Vec<O> = choices.into_iter().collect();
        let fits = out.part.check_compatible(&self.part);
        let out_is = (out.part.laid(), T::TYPE);
        self.check_choices(choices.len(), mode, out_is, fits, || Ok(()))?;
        self.write_choices(choices, mode, out)
    }

    /// Checks what the ranks give, and finds numbers beyond the choices before anything is chosen: the first of the lowest rank.
    /// What `own` makes. Collective.
    fn check_choices<R>(
        &self,
        count: usize,
        mode: IndexMode,
        out: impl Hash + Debug,
        fits: Result<(), ArrayError>,
        own: impl FnOnce() -> Result<R, ArrayError>,
    ) -> Result<R, ArrayError> {
        let count = count as u64;
        let own = |()| {
            let made = own()?;
            let mut wrong = None;
            if self.part.is_active() {
                let beyond = |&number: &S::Elem| place(number, count, mode).err();
                wrong = self.owned().iter().find_map(beyond);
            }
            let words = [wrong.is_some().into(), wrong.unwrap_or(0).cast_unsigned()];
            Ok((made, words))
        };
        let arguments = (count, mode, self.part.laid(), out);
        let what = "number of choices, mode or out";
        let (made, all) = in_step_with(&self.comm, what, &arguments, fits, own)?;
        match all.into_iter().find(|[there, _]| *there == 1) {
            None => Ok(made),
            Some([_, number]) => Err(ArrayError::OutOfBounds {
                what: "choice",
                axis: None,
                given: i128::from(number.cast_signed()),
                allowed: count,
            }),
        }
    }

    /// Writes what is chosen to `out`.
    fn write_choices<T, O, S2, C2>(
        &self,
        choices: Vec<O>,
        mode: IndexMode,
        out: &mut LocalArrayBase<S2, D, C2>,
    ) -> Result<(), ArrayError>
    where
        T: Element,
        O: Operand<T, D>,
        S2: DataMut<Elem = T>,
        C2: Communicator,
    {
        let count = choices.len() as u64;
        for (here, choice) in (0_u64..).zip(choices) {
            let sides = (Side::Array(self.lent()), choice.side(), NOTHING);
            out.update_from(sides, &mut |out, number, choice, _| {
                for ((out, &number), &choice) in out.iter_mut().zip(number).zip(choice) {
                    if place(number, count, mode) == Ok(here) {
                        *out = choice;
                    }
                }
            })?;
        }
        Ok(())
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: DataMut<Elem: Element>,
    D: Dimension,
    C: Communicator,
{
    /// Sets the elements where `mask` is true to those of `values` at the same place: an array or one value, broadcast to
    /// this array as the mask is. Local; collective with [`Equalised`](crate::Equalised).
    ///
    /// `NumPy`'s `putmask` with values of another shape is [`putmask_repeated`](Self::putmask_repeated), in whose example
    /// both are.
    ///
    /// # Errors
    /// As [`zip_map_inplace`](Self::zip_map_inplace).
    pub fn putmask(
        &mut self,
        mask: impl Operand<bool, D>,
        values: impl Operand<S::Elem, D>,
    ) -> Result<(), ArrayError> {
        self.update_from((mask.side(), values.side(), NOTHING), &mut set_where)
    }

    /// Sets the elements where `mask` is true from `values`, repeated over the whole array: the element at flat global index
    /// `i`, in C order, to `values[i % values.len()]`. Every rank gives the same values; none at all change nothing. Local.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, array};
    ///
    /// let wholes = ThreadComm::run(2, |comm| {
    ///     let cyclic = Distribution::over(2).shape([6]).cyclic(0).build()?;
    ///     let mut a = LocalArray::<i64, Ix1, _>::from_fn(&cyclic, comm, |global| global[0])?;
    ///     a.putmask(&a.greater(3)?, -1)?;
    ///     a.putmask_repeated(&a.less(3)?, &[10, 20, 30, 40])?;
    ///     a.gather_to(0)
    /// })?;
    /// assert_eq!(wholes[0], Some(array![10, 20, 30, 3, 10, 20]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`zip_map_inplace`](Self::zip_map_inplace).
    pub fn putmask_repeated(
        &mut self,
        mask: impl Operand<bool, D>,
        values: &[S::Elem],
    ) -> Result<(), ArrayError> {
        let n = values.len() as u64;
        if n == 0 {
            return Ok(());
        }
        // The flat index modulo the number of values, from those of each axis: nothing overflows.
        let modulo = |x: u64| u128::from(x % n);
        let mut weight = 1 % u128::from(n);
        let mut weights = Vec::with_capacity(self.ndim());
        for &extent in self.global_shape().iter().rev() {
            weights.push(weight);
            weight = weight * modulo(extent) % u128::from(n);
        }
        let distribution = Arc::clone(self.part.distribution());
        let mask = mask.side();
        let replacements =
            LocalArray::<S::Elem, D, _>::from_fn(&distribution, &self.comm, |global| {
                let terms = global.iter().rev().zip(&weights);
                let flat = terms.fold(0, |sum, (&g, weight)| {
                    sum + modulo(u64::try_from(g).unwrap_or(0)) * weight % u128::from(n)
                });
                values[usize::try_from(flat % u128::from(n)).unwrap_or(0)]
            });
        // No rank may go on alone where the mask moves.
        let replacements = if mask.moves() {
            agree(&self.comm, replacements)?
        } else {
            replacements?
        };
        let replacements = replacements.into_local();
        let part = Arc::clone(&self.part);
        let replacements = Lent {
            stored: replacements.view().into_dyn(),
            part: &part,
            carry: None,
        };
        self.update_from((mask, Side::Array(replacements), NOTHING), &mut set_where)
    }
}

/// The choice meant, or the number where it is beyond them.
fn place(number: impl Cast<i64>, count: u64, mode: IndexMode) -> Result<u64, i64> {
    let number: i64 = number.cast();
    if mode == IndexMode::Raise && number < 0 {
        return Err(number);
    }
    mode.resolve(number, count).map_err(|_| number)
}

/// Sets what the mask says to the values.
fn set_where<T: Copy>(mine: &mut [T], mask: &[bool], values: &[T], _: &[()]) {
    for ((mine, &mask), &value) in mine.iter_mut().zip(mask).zip(values) {
        if mask {
            *mine = value;
        }
    }
}
