//! Cases of lazy handles for any communicator: on thread ranks, and under `mpirun`.

use std::sync::Arc;

use dap_protocol::{DistBuffer, ElementType, HostArray};
use dist_comm::{CommExt, Communicator};
use dist_io::legate::to_file;
use dist_io::{
    AttributeValue, H5Array, H5Node, HandleRefusal, IoError, Refusal, SaveHdf5, SeriesRefusal,
    Strategy, Tree, TreeFilter, WriteMode, create, file_series, inspect_hdf5, load_hdf5, open,
    open_dset, open_with,
};
use dist_maps::{AxisDist, Distribution, Index, MapError, Slice};
use half::{bf16, f16};
use num_complex::Complex;

use crate::cases::{Case, part, refusal, refused};
use crate::model;
use crate::support::{Failure, Folder, Outcome, Value, ensure, flat_indices};

fn is_overwrite(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Handle(HandleRefusal::Overwrite { .. }))
}

fn is_pattern(refusal: &Refusal) -> bool {
    matches!(refusal, Refusal::Series(SeriesRefusal::Pattern { .. }))
}

/// All of them.
pub const CASES: &[Case] = &[
    ("handles say what they are", descriptions),
    ("handles are redistributed for nothing", redistributed),
    ("fine strides are read in few requests", few_requests),
    ("single elements", single_elements),
    (
        "what cannot be asked of a handle is refused",
        refused_handles,
    ),
    ("assignments", assignments),
    (
        "copies are dropped when something is assigned",
        copies_are_dropped,
    ),
    ("what cannot be assigned is refused", refused_assignments),
    (
        "datasets are made, and filled region by region",
        made_and_filled,
    ),
    (
        "datasets are made with chunks, filters and a fill value",
        made_with_a_fill_value,
    ),
    ("groups are trees", trees),
    ("trees are assigned to", assigned_trees),
    ("file series", series),
    ("datasets in parts", in_parts),
    ("any reads, of some seeds", seeded_reads),
    ("any writes, of some seeds", seeded_writes),
];

fn seeded_reads(comm: &dyn Communicator) -> Outcome {
    (0..24).try_for_each(|seed| {
        model::reads(seed, comm).map_err(|error| format!("seed {seed}: {error}").into())
    })
}

fn seeded_writes(comm: &dyn Communicator) -> Outcome {
    (100..124).try_for_each(|seed| {
        model::writes(seed, comm).map_err(|error| format!("seed {seed}: {error}").into())
    })
}

pub fn rows(comm: &dyn Communicator, shape: [u64; 2]) -> Distribution {
    let rows = Distribution::over(comm.size()).shape(shape).block(0);
    rows.build().expect("rows")
}

fn descriptions(comm: &dyn Communicator) -> Outcome {
    fn is_shared<T: Clone + Send + Sync>(_: &T) {}
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [7, 10]);
    let save = SaveHdf5::new(&path).key("g/a").attribute("units", "K");
    save.attribute("step", 7)
        .save(&part::<f32>(&d, comm), comm)?;
    let a = open_dset::<f32>(&path, "g/a", comm)?;
    is_shared(&a);
    ensure(
        a.shape() == [7, 10] && a.ndim() == 2 && a.nbytes() == 280,
        || format!("{a:?}"),
    )?;
    ensure(a.unit() == Some("K"), || format!("{:?}", a.attributes()))?;
    let step = a.attributes().get("step");
    ensure(step == Some(&AttributeValue::Integer(7)), || {
        format!("{step:?}")
    })?;
    ensure(a.as_saved()?.distribution() == &d, || "as saved".to_owned())?;
    ensure(a.as_saved()?.load()? == part(&d, comm), || {
        "its elements".to_owned()
    })?;
    let b = a.slice(&[Slice::new(None, None, 3).into(), (-1).into()])?;
    ensure(
        b.shape() == [3] && b.nbytes() == 12 && b.unit() == Some("K"),
        || format!("{b:?}"),
    )?;
    comm.barrier()?; // everybody has looked
    Ok(())
}

