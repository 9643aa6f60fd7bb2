//! Cases of parallel HDF5, for MPI processes alone.

use std::fs::{self, File};
use std::path::Path;

use dap_protocol::{DimData, DimDict, DistBuffer, ElementType, HostArray};
use dist_comm::{CommExt, Communicator, SingleComm};
use dist_io::legate::to_file;
use dist_io::{
    ByteOrder, CollectiveIo, IoError, IoMode, IoReport, LoadHdf5, Refusal, SaveHdf5, Strategy,
    Wanted, Way, WriteMode, inspect_hdf5, load_hdf5, open_dset, verify,
};
use dist_maps::Distribution;
use half::bf16;
use num_complex::Complex;

use crate::cases::{self, Case, FILTERS, part, refusal, refused};
use crate::doomed::Doomed;
use crate::large;
use crate::support::{
    Failure, Folder, Outcome, Value, ensure, every_kind, flat_indices, for_every_type, part_with,
    small,
};

/// All of them.
pub const CASES: &[Case] = &[
    ("parallel: every kind of distribution", every_kind_parallel),
    ("parallel: every element type", every_type_parallel),
    (
        "parallel: byte orders, codes and checksums",
        orders_parallel,
    ),
    (
        "parallel: many datasets, of which ranks have nothing",
        many_parallel,
    ),
    ("parallel: chunks, every filter", chunked_parallel),
    ("parallel: chunks that do not shrink", random_parallel),
    ("parallel: scalars and empty arrays", small_parallel),
    ("parallel: strategies and reports", reports),
    ("parallel: modes keep what was there", modes_parallel),
    ("parallel: refusals", refusals),
    ("parallel: a rank without descriptors", no_descriptors),
    ("parallel: saves that fail at any call", fail_anywhere),
];

/// The report's part on collective transfers.
fn collective(report: &IoReport) -> Result<CollectiveIo, Failure> {
    let missing = || Failure::from(format!("no collective transfer: {report}"));
    report.collective.ok_or_else(missing)
}

/// Loads in a way, and says how transfers went.
fn load_by<'a, T: Value>(
    way: Way,
    path: &Path,
    wanted: impl Into<Wanted<'a>>,
    key: &str,
    comm: &dyn Communicator,
) -> Result<(DistBuffer<HostArray<T>>, Option<CollectiveIo>), IoError> {
    let how = LoadHdf5::new(path).key(key).way(way);
    let (part, report) = how.load_reported(wanted, comm)?;
    Ok((part, report.collective))
}

fn save(path: &Path, key: &str) -> SaveHdf5 {
    SaveHdf5::new(path).key(key).way(Way::Mpio)
}

fn every_kind_parallel(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let kinds = every_kind(comm.size());
    for (i, (name, d)) in kinds.iter().enumerate() {
        let path = folder.join(&format!("{name}.h5"));
        // what is not owned is not written
        let mine = part_with::<f64>(&d.dim_data(comm.rank())?, Some(f64::NAN));
        let report = save(&path, "a/b").save(&mine, comm)?;
        let written = collective(&report)?;
        ensure(
            written.mode == IoMode::Contiguous && written.causes.is_empty(),
            || format!("{name}: {report}"),
        )?;
        let (back, _) = load_by::<f64>(Way::Mpio, &path, Wanted::AsSaved, "a/b", comm)?;
        ensure(back == part(d, comm), || format!("{name}: {back:?}"))?;
        let (other, into) = &kinds[(i + 3) % kinds.len()];
        for way in [Way::Mpio, Way::Offsets] {
            let (back, _) = load_by::<f64>(way, &path, into, "a/b", comm)?;
            ensure(back == part(into, comm), || {
                format!("{name} as {other} by {way}: {back:?}")
            })?;
        }
        comm.barrier()?; // everybody has looked
    }
    Ok(())
}

