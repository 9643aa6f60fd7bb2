//! [`Expr`]: arithmetic on handles, evaluated piece by piece.

use std::fmt;
use std::ops::{Add, Div, Mul, Neg, Rem, Sub};
use std::path::Path;
use std::sync::Arc;

use dap_protocol::{DistBuffer, Element, HostArray};
use dist_comm::agree::agree;
use dist_maps::Distribution;

use super::fragment::{Cut, folded};
use super::handle::Handle;
use super::number::Number;
use super::{H5Array, create, read};
use crate::IoError;
use crate::h5::together::same;

/// An array that follows from others element by element, and is not computed yet: what operators on [`H5Array`] make.
///
/// `+ - * / %` and negation, [`abs`](Self::abs), [`sqrt`](Self::sqrt), comparisons, and with [`map`](Self::map) and [`zip`](Self::zip)
/// any function. An operand is an array, an expression, or a number of the element type. The distribution is that of the first array; every
/// other one is read in that distribution, whatever its own. Integers wrap around, and what is divided by zero is 0; `%` has the sign of
/// the dividend, as in Rust.
///
/// Arrays of different shapes are no error until something is computed.
///
/// ```
/// # use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// # use dist_comm::SingleComm;
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_io::{IoError, open_dset};
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("run.h5");
/// # let save = |key: &str, all: Vec<f64>| {
/// #     let all = DistBuffer::new(DimData::new(vec![DimDict::whole(4)?]), HostArray::new(vec![4], all)?)?;
/// #     dist_io::SaveHdf5::new(&path).key(key).save(&all, &SingleComm::new())
/// # };
/// # save("kelvin", vec![270.0, 280.0, 290.0, 300.0])?;
/// # save("weight", vec![1.0, 2.0, 3.0, 4.0])?;
/// ThreadComm::run(2, |comm| {
///     let kelvin = open_dset::<f64>(&path, "kelvin", comm)?; // 270 280 290 300
///     let weight = open_dset::<f64>(&path, "weight", comm)?; // 1 2 3 4
///     let celsius = &kelvin - 270.0;
///     assert_eq!((&celsius * &weight).sum(1 << 20)?, 200.0);
///     let warm = celsius.gt(15.0);
///     assert_eq!(warm.count(1 << 20)?, 2);
///     celsius.save(&path, "celsius", 1 << 20)?; // no more than 1 MiB of it is in memory
///     assert_eq!(open_dset::<f64>(&path, "celsius", comm)?.gather()?.data(), [0.0, 10.0, 20.0, 30.0]);
///     assert_eq!(weight.mask(&warm)?.buffer().data().iter().sum::<f64>(), [0.0, 7.0][comm.rank()]);
///     Ok::<_, IoError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct Expr<'c, T> {
    node: Arc<dyn Node<T> + 'c>,
    first: Handle<'c>,
    /// Arrays that are in memory at a time, at most.
    arrays: u64,
    /// Why it cannot be computed.
    wrong: Option<IoError>,
}

/// Something that has elements.
trait Node<T>: Send + Sync {
    /// The elements of this rank's part, in C order. Collective.
    fn part(&self, piece: &Piece) -> Result<Vec<T>, IoError>;
}

/// What is done with a part, and with the range of a dimension that it is of.
type Visit<'a, T> =
    dyn FnMut(DistBuffer<HostArray<T>>, Option<(usize, u64, u64)>) -> Result<(), IoError> + 'a;

/// What is computed at a time: a range of a dimension, or everything.
struct Piece {
    range: Option<(usize, u64, u64)>,
    distribution: Distribution,
}

struct Leaf<'c>(Handle<'c>);

