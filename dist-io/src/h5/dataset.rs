//! [`DatasetInfo`]: a dataset looked up, and where its elements lie.

use std::collections::BTreeMap;
use std::path::Path;

use dap_protocol::{DimData, ElementType, ProtocolVersion};
use hdf5_metno as hdf5;
use hdf5_metno::dataset::Layout;
use hdf5_metno::plist::DatasetCreate;
use serde::{Deserialize, Serialize};

use super::attribute::{AttributeValue, attributes, names as attribute_names, value};
use super::chunk::{deflate_level, filter_names};
use super::element::Stored;
use super::metadata::Saved;
use super::source::Opened;
use super::together::{is_regular, names, refused};
use super::{DIM_DATA_ATTRIBUTE, Refusal, VERSION_ATTRIBUTE, element, metadata, open, types};
use crate::IoError;
use crate::layout::shape_text;

/// Byte order of elements in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ByteOrder {
    /// Lowest byte first.
    Little,
    /// Highest byte first.
    Big,
}

impl ByteOrder {
    /// That of this machine.
    pub const NATIVE: Self = if cfg!(target_endian = "big") {
        Self::Big
    } else {
        Self::Little
    };
}

/// How the elements of a dataset are stored.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Storage {
    /// In one piece, in C order.
    Contiguous {
        /// Byte of the file at which the elements begin; `None` where there is nothing yet, and where the array has no
        /// elements.
        offset: Option<u64>,
    },
    /// In chunks, perhaps compressed.
    Chunked {
        /// Extent of a chunk per dimension, in elements.
        chunk: Vec<u64>,
    },
    /// Among the metadata.
    Compact,
    /// In other datasets.
    Virtual,
    /// In other files.
    External,
}

impl Storage {
    pub(super) fn text(&self) -> String {
        match self {
            Self::Contiguous { offset: Some(_) } => "in one piece".to_owned(),
            Self::Contiguous { offset: None } => "nowhere yet: never written".to_owned(),
            Self::Chunked { chunk } => format!("in chunks of {}", shape_text(chunk)),
            Self::Compact => "among the metadata (compact)".to_owned(),
            Self::Virtual => "in other datasets (virtual)".to_owned(),
            Self::External => "in other files (external)".to_owned(),
        }
    }
}

/// What there is to know of a dataset before any element is read.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct DatasetInfo {
    /// Extent per dimension, in elements.
    pub shape: Vec<u64>,
    /// The element type; of an enumeration that of its codes.
    pub element: ElementType,
    /// Whether the elements are the codes of an enumeration, which [`LoadHdf5::codes`](crate::LoadHdf5::codes) asks for.
    pub is_enumeration: bool,
    /// The names of an enumeration's codes, in the order of the file.
    pub members: Vec<(String, i128)>,
    /// The byte order of the elements; this machine's where they are single bytes.
    pub byte_order: ByteOrder,
    /// How the elements are stored; with an offset, whoever can read a file can read them.
    pub storage: Storage,
    /// The names of the filters that chunks go through, in the order of writing.
    pub filters: Vec<String>,
    /// The level, 0 to 9, of the filter `deflate`, where it is one of them.
    pub deflate: Option<u8>,
    /// The metadata of all ranks that saved it, by rank; `None` where it was not saved by ranks, or where they cannot be used.
    pub dim_data: Option<Vec<DimData>>,
    /// Why the attribute `dim_data` cannot be used, where there is one.
    pub dim_data_error: Option<String>,
    /// How it had to be mended to be read.
    pub repairs: Vec<String>,
    /// The version of the protocol that it is of.
    pub version: Option<ProtocolVersion>,
    /// The other attributes, by name; [`AttributeValue::Other`] where one is neither text nor number.
    pub attributes: BTreeMap<String, AttributeValue>,
}

/// Looks a dataset up. Local: one rank, or a program without ranks.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, ElementType, HostArray};
/// use dist_comm::SingleComm;
/// use dist_io::{SaveHdf5, Storage, inspect_hdf5};
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("heat.h5");
/// let dims = DimData::new(vec![DimDict::whole(40)?, DimDict::whole(30)?]);
/// let heat = DistBuffer::new(dims, HostArray::new(vec![40, 30], vec![1.5_f32; 1200])?)?;
/// SaveHdf5::new(&path).key("t").chunk([20, 30]).deflate(1).attribute("units", "K").save(&heat, &SingleComm::new())?;
/// let info = inspect_hdf5(&path, "t")?;
/// assert_eq!((info.shape, info.element), (vec![40, 30], ElementType::F32));
/// assert_eq!((info.storage, info.filters), (Storage::Chunked { chunk: vec![20, 30] }, vec!["deflate".to_owned()]));
/// assert_eq!(info.attributes["units"], "K".into());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// [`IoError::Hdf5`] with what is wrong with the file or the key; also when the elements are of a type that is not read yet.
pub fn inspect_hdf5(path: impl AsRef<Path>, key: &str) -> Result<DatasetInfo, IoError> {
    let path = path.as_ref();
    let opened = Opened::new(path, key);
    let info = opened.and_then(|opened| opened.info());
    info.map_err(|refusal| refused(path, key, refusal))
}

