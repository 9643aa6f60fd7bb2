//! Floats sorted as integers: what is faster, and leaves NaN and -0 to be seen to apart.

use bytemuck::Pod;

use super::merge::merge;

/// A float, and the signed integer of its bits. Those of numbers that are not negative are in their order already.
pub(crate) trait Float: Pod + PartialOrd {
    type Bits: Pod + Ord;

    const ZERO: Self::Bits;
    /// -0, the least of integers.
    const MINUS_ZERO: Self::Bits;
    /// -0 [`in_order`](Self::in_order).
    const BELOW_ZERO: Self::Bits;

    fn is_nan(bits: Self::Bits) -> bool;

    /// Turns the order of negative numbers, -0 before 0, or turns it back.
    fn in_order(bits: Self::Bits) -> Self::Bits;
}

macro_rules! floats {
    ($($t:ty, $bits:ty;)*) => {$(
        impl Float for $t {
            type Bits = $bits;

            const ZERO: $bits = 0;
            const MINUS_ZERO: $bits = <$bits>::MIN;
            const BELOW_ZERO: $bits = -1;

            #[inline]
            fn is_nan(bits: $bits) -> bool {
                bits & <$bits>::MAX > <$t>::INFINITY.to_bits().cast_signed()
            }

            #[inline]
            fn in_order(bits: $bits) -> $bits {
                bits ^ ((bits >> (<$bits>::BITS - 1)) & <$bits>::MAX)
            }
        }
    )*};
}

floats! {
    half::f16, i16;
    half::bf16, i16;
    f32, i32;
    f64, i64;
}

/// What there is among some floats that needs care.
#[derive(Clone, Copy, Default)]
struct Seen {
    nan: bool,
    zero: bool,
    minus_zero: bool,
}

impl Seen {
    /// Looks at a float, and gives it as an integer in order.
    #[inline]
    fn look<F: Float>(&mut self, bits: F::Bits) -> F::Bits {
        self.nan |= F::is_nan(bits);
        self.zero |= bits == F::ZERO;
        self.minus_zero |= bits == F::MINUS_ZERO;
        F::in_order(bits)
    }
}

/// Sorts; equal elements keep their order.
pub(crate) fn sort_run<F: Float>(run: &mut [F]) {
    let words: &mut [F::Bits] = bytemuck::cast_slice_mut(run);
    let mut seen = Seen::default();
    for word in &mut *words {
        *word = seen.look::<F>(*word);
    }
    sort_words::<F>(words, seen);
}

/// Sorts a copy, made in `to`, which is as long.
pub(crate) fn sort_into<F: Float>(from: &[F], to: &mut [F]) {
    let from: &[F::Bits] = bytemuck::cast_slice(from);
    let to: &mut [F::Bits] = bytemuck::cast_slice_mut(to);
    let mut seen = Seen::default();
    for (slot, &word) in to.iter_mut().zip(from) {
        *slot = seen.look::<F>(word);
    }
    sort_words::<F>(to, seen);
}

/// Sorts integers in order, and makes them floats again.
fn sort_words<F: Float>(words: &mut [F::Bits], seen: Seen) {
    let is_nan = |word: &F::Bits| F::is_nan(F::in_order(*word));
    let numbers = if seen.nan {
        nan_last(words, is_nan)
    } else {
        words.len()
    };
    let (words, nans) = words.split_at_mut(numbers);
    for nan in nans {
        *nan = F::in_order(*nan);
    }
    let is_zero = |word: &F::Bits| *word == F::ZERO || *word == F::BELOW_ZERO;
    let zeros: Vec<F::Bits> = if seen.zero && seen.minus_zero {
        words.iter().copied().filter(is_zero).collect()
    } else {
        Vec::new()
    };
    words.sort_unstable();
    let negative = words.partition_point(|word| *word < F::ZERO);
    let from = words.partition_point(|word| *word < F::BELOW_ZERO);
    for word in &mut words[..negative] {
        *word = F::in_order(*word);
    }
    // Both zeros are equal, and stand as they stood.
    for (slot, zero) in words[from..].iter_mut().zip(zeros) {
        *slot = F::in_order(zero);
    }
}

