//! [`choose_grid`]: how many ranks along each dimension.

use crate::MapError;
use crate::axis_dist::{MAX_RANKS, check_ranks};

/// A process grid for an array of `shape` over at most `ranks` ranks, one extent per dimension,
/// 1 where `distributed` is false.
///
/// One distributed dimension gets as many ranks as it has elements, at most `ranks`. With several,
/// `ranks` is split into factors whose order mirrors the order of the sizes and whose pairwise
/// ratios come nearest (Euclidean distance) to the ratios of the sizes; so far this is the choice
/// of `DistArray`. Where that grid has more ranks than elements along a dimension, the nearest
/// grid that fits is taken; where none does, one rank less is tried, and so on: some ranks then
/// hold nothing. A dimension of no elements counts as one of one element.
///
/// # Errors
/// When `distributed` has another length than `shape`, or `ranks` is 0 or above [`MAX_RANKS`].
///
/// ```
/// use dist_maps::choose_grid;
/// assert_eq!(choose_grid(&[100, 10, 300], &[true, false, true], 12)?, [2, 1, 6]);
/// assert_eq!(choose_grid(&[3, 3], &[true, true], 7)?, [2, 3]); // one rank holds nothing
/// # Ok::<(), dist_maps::MapError>(())
/// ```
pub fn choose_grid(
    shape: &[u64],
    distributed: &[bool],
    ranks: usize,
) -> Result<Vec<usize>, MapError> {
    check_ranks(ranks)?;
    if shape.len() != distributed.len() {
        return Err(MapError::Count {
            what: "flags of distributed dimensions",
            given: distributed.len(),
            expected: shape.len(),
        });
    }
    let sizes: Vec<usize> = shape
        .iter()
        .zip(distributed)
        .filter(|&(_, &d)| d)
        .map(|(&n, _)| usize::try_from(n).unwrap_or(usize::MAX).max(1))
        .collect();
    let mut factors = nearest_factors(&sizes, ranks).into_iter();
    Ok(distributed
        .iter()
        .map(|&d| if d { factors.next().unwrap_or(1) } else { 1 })
        .collect())
}

fn nearest_factors(sizes: &[usize], ranks: usize) -> Vec<usize> {
    match sizes {
        [] => return Vec::new(),
        [n] => return vec![ranks.min(*n)],
        _ => {}
    }
    let usable = sizes
        .iter()
        .fold(1_usize, |product, &n| product.saturating_mul(n));
    let mut order: Vec<usize> = (0..sizes.len()).collect();
    order.sort_by_key(|&axis| sizes[axis]);
    let limits: Vec<usize> = order.iter().map(|&axis| sizes[axis]).collect();
    let largest = limits.last().copied().unwrap_or(1);
    let mut total = ranks.min(usable).min(MAX_RANKS);
    loop {
        let mut best: Option<(f64, Vec<usize>)> = None;
        if is_product(total, largest) {
            let mut ascending = Vec::with_capacity(sizes.len());
            each_factorisation(total, &limits, 1, &mut ascending, &mut |factors| {
                let mut grid = vec![1; sizes.len()];
                for (&axis, &factor) in order.iter().zip(factors) {
                    grid[axis] = factor;
                }
                let distance = distance(sizes, &grid);
                if best.as_ref().is_none_or(|(d, _)| distance < *d) {
                    best = Some((distance, grid));
                }
            });
        }
        if let Some((_, grid)) = best {
            return grid;
        }
        total -= 1; // 1 always fits, so this ends
    }
}

/// Whether a product of numbers up to `largest`, however many, can be `total`.
fn is_product(total: usize, largest: usize) -> bool {
    let mut rest = total;
    let mut divisor = 2;
    while divisor <= largest && divisor.saturating_mul(divisor) <= rest {
        while rest.is_multiple_of(divisor) {
            rest /= divisor;
        }
        divisor += 1;
    }
    // 1, a prime, or a product of primes that are all larger
    rest <= largest
}

