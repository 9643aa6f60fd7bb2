//! Reductions of numbers: [`ReduceOp`], [`Reducible`], and [`Reduction`], by which ranks tell them apart.

use std::fmt;

use bytemuck::Pod;

use crate::CommError;

/// How two values become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// Their sum; integers wrap around, as `numpy`'s do.
    Sum,
    /// Their product; integers wrap around.
    Prod,
    /// The smaller; a NaN wins over any number, as in `numpy.min`.
    Min,
    /// The larger; a NaN wins over any number.
    Max,
    /// Bitwise, or logical, and.
    And,
    /// Bitwise, or logical, or.
    Or,
}

impl ReduceOp {
    const ALL: [Self; 6] = [
        Self::Sum,
        Self::Prod,
        Self::Min,
        Self::Max,
        Self::And,
        Self::Or,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Sum => "sum",
            Self::Prod => "prod",
            Self::Min => "min",
            Self::Max => "max",
            Self::And => "and",
            Self::Or => "or",
        }
    }
}

/// What an [`all_reduce`](crate::Communicator::all_reduce) does: the size of its elements, and how two become one.
///
/// The ranks compare it, so that different reductions are an error on all and not a different result on each.
///
/// ```
/// use dist_comm::{ReduceOp, Reduction};
///
/// assert_eq!(Reduction::of::<f64>(ReduceOp::Max).to_string(), "max of f64");
/// assert_eq!(Reduction::own(24).to_string(), "a fold of its own of elements of 24 bytes");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reduction {
    element: u64,
    /// Operation and type, or 0.
    how: u64,
}

impl Reduction {
    /// A fold of the caller's own, of elements of `element` bytes. The ranks can compare no more than that size.
    #[must_use]
    pub fn own(element: usize) -> Self {
        Self {
            element: element as u64,
            how: 0,
        }
    }

    /// `op` of numbers of type `T`.
    #[must_use]
    pub fn of<T: Reducible>(op: ReduceOp) -> Self {
        let types = TYPES.len() as u64;
        Self {
            element: size_of::<T::Wire>() as u64,
            how: 1 + op as u64 * types + <T as sealed::Sealed>::NUMBER,
        }
    }

    /// The size of an element in bytes.
    #[must_use]
    pub fn element(self) -> usize {
        usize::try_from(self.element).unwrap_or(usize::MAX)
    }

    /// Two numbers that stand for it between ranks, for who implements [`Communicator`](crate::Communicator).
    #[must_use]
    pub fn to_numbers(self) -> [u64; 2] {
        [self.element, self.how]
    }

    /// What two numbers from another rank stand for.
    #[must_use]
    pub fn from_numbers([element, how]: [u64; 2]) -> Self {
        Self { element, how }
    }

    fn names(self) -> Option<(&'static str, &'static str)> {
        let number = usize::try_from(self.how.checked_sub(1)?).ok()?;
        let op = ReduceOp::ALL.get(number / TYPES.len())?;
        Some((op.name(), TYPES[number % TYPES.len()]))
    }
}

impl fmt::Display for Reduction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.names() {
            Some((op, element)) => write!(f, "{op} of {element}"),
            None => write!(f, "a fold of its own of elements of {} bytes", self.element),
        }
    }
}

/// The types that can be reduced, by their number.
const TYPES: [&str; 15] = [
    "i8", "i16", "i32", "i64", "i128", "isize", "u8", "u16", "u32", "u64", "u128", "usize", "f32",
    "f64", "bool",
];

mod sealed {
    #[expect(unnameable_types, reason = "that it cannot be named is what seals")]
    pub trait Sealed {
        /// Its place among the types.
        const NUMBER: u64;
    }
}

/// Folds the second value into the first.
pub type Fold<T> = fn(&mut T, &T);

