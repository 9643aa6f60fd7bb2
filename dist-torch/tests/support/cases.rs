//! What holds of data sets on any communicator, as functions of one: run on thread ranks and under MPI.

use std::fmt::Debug;
use std::sync::atomic::{AtomicU64, Ordering};

use dap_protocol::{DimData, DimDict, DistBuffer, HostArray, LocalBuffer};
use dist_comm::OneSided;
use dist_maps::{AxisDist, Distribution};
use dist_torch::{
    Array, Batch, BatchPool, ConcatSource, DapFields, DataError, DistDataset, Rows, Sample,
    Schedule, Share, Source, SourceError, Windows, from_fn, from_vec,
};
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

pub type Case = fn(&dyn OneSided) -> Result<(), String>;

pub const CASES: &[(&str, Case)] = &[
    ("any rank reads any row", any_rank_reads_any_row),
    ("every element type", every_element_type),
    ("reads are not collective", reads_are_not_collective),
    ("many threads read at once", many_threads_read_at_once),
    (
        "a source that fails fails everywhere",
        a_source_that_fails_fails_everywhere,
    ),
    ("settings must agree", settings_must_agree),
    (
        "bad reads leave the batch empty",
        bad_reads_leave_the_batch_empty,
    ),
    (
        "a share is read once and in order",
        a_share_is_read_once_and_in_order,
    ),
    ("samples are decoded", samples_are_decoded),
    ("windows stack rows", windows_stack_rows),
    ("fields go out and come in", fields_go_out_and_come_in),
    ("strange arrays come in", strange_arrays_come_in),
    ("arrays that are no fields", arrays_that_are_no_fields),
    (
        "an epoch reads every row once",
        an_epoch_reads_every_row_once,
    ),
    ("data sets do not mix", data_sets_do_not_mix),
];

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn equal<T: PartialEq + Debug>(ours: T, expected: T, what: impl Debug) -> Result<(), String> {
    if ours == expected {
        return Ok(());
    }
    Err(format!("{what:?}: {ours:?} instead of {expected:?}"))
}

#[cfg(feature = "mpi")]
fn under_mpi(comm: &dyn OneSided) -> bool {
    comm.as_mpi().is_some()
}

#[cfg(not(feature = "mpi"))]
fn under_mpi(_: &dyn OneSided) -> bool {
    false
}

/// A source's failure.
type Fail = fn() -> Result<Sample, SourceError>;

/// The error, the same on every rank; that nothing failed is one.
fn refused<T>(comm: &dyn OneSided, outcome: Result<T, DataError>) -> Result<DataError, String> {
    let Err(error) = outcome else {
        return Err("that should have failed".into());
    };
    let texts = comm
        .all_gather_v(format!("{error:?}").as_bytes())
        .map_err(text)?;
    match texts.iter().all(|other| *other == texts[0]) {
        true => Ok(error),
        false => Err(format!(
            "ranks differ: {}",
            String::from_utf8_lossy(&texts.concat())
        )),
    }
}

/// A graph with as many nodes as its row says, and more.
fn graph(row: u64) -> Sample {
    let nodes = row % 4;
    let name = if row.is_multiple_of(3) {
        String::new()
    } else {
        format!("n{row}日本")
    };
    let values: Vec<u16> = (0..nodes * 2).map(|at| (row * 10 + at) as u16).collect();
    Sample::map([
        (
            "image",
            Array::new(&[2, 3], &[row as f32, 1.0, 2.0, 3.0, 4.0, -(row as f32)])
                .unwrap()
                .into(),
        ),
        ("label", (row as i64 - 5).into()),
        (
            "nodes",
            Sample::Ragged(Array::new(&[nodes as usize, 2], &values).unwrap()),
        ),
        (
            "more",
            Sample::List(vec![
                name.into(),
                (
                    row.is_multiple_of(2),
                    Sample::ragged(vec![row as f64; (row % 3) as usize]),
                )
                    .into(),
            ]),
        ),
        ("empty", Array::new(&[0, 3], &[0_u8; 0]).unwrap().into()),
    ])
}

fn graphs(n: u64) -> impl Source {
    from_fn(n, |row| Ok::<_, SourceError>(graph(row)))
}

/// Orders of rows that a batch may ask for.
fn orders(n: u64, seed: u64) -> Vec<Vec<u64>> {
    let mut orders = vec![vec![], (0..n).collect(), (0..n).rev().collect()];
    if n > 0 {
        orders.push(vec![n - 1; 3]);
        orders.push((0..2 * n).map(|at| at / 2).collect());
        orders.push(
            (0..20)
                .map(|at| (at * 7 + seed * seed + at * at * 3) % n)
                .collect(),
        );
        orders.push((0..n).chain(0..n).collect());
    }
    orders
}

