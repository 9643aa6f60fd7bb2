//! Reading through a window: from the file in its order, then to where the elements belong.
//!
//! ```text
//! direct      each rank reads the indices of its part               neighbours in the file are read with the gap between them
//! two-phase   each rank reads a slab of the window, then exchange   where parts interleave, or share chunks
//! ```

use dap_protocol::{DistBuffer, Element, ElementType, HostArray, copy_bytes_to_elements};
use dist_comm::agree::agree;
use dist_comm::{FileMode, SharedFile, SharedFileOps};
use dist_maps::{Distribution, Redistribution};

use super::any::HostBytes;
use super::handle::Handle;
use super::span::Spans;
use crate::execute::{exchange, room};
use crate::h5::ByteOrder;
use crate::h5::chunk::{self, Open};
use crate::h5::dataset::{Contents, find_contents};
use crate::h5::load::{check_values, zeros};
use crate::h5::together::by_rank_0;
use crate::part::Extent;
use crate::plan::straight;
use crate::plan::window::Selection;
use crate::{IoError, IoReport, Strategy};

/// Where the elements of a handle's dataset are, as of now.
pub(in crate::h5) struct Source<'c> {
    contents: Contents,
    file: Option<Box<dyn SharedFile + 'c>>,
}

impl<'c> Source<'c> {
    /// Looks the dataset up again, which has to be as it was when the handle was opened. Collective.
    pub(in crate::h5) fn open(handle: &Handle<'c>) -> Result<Self, IoError> {
        let dataset = &*handle.dataset;
        let (path, key) = (dataset.path.as_path(), dataset.key.as_str());
        let find = || find_contents(path, key);
        let (found, contents) = by_rank_0(handle.comm, path, key, find)?;
        handle.unchanged(&found)?;
        let file = match &contents {
            Contents::At(_) | Contents::Chunks(_) => {
                Some(handle.comm.open_shared(path, FileMode::Read)?)
            }
            Contents::Here(_) | Contents::Nowhere(_) => None,
        };
        Ok(Self { contents, file })
    }

    /// Reads the indices of a selection into the buffer of its part. Collective.
    pub(in crate::h5) fn read(
        &self,
        handle: &Handle<'c>,
        selection: &Selection,
        bytes: &mut [u8],
        report: &mut IoReport,
    ) -> Result<(), IoError> {
        let (comm, item) = (handle.comm, handle.dataset.element.size());
        let in_order = selection.is_in_order();
        let elements = match selection.elements() {
            _ if in_order => Ok(0),
            Some(elements) => Ok(elements),
            None => Err(IoError::Overflow {
                what: "number of elements of a part",
            }),
        };
        let mut sorted = agree(comm, elements.and_then(|elements| room(elements, item)))?;
        if in_order {
            return self.read_in_order(handle, selection, bytes, report);
        }
        self.read_in_order(handle, selection, &mut sorted, report)?;
        selection.each(item, &mut |from, to, len| {
            bytes[to..to + len].copy_from_slice(&sorted[from..from + len]);
        });
        Ok(())
    }

    /// Reads the ascending indices of a selection. Collective.
    fn read_in_order(
        &self,
        handle: &Handle<'c>,
        selection: &Selection,
        bytes: &mut [u8],
        report: &mut IoReport,
    ) -> Result<(), IoError> {
        let (comm, item) = (handle.comm, handle.dataset.element.size());
        let dim_data = selection.dim_data();
        let is_empty = selection.elements() == Some(0);
        let spans = Spans { dim_data, item };
        match (&self.contents, &self.file) {
            (Contents::Chunks(chunks), Some(file)) => {
                let open = Open {
                    path: &handle.dataset.path,
                    key: &handle.dataset.key,
                    file: &**file,
                };
                chunk::load(comm, &open, chunks, None, dim_data, item, bytes)?;
            }
            (Contents::At(start), Some(file)) => {
                let read = |offset: u64, to: &mut [u8]| {
                    let at = start.checked_add(offset).ok_or(IoError::Overflow {
                        what: "byte of the file",
                    })?;
                    Ok(file.read_at(at, to)?)
                };
                let outcome = if is_empty {
                    Ok(())
                } else {
                    spans.read(read, bytes, report)
                };
                agree(comm, outcome)?;
            }
            (Contents::Here(all), _) => {
                let copy = |offset: u64, to: &mut [u8]| {
                    let from = usize::try_from(offset).ok();
                    let from = from.and_then(|start| all.get(start..start.checked_add(to.len())?));
                    to.copy_from_slice(from.ok_or(IoError::BufferLength {
                        given: all.len(),
                        allowed: usize::MAX,
                    })?);
                    Ok(())
                };
                let outcome = if is_empty {
                    Ok(())
                } else {
                    spans.read(copy, bytes, report)
                };
                agree(comm, outcome)?;
            }
            (Contents::Nowhere(fill), _) => {
                let items = bytes.chunks_exact_mut(item);
                items.for_each(|item| item.copy_from_slice(fill));
            }
            (Contents::At(_) | Contents::Chunks(_), None) => {} // opened with it
        }
        Ok(())
    }