fn one_type<T: Value>(comm: &dyn Communicator, folder: &Folder) -> Outcome {
    let path = folder.join(&format!("{}.h5", T::TYPE));
    let d = Distribution::over(comm.size())
        .shape([5, 9])
        .block(0)
        .block_cyclic(1, 2)
        .build()?;
    let mine = part::<T>(&d, comm);
    save(&path, "a").save(&mine, comm)?;
    for way in [Way::Mpio, Way::Offsets] {
        let (back, _) = load_by::<T>(way, &path, Wanted::AsSaved, "a", comm)?;
        ensure(back == mine, || format!("by {way}: {back:?}"))?;
    }
    comm.barrier()?;
    Ok(())
}

fn every_type_parallel(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    for_every_type!(one_type(comm, &folder));
    Ok(())
}

/// Elements of the other byte order go to the file and come from it as they are, by every way of storing them.
fn order_of<T: Value>(comm: &dyn Communicator, folder: &Folder, is_coded: bool) -> Outcome {
    let path = folder.join(&format!("{}.h5", T::TYPE));
    let d = Distribution::over(comm.size())
        .shape([5, 9])
        .block(0)
        .block_cyclic(1, 2)
        .build()?;
    let mine = part::<T>(&d, comm);
    for order in [ByteOrder::Little, ByteOrder::Big] {
        for which in 0..4 {
            let key = format!("{order:?}/{which}");
            let mut how = save(&path, &key).byte_order(order).checksums(true);
            if which > 0 {
                how = filtered(how.chunk([2, 4]), which);
            }
            if is_coded {
                how = how.enumeration([("NONE", 0_i16), ("SEVEN", 7)]);
            }
            let written = collective(&how.save(&mine, comm)?)?;
            // in the type of the file, so that nothing is converted
            ensure(written.causes.is_empty(), || format!("{key}: {written}"))?;
            let load = LoadHdf5::new(&path).key(&key).codes(is_coded);
            for way in [Way::Mpio, Way::Offsets] {
                let (back, _) = load.clone().way(way).load_reported::<T>(&d, comm)?;
                ensure(back == mine, || format!("{key} by {way}: {back:?}"))?;
            }
            verify(&path, &key, comm)?;
            let info = inspect_hdf5(&path, &key)?;
            let right = info.byte_order == order || size_of::<T>() == 1;
            ensure(right && info.is_enumeration == is_coded, || {
                format!("{key}: {info:?}")
            })?;
            comm.barrier()?;
        }
    }
    Ok(())
}

fn orders_parallel(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    order_of::<i16>(comm, &folder, true)?;
    order_of::<u64>(comm, &folder, true)?;
    order_of::<bf16>(comm, &folder, false)?;
    order_of::<f32>(comm, &folder, false)?;
    order_of::<Complex<f64>>(comm, &folder, false)
}

/// One row less than there are ranks, and other datasets of one element.
fn many_parallel(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("many.h5");
    let rows = (comm.size() as u64 - 1).max(1);
    let few = Distribution::over(comm.size())
        .shape([rows, 3])
        .block(0)
        .build()?;
    let one = Distribution::over(comm.size())
        .shape([1])
        .cyclic(0)
        .build()?;
    for number in 0..20 {
        for (name, d) in [("few", &few), ("one", &one)] {
            let mut how = save(&path, &format!("{number}/{name}"));
            if number % 3 == 1 {
                how = how.deflate(1);
            }
            how.save(&part::<f64>(d, comm), comm)?;
        }
    }
    for number in 0..20 {
        for (name, d) in [("few", &few), ("one", &one)] {
            let key = format!("{number}/{name}");
            let (back, _) = load_by::<f64>(Way::Mpio, &path, d, &key, comm)?;
            ensure(back == part(d, comm), || format!("{key}: {back:?}"))?;
        }
    }
    comm.barrier()?;
    Ok(())
}

/// With filters or without, by number.
fn filtered(save: SaveHdf5, which: usize) -> SaveHdf5 {
    cases::filtered(save, FILTERS[which % FILTERS.len()])
}

