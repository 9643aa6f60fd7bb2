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
