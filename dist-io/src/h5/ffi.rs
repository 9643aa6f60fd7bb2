//! What only the C library says and does: how the bits of a number in a file are laid out (the safe crate says class, size and
//! sign), fill values, elements of any type, and chunks as they are in the file.
#![expect(unsafe_code, reason = "calls of the HDF5 C library")]

use std::os::fd::{BorrowedFd, RawFd};
use std::ptr;

use hdf5_metno::file::FileDriver;
use hdf5_metno::plist::DatasetCreate;
use hdf5_metno::sync::sync;
use hdf5_metno::{Dataset, Dataspace, Datatype, h5check};
use hdf5_metno_sys::h5::{herr_t, hsize_t};
use hdf5_metno_sys::h5d::{H5D_fill_value_t, H5Dread, H5Dread_chunk1, H5Dwrite, H5Dwrite_chunk};
use hdf5_metno_sys::h5f::H5Fget_vfd_handle;
use hdf5_metno_sys::h5i::hid_t;
use hdf5_metno_sys::h5o::H5O_info1_t;
use hdf5_metno_sys::h5p::{
    H5P_DEFAULT, H5Pfill_value_defined, H5Pget_fill_value, H5Pget_filter2, H5Pget_nfilters,
    H5Pset_fill_value,
};
use hdf5_metno_sys::h5s::H5S_ALL;
use hdf5_metno_sys::h5t::{
    H5T_class_t, H5Tclose, H5Tdetect_class, H5Tget_ebias, H5Tget_fields, H5Tget_member_type,
    H5Tget_offset, H5Tget_precision, H5Tset_fields, H5Tset_precision, H5Tset_size,
};
use rustix::io::{FdFlags, fcntl_setfd};

use super::{ChunkProblem, Refusal};

// In the library since 1.10.2, and declared here because the bindings leave it out.
unsafe extern "C" {
    fn H5Dget_chunk_storage_size(
        dataset: hid_t,
        offset: *const hsize_t,
        bytes: *mut hsize_t,
    ) -> herr_t;
    // In every library since 1.8, and under this name since 1.10.3.
    fn H5Oget_info1(object: hid_t, info: *mut H5O_info1_t) -> herr_t;
}

/// The file descriptor behind an open file, where the library reads it as POSIX has it; `None` where it does otherwise.
pub(super) fn descriptor(file: &hdf5_metno::File) -> Option<RawFd> {
    let access = file.access_plist().ok()?;
    if !matches!(access.get_driver(), Ok(FileDriver::Sec2)) {
        return None;
    }
    let (id, mut handle) = (file.id(), ptr::null_mut());
    // SAFETY: `id` is a file that `file` keeps open, `handle` has room for one pointer, and the library's lock is held (reference
    // manual, H5Fget_vfd_handle).
    let outcome = sync(|| unsafe { H5Fget_vfd_handle(id, H5P_DEFAULT, &raw mut handle) });
    if outcome < 0 || handle.is_null() {
        return None;
    }
    // SAFETY: of this driver the handle is the address of its descriptor, an `int` that lives as long as the file is open.
    Some(unsafe { *handle.cast::<RawFd>() })
}

/// Lets no process that is started from now on inherit an open file, and with it the lock that the library has on it.
pub(super) fn close_on_exec(file: &hdf5_metno::File) {
    let Some(descriptor) = descriptor(file) else {
        return;
    };
    // SAFETY: the descriptor is that of `file`, which is open until this returns.
    let descriptor = unsafe { BorrowedFd::borrow_raw(descriptor) };
    // A file that is inherited nevertheless is one that another process seems to read.
    let _ = fcntl_setfd(descriptor, FdFlags::CLOEXEC);
}

/// Where the parts of a floating-point number lie, in bits from the lowest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FloatFormat {
    pub(super) sign: usize,
    pub(super) exponent: usize,
    pub(super) exponent_bits: usize,
    pub(super) mantissa: usize,
    pub(super) mantissa_bits: usize,
    pub(super) bias: usize,
}

/// Bits that carry the value of a number, where they are the lowest ones; 0 where they are not.
pub(super) fn precision(ty: &Datatype) -> usize {
    let id = ty.id();
    // SAFETY: `id` is a datatype that `ty` keeps open, and the library's lock is held (reference manual, H5Tget_offset).
    let offset = sync(|| unsafe { H5Tget_offset(id) });
    if offset != 0 {
        return 0;
    }
    // SAFETY: as above (H5Tget_precision).
    sync(|| unsafe { H5Tget_precision(id) })
}

