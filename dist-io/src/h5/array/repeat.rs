//! [`Repeat`]: what is assigned, repeated along the dimensions of what it is assigned to, by `NumPy`'s rule.
//!
//! ```text
//! assigned        3      1 4     a dimension of one element, and one that is not there, are repeated; others are equal
//! assigned to   2 3      5 4
//! ```

use dist_comm::Communicator;
use dist_comm::agree::agree;
use dist_maps::{AxisDist, Distribution, MapError, Redistribution};

use super::read::owned;
use crate::IoError;
use crate::execute::{exchange, room};

/// Two shapes of as many dimensions: that of what is assigned, with dimensions of one element before it, and that of what it is assigned to.
pub(super) struct Repeat {
    /// Dimensions that either lacks.
    from_lacks: usize,
    to_lacks: usize,
    /// Of each dimension, whether it is repeated.
    repeated: Vec<bool>,
}

impl Repeat {
    /// How an array of one shape is assigned to one of another.
    pub(super) fn new(from: &[u64], to: &[u64]) -> Result<Self, IoError> {
        let ndim = from.len().max(to.len());
        let (from_lacks, to_lacks) = (ndim - from.len(), ndim - to.len());
        let wide = |shape: &[u64], lacks| {
            let mut wide = vec![1; lacks];
            wide.extend_from_slice(shape);
            wide
        };
        let axes = wide(from, from_lacks).into_iter();
        let axes = axes.zip(wide(to, to_lacks));
        let repeated = axes.map(|(from, to)| match (from, to) {
            (from, to) if from == to => Ok(false),
            (1, _) => Ok(true),
            _ => Err(()),
        });
        let repeated = repeated.collect::<Result<Vec<_>, ()>>();
        let repeated = repeated.map_err(|()| IoError::Shape {
            given: to.to_vec(),
            allowed: from.to_vec(),
        })?;
        Ok(Self {
            from_lacks,
            to_lacks,
            repeated,
        })
    }

    /// Moves the parts of `from` to the slabs of what is assigned to; bytes exchanged. Collective.
    pub(super) fn moved(
        &self,
        comm: &dyn Communicator,
        (from, slabs): (&Distribution, &Distribution),
        item: usize,
        bytes: &[u8],
        slab: &mut [u8],
    ) -> Result<u64, IoError> {
        let rank = comm.rank();
        if !self.repeated.contains(&true) && self.from_lacks == 0 && self.to_lacks == 0 {
            let plan = agree(comm, Redistribution::between(from, slabs).plan(rank))?;
            return exchange::exchange(comm, &plan, item, bytes, slab);
        }
        let from = wide(from, self.from_lacks)?;
        let slabs = wide(slabs, self.to_lacks)?;
        // what each slab has of the elements that are not repeated
        let axes = slabs.axes().iter().zip(&self.repeated);
        let axes = axes.map(|(axis, &repeated)| match axis.ranks() {
            _ if !repeated => Ok(axis.clone()),
            1 => AxisDist::whole(1),
            ranks => AxisDist::unstructured(1, vec![vec![0]; ranks]),
        });
        let axes = axes.collect::<Result<Vec<_>, MapError>>()?;
        let thin = Distribution::from_axes(axes, slabs.ranks(), slabs.targets())?;
        let plan = agree(comm, Redistribution::between(&from, &thin).plan(rank))?;
        let mut own = agree(comm, room(owned(&thin, rank), item))?;
        let moved = exchange::exchange(comm, &plan, item, bytes, &mut own)?;
        if !slab.is_empty() {
            self.repeat(&slabs.owned_shape(rank), item, &own, slab);
        }
        Ok(moved)
    }

    /// Fills a slab of this shape with what is not repeated of it.
    fn repeat(&self, shape: &[usize], item: usize, own: &[u8], slab: &mut [u8]) {
        // the dimensions after the last one that is repeated lie in one piece
        let outer = self.repeated.iter().rposition(|&repeated| repeated);
        let outer = outer.map_or(0, |at| at + 1);
        let run = shape[outer..].iter().product::<usize>() * item;
        for (number, target) in slab.chunks_exact_mut(run).enumerate() {
            let (mut rest, mut stride, mut at) = (number, 1, 0);
            for axis in (0..outer).rev() {
                let position = rest % shape[axis];
                rest /= shape[axis];
                if !self.repeated[axis] {
                    at += position * stride;
                    stride *= shape[axis];
                }
            }
            target.copy_from_slice(&own[at * run..(at + 1) * run]);
        }
    }
}

/// A distribution with so many dimensions of one element before its own.
fn wide(distribution: &Distribution, lacks: usize) -> Result<Distribution, MapError> {
    let mut axes = (0..lacks)
        .map(|_| AxisDist::whole(1))
        .collect::<Result<Vec<_>, _>>()?;
    axes.extend(distribution.axes().iter().cloned());
    Distribution::from_axes(axes, distribution.ranks(), distribution.targets())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_numpys() {
        let repeated = |from: &[u64], to: &[u64]| Repeat::new(from, to).map(|r| r.repeated);
        assert_eq!(repeated(&[3], &[2, 3]).unwrap(), [true, false]);
        assert_eq!(repeated(&[1, 4], &[5, 4]).unwrap(), [true, false]);
        assert_eq!(repeated(&[], &[5]).unwrap(), [true]);
        assert_eq!(repeated(&[1, 1, 5], &[5]).unwrap(), [false; 3]);
        assert_eq!(repeated(&[1, 0], &[0, 0]).unwrap(), [true, false]);
        for (from, to) in [
            (&[2, 3][..], &[3][..]),
            (&[2], &[3]),
            (&[0], &[1]),
            (&[3], &[3, 1]),
        ] {
            let error = repeated(from, to).unwrap_err();
            assert!(matches!(error, IoError::Shape { .. }), "{from:?} {to:?}");
        }
    }

    #[test]
    fn slabs_are_filled() {
        let repeat = Repeat::new(&[2, 1, 2], &[2, 3, 2]).unwrap();
        let mut slab = [0; 12];
        repeat.repeat(&[2, 3, 2], 1, &[1, 2, 3, 4], &mut slab);
        assert_eq!(slab, [1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4]);
        let repeat = Repeat::new(&[1], &[2, 2]).unwrap();
        let mut slab = [0; 8];
        repeat.repeat(&[2, 2], 2, &[7, 8], &mut slab);
        assert_eq!(slab, [7, 8, 7, 8, 7, 8, 7, 8]);
    }
}
