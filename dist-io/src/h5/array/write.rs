//! Writing through a window, in place: elements are exchanged in memory to slabs that share no chunk, and each rank writes its own.

use std::borrow::Cow;
use std::fs::File;

use dap_protocol::{DistBuffer, Element, HostArray, HostBuffer, LocalBuffer};
use dist_comm::agree::agree;
use dist_comm::{FileMode, SharedFile, SharedFileOps};
use dist_maps::{AxisDist, Distribution, MapError};
use hdf5_metno as hdf5;
use hdf5_metno::{Dataspace, Hyperslab, SliceOrIndex};
use serde::{Deserialize, Serialize};

use super::handle::Handle;
use super::read::owned;
use super::repeat::Repeat;
use super::span::Spans;
use crate::execute::room;
use crate::h5::chunk::{self, Chunks, Open};
use crate::h5::dataset::{Found, describe, how, walk};
use crate::h5::open::{alone, private};
use crate::h5::save::{bytes_of, check_edges};
use crate::h5::together::{by_rank_0, is_regular, names, same};
use crate::h5::{ByteOrder, HandleRefusal, Refusal, Storage, ffi, metadata};
use crate::layout::shape_text;
use crate::part::Extent;
use crate::plan::window::Selection;
use crate::{Direction, FileLayout, IoError, IoPlan, IoReport, Strategy};

/// Where the elements of a dataset are that is written to.
#[derive(Serialize, Deserialize)]
enum Target {
    At(u64),
    Chunks(Chunks),
}

/// A file that rank 0 has open to write to it, and its lock.
struct Held {
    dataset: hdf5::Dataset,
    file: hdf5::File,
    _lock: Option<File>,
}

/// Opens the file to write to it, locked against other programs; gives an unwritten dataset its room. By rank 0.
fn open(handle: &Handle<'_>) -> Result<(Found, Target, Held), Refusal> {
    let (path, key) = (handle.dataset.path.as_path(), &handle.dataset.key);
    let opened = || {
        let file = private(path)?;
        let dataset = walk(&file, &names(key)?)?;
        Ok::<_, Refusal>((file, dataset))
    };
    let len = || {
        let meta = std::fs::metadata(path).map_err(Refusal::os("look at the file"))?;
        Ok::<_, Refusal>(meta.len())
    };
    is_regular(path)?.ok_or(Refusal::NotFound)?;
    let lock = alone(path)?;
    let (mut file, mut dataset) = opened()?;
    let mut found = describe(&dataset, len()?)?;
    if matches!(found.storage, Storage::Contiguous { offset: None }) && !found.shape.contains(&0) {
        make_room(&dataset, found.shape.len())?;
        drop(dataset);
        file.close().map_err(Refusal::library("close the file"))?;
        (file, dataset) = opened()?; // nothing of the elements is in the library's memory now
        found = describe(&dataset, len()?)?;
    }
    let target = match &found.storage {
        _ if found.shape.contains(&0) => Target::At(0),
        Storage::Contiguous { .. } => Target::At(found.offset("in one piece")?),
        Storage::Chunked { .. } => {
            let ty = dataset.dtype();
            let ty = ty.map_err(Refusal::library("ask for the element type"))?;
            let fill = ffi::fill_value(&how(&dataset)?, &ty);
            Target::Chunks(Chunks::to_overwrite(&file, &dataset, &found.shape, fill)?)
        }
        other => {
            let storage = other.text();
            return Err(HandleRefusal::Overwrite { storage }.into());
        }
    };
    let held = Held {
        dataset,
        file,
        _lock: lock,
    };
    Ok((found, target, held))
}

/// Has the library make room for all elements, by writing the fill value to the first.
fn make_room(dataset: &hdf5::Dataset, ndim: usize) -> Result<(), Refusal> {
    let ask = Refusal::library;
    let ty = dataset.dtype().map_err(ask("ask for the element type"))?;
    let fill = ffi::fill_value(&how(dataset)?, &ty);
    let space = dataset.space().map_err(ask("ask for the shape"))?;
    let (file, memory) = if ndim == 0 {
        (space.clone(), space)
    } else {
        let first = vec![SliceOrIndex::from(0..1); ndim];
        let file = space.select(Hyperslab::from(first));
        let memory = Dataspace::try_new(vec![1; ndim]);
        (
            file.map_err(ask("select the first element"))?,
            memory.map_err(ask("select the first element"))?,
        )
    };
    ffi::write_one(dataset, &ty, (&file, &memory), &fill)
}

