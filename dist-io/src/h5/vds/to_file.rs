//! [`to_file`]: a distributed array as one virtual dataset, every rank's part in a file of its own.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use dap_protocol::{DimData, Dist, DistributedArray, ElementType, HostBuffer, LocalBuffer};
use dist_comm::agree::agree;
use dist_comm::{Communicator, FileMode, SharedFile, SharedFileOps};
use dist_maps::Distribution;
use hdf5_metno::{Datatype, Hyperslab, SliceOrIndex};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::super::attribute::{AttributeValue, attach};
use super::super::create::{self, extents};
use super::super::save::{bytes_of, check_edges};
use super::super::together::{by_rank_0, same, settle};
use super::super::{Refusal, element, metadata};
use super::SAVE_ATTRIBUTE;
use super::block::Block;
use super::mosaic::{Mosaic, MosaicFile, Piece};
use super::part_file::{self, PART_KEY, file_name};
use super::place::{Place, sync_folder};
use crate::publish::{PublishError, directory};
use crate::{Direction, FileLayout, IoError, IoPlan, IoReport, Strategy, write_elements};

/// Saves a distributed array as one dataset of an HDF5 file, the elements in a file for each rank. Collective; equal paths and
/// keys.
///
/// ```text
/// run.h5                             the dataset, virtual: h5py reads it as one
/// run.h5.Xy12Ab34Cd56Ef78.parts/     this save's folder; the names in run.h5 are relative, so both can be moved together
///     0.h5  1.h5  2.h5               one block of the array each
/// ```
///
/// Any exporter of the protocol is taken, in any distribution. Where every rank owns a block in long runs, its part is that
/// block; otherwise elements are exchanged in memory first, and each part is a slab of rows. A rank without elements writes no
/// part. A scalar, and an array without elements, is an ordinary dataset in the file itself.
///
/// Folders on the way to `path` are made. Groups on the way to the dataset are made too. A file that is there keeps its other
/// datasets: this one is added to a copy of it, which then replaces the file; saves of one file wait for each other, and one that
/// another program has open to write it is refused. **A dataset of this name is replaced**, whatever its shape and type
/// ([`save_hdf5`](crate::save_hdf5) refuses a key that exists). Its parts are removed afterwards, unless another dataset of the
/// file names them: who still reads the old file by this crate is told so ([`Refusal::Changed`]), while **the HDF5 library gives
/// other programs fill values in their place**.
///
/// Parts are written and synced first, each stamped with its save and its block; the file is renamed last. Whoever opens it, at
/// any time and after any crash, finds the old dataset or the new one, whole. A killed save leaves a folder `<file>.<save>.parts`
/// and perhaps a file `.<file>.<random>.tmp`.
///
/// Returns when all of this is done. Numbers in the report are those of this rank's part.
///
/// # Errors
/// The same on every rank; the file is then as it was, unless the refusal is [`Refusal::Unsynced`]. [`IoError::Hdf5`] with what is wrong with path or name (a folder, a file
/// that is no HDF5, a name that is a group's), [`IoError::Differ`] when ranks give different ones, or elements of different types;
/// [`IoError::Protocol`] or [`IoError::Map`] when the parts are no array; [`IoError::NoHdf5Type`];
/// [`IoError::Uncovered`] when no rank holds some index; [`IoError::Agreed`] and [`IoError::Comm`] when a rank fails by itself.
///
/// ```
/// use dap_protocol::{DistBuffer, HostArray};
/// use dist_comm::{Communicator, SingleComm, ThreadComm};
/// use dist_io::legate::{from_file, to_file};
/// use dist_io::{IoError, Wanted};
/// use dist_maps::Distribution;
///
/// # let dir = tempfile::tempdir()?;
/// let path = dir.path().join("results/run.h5"); // the folder is made
/// let rows = Distribution::over(2).shape([4, 3]).block(0).build()?;
/// ThreadComm::run(2, |comm| {
///     let mine = HostArray::new(vec![2, 3], vec![comm.rank() as f32; 6])?;
///     let mine = DistBuffer::new(rows.dim_data(comm.rank())?, mine)?;
///     to_file(&mine, &path, "/heat", comm)?; // collective
///     assert_eq!(from_file::<f32>(&path, "/heat", Wanted::AsSaved, comm)?, mine);
///     Ok::<_, IoError>(())
/// })?;
/// let whole = Distribution::over(1).shape([4, 3]).build()?;
/// let whole = from_file::<f32>(&path, "/heat", &whole, &SingleComm::new())?;
/// assert_eq!(whole.buffer().data()[3..9], [0.0, 0.0, 0.0, 1.0, 1.0, 1.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_file<'a, A>(
    array: &'a A,
    path: impl AsRef<Path>,
    key: &str,
    comm: &(impl Communicator + ?Sized),
) -> Result<IoReport, IoError>
where
    A: DistributedArray,
    A::Buffer<'a>: HostBuffer,
{
    let part = array.distarray();
    let element = part.buffer().element_type();
    let job = Job {
        path: path.as_ref().to_owned(),
        name: key.to_owned(),
        element,
        dim_data: part.dim_data().clone(),
        bytes: check_edges(&part).and_then(|()| bytes_of(part.buffer(), element)),
    };
    save(comm, &job)
}

