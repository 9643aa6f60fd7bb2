//! [`DimData`]: one dictionary per dimension, the protocol's `dim_data`.

use std::ops::Index;

use crate::check::{self, Strictness};
use crate::literal::Value;
use crate::{DimDict, ProcessGrid, ProtocolError, ProtocolVersion};

/// Everything the protocol says about one rank's part: one [`DimDict`] per dimension.
///
/// No dimension at all is a scalar, held by one rank.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DimData {
    dims: Vec<DimDict>,
}

impl DimData {
    /// One dictionary per dimension, each valid by itself.
    #[must_use]
    pub fn new(dims: Vec<DimDict>) -> Self {
        Self { dims }
    }

    /// The dictionaries.
    #[must_use]
    pub fn dims(&self) -> &[DimDict] {
        &self.dims
    }

    /// The dictionaries, by value.
    #[must_use]
    pub fn into_dims(self) -> Vec<DimDict> {
        self.dims
    }

    /// The tuple of dictionaries as a value, in canonical form; see [`DimDict::to_value`].
    #[must_use]
    pub fn to_value(&self) -> Value {
        Value::Tuple(self.dims.iter().map(DimDict::to_value).collect())
    }

    /// The tuple of dictionaries as a value, spelled as they were read; see
    /// [`DimDict::to_value_as_read`].
    #[must_use]
    pub fn to_value_as_read(&self) -> Value {
        Value::Tuple(self.dims.iter().map(DimDict::to_value_as_read).collect())
    }

    /// Reads what [`DimData::to_value`] gives; strictly, by the current version. See
    /// [`check::dim_data`] for old and lenient reading. `shape` is the buffer's, in elements,
    /// where there is one; `{}` needs it.
    ///
    /// # Errors
    /// [`ProtocolError::Violations`] with every broken rule.
    pub fn from_value(value: &Value, shape: Option<&[usize]>) -> Result<Self, ProtocolError> {
        check::dim_data(value, shape, ProtocolVersion::CURRENT, Strictness::Strict)
            .into_result()
            .map(|(data, _)| data)
    }

    /// The dictionaries, one by one.
    pub fn iter(&self) -> std::slice::Iter<'_, DimDict> {
        self.dims.iter()
    }

    /// Number of dimensions.
    #[must_use]
    pub fn ndim(&self) -> usize {
        self.dims.len()
    }

    /// Global extent per dimension, in elements.
    #[must_use]
    pub fn global_shape(&self) -> Vec<u64> {
        self.dims.iter().map(DimDict::size).collect()
    }

    /// Extent of the local buffer per dimension, padding included, in elements.
    #[must_use]
    pub fn local_shape(&self) -> Vec<u64> {
        self.dims.iter().map(DimDict::stored_len).collect()
    }

    /// Elements of the whole array; 1 for a scalar.
    ///
    /// # Errors
    /// [`ProtocolError::Overflow`].
    pub fn global_size(&self) -> Result<u64, ProtocolError> {
        checked_product(&self.global_shape()).ok_or(ProtocolError::Overflow {
            what: "global size",
        })
    }

    /// The process grid that the dictionaries describe.
    ///
    /// # Errors
    /// [`ProtocolError::Overflow`] when its number of ranks does not fit.
    pub fn grid(&self) -> Result<ProcessGrid, ProtocolError> {
        ProcessGrid::new(self.dims.iter().map(DimDict::grid_size).collect())
    }

    /// This rank's coordinates in the grid.
    #[must_use]
    pub fn grid_coords(&self) -> Vec<usize> {
        self.dims.iter().map(DimDict::grid_rank).collect()
    }

    /// This rank: the coordinates in C order.
    ///
    /// # Errors
    /// [`ProtocolError::Overflow`] when the grid's number of ranks does not fit.
    pub fn rank(&self) -> Result<usize, ProtocolError> {
        self.grid()?.rank(&self.grid_coords())
    }
}

/// Product of extents; an extent of 0 makes it 0 even where the others overflow.
fn checked_product(shape: &[u64]) -> Option<u64> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape
        .iter()
        .try_fold(1_u64, |product, &n| product.checked_mul(n))
}

impl Index<usize> for DimData {
    type Output = DimDict;

    /// The dictionary of a dimension.
    ///
    /// # Panics
    /// When there is no such dimension, as a slice does.
    fn index(&self, axis: usize) -> &DimDict {
        &self.dims[axis]
    }
}

impl From<Vec<DimDict>> for DimData {
    fn from(dims: Vec<DimDict>) -> Self {
        Self::new(dims)
    }
}

impl FromIterator<DimDict> for DimData {
    fn from_iter<I: IntoIterator<Item = DimDict>>(dims: I) -> Self {
        Self::new(dims.into_iter().collect())
    }
}

impl<'a> IntoIterator for &'a DimData {
    type Item = &'a DimDict;
    type IntoIter = std::slice::Iter<'a, DimDict>;

    fn into_iter(self) -> Self::IntoIter {
        self.dims.iter()
    }
}