fn redistributed(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [7, 10]);
    SaveHdf5::new(&path).save(&part::<i64>(&d, comm), comm)?;
    let a = open_dset::<i64>(&path, "buffer", comm)?;
    let ranks = comm.size();
    let one = a.distaxes([-1])?;
    let columns = Distribution::over(ranks).shape([7, 10]).block(1).build()?;
    ensure(one.distribution() == &columns, || format!("{one:?}"))?;
    let none = a.distaxes([])?;
    ensure(none.distribution().grid().len() == 1, || {
        format!("{none:?}")
    })?;
    let offsets: Vec<u64> = [0, 1, 1, 6, 6, 6, 7][..ranks].to_vec();
    let irregular = a.target_offsets([(0, &offsets)])?;
    let backwards: Vec<usize> = (0..ranks).rev().collect();
    let moved = irregular.target_ranks(backwards.clone())?;
    let bounds: Vec<u64> = offsets.iter().copied().chain([7]).collect();
    let expected = Distribution::over(ranks)
        .shape([7, 10])
        .block_bounds(0, bounds);
    let expected = expected.targets(backwards).build()?;
    ensure(moved.distribution() == &expected, || format!("{moved:?}"))?;
    for handle in [&one, &none, &irregular, &moved] {
        let found = handle.load()?;
        ensure(found == part(handle.distribution(), comm), || {
            format!("{found:?}")
        })?;
    }
    // a row that no rank has
    let mut lists = vec![vec![5_i64, 0]; 1];
    lists.resize(ranks, vec![]);
    lists[ranks - 1].push(2);
    let axes = vec![AxisDist::unstructured(7, lists)?, AxisDist::whole(10)?];
    let few = Distribution::from_axes(axes, ranks, (0..ranks).collect::<Vec<_>>())?;
    let few = a.distribute(&few)?;
    ensure(few.load()? == part(few.distribution(), comm), || {
        format!("{few:?}")
    })?;
    for row in [3, -1, 0] {
        let found = few.slice(&[row.into()])?.gather()?;
        let first = 10 * i64::rem_euclid(row, 7) as u64;
        let right = found.data().iter().copied();
        ensure(right.eq((first..first + 10).map(i64::at)), || {
            format!("row {row}: {found:?}")
        })?;
    }
    let like = one.dist_like(&moved)?;
    ensure(like.load()? == moved.load()?, || {
        "another's distribution".to_owned()
    })
}

fn few_requests(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [4096, 64]);
    SaveHdf5::new(&path).save(&part::<f64>(&d, comm), comm)?;
    let a = open_dset::<f64>(&path, "buffer", comm)?;
    let column = a.slice(&[Slice::full().into(), 5.into()])?.distaxes([0])?;
    let (found, report) = column.load_with_report()?;
    let first = found.owned_range(0).expect("a block").start;
    let right = (first..).zip(found.buffer().data());
    let right = right
        .into_iter()
        .all(|(row, &x)| x == f64::at(64 * row + 5));
    ensure(right && report.requests <= 2, || format!("{report}"))?;
    // dealt: slabs, and an exchange where there is anybody to exchange with
    let dealt = Distribution::over(comm.size())
        .shape([4096])
        .cyclic(0)
        .build()?;
    let (found, report) = column.distribute(&dealt)?.load_with_report()?;
    let ranks = comm.size() as u64;
    let own = (comm.rank() as u64..).step_by(comm.size());
    let right = own
        .zip(found.buffer().data())
        .all(|(row, &x)| x == f64::at(64 * row + 5));
    let expected = if ranks == 1 {
        Strategy::Direct
    } else {
        Strategy::TwoPhase
    };
    ensure(
        right && report.strategy == expected && report.requests <= 2,
        || format!("{report}"),
    )?;
    // a few rows far from each other: no more than they are
    let few = a.take(0, &[4000, 0, 2000, 0])?.distaxes([])?;
    let (found, report) = few.load_with_report()?;
    if comm.rank() == 0 {
        let row = |row: u64| (0..64).map(move |column| f64::at(64 * row + column));
        let expected = [4000, 0, 2000, 0].into_iter().flat_map(row);
        ensure(found.buffer().data().iter().copied().eq(expected), || {
            format!("{found:?}")
        })?;
        ensure(report.file_bytes == 3 * 512, || format!("{report}"))?;
    }
    Ok(())
}