/// A rank's part that is to be saved, or why it cannot be.
pub(super) struct Job<'a> {
    pub(super) path: PathBuf,
    pub(super) name: String,
    pub(super) element: ElementType,
    pub(super) dim_data: DimData,
    pub(super) bytes: Result<Cow<'a, [u8]>, IoError>,
}

/// Carries a save out. Collective.
pub(super) fn save(
    comm: &(impl Communicator + ?Sized),
    job: &Job<'_>,
) -> Result<IoReport, IoError> {
    let (path, name, element) = (job.path.as_path(), job.name.as_str(), job.element);
    same(
        comm,
        &[
            ("path", path.as_os_str().as_bytes()),
            ("key", name.as_bytes()),
            ("element type", element.to_string().as_bytes()),
        ],
    )?;
    if !element::has_type(element) {
        return Err(IoError::NoHdf5Type { element });
    }
    let ty = settle(comm, path, name, element::in_file(element))?;
    let bytes = agree(comm, job.bytes.as_deref())?;
    let parts = metadata::gather(comm, &job.dim_data)?;
    let distribution = metadata::whole(&parts)?;
    let plan = IoPlan::new(
        &distribution,
        element.size(),
        FileLayout::Contiguous,
        Direction::Write,
    )?;
    let whole = Whole {
        path,
        name,
        ty,
        shape: distribution.global_shape().to_vec(),
        dim_data: settle(comm, path, name, metadata::to_text(&parts))?,
    };
    // from here on there are files
    if whole.shape.is_empty() || whole.shape.contains(&0) {
        save_plain(comm, &whole, &plan, bytes)
    } else {
        let (plan, blocks) = tiling(plan)?;
        save_parts(comm, &whole, &plan, &blocks, bytes)
    }
}

/// A dataset that is about to be made.
pub(super) struct Whole<'a> {
    pub(super) path: &'a Path,
    pub(super) name: &'a str,
    pub(super) ty: Datatype,
    pub(super) shape: Vec<u64>,
    /// The metadata of all ranks, as text.
    pub(super) dim_data: String,
}

/// The block that is each rank's part, and a plan that writes it.
pub(super) fn tiling(plan: IoPlan) -> Result<(IoPlan, Vec<Option<Block>>), IoError> {
    if plan.strategy() == Strategy::Direct
        && let Some(blocks) = owned_blocks(plan.distribution())?
    {
        return Ok((plan, blocks));
    }
    let plan = plan.with_strategy(Strategy::TwoPhase);
    let blocks = owned_blocks(plan.slabs())?.expect("slabs are blocks");
    Ok((plan, blocks))
}

