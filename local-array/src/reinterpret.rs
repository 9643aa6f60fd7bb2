//! The bytes of elements as elements of another type: `view_as` and `local_view`.

use std::sync::Arc;

use bytemuck::checked::try_cast_slice;
use dap_protocol::Element;
use dist_comm::Communicator;
use dist_maps::{AxisDist, Distribution, MapError};
use ndarray::{ArrayView, Axis, Data, Dimension, IxDyn, ShapeBuilder};

use crate::{ArrayError, LocalArrayBase, LocalArrayView};

impl<S, D, C> LocalArrayBase<S, D, C>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator,
{
    /// The bytes of the array as elements of type `U` (`DistArray`'s `view(dtype)`); nothing is copied. Local.
    ///
    /// Types of one size keep the shape. Otherwise the last axis has more or fewer elements by the ratio of the sizes: its
    /// bounds, blocks and lists are scaled, and must stay whole where elements become larger. It must be without padding.
    /// Byte order is that of the machine; `view()` alone keeps the type.
    ///
    /// ```
    /// use dist_comm::{Communicator, ThreadComm};
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, array};
    ///
    /// let parts = ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([3]).block(0).build()?; // 2, 1 elements
    ///     let a = LocalArray::<f32, Ix1, _>::ones(&blocks, comm)?;
    ///     assert_eq!(a.view_as::<u32>()?.max()?, 0x3f80_0000);
    ///     let bytes = a.view_as::<u8>()?;
    ///     assert_eq!(bytes.global_shape(), [12]);
    ///     Ok::<_, ArrayError>(bytes.local_size())
    /// })?;
    /// assert_eq!(parts, [8, 4]);
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::Argument`] where the last axis does not divide into the new elements, is padded,
    /// or is missing. On a rank alone: as [`local_view`](Self::local_view).
    pub fn view_as<U: Element>(&self) -> Result<LocalArrayView<'_, U, D, &C>, ArrayError> {
        let (old, new) = (size_of::<S::Elem>(), size_of::<U>());
        if old == new {
            return Ok(self.with_data(self.local_view()?, &self.comm));
        }
        let distribution = rescaled(self.distribution(), old as u64, new as u64)?;
        let part = crate::part::Part::new(Arc::new(distribution), &self.comm)?;
        LocalArrayView::from_part(self.local_view()?, Arc::new(part), &self.comm)
    }

    /// The bytes of what this rank stores, padding included, as elements of type `U`; nothing is copied. Local.
    ///
    /// Shape: [`local_shape`](Self::local_shape), the last extent scaled by the ratio of the sizes.
    ///
    /// ```
    /// use dist_comm::ThreadComm;
    /// use dist_maps::Distribution;
    /// use local_array::{ArrayError, LocalArray};
    /// use ndarray::{Ix1, array};
    ///
    /// ThreadComm::run(2, |comm| {
    ///     let blocks = Distribution::over(2).shape([4]).block(0).build()?; // 2 elements on each rank
    ///     let a = LocalArray::<f64, Ix1, _>::ones(&blocks, comm)?;
    ///     assert_eq!(a.local_view::<u64>()?, array![0x3ff0_0000_0000_0000, 0x3ff0_0000_0000_0000]);
    ///     assert_eq!(a.local_view::<u16>()?.shape(), [8]);
    ///     Ok::<_, ArrayError>(())
    /// })?;
    /// # Ok::<(), dist_comm::RunError<ArrayError>>(())
    /// ```
    ///
    /// # Errors
    /// [`ArrayError::Argument`] where the elements are not dense in memory (in C order where the sizes differ), the last
    /// extent does not divide, an address is not aligned for `U`, or a byte is no `bool`.
    pub fn local_view<U: Element>(&self) -> Result<ArrayView<'_, U, D>, ArrayError> {
        let wrong = |given: &str, allowed: &str| ArrayError::Argument {
            what: "elements to be seen as another type",
            given: given.to_owned(),
            allowed: format!("{allowed} for {}", U::TYPE),
        };
        let data = self.data.view();
        let (old, new) = (size_of::<S::Elem>(), size_of::<U>());
        let dense = if old == new {
            data.to_slice_memory_order()
        } else {
            data.to_slice()
        };
        let dense =
            dense.ok_or_else(|| wrong("with gaps or in another order", "dense elements"))?;
        let mut shape = data.shape().to_vec();
        let strides = data.strides();
        if old != new {
            let last = shape
                .last_mut()
                .ok_or_else(|| wrong("of no dimension", "a last axis"))?;
            *last = scaled(*last as u64, old as u64, new as u64)
                .and_then(|n| usize::try_from(n).ok())
                .ok_or_else(|| wrong("of a last extent that does not divide", "whole elements"))?;
        }
        let elements: &[U] = if dense.is_empty() {
            &[]
        } else {
            try_cast_slice(dense).map_err(|error| wrong(&error.to_string(), "aligned elements"))?
        };
        let failed = |_| wrong("in another order", "C or Fortran order");
        let view = if old == new {
            // Axes that run backwards are turned round before, and back after.
            let turned: Vec<usize> = (0..shape.len()).filter(|&axis| strides[axis] < 0).collect();
            let strides: Vec<usize> = strides.iter().map(|stride| stride.unsigned_abs()).collect();
            let layout = IxDyn(&shape).strides(IxDyn(&strides));
            let mut view = ArrayView::from_shape(layout, elements).map_err(failed)?;
            for axis in turned {
                view.invert_axis(Axis(axis));
            }
            view
        } else {
            ArrayView::from_shape(IxDyn(&shape), elements).map_err(failed)?
        };
        view.into_dimensionality().map_err(failed)
    }
}