fn single_elements(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [7, 10]);
    SaveHdf5::new(&path)
        .chunk([2, 3])
        .key("c")
        .save(&part::<bool>(&d, comm), comm)?;
    SaveHdf5::new(&path)
        .key("a")
        .save(&part::<bool>(&d, comm), comm)?;
    for key in ["a", "c"] {
        let a = open_dset::<bool>(&path, key, comm)?;
        ensure(a.at(&[-1, 2])? == bool::at(62), || format!("{key}: 62"))?;
        ensure(a.at(&[0, 1])? == bool::at(1), || format!("{key}: 1"))?;
        let back = a.slice(&[Slice::new(None, None, -1).into()])?;
        ensure(back.at(&[0, 3])? == bool::at(63), || format!("{key}: 63"))?;
        let scalar = back.slice(&[1.into(), 0.into()])?;
        ensure(
            scalar.ndim() == 0 && scalar.at(&[])? == bool::at(50),
            || format!("{key}: 50"),
        )?;
        ensure(scalar.gather()?.data() == [bool::at(50)], || {
            format!("{key}: all")
        })?;
    }
    Ok(())
}

fn refused_handles(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [7, 10]);
    SaveHdf5::new(&path).save(&part::<f32>(&d, comm), comm)?;
    let another = refused(comm, open_dset::<f64>(&path, "buffer", comm))?;
    ensure(matches!(another, IoError::ElementType { .. }), || {
        format!("{another:?}")
    })?;
    refused(comm, open_dset::<f32>(&path, "nothing", comm))?;
    let a = open_dset::<f32>(&path, "buffer", comm)?;
    let ranks = comm.size();
    let wrong = [
        refused(comm, a.slice(&[7.into()]))?,
        refused(comm, a.slice(&[Slice::new(None, None, 0).into()]))?,
        refused(comm, a.slice(&[0.into(), 0.into(), 0.into()]))?,
        refused(comm, a.at(&[0]))?,
        refused(comm, a.at(&[0, 10]))?,
        refused(comm, a.take(2, &[0]))?,
        refused(comm, a.take(0, &[-8]))?,
        refused(comm, a.compress(0, &[true; 6]))?,
        refused(comm, a.distaxes([0, -2]))?,
        refused(comm, a.distaxes([2]))?,
        refused(comm, a.target_offsets([(0, [1, 3])]))?,
        refused(comm, a.target_offsets([(0, vec![0; ranks + 1])]))?,
        refused(comm, a.target_offsets([(0, [0]), (-2, [0])]))?,
        refused(comm, a.target_ranks(vec![ranks; ranks]))?,
        refused(comm, a.gather_to(ranks))?,
    ];
    for (number, error) in wrong.iter().enumerate() {
        let known = matches!(error, IoError::Map(_));
        ensure(known, || format!("number {number}: {error:?}"))?;
    }
    ensure(
        wrong[8] == IoError::Map(MapError::RepeatedAxis { axis: 0 }),
        || format!("{:?}", wrong[8]),
    )?;
    let shape = refused(comm, a.distribute(&rows(comm, [7, 9])))?;
    ensure(matches!(shape, IoError::Shape { .. }), || {
        format!("{shape:?}")
    })?;
    let more = Distribution::over(ranks + 1).shape([7, 10]).build()?;
    let more = refused(comm, a.distribute(&more))?;
    ensure(matches!(more, IoError::Ranks { .. }), || {
        format!("{more:?}")
    })?;
    if ranks > 1 {
        let own = a.slice(&[(comm.rank() as i64).into()])?;
        let differ = refused(comm, own.load())?;
        let known = matches!(
            differ,
            IoError::Differ {
                what: "handle",
                rank: 1,
                ..
            }
        );
        ensure(known, || format!("{differ:?}"))?;
    }
    // the dataset is replaced by another one
    comm.barrier()?;
    if comm.rank() == 0 {
        std::fs::remove_file(&path)?;
    }
    comm.barrier()?;
    refused(comm, a.load())?;
    SaveHdf5::new(&path).save(&part::<f32>(&rows(comm, [6, 10]), comm), comm)?;
    let changed = refused(comm, a.load())?;
    ensure(matches!(changed, IoError::Shape { .. }), || {
        format!("{changed:?}")
    })
}

/// What everybody gathers, once all have written.
pub fn all_of<T: Value>(a: &H5Array<'_, T>) -> Result<Vec<T>, IoError> {
    Ok(a.gather()?.data().to_vec())
}