/// The format of a floating-point type; `None` where the type is none.
pub(super) fn float_format(ty: &Datatype) -> Option<FloatFormat> {
    format_of(ty.id())
}

/// The format of a member of a compound type; `None` where it is no floating-point number.
pub(super) fn member_float_format(ty: &Datatype, member: u32) -> Option<FloatFormat> {
    let id = ty.id();
    // SAFETY: `id` is a datatype that `ty` keeps open, and the library's lock is held; a member that does not exist is an error
    // code (reference manual, H5Tget_member_type).
    let member = sync(|| unsafe { H5Tget_member_type(id, member) });
    if member < 0 {
        return None;
    }
    let format = format_of(member);
    // SAFETY: `member` was opened above and is used no more (reference manual, H5Tclose).
    sync(|| unsafe { H5Tclose(member) });
    format
}

fn format_of(id: hid_t) -> Option<FloatFormat> {
    let mut f = FloatFormat::default();
    // SAFETY: `id` is open, the library's lock is held, and each pointer is that of a place for one number (reference manual,
    // H5Tget_fields: a negative value for what is no floating-point type).
    let status = sync(|| unsafe {
        H5Tget_fields(
            id,
            &raw mut f.sign,
            &raw mut f.exponent,
            &raw mut f.exponent_bits,
            &raw mut f.mantissa,
            &raw mut f.mantissa_bits,
        )
    });
    if status < 0 {
        return None;
    }
    // SAFETY: as above (H5Tget_ebias).
    f.bias = sync(|| unsafe { H5Tget_ebias(id) });
    Some(f)
}

/// The fill value of a dataset as bytes of its own type; zeros where none is defined.
pub(super) fn fill_value(how: &DatasetCreate, ty: &Datatype) -> Vec<u8> {
    let mut value = vec![0; ty.size()];
    let (how, ty) = (how.id(), ty.id());
    let mut status = H5D_fill_value_t::H5D_FILL_VALUE_UNDEFINED;
    // SAFETY: `how` is a property list that is kept open, the library's lock is held, and the pointer is that of a place for the
    // answer (reference manual, H5Pfill_value_defined).
    let known = sync(|| unsafe { H5Pfill_value_defined(how, &raw mut status) });
    if known < 0 || status == H5D_fill_value_t::H5D_FILL_VALUE_UNDEFINED {
        return value;
    }
    // SAFETY: both are kept open, the library's lock is held, and `value` has room for one element of the type, into which the
    // library converts (reference manual, H5Pget_fill_value).
    let got = sync(|| unsafe { H5Pget_fill_value(how, ty, value.as_mut_ptr().cast()) });
    if got < 0 {
        value.fill(0);
    }
    value
}

/// The filters of a dataset, in the order of writing: their numbers, and the first parameter of each, 0 where it has none.
pub(super) fn filters(how: &DatasetCreate) -> Result<Vec<(i32, u32)>, Refusal> {
    let id = how.id();
    // SAFETY: `how` is a property list that is kept open, and the library's lock is held (reference manual, H5Pget_nfilters).
    let count = sync(|| h5check(unsafe { H5Pget_nfilters(id) }));
    let count = count.map_err(Refusal::library("ask for the filters"))?;
    let filter = |index| {
        let (mut flags, mut room, mut parameter) = (0, 1, 0);
        let number = sync(|| {
            // SAFETY: as above, `index` is below their number, and there is room for as many parameters as `room` says and for
            // no name (H5Pget_filter2).
            h5check(unsafe {
                H5Pget_filter2(
                    id,
                    index,
                    &raw mut flags,
                    &raw mut room,
                    &raw mut parameter,
                    0,
                    ptr::null_mut(),
                    ptr::null_mut(),
                )
            })
        });
        let number = number.map_err(Refusal::library("ask for the filters"))?;
        Ok((number, parameter))
    };
    (0..u32::try_from(count).unwrap_or(0)).map(filter).collect()
}

/// How a dataset is made whose elements are this one, as its bytes in its type, until they are written.
pub(super) fn filled(ty: &Datatype, value: &[u8]) -> Result<DatasetCreate, Refusal> {
    let wrong = || Refusal::library("make the dataset");
    let how = DatasetCreate::try_new().map_err(wrong())?;
    if value.len() != ty.size() {
        return Err(Refusal::Library {
            operation: "make the dataset".to_owned(),
            message: format!(
                "a fill value of {} bytes, allowed: {}",
                value.len(),
                ty.size()
            ),
        });
    }
    let (id, ty) = (how.id(), ty.id());
    let set = sync(|| {
        // SAFETY: both are kept open, the library's lock is held, and `value` is one element of the type, which the library copies
        // (reference manual, H5Pset_fill_value).
        h5check(unsafe { H5Pset_fill_value(id, ty, value.as_ptr().cast()) })
    });
    set.map_err(wrong())?;
    Ok(how)
}