fn chunked_parallel(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let kinds = every_kind(comm.size());
    for (i, (name, d)) in kinds.iter().enumerate() {
        // chunks within the array, over its edges, of all of it
        let chunk = [[2, 5], [3, 4], [7, 10]][i % 3];
        for which in [i, i + 1] {
            let path = folder.join(&format!("{name}-{which}.h5"));
            let mine = part_with::<i32>(&d.dim_data(comm.rank())?, Some(-1));
            let report = filtered(save(&path, "a").chunk(chunk), which).save(&mine, comm)?;
            let written = collective(&report)?;
            ensure(written.causes.is_empty(), || format!("{name}: {report}"))?;
            for way in [Way::Mpio, Way::Offsets] {
                let (back, _) = load_by::<i32>(way, &path, Wanted::AsSaved, "a", comm)?;
                ensure(back == part(d, comm), || {
                    format!("{name}, {which} by {way}: {back:?}")
                })?;
            }
            comm.barrier()?;
        }
        // what the other way wrote
        let path = folder.join("other.h5");
        let mine = part::<i32>(d, comm);
        let other = SaveHdf5::new(&path).mode(WriteMode::Replace).chunk(chunk);
        filtered(other, i).save(&mine, comm)?;
        let (_, into) = &kinds[(i + 1) % kinds.len()];
        let (back, report) = load_by::<i32>(Way::Mpio, &path, into, "buffer", comm)?;
        ensure(back == part(into, comm), || format!("{name}: {report:?}"))?;
        comm.barrier()?;
    }
    Ok(())
}