fn assigned<T: Value>(comm: &dyn Communicator, folder: &Folder, chunked: bool) -> Outcome {
    let path = folder.join(&format!("{} {chunked}.h5", T::TYPE));
    let d = rows(comm, [6, 5]);
    let save = SaveHdf5::new(&path);
    let save = if chunked {
        save.chunk([4, 2]).shuffle(true).deflate(1)
    } else {
        save
    };
    save.save(&part::<T>(&d, comm), comm)?;
    let a = open_dset::<T>(&path, "buffer", comm)?;
    let before = all_of(&a)?;
    // the columns backwards, in columns dealt to the ranks
    let back = a.slice(&[Index::Ellipsis, Slice::new(None, None, -1).into()])?;
    let dealt = Distribution::over(comm.size())
        .shape([6, 5])
        .cyclic(1)
        .build()?;
    back.assign(&a.distribute(&dealt)?.load()?)?;
    let mut expected: Vec<T> = before
        .chunks(5)
        .flat_map(|row| row.iter().rev().copied())
        .collect();
    ensure(all_of(&a)? == expected, || {
        format!("{}: backwards", T::TYPE)
    })?;
    // one element, one row, nothing
    let value = T::at(17);
    a.slice(&[(-1).into(), 2.into()])?.fill(value)?;
    a.slice(&[0.into()])?.fill(value)?;
    a.slice(&[(3..3).into()])?.fill(T::at(3))?;
    expected[27] = value;
    expected[..5].fill(value);
    ensure(all_of(&a)? == expected, || {
        format!("{}: one by one", T::TYPE)
    })?;
    let there = load_hdf5::<T>(&path, &d, "buffer", comm)?;
    let first = 5 * there.owned_range(0).unwrap_or(6..6).start as usize;
    let own = there.buffer().data();
    ensure(own == &expected[first..first + own.len()], || {
        format!("{}: as loaded", T::TYPE)
    })
}

fn assignments(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    for chunked in [false, true] {
        assigned::<bool>(comm, &folder, chunked)?;
        assigned::<i8>(comm, &folder, chunked)?;
        assigned::<u16>(comm, &folder, chunked)?;
        assigned::<f32>(comm, &folder, chunked)?;
        assigned::<f64>(comm, &folder, chunked)?;
        assigned::<Complex<f64>>(comm, &folder, chunked)?;
    }
    Ok(())
}

fn copies_are_dropped(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [7, 2]);
    SaveHdf5::new(&path).save(&part::<i32>(&d, comm), comm)?;
    let a = open_dset::<i32>(&path, "buffer", comm)?;
    let (one, two) = (a.gather()?, a.clone().gather()?);
    ensure(Arc::ptr_eq(&one, &two), || {
        "the copy is not kept".to_owned()
    })?;
    a.slice(&[1.into()])?.fill(-5)?; // through another handle of the same opening
    let three = a.gather()?;
    let expected = [i32::at(0), i32::at(1), -5, -5];
    ensure(three.data()[..4] == expected, || format!("{three:?}"))?;
    // through a handle of its own, by another name of the file
    let link = folder.join("link.h5");
    if comm.rank() == 0 {
        std::os::unix::fs::symlink(&path, &link)?;
    }
    comm.barrier()?;
    let other = open_dset::<i32>(&link, "/buffer", comm)?;
    other.assign_from(&HostArray::new(vec![2], vec![7, 8])?)?;
    let four = a.gather()?;
    ensure(four.data() == [7, 8].repeat(7), || format!("{four:?}"))?;
    ensure(Arc::ptr_eq(&four, &a.gather()?), || {
        "the copy is not kept".to_owned()
    })?;
    // and by another file of this name
    SaveHdf5::new(&path)
        .mode(WriteMode::Replace)
        .save(&part::<i32>(&d, comm), comm)?;
    ensure(a.gather()?.data() == one.data(), || {
        "another file".to_owned()
    })?;
    ensure(one.data()[2] == i32::at(2), || {
        "who has a copy keeps it".to_owned()
    })
}

