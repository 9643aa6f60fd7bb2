//! [`MappedPart`] and [`MappedArray`]: elements used where the operating system keeps the file.

use std::marker::PhantomData;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dap_protocol::{DistBuffer, Element, ElementType, HostBuffer, LocalBuffer, Order};

use crate::DnpyError;
use crate::file::PartFile;
use crate::map::MappedFile;
use crate::npy::{self, ByteOrder};
use crate::read::PartInfo;

/// A `.dnpy` file in memory, without a copy.
///
/// Opening takes the same time whatever the size; elements are read when they are touched.
///
/// # Files that are changed in place
/// The caller sees to it that nobody, in this process or another, writes into the file or truncates
/// it while it is mapped: its elements would change behind shared references, and touching what was
/// cut off ends the process. Replacing the file by renaming another onto it, as
/// [`save`](crate::save) and every other writer of this crate does, is safe.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// use dnpy_format::MappedPart;
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("part_0.dnpy");
/// let dim_data = DimData::new(vec![DimDict::block(10, 2, 0, 0..5)?]);
/// let part = DistBuffer::new(dim_data, HostArray::new(vec![5], vec![0_i32, 1, 2, 3, 4])?)?;
/// dnpy_format::save(&path, &part)?;
///
/// let mapped = MappedPart::open(&path)?.part::<i32>()?;
/// assert_eq!(mapped.buffer().elements()?, [0, 1, 2, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MappedPart {
    path: PathBuf,
    info: PartInfo,
    map: Arc<MappedFile>,
}

impl MappedPart {
    /// Opens a file, reads its headers and maps it. The file must not be changed in place while it
    /// is mapped, see [`MappedPart`].
    ///
    /// # Errors
    /// As [`PartFile::open`].
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DnpyError> {
        PartFile::open(path)?.map()
    }

    pub(crate) fn new(path: PathBuf, info: PartInfo, map: MappedFile) -> Self {
        Self {
            path,
            info,
            map: Arc::new(map),
        }
    }

    /// What the headers say.
    #[must_use]
    pub fn info(&self) -> &PartInfo {
        &self.info
    }

    /// The part, its elements where the file is. It keeps the mapping alive.
    ///
    /// # Errors
    /// [`DnpyError::ElementType`]; [`DnpyError::NotMappable`] where the byte order is not this
    /// machine's, or the elements do not lie at a multiple of their size: load such a file.
    pub fn part<T: Element>(&self) -> Result<DistBuffer<MappedArray<T>>, DnpyError> {
        MappedArray::new(&self.map, self.info.array())
            .and_then(|array| self.info.part(array))
            .map_err(|e| e.in_file(&self.path))
    }
}

/// The elements of a mapped file: a read-only buffer of the protocol.
#[derive(Clone, Debug)]
pub struct MappedArray<T> {
    map: Arc<MappedFile>,
    begin: usize,
    header: npy::Header,
    element: PhantomData<T>,
}

impl<T: Element> MappedArray<T> {
    fn new(map: &Arc<MappedFile>, header: &npy::Header) -> Result<Self, DnpyError> {
        npy::check_element::<T>(header)?;
        let offset = header.data_offset();
        let refuse = |reason| DnpyError::NotMappable { offset, reason };
        if header.byte_order() != ByteOrder::NATIVE {
            return Err(refuse("their byte order is not this machine's"));
        }
        let begin =
            usize::try_from(offset).map_err(|_| refuse("they lie beyond this machine's memory"))?;
        let array = Self {
            map: Arc::clone(map),
            begin,
            header: header.clone(),
            element: PhantomData,
        };
        let Some(bytes) = array
            .map
            .bytes()
            .get(begin..begin.saturating_add(header.byte_len()))
        else {
            return Err(refuse("the file has become shorter"));
        };
        if bytes.as_ptr().align_offset(align_of::<T>()) != 0 && !bytes.is_empty() {
            return Err(refuse("they do not lie at a multiple of their alignment"));
        }
        Ok(array)
    }

    /// Maps a `.npy` file. It must not be changed in place while it is mapped, see [`MappedPart`].
    ///
    /// # Errors
    /// As [`npy::header`] and [`MappedPart::part`].
    pub fn open_npy(path: impl AsRef<Path>) -> Result<Self, DnpyError> {
        let path = path.as_ref();
        let file = crate::file::open(path)?;
        let header = npy::header_of_file(&file).map_err(|e| e.in_file(path))?;
        crate::file::check_len(&file, &header).map_err(|e| e.in_file(path))?;
        let map = MappedFile::new(&file).map_err(DnpyError::io("map", path))?;
        Self::new(&Arc::new(map), &header).map_err(|e| e.in_file(path))
    }

    fn bytes(&self) -> &[u8] {
        // `new` has checked the range; the map never changes its length
        self.map
            .bytes()
            .get(self.begin..self.begin + self.header.byte_len())
            .unwrap_or(&[])
    }

    /// The elements in the order of the file, see [`MappedArray::order`].
    ///
    /// # Errors
    /// [`DnpyError::Element`] where a `bool` is neither 0 nor 1: each call looks at all of them.
    /// For every other type this costs nothing and cannot fail.
    pub fn elements(&self) -> Result<&[T], DnpyError> {
        let offset = self.header.data_offset();
        if self.header.len() == 0 {
            return Ok(&[]);
        }
        bytemuck::checked::try_cast_slice(self.bytes()).map_err(|_| {
            npy::check_bools(self.bytes(), offset)
                .err()
                .unwrap_or(DnpyError::Element {
                    offset,
                    element: T::TYPE,
                })
        })
    }

    /// The order of the elements.
    #[must_use]
    pub fn order(&self) -> Order {
        self.header.order()
    }
}

impl<T: Element> LocalBuffer for MappedArray<T> {
    fn shape(&self) -> &[usize] {
        self.header.shape()
    }
    fn element_type(&self) -> ElementType {
        T::TYPE
    }
}

impl<T: Element> HostBuffer for MappedArray<T> {
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        let flat = self.shape().iter().filter(|&&n| n != 1).count() <= 1 || self.header.len() == 0;
        let order = if flat { Order::C } else { self.order() };
        Some((self.bytes(), order))
    }

    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        match self.contiguous_bytes() {
            Some((bytes, Order::Fortran)) => {
                visit_fortran(bytes, self.shape(), size_of::<T>(), visit);
            }
            Some((bytes, Order::C)) => visit(bytes),
            None => {}
        }
    }
}

/// Visits the elements of a Fortran-order array in C order.
fn visit_fortran(bytes: &[u8], shape: &[usize], size: usize, visit: &mut dyn FnMut(&[u8])) {
    let mut index = vec![0; shape.len()];
    let count = bytes.len() / size;
    for _ in 0..count {
        let at = index
            .iter()
            .zip(shape)
            .rev()
            .fold(0, |at, (&i, &n)| at * n + i);
        visit(&bytes[at * size..(at + 1) * size]);
        for (i, &n) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < n {
                break;
            }
            *i = 0;
        }
    }
}