impl<T: Element> Node<T> for Leaf<'_> {
    fn part(&self, piece: &Piece) -> Result<Vec<T>, IoError> {
        let handle = match piece.range {
            None => self.0.clone(),
            Some((axis, start, len)) => self.0.fragment(axis, start, len)?,
        };
        let handle = handle.distribute(&piece.distribution)?;
        let (part, _) = read::load::<T>(&handle, &piece.distribution)?;
        Ok(part.into_parts().2.into_parts().1)
    }
}

struct Map<'c, S, F> {
    inner: Arc<dyn Node<S> + 'c>,
    f: F,
}

impl<S: Element, T: Element, F: Fn(S) -> T + Send + Sync> Node<T> for Map<'_, S, F> {
    fn part(&self, piece: &Piece) -> Result<Vec<T>, IoError> {
        let inner = self.inner.part(piece)?;
        Ok(inner.into_iter().map(&self.f).collect())
    }
}

struct Zip<'c, A, B, F> {
    left: Arc<dyn Node<A> + 'c>,
    right: Arc<dyn Node<B> + 'c>,
    f: F,
}

impl<A: Element, B: Element, T: Element, F: Fn(A, B) -> T + Send + Sync> Node<T>
    for Zip<'_, A, B, F>
{
    fn part(&self, piece: &Piece) -> Result<Vec<T>, IoError> {
        let left = self.left.part(piece)?;
        let right = self.right.part(piece)?;
        let pairs = left.into_iter().zip(right);
        Ok(pairs.map(|(a, b)| (self.f)(a, b)).collect())
    }
}

impl<T> Clone for Expr<'_, T> {
    fn clone(&self) -> Self {
        Self {
            node: self.node.clone(),
            first: self.first.clone(),
            arrays: self.arrays,
            wrong: self.wrong.clone(),
        }
    }
}

impl<T> fmt::Debug for Expr<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expr")
            .field("shape", &self.first.shape())
            .finish_non_exhaustive()
    }
}

impl<'c, T: Element> Expr<'c, T> {
    /// The shape of the first array.
    #[must_use]
    pub fn shape(&self) -> &[u64] {
        self.first.shape()
    }

    /// The distribution of the first array, which is that of the result.
    #[must_use]
    pub fn distribution(&self) -> &Distribution {
        &self.first.distribution
    }

    /// A function of each element.
    pub fn map<U: Element>(&self, f: impl Fn(T) -> U + Send + Sync + 'c) -> Expr<'c, U> {
        Expr {
            node: Arc::new(Map {
                inner: self.node.clone(),
                f,
            }),
            first: self.first.clone(),
            arrays: self.arrays + 1,
            wrong: self.wrong.clone(),
        }
    }

    /// A function of each element and the one at its place in another array.
    pub fn zip<U: Element, V: Element>(
        &self,
        other: impl Into<Expr<'c, U>>,
        f: impl Fn(T, U) -> V + Send + Sync + 'c,
    ) -> Expr<'c, V> {
        let other = other.into();
        let shapes = (other.shape() != self.shape()).then(|| IoError::Shape {
            given: other.shape().to_vec(),
            allowed: self.shape().to_vec(),
        });
        Expr {
            first: self.first.clone(),
            arrays: self.arrays + other.arrays + 1,
            wrong: self.wrong.clone().or(other.wrong).or(shapes),
            node: Arc::new(Zip {
                left: self.node.clone(),
                right: other.node,
                f,
            }),
        }
    }

