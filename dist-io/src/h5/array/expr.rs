//! [`Expr`]: arithmetic on handles, evaluated piece by piece.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use dap_protocol::{DistBuffer, Element, HostArray, copy_bytes_to_elements};
use dist_comm::agree::agree;
use dist_maps::Distribution;

use super::fragment::folded;
use super::handle::Handle;
use super::number::{Divisible, Number, Root};
use super::operators::Operand;
use super::pieces::{By, Pieces, Within};
use super::read::{Loaded, load_as};
use super::{H5Array, create};
use crate::IoError;
use crate::h5::together::same;

/// Elements that are computed at a time: few enough that all on the way stay near the processor.
pub(super) const BLOCK: usize = 4096;

/// Expressions in each other, at most: each is a call in another.
const DEPTH: usize = 256;

/// An array that follows from others element by element, and is not computed yet: what operators on [`H5Array`] make.
///
/// `+ - * / %` and negation, `& | ^ ! << >>`, comparisons, [`abs`](Self::abs), [`sqrt`](Self::sqrt) and the others below, and with
/// [`map`](Self::map) and [`zip`](Self::zip) any function. An operand is an array, an expression, or a value of the element type, on either
/// side. The distribution is that of the first array; every other one is read in that distribution, whatever its own. An array that
/// occurs several times is read once.
///
/// Elements are computed in their own type, halves in `f32`, and nothing panics: integers wrap around, and are 0 where they are divided by
/// zero. The operators are Rust's: `/` on integers truncates, and `%` has the sign of the dividend. `NumPy`'s are
/// [`floor_divide`](Self::floor_divide), [`remainder`](Self::remainder) and [`true_divide`](Self::true_divide).
///
/// Arrays of different shapes are no error until something is computed.
///
/// What is computed within a budget is computed piece by piece: the budget is for the parts of all arrays of a piece, those of the next
/// one, which a thread reads meanwhile, the slabs that are read before they are exchanged, and the result. A piece has one index of the longest
/// dimension at least; messages of an exchange between processes come beside the budget.
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
///     let celsius = &kelvin - 270.0; // nothing is read yet
///     assert_eq!((&celsius * &weight).sum(1 << 20)?, 200.0);
///     let warm = celsius.gt(15.0);
///     assert_eq!(warm.count(1 << 20)?, 2);
///     celsius.save(&path, "celsius", 1 << 20)?; // no more than 1 MiB of it is in memory
///     assert_eq!(open_dset::<f64>(&path, "celsius", comm)?.gather()?.data(), [0.0, 10.0, 20.0, 30.0]);
///     assert_eq!(weight.mask(&warm, 1 << 20)?.buffer().data().iter().sum::<f64>(), [0.0, 7.0][comm.rank()]);
///     weight.assign_computed(1.0 / &weight, 1 << 20)?; // in place
///     assert_eq!(weight.at(&[3])?, 0.25);
///     Ok::<_, IoError>(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct Expr<'c, T> {
    pub(super) node: Arc<dyn Node<T> + 'c>,
    pub(super) first: Handle<'c>,
    /// All arrays, each once; the first is one of them.
    pub(super) leaves: Vec<Handle<'c>>,
    depth: usize,
    /// Why it cannot be computed.
    wrong: Option<IoError>,
}

/// Something that has elements.
pub(super) trait Node<T>: Send + Sync {
    /// Appends these elements of this rank's part, which is in C order.
    fn block(&self, parts: &Parts<'_>, range: Range<usize>, to: &mut Vec<T>);
}

/// This rank's parts of all arrays of an expression, as bytes.
pub(super) struct Parts<'a> {
    pub(super) leaves: &'a [Handle<'a>],
    pub(super) loaded: &'a [Loaded<u8>],
}

struct Leaf<'c>(Handle<'c>);

impl<T: Element> Node<T> for Leaf<'_> {
    fn block(&self, parts: &Parts<'_>, range: Range<usize>, to: &mut Vec<T>) {
        let all = parts.leaves.iter().zip(parts.loaded);
        let own = all.into_iter().find(|(leaf, _)| leaf.sees_as(&self.0));
        let item = size_of::<T>();
        let bytes = own.map_or(&[][..], |(_, loaded)| &loaded.elements);
        let start = to.len();
        to.resize(start + range.len(), T::default());
        // all of them are values: that was checked when they were read
        let bytes = bytes.get(range.start * item..range.end * item);
        let _ = copy_bytes_to_elements(bytes.unwrap_or_default(), &mut to[start..]);
    }
}

struct Map<'c, S, F> {
    inner: Arc<dyn Node<S> + 'c>,
    f: F,
}

