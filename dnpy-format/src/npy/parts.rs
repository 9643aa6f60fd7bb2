//! One rank's part of an array that lies whole in a `.npy` file.

use std::path::Path;

use dap_protocol::{DimData, DistBuffer, Element, HostArray, ProtocolVersion};

use super::header::{Header, element_count};
use super::payload::{check_element, zeroed};
use crate::DnpyError;
use crate::axis::{Extent, Source};
use crate::file::{check_len, open};
use crate::sections::{Count, Walk, read_walk, strides};

/// A part that was read from files, and what that took.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PartRead<T: Element> {
    /// The part: stored extent, padding included.
    pub part: DistBuffer<HostArray<T>>,
    /// Bytes of elements read from the file, headers left out.
    pub bytes_read: u64,
    /// Runs of contiguous elements that were read.
    pub reads: u64,
}

impl<T: Element> PartRead<T> {
    pub(crate) fn new(part: DistBuffer<HostArray<T>>, count: Count) -> Self {
        Self {
            part,
            bytes_read: count.bytes,
            reads: count.reads,
        }
    }
}

/// Reads the elements that a rank owns. Its padding is allocated, zero, and not read: a halo
/// exchange fills it. Local.
///
/// The file's shape is the global shape of `dim_data`; read are the owned elements and nothing
/// else. The part comes in the file's order, C or Fortran. The file must not be changed in place
/// meanwhile, see [`PartFile`](crate::PartFile).
///
/// # Errors
/// [`DnpyError`], naming the file; [`DnpyError::GlobalShape`] when the shapes differ.
///
/// ```
/// use dap_protocol::{DimData, DimDict, HostArray};
/// use dnpy_format::npy;
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("whole.npy");
/// npy::save(&path, &HostArray::new(vec![10], (0..10).collect::<Vec<i32>>())?)?;
/// // rank 1 of 2 owns 5..10 and has one element of padding below
/// let rank_1 = DimData::new(vec![DimDict::block(10, 2, 1, 4..10)?.with_padding(1, 0)?]);
/// let read = npy::read_owned::<i32>(&path, &rank_1)?;
/// assert_eq!(read.part.buffer().data(), [0, 5, 6, 7, 8, 9]);
/// assert_eq!(read.bytes_read, 20);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn read_owned<T: Element>(
    path: impl AsRef<Path>,
    dim_data: &DimData,
) -> Result<PartRead<T>, DnpyError> {
    let path = path.as_ref();
    read_part(path, dim_data, Extent::Owned(ProtocolVersion::CURRENT)).map_err(|e| e.in_file(path))
}

/// Reads the elements that a rank stores, padding included. Local. The file must not be changed in
/// place meanwhile, see [`PartFile`](crate::PartFile).
///
/// # Errors
/// As [`read_owned`].
pub fn read_by_dim_data<T: Element>(
    path: impl AsRef<Path>,
    dim_data: &DimData,
) -> Result<PartRead<T>, DnpyError> {
    let path = path.as_ref();
    read_part(path, dim_data, Extent::Stored).map_err(|e| e.in_file(path))
}

/// [`read_by_dim_data`] without the counts: `DistArray`'s `load_npy`. Local.
///
/// # Errors
/// As [`read_owned`].
pub fn load_npy<T: Element>(
    path: impl AsRef<Path>,
    dim_data: &DimData,
) -> Result<DistBuffer<HostArray<T>>, DnpyError> {
    read_by_dim_data(path, dim_data).map(|read| read.part)
}

fn read_part<T: Element>(
    path: &Path,
    dim_data: &DimData,
    extent: Extent,
) -> Result<PartRead<T>, DnpyError> {
    let file = open(path)?;
    let header = super::header_of_file(&file)?;
    check_element::<T>(&header)?;
    check_len(&file, &header)?;
    check_global(header.shape(), dim_data)?;
    let mut pieces = Vec::with_capacity(dim_data.ndim());
    if !dim_data.local_shape().contains(&0) {
        for (axis, (dim, &n)) in dim_data.into_iter().zip(header.shape()).enumerate() {
            let whole = Source::whole(n as u64)?;
            pieces.push(
                whole
                    .shared(axis, dim, extent)?
                    .into_values()
                    .flatten()
                    .collect(),
            );
        }
    }
    // each extent is a count of distinct indices of the file, so the part is no larger than it
    let shape = local_shape(dim_data, &header)?;
    let order = header.order();
    let mut data = zeroed::<T>(element_count(&shape, T::TYPE).unwrap_or(0))?;
    let count = if data.is_empty() {
        Count::default()
    } else {
        let walk = Walk::new(pieces, header.shape(), order, &strides(&shape, order));
        read_walk(&file, &header, &walk, &mut data)?
    };
    let protocol = |source| DnpyError::Protocol { offset: 0, source };
    let array = HostArray::with_order(shape, data, order).map_err(protocol)?;
    let part = DistBuffer::new(dim_data.clone(), array).map_err(protocol)?;
    Ok(PartRead::new(part, count))
}

/// Refuses metadata of an array of another global shape.
pub(crate) fn check_global(shape: &[usize], dim_data: &DimData) -> Result<(), DnpyError> {
    let expected = dim_data.global_shape();
    let file: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
    if file != expected {
        return Err(DnpyError::GlobalShape {
            file: shape.to_vec(),
            expected,
        });
    }
    Ok(())
}

fn local_shape(dim_data: &DimData, header: &Header) -> Result<Vec<usize>, DnpyError> {
    let shape: Option<Vec<usize>> = dim_data
        .local_shape()
        .into_iter()
        .map(|n| usize::try_from(n).ok())
        .collect();
    shape
        .filter(|shape| element_count(shape, header.element_type()).is_some())
        .ok_or_else(|| DnpyError::Overflow {
            offset: header.text_offset(),
            shape: header.shape().to_vec(),
            element: header.element_type(),
        })
}
