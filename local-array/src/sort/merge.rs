//! Sorted runs merged into one.

use std::hint::select_unpredictable;

use bytemuck::Zeroable;

/// Merges sorted runs; of equal elements those of an earlier run come first. `precedes` is the strict order.
pub(crate) fn merge<T: Copy + Zeroable>(
    runs: &[&[T]],
    precedes: impl Fn(&T, &T) -> bool + Copy,
) -> Vec<T> {
    let runs: Vec<&[T]> = runs.iter().copied().filter(|run| !run.is_empty()).collect();
    match *runs.as_slice() {
        [] => Vec::new(),
        [run] => run.to_vec(),
        [a, b] => merge_two(a, b, precedes),
        _ => {
            // Two by two, neighbours with neighbours, so that the order of runs stays.
            let mut level: Vec<Vec<T>> = runs
                .chunks(2)
                .map(|pair| match *pair {
                    [a, b] => merge_two(a, b, precedes),
                    _ => pair.concat(),
                })
                .collect();
            while level.len() > 1 {
                let mut next = Vec::with_capacity(level.len().div_ceil(2));
                let mut rest = level.into_iter();
                while let Some(a) = rest.next() {
                    next.push(match rest.next() {
                        Some(b) => merge_two(&a, &b, precedes),
                        None => a,
                    });
                }
                level = next;
            }
            level.pop().unwrap_or_default()
        }
    }
}

/// From both ends at once: each element waits for the comparison before it, and of two such chains one runs while the other
/// waits. Every step chooses without a branch, which would be guessed wrongly half the time.
fn merge_two<T: Copy + Zeroable>(a: &[T], b: &[T], precedes: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut merged = bytemuck::zeroed_vec(a.len() + b.len());
    large_pages::prefer_large_pages(&mut merged);
    let (mut a, mut b, mut out) = (a, b, merged.as_mut_slice());
    loop {
        // As many steps as neither run can end in.
        let steps = a.len().min(b.len()) / 2;
        if steps == 0 {
            break;
        }
        let rest = out.len() - steps;
        let (front, behind) = out.split_at_mut(steps);
        let (middle, back) = behind.split_at_mut(rest - steps);
        let (mut i, mut j) = (0, 0);
        let (mut p, mut q) = (a.len() - 1, b.len() - 1);
        for (first, last) in front.iter_mut().zip(back.iter_mut().rev()) {
            let (x, y) = (a[i], b[j]);
            let second = precedes(&y, &x);
            *first = select_unpredictable(second, y, x);
            i += usize::from(!second);
            j += usize::from(second);
            let (x, y) = (a[p], b[q]);
            let second = !precedes(&y, &x);
            *last = select_unpredictable(second, y, x);
            p -= usize::from(!second);
            q -= usize::from(second);
        }
        (a, b) = (&a[i..=p], &b[j..=q]);
        out = middle;
    }
    // One of them has an element at most, which goes between those of the other: before equal ones if it comes from `a`.
    let (one, others) = if a.len() < 2 { (a, b) } else { (b, a) };
    let at = match one {
        [x] if a.len() < 2 => others.partition_point(|y| precedes(y, x)),
        [x] => others.partition_point(|y| !precedes(x, y)),
        _ => others.len(),
    };
    let (before, behind) = out.split_at_mut(at);
    let (between, behind) = behind.split_at_mut(one.len());
    before.copy_from_slice(&others[..at]);
    between.copy_from_slice(one);
    behind.copy_from_slice(&others[at..]);
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merging_is_stable() {
        let runs: [&[(u8, u8)]; 5] = [
            &[(1, 0), (3, 0), (3, 1)],
            &[],
            &[(0, 2), (3, 2)],
            &[(3, 3), (4, 3)],
            &[(1, 4), (9, 4)],
        ];
        let merged = merge(&runs, |a, b| a.0 < b.0);
        let mut wanted = runs.concat();
        wanted.sort_by_key(|x| x.0);
        assert_eq!(merged, wanted);
    }

    #[test]
    fn runs_of_any_length_are_merged_stably() {
        // All pairs of short runs over few values, and long ones that end at different times.
        let run = |len: usize, step: usize, of: usize| -> Vec<(usize, usize)> {
            (0..len).map(|at| (at / step, of + at)).collect()
        };
        for n in 0..12 {
            for m in (0..12).chain([100, 101]) {
                for (one, other) in [(1, 1), (1, 3), (3, 1), (2, 5), (100, 7)] {
                    let (a, b) = (run(n, one, 0), run(m, other, 1000));
                    let merged = merge(&[&a, &b], |x, y| x.0 < y.0);
                    let mut wanted = [a, b].concat();
                    wanted.sort_by_key(|x| x.0);
                    assert_eq!(merged, wanted, "{n} by {one} and {m} by {other}");
                }
            }
        }
    }
}