fn refused_assignments(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [7, 10]);
    SaveHdf5::new(&path).save(&part::<f32>(&d, comm), comm)?;
    SaveHdf5::new(&path)
        .key("many")
        .chunk([1, 1])
        .save(&part::<f32>(&rows(comm, [70, 60]), comm), comm)?;
    let a = open_dset::<f32>(&path, "buffer", comm)?;
    let before = all_of(&a)?;
    let twice = refused(comm, a.take(0, &[1, -6])?.fill(0.0))?;
    let known = matches!(
        twice,
        IoError::Map(MapError::RepeatedIndex {
            axis: Some(0),
            given: 1,
            ..
        })
    );
    ensure(known, || format!("{twice:?}"))?;
    let shape = refused(comm, a.assign(&part::<f32>(&rows(comm, [7, 9]), comm)))?;
    ensure(matches!(shape, IoError::Shape { .. }), || {
        format!("{shape:?}")
    })?;
    let element = refused(comm, a.assign(&part::<f64>(&d, comm)))?;
    ensure(matches!(element, IoError::ElementType { .. }), || {
        format!("{element:?}")
    })?;
    let small = HostArray::new(vec![7], vec![0.0; 7])?;
    let small = refused(comm, a.assign_from(&small))?;
    ensure(matches!(small, IoError::Shape { .. }), || {
        format!("{small:?}")
    })?;
    let mut lists = vec![vec![0_i64, 1, 2, 4, 5, 6]];
    lists.resize(comm.size(), Vec::new());
    let axes = vec![AxisDist::unstructured(7, lists)?, AxisDist::whole(10)?];
    let holes = Distribution::from_axes(axes, comm.size(), (0..comm.size()).collect::<Vec<_>>())?;
    let holes = refused(comm, a.assign(&part::<f32>(&holes, comm)))?;
    let known = matches!(
        holes,
        IoError::Uncovered { axis: 0, index: 3 } | IoError::Protocol(_)
    );
    ensure(known, || format!("{holes:?}"))?;
    if comm.size() > 1 {
        let differ = refused(comm, a.fill(comm.rank() as f32))?;
        ensure(
            matches!(differ, IoError::Differ { what: "value", .. }),
            || format!("{differ:?}"),
        )?;
    }
    ensure(all_of(&a)? == before, || "something was written".to_owned())?;
    let many = open_dset::<f32>(&path, "many", comm)?;
    ensure(many.at(&[69, 59])? == f32::at(4199), || {
        "the last of many chunks".to_owned()
    })?;
    let many = refusal(comm, many.fill(0.0))?;
    ensure(is_overwrite(&many), || format!("{many:?}"))?;
    Ok(())
}

fn made_and_filled(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [6, 4]);
    let a = create::<f64>(&path, "run/a", &d, comm)?;
    ensure(all_of(&a)? == [0.0; 24], || "zeros".to_owned())?;
    let b = create::<i32>(
        &path,
        "run/b",
        &Distribution::over(comm.size()).build()?,
        comm,
    )?;
    b.fill(7)?;
    // region by region
    for half in [0..3, 3..6] {
        let region = a.slice(&[half.into()])?;
        let like = region.distribution().dim_data(comm.rank())?;
        let n: u64 = like.local_shape().iter().product();
        let shape = like.local_shape().iter().map(|&n| n as usize).collect();
        let value = HostArray::new(shape, vec![f64::from(comm.rank() as u32 + 1); n as usize])?;
        region.assign(&DistBuffer::new(like, value)?)?;
    }
    let all = all_of(&a)?;
    let row = |r: usize| d.owner(&[r as i64, 0]).map(|rank| rank as f64 + 1.0);
    let right = (0..6).all(|r| all[4 * r..4 * r + 4].iter().all(|&x| Some(x) == row(r)));
    ensure(right, || format!("{all:?}"))?;
    ensure(b.at(&[])? == 7, || "the scalar".to_owned())?;
    ensure(a.as_saved()?.distribution() == &d, || {
        "its distribution".to_owned()
    })?;
    let taken = refusal(comm, create::<f64>(&path, "run/a", &d, comm))?;
    ensure(taken == Refusal::KeyExists, || format!("{taken:?}"))?;
    ensure(all_of(&a)? == all, || "the file is another".to_owned())
}

