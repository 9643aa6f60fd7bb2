//! Chunks of rows that come after those that are there: coded, or put behind the rows of a chunk that has some.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::sync::Mutex;

use super::filter::{Filter, Scratch, Undone, reserve};
use super::threads::{in_threads, locked, threads};
use crate::h5::Refusal;

/// A chunk that is in a file.
#[derive(Clone, Copy, Debug)]
pub(in crate::h5) struct Known {
    pub(in crate::h5) offset: u64,
    pub(in crate::h5) len: u32,
    pub(in crate::h5) left_out: u32,
}

/// What becomes of one chunk.
#[derive(Debug)]
pub(in crate::h5) struct Grown {
    index: u64,
    pub(in crate::h5) coords: Vec<u64>,
    /// Where the bytes go, if the chunk has a place already; otherwise it gets one.
    pub(in crate::h5) at: Option<u64>,
    pub(in crate::h5) left_out: u32,
    pub(in crate::h5) bytes: Vec<u8>,
}

/// New rows of one rank: a box of an array that grows along its first dimension. Sizes in elements.
pub(in crate::h5) struct Rows<'a> {
    /// Rows that are there, and rows that come.
    pub(in crate::h5) before: u64,
    pub(in crate::h5) count: u64,
    /// What of it this rank has, from where to where.
    pub(in crate::h5) own: &'a [(u64, u64)],
    pub(in crate::h5) chunk: &'a [u64],
    pub(in crate::h5) filters: &'a [Filter],
    pub(in crate::h5) item: usize,
    /// One element, for what nobody wrote.
    pub(in crate::h5) fill: &'a [u8],
    /// The rank's elements, in C order.
    pub(in crate::h5) elements: &'a [u8],
}

