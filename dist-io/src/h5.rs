//! HDF5 datasets, written and read by all ranks through one serial library.
//!
//! The library does what is little and intricate: rank 0 makes the file and the dataset, or looks one up, and asks where its
//! elements lie. What is much is done without it: every rank writes or reads its bytes there. So no parallel HDF5 is needed,
//! thread ranks and MPI ranks do the same, and no lock of the library is held while elements move.

mod append;
pub(crate) mod array;
mod attribute;
mod bare;
mod chunk;
mod create;
mod dataset;
mod element;
mod ffi;
mod limits;
mod load;
mod metadata;
mod mode;
#[cfg(feature = "hdf5-mpio")]
mod mpio;
mod open;
mod reader;
mod refusal;
mod reserve;
mod save;
mod series;
mod source;
mod together;
pub(crate) mod tree;
mod types;
mod vds;
mod verify;
mod walk;
mod way;
mod writer;

pub use append::Series;
pub use array::{
    Bits, Divisible, Expr, Fragments, H5Any, H5Array, HostBytes, Number, Operand, Root, Shift,
    open_dset,
};
pub use attribute::{AttributeNumbers, AttributeValue};
pub use chunk::ChunkProblem;
pub use dataset::{ByteOrder, DatasetInfo, Storage, inspect_hdf5};
pub use limits::Limits;
pub use load::{LoadHdf5, Wanted, load_hdf5};
pub use mode::{ParseWriteModeError, WriteMode};
#[cfg(feature = "hdf5-mpio")]
pub use mpio::{Causes, CollectiveIo, IoMode};
pub use reader::Hdf5Reader;
pub use refusal::{HandleRefusal, Refusal, SeriesRefusal};
pub use save::{SaveHdf5, save_hdf5};
pub use series::{FileSeries, file_series};
pub use tree::{H5Node, Tree, TreeFilter, open_with};
pub use types::{Field, FieldType, Record, load_hdf5_records};
#[cfg(feature = "cli")]
pub(crate) use vds::repack_watched;
pub use vds::{Batch, Batches, FileQueue, ToFile, from_file, from_file_batched, repack, to_file};
#[cfg(feature = "cli")]
pub(crate) use verify::verify_watched;
pub use verify::{Verified, verify};
pub use walk::datasets_hdf5;
pub use way::Way;
pub use writer::Hdf5Writer;

/// The key under which `DistArray` saves an array where none is given.
pub const DEFAULT_KEY: &str = "buffer";

/// The attributes of a dataset that hold the metadata of all ranks; the names are those of the protocol.
const VERSION_ATTRIBUTE: &str = "__version__";
const DIM_DATA_ATTRIBUTE: &str = "dim_data";
