//! [`PartFile`]: one part in a file, opened by its header; `load`, `inspect`, `read_into`.

use std::fs::{self, File};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};

use dap_protocol::{DistBuffer, Element, HostArray};

use crate::DnpyError;
use crate::any::{AnyPart, with_element};
use crate::map::MappedFile;
use crate::mapped::MappedPart;
use crate::npy::{self, ByteOrder};
use crate::positioned::read_exact_at;
use crate::read::{PartInfo, info_of, read_localarray, read_localarray_any};
use crate::source::{PIECE, Source};

/// Bytes read at once for the headers; most of them fit.
const HEAD: usize = 1 << 12;

/// A `.dnpy` file whose headers have been read, and whose length is what they say.
///
/// No element has been touched yet: opening costs the same whatever the size.
///
/// # Files that are changed in place
/// Elements are read from a mapping of the file where that is faster. The caller sees to it that
/// nobody, in this process or another, writes into the file or truncates it while a function of
/// this crate reads it: what is read then is not defined, and reading what was cut off ends the
/// process. Replacing the file by renaming another onto it, as [`save`](crate::save) and every
/// other writer of this crate does, is safe. (From a [`File`] whose content changes, read with
/// [`read_localarray`].)
#[derive(Debug)]
pub struct PartFile {
    path: PathBuf,
    file: File,
    info: PartInfo,
}

impl PartFile {
    /// Opens a regular file and reads its headers.
    ///
    /// # Errors
    /// [`DnpyError`], naming the file, with the byte offset; [`DnpyError::Truncated`] where the
    /// file has fewer elements than its headers say.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, DnpyError> {
        let path = path.as_ref();
        let file = open(path)?;
        Self::from_file(path, file).map_err(|e| e.in_file(path))
    }

    fn from_file(path: &Path, file: File) -> Result<Self, DnpyError> {
        let info = info_of(&mut Source::new(BufReader::with_capacity(HEAD, &file)))?;
        check_len(&file, info.array())?;
        Ok(Self {
            path: path.to_path_buf(),
            file,
            info,
        })
    }

    /// What the headers say.
    #[must_use]
    pub fn info(&self) -> &PartInfo {
        &self.info
    }

    /// The name it was opened by.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    #[cfg(feature = "set")]
    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Reads all elements, padding included, into new memory. The file must not be changed in
    /// place meanwhile, see [`PartFile`].
    ///
    /// # Errors
    /// [`DnpyError`], naming the file.
    pub fn read<T: Element>(&self) -> Result<DistBuffer<HostArray<T>>, DnpyError> {
        elements_of(&self.file, self.info.array())
            .and_then(|array| self.info.part(array))
            .map_err(|e| e.in_file(&self.path))
    }

    /// [`PartFile::read`] whatever the element type is.
    ///
    /// # Errors
    /// [`DnpyError`], naming the file.
    pub fn read_any(&self) -> Result<AnyPart, DnpyError> {
        let element = self.info.array().element_type();
        with_element!(
            element,
            T => Ok(self.read::<T>()?.into()),
            else Err(DnpyError::NoTypeCode { element })
        )
    }

    /// Reads all elements, padding included, into `out`, in the order of the file
    /// (`info().array().order()`). What `out` held is lost even where this fails. The file must not
    /// be changed in place meanwhile, see [`PartFile`].
    ///
    /// # Errors
    /// [`DnpyError`], naming the file; [`DnpyError::BufferLength`] where `out` has another length.
    pub fn read_into<T: Element>(&self, out: &mut [T]) -> Result<(), DnpyError> {
        let header = self.info.array();
        npy::check_element::<T>(header)
            .and_then(|()| fill(&self.file, header, out))
            .map_err(|e| e.in_file(&self.path))
    }

    /// Maps the file into memory. It must not be changed in place while it is mapped, see
    /// [`MappedPart`].
    ///
    /// # Errors
    /// [`DnpyError::Io`].
    pub fn map(&self) -> Result<MappedPart, DnpyError> {
        let map = MappedFile::new(&self.file).map_err(DnpyError::io("map", &self.path))?;
        Ok(MappedPart::new(self.path.clone(), self.info.clone(), map))
    }
}

/// Opens a regular file for reading; anything else is refused before it is opened, for to open a
/// pipe is to wait for its writer, and a device may never end.
pub(crate) fn open(path: &Path) -> Result<File, DnpyError> {
    let open = |meta: fs::Metadata| {
        if meta.is_file() {
            File::open(path)
        } else {
            Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "no regular file",
            ))
        }
    };
    fs::metadata(path)
        .and_then(open)
        .map_err(DnpyError::io("open", path))
}

