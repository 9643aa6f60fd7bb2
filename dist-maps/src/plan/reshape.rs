//! Reshapes: the same elements in the same global C order under another shape.
//!
//! Axes are first grouped: neighbouring axes of either side whose extents have the same product. The
//! groups are independent; a group of one axis on each side is an ordinary axis. Within another
//! group the runs of one side are followed in C order and cut where the other side's rows and runs
//! end.

mod limit;

use std::collections::BTreeMap;
use std::ops::Range;

use super::factor::{Entry, Factor, Pair};
use super::sets::{self, AxisSets};
use super::{PlanError, Section};
use crate::axis_dist::to_len;
use crate::{AxisDist, Distribution};

/// Neighbouring axes of both sides with as many elements.
pub(super) struct Group<'a> {
    src: Side<'a>,
    dst: Side<'a>,
}

/// The axes of one side of a group.
struct Side<'a> {
    first: usize,
    axes: Vec<Merged<'a>>,
    /// Flat distance of neighbours, per axis.
    strides: Vec<u128>,
}

struct Merged<'a> {
    sets: AxisSets<'a>,
    /// Of an unstructured axis: every index with coordinate and position, sorted.
    places: Vec<(i64, usize, usize)>,
}

/// A place that holds an index: coordinate, local position, and how far both go on together.
#[derive(Clone, Copy)]
struct Place {
    coord: usize,
    local: usize,
    run: u64,
}

pub(super) fn factors<'a>(
    src: &'a Distribution,
    dst: &'a Distribution,
) -> Result<Vec<Factor<'a>>, PlanError> {
    let size = |dist: &Distribution| {
        let shape = dist.global_shape();
        let product = shape
            .iter()
            .try_fold(1_u128, |product, &n| product.checked_mul(n.into()));
        if shape.contains(&0) {
            Ok(0)
        } else {
            product.ok_or(PlanError::Overflow {
                what: "global size",
            })
        }
    };
    let (src_size, dst_size) = (size(src)?, size(dst)?);
    if src_size != dst_size {
        return Err(PlanError::Size {
            src: src_size,
            dst: dst_size,
        });
    }
    let mut factors = Vec::new();
    let (mut i, mut j) = (0, 0);
    if src_size == 0 {
        // nothing moves: one group of everything, without rows
        factors.push(Factor::Group(Group::new(
            src,
            0..src.ndim(),
            dst,
            0..dst.ndim(),
        )));
        return Ok(factors);
    }
    let extent = |dist: &Distribution, axis: usize| u128::from(dist.global_shape()[axis]);
    while i < src.ndim() || j < dst.ndim() {
        let (first_i, first_j) = (i, j);
        let (mut of_src, mut of_dst) = (1, 1);
        if i < src.ndim() {
            of_src = extent(src, i);
            i += 1;
        }
        if j < dst.ndim() {
            of_dst = extent(dst, j);
            j += 1;
        }
        // both products divide the same size, so neither side runs out first
        while of_src != of_dst {
            if of_src < of_dst && i < src.ndim() {
                of_src *= extent(src, i);
                i += 1;
            } else if j < dst.ndim() {
                of_dst *= extent(dst, j);
                j += 1;
            } else {
                break;
            }
        }
        if i - first_i == 1 && j - first_j == 1 {
            let (a, b) = (&src.axes()[first_i], &dst.axes()[first_j]);
            let pair = Pair::new((first_i, a), (first_j, b), false);
            if let Some(index) = pair.missing() {
                return Err(PlanError::Missing {
                    axis: first_j,
                    index,
                });
            }
            factors.push(Factor::Axis(pair));
        } else {
            let group = Group::new(src, first_i..i, dst, first_j..j);
            group.check()?;
            group.check_rows()?;
            factors.push(Factor::Group(group));
        }
    }
    Ok(factors)
}

impl<'a> Group<'a> {
    fn new(
        src: &'a Distribution,
        src_axes: Range<usize>,
        dst: &'a Distribution,
        dst_axes: Range<usize>,
    ) -> Self {
        Self {
            src: Side::new(src, src_axes, AxisSets::sources),
            dst: Side::new(dst, dst_axes, AxisSets::owned),
        }
    }

    /// Every index of the source must be somewhere, and none of the destination elsewhere.
    fn check(&self) -> Result<(), PlanError> {
        for (axis, merged) in (self.src.first..).zip(&self.src.axes) {
            let size = merged.sets.axis().size();
            let Some(given) = merged.sets.covered() else {
                continue;
            };
            let inside = given.iter().skip_while(|&&g| g < 0);
            let gap = inside
                .clone()
                .zip(0..)
                .find(|&(&g, expected)| g != expected);
            let end = i64::try_from(inside.count()).unwrap_or(i64::MAX);
            let index = gap.map_or(end, |(_, expected)| expected);
            if index.cast_unsigned() < size {
                return Err(PlanError::Missing { axis, index });
            }
        }
        for (axis, merged) in (self.dst.first..).zip(&self.dst.axes) {
            let size = merged.sets.axis().size();
            let wanted = merged.sets.covered().unwrap_or_default();
            let outside = |&g: &i64| u64::try_from(g).map_or(true, |g| g >= size);
            if let Some(index) = wanted.into_iter().find(outside) {
                return Err(PlanError::Missing { axis, index });
            }
        }
        Ok(())
    }

