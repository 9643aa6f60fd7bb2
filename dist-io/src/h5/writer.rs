//! [`Hdf5Writer`]: a dataset that is written piece by piece, by one process.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use dap_protocol::{DimData, Dist, DistributedArray, ElementType, HostBuffer, LocalBuffer};
use dist_comm::{FileMode, SharedFileOps, SingleComm};
use dist_maps::Distribution;
use hdf5_metno::{Dataset, File};

use super::attribute::AttributeValue;
use super::chunk::{self, Filter, Place, Target};
use super::save::{Room, bytes_of, check_edges};
use super::together::refused;
use super::vds::PartsWriter;
use super::{ByteOrder, Refusal, SaveHdf5, WriteMode, create, element, metadata, types, verify};
use crate::layout::shape_text;
use crate::part::{Extent, FilePart};
use crate::publish::Pending;
use crate::{Direction, FileLayout, IoError, IoPlan};

/// Bytes of chunks that are coded at once, where nobody says it.
const CODED: u64 = 8 << 20;

/// A dataset whose elements are brought piece by piece: [`SaveHdf5::begin`] and [`SaveHdf5::begin_parts`]. Local: one rank, or a
/// program without ranks. Dropped before [`publish`](Self::publish), the target is as it was.
#[derive(Debug)]
pub struct Hdf5Writer {
    path: PathBuf,
    key: String,
    element: ElementType,
    shape: Vec<u64>,
    /// Bytes of all elements, and of those that were written.
    total: u64,
    written: u64,
    place: Destination,
}

/// Where the elements go.
#[derive(Debug)]
enum Destination {
    /// One piece of a file, from this byte on.
    Piece {
        pending: Pending,
        at: u64,
        checksums: bool,
    },
    /// Chunks of a file. What the library has open goes before the file.
    Chunks {
        made: Option<(Dataset, File)>,
        pending: Pending,
        places: Vec<Place>,
        chunk: Vec<u64>,
        filters: Vec<Filter>,
        coded: u64,
        checksums: bool,
    },
    /// A file for each rank.
    Parts(Box<PartsWriter>, Vec<(String, AttributeValue)>),
}

