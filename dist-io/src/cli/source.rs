//! [`Source`]: an array in files, whatever their format, read part by part.

use std::ffi::OsString;
#[cfg(feature = "hdf5")]
use std::num::NonZero;
use std::path::PathBuf;

use dap_protocol::{DimData, Element, ElementType, Order};
#[cfg(feature = "hdf5")]
use dist_io::{DEFAULT_KEY, Hdf5Reader};
use dist_maps::Distribution;
use dnpy_format::set::Set;
use dnpy_format::{AnyPart, npy};

use super::error::CliError;
use super::pieces::{Pieces, whole};
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
                let key = key.unwrap_or_else(|| DEFAULT_KEY.to_owned());
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
        let turned = matches!(self, Self::Npy { header, .. } if header.order() == Order::Fortran);
        size * (1 + u64::from(checked) + u64::from(turned))
    }

    /// A part in pieces that fit a budget. Chunks are decoded as a whole, so a piece has whole ones, as far as it can: each is
    /// decoded once then.
    pub(super) fn pieces<'a>(
        &self,
        dim_data: &'a DimData,
        budget: u64,
    ) -> Result<Pieces<'a>, CliError> {
        #[cfg(feature = "hdf5")]
        if let Self::Hdf5 { reader, .. } = self
            && let dist_io::Storage::Chunked { chunk } = &reader.info().storage
        {
            let item = self.element().size() as u64;
            let bytes = chunk.iter().fold(item, |bytes, &n| bytes.saturating_mul(n));
            // as it is in the file, and decoded
            let decoding = bytes.saturating_mul(2);
            let left = budget.saturating_sub(decoding);
            let pieces = Pieces::new(dim_data, self.item_memory(), left)?;
            let first = chunk.first().copied().unwrap_or(1);
            return pieces.in_chunks(first).map_err(|needed| CliError::Budget {
                given: budget,
                needed: needed.saturating_add(decoding),
            });
        }
        Ok(Pieces::new(dim_data, self.item_memory(), budget)?)
    }

    /// Reads what the dictionaries describe, padding included.
    pub(super) fn read(&self, dim_data: &DimData) -> Result<AnyPart, CliError> {
        with_element!(self.element(), T => self.read_elements::<T>(dim_data))
    }

    fn read_elements<T: Element>(&self, dim_data: &DimData) -> Result<AnyPart, CliError>
    where
        AnyPart: From<dap_protocol::DistBuffer<dap_protocol::HostArray<T>>>,
    {
        Ok(match self {
            Self::Npy { path, .. } => npy::read_by_dim_data::<T>(path, dim_data)?.part.into(),
            Self::Set { set, .. } => set.read::<T>(dim_data)?.part.into(),
            #[cfg(feature = "hdf5")]
            Self::Hdf5 { reader, .. } => reader.read::<T>(dim_data)?.into(),
        })
    }
}
