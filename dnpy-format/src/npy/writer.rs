//! [`PartsWriter`]: one `.npy` file, written by all ranks at once.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::path::{Path, PathBuf};

use dap_protocol::{DistributedArray, ElementType, HostBuffer, LocalBuffer as _, Order};

use super::descr::ByteOrder;
use super::header::{Header, element_count, header_bytes};
use super::parts::check_global;
use crate::axis::{Extent, Source};
use crate::positioned::write_all_at;
use crate::save::{behind_links, regular, sync_directory};
use crate::sections::{Walk, strides, turned};
use crate::{DnpyError, SaveId};

/// A `.npy` file that all ranks write, each the elements that it owns.
///
/// Nothing here communicates. In this order, with a barrier (or a broadcast, or an agreement)
/// of the caller's own between the steps:
///
/// 1. one rank makes a [`SaveId`] and tells it to all; it calls [`PartsWriter::create`];
/// 2. all other ranks call [`PartsWriter::join`];
/// 3. all ranks call [`PartsWriter::write_part`];
/// 4. when all have succeeded, one rank calls [`PartsWriter::publish`] with the sum of what they have
///    written; when one has failed, it calls [`PartsWriter::discard`].
///
/// Until step 4 the file has a temporary name beside its final one, where an older file stays
/// whole. After it no handle writes any more: [`PartsWriter::write_part`] refuses. A rank is counted
/// when it has written, so the sum is not complete while one still writes. Where ranks write
/// elements that others write too, that proof fails: one that still writes while another publishes
/// breaks the order above, and changes a file that others may have mapped (see
/// [`MappedPart`](crate::MappedPart)).
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, ElementType, HostArray};
/// use dnpy_format::{SaveId, npy};
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("whole.npy");
/// let save = SaveId::random();
/// let rank_0 = npy::PartsWriter::create(&path, save, ElementType::I32, &[5])?;
/// let rank_1 = npy::PartsWriter::join(&path, save)?;
/// let part = |rank, range: std::ops::Range<u64>, data| -> Result<_, dap_protocol::ProtocolError> {
///     let dim_data = DimData::new(vec![DimDict::block(5, 2, rank, range)?]);
///     DistBuffer::new(dim_data, HostArray::new(vec![Vec::len(&data)], data)?)
/// };
/// let mut written = rank_0.write_part(&part(0, 0..3, vec![0_i32, 1, 2])?)?;
/// written += rank_1.write_part(&part(1, 3..5, vec![3_i32, 4])?)?; // a sum over all ranks
/// rank_0.publish(written)?;
/// assert_eq!(npy::load::<i32>(&path)?.data(), [0, 1, 2, 3, 4]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PartsWriter {
    target: PathBuf,
    temporary: PathBuf,
    file: File,
    header: Header,
}