fn made_with_a_fill_value(comm: &dyn Communicator) -> Outcome {
    fn made<T: Value>(comm: &dyn Communicator, folder: &Folder, fill: T) -> Outcome {
        let path = folder.join(&format!("{}.h5", T::TYPE));
        let d = rows(comm, [7, 6]);
        let save = SaveHdf5::new(&path).attribute("units", "m");
        let ways = [
            save.clone().key("g/one piece"),
            save.clone().key("chunks").chunk([3, 4]),
            save.key("coded")
                .chunk([3, 4])
                .shuffle(true)
                .deflate(1)
                .fletcher32(true),
        ];
        for save in ways {
            let a = save.make(&d, fill, comm)?;
            let what = format!("{} {}", T::TYPE, a.key());
            ensure(
                all_of(&a)? == vec![fill; 42] && a.unit() == Some("m"),
                || what.clone(),
            )?;
            a.slice(&[(2..5).into(), (-1).into()])?
                .assign_from(&HostArray::new(vec![3], (0..3).map(T::at).collect())?)?;
            let mut expected = vec![fill; 42];
            for row in 0..3 {
                expected[6 * (row + 2) + 5] = T::at(row as u64);
            }
            ensure(all_of(&a)? == expected, || what.clone())?;
            ensure(a.as_saved()?.distribution() == &d, || what.clone())?;
        }
        let info = inspect_hdf5(&path, "coded")?;
        ensure(info.filters == ["shuffle", "deflate", "fletcher32"], || {
            format!("{info:?}")
        })?;
        comm.barrier()?; // everybody has looked
        Ok(())
    }
    let folder = Folder::new(comm);
    made::<bool>(comm, &folder, true)?;
    made::<i8>(comm, &folder, -1)?;
    made::<u64>(comm, &folder, u64::MAX)?;
    made::<f16>(comm, &folder, f16::from_f32(1.5))?;
    made::<bf16>(comm, &folder, bf16::from_f32(-2.5))?;
    made::<f64>(comm, &folder, f64::INFINITY)?;
    made::<f64>(comm, &folder, 0.0).err().ok_or("a key twice")?;
    made::<f32>(comm, &folder, 0.0)?;
    made::<Complex<f64>>(comm, &folder, Complex::new(1.0, -1.0))?;
    // a scalar, an array without elements, and what there cannot be
    let path = folder.join("more.h5");
    let save = |key: &str| SaveHdf5::new(&path).key(key);
    let scalar = Distribution::over(comm.size()).build()?;
    let one = save("one").make(&scalar, 2.5, comm)?;
    ensure(one.at(&[])? == 2.5, || "the scalar".to_owned())?;
    let none = save("none")
        .chunk([1, 1])
        .make(&rows(comm, [0, 4]), 1_u8, comm)?;
    ensure(all_of(&none)?.is_empty(), || "nothing".to_owned())?;
    let d = rows(comm, [7, 6]);
    let wrong = [
        refused(comm, save("w").chunk([3]).make(&d, 1_i32, comm))?,
        refused(comm, save("w").deflate(10).make(&d, 1_i32, comm))?,
        refused(comm, save("w").checksums(true).make(&d, 1_i32, comm))?,
        refused(
            comm,
            save("w").max_shape([None, None]).make(&d, 1_i32, comm),
        )?,
        refused(comm, save("one").make(&d, 1_i32, comm))?,
    ];
    let right = matches!(
        &wrong,
        [
            IoError::Dimensions { .. },
            IoError::DeflateLevel { given: 10 },
            IoError::Hdf5 { .. },
            IoError::Hdf5 { .. },
            IoError::Hdf5 { refusal, .. },
        ] if **refusal == Refusal::KeyExists
    );
    ensure(right, || format!("{wrong:?}"))?;
    if comm.size() > 1 {
        let differ = refused(comm, save("w").make(&d, comm.rank() as i32, comm))?;
        ensure(
            matches!(
                differ,
                IoError::Differ {
                    what: "fill value",
                    ..
                }
            ),
            || format!("{differ:?}"),
        )?;
    }
    Ok(())
}

