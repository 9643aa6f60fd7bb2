//! Collective transfers: what the safe crate has no call for. It makes no property lists of transfers, and does not call the
//! library for an empty selection, which a collective transfer needs.
#![expect(unsafe_code, reason = "calls of the HDF5 C library")]

use std::ffi::c_int;

use hdf5_metno::globals::H5P_DATASET_XFER;
use hdf5_metno::sync::sync;
use hdf5_metno::{Dataset, Dataspace, Datatype, h5check};
use hdf5_metno_sys::h5::herr_t;
use hdf5_metno_sys::h5d::{H5Dread, H5Dwrite};
use hdf5_metno_sys::h5i::hid_t;
use hdf5_metno_sys::h5p::{H5FD_mpio_xfer_t, H5Pclose, H5Pcreate, H5Pset_dxpl_mpio};
use hdf5_metno_sys::h5s::{
    H5S_seloper_t, H5Sget_select_npoints, H5Sselect_hyperslab, H5Sselect_none,
};

use crate::h5::Refusal;

// In every parallel library, and declared here because the bindings leave them out. The causes are sets of bits, of which the
// bindings know too few: they are taken as numbers.
unsafe extern "C" {
    fn H5Pget_mpio_actual_io_mode(transfer: hid_t, mode: *mut c_int) -> herr_t;
    fn H5Pget_mpio_no_collective_cause(
        transfer: hid_t,
        local: *mut u32,
        global: *mut u32,
    ) -> herr_t;
}

/// What a selection takes of a space: so many elements from a place on, per dimension. Of a scalar there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Selected {
    pub(super) start: Vec<u64>,
    pub(super) count: Vec<u64>,
}

impl Selected {
    pub(super) fn with_capacity(ndim: usize) -> Self {
        Self {
            start: Vec::with_capacity(ndim),
            count: Vec::with_capacity(ndim),
        }
    }

    /// One more dimension.
    pub(super) fn push(&mut self, start: u64, count: u64) {
        self.start.push(start);
        self.count.push(count);
    }

    /// Number of elements.
    fn elements(&self) -> Option<u64> {
        self.count.iter().try_fold(1, |n: u64, &k| n.checked_mul(k))
    }
}

/// Selects part of a space, or nothing of it; the number of elements that are selected then.
pub(super) fn select(space: &Dataspace, selected: Option<&Selected>) -> Result<u64, Refusal> {
    let id = space.id();
    let set = match selected {
        None => {
            // SAFETY: `space` keeps `id` open, and the library's lock is held (reference manual, H5Sselect_none).
            sync(|| h5check(unsafe { H5Sselect_none(id) }))
        }
        // all of a space is selected from the start on, and of a scalar nothing else can be
        Some(_) if space.ndim() == 0 => Ok(0),
        Some(Selected { start, count }) => {
            if start.len() != space.ndim() || count.len() != space.ndim() {
                return Err(Refusal::Library {
                    operation: "select".to_owned(),
                    message: format!("{} dimensions of {}", start.len(), space.ndim()),
                });
            }
            let set = H5S_seloper_t::H5S_SELECT_SET;
            let (start, count, none) = (start.as_ptr(), count.as_ptr(), std::ptr::null());
            // SAFETY: `space` keeps `id` open, the library's lock is held, both pointers are those of a number for each dimension,
            // and where steps and blocks are left out they are 1 (reference manual, H5Sselect_hyperslab).
            sync(|| h5check(unsafe { H5Sselect_hyperslab(id, set, start, none, count, none) }))
        }
    };
    set.map_err(Refusal::library("select"))?;
    if !space.is_valid() {
        return Err(Refusal::Library {
            operation: "select".to_owned(),
            message: "elements outside the dataset".to_owned(),
        });
    }
    // SAFETY: `space` keeps `id` open, and the library's lock is held; a negative number is an error (reference manual,
    // H5Sget_select_npoints).
    let points = sync(|| unsafe { H5Sget_select_npoints(id) });
    let expected = selected.map_or(Some(0), Selected::elements);
    match u64::try_from(points) {
        Ok(points) if Some(points) == expected => Ok(points),
        _ => Err(Refusal::Library {
            operation: "select".to_owned(),
            message: format!("{points} elements of {expected:?}"),
        }),
    }
}

/// A property list of transfers: collective, or each rank by itself.
pub(super) struct Transfers {
    id: hid_t,
}

impl Transfers {
    pub(super) fn new(collective: bool) -> Result<Self, Refusal> {
        sync(|| {
            let class = *H5P_DATASET_XFER;
            // SAFETY: `class` is that of transfers, and the library's lock is held (reference manual, H5Pcreate).
            let id = h5check(unsafe { H5Pcreate(class) })?;
            let list = Self { id };
            let mode = if collective {
                H5FD_mpio_xfer_t::H5FD_MPIO_COLLECTIVE
            } else {
                H5FD_mpio_xfer_t::H5FD_MPIO_INDEPENDENT
            };
            // SAFETY: `id` was made above and is open, and the library's lock is held (reference manual, H5Pset_dxpl_mpio).
            h5check(unsafe { H5Pset_dxpl_mpio(id, mode) })?;
            Ok(list)
        })
        .map_err(Refusal::library("ask for transfers"))
    }

