//! Reading through a window: from the file in its order, then to where the elements belong.
//!
//! ```text
//! direct      each rank reads the indices of its part               neighbours in the file are read with the gap between them
//! two-phase   each rank reads a slab of the window, then exchange   where parts interleave, or share chunks
//! ```

use std::os::unix::fs::FileExt;

use dap_protocol::{DistBuffer, Element, ElementType, HostArray, copy_bytes_to_elements};
use dist_comm::agree::agree;
use dist_comm::{CommExt, SharedFile};
use dist_maps::{Distribution, Redistribution};

use super::any::HostBytes;
use super::handle::Handle;
use super::span::Spans;
use crate::execute::{exchange, room};
use crate::h5::load::{check_values, zeros};
use crate::h5::source::{Body, Source, TURNS, is_changed};
use crate::h5::vds::MosaicFile;
use crate::h5::{ByteOrder, Refusal, Way};
use crate::part::Extent;
use crate::plan::straight;
use crate::plan::window::Selection;
use crate::{IoError, IoReport, Strategy};

/// Looks a handle's dataset up again, which has to be as it was when the handle was opened. Collective.
fn open(handle: &Handle<'_>) -> Result<Source, IoError> {
    let dataset = &handle.dataset;
    let limits = dataset.limits.as_ref();
    let source = Source::open(handle.comm, &dataset.path, &dataset.key, limits)?;
    handle.unchanged(&source.found)?;
    Ok(source)
}

/// Reads the indices of a selection into the buffer of its part. Collective.
fn read_selection(
    handle: &Handle<'_>,
    source: &Source,
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
        return read_in_order(handle, source, selection, bytes, report);
    }
    read_in_order(handle, source, selection, &mut sorted, report)?;
    selection.each(item, &mut |from, to, len| {
        bytes[to..to + len].copy_from_slice(&sorted[from..from + len]);
    });
    Ok(())
}

/// Reads the ascending indices of a selection, in this machine's byte order. Collective.
fn read_in_order(
    handle: &Handle<'_>,
    source: &Source,
    selection: &Selection,
    bytes: &mut [u8],
    report: &mut IoReport,
) -> Result<(), IoError> {
    let (comm, element) = (handle.comm, handle.dataset.element);
    let dim_data = selection.dim_data();
    let spans = Spans {
        dim_data,
        item: element.size(),
    };
    let is_empty = selection.elements() == Some(0);
    let outcome = match &source.body {
        Body::At(start) => {
            report.offset = *start;
            let read = |offset: u64, to: &mut [u8]| {
                let at = start.checked_add(offset).ok_or(IoError::Overflow {
                    what: "byte of the file",
                })?;
                let read = source.file.read_exact_at(to, at);
                read.map_err(|error| source.refused(Refusal::os("read")(error)))
            };
            let outcome = if is_empty {
                Ok(())
            } else {
                spans.read(read, bytes, report)
            };
            if source.found.byte_order != ByteOrder::NATIVE {
                let words = bytes.chunks_exact_mut(element.word_size());
                words.for_each(<[u8]>::reverse);
            }
            outcome
        }
        Body::Parts(mosaic) => {
            let file = MosaicFile::new(comm, &source.path, mosaic);
            let read = |offset: u64, to: &mut [u8]| Ok(file.read_at(offset, to)?);
            let outcome = if is_empty {
                Ok(())
            } else {
                spans.read(read, bytes, report)
            };
            // the parts of a dataset that was replaced meanwhile are gone
            let changed = outcome.is_err() && mosaic.has_changed();
            let all = comm.all_gather_value(u8::from(changed))?;
            if all.contains(&1) {
                return Err(source.refused(Refusal::Changed));
            }
            outcome
        }
        Body::Here(_) | Body::Nowhere(_) | Body::Chunks(_) | Body::Tiles(_) => {
            let read = source.read(comm, dim_data, None, bytes, Way::default())?;
            report.file_bytes += read.file_bytes;
            report.requests += read.requests;
            return Ok(());
        }
    };
    Ok(agree(comm, outcome)?)
}

/// Reads a handle's part into a buffer of its bytes, again where the file is replaced meanwhile. Collective.
fn read(
    handle: &Handle<'_>,
    distribution: &Distribution,
    bytes: &mut [u8],
) -> Result<IoReport, IoError> {
    let mut turn = 1;
    loop {
        let source = open(handle)?;
        match read_from(handle, &source, distribution, bytes) {
            Err(error) if is_changed(&error) && turn < TURNS => turn += 1,
            outcome => return outcome,
        }
    }
}

fn read_from(
    handle: &Handle<'_>,
    source: &Source,
    distribution: &Distribution,
    bytes: &mut [u8],
) -> Result<IoReport, IoError> {
    let (comm, window) = (handle.comm, &handle.window);
    let (rank, ranks) = (comm.rank(), comm.size());
    let item = handle.dataset.element.size();
    let layout = handle.layout();
    let strategy = window.strategy(distribution, &layout, item);
    let mut report = IoReport::begun(strategy, 0);
    match strategy {
        Strategy::Direct => {
            let part = agree(comm, window.part(distribution, rank, Extent::Stored))?;
            read_selection(handle, source, &part, bytes, &mut report)?;
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
            read_selection(handle, source, &part, &mut slab, &mut report)?;
            report.exchanged_bytes = exchange::exchange(comm, &redist, item, &slab, bytes)?;
        }
    }
    Ok(report)
}

/// Loads a handle's part, its elements as bytes of this machine's order. Collective.
pub(in crate::h5) fn load_bytes(handle: &Handle<'_>) -> Result<DistBuffer<HostBytes>, IoError> {
    let (comm, element) = (handle.comm, handle.dataset.element);
    handle.same()?;
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
    read(handle, &handle.distribution, &mut bytes)?;
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
    let dim_data = agree(comm, distribution.dim_data(comm.rank()))?;
    let (shape, mut elements) = agree(comm, zeros::<T>(&dim_data))?;
    // the bytes of `bool` are looked at before they are elements
    let mut checked = if T::TYPE == ElementType::Bool {
        agree(comm, room(elements.len(), 1))?
    } else {
        Vec::new()
    };
    let bytes = T::bytes_mut(&mut elements).unwrap_or(&mut checked);
    let report = read(handle, distribution, bytes)?;
    check_values(comm, &checked, T::TYPE)?;
    if T::TYPE == ElementType::Bool {
        agree(comm, copy_bytes_to_elements(&checked, &mut elements))?;
    }
    let buffer = HostArray::new(shape, elements).map_err(IoError::from);
    let part = buffer.and_then(|buffer| Ok(DistBuffer::new(dim_data, buffer)?));
    Ok((agree(comm, part)?, report))
}
