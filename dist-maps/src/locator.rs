//! [`AxisLocator`]: owner and local position of many global indices at once.

mod kernels;
mod table;

use std::sync::Arc;

use crate::axis_dist::to_len;
use crate::map::check_lengths;
use crate::reciprocal::{NARROW, Reciprocal};
use crate::{AxisDist, MapError};
use kernels::{Balanced, Ceil, Dealt, fill};
use table::{Buckets, Table};

/// What bulk lookup gives, as owner and as local position, for an index that nobody owns.
pub const NOWHERE: u32 = u32::MAX;

/// An [`AxisDist`] prepared for many lookups; made by [`AxisDist::locator`].
///
/// Local positions count the owner's *owned* elements; where it stores communication padding below
/// them, [`AxisDist::owned_local`] says how far they are shifted in its buffer.
///
/// Preparing costs no more than the axis description itself: constant for cyclic axes, the number
/// of ranks for blocks, the number of indices for unstructured ones (a table of 4 or 8 bytes an
/// index where the indices are dense, sorted runs otherwise).
///
/// ```
/// use dist_maps::{AxisDist, NOWHERE};
/// let locator = AxisDist::cyclic(1000, 4, 64)?.locator();
/// assert_eq!(locator.locate(300), Some((0, 108)));
/// let (mut owner, mut local) = ([0; 3], [0; 3]);
/// locator.locate_bulk(&[300, 999, -1], &mut owner, &mut local)?;
/// assert_eq!((owner, local), ([0, 3, NOWHERE], [108, 231, NOWHERE]));
/// # Ok::<(), dist_maps::MapError>(())
/// ```
#[derive(Clone, Debug)]
pub struct AxisLocator {
    size: u64,
    longest: usize,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    /// Nobody owns anything: size 0.
    Empty,
    /// Blocks of one length: `bounds[c] = c * block`, cut off at the size.
    Ceil { block: Reciprocal },
    /// The first `longer` blocks have `short.divisor() + 1` elements, the others one less.
    Balanced {
        long: Reciprocal,
        short: Reciprocal,
        longer: u64,
    },
    /// Blocks of any lengths.
    Bounds(Buckets),
    /// Blocks dealt in turn.
    Cyclic {
        block: Reciprocal,
        ranks: Reciprocal,
    },
    /// Explicit lists.
    Table(Arc<Table>),
}

impl AxisDist {
    /// Prepares for many lookups.
    #[must_use]
    pub fn locator(&self) -> AxisLocator {
        let size = self.size();
        let form = match self {
            Self::Unstructured { indices, .. } => Form::Table(Arc::new(Table::new(indices))),
            _ if size == 0 => Form::Empty,
            Self::Block { bounds, .. } => block_form(bounds),
            Self::Cyclic {
                ranks, block_size, ..
            } => Form::Cyclic {
                // A block longer than the dimension works as one as long.
                block: Reciprocal::new((*block_size).min(size)),
                ranks: Reciprocal::new(*ranks as u64),
            },
        };
        let longest = match self {
            // The first coordinate has the first of every round.
            Self::Cyclic { .. } => self.owned_len(0),
            _ => (0..self.ranks())
                .map(|coord| self.owned_len(coord))
                .max()
                .unwrap_or(0),
        };
        AxisLocator {
            size,
            longest,
            form,
        }
    }
}

/// The cheapest form of blocks with these bounds; the last bound is above 0.
fn block_form(bounds: &Arc<[u64]>) -> Form {
    let ranks = bounds.len() - 1;
    let size = bounds[ranks];
    let equals = |f: &dyn Fn(u64) -> u64| (0_u64..).zip(bounds.iter()).all(|(c, &b)| b == f(c));
    let first = bounds[1];
    if first > 0 && equals(&|c| c.saturating_mul(first).min(size)) {
        return Form::Ceil {
            block: Reciprocal::new(first),
        };
    }
    let (short, longer) = (size / ranks as u64, size % ranks as u64);
    if short > 0 && equals(&|c| c * short + c.min(longer)) {
        return Form::Balanced {
            long: Reciprocal::new(short + 1),
            short: Reciprocal::new(short),
            longer,
        };
    }
    Form::Bounds(Buckets::new(bounds))
}

impl AxisLocator {
    /// Global extent of the axis, in elements.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The grid coordinate that owns a global index (the lowest, where several do), and the
    /// position among the elements that it owns; `None` where nobody does.
    #[must_use]
    pub fn locate(&self, global: i64) -> Option<(usize, usize)> {
        if let Form::Table(table) = &self.form {
            return table.find(global);
        }
        let g = u64::try_from(global).ok().filter(|&g| g < self.size)?;
        let (owner, local) = self.locate_inside(g);
        Some((to_len(owner), to_len(local)))
    }

    /// Owner and local position of an index below the size; not for tables.
    fn locate_inside(&self, g: u64) -> (u64, u64) {
        match &self.form {
            Form::Ceil { block } => {
                let owner = block.divide(g);
                (owner, g - owner * block.divisor())
            }
            Form::Balanced {
                long,
                short,
                longer,
            } => {
                let owner = long.divide(g).max(short.divide(g.saturating_sub(*longer)));
                let start = owner * short.divisor() + owner.min(*longer);
                (owner, g - start)
            }
            Form::Bounds(buckets) => buckets.find(g),
            Form::Cyclic { block, ranks } => {
                let number = block.divide(g);
                let round = ranks.divide(number);
                let inside = g - number * block.divisor();
                let owner = number - round * ranks.divisor();
                (owner, round * block.divisor() + inside)
            }
            Form::Empty | Form::Table(_) => (0, 0),
        }
    }

