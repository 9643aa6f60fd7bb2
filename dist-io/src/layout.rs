//! [`FileLayout`]: how the elements of an array lie in a file.

use std::fmt;

/// How the elements of an array lie in a file, in C order either way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum FileLayout {
    /// One element after another, as a contiguous HDF5 dataset or the elements of a `.npy` file.
    Contiguous,
    /// In chunks of one shape, each of which is read and written as a whole.
    Chunked {
        /// Extent of a chunk per dimension, in elements; none is 0. Chunks at the upper edges reach beyond the array.
        chunk: Vec<u64>,
    },
}

impl FileLayout {
    /// Elements along `axis` that are read and written together.
    pub(crate) fn step(&self, axis: usize) -> u64 {
        match self {
            Self::Contiguous => 1,
            Self::Chunked { chunk } => chunk[axis],
        }
    }
}

impl fmt::Display for FileLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Contiguous => f.write_str("contiguous"),
            Self::Chunked { chunk } => write!(f, "chunked by {}", shape_text(chunk)),
        }
    }
}

/// A shape as text: `4 x 6`, and `scalar` where there is no dimension.
pub(crate) fn shape_text(shape: &[u64]) -> String {
    if shape.is_empty() {
        return "scalar".to_owned();
    }
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    extents.join(" x ")
}
