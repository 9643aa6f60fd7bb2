//! [`Permutation`]: a random order of `0..n` that any rank can ask for any index, and shuffling by it.

use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::{Distribution, GlobalIndex, IndexMap};
use ndarray::{ArrayViewMutD, Axis, DataMut, Dimension};

use super::stream::Stream;
use crate::agreement::in_step;
use crate::deliver::Deliveries;
use crate::remote::Owners;
use crate::{ArrayError, LocalArrayBase};

/// A random order of `0..n`, of which each element is computed alone: the swap-or-not network of V. T. Hoang, B. Morris and
/// P. Rogaway (Crypto 2012). A round pairs `x` with `offset - x` modulo `n` and swaps each pair or not, by a random bit of the
/// pair; rounds are their own inverses.
pub(super) struct Permutation {
    n: u64,
    /// Offset and key.
    rounds: Vec<(u64, u64)>,
}

impl Permutation {
    pub(super) fn new(stream: &mut Stream, n: u64) -> Self {
        let bits = u64::BITS - n.leading_zeros();
        let rounds = (4 * bits as usize).max(48);
        let words = stream.words(0, 0, 2 * rounds);
        let below_n = |word: u64| {
            let product = u128::from(word) * u128::from(n);
            u64::try_from(product >> 64).unwrap_or(0)
        };
        Self {
            n,
            rounds: words
                .chunks_exact(2)
                .map(|pair| (below_n(pair[0]), pair[1]))
                .collect(),
        }
    }

    #[inline]
    fn round(&self, x: u64, (offset, key): (u64, u64)) -> u64 {
        // n is at most 2^63, so that the sum does not overflow
        let partner = offset + self.n - x;
        let partner = if partner >= self.n {
            partner - self.n
        } else {
            partner
        };
        let is_swapped = mixed(x.max(partner) ^ key) >> 63 == 1;
        if is_swapped { partner } else { x }
    }

    /// Replaces each index by what stands there; one outside `0..n` stays.
    pub(super) fn apply(&self, indices: &mut [i64]) {
        self.run(indices, &self.rounds.iter());
    }

    /// Replaces each element by the place where it stands.
    fn invert(&self, elements: &mut [i64]) {
        self.run(elements, &self.rounds.iter().rev());
    }

    fn run<'a>(&self, xs: &mut [i64], rounds: &(impl Iterator<Item = &'a (u64, u64)> + Clone)) {
        // A chunk at a time, so that it stays in cache and its elements go through a round side by side.
        for xs in xs.chunks_mut(256) {
            let is_inside = |x: i64| u64::try_from(x).is_ok_and(|x| x < self.n);
            if xs.iter().all(|&x| is_inside(x)) {
                for &round in rounds.clone() {
                    for x in &mut *xs {
                        *x = self.round(x.cast_unsigned(), round).cast_signed();
                    }
                }
                continue;
            }
            for x in xs.iter_mut().filter(|x| is_inside(**x)) {
                for &round in rounds.clone() {
                    *x = self.round(x.cast_unsigned(), round).cast_signed();
                }
            }
        }
    }
}