/// A number that [`CommExt::all_reduce_value`](crate::CommExt::all_reduce_value) can reduce. Sealed: integers, `f32`, `f64`,
/// `bool`. For any other plain type there is [`CommExt::all_reduce_with`](crate::CommExt::all_reduce_with).
pub trait Reducible: Copy + Send + Sync + 'static + sealed::Sealed {
    /// What travels.
    type Wire: Pod + Send + Sync;

    /// The value as it travels.
    fn into_wire(self) -> Self::Wire;

    /// The value that travelled.
    fn from_wire(wire: Self::Wire) -> Self;

    /// The function that folds `next` into `acc`.
    ///
    /// # Errors
    /// [`CommError::Reduction`] when the type does not have the operation: `And` and `Or` of floats, `Sum` and `Prod` of bools.
    fn folder(op: ReduceOp) -> Result<Fold<Self::Wire>, CommError>;
}

macro_rules! integers {
    ($($t:ty = $number:literal),*) => {$(
        impl sealed::Sealed for $t {
            const NUMBER: u64 = $number;
        }
        impl Reducible for $t {
            type Wire = Self;
            fn into_wire(self) -> Self {
                self
            }
            fn from_wire(wire: Self) -> Self {
                wire
            }
            fn folder(op: ReduceOp) -> Result<Fold<Self>, CommError> {
                Ok(match op {
                    ReduceOp::Sum => |a, b| *a = a.wrapping_add(*b),
                    ReduceOp::Prod => |a, b| *a = a.wrapping_mul(*b),
                    ReduceOp::Min => |a, b| *a = (*a).min(*b),
                    ReduceOp::Max => |a, b| *a = (*a).max(*b),
                    ReduceOp::And => |a, b| *a &= *b,
                    ReduceOp::Or => |a, b| *a |= *b,
                })
            }
        }
    )*};
}
integers!(
    i8 = 0,
    i16 = 1,
    i32 = 2,
    i64 = 3,
    i128 = 4,
    isize = 5,
    u8 = 6,
    u16 = 7,
    u32 = 8,
    u64 = 9,
    u128 = 10,
    usize = 11
);

macro_rules! floats {
    ($($t:ty = $number:literal),*) => {$(
        impl sealed::Sealed for $t {
            const NUMBER: u64 = $number;
        }
        impl Reducible for $t {
            type Wire = Self;
            fn into_wire(self) -> Self {
                self
            }
            fn from_wire(wire: Self) -> Self {
                wire
            }
            fn folder(op: ReduceOp) -> Result<Fold<Self>, CommError> {
                Ok(match op {
                    ReduceOp::Sum => |a, b| *a += *b,
                    ReduceOp::Prod => |a, b| *a *= *b,
                    ReduceOp::Min => |a, b| {
                        if *b < *a || b.is_nan() && !a.is_nan() {
                            *a = *b;
                        }
                    },
                    ReduceOp::Max => |a, b| {
                        if *b > *a || b.is_nan() && !a.is_nan() {
                            *a = *b;
                        }
                    },
                    ReduceOp::And | ReduceOp::Or => {
                        return Err(CommError::Reduction { op: op.name(), element: stringify!($t) });
                    }
                })
            }
        }
    )*};
}
floats!(f32 = 12, f64 = 13);

impl sealed::Sealed for bool {
    const NUMBER: u64 = 14;
}
impl Reducible for bool {
    type Wire = u8;

    fn into_wire(self) -> u8 {
        u8::from(self)
    }

    fn from_wire(wire: u8) -> Self {
        wire != 0
    }

    fn folder(op: ReduceOp) -> Result<Fold<u8>, CommError> {
        match op {
            ReduceOp::And | ReduceOp::Min => Ok(|a, b| *a &= *b),
            ReduceOp::Or | ReduceOp::Max => Ok(|a, b| *a |= *b),
            ReduceOp::Sum | ReduceOp::Prod => Err(CommError::Reduction {
                op: op.name(),
                element: "bool",
            }),
        }
    }
}

