//! The operations as methods of arrays, each under its own name.

use dist_comm::Communicator;
use ndarray::{Data, Dimension};

use super::{BinaryOperation, UnaryOperation};
use crate::{ArrayError, LocalArray, LocalArrayBase, Operand, ufunc};

macro_rules! unary_methods {
    ($($method:ident $op:ident: $x:literal => $result:literal;)*) => {
        /// Universal functions of each element, as `NumPy` names them. Local; padding is computed too.
        ///
        /// Elements, result types and meaning are those of the operation of the same name in [`ufunc`]; the result is
        /// distributed as this array is. `a.unary_into(ufunc::Sqrt, &mut out)` and
        /// [`unary_where`](Self::unary_where) are the forms with an output.
        ///
        /// ```
        /// use dist_comm::{Communicator, ThreadComm};
        /// use dist_maps::Distribution;
        /// use local_array::{ArrayError, LocalArray};
        /// use ndarray::Ix1;
        ///
        /// let sums = ThreadComm::run(3, |comm| {
        ///     let blocks = Distribution::over(3).shape([10]).block(0).build()?;
        ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&blocks, comm, |g| -(g[0] as i32))?;
        ///     assert_eq!(a.absolute().sqrt().square().rint().max()?, 9.0); // f64 from i32 on
        ///     a.negative().sum()
        /// })?;
        /// assert_eq!(sums, [45; 3]);
        /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
        /// ```
        ///
        /// Each of them, with the arrays filled with one number:
        ///
        /// ```
        /// use dist_comm::ThreadComm;
        /// use dist_maps::Distribution;
        /// use local_array::{ArrayError, LocalArray};
        /// use ndarray::Ix1;
        ///
        /// ThreadComm::run(2, |comm| {
        ///     let blocks = Distribution::over(2).shape([3]).block(0).build()?;
        $(
            #[doc = concat!("    let a = LocalArray::<_, Ix1, _>::full(&blocks, comm, ", $x, ")?;")]
            #[doc = concat!("    assert_eq!(a.", stringify!($method), "().max()?, ", $result, ");")]
        )*
        ///     Ok::<_, ArrayError>(())
        /// })?;
        /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
        /// ```
        impl<S, D, C> LocalArrayBase<S, D, C>
        where
            S: Data<Elem: Copy>,
            D: Dimension,
            C: Communicator + Clone,
        {$(
            #[doc = concat!("[`", stringify!($op), "`](ufunc::", stringify!($op), ") of each element. Local.")]
            /// In the example of all these methods:
            #[doc = concat!("`", $x, "` becomes `", $result, "`.")]
            #[must_use]
            pub fn $method(&self) -> LocalArray<<ufunc::$op as UnaryOperation<S::Elem>>::Output, D, C>
            where
                ufunc::$op: UnaryOperation<S::Elem>,
            {
                self.unary(ufunc::$op)
            }
        )*}
    };
}

unary_methods! {
    absolute Absolute: "-2.0_f64" => "2.0";
    arccos Arccos: "-1.0_f64" => "std::f64::consts::PI";
    arccosh Arccosh: "1.0_f64" => "0.0";
    arcsin Arcsin: "1.0_f64" => "std::f64::consts::FRAC_PI_2";
    arcsinh Arcsinh: "0.0_f64" => "0.0";
    arctan Arctan: "1.0_f64" => "std::f64::consts::FRAC_PI_4";
    arctanh Arctanh: "0.0_f64" => "0.0";
    conj Conjugate: "num_complex::Complex64::new(1.0, 2.0)" => "num_complex::Complex64::new(1.0, -2.0)";
    conjugate Conjugate: "num_complex::Complex64::new(1.0, 2.0)" => "num_complex::Complex64::new(1.0, -2.0)";
    cos Cos: "0.0_f64" => "1.0";
    cosh Cosh: "0.0_f64" => "1.0";
    exp Exp: "0.0_f64" => "1.0";
    expm1 Expm1: "0.0_f64" => "0.0";
    invert Invert: "5_i32" => "-6";
    log Log: "1.0_f64" => "0.0";
    log10 Log10: "100.0_f64" => "2.0";
    log1p Log1p: "0.0_f64" => "0.0";
    negative Negative: "3_i32" => "-3";
    reciprocal Reciprocal: "4.0_f64" => "0.25";
    rint Rint: "2.5_f64" => "2.0";
    sign Sign: "-3_i32" => "-1";
    sin Sin: "0.0_f64" => "0.0";
    sinh Sinh: "0.0_f64" => "0.0";
    sqrt Sqrt: "9_i32" => "3.0";
    square Square: "-3_i32" => "9";
    tan Tan: "0.0_f64" => "0.0";
    tanh Tanh: "f64::INFINITY" => "1.0";
}

