//! [`load_hdf5`]: a dataset as a distributed array.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use dap_protocol::{DimData, DistBuffer, Element, ElementType, HostArray, copy_bytes_to_elements};
use dist_comm::agree::agree;
use dist_comm::{CommExt, Communicator};
use dist_maps::Distribution;

use super::dataset::Found;
#[cfg(feature = "hdf5-mpio")]
use super::mpio;
use super::source::{Source, TURNS, is_changed};
#[cfg(feature = "hdf5-mpio")]
use super::together::refused;
use super::together::same;
use super::{DEFAULT_KEY, Limits, Refusal, Way, metadata};
use crate::execute::{room, zeroed};
use crate::{IoError, IoReport};

/// Which part of a dataset every rank gets.
#[derive(Clone, Copy, Debug)]
pub enum Wanted<'a> {
    /// The part that the rank of this number saved. The communicator has as many ranks as the one that saved.
    AsSaved,
    /// The rank's part of a distribution, the same on all ranks.
    Distribution(&'a Distribution),
    /// What this rank's dictionaries describe. Those of all ranks need not be one array: ranks may ask for the same elements,
    /// and leave some out.
    DimData(&'a DimData),
}

impl Wanted<'_> {
    /// What every rank has to ask for alike.
    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::AsSaved => "as saved",
            Self::Distribution(_) => "a distribution",
            Self::DimData(_) => "dim_data",
        }
    }
}

impl<'a> From<&'a Distribution> for Wanted<'a> {
    fn from(distribution: &'a Distribution) -> Self {
        Self::Distribution(distribution)
    }
}

impl<'a> From<&'a DimData> for Wanted<'a> {
    fn from(dim_data: &'a DimData) -> Self {
        Self::DimData(dim_data)
    }
}

/// Loads one dataset of an HDF5 file, each rank its part. Collective; equal paths, keys and element types.
///
/// All that a rank's part stores is read, communication padding too, so that no halo exchange is needed after it. Unstructured
/// indices may come in any order; a scalar is read by every rank. Elements of either byte order are read, of exactly the type asked for: nothing is converted.
///
/// The dataset may be anybody's: contiguous, compact, or in chunks. Chunks are read by all ranks, and those that went through the
/// filters shuffle, deflate (`gzip`), fletcher32 and lzf are decoded in threads; those of other filters go through the library,
/// one at a time in each process, if it has the filter. What was never written is the fill value. Datasets whose elements lie in
/// other files as plain bytes (external ones) are refused by name.
///
/// A virtual dataset is read from its parts: each rank opens those that hold what it reads, without the HDF5 library, which would
/// let a missing part pass for zeros. Before that, every part is looked at: that it is there and whole, of the right type and
/// shape, and, if [`to_file`](crate::legate::to_file) wrote it, of this save and for this place. Anybody's virtual dataset is read,
/// over sources that are stored in any way, virtual ones too: mappings from rows and columns to rows and columns, with strides,
/// without limits, and with numbers in the names of sources (`%b`). What no source has is the fill value. Mappings that overlap,
/// and such as change the shape of what they map, are refused ([`Refusal::NotBlocks`]).
///
/// All ranks read the file that rank 0 looked at. Where it is replaced meanwhile, all look again, some times.
///
/// # Errors
/// The same on every rank. [`IoError::Hdf5`] with what is wrong with path, key, a chunk or a part ([`Refusal::Changed`] when the
/// file is replaced all the time), [`IoError::ElementType`], [`IoError::Shape`],
/// [`IoError::Ranks`] when it was saved by another number of ranks than [`Wanted::AsSaved`] finds, [`IoError::Differ`],
/// [`IoError::Index`], [`IoError::Element`] for a `bool` that is neither 0 nor 1, [`IoError::Agreed`] and [`IoError::Comm`] when a
/// rank fails by itself.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// use dist_comm::{Communicator, SingleComm, ThreadComm};
/// use dist_io::{IoError, Wanted, WriteMode, load_hdf5, save_hdf5};
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("numbers.h5");
/// let whole = DistBuffer::new(DimData::new(vec![DimDict::whole(6)?]), HostArray::new(vec![6], vec![0_i32, 1, 2, 3, 4, 5])?)?;
/// save_hdf5(&path, &whole, "n", WriteMode::Replace, &SingleComm::new())?;
/// let parts = ThreadComm::run(2, |comm| {
///     let cyclic = Distribution::over(2).shape([6]).cyclic(0).build()?;
///     let part = load_hdf5::<i32>(&path, &cyclic, "n", comm)?;
///     Ok::<_, IoError>(part.buffer().data().to_vec())
/// })?;
/// assert_eq!(parts, [[0, 2, 4], [1, 3, 5]]);
/// assert_eq!(load_hdf5::<i32>(&path, Wanted::AsSaved, "n", &SingleComm::new())?, whole);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load_hdf5<'a, T: Element>(
    path: impl AsRef<Path>,
    wanted: impl Into<Wanted<'a>>,
    key: &str,
    comm: &(impl Communicator + ?Sized),
) -> Result<DistBuffer<HostArray<T>>, IoError> {
    LoadHdf5::new(path).key(key).load(wanted, comm)
}

