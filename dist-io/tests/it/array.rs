//! The lazy handle: every slice, composed, in every distribution, against arrays in memory; and its cases on 1 to 4 thread ranks.

use dap_protocol::{DistBuffer, HostArray};
use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::{Direction, FileLayout, IoError, IoPlan, Refusal, SaveHdf5, WriteMode, open_dset};
use dist_maps::{AxisDist, Distribution, Index, Slice};
use hdf5_metno::dataset::Layout;
use proptest::prelude::*;
use rustix::fs::{FlockOperation, flock};

use crate::arrays::CASES;
use crate::support::{Value, flat_indices, owned_positions, part_with, temporary};

fn cases(n: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let asked = asked.and_then(|n| n.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(n),
        ..ProptestConfig::default()
    }
}

#[test]
fn cases_on_thread_ranks() {
    let mut failed = Vec::new();
    for (name, run) in CASES {
        for ranks in 1..=4 {
            let outcome =
                ThreadComm::run(ranks, |comm| run(comm).map_err(|error| error.to_string()));
            if let Err(error) = outcome {
                failed.push(format!("{name}, on {ranks} ranks: {error}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// h5py makes contiguous datasets that have no room in the file before they are written to.
#[test]
fn a_dataset_that_was_never_written_gets_its_room() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let file = hdf5_metno::File::create(&path).unwrap();
    let late = || file.new_dataset_builder().empty::<i32>().fill_value(-1);
    late().shape([6, 5]).create("late").unwrap();
    late().shape(()).create("one").unwrap();
    late().chunk([4, 4]).shape([6, 5]).create("chunks").unwrap();
    late()
        .layout(Layout::Compact)
        .shape([6, 5])
        .create("compact")
        .unwrap();
    file.close().unwrap();
    for ranks in [1, 3] {
        ThreadComm::run(ranks, |comm| {
            for key in ["late", "chunks"] {
                let a = open_dset::<i32>(&path, key, comm)?;
                let expected =
                    |column: i32| (0..30).map(move |at| if at % 5 == column { at } else { -1 });
                let values: Vec<i32> = expected(2).filter(|&x| x >= 0).collect();
                let column = a.slice(&[(..).into(), 2.into()])?;
                column.assign_from(&HostArray::new(vec![6], values)?)?;
                assert!(a.gather()?.data().iter().copied().eq(expected(2)), "{key}");
            }
            let one = open_dset::<i32>(&path, "one", comm)?;
            one.fill(comm.size() as i32)?;
            assert_eq!(one.at(&[])?, comm.size() as i32);
            let compact = open_dset::<i32>(&path, "compact", comm)?;
            assert_eq!(compact.gather()?.data(), [-1; 30]);
            let refused = compact.fill(0).unwrap_err();
            assert!(refused.to_string().contains("compact"), "{refused}");
            Ok::<_, IoError>(())
        })
        .unwrap();
    }
    let file = hdf5_metno::File::open(&path).unwrap();
    let all = file.dataset("late").unwrap().read_raw::<i32>().unwrap();
    assert_eq!(
        all,
        file.dataset("chunks").unwrap().read_raw::<i32>().unwrap()
    );
    assert_eq!((all[0], all[2], all[27]), (-1, 2, 27));
}

/// Another program that has the file open keeps assignments away, and an assignment keeps other programs away.
#[test]
fn a_file_that_another_has_open_is_not_written_to() {
    if std::env::var_os("HDF5_USE_FILE_LOCKING").is_some() {
        println!("skipped: HDF5_USE_FILE_LOCKING decides what is locked");
        return;
    }
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let d = Distribution::over(1).shape([6]).build().unwrap();
    let part = part_with::<i32>(&d.dim_data(0).unwrap(), None);
    SaveHdf5::new(&path)
        .save(&part, &SingleComm::new())
        .unwrap();
    let comm = SingleComm::new();
    let a = open_dset::<i32>(&path, "buffer", &comm).unwrap();
    let other = std::fs::File::open(&path).unwrap();
    flock(&other, FlockOperation::NonBlockingLockShared).unwrap();
    let refused = a.fill(0).unwrap_err();
    let locked = matches!(&refused, IoError::Hdf5 { refusal, .. } if matches!(**refusal, Refusal::Locked { .. }));
    assert!(locked, "{refused}");
    assert_eq!(a.load().unwrap(), part);
    flock(&other, FlockOperation::Unlock).unwrap();
    a.fill(0).unwrap();
    assert_eq!(a.load().unwrap().buffer().data(), [0; 6]);
}

/// An array in memory: of each element the flat index in the file.
#[derive(Clone, Debug)]
struct Model {
    shape: Vec<usize>,
    flat: Vec<u64>,
}

impl Model {
    fn whole(shape: &[u64]) -> Self {
        let elements = shape.iter().product();
        Self {
            shape: shape.iter().map(|&n| n as usize).collect(),
            flat: (0..elements).collect(),
        }
    }

    /// The elements at these positions along each dimension; a dimension without any flag stays.
    fn picked(&self, along: &[Vec<usize>], drops: &[bool]) -> Self {
        let mut flat = vec![0];
        for (axis, positions) in along.iter().enumerate() {
            let size = self.shape[axis];
            flat = flat
                .iter()
                .flat_map(|&before: &usize| positions.iter().map(move |&at| before * size + at))
                .collect();
        }
        let kept = along.iter().zip(drops).filter(|&(_, &drop)| !drop);
        Self {
            shape: kept.map(|(positions, _)| positions.len()).collect(),
            flat: flat.into_iter().map(|at| self.flat[at]).collect(),
        }
    }

    fn sliced(&self, items: &[Item]) -> Self {
        let mut along = Vec::new();
        let mut drops = Vec::new();
        for (axis, &size) in self.shape.iter().enumerate() {
            let item = items
                .get(axis)
                .copied()
                .unwrap_or(Item::Slice(None, None, 1));
            drops.push(matches!(item, Item::At(_)));
            along.push(item.positions(size));
        }
        self.picked(&along, &drops)
    }
}

#[derive(Clone, Copy, Debug)]
enum Item {
    At(i64),
    Slice(Option<i64>, Option<i64>, i64),
}

impl Item {
    fn index(self) -> Index {
        match self {
            Self::At(at) => at.into(),
            Self::Slice(start, stop, step) => Slice::new(start, stop, step).into(),
        }
    }

    /// `NumPy`'s rule, said by walking: from the start, step by step, as long as the stop is not reached and there are elements.
    fn positions(self, size: usize) -> Vec<usize> {
        let n = size as i64;
        let (start, stop, step) = match self {
            Self::At(at) => return vec![(if at < 0 { at + n } else { at }) as usize],
            Self::Slice(start, stop, step) => (start, stop, step),
        };
        let from_end = |at: i64| if at < 0 { at + n } else { at };
        let mut found = Vec::new();
        let mut at = match start.map(from_end) {
            None if step > 0 => 0,
            None => n - 1,
            Some(at) if step > 0 => at.max(0),
            Some(at) => at.min(n - 1),
        };
        while (0..n).contains(&at) {
            let reached = stop
                .map(from_end)
                .is_some_and(|stop| if step > 0 { at >= stop } else { at <= stop });
            if reached {
                break;
            }
            found.push(at as usize);
            at += step;
        }
        found
    }
}

/// Numbers that follow from a seed.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn item(&mut self, size: usize) -> Item {
        if size > 0 && self.roll(5) == 0 {
            let n = size as i64;
            return Item::At(self.roll(2 * size as u64) as i64 - n);
        }
        let mut bound = || match self.roll(3) {
            0 => None,
            _ => Some(self.roll(3 * size as u64 + 3) as i64 - (3 * size as i64 / 2) - 1),
        };
        let (start, stop) = (bound(), bound());
        let step = [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5][self.roll(10) as usize];
        Item::Slice(start, stop, step)
    }

    /// Any kind of distribution of a shape.
    fn distribution(&mut self, shape: &[u64], ranks: usize) -> Distribution {
        let mut left = ranks;
        let mut axes = Vec::new();
        for &size in shape {
            let parts = 1 + self.roll(left as u64) as usize;
            left /= parts;
            axes.push(match self.roll(5) {
                0 => AxisDist::block(size, parts).unwrap(),
                1 => {
                    let axis = AxisDist::block_balanced(size, parts).unwrap();
                    if size > 2 * parts as u64 {
                        axis.with_padding(1, 1).unwrap()
                    } else {
                        axis
                    }
                }
                2 => AxisDist::cyclic(size, parts, 1).unwrap(),
                3 => AxisDist::cyclic(size, parts, 2).unwrap(),
                _ => {
                    let mut lists = vec![Vec::new(); parts];
                    for g in 0..size as i64 {
                        let list = &mut lists[self.roll(parts as u64) as usize];
                        let at = self.roll(list.len() as u64 + 1) as usize;
                        list.insert(at, g);
                        if self.roll(6) == 0 {
                            list.remove(at); // nobody's
                        }
                    }
                    AxisDist::unstructured(size, lists).unwrap()
                }
            });
        }
        let places: usize = axes.iter().map(AxisDist::ranks).product();
        let mut targets: Vec<usize> = (0..ranks).collect();
        for at in 1..ranks {
            targets.swap(at, self.roll(at as u64 + 1) as usize);
        }
        targets.truncate(places);
        Distribution::from_axes(axes, ranks, targets).unwrap()
    }
}

fn holds<T: Value>(d: &Distribution, comm: &dyn Communicator, model: &Model, found: &[T]) {
    if d.grid_rank(comm.rank()).is_none() && d.ndim() > 0 {
        assert!(found.is_empty());
        return;
    }
    let own = flat_indices(&d.dim_data(comm.rank()).unwrap());
    let expected: Vec<T> = own
        .iter()
        .map(|&at| T::at(model.flat[at as usize]))
        .collect();
    assert_eq!(found, expected, "rank {} of {d:?}, {model:?}", comm.rank());
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn any_slices_any_distribution_any_storage(
        shape in prop::collection::vec(0..9_u64, 0..=3),
        chunk in prop::option::of(prop::collection::vec(1..5_u64, 3)),
        ranks in 1..=4_usize,
        seed: u64,
    ) {
        let folder = temporary();
        let path = folder.path().join("a.h5");
        let whole = Distribution::over(1).shape(&shape[..]).build().unwrap();
        let mut save = SaveHdf5::new(&path).mode(WriteMode::Replace);
        if let (Some(chunk), false) = (chunk, shape.is_empty()) {
            save = save.chunk(&chunk[..shape.len()]).deflate(1);
        }
        save.save(&part_with::<i32>(&whole.dim_data(0).unwrap(), None), &SingleComm::new()).unwrap();
        ThreadComm::run(ranks, |comm| {
            let mut dice = Dice(seed);
            let mut handle = open_dset::<i32>(&path, "buffer", comm)?;
            let mut model = Model::whole(&shape);
            for _ in 0..3 {
                let shape: Vec<u64> = model.shape.iter().map(|&n| n as u64).collect();
                let asked = dice.distribution(&shape, comm.size());
                holds(&asked, comm, &model, handle.distribute(&asked)?.load()?.buffer().data());
                let items: Vec<Item> = model.shape.iter().map(|&n| dice.item(n)).collect();
                let indices: Vec<Index> = items.iter().map(|item| item.index()).collect();
                handle = handle.slice(&indices)?;
                model = model.sliced(&items);
                assert_eq!(handle.shape().iter().map(|&n| n as usize).collect::<Vec<_>>(), model.shape);
                holds(handle.distribution(), comm, &model, handle.load()?.buffer().data());
                if let Some(axis) = (0..model.shape.len()).find(|&axis| model.shape[axis] > 0) {
                    let size = model.shape[axis];
                    let list: Vec<usize> = (0..dice.roll(6)).map(|_| dice.roll(size as u64) as usize).collect();
                    let signed: Vec<i64> = list.iter().enumerate().map(|(at, &i)| {
                        if at % 2 == 0 { i as i64 } else { i as i64 - size as i64 }
                    }).collect();
                    let taken = handle.take(axis as i64, &signed)?;
                    let mut along: Vec<Vec<usize>> = model.shape.iter().map(|&n| (0..n).collect()).collect();
                    along[axis] = list;
                    let picked = model.picked(&along, &vec![false; along.len()]);
                    holds(taken.distribution(), comm, &picked, taken.load()?.buffer().data());
                    if dice.roll(3) == 0 && !along[axis].is_empty() {
                        handle = taken;
                        model = picked;
                    }
                }
            }
            let all: Vec<i32> = model.flat.iter().map(|&at| i32::at(at)).collect();
            assert_eq!(handle.gather()?.data(), all);
            let last = comm.size() - 1;
            let there = handle.gather_to(last)?;
            assert_eq!(there.is_some(), comm.rank() == last);
            if let Some(there) = there {
                assert_eq!(there.data(), all);
            }
            Ok::<_, IoError>(())
        })
        .unwrap();
    }
}

proptest! {
    #![proptest_config(cases(64))]

    /// What is assigned through any slice is where it belongs, and nothing else changes.
    #[test]
    fn any_assignment_any_storage(
        shape in prop::collection::vec(1..9_u64, 1..=3),
        chunk in prop::option::of(prop::collection::vec(1..5_u64, 3)),
        filters in 0..3_u8,
        ranks in 1..=4_usize,
        seed: u64,
    ) {
        let folder = temporary();
        let path = folder.path().join("a.h5");
        let whole = Distribution::over(1).shape(&shape[..]).build().unwrap();
        let mut save = SaveHdf5::new(&path).mode(WriteMode::Replace);
        if let Some(chunk) = chunk {
            save = save.chunk(&chunk[..shape.len()]);
            save = match filters {
                0 => save,
                1 => save.deflate(1),
                _ => save.shuffle(true).deflate(1).fletcher32(true),
            };
        }
        save.save(&part_with::<i32>(&whole.dim_data(0).unwrap(), None), &SingleComm::new()).unwrap();
        ThreadComm::run(ranks, |comm| {
            let mut dice = Dice(seed);
            let all = open_dset::<i32>(&path, "buffer", comm)?;
            let elements: u64 = shape.iter().product();
            let mut expected: Vec<i32> = (0..elements).map(i32::at).collect();
            for turn in 1..=3 {
                let model = Model::whole(&shape);
                let items: Vec<Item> = model.shape.iter().map(|&n| dice.item(n)).collect();
                let indices: Vec<Index> = items.iter().map(|item| item.index()).collect();
                let mut handle = all.slice(&indices)?;
                let mut model = model.sliced(&items);
                if let Some(axis) = (0..model.shape.len()).find(|&axis| model.shape[axis] > 1) {
                    // some of them, in no order
                    let mut list: Vec<usize> = (0..model.shape[axis]).collect();
                    for at in 1..list.len() {
                        list.swap(at, dice.roll(at as u64 + 1) as usize);
                    }
                    list.truncate(1 + dice.roll(list.len() as u64) as usize);
                    let signed: Vec<i64> = list.iter().map(|&i| i as i64).collect();
                    handle = handle.take(axis as i64, &signed)?;
                    let mut along: Vec<Vec<usize>> = model.shape.iter().map(|&n| (0..n).collect()).collect();
                    along[axis] = list;
                    model = model.picked(&along, &vec![false; along.len()]);
                }
                let shape: Vec<u64> = model.shape.iter().map(|&n| n as u64).collect();
                let value = |at: u64| (1000 * turn + at) as i32;
                let kind = dice.roll(3);
                for (at, &flat) in model.flat.iter().enumerate() {
                    expected[flat as usize] = if kind == 0 { turn as i32 } else { value(at as u64) };
                }
                match kind {
                    0 => handle.fill(turn as i32)?,
                    1 => {
                        let values = (0..model.flat.len() as u64).map(value).collect();
                        handle.assign_from(&HostArray::new(model.shape.clone(), values)?)?
                    }
                    _ => {
                        // any distribution that leaves nothing out
                        let d = loop {
                            let d = dice.distribution(&shape, comm.size());
                            let plan = IoPlan::new(&d, 4, FileLayout::Contiguous, Direction::Write);
                            if plan.is_ok() {
                                break d;
                            }
                        };
                        let own = d.dim_data(comm.rank())?;
                        let owned = owned_positions(&own);
                        let values = flat_indices(&own).into_iter().zip(owned);
                        let values = values.map(|(at, owned)| if owned { value(at) } else { -1 });
                        let extents = own.local_shape().iter().map(|&n| n as usize).collect();
                        let part = HostArray::new(extents, values.collect())?;
                        handle.assign(&DistBuffer::new(own, part)?)?
                    }
                };
                assert_eq!(all.gather()?.data(), expected, "{shape:?} {items:?}");
            }
            Ok::<_, IoError>(())
        })
        .unwrap();
    }
}