impl<S: Element, T: Element, F: Fn(S) -> T + Send + Sync> Node<T> for Map<'_, S, F> {
    fn block(&self, parts: &Parts<'_>, range: Range<usize>, to: &mut Vec<T>) {
        let mut inner = Vec::with_capacity(range.len());
        self.inner.block(parts, range, &mut inner);
        to.extend(inner.into_iter().map(&self.f));
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
    fn block(&self, parts: &Parts<'_>, range: Range<usize>, to: &mut Vec<T>) {
        let (mut left, mut right) = (
            Vec::with_capacity(range.len()),
            Vec::with_capacity(range.len()),
        );
        self.left.block(parts, range.clone(), &mut left);
        self.right.block(parts, range, &mut right);
        let pairs = left.into_iter().zip(right);
        to.extend(pairs.map(|(a, b)| (self.f)(a, b)));
    }
}

/// What is nothing because the expression is wrong.
struct Nothing;

impl<T> Node<T> for Nothing {
    fn block(&self, _: &Parts<'_>, _: Range<usize>, _: &mut Vec<T>) {}
}

impl<T> Clone for Expr<'_, T> {
    fn clone(&self) -> Self {
        Self {
            node: self.node.clone(),
            first: self.first.clone(),
            leaves: self.leaves.clone(),
            depth: self.depth,
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

impl<'c, T: Element> From<H5Array<'c, T>> for Expr<'c, T> {
    fn from(array: H5Array<'c, T>) -> Self {
        Self {
            node: Arc::new(Leaf(array.handle.clone())),
            leaves: vec![array.handle.clone()],
            first: array.handle,
            depth: 1,
            wrong: None,
        }
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
        let inner = self.node.clone();
        self.over(self.depth, || Arc::new(Map { inner, f }))
    }

    /// A function of each element and the one at its place in another array.
    pub fn zip<U: Element, V: Element>(
        &self,
        other: impl Into<Expr<'c, U>>,
        f: impl Fn(T, U) -> V + Send + Sync + 'c,
    ) -> Expr<'c, V> {
        let other: Expr<'c, U> = other.into();
        let (left, right) = (self.node.clone(), other.node.clone());
        let depth = self.depth.max(other.depth);
        let mut both = self.over(depth, || Arc::new(Zip { left, right, f }));
        let shapes = (other.shape() != self.shape()).then(|| IoError::Shape {
            given: other.shape().to_vec(),
            allowed: self.shape().to_vec(),
        });
        both.wrong = both.wrong.or(other.wrong).or(shapes);
        for leaf in other.leaves {
            if !both.leaves.iter().any(|known| known.sees_as(&leaf)) {
                both.leaves.push(leaf);
            }
        }
        both
    }

    /// One that follows from what is so deep, unless that is too deep.
    fn over<U: Element>(
        &self,
        depth: usize,
        node: impl FnOnce() -> Arc<dyn Node<U> + 'c>,
    ) -> Expr<'c, U> {
        let is_too_deep = depth > DEPTH;
        Expr {
            node: if is_too_deep {
                Arc::new(Nothing)
            } else {
                node()
            },
            first: self.first.clone(),
            leaves: self.leaves.clone(),
            depth: if is_too_deep { 1 } else { depth + 1 },
            wrong: match &self.wrong {
                None if is_too_deep => Some(IoError::Depth { allowed: DEPTH }),
                wrong => wrong.clone(),
            },
        }
    }

    pub(super) fn with<V: Element>(
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
    /// As [`H5Array::load`]; [`IoError::Shape`] when the arrays have different shapes, [`IoError::Depth`] when more than 256 operations
    /// are in each other.
    pub fn load(&self) -> Result<DistBuffer<HostArray<T>>, IoError> {
        self.check()?;
        let distribution = &self.first.distribution;
        let load = |leaf: &Handle<'c>| load_as(&leaf.distribute(distribution)?, distribution);
        let loaded = self.leaves.iter().map(load);
        let loaded = loaded.collect::<Result<Vec<_>, IoError>>()?;
        self.computed(&loaded)
    }

    /// Why it cannot be computed, if so, once all ranks say the same. Collective.
    pub(super) fn check(&self) -> Result<(), IoError> {
        let wrong = self.wrong.as_ref().map(IoError::to_string);
        let wrong = wrong.unwrap_or_default();
        same(self.first.comm, &[("expression", wrong.as_bytes())])?;
        self.wrong.clone().map_or(Ok(()), Err)
    }

    /// Calls `f` with the elements of this rank's part, some at a time. Local.
    fn blocks(&self, loaded: &[Loaded<u8>], f: &mut dyn FnMut(&[T])) {
        let Some(first) = loaded.first() else { return };
        let parts = Parts {
            leaves: &self.leaves,
            loaded,
        };
        let elements: usize = first.shape.iter().product();
        let mut block = Vec::new();
        for start in (0..elements).step_by(BLOCK) {
            block.clear();
            let end = start.saturating_add(BLOCK).min(elements);
            self.node.block(&parts, start..end, &mut block);
            f(&block);
        }
    }

    /// The part that follows from those of the arrays. Collective.
    pub(super) fn computed(
        &self,
        loaded: &[Loaded<u8>],
    ) -> Result<DistBuffer<HostArray<T>>, IoError> {
        let part = || {
            // of the first array
            let first = loaded.first().ok_or(IoError::Overflow {
                what: "number of arrays",
            })?;
            let count = first.shape.iter().product::<usize>();
            let mut elements = Vec::new();
            elements
                .try_reserve_exact(count)
                .map_err(|_| IoError::Memory {
                    bytes: count.saturating_mul(size_of::<T>()),
                })?;
            self.blocks(loaded, &mut |block| elements.extend_from_slice(block));
            let buffer = HostArray::new(first.shape.clone(), elements)?;
            Ok::<_, IoError>(DistBuffer::new(first.dim_data.clone(), buffer)?)
        };
        Ok(agree(self.first.comm, part())?)
    }

    /// Computes the array in pieces within `budget` bytes a rank and saves it as a contiguous dataset, distributed as the first array.
    /// Collective; equal expressions, paths, keys and budgets.
    ///
    /// The dataset is made first, as by [`create`](crate::create), and then filled in place. Pieces are read ahead unless they are read
    /// from the file that is written to.
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
        let made = create::<T>(path, key, &self.first.distribution, self.first.comm)?;
        made.assign_computed(self, budget)?;
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
        self.check()?;
        let comm = self.first.comm;
        // of a scalar every rank has a copy
        let counts = !self.shape().is_empty() || comm.rank() == 0;
        let mut own = start;
        let within = Within {
            by: By::Longest,
            budget,
            ahead: true,
        };
        let pieces = Pieces::new(&self.first, &self.leaves, within, &|_| Ok(0))?;
        pieces.each::<u8>(&mut |_, loaded| {
            if counts {
                self.blocks(&loaded, &mut |block| {
                    own = block.iter().fold(own, |own, &element| f(own, element));
                });
            }
            Ok(())
        })?;
        Ok(folded(comm, Some(own), over_ranks)?.unwrap_or(start))
    }