    /// Whether each element equals that of another array, or a value.
    pub fn eq(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, bool> {
        self.with(other, |a, b| a == b)
    }

    /// Whether each element differs from that of another array, or from a value.
    pub fn ne(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, bool> {
        self.with(other, |a, b| a != b)
    }

    fn with<V: Element>(
        &self,
        other: impl Into<Operand<'c, T>>,
        f: impl Fn(T, T) -> V + Send + Sync + 'c,
    ) -> Expr<'c, V> {
        match other.into() {
            Operand::Array(other) => self.zip(*other, f),
            Operand::Value(value) => self.map(move |element| f(element, value)),
        }
    }

    /// Computes the part of every rank. Collective; equal expressions.
    ///
    /// # Errors
    /// As [`H5Array::load`]; [`IoError::Shape`] when the arrays have different shapes.
    pub fn load(&self) -> Result<DistBuffer<HostArray<T>>, IoError> {
        self.check()?;
        let piece = Piece {
            range: None,
            distribution: self.first.distribution.clone(),
        };
        self.part(&piece)
    }

    /// Why it cannot be computed, if so, once all ranks say the same. Collective.
    fn check(&self) -> Result<(), IoError> {
        let wrong = self.wrong.as_ref().map(IoError::to_string);
        let wrong = wrong.unwrap_or_default();
        same(self.first.comm, &[("expression", wrong.as_bytes())])?;
        self.wrong.clone().map_or(Ok(()), Err)
    }

    fn part(&self, piece: &Piece) -> Result<DistBuffer<HostArray<T>>, IoError> {
        let elements = self.node.part(piece)?;
        let comm = self.first.comm;
        let part = || {
            let dim_data = piece.distribution.dim_data(comm.rank())?;
            let shape = dim_data.local_shape().into_iter().map(usize::try_from);
            let shape = shape
                .collect::<Result<_, _>>()
                .map_err(|_| IoError::Overflow {
                    what: "number of elements of a part",
                })?;
            Ok::<_, IoError>(DistBuffer::new(dim_data, HostArray::new(shape, elements)?)?)
        };
        Ok(agree(comm, part())?)
    }

    /// Computes the array in pieces that, with all arrays it follows from, take no more than `budget` bytes on a rank, and calls `f` with
    /// each, its dimension, and where along that it begins. Collective.
    fn each(&self, budget: u64, f: &mut Visit<'_, T>) -> Result<(), IoError> {
        same(
            self.first.comm,
            &[("budget", budget.to_string().as_bytes())],
        )?;
        self.check()?;
        if self.shape().is_empty() {
            return f(self.load()?, None);
        }
        if self.shape().contains(&0) {
            return Ok(());
        }
        let cut = Cut::new(&self.first, 16, budget / self.arrays.max(1));
        for number in 0..cut.count() {
            let Some((start, len)) = cut.piece(number) else {
                break;
            };
            let range = Some((cut.axis, start, len));
            let fragment = self.first.fragment(cut.axis, start, len)?;
            let piece = Piece {
                range,
                distribution: fragment.distribution,
            };
            f(self.part(&piece)?, range)?;
        }
        Ok(())
    }

    /// Computes the array in pieces within `budget` bytes a rank and saves it as a contiguous dataset, distributed as the first array.
    /// Collective; equal expressions, paths, keys and budgets.
    ///
    /// The dataset is made first, as by [`create`](crate::create), and then filled in place.
    ///
    /// # Errors
    /// As [`create`](crate::create), [`load`](Self::load) and [`H5Array::assign`].
    pub fn save(
        &self,
        path: impl AsRef<Path>,
        key: &str,
        budget: u64,
    ) -> Result<H5Array<'c, T>, IoError> {
        self.check()?;
        let comm = self.first.comm;
        let made = create::<T>(path, key, &self.first.distribution, comm)?;
        self.each(budget, &mut |part, range| {
            let target = match range {
                None => made.clone(),
                Some((axis, start, len)) => H5Array::new(made.handle.fragment(axis, start, len)?),
            };
            target.assign(&part).map(drop)
        })?;
        Ok(made)
    }

    /// The value of `f` over all elements, folded from `start` on on each rank and then by rank. Collective.
    fn fold<R: Element>(
        &self,
        budget: u64,
        start: R,
        mut f: impl FnMut(R, T) -> R,
        over_ranks: impl FnMut(R, R) -> R,
    ) -> Result<R, IoError> {
        let comm = self.first.comm;
        let mut own = start;
        self.each(budget, &mut |part, range| {
            // of a scalar every rank has a copy
            if range.is_some() || comm.rank() == 0 {
                for &element in part.buffer().data() {
                    own = f(own, element);
                }
            }
            Ok(())
        })?;
        Ok(folded(comm, Some(own), over_ranks)?.unwrap_or(start))
    }
}