/// Loads one dataset of an HDF5 file: how, and then [`load`](Self::load). [`load_hdf5`] is this in one call.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// use dist_comm::SingleComm;
/// use dist_io::{LoadHdf5, SaveHdf5, Wanted};
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("numbers.h5");
/// let (alone, whole) = (SingleComm::new(), DimData::new(vec![DimDict::whole(2)?]));
/// let numbers = DistBuffer::new(whole, HostArray::new(vec![2], vec![7_i8, 1])?)?;
/// SaveHdf5::new(&path).key("n").save(&numbers, &alone)?;
/// let loaded = LoadHdf5::new(&path).key("n").codes(true).load::<i8>(Wanted::AsSaved, &alone)?;
/// assert_eq!(loaded, numbers); // no enumeration: its elements
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct LoadHdf5 {
    path: PathBuf,
    key: String,
    codes: bool,
    way: Way,
    limits: Option<Limits>,
}

impl LoadHdf5 {
    /// From a file of this name, the dataset of the key `"buffer"` unless another one is given.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            key: DEFAULT_KEY.to_owned(),
            codes: false,
            way: Way::default(),
            limits: None,
        }
    }

    /// The key of the dataset, with those of the groups that lead to it: `"run/7/heat"`.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = key.into();
        self
    }

    /// Of an enumeration, its codes, as they are in the file; integers are read as well. Otherwise an enumeration is an error.
    pub fn codes(mut self, codes: bool) -> Self {
        self.codes = codes;
        self
    }

    /// Who moves the elements. Those of a virtual dataset lie in other files, which the ranks read without the library.
    pub fn way(mut self, way: Way) -> Self {
        self.way = way;
        self
    }

    /// From a file of unknown origin, which is read within these limits and without the HDF5 library.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = Some(limits);
        self
    }

    /// As [`load`](Self::load), with what this rank did for it: bytes and reads, those of chunks as they are in the file, and what was
    /// exchanged. Nothing is read from the file where elements lie among the metadata (compact) or were never written; of chunks that
    /// go through a filter of the library's, all of their elements count. Collective.
    ///
    /// By parallel HDF5 the report says how collective transfers went, where there were some: there are none of no elements, and of a
    /// virtual dataset.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    ///
    /// ```
    /// use dap_protocol::{DistBuffer, HostArray};
    /// use dist_comm::SingleComm;
    /// use dist_io::{LoadHdf5, SaveHdf5};
    /// use dist_maps::Distribution;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("heat.h5");
    /// let (alone, all) = (SingleComm::new(), Distribution::over(1).shape([4, 6]).build()?);
    /// let heat = DistBuffer::new(all.dim_data(0)?, HostArray::new(vec![4, 6], vec![1.5; 24])?)?;
    /// SaveHdf5::new(&path).key("heat").chunk([2, 6]).save(&heat, &alone)?;
    /// let (part, report) = LoadHdf5::new(&path).key("heat").load_reported::<f64>(&all, &alone)?;
    /// assert_eq!((part, report.file_bytes, report.requests), (heat, 4 * 6 * 8, 2)); // two chunks
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_reported<'a, T: Element>(
        &self,
        wanted: impl Into<Wanted<'a>>,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<(DistBuffer<HostArray<T>>, IoReport), IoError> {
        self.loaded(wanted.into(), comm)
    }

    /// Loads, each rank its part. Collective; every rank says the same of file and dataset.
    ///
    /// # Errors
    /// As [`load_hdf5`]; by parallel HDF5 also `NotMpi`, and `NoArray` where parts of several dimensions are no distribution.
    pub fn load<'a, T: Element>(
        &self,
        wanted: impl Into<Wanted<'a>>,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<DistBuffer<HostArray<T>>, IoError> {
        Ok(self.loaded(wanted.into(), comm)?.0)
    }

    /// As [`load`](Self::load), into memory that is there, so that no new memory is asked of the system for every step of a series; what
    /// the rank's part is. Collective.
    ///
    /// `elements` is as long as the part, which lies in it in C order, padding included. After an error it holds anything.
    ///
    /// # Errors
    /// As [`load`](Self::load), and [`IoError::Agreed`] where a rank's `elements` have another length.
    ///
    /// ```
    /// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
    /// use dist_comm::SingleComm;
    /// use dist_io::{LoadHdf5, SaveHdf5, Wanted};
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("numbers.h5");
    /// let (alone, whole) = (SingleComm::new(), DimData::new(vec![DimDict::whole(3)?]));
    /// let mut room = [0_i32; 3];
    /// for step in 0..3 {
    ///     let key = step.to_string();
    ///     let numbers = DistBuffer::new(whole.clone(), HostArray::new(vec![3], vec![step; 3])?)?;
    ///     SaveHdf5::new(&path).key(&key).save(&numbers, &alone)?;
    ///     let part = LoadHdf5::new(&path).key(&key).load_into(Wanted::AsSaved, &mut room, &alone)?;
    ///     assert_eq!((part, room), (whole.clone(), [step; 3]));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn load_into<'a, T: Element>(
        &self,
        wanted: impl Into<Wanted<'a>>,
        elements: &mut [T],
        comm: &(impl Communicator + ?Sized),
    ) -> Result<DimData, IoError> {
        let wanted = wanted.into();
        self.turns::<T, _>(wanted, comm, |source| {
            source.load_into(comm, wanted, (self.codes, self.way), elements)
        })
    }

    fn loaded<T: Element>(
        &self,
        wanted: Wanted<'_>,
        comm: &(impl Communicator + ?Sized),
    ) -> Result<(DistBuffer<HostArray<T>>, IoReport), IoError> {
        self.turns::<T, _>(wanted, comm, |source| {
            source.load(comm, wanted, self.codes, self.way)
        })
    }

    /// Checks that all ranks want the same, and opens the file to load from it; again where it was replaced meanwhile. Collective.
    fn turns<T: Element, R>(
        &self,
        wanted: Wanted<'_>,
        comm: &(impl Communicator + ?Sized),
        mut load: impl FnMut(&Source) -> Result<R, IoError>,
    ) -> Result<R, IoError> {
        let (path, key) = (self.path.as_path(), self.key.as_str());
        let elements: &[u8] = if self.codes { b"codes" } else { b"elements" };
        same(
            comm,
            &[
                ("path", path.as_os_str().as_bytes()),
                ("key", key.as_bytes()),
                ("element type", T::TYPE.to_string().as_bytes()),
                ("kind of part", wanted.kind().as_bytes()),
                ("kind of elements", elements),
                ("way", self.way.to_string().as_bytes()),
                ("limits", format!("{:?}", self.limits).as_bytes()),
            ],
        )?;
        #[cfg(feature = "hdf5-mpio")]
        if self.way == Way::Mpio {
            mpio::check(comm)?;
            if self.limits.is_some() {
                let refusal = Refusal::Untrusted {
                    what: "collective transfers by the HDF5 library".to_owned(),
                };
                return Err(refused(path, key, refusal));
            }
        }
        let mut turn = 1;
        loop {
            let source = Source::open(comm, path, key, self.limits.as_ref())?;
            match load(&source) {
                Err(error) if is_changed(&error) && turn < TURNS => turn += 1,
                outcome => return outcome,
            }
        }
    }
}

