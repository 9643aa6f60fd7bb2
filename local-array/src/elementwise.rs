//! Element by element: operations on one array, on two, in place, into an output, under a mask.
//!
//! Arrays are combined on the rank where their elements lie, without communication; where they lie differently, that is an
//! error, found from the distributions alone and so the same on every rank.

#![expect(
    clippy::needless_pass_by_value,
    reason = "operations are values, most of no size"
)]

use bytemuck::Zeroable;
use dap_protocol::Element;
use dist_comm::Communicator;
use ndarray::{Data, DataMut, Dimension};

use crate::combine::{NOTHING, all_store, stretched, zip_two};
use crate::meet::check_served;
use crate::operand::{Operand, Side};
use crate::rows::{Change, Operands, collect, set_each, update};
use crate::ufunc::{BinaryOperation, UnaryOperation};
use crate::{ArrayError, LocalArray, LocalArrayBase};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data,
    D: Dimension,
    C: Communicator,
{
    /// A new array of `f` of each element, padding included, distributed as this one is. Local.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// let lengths = ThreadComm::run(3, |comm| {
    ///     let blocks = Distribution::over(3).shape([100]).block(0).build()?;
    ///     let x = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, |global| global[0] as f64)?;
    ///     x.map(|&x| x.sqrt()).max()
    /// })?;
    /// assert_eq!(lengths, [99_f64.sqrt(); 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn map<R>(&self, f: impl FnMut(&S::Elem) -> R) -> LocalArray<R, D, C>
    where
        C: Clone,
    {
        self.with_data(self.data.map(f), self.comm.clone())
    }

    /// A new array of an operation on each element, padding included, distributed as this one is: [`map`](Self::map) for
    /// operations by name. Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, LocalArray, ufunc};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let a = LocalArray::<i32, Ix1, _>::arange(0, 4, 1, "b", comm)?;
    ///     let squares = a.unary(ufunc::Square); // 0 1 4 9
    ///     assert_eq!((squares.sum()?, squares.astype::<f32>().mean()?), (14, 3.5_f32));
    ///     let mut other = squares.copy();
    ///     other.fill(1);
    ///     assert_eq!((other.sum()?, squares.sum()?), (4, 14));
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn unary<O: UnaryOperation<S::Elem>>(&self, op: O) -> LocalArray<O::Output, D, C>
    where
        S::Elem: Copy,
        C: Clone,
    {
        self.each(|x| op.apply(x))
    }

    /// The elements as another type, as `NumPy`'s `astype` has them (see [`Cast`](crate::Cast)), in a new array of the same
    /// shape and distribution. Local. Example: see [`unary`](Self::unary).
    #[must_use]
    pub fn astype<U>(&self) -> LocalArray<U, D, C>
    where
        S::Elem: crate::Cast<U>,
        C: Clone,
    {
        self.each(crate::Cast::cast)
    }

    /// A copy of the array; the same as [`to_owned`](Self::to_owned). Local. Example: see [`unary`](Self::unary).
    #[must_use]
    pub fn copy(&self) -> LocalArray<S::Elem, D, C>
    where
        S::Elem: Clone,
        C: Clone,
    {
        self.to_owned()
    }

    /// A new array of `f` of each element, by slices.
    pub(crate) fn each<R>(&self, f: impl Fn(S::Elem) -> R + Copy) -> LocalArray<R, D, C>
    where
        S::Elem: Copy,
        C: Clone,
    {
        let stored = self.data.view().into_dyn();
        let mut push = |x: &[S::Elem], _: &[()], _: &[()], results: &mut Vec<R>| {
            // A copy of `f`, which no result written can change: what it holds stays in registers.
            results.extend(x.iter().map(move |&x| f(x)));
        };
        let unit = ndarray::arr0(()).into_dyn();
        let found = unit.broadcast(stored.raw_dim()).and_then(|unit| {
            let operands = Operands(stored, unit.clone(), unit);
            collect(operands, self.comm.rank(), &mut push).ok()
        });
        match found.and_then(|found| found.into_dimensionality().ok()) {
            Some(data) => self.with_data(data, self.comm.clone()),
            // Without the memory this ends as every allocation does.
            None => self.map(|&x| f(x)),
        }
    }

    /// A new array of `f` of each element of this array and of `other`. Local; with [`Equalised`](crate::Equalised), which
    /// moves the other array alone, collective.
    ///
    /// Shapes, distributions and padding are those of [`binary`](Self::binary).
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, Equalised, LocalArray};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let a = LocalArray::<i64, Ix1, _>::arange(0, 4, 1, "b", comm)?; // 0 1 2 3
    ///     let b = a.map(|x| 2 - x); // 2 1 0 -1
    ///     assert_eq!(a.zip_map(&b, |x, y| x.max(y))?.sum()?, 2 + 1 + 2 + 3);
    ///     let dealt = LocalArray::<i64, Ix1, _>::arange(0, 4, 1, "c", comm)?;
    ///     assert!(a.zip_map(&dealt, |x, y| x * y).is_err()); // lies elsewhere
    ///     assert_eq!(a.zip_map(Equalised(&dealt), |x, y| x * y)?.sum()?, 14); // collective
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    pub fn zip_map<T, R, O>(
        &self,
        other: O,
        f: impl Fn(S::Elem, T) -> R,
    ) -> Result<LocalArray<R, O::Dim, C>, ArrayError>
    where
        T: Copy,
        S::Elem: Copy,
        R: Zeroable,
        O: Operand<T, D>,
        C: Clone,
    {
        zip_two(self.lent(), other.side(), &self.comm, f)
    }

    /// A new array of an operation on each element of this array and of `other`: an array, one value, or
    /// [`Equalised`](crate::Equalised). Local; with `Equalised` collective.
    ///
    /// Shapes broadcast as in `NumPy`: missing leading dimensions and extents of 1 are repeated. Nothing is moved, so every
    /// rank must have all that its part of the result takes: arrays of one shape have the same elements on the same ranks in
    /// the same order, and what is repeated is on every rank that needs it, as
    /// [`replicate_like`](Self::replicate_like) puts it there.
    ///
    /// The result is distributed as this array is, or as `other` where that alone has the shape of the result, or over this
    /// array's grid where neither has. Padding is computed too where all store the same; otherwise the padding of the result
    /// is zero until [`exchange_halo`](Self::exchange_halo).
    ///
    /// The types may differ: `a.binary(ufunc::Add, &b)` of `i32` and `f32` is `f64`, by [`Promote`](crate::ufunc::Promote). A
    /// number counts with its own type, which a plain `2.0` gets as `f64`; the methods by name give it the array's.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, ufunc};
    /// use ndarray::{Ix1, Ix2};
    ///
    /// let sums = ThreadComm::run(2, |comm| {
    ///     // columns over the ranks, and one number for each column
    ///     let columns = Distribution::over(2).shape([3, 4]).block(1).build()?;
    ///     let numbers = Distribution::over(2).shape([4]).block(0).build()?;
    ///     let a = LocalArray::<i32, Ix2, _>::ones(&columns, comm)?;
    ///     let b = LocalArray::<f32, Ix1, _>::from_fn(&numbers, comm, |global| global[0] as f32)?;
    ///     let c: LocalArray<f64, Ix2, _> = a.binary(ufunc::Add, &b)?;
    ///     c.sum() // three rows of 1, 2, 3, 4
    /// })?;
    /// assert_eq!(sums, [30.0; 2]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::IncompatibleArray`] for shapes that do not broadcast, and for distributions that
    /// do not meet (cures: [`Equalised`](crate::Equalised), [`equalise`](crate::equalise),
    /// [`asdist_like`](Self::asdist_like), [`replicate_like`](Self::replicate_like)); with `Equalised` as
    /// [`redistribute`](Self::redistribute). On a rank that lacks the memory [`ArrayError::Allocation`].
    pub fn binary<B, F, O>(
        &self,
        op: F,
        other: O,
    ) -> Result<LocalArray<F::Output, O::Dim, C>, ArrayError>
    where
        S::Elem: Element,
        B: Copy,
        F: BinaryOperation<S::Elem, B, Output: Zeroable>,
        O: Operand<B, D>,
        C: Clone,
    {
        self.zip_elements(other, |a, b| op.apply(a, b))
    }

    /// As [`zip_map`](Self::zip_map), and either array may be moved.
    pub(crate) fn zip_elements<T, R, O>(
        &self,
        other: O,
        f: impl Fn(S::Elem, T) -> R,
    ) -> Result<LocalArray<R, O::Dim, C>, ArrayError>
    where
        S::Elem: Element,
        T: Copy,
        R: Zeroable,
        O: Operand<T, D>,
        C: Clone,
    {
        let other = other.side();
        let mine = if other.moves() {
            self.lent_to_move()
        } else {
            self.lent()
        };
        zip_two(mine, other, &self.comm, f)
    }

    /// An operation on each element, written to `out`. Local.
    ///
    /// The array broadcasts to `out`, which keeps its distribution; padding of `out` is computed where both store the same,
    /// and left alone otherwise.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, ufunc};
    /// use ndarray::Ix1;
    ///
    /// let sums = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([5]).block(0).build()?;
    ///     let a = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, |global| global[0] as f64)?;
    ///     let mut out = a.zeros_like::<f64>()?;
    ///     a.unary_into(ufunc::Square, &mut out)?; // 0, 1, 4, 9, 16
    ///     a.unary_where(ufunc::Negative, &a.greater(2.0)?, &mut out)?; // 0, 1, 4, -3, -4
    ///     a.binary_into(ufunc::Add, &out.copy(), &mut out)?; // 0, 2, 6, 0, 0
    ///     a.binary_where(ufunc::Multiply, 5.0, &a.equal(4.0)?, &mut out)?; // 0, 2, 6, 0, 20
    ///     out.sum()
    /// })?;
    /// assert_eq!(sums, [28.0; 2]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::IncompatibleArray`], the same on every rank; `out` is not changed then.
    pub fn unary_into<O, S2, D2, C2>(
        &self,
        op: O,
        out: &mut LocalArrayBase<S2, D2, C2>,
    ) -> Result<(), ArrayError>
    where
        S::Elem: Copy,
        O: UnaryOperation<S::Elem>,
        S2: DataMut<Elem = O::Output>,
        D2: Dimension,
        C2: Communicator,
    {
        let sides = (Side::Array(self.lent()), NOTHING, NOTHING);
        out.update_from(sides, &mut |out, x, _, _| {
            for (out, &x) in out.iter_mut().zip(x) {
                *out = op.apply(x);
            }
        })
    }

    /// An operation on each element where `mask` is true, written to `out`, which is left alone elsewhere: `NumPy`'s `where`.
    /// The mask is an array of `bool` or one value; it broadcasts to `out` as this array does. Local; with an `Equalised`
    /// mask collective. Example: see [`unary_into`](Self::unary_into).
    ///
    /// # Errors
    /// As [`unary_into`](Self::unary_into).
    pub fn unary_where<O, M, S2, D2, C2>(
        &self,
        op: O,
        mask: M,
        out: &mut LocalArrayBase<S2, D2, C2>,
    ) -> Result<(), ArrayError>
    where
        S::Elem: Copy,
        O: UnaryOperation<S::Elem>,
        M: Operand<bool, D>,
        S2: DataMut<Elem = O::Output>,
        D2: Dimension,
        C2: Communicator,
    {
        let sides = (Side::Array(self.lent()), mask.side(), NOTHING);
        out.update_from(sides, &mut |out, x, mask, _| {
            for ((out, &x), &mask) in out.iter_mut().zip(x).zip(mask) {
                if mask {
                    *out = op.apply(x);
                }
            }
        })
    }

    /// An operation on each element and `other`'s, written to `out`. Local; with [`Equalised`](crate::Equalised) collective,
    /// and both arrays are brought to `out` where they are not there. Example: see [`unary_into`](Self::unary_into).
    ///
    /// # Errors
    /// As [`unary_into`](Self::unary_into); with `Equalised` as [`redistribute`](Self::redistribute).
    pub fn binary_into<B, F, O, S2, D2, C2>(
        &self,
        op: F,
        other: O,
        out: &mut LocalArrayBase<S2, D2, C2>,
    ) -> Result<(), ArrayError>
    where
        S::Elem: Element,
        B: Copy,
        F: BinaryOperation<S::Elem, B>,
        O: Operand<B, D>,
        S2: DataMut<Elem = F::Output>,
        D2: Dimension,
        C: Clone,
        C2: Communicator,
    {
        let other = other.side();
        let mine = if other.moves() {
            self.lent_to_move()
        } else {
            self.lent()
        };
        out.update_from((Side::Array(mine), other, NOTHING), &mut |out, a, b, _| {
            set_each(out, a, b, |a, b| op.apply(a, b));
        })
    }

    /// An operation on each element and `other`'s where `mask` is true, written to `out`, which is left alone elsewhere.
    /// Local; with an `Equalised` operand or mask collective.
    ///
    /// All three broadcast to `out`: missing leading dimensions and extents of 1 are repeated.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, ufunc};
    /// use ndarray::{Ix1, array};
    ///
    /// let wholes = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([5]).block(0).build()?;
    ///     let a = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, |global| global[0] as f64)?;
    ///     let mut out = a.zeros_like::<f64>()?;
    ///     out.fill(-1.0);
    ///     // 12 / a, but not by 0
    ///     let twelve = a.map(|_| 12.0);
    ///     twelve.binary_where(ufunc::TrueDivide, &a, &a.greater(0.0)?, &mut out)?;
    ///     out.gather_to(0)
    /// })?;
    /// assert_eq!(wholes[0], Some(array![-1.0, 12.0, 6.0, 4.0, 3.0]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`binary_into`](Self::binary_into).
    pub fn binary_where<B, F, O, M, S2, D2, C2>(
        &self,
        op: F,
        other: O,
        mask: M,
        out: &mut LocalArrayBase<S2, D2, C2>,
    ) -> Result<(), ArrayError>
    where
        S::Elem: Element,
        B: Copy,
        F: BinaryOperation<S::Elem, B>,
        O: Operand<B, D>,
        M: Operand<bool, D>,
        S2: DataMut<Elem = F::Output>,
        D2: Dimension,
        C: Clone,
        C2: Communicator,
    {
        let (other, mask) = (other.side(), mask.side());
        let mine = if other.moves() {
            self.lent_to_move()
        } else {
            self.lent()
        };
        out.update_from((Side::Array(mine), other, mask), &mut |out, a, b, mask| {
            for (((out, &a), &b), &mask) in out.iter_mut().zip(a).zip(b).zip(mask) {
                if mask {
                    *out = op.apply(a, b);
                }
            }
        })
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: DataMut,
    D: Dimension,
    C: Communicator,
{
    /// Changes each element by `f`, padding included. Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, array};
    ///
    /// let wholes = ThreadComm::run(2, |comm| {
    ///     let cyclic = Distribution::over(2).shape([4]).cyclic(0).build()?;
    ///     let mut a = LocalArray::<i64, Ix1, _>::from_fn(&cyclic, comm, |global| global[0])?;
    ///     a.map_inplace(|x| *x = 10 - *x);
    ///     a.gather_to(0)
    /// })?;
    /// assert_eq!(wholes[0], Some(array![10, 9, 8, 7]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn map_inplace(&mut self, f: impl FnMut(&mut S::Elem)) {
        self.data.map_inplace(f);
    }

    /// Replaces each element by an operation on it that keeps the type, padding included: [`unary`](Self::unary) without a new
    /// array. Local.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, ufunc};
    /// use ndarray::{Ix1, array};
    ///
    /// let wholes = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([4]).block(0).build()?;
    ///     let mut a = LocalArray::<f64, Ix1, _>::from_fn(&blocks, comm, |global| (global[0] * global[0]) as f64)?;
    ///     a.unary_inplace(ufunc::Sqrt);
    ///     a.gather_to(0)
    /// })?;
    /// assert_eq!(wholes[0], Some(array![0.0, 1.0, 2.0, 3.0]));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    pub fn unary_inplace<O: UnaryOperation<S::Elem, Output = S::Elem>>(&mut self, op: O)
    where
        S::Elem: Copy,
    {
        self.map_inplace(|x| *x = op.apply(*x));
    }

    /// Changes each element by `f` of it and of the one of `other`, which broadcasts to this array. Local; with
    /// [`Equalised`](crate::Equalised), which moves the other array, collective.
    ///
    /// Padding is changed too where both have the same, and left alone otherwise.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, LocalArray, ufunc};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let mut a = LocalArray::<f64, Ix1, _>::arange(0, 4, 1, "b", comm)?; // 0 1 2 3
    ///     let ones = a.ones_like::<i8>()?;
    ///     a.zip_map_inplace(&ones, |x, one| *x += 2.0 * f64::from(one))?; // 2 3 4 5
    ///     a.binary_inplace(ufunc::Multiply, 10.0)?; // 20 30 40 50
    ///     assert_eq!(a.sum()?, 140.0);
    ///     a.assign(&ones.astype::<f64>())?;
    ///     assert_eq!(a.sum()?, 4.0);
    ///     a.assign(0.5)?;
    ///     assert_eq!(a.sum()?, 2.0);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::IncompatibleArray`], the same on every rank; nothing is changed then.
    pub fn zip_map_inplace<T: Copy>(
        &mut self,
        other: impl Operand<T, D>,
        f: impl Fn(&mut S::Elem, T),
    ) -> Result<(), ArrayError> {
        self.update_from(
            (other.side(), NOTHING, NOTHING),
            &mut |mine, other, _, _| {
                for (mine, &other) in mine.iter_mut().zip(other) {
                    f(mine, other);
                }
            },
        )
    }

    /// Replaces each element by an operation on it and the one of `other`. Local; with [`Equalised`](crate::Equalised)
    /// collective. Example: see [`zip_map_inplace`](Self::zip_map_inplace).
    ///
    /// # Errors
    /// As [`zip_map_inplace`](Self::zip_map_inplace).
    pub fn binary_inplace<B, F>(
        &mut self,
        op: F,
        other: impl Operand<B, D>,
    ) -> Result<(), ArrayError>
    where
        S::Elem: Copy,
        B: Copy,
        F: BinaryOperation<S::Elem, B, Output = S::Elem>,
    {
        self.zip_map_inplace(other, |a, b| *a = op.apply(*a, b))
    }

    /// Copies the elements of `other`, or one value, into this array. Local; with [`Equalised`](crate::Equalised) collective.
    /// Example: see [`zip_map_inplace`](Self::zip_map_inplace).
    ///
    /// # Errors
    /// As [`zip_map_inplace`](Self::zip_map_inplace).
    pub fn assign(&mut self, other: impl Operand<S::Elem, D>) -> Result<(), ArrayError>
    where
        S::Elem: Copy,
    {
        self.zip_map_inplace(other, |a, b| *a = b)
    }

    /// Changes this array by what `change` does with slices of it and of the operands, which broadcast to it.
    pub(crate) fn update_from<T, U, V>(
        &mut self,
        (t, u, v): (Side<'_, T>, Side<'_, U>, Side<'_, V>),
        change: &mut Change<'_, S::Elem, T, U, V>,
    ) -> Result<(), ArrayError>
    where
        T: Copy,
        U: Copy,
        V: Copy,
    {
        let guests = [t.guest(), u.guest(), v.guest()];
        for &guest in guests.iter().flatten() {
            check_served(guest, &self.part)?;
        }
        let stored = all_store(&guests, &self.part);
        // All moves are made before anything is changed.
        let t = t.placed(&self.part, stored)?;
        let u = u.placed(&self.part, stored)?;
        let v = v.placed(&self.part, stored)?;
        let mut out = self.data.view_mut().into_dyn();
        if !stored {
            out = self.part.owned_of_mut(out);
        }
        if out.is_empty() {
            return Ok(());
        }
        let shape = out.raw_dim();
        let rank = self.comm.rank();
        let operands = Operands(
            stretched(&t, &shape, rank)?,
            stretched(&u, &shape, rank)?,
            stretched(&v, &shape, rank)?,
        );
        update(out, operands, change);
        Ok(())
    }
}

/// Whether the elements of the two arrays lie on the same ranks in the same order (`DistArray`'s `arecompatible`): they have
/// one global shape, and element-wise operations take them as they are. The types of elements may differ. Local, the same
/// answer on every rank.
///
/// ```
/// use dist_comm::ThreadComm;
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, are_compatible};
/// use ndarray::Ix1;
///
/// ThreadComm::run(2, |comm| {
///     let blocks = Distribution::over(2).shape([6]).block(0).build()?;
///     let cyclic = Distribution::over(2).shape([6]).cyclic(0).build()?;
///     let a = LocalArray::<f64, Ix1, _>::zeros(&blocks, comm)?;
///     let b = LocalArray::<i32, Ix1, _>::zeros(&blocks, comm)?;
///     let c = LocalArray::<f64, Ix1, _>::ones(&cyclic, comm)?;
///     assert!(are_compatible(&a, &b) && !are_compatible(&a, &c));
///     let sums = (&a + &c.asdist_like(&a)?)?; // collective: `c` is moved to where `a` lies
///     assert!(are_compatible(&a, &sums) && sums.sum()? == 6.0);
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
pub fn are_compatible<S1, D1, C1, S2, D2, C2>(
    a: &LocalArrayBase<S1, D1, C1>,
    b: &LocalArrayBase<S2, D2, C2>,
) -> bool
where
    S1: ndarray::RawData,
    S2: ndarray::RawData,
{
    a.part.check_compatible(&b.part).is_ok()
}
