//! [`MdMap`]: one rank's part of an array, one [`DimMap`] per dimension.

use dap_protocol::DimData;

use crate::{DimMap, GlobalIndex, IndexMap, LocalIndex, MapError, map_from_dim_dict};

/// One rank's part of an array of any number of dimensions.
///
/// ```
/// use dist_maps::{Distribution, GlobalIndex, MdMap};
/// let d = Distribution::from_shape(&[6, 6], "cb", None, 4)?; // a grid of 2 × 2
/// let map = MdMap::from_dim_data(&d.dim_data(3)?)?; // rows 1, 3, 5, columns 3..6
/// let local = map.local_from_global(&[GlobalIndex::new(3), GlobalIndex::new(4)]).unwrap();
/// assert!(local.iter().map(|l| l.get()).eq([1, 1]));
/// # Ok::<(), dist_maps::MapError>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MdMap {
    dims: Vec<DimMap>,
}

/// The name that `DistArray` gives to [`MdMap`].
pub type MDMap = MdMap;

impl MdMap {
    /// The maps of a rank's dictionaries.
    ///
    /// # Errors
    /// As [`map_from_dim_dict`].
    pub fn from_dim_data(dim_data: &DimData) -> Result<Self, MapError> {
        let dims = dim_data.dims().iter().enumerate();
        let dims = dims.map(|(axis, dim)| map_from_dim_dict(dim).map_err(|e| e.on_axis(axis)));
        Ok(Self {
            dims: dims.collect::<Result<_, _>>()?,
        })
    }

    /// One map per dimension.
    #[must_use]
    pub fn dims(&self) -> &[DimMap] {
        &self.dims
    }

    /// The protocol's dictionaries.
    #[must_use]
    pub fn dim_data(&self) -> DimData {
        self.dims.iter().map(|map| map.dim_dict().clone()).collect()
    }

    /// Extent of the buffer per dimension, padding included, in elements.
    #[must_use]
    pub fn local_shape(&self) -> Vec<usize> {
        self.dims.iter().map(IndexMap::size).collect()
    }

    /// Global extent per dimension, in elements.
    #[must_use]
    pub fn global_shape(&self) -> Vec<u64> {
        self.dims.iter().map(IndexMap::global_size).collect()
    }

    /// Where an element is stored here; `None` where it is not, and where `index` has another
    /// length than there are dimensions.
    #[must_use]
    pub fn local_from_global(&self, index: &[GlobalIndex]) -> Option<Vec<LocalIndex>> {
        if index.len() != self.dims.len() {
            return None;
        }
        let pairs = self.dims.iter().zip(index);
        pairs.map(|(map, &g)| map.local_from_global(g)).collect()
    }

    /// The element stored at a local position; `None` beyond an end, and where `index` has another
    /// length than there are dimensions.
    #[must_use]
    pub fn global_from_local(&self, index: &[LocalIndex]) -> Option<Vec<GlobalIndex>> {
        if index.len() != self.dims.len() {
            return None;
        }
        let pairs = self.dims.iter().zip(index);
        pairs.map(|(map, &l)| map.global_from_local(l)).collect()
    }

    /// The global indices of the first and of the last stored element along a dimension; `None`
    /// where nothing is stored.
    ///
    /// # Errors
    /// When there is no such dimension.
    pub fn global_limits(
        &self,
        axis: usize,
    ) -> Result<Option<(GlobalIndex, GlobalIndex)>, MapError> {
        let map = self.dims.get(axis).ok_or(MapError::Axis {
            given: axis,
            ndim: self.dims.len(),
        })?;
        let at = |l| map.global_from_local(LocalIndex::new(l));
        Ok(at(0).zip(at(map.size().saturating_sub(1))))
    }
}
