//! Cases of lazy handles for any communicator: on thread ranks, and under `mpirun`.

use dist_comm::Communicator;
use dist_io::{AttributeValue, IoError, SaveHdf5, Strategy, open_dset};
use dist_maps::{Distribution, MapError, Slice};

use crate::cases::{Case, part, refused};
use crate::support::{Folder, Outcome, Value, ensure};

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
