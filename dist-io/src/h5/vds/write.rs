//! [`save`]: a save in parts carried out: every rank's part, then the file that names them all.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dap_protocol::Dist;
use dist_comm::agree::agree;
use dist_comm::{Communicator, FileMode, SharedFile, SharedFileOps};
use dist_maps::Distribution;
use hdf5_metno::{Datatype, Hyperslab, SliceOrIndex};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::super::attribute::{AttributeValue, attach};
use super::super::chunk::{Filter, threads_of_rank};
use super::super::create::{self, extents};
use super::super::together::{by_rank_0, same, settle};
use super::super::{Refusal, element, metadata, verify};
use super::SAVE_ATTRIBUTE;
use super::block::Block;
use super::mosaic::{Mosaic, MosaicFile, Piece};
use super::part_file::{self, Coding, PART_KEY, file_name};
use super::place::{Access, Place, sync_folder};
use super::to_file::Job;
use crate::execute::{NO_EXCHANGE, exchange, room};
use crate::publish::{PublishError, directory};
use crate::{
    Direction, FileLayout, FilePart, FileRun, IoError, IoPlan, IoReport, Strategy, write_elements,
};

/// Carries a save out. Collective.
pub(super) fn save(
    comm: &(impl Communicator + ?Sized),
    job: &Job<'_>,
) -> Result<IoReport, IoError> {
    let (how, element) = (&job.how, job.element);
    let (path, name) = (how.path.as_path(), how.key.as_str());
    same(
        comm,
        &[
            ("path", path.as_os_str().as_bytes()),
            ("key", name.as_bytes()),
            ("way of storing", how.text().as_bytes()),
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
    let (layout, filters) = how.layout(distribution.global_shape(), element.size())?;
    if let FileLayout::Chunked { chunk } = &layout
        && let Some(axis) = chunk.iter().position(|&extent| extent == 0)
    {
        return Err(IoError::ChunkExtent { axis, given: 0 });
    }
    let whole = Whole {
        path,
        name,
        ty,
        chunk: match layout {
            FileLayout::Chunked { chunk } => Some(chunk),
            FileLayout::Contiguous => None,
        },
        filters,
        checksums: how.checksums,
        attributes: &how.attributes,
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
    /// Of the parts, where these are in chunks.
    pub(super) chunk: Option<Vec<u64>>,
    pub(super) filters: Vec<Filter>,
    pub(super) checksums: bool,
    pub(super) attributes: &'a [(String, AttributeValue)],
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
    /// Who may do what with the parts, where a file is replaced.
    access: Option<Access>,
}

impl Folder {
    fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }

    /// Whether this rank sees it: no other one has its name.
    fn is_here(&self, rank: usize) -> Result<(), Refusal> {
        if self.path().is_dir() {
            return Ok(());
        }
        Err(Refusal::Unshared { rank })
    }

    /// Gives a part that is there the right permissions.
    fn give_access(&self, part: &Path) -> Result<(), Refusal> {
        let given = self.access.map_or(Ok(()), |access| access.give(part));
        given.map_err(Refusal::os("set the permissions"))
    }
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
            access: there.access(),
        };
        place = Some((there, made));
        Ok(folder)
    })?;
    let own = blocks.get(comm.rank()).cloned().flatten();
    let report = match &whole.chunk {
        None => write_plain(comm, whole, plan, &folder, own, bytes)?,
        Some(chunk) => write_coded(comm, whole, (plan, chunk), &folder, own, bytes)?,
    };
    by_rank_0(comm, whole.path, whole.name, || {
        let (place, folder_made) = place.take().expect("rank 0 made the folder");
        publish(&place, folder_made, &folder.save, whole, blocks)
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
) -> Result<(), Refusal> {
    for folder in [folder.path(), directory(folder.path())] {
        sync_folder(folder)?;
    }
    let begun = place.begin(whole.name)?;
    let folder_name = folder.path().file_name().unwrap_or_default();
    let dataset = create_virtual(&begun.file, whole, blocks, folder_name)?;
    create::describe(&dataset, &whole.dim_data, whole.attributes)?;
    let save = AttributeValue::Text(save.to_owned());
    attach(&dataset, SAVE_ATTRIBUTE, &save)?;
    if whole.checksums {
        verify::of_parts(&dataset)?;
    }
    create::close(begun.file, dataset)?;
    let outcome = begun.pending.publish();
    if matches!(outcome, Ok(()) | Err(PublishError::Unsynced(_))) {
        let _ = folder.keep();
    }
    Ok(outcome?)
}

/// Writes every rank's part in one piece. Collective.
fn write_plain(
    comm: &(impl Communicator + ?Sized),
    whole: &Whole<'_>,
    plan: &IoPlan,
    folder: &Folder,
    own: Option<Block>,
    bytes: &[u8],
) -> Result<IoReport, IoError> {
    let file = folder.path().join(file_name(comm.rank()));
    let made = folder.is_here(comm.rank()).and_then(|()| {
        let piece = own.map(|block| {
            let offset = part_file::create(&file, &whole.ty, &block, &folder.save)?;
            folder.give_access(&file)?;
            Ok::<_, Refusal>(Piece::dense(&file, offset, block))
        });
        piece.transpose()
    });
    let piece = settle(comm, whole.path, whole.name, made)?;
    let (offset, has_part) = (
        piece.as_ref().map_or(0, |piece| piece.offset),
        piece.is_some(),
    );
    let item = plan.item_size();
    let pieces = piece.into_iter().collect();
    let mosaic = Mosaic::new(&whole.shape, (item, item), pieces, true);
    let parts = MosaicFile::new(comm, whole.path, &mosaic);
    let mut report = write_elements(comm, &parts, 0, plan, bytes)?;
    report.offset = offset;
    parts.sync()?;
    if whole.checksums {
        let summed = if has_part {
            part_file::sum(&file).and_then(|()| part_file::sync(&file))
        } else {
            Ok(())
        };
        settle(comm, whole.path, whole.name, summed)?;
    }
    Ok(report)
}

/// Writes every rank's part in chunks. Collective.
fn write_coded(
    comm: &(impl Communicator + ?Sized),
    whole: &Whole<'_>,
    (plan, chunk): (&IoPlan, &[u64]),
    folder: &Folder,
    own: Option<Block>,
    bytes: &[u8],
) -> Result<IoReport, IoError> {
    let (rank, item) = (comm.rank(), plan.item_size());
    let mut report = IoReport::begun(plan.strategy(), 0);
    let here = folder.is_here(rank);
    settle(comm, whole.path, whole.name, here)?;
    let block = match plan.strategy() {
        Strategy::Direct => agree(comm, gathered(&plan.part(rank)?, bytes, item))?,
        Strategy::TwoPhase => {
            let redist = agree(comm, plan.exchange(rank))?.ok_or(NO_EXCHANGE)?;
            let requests = agree(comm, plan.requests(rank))?;
            let mut slab = agree(comm, room(requests.elements(), item))?;
            report.exchanged_bytes = exchange::exchange(comm, &redist, item, bytes, &mut slab)?;
            Cow::Owned(slab)
        }
    };
    let coding = Coding {
        chunk,
        filters: &whole.filters,
        item,
        threads: threads_of_rank(comm.size()),
    };
    let file = folder.path().join(file_name(rank));
    let write = |own: Block| {
        let (ty, save) = (&whole.ty, &folder.save);
        part_file::create_coded(&file, ty, &own, save, &coding, &block, &mut report)?;
        folder.give_access(&file)?;
        if whole.checksums {
            part_file::sum(&file)?;
        }
        part_file::sync(&file)
    };
    let written = own.map_or(Ok(()), write);
    settle(comm, whole.path, whole.name, written)?;
    Ok(report)
}

/// What a rank owns, one element after another.
fn gathered<'a>(part: &FilePart, bytes: &'a [u8], item: usize) -> Result<Cow<'a, [u8]>, IoError> {
    let place = |run: &FileRun| run.local * item..(run.local + run.len) * item;
    let mut runs = part.runs();
    let (first, second) = (runs.next(), runs.next());
    let one = match (&first, &second) {
        (None, _) => Some(0..0),
        (Some(run), None) => Some(place(run)),
        _ => None,
    };
    if let Some(place) = one {
        return Ok(Cow::Borrowed(&bytes[place]));
    }
    let mut all = Vec::new();
    let len = part.elements().saturating_mul(item);
    all.try_reserve_exact(len)
        .map_err(|_| IoError::Memory { bytes: len })?;
    // runs come in the order of the buffer, which is that of the block
    for run in part.runs() {
        all.extend_from_slice(&bytes[place(&run)]);
    }
    Ok(Cow::Owned(all))
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
        create::describe(&dataset, &whole.dim_data, whole.attributes)?;
        let offset = create::offset_of(&dataset, &whole.shape)?;
        create::close(begun.file, dataset)?;
        let path = begun.pending.path().as_os_str().as_bytes().to_vec();
        pending = Some(begun.pending);
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
        let pending = pending.take().expect("rank 0 began the file");
        if whole.checksums {
            verify::keep_alone(pending.path(), &key_of(whole.name))?;
        }
        Ok(pending.publish()?)
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
    fn a_folder_that_a_rank_does_not_see_is_told() {
        let folder = |path: &Path| Folder {
            path: path.as_os_str().as_bytes().to_vec(),
            save: String::new(),
            access: None,
        };
        let there = tempfile::tempdir().unwrap();
        assert_eq!(folder(there.path()).is_here(3), Ok(()));
        let elsewhere = folder(&there.path().join("none"));
        assert_eq!(elsewhere.is_here(3), Err(Refusal::Unshared { rank: 3 }));
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
