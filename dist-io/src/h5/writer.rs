//! [`Hdf5Writer`]: a dataset that is written piece by piece, by one process.

use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use dap_protocol::{DimData, ElementType};
use dist_maps::Distribution;

use super::together::refused;
use super::{Refusal, SaveHdf5, create, element, metadata};
use crate::publish::Pending;
use crate::{Direction, FileLayout, IoError, IoPlan};

/// A dataset whose elements are brought piece by piece, in C order of the whole array: [`SaveHdf5::begin`]. Local: one rank, or a
/// program without ranks. Dropped before [`publish`](Self::publish), the target is as it was.
#[derive(Debug)]
pub struct Hdf5Writer {
    pending: Pending,
    /// Byte of the file at which the next piece begins, and at which the elements end.
    at: u64,
    end: u64,
    path: PathBuf,
    key: String,
}

impl SaveHdf5 {
    /// Begins a contiguous dataset that one process writes piece by piece, as if the ranks of `distribution` had saved it. Local.
    ///
    /// # Errors
    /// [`IoError::Hdf5`] with what is wrong with path, key or an attribute, or where chunks or filters are asked for;
    /// [`IoError::NoHdf5Type`]; those of [`IoPlan::new`].
    ///
    /// ```
    /// use dap_protocol::ElementType;
    /// use dist_io::{SaveHdf5, inspect_hdf5};
    /// use dist_maps::Distribution;
    ///
    /// # let dir = tempfile::tempdir()?;
    /// # let path = dir.path().join("numbers.h5");
    /// let dealt = Distribution::over(2).shape([4]).cyclic(0).build()?;
    /// let mut writer = SaveHdf5::new(&path).key("n").begin(&dealt, ElementType::U8)?;
    /// writer.write(&[10, 11, 12])?;
    /// writer.write(&[13])?;
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
        if !element::has_type(element) {
            return Err(IoError::NoHdf5Type { element });
        }
        let (layout, _) = self.layout(distribution.global_shape(), element.size())?;
        if let FileLayout::Chunked { .. } = layout {
            return Err(refused(Refusal::Storage {
                storage: "in chunks".to_owned(),
                allowed: "in one piece".to_owned(),
            }));
        }
        let plan = IoPlan::new(distribution, element.size(), layout, Direction::Write)?;
        let parts = (0..distribution.ranks()).map(|rank| distribution.dim_data(rank));
        let parts = parts.collect::<Result<Vec<DimData>, _>>()?;
        let text = metadata::to_text(&parts).map_err(refused)?;
        let begin = || {
            let (pending, file) = self.open()?;
            let names = self.free(&file)?;
            let ty = element::in_file(element)?;
            let shape = distribution.global_shape();
            let dataset = create::contiguous(&file, &names, &ty, shape)?;
            create::describe(&dataset, &text, &self.attributes)?;
            let at = create::offset_of(&dataset, shape)?;
            create::close(file, dataset)?;
            Ok((pending, at))
        };
        let (pending, at) = begin().map_err(refused)?;
        Ok(Hdf5Writer {
            pending,
            at,
            end: at.saturating_add(plan.total_bytes()),
            path: self.path.clone(),
            key: self.key.clone(),
        })
    }
}

impl Hdf5Writer {
    /// Writes the next elements, as bytes in this machine's order.
    ///
    /// # Errors
    /// [`IoError::BufferLength`] for more than there are left; [`IoError::Hdf5`].
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), IoError> {
        let left = self.end - self.at;
        if bytes.len() as u64 > left {
            return Err(IoError::BufferLength {
                given: bytes.len(),
                allowed: usize::try_from(left).unwrap_or(usize::MAX),
            });
        }
        let written = self.pending.file().write_all_at(bytes, self.at);
        written.map_err(|error| self.refused(Refusal::os("write")(error)))?;
        self.at += bytes.len() as u64;
        Ok(())
    }

    /// Gives the file its name, durably.
    ///
    /// # Errors
    /// [`IoError::BufferLength`] when elements are missing; [`IoError::Hdf5`]. The target is as it was, unless the refusal is
    /// [`Refusal::Unsynced`].
    pub fn publish(self) -> Result<(), IoError> {
        if self.at < self.end {
            return Err(IoError::BufferLength {
                given: 0,
                allowed: usize::try_from(self.end - self.at).unwrap_or(usize::MAX),
            });
        }
        let Self {
            pending, path, key, ..
        } = self;
        let published = pending.publish();
        published.map_err(|error| refused(&path, &key, error.into()))
    }

    fn refused(&self, refusal: Refusal) -> IoError {
        refused(&self.path, &self.key, refusal)
    }
}