/// Refuses a file that is shorter than its headers say.
pub(crate) fn check_len(file: &File, header: &npy::Header) -> Result<(), DnpyError> {
    let len = file.metadata().map_err(DnpyError::stream("measure"))?.len();
    let found = len.saturating_sub(header.data_offset());
    let expected = header.byte_len() as u64;
    if found < expected {
        return Err(DnpyError::Truncated {
            what: "the array",
            offset: header.data_offset(),
            expected,
            found,
        });
    }
    Ok(())
}

/// Reads the elements of a file that [`check_len`] has measured.
pub(crate) fn elements_of<T: Element>(
    file: &File,
    header: &npy::Header,
) -> Result<HostArray<T>, DnpyError> {
    npy::check_element::<T>(header)?;
    let mut data = npy::zeroed::<T>(header.len())?;
    fill(file, header, &mut data)?;
    npy::array(data, header)
}

/// Fills `out` with the elements that a header describes.
///
/// Large arrays are copied out of a mapping of the file: here that is a third faster than `read`,
/// whose copy in the kernel uses smaller loads and stores.
fn fill<T: Element>(file: &File, header: &npy::Header, out: &mut [T]) -> Result<(), DnpyError> {
    if out.len() != header.len() {
        return Err(DnpyError::BufferLength {
            given: out.len(),
            expected: header.len(),
        });
    }
    let offset = header.data_offset();
    let len = header.byte_len();
    if len >= PIECE
        && let Ok(map) = MappedFile::new(file)
        && let Ok(begin) = usize::try_from(offset)
        && let Some(bytes) = map.bytes().get(begin..begin.saturating_add(len))
    {
        return copy(bytes, header, out);
    }
    if let Some(bytes) = T::bytes_mut(out) {
        read_exact_at(file, bytes, offset).map_err(DnpyError::stream("read"))?;
        npy::finish_bytes(bytes, header.element_type(), header.byte_order());
        return Ok(());
    }
    let mut buf = vec![0; len]; // the file is longer, see `check_len`
    read_exact_at(file, &mut buf, offset).map_err(DnpyError::stream("read"))?;
    copy(&buf, header, out)
}

fn copy<T: Element>(bytes: &[u8], header: &npy::Header, out: &mut [T]) -> Result<(), DnpyError> {
    let element = header.element_type();
    let Some(target) = T::bytes_mut(out) else {
        return npy::checked_copy(bytes, out, header.data_offset());
    };
    if header.byte_order() == ByteOrder::NATIVE {
        target.copy_from_slice(bytes);
        return Ok(());
    }
    // in pieces that stay in the cache until they have been turned
    let piece = 1 << 16;
    for (to, from) in target.chunks_mut(piece).zip(bytes.chunks(piece)) {
        to.copy_from_slice(from);
        npy::finish_bytes(to, element, header.byte_order());
    }
    Ok(())
}

/// Reads the headers of a file, and checks its length, without reading an element. Local.
///
/// # Errors
/// As [`PartFile::open`].
pub fn inspect(path: impl AsRef<Path>) -> Result<PartInfo, DnpyError> {
    PartFile::open(path).map(|part| part.info)
}

/// Reads one rank's part from a file, padding included, into new memory. Local.
///
/// The file must not be changed in place meanwhile, see [`PartFile`].
///
/// # Errors
/// [`DnpyError`], naming the file, with the byte offset; [`DnpyError::ElementType`] when the
/// elements are no `T`.
pub fn load<T: Element>(path: impl AsRef<Path>) -> Result<DistBuffer<HostArray<T>>, DnpyError> {
    let path = path.as_ref();
    match stream(path)? {
        Some(mut reader) => read_localarray(&mut reader).map_err(|e| e.in_file(path)),
        None => PartFile::open(path)?.read(),
    }
}

/// [`load`] whatever the element type is.
///
/// # Errors
/// As [`load`].
pub fn load_any(path: impl AsRef<Path>) -> Result<AnyPart, DnpyError> {
    let path = path.as_ref();
    match stream(path)? {
        Some(mut reader) => read_localarray_any(&mut reader).map_err(|e| e.in_file(path)),
        None => PartFile::open(path)?.read_any(),
    }
}

/// Reads one rank's part into `out`, in the order of the file, and returns what the headers say.
/// The file must not be changed in place meanwhile, see [`PartFile`].
///
/// # Errors
/// As [`PartFile::open`] and [`PartFile::read_into`].
pub fn read_into<T: Element>(path: impl AsRef<Path>, out: &mut [T]) -> Result<PartInfo, DnpyError> {
    let part = PartFile::open(path)?;
    part.read_into(out)?;
    Ok(part.info)
}

/// A reader for what is no regular file (a pipe has no length and cannot be mapped).
fn stream(path: &Path) -> Result<Option<BufReader<File>>, DnpyError> {
    let meta = fs::metadata(path).map_err(DnpyError::io("open", path))?;
    if meta.is_file() {
        return Ok(None);
    }
    let file = File::open(path).map_err(DnpyError::io("open", path))?;
    Ok(Some(BufReader::with_capacity(PIECE, file)))
}
