//! Reading a set into any target distribution.

use std::collections::BTreeMap;

use dap_protocol::{DimData, DimDict, DistBuffer, Element, HostArray, Order, ProtocolVersion};

use super::open::Set;
use crate::DnpyError;
use crate::axis::{Extent, Shared, Source};
use crate::npy::{self, PartRead, check_global};
use crate::sections::{Count, Walk, read_walk, strides};

impl Set {
    /// Reads the part that `target` describes, padding included. Local.
    ///
    /// Any rank of any distribution of the same global shape: only the elements that it stores
    /// are read, each once, from whichever files have them. The part comes in C order. The files
    /// must not be changed in place meanwhile, see [`PartFile`](crate::PartFile); where they have
    /// been replaced since the set was opened, this is an error.
    ///
    /// # Errors
    /// [`DnpyError::ElementType`], [`DnpyError::GlobalShape`], [`DnpyError::Index`] for an
    /// element that no part has, [`SetError::Replaced`](super::SetError::Replaced), and what reading
    /// the files fails with.
    pub fn read<T: Element>(&self, target: &DimData) -> Result<PartRead<T>, DnpyError> {
        self.read_extent(target, Extent::Stored)
    }

    /// Reads the elements that `target` owns; its padding is allocated, zero, and not read. Local.
    /// Otherwise as [`Set::read`].
    ///
    /// # Errors
    /// As [`Set::read`].
    pub fn read_owned<T: Element>(&self, target: &DimData) -> Result<PartRead<T>, DnpyError> {
        self.read_extent(target, Extent::Owned(ProtocolVersion::CURRENT))
    }

    fn read_extent<T: Element>(
        &self,
        target: &DimData,
        extent: Extent,
    ) -> Result<PartRead<T>, DnpyError> {
        let first = &self.parts[0];
        npy::check_element::<T>(first.info.array()).map_err(|e| e.in_file(&first.path))?;
        let shape: Vec<usize> = self
            .global_shape()
            .iter()
            .map(|&n| usize::try_from(n).unwrap_or(usize::MAX))
            .collect();
        check_global(&shape, target)?;
        let mut axes = Vec::with_capacity(target.ndim());
        if !target.local_shape().contains(&0) {
            for (axis, dim) in target.into_iter().enumerate() {
                axes.push(self.source(axis)?.shared(axis, dim, extent)?);
            }
        }
        self.read_pieces(target, &axes)
    }

    /// What the coordinates of an axis own.
    fn source(&self, axis: usize) -> Result<Source, DnpyError> {
        let mut dims: BTreeMap<usize, &DimDict> = BTreeMap::new();
        for &place in &self.places {
            let dim = &self.parts[place].info.dim_data()[axis];
            dims.entry(dim.grid_rank()).or_insert(dim);
        }
        // every place of the grid has a part, so every coordinate has a dictionary
        let dims: Vec<&DimDict> = dims.into_values().collect();
        Source::of_coords(&dims, self.edges[axis])
    }

    fn read_pieces<T: Element>(
        &self,
        target: &DimData,
        axes: &[Shared],
    ) -> Result<PartRead<T>, DnpyError> {
        // every element wanted is in a file, and the files are as long as they say
        let shape: Vec<usize> = target
            .local_shape()
            .iter()
            .map(|&n| usize::try_from(n).unwrap_or(usize::MAX))
            .collect();
        let len = npy::element_count(&shape, T::TYPE).ok_or_else(|| DnpyError::Overflow {
            offset: 0,
            shape: shape.clone(),
            element: T::TYPE,
        })?;
        let mut data = npy::zeroed::<T>(len)?;
        let dst_strides = strides(&shape, Order::C);
        let mut total = Count::default();
        let places = if len == 0 { &[] } else { &self.places[..] };
        for &place in places {
            let part = &self.parts[place];
            let coords = part.info.dim_data().grid_coords();
            let pieces: Option<Vec<_>> = axes
                .iter()
                .zip(coords)
                .map(|(by_coord, coord)| by_coord.get(&coord).cloned())
                .collect();
            let Some(pieces) = pieces else { continue };
            let file = part.open()?;
            let header = file.info().array();
            let walk = Walk::new(pieces, header.shape(), header.order(), &dst_strides);
            let count = read_walk(file.file(), header, &walk, &mut data)
                .map_err(|e| e.in_file(&part.path))?;
            total.bytes += count.bytes;
            total.reads += count.reads;
        }
        let protocol = |source| DnpyError::Protocol { offset: 0, source };
        let array = HostArray::new(shape, data).map_err(protocol)?;
        let part = DistBuffer::new(target.clone(), array).map_err(protocol)?;
        Ok(PartRead::new(part, total))
    }
}