    /// [`AxisLocator::locate`] for many: `owner[i]` and `local[i]` are those of `global[i]`, both
    /// [`NOWHERE`] where nobody owns it. Reads 8 and writes 8 bytes per index.
    ///
    /// # Errors
    /// When the slices differ in length, or some coordinate owns 2³² - 1 elements or more (then
    /// [`AxisLocator::locate_bulk_wide`] answers). Nothing is written then.
    pub fn locate_bulk(
        &self,
        global: &[i64],
        owner: &mut [u32],
        local: &mut [u32],
    ) -> Result<(), MapError> {
        if u32::try_from(self.longest).map_or(true, |longest| longest == NOWHERE) {
            return Err(MapError::Size {
                axis: None,
                given: self.longest as u64,
                allowed: u64::from(NOWHERE) - 1,
            });
        }
        check_lengths(owner.len(), global.len())?;
        check_lengths(local.len(), global.len())?;
        self.fill(global, owner, local);
        Ok(())
    }

    /// [`AxisLocator::locate_bulk`] with 64-bit positions, for axes of any size; `local[i]` is
    /// `u64::MAX` where nobody owns `global[i]`.
    ///
    /// # Errors
    /// When the slices differ in length; nothing is written then.
    pub fn locate_bulk_wide(
        &self,
        global: &[i64],
        owner: &mut [u32],
        local: &mut [u64],
    ) -> Result<(), MapError> {
        check_lengths(owner.len(), global.len())?;
        check_lengths(local.len(), global.len())?;
        self.fill(global, owner, local);
        Ok(())
    }

    fn fill<L: kernels::Position>(&self, global: &[i64], owner: &mut [u32], local: &mut [L]) {
        match &self.form {
            Form::Table(table) => table.fill(global, owner, local),
            _ if self.size <= NARROW => self.fill_narrow(global, owner, local),
            _ => self.fill_wide(global, owner, local),
        }
    }

    /// By 64-bit multiplication.
    fn fill_wide<L: kernels::Position>(&self, global: &[i64], owner: &mut [u32], local: &mut [L]) {
        let slow = |g| self.locate(g);
        let size = self.size;
        match &self.form {
            Form::Ceil { block } => fill(Ceil(block.wide()), size, global, owner, local, slow),
            Form::Balanced {
                long,
                short,
                longer,
            } => fill(
                Balanced(long.wide(), short.wide(), *longer, short.divisor()),
                size,
                global,
                owner,
                local,
                slow,
            ),
            Form::Bounds(buckets) => fill(buckets, size, global, owner, local, slow),
            Form::Cyclic { block, ranks } => fill(
                Dealt(block.wide(), ranks.wide(), block.divisor()),
                size,
                global,
                owner,
                local,
                slow,
            ),
            Form::Empty | Form::Table(_) => kernels::each_index(global, owner, local, slow),
        }
    }

    /// By vectorised arithmetic in 32-bit factors; the size is at most [`NARROW`].
    fn fill_narrow<L: kernels::Position>(
        &self,
        global: &[i64],
        owner: &mut [u32],
        local: &mut [L],
    ) {
        let slow = |g| self.locate(g);
        let size = self.size;
        match &self.form {
            Form::Ceil { block } => match block.shift() {
                Some(b) => fill(Ceil(b), size, global, owner, local, slow),
                None => fill(Ceil(block.multiply()), size, global, owner, local, slow),
            },
            Form::Balanced {
                long,
                short,
                longer,
            } => match (long.shift(), short.shift()) {
                (Some(l), None) => {
                    fill(
                        Balanced(l, short.multiply(), *longer, short.divisor()),
                        size,
                        global,
                        owner,
                        local,
                        slow,
                    );
                }
                (None, Some(s)) => fill(
                    Balanced(long.multiply(), s, *longer, short.divisor()),
                    size,
                    global,
                    owner,
                    local,
                    slow,
                ),
                // two neighbours are both powers of two only as 1 and 2: multiplication is right too
                _ => fill(
                    Balanced(long.multiply(), short.multiply(), *longer, short.divisor()),
                    size,
                    global,
                    owner,
                    local,
                    slow,
                ),
            },
            Form::Bounds(buckets) => fill(buckets, size, global, owner, local, slow),
            Form::Cyclic { block, ranks } => {
                let width = block.divisor();
                match (block.shift(), ranks.shift()) {
                    (Some(b), Some(p)) => {
                        fill(Dealt(b, p, width), size, global, owner, local, slow);
                    }
                    (Some(b), None) => {
                        fill(
                            Dealt(b, ranks.multiply(), width),
                            size,
                            global,
                            owner,
                            local,
                            slow,
                        );
                    }
                    (None, Some(p)) => {
                        fill(
                            Dealt(block.multiply(), p, width),
                            size,
                            global,
                            owner,
                            local,
                            slow,
                        );
                    }
                    (None, None) => fill(
                        Dealt(block.multiply(), ranks.multiply(), width),
                        size,
                        global,
                        owner,
                        local,
                        slow,
                    ),
                }
            }
            Form::Empty | Form::Table(_) => kernels::each_index(global, owner, local, slow),
        }
    }
}