/// A hash of which every bit depends on every bit of the word (the finaliser of `SplitMix64`, variant 13 of D. Stafford).
#[inline]
fn mixed(word: u64) -> u64 {
    let word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Brings row `order[i]` to place `i`: the order is that of `stream`, which comes of the numbers in `of`. Collective.
pub(super) fn shuffle<S, D, C>(
    stream: &mut Stream,
    of: (u64, u64),
    array: &mut LocalArrayBase<S, D, C>,
) -> Result<(), ArrayError>
where
    S: DataMut<Elem: Element>,
    D: Dimension,
    C: Communicator,
{
    let distribution = std::sync::Arc::clone(array.shared_distribution());
    let extent = distribution.global_shape().first();
    let extent = extent.copied().ok_or(ArrayError::InvalidDimension {
        what: "axis",
        given: 0,
        ndim: 0,
    });
    let arguments = (of, array.part.laid(), S::Elem::TYPE);
    let what = "seed, number of draws or distribution";
    let n = in_step(&array.comm, what, &arguments, extent, Ok)?;
    let order = Permutation::new(stream, n);
    let mut sends = Deliveries::new(array.comm.size());
    let coords = array.cart_coords().map(<[usize]>::to_vec);
    let mut rows = array.part.owned_of_mut(array.data.view_mut()).into_dyn();
    let owners = Owners::of(&distribution.axes()[0]);
    let mine: Vec<(i64, usize)> = coords.as_ref().map_or(Ok(Vec::new()), |coords| {
        owned_rows(&distribution, coords[0])
    })?;
    let rank_in_column = |coord: usize| {
        let mut coords = coords.clone()?;
        coords[0] = coord;
        distribution.rank_at(&coords)
    };
    // To where the rows go that this rank gives, by their place.
    let mut places: Vec<i64> = mine.iter().map(|&(global, _)| global).collect();
    order.invert(&mut places);
    let mut leaving: Vec<(i64, usize)> = places
        .iter()
        .zip(&mine)
        .filter(|(_, (global, _))| owners.first(*global) == coords.as_ref().map(|c| c[0]))
        .map(|(&place, &(_, row))| (place, row))
        .collect();
    leaving.sort_unstable();
    for (place, row) in leaving {
        owners.each(place, |coord, _| {
            if let Some(rank) = rank_in_column(coord) {
                sends.extend(rank, rows.index_axis(Axis(0), row).iter().copied());
            }
        });
    }
    let mut received = sends.deliver(&array.comm)?;
    let mut arriving = mine;
    arriving.sort_unstable();
    let mut sources: Vec<i64> = arriving.iter().map(|&(place, _)| place).collect();
    order.apply(&mut sources);
    for ((_, row), source) in arriving.into_iter().zip(sources) {
        // A row that no list names leaves its place as it was.
        if let Some(rank) = owners.first(source).and_then(rank_in_column) {
            fill_row(&mut rows, row, || received.next(rank))?;
        }
    }
    Ok(())
}

fn fill_row<T>(
    rows: &mut ArrayViewMutD<'_, T>,
    row: usize,
    mut next: impl FnMut() -> Option<T>,
) -> Result<(), ArrayError> {
    for slot in rows.index_axis_mut(Axis(0), row) {
        *slot = next().ok_or_else(|| ArrayError::Shape {
            what: "elements from another rank",
            given: vec![0],
            allowed: format!("one more, for row {row}"),
        })?;
    }
    Ok(())
}

/// The owned global indices of axis 0 with their positions among the owned ones.
fn owned_rows(distribution: &Distribution, coord: usize) -> Result<Vec<(i64, usize)>, ArrayError> {
    let axis = &distribution.axes()[0];
    let map = axis.map(coord)?;
    let owned = axis.owned_local(coord);
    let globals = map.global_iter().map(GlobalIndex::get);
    Ok(globals
        .skip(owned.start)
        .take(owned.len())
        .zip(0..)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_order_is_one_and_has_an_inverse() {
        for n in (1..70).chain([255, 256, 1000]) {
            let order = Permutation::new(&mut Stream::new(1, n), n);
            let numbers: Vec<i64> = (0..n.cast_signed()).collect();
            let mut there = numbers.clone();
            order.apply(&mut there);
            let mut sorted = there.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, numbers);
            order.invert(&mut there);
            assert_eq!(there, numbers);
        }
        let order = Permutation::new(&mut Stream::new(1, 0), 1 << 63);
        let mut far = [i64::MAX, 0, -1];
        order.apply(&mut far);
        order.invert(&mut far);
        assert_eq!(far, [i64::MAX, 0, -1]);
    }

    #[test]
    fn all_orders_of_few_are_as_likely() {
        let mut seen = std::collections::HashMap::new();
        for seed in 0..4800 {
            let mut order = [0, 1, 2, 3];
            Permutation::new(&mut Stream::new(seed, 0), 4).apply(&mut order);
            *seen.entry(order).or_insert(0) += 1;
        }
        let chi2: f64 = seen
            .values()
            .map(|&count: &i32| f64::from(count - 200).powi(2) / 200.0)
            .sum();
        // 23 degrees of freedom: above 50 in one of a thousand
        assert!(seen.len() == 24 && chi2 < 50.0, "{chi2} {seen:?}");
    }
}