/// All elements of a compact dataset, as they are in the file; of a type without pointers.
pub(super) fn read_all(dataset: &Dataset, ty: &Datatype) -> Result<Vec<u8>, Refusal> {
    let bytes = dataset.size().checked_mul(ty.size());
    // the format has no room for more among the metadata
    let bytes = bytes.filter(|&bytes| bytes < 1 << 16);
    let bytes = bytes.ok_or_else(|| Refusal::Storage {
        storage: "among the metadata (compact), as if there was room for so many".to_owned(),
        allowed: "less than 64 KiB".to_owned(),
    })?;
    let mut elements = Vec::new();
    elements
        .try_reserve_exact(bytes)
        .map_err(|_| Refusal::Memory {
            bytes: bytes as u64,
        })?;
    elements.resize(bytes, 0);
    let (id, ty) = (dataset.id(), ty.id());
    let read = sync(|| {
        // SAFETY: dataset and type are kept open, the library's lock is held, and `elements` has room for all elements of the type,
        // which with H5S_ALL are those that are read (reference manual, H5Dread).
        h5check(unsafe {
            H5Dread(
                id,
                ty,
                H5S_ALL,
                H5S_ALL,
                H5P_DEFAULT,
                elements.as_mut_ptr().cast(),
            )
        })
    });
    read.map_err(Refusal::library("read"))?;
    Ok(elements)
}

/// Reads a box of a dataset through the library and its filters: `file` selects it in the array, `memory` in `bytes`, which is as
/// large as all of that space; elements are as they are in the file, of a type without pointers.
pub(super) fn read_box(
    dataset: &Dataset,
    ty: &Datatype,
    (file, memory): (&Dataspace, &Dataspace),
    bytes: &mut [u8],
) -> Result<(), Refusal> {
    if memory.size().checked_mul(ty.size()) != Some(bytes.len()) {
        return Err(Refusal::Memory {
            bytes: bytes.len() as u64,
        });
    }
    let (id, ty, file, memory) = (dataset.id(), ty.id(), file.id(), memory.id());
    let read = sync(|| {
        // SAFETY: all four are kept open, the library's lock is held, and `bytes` has room for all elements of the space in memory,
        // of which the library reads those that are selected (reference manual, H5Dread).
        h5check(unsafe { H5Dread(id, ty, memory, file, H5P_DEFAULT, bytes.as_mut_ptr().cast()) })
    });
    read.map(drop).map_err(Refusal::library("read a chunk"))
}

/// Writes one element, those that `file` selects, through the library, which makes room for all elements where there is none yet.
pub(super) fn write_one(
    dataset: &Dataset,
    ty: &Datatype,
    (file, memory): (&Dataspace, &Dataspace),
    bytes: &[u8],
) -> Result<(), Refusal> {
    if bytes.len() != ty.size() || memory.size() != 1 {
        return Err(Refusal::Memory {
            bytes: bytes.len() as u64,
        });
    }
    let (id, ty, file, memory) = (dataset.id(), ty.id(), file.id(), memory.id());
    let written = sync(|| {
        // SAFETY: all four are kept open, the library's lock is held, and `bytes` is one element of the type, as many as the space in
        // memory has (reference manual, H5Dwrite).
        h5check(unsafe { H5Dwrite(id, ty, memory, file, H5P_DEFAULT, bytes.as_ptr().cast()) })
    });
    written
        .map(drop)
        .map_err(Refusal::library("make room for the elements"))
}

/// Gives a chunk to the library as it goes to the file; `origin` is its first element.
pub(super) fn write_chunk(
    dataset: &Dataset,
    origin: &[u64],
    left_out: u32,
    bytes: &[u8],
) -> Result<(), Refusal> {
    if origin.len() != dataset.ndim() {
        return Err(Refusal::ChunkShape {
            given: origin.to_vec(),
        });
    }
    let id = dataset.id();
    let written = sync(|| {
        // SAFETY: the dataset is kept open, the library's lock is held, `origin` has a number for each dimension, and `bytes` is as
        // long as is said (reference manual, H5Dwrite_chunk).
        h5check(unsafe {
            H5Dwrite_chunk(
                id,
                H5P_DEFAULT,
                left_out,
                origin.as_ptr(),
                bytes.len(),
                bytes.as_ptr().cast(),
            )
        })
    });
    written.map(drop).map_err(Refusal::library("write a chunk"))
}

