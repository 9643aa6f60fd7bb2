//! Transposed, reduced and concatenated distributions.

use std::sync::Arc;

use super::Distribution;
use crate::canonical::check_listed;
use crate::{AxisDist, MapError};

impl Distribution {
    /// Dimension `i` of the result is dimension `axes[i]`; without `axes`, all in reverse order. No
    /// element moves from one rank to another.
    ///
    /// # Errors
    /// When `axes` does not name each dimension once.
    ///
    /// ```
    /// use dist_maps::Distribution;
    /// let d = Distribution::from_shape(&[4, 6], "bb", Some(&[2, 3]), 6)?.transpose(None)?;
    /// assert_eq!((d.grid().shape(), d.targets()), ([3, 2].as_slice(), [0, 3, 1, 4, 2, 5].as_slice()));
    /// # Ok::<(), dist_maps::MapError>(())
    /// ```
    pub fn transpose(&self, axes: Option<&[usize]>) -> Result<Self, MapError> {
        let ndim = self.ndim();
        let order = match axes {
            None => (0..ndim).rev().collect(),
            Some(axes) => axes.to_vec(),
        };
        if order.len() != ndim {
            return Err(MapError::Count {
                what: "axes",
                given: order.len(),
                expected: ndim,
            });
        }
        check_axes(&order, ndim)?;
        let extents = self.grid().shape();
        let mut strides = vec![1; ndim];
        for axis in (1..ndim).rev() {
            strides[axis - 1] = strides[axis] * extents[axis];
        }
        let mut places = vec![0_usize];
        for &axis in &order {
            let coords = 0..extents[axis];
            places = places
                .iter()
                .flat_map(|&place| coords.clone().map(move |c| (place, c)))
                .map(|(place, c)| place + c * strides[axis])
                .collect();
        }
        let targets: Vec<usize> = places.into_iter().map(|p| self.targets()[p]).collect();
        let axes = order.iter().map(|&axis| self.axes()[axis].clone());
        Self::from_axes(axes.collect(), self.ranks(), targets)
    }

    /// The distribution of a reduction over some dimensions, or over all: those that stay keep their
    /// axes; each group of ranks that is reduced leaves its result on the lowest of them. With
    /// `keep_dims` a reduced dimension stays as one of one element.
    ///
    /// # Errors
    /// When `axes` names a dimension that does not exist, or one twice.
    ///
    /// ```
    /// use dist_maps::Distribution;
    /// let d = Distribution::from_shape(&[4, 4], "bb", None, 4)?; // 2 × 2
    /// assert_eq!(d.reduce(Some(&[0]), false)?.targets(), [0, 1]);
    /// assert_eq!(d.reduce(Some(&[1]), false)?.targets(), [0, 2]);
    /// assert_eq!(d.reduce(None, true)?.global_shape(), [1, 1]);
    /// # Ok::<(), dist_maps::MapError>(())
    /// ```
    pub fn reduce(&self, axes: Option<&[usize]>, keep_dims: bool) -> Result<Self, MapError> {
        let ndim = self.ndim();
        let reduced = match axes {
            None => vec![true; ndim],
            Some(axes) => {
                check_axes(axes, ndim)?;
                (0..ndim).map(|axis| axes.contains(&axis)).collect()
            }
        };
        let mut kept = Vec::with_capacity(ndim);
        for (axis, &gone) in self.axes().iter().zip(&reduced) {
            if !gone {
                kept.push(axis.clone());
            } else if keep_dims {
                kept.push(AxisDist::whole(1)?);
            }
        }
        let left: usize = (self.grid().shape().iter().zip(&reduced))
            .map(|(&extent, &gone)| if gone { 1 } else { extent })
            .product();
        let mut targets = vec![usize::MAX; left];
        for (place, &rank) in self.targets().iter().enumerate() {
            let mut at = 0;
            let coords = self.grid().coords(place)?;
            for ((coord, &extent), &gone) in coords.iter().zip(self.grid().shape()).zip(&reduced) {
                if !gone {
                    at = at * extent + coord;
                }
            }
            targets[at] = targets[at].min(rank);
        }
        Self::from_axes(kept, self.ranks(), targets)
    }

