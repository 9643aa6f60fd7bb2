//! [`Number`]: the arithmetic of elements.

use dap_protocol::Element;

mod sealed {
    #[expect(unnameable_types, reason = "sealed: nobody else is to name it")]
    pub trait Sealed {}
}

/// The element types that there is arithmetic for: integers, `f32`, `f64`. Sealed.
pub trait Number: Element + PartialOrd + sealed::Sealed {
    #[doc(hidden)]
    #[must_use]
    fn plus(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn minus(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn times(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn over(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn modulo(self, other: Self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn negative(self) -> Self;
    #[doc(hidden)]
    #[must_use]
    fn distance(self) -> Self;
}

macro_rules! integers {
    ($($t:ty, $distance:expr);* $(;)?) => {$(
        impl sealed::Sealed for $t {}
        impl Number for $t {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn minus(self, other: Self) -> Self {
                self.wrapping_sub(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn over(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_div(other) }
            }
            fn modulo(self, other: Self) -> Self {
                if other == 0 { 0 } else { self.wrapping_rem(other) }
            }
            fn negative(self) -> Self {
                self.wrapping_neg()
            }
            fn distance(self) -> Self {
                $distance(self)
            }
        }
    )*};
}

integers! {
    i8, i8::wrapping_abs; i16, i16::wrapping_abs; i32, i32::wrapping_abs; i64, i64::wrapping_abs;
    u8, std::convert::identity; u16, std::convert::identity; u32, std::convert::identity; u64, std::convert::identity;
}

macro_rules! floats {
    ($($t:ty),*) => {$(
        impl sealed::Sealed for $t {}
        impl Number for $t {
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn minus(self, other: Self) -> Self {
                self - other
            }
            fn times(self, other: Self) -> Self {
                self * other
            }
            fn over(self, other: Self) -> Self {
                self / other
            }
            fn modulo(self, other: Self) -> Self {
                self % other
            }
            fn negative(self) -> Self {
                -self
            }
            fn distance(self) -> Self {
                self.abs()
            }
        }
    )*};
}

floats!(f32, f64);
