//! Cases of files in parts for any communicator: on thread ranks, and under `mpirun`.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use dap_protocol::{DimData, DimDict, DistBuffer, ElementType, HostArray, Order};
use dist_comm::{CommExt, Communicator};
use dist_io::legate::{FileQueue, ToFile, from_file, from_file_batched, repack, to_file};
use dist_io::{
    IoError, Refusal, SaveHdf5, Storage, Strategy, Wanted, WriteMode, inspect_hdf5, load_hdf5,
    save_hdf5, verify,
};
use dist_maps::Distribution;
use half::f16;
use num_complex::Complex;

use crate::cases::{Case, part, refusal, refused};
use crate::support::{Folder, Outcome, Value, ensure, every_kind, part_with};

/// All of them.
pub const CASES: &[Case] = &[
    (
        "parts: every kind of distribution comes back",
        every_kind_comes_back,
    ),
    (
        "parts: every element type comes back",
        every_type_comes_back,
    ),
    ("parts: blocks and slabs", blocks_and_slabs),
    (
        "parts: scalars and empty arrays are values",
        scalars_and_empty,
    ),
    (
        "parts: a save replaces what was there, whatever it was",
        replaced,
    ),
    ("parts: several datasets in one file", several_datasets),
    ("parts: places that a file can go to", places),
    ("parts: what cannot be saved is refused", refused_saves),
    ("parts: lost, cut and foreign parts are found", spoilt_parts),
    ("parts: file and folder can be moved", moved),
    ("parts: what cannot be loaded is refused", refused_loads),
    ("parts: ranks that differ are told so", ranks_that_differ),
    ("parts: queued saves", queued),
    ("parts: chunks", chunks),
    ("parts: repacked into one file", repacked),
    ("parts: in chunks, through filters", coded),
    ("parts: shapes of all kinds come back", shapes),
    ("parts: checksums", checksums),
    ("parts: those of a file that is replaced go", retired),
    ("parts: their permissions are the file's", permissions),
];

