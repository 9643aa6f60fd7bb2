//! Feature `ndarray`: its arrays and views, of any stride, are buffers; [`HostArray`] becomes one.

use ndarray::{
    Array, ArrayBase, ArrayD, ArrayViewD, Axis, Data, DataMut, Dimension, IxDyn, RawData,
    ShapeBuilder,
};

use crate::buffer::{CopyError, copy_bytes_to_elements, visit_elements};
use crate::{Element, ElementType, HostArray, HostBuffer, HostBufferMut, LocalBuffer, Order};

impl<S, D> LocalBuffer for ArrayBase<S, D>
where
    S: RawData,
    S::Elem: Element,
    D: Dimension,
{
    fn shape(&self) -> &[usize] {
        ArrayBase::shape(self)
    }
    fn element_type(&self) -> ElementType {
        S::Elem::TYPE
    }
}

impl<S, D> HostBuffer for ArrayBase<S, D>
where
    S: Data,
    S::Elem: Element,
    D: Dimension,
{
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        let view = self.view();
        let (elements, order) = match view.to_slice() {
            Some(elements) => (elements, Order::C),
            None => (self.view().reversed_axes().to_slice()?, Order::Fortran),
        };
        Some((bytemuck::must_cast_slice(elements), order))
    }

    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        visit_view(&self.view().into_dyn(), visit);
    }
}

/// The largest contiguous sub-arrays in C order.
fn visit_view<T: Element>(view: &ArrayViewD<'_, T>, visit: &mut dyn FnMut(&[u8])) {
    if let Some(elements) = view.to_slice() {
        visit(bytemuck::must_cast_slice(elements));
    } else if view.ndim() == 1 {
        visit_elements(view.iter().copied(), visit);
    } else {
        for part in view.axis_iter(Axis(0)) {
            visit_view(&part, visit);
        }
    }
}

impl<S, D> HostBufferMut for ArrayBase<S, D>
where
    S: DataMut,
    S::Elem: Element,
    D: Dimension,
{
    fn copy_from_bytes(&mut self, bytes: &[u8]) -> Result<(), CopyError> {
        if let Some(elements) = self.as_slice_mut() {
            return copy_bytes_to_elements(bytes, elements);
        }
        let size = size_of::<S::Elem>();
        let expected = self.len() * size; // of memory that is there
        if bytes.len() != expected {
            return Err(CopyError::Length {
                given: bytes.len(),
                expected,
            });
        }
        for (i, (chunk, slot)) in bytes.chunks_exact(size).zip(self.iter_mut()).enumerate() {
            copy_bytes_to_elements(chunk, std::slice::from_mut(slot))
                .map_err(|e| e.shifted(i * size))?;
        }
        Ok(())
    }
}

impl<T: Element> From<HostArray<T>> for ArrayD<T> {
    /// Without a copy, Fortran order too.
    fn from(array: HostArray<T>) -> Self {
        let (shape, data, order) = array.into_parts();
        let shape = IxDyn(&shape).set_f(order == Order::Fortran);
        // HostArray::with_order asks for what ndarray does: as many elements as the shape says,
        // and a product of the extents that are not 0 of at most isize::MAX.
        Self::from_shape_vec(shape, data).unwrap_or_else(|e| unreachable!("checked shape: {e}"))
    }
}

impl<T: Element, D: Dimension> From<Array<T, D>> for HostArray<T> {
    /// Without a copy where the array is contiguous in C or Fortran order and has its allocation
    /// to itself; in C order elsewhere.
    fn from(array: Array<T, D>) -> Self {
        let shape = array.shape().to_vec();
        let order = if array.is_standard_layout() {
            Some(Order::C)
        } else {
            array.t().is_standard_layout().then_some(Order::Fortran)
        };
        if let Some(order) = order {
            let len = array.len();
            let (mut data, offset) = array.into_raw_vec_and_offset();
            let offset = offset.unwrap_or(0);
            data.truncate(offset + len);
            data.drain(..offset);
            return Self::from_checked(shape, data, order);
        }
        let data = array.iter().copied().collect();
        Self::from_checked(shape, data, Order::C)
    }
}