fn trees(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [6, 4]);
    for key in ["g/E/x", "g/E/y"] {
        SaveHdf5::new(&path)
            .key(key)
            .attribute("nan", f64::NAN)
            .save(&part::<f64>(&d, comm), comm)?;
    }
    SaveHdf5::new(&path)
        .key("g/n")
        .save(&part::<i16>(&d, comm), comm)?;
    let whole = open(&path, "/", comm)?.tree().ok_or("no tree")?;
    let names: Vec<&str> = whole.names().collect();
    ensure(names == ["g/E/x", "g/E/y", "g/n"], || format!("{names:?}"))?;
    ensure(
        whole.nbytes() == 24 * (8 + 8 + 2) && whole.shape() == [6, 4],
        || format!("{whole:?}"),
    )?;
    let g = open(&path, "g", comm)?.tree().ok_or("no tree")?;
    let cut = g
        .slice(&[Slice::new(None, None, 2).into(), (-1).into()])?
        .distaxes([0])?;
    let e = cut.get("E").and_then(H5Node::tree).ok_or("no group E")?;
    let x = e.get("x").and_then(H5Node::array).ok_or("no x")?;
    let same = cut.get("E/x").and_then(H5Node::array).ok_or("no E/x")?;
    ensure(x.load()? == same.load()?, || {
        "named first or last".to_owned()
    })?;
    ensure(
        x.typed::<f64>()?.gather()?.data() == [3, 11, 19].map(f64::at),
        || "x".to_owned(),
    )?;
    ensure(cut.get("F").is_none() && cut.get("E/").is_some(), || {
        "names".to_owned()
    })?;
    let nan = x.attributes().get("nan");
    ensure(
        matches!(nan, Some(AttributeValue::Real(x)) if x.is_nan()),
        || format!("{nan:?}"),
    )?;
    let parts = cut.load()?;
    let n = parts["n"].buffer().typed::<i16>()?;
    let from = flat_indices(parts["n"].dim_data());
    let expected: Vec<i16> = from.iter().map(|&at| i16::at(8 * at + 3)).collect();
    ensure(n.data() == expected, || format!("{n:?}"))?;
    ensure(parts["n"].buffer().typed::<u16>().is_err(), || {
        "another type".to_owned()
    })?;
    let one = open(&path, "g/n", comm)?.array().ok_or("no array")?;
    ensure(one.dtype() == ElementType::I16, || format!("{one:?}"))?;
    // a member of another shape
    SaveHdf5::new(&path).key("g/time").save(
        &part::<f64>(&Distribution::over(comm.size()).build()?, comm),
        comm,
    )?;
    let leaves = refusal(comm, open(&path, "g", comm))?;
    let expected = HandleRefusal::Leaves {
        shape: "6 x 4".to_owned(),
        others: vec![("time".to_owned(), "scalar".to_owned())],
    };
    ensure(leaves == Refusal::from(expected), || format!("{leaves:?}"))?;
    let some = open_with(&path, "g", TreeFilter::skip_mismatched(), comm)?
        .tree()
        .ok_or("no tree")?;
    ensure(
        some.names().count() == 3 && some.skipped().contains_key("time"),
        || format!("{some:?}"),
    )?;
    let missing = refusal(comm, open(&path, "g/F", comm))?;
    ensure(matches!(missing, Refusal::MissingKey { .. }), || {
        format!("{missing:?}")
    })?;
    let inside = refusal(comm, open(&path, "g/n/x", comm))?;
    ensure(
        matches!(
            inside,
            Refusal::NotAGroup { .. } | Refusal::MissingKey { .. }
        ),
        || format!("{inside:?}"),
    )?;
    Ok(())
}