/// The folders of parts in a folder.
fn part_folders(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(".parts") {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Lets rank 0 alone do something to files, with the others waiting.
pub fn alone(comm: &dyn Communicator, act: impl FnOnce() -> std::io::Result<()>) -> Outcome {
    comm.barrier()?;
    if comm.rank() == 0 {
        act()?;
    }
    comm.barrier()?;
    Ok(())
}

pub fn rows(comm: &dyn Communicator, shape: [u64; 2]) -> Result<Distribution, IoError> {
    let rows = Distribution::over(comm.size()).shape(shape).block(0);
    Ok(rows.build()?)
}

fn every_kind_comes_back(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("kinds.h5");
    let kinds = every_kind(comm.size());
    for (name, d) in &kinds {
        // what is not owned is not written
        let mine = part_with::<f64>(&d.dim_data(comm.rank())?, Some(f64::NAN));
        to_file(&mine, &path, name, comm)?;
        let back = from_file::<f64>(&path, name, Wanted::AsSaved, comm)?;
        ensure(back == part(d, comm), || format!("{name}: {back:?}"))?;
        let info = inspect_hdf5(&path, name)?;
        let all = (0..comm.size()).map(|rank| d.dim_data(rank));
        let all: Vec<DimData> = all.collect::<Result<_, _>>()?;
        let right =
            info.shape == [7, 10] && info.storage == Storage::Virtual && info.dim_data == Some(all);
        ensure(right, || format!("{name}: {info:?}"))?;
        comm.barrier()?; // everybody has looked
    }
    for (name, _) in &kinds {
        for (other, d) in &kinds {
            let back = from_file::<f64>(&path, name, d, comm)?;
            ensure(back == part(d, comm), || {
                format!("{name} as {other}: {back:?}")
            })?;
        }
        // every rank asks for the same columns, backwards
        let columns = DimDict::unstructured(10, 1, 0, vec![9, 3, 0], false)?;
        let same = DimData::new(vec![DimDict::whole(7)?, columns]);
        let back = from_file::<f64>(&path, name, &same, comm)?;
        ensure(back == part_with(&same, None), || {
            format!("{name}: {back:?}")
        })?;
    }
    Ok(())
}

fn one_type<T: Value>(comm: &dyn Communicator, folder: &Folder) -> Outcome {
    let path = folder.join("types.h5");
    let name = T::TYPE.to_string();
    let d = Distribution::over(comm.size())
        .shape([5, 9])
        .block(0)
        .block_cyclic(1, 2)
        .build()?;
    to_file(&part::<T>(&d, comm), &path, &name, comm)?;
    let back = from_file::<T>(&path, &name, Wanted::AsSaved, comm)?;
    ensure(back == part(&d, comm), || format!("{name}: {back:?}"))?;
    let chunks = from_file_batched::<T>(&path, &name, &[5, 9])?;
    let whole = DimData::new(vec![DimDict::whole(5)?, DimDict::whole(9)?]);
    let expected = part_with::<T>(&whole, None);
    for chunk in chunks {
        let (chunk, _) = chunk?;
        ensure(chunk == *expected.buffer(), || format!("{name}: {chunk:?}"))?;
    }
    comm.barrier()?;
    Ok(())
}

fn every_type_comes_back(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    one_type::<bool>(comm, &folder)?;
    one_type::<i8>(comm, &folder)?;
    one_type::<i16>(comm, &folder)?;
    one_type::<i32>(comm, &folder)?;
    one_type::<i64>(comm, &folder)?;
    one_type::<u8>(comm, &folder)?;
    one_type::<u16>(comm, &folder)?;
    one_type::<u32>(comm, &folder)?;
    one_type::<u64>(comm, &folder)?;
    one_type::<f16>(comm, &folder)?;
    one_type::<f32>(comm, &folder)?;
    one_type::<f64>(comm, &folder)?;
    one_type::<Complex<f32>>(comm, &folder)?;
    one_type::<Complex<f64>>(comm, &folder)
}

fn blocks_and_slabs(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("large.h5");
    let over = || Distribution::over(comm.size()).shape([60, 500]);
    for (d, strategy) in [
        (over().block(0).padding(2).build()?, Strategy::Direct),
        (over().cyclic(0).cyclic(1).build()?, Strategy::TwoPhase),
    ] {
        let report = to_file(&part::<i32>(&d, comm), &path, "a", comm)?;
        // one rank has no short runs, but it may hold what is no block
        ensure(report.strategy == strategy || comm.size() == 1, || {
            report.to_string()
        })?;
        // elements begin where they can be read past the page cache
        ensure(
            report.offset > 0 && report.offset.is_multiple_of(4096),
            || report.to_string(),
        )?;
        let total = comm.all_gather_value(report.file_bytes)?;
        ensure(total.iter().sum::<u64>() == 60 * 500 * 4, || {
            report.to_string()
        })?;
        let back = from_file::<i32>(&path, "a", Wanted::AsSaved, comm)?;
        ensure(back == part(&d, comm), || format!("{strategy}"))?;
        let parts = part_folders(folder.path())?;
        ensure(parts.len() == 1, || format!("{parts:?}"))?;
        let files = fs::read_dir(&parts[0])?.count();
        ensure(files == comm.size(), || format!("{files} parts"))?;
        comm.barrier()?;
    }
    Ok(())
}

fn scalars_and_empty(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("small.h5");
    let over = || Distribution::over(comm.size());
    let scalar = over().shape([]).build()?;
    let empty = over().shape([0, 3]).block(0).build()?;
    let single = over().shape([1]).cyclic(0).build()?; // every rank but one has nothing
    for (name, d) in [("scalar", &scalar), ("empty", &empty), ("single", &single)] {
        // twice: what is replaced may be in parts or not
        for _ in 0..2 {
            to_file(&part::<i64>(d, comm), &path, name, comm)?;
            let back = from_file::<i64>(&path, name, d, comm)?;
            ensure(back == part(d, comm), || format!("{name}: {back:?}"))?;
            let back = from_file::<i64>(&path, name, Wanted::AsSaved, comm)?;
            ensure(back == part(d, comm), || {
                format!("{name} as saved: {back:?}")
            })?;
        }
        // of `bool` each byte is looked at, where there are any
        let name = format!("{name} of bool");
        to_file(&part::<bool>(d, comm), &path, &name, comm)?;
        let back = from_file::<bool>(&path, &name, d, comm)?;
        ensure(back == part(d, comm), || format!("{name}: {back:?}"))?;
        comm.barrier()?; // the ranks are still in step
    }
    for name in ["single", "single of bool"] {
        to_file(&part::<i64>(&scalar, comm), &path, name, comm)?;
    }
    ensure(part_folders(folder.path())?.is_empty(), || {
        "parts of nothing".into()
    })?;
    let mut chunks = from_file_batched::<i64>(&path, "scalar", &[])?;
    let (value, offsets) = chunks.next().ok_or("no chunk")??;
    let right = value.data() == [i64::at(0)] && offsets.is_empty() && chunks.next().is_none();
    ensure(right, || format!("{value:?}"))?;
    let none = from_file_batched::<i64>(&path, "empty", &[2, 2])?.next();
    ensure(none.is_none(), || format!("{none:?}"))?;
    comm.barrier()?;
    Ok(())
}

fn replaced(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let beside = folder.join("a.hdf5"); // Legate's parts of the two would be in one folder
    let whole = |shape: &[u64]| Distribution::over(comm.size()).shape(shape);
    to_file(
        &part::<i32>(&rows(comm, [9, 9])?, comm),
        &beside,
        "/a",
        comm,
    )?;
    let first = rows(comm, [8, 6])?;
    to_file(&part::<i32>(&first, comm), &path, "/a", comm)?;
    // one rank alone, then all again: the same shape in other parts, other values
    if let Some(one) = comm.split((comm.rank() == 0).then_some(0), 0)? {
        let d = Distribution::over(1).shape([8, 6]).build()?;
        let mut mine = part::<i32>(&d, &*one);
        mine = negated(mine)?;
        to_file(&mine, &path, "/a", &*one)?;
    }
    comm.barrier()?;
    let back = from_file::<i32>(&path, "/a", &first, comm)?;
    ensure(back == negated(part(&first, comm))?, || {
        format!("stale: {back:?}")
    })?;
    for shape in [&[3, 2][..], &[40, 7], &[5], &[2, 3, 4]] {
        let d = whole(shape).cyclic(0).build()?;
        to_file(&part::<i32>(&d, comm), &path, "/a", comm)?;
        let back = from_file::<i32>(&path, "/a", &d, comm)?;
        ensure(back == part(&d, comm), || format!("{shape:?}: {back:?}"))?;
    }
    let d = whole(&[2, 3, 4]).build()?;
    to_file(&part::<f32>(&d, comm), &path, "/a", comm)?;
    let back = from_file::<f32>(&path, "/a", &d, comm)?;
    ensure(back == part(&d, comm), || format!("another type: {back:?}"))?;
    // of all these saves the last one's parts are left, and those of the file beside it
    let parts = part_folders(folder.path())?;
    ensure(parts.len() == 2, || format!("{parts:?}"))?;
    let d = rows(comm, [9, 9])?;
    let back = from_file::<i32>(&beside, "/a", &d, comm)?;
    ensure(back == part(&d, comm), || {
        format!("the file beside it: {back:?}")
    })?;
    comm.barrier()?;
    Ok(())
}

fn negated(part: DistBuffer<HostArray<i32>>) -> Result<DistBuffer<HostArray<i32>>, IoError> {
    let (_, dim_data, buffer) = part.into_parts();
    let (shape, mut elements, _) = buffer.into_parts();
    elements
        .iter_mut()
        .for_each(|element| *element = -1 - *element);
    Ok(DistBuffer::new(dim_data, HostArray::new(shape, elements)?)?)
}

fn several_datasets(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("run.h5");
    let d = rows(comm, [6, 4])?;
    save_hdf5(
        &path,
        &part::<f32>(&d, comm),
        "plain/x",
        WriteMode::Replace,
        comm,
    )?;
    to_file(&part::<i32>(&d, comm), &path, "/a", comm)?;
    to_file(&part::<i64>(&d, comm), &path, "/group/deep/b", comm)?;
    to_file(&part::<u8>(&d, comm), &path, "a", comm)?; // the first again
    ensure(
        from_file::<u8>(&path, "/a", &d, comm)? == part(&d, comm),
        || "a".into(),
    )?;
    let deep = from_file::<i64>(&path, "/group/deep/b", &d, comm)?;
    ensure(deep == part(&d, comm), || "b".into())?;
    // the same call reads what was never in parts
    ensure(
        from_file::<f32>(&path, "/plain/x", &d, comm)? == part(&d, comm),
        || "x".into(),
    )?;
    ensure(
        load_hdf5::<f32>(&path, &d, "plain/x", comm)? == part(&d, comm),
        || "x".into(),
    )?;
    let folders = part_folders(folder.path())?;
    ensure(folders.len() == 2, || format!("{folders:?}"))?;
    comm.barrier()?;
    // a file of somebody else in a folder of parts stays, and is no harm
    alone(comm, || {
        folders
            .iter()
            .try_for_each(|folder| fs::write(folder.join("notes.txt"), "mine"))
    })?;
    to_file(&part::<i32>(&d, comm), &path, "/a", comm)?;
    to_file(&part::<i32>(&d, comm), &path, "/group/deep/b", comm)?;
    ensure(
        folders
            .iter()
            .all(|folder| folder.join("notes.txt").exists()),
        || "gone".into(),
    )?;
    ensure(part_folders(folder.path())?.len() == 4, || "parts".into())?;
    comm.barrier()?;
    Ok(())
}

fn places(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let d = rows(comm, [6, 4])?;
    let mine = part::<i32>(&d, comm);
    for name in [
        "new/deep/folder/a.h5",
        "no suffix",
        "grün 雪.h5",
        "100%.h5",
        "%b%s.h5",
        ".hidden",
    ] {
        let path = folder.join(name);
        to_file(&mine, &path, "/a", comm)?;
        let back = from_file::<i32>(&path, "/a", Wanted::AsSaved, comm)?;
        ensure(back == mine, || format!("{name}: {back:?}"))?;
    }
    // behind a symbolic link: the parts go where the file is
    let real = folder.join("real");
    let link = folder.join("link.h5");
    alone(comm, || {
        fs::create_dir(&real)?;
        std::os::unix::fs::symlink("real/behind.h5", &link)
    })?;
    for _ in 0..2 {
        to_file(&mine, &link, "/a", comm)?;
        for path in [link.clone(), real.join("behind.h5")] {
            let back = from_file::<i32>(&path, "/a", &d, comm)?;
            ensure(back == mine, || format!("{}: {back:?}", path.display()))?;
        }
        ensure(part_folders(&real)?.len() == 1, || {
            "parts behind a link".into()
        })?;
        comm.barrier()?;
    }
    ensure(fs::symlink_metadata(&link)?.is_symlink(), || {
        "the link is gone".into()
    })?;
    comm.barrier()?;
    Ok(())
}

fn refused_saves(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let d = rows(comm, [6, 4])?;
    let mine = part::<i32>(&d, comm);
    let save = |path: &Path, name: &str| to_file(&mine, path, name, comm);
    let directory = refusal(comm, save(folder.path(), "/a"))?;
    ensure(directory == Refusal::NotAFile, || format!("{directory:?}"))?;
    let slash = refusal(comm, save(&folder.join("new/"), "/a"))?;
    ensure(slash == Refusal::FileName, || format!("{slash:?}"))?;
    for name in ["", "/", "a//b", "a/"] {
        let wrong = refusal(comm, save(&folder.join("key.h5"), name))?;
        ensure(matches!(wrong, Refusal::Key { .. }), || {
            format!("{wrong:?}")
        })?;
    }
    let text = folder.join("text");
    alone(comm, || {
        fs::write(&text, "no HDF5 at all, but of some length")
    })?;
    let foreign = refusal(comm, save(&text, "/a"))?;
    ensure(foreign == Refusal::NotHdf5, || format!("{foreign:?}"))?;
    let below = refusal(comm, save(&text.join("a.h5"), "/a"))?;
    ensure(matches!(below, Refusal::Os { .. }), || format!("{below:?}"))?;
    ensure(fs::read(&text)?.starts_with(b"no HDF5"), || {
        "a refused save wrote".into()
    })?;
    // where nobody may write, and a name with which nothing can be beside it
    for path in [
        "/proc/none/a.h5".into(),
        "/proc/self/a.h5".into(),
        folder.join(&"x".repeat(250)),
    ] {
        let error = refusal(comm, save(&path, "/a"))?;
        ensure(matches!(error, Refusal::Os { .. }), || {
            format!("{}: {error:?}", path.display())
        })?;
    }
    comm.barrier()?;
    let good = folder.join("good.h5");
    save(&good, "/group/a")?;
    let group = refusal(comm, save(&good, "/group"))?;
    let expected = Refusal::NotADataset {
        kind: "group".to_owned(),
    };
    ensure(group == expected, || format!("{group:?}"))?;
    let inside = refusal(comm, save(&good, "/group/a/b"))?;
    let expected = Refusal::NotAGroup {
        at: "group/a".to_owned(),
    };
    ensure(inside == expected, || format!("{inside:?}"))?;
    ensure(
        from_file::<i32>(&good, "/group/a", &d, comm)? == mine,
        || "good.h5".into(),
    )?;
    comm.barrier()?;
    let left = fs::read_dir(folder.path())?.count();
    ensure(left == 3, || format!("{left} files are left"))?; // the text, the good file, its parts
    comm.barrier()?;
    Ok(())
}

/// The error of the part, the same from every way to read it.
fn spoilt(
    comm: &dyn Communicator,
    path: &Path,
    d: &Distribution,
) -> Result<Refusal, crate::support::Failure> {
    let from = refusal(comm, from_file::<i32>(path, "/a", d, comm))?;
    let batched = refusal(comm, from_file_batched::<i32>(path, "/a", &[2, 2]))?;
    let single = refusal(comm, repack(path, path.with_extension("single")))?;
    ensure(from == batched && from == single, || {
        format!("{from:?}, {batched:?}, {single:?}")
    })?;
    match from {
        Refusal::Part { refusal, .. } => Ok(*refusal),
        other => Err(format!("another refusal: {other:?}").into()),
    }
}

fn spoilt_parts(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [8, 6])?;
    let mine = part::<i32>(&d, comm);
    to_file(&mine, &path, "/a", comm)?;
    let parts = part_folders(folder.path())?.remove(0);
    let other = folder.join("other.h5");
    to_file(&mine, &other, "/a", comm)?;
    let all = part_folders(folder.path())?;
    let of_other = all
        .into_iter()
        .find(|folder| *folder != parts)
        .ok_or("parts")?;
    // the last part
    let rank = (0..comm.size()).rposition(|rank| d.local_shape(rank)[0] > 0);
    let rank = rank.ok_or("no part")?;
    let name = format!("{rank}.h5");
    let (file, hidden) = (parts.join(&name), folder.join("hidden"));
    let whole = fs::read(&file)?;

    // the folder is renamed, a part is renamed
    for (from, to) in [
        (&parts, folder.join("elsewhere")),
        (&file, parts.join("else.h5")),
    ] {
        alone(comm, || fs::rename(from, &to))?;
        let error = spoilt(comm, &path, &d)?;
        ensure(error == Refusal::NotFound, || format!("renamed: {error:?}"))?;
        alone(comm, || fs::rename(&to, from))?;
    }
    // cut: within its elements, within its head, to nothing
    for (len, expected) in [
        (whole.len() - 1, "Library"),
        (100, "Library"),
        (7, "NotHdf5"),
        (0, "NotHdf5"),
    ] {
        alone(comm, || fs::write(&file, &whole[..len]))?;
        let error = spoilt(comm, &path, &d)?;
        ensure(format!("{error:?}").starts_with(expected), || {
            format!("cut to {len}: {error:?}")
        })?;
    }
    // another save's part, with the same shape and type and at the same place
    alone(comm, || fs::copy(of_other.join(&name), &file).map(drop))?;
    let error = spoilt(comm, &path, &d)?;
    let right = matches!(&error, Refusal::Stamp { what, .. } if what == "the save");
    ensure(right, || format!("another save: {error:?}"))?;
    // somebody's file of the same shape, without a stamp
    let bare = folder.join("bare.h5");
    if let Some(one) = comm.split((comm.rank() == 0).then_some(0), 0)? {
        let rows = d.dim_data(rank)?.local_shape()[0];
        let bare_d = Distribution::over(1).shape([rows, 6]).build()?;
        save_hdf5(
            &bare,
            &part::<i32>(&bare_d, &*one),
            "part",
            WriteMode::Replace,
            &*one,
        )?;
        fs::copy(&bare, &file)?;
    }
    comm.barrier()?;
    let error = spoilt(comm, &path, &d)?;
    let right = matches!(&error, Refusal::Stamp { given, .. } if given == "not stated");
    ensure(right, || format!("no stamp: {error:?}"))?;
    // a folder in its place
    alone(comm, || {
        fs::rename(&file, &hidden)?;
        fs::create_dir(&file)
    })?;
    let error = spoilt(comm, &path, &d)?;
    ensure(error == Refusal::NotAFile, || {
        format!("a folder: {error:?}")
    })?;
    alone(comm, || {
        fs::remove_dir(&file)?;
        fs::write(&file, &whole)
    })?;
    // two parts that changed places
    if comm.size() == 2 || comm.size() == 4 {
        let first = parts.join("0.h5");
        let swap = || {
            fs::rename(&first, &hidden)?;
            fs::rename(&file, &first)?;
            fs::rename(&hidden, &file)
        };
        alone(comm, swap)?;
        let error = spoilt(comm, &path, &d)?;
        let right = matches!(&error, Refusal::Stamp { what, .. } if what == "the block");
        ensure(right, || format!("swapped: {error:?}"))?;
        alone(comm, swap)?;
    }
    // whole again; and a save over it heals whatever there is
    ensure(from_file::<i32>(&path, "/a", &d, comm)? == mine, || {
        "whole again".into()
    })?;
    alone(comm, || fs::remove_file(&file))?;
    let error = spoilt(comm, &path, &d)?;
    ensure(error == Refusal::NotFound, || format!("deleted: {error:?}"))?;
    to_file(&mine, &path, "/a", comm)?;
    ensure(from_file::<i32>(&path, "/a", &d, comm)? == mine, || {
        "saved again".into()
    })?;
    comm.barrier()?;
    Ok(())
}

fn moved(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let d = rows(comm, [8, 6])?;
    let mine = part::<i32>(&d, comm);
    to_file(&mine, folder.join("here/a.h5"), "/a", comm)?;
    let there = folder.join("there");
    alone(comm, || fs::rename(folder.join("here"), &there))?;
    let path = there.join("a.h5");
    ensure(from_file::<i32>(&path, "/a", &d, comm)? == mine, || {
        "moved".into()
    })?;
    // the file alone may be copied beside itself: parts are found by its folder; a save over the copy leaves them alone
    let copy = there.join("copy.h5");
    alone(comm, || fs::copy(&path, &copy).map(drop))?;
    ensure(from_file::<i32>(&copy, "/a", &d, comm)? == mine, || {
        "copied".into()
    })?;
    to_file(&negated(part(&d, comm))?, &copy, "/a", comm)?;
    ensure(from_file::<i32>(&path, "/a", &d, comm)? == mine, || {
        "the original".into()
    })?;
    // without its parts it is an error
    let lonely = folder.join("a.h5");
    alone(comm, || fs::copy(&path, &lonely).map(drop))?;
    let error = spoilt(comm, &lonely, &d)?;
    ensure(error == Refusal::NotFound, || format!("{error:?}"))?;
    comm.barrier()?;
    Ok(())
}

fn refused_loads(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("good.h5");
    let d = rows(comm, [6, 4])?;
    to_file(&part::<i32>(&d, comm), &path, "/group/a", comm)?;
    let text = folder.join("text");
    alone(comm, || fs::write(&text, "no HDF5"))?;
    let missing = |name: &str| Refusal::MissingKey {
        missing: name.to_owned(),
    };
    let group = Refusal::NotADataset {
        kind: "group".to_owned(),
    };
    for (path, name, expected) in [
        (folder.join("absent.h5"), "/a", Refusal::NotFound),
        (folder.path().to_owned(), "/a", Refusal::NotAFile),
        (text, "/a", Refusal::NotHdf5),
        (path.clone(), "/b", missing("b")),
        (path.clone(), "/group", group),
        (
            path.clone(),
            "",
            Refusal::Key {
                given: String::new(),
            },
        ),
    ] {
        let given = refusal(comm, from_file::<i32>(&path, name, &d, comm))?;
        let batched = refusal(comm, from_file_batched::<i32>(&path, name, &[1, 1]))?;
        ensure(given == expected && batched == expected, || {
            format!("{name}: {given:?}, {batched:?}")
        })?;
    }
    let wrong_type = refused(comm, from_file::<f64>(&path, "/group/a", &d, comm))?;
    let batched = refused(comm, from_file_batched::<f64>(&path, "/group/a", &[1, 1]))?;
    let expected = IoError::ElementType {
        given: ElementType::I32,
        allowed: ElementType::F64,
    };
    ensure(wrong_type == expected && batched == expected, || {
        format!("{wrong_type:?}")
    })?;
    let longer = rows(comm, [7, 4])?;
    let wrong_shape = refused(comm, from_file::<i32>(&path, "/group/a", &longer, comm))?;
    let expected = IoError::Shape {
        given: vec![6, 4],
        allowed: vec![7, 4],
    };
    ensure(wrong_shape == expected, || format!("{wrong_shape:?}"))?;
    for (chunk_size, expected) in [
        (
            &[2][..],
            IoError::Dimensions {
                what: "chunk_size",
                given: 1,
                allowed: 2,
            },
        ),
        (
            &[],
            IoError::Dimensions {
                what: "chunk_size",
                given: 0,
                allowed: 2,
            },
        ),
        (&[0, 2], IoError::ChunkExtent { axis: 0, given: 0 }),
        (&[2, 0], IoError::ChunkExtent { axis: 1, given: 0 }),
    ] {
        let error = refused(
            comm,
            from_file_batched::<i32>(&path, "/group/a", chunk_size),
        )?;
        ensure(error == expected, || format!("{chunk_size:?}: {error:?}"))?;
    }
    Ok(())
}

fn ranks_that_differ(comm: &dyn Communicator) -> Outcome {
    if comm.size() == 1 {
        return Ok(());
    }
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [6, 4])?;
    let last = comm.rank() + 1 == comm.size();
    let mine = part::<i32>(&d, comm);
    let other = folder.join(if last { "b.h5" } else { "a.h5" });
    let name = if last { "/b" } else { "/a" };
    let mut errors = vec![
        refused(comm, to_file(&mine, &other, "/a", comm))?,
        refused(comm, to_file(&mine, &path, name, comm))?,
    ];
    let left = fs::read_dir(folder.path())?.count();
    ensure(left == 0, || "a file of ranks that differ".into())?;
    comm.barrier()?;
    to_file(&mine, &path, "/a", comm)?;
    errors.push(refused(comm, from_file::<i32>(&other, "/a", &d, comm))?);
    errors.push(refused(comm, from_file::<i32>(&path, name, &d, comm))?);
    let wanted = if last {
        Wanted::AsSaved
    } else {
        Wanted::Distribution(&d)
    };
    errors.push(refused(comm, from_file::<i32>(&path, "/a", wanted, comm))?);
    let mut queue = FileQueue::new(comm);
    if last {
        queue.to_file_queued(&mine, &path, "/c");
    }
    errors.push(refused(comm, queue.fence())?);
    for error in errors {
        let right = matches!(error, IoError::Differ { rank, .. } if rank + 1 == comm.size());
        ensure(right, || format!("{error:?}"))?;
    }
    // saved by these ranks, asked for by one
    let alone = comm
        .split(Some(u32::from(comm.rank() > 0)), 0)?
        .ok_or("a part")?;
    let error = refused(
        &*alone,
        from_file::<i32>(&path, "/a", Wanted::AsSaved, &*alone),
    )?;
    ensure(matches!(error, IoError::Ranks { .. }), || {
        format!("{error:?}")
    })?;
    comm.barrier()?;
    Ok(())
}