impl Source {
    /// Checks what is asked for, and reads it. Collective; the same wishes on every rank.
    pub(super) fn load<T: Element>(
        &self,
        comm: &(impl Communicator + ?Sized),
        wanted: Wanted<'_>,
        codes: bool,
        way: Way,
    ) -> Result<(DistBuffer<HostArray<T>>, IoReport), IoError> {
        let (dim_data, distribution) = self.wanted::<T>(comm, wanted, codes)?;
        let (shape, mut elements) = agree(comm, zeros::<T>(&dim_data))?;
        let report = self.fill(comm, (&dim_data, distribution.as_ref()), way, &mut elements)?;
        let buffer = HostArray::new(shape, elements).map_err(IoError::from);
        let part = buffer.and_then(|buffer| Ok(DistBuffer::new(dim_data, buffer)?));
        Ok((agree(comm, part)?, report))
    }

    /// As [`load`](Self::load), into memory that is there. Collective.
    fn load_into<T: Element>(
        &self,
        comm: &(impl Communicator + ?Sized),
        wanted: Wanted<'_>,
        (codes, way): (bool, Way),
        elements: &mut [T],
    ) -> Result<DimData, IoError> {
        let (dim_data, distribution) = self.wanted::<T>(comm, wanted, codes)?;
        let given = elements.len().saturating_mul(size_of::<T>());
        let fits = extents(&dim_data).and_then(|(_, n)| {
            let allowed = n.saturating_mul(size_of::<T>());
            if given == allowed {
                Ok(())
            } else {
                Err(IoError::BufferLength { given, allowed })
            }
        });
        agree(comm, fits)?;
        self.fill(comm, (&dim_data, distribution.as_ref()), way, elements)?;
        Ok(dim_data)
    }