impl Expr<'_, bool> {
    /// How many elements are true. Collective; equal expressions and budgets (bytes a rank).
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn count(&self, budget: u64) -> Result<u64, IoError> {
        self.fold(budget, 0, |n, element| n + u64::from(element), |a, b| a + b)
    }
}

impl<'c, T: Number> Expr<'c, T> {
    /// The sum of all elements: those of each rank in the order of its pieces, then those of the ranks in their order. An element that
    /// several ranks store counts each time. Collective; equal expressions and budgets (bytes a rank).
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn sum(&self, budget: u64) -> Result<T, IoError> {
        self.fold(budget, T::default(), T::plus, T::plus)
    }

    /// The distance from 0.
    pub fn abs(&self) -> Self {
        self.map(T::distance)
    }

    /// Whether each element is less than that of another array, or than a value.
    pub fn lt(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, bool> {
        self.with(other, |a, b| a < b)
    }

    /// Whether each element is at most that of another array, or a value.
    pub fn le(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, bool> {
        self.with(other, |a, b| a <= b)
    }

    /// Whether each element is greater than that of another array, or than a value.
    pub fn gt(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, bool> {
        self.with(other, |a, b| a > b)
    }

    /// Whether each element is at least that of another array, or a value.
    pub fn ge(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, bool> {
        self.with(other, |a, b| a >= b)
    }
}

impl Expr<'_, f32> {
    /// The square root.
    pub fn sqrt(&self) -> Self {
        self.map(f32::sqrt)
    }
}

impl Expr<'_, f64> {
    /// The square root.
    pub fn sqrt(&self) -> Self {
        self.map(f64::sqrt)
    }
}

/// The other side of an operator: an array, or a number for all its elements.
#[derive(Debug)]
#[non_exhaustive]
pub enum Operand<'c, T> {
    /// An array, element by element.
    Array(Box<Expr<'c, T>>),
    /// A value.
    Value(T),
}

impl<'c, T: Element> From<H5Array<'c, T>> for Expr<'c, T> {
    fn from(array: H5Array<'c, T>) -> Self {
        Self {
            node: Arc::new(Leaf(array.handle.clone())),
            first: array.handle,
            arrays: 1,
            wrong: None,
        }
    }
}

impl<'c, T: Element> From<&H5Array<'c, T>> for Expr<'c, T> {
    fn from(array: &H5Array<'c, T>) -> Self {
        array.clone().into()
    }
}

impl<T> From<&Self> for Expr<'_, T> {
    fn from(expr: &Self) -> Self {
        expr.clone()
    }
}

impl<'c, T> From<Expr<'c, T>> for Operand<'c, T> {
    fn from(expr: Expr<'c, T>) -> Self {
        Self::Array(Box::new(expr))
    }
}

impl<'c, T> From<&Expr<'c, T>> for Operand<'c, T> {
    fn from(expr: &Expr<'c, T>) -> Self {
        Self::Array(Box::new(expr.clone()))
    }
}

impl<'c, T: Element> From<H5Array<'c, T>> for Operand<'c, T> {
    fn from(array: H5Array<'c, T>) -> Self {
        Self::Array(Box::new(array.into()))
    }
}

impl<'c, T: Element> From<&H5Array<'c, T>> for Operand<'c, T> {
    fn from(array: &H5Array<'c, T>) -> Self {
        Self::Array(Box::new(array.into()))
    }
}

macro_rules! values {
    ($($t:ty),*) => {$(
        impl From<$t> for Operand<'_, $t> {
            fn from(value: $t) -> Self {
                Self::Value(value)
            }
        }
    )*};
}