/// Writes what `fill` puts into each rank's slab of the window. Collective.
fn write(
    handle: &Handle<'_>,
    fill: impl FnOnce(&Distribution, &mut [u8], &mut IoReport) -> Result<(), IoError>,
) -> Result<IoReport, IoError> {
    handle.writable()?;
    let comm = handle.comm;
    let (rank, ranks) = (comm.rank(), comm.size());
    let (path, key) = (handle.dataset.path.as_path(), handle.dataset.key.as_str());
    let item = handle.dataset.element.size();
    if let Some((axis, index)) = handle.window.repeated() {
        return Err(MapError::RepeatedIndex {
            axis: Some(axis),
            coord: 0,
            given: index.cast_signed(),
        }
        .into());
    }
    let slabs = handle.window.slabs(&handle.layout(), ranks)?;
    let part = agree(comm, handle.window.part(&slabs, rank, Extent::Owned))?;
    let mut slab = agree(comm, room(owned(&slabs, rank), item))?;
    let mut report = IoReport::begun(Strategy::TwoPhase, 0);
    fill(&slabs, &mut slab, &mut report)?;
    if handle.dataset.found.byte_order != ByteOrder::NATIVE {
        let word = handle.dataset.element.word_size();
        slab.chunks_exact_mut(word).for_each(<[u8]>::reverse);
    }
    // from here on the file is changed, and every handle of it has another copy
    let mut held = None;
    let (found, target) = by_rank_0(comm, path, key, || {
        let (found, target, opened) = open(handle)?;
        held = Some(opened);
        Ok((found, target))
    })?;
    handle.unchanged(&found)?;
    let file = comm.open_shared(path, FileMode::ReadWrite)?;
    handle.note_write();
    let dataset = held.as_ref().map(|held| &held.dataset);
    put(handle, &target, (&*file, dataset), &part, slab, &mut report)?;
    file.sync()?;
    by_rank_0(comm, path, key, || match held.take() {
        None => Ok(()),
        Some(Held {
            dataset,
            file,
            _lock,
        }) => {
            drop(dataset);
            let close = |error| Refusal::library("close the file")(error);
            file.flush().map_err(close)?;
            file.close().map_err(close)
        }
    })?;
    Ok(report)
}

/// Writes each rank's slab to where the elements are. Collective.
fn put(
    handle: &Handle<'_>,
    target: &Target,
    (file, dataset): (&dyn SharedFile, Option<&hdf5::Dataset>),
    part: &Selection,
    slab: Vec<u8>,
    report: &mut IoReport,
) -> Result<(), IoError> {
    let (comm, item) = (handle.comm, handle.dataset.element.size());
    match target {
        Target::At(start) => {
            report.offset = *start;
            let outcome = in_order(part, item, slab).and_then(|slab| {
                if slab.is_empty() {
                    return Ok(());
                }
                let dim_data = part.dim_data();
                let at = |offset: u64| {
                    start.checked_add(offset).ok_or(IoError::Overflow {
                        what: "byte of the file",
                    })
                };
                // no other rank writes between the runs, and other programs are locked out
                Spans { dim_data, item }.write(
                    |offset, bytes| Ok(file.read_at(at(offset)?, bytes)?),
                    |offset, bytes| Ok(file.write_at(at(offset)?, bytes)?),
                    &slab,
                    report,
                )
            });
            agree(comm, outcome)?;
        }
        Target::Chunks(chunks) => {
            let FileLayout::Chunked { chunk } = handle.layout() else {
                return Err(handle.refused(Refusal::ChunkShape { given: Vec::new() }));
            };
            let open = Open {
                path: &handle.dataset.path,
                key: &handle.dataset.key,
                file,
                library: None, // every chunk is listed
                threads: None,
            };
            let whole = agree(comm, part.rounded(&handle.dataset.found.shape, &chunk))?;
            let count = whole.elements().ok_or(IoError::Overflow {
                what: "number of elements of the chunks",
            });
            let mut region = agree(comm, count.and_then(|count| room(count, item)))?;
            // chunks that are not written whole keep their other elements
            chunk::load(
                comm,
                &open,
                chunks,
                None,
                whole.dim_data(),
                item,
                &mut region,
            )?;
            whole.each(item, &mut |to, from, len| {
                region[to..to + len].copy_from_slice(&slab[from..from + len]);
            });
            let elements = (whole.dim_data(), item);
            chunk::overwrite(comm, &open, dataset, chunks, elements, &region, report)?;
        }
    }
    Ok(())
}

/// A slab in the order of the file.
fn in_order(part: &Selection, item: usize, slab: Vec<u8>) -> Result<Vec<u8>, IoError> {
    if part.is_in_order() {
        return Ok(slab);
    }
    let mut sorted = room(slab.len(), 1)?;
    part.each(item, &mut |to, from, len| {
        sorted[to..to + len].copy_from_slice(&slab[from..from + len]);
    });
    Ok(sorted)
}