/// What every rank owns, where that is a block everywhere; `None` for a rank without elements.
fn owned_blocks(distribution: &Distribution) -> Result<Option<Vec<Option<Block>>>, IoError> {
    let mut blocks = Vec::with_capacity(distribution.ranks());
    for rank in 0..distribution.ranks() {
        let dim_data = distribution.dim_data(rank)?;
        let mut block = Block::new(Vec::new(), Vec::new());
        for dim in &dim_data {
            let (Dist::Block { .. }, Some(owned)) = (dim.dist(), dim.owned_range()) else {
                return Ok(None);
            };
            block.start.push(owned.start);
            block.shape.push(owned.end.saturating_sub(owned.start));
        }
        let has_elements = distribution.grid_rank(rank).is_some() && !block.is_empty();
        blocks.push(has_elements.then_some(block));
    }
    Ok(Some(blocks))
}

/// A folder for parts, as rank 0 tells the others of it.
#[derive(Serialize, Deserialize)]
struct Folder {
    path: Vec<u8>,
    save: String,
}

fn save_parts(
    comm: &(impl Communicator + ?Sized),
    whole: &Whole<'_>,
    plan: &IoPlan,
    blocks: &[Option<Block>],
    bytes: &[u8],
) -> Result<IoReport, IoError> {
    let mut place = None;
    let folder: Folder = by_rank_0(comm, whole.path, whole.name, || {
        let there = Place::new(whole.path, whole.name)?;
        let (made, save) = there.folder()?;
        let folder = Folder {
            path: made.path().as_os_str().as_bytes().to_vec(),
            save,
        };
        place = Some((there, made));
        Ok(folder)
    })?;
    let own = blocks.get(comm.rank()).cloned().flatten();
    let file = Path::new(OsStr::from_bytes(&folder.path)).join(file_name(comm.rank()));
    let made = own.map(|block| {
        let offset = part_file::create(&file, &whole.ty, &block, &folder.save)?;
        Ok::<_, Refusal>(Piece::dense(&file, offset, block))
    });
    let piece = settle(comm, whole.path, whole.name, made.transpose())?;
    let offset = piece.as_ref().map_or(0, |piece| piece.offset);
    let item = plan.item_size();
    let pieces = piece.into_iter().collect();
    let mosaic = Mosaic::new(&whole.shape, (item, item), pieces, true);
    let file = MosaicFile::new(comm, whole.path, &mosaic);
    let mut report = write_elements(comm, &file, 0, plan, bytes)?;
    report.offset = offset;
    file.sync()?;
    by_rank_0(comm, whole.path, whole.name, || {
        let (place, folder_made) = place.take().expect("rank 0 made the folder");
        publish(&place, folder_made, &folder.save, whole, blocks, &[])
    })?;
    Ok(report)
}

/// Publishes the file with the virtual dataset, when all parts in the folder are on the device. By rank 0.
pub(super) fn publish(
    place: &Place,
    folder: TempDir,
    save: &str,
    whole: &Whole<'_>,
    blocks: &[Option<Block>],
    attributes: &[(String, AttributeValue)],
) -> Result<(), Refusal> {
    for folder in [folder.path(), directory(folder.path())] {
        sync_folder(folder)?;
    }
    let begun = place.begin(whole.name)?;
    let folder_name = folder.path().file_name().unwrap_or_default();
    let dataset = create_virtual(&begun.file, whole, blocks, folder_name)?;
    create::describe(&dataset, &whole.dim_data, attributes)?;
    let save = AttributeValue::Text(save.to_owned());
    attach(&dataset, SAVE_ATTRIBUTE, &save)?;
    create::close(begun.file, dataset)?;
    let outcome = begun.pending.publish();
    if matches!(outcome, Ok(()) | Err(PublishError::Unsynced(_))) {
        let _ = folder.keep();
    }
    outcome?;
    if let Some(replaced) = begun.replaced {
        place.remove_parts(&replaced);
    }
    Ok(())
}