values!(bool, i8, i16, i32, i64, u8, u16, u32, u64, f32, f64);

macro_rules! operators {
    ($($trait:ident, $method:ident, $of:ident);* $(;)?) => {$(
        operators!(@one $trait, $method, $of, H5Array<'c, T>);
        operators!(@one $trait, $method, $of, &H5Array<'c, T>);
        operators!(@one $trait, $method, $of, Expr<'c, T>);
        operators!(@one $trait, $method, $of, &Expr<'c, T>);
    )*};
    (@one $trait:ident, $method:ident, $of:ident, $left:ty) => {
        impl<'c, T: Number, R: Into<Operand<'c, T>>> $trait<R> for $left {
            type Output = Expr<'c, T>;

            fn $method(self, other: R) -> Expr<'c, T> {
                Expr::<'c, T>::from(self).with(other, T::$of)
            }
        }
    };
}

operators! {
    Add, add, plus;
    Sub, sub, minus;
    Mul, mul, times;
    Div, div, over;
    Rem, rem, modulo;
}

macro_rules! negation {
    ($($of:ty),*) => {$(
        impl<'c, T: Number> Neg for $of {
            type Output = Expr<'c, T>;

            fn neg(self) -> Expr<'c, T> {
                Expr::<'c, T>::from(self).map(T::negative)
            }
        }
    )*};
}

negation!(H5Array<'c, T>, &H5Array<'c, T>, Expr<'c, T>, &Expr<'c, T>);

impl<'c, T: Element> H5Array<'c, T> {
    /// This array as an expression, to which functions and comparisons are applied.
    pub fn expr(&self) -> Expr<'c, T> {
        self.into()
    }

    /// The elements whose flag is set, in C order, as an array of one dimension in blocks: `NumPy`'s `array[flags]`. Collective; equal
    /// handles and flags.
    ///
    /// The flags are an array of this shape, or a comparison of some. Each rank keeps those of consecutive rows; how many that is depends on
    /// the flags.
    ///
    /// # Errors
    /// As [`load`](Self::load); [`IoError::Shape`] when the flags have another shape.
    pub fn mask(
        &self,
        flags: impl Into<Expr<'c, bool>>,
    ) -> Result<DistBuffer<HostArray<T>>, IoError> {
        let comm = self.handle.comm;
        let flags: Expr<'c, bool> = flags.into();
        flags.check()?;
        if flags.first.shape() != self.shape() {
            return Err(IoError::Shape {
                given: flags.first.shape().to_vec(),
                allowed: self.shape().to_vec(),
            });
        }
        let ranks = comm.size();
        // rows: the parts of the ranks follow each other in C order
        let rows = super::handle::spread(self.shape(), &[0][..self.ndim().min(1)], ranks)?;
        let piece = Piece {
            range: None,
            distribution: rows,
        };
        let (flags, elements) = (
            flags.node.part(&piece)?,
            Node::<T>::part(&Leaf(self.handle.clone()), &piece)?,
        );
        // of a scalar every rank has a copy
        let counts = self.ndim() > 0 || comm.rank() == 0;
        let kept = elements.into_iter().zip(flags);
        let kept: Vec<T> = kept
            .filter(|&(_, flag)| flag && counts)
            .map(|(element, _)| element)
            .collect();
        let lens = dist_comm::CommExt::all_gather_value(comm, kept.len() as u64)?;
        let mut bounds = vec![0];
        for len in lens {
            bounds.push(bounds[bounds.len() - 1] + len);
        }
        let part = || {
            let axis = dist_maps::AxisDist::block_bounds(bounds)?;
            let dims = dap_protocol::DimData::new(vec![axis.dim_dict(comm.rank())?]);
            Ok::<_, IoError>(DistBuffer::new(
                dims,
                HostArray::new(vec![kept.len()], kept)?,
            )?)
        };
        Ok(agree(comm, part())?)
    }
}
