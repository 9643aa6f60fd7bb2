//! [`Sortable`]: the order of elements.

use bytemuck::{Pod, Zeroable};
use dap_protocol::Element;
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use super::float;
use super::merge::merge;

/// Elements that have an order, `NumPy`'s: all types. Sealed, as the protocol's list of types is.
///
/// NaN is greater than all else. Complex numbers go by their real parts and then by their imaginary ones; behind all of those
/// come the ones whose imaginary part alone is NaN, then those whose real part alone is, then those of two NaN.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, SortKind, Sortable};
/// use ndarray::Ix1;
///
/// /// The distance between the two least elements of a vector that has two. Collective.
/// fn least_gap<T, C>(a: &LocalArray<T, Ix1, C>) -> Result<T, ArrayError>
/// where
///     T: Sortable + std::ops::Sub<Output = T>,
///     C: Communicator + Clone,
/// {
///     let sorted = a.sorted(0, SortKind::default())?;
///     Ok(sorted.get_item(&[1])? - sorted.get_item(&[0])?)
/// }
///
/// let gaps = ThreadComm::run(2, |comm| {
///     let cyclic = Distribution::over(2).shape([4]).cyclic(0).build()?;
///     let a = LocalArray::<f64, Ix1, _>::from_fn(&cyclic, comm, |g| [f64::NAN, 7.0, -1.5, 4.0][g[0] as usize])?;
///     least_gap(&a)
/// })?;
/// assert_eq!(gaps, [5.5; 2]);
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
pub trait Sortable: Element {
    /// A number that orders as the elements do, equal for 0 and -0 and for all NaN.
    #[doc(hidden)]
    type Key: Pod + Ord + Send + Sync;

    /// The number of an element.
    #[doc(hidden)]
    fn key(self) -> Self::Key;

    /// A key as it travels.
    #[doc(hidden)]
    fn words(key: Self::Key) -> [u64; 2];

    /// Whether `self` is less than `other`.
    #[doc(hidden)]
    fn precedes(&self, other: &Self) -> bool;

    /// Sorts; equal elements keep their order.
    #[doc(hidden)]
    fn sort_run(run: &mut [Self]);

    /// Sorts a copy, made in `to`, which is as long.
    #[doc(hidden)]
    fn sort_into(from: &[Self], to: &mut [Self]) {
        to.copy_from_slice(from);
        Self::sort_run(to);
    }

    /// Merges sorted runs; of equal elements those of an earlier run come first.
    #[doc(hidden)]
    fn merge(runs: &[&[Self]]) -> Vec<Self> {
        merge(runs, Self::precedes)
    }
}

/// The key of an element and its place: what is sorted to find an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Pod, Zeroable)]
#[repr(C)]
pub(crate) struct Keyed {
    pub(crate) key: [u64; 2],
    pub(crate) at: u64,
}

macro_rules! integers {
    ($($t:ty: |$x:ident| $key:expr;)*) => {$(
        impl Sortable for $t {
            type Key = u64;
            #[inline]
            fn key(self) -> u64 {
                let $x = self;
                $key
            }
            fn words(key: u64) -> [u64; 2] {
                [key, 0]
            }
            #[inline]
            fn precedes(&self, other: &Self) -> bool {
                self < other
            }
            fn sort_run(run: &mut [Self]) {
                // Equal ones cannot be told apart.
                run.sort_unstable();
            }
        }
    )*};
}

/// Signed numbers as unsigned ones in the same order.
const fn shifted(x: i64) -> u64 {
    x.cast_unsigned() ^ (1 << 63)
}

integers! {
    bool: |x| u64::from(x);
    i8: |x| shifted(i64::from(x));
    i16: |x| shifted(i64::from(x));
    i32: |x| shifted(i64::from(x));
    i64: |x| shifted(x);
    u8: |x| u64::from(x);
    u16: |x| u64::from(x);
    u32: |x| u64::from(x);
    u64: |x| x;
}

/// The greatest key of a number: that of infinity.
const LAST_NUMBER: u64 = 0xfff0_0000_0000_0000;