    /// Checks what is asked for; this rank's part, and the distribution of all where theirs make one. Collective.
    fn wanted<T: Element>(
        &self,
        comm: &(impl Communicator + ?Sized),
        wanted: Wanted<'_>,
        codes: bool,
    ) -> Result<(DimData, Option<Distribution>), IoError> {
        let found = &self.found;
        let element = found.element().map_err(|r| self.refused(r))?;
        if found.is_enumeration && !codes {
            return Err(self.refused(Refusal::Enumeration));
        }
        if element != T::TYPE {
            return Err(IoError::ElementType {
                given: element,
                allowed: T::TYPE,
            });
        }
        let (dim_data, distribution) = placed(comm, found, wanted, &|r| self.refused(r))?;
        // a scalar is read by every rank: no dictionary can say that one has none
        let distribution = distribution.filter(|_| dim_data.ndim() > 0);
        Ok((dim_data, distribution))
    }

    /// Reads a rank's part into elements of as many. Collective.
    fn fill<T: Element>(
        &self,
        comm: &(impl Communicator + ?Sized),
        (dim_data, distribution): (&DimData, Option<&Distribution>),
        way: Way,
        elements: &mut [T],
    ) -> Result<IoReport, IoError> {
        if T::TYPE != ElementType::Bool
            && let Some(bytes) = T::bytes_mut(elements)
        {
            return self.read(comm, dim_data, distribution, bytes, way);
        }
        // bytes are looked at before they are elements
        let mut checked = agree(comm, room(elements.len(), size_of::<T>()))?;
        let report = self.read(comm, dim_data, distribution, &mut checked, way)?;
        check_values(comm, &checked, T::TYPE)?;
        agree(comm, copy_bytes_to_elements(&checked, elements))?;
        Ok(report)
    }
}