    /// This array and `others` one after the other along a dimension; every rank keeps what it has,
    /// its own parts in that order.
    ///
    /// Along the other dimensions all must be distributed alike. Along this one, ranks that hold
    /// parts of several of the arrays keep their place, others get new ones. Padding goes.
    ///
    /// # Errors
    /// [`MapError::NotAligned`] when the arrays differ in ranks, in another dimension, or in which
    /// ranks share it; when the size overflows, or more than [`MAX_LISTED`](crate::MAX_LISTED)
    /// indices would have to be listed.
    ///
    /// ```
    /// use dist_maps::{AxisDist, Distribution};
    /// let a = Distribution::over(2).shape([8]).cyclic(0).build()?;
    /// let b = Distribution::over(2).shape([5]).cyclic(0).build()?;
    /// assert_eq!(a.concatenate(&[&b], 0)?.axes()[0], AxisDist::cyclic(13, 2, 1)?);
    /// # Ok::<(), dist_maps::MapError>(())
    /// ```
    pub fn concatenate(&self, others: &[&Self], axis: usize) -> Result<Self, MapError> {
        check_axes(&[axis], self.ndim())?;
        let mut result = self.clone();
        for (number, other) in others.iter().enumerate() {
            result = join(&result, other, axis).map_err(|error| match error {
                MapError::NotAligned { axis, what, .. } => MapError::NotAligned {
                    array: number + 1,
                    axis,
                    what,
                },
                other => other,
            })?;
        }
        Ok(result)
    }
}

fn check_axes(axes: &[usize], ndim: usize) -> Result<(), MapError> {
    for (at, &given) in axes.iter().enumerate() {
        if given >= ndim {
            return Err(MapError::Axis { given, ndim });
        }
        if axes[..at].contains(&given) {
            return Err(MapError::RepeatedAxis { axis: given });
        }
    }
    Ok(())
}

/// The ranks at one coordinate of an axis, in C order of the other coordinates.
fn slab(d: &Distribution, axis: usize, coord: usize) -> Vec<usize> {
    let all = d.grid().shape().iter().enumerate();
    let coords: Vec<Vec<usize>> = all
        .map(|(a, &extent)| {
            if a == axis {
                vec![coord]
            } else {
                (0..extent).collect()
            }
        })
        .collect();
    d.targets_over(&coords)
}

fn join(a: &Distribution, b: &Distribution, axis: usize) -> Result<Distribution, MapError> {
    let wrong = |axis, what| MapError::NotAligned {
        array: 0,
        axis,
        what,
    };
    if a.ranks() != b.ranks() || a.ndim() != b.ndim() {
        return Err(wrong(axis, "another number of ranks or dimensions"));
    }
    for (other, (x, y)) in a.axes().iter().zip(b.axes()).enumerate() {
        if other != axis && x.bare().canonical() != y.bare().canonical() {
            return Err(wrong(other, "another distribution"));
        }
    }
    // Coordinates are told apart by the ranks there: same ranks, same place.
    let mut slabs: Vec<Vec<usize>> = (0..a.axes()[axis].ranks())
        .map(|c| slab(a, axis, c))
        .collect();
    let mut place_of: Vec<Option<usize>> = vec![None; a.ranks()];
    for (place, ranks) in slabs.iter().enumerate() {
        for &rank in ranks {
            place_of[rank] = Some(place);
        }
    }
    let mut places = Vec::new();
    for coord in 0..b.axes()[axis].ranks() {
        let ranks = slab(b, axis, coord);
        match ranks.iter().find_map(|&rank| place_of[rank]) {
            None => {
                places.push(slabs.len());
                slabs.push(ranks); // no rank is on another slab of `b`
            }
            Some(place) if slabs[place] == ranks => places.push(place),
            Some(_) => return Err(wrong(axis, "ranks that share another part of the array")),
        }
    }
    let new_axis = join_axes(&a.axes()[axis], &b.axes()[axis], &places, slabs.len());
    let new_axis = new_axis.map_err(|error| error.on_axis(axis))?;
    let mut axes: Vec<AxisDist> = a.axes().iter().map(AxisDist::bare).collect();
    axes[axis] = new_axis;
    // Back from one list per coordinate to C order.
    let inner: usize = a.grid().shape()[axis + 1..].iter().product();
    let outer: usize = a.grid().shape()[..axis].iter().product();
    let targets: Vec<usize> = (0..outer)
        .flat_map(|o| slabs.iter().map(move |s| (o, s)))
        .flat_map(|(o, s)| s[o * inner..(o + 1) * inner].iter().copied())
        .collect();
    Distribution::from_axes(axes, a.ranks(), targets)
}

