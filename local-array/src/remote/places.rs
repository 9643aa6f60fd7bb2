//! [`Places`]: where elements lie, by rank and place among what it owns.

use std::collections::HashMap;
use std::ops::Range;

use dist_maps::{AxisDist, Distribution};

use crate::ArrayError;

/// Elements asked for, sorted by the rank that owns them.
#[derive(Debug)]
pub(crate) struct Places {
    len: usize,
    /// Per rank which of those asked for it owns, ascending.
    slots: Vec<Vec<usize>>,
    /// Per rank their places among what it owns, in C order.
    positions: Vec<Vec<u64>>,
}

/// Indices looked up at a time: what the columns of one batch take stays in the cache.
const BATCH: usize = 1024;

impl Places {
    fn new(len: usize, ranks: usize) -> Self {
        Self {
            len,
            slots: vec![Vec::new(); ranks],
            positions: vec![Vec::new(); ranks],
        }
    }

    /// Of flat global indices: the lowest owner of each.
    pub(crate) fn of(distribution: &Distribution, flat: &[u64]) -> Result<Self, ArrayError> {
        let mut places = Self::new(flat.len(), distribution.ranks());
        each_place(distribution, flat, |slot, place, position| {
            let rank = distribution.targets()[place];
            places.slots[rank].push(slot);
            places.positions[rank].push(position);
        })?;
        Ok(places)
    }

    /// Every owner of each; `None` where no index lies on two ranks. The indices are known to have owners.
    pub(crate) fn with_copies(distribution: &Distribution, flat: &[u64]) -> Option<Self> {
        let axes = distribution.axes();
        if axes.iter().all(AxisDist::is_one_to_one) {
            return None;
        }
        let owners: Vec<_> = axes.iter().map(Owners::of).collect();
        let extents = distribution.grid().shape();
        let mut places = Self::new(flat.len(), distribution.ranks());
        for (slot, &index) in flat.iter().enumerate() {
            // Place in the grid and place among what it owns, axis by axis.
            let mut at = vec![(0, 0)];
            for (axis, g) in unpack(distribution.global_shape(), index)
                .into_iter()
                .enumerate()
            {
                let here = owners[axis].of_index(g);
                at = at
                    .into_iter()
                    .flat_map(|(place, position)| {
                        here.iter().map(move |&(coord, local)| {
                            let len = axes[axis].owned_len(coord) as u64;
                            (place * extents[axis] + coord, position * len + local)
                        })
                    })
                    .collect();
            }
            for (place, position) in at {
                let rank = distribution.targets()[place];
                places.slots[rank].push(slot);
                places.positions[rank].push(position);
            }
        }
        Some(places)
    }

    /// Of elements that this rank sorted itself: `rank_of` says whom each is asked of.
    pub(crate) fn by_rank(ranks: usize, of: impl ExactSizeIterator<Item = usize>) -> Self {
        let mut places = Self::new(of.len(), ranks);
        for (slot, rank) in of.enumerate() {
            places.slots[rank].push(slot);
        }
        places
    }

    /// Number of elements asked for.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Which of those asked for `rank` owns.
    pub(crate) fn slots(&self, rank: usize) -> &[usize] {
        &self.slots[rank]
    }

    /// Per rank the places asked of it, those in the range that `cut` gives of their number.
    pub(crate) fn positions(&self, cut: &impl Cut) -> Vec<&[u64]> {
        let lists = self.positions.iter();
        lists.map(|list| &list[cut.of(list.len())]).collect()
    }
}

/// Which part of a list.
pub(crate) trait Cut {
    fn of(&self, len: usize) -> Range<usize>;
}

impl Cut for std::ops::RangeFull {
    fn of(&self, len: usize) -> Range<usize> {
        0..len
    }
}

impl<F: Fn(usize) -> Range<usize>> Cut for F {
    fn of(&self, len: usize) -> Range<usize> {
        self(len)
    }
}

