//! [`diag`](LocalArrayBase::diag): a diagonal from a matrix, a matrix from a diagonal.

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution, IndexMap, MAX_LISTED, MapError, Slice};
use ndarray::{Data, Dimension, IxDyn};

use crate::agreement::in_step;
use crate::deliver::Deliveries;
use crate::remote::Owners;
use crate::{ArrayError, LocalArray, LocalArrayBase};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator + Clone,
{
    /// `NumPy`'s `diag`. Of shape `(n,)`: the square of `n + |k|` rows with this array on diagonal `k` and zeros elsewhere. Of
    /// shape `(n, m)`: diagonal `k`, the elements of row `i` and column `i + k`, of shape
    /// `(min(n - max(-k, 0), m - max(k, 0)),)` and without elements where `k` is beyond the corner. Collective; every rank
    /// gives the same `k`.
    ///
    /// The square has whole rows, spread as this array is: blocks keep their bounds and lists their indices, the new rows being
    /// the first or the last rank's; cyclic ones stay cyclic. A diagonal is spread as the rows are, on the lowest rank of those
    /// that share them.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, Ix2, array};
    ///
    /// let whole = ThreadComm::run(2, |comm| {
    ///     let a = LocalArray::<i32, Ix1, _>::arange(1, 4, 1, "b", comm)?;
    ///     let square = a.diag(-1)?.into_dimensionality::<Ix2>()?;
    ///     Ok::<_, ArrayError>((square.gather_to(0)?, square.diag(-1)?.sum()?))
    /// })?;
    /// let square = array![[0, 0, 0, 0], [1, 0, 0, 0], [0, 2, 0, 0], [0, 0, 3, 0]];
    /// assert_eq!(whole, [(Some(square), 6), (None, 6)]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::InvalidDimension`] for an array of another number of dimensions,
    /// [`ArrayError::Argument`] where the square would have more rows than 63 bits count or `k` differs between the ranks,
    /// [`ArrayError::Map`] where the rows are listed and more than can be,
    /// [`ArrayError::Agreed`] when a rank cannot have the memory, [`ArrayError::Comm`].
    pub fn diag(&self, k: i64) -> Result<LocalArray<S::Elem, IxDyn, C>, ArrayError> {
        let planned = match *self.global_shape() {
            [n] => self.matrix_with(n, k),
            [n, m] => self.diagonal_of(n, m, k),
            _ => Err(ArrayError::InvalidDimension {
                what: "number of dimensions",
                given: self.ndim().cast_signed(),
                ndim: 2,
            }),
        };
        let zeros = |plan: Moves| {
            let to = Arc::new(plan.to.clone());
            let zeros = LocalArray::<S::Elem, IxDyn, C>::zeros_over(to, self.comm.clone())?;
            Ok((zeros, plan))
        };
        let arguments = (k, self.part.laid(), S::Elem::TYPE);
        let (mut moved, plan) = in_step(&self.comm, "k", &arguments, planned, zeros)?;
        self.move_along(&plan, &mut moved)?;
        Ok(moved)
    }

    fn matrix_with(&self, n: u64, k: i64) -> Result<Moves, ArrayError> {
        let more = k.unsigned_abs();
        let size = n.checked_add(more).filter(|&n| i64::try_from(n).is_ok());
        let size = size.ok_or_else(|| ArrayError::Argument {
            what: "k",
            given: k.to_string(),
            allowed: format!("at most 2^63 - 1 - {n} away from 0"),
        })?;
        let (above, left) = if k < 0 { (more, 0) } else { (0, more) };
        let from = self.distribution();
        let rows = extended(&from.axes()[0], more, above)?;
        let to = Distribution::from_axes(
            vec![rows, AxisDist::whole(size)?],
            from.ranks(),
            from.targets(),
        )?;
        Ok(Moves {
            to,
            len: n,
            source: vec![0],
            place: vec![above.cast_signed(), left.cast_signed()],
        })
    }

    fn diagonal_of(&self, n: u64, m: u64, k: i64) -> Result<Moves, ArrayError> {
        let (down, right) = (k.min(0).unsigned_abs(), k.max(0).cast_unsigned());
        let (down, right) = (down.min(n), right.min(m));
        let len = (n - down).min(m - right);
        let along = |from: u64| {
            let stop = from + len; // at most an extent
            Slice::new(Some(from.cast_signed()), Some(stop.cast_signed()), 1).into()
        };
        let corner = self
            .distribution()
            .slice(&[along(down), along(right)])?
            .into_distribution();
        Ok(Moves {
            to: corner.reduce(Some(&[1]), false)?,
            len,
            source: vec![down.cast_signed(), right.cast_signed()],
            place: vec![0],
        })
    }

    /// Moves what `plan` says to zeros over its distribution. Collective.
    fn move_along(
        &self,
        plan: &Moves,
        moved: &mut LocalArray<S::Elem, IxDyn, C>,
    ) -> Result<(), ArrayError> {
        let from = self.shared_distribution();
        let to = Arc::clone(moved.shared_distribution());
        let givers: Vec<Owners> = from.axes().iter().map(Owners::of).collect();
        let takers = Owners::of(&to.axes()[0]);
        // The rank that gives an element: the first that owns it.
        let giver = |i: i64| {
            let owners = givers.iter().zip(&plan.source);
            let coords: Option<Vec<usize>> = owners
                .map(|(owners, shift)| owners.first(i + shift))
                .collect();
            from.rank_at(&coords?)
        };
        let stored = self.data.view().into_dyn();
        let mine = self.comm.rank();
        let mut sends = Deliveries::new(self.comm.size());
        for (i, first) in ascending(from, mine, plan.source[0], plan.len) {
            if giver(i) != Some(mine) {
                continue;
            }
            let at = match plan.source.len() {
                1 => Some(vec![first]),
                _ => self.local_from_global(&shifted(i, &plan.source)),
            };
            let Some(&element) = at.and_then(|at| stored.get(IxDyn(&at))) else {
                continue; // an element that is owned is stored
            };
            let mut coords = vec![0; plan.place.len()];
            takers.each(i + plan.place[0], |coord, _| {
                coords[0] = coord;
                if let Some(rank) = to.rank_at(&coords) {
                    sends.push(rank, element);
                }
            });
        }
        let mut received = sends.deliver(&self.comm)?;
        for (i, first) in ascending(&to, mine, plan.place[0], plan.len) {
            let Some(element) = giver(i).and_then(|rank| received.next(rank)) else {
                continue; // an index that no list has
            };
            let mut at = vec![first];
            for &g in &shifted(i, &plan.place)[1..] {
                at.push(usize::try_from(g).unwrap_or(usize::MAX));
            }
            if let Some(slot) = moved.data.get_mut(IxDyn(&at)) {
                *slot = element;
            }
        }
        Ok(())
    }
}

