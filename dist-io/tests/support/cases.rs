//! Cases of HDF5 files for any communicator: on thread ranks, and under `mpirun`.

use std::fs;
use std::path::Path;

use dap_protocol::{DimData, DimDict, DistBuffer, ElementType, HostArray, Order, ProtocolVersion};
use dist_comm::{CommExt, Communicator};
use dist_io::{
    AttributeValue, ByteOrder, ChunkProblem, Direction, FieldType, FileLayout, IoError, IoPlan,
    IoReport, LoadHdf5, Record, Refusal, SaveHdf5, Series, Storage, Strategy, Wanted, WriteMode,
    inspect_hdf5, load_hdf5, load_hdf5_records, save_hdf5, verify,
};
use dist_maps::Distribution;
use half::bf16;
use num_complex::Complex;

use crate::support::{
    Failure, Folder, Outcome, Value, ensure, every_kind, for_every_type, part_with, small,
};

/// A case: its name, and what all ranks call.
pub type Case = (&'static str, fn(&dyn Communicator) -> Outcome);

/// All of them.
pub const CASES: &[Case] = &[
    (
        "every kind of distribution comes back",
        every_kind_comes_back,
    ),
    ("every element type comes back", every_type_comes_back),
    ("loads into memory that is there", into_memory),
    (
        "ranks move their own parts of plain chunks",
        parts_of_chunks,
    ),
    ("large arrays go by both strategies", large_arrays),
    ("scalars and empty arrays are values", scalars_and_empty),
    ("chunks of every kind of distribution", chunked_kinds),
    ("every filter, every element type", every_filter),
    ("chunks of small arrays", small_chunked),
    ("more chunks than are listed", many_chunks),
    ("chunks that there cannot be are refused", refused_chunks),
    ("damaged chunks are refused", damaged_chunks),
    ("attributes go with the dataset", attributes),
    ("a series grows, and sums are compared", series_and_sums),
    ("buffers in any order are saved", any_memory_order),
    ("a plan serves many saves", planned_saves),
    ("plans of other saves are refused", other_plans),
    ("loads say what they did", reported_loads),
    ("records are saved in chunks", records_in_chunks),
    ("modes", modes),
    ("parts may be anybody's", parts_of_no_array),
    ("what cannot be saved is refused", refused_saves),
    ("what cannot be loaded is refused", refused_loads),
    ("ranks that differ are told so", ranks_that_differ),
    ("older periodic parts are refused", older_periodic_parts),
];

pub fn part<T: Value>(d: &Distribution, comm: &dyn Communicator) -> DistBuffer<HostArray<T>> {
    part_with(&d.dim_data(comm.rank()).expect("a rank"), None)
}

/// The error, once it is known to be the same on every rank.
pub fn refused<T>(
    comm: &dyn Communicator,
    outcome: Result<T, IoError>,
) -> Result<IoError, Failure> {
    let text = match &outcome {
        Ok(_) => "no error".to_owned(),
        Err(error) => format!("{error:?}"),
    };
    let all = comm.all_gather_v(text.as_bytes())?;
    let all: Vec<_> = all
        .iter()
        .map(|text| String::from_utf8_lossy(text))
        .collect();
    if all.iter().any(|other| *other != all[0]) {
        return Err(format!("the ranks say different things: {all:?}").into());
    }
    outcome.err().ok_or_else(|| "nothing was refused".into())
}

pub fn refusal<T>(
    comm: &dyn Communicator,
    outcome: Result<T, IoError>,
) -> Result<Refusal, Failure> {
    match refused(comm, outcome)? {
        IoError::Hdf5 { refusal, .. } => Ok(*refusal),
        other => Err(format!("another error: {other:?}").into()),
    }
}

fn every_kind_comes_back(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("kinds.h5");
    let kinds = every_kind(comm.size());
    for (name, d) in &kinds {
        // what is not owned is not written
        let mine = part_with::<f64>(&d.dim_data(comm.rank())?, Some(f64::NAN));
        save_hdf5(&path, &mine, name, WriteMode::Append, comm)?;
        let back = load_hdf5::<f64>(&path, Wanted::AsSaved, name, comm)?;
        ensure(back == part(d, comm), || format!("{name}: {back:?}"))?;
        let info = inspect_hdf5(&path, name)?;
        let all = (0..comm.size()).map(|rank| d.dim_data(rank));
        let all: Vec<DimData> = all.collect::<Result<_, _>>()?;
        ensure(info.shape == [7, 10] && info.dim_data == Some(all), || {
            format!("{name}: {info:?}")
        })?;
        comm.barrier()?; // everybody has looked
    }
    for (name, _) in &kinds {
        for (other, d) in &kinds {
            let back = load_hdf5::<f64>(&path, d, name, comm)?;
            ensure(back == part(d, comm), || {
                format!("{name} as {other}: {back:?}")
            })?;
        }
    }
    Ok(())
}

fn into_memory(comm: &dyn Communicator) -> Outcome {
    into_memory_of::<f64>(comm)?;
    into_memory_of::<bool>(comm)
}

fn into_memory_of<T: Value + PartialEq + std::fmt::Debug>(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("into.h5");
    let rows = Distribution::over(comm.size()).shape([7, 10]).block(0);
    save_hdf5(
        &path,
        &part::<T>(&rows.build()?, comm),
        "a",
        WriteMode::Replace,
        comm,
    )?;
    let load = LoadHdf5::new(&path).key("a");
    for (name, d) in every_kind(comm.size()) {
        let expected = part::<T>(&d, comm);
        let mut elements = vec![T::default(); expected.buffer().data().len()];
        let read = load.load_into(&d, &mut elements, comm)?;
        let right = read == *expected.dim_data() && elements == expected.buffer().data();
        ensure(right, || format!("{name}: {read:?} {elements:?}"))?;
        // one rank brings another length
        if comm.rank() + 1 == comm.size() {
            elements.push(T::default());
        }
        let refused = refused(comm, load.load_into(&d, &mut elements, comm))?;
        ensure(matches!(refused, IoError::Agreed(_)), || {
            format!("{name}: {refused:?}")
        })?;
    }
    Ok(())
}

/// Long runs of chunks that several ranks have elements of, ragged at the edges.
fn parts_of_chunks(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("parts.h5");
    let over = || Distribution::over(comm.size()).shape([7, 6200]);
    let columns = over().block(1).build()?;
    for d in [
        over().cyclic(0).build()?,
        over().block_cyclic(0, 3).build()?,
        over().block(0).padding(1).build()?,
    ] {
        let save = SaveHdf5::new(&path)
            .mode(WriteMode::Replace)
            .chunk([4, 2500]);
        let mine = part_with::<f64>(&d.dim_data(comm.rank())?, Some(f64::NAN));
        let report = save.save(&mine, comm)?;
        ensure(report.strategy == Strategy::Direct, || report.to_string())?;
        let total = comm.all_gather_value(report.file_bytes)?;
        // each its own, and where one rank has all of a chunk the chunk
        ensure(total.iter().sum::<u64>() >= 7 * 6200 * 8, || {
            report.to_string()
        })?;
        for wanted in [&d, &columns] {
            let back = load_hdf5::<f64>(&path, wanted, "buffer", comm)?;
            ensure(back == part(wanted, comm), || format!("{d:?}"))?;
        }
        comm.barrier()?; // everybody has looked
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
    save_hdf5(&path, &part::<T>(&d, comm), &name, WriteMode::Append, comm)?;
    let back = load_hdf5::<T>(&path, Wanted::AsSaved, &name, comm)?;
    ensure(back == part(&d, comm), || format!("{name}: {back:?}"))?;
    let info = inspect_hdf5(&path, &name)?;
    let right = info.element == T::TYPE && info.byte_order == ByteOrder::NATIVE;
    let right = right && matches!(info.storage, Storage::Contiguous { offset: Some(_) });
    ensure(right, || format!("{info:?}"))?;
    comm.barrier()?;
    Ok(())
}

fn every_type_comes_back(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    for_every_type!(one_type(comm, &folder));
    Ok(())
}

fn large_arrays(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("large.h5");
    let over = || Distribution::over(comm.size()).shape([60, 500]);
    for (d, strategy) in [
        (over().block(0).build()?, Strategy::Direct),
        (over().cyclic(0).cyclic(1).build()?, Strategy::TwoPhase),
    ] {
        let report = save_hdf5(&path, &part::<i32>(&d, comm), "a", WriteMode::Replace, comm)?;
        // one rank has no short runs
        let expected = if comm.size() == 1 {
            Strategy::Direct
        } else {
            strategy
        };
        ensure(report.strategy == expected, || report.to_string())?;
        let total = comm.all_gather_value(report.file_bytes)?;
        ensure(total.iter().sum::<u64>() == 60 * 500 * 4, || {
            report.to_string()
        })?;
        let back = load_hdf5::<i32>(&path, Wanted::AsSaved, "a", comm)?;
        ensure(back == part(&d, comm), || format!("{strategy}"))?;
        comm.barrier()?;
    }
    Ok(())
}

fn scalars_and_empty(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("small.h5");
    for (name, d) in &small(comm.size()) {
        save_hdf5(&path, &part::<i64>(d, comm), name, WriteMode::Append, comm)?;
        let back = load_hdf5::<i64>(&path, d, name, comm)?;
        ensure(back == part(d, comm), || format!("{name}: {back:?}"))?;
        let back = load_hdf5::<i64>(&path, Wanted::AsSaved, name, comm)?;
        ensure(back == part(d, comm), || {
            format!("{name} as saved: {back:?}")
        })?;
        // of `bool` each byte is looked at, where there are any
        let name = format!("{name} of bool");
        save_hdf5(
            &path,
            &part::<bool>(d, comm),
            &name,
            WriteMode::Append,
            comm,
        )?;
        let back = load_hdf5::<bool>(&path, d, &name, comm)?;
        ensure(back == part(d, comm), || format!("{name}: {back:?}"))?;
        comm.barrier()?; // the ranks are still in step
    }
    Ok(())
}

/// The filters that a save is asked for: shuffle, deflate, fletcher32.
pub type Filters = (bool, Option<u8>, bool);

pub const FILTERS: [Filters; 6] = [
    (false, None, false),
    (true, None, false),
    (false, Some(1), false),
    (true, Some(6), false),
    (false, None, true),
    (true, Some(9), true),
];

pub fn filtered(save: SaveHdf5, (shuffle, deflate, fletcher32): Filters) -> SaveHdf5 {
    let save = save.shuffle(shuffle).fletcher32(fletcher32);
    match deflate {
        Some(level) => save.deflate(level),
        None => save,
    }
}

fn chunked_kinds(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("chunks.h5");
    let kinds = every_kind(comm.size());
    for (i, (name, d)) in kinds.iter().enumerate() {
        // chunks within the array, over its edges, of all of it, of one element
        for (c, chunk) in [[2, 5], [3, 4], [7, 10], [1, 1]].into_iter().enumerate() {
            let filters = FILTERS[(i + c) % FILTERS.len()];
            let key = format!("{name}/{chunk:?}");
            // what is not owned is not written
            let mine = part_with::<f64>(&d.dim_data(comm.rank())?, Some(f64::NAN));
            let save = SaveHdf5::new(&path).key(&key).chunk(chunk);
            let report = filtered(save, filters).save(&mine, comm)?;
            let chunks = comm.all_gather_value(report.requests)?.iter().sum::<u64>();
            let expected = 7_u64.div_ceil(chunk[0]) * 10_u64.div_ceil(chunk[1]);
            ensure(chunks == expected, || format!("{key}: {chunks} chunks"))?;
            let back = load_hdf5::<f64>(&path, Wanted::AsSaved, &key, comm)?;
            ensure(back == part(d, comm), || format!("{key}: {back:?}"))?;
            let info = inspect_hdf5(&path, &key)?;
            let stored = Storage::Chunked {
                chunk: chunk.to_vec(),
            };
            ensure(info.storage == stored, || format!("{key}: {info:?}"))?;
            let (other, into) = &kinds[(i + c + 1) % kinds.len()];
            let back = load_hdf5::<f64>(&path, into, &key, comm)?;
            ensure(back == part(into, comm), || {
                format!("{key} as {other}: {back:?}")
            })?;
            comm.barrier()?; // everybody has looked
        }
    }
    // parts that are no array together: every rank the same columns, backwards
    let columns = DimDict::unstructured(10, 1, 0, vec![9, 3, 4, 0], false)?;
    let same = DimData::new(vec![DimDict::whole(7)?, columns]);
    let back = load_hdf5::<f64>(&path, &same, "cyclic/[3, 4]", comm)?;
    ensure(back == part_with(&same, None), || format!("{back:?}"))
}

fn filtered_type<T: Value>(comm: &dyn Communicator, folder: &Folder) -> Outcome {
    let path = folder.join("filters.h5");
    let d = Distribution::over(comm.size())
        .shape([9, 20])
        .block(0)
        .cyclic(1)
        .build()?;
    for (i, filters) in FILTERS.into_iter().enumerate() {
        let key = format!("{}/{i}", T::TYPE);
        let save = SaveHdf5::new(&path).key(&key).chunk([4, 8]);
        filtered(save, filters).save(&part::<T>(&d, comm), comm)?;
        let back = load_hdf5::<T>(&path, Wanted::AsSaved, &key, comm)?;
        ensure(back == part(&d, comm), || format!("{key}: {back:?}"))?;
        let info = inspect_hdf5(&path, &key)?;
        let (shuffle, deflate, fletcher32) = filters;
        let mut names = Vec::new();
        names.extend(shuffle.then_some("shuffle"));
        names.extend(deflate.map(|_| "deflate"));
        names.extend(fletcher32.then_some("fletcher32"));
        ensure(info.filters == names && info.element == T::TYPE, || {
            format!("{info:?}")
        })?;
        comm.barrier()?;
    }
    Ok(())
}

fn every_filter(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    filtered_type::<bool>(comm, &folder)?;
    filtered_type::<u8>(comm, &folder)?;
    filtered_type::<i16>(comm, &folder)?;
    filtered_type::<bf16>(comm, &folder)?;
    filtered_type::<f32>(comm, &folder)?;
    filtered_type::<i64>(comm, &folder)?;
    filtered_type::<Complex<f64>>(comm, &folder)
}

fn small_chunked(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("small.h5");
    let over = || Distribution::over(comm.size());
    let scalar = over().shape([]).build()?;
    let empty = over().shape([0, 3]).block(0).build()?;
    let narrow = over().shape([3, 0]).cyclic(0).build()?;
    let single = over().shape([1]).cyclic(0).build()?; // every rank but one has nothing
    for (name, d, chunk) in [
        ("scalar", &scalar, vec![]),
        ("empty", &empty, vec![2, 2]),
        ("narrow", &narrow, vec![2, 2]),
        ("single", &single, vec![1000]), // cut to the array's extent
    ] {
        for (i, filters) in FILTERS.into_iter().enumerate() {
            let key = format!("{name}/{i}");
            let save = SaveHdf5::new(&path).key(&key).chunk(chunk.clone());
            filtered(save, filters).save(&part::<i64>(d, comm), comm)?;
            let back = load_hdf5::<i64>(&path, Wanted::AsSaved, &key, comm)?;
            ensure(back == part(d, comm), || format!("{key}: {back:?}"))?;
        }
        // chunks that nobody asked for
        let key = format!("{name}/chosen");
        let save = SaveHdf5::new(&path).key(&key).deflate(2);
        save.save(&part::<i64>(d, comm), comm)?;
        let back = load_hdf5::<i64>(&path, d, &key, comm)?;
        ensure(back == part(d, comm), || format!("{key}: {back:?}"))?;
    }
    let single = inspect_hdf5(&path, "single/0")?;
    let cut = Storage::Chunked { chunk: vec![1] };
    ensure(single.storage == cut, || format!("{single:?}"))?;
    // more than 1 MiB of rows: halved until they fit
    let long = over().shape([3000, 100]).block(0).build()?;
    let save = SaveHdf5::new(&path).key("long").fletcher32(true);
    save.save(&part::<f64>(&long, comm), comm)?;
    let info = inspect_hdf5(&path, "long")?;
    let chosen = Storage::Chunked {
        chunk: vec![750, 100],
    };
    ensure(info.storage == chosen, || format!("{info:?}"))?;
    let back = load_hdf5::<f64>(&path, &long, "long", comm)?;
    ensure(back == part(&long, comm), || "long".to_owned())?;
    comm.barrier()?;
    Ok(())
}

fn many_chunks(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("many.h5");
    // more than are listed when they are read, and when they are written
    for size in [1500, 5000] {
        let d = Distribution::over(comm.size())
            .shape([size])
            .block_cyclic(0, 3)
            .build()?;
        for (key, filters) in [("raw", FILTERS[0]), ("filtered", FILTERS[5])] {
            let key = format!("{key}/{size}");
            let save = SaveHdf5::new(&path).key(&key).chunk([1]);
            filtered(save, filters).save(&part::<u16>(&d, comm), comm)?;
            let back = load_hdf5::<u16>(&path, Wanted::AsSaved, &key, comm)?;
            ensure(back == part(&d, comm), || format!("{key}: {back:?}"))?;
        }
    }
    comm.barrier()?;
    Ok(())
}

fn refused_chunks(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("refused.h5");
    let d = Distribution::over(comm.size())
        .shape([6, 4])
        .block(0)
        .build()?;
    let mine = part::<i32>(&d, comm);
    let new = || SaveHdf5::new(&path);
    for (save, expected) in [
        (
            new().chunk([2]),
            "the shape of the chunks has 1 dimensions, the array 2",
        ),
        (
            new().chunk([2, 0]),
            "axis 1: chunks of 0 elements, allowed: 1 or more",
        ),
        (
            new().deflate(10),
            "level 10 of compression, allowed: 0 to 9",
        ),
    ] {
        let error = refused(comm, save.save(&mine, comm))?;
        ensure(error.to_string() == expected, || format!("{error}"))?;
    }
    let error = refusal(comm, new().attribute("", 1.0).save(&mine, comm))?;
    ensure(matches!(error, Refusal::Attribute { .. }), || {
        format!("{error:?}")
    })?;
    if comm.size() > 1 {
        let last = comm.rank() + 1 == comm.size();
        let save = new().chunk([1 + u64::from(last), 4]);
        let error = refused(comm, save.save(&mine, comm))?;
        let right = matches!(error, IoError::Differ { rank, .. } if rank + 1 == comm.size());
        ensure(right, || format!("{error:?}"))?;
    }
    ensure(!path.exists(), || "a refused save left a file".into())?;
    comm.barrier()?;
    Ok(())
}

fn damaged_chunks(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("damaged.h5");
    let d = Distribution::over(comm.size())
        .shape([8, 4])
        .cyclic(0)
        .build()?;
    let save = SaveHdf5::new(&path).key("a").chunk([2, 4]).fletcher32(true);
    save.save(&part::<u8>(&d, comm), comm)?;
    // rows 4 and 5 as they are in the file, and then four bytes of checksum
    let chunk: Vec<u8> = (16..24).map(u8::at).collect();
    let whole = fs::read(&path)?;
    let mut found = whole.windows(8).enumerate();
    let (at, _) = found
        .find(|(_, bytes)| *bytes == chunk)
        .ok_or("the bytes of a chunk")?;
    comm.barrier()?; // everybody has read the file
    for byte in at..at + 12 {
        if comm.rank() == 0 {
            let mut damaged = whole.clone();
            damaged[byte] ^= 4;
            fs::write(&path, damaged)?;
        }
        comm.barrier()?;
        let problem = refusal(comm, load_hdf5::<u8>(&path, &d, "a", comm))?;
        let right = matches!(
            &problem,
            Refusal::Chunk { origin, offset: Some(offset), problem: ChunkProblem::Checksum { .. } }
                if *origin == [4, 0] && *offset == at as u64
        );
        ensure(right, || format!("byte {byte}: {problem:?}"))?;
        comm.barrier()?;
    }
    Ok(())
}

fn attributes(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("units.h5");
    let d = Distribution::over(comm.size())
        .shape([6])
        .block(0)
        .build()?;
    let save = SaveHdf5::new(&path)
        .attribute("units", "m/s²")
        .attribute("step", -7_i64)
        .attribute("scale", 0.25);
    save.save(&part::<f32>(&d, comm), comm)?;
    let info = inspect_hdf5(&path, "buffer")?;
    let expected = [
        ("scale", AttributeValue::Real(0.25)),
        ("step", AttributeValue::Integer(-7)),
        ("units", AttributeValue::Text("m/s²".to_owned())),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value));
    ensure(info.attributes == expected.into(), || format!("{info:?}"))?;
    comm.barrier()?;
    Ok(())
}

fn series_and_sums(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("series.h5");
    let step = Distribution::over(comm.size())
        .shape([5, 9])
        .cyclic(1)
        .build()?;
    let mine = part::<i32>(&step, comm);
    let save = SaveHdf5::new(&path).key("run/a").chunk([2, 5, 2]);
    save.deflate(1).begin_series::<i32>(&[5, 9], comm)?;
    let mut series = Series::open(&path, comm)?;
    for rows in 1..=5 {
        ensure(series.append("run/a", &mine, comm)? == rows, || {
            format!("step {rows}")
        })?;
    }
    // a part of another type, on one rank as on all
    let wrong = refused(
        comm,
        series.append("run/a", &part::<i64>(&step, comm), comm),
    )?;
    ensure(matches!(wrong, IoError::ElementType { .. }), || {
        format!("{wrong}")
    })?;
    drop(series);
    let whole = Distribution::over(comm.size())
        .shape([5, 5, 9])
        .cyclic(2)
        .build()?;
    let all = load_hdf5::<i32>(&path, &whole, "run/a", comm)?;
    let expected = mine.buffer().data().repeat(5);
    ensure(all.buffer().data() == expected, || format!("{all:?}"))?;
    let save = SaveHdf5::new(&path).key("sums").checksums(true);
    save.save(&mine, comm)?;
    let found = verify(&path, "sums", comm)?;
    ensure((found.bytes, found.sums) == (180, 1), || {
        format!("{found:?}")
    })?;
    let none = refusal(comm, verify(&path, "run/a", comm))?;
    ensure(none == Refusal::NoChecksums, || format!("{none}"))?;
    comm.barrier()?;
    Ok(())
}

fn any_memory_order(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("order.h5");
    let d = Distribution::over(comm.size())
        .shape([4, 6])
        .block(1)
        .build()?;
    let expected = part::<u16>(&d, comm);
    let shape: Vec<usize> = expected
        .dim_data()
        .local_shape()
        .iter()
        .map(|&n| n as usize)
        .collect();
    let rows = expected.buffer().data();
    let columns = (0..shape[1]).flat_map(|j| (0..shape[0]).map(move |i| (i, j)));
    let columns = columns.map(|(i, j)| rows[i * shape[1] + j]).collect();
    let turned = HostArray::with_order(shape.clone(), columns, Order::Fortran)?;
    let turned = DistBuffer::new(expected.dim_data().clone(), turned)?;
    save_hdf5(&path, &turned, "a", WriteMode::CreateNew, comm)?;
    let back = load_hdf5::<u16>(&path, Wanted::AsSaved, "a", comm)?;
    ensure(back == expected, || format!("{back:?}"))
}

/// Sums of all ranks' bytes and reads or writes.
fn totals(comm: &dyn Communicator, report: &IoReport) -> Result<(u64, u64), IoError> {
    let bytes = comm.all_gather_value(report.file_bytes)?;
    let requests = comm.all_gather_value(report.requests)?;
    Ok((bytes.iter().sum(), requests.iter().sum()))
}

fn planned_saves(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let stored = |save: SaveHdf5, i: usize| match i % 4 {
        0 => save,
        1 => save.chunk([3, 4]),
        2 => save.chunk([2, 5]).shuffle(true).deflate(1),
        _ => save
            .chunk([7, 10])
            .byte_order(ByteOrder::Big)
            .checksums(true),
    };
    for (i, (name, d)) in every_kind(comm.size()).iter().enumerate() {
        let path = |step: i32, how: &str| folder.join(&format!("{name} {step} {how}.h5"));
        let any = stored(SaveHdf5::new(folder.join("any.h5")), i);
        let plan = any.plan(d, ElementType::I32)?;
        for step in 0..3 {
            let mine = part_with::<i32>(&d.dim_data(comm.rank())?, Some(-step));
            let key = format!("steps/{step}");
            let new = |how| stored(SaveHdf5::new(path(step, how)), i).key(&key);
            let report = new("planned").save_planned(&plan, &mine, comm)?;
            let without = new("made").save(&mine, comm)?;
            ensure(
                report == without && report.strategy == plan.strategy(),
                || format!("{name}: {report}, without a plan {without}"),
            )?;
            let back = load_hdf5::<i32>(path(step, "planned"), Wanted::AsSaved, &key, comm)?;
            ensure(back == part(d, comm), || format!("{name}: {back:?}"))?;
            let (one, other) = (path(step, "planned"), path(step, "made"));
            ensure(
                inspect_hdf5(&one, &key)? == inspect_hdf5(&other, &key)?,
                || format!("{name}: the datasets differ"),
            )?;
            let (one, other) = (fs::read(one)?, fs::read(other)?);
            let differ = one.iter().zip(&other).filter(|(a, b)| a != b).count();
            // of a dataset the second is kept in which it was made
            ensure(one.len() == other.len() && differ <= 4, || {
                format!("{name}: {differ} bytes differ")
            })?;
        }
        // the strategy that somebody asked for
        let two = plan.clone().with_strategy(Strategy::TwoPhase);
        let mine = part::<i32>(d, comm);
        let again = any.clone().mode(WriteMode::Replace);
        let report = again.save_planned(&two, &mine, comm)?;
        ensure(report.strategy == Strategy::TwoPhase, || report.to_string())?;
        let back = load_hdf5::<i32>(folder.join("any.h5"), d, "buffer", comm)?;
        ensure(back == mine, || format!("{name} in two phases: {back:?}"))?;
        comm.barrier()?;
    }
    Ok(())
}

fn other_plans(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("none.h5");
    let over = |ranks| Distribution::over(ranks).shape([6, 8]);
    let rows = over(comm.size()).block(0).build()?;
    let chunked = FileLayout::Chunked { chunk: vec![4, 8] };
    let new = |layout: &FileLayout, direction| IoPlan::new(&rows, 8, layout.clone(), direction);
    let mine = part::<f64>(&rows, comm);
    let save = SaveHdf5::new(&path).chunk([4, 8]);
    let refuse = |plan: &IoPlan| refused(comm, save.save_planned(plan, &mine, comm));
    let to_write = "write elements of 8 bytes, chunked by 4 x 8".to_owned();
    for (plan, given) in [
        (
            new(&chunked, Direction::Read)?,
            "read elements of 8 bytes, chunked by 4 x 8",
        ),
        (
            new(&FileLayout::Contiguous, Direction::Write)?,
            "write elements of 8 bytes, contiguous",
        ),
        (
            IoPlan::new(&rows, 4, chunked.clone(), Direction::Write)?,
            "write elements of 4 bytes, chunked by 4 x 8",
        ),
    ] {
        let error = refuse(&plan)?;
        let expected = IoError::OtherPlan {
            given: given.to_owned(),
            asked: to_write.clone(),
        };
        ensure(error == expected, || format!("{error:?}"))?;
    }
    let more = over(comm.size() + 1).block(0).build()?;
    let error = refuse(&save.plan(&more, ElementType::F64)?)?;
    let expected = IoError::Ranks {
        what: "the plan",
        given: comm.size() + 1,
        allowed: comm.size(),
    };
    ensure(error == expected, || format!("{error:?}"))?;
    let plan = save.plan(&rows, ElementType::F64)?;
    // the same parts but for those of some ranks
    let error = refuse(&save.plan(&over(comm.size()).cyclic(1).build()?, ElementType::F64)?)?;
    ensure(error == IoError::OtherPart { rank: 0 }, || {
        format!("{error:?}")
    })?;
    if comm.size() > 1 {
        let last = comm.rank() + 1 == comm.size();
        let columns = save.plan(&over(comm.size()).block(1).build()?, ElementType::F64)?;
        let differ = [
            refuse(if last { &columns } else { &plan })?,
            refuse(&if last {
                plan.clone().with_strategy(Strategy::TwoPhase)
            } else {
                plan.clone().with_strategy(Strategy::Direct)
            })?,
            refused(
                comm,
                if last {
                    save.save(&mine, comm)
                } else {
                    save.save_planned(&plan, &mine, comm)
                },
            )?,
        ];
        for error in differ {
            let right = matches!(error, IoError::Differ { what: "plan", rank, .. } if rank + 1 == comm.size());
            ensure(right, || format!("{error:?}"))?;
        }
        // two ranks have rows of one chunk
        let direct = plan.clone().with_strategy(Strategy::Direct);
        let error = refuse(&direct)?;
        ensure(matches!(error, IoError::OtherPlan { .. }), || {
            format!("{error:?}")
        })?;
    }
    ensure(!path.exists(), || "a refused save left a file".into())?;
    comm.barrier()?;
    save.save_planned(&plan, &mine, comm)?;
    let back = load_hdf5::<f64>(&path, &rows, "buffer", comm)?;
    ensure(back == mine, || format!("{back:?}"))?;
    comm.barrier()?;
    Ok(())
}

fn reported_loads(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("reports.h5");
    let rows = Distribution::over(comm.size())
        .shape([6, 8])
        .block(0)
        .build()?;
    let mine = part::<f64>(&rows, comm);
    let whole = 6 * 8 * 8;
    let load = |key: &str| {
        LoadHdf5::new(&path)
            .key(key)
            .load_reported::<f64>(&rows, comm)
    };
    let save = |key: &str| SaveHdf5::new(&path).key(key);
    save("plain").save(&mine, comm)?;
    let (back, report) = load("plain")?;
    ensure(back == mine && report.strategy == Strategy::Direct, || {
        report.to_string()
    })?;
    let info = inspect_hdf5(&path, "plain")?;
    let at = Storage::Contiguous {
        offset: Some(report.offset),
    };
    ensure(info.storage == at, || format!("{info:?}, {report}"))?;
    let all = totals(comm, &report)?;
    ensure(all.0 == whole && all.1 >= 1, || format!("plain: {all:?}"))?;
    // a chunk is read once, by whichever rank, as a whole
    save("chunks").chunk([4, 4]).save(&mine, comm)?;
    let (back, report) = load("chunks")?;
    ensure(back == mine && report.offset == 0, || report.to_string())?;
    let all = totals(comm, &report)?;
    ensure(all == (4 * 4 * 4 * 8, 4), || {
        format!("chunks: {all:?}, {report}")
    })?;
    // as it is in the file
    let coded = save("coded").chunk([4, 4]).shuffle(true).deflate(9);
    let written = totals(comm, &coded.save(&mine, comm)?)?;
    let (back, report) = load("coded")?;
    let read = totals(comm, &report)?;
    ensure(back == mine && read == written, || {
        format!("coded: {read:?} of {written:?}")
    })?;
    // every rank by itself: indices of no array together
    let columns = DimDict::unstructured(8, 1, 0, vec![5, 2], false)?;
    let same = DimData::new(vec![DimDict::whole(6)?, columns]);
    let (back, report) = LoadHdf5::new(&path)
        .key("plain")
        .load_reported::<f64>(&same, comm)?;
    ensure(back == part_with(&same, None), || format!("{back:?}"))?;
    ensure((report.file_bytes, report.requests) == (96, 12), || {
        report.to_string()
    })?;
    // nothing to read: a scalar that every rank reads, and no rows
    let empty = Distribution::over(comm.size())
        .shape([0, 3])
        .block(0)
        .build()?;
    save("empty").save(&part::<f64>(&empty, comm), comm)?;
    let (_, report) = LoadHdf5::new(&path)
        .key("empty")
        .load_reported::<f64>(&empty, comm)?;
    ensure(report.file_bytes == 0, || report.to_string())?;
    comm.barrier()?;
    Ok(())
}

fn records_in_chunks(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("records.h5");
    let mut record = Record::packed([
        ("id", FieldType::of::<i16>()),
        ("x", FieldType::of::<f64>()),
    ]);
    record.bytes = 13; // of no size that elements have
    let bytes_of = |dim_data: &DimData| -> Result<Vec<u8>, IoError> {
        let flat = crate::support::flat_indices(dim_data);
        let mut bytes = vec![0; flat.len() * record.bytes];
        let ids: Vec<i16> = flat.iter().map(|&flat| i16::at(flat)).collect();
        let x: Vec<f64> = flat.iter().map(|&flat| f64::at(flat)).collect();
        record.put("id", &ids, &mut bytes)?;
        record.put("x", &x, &mut bytes)?;
        Ok(bytes)
    };
    for (i, (name, d)) in every_kind(comm.size()).iter().enumerate() {
        let dim_data = d.dim_data(comm.rank())?;
        let bytes = bytes_of(&dim_data)?;
        let mut shape: Vec<usize> = dim_data.local_shape().iter().map(|&n| n as usize).collect();
        let mut dims: Vec<DimDict> = dim_data.iter().cloned().collect();
        shape.push(record.bytes);
        dims.push(DimDict::whole(record.bytes as u64)?);
        let mine = DistBuffer::new(DimData::new(dims), HostArray::new(shape, bytes)?)?;
        for (c, chunk) in [[2, 5], [3, 4], [7, 10]].into_iter().enumerate() {
            let filters = FILTERS[(i + c) % FILTERS.len()];
            let key = format!("{name}/{chunk:?}");
            let save = SaveHdf5::new(&path).key(&key).chunk(chunk);
            let save = filtered(save.record(record.clone()).checksums(true), filters);
            save.save(&mine, comm)?;
            let (found, back) = load_hdf5_records(&path, Wanted::AsSaved, &key, comm)?;
            ensure(found == record && back == mine, || {
                format!("{key}: {found:?}, {back:?}")
            })?;
            verify(&path, &key, comm)?;
            // what the library reads, through its own filters
            if comm.rank() == 0 {
                let file = hdf5_metno::File::open(&path)?;
                let dataset = file.dataset(&key)?;
                let all = (dataset.shape(), dataset.chunk());
                let chunk: Vec<usize> = chunk.iter().map(|&n| n as usize).collect();
                ensure(all == (vec![7, 10], Some(chunk)), || format!("{all:?}"))?;
            }
            comm.barrier()?;
        }
        // without a chunk: one is chosen
        let key = format!("{name}/chosen");
        let save = SaveHdf5::new(&path).key(&key).record(record.clone());
        save.deflate(1).save(&mine, comm)?;
        let (_, back) = load_hdf5_records(&path, d, &key, comm)?;
        ensure(back.buffer() == mine.buffer(), || key)?;
        comm.barrier()?;
    }
    let d = Distribution::over(comm.size())
        .shape([4, 13])
        .block(1)
        .build()?;
    if comm.size() > 1 {
        // a record is on one rank
        let save = SaveHdf5::new(&path).key("no").record(record).chunk([2]);
        let error = refused(comm, save.save(&part::<u8>(&d, comm), comm))?;
        ensure(matches!(error, IoError::Record { .. }), || {
            format!("{error:?}")
        })?;
    }
    comm.barrier()?;
    Ok(())
}

fn modes(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("modes.h5");
    let d = Distribution::over(comm.size())
        .shape([6])
        .block(0)
        .build()?;
    let (ints, floats) = (part::<i32>(&d, comm), part::<f32>(&d, comm));
    save_hdf5(&path, &ints, "run/1/a", WriteMode::CreateNew, comm)?;
    let before = fs::read(&path)?;
    comm.barrier()?;
    let again = save_hdf5(&path, &floats, "b", WriteMode::CreateNew, comm);
    ensure(refusal(comm, again)? == Refusal::Exists, || {
        "w- replaces".into()
    })?;
    let taken = save_hdf5(&path, &floats, "run/1/a", WriteMode::Append, comm);
    ensure(refusal(comm, taken)? == Refusal::KeyExists, || {
        "a overwrites".into()
    })?;
    let taken = save_hdf5(&path, &floats, "run", WriteMode::Append, comm);
    ensure(refusal(comm, taken)? == Refusal::KeyExists, || {
        "a overwrites a group".into()
    })?;
    let inside = save_hdf5(&path, &floats, "run/1/a/b", WriteMode::Append, comm);
    let at = "run/1/a".to_owned();
    ensure(refusal(comm, inside)? == Refusal::NotAGroup { at }, || {
        "in a dataset".into()
    })?;
    ensure(fs::read(&path)? == before, || {
        "a refused save changed the file".into()
    })?;
    comm.barrier()?;
    save_hdf5(&path, &floats, "/run/2/a", WriteMode::Append, comm)?;
    ensure(
        load_hdf5::<i32>(&path, &d, "run/1/a", comm)? == ints,
        || "a lost the first".into(),
    )?;
    ensure(
        load_hdf5::<f32>(&path, &d, "run/2/a", comm)? == floats,
        || "a".into(),
    )?;
    save_hdf5(&path, &floats, "c", WriteMode::Replace, comm)?;
    let gone = load_hdf5::<i32>(&path, &d, "run/1/a", comm);
    let missing = "run".to_owned();
    ensure(
        refusal(comm, gone)? == Refusal::MissingKey { missing },
        || "w keeps".into(),
    )?;
    ensure(load_hdf5::<f32>(&path, &d, "c", comm)? == floats, || {
        "w".into()
    })?;
    comm.barrier()?;
    let files: Vec<_> = fs::read_dir(folder.path())?.collect::<Result<_, _>>()?;
    ensure(files.len() == 1, || format!("left over: {files:?}"))?;
    comm.barrier()?;
    Ok(())
}

fn parts_of_no_array(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("parts.h5");
    let d = Distribution::over(comm.size())
        .shape([4, 6])
        .block(0)
        .build()?;
    save_hdf5(&path, &part::<i32>(&d, comm), "a", WriteMode::Replace, comm)?;
    // every rank asks for the same columns, backwards; the others are on no rank
    let columns = DimDict::unstructured(6, 1, 0, vec![5, 3, 0], false)?;
    let same = DimData::new(vec![DimDict::whole(4)?, columns]);
    let back = load_hdf5::<i32>(&path, &same, "a", comm)?;
    ensure(back == part_with(&same, None), || format!("{back:?}"))?;
    // a distribution in which each rank has some of what others have too
    let lists = (0..comm.size()).map(|rank| vec![5, 1 + rank as i64 % 4, 0]);
    let shared = Distribution::over(comm.size())
        .shape([4, 6])
        .unstructured(1, lists)
        .build()?;
    let back = load_hdf5::<i32>(&path, &shared, "a", comm)?;
    ensure(back == part(&shared, comm), || format!("{back:?}"))?;
    // a part with more padding than there are ranks for
    let middle = DimData::new(vec![
        DimDict::block(4, 4, 1, 0..3)?.with_padding(1, 1)?,
        DimDict::cyclic(6, 3, 2, 1)?,
    ]);
    let back = load_hdf5::<i32>(&path, &middle, "a", comm)?;
    ensure(back == part_with(&middle, None), || format!("{back:?}"))
}

fn refused_saves(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let d = Distribution::over(comm.size())
        .shape([6])
        .block(0)
        .build()?;
    let mine = part::<i32>(&d, comm);
    let save = |path: &Path, key: &str, mode| save_hdf5(path, &mine, key, mode, comm);
    for mode in [WriteMode::Replace, WriteMode::CreateNew, WriteMode::Append] {
        let directory = refusal(comm, save(folder.path(), "a", mode))?;
        ensure(directory == Refusal::NotAFile, || format!("{directory:?}"))?;
        let no_parent = refusal(comm, save(&folder.join("no/such/folder.h5"), "a", mode))?;
        ensure(matches!(no_parent, Refusal::Os { .. }), || {
            format!("{no_parent:?}")
        })?;
        for key in ["", "/", "a//b", "a/"] {
            let key = refusal(comm, save(&folder.join("key.h5"), key, mode))?;
            ensure(matches!(key, Refusal::Key { .. }), || format!("{key:?}"))?;
        }
    }
    ensure(!folder.join("key.h5").exists(), || {
        "a file without a dataset".into()
    })?;
    let text = folder.join("text");
    if comm.rank() == 0 {
        fs::write(&text, "no HDF5 at all, but of some length")?;
    }
    comm.barrier()?;
    let foreign = refusal(comm, save(&text, "a", WriteMode::Append))?;
    ensure(foreign == Refusal::NotHdf5, || format!("{foreign:?}"))?;
    ensure(fs::read(&text)?.starts_with(b"no HDF5"), || {
        "a refused save wrote".into()
    })?;
    // two ranks say that they are one
    if comm.size() > 1 {
        let first = DistBuffer::new(
            d.dim_data(0)?,
            part_with::<i32>(&d.dim_data(0)?, None).into_parts().2,
        )?;
        let error = refused(
            comm,
            save_hdf5(folder.join("c.h5"), &first, "a", WriteMode::Replace, comm),
        )?;
        ensure(
            matches!(error, IoError::Protocol(_) | IoError::Map(_)),
            || format!("{error:?}"),
        )?;
    }
    comm.barrier()?;
    let files = fs::read_dir(folder.path())?.count();
    ensure(files == 1, || format!("{files} files are left over"))?;
    comm.barrier()?;
    Ok(())
}

fn refused_loads(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("good.h5");
    let d = Distribution::over(comm.size())
        .shape([6])
        .block(0)
        .build()?;
    save_hdf5(
        &path,
        &part::<i32>(&d, comm),
        "group/a",
        WriteMode::Replace,
        comm,
    )?;
    let load = |path: &Path, key: &str| load_hdf5::<i32>(path, &d, key, comm);
    let missing = |name: &str| Refusal::MissingKey {
        missing: name.to_owned(),
    };
    for (path, key, expected) in [
        (folder.join("absent.h5"), "a", Refusal::NotFound),
        (folder.path().to_owned(), "a", Refusal::NotAFile),
        (path.clone(), "b", missing("b")),
        (path.clone(), "group/b", missing("group/b")),
        (path.clone(), "other/deep/a", missing("other")),
        (
            path.clone(),
            "group",
            Refusal::NotADataset {
                kind: "group".to_owned(),
            },
        ),
        (
            path.clone(),
            "group/a/b",
            Refusal::NotAGroup {
                at: "group/a".to_owned(),
            },
        ),
        (
            path.clone(),
            "group//a",
            Refusal::Key {
                given: "group//a".to_owned(),
            },
        ),
    ] {
        let given = refusal(comm, load(&path, key))?;
        ensure(given == expected, || format!("{key}: {given:?}"))?;
    }
    let wrong_type = refused(comm, load_hdf5::<f64>(&path, &d, "group/a", comm))?;
    let expected = IoError::ElementType {
        given: ElementType::I32,
        allowed: ElementType::F64,
    };
    ensure(wrong_type == expected, || format!("{wrong_type:?}"))?;
    let longer = Distribution::over(comm.size())
        .shape([7])
        .block(0)
        .build()?;
    let wrong_shape = refused(comm, load_hdf5::<i32>(&path, &longer, "group/a", comm))?;
    let expected = IoError::Shape {
        given: vec![6],
        allowed: vec![7],
    };
    ensure(wrong_shape == expected, || format!("{wrong_shape:?}"))?;
    let more = Distribution::over(comm.size() + 1)
        .shape([6])
        .block(0)
        .build()?;
    let ranks = refused(comm, load_hdf5::<i32>(&path, &more, "group/a", comm))?;
    ensure(matches!(ranks, IoError::Ranks { .. }), || {
        format!("{ranks:?}")
    })?;
    let outside = DimData::new(vec![DimDict::unstructured(6, 1, 0, vec![2, 6], true)?]);
    let outside = refused(comm, load_hdf5::<i32>(&path, &outside, "group/a", comm))?;
    ensure(outside.to_string().contains("index 6"), || {
        format!("{outside:?}")
    })?;
    // a good file, cut off at many places: an error each time, of whatever kind
    let whole = fs::read(&path)?;
    let cut = folder.join("cut.h5");
    let step = if comm.size() == 1 { 1 } else { 97 };
    let end = whole.len().min(2048);
    for len in (0..end).step_by(step).chain([whole.len() - 1]) {
        if comm.rank() == 0 {
            fs::write(&cut, &whole[..len])?;
        }
        comm.barrier()?;
        let error = refused(comm, load(&cut, "group/a"))?;
        ensure(matches!(error, IoError::Hdf5 { .. }), || {
            format!("cut at {len}: {error:?}")
        })?;
        comm.barrier()?;
    }
    Ok(())
}

fn ranks_that_differ(comm: &dyn Communicator) -> Outcome {
    if comm.size() == 1 {
        return Ok(());
    }
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = Distribution::over(comm.size())
        .shape([6])
        .block(0)
        .build()?;
    let last = comm.rank() + 1 == comm.size();
    let mine = part::<i32>(&d, comm);
    let mut errors = Vec::new();
    let other = folder.join(if last { "b.h5" } else { "a.h5" });
    errors.push(refused(
        comm,
        save_hdf5(other, &mine, "a", WriteMode::Replace, comm),
    )?);
    let key = if last { "b" } else { "a" };
    errors.push(refused(
        comm,
        save_hdf5(&path, &mine, key, WriteMode::Replace, comm),
    )?);
    let mode = if last {
        WriteMode::Append
    } else {
        WriteMode::Replace
    };
    errors.push(refused(comm, save_hdf5(&path, &mine, "a", mode, comm))?);
    ensure(!path.exists(), || "a file of ranks that differ".into())?;
    comm.barrier()?;
    save_hdf5(&path, &mine, "a", WriteMode::Replace, comm)?;
    let wanted = if last {
        Wanted::AsSaved
    } else {
        Wanted::Distribution(&d)
    };
    errors.push(refused(comm, load_hdf5::<i32>(&path, wanted, "a", comm))?);
    for error in errors {
        let right = matches!(error, IoError::Differ { rank, .. } if rank + 1 == comm.size());
        ensure(right, || format!("{error:?}"))?;
    }
    // saved by these ranks, asked for by one
    let part = comm
        .split(Some(u32::from(comm.rank() > 0)), 0)?
        .ok_or("a part")?;
    let error = refused(
        &*part,
        load_hdf5::<i32>(&path, Wanted::AsSaved, "a", &*part),
    )?;
    ensure(matches!(error, IoError::Ranks { .. }), || {
        format!("{error:?}")
    })?;
    comm.barrier()?;
    Ok(())
}

fn older_periodic_parts(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let d = Distribution::over(comm.size())
        .shape([12])
        .block(0)
        .padding(1)
        .periodic(0)
        .build()?;
    let (_, dim_data, buffer) = part::<i32>(&d, comm).into_parts();
    let old = DistBuffer::with_version(ProtocolVersion::V0_9_0, dim_data, buffer)?;
    let error = refused(
        comm,
        save_hdf5(folder.join("a.h5"), &old, "a", WriteMode::Replace, comm),
    )?;
    ensure(error.to_string().contains("version 0.9"), || {
        format!("{error:?}")
    })
}
