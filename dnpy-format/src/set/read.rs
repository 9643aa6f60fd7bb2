//! Reading a set into any target distribution.

use std::collections::BTreeMap;

use dap_protocol::{DimData, DistBuffer, Element, HostArray, Order, ProtocolVersion};
use dist_maps::Run;

use super::open::Set;
use crate::npy::{self, PartRead, check_global};
use crate::sections::{
    Count, Extent, Piece, Walk, first_missing, meet, read_walk, runs, strides, without_duplicates,
};
use crate::{DnpyError, PartFile};

impl Set {
    /// Reads the part that `target` describes, padding included. Local.
    ///
    /// Any rank of any distribution of the same global shape: only the elements that it stores
    /// are read, each once, from whichever files have them. The part comes in C order.
    ///
    /// # Errors
    /// [`DnpyError::ElementType`], [`DnpyError::GlobalShape`], [`DnpyError::Index`] for an
    /// element that no part has, and what reading the files fails with.
    pub fn read<T: Element>(&self, target: &DimData) -> Result<PartRead<T>, DnpyError> {
        self.read_extent(target, Extent::Stored)
    }

    /// Reads the elements that `target` owns; its padding is allocated, zero, and not read. Local.
    ///
    /// # Errors
    /// As [`Set::read`].
    pub fn read_owned<T: Element>(&self, target: &DimData) -> Result<PartRead<T>, DnpyError> {
        self.read_extent(target, Extent::Owned)
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
        for (axis, dim) in target.into_iter().enumerate() {
            let wanted = runs(dim, ProtocolVersion::CURRENT, extent)?;
            let by_coord = self.pieces(axis, &wanted)?;
            let all: Vec<Piece> = by_coord.values().flatten().copied().collect();
            if let Some(index) = first_missing(&wanted, &all) {
                return Err(DnpyError::Index {
                    axis,
                    index,
                    size: dim.size(),
                });
            }
            axes.push(by_coord);
        }
        self.read_pieces(target, &axes)
    }

    /// The pieces of `wanted` that each coordinate of an axis owns, where it has any.
    fn pieces(
        &self,
        axis: usize,
        wanted: &[Run],
    ) -> Result<BTreeMap<usize, Vec<Piece>>, DnpyError> {
        let ranks = self.grid.shape()[axis];
        let mut owned: Vec<Vec<Run>> = vec![Vec::new(); ranks];
        let mut seen = vec![false; ranks];
        let mut unique = true;
        for &place in &self.places {
            let dim = &self.parts[place].info.dim_data()[axis];
            let coord = dim.grid_rank();
            if std::mem::replace(&mut seen[coord], true) {
                continue;
            }
            owned[coord] = runs(dim, self.edges[axis], Extent::Owned)?;
            unique &= dim.dist_type() != "u";
        }
        if !unique {
            without_duplicates(&mut owned);
        }
        let pieces = owned.iter().map(|runs| meet(runs, wanted)).enumerate();
        Ok(pieces.filter(|(_, pieces)| !pieces.is_empty()).collect())
    }

    fn read_pieces<T: Element>(
        &self,
        target: &DimData,
        axes: &[BTreeMap<usize, Vec<Piece>>],
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
        for &place in &self.places {
            let part = &self.parts[place];
            let coords = part.info.dim_data().grid_coords();
            let pieces: Option<Vec<Vec<Piece>>> = axes
                .iter()
                .zip(coords)
                .map(|(by_coord, coord)| by_coord.get(&coord).cloned())
                .collect();
            let Some(pieces) = pieces else { continue };
            let file = PartFile::open(&part.path)?;
            if *file.info() != part.info {
                let set = || super::SetError::Manifest {
                    path: part.path.clone(),
                    reason: "it was replaced while the set was read".to_owned(),
                };
                return Err(set().into());
            }
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
