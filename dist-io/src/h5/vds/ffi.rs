//! What a virtual dataset is made of, and attributes of any type, asked of the C library: the safe crate loses mappings of one
//! block, and writes only attributes whose type is known when it is compiled.
#![expect(unsafe_code, reason = "calls of the HDF5 C library")]

use std::ffi::{CString, c_char, c_void};
use std::ptr;

use hdf5_metno::plist::DatasetCreate;
use hdf5_metno::sync::sync;
use hdf5_metno::{Dataset, Location, h5check};
use hdf5_metno_sys::h5::herr_t;
use hdf5_metno_sys::h5a::{
    H5Aclose, H5Acreate2, H5Aget_space, H5Aget_type, H5Aopen, H5Aread, H5Awrite,
};
use hdf5_metno_sys::h5d::H5Dvlen_reclaim;
use hdf5_metno_sys::h5i::hid_t;
use hdf5_metno_sys::h5p::{
    H5P_DEFAULT, H5Pget_virtual_count, H5Pget_virtual_dsetname, H5Pget_virtual_filename,
    H5Pget_virtual_srcspace, H5Pget_virtual_vspace,
};
use hdf5_metno_sys::h5s::{
    H5S_UNLIMITED, H5S_sel_type, H5Sclose, H5Sget_regular_hyperslab, H5Sget_select_hyper_blocklist,
    H5Sget_select_hyper_nblocks, H5Sget_select_type, H5Sget_simple_extent_ndims,
    H5Sget_simple_extent_npoints,
};
use hdf5_metno_sys::h5t::{H5Tclose, H5Tget_size};

use super::block::Block;
use crate::Refusal;

/// One mapping of a virtual dataset, as it stands in the file.
#[derive(Clone, Debug)]
pub(in crate::h5) struct Mapping {
    /// The name of the source file, with the library's escapes.
    pub(in crate::h5) file: Vec<u8>,
    /// The name of the dataset in it, with the library's escapes.
    pub(in crate::h5) dataset: Vec<u8>,
    pub(in crate::h5) source: Selected,
    pub(in crate::h5) target: Selected,
}

/// A selection in a dataspace. The extents of the dataspace are not told: those of a source are not in the file.
#[derive(Clone, Debug)]
pub(in crate::h5) enum Selected {
    All,
    Nothing,
    /// Equal blocks at equal distances, per dimension.
    Regular(Vec<Blocks>),
    /// A union of blocks, as many as the file lists.
    Union(Vec<Block>),
    /// Anything else.
    Other,
}

/// Equal blocks at equal distances along a dimension. Their number, or the length of the only one, is `None` where it has no
/// limit.
#[derive(Clone, Copy, Debug)]
pub(in crate::h5) struct Blocks {
    pub(in crate::h5) start: u64,
    pub(in crate::h5) stride: u64,
    pub(in crate::h5) count: Option<u64>,
    pub(in crate::h5) block: Option<u64>,
}

/// The mappings of a virtual dataset.
pub(super) fn mappings(how: &DatasetCreate) -> Result<Vec<Mapping>, Refusal> {
    let id = how.id();
    let mut count = 0;
    // SAFETY: `id` is a property list that `how` keeps open, the library's lock is held, and `count` is a place for one number
    // (reference manual, H5Pget_virtual_count).
    status("count the mappings", || unsafe {
        H5Pget_virtual_count(id, &raw mut count)
    })?;
    let mut mappings = Vec::new();
    for index in 0..count {
        // SAFETY: as above, `index` is below the count, and the pointer, if it is not null, is that of a buffer of the length
        // beside it (H5Pget_virtual_filename).
        let file = text(|buf, len| unsafe { H5Pget_virtual_filename(id, index, buf, len) })?;
        // SAFETY: as above (H5Pget_virtual_dsetname).
        let dataset = text(|buf, len| unsafe { H5Pget_virtual_dsetname(id, index, buf, len) })?;
        // SAFETY: as above; the answer is a dataspace of its own (H5Pget_virtual_srcspace).
        let source = Space::new(|| unsafe { H5Pget_virtual_srcspace(id, index) })?;
        // SAFETY: as above (H5Pget_virtual_vspace).
        let target = Space::new(|| unsafe { H5Pget_virtual_vspace(id, index) })?;
        mappings.push(Mapping {
            file,
            dataset,
            source: source.selected()?,
            target: target.selected()?,
        });
    }
    Ok(mappings)
}

/// Copies all attributes of a dataset to another object, whatever their types.
pub(super) fn copy_attributes(from: &Dataset, to: &Location) -> Result<(), Refusal> {
    let names = from
        .attr_names()
        .map_err(Refusal::library("ask for the attributes"))?;
    for name in names {
        let name = CString::new(name).map_err(|_| failed("read the name of an attribute"))?;
        copy_attribute(from.id(), to.id(), &name)?;
    }
    Ok(())
}