/// The key of a float; above [`LAST_NUMBER`] for NaN.
#[inline]
fn float_key(x: f64) -> u64 {
    if x.is_nan() {
        return u64::MAX;
    }
    let bits = (x + 0.0).to_bits(); // -0 becomes 0
    bits ^ if bits >> 63 == 1 { u64::MAX } else { 1 << 63 }
}

macro_rules! floats {
    ($($t:ty: |$x:ident| $wide:expr;)*) => {$(
        impl Sortable for $t {
            type Key = u64;
            #[inline]
            fn key(self) -> u64 {
                let $x = self;
                float_key($wide)
            }
            fn words(key: u64) -> [u64; 2] {
                [key, 0]
            }
            #[inline]
            fn precedes(&self, other: &Self) -> bool {
                self < other || (other.is_nan() && !self.is_nan())
            }
            fn sort_run(run: &mut [Self]) {
                float::sort_run(run);
            }
            fn sort_into(from: &[Self], to: &mut [Self]) {
                float::sort_into(from, to);
            }
            fn merge(runs: &[&[Self]]) -> Vec<Self> {
                float::merge_runs(runs)
            }
        }
    )*};
}

floats! {
    f16: |x| x.to_f64();
    bf16: |x| x.to_f64();
    f32: |x| f64::from(x);
    f64: |x| x;
}

macro_rules! complex {
    ($($t:ty),*) => {$(
        impl Sortable for $t {
            type Key = [u64; 2];
            #[inline]
            #[allow(clippy::useless_conversion, reason = "one of the two is wide already")]
            fn key(self) -> [u64; 2] {
                let (re, im) = (float_key(f64::from(self.re)), float_key(f64::from(self.im)));
                match (self.re.is_nan(), self.im.is_nan()) {
                    (false, false) => [re, im],
                    (false, true) => [LAST_NUMBER + 1, re],
                    (true, false) => [LAST_NUMBER + 2, im],
                    (true, true) => [LAST_NUMBER + 3, 0],
                }
            }
            fn words(key: [u64; 2]) -> [u64; 2] {
                key
            }
            #[inline]
            fn precedes(&self, other: &Self) -> bool {
                self.key() < other.key()
            }
            fn sort_run(run: &mut [Self]) {
                run.sort_by_key(|x| x.key());
            }
        }
    )*};
}

complex!(Complex32, Complex64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_sorted_stably_with_nan_last() {
        let mut run = [
            0.0,
            f64::NAN,
            -0.0,
            3.5,
            f64::NEG_INFINITY,
            0.0,
            -2.0,
            f64::INFINITY,
            -f64::NAN,
        ];
        f64::sort_run(&mut run);
        let bits: Vec<u64> = run.iter().map(|x| x.to_bits()).collect();
        let wanted = [
            f64::NEG_INFINITY,
            -2.0,
            0.0,
            -0.0,
            0.0,
            3.5,
            f64::INFINITY,
            f64::NAN,
            -f64::NAN,
        ];
        assert_eq!(bits, wanted.map(f64::to_bits));
    }

    #[test]
    fn keys_order_as_elements_do() {
        let floats = [
            f64::NEG_INFINITY,
            -1e300,
            -1.0,
            -f64::MIN_POSITIVE,
            0.0,
            1e-310,
            1.0,
            f64::INFINITY,
            f64::NAN,
        ];
        for pair in floats.windows(2) {
            assert!(
                pair[0].key() < pair[1].key()
                    && pair[0].precedes(&pair[1])
                    && !pair[1].precedes(&pair[0])
            );
        }
        assert_eq!((-0.0_f64).key(), 0.0_f64.key());
        assert!(i8::MIN.key() < (-1_i8).key() && (-1_i8).key() < 0_i8.key());
        let z = |re, im| Complex64::new(re, im);
        let nan = f64::NAN;
        let ordered = [
            z(-1.0, 5.0),
            z(0.0, -1.0),
            z(0.0, 2.0),
            z(f64::INFINITY, 0.0),
            z(-9.0, nan),
            z(9.0, nan),
            z(nan, -3.0),
            z(nan, 4.0),
            z(nan, nan),
        ];
        assert!(ordered.windows(2).all(|pair| pair[0].precedes(&pair[1])));
    }
}