/// Calls `visit` with every way to write `total` as factors in ascending order, one for each of the ascending `limits` and at
/// most that, each at least `least`.
fn each_factorisation(
    total: usize,
    limits: &[usize],
    least: usize,
    chosen: &mut Vec<usize>,
    visit: &mut impl FnMut(&[usize]),
) {
    let Some((&limit, others)) = limits.split_first() else {
        return;
    };
    if others.is_empty() {
        if (least..=limit).contains(&total) {
            chosen.push(total);
            visit(chosen);
            chosen.pop();
        }
        return;
    }
    let room = others
        .iter()
        .fold(1_usize, |product, &n| product.saturating_mul(n));
    let mut factor = least.max(total.div_ceil(room));
    // The smallest of several ascending factors is at most the root of their product; its square suffices as a bound.
    while factor <= limit && factor.saturating_mul(factor) <= total {
        if total.is_multiple_of(factor) {
            chosen.push(factor);
            each_factorisation(total / factor, others, factor, chosen, visit);
            chosen.pop();
        }
        factor += 1;
    }
}

#[expect(clippy::cast_precision_loss, reason = "only ratios are compared")]
fn distance(sizes: &[usize], grid: &[usize]) -> f64 {
    let mut sum = 0.0;
    for i in 0..sizes.len() {
        for j in i + 1..sizes.len() {
            let wanted = sizes[i] as f64 / sizes[j] as f64;
            let given = grid[i] as f64 / grid[j] as f64;
            sum += (wanted - given).powi(2);
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grid(shape: &[u64], ranks: usize) -> Vec<usize> {
        choose_grid(shape, &vec![true; shape.len()], ranks).unwrap()
    }

    #[test]
    fn mirrors_the_order_and_ratios_of_the_sizes() {
        assert_eq!(grid(&[20, 20], 12), [3, 4]);
        assert_eq!(grid(&[100, 50, 300], 12), [2, 1, 6]);
        assert_eq!(grid(&[100, 100, 150], 12), [2, 2, 3]);
        assert_eq!(grid(&[1000, 1000], 7), [1, 7]);
        assert_eq!(grid(&[5, 1], 4), [4, 1]);
    }

    #[test]
    fn finds_a_grid_where_the_rule_alone_has_none() {
        assert_eq!(grid(&[0], 3), [1]);
        assert_eq!(grid(&[3, 3], 7), [2, 3]);
        assert_eq!(grid(&[2, 2, 2], 16), [2, 2, 2]);
        assert_eq!(grid(&[0, 5], 4), [1, 4]);
        assert_eq!(grid(&[1, 1], 1 << 20), [1, 1]);
        assert_eq!(grid(&[2, 2, 3], 3), [1, 1, 3]);
    }

    /// The rule by looking at every grid that fits.
    fn by_all_grids(shape: &[usize], ranks: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..shape.len()).collect();
        order.sort_by_key(|&axis| shape[axis]);
        let count: usize = shape.iter().product();
        let mut best = (0, f64::INFINITY, Vec::new());
        for number in 0..count {
            // the dimension of least size counts slowest: the order in which equal distances are told apart
            let (mut grid, mut rest) = (vec![1; shape.len()], number);
            for &axis in order.iter().rev() {
                grid[axis] = rest % shape[axis] + 1;
                rest /= shape[axis];
            }
            let total: usize = grid.iter().product();
            let ascends = order.windows(2).all(|o| grid[o[0]] <= grid[o[1]]);
            if total <= ranks && ascends && total >= best.0 {
                let distance = distance(shape, &grid);
                if total > best.0 || distance < best.1 {
                    best = (total, distance, grid);
                }
            }
        }
        best.2
    }

    #[test]
    fn no_grid_is_better() {
        for shape in [
            &[2, 2][..],
            &[5, 3],
            &[9, 20],
            &[2, 2, 2],
            &[7, 4, 4],
            &[3, 1, 11],
            &[2, 3, 5, 7],
            &[6, 6, 6, 2],
            &[3, 3, 3, 3, 3],
        ] {
            let sizes: Vec<u64> = shape.iter().map(|&n| n as u64).collect();
            for ranks in 1..=250 {
                assert_eq!(
                    grid(&sizes, ranks),
                    by_all_grids(shape, ranks),
                    "{shape:?} over {ranks}"
                );
            }
        }
    }

    #[test]
    fn many_small_dimensions_take_no_time() {
        let mut wanted = vec![2; 20];
        wanted[0] = 1;
        assert_eq!(grid(&[2; 20], (1 << 20) - 1), wanted);
        let of_3 = grid(&[3; 13], 1 << 20); // 2^2 * 3^11 = 708,588
        assert_eq!(of_3, [[2; 2].as_slice(), &[3; 11]].concat());
        let of_5 = grid(&[5; 40], (1 << 20) - 3);
        assert!(of_5.iter().product::<usize>() > 1_000_000);
    }
}