macro_rules! binary_methods {
    ($($method:ident $op:ident: $a:literal, $b:literal => $result:literal;)*) => {
        /// Universal functions of two elements, as `NumPy` names them; the other operand is an array, one value, or
        /// [`Equalised`](crate::Equalised). Local, but collective with `Equalised`.
        ///
        /// Both have the same type of element, so that a plain number takes the array's; for two types see
        /// [`binary`](Self::binary). Elements, result types and meaning are those of the operation of the same name in
        /// [`ufunc`]; shapes broadcast as [`binary`](Self::binary) says.
        ///
        /// ```
        /// use dist_comm::{Communicator, ThreadComm};
        /// use dist_maps::Distribution;
        /// use local_array::{ArrayError, LocalArray};
        /// use ndarray::Ix1;
        ///
        /// let counts = ThreadComm::run(2, |comm| {
        ///     let blocks = Distribution::over(2).shape([10]).block(0).build()?;
        ///     let a = LocalArray::<i32, Ix1, _>::from_fn(&blocks, comm, |global| global[0] as i32)?;
        ///     a.remainder(3)?.equal(0)?.sum() // 0, 3, 6, 9
        /// })?;
        /// assert_eq!(counts, [4, 4]);
        /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
        /// ```
        ///
        /// Each of them, with the arrays filled with one number:
        ///
        /// ```
        /// use dist_comm::ThreadComm;
        /// use dist_maps::Distribution;
        /// use local_array::{ArrayError, LocalArray};
        /// use ndarray::Ix1;
        ///
        /// ThreadComm::run(2, |comm| {
        ///     let blocks = Distribution::over(2).shape([3]).block(0).build()?;
        $(
            #[doc = concat!("    let a = LocalArray::<_, Ix1, _>::full(&blocks, comm, ", $a, ")?;")]
            #[doc = concat!("    assert_eq!(a.", stringify!($method), "(", $b, ")?.max()?, ", $result, ");")]
        )*
        ///     Ok::<_, ArrayError>(())
        /// })?;
        /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
        /// ```
        impl<S, D, C> LocalArrayBase<S, D, C>
        where
            S: Data<Elem: dap_protocol::Element>,
            D: Dimension,
            C: Communicator + Clone,
        {$(
            #[doc = concat!("[`", stringify!($op), "`](ufunc::", stringify!($op), ") of each element and the other's. Local; collective")]
            /// with [`Equalised`](crate::Equalised).
            /// In the example of all these methods:
            #[doc = concat!("`", $a, "` and `", $b, "` become `", $result, "`.")]
            ///
            /// # Errors
            /// As [`binary`](Self::binary), the same on every rank.
            pub fn $method<O: Operand<S::Elem, D>>(
                &self,
                other: O,
            ) -> Result<LocalArray<<ufunc::$op as BinaryOperation<S::Elem>>::Output, O::Dim, C>, ArrayError>
            where
                ufunc::$op: BinaryOperation<S::Elem, Output: bytemuck::Zeroable>,
            {
                self.binary(ufunc::$op, other)
            }
        )*}
    };
}

binary_methods! {
    add Add: "7_i64", "2_i64" => "9";
    arctan2 Arctan2: "1.0_f64", "1.0_f64" => "std::f64::consts::FRAC_PI_4";
    bitwise_and BitwiseAnd: "6_i64", "3_i64" => "2";
    bitwise_or BitwiseOr: "6_i64", "3_i64" => "7";
    bitwise_xor BitwiseXor: "6_i64", "3_i64" => "5";
    divide Divide: "7_i64", "2_i64" => "3.5";
    equal Equal: "2_i64", "3_i64" => "false";
    floor_divide FloorDivide: "-7_i64", "2_i64" => "-4";
    fmod Fmod: "-7_i64", "2_i64" => "-1";
    greater Greater: "2_i64", "3_i64" => "false";
    greater_equal GreaterEqual: "3_i64", "3_i64" => "true";
    hypot Hypot: "3.0_f64", "4.0_f64" => "5.0";
    left_shift LeftShift: "1_i64", "4_i64" => "16";
    less Less: "2_i64", "3_i64" => "true";
    less_equal LessEqual: "3_i64", "3_i64" => "true";
    maximum Maximum: "2_i64", "3_i64" => "3";
    minimum Minimum: "2_i64", "3_i64" => "2";
    mod_ Mod: "-7_i64", "2_i64" => "1";
    multiply Multiply: "7_i64", "2_i64" => "14";
    not_equal NotEqual: "2_i64", "3_i64" => "true";
    power Power: "2_i64", "10_i64" => "1024";
    remainder Remainder: "-7_i64", "2_i64" => "1";
    right_shift RightShift: "16_i64", "2_i64" => "4";
    subtract Subtract: "7_i64", "2_i64" => "5";
    true_divide TrueDivide: "7_i64", "2_i64" => "3.5";
}