/// Parts that are known to be an array which can be assigned.
pub(in crate::h5) struct Checked<'a> {
    from: Distribution,
    repeat: Repeat,
    bytes: Cow<'a, [u8]>,
}

/// Checks that the parts of all ranks can be assigned. Collective.
pub(in crate::h5) fn check<'a, B: HostBuffer>(
    handle: &Handle<'_>,
    part: &'a DistBuffer<B>,
) -> Result<Checked<'a>, IoError> {
    let comm = handle.comm;
    handle.same()?;
    let element = part.buffer().element_type();
    same(comm, &[("element type", element.to_string().as_bytes())])?;
    if element != handle.dataset.element {
        return Err(IoError::ElementType {
            given: handle.dataset.element,
            allowed: element,
        });
    }
    agree(comm, check_edges(part))?;
    let parts = metadata::gather(comm, part.dim_data())?;
    let from = metadata::whole(&parts)?;
    let repeat = Repeat::new(from.global_shape(), handle.shape())?;
    // every element has a rank that holds it
    let _ = IoPlan::new(
        &from,
        element.size(),
        FileLayout::Contiguous,
        Direction::Write,
    )?;
    let bytes = agree(comm, bytes_of(part.buffer(), element))?;
    Ok(Checked {
        from,
        repeat,
        bytes,
    })
}

/// Assigns what was checked. Collective.
pub(in crate::h5) fn assign(
    handle: &Handle<'_>,
    checked: &Checked<'_>,
) -> Result<IoReport, IoError> {
    let (comm, item) = (handle.comm, handle.dataset.element.size());
    let Checked {
        from,
        repeat,
        bytes,
    } = checked;
    write(handle, |slabs, slab, report| {
        report.exchanged_bytes = repeat.moved(comm, (from, slabs), item, bytes, slab)?;
        Ok(())
    })
}

/// Assigns all elements, those that rank 0 gives. Collective.
pub(in crate::h5) fn assign_from<T: Element>(
    handle: &Handle<'_>,
    array: &HostArray<T>,
) -> Result<IoReport, IoError> {
    let comm = handle.comm;
    handle.same()?;
    let shape = LocalBuffer::shape(array).iter().map(|&n| n as u64);
    let shape: Vec<u64> = shape.collect();
    same(comm, &[("shape", shape_text(&shape).as_bytes())])?;
    let repeat = Repeat::new(&shape, handle.shape())?;
    let axes = shape.iter().map(|&n| AxisDist::whole(n));
    let axes = axes.collect::<Result<Vec<_>, _>>()?;
    let from = Distribution::from_axes(axes, comm.size(), [0])?;
    let bytes = agree(comm, bytes_of(array, T::TYPE))?;
    let bytes = if comm.rank() == 0 {
        bytes
    } else {
        Cow::Borrowed(&[][..])
    };
    assign(
        handle,
        &Checked {
            from,
            repeat,
            bytes,
        },
    )
}

/// Bytes that assigning to what a handle sees takes on any rank, beside what is assigned. Messages of an exchange between processes
/// come beside it. Local; the same on every rank.
pub(super) fn need(handle: &Handle<'_>) -> Result<u64, IoError> {
    let (layout, item) = (handle.layout(), handle.dataset.element.size());
    let ranks = handle.comm.size();
    let slabs = handle.window.slabs(&layout, ranks)?;
    let mut most = 0;
    for rank in 0..ranks {
        let part = handle.window.part(&slabs, rank, Extent::Owned)?;
        let slab = owned(&slabs, rank);
        let more = match &layout {
            FileLayout::Chunked { chunk } => {
                let whole = part.rounded(&handle.dataset.found.shape, chunk)?;
                whole.elements().unwrap_or(usize::MAX)
            }
            FileLayout::Contiguous if part.is_in_order() => 0,
            FileLayout::Contiguous => slab,
        };
        most = most.max(slab.saturating_add(more));
    }
    Ok((most as u64).saturating_mul(item as u64))
}

/// Assigns one value to all elements, the same on all ranks. Collective.
pub(in crate::h5) fn fill<T: Element>(handle: &Handle<'_>, value: T) -> Result<IoReport, IoError> {
    let one = HostArray::new(Vec::new(), vec![value])?;
    let bytes = bytes_of(&one, T::TYPE)?;
    handle.same()?;
    same(handle.comm, &[("value", format!("{value:?}").as_bytes())])?;
    fill_bytes(handle, &bytes)
}

/// Assigns one element, as its bytes, to all. Collective.
pub(in crate::h5) fn fill_bytes(handle: &Handle<'_>, bytes: &[u8]) -> Result<IoReport, IoError> {
    write(handle, |_, slab, _| {
        let items = slab.chunks_exact_mut(bytes.len());
        items.for_each(|item| item.copy_from_slice(bytes));
        Ok(())
    })
}
