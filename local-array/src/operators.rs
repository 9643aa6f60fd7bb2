//! Operators: `&a + &b` is a `Result`, `&a + 2.0` an array; each with its form in place.
//!
//! They are Rust's: `/` on integers truncates and `%` has the sign of the dividend. Integers wrap, and a quotient by zero is 0
//! (see [`Arithmetic`]). `NumPy`'s own division is [`true_divide`](LocalArrayBase::true_divide),
//! [`floor_divide`](LocalArrayBase::floor_divide) and [`remainder`](LocalArrayBase::remainder).

use std::ops;

use dist_comm::Communicator;
use ndarray::{Data, DataMut, DimMax, Dimension};

use crate::ufunc::Shift;
use crate::{Arithmetic, ArrayError, Bitwise, Equalised, LocalArray, LocalArrayBase, Operand};

macro_rules! operator {
    ($bound:ident: $($op:ident $fn:ident, $assign:ident $assign_fn:ident, $try:ident $kernel:ident $sign:literal;)*) => {$(
        /// Element by element, of two arrays whose elements lie on the same ranks; shapes broadcast. Local.
        impl<S, S2, D, D2, C, C2> ops::$op<&LocalArrayBase<S2, D2, C2>> for &LocalArrayBase<S, D, C>
        where
            S: Data<Elem: $bound>,
            S2: Data<Elem = S::Elem>,
            D: Dimension + DimMax<D2>,
            D2: Dimension,
            C: Communicator + Clone,
            C2: Communicator,
        {
            type Output = Result<LocalArray<S::Elem, <D as DimMax<D2>>::Output, C>, ArrayError>;

            fn $fn(self, other: &LocalArrayBase<S2, D2, C2>) -> Self::Output {
                self.zip_elements(other, S::Elem::$kernel)
            }
        }

        /// Element by element, of two arrays that are brought together first. Collective.
        impl<S, S2, D, D2, C, C2> ops::$op<Equalised<&LocalArrayBase<S2, D2, C2>>> for &LocalArrayBase<S, D, C>
        where
            S: Data<Elem: $bound>,
            S2: Data<Elem = S::Elem>,
            D: Dimension + DimMax<D2>,
            D2: Dimension,
            C: Communicator + Clone,
            C2: Communicator + Clone,
        {
            type Output = Result<LocalArray<S::Elem, <D as DimMax<D2>>::Output, C>, ArrayError>;

            fn $fn(self, other: Equalised<&LocalArrayBase<S2, D2, C2>>) -> Self::Output {
                self.zip_elements(other, S::Elem::$kernel)
            }
        }

        /// Element by element, with one value. Local.
        impl<S, D, C, T> ops::$op<T> for &LocalArrayBase<S, D, C>
        where
            S: Data<Elem = T>,
            T: $bound,
            D: Dimension,
            C: Communicator + Clone,
        {
            type Output = LocalArray<T, D, C>;

            fn $fn(self, value: T) -> Self::Output {
                self.each(move |element| element.$kernel(value))
            }
        }

        /// In place, element by element, with one value. Local.
        impl<S, D, C, T> ops::$assign<T> for LocalArrayBase<S, D, C>
        where
            S: DataMut<Elem = T>,
            T: $bound,
            D: Dimension,
            C: Communicator,
        {
            fn $assign_fn(&mut self, value: T) {
                self.map_inplace(|element| *element = element.$kernel(value));
            }
        }
    )*
        impl<S, D, C> LocalArrayBase<S, D, C>
        where
            S: DataMut<Elem: $bound>,
            D: Dimension,
            C: Communicator,
        {$(
            #[doc = concat!("`self ", $sign, "= other`, element by element; a method, because an operator could not say that ")]
            #[doc = "the arrays do not fit. Local; collective with [`Equalised`]."]
            ///
            /// ```
            /// use dist_comm::ThreadComm;
            /// use dist_maps::Distribution;
            /// use local_array::{ArrayError, LocalArray};
            /// use ndarray::Ix1;
            ///
            /// ThreadComm::run(2, |comm| {
            ///     let blocks = Distribution::over(2).shape([3]).block(0).build()?;
            ///     let mut a = LocalArray::<i64, Ix1, _>::full(&blocks, comm, 7)?;
            ///     let mut b = LocalArray::<i64, Ix1, _>::full(&blocks, comm, 2)?;
            #[doc = concat!("    assert_eq!((&a ", $sign, " &b)?.max()?, 7 ", $sign, " 2); // an array, where the two fit")]
            #[doc = concat!("    assert_eq!((&a ", $sign, " 2).max()?, 7 ", $sign, " 2);")]
            #[doc = concat!("    a.", stringify!($try), "(&b)?;")]
            #[doc = concat!("    b ", $sign, "= 1;")]
            #[doc = concat!("    assert_eq!((a.max()?, b.max()?), (7 ", $sign, " 2, 2 ", $sign, " 1));")]
            ///     Ok::<_, ArrayError>(())
            /// })?;
            /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
            /// ```
            ///
            /// # Errors
            /// As [`zip_map_inplace`](Self::zip_map_inplace).
            pub fn $try(&mut self, other: impl Operand<S::Elem, D>) -> Result<(), ArrayError> {
                self.zip_map_inplace(other, |a, b| *a = a.$kernel(b))
            }
        )*}
    };
}