fn queued(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("steps.h5");
    let d = rows(comm, [6, 4])?;
    let mut queue = FileQueue::new(comm);
    let mut mine = part::<i32>(&d, comm);
    queue.to_file_queued(&mine, &path, "/a");
    let old = mine.clone();
    mine = negated(mine)?; // the queue has a copy
    queue.to_file_queued(&mine, &path, "/b");
    comm.barrier()?;
    ensure(queue.len() == 2 && !path.exists(), || "not at once".into())?;
    comm.barrier()?;
    // seen without a fence
    ensure(queue.from_file::<i32>(&path, "/a", &d)? == old, || {
        "a".into()
    })?;
    ensure(queue.from_file::<i32>(&path, "/b", &d)? == mine, || {
        "b".into()
    })?;
    ensure(queue.is_empty(), || "still queued".into())?;
    // over what is there
    queue.to_file_queued(&mine, &path, "/a");
    let reports = queue.fence()?;
    ensure(reports.len() == 1 && queue.fence()?.is_empty(), || {
        format!("{reports:?}")
    })?;
    ensure(from_file::<i32>(&path, "/a", &d, comm)? == mine, || {
        "a again".into()
    })?;
    // what fails is dropped, what is behind it is not
    queue.to_file_queued(&mine, folder.path(), "/a");
    queue.to_file_queued(&old, &path, "/c");
    let error = refusal(comm, queue.fence())?;
    ensure(error == Refusal::NotAFile && queue.len() == 1, || {
        format!("{error:?}")
    })?;
    ensure(queue.from_file::<i32>(&path, "/c", &d)? == old, || {
        "c".into()
    })?;
    comm.barrier()?;
    Ok(())
}

