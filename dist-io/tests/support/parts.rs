//! Cases of files in parts for any communicator: on thread ranks, and under `mpirun`.

use std::fs;
use std::path::{Path, PathBuf};

use dap_protocol::{DimData, DimDict, DistBuffer, ElementType, HostArray};
use dist_comm::{CommExt, Communicator};
use dist_io::legate::{FileQueue, from_file, from_file_batched, repack, to_file};
use dist_io::{
    IoError, Refusal, Storage, Strategy, Wanted, WriteMode, inspect_hdf5, load_hdf5, save_hdf5,
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
fn alone(comm: &dyn Communicator, act: impl FnOnce() -> std::io::Result<()>) -> Outcome {
    comm.barrier()?;
    if comm.rank() == 0 {
        act()?;
    }
    comm.barrier()?;
    Ok(())
}

fn rows(comm: &dyn Communicator, shape: [u64; 2]) -> Result<Distribution, IoError> {
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
    // the part of the last rank
    let name = format!("{}.h5", comm.size() - 1);
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
        let rows = d.dim_data(comm.size() - 1)?.local_shape()[0];
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