fn check_rows(batch: &Batch, rows: &[u64]) -> Result<(), String> {
    equal(batch.len(), rows.len(), "rows")?;
    for (at, &row) in rows.iter().enumerate() {
        equal(batch.sample(at).map_err(text)?, graph(row), (rows, at))?;
    }
    // stacked, as default_collate stacks
    let images = batch.field::<f32>("image").map_err(text)?;
    equal(images.shape(), &[rows.len(), 2, 3][..], "shape")?;
    let expected: Vec<f32> = rows
        .iter()
        .flat_map(|&row| [row as f32, 1.0, 2.0, 3.0, 4.0, -(row as f32)])
        .collect();
    equal(images.data(), &expected[..], rows)?;
    let nodes = batch.ragged::<u16>("nodes").map_err(text)?;
    let lengths: Vec<u64> = rows.iter().map(|row| row % 4).collect();
    equal(nodes.lengths(), lengths.clone(), rows)?;
    let (padded, shape) = nodes.padded(9).map_err(text)?;
    let longest = lengths.iter().max().copied().unwrap_or(0) as usize;
    equal(shape, vec![rows.len(), longest, 2], "padded")?;
    for (at, len) in lengths.iter().enumerate() {
        let row = &padded[at * longest * 2..(at + 1) * longest * 2];
        let (real, pad) = row.split_at(*len as usize * 2);
        equal(real, nodes.row(at), "padded")?;
        equal(pad.iter().all(|&x| x == 9), true, "padding")?;
    }
    let empty = batch.field::<u8>("empty").map_err(text)?;
    equal(
        (empty.shape(), empty.data().len()),
        (&[rows.len(), 0, 3][..], 0),
        "empty",
    )
}

fn any_rank_reads_any_row(comm: &dyn OneSided) -> Result<(), String> {
    let (rank, size) = (comm.rank(), comm.size());
    for n in [0, 1, 3, 10, 23] {
        let lists = (0..size).map(|r| {
            (0..n as i64)
                .rev()
                .filter(|row| *row as usize % size == r)
                .collect::<Vec<_>>()
        });
        let axis = AxisDist::unstructured(n, lists).map_err(text)?;
        let shares = [
            (Share::Nsplit, None),
            (Share::Cyclic, Some(2)),
            (Share::BlockCyclic(2), Some(1)),
            (Share::Nsplit, Some(3)),
            (Share::Axis(axis), None),
        ];
        for (share, width) in shares {
            let mut builder = DistDataset::builder("graphs").share(share.clone());
            if let Some(width) = width {
                builder = builder.group_width(width);
            }
            let data = builder.build(comm, &graphs(n)).map_err(text)?;
            equal(data.len(), n, "length")?;
            // every row is somewhere in this rank's group
            let width = width.unwrap_or(size).min(size);
            let group = rank / width * width..(rank / width * width + width).min(size);
            let owned: usize = group.clone().map(|r| data.placement().rows_of(r)).sum();
            equal(owned as u64, n, (&share, width))?;
            let mut batch = Batch::default();
            for rows in orders(n, rank as u64) {
                data.read(&rows, &mut batch).map_err(text)?;
                match n {
                    // nobody knows what a sample would look like
                    0 => equal(
                        batch.schema().map(|schema| schema.fields().len()),
                        Some(0),
                        "schema",
                    )?,
                    _ => check_rows(&batch, &rows)?,
                }
            }
        }
    }
    Ok(())
}

fn every_element_type(comm: &dyn OneSided) -> Result<(), String> {
    let sample = |row: u64| -> Sample {
        let small = row as u8;
        let whole: Sample = (
            small,
            small as i8,
            row as u16,
            row as i16,
            row as u32,
            row as i32,
        )
            .into();
        let wide: Sample = (row, row as i64, row % 2 == 1).into();
        let float = row as f32 + 0.5;
        let floats: Sample = (
            f16::from_f32(float),
            bf16::from_f32(float),
            float,
            f64::from(float),
        )
            .into();
        let complex: Sample = (
            Complex32::new(float, -1.0),
            Complex64::new(-2.0, f64::from(float)),
        )
            .into();
        (
            whole,
            wide,
            floats,
            complex,
            vec![bf16::from_f32(float); 3],
            [row.is_multiple_of(2); 5],
        )
            .into()
    };
    let source = from_fn(9, |row| Ok::<_, SourceError>(sample(row)));
    let data = DistDataset::new("types", comm, &source).map_err(text)?;
    for row in (0..9).rev() {
        equal(data.sample(row).map_err(text)?, sample(row), row)?;
    }
    let mut batch = Batch::default();
    data.read(&[8, 1], &mut batch).map_err(text)?;
    equal(
        batch.field::<bool>("1.2").map_err(text)?.data(),
        &[false, true][..],
        "bool",
    )?;
    equal(
        batch.field::<bf16>("4").map_err(text)?.row(1),
        &[bf16::from_f32(1.5); 3][..],
        "bf16",
    )?;
    equal(
        batch.field::<Complex64>("3.1").map_err(text)?.data()[0].im,
        8.5,
        "complex",
    )
}

