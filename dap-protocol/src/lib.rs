//! The Distributed Array Protocol as types: what one rank holds of a distributed array, described
//! so that somebody else's code can use the memory without a copy.
//!
//! # The protocol on one page
//!
//! Ranks form a grid with as many dimensions as the array, in C order (the last coordinate
//! fastest). Each rank shows a **buffer** and **`dim_data`**, one dictionary per dimension:
//!
//! ```text
//! ten elements, two ranks, blocks         global index  0 1 2 3 4 5 6 7 8 9
//! {'dist_type': 'b', 'size': 10, 'proc_grid_size': 2, 'proc_grid_rank': 0, 'start': 0, 'stop': 5}
//!                                         rank 0        a b c d e
//! {'dist_type': 'b', 'size': 10, 'proc_grid_size': 2, 'proc_grid_rank': 1, 'start': 5, 'stop': 10}
//!                                         rank 1                  f g h i j
//! ```
//!
//! | `dist_type` | holds | keys beside the four common ones | type |
//! |---|---|---|---|
//! | `'b'` block | `start..stop`, padding included | `start`, `stop`, `padding`, `periodic` | [`Dist::Block`] |
//! | `'c'` cyclic | blocks of `block_size`, dealt in turn | `start`, `block_size` | [`Dist::Cyclic`] |
//! | `'u'` unstructured | any `indices`, in any order | `indices`, `one_to_one` | [`Dist::Unstructured`] |
//!
//! Padding inside the grid is *communication* padding: copies of what the neighbour owns. Padding
//! at the outer edges is *boundary* padding: owned, and counted in `size`. So a dimension has a
//! stored extent, the buffer's ([`DimDict::stored_len`]), and an owned one
//! ([`DimDict::owned_len`]), both in elements. `{}` is a dimension that is not distributed, no
//! dictionary at all a scalar. Ranks may hold nothing; that is an ordinary value everywhere.
//!
//! # Which type is what
//!
//! * [`DimDict`], [`DimData`]: a dictionary, and a rank's tuple of them; valid by construction.
//! * [`DistBuffer`]: version, `dim_data` and a buffer that fits it; what `__distarray__` returns.
//! * [`DistributedArray`]: an array that can show its part. Import is a constructor that takes a
//!   [`DistBuffer`]; neither side copies.
//! * [`LocalBuffer`], [`HostBuffer`], [`HostBufferMut`]: what is asked of a buffer. [`HostArray`] is
//!   the plainest one; feature `ndarray` makes its arrays and views some.
//! * [`check`]: validation of what comes from outside, of one rank or of all.
//! * [`literal`]: the text form, Python's; feature `serde` has the others.
//! * `testkit`: strategies and suites for tests, behind the feature of that name.
//!
//! Nothing here communicates, computes an owner, or names an array library.
//!
//! # An export, and an import
//!
//! ```
//! use dap_protocol::{DimData, DimDict, DistBuffer, DistributedArray, HostArray, ProtocolError};
//!
//! /// A row of temperatures, in blocks.
//! struct Row { part: HostArray<f64>, dim: DimDict }
//!
//! impl DistributedArray for Row {
//!     type Buffer<'a> = &'a HostArray<f64>;
//!     fn distarray(&self) -> DistBuffer<&HostArray<f64>> {
//!         let dim_data = DimData::new(vec![self.dim.clone()]);
//!         DistBuffer::new(dim_data, &self.part).expect("made to fit")
//!     }
//! }
//!
//! // Rank 1 of 2 stores 8..18 of 18 elements; two of them are padding.
//! let dim = DimDict::block(18, 2, 1, 8..18)?.with_padding(1, 1)?;
//! let row = Row { part: HostArray::new(vec![10], vec![0.5; 10])?, dim };
//! let shown = row.distarray();
//! assert_eq!(shown.dim_data().global_shape(), [18]);
//! assert_eq!(shown.dim_data()[0].owned_range(), Some(9..18)); // the outer edge is owned
//!
//! // A buffer that does not fit its metadata cannot be paired with it.
//! let short = HostArray::new(vec![9], vec![0.5; 9])?;
//! let e = DistBuffer::new(shown.dim_data().clone(), short).unwrap_err();
//! let text = "axis 0: the buffer's extent is 9, dim_data describes 10; it has room for what is owned, \
//!     and none for the padding, which lies around it";
//! assert_eq!(e.to_string(), text);
//!
//! // An import takes the part apart; the elements stay where they are.
//! let (_, dim_data, elements) = row.distarray().into_parts();
//! assert_eq!((dim_data.local_shape(), elements.data().as_ptr()), (vec![10], row.part.data().as_ptr()));
//! # Ok::<(), ProtocolError>(())
//! ```
//!
//! Which buffer an exporter shows decides who can take it. A [`HostBuffer`] is enough to be saved
//! (`dnpy-format`). To become a `local_array::LocalArrayView` without a copy it has to be a view of
//! `ndarray`, see [`DistributedArray`].
//!
//! Versions 0.9 and 0.10 of the protocol are read, [`ProtocolVersion::CURRENT`] is written. The
//! version of this crate says nothing about either.

#![forbid(unsafe_code)]

mod buffer;
pub mod check;
mod dim;
mod dim_data;
mod dist_buffer;
mod element;
mod error;
mod export;
mod grid;
mod host_array;
pub mod literal;
#[cfg(feature = "ndarray")]
mod ndarray_impl;
#[cfg(feature = "serde")]
mod serde_impl;
#[cfg(feature = "testkit")]
pub mod testkit;
mod version;

pub use buffer::{
    CopyError, HostBuffer, HostBufferMut, LocalBuffer, Order, copy_bytes_to_elements,
};
pub use dim::{DimDict, Dist, MAX_SIZE, Padding};
pub use dim_data::DimData;
pub use dist_buffer::DistBuffer;
pub use element::{Element, ElementType};
pub use error::{Code, ProtocolError, Violation};
pub use export::{DistributedArray, DistributedArrayMut};
pub use grid::ProcessGrid;
pub use host_array::HostArray;
pub use version::ProtocolVersion;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
