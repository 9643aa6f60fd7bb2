//! Arrays whose elements follow from their indices, and what they are compared with.

use dist_comm::Communicator;
use dist_maps::Distribution;
use local_array::{ArrayError, LocalArray};
use ndarray::{Array, ArrayD, IxDyn};

use super::plain::{cells, draw, flat};
use super::{Outcome, ensure, same};

/// An array whose elements are their flat global indices.
pub fn numbered<'a>(
    distribution: &Distribution,
    comm: &'a dyn Communicator,
) -> Result<LocalArray<i64, IxDyn, &'a dyn Communicator>, ArrayError> {
    let shape = distribution.global_shape().to_vec();
    LocalArray::from_fn(distribution, comm, |index| flat(&shape, index))
}

/// Checks what is owned against the flat indices, through `f`; what is not owned must be `padding`, if given.
pub fn check<T: Copy + PartialEq + std::fmt::Debug>(
    array: &LocalArray<T, IxDyn, &dyn Communicator>,
    f: impl Fn(i64) -> T,
    padding: Option<T>,
    what: &str,
) -> Outcome {
    let shape = array.global_shape();
    let stored = cells(array.distribution(), array.comm().rank());
    same(array.local().len(), stored.len(), what)?;
    for (&found, (index, owned)) in array.local().iter().zip(&stored) {
        let wanted = if *owned {
            Some(f(flat(shape, index)))
        } else {
            padding
        };
        if let Some(wanted) = wanted {
            ensure(found == wanted, || {
                format!("{what}: at {index:?} found {found:?}, wanted {wanted:?}")
            })?;
        }
    }
    Ok(())
}

/// `f` of the elements of each output over `axes`, in C order; computed index by index.
pub fn plainly<T: Copy, U>(whole: &ArrayD<T>, axes: &[usize], f: impl Fn(&[T]) -> U) -> ArrayD<U> {
    let kept: Vec<usize> = (0..whole.ndim())
        .filter(|axis| !axes.contains(axis))
        .collect();
    let shape: Vec<usize> = kept.iter().map(|&axis| whole.shape()[axis]).collect();
    Array::from_shape_fn(IxDyn(&shape), |at| {
        let belongs = |index: &IxDyn| {
            kept.iter()
                .enumerate()
                .all(|(i, &axis)| index[axis] == at[i])
        };
        let elements: Vec<T> = whole
            .indexed_iter()
            .filter(|(index, _)| belongs(index))
            .map(|(_, &x)| x)
            .collect();
        f(&elements)
    })
}

/// Numbers in quarters with many repeats, some of them zero.
pub fn numbers(shape: &[u64], seed: u64) -> ArrayD<f64> {
    let extents: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
    let mut seed = seed;
    Array::from_shape_simple_fn(IxDyn(&extents), || {
        (draw(&mut seed) % 17) as f64 / 4.0 - 2.0
    })
}