/// Hands over, for each flat index, its number, the place of its lowest owner in the grid, and the place among what that owns.
pub(crate) fn each_place(
    distribution: &Distribution,
    flat: &[u64],
    mut see: impl FnMut(usize, usize, u64),
) -> Result<(), ArrayError> {
    let size = distribution.global_size()?;
    let axes = distribution.axes();
    let locators = distribution.locators();
    let extents = distribution.grid().shape();
    let lens: Vec<Vec<u64>> = axes
        .iter()
        .map(|axis| {
            (0..axis.ranks())
                .map(|coord| axis.owned_len(coord) as u64)
                .collect()
        })
        .collect();
    let mut columns = vec![[0_i64; BATCH]; axes.len()];
    let (mut owner, mut local) = ([0_u32; BATCH], [0_u64; BATCH]);
    for (number, batch) in flat.chunks(BATCH).enumerate() {
        let n = batch.len();
        if let Some(&outside) = batch.iter().find(|&&index| index >= size) {
            return Err(ArrayError::OutOfBounds {
                what: "flat index",
                axis: None,
                given: outside.into(),
                allowed: size,
            });
        }
        // No extent is 0 where an index is inside.
        let mut rest = [0_u64; BATCH];
        rest[..n].copy_from_slice(batch);
        for (column, &extent) in columns.iter_mut().zip(distribution.global_shape()).rev() {
            for (index, rest) in column.iter_mut().zip(&mut rest[..n]) {
                *index = (*rest % extent).cast_signed();
                *rest /= extent;
            }
        }
        let mut place = [0_usize; BATCH];
        let mut position = [0_u64; BATCH];
        for (axis, column) in columns.iter().enumerate() {
            locators[axis].locate_bulk_wide(&column[..n], &mut owner[..n], &mut local[..n])?;
            for i in 0..n {
                let coord = owner[i] as usize;
                let Some(&len) = lens[axis].get(coord) else {
                    return Err(nobodys(batch[i]));
                };
                place[i] = place[i] * extents[axis] + coord;
                position[i] = position[i] * len + local[i];
            }
        }
        for i in 0..n {
            see(number * BATCH + i, place[i], position[i]);
        }
    }
    Ok(())
}

/// The error for an index that explicit lists leave out.
pub(crate) fn nobodys(index: u64) -> ArrayError {
    ArrayError::Argument {
        what: "index",
        given: index.to_string(),
        allowed: "an index that some rank owns".to_owned(),
    }
}

/// The global index of a flat one that lies inside.
pub(crate) fn unpack(shape: &[u64], flat: u64) -> Vec<i64> {
    let mut rest = flat;
    let mut index = vec![0; shape.len()];
    for (i, &n) in index.iter_mut().zip(shape).rev() {
        *i = (rest % n.max(1)).cast_signed();
        rest /= n.max(1);
    }
    index
}

/// The owners of the indices of an axis, where one may have several.
pub(crate) enum Owners {
    One(dist_maps::AxisLocator),
    Several(HashMap<i64, Vec<(usize, u64)>>),
}

impl Owners {
    pub(crate) fn of(axis: &AxisDist) -> Self {
        let AxisDist::Unstructured {
            indices,
            one_to_one: false,
            ..
        } = axis
        else {
            return Self::One(axis.locator());
        };
        let mut owners: HashMap<i64, Vec<(usize, u64)>> = HashMap::new();
        for (coord, list) in indices.iter().enumerate() {
            for (local, &g) in (0_u64..).zip(list.iter()) {
                owners.entry(g).or_default().push((coord, local));
            }
        }
        Self::Several(owners)
    }

    /// Hands over coordinate and place among what it owns, of each owner; whether there is any.
    pub(crate) fn each(&self, index: i64, mut see: impl FnMut(usize, u64)) -> bool {
        match self {
            Self::One(locator) => {
                let found = locator.locate(index);
                found
                    .map(|(coord, local)| see(coord, local as u64))
                    .is_some()
            }
            Self::Several(owners) => {
                let found = owners.get(&index).map_or(&[][..], Vec::as_slice);
                for &(coord, local) in found {
                    see(coord, local);
                }
                !found.is_empty()
            }
        }
    }

    /// The lowest coordinate that owns an index.
    pub(crate) fn first(&self, index: i64) -> Option<usize> {
        let mut first = None;
        self.each(index, |coord, _| {
            first.get_or_insert(coord);
        });
        first
    }

    /// Coordinate and place among what it owns, of each owner.
    pub(crate) fn of_index(&self, index: i64) -> Vec<(usize, u64)> {
        match self {
            Self::One(locator) => locator
                .locate(index)
                .map(|(coord, local)| (coord, local as u64))
                .into_iter()
                .collect(),
            Self::Several(owners) => owners.get(&index).cloned().unwrap_or_default(),
        }
    }
}