impl Opened {
    /// What there is to know of it.
    pub(super) fn info(&self) -> Result<DatasetInfo, Refusal> {
        let members = if self.found.is_enumeration {
            let ty = self.dataset.dtype();
            types::members(&ty.map_err(Refusal::library("ask for the element type"))?)?
        } else {
            Vec::new()
        };
        let how = how(&self.dataset)?;
        DatasetInfo::of(
            self.found.clone(),
            members,
            (filter_names(&how)?, deflate_level(&how)?),
            attributes(&self.dataset)?,
        )
    }
}

impl DatasetInfo {
    /// What was found, with the names of an enumeration's codes, of filters and the level of deflate among them, and the attributes
    /// that are the user's.
    pub(super) fn of(
        found: Found,
        members: Vec<(String, i128)>,
        (filters, deflate): (Vec<String>, Option<u8>),
        attributes: BTreeMap<String, AttributeValue>,
    ) -> Result<Self, Refusal> {
        let (saved, error) = match found.saved() {
            Ok(saved) => (Some(saved), None),
            Err(Refusal::NoDimData) => (None, None),
            Err(Refusal::DimData { message }) => (None, Some(message)),
            Err(refusal) => return Err(refusal),
        };
        let version = saved.as_ref().map(|saved| saved.version);
        let (dim_data, repairs) = match saved {
            Some(saved) => (Some(saved.parts), saved.repairs),
            None => (None, Vec::new()),
        };
        Ok(Self {
            element: found.element()?,
            is_enumeration: found.is_enumeration,
            members,
            shape: found.shape,
            byte_order: found.byte_order,
            storage: found.storage,
            filters,
            deflate,
            dim_data,
            dim_data_error: error,
            repairs,
            version,
            attributes,
        })
    }
}

/// A dataset as rank 0 tells the others of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Found {
    pub(super) shape: Vec<u64>,
    /// The element type, as text.
    element: String,
    pub(super) byte_order: ByteOrder,
    pub(super) is_enumeration: bool,
    pub(super) storage: Storage,
    /// Version and text of the metadata, or why there is no text.
    dim_data: Option<Result<(String, String), String>>,
}

impl Found {
    /// What was found; of elements that are not read, what they are.
    pub(super) fn of(
        shape: Vec<u64>,
        stored: Result<Stored, String>,
        storage: Storage,
        dim_data: Option<Result<(String, String), String>>,
    ) -> Self {
        let mut found = Self {
            shape,
            element: String::new(),
            byte_order: ByteOrder::NATIVE,
            is_enumeration: false,
            storage,
            dim_data,
        };
        match stored {
            Ok(stored) => {
                found.element = stored.element.to_string();
                found.byte_order = stored.byte_order;
                found.is_enumeration = stored.is_enumeration;
            }
            Err(named) => found.element = named,
        }
        found
    }

    pub(super) fn element(&self) -> Result<ElementType, Refusal> {
        let known = ElementType::ALL.into_iter();
        let element = known
            .into_iter()
            .find(|known| known.to_string() == self.element);
        element.ok_or_else(|| Refusal::ElementType {
            given: self.element.clone(),
        })
    }

    /// Where the elements begin, 0 where there are none; `allowed` is what the refusal says of other ways to store them.
    pub(super) fn offset(&self, allowed: &str) -> Result<u64, Refusal> {
        match self.storage {
            _ if self.shape.contains(&0) => Ok(0),
            Storage::Contiguous { offset: Some(at) } => Ok(at),
            _ => Err(Refusal::Storage {
                storage: self.storage.text(),
                allowed: allowed.to_owned(),
            }),
        }
    }

    /// The metadata of the ranks that saved it.
    pub(super) fn parts(&self) -> Result<Vec<DimData>, Refusal> {
        self.saved().map(|saved| saved.parts)
    }

    fn saved(&self) -> Result<Saved, Refusal> {
        match &self.dim_data {
            None => Err(Refusal::NoDimData),
            Some(Err(message)) => Err(Refusal::DimData {
                message: message.clone(),
            }),
            Some(Ok((version, text))) => metadata::from_text(text, version, &self.shape),
        }
    }
}

/// Opens a file to read it, and a dataset in it, of whatever type.
pub(super) fn opened(path: &Path, key: &str) -> Result<(hdf5::File, hdf5::Dataset), Refusal> {
    let names = names(key)?;
    is_regular(path)?.ok_or(Refusal::NotFound)?;
    let file = open::to_read(path)?;
    let dataset = walk(&file, &names)?;
    Ok((file, dataset))
}

/// What there is to know of a dataset in a file of so many bytes.
pub(super) fn describe(dataset: &hdf5::Dataset, bytes: u64) -> Result<Found, Refusal> {
    let ty = dataset
        .dtype()
        .map_err(Refusal::library("ask for the element type"))?;
    let stored = element::stored(&ty)?;
    let mut found = unread(dataset, bytes, stored.element.size())?;
    found.element = stored.element.to_string();
    found.byte_order = stored.byte_order;
    found.is_enumeration = stored.is_enumeration;
    Ok(found)
}

