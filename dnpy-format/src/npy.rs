//! `.npy` files: `NumPy`'s format 1.0 to 3.0, as `numpy.lib.format` and NEP 1 describe it.
//!
//! A `.npy` stream is the second half of a `.dnpy` file, and a file by itself. Read are all
//! numeric types, `bool`, complex numbers and half precision, in both byte orders, in C and
//! Fortran order; records, text, times and objects are refused by name. Written is version 1.0,
//! the bytes that `numpy.save` writes.
//!
//! ```
//! use dap_protocol::HostArray;
//! use dnpy_format::npy;
//! let a = HostArray::new(vec![2, 3], vec![0_i16, 1, 2, 3, 4, 5])?;
//! let mut file = Vec::new();
//! npy::write(&mut file, &a)?;
//! assert_eq!(file.len(), 128 + 12);
//! assert_eq!(npy::read::<i16, _>(&mut &file[..])?, a);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![cfg_attr(
    feature = "set",
    doc = "",
    doc = "With feature `set`, [`read_owned`] and [`read_by_dim_data`] read one rank's part of an",
    doc = "array that lies whole in one file, and [`PartsWriter`] lets all ranks write one file."
)]

mod descr;
mod header;
#[cfg(feature = "set")]
mod parts;
mod payload;
#[cfg(feature = "set")]
mod writer;

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;

use dap_protocol::{Element, HostArray, HostBuffer};

pub use descr::ByteOrder;
pub use header::Header;
#[cfg(feature = "set")]
pub use parts::{PartRead, load_npy, read_by_dim_data, read_owned};
#[cfg(feature = "set")]
pub use writer::PartsWriter;

#[cfg(feature = "set")]
pub(crate) use header::element_count;
pub(crate) use header::{header_bytes, header_of, key_list};
#[cfg(feature = "set")]
pub(crate) use parts::check_global;
pub(crate) use payload::{
    array, check_bools, check_element, checked_copy, elements, finish_bytes, zeroed,
};

use crate::DnpyError;
use crate::file::{check_len, elements_of, open};
use crate::save::publish;
use crate::source::Source;

/// Reads the header; the reader then stands at the first element.
///
/// # Errors
/// [`DnpyError`] with the byte offset.
pub fn read_header<R: Read + ?Sized>(reader: &mut R) -> Result<Header, DnpyError> {
    header_of(&mut Source::new(reader))
}

/// The header of a file.
///
/// # Errors
/// As [`read_header`], naming the file.
pub fn header(path: impl AsRef<Path>) -> Result<Header, DnpyError> {
    let path = path.as_ref();
    let file = open(path)?;
    header_of_file(&file).map_err(|e| e.in_file(path))
}

/// The header of an open file that stands at its start.
pub(crate) fn header_of_file(file: &File) -> Result<Header, DnpyError> {
    read_header(&mut std::io::BufReader::with_capacity(512, file))
}

/// Reads an array. Bytes after it stay unread.
///
/// Memory grows with the bytes that arrive, whatever the header claims.
///
/// # Errors
/// [`DnpyError`] with the byte offset; [`DnpyError::ElementType`] when the elements are no `T`.
pub fn read<T: Element, R: Read + ?Sized>(reader: &mut R) -> Result<HostArray<T>, DnpyError> {
    let mut source = Source::new(reader);
    let header = header_of(&mut source)?;
    elements(&mut source, &header)
}

/// Reads an array from a file by its name; faster than [`read`]. The file must not be changed in
/// place meanwhile, see [`PartFile`](crate::PartFile).
///
/// # Errors
/// As [`read`], naming the file.
pub fn load<T: Element>(path: impl AsRef<Path>) -> Result<HostArray<T>, DnpyError> {
    let path = path.as_ref();
    let file = open(path)?;
    let whole = || {
        let header = header_of_file(&file)?;
        check_len(&file, &header)?;
        elements_of(&file, &header)
    };
    whole().map_err(|e| e.in_file(path))
}

/// Writes an array as version 1.0.
///
/// # Errors
/// [`DnpyError::NoTypeCode`] for bfloat16, and what the writer fails with.
pub fn write<W: Write + ?Sized, B: HostBuffer + ?Sized>(
    writer: &mut W,
    array: &B,
) -> Result<(), DnpyError> {
    let header = header_for(array, ByteOrder::NATIVE)?;
    write_behind(&header, writer, array, ByteOrder::NATIVE)
}

/// The header of an array in a given byte order.
pub(crate) fn header_for<B: HostBuffer + ?Sized>(
    array: &B,
    byte_order: ByteOrder,
) -> Result<Vec<u8>, DnpyError> {
    let order = payload::order(array);
    header_bytes(array.element_type(), byte_order, order, array.shape())
}

/// Writes whatever headers there are, and the elements behind.
pub(crate) fn write_behind<W: Write + ?Sized, B: HostBuffer + ?Sized>(
    headers: &[u8],
    writer: &mut W,
    array: &B,
    byte_order: ByteOrder,
) -> Result<(), DnpyError> {
    writer
        .write_all(headers)
        .map_err(DnpyError::stream("write"))?;
    payload::write_payload(writer, array, byte_order)
}

/// Writes an array to a file, which is replaced as a whole or not at all, as by
/// [`save`](crate::save).
///
/// # Errors
/// As [`write()`], naming the file.
pub fn save<B: HostBuffer + ?Sized>(path: impl AsRef<Path>, array: &B) -> Result<(), DnpyError> {
    publish(path.as_ref(), |file| write(file, array))
}
