//! Whether elements are close: `isclose` and `allclose`.

use dap_protocol::Element;
use dist_comm::Communicator;
use ndarray::{Data, Dimension};
use num_complex::Complex64;

use crate::agreement::{in_step_with, split};
use crate::{ArrayError, Cast, LocalArray, LocalArrayBase, Operand};

/// How far apart two elements may be: `|a - b| <= atol + rtol · |b|`, with `NumPy`'s defaults. Local.
///
/// ```
/// use dist_comm::ThreadComm;
/// use local_array::{ArrayError, LocalArray, Tolerance};
/// use ndarray::Ix1;
///
/// ThreadComm::run(2, |comm| {
///     let a = LocalArray::<f64, Ix1, _>::linspace(0.0, 1.0, 5, true, "b", comm)?;
///     let mut b = a.map(|x| x + 1e-3);
///     assert!(!a.allclose(&b, Tolerance::default())?); // collective
///     assert!(a.allclose(&b, Tolerance::new(0.0, 1e-2))?);
///     b.fill(f64::NAN);
///     assert!(b.allclose(&b, Tolerance::default().equal_nan())?);
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tolerance {
    /// Relative to the second element; 1e-5.
    pub rtol: f64,
    /// Absolute; 1e-8.
    pub atol: f64,
    /// Whether NaN is close to NaN; false.
    pub equal_nan: bool,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self {
            rtol: 1e-5,
            atol: 1e-8,
            equal_nan: false,
        }
    }
}

impl Tolerance {
    /// These tolerances; NaN is close to nothing. Local. Example: see [`Tolerance`].
    #[must_use]
    pub fn new(rtol: f64, atol: f64) -> Self {
        Self {
            rtol,
            atol,
            equal_nan: false,
        }
    }

    /// The same, with NaN close to NaN. Local. Example: see [`Tolerance`].
    #[must_use]
    pub fn equal_nan(mut self) -> Self {
        self.equal_nan = true;
        self
    }

    fn accepts<T: Cast<Complex64>>(self, a: T, b: T) -> bool {
        let (a, b) = (a.cast(), b.cast());
        if a == b {
            return true;
        }
        if a.is_nan() || b.is_nan() {
            return self.equal_nan && a.is_nan() && b.is_nan();
        }
        // Real elements are what their real parts are, for which a root would be taken in vain.
        let magnitude = |re: f64, im: f64| if im == 0.0 { re.abs() } else { re.hypot(im) };
        let size = magnitude(b.re, b.im);
        let apart = magnitude(a.re - b.re, a.im - b.im);
        size.is_finite() && apart <= self.atol + self.rtol * size
    }
}

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// Where the elements are close to those of `other`: an array, one value or [`Equalised`](crate::Equalised). Local;
    /// collective with `Equalised`. Everything is compared in `f64`. Shape and distribution as of [`binary`](Self::binary).
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use local_array::{ArrayError, LocalArray, Tolerance};
    /// use ndarray::Ix1;
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let a = LocalArray::<i32, Ix1, _>::arange(0, 5, 1, "b", comm)?; // 0 1 2 3 4
    ///     let near = a.isclose(2, Tolerance::new(0.0, 1.0))?; // false true true true false
    ///     assert_eq!(near.sum()?, 3);
    ///     assert!(!a.isclose(&a.map(|x| x + 1), Tolerance::default())?.any()?);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`binary`](Self::binary).
    pub fn isclose<O: Operand<S::Elem, D>>(
        &self,
        other: O,
        tolerance: Tolerance,
    ) -> Result<LocalArray<bool, O::Dim, C>, ArrayError>
    where
        S::Elem: Cast<Complex64>,
    {
        self.zip_elements(other, |a, b| tolerance.accepts(a, b))
    }

    /// Whether all elements are close to those of `other`, the same answer on every rank; true where there are none.
    /// Collective.
    ///
    /// `NumPy`'s tolerances are the default; those of `DistArray`'s `allclose` are 1e-4 and 1e-7.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray, Tolerance};
    /// use ndarray::Ix1;
    ///
    /// let verdicts = ThreadComm::run(3, |comm| {
    ///     let blocks = Distribution::over(3).shape([10]).block(0).build()?;
    ///     let a = LocalArray::<f64, Ix1, _>::ones(&blocks, comm)?;
    ///     let b = &a + 5e-5;
    ///     Ok::<_, ArrayError>((
    ///         a.allclose(&b, Tolerance::default())?,
    ///         a.allclose(&b, Tolerance::new(1e-4, 1e-7))?,
    ///         a.allclose(f64::NAN, Tolerance::default().equal_nan())?,
    ///     ))
    /// })?;
    /// assert_eq!(verdicts, [(false, true, false); 3]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: as [`binary`](Self::binary), [`ArrayError::Argument`] for arguments that differ between the ranks,
    /// [`ArrayError::Agreed`] when a rank cannot have the memory, [`ArrayError::Comm`].
    pub fn allclose(
        &self,
        other: impl Operand<S::Elem, D>,
        tolerance: Tolerance,
    ) -> Result<bool, ArrayError>
    where
        S::Elem: Cast<Complex64>,
    {
        let Tolerance {
            rtol,
            atol,
            equal_nan,
        } = tolerance;
        let arguments = (rtol.to_bits(), atol.to_bits(), equal_nan);
        let close = split(self.isclose(other, tolerance));
        let all_here = |close: Result<LocalArray<bool, _, C>, _>| {
            // What a rank without a place stores counts for nothing.
            let all = close?.owned_elements().iter().all(|&close| close);
            Ok(((), [all.into()]))
        };
        let ((), all) = in_step_with(
            &self.comm,
            "operand or tolerance",
            &(self.part.laid(), arguments),
            close,
            all_here,
        )?;
        Ok(all.iter().all(|&[all]| all == 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closeness_is_numpys() {
        let t = Tolerance::default();
        assert!(t.accepts(1.0, 1.0 + 9e-6) && !t.accepts(1.0, 1.0 + 2e-5) && t.accepts(0.0, 1e-9));
        assert!(t.accepts(f64::INFINITY, f64::INFINITY) && !t.accepts(1.0, f64::INFINITY));
        assert!(!t.accepts(f64::NAN, f64::NAN) && t.equal_nan().accepts(f64::NAN, f64::NAN));
        assert!(
            t.accepts(64_u8, 64)
                && !t.accepts(1_u8, 2)
                && t.accepts(true, true)
                && !t.accepts(true, false)
        );
    }
}
