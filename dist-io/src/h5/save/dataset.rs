//! The file of a save, not yet known by its name, and the dataset in it.

use hdf5_metno as hdf5;
use hdf5_metno::dataset::{AllocTime, FillTime};
use hdf5_metno::{Dataset, Datatype, Extent, SimpleExtents};
use serde::{Deserialize, Serialize};

use super::SaveHdf5;
use crate::h5::attribute::attach;
use crate::h5::chunk::{self, Chunks, Filter, LISTED_TO_WRITE, Place};
use crate::h5::create::{check_free, close, contiguous, describe, extents, offset_of, shaped};
use crate::h5::together::names;
use crate::h5::{Refusal, Way, WriteMode, open, vds};
use crate::publish::{Claim, Existing, Pending};
use crate::{FileLayout, IoPlan};

/// Where the elements go.
#[derive(Serialize, Deserialize)]
pub(in crate::h5) enum Room {
    /// In one piece, from this byte of the file on; 0 where there are none.
    At(u64),
    /// In chunks that lie there.
    Places(Vec<Place>),
    /// In chunks for which the library finds room when it gets them.
    Library,
}

impl SaveHdf5 {
    /// Begins the new file, which is not yet known by its name. By rank 0.
    pub(in crate::h5) fn open(&self) -> Result<(Pending, hdf5::File), Refusal> {
        let existing = match self.mode {
            WriteMode::Replace => Existing::Replace,
            WriteMode::CreateNew => Existing::Refuse,
            WriteMode::Append => Existing::Copy,
        };
        let claim = Claim::new(&self.path)?;
        let retired = if existing == Existing::Replace && claim.exists() {
            vds::retired_with(claim.target())
        } else {
            Vec::new()
        };
        let mut pending = claim.pending(existing)?;
        pending.retire(retired);
        let file = if pending.is_copy() {
            open::private(pending.path())?
        } else {
            open::new_private(pending.path())?
        };
        Ok((pending, file))
    }

    /// The key in a file, where it is free.
    pub(in crate::h5) fn free(&self, file: &hdf5::File) -> Result<String, Refusal> {
        let names = names(&self.key)?;
        check_free(file, &names)?;
        Ok(names.join("/"))
    }

    /// Makes the dataset, with room for its elements where that can be made before they are there. By rank 0.
    pub(in crate::h5) fn create(
        &self,
        file: hdf5::File,
        ty: &Datatype,
        plan: &IoPlan,
        filters: &[Filter],
        dim_data: &str,
    ) -> Result<(Room, Option<(hdf5::File, Dataset)>), Refusal> {
        let key = self.free(&file)?;
        // the bytes of a record are no dimension of the dataset
        let bytes = usize::from(self.record.is_some());
        let of_dataset = |all: &'_ [u64]| all[..all.len().saturating_sub(bytes)].to_vec();
        let shape = &of_dataset(plan.distribution().global_shape())[..];
        let FileLayout::Chunked { chunk } = plan.layout() else {
            let dataset = contiguous(&file, &key, ty, shape)?;
            describe(&dataset, dim_data, &self.attributes)?;
            let room = Room::At(offset_of(&dataset, shape)?);
            close(file, dataset)?;
            return Ok((room, None));
        };
        let chunk = &of_dataset(chunk)[..];
        let in_place = self.way == Way::Offsets
            && filters.is_empty()
            && self.max_shape.is_none()
            && file.userblock() == 0
            && chunk::count(shape, chunk) <= LISTED_TO_WRITE;
        let known: Vec<_> = filters.iter().map(|filter| filter.known()).collect();
        let when = if in_place {
            AllocTime::Early
        } else {
            AllocTime::Incr
        };
        let builder = file
            .new_dataset_builder()
            .fill_time(match self.max_shape {
                // what others add to it and do not write is the fill value
                Some(_) => FillTime::IfSet,
                None => FillTime::Never,
            })
            .chunk(extents(chunk)?)
            .set_filters(&known)
            .alloc_time(Some(when))
            .empty_as(ty);
        let shaped = match &self.max_shape {
            None => shaped(builder, shape)?,
            Some(max) => {
                let max = max.iter().map(|max| match max {
                    None => Ok(None),
                    Some(max) => Ok(extents(&[*max])?.first().copied()),
                });
                let max = max.collect::<Result<Vec<_>, Refusal>>()?;
                let both = extents(shape)?.into_iter().zip(max);
                builder.shape(SimpleExtents::from_vec(both.map(Extent::from).collect()))
            }
        };
        let dataset = shaped
            .create(key.as_str())
            .map_err(Refusal::library("make the dataset"))?;
        if self.max_shape.is_none() {
            describe(&dataset, dim_data, &self.attributes)?;
        } else {
            for (name, value) in &self.attributes {
                attach(&dataset, name, value)?;
            }
        }
        if !in_place {
            return Ok((Room::Library, Some((file, dataset))));
        }
        let room = Room::Places(Chunks::made(&file, &dataset, shape)?);
        close(file, dataset)?;
        Ok((room, None))
    }
}
