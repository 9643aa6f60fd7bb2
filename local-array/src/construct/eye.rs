//! Ones on a diagonal: [`eye`](LocalArray::eye) and [`identity`](LocalArray::identity).

use dist_comm::Communicator;
use ndarray::Dimension;

use super::One;
use crate::fill::fill_rows;
use crate::{ArrayError, LocalArray, Spread};

impl<T: One, D: Dimension, C: Communicator> LocalArray<T, D, C> {
    /// `n` rows of `m` elements (`n` where it is `None`), ones on diagonal `k` and zeros elsewhere: row `i` has its one in
    /// column `i + k`. `NumPy`'s `eye`; `T` is `DistArray`'s `dtype`. Local; every rank gives the same.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix2, array};
    ///
    /// let whole = ThreadComm::run(4, |comm| {
    ///     let a = LocalArray::<u8, Ix2, _>::eye(2, Some(4), 1, ("bb", [2, 2]), comm)?;
    ///     let b = LocalArray::<f64, Ix2, _>::identity(5, "b", comm)?;
    ///     Ok::<_, ArrayError>((a.gather_to(0)?, b.sum()?))
    /// })?;
    /// assert_eq!(whole[0], (Some(array![[0, 1, 0, 0], [0, 0, 1, 0]]), 5.0));
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// As [`zeros`](Self::zeros) and [`Spread::distribution`].
    pub fn eye(
        n: u64,
        m: Option<u64>,
        k: i64,
        spread: impl Spread,
        comm: C,
    ) -> Result<Self, ArrayError> {
        let distribution = spread.distribution(&[n, m.unwrap_or(n)], comm.size())?;
        let mut array = Self::zeros(&distribution, comm)?;
        fill_rows(&mut array.data, &array.part, |outer, runs, row| {
            let Some(column) = outer.first().and_then(|row| row.checked_add(k)) else {
                return;
            };
            for run in runs {
                let at = column.checked_sub(run.global).map(usize::try_from);
                if let Some(Ok(at)) = at
                    && at < run.len
                {
                    row[run.local + at] = T::one();
                }
            }
        });
        Ok(array)
    }

    /// The identity matrix of `n` rows: [`eye`](Self::eye)`(n, None, 0, …)`, whose example has it. Local.
    ///
    /// # Errors
    /// As [`eye`](Self::eye).
    pub fn identity(n: u64, spread: impl Spread, comm: C) -> Result<Self, ArrayError> {
        Self::eye(n, None, 0, spread, comm)
    }
}