/// This rank's part, and the distribution of all where theirs make one. Collective.
pub(super) fn placed(
    comm: &(impl Communicator + ?Sized),
    found: &Found,
    wanted: Wanted<'_>,
    refused: &dyn Fn(Refusal) -> IoError,
) -> Result<(DimData, Option<Distribution>), IoError> {
    let (rank, ranks) = (comm.rank(), comm.size());
    let parts = match wanted {
        Wanted::AsSaved => {
            let parts = found.parts().map_err(refused)?;
            if parts.len() != ranks {
                return Err(IoError::Ranks {
                    what: "the dataset, as it was saved,",
                    given: parts.len(),
                    allowed: ranks,
                });
            }
            let distribution = metadata::whole(&parts)?;
            return Ok((parts[rank].clone(), Some(distribution)));
        }
        Wanted::Distribution(distribution) => {
            let all = comm.all_gather_value(distribution.ranks() as u64)?;
            if let Some(&given) = all.iter().find(|&&given| given != ranks as u64) {
                return Err(IoError::Ranks {
                    what: "the distribution",
                    given: usize::try_from(given).unwrap_or(usize::MAX),
                    allowed: ranks,
                });
            }
            metadata::gather(comm, &distribution.dim_data(rank)?)?
        }
        Wanted::DimData(dim_data) => metadata::gather(comm, dim_data)?,
    };
    for part in &parts {
        if part.global_shape() != found.shape {
            return Err(IoError::Shape {
                given: found.shape.clone(),
                allowed: part.global_shape(),
            });
        }
    }
    let distribution = match (wanted, metadata::wanted(&parts)) {
        (_, Ok(distribution)) => Some(distribution),
        (Wanted::Distribution(_), Err(error)) => return Err(error),
        (_, Err(_)) => None,
    };
    Ok((parts[rank].clone(), distribution))
}

/// Zeros for a part, in C order.
pub(super) fn zeros<T: Element>(dim_data: &DimData) -> Result<(Vec<usize>, Vec<T>), IoError> {
    let (shape, elements) = extents(dim_data)?;
    Ok((shape, zeroed(elements)?))
}

/// A part's shape, and how many elements it has.
fn extents(dim_data: &DimData) -> Result<(Vec<usize>, usize), IoError> {
    let too_large = IoError::Overflow {
        what: "number of elements of a part",
    };
    let shape: Result<Vec<usize>, _> = dim_data
        .local_shape()
        .into_iter()
        .map(usize::try_from)
        .collect();
    let shape = shape.map_err(|_| too_large.clone())?;
    let elements = if shape.contains(&0) {
        0
    } else {
        let product = shape
            .iter()
            .try_fold(1_usize, |n, &extent| n.checked_mul(extent));
        product.ok_or(too_large)?
    };
    Ok((shape, elements))
}

/// Checks that bytes are values of `bool`. Collective.
pub(super) fn check_values(
    comm: &(impl Communicator + ?Sized),
    bytes: &[u8],
    element: ElementType,
) -> Result<(), IoError> {
    if element != ElementType::Bool {
        return Ok(());
    }
    let wrong = bytes.iter().position(|&byte| byte > 1);
    let all = comm.all_gather_value(wrong.map_or(u64::MAX, |position| position as u64))?;
    match all.iter().position(|&position| position != u64::MAX) {
        None => Ok(()),
        Some(rank) => Err(IoError::Element {
            rank,
            position: all[rank],
            element,
        }),
    }
}
