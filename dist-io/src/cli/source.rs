//! [`Source`]: an array in files, whatever their format, read part by part.

use std::ffi::OsString;
#[cfg(feature = "hdf5")]
use std::num::NonZero;
use std::path::PathBuf;

use dap_protocol::{DimData, Element, ElementType, HostBuffer, LocalBuffer as _, Order};
#[cfg(feature = "hdf5")]
use dist_io::Hdf5Reader;
use dist_maps::Distribution;
use dnpy_format::npy;
use dnpy_format::set::Set;

use super::boxes::Boxes;
use super::error::CliError;
use super::mapping::{Elements, Mapping};
use super::pieces::{Pieces, cut_axis, whole};
#[cfg(feature = "hdf5")]
use super::place::the_key;
use super::place::{Place, one_input};

/// Calls an expression with the Rust type of an element type.
macro_rules! with_element {
    ($element:expr, $T:ident => $body:expr) => {{
        use dap_protocol::ElementType as E;
        macro_rules! with {
            ($t:ty) => {{
                type $T = $t;
                $body
            }};
        }
        match $element {
            E::Bool => with!(bool),
            E::I8 => with!(i8),
            E::I16 => with!(i16),
            E::I32 => with!(i32),
            E::I64 => with!(i64),
            E::U8 => with!(u8),
            E::U16 => with!(u16),
            E::U32 => with!(u32),
            E::U64 => with!(u64),
            E::F16 => with!(half::f16),
            E::Bf16 => with!(half::bf16),
            E::F32 => with!(f32),
            E::F64 => with!(f64),
            E::Complex32 => with!(num_complex::Complex32),
            E::Complex64 => with!(num_complex::Complex64),
            element => Err($crate::cli::error::CliError::NoType { element }),
        }
    }};
}

/// One array in files.
pub(super) enum Source {
    /// A `.npy` file.
    Npy { path: PathBuf, header: npy::Header },
    /// A set of `.dnpy` files.
    Set { name: String, set: Box<Set> },
    /// An HDF5 dataset.
    #[cfg(feature = "hdf5")]
    Hdf5 {
        path: PathBuf,
        key: String,
        reader: Box<Hdf5Reader>,
    },
}

impl Source {
    /// The one array that the arguments name.
    pub(super) fn open(arguments: &[OsString]) -> Result<Self, CliError> {
        Self::of(one_input(arguments)?)
    }

    pub(super) fn of(place: Place) -> Result<Self, CliError> {
        let name = place.name();
        match place {
            Place::Npy(path) => {
                let header = npy::header(&path)?;
                Ok(Self::Npy { path, header })
            }
            Place::Parts(paths) => {
                let set = Box::new(Set::of_files(paths)?);
                Ok(Self::Set { name, set })
            }
            Place::Set(prefix) => {
                let set = Box::new(Set::open(prefix)?);
                Ok(Self::Set { name, set })
            }
            #[cfg(feature = "hdf5")]
            Place::Hdf5 { path, key } => {
                let key = key.map_or_else(|| the_key(&path), Ok)?;
                // one thread: the budget has room for one chunk beside the elements
                let reader = Hdf5Reader::open(&path, &key)?.threads(NonZero::<usize>::MIN);
                let reader = Box::new(reader);
                Ok(Self::Hdf5 { path, key, reader })
            }
            #[cfg(not(feature = "hdf5"))]
            Place::Hdf5 { path, .. } => Err(CliError::NeedsHdf5 { path }),
            Place::Unknown(path) => Err(CliError::UnknownFile { path }),
        }
    }

