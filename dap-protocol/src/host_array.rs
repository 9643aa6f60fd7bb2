//! [`HostArray`]: shape and elements, the plainest buffer there is.

use crate::buffer::{
    CopyError, HostBuffer, HostBufferMut, LocalBuffer, Order, copy_bytes_to_elements,
    visit_elements,
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
        Ok(Self::from_checked(shape, data, order))
    }

    /// The same for a shape that has as many elements as `data`.
    pub(crate) fn from_checked(shape: Vec<usize>, data: Vec<T>, order: Order) -> Self {
        let both = shape.iter().filter(|&&n| n != 1).count() <= 1 || data.is_empty();
        let order = if both { Order::C } else { order };
        Self { shape, data, order }
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

/// Product of a shape; `None` where the extents that are not 0 exceed `isize::MAX` together, empty
/// or not: no array library has such strides.
pub(crate) fn checked_len(shape: &[usize]) -> Option<usize> {
    let full = shape
        .iter()
        .filter(|&&n| n != 0)
        .try_fold(1_usize, |product, &n| product.checked_mul(n));
    let full = full.filter(|&n| isize::try_from(n).is_ok())?;
    Some(if shape.contains(&0) { 0 } else { full })
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
                let elements = fortran_offsets(&self.shape).map(|at| self.data[at]);
                visit_elements(elements, visit);
            }
        }
    }
}

impl<T: Element> HostBufferMut for HostArray<T> {
    fn copy_from_bytes(&mut self, bytes: &[u8]) -> Result<(), CopyError> {
        if self.order == Order::C {
            return copy_bytes_to_elements(bytes, &mut self.data);
        }
        let (size, expected) = (size_of::<T>(), size_of_val(&self.data[..]));
        if bytes.len() != expected {
            return Err(CopyError::Length {
                given: bytes.len(),
                expected,
            });
        }
        let chunks = bytes.chunks_exact(size).zip(fortran_offsets(&self.shape));
        for (i, (chunk, at)) in chunks.enumerate() {
            let slot = std::slice::from_mut(&mut self.data[at]);
            copy_bytes_to_elements(chunk, slot).map_err(|e| e.shifted(i * size))?;
        }
        Ok(())
    }
}

/// The Fortran-order offset of every position of `shape`, positions in C order.
fn fortran_offsets(shape: &[usize]) -> impl Iterator<Item = usize> {
    let mut next = 1_usize;
    let mut strides = Vec::with_capacity(shape.len());
    for &n in shape {
        strides.push(next);
        next = next.saturating_mul(n);
    }
    let mut index = vec![0_usize; shape.len()];
    let mut at = 0_usize;
    (0..checked_len(shape).unwrap_or(0)).map(move |_| {
        let here = at;
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += strides[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= strides[axis] * shape[axis];
            index[axis] = 0;
        }
        here
    })
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
    fn bytes_in_c_order_keep_the_order_in_memory() {
        // [[0, 1, 2], [3, 4, 5]] column by column
        let given = vec![0_u8, 3, 1, 4, 2, 5];
        let mut a = HostArray::with_order(vec![2, 3], given.clone(), Order::Fortran).unwrap();
        let before = a.clone();
        let length = |given| CopyError::Length { given, expected: 6 };
        assert_eq!(a.copy_from_bytes(&[9; 5]), Err(length(5)));
        assert_eq!(a.copy_from_bytes(&[9; 7]), Err(length(7)));
        assert_eq!(a, before);
        a.copy_from_bytes(&[10, 11, 12, 13, 14, 15]).unwrap();
        assert_eq!(a.order(), Order::Fortran);
        assert_eq!(a.data(), [10, 13, 11, 14, 12, 15]);

        let mut b = HostArray::with_order(vec![2, 2], vec![false; 4], Order::Fortran).unwrap();
        assert_eq!(
            b.copy_from_bytes(&[1, 0, 7, 1]),
            Err(CopyError::Value {
                offset: 2,
                element: ElementType::Bool
            })
        );
    }

    #[test]
    fn an_overflowing_shape_is_an_error() {
        let e = HostArray::new(vec![usize::MAX, 2], vec![0_u8]).unwrap_err();
        assert!(matches!(
            e,
            ProtocolError::ElementCount { expected: None, .. }
        ));
        assert!(HostArray::<u8>::new(vec![usize::MAX, 2, 0], vec![]).is_err());
    }
}