fn chunks(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = Distribution::over(comm.size())
        .shape([7, 10])
        .block_cyclic(0, 2)
        .cyclic(1)
        .build()?;
    to_file(&part::<i64>(&d, comm), &path, "/a", comm)?;
    save_hdf5(
        &path,
        &part::<i64>(&d, comm),
        "plain",
        WriteMode::Append,
        comm,
    )?;
    for name in ["/a", "/plain"] {
        for chunk_size in [[1, 1], [2, 3], [7, 10], [100, 100], [3, 10], [7, 4]] {
            for budget in [u64::MAX, chunk_size.iter().product::<u64>().min(70) * 8] {
                // each rank every so many chunks: together all of them
                let chunks = from_file_batched::<i64>(&path, name, &chunk_size)?.within(budget)?;
                let mut seen = Vec::new();
                let mine = chunks.skip(comm.rank()).step_by(comm.size());
                for chunk in mine {
                    let (chunk, offsets) = chunk?;
                    let (shape, elements, _) = chunk.into_parts();
                    let clipped = [7, 10].iter().zip(&offsets).zip(&chunk_size);
                    let clipped =
                        clipped.map(|((size, at), extent)| (size - at).min(*extent) as usize);
                    ensure(clipped.eq(shape.iter().copied()), || {
                        format!("{shape:?} at {offsets:?}")
                    })?;
                    for (i, element) in elements.into_iter().enumerate() {
                        let row = offsets[0] + (i / shape[1]) as u64;
                        let column = offsets[1] + (i % shape[1]) as u64;
                        let flat = row * 10 + column;
                        ensure(element == i64::at(flat), || {
                            format!("{row}, {column}: {element}")
                        })?;
                        seen.push(flat);
                    }
                }
                let counts = comm.all_gather_value(seen.len() as u64)?;
                ensure(counts.iter().sum::<u64>() == 70, || format!("{counts:?}"))?;
                seen.sort_unstable();
                seen.dedup();
                ensure(seen.len() as u64 == counts[comm.rank()], || "twice".into())?;
            }
        }
    }
    let error = refused(
        comm,
        from_file_batched::<i64>(&path, "/a", &[2, 3])?.within(47),
    )?;
    let expected = IoError::Budget {
        given: 48,
        allowed: 47,
    };
    ensure(error == expected, || format!("{error:?}"))?;
    let batches = from_file_batched::<i64>(&path, "/a", &[2, 3])?;
    ensure(
        batches.shape() == [7, 10] && batches.size_hint() == (16, Some(16)),
        || format!("{batches:?}"),
    )?;
    comm.barrier()?;
    Ok(())
}

