//! [`MatMul`]: the product of two local matrices, for each type of element.

use bytemuck::{Pod, Zeroable};
use dap_protocol::Element;
use half::{bf16, f16};
use ndarray::linalg::general_mat_mul;
use ndarray::{Array2, ArrayView2, ArrayViewMut2, Axis};
use num_complex::{Complex32, Complex64};

use crate::Arithmetic;

/// Elements of matrices that can be multiplied; the types follow `NumPy`'s rules.
///
/// | element | product is added up in |
/// |---|---|
/// | `f32`, `f64`, complex | themselves, by `matrixmultiply`'s kernels |
/// | `f16`, `bf16` | `f32`, rounded once at the end |
/// | integers | themselves, wrapping |
/// | `bool` | `bool`: the sum is *or*, the product *and* |
///
/// Local; the products of distributed arrays are [`dot`](crate::Dot::dot) and its kin.
///
/// ```
/// use local_array::MatMul;
/// use ndarray::{Array2, array};
///
/// let (a, b) = (array![[1_i32, 2]], array![[3], [4]]); // 1 × 2, 2 × 1
/// let mut sums = Array2::from_elem((1, 1), 100);
/// i32::multiply_add(&a.view(), &b.view(), &mut sums.view_mut());
/// assert_eq!(sums, array![[111]]);
/// assert_eq!(bool::sum_of(bool::add(true.product(false, false), true.product(true, false))), true);
/// ```
pub trait MatMul: Element {
    /// What products are added up in.
    type Acc: Pod + Send + Sync;
    /// The product of two elements, the first conjugated where `conjugated`.
    #[must_use]
    fn product(self, other: Self, conjugated: bool) -> Self::Acc;
    /// The sum of two products.
    #[must_use]
    fn add(a: Self::Acc, b: Self::Acc) -> Self::Acc;
    /// What the products add up to.
    #[must_use]
    fn sum_of(acc: Self::Acc) -> Self;
    /// The same for a matrix, in its memory where the types are one.
    #[doc(hidden)]
    #[must_use]
    fn sums_of(sums: Array2<Self::Acc>) -> Array2<Self> {
        sums.mapv(Self::sum_of)
    }
    /// `c += a · b`: `m × k` times `k × n`.
    fn multiply_add(
        a: &ArrayView2<'_, Self>,
        b: &ArrayView2<'_, Self>,
        c: &mut ArrayViewMut2<'_, Self::Acc>,
    );
}

macro_rules! by_matrixmultiply {
    ($($t:ty: |$x:ident| $conjugate:expr, $one:expr;)*) => {$(
        impl MatMul for $t {
            type Acc = Self;
            #[inline]
            fn product(self, other: Self, conjugated: bool) -> Self {
                let $x = self;
                if conjugated { $conjugate * other } else { self * other }
            }
            #[inline]
            fn add(a: Self, b: Self) -> Self {
                a + b
            }
            fn sum_of(acc: Self) -> Self {
                acc
            }
            fn sums_of(sums: Array2<Self>) -> Array2<Self> {
                sums
            }
            fn multiply_add(a: &ArrayView2<'_, Self>, b: &ArrayView2<'_, Self>, c: &mut ArrayViewMut2<'_, Self>) {
                general_mat_mul($one, a, b, $one, c);
            }
        }
    )*};
}

by_matrixmultiply! {
    f32: |x| x, 1.0;
    f64: |x| x, 1.0;
    Complex32: |x| x.conj(), Complex32::new(1.0, 0.0);
    Complex64: |x| x.conj(), Complex64::new(1.0, 0.0);
}

macro_rules! in_f32 {
    ($($t:ty),*) => {$(
        impl MatMul for $t {
            type Acc = f32;
            #[inline]
            fn product(self, other: Self, _: bool) -> f32 {
                self.to_f32() * other.to_f32()
            }
            #[inline]
            fn add(a: f32, b: f32) -> f32 {
                a + b
            }
            fn sum_of(acc: f32) -> Self {
                Self::from_f32(acc)
            }
            fn multiply_add(a: &ArrayView2<'_, Self>, b: &ArrayView2<'_, Self>, c: &mut ArrayViewMut2<'_, f32>) {
                general_mat_mul(1.0, &a.mapv(Self::to_f32), &b.mapv(Self::to_f32), 1.0, c);
            }
        }
    )*};
}

in_f32!(f16, bf16);

macro_rules! wrapping {
    ($($t:ty),*) => {$(
        impl MatMul for $t {
            type Acc = Self;
            #[inline]
            fn product(self, other: Self, _: bool) -> Self {
                self.times(other)
            }
            #[inline]
            fn add(a: Self, b: Self) -> Self {
                a.plus(b)
            }
            fn sum_of(acc: Self) -> Self {
                acc
            }
            fn sums_of(sums: Array2<Self>) -> Array2<Self> {
                sums
            }
            fn multiply_add(a: &ArrayView2<'_, Self>, b: &ArrayView2<'_, Self>, c: &mut ArrayViewMut2<'_, Self>) {
                by_rows(a, b, c, |acc, x, y| acc.plus(x.times(y)));
            }
        }
    )*};
}

wrapping!(i8, i16, i32, i64, u8, u16, u32, u64);

impl MatMul for bool {
    type Acc = u8;
    #[inline]
    fn product(self, other: Self, _: bool) -> u8 {
        u8::from(self && other)
    }
    #[inline]
    fn add(a: u8, b: u8) -> u8 {
        a | b
    }
    fn sum_of(acc: u8) -> Self {
        acc != 0
    }
    fn multiply_add(
        a: &ArrayView2<'_, Self>,
        b: &ArrayView2<'_, Self>,
        c: &mut ArrayViewMut2<'_, u8>,
    ) {
        by_rows(a, b, c, |acc, x, y| acc | u8::from(x && y));
    }
}

/// Rows of `b`, each times one element of `a`, into rows of `c`.
fn by_rows<T: Copy, A: Copy + Zeroable>(
    a: &ArrayView2<'_, T>,
    b: &ArrayView2<'_, T>,
    c: &mut ArrayViewMut2<'_, A>,
    add: impl Fn(A, T, T) -> A + Copy,
) {
    for (a_row, mut c_row) in a.axis_iter(Axis(0)).zip(c.axis_iter_mut(Axis(0))) {
        for (&x, b_row) in a_row.iter().zip(b.axis_iter(Axis(0))) {
            c_row.zip_mut_with(&b_row, |acc, &y| *acc = add(*acc, x, y));
        }
    }
}