    /// How the last transfer went: what the library calls its mode of input and output, and the causes, of this rank and of all, for which it
    /// was not collective.
    pub(super) fn went(&self) -> Result<(c_int, u32, u32), Refusal> {
        let id = self.id;
        let (mut mode, mut local, mut global) = (0, 0, 0);
        sync(|| {
            // SAFETY: `id` is open until `self` is dropped, the library's lock is held, and the pointer is that of a place for the
            // answer, an enumeration of C (reference manual, H5Pget_mpio_actual_io_mode).
            h5check(unsafe { H5Pget_mpio_actual_io_mode(id, &raw mut mode) })?;
            // SAFETY: as above; both answers are unsigned numbers of 32 bits (H5Pget_mpio_no_collective_cause).
            h5check(unsafe { H5Pget_mpio_no_collective_cause(id, &raw mut local, &raw mut global) })
        })
        .map_err(Refusal::library("ask how the transfer went"))?;
        Ok((mode, local, global))
    }
}

impl Drop for Transfers {
    fn drop(&mut self) {
        let id = self.id;
        // SAFETY: `id` was made by `new`, is open, and is used no more (reference manual, H5Pclose).
        sync(|| unsafe { H5Pclose(id) });
    }
}

/// The buffer of a transfer, which says its direction.
pub(super) enum Buffer<'a> {
    Read(&'a mut [u8]),
    Write(&'a [u8]),
}

impl Buffer<'_> {
    fn len(&self) -> usize {
        match self {
            Self::Read(bytes) => bytes.len(),
            Self::Write(bytes) => bytes.len(),
        }
    }

    /// Without so many bytes at its front, which has as many.
    fn from(self, start: usize) -> Self {
        match self {
            Self::Read(bytes) => Self::Read(&mut bytes[start..]),
            Self::Write(bytes) => Self::Write(&bytes[start..]),
        }
    }
}

/// What of a buffer: behind so many elements a space of this shape, and what is selected of it, where that is not all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InMemory {
    pub(super) offset: usize,
    pub(super) shape: Vec<usize>,
    pub(super) selected: Option<Selected>,
}

/// A transfer of which all is known and checked: what remains is one call of the library, which all ranks make.
pub(super) struct Prepared<'a> {
    dataset: &'a Dataset,
    ty: &'a Datatype,
    file: Dataspace,
    memory: Dataspace,
    buffer: Buffer<'a>,
    elements: u64,
}

impl<'a> Prepared<'a> {
    /// Of a dataset, whose own type is `ty`: a transfer that converts is not collective. Nothing is moved where nothing is selected.
    pub(super) fn new(
        (dataset, ty): (&'a Dataset, &'a Datatype),
        selected: Option<(&Selected, &InMemory)>,
        buffer: Buffer<'a>,
    ) -> Result<Self, Refusal> {
        let ask = Refusal::library;
        let file = dataset.space().map_err(ask("ask for the shape"))?;
        let memory = match selected {
            Some((_, memory)) if memory.shape.is_empty() => Dataspace::try_new(()),
            Some((_, memory)) => Dataspace::try_new(memory.shape.as_slice()),
            None => Dataspace::try_new([1]),
        };
        let memory = memory.map_err(ask("describe a buffer"))?;
        let elements = select(&file, selected.map(|(file, _)| file))?;
        let (offset, buffered) = match selected {
            None => (0, select(&memory, None)?),
            Some((_, all)) => match &all.selected {
                Some(some) => (all.offset, select(&memory, Some(some))?),
                None => (all.offset, memory.size() as u64),
            },
        };
        let needed = memory.size().checked_add(offset);
        let needed = needed.and_then(|needed| needed.checked_mul(ty.size()));
        let fits = selected.is_none() || needed.is_some_and(|needed| needed <= buffer.len());
        if elements != buffered || !fits {
            return Err(Refusal::Library {
                operation: "describe a buffer".to_owned(),
                message: format!(
                    "{} bytes and {buffered} elements, for {elements} in the file",
                    buffer.len()
                ),
            });
        }
        Ok(Self {
            dataset,
            ty,
            file,
            memory,
            buffer: buffer.from(offset * ty.size()), // within it, as was checked; 0 where nothing is selected
            elements,
        })
    }

    /// Bytes that are moved.
    pub(super) fn bytes(&self) -> u64 {
        self.elements.saturating_mul(self.ty.size() as u64)
    }

    /// Moves them. Collective over the ranks that opened the file: every rank calls the library, whatever it has selected.
    pub(super) fn run(self, how: &Transfers) -> Result<(), Refusal> {
        let (id, ty) = (self.dataset.id(), self.ty.id());
        let (file, memory, how) = (self.file.id(), self.memory.id(), how.id);
        match self.buffer {
            Buffer::Read(bytes) => {
                let to = bytes.as_mut_ptr().cast();
                // SAFETY: dataset, type, spaces and property list are kept open, the library's lock is held, and `new` checked that
                // there is room for all elements of the space in memory, or nothing is selected (reference manual, H5Dread).
                let read = sync(|| h5check(unsafe { H5Dread(id, ty, memory, file, how, to) }));
                read.map(drop).map_err(Refusal::library("read"))
            }
            Buffer::Write(bytes) => {
                let from = bytes.as_ptr().cast();
                // SAFETY: as above; the library does not write to the buffer (H5Dwrite).
                let written =
                    sync(|| h5check(unsafe { H5Dwrite(id, ty, memory, file, how, from) }));
                written.map(drop).map_err(Refusal::library("write"))
            }
        }
    }
}