fn assigned_trees(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [6, 4]);
    SaveHdf5::new(&path)
        .key("g/E/x")
        .save(&part::<f64>(&d, comm), comm)?;
    SaveHdf5::new(&path)
        .key("g/E/y")
        .chunk([4, 4])
        .deflate(1)
        .save(&part::<f32>(&d, comm), comm)?;
    SaveHdf5::new(&path)
        .key("g/n")
        .save(&part::<u8>(&d, comm), comm)?;
    let g = open(&path, "g", comm)?.tree().ok_or("no tree")?;
    let first = g.slice(&[(..3).into()])?;
    let last = g.slice(&[(3..).into()])?.target_offsets([(1, [0])])?;
    first.assign(&last.load()?)?;
    let taken = g.compress(1, &[false, true, false, false])?;
    taken.fill(200.0)?;
    let value = |at: usize| {
        if at % 4 == 1 {
            None
        } else {
            Some((at % 12 + 12) as u64)
        }
    };
    fn all<T: Value>(g: &Tree<'_>, name: &str) -> Result<Vec<T>, Failure> {
        let leaf = g.get(name).and_then(H5Node::array).ok_or("no member")?;
        Ok(leaf.typed::<T>()?.gather()?.data().to_vec())
    }
    let x: Vec<f64> = (0..24).map(|at| value(at).map_or(200.0, f64::at)).collect();
    let y: Vec<f32> = (0..24).map(|at| value(at).map_or(200.0, f32::at)).collect();
    let n: Vec<u8> = (0..24).map(|at| value(at).map_or(200, u8::at)).collect();
    let right = || {
        Ok::<_, Failure>(
            all::<f64>(&g, "E/x")? == x && all::<f32>(&g, "E/y")? == y && all::<u8>(&g, "n")? == n,
        )
    };
    ensure(right()?, || "assigned".to_owned())?;
    // all members piece by piece, within one budget
    let mut sums = [0.0; 2];
    let mut pieces = 0;
    g.for_each_fragment(100, |parts, _| {
        pieces += 1;
        sums[0] += parts["E/x"]
            .buffer()
            .typed::<f64>()?
            .data()
            .iter()
            .sum::<f64>();
        sums[1] += parts["n"]
            .buffer()
            .typed::<u8>()?
            .data()
            .iter()
            .map(|&n| f64::from(n))
            .sum::<f64>();
        Ok::<_, Failure>(())
    })?;
    let found = comm.all_gather_slice(&sums)?;
    let found = [0, 1].map(|at| found.iter().map(|sums| sums[at]).sum::<f64>());
    let expected = [x.iter().sum(), n.iter().map(|&n| f64::from(n)).sum::<f64>()];
    ensure(found == expected && pieces > 1, || {
        format!("{found:?}, not {expected:?}")
    })?;
    // nothing is written where one member does not fit
    let e = g.get("E").and_then(H5Node::tree).ok_or("no group")?;
    let names = refused(comm, g.assign(&e.load()?))?;
    let names_of = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let known = IoError::Members {
        missing: names_of(&["E/x", "E/y", "n"]),
        unknown: names_of(&["x", "y"]),
    };
    ensure(names == known, || format!("{names:?}"))?;
    let mut parts = first.load()?;
    let other = g.slice(&[(..2).into()])?.load()?;
    parts.insert("n".to_owned(), other["n"].clone());
    let shape = refused(comm, first.assign(&parts))?;
    let known = matches!(&shape, IoError::Member { name, error } if name == "n" && matches!(**error, IoError::Shape { .. }));
    ensure(known, || format!("{shape:?}"))?;
    let value = refused(comm, g.fill(0.5))?;
    let known = matches!(&value, IoError::Member { name, error } if name == "n" && matches!(**error, IoError::Value { .. }));
    ensure(known, || format!("{value:?}"))?;
    ensure(right()?, || "something was written".to_owned())
}

fn series(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let d = rows(comm, [6, 4]);
    for step in [100, 0, 20] {
        let save =
            SaveHdf5::new(folder.join(&format!("run_{step:03}.h5"))).key(format!("data/{step}/a"));
        let (_, dims, buffer) = part::<i32>(&d, comm).into_parts();
        let (shape, data, _) = buffer.into_parts();
        let data = data.into_iter().map(|x| x + step).collect();
        let part = DistBuffer::new(dims, HostArray::new(shape, data)?)?;
        save.attribute("units", "K").save(&part, comm)?;
    }
    let run = file_series(folder.join("run_{step}.h5"), "data/{step}/a", comm)?;
    ensure(run.steps() == [0, 20, 100], || format!("{run:?}"))?;
    for (step, part) in run.load_steps::<i32>(&[100, 20])? {
        let own = flat_indices(part.dim_data());
        let expected: Vec<i32> = own.iter().map(|&at| i32::at(at) + step as i32).collect();
        ensure(part.buffer().data() == expected, || {
            format!("{step}: {part:?}")
        })?;
    }
    ensure(run.open::<i32>(0)?.unit() == Some("K"), || {
        "its unit".to_owned()
    })?;
    let missing = refusal(comm, run.open::<i32>(1))?;
    ensure(is_pattern(&missing), || format!("{missing:?}"))?;
    let none = refusal(comm, file_series(folder.join("ran_{step}.h5"), "a", comm))?;
    ensure(is_pattern(&none), || format!("{none:?}"))
}

fn in_parts(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = Distribution::over(comm.size())
        .shape([9, 8])
        .block(0)
        .block(1)
        .build()?;
    to_file(&part::<f32>(&d, comm), &path, "/a", comm)?;
    let a = open_dset::<f32>(&path, "a", comm)?;
    let cut = a.slice(&[Slice::new(None, None, -2).into(), (1..6).into()])?;
    let all = all_of(&cut)?;
    let rows = [8, 6, 4, 2, 0_u64].into_iter();
    let expected: Vec<f32> = rows
        .flat_map(|r| (1..6).map(move |c| f32::at(8 * r + c)))
        .collect();
    ensure(all == expected, || format!("{all:?}"))?;
    let refused = refusal(comm, a.fill(0.0))?;
    ensure(is_overwrite(&refused), || format!("{refused:?}"))
}
