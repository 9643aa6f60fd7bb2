#![doc = include_str!("../README.md")]

mod any;
#[cfg(feature = "set")]
mod axis;
mod error;
mod file;
mod header;
mod magic;
mod map;
mod mapped;
pub mod npy;
mod positioned;
mod read;
mod repair;
mod save;
#[cfg(feature = "set")]
mod save_id;
#[cfg(feature = "set")]
mod sections;
#[cfg(feature = "set")]
pub mod set;
mod source;
mod write;

pub use any::AnyPart;
pub use error::DnpyError;
pub use file::{PartFile, inspect, load, load_any, read_into};
pub use header::{
    Alignment, FormatVersion, Header, read_array_header_1_0, read_array_header_2_0,
    write_array_header,
};
pub use magic::{MAGIC, magic, read_magic};
pub use mapped::{MappedArray, MappedPart};
pub use read::{PartInfo, read_info, read_localarray, read_localarray_any};
pub use repair::Repair;
pub use save::{save, save_with};
#[cfg(feature = "set")]
pub use save_id::{ParseSaveIdError, SaveId};
pub use write::{WriteOptions, write_localarray, write_localarray_with};