impl SaveHdf5 {
    /// Begins a dataset that one process writes piece by piece, as if the ranks of `distribution` had saved it: in one piece, or in
    /// chunks, with filters, where that was asked for. Local.
    ///
    /// # Errors
    /// [`IoError::Hdf5`] with what is wrong with path, key or an attribute, or where records or another byte order are asked for;
    /// [`IoError::NoHdf5Type`]; those of [`IoPlan::new`], and of chunks that do not fit.
    ///
    /// ```
    /// use dap_protocol::{DimData, DimDict, DistBuffer, ElementType, HostArray};
    /// use dist_io::{SaveHdf5, inspect_hdf5};
    /// use dist_maps::Distribution;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("numbers.h5");
    /// let dealt = Distribution::over(2).shape([4]).cyclic(0).build()?;
    /// let mut writer = SaveHdf5::new(&path).key("n").chunk([2]).deflate(1).begin(&dealt, ElementType::U8)?;
    /// for (range, data) in [(2..4, vec![12_u8, 13]), (0..2, vec![10, 11])] {
    ///     let piece = DimData::new(vec![DimDict::block(4, 2, usize::from(range.start > 0), range)?]);
    ///     writer.write_part(&DistBuffer::new(piece, HostArray::new(vec![2], data)?)?)?; // in any order
    /// }
    /// writer.publish()?;
    /// assert_eq!(inspect_hdf5(&path, "n")?.dim_data.map(|ranks| ranks.len()), Some(2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin(
        &self,
        distribution: &Distribution,
        element: ElementType,
    ) -> Result<Hdf5Writer, IoError> {
        let refused = |refusal| refused(&self.path, &self.key, refusal);
        self.check_alone(element)?;
        let (layout, filters) = self.layout(distribution.global_shape(), element.size())?;
        let plan = IoPlan::new(distribution, element.size(), layout, Direction::Write)?;
        let text = metadata::to_text(&all_parts(distribution)?).map_err(refused)?;
        let begin = || {
            let (pending, file) = self.open()?;
            let ty = types::to_write(element, self.byte_order, &self.members)?;
            let (room, made) = self.create(file, &ty, &plan, &filters, &text)?;
            Ok((pending, room, made))
        };
        let (pending, room, made) = begin().map_err(refused)?;
        let checksums = self.checksums;
        let place = match (room, plan.layout()) {
            (Room::At(at), _) => Destination::Piece {
                pending,
                at,
                checksums,
            },
            (room, layout) => Destination::Chunks {
                made: made.map(|(file, dataset)| (dataset, file)),
                pending,
                places: match room {
                    Room::Places(places) => places,
                    _ => Vec::new(),
                },
                chunk: match layout {
                    FileLayout::Chunked { chunk } => chunk.clone(),
                    FileLayout::Contiguous => Vec::new(),
                },
                filters,
                coded: CODED,
                checksums,
            },
        };
        Ok(self.writer(&plan, element, place))
    }

    /// Begins a virtual dataset whose parts one process writes piece by piece, a file for each rank of `distribution`, as
    /// [`to_file`](crate::legate::to_file) has them. A key that exists is an error here. A scalar, and an array without elements,
    /// is an ordinary dataset. Local.
    ///
    /// # Errors
    /// As [`begin`](Self::begin); [`IoError::Hdf5`] where chunks, filters, checksums, or another mode than `a` are asked for.
    ///
    /// ```
    /// use dap_protocol::{DimData, DimDict, DistBuffer, ElementType, HostArray};
    /// use dist_io::{SaveHdf5, Storage, inspect_hdf5};
    /// use dist_maps::Distribution;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("numbers.h5");
    /// let rows = Distribution::over(2).shape([4]).block(0).build()?;
    /// let mut writer = SaveHdf5::new(&path).key("n").begin_parts(&rows, ElementType::U8)?;
    /// let all = DimData::new(vec![DimDict::whole(4)?]);
    /// writer.write_part(&DistBuffer::new(all, HostArray::new(vec![4], vec![10_u8, 11, 12, 13])?)?)?;
    /// writer.publish()?;
    /// assert_eq!(inspect_hdf5(&path, "n")?.storage, Storage::Virtual);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin_parts(
        &self,
        distribution: &Distribution,
        element: ElementType,
    ) -> Result<Hdf5Writer, IoError> {
        let refused = |refusal| refused(&self.path, &self.key, refusal);
        self.check_alone(element)?;
        let (layout, _) = self.layout(distribution.global_shape(), element.size())?;
        if layout != FileLayout::Contiguous || self.checksums || self.mode != WriteMode::Append {
            return Err(refused(Refusal::Storage {
                storage: "in chunks, with checksums, or in a new file".to_owned(),
                allowed: "parts in one piece each, added to what is there".to_owned(),
            }));
        }
        let plan = IoPlan::new(distribution, element.size(), layout, Direction::Write)?;
        if plan.total_bytes() == 0 || plan.distribution().ndim() == 0 {
            return self.begin(distribution, element);
        }
        let ty = types::to_write(element, self.byte_order, &self.members).map_err(refused)?;
        let text = metadata::to_text(&all_parts(distribution)?).map_err(refused)?;
        let parts = PartsWriter::begin(&self.path, &self.key, (ty, text), plan.clone())?;
        let place = Destination::Parts(Box::new(parts), self.attributes.clone());
        Ok(self.writer(&plan, element, place))
    }

    /// Refuses what only ranks together save.
    fn check_alone(&self, element: ElementType) -> Result<(), IoError> {
        if !element::has_type(element) {
            return Err(IoError::NoHdf5Type { element });
        }
        // one process has nobody to do it together with
        #[cfg(feature = "hdf5-mpio")]
        if self.way == super::Way::Mpio {
            return Err(IoError::NotMpi { rank: 0 });
        }
        if self.record.is_some() || self.byte_order != ByteOrder::NATIVE {
            let refusal = Refusal::Storage {
                storage: "as records, or in a byte order of its own".to_owned(),
                allowed: "as plain elements and codes".to_owned(),
            };
            return Err(refused(&self.path, &self.key, refusal));
        }
        Ok(())
    }

    fn writer(&self, plan: &IoPlan, element: ElementType, place: Destination) -> Hdf5Writer {
        Hdf5Writer {
            path: self.path.clone(),
            key: self.key.clone(),
            element,
            shape: plan.distribution().global_shape().to_vec(),
            total: plan.total_bytes(),
            written: 0,
            place,
        }
    }
}

/// The dictionaries of all ranks.
fn all_parts(distribution: &Distribution) -> Result<Vec<DimData>, IoError> {
    let parts = (0..distribution.ranks()).map(|rank| distribution.dim_data(rank));
    Ok(parts.collect::<Result<_, _>>()?)
}

impl Hdf5Writer {
    /// Elements of a chunk per dimension, none of them more than the array has; `None` where there are no chunks.
    #[must_use]
    pub fn chunk(&self) -> Option<&[u64]> {
        match &self.place {
            Destination::Chunks { chunk, .. } => Some(chunk),
            _ => None,
        }
    }

    /// Codes chunks of about so many bytes at once, one at least, each of which takes three times its size in memory; 8 MiB where
    /// this is not called.
    #[must_use]
    pub fn coding(mut self, bytes: u64) -> Self {
        if let Destination::Chunks { coded, .. } = &mut self.place {
            *coded = bytes;
        }
        self
    }