impl Rows<'_> {
    /// The chunks that the rows fall into, ready to be written. `known` says which of them are there. Local.
    pub(in crate::h5) fn chunks(
        &self,
        file: &File,
        known: &(dyn Fn(&[u64]) -> Option<Known> + Sync),
        ranks: usize,
    ) -> Result<Vec<Grown>, Refusal> {
        let count = self.grid().into_iter().map(|(from, to)| to - from);
        let count = count.fold(1_u64, u64::saturating_mul);
        if self.elements.is_empty() || count == 0 {
            return Ok(Vec::new());
        }
        let all = Mutex::new(Vec::new());
        let threads = if self.filters.is_empty() {
            1
        } else {
            threads(ranks)
        };
        in_threads(threads, 0..count, &|index, scratch| {
            let grown = self.one(file, known, index, scratch)?;
            locked(&all).push(grown);
            Ok(())
        })?;
        let mut all = all
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        all.sort_unstable_by_key(|grown: &Grown| grown.index);
        Ok(all)
    }

    /// The chunks, per dimension, from which to which.
    fn grid(&self) -> Vec<(u64, u64)> {
        let step = self.chunk[0];
        let mut grid = vec![(
            self.before / step,
            self.before.saturating_add(self.count).div_ceil(step),
        )];
        let others = self.own.iter().zip(&self.chunk[1..]);
        grid.extend(others.map(|(&(from, to), step)| (from / step, to.div_ceil(*step))));
        grid
    }

    /// The box of a chunk: per dimension where it begins in the chunk and in the rank's elements, and how long it is.
    fn span(&self, coords: &[u64]) -> Vec<(usize, usize, usize)> {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let first = coords[0] * self.chunk[0];
        let (from, to) = (
            first.max(self.before),
            (first + self.chunk[0]).min(self.before + self.count),
        );
        let mut span = vec![(
            size(from - first),
            size(from - self.before),
            size(to.saturating_sub(from)),
        )];
        let axes = coords[1..].iter().zip(&self.chunk[1..]).zip(self.own);
        for ((at, step), &(own, end)) in axes {
            let first = (at * step).max(own);
            let to = ((at + 1) * step).min(end);
            span.push((
                size(first - at * step),
                size(first - own),
                size(to.saturating_sub(first)),
            ));
        }
        span
    }

    fn one(
        &self,
        file: &File,
        known: &(dyn Fn(&[u64]) -> Option<Known> + Sync),
        index: u64,
        scratch: &mut Scratch,
    ) -> Result<Grown, Refusal> {
        let mut rest = index;
        let mut coords = vec![0; self.chunk.len()];
        for (at, (from, to)) in coords.iter_mut().zip(self.grid()).rev() {
            *at = from + rest % (to - from);
            rest /= to - from;
        }
        let (_, bytes) = super::in_memory(self.chunk, self.chunk.len(), self.item)?;
        let span = self.span(&coords);
        let known = known(&coords);
        scratch.bytes.clear();
        match known {
            Some(known) if !self.filters.is_empty() => {
                let len = usize::try_from(known.len).unwrap_or(usize::MAX);
                reserve(&mut scratch.bytes, len)?;
                scratch.bytes.resize(len, 0);
                file.read_exact_at(&mut scratch.bytes, known.offset)
                    .map_err(Refusal::os("read a chunk"))?;
                let decoded = scratch.decode(self.filters, known.left_out, self.item, bytes);
                decoded.map_err(|undone| match undone {
                    Undone::Refused(refusal) => refusal,
                    Undone::Problem(problem) => Refusal::Chunk {
                        origin: super::origin(self.chunk, &coords),
                        offset: Some(known.offset),
                        problem,
                    },
                })?;
            }
            _ => {
                reserve(&mut scratch.bytes, bytes)?;
                while scratch.bytes.len() < bytes {
                    scratch.bytes.extend_from_slice(self.fill);
                }
            }
        }
        self.copy(&span, &mut scratch.bytes);
        let mut grown = Grown {
            index,
            coords,
            at: None,
            left_out: 0,
            bytes: Vec::new(),
        };
        if let (Some(known), true) = (known, self.filters.is_empty()) {
            if u64::from(known.len) != bytes as u64 {
                return Err(Refusal::Chunk {
                    origin: super::origin(self.chunk, &grown.coords),
                    offset: Some(known.offset),
                    problem: super::ChunkProblem::Length {
                        given: u64::from(known.len),
                        allowed: bytes as u64,
                    },
                });
            }
            // the rows of a chunk that come are in one piece, behind those that are there
            let row = bytes / usize::try_from(self.chunk[0]).unwrap_or(usize::MAX).max(1);
            let (start, _, rows) = span[0];
            grown.at = Some(known.offset + (start * row) as u64);
            scratch.bytes.truncate((start + rows) * row);
            scratch.bytes.drain(..start * row);
        } else {
            grown.left_out = scratch.encode(self.filters, self.item)?;
        }
        reserve(&mut grown.bytes, scratch.bytes.len())?;
        grown.bytes.extend_from_slice(&scratch.bytes);
        Ok(grown)
    }

    /// Copies the box of a chunk from the rank's elements.
    fn copy(&self, span: &[(usize, usize, usize)], to: &mut [u8]) {
        let size = |n: u64| usize::try_from(n).unwrap_or(usize::MAX);
        let own: Vec<usize> = std::iter::once(size(self.count))
            .chain(self.own.iter().map(|(from, to)| size(to - from)))
            .collect();
        let run = span.last().map_or(0, |&(_, _, len)| len) * self.item;
        let outer = span.len() - 1;
        if span.iter().any(|&(_, _, len)| len == 0) {
            return;
        }
        let mut at = vec![0; outer];
        loop {
            let (mut source, mut target) = (0, 0);
            for (axis, &(in_chunk, local, _)) in span.iter().enumerate() {
                let step = at.get(axis).copied().unwrap_or(0);
                source = source * own[axis] + local + step;
                target = target * size(self.chunk[axis]) + in_chunk + step;
            }
            let (source, target) = (source * self.item, target * self.item);
            to[target..target + run].copy_from_slice(&self.elements[source..source + run]);
            let mut axis = outer;
            loop {
                let Some(next) = axis.checked_sub(1) else {
                    return;
                };
                axis = next;
                at[axis] += 1;
                if at[axis] < span[axis].2 {
                    break;
                }
                at[axis] = 0;
            }
        }
    }
}
