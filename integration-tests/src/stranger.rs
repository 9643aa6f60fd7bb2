//! What somebody else might have: an array type that none of our crates knows, and a reader of any array.

use dap_protocol::{
    DimData, DistBuffer, DistributedArray, Element, ElementType, HostArray, HostBuffer,
    LocalBuffer, Order, ProtocolError,
};
use local_array::{ArrayError, IntoLocal};
use ndarray::{ArrayBase, Axis, IxDyn, OwnedRepr};

/// An array that keeps its elements last one first.
#[derive(Clone, Debug, PartialEq)]
pub struct Backwards {
    dim_data: DimData,
    buffer: BackwardsBuffer,
}

/// Its buffer: contiguous in no order that the protocol knows.
#[derive(Clone, Debug, PartialEq)]
pub struct BackwardsBuffer {
    shape: Vec<usize>,
    reversed: Vec<f64>,
}

impl Backwards {
    /// A part of these elements, given in C order.
    ///
    /// # Errors
    /// When the part is too large for this machine's memory, or `elements` has another length than it.
    pub fn new(dim_data: DimData, mut elements: Vec<f64>) -> Result<Self, ProtocolError> {
        let overflow = |_| ProtocolError::Overflow {
            what: "local shape",
        };
        let shape: Vec<usize> = dim_data
            .local_shape()
            .into_iter()
            .map(usize::try_from)
            .collect::<Result<_, _>>()
            .map_err(overflow)?;
        // borrows the check of lengths
        HostArray::new(shape.clone(), elements.clone())?;
        elements.reverse();
        Ok(Self {
            dim_data,
            buffer: BackwardsBuffer {
                shape,
                reversed: elements,
            },
        })
    }
}

impl LocalBuffer for BackwardsBuffer {
    fn shape(&self) -> &[usize] {
        &self.shape
    }
    fn element_type(&self) -> ElementType {
        f64::TYPE
    }
}

impl HostBuffer for BackwardsBuffer {
    fn contiguous_bytes(&self) -> Option<(&[u8], Order)> {
        None
    }
    fn visit_bytes(&self, visit: &mut dyn FnMut(&[u8])) {
        for element in self.reversed.iter().rev() {
            visit(&element.to_ne_bytes());
        }
    }
}

impl DistributedArray for Backwards {
    type Buffer<'a> = &'a BackwardsBuffer;

    fn distarray(&self) -> DistBuffer<&BackwardsBuffer> {
        DistBuffer::new(self.dim_data.clone(), &self.buffer).expect("checked when made")
    }
}

/// Backwards along every axis is an ndarray with negative strides: nothing moves.
impl IntoLocal for BackwardsBuffer {
    type Storage = OwnedRepr<f64>;

    fn into_local(self) -> Result<ArrayBase<OwnedRepr<f64>, IxDyn>, ArrayError> {
        let mut array = HostArray::new(self.shape, self.reversed)?.into_local()?;
        for axis in 0..array.ndim() {
            array.invert_axis(Axis(axis));
        }
        Ok(array)
    }
}

/// Reads anybody's part of `f64` elements, in C order.
///
/// # Panics
/// When the elements are of another type: in a test, a failure.
pub fn read(part: &DistBuffer<impl HostBuffer>) -> Vec<f64> {
    assert_eq!(part.buffer().element_type(), f64::TYPE);
    let mut bytes = Vec::new();
    part.buffer()
        .visit_bytes(&mut |piece| bytes.extend_from_slice(piece));
    bytes
        .chunks_exact(8)
        .map(|b| f64::from_ne_bytes(b.try_into().expect("8 bytes")))
        .collect()
}