/// One axis after another: coordinate `c` of `b` stands at `places[c]` of `ranks`.
fn join_axes(
    a: &AxisDist,
    b: &AxisDist,
    places: &[usize],
    ranks: usize,
) -> Result<AxisDist, MapError> {
    let (first, second) = (a.size(), b.size());
    let size = first.saturating_add(second);
    crate::axis_dist::check_size(size)?;
    let in_place = ranks == a.ranks() && places.iter().enumerate().all(|(c, &p)| c == p);
    if in_place && ranks == 1 && a.is_whole() && b.is_whole() {
        return AxisDist::whole(size);
    }
    if let (
        AxisDist::Cyclic {
            ranks: p,
            block_size: x,
            ..
        },
        AxisDist::Cyclic {
            ranks: q,
            block_size: y,
            ..
        },
    ) = (a, b)
        && in_place
        && (p, x) == (q, y)
        && first.is_multiple_of(x.saturating_mul(*p as u64))
    {
        return AxisDist::cyclic(size, ranks, *x).map(|axis| axis.canonical());
    }
    if let (AxisDist::Block { bounds: x, .. }, AxisDist::Block { bounds: y, .. }) = (a, b) {
        // The blocks of `b` all behind those of `a`, at most the first one growing the last of `a`.
        let places_ascend = places.windows(2).all(|pair| pair[0] < pair[1]);
        if places_ascend && places[0] + 1 >= a.ranks() {
            let mut bounds = x.to_vec();
            if places[0] + 1 == a.ranks() {
                bounds.pop();
            }
            bounds.extend(y[1..].iter().map(|&bound| first + bound));
            return Ok(AxisDist::from_bounds(bounds.into()));
        }
    }
    let listed = |axis: &AxisDist| match axis {
        AxisDist::Unstructured { indices, .. } => indices.iter().map(|l| l.len() as u64).sum(),
        other => other.size(),
    };
    check_listed(listed(a).saturating_add(listed(b)))?;
    let mut lists: Vec<Vec<i64>> = vec![Vec::new(); ranks];
    for (coord, list) in lists.iter_mut().enumerate().take(a.ranks()) {
        extend(list, a, coord, 0);
    }
    for (coord, &place) in places.iter().enumerate() {
        extend(&mut lists[place], b, coord, first.cast_signed());
    }
    let lists: Vec<Arc<[i64]>> = lists.into_iter().map(Into::into).collect();
    Ok(AxisDist::unstructured(size, lists)?.canonical())
}

/// Appends the indices of a coordinate, moved up by `offset`.
pub(super) fn extend(list: &mut Vec<i64>, axis: &AxisDist, coord: usize, offset: i64) {
    for run in axis.owned_runs(coord) {
        let first = run.global.saturating_add(offset);
        list.extend((first..).take(run.len));
    }
}