fn copy_attribute(from: hid_t, to: hid_t, name: &CString) -> Result<(), Refusal> {
    // SAFETY: `from` is open for as long as the caller holds the dataset, the library's lock is held, and the name ends with a
    // zero byte (H5Aopen).
    let old = Attribute::new("open an attribute", || unsafe {
        H5Aopen(from, name.as_ptr(), H5P_DEFAULT)
    })?;
    // SAFETY: `old` is open; the answer is a type of its own (H5Aget_type).
    let ty = Type::new(|| unsafe { H5Aget_type(old.0) })?;
    // SAFETY: `old` is open; the answer is a dataspace of its own (H5Aget_space).
    let space = Space::new(|| unsafe { H5Aget_space(old.0) })?;
    // SAFETY: all four are open, and the name ends with a zero byte (H5Acreate2).
    let new = Attribute::new("make an attribute", || unsafe {
        H5Acreate2(to, name.as_ptr(), ty.0, space.0, H5P_DEFAULT, H5P_DEFAULT)
    })?;
    // SAFETY: `space` is open (H5Sget_simple_extent_npoints).
    let points = sync(|| unsafe { H5Sget_simple_extent_npoints(space.0) });
    let points = usize::try_from(points).map_err(|_| failed("count the values of an attribute"))?;
    // SAFETY: `ty` is open (H5Tget_size).
    let size = sync(|| unsafe { H5Tget_size(ty.0) });
    if points == 0 || size == 0 {
        return Ok(()); // a null dataspace has nothing to copy
    }
    let bytes = points
        .checked_mul(size)
        .ok_or_else(|| failed("read an attribute"))?;
    // in words, so that values of variable length, which are addresses here, are aligned
    let mut values: Vec<u64> = Vec::new();
    let words = bytes.div_ceil(8);
    values
        .try_reserve_exact(words)
        .map_err(|_| failed("read an attribute"))?;
    values.resize(words, 0);
    let buffer: *mut c_void = values.as_mut_ptr().cast();
    // SAFETY: `buffer` has room for `points` values of `size` bytes, as the type itself lays them out (H5Aread).
    status("read an attribute", || unsafe {
        H5Aread(old.0, ty.0, buffer)
    })?;
    // SAFETY: the values are those that were just read, of the same type and as many (H5Awrite).
    let written = status("write an attribute", || unsafe {
        H5Awrite(new.0, ty.0, buffer)
    });
    #[allow(
        deprecated,
        reason = "its successor is not in the oldest library that is supported"
    )]
    // SAFETY: `buffer` holds what H5Aread put there for this type and space, and what the library allocated for values of
    // variable length is given back once; for other types this does nothing (H5Dvlen_reclaim).
    sync(|| unsafe { H5Dvlen_reclaim(ty.0, space.0, H5P_DEFAULT, buffer) });
    written
}

/// A dataspace, closed when dropped.
struct Space(hid_t);

impl Space {
    fn new(ask: impl FnOnce() -> hid_t) -> Result<Self, Refusal> {
        opened("ask for a dataspace", ask).map(Self)
    }

    fn selected(&self) -> Result<Selected, Refusal> {
        let id = self.0;
        // SAFETY: `id` is open, and the library's lock is held (H5Sget_simple_extent_ndims).
        let ndim = sync(|| unsafe { H5Sget_simple_extent_ndims(id) });
        let ndim = usize::try_from(ndim).map_err(|_| failed("ask for the extents"))?;
        // SAFETY: as above (H5Sget_select_type).
        let kind = sync(|| unsafe { H5Sget_select_type(id) });
        Ok(match kind {
            H5S_sel_type::H5S_SEL_ALL => Selected::All,
            H5S_sel_type::H5S_SEL_NONE => Selected::Nothing,
            H5S_sel_type::H5S_SEL_HYPERSLABS => match self.regular(ndim) {
                Some(blocks) => Selected::Regular(blocks),
                None => self.union(ndim)?,
            },
            _ => Selected::Other,
        })
    }

    /// What a hyperslab is; `None` where it is a union of several.
    fn regular(&self, ndim: usize) -> Option<Vec<Blocks>> {
        let mut numbers = vec![0; 4 * ndim];
        let (start, rest) = numbers.split_at_mut(ndim);
        let (stride, rest) = rest.split_at_mut(ndim);
        let (count, block) = rest.split_at_mut(ndim);
        // SAFETY: the dataspace is open with a selection of hyperslabs, the library's lock is held, and each of the four has a
        // place for each dimension (H5Sget_regular_hyperslab: a negative value for an irregular one).
        let status = sync(|| unsafe {
            H5Sget_regular_hyperslab(
                self.0,
                start.as_mut_ptr(),
                stride.as_mut_ptr(),
                count.as_mut_ptr(),
                block.as_mut_ptr(),
            )
        });
        if status < 0 {
            return None;
        }
        let limited = |number: u64| (number != H5S_UNLIMITED).then_some(number);
        let blocks = |axis: usize| Blocks {
            start: start[axis],
            stride: stride[axis],
            count: limited(count[axis]),
            block: limited(block[axis]),
        };
        Some((0..ndim).map(blocks).collect())
    }

