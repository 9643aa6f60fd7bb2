//! Sorted runs merged into one.

/// Merges sorted runs; of equal elements those of an earlier run come first. `precedes` is the strict order.
pub(crate) fn merge<T: Copy>(runs: &[&[T]], precedes: impl Fn(&T, &T) -> bool + Copy) -> Vec<T> {
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

fn merge_two<T: Copy>(a: &[T], b: &[T], precedes: impl Fn(&T, &T) -> bool) -> Vec<T> {
    let mut merged = Vec::with_capacity(a.len() + b.len());
    large_pages::prefer_large_pages(merged.spare_capacity_mut());
    let (mut a, mut b) = (a, b);
    loop {
        // As many steps as neither run can end in.
        let steps = a.len().min(b.len());
        if steps == 0 {
            break;
        }
        let (mut i, mut j) = (0, 0);
        merged.extend((0..steps).map(|_| {
            let (x, y) = (a[i], b[j]);
            let second = precedes(&y, &x);
            i += usize::from(!second);
            j += usize::from(second);
            if second { y } else { x }
        }));
        (a, b) = (&a[i..], &b[j..]);
    }
    merged.extend_from_slice(a);
    merged.extend_from_slice(b);
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
}
