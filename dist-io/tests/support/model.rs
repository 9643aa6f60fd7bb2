//! Arrays in memory, and what is done to them by plain arithmetic of indices: the oracle of lazy handles. What is done follows from a seed.

use dap_protocol::{DimData, DistBuffer, HostArray};
use dist_comm::{CommExt, Communicator};
use dist_io::{Direction, FileLayout, H5Array, IoError, IoPlan, SaveHdf5, open_dset};
use dist_maps::{AxisDist, Distribution, Index, Slice};

use crate::support::{
    Folder, Outcome, Value, ensure, flat_indices, owned_positions, part_with, stored,
};

/// Of each element of an array the flat index in the file.
#[derive(Clone, Debug)]
struct Model {
    shape: Vec<usize>,
    flat: Vec<usize>,
}

impl Model {
    fn whole(shape: &[u64]) -> Self {
        let shape: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        Self {
            flat: (0..shape.iter().product()).collect(),
            shape,
        }
    }

    fn extents(&self) -> Vec<u64> {
        self.shape.iter().map(|&n| n as u64).collect()
    }

    /// The elements at these positions along each dimension; those that drop go.
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
        let along: Vec<_> = items
            .iter()
            .zip(&self.shape)
            .map(|(item, &size)| item.positions(size))
            .collect();
        let drops: Vec<_> = items
            .iter()
            .map(|item| matches!(item, Item::At(_)))
            .collect();
        self.picked(&along, &drops)
    }

    /// With other positions along one dimension.
    fn taken(&self, axis: usize, list: Vec<usize>) -> Self {
        let mut along: Vec<Vec<usize>> = self.shape.iter().map(|&n| (0..n).collect()).collect();
        along[axis] = list;
        self.picked(&along, &vec![false; along.len()])
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Item {
    At(i64),
    Slice(Option<i64>, Option<i64>, i64),
}

const FULL: Item = Item::Slice(None, None, 1);

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

/// Numbers that follow from a seed, the same on every rank.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    fn below(&mut self, n: usize) -> usize {
        self.roll(n as u64) as usize
    }

    fn shape(&mut self) -> Vec<u64> {
        (0..self.roll(4)).map(|_| self.roll(9)).collect()
    }

    fn item(&mut self, size: usize) -> Item {
        if size > 0 && self.roll(5) == 0 {
            return Item::At(self.roll(2 * size as u64) as i64 - size as i64);
        }
        let mut bound = || match self.roll(3) {
            0 => None,
            _ => Some(self.roll(3 * size as u64 + 3) as i64 - (3 * size as i64 / 2) - 1),
        };
        let (start, stop) = (bound(), bound());
        let step = [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5][self.below(10)];
        Item::Slice(start, stop, step)
    }

    /// A handle and its model, narrowed by any kind of selection; elements may be seen twice where they may.
    fn narrowed<'c, T: Value>(
        &mut self,
        handle: &H5Array<'c, T>,
        model: &Model,
        may_repeat: bool,
    ) -> Result<(H5Array<'c, T>, Model), IoError> {
        let filled: Vec<usize> = (0..model.shape.len())
            .filter(|&axis| model.shape[axis] > 0)
            .collect();
        let kind = self.roll(5);
        if kind < 2 && !filled.is_empty() {
            let axis = filled[self.below(filled.len())];
            let size = model.shape[axis];
            let named = axis as i64
                - if self.roll(2) == 0 {
                    0
                } else {
                    model.shape.len() as i64
                };
            if kind == 0 {
                let flags: Vec<bool> = (0..size).map(|_| self.roll(3) > 0).collect();
                let set = (0..size).filter(|&at| flags[at]).collect();
                return Ok((handle.compress(named, &flags)?, model.taken(axis, set)));
            }
            let list: Vec<usize> = if may_repeat {
                (0..self.roll(6)).map(|_| self.below(size)).collect()
            } else {
                let mut list: Vec<usize> = (0..size).collect();
                for at in 1..size {
                    list.swap(at, self.below(at + 1));
                }
                list.truncate(1 + self.below(size));
                list
            };
            let signed = list
                .iter()
                .map(|&at| at as i64 - if self.roll(2) == 0 { 0 } else { size as i64 });
            let signed: Vec<i64> = signed.collect();
            return Ok((handle.take(named, &signed)?, model.taken(axis, list)));
        }
        let mut items: Vec<Item> = model.shape.iter().map(|&n| self.item(n)).collect();
        let mut asked: Vec<Index> = items.iter().map(|item| item.index()).collect();
        if self.roll(3) == 0 {
            // some in the middle are not named
            let (from, to) = (self.below(items.len() + 1), self.below(items.len() + 1));
            let (from, to) = (from.min(to), from.max(to));
            items[from..to].fill(FULL);
            asked.splice(from..to, [Index::Ellipsis]);
        }
        Ok((handle.slice(&asked)?, model.sliced(&items)))
    }

    /// Any kind of distribution of a shape.
    fn distribution(&mut self, shape: &[u64], ranks: usize) -> Distribution {
        let mut left = ranks;
        let mut axes = Vec::new();
        for &size in shape {
            let parts = 1 + self.below(left);
            left /= parts;
            axes.push(match self.roll(6) {
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
                4 => {
                    let mut bounds: Vec<u64> = (1..parts).map(|_| self.roll(size + 1)).collect();
                    bounds.extend([0, size]);
                    bounds.sort_unstable();
                    AxisDist::block_bounds(bounds).unwrap()
                }
                _ => {
                    let mut lists = vec![Vec::new(); parts];
                    for g in 0..size as i64 {
                        let list = &mut lists[self.below(parts)];
                        let at = self.below(list.len() + 1);
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
            targets.swap(at, self.below(at + 1));
        }
        targets.truncate(places);
        Distribution::from_axes(axes, ranks, targets).unwrap()
    }

    /// One that leaves nothing out.
    fn covering(&mut self, shape: &[u64], ranks: usize) -> Distribution {
        loop {
            let d = self.distribution(shape, ranks);
            if IoPlan::new(&d, 4, FileLayout::Contiguous, Direction::Write).is_ok() {
                return d;
            }
        }
    }

    fn budget(&mut self) -> u64 {
        [1, 30, 100, 400, 2000, 1 << 20][self.below(6)]
    }

    /// A dataset of numbers of their flat indices, stored in any way.
    fn saved(&mut self, folder: &Folder, shape: &[u64], comm: &dyn Communicator) -> Outcome {
        let mut save = SaveHdf5::new(folder.join("a.h5"));
        let chunk: Vec<u64> = shape.iter().map(|_| 1 + self.roll(4)).collect();
        if self.roll(2) == 0 && !shape.is_empty() {
            save = save.chunk(chunk);
            save = match self.roll(3) {
                0 => save,
                1 => save.deflate(1),
                _ => save.shuffle(true).deflate(1).fletcher32(true),
            };
        }
        let d = self.covering(shape, comm.size());
        save.save(&part_with::<i32>(&d.dim_data(comm.rank())?, None), comm)?;
        Ok(())
    }
}

/// Whether a rank's part is the model's.
fn holds(d: &Distribution, comm: &dyn Communicator, model: &Model, found: &[i32]) -> Outcome {
    if d.grid_rank(comm.rank()).is_none() && d.ndim() > 0 {
        return ensure(found.is_empty(), || format!("{found:?} on no place"));
    }
    let own = flat_indices(&d.dim_data(comm.rank())?);
    let expected = own
        .iter()
        .map(|&at| i32::at(model.flat[at as usize] as u64));
    let expected: Vec<i32> = expected.collect();
    ensure(found == expected, || {
        format!(
            "rank {} of {d:?}: {found:?}, not {expected:?} of {model:?}",
            comm.rank()
        )
    })
}

/// The flat indices of a piece's part in the array that the piece is of.
fn places(dims: &DimData, offsets: &[u64], shape: &[u64]) -> Vec<u64> {
    let mut flat = vec![0];
    for (axis, dim) in dims.iter().enumerate() {
        let along: Vec<u64> = stored(dim).into_iter().map(|g| g + offsets[axis]).collect();
        flat = flat
            .iter()
            .flat_map(|&before| along.iter().map(move |&g| before * shape[axis] + g))
            .collect();
    }
    flat
}

/// Every element of the pieces is right, and in one part.
fn in_pieces(
    dice: &mut Dice,
    a: &H5Array<'_, i32>,
    model: &Model,
    comm: &dyn Communicator,
) -> Outcome {
    let all: Vec<i32> = model.flat.iter().map(|&at| i32::at(at as u64)).collect();
    let counts = a.ndim() > 0 || comm.rank() == 0;
    let budget = dice.budget();
    let mut seen = Vec::new();
    a.for_each_fragment(budget, |part, offsets| {
        let own = places(part.dim_data(), offsets, a.shape());
        let right = own.iter().zip(part.buffer().data());
        let right = own.len() == part.buffer().data().len()
            && right.into_iter().all(|(&at, &x)| x == all[at as usize]);
        if counts {
            seen.extend(own);
        }
        ensure(right, || format!("{part:?} at {offsets:?} within {budget}"))
    })?;
    let mut seen = comm.all_gather_slice(&seen)?.concat();
    seen.sort_unstable();
    ensure(seen.iter().copied().eq(0..all.len() as u64), || {
        format!("seen within {budget}: {seen:?}")
    })?;
    let total: i64 = all.iter().map(|&x| i64::from(x)).sum();
    let budget = dice.budget();
    let found = a.map_reduce(
        budget,
        |part| part.data().iter().map(|&x| i64::from(x)).sum(),
        |a, b| a + b,
    )?;
    ensure(
        found.unwrap_or(0) == total && found.is_some() != all.is_empty(),
        || format!("map_reduce within {budget}: {found:?}, not {total}"),
    )?;
    let budget = dice.budget();
    let b = a.distribute(&dice.distribution(a.shape(), comm.size()))?;
    let found = (a - &b + &b * 2).sum(budget)?;
    ensure(found == 2 * total, || {
        format!("sum within {budget}: {found}, not {}", 2 * total)
    })?;
    let budget = dice.budget();
    let limit = dice.roll(120) as i32;
    let masked = b.mask(a.expr().lt(limit), budget)?;
    let found = comm.all_gather_slice(masked.buffer().data())?.concat();
    let expected: Vec<i32> = all.iter().copied().filter(|&x| x < limit).collect();
    ensure(found == expected, || {
        format!("mask within {budget}: {found:?}, not {expected:?}")
    })
}

/// Any selections, composed, in any distribution, of any storage.
pub fn reads(seed: u64, comm: &dyn Communicator) -> Outcome {
    let mut dice = Dice(seed);
    let folder = Folder::new(comm);
    let shape = dice.shape();
    dice.saved(&folder, &shape, comm)?;
    let mut a = open_dset::<i32>(folder.join("a.h5"), "buffer", comm)?;
    let mut model = Model::whole(&shape);
    for _ in 0..4 {
        let asked = dice.distribution(&model.extents(), comm.size());
        holds(
            &asked,
            comm,
            &model,
            a.distribute(&asked)?.load()?.buffer().data(),
        )?;
        (a, model) = dice.narrowed(&a, &model, true)?;
        ensure(a.shape() == model.extents(), || {
            format!("{a:?}, not {model:?}")
        })?;
        holds(a.distribution(), comm, &model, a.load()?.buffer().data())?;
        if dice.roll(2) == 0 {
            a = a.distribute(&dice.distribution(&model.extents(), comm.size()))?;
        }
    }
    let all: Vec<i32> = model.flat.iter().map(|&at| i32::at(at as u64)).collect();
    ensure(a.gather()?.data() == all, || format!("all of {model:?}"))?;
    let last = comm.size() - 1;
    let there = a.gather_to(last)?;
    let right = there.as_ref().map(HostArray::data) == (comm.rank() == last).then_some(&all[..]);
    ensure(right, || format!("{there:?} at the last rank"))?;
    if !model.shape.contains(&0) {
        let index: Vec<i64> = model
            .shape
            .iter()
            .map(|&n| dice.roll(2 * n as u64) as i64 - n as i64)
            .collect();
        let from_start = index.iter().zip(&model.shape);
        let at = from_start.fold(0, |at, (&i, &n)| at * n + i.rem_euclid(n as i64) as usize);
        ensure(a.at(&index)? == all[at], || {
            format!("{index:?} of {model:?}")
        })?;
    }
    in_pieces(&mut dice, &a, &model, comm)?;
    comm.barrier()?; // everybody has read
    Ok(())
}

/// A part of an array with these elements; what is not owned is -1.
fn part_of(
    d: &Distribution,
    all: &[i32],
    comm: &dyn Communicator,
) -> Result<DistBuffer<HostArray<i32>>, IoError> {
    let own = d.dim_data(comm.rank())?;
    let values = flat_indices(&own).into_iter().zip(owned_positions(&own));
    let values = values.map(|(at, owned)| if owned { all[at as usize] } else { -1 });
    let extents = own.local_shape().iter().map(|&n| n as usize).collect();
    let part = HostArray::new(extents, values.collect())?;
    Ok(DistBuffer::new(own, part)?)
}

/// A shape that is repeated to another one, and which of its elements each of the other's is.
fn repeated(dice: &mut Dice, to: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let lacks = dice.below(to.len() + 1);
    let mut shape: Vec<usize> = to[lacks..]
        .iter()
        .map(|&n| if dice.roll(2) == 0 { 1 } else { n })
        .collect();
    if lacks == 0 && dice.roll(3) == 0 {
        shape.insert(0, 1); // more than it needs
    }
    let mut from = vec![0];
    for (axis, &n) in to.iter().enumerate() {
        let own = (axis + shape.len())
            .checked_sub(to.len())
            .map(|at| shape[at]);
        from = from
            .iter()
            .flat_map(|&before: &usize| {
                (0..n).map(move |at| match own {
                    None => before,
                    Some(1) => before,
                    Some(own) => before * own + at,
                })
            })
            .collect();
    }
    (shape, from)
}

/// What is assigned through any selection, from any distribution, is where it belongs, and nothing else changes.
pub fn writes(seed: u64, comm: &dyn Communicator) -> Outcome {
    let mut dice = Dice(seed);
    let folder = Folder::new(comm);
    let shape = dice.shape();
    dice.saved(&folder, &shape, comm)?;
    let path = folder.join("a.h5");
    let whole = open_dset::<i32>(&path, "buffer", comm)?;
    let elements = shape.iter().product::<u64>();
    let mut expected: Vec<i32> = (0..elements).map(i32::at).collect();
    for turn in 1..=4 {
        // through another handle than the one that is looked at
        let (mut a, mut model) = (
            open_dset::<i32>(&path, "buffer", comm)?,
            Model::whole(&shape),
        );
        for _ in 0..dice.roll(3) {
            (a, model) = dice.narrowed(&a, &model, false)?;
        }
        let kind = dice.roll(7);
        let value = |at: usize| 1000 * turn + at as i32;
        let before: Vec<i32> = model.flat.iter().map(|&at| expected[at]).collect();
        let new: Vec<i32> = match kind {
            0 => {
                a.fill(turn)?;
                vec![turn; before.len()]
            }
            1 => {
                let values: Vec<i32> = (0..before.len()).map(value).collect();
                a.assign_from(&HostArray::new(model.shape.clone(), values.clone())?)?;
                values
            }
            2 | 3 => {
                let (shape, from) = if kind == 2 {
                    (model.shape.clone(), (0..before.len()).collect())
                } else {
                    repeated(&mut dice, &model.shape)
                };
                let values: Vec<i32> = (0..shape.iter().product()).map(value).collect();
                let shape: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
                let d = dice.covering(&shape, comm.size());
                a.assign(&part_of(&d, &values, comm)?)?;
                from.iter().map(|&at| values[at]).collect()
            }
            4 => {
                // its own elements in another order
                let back: Vec<Index> = model
                    .shape
                    .iter()
                    .map(|_| Slice::new(None, None, -1).into())
                    .collect();
                a.assign(&a.slice(&back)?.load()?)?;
                before.iter().rev().copied().collect()
            }
            5 => {
                let d = dice.distribution(&model.extents(), comm.size());
                let computed = &a * 2 + a.distribute(&d)?;
                a.assign_computed(computed, dice.budget())?;
                before.iter().map(|&x| 3 * x).collect()
            }
            _ => {
                let limit = dice.roll(120) as i32;
                a.fill_where(a.expr().ge(limit), turn, dice.budget())?;
                before
                    .iter()
                    .map(|&x| if x >= limit { turn } else { x })
                    .collect()
            }
        };
        for (&at, &new) in model.flat.iter().zip(&new) {
            expected[at] = new;
        }
        let found = whole.gather()?;
        ensure(found.data() == expected, || {
            format!("kind {kind}: {found:?}, not {expected:?} after {model:?}")
        })?;
    }
    Ok(())
}