/// `n` elements of `old` bytes as elements of `new` bytes, if they are whole.
fn scaled(n: u64, old: u64, new: u64) -> Option<u64> {
    let bytes = n.checked_mul(old)?;
    (bytes % new == 0).then_some(bytes / new)
}

/// The distribution with elements of another size along the last axis.
fn rescaled(distribution: &Distribution, old: u64, new: u64) -> Result<Distribution, ArrayError> {
    let wrong = |given: String, allowed: &str| ArrayError::Argument {
        what: "last axis to be seen as another type",
        given,
        allowed: allowed.to_owned(),
    };
    let mut axes = distribution.axes().to_vec();
    let Some(last) = axes.last_mut() else {
        return Err(wrong("none".to_owned(), "one axis or more"));
    };
    let whole = |n: u64| {
        scaled(n, old, new).ok_or_else(|| {
            wrong(
                format!("a bound of {n}"),
                "bounds that are whole in the new elements",
            )
        })
    };
    let axis: Result<AxisDist, MapError> = match &*last {
        AxisDist::Block {
            bounds, padding, ..
        } => {
            if padding
                .iter()
                .any(|padding| padding.lower + padding.upper > 0)
            {
                return Err(wrong("padded".to_owned(), "an axis without padding"));
            }
            let bounds: Vec<u64> = bounds
                .iter()
                .map(|&bound| whole(bound))
                .collect::<Result<_, _>>()?;
            AxisDist::block_bounds(bounds)
        }
        AxisDist::Cyclic {
            size,
            ranks,
            block_size,
            ..
        } => AxisDist::cyclic(whole(*size)?, *ranks, whole(*block_size)?),
        AxisDist::Unstructured { size, indices, .. } => {
            let lists = indices.iter().map(|list| rescaled_list(list, old, new));
            let lists: Option<Vec<Vec<i64>>> = lists.collect();
            let lists = lists
                .ok_or_else(|| wrong("lists".to_owned(), "lists of whole elements in order"))?;
            AxisDist::unstructured(whole(*size)?, lists)
        }
    };
    *last = axis?;
    Ok(Distribution::from_axes(
        axes,
        distribution.ranks(),
        distribution.targets(),
    )?)
}

/// A list of indices of elements as one of larger or smaller elements; larger ones need neighbours side by side.
fn rescaled_list(list: &[i64], old: u64, new: u64) -> Option<Vec<i64>> {
    if old > new {
        let ratio = i64::try_from(old / new).ok()?;
        let starts = list
            .iter()
            .map(|g| g.checked_mul(ratio))
            .collect::<Option<Vec<_>>>()?;
        return Some(
            starts
                .into_iter()
                .flat_map(|start| start..start + ratio)
                .collect(),
        );
    }
    let ratio = usize::try_from(new / old).ok()?;
    let step = i64::try_from(ratio).ok()?;
    if !list.len().is_multiple_of(ratio) {
        return None;
    }
    let whole = |group: &[i64]| {
        let first = group[0];
        let together = group.iter().zip(first..).all(|(&g, i)| g == i);
        (together && first % step == 0).then_some(first / step)
    };
    list.chunks_exact(ratio).map(whole).collect()
}