    pub(super) fn src_axes(&self) -> Range<usize> {
        self.src.first..self.src.first + self.src.axes.len()
    }

    pub(super) fn dst_axes(&self) -> Range<usize> {
        self.dst.first..self.dst.first + self.dst.axes.len()
    }

    pub(super) fn sends(&self, coords: &[usize]) -> Vec<Entry> {
        self.entries(&self.src, coords, &self.dst, true)
    }

    pub(super) fn recvs(&self, coords: &[usize]) -> Vec<Entry> {
        self.entries(&self.dst, coords, &self.src, false)
    }

    pub(super) fn writes(&self, coords: &[usize]) -> u128 {
        let axes = self.dst.axes.iter().zip(coords);
        axes.map(|(axis, &coord)| u128::from(sets::elements(&axis.sets.get(coord))))
            .product()
    }

    fn entries(&self, near: &Side, coords: &[usize], far: &Side, near_is_src: bool) -> Vec<Entry> {
        let mut found: BTreeMap<Vec<usize>, Rows> = BTreeMap::new();
        near.each_run(coords, &mut |flat, positions, len| {
            far.each_part(flat, len, &mut |peer, skipped, there, len| {
                let mut here = positions.to_vec();
                if let Some(last) = here.last_mut() {
                    *last += skipped;
                }
                let (src, dst) = if near_is_src {
                    (&here[..], there)
                } else {
                    (there, &here[..])
                };
                if let Some(rows) = found.get_mut(peer) {
                    rows.push(src, dst, len);
                } else {
                    let rows = found.entry(peer.to_vec()).or_default();
                    rows.push(src, dst, len);
                }
            });
        });
        let entry = |(coords, rows): (Vec<usize>, Rows)| Entry {
            coords,
            section: Section::Rows {
                src_axis: self.src.first,
                src_axes: self.src.axes.len(),
                dst_axis: self.dst.first,
                dst_axes: self.dst.axes.len(),
                rows: rows.list.into(),
            },
        };
        found.into_iter().map(entry).collect()
    }
}

/// Rows under construction, joined wherever one goes on on both sides: so both ends of a message
/// have the same list.
#[derive(Default)]
struct Rows {
    list: Vec<usize>,
}

impl Rows {
    fn push(&mut self, src: &[usize], dst: &[usize], len: usize) {
        let width = src.len() + dst.len() + 1;
        if let Some(start) = self.list.len().checked_sub(width) {
            let (last_src, rest) = self.list[start..].split_at(src.len());
            let (last_dst, last_len) = rest.split_at(dst.len());
            let last_len = last_len[0];
            if follows(last_src, src, last_len) && follows(last_dst, dst, last_len) {
                self.list[start + width - 1] += len;
                return;
            }
        }
        self.list.extend_from_slice(src);
        self.list.extend_from_slice(dst);
        self.list.push(len);
    }
}

/// Whether `b` lies `by` positions after `a` along the last axis.
fn follows(a: &[usize], b: &[usize], by: usize) -> bool {
    match (a.split_last(), b.split_last()) {
        (Some((a, outer_a)), Some((b, outer_b))) => outer_a == outer_b && a + by == *b,
        _ => false,
    }
}

