//! [`HostArray`]: shape and elements, the plainest buffer there is.

use crate::buffer::{
    CopyError, HostBuffer, HostBufferMut, LocalBuffer, Order, copy_bytes_to_elements,
};
use crate::{Element, ElementType, ProtocolError};

/// A contiguous buffer in host memory: what readers return and a stranger can build.
///
/// ```
/// use dap_protocol::{HostArray, LocalBuffer};
/// let a = HostArray::new(vec![2, 3], vec![0_i16, 1, 2, 3, 4, 5])?;
/// assert_eq!(a.shape(), [2, 3]);
/// # Ok::<(), dap_protocol::ProtocolError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostArray<T> {
    shape: Vec<usize>,
    data: Vec<T>,
    order: Order,
}

impl<T: Element> HostArray<T> {
    /// An array in C order; `data` has one element per position of `shape`.
    ///
    /// # Errors
    /// [`ProtocolError::ElementCount`] when it has not.
    pub fn new(shape: Vec<usize>, data: Vec<T>) -> Result<Self, ProtocolError> {
        Self::with_order(shape, data, Order::C)
    }

    /// The same in a given order.
    ///
    /// # Errors
    /// [`ProtocolError::ElementCount`] when the number of elements is not the shape's.
    pub fn with_order(
        shape: Vec<usize>,
        data: Vec<T>,
        order: Order,
    ) -> Result<Self, ProtocolError> {
        let expected = checked_len(&shape);
        if expected != Some(data.len()) {
            return Err(ProtocolError::ElementCount {
                given: data.len(),
                shape,
                expected,
            });
        }
        let order = if shape.iter().filter(|&&n| n != 1).count() <= 1 || data.is_empty() {
            Order::C
        } else {
            order
        };
        Ok(Self { shape, data, order })
    }

    /// The elements as they lie in memory, see [`HostArray::order`].
    #[must_use]
    pub fn data(&self) -> &[T] {
        &self.data
    }

    /// The elements, to be changed in place.
    #[must_use]
    pub fn data_mut(&mut self) -> &mut [T] {
        &mut self.data
    }

    /// The order in memory; [`Order::C`] where both are true.
    #[must_use]
    pub fn order(&self) -> Order {
        self.order
    }

    /// Shape, elements and order.
    #[must_use]
    pub fn into_parts(self) -> (Vec<usize>, Vec<T>, Order) {
        (self.shape, self.data, self.order)
    }
}

/// Product of a shape; an extent of 0 makes it 0 even where the other extents overflow.
pub(crate) fn checked_len(shape: &[usize]) -> Option<usize> {
    if shape.contains(&0) {
        return Some(0);
    }
    shape
        .iter()
        .try_fold(1_usize, |product, &n| product.checked_mul(n))
}

impl<T: Element> LocalBuffer for HostArray<T> {
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn element_type(&self) -> ElementType {
        T::TYPE
    }
}

impl<T: Element> HostBuffer for HostArray<T> {
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        Some((bytemuck::must_cast_slice(&self.data), self.order))
    }

    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        match self.order {
            Order::C => visit(bytemuck::must_cast_slice(&self.data)),
            Order::Fortran => {
                for_each_fortran_offset(&self.shape, &mut |at| {
                    visit(bytemuck::bytes_of(&self.data[at]))
                });
            }
        }
    }
}

impl<T: Element> HostBufferMut for HostArray<T> {
    fn copy_from_bytes(&mut self, bytes: &[u8]) -> Result<(), CopyError> {
        if self.order == Order::Fortran {
            self.order = Order::C;
        }
        copy_bytes_to_elements(bytes, &mut self.data)
    }
}

/// Visits the Fortran-order offset of every position of `shape`, positions in C order.
fn for_each_fortran_offset(shape: &[usize], visit: &mut dyn FnMut(usize)) {
    let strides: Vec<usize> = shape
        .iter()
        .scan(1_usize, |next, &n| {
            let stride = *next;
            *next = next.saturating_mul(n);
            Some(stride)
        })
        .collect();
    let count = checked_len(shape).unwrap_or(0);
    let mut index = vec![0_usize; shape.len()];
    let mut at = 0_usize;
    for _ in 0..count {
        visit(at);
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_order_is_visited_in_c_order() {
        // [[0, 1, 2], [3, 4, 5]] column by column
        let a =
            HostArray::with_order(vec![2, 3], vec![0_u8, 3, 1, 4, 2, 5], Order::Fortran).unwrap();
        let mut seen = Vec::new();
        a.visit_bytes(&mut |bytes| seen.extend_from_slice(bytes));
        assert_eq!(seen, [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn an_overflowing_shape_is_an_error() {
        let e = HostArray::new(vec![usize::MAX, 2], vec![0_u8]).unwrap_err();
        assert!(matches!(
            e,
            ProtocolError::ElementCount { expected: None, .. }
        ));
        assert!(HostArray::<u8>::new(vec![usize::MAX, 2, 0], vec![]).is_ok());
    }
}
