//! [`Spread`]: how an array that is about to be made is spread over the ranks.

use dist_maps::Distribution;

use crate::ArrayError;

/// How to spread a new array whose shape follows from the call ([`arange`](crate::LocalArray::arange),
/// [`eye`](crate::LocalArray::eye), …): a distribution of that shape, or `DistArray`'s `dist` and `grid_shape`.
///
/// | given | meaning |
/// |---|---|
/// | `&distribution` | this one, whose shape must be the new array's |
/// | `"b"`, `"bc"`, … | one letter per dimension: `b` block, `c` cyclic, `n` or none not distributed; the grid is chosen |
/// | `("bb", [2, 3])` | the same with the process grid |
///
/// ```
/// use dist_comm::ThreadComm;
/// use local_array::{ArrayError, LocalArray, Spread};
/// use ndarray::Ix2;
///
/// ThreadComm::run(4, |comm| {
///     let letters = "nb".distribution(&[2, 8], 4)?; // whole columns
///     assert_eq!((letters.grid().shape(), letters.local_shape(0)), (&[1, 4][..], vec![2, 2]));
///     let a = LocalArray::<f64, Ix2, _>::eye(8, None, 0, ("bb", [2, 2]), comm)?;
///     assert_eq!((a.grid_shape(), a.local_shape()), (&[2, 2][..], &[4, 4][..]));
///     let b = LocalArray::<f64, Ix2, _>::identity(8, a.distribution(), comm)?;
///     assert_eq!(b.local(), a.local());
///     Ok::<_, ArrayError>(())
/// })?;
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
pub trait Spread {
    /// The distribution of an array of `shape` over `ranks` ranks. Local.
    ///
    /// # Errors
    /// [`ArrayError::Shape`] when the distribution given has another shape, [`ArrayError::InvalidMapCode`] for another letter,
    /// [`ArrayError::Map`] for a grid that does not fit.
    fn distribution(self, shape: &[u64], ranks: usize) -> Result<Distribution, ArrayError>;
}

impl Spread for &Distribution {
    fn distribution(self, shape: &[u64], _ranks: usize) -> Result<Distribution, ArrayError> {
        if self.global_shape() != shape {
            return Err(ArrayError::Shape {
                what: "the distribution",
                given: self.global_shape().to_vec(),
                allowed: format!("{shape:?}"),
            });
        }
        Ok(self.clone())
    }
}

impl Spread for &str {
    fn distribution(self, shape: &[u64], ranks: usize) -> Result<Distribution, ArrayError> {
        Ok(Distribution::from_shape(shape, self, None, ranks)?)
    }
}

impl Spread for (&str, &[usize]) {
    fn distribution(self, shape: &[u64], ranks: usize) -> Result<Distribution, ArrayError> {
        Ok(Distribution::from_shape(
            shape,
            self.0,
            Some(self.1),
            ranks,
        )?)
    }
}

impl<const N: usize> Spread for (&str, [usize; N]) {
    fn distribution(self, shape: &[u64], ranks: usize) -> Result<Distribution, ArrayError> {
        (self.0, &self.1[..]).distribution(shape, ranks)
    }
}