/// What there is to know of a dataset but its elements, which are of so many bytes.
pub(super) fn unread(dataset: &hdf5::Dataset, bytes: u64, item: usize) -> Result<Found, Refusal> {
    let ask = Refusal::library;
    let space = dataset.space().map_err(ask("ask for the shape"))?;
    if space.is_null() {
        return Err(Refusal::NullDataspace);
    }
    let shape: Vec<u64> = space.shape().into_iter().map(|n| n as u64).collect();
    let storage = storage(dataset)?;
    if let Storage::Contiguous {
        offset: Some(offset),
    } = storage
    {
        let size = item as u64;
        let len = shape.iter().try_fold(size, |len, &n| len.checked_mul(n));
        let expected = len.and_then(|len| len.checked_add(offset));
        let expected = expected.unwrap_or(u64::MAX);
        if expected > bytes {
            return Err(Refusal::Truncated {
                expected,
                found: bytes,
            });
        }
    }
    let version = attribute(dataset, VERSION_ATTRIBUTE)?;
    let dim_data = attribute(dataset, DIM_DATA_ATTRIBUTE)?.map(|text| {
        let version = version.unwrap_or_else(|| Err("no __version__ beside it".to_owned()));
        Ok((version?, text?))
    });
    Ok(Found::of(shape, Err(String::new()), storage, dim_data))
}

/// What an object is, under a name that exists; `None` where a link leads nowhere. One in another file is refused: what is
/// known of this file's bytes does not hold there.
pub(super) fn kind_at(
    file: &hdf5::File,
    path: &str,
) -> Result<Option<hdf5::LocationType>, Refusal> {
    let Ok(info) = file.loc_info_by_name(path) else {
        return Ok(None);
    };
    let own = file
        .loc_info()
        .map_err(Refusal::library("look at the file"))?;
    if info.fileno != own.fileno {
        return Err(Refusal::AnotherFile {
            at: path.to_owned(),
        });
    }
    Ok(Some(info.loc_type))
}

/// Opens the dataset, or says which name on the way is wrong.
pub(super) fn walk(file: &hdf5::File, names: &[&str]) -> Result<hdf5::Dataset, Refusal> {
    let mut path = String::new();
    for (i, name) in names.iter().enumerate() {
        if i > 0 {
            path.push('/');
        }
        path.push_str(name);
        let missing = || Refusal::MissingKey {
            missing: path.clone(),
        };
        if !file.link_exists(&path) {
            return Err(missing());
        }
        let kind = kind_at(file, &path)?.ok_or_else(missing)?;
        match (kind, i + 1 == names.len()) {
            (hdf5::LocationType::Dataset, true) | (hdf5::LocationType::Group, false) => {}
            (hdf5::LocationType::Group, true) => {
                return Err(Refusal::NotADataset {
                    kind: "group".to_owned(),
                });
            }
            (_, true) => {
                return Err(Refusal::NotADataset {
                    kind: "named datatype".to_owned(),
                });
            }
            (_, false) => return Err(Refusal::NotAGroup { at: path }),
        }
    }
    file.dataset(&path).map_err(|error| {
        // a library knows no class of a later one
        let message = error.to_string();
        if message.contains("datatype class") || message.contains("for datatype message") {
            return Refusal::ElementType {
                given:
                    "of a type that this HDF5 library does not know (native complex numbers are of HDF5 2.0)"
                        .to_owned(),
            };
        }
        Refusal::library("open the dataset")(error)
    })
}

/// How a dataset was made.
pub(super) fn how(dataset: &hdf5::Dataset) -> Result<DatasetCreate, Refusal> {
    let how = dataset.dcpl();
    how.map_err(Refusal::library("ask how the elements are stored"))
}

fn storage(dataset: &hdf5::Dataset) -> Result<Storage, Refusal> {
    let how = how(dataset)?;
    if !how.external().is_empty() {
        return Ok(Storage::External);
    }
    Ok(match how.layout() {
        Layout::Contiguous => Storage::Contiguous {
            offset: dataset.offset(),
        },
        Layout::Compact => Storage::Compact,
        Layout::Chunked => {
            let chunk = how.chunk().unwrap_or_default();
            Storage::Chunked {
                chunk: chunk.into_iter().map(|n| n as u64).collect(),
            }
        }
        Layout::Virtual => Storage::Virtual,
    })
}

/// The text of an attribute, or why it is none; `None` where there is no such attribute.
pub(super) fn attribute(
    dataset: &hdf5::Dataset,
    name: &str,
) -> Result<Option<Result<String, String>>, Refusal> {
    let names = attribute_names(dataset)?;
    if !names.iter().any(|known| known == name) {
        return Ok(None);
    }
    Ok(Some(match value(dataset, name) {
        Ok(AttributeValue::Text(text)) => Ok(text),
        Ok(_) => Err(format!("{name} is no text")),
        Err(error) => Err(error.to_string()),
    }))
}
