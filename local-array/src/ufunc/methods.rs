//! The operations as methods of arrays, each under its own name.

use dist_comm::Communicator;
use ndarray::{Data, Dimension};

use super::{BinaryOperation, UnaryOperation};
use crate::{ArrayError, LocalArray, LocalArrayBase, Operand, ufunc};

macro_rules! unary_methods {
    ($($method:ident $op:ident;)*) => {
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
        impl<S, D, C> LocalArrayBase<S, D, C>
        where
            S: Data<Elem: Copy>,
            D: Dimension,
            C: Communicator + Clone,
        {$(
            #[doc = concat!("[`", stringify!($op), "`](ufunc::", stringify!($op), ") of each element. Local.")]
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
    absolute Absolute;
    arccos Arccos;
    arccosh Arccosh;
    arcsin Arcsin;
    arcsinh Arcsinh;
    arctan Arctan;
    arctanh Arctanh;
    conj Conjugate;
    conjugate Conjugate;
    cos Cos;
    cosh Cosh;
    exp Exp;
    expm1 Expm1;
    invert Invert;
    log Log;
    log10 Log10;
    log1p Log1p;
    negative Negative;
    reciprocal Reciprocal;
    rint Rint;
    sign Sign;
    sin Sin;
    sinh Sinh;
    sqrt Sqrt;
    square Square;
    tan Tan;
    tanh Tanh;
}

macro_rules! binary_methods {
    ($($method:ident $op:ident;)*) => {
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
        impl<S, D, C> LocalArrayBase<S, D, C>
        where
            S: Data<Elem: dap_protocol::Element>,
            D: Dimension,
            C: Communicator + Clone,
        {$(
            #[doc = concat!("[`", stringify!($op), "`](ufunc::", stringify!($op), ") of each element and the other's. Local.")]
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
    add Add;
    arctan2 Arctan2;
    bitwise_and BitwiseAnd;
    bitwise_or BitwiseOr;
    bitwise_xor BitwiseXor;
    divide Divide;
    equal Equal;
    floor_divide FloorDivide;
    fmod Fmod;
    greater Greater;
    greater_equal GreaterEqual;
    hypot Hypot;
    left_shift LeftShift;
    less Less;
    less_equal LessEqual;
    maximum Maximum;
    minimum Minimum;
    mod_ Mod;
    multiply Multiply;
    not_equal NotEqual;
    power Power;
    remainder Remainder;
    right_shift RightShift;
    subtract Subtract;
    true_divide TrueDivide;
}