operator! { Arithmetic:
    Add add, AddAssign add_assign, try_add_assign plus "+";
    Sub sub, SubAssign sub_assign, try_sub_assign minus "-";
    Mul mul, MulAssign mul_assign, try_mul_assign times "*";
    Div div, DivAssign div_assign, try_div_assign over "/";
    Rem rem, RemAssign rem_assign, try_rem_assign modulo "%";
}

operator! { Bitwise:
    BitAnd bitand, BitAndAssign bitand_assign, try_and_assign and "&";
    BitOr bitor, BitOrAssign bitor_assign, try_or_assign or "|";
    BitXor bitxor, BitXorAssign bitxor_assign, try_xor_assign xor "^";
}

operator! { Shift:
    Shl shl, ShlAssign shl_assign, try_shl_assign shifted_left "<<";
    Shr shr, ShrAssign shr_assign, try_shr_assign shifted_right ">>";
}

impl<S, D, C> ops::Neg for &LocalArrayBase<S, D, C>
where
    S: Data<Elem: Arithmetic>,
    D: Dimension,
    C: Communicator + Clone,
{
    type Output = LocalArray<S::Elem, D, C>;

    fn neg(self) -> Self::Output {
        self.each(Arithmetic::negated)
    }
}

impl<S, D, C> ops::Not for &LocalArrayBase<S, D, C>
where
    S: Data<Elem: Bitwise>,
    D: Dimension,
    C: Communicator + Clone,
{
    type Output = LocalArray<S::Elem, D, C>;

    fn not(self) -> Self::Output {
        self.each(Bitwise::inverted)
    }
}

macro_rules! value_first {
    ($($op:ident $fn:ident $kernel:ident),* ; $types:tt) => {$(
        value_first!(@ $op $fn $kernel $types);
    )*};
    (@ $op:ident $fn:ident $kernel:ident ($($t:ty)*)) => {$(
        /// One value and each element, in this order. Local.
        impl<S, D, C> ops::$op<&LocalArrayBase<S, D, C>> for $t
        where
            S: Data<Elem = $t>,
            D: Dimension,
            C: Communicator + Clone,
        {
            type Output = LocalArray<$t, D, C>;

            fn $fn(self, array: &LocalArrayBase<S, D, C>) -> Self::Output {
                array.each(move |element| self.$kernel(element))
            }
        }
    )*};
}

value_first! { Add add plus, Sub sub minus, Mul mul times, Div div over, Rem rem modulo; (
    i8 i16 i32 i64 u8 u16 u32 u64 f32 f64
    half::f16 half::bf16 num_complex::Complex32 num_complex::Complex64
) }
value_first! { BitAnd bitand and, BitOr bitor or, BitXor bitxor xor; (bool i8 i16 i32 i64 u8 u16 u32 u64) }
value_first! { Shl shl shifted_left, Shr shr shifted_right; (i8 i16 i32 i64 u8 u16 u32 u64) }
