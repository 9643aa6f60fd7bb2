//! [`PartsWriter`]: a virtual dataset whose parts one process writes piece by piece.

use std::path::{Path, PathBuf};

use dist_comm::{SharedFile as _, SingleComm};
use hdf5_metno::Datatype;
use tempfile::TempDir;

use super::super::Refusal;
use super::super::attribute::AttributeValue;
use super::super::create::check_free;
use super::super::open::to_read;
use super::super::together::{is_regular, names, refused};
use super::block::Block;
use super::mosaic::{Mosaic, MosaicFile, Piece};
use super::part_file::{self, file_name};
use super::place::Place;
use super::write::{Whole, publish, tiling};
use crate::{IoError, IoPlan};

/// The parts of a save that is not published yet: dropped, they are removed.
#[derive(Debug)]
pub(in crate::h5) struct PartsWriter {
    path: PathBuf,
    key: String,
    ty: Datatype,
    /// The metadata of all ranks, as text.
    dim_data: String,
    shape: Vec<u64>,
    blocks: Vec<Option<Block>>,
    /// The elements in the parts. It closes their files before the folder goes.
    mosaic: Mosaic,
    folder: TempDir,
    save: String,
    place: Place,
}

impl PartsWriter {
    /// Makes the parts, without elements: of each rank of the plan its block, or a slab of rows where ranks have no blocks. Local.
    pub(in crate::h5) fn begin(
        path: &Path,
        key: &str,
        (ty, dim_data): (Datatype, String),
        plan: IoPlan,
    ) -> Result<Self, IoError> {
        let (plan, blocks) = tiling(plan)?;
        let shape = plan.distribution().global_shape().to_vec();
        let item = plan.item_size();
        let make = || {
            let place = Place::new(path, key)?;
            if is_regular(path)?.is_some() {
                check_free(&to_read(path)?, &names(key)?)?;
            }
            let (folder, save) = place.folder()?;
            let mut pieces = Vec::new();
            for (rank, block) in blocks.iter().enumerate() {
                let Some(block) = block else { continue };
                let file = folder.path().join(file_name(rank));
                let offset = part_file::create(&file, &ty, block, &save)?;
                let given = place.access().map_or(Ok(()), |access| access.give(&file));
                given.map_err(Refusal::os("set the permissions"))?;
                pieces.push(Piece::dense(&file, offset, block.clone()));
            }
            Ok((place, folder, save, pieces))
        };
        let (place, folder, save, pieces) = make().map_err(|r| refused(path, key, r))?;
        Ok(Self {
            mosaic: Mosaic::new(&shape, (item, item), pieces, true),
            path: path.to_owned(),
            key: key.to_owned(),
            ty,
            dim_data,
            shape,
            blocks,
            folder,
            save,
            place,
        })
    }

    /// Writes whole elements from a byte of the array on, in C order.
    pub(in crate::h5) fn write(&self, offset: u64, bytes: &[u8]) -> Result<(), IoError> {
        let comm = SingleComm::new();
        let file = MosaicFile::new(&comm, &self.path, &self.mosaic);
        Ok(file.write_at(offset, bytes)?)
    }

    /// Publishes the dataset, with these attributes.
    pub(in crate::h5) fn publish(
        self,
        attributes: &[(String, AttributeValue)],
    ) -> Result<(), IoError> {
        let comm = SingleComm::new();
        MosaicFile::new(&comm, &self.path, &self.mosaic).sync()?;
        let whole = Whole {
            path: &self.path,
            name: &self.key,
            ty: self.ty,
            chunk: None,
            filters: Vec::new(),
            checksums: false,
            attributes,
            shape: self.shape,
            dim_data: self.dim_data,
        };
        let published = publish(&self.place, self.folder, &self.save, &whole, &self.blocks);
        published.map_err(|refusal: Refusal| refused(&self.path, &self.key, refusal))
    }
}