fn reads_are_not_collective(comm: &dyn OneSided) -> Result<(), String> {
    let data = DistDataset::new("graphs", comm, &graphs(23)).map_err(text)?;
    let mut batch = Batch::default();
    // each rank reads another number of batches, of other lengths
    for step in 0..comm.rank() as u64 * 3 {
        let rows: Vec<u64> = (0..=step).map(|at| (at * 5 + step) % 23).collect();
        data.read(&rows, &mut batch).map_err(text)?;
        check_rows(&batch, &rows)?;
    }
    drop(data);
    comm.barrier().map_err(text)
}

fn many_threads_read_at_once(comm: &dyn OneSided) -> Result<(), String> {
    let data = DistDataset::new("graphs", comm, &graphs(40)).map_err(text)?;
    let pool = BatchPool::new(&data, 8, 2).map_err(text)?;
    let outcomes: Vec<Result<(), String>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3_u64)
            .map(|thread| {
                let (data, pool) = (&data, pool.clone());
                scope.spawn(move || {
                    for step in 0..20 {
                        let rows: Vec<u64> = (0..8)
                            .map(|at| (at * at * 7 + step * 3 + thread) % 40)
                            .collect();
                        let mut batch = pool.take();
                        data.read(&rows, &mut batch).map_err(text)?;
                        check_rows(&batch, &rows)?;
                    }
                    Ok(())
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    outcomes.into_iter().collect::<Result<(), String>>()?;
    // both batches are back
    equal(
        (pool.try_take().is_some(), pool.try_take().is_some()),
        (true, true),
        "pool",
    )
}

fn a_source_that_fails_fails_everywhere(comm: &dyn OneSided) -> Result<(), String> {
    let n = 23_u64;
    let size = comm.size() as u64;
    for bad in [0, 1, 11, n - 1] {
        let owner = (0..size)
            .find(|&r| bad < (r + 1) * (n / size) + (r + 1).min(n % size))
            .unwrap() as usize;
        let bads: [(&str, Fail, &str); 6] = [
            ("error", || Err("no such file".into()), "no such file"),
            (
                "panic",
                || panic!("index out of bounds"),
                "the source panicked: index out of bounds",
            ),
            (
                "type",
                || Ok((vec![1.0_f64; 3], 7_i64).into()),
                "field \"0\" is f64 [3], in the first sample it is f32 [3]",
            ),
            (
                "shape",
                || Ok((vec![1.0_f32; 4], 7_i64).into()),
                "field \"0\" is f32 [4], in the first sample it is f32 [3]",
            ),
            (
                "parts",
                || Ok((vec![1.0_f32; 3],).into()),
                "is a tuple of 1, in the first sample it is a tuple of 2",
            ),
            (
                "text",
                || Ok((vec![1.0_f32; 3], "seven").into()),
                "field \"1\" is text, in the first sample it is i64 []",
            ),
        ];
        for (what, fail, expected) in bads {
            // a panic under MPI ends all ranks
            if what == "panic" && under_mpi(comm) {
                continue;
            }
            // the first sample of a share says what the others look like
            let first = comm.size() > 1
                && DistDataset::new("s", comm, &from_vec(vec![0_u8; n as usize]))
                    .map_err(text)?
                    .placement()
                    .locate(bad)
                    .map_err(text)?
                    .local
                    == 0;
            let source = from_fn(n, move |row| {
                if row == bad {
                    fail()
                } else {
                    Ok((vec![row as f32; 3], row as i64).into())
                }
            });
            let error = refused(comm, DistDataset::new("bad", comm, &source).map(drop));
            if first && !["error", "panic"].contains(&what) {
                let error = error?;
                let differs = matches!(
                    error,
                    DataError::Differs {
                        what: "a first sample like",
                        ..
                    } | DataError::OnRank(_)
                );
                equal(differs, true, (what, error))?;
                continue;
            }
            if bad == 0 && comm.size() == 1 && what != "error" && what != "panic" {
                // the first sample of all: the second one is wrong then
                equal(matches!(error?, DataError::OnRank(_)), true, what)?;
                continue;
            }
            let DataError::OnRank(agreed) = error? else {
                return Err(format!("{what}: another error"));
            };
            equal(agreed.rank, owner, (what, &agreed))?;
            let names =
                agreed.cause.contains(&format!("row {bad}")) && agreed.cause.contains(expected);
            equal(names, true, (what, &agreed))?;
        }
    }
    // one that does not even say how long it is
    struct NoLength;
    impl Source for NoLength {
        fn len(&self) -> u64 {
            panic!("no length")
        }
        fn get(&self, _: u64) -> Result<Sample, SourceError> {
            Err("none".into())
        }
    }
    if !under_mpi(comm) {
        let error = refused(comm, DistDataset::new("bad", comm, &NoLength).map(drop))?;
        equal(
            error
                .to_string()
                .contains("the length: the source panicked: no length"),
            true,
            error,
        )?;
    }
    // and the communicator is as good as before
    let data = DistDataset::new("good", comm, &graphs(5)).map_err(text)?;
    equal(data.sample(4).map_err(text)?, graph(4), "afterwards")
}

fn settings_must_agree(comm: &dyn OneSided) -> Result<(), String> {
    let (rank, last) = (comm.rank() as u64, comm.size() as u64 - 1);
    let build = |builder: dist_torch::Builder, n| builder.build(comm, &graphs(n)).map(drop);
    let zero = refused(comm, build(DistDataset::builder("a").group_width(0), 4))?;
    equal(zero, DataError::Width { given: 0 }, "width")?;
    let none = refused(
        comm,
        build(DistDataset::builder("a").share(Share::BlockCyclic(0)), 4),
    )?;
    equal(matches!(none, DataError::Map(_)), true, none)?;
    let short = AxisDist::block(3, comm.size()).map_err(text)?;
    let short = refused(
        comm,
        build(DistDataset::builder("a").share(Share::Axis(short)), 4),
    )?;
    equal(
        matches!(
            short,
            DataError::Placement {
                what: "rows",
                given: 3,
                allowed: 4
            }
        ),
        true,
        short,
    )?;
    if last == 0 {
        return Ok(());
    }
    let mine = |value: u64| if rank == last { value } else { 4 };
    let differs = |outcome, expected: &str| {
        let error = refused(comm, outcome)?;
        let DataError::Differs {
            what, rank, other, ..
        } = error
        else {
            return Err(format!("another error: {error}"));
        };
        equal((what, rank as u64, other), (expected, last, 0), "differs")
    };
    differs(
        build(DistDataset::builder("a"), mine(5)),
        "a source of length",
    )?;
    differs(
        build(DistDataset::builder("a").group_width(mine(1) as usize), 4),
        "groups of width",
    )?;
    differs(
        build(
            DistDataset::builder("a").share(Share::BlockCyclic(mine(2))),
            4,
        ),
        "a share of code",
    )?;
    differs(
        build(
            DistDataset::builder(if rank == last { "b" } else { "a" }),
            4,
        ),
        "a name of code",
    )?;
    // samples of another kind on the last rank
    let source = from_fn(2 * (last + 1), |row| {
        Ok::<_, SourceError>(if rank == last {
            Sample::from(row)
        } else {
            Sample::from(row as f32)
        })
    });
    differs(
        DistDataset::new("a", comm, &source).map(drop),
        "a first sample like",
    )
}

fn bad_reads_leave_the_batch_empty(comm: &dyn OneSided) -> Result<(), String> {
    let n = 10;
    let data = DistDataset::new("graphs", comm, &graphs(n)).map_err(text)?;
    let mut batch = Batch::default();
    for index in [n, n + 1, 1 << 63, u64::MAX] {
        data.read(&[1, 2], &mut batch).map_err(text)?;
        let outcome = data.read(&[0, index, 1], &mut batch);
        equal(
            outcome,
            Err(DataError::IndexOutOfRange { index, len: n }),
            index,
        )?;
        equal((batch.len(), batch.is_empty()), (0, true), "rows")?;
        equal(
            batch.field::<f32>("image").map(drop),
            Err(DataError::NotRead {
                name: "image".into(),
            }),
            "field",
        )?;
        equal(
            data.sample(index),
            Err(DataError::IndexOutOfRange { index, len: n }),
            "sample",
        )?;
    }
    let unknown = data.read_fields(&[1], &["label", "size"], &mut batch);
    equal(
        matches!(unknown, Err(DataError::UnknownField { name, .. }) if name == "size"),
        true,
        "unknown",
    )?;
    data.read_fields(&[3, 3, 1], &["label", "more.0", "label"], &mut batch)
        .map_err(text)?;
    equal(
        batch.field::<i64>("label").map_err(text)?.data(),
        &[-2, -2, -4][..],
        "label",
    )?;
    equal(
        batch.texts("more.0").map_err(text)?.get(2),
        Some("n1日本"),
        "text",
    )?;
    equal(batch.texts("more.0").map_err(text)?.get(3), None, "text")?;
    equal(
        batch.field::<f32>("image").map(drop),
        Err(DataError::NotRead {
            name: "image".into(),
        }),
        "not chosen",
    )?;
    equal(
        batch.sample(0).map(drop),
        Err(DataError::NotRead {
            name: "image".into(),
        }),
        "sample",
    )?;
    equal(
        matches!(
            batch.field::<f32>("label"),
            Err(DataError::DtypeMismatch { .. })
        ),
        true,
        "type",
    )?;
    equal(
        matches!(
            batch.field::<u8>("more.0"),
            Err(DataError::KindMismatch {
                asked: "fixed",
                held: "text",
                ..
            })
        ),
        true,
        "kind",
    )?;
    equal(
        matches!(
            batch.ragged::<i64>("label"),
            Err(DataError::KindMismatch {
                asked: "ragged",
                ..
            })
        ),
        true,
        "kind",
    )?;
    equal(
        matches!(
            batch.texts("label"),
            Err(DataError::KindMismatch { asked: "text", .. })
        ),
        true,
        "kind",
    )?;
    equal(
        batch.sample(3).map(drop),
        Err(DataError::IndexOutOfRange { index: 3, len: 3 }),
        "beyond",
    )?;
    equal(
        matches!(
            data.read_selected(&[0], &[99], &mut batch),
            Err(DataError::IndexOutOfRange { index: 99, .. })
        ),
        true,
        "field number",
    )
}

fn a_share_is_read_once_and_in_order(comm: &dyn OneSided) -> Result<(), String> {
    let next = AtomicU64::new(0);
    let n = 17;
    let asked = std::sync::Mutex::new(Vec::new());
    let source = from_fn(n, |row| {
        next.fetch_add(1, Ordering::Relaxed);
        asked.lock().unwrap().push(row);
        Ok::<_, SourceError>(graph(row))
    });
    let data = DistDataset::builder("once")
        .share(Share::Cyclic)
        .build(comm, &source)
        .map_err(text)?;
    let mine: Vec<u64> = data
        .placement()
        .rows_on(comm.rank())
        .map_err(text)?
        .collect();
    equal(asked.into_inner().unwrap(), mine, "rows asked for")?;
    equal(next.into_inner() as usize, data.own_rows(), "times")
}

fn samples_are_decoded(comm: &dyn OneSided) -> Result<(), String> {
    // stored as a code, read as a word
    let words = ["null", "eins", "zwei"];
    let source =
        from_fn(3, move |row| Ok::<_, SourceError>(words[row as usize])).encode(move |sample| {
            match sample {
                Sample::Text(word) => {
                    Ok((words.iter().position(|w| *w == word).ok_or("no word")? as u8).into())
                }
                _ => Err("no text".into()),
            }
        });
    let builder = DistDataset::builder("words").decode(move |stored, row| match stored {
        Sample::Array(code) if code.bytes()[0] as u64 == row && row < 2 => {
            Ok(words[row as usize].into())
        }
        _ => Err("no code".into()),
    });
    let data = builder.build(comm, &source).map_err(text)?;
    equal(
        data.samples(&[1, 0, 1]),
        Ok(vec!["eins".into(), "null".into(), "eins".into()]),
        "decoded",
    )?;
    equal(
        data.sample(2),
        Err(DataError::Source {
            row: 2,
            cause: "no code".into(),
        }),
        "not decoded",
    )?;
    let mut batch = Batch::default();
    data.read(&[2, 1], &mut batch).map_err(text)?;
    equal(
        batch.field::<u8>("0").map_err(text)?.data(),
        &[2, 1][..],
        "as stored",
    )
}

fn windows_stack_rows(comm: &dyn OneSided) -> Result<(), String> {
    let parts: Vec<Box<dyn Source>> = vec![
        Box::new(graphs(7)),
        Box::new(graphs(0)),
        Box::new(graphs(2)),
        Box::new(graphs(5)),
    ];
    let concat = ConcatSource::new(parts).map_err(text)?;
    let data = DistDataset::new("steps", comm, &concat).map_err(text)?;
    let n = data.len();
    // what row the samples of a concatenation say they are
    let inner = |row: u64| {
        if row < 7 {
            row
        } else if row < 9 {
            row - 7
        } else {
            row - 9
        }
    };
    for (size, stride, dilation) in [
        (1, 1, 1),
        (3, 1, 1),
        (3, 2, 2),
        (2, 5, 3),
        (14, 1, 1),
        (15, 1, 1),
        (8, 1, 2),
    ] {
        let windows = Windows::of(size)
            .stride(stride)
            .dilation(dilation)
            .fields(["label", "image"])
            .over(&data)
            .map_err(text)?;
        let span = (size - 1) * dilation + 1;
        let starts: Vec<u64> = (0..n)
            .step_by(stride as usize)
            .filter(|start| start + span <= n)
            .collect();
        equal(windows.len(), starts.len() as u64, (size, stride, dilation))?;
        let mut batch = Batch::default();
        let all: Vec<u64> = (0..windows.len()).rev().collect();
        windows.read(&all, &mut batch).map_err(text)?;
        let labels = batch.field::<i64>("label").map_err(text)?;
        equal(labels.shape(), &[all.len(), size as usize][..], "shape")?;
        equal(
            batch.field::<f32>("image").map_err(text)?.shape(),
            &[all.len(), size as usize, 2, 3][..],
            "shape",
        )?;
        for (at, &window) in all.iter().enumerate() {
            let start = starts[window as usize];
            let expected: Vec<i64> = (0..size)
                .map(|step| inner(start + step * dilation) as i64 - 5)
                .collect();
            equal(
                labels.row(at),
                &expected[..],
                (size, stride, dilation, window),
            )?;
        }
        equal(
            windows.read(&[windows.len()], &mut batch),
            Err(DataError::IndexOutOfRange {
                index: windows.len(),
                len: windows.len(),
            }),
            "beyond",
        )?;
    }
    // none across two sources
    let within = Windows::of(2)
        .fields(["label"])
        .within(concat.bounds())
        .over(&data)
        .map_err(text)?;
    let starts: Vec<_> = (0..within.len())
        .filter_map(|window| within.start(window))
        .collect();
    equal(starts, vec![0, 1, 2, 3, 4, 5, 7, 9, 10, 11, 12], "within")?;
    let given = Windows::of(2)
        .fields(["label"])
        .starts([12, 0])
        .over(&data)
        .map_err(text)?;
    equal(
        (given.start(0), given.start(1), given.start(2)),
        (Some(12), Some(0), None),
        "given",
    )?;
    let mut batch = Batch::default();
    given
        .read_fields(&[1], &["label"], &mut batch)
        .map_err(text)?;
    equal(
        batch.sample(0),
        Ok(Sample::map([("label", vec![-5_i64, -4].into())])),
        "sample",
    )?;
    let wrong = |windows: Windows| windows.over(&data).map(drop).unwrap_err();
    equal(
        wrong(Windows::of(2).fields(["label"]).starts([3, 13, 99])),
        DataError::IndexOutOfRange { index: 13, len: 13 },
        "start",
    )?;
    equal(
        wrong(Windows::of(99).fields(["label"]).starts([0])),
        DataError::IndexOutOfRange { index: 0, len: 0 },
        "start",
    )?;
    for windows in [
        Windows::of(0),
        Windows::of(1).stride(0),
        Windows::of(1).dilation(0),
        Windows::of(u64::MAX).dilation(9),
        Windows::of(2),
    ] {
        equal(
            matches!(wrong(windows), DataError::Window { .. }),
            true,
            "refused",
        )?;
    }
    equal(
        matches!(
            wrong(Windows::of(1).fields(["x"])),
            DataError::UnknownField { .. }
        ),
        true,
        "refused",
    )?;
    equal(
        matches!(
            wrong(Windows::of(1).fields(["label"]).within([3, 2])),
            DataError::Window { .. }
        ),
        true,
        "refused",
    )?;
    equal(
        matches!(
            wrong(Windows::of(1).fields(["label"]).within([0, 15])),
            DataError::IndexOutOfRange { .. }
        ),
        true,
        "refused",
    )
}

fn fields_go_out_and_come_in(comm: &dyn OneSided) -> Result<(), String> {
    for share in [Share::Nsplit, Share::Cyclic, Share::BlockCyclic(2)] {
        for n in [0_u64, 1, 10] {
            let source = from_fn(n, |row| {
                Ok::<_, SourceError>((
                    Array::new(&[2, 2], &[row as f32; 4])?,
                    row.is_multiple_of(2),
                ))
            });
            let data = DistDataset::builder("out")
                .share(share.clone())
                .build(comm, &source)
                .map_err(text)?;
            if n == 0 {
                equal(
                    matches!(data.export::<f32>("0"), Err(DataError::UnknownField { .. })),
                    true,
                    "no field",
                )?;
                continue;
            }
            let part = data.export::<f32>("0").map_err(text)?;
            equal(part.dim_data().global_shape(), vec![n, 2, 2], "shape")?;
            let mine: Vec<u64> = data
                .placement()
                .rows_on(comm.rank())
                .map_err(text)?
                .collect();
            let expected: Vec<f32> = mine.iter().flat_map(|&row| [row as f32; 4]).collect();
            equal(part.buffer().data(), &expected[..], "elements")?;
            let flags = data.export::<bool>("1").map_err(text)?;
            equal(
                flags
                    .buffer()
                    .data()
                    .iter()
                    .copied()
                    .eq(mine.iter().map(|row| row.is_multiple_of(2))),
                true,
                "flags",
            )?;
            equal(
                matches!(
                    data.export::<i32>("0"),
                    Err(DataError::DtypeMismatch { .. })
                ),
                true,
                "type",
            )?;
            // all parts make one array, by the protocol's own rules
            let texts = comm
                .all_gather_v(part.dim_data().to_value().to_string().as_bytes())
                .map_err(text)?;
            let parts = texts.iter().map(|text| {
                DimData::from_value(
                    &dap_protocol::literal::parse(&String::from_utf8_lossy(text)).unwrap(),
                    None,
                )
                .unwrap()
            });
            let whole =
                Distribution::from_dim_data_per_rank(&parts.collect::<Vec<_>>()).map_err(text)?;
            equal(whole.axes()[0].size(), n, "axis")?;

            let fields = DapFields::new()
                .field("x", part)
                .map_err(text)?
                .field("even", flags)
                .map_err(text)?;
            let again = DistDataset::from_dap("in", comm, &fields).map_err(text)?;
            equal(
                again.placement().axis(),
                data.placement().axis(),
                "placement",
            )?;
            for row in 0..n {
                let sample = Sample::map([
                    (
                        "x",
                        Array::new(&[2, 2], &[row as f32; 4]).map_err(text)?.into(),
                    ),
                    ("even", (row.is_multiple_of(2)).into()),
                ]);
                equal(again.sample(row), Ok(sample), row)?;
            }
        }
    }
    let data = DistDataset::new("graphs", comm, &graphs(5)).map_err(text)?;
    equal(
        matches!(
            data.export::<u16>("nodes"),
            Err(DataError::KindMismatch { held: "ragged", .. })
        ),
        true,
        "ragged",
    )
}

/// This rank's rows of `0..n`, padding included, by a distribution.
fn column(part: &DimData) -> DistBuffer<HostArray<i32>> {
    // 0 on a rank without a place in the grid
    let width = part.local_shape()[1] as usize;
    let map = dist_maps::map_from_dim_dict(&part.dims()[0]).unwrap();
    let rows: Vec<i32> = dist_maps::IndexMap::global_iter(&map)
        .map(|g| g.get() as i32)
        .collect();
    let data = rows
        .iter()
        .flat_map(|&row| (0..width as i32).map(move |at| row * 10 + at))
        .collect();
    DistBuffer::new(
        part.clone(),
        HostArray::new(vec![rows.len(), width], data).unwrap(),
    )
    .unwrap()
}

fn strange_arrays_come_in(comm: &dyn OneSided) -> Result<(), String> {
    let (rank, size) = (comm.rank(), comm.size());
    // blocks with communication padding, in which copies of neighbours lie
    let padded = Distribution::over(size)
        .shape([12, 3])
        .block(0)
        .padding(1)
        .build()
        .map_err(text)?;
    // ranks in another order, and one of them without a place
    let active = size.div_ceil(2).max(1);
    let axes = vec![
        AxisDist::cyclic(12, active, 2).map_err(text)?,
        AxisDist::whole(3).map_err(text)?,
    ];
    let targets: Vec<usize> = (0..active).map(|place| size - 1 - place).collect();
    let turned = Distribution::from_axes(axes, size, targets).map_err(text)?;
    for distribution in [padded, turned] {
        let part = column(&distribution.dim_data(rank).map_err(text)?);
        let data =
            DistDataset::from_dap("x", comm, &DapFields::new().field("x", part).map_err(text)?)
                .map_err(text)?;
        equal(
            data.own_rows(),
            distribution.owned_shape(rank)[0],
            "own rows",
        )?;
        let mut batch = Batch::default();
        data.read(&[11, 0, 5, 6, 5], &mut batch).map_err(text)?;
        let expected: Vec<i32> = [11, 0, 5, 6, 5]
            .iter()
            .flat_map(|row| [row * 10, row * 10 + 1, row * 10 + 2])
            .collect();
        equal(
            batch.field::<i32>("x").map_err(text)?.data(),
            &expected[..],
            "elements",
        )?;
    }
    // columns first, in memory
    let part = Distribution::over(size)
        .shape([4, 2])
        .block(0)
        .build()
        .map_err(text)?
        .dim_data(rank)
        .map_err(text)?;
    let c = column(&part);
    let (shape, by_rows) = (c.buffer().shape().to_vec(), c.buffer().data());
    let by_columns = (0..shape[1])
        .flat_map(|at| (0..shape[0]).map(move |row| by_rows[row * 2 + at]))
        .collect();
    let fortran = HostArray::with_order(shape.clone(), by_columns, dap_protocol::Order::Fortran)
        .map_err(text)?;
    let fields = DapFields::new()
        .field("f", DistBuffer::new(part, fortran).map_err(text)?)
        .map_err(text)?;
    let data = DistDataset::from_dap("f", comm, &fields).map_err(text)?;
    equal(
        data.sample(3),
        Ok(Sample::map([("f", vec![30_i32, 31].into())])),
        "fortran",
    )?;
    // no arrays at all
    let none = DistDataset::from_dap("none", comm, &DapFields::new()).map_err(text)?;
    equal(none.len(), 0, "none")
}

fn arrays_that_are_no_fields(comm: &dyn OneSided) -> Result<(), String> {
    let (rank, size) = (comm.rank(), comm.size());
    let part = |d: Distribution| -> Result<DistBuffer<HostArray<i32>>, String> {
        let part = d.dim_data(rank).map_err(text)?;
        let shape = d.local_shape(rank);
        let count = shape.iter().product();
        DistBuffer::new(part, HostArray::new(shape, vec![0; count]).map_err(text)?).map_err(text)
    };
    let over = || Distribution::over(size);
    let refuse = |fields: DapFields<'_>, expected: &str| {
        let error = refused(comm, DistDataset::from_dap("bad", comm, &fields).map(drop))?;
        equal(error.to_string().contains(expected), true, error)
    };
    let one = |d: Distribution| DapFields::new().field("x", part(d)?).map_err(text);
    refuse(
        one(over().shape([]).build().map_err(text)?)?,
        "no dimension",
    )?;
    if size == 1 {
        return Ok(());
    }
    refuse(
        one(over()
            .shape([4, 2 * size as u64])
            .block(1)
            .build()
            .map_err(text)?)?,
        "other than the first",
    )?;
    let rows = |n| over().shape([n]).block(0).build().map_err(text);
    let two = one(rows(8)?)?.field("y", part(rows(9)?)?).map_err(text)?;
    refuse(two, "distributed otherwise")?;
    let twice = one(rows(8)?)?.field("x", part(rows(8)?)?).map_err(text)?;
    refuse(twice, "two fields are called")?;
    // each says that all of it is its own
    let all = DimData::new(vec![DimDict::whole(3).map_err(text)?]);
    let own = DistBuffer::new(all, HostArray::new(vec![3], vec![0_i32; 3]).map_err(text)?)
        .map_err(text)?;
    refuse(
        DapFields::new().field("x", own).map_err(text)?,
        "field \"x\"",
    )?;
    // another array on the last rank
    let n = if rank + 1 == size { 1 } else { 2 };
    let d = over().shape([6, n]).block(0).build().map_err(text)?;
    let error = refused(comm, DistDataset::from_dap("bad", comm, &one(d)?).map(drop))?;
    equal(
        matches!(
            error,
            DataError::Differs {
                what: "arrays of",
                ..
            }
        ),
        true,
        error,
    )
}

fn an_epoch_reads_every_row_once(comm: &dyn OneSided) -> Result<(), String> {
    let (rank, size) = (comm.rank(), comm.size());
    for n in [3, 23] {
        let data = DistDataset::new("graphs", comm, &graphs(n)).map_err(text)?;
        let epoch = Schedule::new(n, 5 * size as u64)
            .seed(3)
            .epoch(1)
            .map_err(text)?;
        let mut batch = Batch::default();
        let mut mine = Vec::new();
        for step in 0..epoch.steps() {
            let rows = epoch.rows(step, rank, size);
            data.read(&rows, &mut batch).map_err(text)?;
            check_rows(&batch, &rows)?;
            mine.extend(
                batch
                    .field::<i64>("label")
                    .map_err(text)?
                    .data()
                    .iter()
                    .map(|label| (label + 5) as u8),
            );
        }
        let mut all = comm.all_gather_v(&mine).map_err(text)?.concat();
        all.sort_unstable();
        equal(all, (0..n as u8).collect(), n)?;
    }
    Ok(())
}

fn data_sets_do_not_mix(comm: &dyn OneSided) -> Result<(), String> {
    let first = DistDataset::new("first", comm, &graphs(9)).map_err(text)?;
    let second = DistDataset::new("second", comm, &from_vec(vec![7_u8; 4])).map_err(text)?;
    let mut batch = Batch::default();
    for _ in 0..2 {
        first.read(&[8, 1], &mut batch).map_err(text)?;
        check_rows(&batch, &[8, 1])?;
        second.read(&[3], &mut batch).map_err(text)?;
        equal(batch.sample(0), Ok(7_u8.into()), "second")?;
    }
    drop(first);
    equal(second.sample(0), Ok(7_u8.into()), "second")
}