    /// The blocks of a hyperslab that is irregular.
    fn union(&self, ndim: usize) -> Result<Selected, Refusal> {
        let id = self.0;
        // SAFETY: the dataspace is open with a selection of hyperslabs, and the library's lock is held
        // (H5Sget_select_hyper_nblocks).
        let count = sync(|| unsafe { H5Sget_select_hyper_nblocks(id) });
        let Ok(count) = u64::try_from(count) else {
            return Ok(Selected::Other);
        };
        let refused = || failed("ask for the blocks of a selection");
        let numbers = usize::try_from(count).ok();
        let numbers = numbers.and_then(|count| count.checked_mul(2 * ndim));
        let numbers = numbers.ok_or_else(refused)?;
        let mut corners: Vec<u64> = Vec::new();
        let room = corners.try_reserve_exact(numbers);
        room.map_err(|_| refused())?;
        corners.resize(numbers, 0);
        // SAFETY: as above, and `corners` has room for the two corners of as many blocks as were just counted
        // (H5Sget_select_hyper_blocklist).
        status("ask for the blocks of a selection", || unsafe {
            H5Sget_select_hyper_blocklist(id, 0, count, corners.as_mut_ptr())
        })?;
        let block = |corners: &[u64]| {
            let (start, last) = corners.split_at(ndim);
            let axes = start.iter().zip(last);
            let shape = axes.map(|(start, last)| last.checked_sub(*start)?.checked_add(1));
            let shape = shape.collect::<Option<Vec<u64>>>();
            shape.map(|shape| Block::new(start.to_vec(), shape))
        };
        let blocks = corners.chunks_exact((2 * ndim).max(1)).map(block);
        let blocks = blocks.collect::<Option<Vec<Block>>>();
        Ok(blocks.map_or(Selected::Other, Selected::Union))
    }
}

impl Drop for Space {
    fn drop(&mut self) {
        // SAFETY: the dataspace was opened by this module and is used no more (H5Sclose).
        sync(|| unsafe { H5Sclose(self.0) });
    }
}

/// An attribute, closed when dropped.
struct Attribute(hid_t);

impl Attribute {
    fn new(operation: &str, ask: impl FnOnce() -> hid_t) -> Result<Self, Refusal> {
        opened(operation, ask).map(Self)
    }
}

impl Drop for Attribute {
    fn drop(&mut self) {
        // SAFETY: the attribute was opened by this module and is used no more (H5Aclose).
        sync(|| unsafe { H5Aclose(self.0) });
    }
}

/// A datatype, closed when dropped.
struct Type(hid_t);

impl Type {
    fn new(ask: impl FnOnce() -> hid_t) -> Result<Self, Refusal> {
        opened("ask for the type of an attribute", ask).map(Self)
    }
}

impl Drop for Type {
    fn drop(&mut self) {
        // SAFETY: the type was opened by this module and is used no more (H5Tclose).
        sync(|| unsafe { H5Tclose(self.0) });
    }
}

/// A text of the library's: asked for its length, then for its bytes, which end with a zero.
fn text(ask: impl Fn(*mut c_char, usize) -> isize) -> Result<Vec<u8>, Refusal> {
    let refused = || failed("ask for the name of a source");
    let len = usize::try_from(sync(|| ask(ptr::null_mut(), 0))).map_err(|_| refused())?;
    let mut bytes = vec![0_u8; len.checked_add(1).ok_or_else(refused)?];
    let buffer = bytes.as_mut_ptr().cast();
    if sync(|| ask(buffer, len + 1)) < 0 {
        return Err(refused());
    }
    bytes.truncate(len);
    Ok(bytes)
}

/// Calls the library under its lock; what it says of an error is asked for under the same one.
fn status(operation: &str, call: impl FnOnce() -> herr_t) -> Result<(), Refusal> {
    let called = sync(|| h5check(call()));
    called.map(drop).map_err(Refusal::library(operation))
}

/// As [`status`], for a call that opens something.
fn opened(operation: &str, call: impl FnOnce() -> hid_t) -> Result<hid_t, Refusal> {
    sync(|| h5check(call())).map_err(Refusal::library(operation))
}

fn failed(operation: &str) -> Refusal {
    Refusal::Library {
        operation: operation.to_owned(),
        message: "refused".to_owned(),
    }
}