    /// Where the elements begin, where they lie in one piece.
    fn start(&self) -> u64 {
        match self.contents {
            Contents::At(start) => start,
            _ => 0,
        }
    }
}

/// Reads a handle's part into a buffer of its bytes, as they are in the file. Collective.
pub(in crate::h5) fn read(
    handle: &Handle<'_>,
    distribution: &Distribution,
    source: &Source<'_>,
    bytes: &mut [u8],
) -> Result<IoReport, IoError> {
    let (comm, window) = (handle.comm, &handle.window);
    let (rank, ranks) = (comm.rank(), comm.size());
    let item = handle.dataset.element.size();
    let layout = handle.layout();
    let strategy = window.strategy(distribution, &layout, item);
    let mut report = IoReport::begun(strategy, source.start());
    match strategy {
        Strategy::Direct => {
            let part = agree(comm, window.part(distribution, rank, Extent::Stored))?;
            source.read(handle, &part, bytes, &mut report)?;
        }
        Strategy::TwoPhase => {
            let slabs = window.slabs(&layout, ranks)?;
            let straight = straight(distribution)?;
            let redist = Redistribution::between(&slabs, &straight).filling_padding();
            let redist = agree(comm, redist.plan(rank))?;
            let part = agree(comm, window.part(&slabs, rank, Extent::Owned))?;
            let elements = slabs.owned_shape(rank).into_iter();
            let elements = if slabs.is_empty_on(rank) {
                0
            } else {
                elements.fold(1_usize, usize::saturating_mul)
            };
            let mut slab = agree(comm, room(elements, item))?;
            source.read(handle, &part, &mut slab, &mut report)?;
            report.exchanged_bytes = exchange::exchange(comm, &redist, item, &slab, bytes)?;
        }
    }
    Ok(report)
}

/// Loads a handle's part, its elements as bytes of this machine's order. Collective.
pub(in crate::h5) fn load_bytes(handle: &Handle<'_>) -> Result<DistBuffer<HostBytes>, IoError> {
    let (comm, element) = (handle.comm, handle.dataset.element);
    handle.same()?;
    let source = Source::open(handle)?;
    let dim_data = agree(comm, handle.distribution.dim_data(comm.rank()))?;
    let shape = dim_data.local_shape().into_iter().map(usize::try_from);
    let shape: Result<Vec<usize>, _> = shape.collect();
    let shape = shape.map_err(|_| IoError::Overflow {
        what: "number of elements of a part",
    });
    let shape = agree(comm, shape)?;
    let elements = if shape.contains(&0) {
        0
    } else {
        shape.iter().fold(1_usize, |n, &len| n.saturating_mul(len))
    };
    let mut bytes = agree(comm, room(elements, element.size()))?;
    read(handle, &handle.distribution, &source, &mut bytes)?;
    if handle.dataset.found.byte_order != ByteOrder::NATIVE {
        let word = element.word_size();
        bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
    check_values(comm, &bytes, element)?;
    let part = DistBuffer::new(dim_data, HostBytes::new(shape, element, bytes));
    Ok(agree(comm, part)?)
}

/// Loads a handle's part in a distribution of it. Collective.
pub(in crate::h5) fn load<T: Element>(
    handle: &Handle<'_>,
    distribution: &Distribution,
) -> Result<(DistBuffer<HostArray<T>>, IoReport), IoError> {
    let comm = handle.comm;
    handle.same()?;
    let source = Source::open(handle)?;
    let dim_data = agree(comm, distribution.dim_data(comm.rank()))?;
    let (shape, mut elements) = agree(comm, zeros::<T>(&dim_data))?;
    let mut checked = match T::bytes_mut(&mut elements) {
        Some(_) => Vec::new(),
        None => vec![0; elements.len()], // `bool`: bytes are looked at before they are elements
    };
    let bytes = T::bytes_mut(&mut elements).unwrap_or(&mut checked);
    let report = read(handle, distribution, &source, bytes)?;
    if handle.dataset.found.byte_order != ByteOrder::NATIVE {
        let word = T::TYPE.word_size();
        bytes.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
    check_values(comm, &checked, T::TYPE)?;
    if T::TYPE == ElementType::Bool {
        agree(comm, copy_bytes_to_elements(&checked, &mut elements))?;
    }
    let buffer = HostArray::new(shape, elements).map_err(IoError::from);
    let part = buffer.and_then(|buffer| Ok(DistBuffer::new(dim_data, buffer)?));
    Ok((agree(comm, part)?, report))
}