fn repacked(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let (path, out) = (folder.join("run.h5"), folder.join("one.h5"));
    let d = Distribution::over(comm.size())
        .shape([7, 10])
        .cyclic(1)
        .build()?;
    to_file(&part::<f64>(&d, comm), &path, "/a", comm)?;
    to_file(&part::<bool>(&d, comm), &path, "/group/b", comm)?;
    let scalar = Distribution::over(comm.size()).shape([]).build()?;
    to_file(&part::<u8>(&scalar, comm), &path, "/scalar", comm)?;
    save_hdf5(
        &path,
        &part::<i16>(&d, comm),
        "plain",
        WriteMode::Append,
        comm,
    )?;
    let check = |path: &Path| -> Outcome {
        ensure(
            from_file::<f64>(path, "/a", Wanted::AsSaved, comm)? == part(&d, comm),
            || "a".into(),
        )?;
        ensure(
            from_file::<bool>(path, "/group/b", &d, comm)? == part(&d, comm),
            || "b".into(),
        )?;
        ensure(
            from_file::<u8>(path, "/scalar", &scalar, comm)? == part(&scalar, comm),
            || "scalar".into(),
        )?;
        ensure(
            load_hdf5::<i16>(path, &d, "plain", comm)? == part(&d, comm),
            || "plain".into(),
        )
    };
    alone(comm, || repack(&path, &out).map_err(std::io::Error::other))?;
    check(&path)?;
    for name in ["/a", "/group/b", "/plain"] {
        let info = inspect_hdf5(&out, name)?;
        ensure(
            matches!(info.storage, Storage::Contiguous { offset: Some(_) }),
            || format!("{info:?}"),
        )?;
    }
    comm.barrier()?;
    // in place: the parts go; and what was repacked needs none
    alone(comm, || repack(&path, &path).map_err(std::io::Error::other))?;
    let left = part_folders(folder.path())?;
    ensure(left.is_empty(), || format!("{left:?}"))?;
    check(&path)?;
    check(&out)?;
    comm.barrier()?;
    Ok(())
}

