//! Cases of lazy handles for any communicator: on thread ranks, and under `mpirun`.

use std::sync::Arc;

use dap_protocol::{DistBuffer, ElementType, HostArray};
use dist_comm::{CommExt, Communicator};
use dist_io::legate::to_file;
use dist_io::{
    AttributeValue, H5Array, H5Node, HandleRefusal, IoError, Refusal, SaveHdf5, SeriesRefusal,
    Strategy, TreeFilter, create, file_series, load_hdf5, open, open_dset, open_with,
};
use dist_maps::{AxisDist, Distribution, Index, MapError, Slice};
use num_complex::Complex;

use crate::cases::{Case, part, refusal, refused};
use crate::support::{Folder, Outcome, Value, ensure, flat_indices};

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
];

fn rows(comm: &dyn Communicator, shape: [u64; 2]) -> Distribution {
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
    let offsets: Vec<u64> = [0, 1, 1, 6][..ranks].to_vec();
    let irregular = a.distaxes([0])?.target_offsets(0, offsets)?;
    let backwards: Vec<usize> = (0..ranks).rev().collect();
    let moved = irregular.target_ranks(backwards.clone())?;
    let bounds: Vec<u64> = [0, 1, 1, 6][..ranks].iter().copied().chain([7]).collect();
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
        refused(comm, a.target_offsets(0, [1, 3]))?,
        refused(comm, a.target_offsets(0, vec![0; ranks + 1]))?,
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
fn all_of<T: Value>(a: &H5Array<'_, T>) -> Result<Vec<T>, IoError> {
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
    refused(comm, a.assign_from(&small))?;
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

fn in_fragments(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [5, 40]);
    SaveHdf5::new(&path)
        .chunk([2, 8])
        .save(&part::<i64>(&d, comm), comm)?;
    let a = open_dset::<i64>(&path, "buffer", comm)?.distaxes([0])?;
    let cut = a.slice(&[Index::Ellipsis, (3..39).into()])?; // the first chunk is cut
    let most = 5_u64.div_ceil(comm.size() as u64);
    let mut starts = Vec::new();
    let mut seen = 0;
    cut.for_each_fragment(8 * most * 20, |part, offsets| {
        ensure(offsets[0] == 0, || format!("{offsets:?}"))?;
        starts.push(offsets[1]);
        let dims = part.dim_data().clone();
        let inside = flat_indices(&dims);
        let width = dims.global_shape()[1];
        seen += inside.len() as u64;
        let right = inside
            .iter()
            .zip(part.buffer().data())
            .all(|(at, &x)| x == i64::at(40 * (at / width) + 3 + offsets[1] + at % width));
        ensure(right, || format!("{part:?} at {offsets:?}"))
    })?;
    ensure(starts == [0, 13, 29], || format!("{starts:?}"))?;
    let seen = comm.all_gather_value(seen)?;
    ensure(seen.iter().sum::<u64>() == 5 * 36, || format!("{seen:?}"))?;
    // too little for one column is one column
    ensure(cut.fragments(1).count() == 36, || {
        "single columns".to_owned()
    })?;
    let largest = cut.map_reduce(
        1,
        |part| part.data().iter().copied().max().unwrap_or(0),
        i64::max,
    )?;
    let expected = (0..200)
        .filter(|at| (3..39).contains(&(at % 40)))
        .map(i64::at)
        .max();
    ensure(largest == expected, || format!("{largest:?}"))?;
    let nothing = cut.slice(&[(2..2).into()])?;
    ensure(nothing.fragments(100).count() == 0, || "nothing".to_owned())?;
    ensure(
        nothing.map_reduce(100, |_| 1_i64, |a, b| a + b)?.is_none(),
        || "of nothing".to_owned(),
    )?;
    // an error of one rank is one of all
    let last = comm.size() - 1;
    let mut calls = 0;
    let stopped = cut.for_each_fragment(1, |_, _| {
        calls += 1;
        if comm.rank() == last && calls == 2 {
            Err("enough")
        } else {
            Ok(())
        }
    });
    let stopped = refused(comm, stopped)?;
    ensure(
        matches!(&stopped, IoError::Agreed(agreed) if agreed.rank == last),
        || format!("{stopped:?}"),
    )?;
    ensure(calls == 2, || format!("{calls} calls"))
}

fn expressions(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [6, 9]);
    SaveHdf5::new(&path)
        .key("a")
        .chunk([4, 4])
        .save(&part::<f64>(&d, comm), comm)?;
    SaveHdf5::new(&path)
        .key("n")
        .save(&part::<i32>(&d, comm), comm)?;
    let a = open_dset::<f64>(&path, "a", comm)?.distribute(&d)?;
    let dealt = Distribution::over(comm.size())
        .shape([6, 9])
        .block_cyclic(1, 2)
        .build()?;
    let b = open_dset::<f64>(&path, "a", comm)?.distribute(&dealt)?;
    let b = b.slice(&[Slice::new(None, None, -1).into()])?; // the rows backwards
    let at = |flat: u64| f64::at(flat);
    let turned = |flat: u64| f64::at(9 * (5 - flat / 9) + flat % 9);
    let own = flat_indices(&d.dim_data(comm.rank())?);
    let is = |found: DistBuffer<HostArray<f64>>, of: &dyn Fn(u64) -> f64| {
        let expected: Vec<f64> = own.iter().map(|&flat| of(flat)).collect();
        ensure(found.buffer().data() == expected, || {
            format!("{found:?}, not {expected:?}")
        })
    };
    is((&a + &b).load()?, &|i| at(i) + turned(i))?;
    is((&a - 2.5).load()?, &|i| at(i) - 2.5)?;
    is((&a * &b / 4.0 % 3.0).load()?, &|i| {
        at(i) * turned(i) / 4.0 % 3.0
    })?;
    is((-a.expr()).abs().sqrt().load()?, &|i| at(i).abs().sqrt())?;
    is(a.expr().zip(&b, f64::max).load()?, &|i| {
        at(i).max(turned(i))
    })?;
    let less = a.expr().lt(&b);
    let expected = (0..54).filter(|&i| at(i) < turned(i)).count() as u64;
    let budgets = [1, 100, 1 << 20];
    for budget in budgets {
        ensure(less.count(budget)? == expected, || {
            format!("{budget}: count")
        })?;
        let sum = (&a * 2.0).sum(budget)?;
        let all: f64 = (0..54).map(|i| 2.0 * at(i)).sum();
        ensure(sum == all, || format!("{budget}: {sum}, not {all}"))?;
    }
    // saved piece by piece, into the same file
    let saved = (&a + &b).save(&path, "sum", 300)?;
    let expected: Vec<f64> = (0..54).map(|i| at(i) + turned(i)).collect();
    ensure(all_of(&saved)? == expected, || "saved".to_owned())?;
    ensure(saved.as_saved()?.distribution() == &d, || {
        "its distribution".to_owned()
    })?;
    // flags choose, in C order, whatever the distributions
    let chosen = b.mask(&less)?;
    let all = comm.all_gather_slice(chosen.buffer().data())?.concat();
    let expected: Vec<f64> = (0..54).filter(|&i| at(i) < turned(i)).map(turned).collect();
    ensure(all == expected, || format!("{all:?}, not {expected:?}"))?;
    let len = chosen.dim_data().global_shape();
    ensure(len == [expected.len() as u64], || format!("{len:?}"))?;
    // integers wrap, and nothing is divided by zero
    let n = open_dset::<i32>(&path, "n", comm)?;
    let odd = (&n * i32::MAX + &n) / (&n * 0);
    ensure(odd.ne(0).count(64)? == 0, || "by zero".to_owned())?;
    let shape = refused(comm, (&a + &a.slice(&[(1..).into()])?).load())?;
    ensure(matches!(shape, IoError::Shape { .. }), || {
        format!("{shape:?}")
    })
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