    /// Whether each element equals that of another array, or a value.
    pub fn eq(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, bool> {
        self.with(other, |a, b| a == b)
    }

    /// Whether each element differs from that of another array, or from a value.
    pub fn ne(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, bool> {
        self.with(other, |a, b| a != b)
    }
}

impl<'c, T: Element + PartialOrd> Expr<'c, T> {
    /// Whether each element is less than that of another array, or than a value; never where one is NaN.
    pub fn lt(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, bool> {
        self.with(other, |a, b| a < b)
    }

    /// Whether each element is at most that of another array, or a value; never where one is NaN.
    pub fn le(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, bool> {
        self.with(other, |a, b| a <= b)
    }

    /// Whether each element is greater than that of another array, or than a value; never where one is NaN.
    pub fn gt(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, bool> {
        self.with(other, |a, b| a > b)
    }

    /// Whether each element is at least that of another array, or a value; never where one is NaN.
    pub fn ge(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, bool> {
        self.with(other, |a, b| a >= b)
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
    /// The sum of all elements: those of each rank in the order of its pieces, then those of the ranks in their order. Each counts once,
    /// whatever the distribution. Integers are added up in 64 bits and wrap, halves in `f32`. Collective; equal expressions and budgets
    /// (bytes a rank).
    ///
    /// # Errors
    /// As [`load`](Self::load).
    pub fn sum(&self, budget: u64) -> Result<T::Sum, IoError> {
        let plus = <T::Wide as Number>::plus;
        let sum = |sum, element: T| plus(sum, element.widened());
        let wide = self.fold(budget, T::Wide::default(), sum, plus)?;
        Ok(T::summed(wide))
    }

    /// The distance from 0: a real number for complex ones. That of the least signed integer wraps to itself.
    pub fn abs(&self) -> Expr<'c, T::Distance> {
        self.map(T::distance)
    }

    /// The true quotient: of integers an `f64`, infinite or NaN where the divisor is 0.
    pub fn true_divide(&self, other: impl Into<Operand<'c, T>>) -> Expr<'c, T::Quotient> {
        self.with(other, T::quotient)
    }
}

impl<'c, T: Divisible> Expr<'c, T> {
    /// The quotient rounded down, Python's `//`; 0 where an integer is divided by 0.
    pub fn floor_divide(&self, other: impl Into<Operand<'c, T>>) -> Self {
        self.with(other, T::floored)
    }

    /// What [`floor_divide`](Self::floor_divide) leaves, Python's `%`: it has the sign of the divisor, and is 0 where an integer is
    /// divided by 0.
    pub fn remainder(&self, other: impl Into<Operand<'c, T>>) -> Self {
        self.with(other, T::floored_rest)
    }
}

impl<T: Root> Expr<'_, T> {
    /// The square root; of complex numbers the one with a real part that is not negative.
    pub fn sqrt(&self) -> Self {
        self.map(T::root)
    }
}

impl<'c, T: Element> H5Array<'c, T> {
    /// This array as an expression, to which functions and comparisons are applied.
    pub fn expr(&self) -> Expr<'c, T> {
        self.into()
    }
}