fn coded(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("coded.h5");
    let chunked = || ToFile::new(&path).chunk([3, 4]);
    let ways = [
        ("raw", chunked()),
        ("fletcher32", chunked().fletcher32(true)),
        ("both", chunked().shuffle(true).deflate(4)),
        ("chosen", ToFile::new(&path).deflate(9).checksums(true)),
        (
            "all",
            chunked()
                .shuffle(true)
                .deflate(1)
                .fletcher32(true)
                .checksums(true),
        ),
        (
            "large",
            ToFile::new(&path).chunk([100, 100]).attribute("units", "K"),
        ),
    ];
    let kinds = every_kind(comm.size());
    for (at, (name, d)) in kinds.iter().enumerate() {
        let mine = part_with::<f64>(&d.dim_data(comm.rank())?, Some(f64::NAN));
        // half of the ways for each, some of the others to read it
        for (way, save) in ways.iter().cycle().skip(at).step_by(2).take(3) {
            let key = format!("{name}/{way}");
            let report = save.clone().key(&key).save(&mine, comm)?;
            ensure(report.offset == 0, || report.to_string())?;
            let back = from_file::<f64>(&path, &key, Wanted::AsSaved, comm)?;
            ensure(back == part(d, comm), || format!("{key}: {back:?}"))?;
            for (other, d) in kinds.iter().cycle().skip(at).step_by(3).take(3) {
                let back = from_file::<f64>(&path, &key, d, comm)?;
                ensure(back == part(d, comm), || {
                    format!("{key} as {other}: {back:?}")
                })?;
            }
            // every rank asks for the same columns, backwards
            let columns = DimDict::unstructured(10, 1, 0, vec![9, 3, 0], false)?;
            let same = DimData::new(vec![DimDict::whole(7)?, columns]);
            let back = from_file::<f64>(&path, &key, &same, comm)?;
            ensure(back == part_with(&same, None), || {
                format!("{key}: {back:?}")
            })?;
            let batches = from_file_batched::<f64>(&path, &key, &[2, 10])?;
            let mut all = Vec::new();
            for batch in batches.threads(NonZero::<usize>::MIN.saturating_add(1)) {
                all.extend_from_slice(batch?.0.data());
            }
            let whole = DimData::new(vec![DimDict::whole(7)?, DimDict::whole(10)?]);
            ensure(
                all == part_with::<f64>(&whole, None).buffer().data(),
                || format!("{key}: {all:?}"),
            )?;
            let sums = if matches!(*way, "chosen" | "all") {
                verify(&path, &key, comm)?.sums > 0
            } else {
                refusal(comm, verify(&path, &key, comm))? == Refusal::NoChecksums
            };
            ensure(sums, || format!("{key}: checksums"))?;
            comm.barrier()?; // everybody has looked
        }
    }
    let info = inspect_hdf5(&path, "rows/large")?;
    ensure(info.attributes["units"] == "K".into(), || {
        format!("{info:?}")
    })?;
    // queued, and replaced by one that is not coded
    let d = rows(comm, [7, 10])?;
    let mine = part::<f64>(&d, comm);
    let mut queue = FileQueue::new(comm);
    queue.queue(chunked().deflate(4).key("queued"), &mine);
    ensure(queue.from_file::<f64>(&path, "queued", &d)? == mine, || {
        "queued".into()
    })?;
    to_file(&mine, &path, "queued", comm)?;
    ensure(from_file::<f64>(&path, "queued", &d, comm)? == mine, || {
        "plain".into()
    })?;
    let folders = part_folders(folder.path())?.len();
    ensure(folders == kinds.len() * 3 + 1, || {
        format!("{folders} folders")
    })?;
    comm.barrier()?;
    let wrong = |save: ToFile| refused(comm, save.key("wrong").save(&mine, comm));
    let level = IoError::DeflateLevel { given: 10 };
    ensure(wrong(chunked().deflate(10))? == level, || "level".into())?;
    let zero = IoError::ChunkExtent { axis: 1, given: 0 };
    let error = wrong(ToFile::new(&path).chunk([3, 0]))?;
    ensure(error == zero, || format!("{error:?}"))?;
    let error = wrong(ToFile::new(&path).chunk([3]))?;
    ensure(matches!(error, IoError::Dimensions { .. }), || {
        format!("{error:?}")
    })?;
    if comm.size() > 1 {
        let level = if comm.rank() == 0 { 1 } else { 2 };
        let error = wrong(chunked().deflate(level))?;
        let right = matches!(
            error,
            IoError::Differ {
                what: "way of storing",
                rank: 1,
                ..
            }
        );
        ensure(right, || format!("{error:?}"))?;
    }
    Ok(())
}