/// Compressed chunks that would be longer than their elements, which are stored as they are.
fn random_parallel(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let d = Distribution::over(comm.size())
        .shape([12, 8])
        .cyclic(0)
        .build()?;
    let dim_data = d.dim_data(comm.rank())?;
    let random = |flat: u64| {
        let mixed = (flat + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let numbers = flat_indices(&dim_data).into_iter().map(random).collect();
    let mine = HostArray::new(d.local_shape(comm.rank()), numbers)?;
    let mine = DistBuffer::new(dim_data, mine)?;
    let path = folder.join("random.h5");
    for way in [Way::Offsets, Way::Mpio] {
        let how = SaveHdf5::new(&path).mode(WriteMode::Replace).way(way);
        let report = how.chunk([2, 4]).deflate(9).save(&mine, comm)?;
        for by in [Way::Mpio, Way::Offsets] {
            let (back, _) = load_by::<u64>(by, &path, &d, "buffer", comm)?;
            ensure(back == mine, || {
                format!("saved by {way}, loaded by {by}: {report}")
            })?;
        }
        comm.barrier()?;
    }
    Ok(())
}

fn small_parallel(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    for (name, d) in &small(comm.size()) {
        let path = folder.join(name);
        let mine = part::<i64>(d, comm);
        let report = save(&path, "a").save(&mine, comm)?;
        let calls = report.collective.map_or(0, |collective| collective.calls);
        ensure(calls == u64::from(*name != "empty"), || report.to_string())?;
        for way in [Way::Mpio, Way::Offsets] {
            let (back, _) = load_by::<i64>(way, &path, d, "a", comm)?;
            ensure(back == mine, || format!("{name} by {way}: {back:?}"))?;
        }
        comm.barrier()?;
        let flags = part::<bool>(d, comm);
        save(&path, "flags").save(&flags, comm)?;
        let (back, _) = load_by::<bool>(Way::Mpio, &path, d, "flags", comm)?;
        ensure(back == flags, || format!("{name} of bool: {back:?}"))?;
        comm.barrier()?;
    }
    Ok(())
}

fn reports(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("large.h5");
    let over = || Distribution::over(comm.size()).shape([60, 500]);
    for (d, expected) in [
        (over().block(0).build()?, Strategy::Direct),
        (over().cyclic(0).cyclic(1).build()?, Strategy::TwoPhase),
    ] {
        let mine = part::<i32>(&d, comm);
        for chunked in [false, true] {
            let mut how = save(&path, "a").mode(WriteMode::Replace);
            if chunked {
                how = how.chunk([7, 500]);
            }
            let report = how.save(&mine, comm)?;
            let written = collective(&report)?;
            let mode = if chunked {
                IoMode::ChunksCollective
            } else {
                IoMode::Contiguous
            };
            // chunks that ranks share are brought together first
            let two_phase = expected == Strategy::TwoPhase || chunked;
            let two_phase = two_phase && comm.size() > 1;
            let right = written.calls == 1
                && written.mode == mode
                && report.requests <= 1
                && (report.strategy == Strategy::TwoPhase) >= two_phase;
            ensure(right, || format!("{d:?}, chunked {chunked}: {report}"))?;
            let total = comm.all_gather_value(report.file_bytes)?;
            ensure(total.iter().sum::<u64>() == 60 * 500 * 4, || {
                report.to_string()
            })?;
            let (back, read) = load_by::<i32>(Way::Mpio, &path, &d, "a", comm)?;
            let read = read.ok_or("no collective transfer")?;
            // chunks are read by each rank by itself
            let mode = if chunked { IoMode::Independent } else { mode };
            ensure(back == mine && read.mode == mode, || {
                format!("{d:?}, chunked {chunked}: {read}")
            })?;
            comm.barrier()?;
        }
    }
    Ok(())
}

fn modes_parallel(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("modes.h5");
    let d = Distribution::over(comm.size())
        .shape([12])
        .block(0)
        .build()?;
    let mine = part::<i16>(&d, comm);
    save(&path, "g/a")
        .attribute("units", "K")
        .save(&mine, comm)?;
    save(&path, "g/b").chunk([5]).save(&mine, comm)?;
    SaveHdf5::new(&path).key("g/c").save(&mine, comm)?;
    for key in ["g/a", "g/b", "g/c"] {
        let back = load_hdf5::<i16>(&path, Wanted::AsSaved, key, comm)?;
        ensure(back == mine, || format!("{key}: {back:?}"))?;
    }
    let info = inspect_hdf5(&path, "g/a")?;
    let all: Result<Vec<DimData>, _> = (0..comm.size()).map(|rank| d.dim_data(rank)).collect();
    let right = info.dim_data == Some(all?) && info.attributes["units"] == "K".into();
    ensure(right, || format!("{info:?}"))?;
    let given = refusal(comm, save(&path, "g/a").save(&mine, comm))?;
    ensure(given == Refusal::KeyExists, || format!("{given:?}"))?;
    let new = save(&path, "a").mode(WriteMode::CreateNew);
    let given = refusal(comm, new.save(&mine, comm))?;
    ensure(given == Refusal::Exists, || format!("{given:?}"))?;
    comm.barrier()?;
    if comm.rank() == 0 {
        let left = fs::read_dir(folder.path())?.count();
        ensure(left == 1, || format!("{left} files"))?;
    }
    comm.barrier()?;
    Ok(())
}

fn refusals(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = Distribution::over(comm.size())
        .shape([12, 2])
        .block(0)
        .build()?;
    let mine = part::<f32>(&d, comm);
    // one rank that says something else
    let way = if comm.rank() + 1 == comm.size() && comm.rank() > 0 {
        Way::Offsets
    } else {
        Way::Mpio
    };
    let outcome = SaveHdf5::new(&path).way(way).save(&mine, comm);
    if comm.size() > 1 {
        let error = refused(comm, outcome)?;
        let differ = matches!(error, IoError::Differ { .. });
        ensure(differ && !path.exists(), || error.to_string())?;
    } else {
        outcome?;
    }
    comm.barrier()?;
    // no MPI
    let alone = SingleComm::new();
    let whole = Distribution::over(1).shape([3]).build()?;
    let single = part::<f32>(&whole, &alone);
    let error = save(&folder.join("single.h5"), "a").save(&single, &alone);
    ensure(error == Err(IoError::NotMpi { rank: 0 }), || {
        format!("{error:?}")
    })?;
    // no array
    save(&path, "array").save(&mine, comm)?;
    let columns = DimDict::unstructured(2, 1, 0, vec![1], false)?;
    let same = DimData::new(vec![DimDict::whole(12)?, columns]);
    let taken = load_by::<f32>(Way::Mpio, &path, &same, "array", comm);
    if comm.size() == 1 {
        ensure(taken?.0 == part_with(&same, None), || "column 1".to_owned())?;
    } else {
        let error = refused(comm, taken)?;
        let no_array = matches!(error, IoError::NoArray);
        ensure(no_array, || error.to_string())?;
    }
    // not there, and not what can be read so
    let absent = load_by::<f32>(Way::Mpio, &path, &d, "absent", comm);
    let given = refusal(comm, absent)?;
    let missing = matches!(given, Refusal::MissingKey { .. });
    ensure(missing, || format!("{given:?}"))?;
    let parts = folder.join("parts.h5");
    to_file(&mine, &parts, "/a", comm)?;
    let (back, read) = load_by::<f32>(Way::Mpio, &parts, &d, "a", comm)?;
    ensure(back == mine && read.is_none(), || format!("{read:?}"))
}

/// The file is opened by each rank first: one that cannot is heard of before the library waits for all.
fn no_descriptors(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = Distribution::over(comm.size())
        .shape([12])
        .cyclic(0)
        .build()?;
    let old = part::<u8>(&d, comm);
    save(&path, "a").save(&old, comm)?;
    let last = comm.size() - 1;
    let mut held = Vec::new();
    if comm.rank() == last {
        // where there is no such limit nothing can be tried
        while held.len() < 100_000 {
            match File::open("/dev/null") {
                Ok(file) => held.push(file),
                Err(_) => break,
            }
        }
    }
    let limited = comm.broadcast_vec(last, vec![u8::from(held.len() < 100_000)])? == [1];
    if limited && last > 0 {
        let outcome = load_by::<u8>(Way::Mpio, &path, &d, "a", comm);
        let given = refusal(comm, outcome)?;
        ensure(matches!(given, Refusal::Os { .. }), || format!("{given:?}"))?;
        let replace = save(&path, "a").mode(WriteMode::Replace);
        let given = refusal(comm, replace.save(&part::<u8>(&d, comm), comm))?;
        ensure(matches!(given, Refusal::Os { .. }), || format!("{given:?}"))?;
        // what does without parallel HDF5 says so on all ranks too
        let outcome = load_by::<u8>(Way::Offsets, &path, &d, "a", comm);
        refused(comm, outcome)?;
        let replace = save(&path, "a").mode(WriteMode::Replace);
        for how in [replace.clone(), replace.chunk([5])] {
            refused(comm, how.way(Way::Offsets).save(&old, comm))?;
        }
        refused(comm, to_file(&old, &path, "a", comm))?;
        let lazy = open_dset::<u8>(&path, "a", comm)?;
        refused(comm, lazy.load())?;
        refused(comm, lazy.fill(1))?;
    }
    drop(held);
    comm.barrier()?;
    let files = fs::read_dir(folder.path())?.count();
    ensure(files == 1, || format!("{files} files"))?;
    let back = load_hdf5::<u8>(&path, Wanted::AsSaved, "a", comm)?;
    ensure(back == old, || format!("{back:?}"))?;
    comm.barrier()?;
    Ok(())
}

/// The ranks cannot reach each other from some call on: the old array is there, and nothing else.
fn fail_anywhere(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = Distribution::over(comm.size())
        .shape([12])
        .cyclic(0)
        .build()?;
    let (old, new) = (part::<u8>(&d, comm), part::<i16>(&d, comm));
    save(&path, "a").save(&old, comm)?;
    let replace = save(&path, "a").mode(WriteMode::Replace);
    for calls in 0.. {
        let outcome = replace.save(&new, &Doomed::new(comm, calls));
        let all = comm.all_gather_v(&[u8::from(outcome.is_ok())])?;
        ensure(all.iter().all(|done| *done == all[0]), || {
            format!("after {calls} calls: {all:?}")
        })?;
        comm.barrier()?;
        if comm.rank() == 0 {
            let files = fs::read_dir(folder.path())?.count();
            ensure(files == 1, || format!("{files} files after {calls} calls"))?;
        }
        if outcome.is_ok() {
            return ensure(calls > 10, || format!("only {calls} calls"));
        }
        // the last of them may tell the ranks of what was published
        let element = inspect_hdf5(&path, "a")?.element;
        if element == ElementType::U8 {
            let back = load_hdf5::<u8>(&path, Wanted::AsSaved, "a", comm)?;
            ensure(back == old, || format!("after {calls} calls: {back:?}"))?;
        } else {
            let back = load_hdf5::<i16>(&path, Wanted::AsSaved, "a", comm)?;
            ensure(back == new, || format!("after {calls} calls: {back:?}"))?;
            save(&path, "a").mode(WriteMode::Replace).save(&old, comm)?;
        }
        comm.barrier()?;
    }
    unreachable!("saves have an end")
}

/// What all ways write, for h5py: run by itself, because Python is started.
pub const WAYS: &[Case] = &[("parallel: all ways write the same", all_ways)];

/// The same array by every way, in files of its own: contiguous, in chunks, filtered, by offsets and by parallel HDF5.
fn by_all_ways<T: Value>(
    comm: &dyn Communicator,
    folder: &Folder,
    name: &str,
    d: &Distribution,
) -> Outcome {
    let mine = part::<T>(d, comm);
    for (stored, which) in [("contiguous", None), ("chunks", Some(0)), ("gzip", Some(2))] {
        for way in [Way::Offsets, Way::Mpio] {
            let path = folder.join(&format!("{name}.{stored}.{way}.h5"));
            let mut how = SaveHdf5::new(&path).key("a").way(way);
            if let Some(which) = which {
                how = filtered(how.chunk([3, 4]), which);
            }
            how.attribute("units", "K").save(&mine, comm)?;
        }
    }
    Ok(())
}

fn type_by_all_ways<T: Value>(
    comm: &dyn Communicator,
    folder: &Folder,
    d: &Distribution,
) -> Outcome {
    by_all_ways::<T>(comm, folder, &T::TYPE.to_string(), d)
}

fn all_ways(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    for (name, d) in every_kind(comm.size()) {
        by_all_ways::<f64>(comm, &folder, name, &d)?;
    }
    let d = Distribution::over(comm.size())
        .shape([7, 10])
        .cyclic(0)
        .block_cyclic(1, 3)
        .build()?;
    for_every_type!(type_by_all_ways(comm, &folder, &d));
    if comm.rank() > 0 {
        return Ok(());
    }
    let Some(python) = std::env::var_os("DIST_IO_PYTHON") else {
        println!("skipped: no h5py (DIST_IO_PYTHON)");
        return Ok(());
    };
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/interop/h5py_ways.py");
    let said = std::process::Command::new(python)
        .arg(script)
        .arg(folder.path())
        .output()?;
    let text = String::from_utf8_lossy(&said.stdout).into_owned();
    ensure(
        said.status.success() && text.contains("25 arrays, each of 6 files equal"),
        || format!("{text}{}", String::from_utf8_lossy(&said.stderr)),
    )
}

/// More than 2 GiB on one rank.
pub const LARGE: &[Case] = &[("parallel: more than 2 GiB on a rank", large_parallel)];

fn large_parallel(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("large.h5");
    if comm.rank() == 0 {
        large::make(&path)?;
    }
    comm.barrier()?;
    let d = large::on_rank_0(comm)?;
    let (whole, read) = load_by::<Complex<f64>>(Way::Mpio, &path, &d, "a", comm)?;
    let read = read.ok_or("no collective transfer")?;
    // 256 MiB a call, and the rest
    ensure(read.calls == 9 && read.causes.is_empty(), || {
        read.to_string()
    })?;
    match comm.rank() {
        0 => large::check(whole.buffer().data())?,
        _ => ensure(whole.buffer().data().is_empty(), || "more".to_owned())?,
    }
    // and written, by both ways
    for way in [Way::Mpio, Way::Offsets] {
        let how = save(&path, "a").mode(WriteMode::Replace).way(way);
        let report = how.save(&whole, comm)?;
        if way == Way::Mpio {
            let written = collective(&report)?;
            ensure(written.calls == 9 && written.causes.is_empty(), || {
                report.to_string()
            })?;
        }
        let other = if way == Way::Mpio {
            Way::Offsets
        } else {
            Way::Mpio
        };
        let (back, _) = load_by::<Complex<f64>>(other, &path, &d, "a", comm)?;
        ensure(back == whole, || format!("written by {way}"))?;
        comm.barrier()?;
    }
    Ok(())
}