/// Fills `bytes` with a chunk as it is in the file, which ends at byte `end`; the mask of filters that it did not go through, and
/// `None` where there is no such chunk.
pub(super) fn read_chunk(
    dataset: &Dataset,
    origin: &[u64],
    end: u64,
    bytes: &mut Vec<u8>,
) -> Result<Option<u32>, Refusal> {
    if origin.len() != dataset.ndim() {
        return Err(Refusal::ChunkShape {
            given: origin.to_vec(),
        });
    }
    let id = dataset.id();
    // one lock for both calls: in between nobody can make the chunk longer
    sync(|| {
        let mut len = 0;
        // SAFETY: the dataset is kept open, the library's lock is held, `origin` has a number for each dimension, and the pointer
        // is that of a place for the answer (reference manual, H5Dget_chunk_storage_size).
        let asked =
            h5check(unsafe { H5Dget_chunk_storage_size(id, origin.as_ptr(), &raw mut len) });
        asked.map_err(Refusal::library("ask for the length of a chunk"))?;
        if len == 0 {
            return Ok(None);
        }
        if len > end {
            return Err(Refusal::Chunk {
                origin: origin.to_vec(),
                offset: None,
                problem: ChunkProblem::Truncated {
                    expected: len,
                    found: end,
                },
            });
        }
        let room = usize::try_from(len).map_err(|_| Refusal::Memory { bytes: len })?;
        bytes.clear();
        bytes
            .try_reserve_exact(room)
            .map_err(|_| Refusal::Memory { bytes: len })?;
        bytes.resize(room, 0);
        let mut left_out = 0;
        // SAFETY: as above, and `bytes` has room for the chunk, whose length was asked for under this lock (reference manual,
        // H5Dread_chunk).
        let read = h5check(unsafe {
            H5Dread_chunk1(
                id,
                H5P_DEFAULT,
                origin.as_ptr(),
                &raw mut left_out,
                bytes.as_mut_ptr().cast(),
            )
        });
        read.map_err(Refusal::library("read a chunk"))?;
        Ok(Some(left_out))
    })
}

/// The type of bfloat16 in this machine's byte order, as the library itself defines it from 2.0 on: the upper half of an `f32`.
pub(super) fn bfloat16() -> Result<Datatype, Refusal> {
    let ty = Datatype::from_type::<f32>().map_err(Refusal::library("make a type"))?;
    let id = ty.id();
    let make = || {
        // SAFETY: `id` is a type of our own that `ty` keeps open, and the library's lock is held; the fields lie within its bits
        // (reference manual, H5Tset_fields).
        h5check(unsafe { H5Tset_fields(id, 15, 7, 8, 0, 7) })?;
        // SAFETY: as above; the fields lie within this precision (H5Tset_precision).
        h5check(unsafe { H5Tset_precision(id, 16) })?;
        // SAFETY: as above; the precision lies within this size (H5Tset_size).
        h5check(unsafe { H5Tset_size(id, 2) })
    };
    sync(make).map_err(Refusal::library("make a type"))?;
    Ok(ty)
}

/// Whether this is a bit field of one byte.
pub(super) fn is_bit_field(ty: &Datatype) -> bool {
    let id = ty.id();
    // SAFETY: `id` is a datatype that `ty` keeps open, and the library's lock is held (reference manual, H5Tdetect_class).
    let found = sync(|| unsafe { H5Tdetect_class(id, H5T_class_t::H5T_BITFIELD) });
    // a compound with a bit field in it has no precision
    found > 0 && ty.size() == 1 && precision(ty) == 8
}

/// Byte of the file at which the header of a dataset lies.
pub(super) fn header_address(dataset: &Dataset) -> Result<u64, Refusal> {
    Ok(object(dataset)?.addr)
}

/// Version of the format that the header of a dataset is in.
pub(super) fn header_version(dataset: &Dataset) -> Result<u32, Refusal> {
    Ok(object(dataset)?.hdr.version)
}

fn object(dataset: &Dataset) -> Result<H5O_info1_t, Refusal> {
    let id = dataset.id();
    let mut info = H5O_info1_t::default();
    let asked = sync(|| {
        // SAFETY: the dataset is kept open, the library's lock is held, and the pointer is that of a place for the answer (reference
        // manual, H5Oget_info1).
        h5check(unsafe { H5Oget_info1(id, &raw mut info) })
    });
    asked.map_err(Refusal::library("look at the dataset"))?;
    Ok(info)
}
