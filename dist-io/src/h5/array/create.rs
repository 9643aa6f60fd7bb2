//! [`create`] and [`SaveHdf5::make`]: a dataset without elements yet, to be written region by region.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dap_protocol::{Element, HostArray};
use dist_comm::{CommExt, Communicator};
use dist_maps::Distribution;
use hdf5_metno as hdf5;
use hdf5_metno::dataset::{AllocTime, FillTime};

use super::{H5Array, open_dset};
use crate::h5::chunk::Filter;
use crate::h5::create::{close, contiguous, describe, extents, shaped};
use crate::h5::save::bytes_of;
use crate::h5::together::{by_rank_0, refused, same};
use crate::h5::{Refusal, SaveHdf5, element, ffi, metadata};
use crate::{Direction, FileLayout, IoError, IoPlan};

/// Makes a contiguous dataset of zeros and opens it, in this distribution: [`assign`](H5Array::assign) through its slices fills it region by
/// region. [`SaveHdf5::make`] in one call. Collective; equal paths, keys, distributions and element types.
///
/// # Errors
/// As [`SaveHdf5::make`].
///
/// ```
/// use dap_protocol::HostArray;
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_io::{IoError, create};
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("new.h5");
/// let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
/// ThreadComm::run(2, |comm| {
///     let a = create::<f32>(&path, "run/a", &rows, comm)?;
///     a.slice(&[(..).into(), 1.into()])?.fill(1.5)?; // a column
///     assert_eq!(a.load()?.buffer().data(), [0.0, 1.5, 0.0, 0.0, 1.5, 0.0]);
///     Ok::<_, IoError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn create<'c, T: Element>(
    path: impl AsRef<Path>,
    key: &str,
    distribution: &Distribution,
    comm: &'c dyn Communicator,
) -> Result<H5Array<'c, T>, IoError> {
    let save = SaveHdf5::new(path).key(key);
    save.make(distribution, T::default(), comm)
}

impl SaveHdf5 {
    /// Makes the dataset with every element `fill`, and opens it in this distribution: [`assign`](H5Array::assign) through its slices
    /// fills it region by region. Collective; equal settings, distributions and values.
    ///
    /// The file may be there, and has other datasets then; the key may not. Groups on the way are made. No element is written: chunks get
    /// their room when they are assigned to, a contiguous dataset at once if it is of zeros, or else at the first assignment.
    /// The dataset is published as a whole, empty as it is. What can be assigned to has 4096 chunks at most.
    ///
    /// # Errors
    /// The same on every rank; the file is then as it was: [`IoError::Hdf5`] with what is wrong with path, key or an attribute, and for a dataset
    /// with checksums, of records or codes, in a byte order of its own, or with room to grow; those of chunks and filters as of
    /// [`save`](Self::save); [`IoError::Ranks`] when the distribution is for another number of ranks, [`IoError::Uncovered`] when it
    /// leaves elements out; [`IoError::NoHdf5Type`], [`IoError::Overflow`], [`IoError::Differ`], [`IoError::Comm`].
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_io::{IoError, SaveHdf5};
    /// use dist_maps::Distribution;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("new.h5");
    /// let rows = Distribution::over(2).shape([400, 30]).block(0).build()?;
    /// ThreadComm::run(2, |comm| {
    ///     let a = SaveHdf5::new(&path).key("a").chunk([100, 30]).shuffle(true).deflate(4).make(&rows, -1_i16, comm)?;
    ///     a.slice(&[7.into()])?.fill(3)?; // a row: one chunk is in the file now
    ///     assert_eq!((a.at(&[7, 0])?, a.at(&[399, 0])?), (3, -1));
    ///     Ok::<_, IoError>(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn make<'c, T: Element>(
        &self,
        distribution: &Distribution,
        fill: T,
        comm: &'c dyn Communicator,
    ) -> Result<H5Array<'c, T>, IoError> {
        let (path, key) = (self.path.as_path(), self.key.as_str());
        same(
            comm,
            &[
                ("path", path.as_os_str().as_bytes()),
                ("key", key.as_bytes()),
                ("way of storing", self.text().as_bytes()),
                ("element type", T::TYPE.to_string().as_bytes()),
                ("fill value", format!("{fill:?}").as_bytes()),
            ],
        )?;
        if !self.is_plain() || self.has_max_shape() {
            return Err(refused(
                path,
                key,
                Refusal::Storage {
                    storage: "with checksums, as records or codes, in a byte order of its own, or with room to grow".to_owned(),
                    allowed: "as plain elements".to_owned(),
                },
            ));
        }
        if !element::has_type(T::TYPE) {
            return Err(IoError::NoHdf5Type { element: T::TYPE });
        }
        let all = comm.all_gather_value(distribution.ranks() as u64)?;
        if let Some(&given) = all.iter().find(|&&given| given != comm.size() as u64) {
            return Err(IoError::Ranks {
                what: "the distribution",
                given: usize::try_from(given).unwrap_or(usize::MAX),
                allowed: comm.size(),
            });
        }
        let parts = metadata::gather(comm, &distribution.dim_data(comm.rank())?)?;
        let whole = metadata::whole(&parts)?;
        let shape = whole.global_shape();
        let (layout, filters) = self.layout(shape, T::TYPE.size())?;
        // the number of bytes is one that a file can have, and every element has a rank
        let _ = IoPlan::new(&whole, T::TYPE.size(), layout.clone(), Direction::Write)?;
        let one = HostArray::new(Vec::new(), vec![fill])?;
        let fill = bytes_of(&one, T::TYPE)?;
        by_rank_0(comm, path, key, || {
            let (pending, file) = self.open()?;
            let names = self.free(&file)?;
            let dataset = new::<T>(&file, &names, shape, (&layout, &filters), &fill)?;
            describe(&dataset, &metadata::to_text(&parts)?, &self.attributes)?;
            close(file, dataset)?;
            Ok(pending.publish()?)
        })?;
        open_dset::<T>(path, key, comm)?.distribute(distribution)
    }
}

/// Makes the dataset in a file. By rank 0.
fn new<T: Element>(
    file: &hdf5::File,
    key: &str,
    shape: &[u64],
    (layout, filters): (&FileLayout, &[Filter]),
    fill: &[u8],
) -> Result<hdf5::Dataset, Refusal> {
    let ty = element::in_file(T::TYPE)?;
    let is_zero = fill.iter().all(|&byte| byte == 0);
    let builder = file.new_dataset_builder();
    let builder = builder.set_create_plist(&ffi::filled(&ty, fill)?);
    let builder = match layout {
        // the file system gives zeros for what was never written, and room when it is
        FileLayout::Contiguous if is_zero => return contiguous(file, key, &ty, shape),
        FileLayout::Contiguous => builder.no_chunk().alloc_time(Some(AllocTime::Late)),
        FileLayout::Chunked { chunk } => {
            let known: Vec<_> = filters.iter().map(|filter| filter.known()).collect();
            let builder = builder.chunk(extents(chunk)?).set_filters(&known);
            builder.alloc_time(Some(AllocTime::Incr))
        }
    };
    let builder = builder.fill_time(FillTime::IfSet).empty_as(&ty);
    let dataset = shaped(builder, shape)?.create(key);
    dataset.map_err(Refusal::library("make the dataset"))
}