    /// Writes a piece of the array, and returns its bytes: what it owns, its padding is left out. Pieces come in any order, and
    /// every element in one of them. Of a dataset in chunks a piece has blocks of whole ones: each begins and ends at the border of
    /// a chunk, or at the end of the array.
    ///
    /// # Errors
    /// [`IoError::ElementType`] and [`IoError::Shape`] for a piece of another array, [`IoError::BufferLength`] for more elements than
    /// there are, [`IoError::PeriodicEdge`]; [`IoError::Hdf5`], also where chunks are cut apart.
    pub fn write_part<'a, A>(&mut self, array: &'a A) -> Result<u64, IoError>
    where
        A: DistributedArray,
        A::Buffer<'a>: HostBuffer,
    {
        let part = array.distarray();
        let (dim_data, element) = (part.dim_data(), part.buffer().element_type());
        if element != self.element {
            return Err(IoError::ElementType {
                given: self.element,
                allowed: element,
            });
        }
        if dim_data.global_shape() != self.shape {
            return Err(IoError::Shape {
                given: self.shape.clone(),
                allowed: dim_data.global_shape(),
            });
        }
        check_edges(&part)?;
        let item = element.size();
        let runs = FilePart::new(dim_data, item, Extent::Owned)?;
        let bytes = (runs.elements() as u64).saturating_mul(item as u64);
        let left = self.total - self.written;
        if bytes > left {
            return Err(IoError::BufferLength {
                given: usize::try_from(bytes).unwrap_or(usize::MAX),
                allowed: usize::try_from(left).unwrap_or(usize::MAX),
            });
        }
        if bytes == 0 {
            return Ok(0);
        }
        let elements = bytes_of(part.buffer(), element)?;
        let refused = |refusal| refused(&self.path, &self.key, refusal);
        let run_of = |run: &crate::FileRun| &elements[run.local * item..][..run.len * item];
        match &self.place {
            Destination::Piece { pending, at, .. } => {
                for run in runs.runs() {
                    let written = pending.file().write_all_at(run_of(&run), at + run.offset);
                    written.map_err(|error| refused(Refusal::os("write")(error)))?;
                }
            }
            Destination::Parts(parts, _) => {
                for run in runs.runs() {
                    parts.write(run.offset, run_of(&run))?;
                }
            }
            Destination::Chunks {
                made,
                pending,
                places,
                chunk,
                filters,
                coded,
                ..
            } => {
                if !has_whole_chunks(dim_data, chunk) {
                    return Err(refused(Refusal::Storage {
                        storage: format!("in chunks of {}", shape_text(chunk)),
                        allowed: "pieces of whole chunks".to_owned(),
                    }));
                }
                let comm = SingleComm::new();
                let file;
                let target = if let Some((dataset, _)) = made {
                    Target::Rank0(Some(dataset))
                } else {
                    file = comm.open_shared(pending.path(), FileMode::ReadWrite)?;
                    Target::Places(&*file, places.clone())
                };
                let layout = (&self.shape[..], &chunk[..], item);
                let most = usize::try_from(*coded).unwrap_or(usize::MAX);
                chunk::save_piece(layout, filters, &target, (dim_data, &elements[..]), most)?
                    .map_err(refused)?;
            }
        }
        self.written += bytes;
        Ok(bytes)
    }

    /// Gives the file its name, durably.
    ///
    /// # Errors
    /// [`IoError::BufferLength`] when elements are missing; [`IoError::Hdf5`]. The target is as it was, unless the refusal is
    /// [`Refusal::Unsynced`].
    pub fn publish(self) -> Result<(), IoError> {
        let Self {
            path, key, place, ..
        } = self;
        if self.written < self.total {
            return Err(IoError::BufferLength {
                given: usize::try_from(self.written).unwrap_or(usize::MAX),
                allowed: usize::try_from(self.total).unwrap_or(usize::MAX),
            });
        }
        let refused = |refusal| refused(&path, &key, refusal);
        let (pending, checksums) = match place {
            Destination::Parts(parts, attributes) => return parts.publish(&attributes),
            Destination::Piece {
                pending, checksums, ..
            } => (pending, checksums),
            Destination::Chunks {
                made,
                pending,
                checksums,
                ..
            } => {
                if let Some((dataset, file)) = made {
                    create::close(file, dataset).map_err(refused)?;
                }
                (pending, checksums)
            }
        };
        if checksums {
            verify::keep(
                &SingleComm::new(),
                (path.as_path(), key.as_str()),
                pending.path(),
            )?;
        }
        pending.publish().map_err(|error| refused(error.into()))
    }
}

/// Whether a piece is made of blocks of whole chunks.
fn has_whole_chunks(piece: &DimData, chunk: &[u64]) -> bool {
    piece.iter().zip(chunk).all(|(dim, &chunk)| {
        let (Dist::Block { .. }, Some(owned)) = (dim.dist(), dim.owned_range()) else {
            return false;
        };
        let ends = owned.end == dim.size() || owned.end.is_multiple_of(chunk);
        owned.start.is_multiple_of(chunk) && ends
    })
}