fn shapes(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("shapes.h5");
    let seven = [2, 1, 3, 1, 2, 1, 2];
    let mut twelve = [1; 12];
    (twelve[0], twelve[5], twelve[11]) = (3, 2, 2);
    for shape in [
        &[0][..],
        &[0, 5],
        &[5, 0],
        &[0, 0, 3],
        &[1],
        &[40],
        &seven,
        &twelve,
    ] {
        for coded in [false, true] {
            let d = Distribution::over(comm.size())
                .shape(shape)
                .block(0)
                .build()?;
            let mine = part::<i32>(&d, comm);
            let mut save = ToFile::new(&path).key("a");
            if coded {
                save = save.deflate(3).checksums(true);
            }
            save.save(&mine, comm)?;
            let back = from_file::<i32>(&path, "a", Wanted::AsSaved, comm)?;
            ensure(back == mine, || format!("{shape:?}: {back:?}"))?;
            let elements = shape.iter().product::<u64>();
            let mut read = 0;
            let chunk: Vec<u64> = shape.iter().map(|&size| size.max(2) / 2).collect();
            for batch in from_file_batched::<i32>(&path, "a", &chunk)? {
                read += batch?.0.data().len() as u64;
            }
            ensure(read == elements, || format!("{shape:?}: {read} in batches"))?;
            if coded {
                let verified = verify(&path, "a", comm)?;
                ensure((verified.bytes == 0) == (elements == 0), || {
                    format!("{verified:?}")
                })?;
            }
            comm.barrier()?;
        }
    }
    // a transposed array is written in C order
    let d = Distribution::over(comm.size())
        .shape([6, 4])
        .block(0)
        .build()?;
    let mine = part::<i32>(&d, comm);
    let (_, dim_data, buffer) = mine.clone().into_parts();
    let (shape, elements, _) = buffer.into_parts();
    let (rows, columns) = (shape[0], shape[1]);
    let turned = (0..columns).flat_map(|c| (0..rows).map(move |r| (r, c)));
    let turned = turned.map(|(r, c)| elements[r * columns + c]).collect();
    let turned = HostArray::with_order(shape, turned, Order::Fortran)?;
    let turned = DistBuffer::new(dim_data, turned)?;
    for save in [ToFile::new(&path), ToFile::new(&path).chunk([2, 3])] {
        save.key("turned").save(&turned, comm)?;
        let back = from_file::<i32>(&path, "turned", &d, comm)?;
        ensure(back == mine, || format!("turned: {back:?}"))?;
        comm.barrier()?;
    }
    Ok(())
}

fn checksums(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("sums.h5");
    let d = rows(comm, [64, 6])?;
    let mine = part::<i64>(&d, comm);
    for (way, save) in [
        ("plain", ToFile::new(&path)),
        ("coded", ToFile::new(&path).chunk([4, 6]).fletcher32(true)),
    ] {
        save.clone().key("a").checksums(true).save(&mine, comm)?;
        let verified = verify(&path, "a", comm)?;
        let sums = if way == "plain" {
            comm.size() as u64
        } else {
            16
        };
        let right = verified.bytes >= 64 * 48 && (verified.sums >= sums);
        ensure(right, || format!("{way}: {verified:?}"))?;
        let parts = part_folders(folder.path())?.remove(0);
        let file = parts.join(format!("{}.h5", comm.size() - 1));
        let whole = fs::read(&file)?;
        comm.barrier()?;
        // the last element of the last part
        let wanted = i64::at(64 * 6 - 1).to_ne_bytes();
        let at = whole
            .windows(8)
            .rposition(|bytes| bytes == wanted)
            .ok_or("no element")?;
        alone(comm, || {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            fs::write(&file, damaged)
        })?;
        let error = refusal(comm, verify(&path, "a", comm))?;
        let damaged = match &error {
            Refusal::Part { refusal, .. } => match **refusal {
                Refusal::Damaged { from, to, .. } => (from..to).contains(&(at as u64)),
                _ => false,
            },
            _ => false,
        };
        ensure(damaged, || format!("{way}: {error:?}"))?;
        let read = from_file::<i64>(&path, "a", &d, comm);
        if way == "coded" {
            // readers check the sums of chunks
            let error = refusal(comm, read)?;
            let right = matches!(&error, Refusal::Part { refusal, .. } if matches!(**refusal, Refusal::Chunk { .. }));
            ensure(right, || format!("{error:?}"))?;
        }
        alone(comm, || fs::remove_file(&file))?;
        let error = refusal(comm, verify(&path, "a", comm))?;
        let lost =
            matches!(&error, Refusal::Part { refusal, .. } if **refusal == Refusal::NotFound);
        ensure(lost, || format!("{way}: {error:?}"))?;
        alone(comm, || fs::write(&file, &whole))?;
        ensure(verify(&path, "a", comm)? == verified, || "mended".into())?;
        // what is made of the parts has sums too, and none without them
        let one = folder.join("one.h5");
        alone(comm, || repack(&path, &one).map_err(std::io::Error::other))?;
        let again = verify(&one, "a", comm)?;
        ensure(again.bytes == 64 * 48, || format!("{again:?}"))?;
        comm.barrier()?;
        save.key("a").save(&mine, comm)?;
        let error = refusal(comm, verify(&path, "a", comm))?;
        ensure(error == Refusal::NoChecksums, || format!("{error:?}"))?;
        alone(comm, || fs::remove_file(&one))?;
    }
    // a scalar is in the file itself
    let scalar = Distribution::over(comm.size()).shape([]).build()?;
    let save = ToFile::new(&path).key("scalar").checksums(true);
    save.save(&part::<i64>(&scalar, comm), comm)?;
    ensure(verify(&path, "scalar", comm)?.bytes == 8, || {
        "scalar".into()
    })?;
    comm.barrier()?;
    Ok(())
}