/// Which elements move, of `0..len`: the one at `i` and the shifts of `source` along each axis to `i` and those of `place`.
struct Moves {
    to: Distribution,
    len: u64,
    source: Vec<i64>,
    place: Vec<i64>,
}

fn shifted(i: i64, shifts: &[i64]) -> Vec<i64> {
    shifts.iter().map(|shift| i + shift).collect()
}

/// Those of `0..len` that a rank owns along the first axis, where they are shifted by `shift`; ascending, each with its local
/// position.
fn ascending(d: &Distribution, rank: usize, shift: i64, len: u64) -> Vec<(i64, usize)> {
    let Some(coords) = d.coords(rank) else {
        return Vec::new();
    };
    let (axis, coord) = (&d.axes()[0], coords[0]);
    let Ok(map) = axis.map(coord) else {
        return Vec::new();
    };
    let owned = axis.owned_local(coord);
    let is_along = |i: i64| u64::try_from(i).is_ok_and(|i| i < len);
    let mut all: Vec<(i64, usize)> = map
        .global_iter()
        .enumerate()
        .filter(|(local, _)| owned.contains(local))
        .filter_map(|(local, global)| Some((global.get().checked_sub(shift)?, local)))
        .filter(|&(i, _)| is_along(i))
        .collect();
    all.sort_unstable();
    all
}

/// An axis with `more` indices, before the others where `above` is not 0 and after them otherwise. Without padding.
fn extended(axis: &AxisDist, more: u64, above: u64) -> Result<AxisDist, ArrayError> {
    Ok(match axis {
        AxisDist::Block { bounds, .. } => {
            let mut bounds = bounds.to_vec();
            let first_moved = if above > 0 { 1 } else { bounds.len() - 1 };
            for bound in &mut bounds[first_moved..] {
                *bound += more;
            }
            AxisDist::block_bounds(bounds)?
        }
        AxisDist::Cyclic {
            size,
            ranks,
            block_size,
            ..
        } => AxisDist::cyclic(size + more, *ranks, *block_size)?,
        AxisDist::Unstructured { size, indices, .. } => {
            if size + more > MAX_LISTED {
                return Err(ArrayError::Map(MapError::TooManyToList {
                    given: size + more,
                    allowed: MAX_LISTED,
                }));
            }
            let mut lists: Vec<Vec<i64>> = indices
                .iter()
                .map(|list| {
                    list.iter()
                        .map(|&g| g.saturating_add_unsigned(above))
                        .collect()
                })
                .collect();
            let new = if above > 0 {
                0..above
            } else {
                *size..size + more
            };
            let end = if above > 0 { 0 } else { lists.len() - 1 };
            lists[end].extend(new.map(u64::cast_signed));
            AxisDist::unstructured(size + more, lists)?
        }
    })
}