/// Makes the virtual dataset.
fn create_virtual(
    file: &hdf5_metno::Group,
    whole: &Whole<'_>,
    blocks: &[Option<Block>],
    folder: &OsStr,
) -> Result<hdf5_metno::Dataset, Refusal> {
    // "%" begins a pattern in the names of sources
    let folder = folder.to_str().ok_or(Refusal::FileName)?.replace('%', "%%");
    let extents_of_whole = extents(&whole.shape)?;
    let mut builder = file
        .new_dataset_builder()
        .empty_as(&whole.ty)
        .shape(extents_of_whole.clone());
    for (rank, block) in blocks.iter().enumerate() {
        let Some(block) = block else { continue };
        let part = extents(&block.shape)?;
        let source = hyperslab(&vec![0; part.len()], &part);
        let target = hyperslab(&extents(&block.start)?, &part);
        builder = builder.virtual_map(
            format!("{folder}/{}", file_name(rank)),
            PART_KEY,
            part,
            source,
            extents_of_whole.clone(),
            target,
        );
    }
    builder
        .create(key_of(whole.name).as_str())
        .map_err(Refusal::library("make the virtual dataset"))
}

fn hyperslab(start: &[usize], shape: &[usize]) -> Hyperslab {
    let axes = start.iter().zip(shape);
    // a step that is less than the block is refused, even if there is one block
    let slices: Vec<SliceOrIndex> = axes
        .map(|(&start, &block)| SliceOrIndex::SliceCount {
            start,
            step: block,
            count: 1,
            block,
        })
        .collect();
    slices.into()
}

/// The name without the slash that it may begin with.
fn key_of(name: &str) -> String {
    name.strip_prefix('/').unwrap_or(name).to_owned()
}

/// An ordinary dataset, as rank 0 tells the others of it.
#[derive(Serialize, Deserialize)]
struct Plain {
    path: Vec<u8>,
    offset: u64,
}

/// Saves a scalar, or an array without elements, in the file itself.
fn save_plain(
    comm: &(impl Communicator + ?Sized),
    whole: &Whole<'_>,
    plan: &IoPlan,
    bytes: &[u8],
) -> Result<IoReport, IoError> {
    let mut pending = None;
    let begun: Plain = by_rank_0(comm, whole.path, whole.name, || {
        let place = Place::new(whole.path, whole.name)?;
        let begun = place.begin(whole.name)?;
        let key = key_of(whole.name);
        let dataset = create::contiguous(&begun.file, &key, &whole.ty, &whole.shape)?;
        create::describe(&dataset, &whole.dim_data, &[])?;
        let offset = create::offset_of(&dataset, &whole.shape)?;
        create::close(begun.file, dataset)?;
        let path = begun.pending.path().as_os_str().as_bytes().to_vec();
        pending = Some((place, begun.pending, begun.replaced));
        Ok(Plain { path, offset })
    })?;
    let file = comm.open_shared(
        Path::new(OsStr::from_bytes(&begun.path)),
        FileMode::ReadWrite,
    )?;
    let report = write_elements(comm, &*file, begun.offset, plan, bytes)?;
    file.sync()?;
    drop(file);
    by_rank_0(comm, whole.path, whole.name, || {
        let (place, pending, replaced) = pending.take().expect("rank 0 began the file");
        pending.publish()?;
        if let Some(replaced) = replaced {
            place.remove_parts(&replaced);
        }
        Ok(())
    })?;
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks_of(distribution: &Distribution) -> (Strategy, Vec<Option<Block>>) {
        let plan = IoPlan::new(distribution, 8, FileLayout::Contiguous, Direction::Write);
        let (plan, blocks) = tiling(plan.unwrap()).unwrap();
        (plan.strategy(), blocks)
    }

    #[test]
    fn blocks_are_parts_and_others_are_slabs() {
        let over = |ranks| Distribution::over(ranks).shape([4, 6]);
        let block = |start: [u64; 2], shape: [u64; 2]| Some(Block::new(start.into(), shape.into()));
        let columns = over(2).block(1).padding(1).build().unwrap();
        let tiles = vec![block([0, 0], [4, 3]), block([0, 3], [4, 3])];
        assert_eq!(blocks_of(&columns), (Strategy::Direct, tiles));
        let dealt = over(2).cyclic(1).build().unwrap();
        let rows = vec![block([0, 0], [2, 6]), block([2, 0], [2, 6])];
        assert_eq!(blocks_of(&dealt), (Strategy::TwoPhase, rows));
        let few = over(6).block(0).build().unwrap();
        let (_, parts) = blocks_of(&few);
        assert_eq!(parts.iter().flatten().count(), 4);
        assert_eq!(parts[5], None);
    }
}