fn retired(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let (path, other) = (folder.join("a.h5"), folder.join("other.h5"));
    let d = rows(comm, [8, 6])?;
    let mine = part::<i32>(&d, comm);
    to_file(&mine, &other, "a", comm)?;
    let left = |expected: usize, what: &str| -> Outcome {
        let folders = part_folders(folder.path())?;
        ensure(folders.len() == expected, || format!("{what}: {folders:?}"))?;
        comm.barrier()?;
        Ok(())
    };
    let in_parts = || -> Outcome {
        to_file(&mine, &path, "a", comm)?;
        ToFile::new(&path)
            .key("group/b")
            .deflate(1)
            .save(&mine, comm)?;
        left(3, "two datasets, and the other file's")
    };
    in_parts()?;
    save_hdf5(&path, &mine, "c", WriteMode::Append, comm)?;
    left(3, "one more dataset")?;
    // refused: they stay
    let error = refusal(
        comm,
        save_hdf5(&path, &mine, "a", WriteMode::CreateNew, comm),
    )?;
    ensure(error == Refusal::Exists, || format!("{error:?}"))?;
    left(3, "nothing new")?;
    save_hdf5(&path, &mine, "c", WriteMode::Replace, comm)?;
    left(1, "saved as a whole")?;
    in_parts()?;
    let single = Distribution::over(1).shape([2]).build()?;
    let bytes = part_with::<u8>(&single.dim_data(0)?, None);
    alone(comm, || {
        let new = SaveHdf5::new(&path).mode(WriteMode::Replace);
        let writer = new.begin(&single, ElementType::U8);
        let mut writer = writer.map_err(std::io::Error::other)?;
        writer.write_part(&bytes).map_err(std::io::Error::other)?;
        writer.publish().map_err(std::io::Error::other)
    })?;
    left(1, "piece by piece")?;
    in_parts()?;
    alone(comm, || {
        repack(&other, &path).map_err(std::io::Error::other)
    })?;
    left(1, "another file as one")?;
    // what somebody put there stays, and a file under another name keeps its parts
    to_file(&mine, &path, "a", comm)?;
    let moved = folder.join("moved.h5");
    alone(comm, || {
        let parts = part_folders(folder.path()).map_err(std::io::Error::other)?;
        parts
            .iter()
            .try_for_each(|parts| fs::write(parts.join("notes.txt"), "mine"))?;
        fs::rename(&path, &moved)
    })?;
    save_hdf5(&path, &mine, "c", WriteMode::Replace, comm)?;
    save_hdf5(&path, &mine, "c", WriteMode::Replace, comm)?;
    left(2, "moved")?;
    for path in [&other, &moved] {
        let back = from_file::<i32>(path, "a", &d, comm)?;
        ensure(back == mine, || format!("{}: {back:?}", path.display()))?;
    }
    comm.barrier()?;
    save_hdf5(&other, &mine, "c", WriteMode::Replace, comm)?;
    left(2, "with notes")?;
    let notes = part_folders(folder.path())?;
    let files = notes.iter().map(|parts| Ok(fs::read_dir(parts)?.count()));
    let files = files.collect::<std::io::Result<Vec<usize>>>()?;
    ensure(files.contains(&1), || format!("{files:?}"))?;
    comm.barrier()?;
    Ok(())
}

fn permissions(comm: &dyn Communicator) -> Outcome {
    use std::os::unix::fs::PermissionsExt;

    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [8, 6])?;
    let mine = part::<i32>(&d, comm);
    let mode = |path: &Path| -> std::io::Result<u32> {
        Ok(fs::metadata(path)?.permissions().mode() & 0o777)
    };
    to_file(&mine, &path, "a", comm)?;
    let plain = folder.join("plain");
    alone(comm, || fs::write(&plain, ""))?;
    let parts = part_folders(folder.path())?.remove(0);
    let same = mode(&path)? == mode(&plain)? && mode(&parts.join("0.h5"))? == mode(&plain)?;
    ensure(same, || "not as the umask has it".into())?;
    comm.barrier()?;
    for (bits, of_folder) in [(0o600, 0o700), (0o640, 0o750), (0o664, 0o775)] {
        alone(comm, || {
            fs::set_permissions(&path, fs::Permissions::from_mode(bits))
        })?;
        for save in [
            ToFile::new(&path),
            ToFile::new(&path).chunk([2, 2]).checksums(true),
        ] {
            save.key("a").save(&mine, comm)?;
            let parts = part_folders(folder.path())?.remove(0);
            let found = [mode(&path)?, mode(&parts)?, mode(&parts.join("0.h5"))?];
            ensure(found == [bits, of_folder, bits], || format!("{found:?}"))?;
            comm.barrier()?;
        }
    }
    ensure(from_file::<i32>(&path, "a", &d, comm)? == mine, || {
        "a".into()
    })?;
    Ok(())
}