    /// The name for people.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Npy { path, .. } => path.display().to_string(),
            Self::Set { name, .. } => name.clone(),
            #[cfg(feature = "hdf5")]
            Self::Hdf5 { path, key, .. } => format!("{}:/{key}", path.display()),
        }
    }

    /// Global extent per dimension, in elements.
    pub(super) fn shape(&self) -> Vec<u64> {
        match self {
            Self::Npy { header, .. } => header.shape().iter().map(|&n| n as u64).collect(),
            Self::Set { set, .. } => set.global_shape(),
            #[cfg(feature = "hdf5")]
            Self::Hdf5 { reader, .. } => reader.info().shape.clone(),
        }
    }

    pub(super) fn element(&self) -> ElementType {
        match self {
            Self::Npy { header, .. } => header.element_type(),
            Self::Set { set, .. } => set.element_type(),
            #[cfg(feature = "hdf5")]
            Self::Hdf5 { reader, .. } => reader.info().element,
        }
    }

    /// The names of what goes with it beside its elements.
    pub(super) fn attributes(&self) -> Vec<String> {
        match self {
            #[cfg(feature = "hdf5")]
            Self::Hdf5 { reader, .. } => reader.info().attributes.keys().cloned().collect(),
            Self::Npy { .. } | Self::Set { .. } => Vec::new(),
        }
    }

    /// How it was saved; whole on one rank, where no ranks saved it.
    pub(super) fn distribution(&self) -> Result<Distribution, CliError> {
        match self {
            Self::Set { set, .. } => return Ok(set.distribution()?),
            #[cfg(feature = "hdf5")]
            Self::Hdf5 { reader, .. } => {
                if let Some(parts) = &reader.info().dim_data {
                    return Ok(Distribution::from_dim_data_per_rank(parts)?);
                }
            }
            Self::Npy { .. } => {}
        }
        Ok(Distribution::from_dim_data_per_rank(&[whole(
            &self.shape(),
        )?])?)
    }

    /// Bytes that an element takes while it is read: twice its size where values are checked or turned on the way.
    pub(super) fn item_memory(&self) -> u64 {
        let size = self.element().size() as u64;
        let checked = self.element() == ElementType::Bool;
        size * (1 + u64::from(checked) + u64::from(self.is_fortran()))
    }

    /// Whether elements lie in its files with the first index fastest.
    fn is_fortran(&self) -> bool {
        match self {
            Self::Npy { header, .. } => header.order() == Order::Fortran,
            Self::Set { set, .. } => (0..set.ranks())
                .filter_map(|rank| set.part(rank))
                .any(|(_, info)| info.array().order() == Order::Fortran),
            #[cfg(feature = "hdf5")]
            Self::Hdf5 { .. } => false,
        }
    }

    /// Elements of a chunk per dimension, where it is in chunks, and what decoding one takes: its bytes as they are in the file, and
    /// decoded.
    fn chunk(&self) -> (Option<&[u64]>, u64) {
        match self {
            #[cfg(feature = "hdf5")]
            Self::Hdf5 { reader, .. } => {
                let dist_io::Storage::Chunked { chunk } = &reader.info().storage else {
                    return (None, 0);
                };
                let item = self.element().size() as u64;
                let bytes = chunk.iter().fold(item, |bytes, &n| bytes.saturating_mul(n));
                (Some(chunk), bytes.saturating_mul(2))
            }
            Self::Npy { .. } | Self::Set { .. } => (None, 0),
        }
    }

    /// Elements of a chunk per dimension, where it is in chunks.
    pub(super) fn chunk_extents(&self) -> Option<Vec<u64>> {
        self.chunk().0.map(<[u64]>::to_vec)
    }

    /// A part in pieces that fit a budget, in the order of its buffer. Chunks are decoded as a whole, so a piece has whole ones, as
    /// far as it can: each is decoded once then.
    pub(super) fn pieces<'a>(
        &self,
        dim_data: &'a DimData,
        budget: u64,
    ) -> Result<Pieces<'a>, CliError> {
        let (chunk, decoding) = self.chunk();
        let left = budget.saturating_sub(decoding);
        let pieces = Pieces::new(dim_data, self.item_memory(), left)?;
        let Some(chunk) = chunk else {
            return Ok(pieces);
        };
        let first = chunk.first().copied().unwrap_or(1);
        pieces.in_chunks(first).map_err(|needed| CliError::Budget {
            given: budget,
            needed: needed.saturating_add(decoding),
        })
    }

    /// The whole array in boxes that fit a budget, of which `kept` bytes are taken: of whole chunks of the target, or else of its own.
    pub(super) fn boxes(
        &self,
        chunk: Option<&[u64]>,
        budget: u64,
        kept: u64,
    ) -> Result<Boxes, CliError> {
        let shape = self.shape();
        let (own, decoding) = self.chunk();
        let single = vec![1; shape.len()];
        let chunk = chunk.or(own).unwrap_or(&single);
        // what is not decoded goes through a mapping or a buffer on its way: it is in memory twice
        let twice = if own.is_some() {
            0
        } else {
            self.element().size() as u64
        };
        let kept = kept.saturating_add(decoding);
        let item = self.item_memory() + twice;
        let boxes = Boxes::new(&shape, chunk, item, budget.saturating_sub(kept));
        boxes.map_err(|needed| CliError::Budget {
            given: budget,
            needed: needed.saturating_add(kept),
        })
    }

    /// Reads what the dictionaries describe, padding included.
    pub(super) fn read(&self, dim_data: &DimData) -> Result<Box<dyn HostBuffer>, CliError> {
        match self {
            #[cfg(feature = "hdf5")]
            Self::Hdf5 { .. } => {}
            Self::Npy { .. } | Self::Set { .. } => {
                let mapping = Mapping {
                    item: self.element().size() as u64,
                    is_fortran: self.is_fortran(),
                };
                if let Some(axis) = mapping.axis_to_cut(dim_data) {
                    return self.read_in_two(dim_data, axis);
                }
            }
        }
        with_element!(self.element(), T => self.read_elements::<T>(dim_data))
    }

    /// Reads a piece that would have too much of a file mapped, in two halves of an axis.
    fn read_in_two(
        &self,
        dim_data: &DimData,
        axis: usize,
    ) -> Result<Box<dyn HostBuffer>, CliError> {
        let extents = dim_data.local_shape().into_iter();
        let extents = extents.map(|n| usize::try_from(n).unwrap_or(usize::MAX));
        let mut all = Elements::zeros(extents.collect(), self.element())?;
        let middle = all.shape()[axis] / 2;
        for range in [0..middle, middle..all.shape()[axis]] {
            let half = cut_axis(dim_data, axis, range.clone())?;
            all.put(axis, range, &*self.read(&half)?);
        }
        Ok(Box::new(all))
    }

    fn read_elements<T: Element>(
        &self,
        dim_data: &DimData,
    ) -> Result<Box<dyn HostBuffer>, CliError> {
        let part = match self {
            Self::Npy { path, .. } => npy::read_by_dim_data::<T>(path, dim_data)?.part,
            Self::Set { set, .. } => set.read::<T>(dim_data)?.part,
            #[cfg(feature = "hdf5")]
            Self::Hdf5 { reader, .. } => reader.read::<T>(dim_data)?,
        };
        let (_, _, buffer) = part.into_parts();
        Ok(Box::new(buffer))
    }
}