/// Folds the elements of `next` into those of `acc`, whatever the alignment of the two.
pub(crate) fn fold_bytes<T: Pod>(
    acc: &mut [u8],
    next: &[u8],
    fold: &(impl Fn(&mut T, &T) + ?Sized),
) {
    if let (Ok(acc), Ok(next)) = (
        bytemuck::try_cast_slice_mut::<u8, T>(acc),
        bytemuck::try_cast_slice::<u8, T>(next),
    ) {
        acc.iter_mut().zip(next).for_each(|(a, b)| fold(a, b));
        return;
    }
    let width = size_of::<T>();
    if width == 0 {
        return;
    }
    for (acc, next) in acc.chunks_exact_mut(width).zip(next.chunks_exact(width)) {
        let mut a: T = bytemuck::pod_read_unaligned(acc);
        fold(&mut a, &bytemuck::pod_read_unaligned(next));
        acc.copy_from_slice(bytemuck::bytes_of(&a));
    }
}

/// The left fold in rank order of a piece of the buffers of all ranks: `out` starts as the first and takes in the others.
pub(crate) fn fold_ranks<'a>(
    out: &mut [u8],
    mut pieces: impl Iterator<Item = &'a [u8]>,
    fold: &(dyn Fn(&mut [u8], &[u8]) + Sync),
) {
    if let Some(first) = pieces.next() {
        out.copy_from_slice(first);
    }
    for piece in pieces {
        fold(out, piece);
    }
}

/// Where rank `rank` of `size` cuts its piece out of `len` bytes of elements of `element` bytes.
pub(crate) fn piece(
    len: usize,
    element: usize,
    rank: usize,
    size: usize,
) -> std::ops::Range<usize> {
    let count = len.checked_div(element).unwrap_or(0);
    let (each, more) = (count / size, count % size);
    let begin = rank * each + rank.min(more);
    let end = begin + each + usize::from(rank < more);
    begin * element..end * element
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nan_wins_from_either_side() {
        for op in [ReduceOp::Min, ReduceOp::Max] {
            let fold = f64::folder(op).unwrap();
            for (a, b) in [(1.0, f64::NAN), (f64::NAN, 1.0)] {
                let mut acc = a;
                fold(&mut acc, &b);
                assert!(acc.is_nan());
            }
        }
    }

    #[test]
    fn what_a_type_does_not_have_is_an_error() {
        assert!(f32::folder(ReduceOp::And).is_err());
        assert!(bool::folder(ReduceOp::Sum).is_err());
        assert_eq!(
            f64::folder(ReduceOp::Or).unwrap_err().to_string(),
            "all_reduce: or is not defined for f64"
        );
    }

    #[test]
    fn reductions_are_told_apart_and_named() {
        fn check<T: Reducible>() {
            for op in ReduceOp::ALL {
                let reduction = Reduction::of::<T>(op);
                let name = std::any::type_name::<T>();
                assert_eq!(reduction.to_string(), format!("{} of {name}", op.name()));
                assert_eq!(Reduction::from_numbers(reduction.to_numbers()), reduction);
                assert_eq!(reduction.element(), size_of::<T>());
            }
        }
        check::<i8>();
        check::<i16>();
        check::<i32>();
        check::<i64>();
        check::<i128>();
        check::<isize>();
        check::<u8>();
        check::<u16>();
        check::<u32>();
        check::<u64>();
        check::<u128>();
        check::<usize>();
        check::<f32>();
        check::<f64>();
        check::<bool>();
    }

    #[test]
    fn unaligned_bytes_fold_too() {
        let mut acc = [0u8; 17];
        let mut next = [0u8; 17];
        acc[1..9].copy_from_slice(&2.5f64.to_ne_bytes());
        next[1..9].copy_from_slice(&4.0f64.to_ne_bytes());
        fold_bytes::<f64>(&mut acc[1..], &next[1..], &|a, b| *a += *b);
        assert_eq!(acc[1..9], 6.5f64.to_ne_bytes());
    }

    #[test]
    fn pieces_partition_whole_elements() {
        for (len, element) in [(0, 8), (8, 8), (56, 8), (24, 24), (0, 0)] {
            for size in 1..6 {
                let mut at = 0;
                for rank in 0..size {
                    let piece = piece(len, element, rank, size);
                    assert_eq!(piece.start, at);
                    at = piece.end;
                }
                assert_eq!(at, len);
            }
        }
    }
}