impl<'a> Side<'a> {
    fn new(
        dist: &'a Distribution,
        axes: Range<usize>,
        sets: impl Fn(&'a AxisDist) -> AxisSets<'a>,
    ) -> Self {
        let first = axes.start;
        let mut strides = vec![1; axes.len()];
        for axis in (0..axes.len().saturating_sub(1)).rev() {
            let extent = u128::from(dist.global_shape()[first + axis + 1]);
            strides[axis] = extent.saturating_mul(strides[axis + 1]);
        }
        let axes = dist.axes()[axes].iter();
        Self {
            first,
            axes: axes.map(|axis| Merged::new(sets(axis))).collect(),
            strides,
        }
    }

    /// Every run of the box at these coordinates: flat start, local positions, length. In flat order.
    fn each_run(&self, coords: &[usize], f: &mut impl FnMut(u128, &[usize], u64)) {
        let mut axes = self.axes.iter().zip(coords);
        if axes.any(|(axis, &at)| axis.sets.axis().size() == 0 || axis.sets.get(at).is_empty()) {
            return; // though other axes may have more than can be listed
        }
        let runs: Vec<Vec<(i128, usize, u64)>> = self
            .axes
            .iter()
            .zip(coords)
            .map(|(axis, &coord)| axis.runs(coord))
            .collect();
        let mut positions = Vec::with_capacity(runs.len());
        self.descend(&runs, 0, &mut positions, f);
    }

    fn descend(
        &self,
        runs: &[Vec<(i128, usize, u64)>],
        flat: u128,
        positions: &mut Vec<usize>,
        f: &mut impl FnMut(u128, &[usize], u64),
    ) {
        let Some((axis_runs, inner)) = runs.split_first() else {
            // a group without axes on this side is one element
            return f(flat, positions, 1);
        };
        let stride = self.strides[positions.len()];
        for &(global, local, len) in axis_runs {
            let start = flat + stride * global.unsigned_abs();
            if inner.is_empty() {
                positions.push(local);
                f(start, positions, len);
                positions.pop();
                continue;
            }
            for i in 0..len {
                positions.push(local + to_len(i));
                self.descend(inner, start + stride * u128::from(i), positions, f);
                positions.pop();
            }
        }
    }

    /// Where `len` elements from a flat index lie on this side: coordinates, elements before, local
    /// positions, length of each part. In flat order.
    fn each_part(
        &self,
        flat: u128,
        len: u64,
        f: &mut impl FnMut(&[usize], usize, &[usize], usize),
    ) {
        let Some((last, outer)) = self.axes.split_last() else {
            return f(&[], 0, &[], 1);
        };
        let mut done = 0;
        while done < len {
            let mut rest = flat + u128::from(done);
            let mut places = vec![Vec::with_capacity(outer.len() + 1)];
            for (axis, &stride) in outer.iter().zip(&self.strides) {
                places = extend(&places, &axis.places(low(rest / stride)));
                rest %= stride;
            }
            let size = last.sets.axis().size();
            let mut at = low(rest);
            let row_end = size.min(at.saturating_add(len - done));
            let row_start = at;
            while at < row_end {
                let ends = last.places(at);
                let run = ends
                    .iter()
                    .map(|p| p.run)
                    .min()
                    .unwrap_or(1)
                    .min(row_end - at);
                for place in extend(&places, &ends) {
                    let coords: Vec<usize> = place.iter().map(|p| p.coord).collect();
                    let locals: Vec<usize> = place.iter().map(|p| p.local).collect();
                    f(&coords, to_len(done + at - row_start), &locals, to_len(run));
                }
                at += run;
            }
            done += row_end - row_start;
        }
    }
}

fn low(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// Every combination of a prefix and one more place.
fn extend(prefixes: &[Vec<Place>], next: &[Place]) -> Vec<Vec<Place>> {
    let mut all = Vec::with_capacity(prefixes.len() * next.len());
    for prefix in prefixes {
        for &place in next {
            let mut longer = prefix.clone();
            longer.push(place);
            all.push(longer);
        }
    }
    all
}

impl<'a> Merged<'a> {
    fn new(sets: AxisSets<'a>) -> Self {
        let mut places = Vec::new();
        if let AxisDist::Unstructured { .. } = sets.axis() {
            for coord in 0..sets.axis().ranks() {
                for (global, local, len) in runs(&sets, coord) {
                    let index = |i: u64| i64::try_from(global + i128::from(i));
                    places.extend(
                        (0..len).filter_map(|i| Some((index(i).ok()?, coord, local + to_len(i)))),
                    );
                }
            }
            places.sort_unstable();
        }
        Self { sets, places }
    }

    fn runs(&self, coord: usize) -> Vec<(i128, usize, u64)> {
        runs(&self.sets, coord)
    }

    fn places(&self, global: u64) -> Vec<Place> {
        match self.sets.axis() {
            AxisDist::Block { bounds, .. } => {
                let coord = bounds.partition_point(|&bound| bound <= global) - 1;
                let start = self.sets.axis().owned_local(coord).start;
                vec![Place {
                    coord,
                    local: start + to_len(global - bounds[coord]),
                    run: bounds[coord + 1] - global,
                }]
            }
            AxisDist::Cyclic {
                ranks, block_size, ..
            } => {
                let (block, within) = (global / block_size, global % block_size);
                let (turn, coord) = (block / *ranks as u64, block % *ranks as u64);
                vec![Place {
                    coord: to_len(coord),
                    local: to_len(turn * block_size + within),
                    run: block_size - within,
                }]
            }
            AxisDist::Unstructured { .. } => {
                let global = i64::try_from(global).unwrap_or(i64::MAX);
                let first = self.places.partition_point(|&(g, ..)| g < global);
                self.places[first..]
                    .iter()
                    .take_while(|&&(g, ..)| g == global)
                    .map(|&(_, coord, local)| Place {
                        coord,
                        local,
                        run: 1,
                    })
                    .collect()
            }
        }
    }
}

/// The runs of a coordinate inside `0..size`: global start, local start, length. An index outside (an
/// unstructured axis may have some) is no element of the array and has no flat index.
fn runs(sets: &AxisSets<'_>, coord: usize) -> Vec<(i128, usize, u64)> {
    let size = i128::from(sets.axis().size());
    let mut all = Vec::new();
    for p in sets.get(coord).iter() {
        for run in (0..p.count).map(|i| p.nth(i)) {
            let start = run.global.max(0);
            let end = (run.global + i128::from(run.len)).min(size);
            if start < end {
                let skipped = low((start - run.global).unsigned_abs());
                let len = low((end - start).unsigned_abs());
                all.push((start, run.local + to_len(skipped), len));
            }
        }
    }
    all
}