impl PartsWriter {
    /// Creates the file under its temporary name: header written, length set. One rank.
    ///
    /// `shape` is the global one, in elements.
    ///
    /// # Errors
    /// [`DnpyError::NoTypeCode`], [`DnpyError::Overflow`], [`DnpyError::Io`]; a file left by
    /// another save of the same id is an error too.
    pub fn create(
        path: impl AsRef<Path>,
        save: SaveId,
        element: ElementType,
        shape: &[u64],
    ) -> Result<Self, DnpyError> {
        let (target, temporary) = names(path.as_ref(), save)?;
        regular(&target)?;
        let extents: Option<Vec<usize>> = shape.iter().map(|&n| usize::try_from(n).ok()).collect();
        let extents = extents.unwrap_or_else(|| vec![usize::MAX; shape.len()]);
        let Some(len) = element_count(&extents, element) else {
            return Err(DnpyError::Overflow {
                offset: 0,
                shape: extents,
                element,
            });
        };
        let head = header_bytes(element, ByteOrder::NATIVE, Order::C, &extents)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&temporary)
            .map_err(DnpyError::io("create", &temporary))?;
        let made = write_all_at(&file, &head, 0)
            .and_then(|()| file.set_len(head.len() as u64 + (len * element.size()) as u64))
            .map_err(DnpyError::io("write", &temporary))
            .and_then(|()| Self::opened(target, temporary.clone(), file));
        if made.is_err() {
            // nobody has it yet; the first error is the one to tell
            let _ = fs::remove_file(&temporary);
        }
        made
    }

    /// Opens the file that another rank has created.
    ///
    /// # Errors
    /// [`DnpyError::Io`] when there is none.
    pub fn join(path: impl AsRef<Path>, save: SaveId) -> Result<Self, DnpyError> {
        let (target, temporary) = names(path.as_ref(), save)?;
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .open(&temporary)
            .map_err(DnpyError::io("open", &temporary))?;
        Self::opened(target, temporary, file)
    }

    fn opened(target: PathBuf, temporary: PathBuf, file: File) -> Result<Self, DnpyError> {
        let header = super::header_of_file(&file).map_err(|e| e.in_file(&temporary))?;
        Ok(Self {
            target,
            temporary,
            file,
            header,
        })
    }

    /// Writes the elements that this rank owns, its padding left out, and syncs them. Returns the
    /// bytes written.
    ///
    /// Each run of elements that are contiguous in the file is one call of the operating system.
    /// Distribute the last axis in blocks or not at all where speed matters: an axis dealt cyclically
    /// one by one costs a call for every element.
    ///
    /// # Errors
    /// [`DnpyError::GlobalShape`] and [`DnpyError::ElementType`] when the part belongs to another
    /// array; [`DnpyError::Index`]; [`DnpyError::Closed`] when the file has been published or
    /// discarded; [`DnpyError::Io`].
    pub fn write_part<'a, A>(&self, array: &'a A) -> Result<u64, DnpyError>
    where
        A: DistributedArray,
        A::Buffer<'a>: HostBuffer,
    {
        let part = array.distarray();
        let (buffer, dim_data) = (part.buffer(), part.dim_data());
        if !self.temporary.exists() {
            let path = self.temporary.clone();
            return Err(DnpyError::Closed { path });
        }
        if buffer.element_type() != self.header.element_type() {
            return Err(DnpyError::ElementType {
                offset: self.header.text_offset(),
                given: self.header.element_type(),
                expected: buffer.element_type(),
            });
        }
        check_global(self.header.shape(), dim_data)?;
        if dim_data.local_shape().contains(&0) {
            return Ok(0);
        }
        let extent = Extent::Owned(part.version());
        let mut pieces = Vec::with_capacity(dim_data.ndim());
        for (axis, (dim, &n)) in dim_data.into_iter().zip(self.header.shape()).enumerate() {
            let shared = Source::whole(n as u64)?.shared(axis, dim, extent)?;
            // the file is the target here
            pieces.push(shared.values().flatten().map(turned).collect());
        }
        let strides = strides(self.header.shape(), Order::C);
        let walk = Walk::new(pieces, buffer.shape(), Order::C, &strides);
        self.write_walk(buffer, &walk)
            .map_err(|e| e.in_file(&self.temporary))
    }

    fn write_walk<B: HostBuffer>(&self, buffer: &B, walk: &Walk) -> Result<u64, DnpyError> {
        let mut gathered = Vec::new();
        let bytes = if let Some((bytes, Order::C)) = buffer.contiguous_bytes() {
            bytes
        } else {
            buffer.visit_bytes(&mut |bytes| gathered.extend_from_slice(bytes));
            &gathered
        };
        let size = self.header.element_type().size();
        let mut written = 0;
        walk.for_each(&mut |src, dst, len| {
            let offset = self.header.data_offset() + (dst * size) as u64;
            let run = &bytes[src * size..(src + len) * size];
            written += run.len() as u64;
            write_all_at(&self.file, run, offset).map_err(DnpyError::stream("write"))
        })?;
        self.file.sync_data().map_err(DnpyError::stream("sync"))?;
        Ok(written)
    }

    /// Gives the file its name, in place of an older one. One rank, after all have written.
    ///
    /// `written` is the sum of what [`PartsWriter::write_part`] returned to each rank, in bytes. Less
    /// than all elements means that a rank never wrote, or still writes: its elements would be zero.
    /// (An element that several ranks own counts several times: with such lists the sum says less.)
    ///
    /// # Errors
    /// [`DnpyError::Incomplete`]: nothing is published and the temporary file is removed;
    /// [`DnpyError::Io`].
    pub fn publish(self, written: u64) -> Result<(), DnpyError> {
        let expected = self.header.byte_len() as u64;
        if written < expected {
            self.discard()?;
            return Err(DnpyError::Incomplete { written, expected });
        }
        self.file
            .sync_all()
            .map_err(DnpyError::io("sync", &self.temporary))?;
        fs::rename(&self.temporary, &self.target)
            .map_err(DnpyError::io("rename to", &self.target))?;
        sync_directory(&self.target)
    }

    /// Removes the file; an older one stays. One rank, after no rank writes any more.
    ///
    /// # Errors
    /// [`DnpyError::Io`].
    pub fn discard(self) -> Result<(), DnpyError> {
        fs::remove_file(&self.temporary).map_err(DnpyError::io("remove", &self.temporary))
    }
}

/// Final and temporary name.
fn names(path: &Path, save: SaveId) -> Result<(PathBuf, PathBuf), DnpyError> {
    let target = behind_links(path)?;
    let Some(name) = target.file_name() else {
        return Err(DnpyError::FileName { path: target });
    };
    let mut temporary = OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{save}.tmp"));
    let temporary = target.with_file_name(temporary);
    Ok((target, temporary))
}