/// Moves NaN behind all numbers, both in their order; gives the number of numbers.
fn nan_last<T: Copy>(run: &mut [T], is_nan: impl Fn(&T) -> bool) -> usize {
    let Some(first) = run.iter().position(&is_nan) else {
        return run.len();
    };
    let mut nans = Vec::new();
    let mut kept = first;
    for at in first..run.len() {
        if is_nan(&run[at]) {
            nans.push(run[at]);
        } else {
            run[kept] = run[at];
            kept += 1;
        }
    }
    run[kept..].copy_from_slice(&nans);
    kept
}

/// Merges sorted runs; of equal elements those of an earlier run come first.
pub(crate) fn merge_runs<F: Float>(runs: &[&[F]]) -> Vec<F> {
    let has_nan = |run: &&[F]| run.last().is_some_and(|x| x.partial_cmp(x).is_none());
    // As integers, which the processor chooses between without a branch.
    let words: Vec<&[F::Bits]> = runs.iter().map(|run| bytemuck::cast_slice(run)).collect();
    let float = |bits: &F::Bits| -> F { bytemuck::cast(*bits) };
    let merged = if runs.iter().any(has_nan) {
        merge(&words, |a, b| {
            float(a) < float(b) || F::is_nan(*b) && !F::is_nan(*a)
        })
    } else {
        merge(&words, |a, b| float(a) < float(b))
    };
    bytemuck::cast_vec(merged)
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use half::f16;

    use super::*;

    /// The order that is meant, by comparisons alone: NaN last, 0 and -0 equal.
    fn order<F: Float>(a: &F, b: &F) -> Ordering {
        let is_nan = |x: &F| x.partial_cmp(x).is_none();
        a.partial_cmp(b)
            .unwrap_or_else(|| is_nan(a).cmp(&is_nan(b)))
    }

    fn bits<F: Float>(run: &[F]) -> Vec<F::Bits> {
        bytemuck::cast_slice(run).to_vec()
    }

    #[test]
    fn every_kind_of_float_is_sorted_and_merged_stably() {
        let kinds = [
            0.0,
            -0.0,
            f64::NAN,
            -f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            5e-324,
            -5e-324,
            1.5,
            -2.0,
        ];
        // Numbers alone, one kind of zero, both, and NaN with and without: the first 6, 7 … of these.
        let kinds = [8, 9, 4, 5, 6, 7, 0, 1, 2, 3].map(|kind: usize| kinds[kind]);
        for known in 6..=kinds.len() {
            let mut runs = Vec::new();
            for len in [0, 1, 2, 7, 40, 100] {
                let run: Vec<f64> = (0..len).map(|at| kinds[at * at * 7 % known]).collect();
                let mut wanted = run.clone();
                wanted.sort_by(order);
                let mut copy = vec![0.0; len];
                sort_into(&run, &mut copy);
                assert!(bits(&copy) == bits(&wanted), "{run:?} became {copy:?}");
                let mut run = run;
                sort_run(&mut run);
                assert!(bits(&run) == bits(&wanted), "{wanted:?}, not {run:?}");
                runs.push(run);
            }
            let mut wanted = runs.concat();
            wanted.sort_by(order);
            let runs: Vec<&[f64]> = runs.iter().map(Vec::as_slice).collect();
            assert!(bits(&merge_runs(&runs)) == bits(&wanted));
        }
    }

    #[test]
    fn all_halves_are_sorted() {
        // An odd factor goes through all bits.
        let all: Vec<f16> = (0..=u16::MAX)
            .map(|at| f16::from_bits(at.wrapping_mul(40503)))
            .collect();
        let mut wanted = all.clone();
        wanted.sort_by(order);
        let mut run = all;
        sort_run(&mut run);
        assert!(bits(&run) == bits(&wanted));
    }
}
