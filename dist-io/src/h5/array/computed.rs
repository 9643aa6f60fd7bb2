//! What is computed assigned in place, and chosen by flags, piece by piece.

use dap_protocol::{DimData, DistBuffer, Element, HostArray};
use dist_comm::CommExt;
use dist_comm::agree::agree;
use dist_maps::AxisDist;

use super::expr::{BLOCK, Parts};
use super::handle::Handle;
use super::pieces::{By, Piece, Pieces, Within};
use super::{Expr, H5Array, write};
use crate::IoError;
use crate::h5::together::same;

impl<'c, T: Element> H5Array<'c, T> {
    /// Computes an expression of this shape piece by piece, within `budget` bytes a rank, and assigns it: `a += b` is
    /// `a.assign_computed(&a + &b, budget)`. Collective; equal handles, expressions and budgets.
    ///
    /// Pieces are read ahead unless they are read from the file that is written to. An array of it may be this one, seen as it is assigned to.
    /// Seen otherwise, backwards for example, elements would be read after they were written: then all of it has to be one piece.
    ///
    /// # Errors
    /// Those of [`Expr::load`] and [`assign`](Self::assign); [`IoError::Overlap`] when this dataset is seen otherwise and `budget` does not
    /// hold all.
    pub fn assign_computed(
        &self,
        expr: impl Into<Expr<'c, T>>,
        budget: u64,
    ) -> Result<(), IoError> {
        let expr: Expr<'c, T> = expr.into();
        expr.check()?;
        self.handle.same()?;
        if expr.shape() != self.shape() {
            return Err(IoError::Shape {
                given: self.shape().to_vec(),
                allowed: expr.shape().to_vec(),
            });
        }
        // whether arrays are in this file, and whether one is this dataset, seen in another way
        let here = expr.leaves.iter();
        let here = here.filter(|leaf| leaf.is_in_file_of(&self.handle));
        let here: Vec<&Handle<'c>> = here.collect();
        let key = |handle: &Handle<'_>| handle.dataset.key.trim_matches('/').to_owned();
        let is_other = |leaf: &&Handle<'c>| {
            key(leaf) == key(&self.handle) && leaf.window != self.handle.window
        };
        let own = u8::from(!here.is_empty()) + u8::from(here.iter().any(is_other));
        let all = self.handle.comm.all_gather_value(own)?;
        let within = Within {
            by: By::Longest,
            budget,
            ahead: all.iter().all(|&own| own == 0),
        };
        let more = |piece: &Piece| {
            let elements = piece.distribution.axes().iter().map(|axis| {
                let own = (0..axis.ranks()).map(|c| axis.owned_len(c) as u64);
                own.max().unwrap_or(0)
            });
            let result = elements.fold(size_of::<T>() as u64, u64::saturating_mul);
            Ok(result.saturating_add(write::need(&piece.of(&self.handle)?)?))
        };
        let pieces = Pieces::new(&expr.first, &expr.leaves, within, &more)?;
        if all.contains(&2) && pieces.count() > 1 {
            return Err(IoError::Overlap { budget });
        }
        pieces.each::<u8>(&mut |piece, loaded| {
            let part = expr.computed(&loaded)?;
            drop(loaded);
            let target = piece.of(&self.handle)?;
            let checked = write::check(&target, &part)?;
            write::assign(&target, &checked).map(drop)
        })
    }

    /// Assigns one value where a flag is set: `NumPy`'s `array[flags] = value`. The flags are an array of this shape, or a comparison of
    /// some. Collective; equal handles, flags, values and budgets (bytes a rank).
    ///
    /// # Errors
    /// As [`assign_computed`](Self::assign_computed).
    pub fn fill_where(
        &self,
        flags: impl Into<Expr<'c, bool>>,
        value: T,
        budget: u64,
    ) -> Result<(), IoError> {
        same(
            self.handle.comm,
            &[("value", format!("{value:?}").as_bytes())],
        )?;
        let chosen = move |element, flag| if flag { value } else { element };
        self.assign_computed(self.expr().zip(flags, chosen), budget)
    }

    /// The elements whose flag is set, in C order, as an array of one dimension in blocks: `NumPy`'s `array[flags]`. Collective; equal
    /// handles, flags and budgets (bytes a rank, for what is read; the elements that are kept come beside it).
    ///
    /// The flags are an array of this shape, or a comparison of some. Each rank keeps those of consecutive rows; how many that is depends on
    /// the flags.
    ///
    /// # Errors
    /// As [`Expr::load`].
    pub fn mask(
        &self,
        flags: impl Into<Expr<'c, bool>>,
        budget: u64,
    ) -> Result<DistBuffer<HostArray<T>>, IoError> {
        let comm = self.handle.comm;
        let flags: Expr<'c, bool> = flags.into();
        let elements = self.expr();
        let both = elements.zip(flags.clone(), |_, flag| flag);
        both.check()?;
        // of a scalar every rank has a copy
        let counts = self.ndim() > 0 || comm.rank() == 0;
        let mut kept: Vec<T> = Vec::new();
        let within = Within {
            by: By::Rows,
            budget,
            ahead: true,
        };
        let pieces = Pieces::new(&both.first, &both.leaves, within, &|_| Ok(0))?;
        pieces.each::<u8>(&mut |_, loaded| {
            let mut outcome = Ok(());
            let parts = Parts {
                leaves: &both.leaves,
                loaded: &loaded,
            };
            let count: usize = loaded
                .first()
                .map_or(0, |first| first.shape.iter().product());
            let (mut block, mut set) = (Vec::new(), Vec::new());
            for start in (0..count).step_by(BLOCK).filter(|_| counts) {
                let range = start..start.saturating_add(BLOCK).min(count);
                block.clear();
                set.clear();
                elements.node.block(&parts, range.clone(), &mut block);
                flags.node.block(&parts, range, &mut set);
                let chosen = set.iter().filter(|&&flag| flag).count();
                outcome = kept.try_reserve(chosen).map_err(|_| IoError::Memory {
                    bytes: chosen.saturating_mul(size_of::<T>()),
                });
                if outcome.is_err() {
                    break;
                }
                let pairs = block.iter().zip(&set).filter(|&(_, &flag)| flag);
                kept.extend(pairs.map(|(&element, _)| element));
            }
            Ok(agree(comm, outcome)?)
        })?;
        let lens = comm.all_gather_value(kept.len() as u64)?;
        let mut bounds = vec![0];
        for len in lens {
            bounds.push(bounds[bounds.len() - 1] + len);
        }
        let part = || {
            let axis = AxisDist::block_bounds(bounds)?;
            let dims = DimData::new(vec![axis.dim_dict(comm.rank())?]);
            Ok::<_, IoError>(DistBuffer::new(
                dims,
                HostArray::new(vec![kept.len()], kept)?,
            )?)
        };
        Ok(agree(comm, part())?)
    }
}
