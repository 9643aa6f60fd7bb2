//! [`Record`]: elements that have fields, read and written as bytes, and the columns in them.

use std::collections::HashSet;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use dap_protocol::{
    DimData, DimDict, DistBuffer, Element, ElementType, HostArray, HostBuffer,
    copy_bytes_to_elements,
};
use dist_comm::agree::agree;
use dist_comm::{Communicator, FileMode, SharedFileOps};
use hdf5_metno::Datatype;
use hdf5_metno::types::TypeDescriptor;
use serde::{Deserialize, Serialize};

use super::ffi::{self, Class};
use super::{DEPTH, named, ordered};
use crate::IoError;
use crate::h5::attribute::decoded;
use crate::h5::chunk::{self, Chunks, Open};
use crate::h5::dataset::{Found, how, opened, unread};
use crate::h5::load::{placed, zeros};
use crate::h5::source::{Contents, copy_from, read_part};
use crate::h5::together::{by_rank_0, is_regular, names, same, settle};
use crate::h5::{ByteOrder, Limits, Refusal, Storage, Wanted, bare, element, ffi as bits};

/// What the elements of a dataset are, if they are no numbers: records, each of so many bytes with fields in them. Texts of a
/// fixed length are records of one field, which has no name.
///
/// Records travel as bytes: an array of `u8` with one dimension more than the dataset has, the last one, of
/// [`bytes`](Self::bytes). [`column`](Self::column) and [`texts`](Self::texts) take a field out of them, [`put`](Self::put)
/// and [`put_texts`](Self::put_texts) put one in.
///
/// ```
/// use dap_protocol::{DimData, DimDict, DistBuffer, HostArray};
/// use dist_comm::SingleComm;
/// use dist_io::{FieldType, Record, SaveHdf5, Wanted, load_hdf5_records};
///
/// # let dir = tempfile::tempdir()?;
/// # let path = dir.path().join("particles.h5");
/// let particle = Record::packed([("id", FieldType::of::<u32>()), ("x", FieldType::of::<f64>()), ("kind", FieldType::Text { bytes: 4 })]);
/// assert_eq!(particle.bytes, 16);
/// let mut bytes = vec![0; 3 * particle.bytes];
/// particle.put("id", &[7_u32, 8, 9], &mut bytes)?;
/// particle.put("x", &[0.5, 1.5, 2.5], &mut bytes)?;
/// particle.put_texts("kind", &["ion", "ion", "e"], &mut bytes)?;
/// let dims = DimData::new(vec![DimDict::whole(3)?, DimDict::whole(16)?]);
/// let records = DistBuffer::new(dims, HostArray::new(vec![3, 16], bytes)?)?;
/// SaveHdf5::new(&path).key("particles").record(particle.clone()).save(&records, &SingleComm::new())?;
///
/// let (found, read) = load_hdf5_records(&path, Wanted::AsSaved, "particles", &SingleComm::new())?;
/// assert_eq!((&found, &read), (&particle, &records));
/// assert_eq!(found.column::<f64>("x", read.buffer().data())?, [0.5, 1.5, 2.5]);
/// assert_eq!(found.texts("kind", read.buffer().data())?, ["ion", "ion", "e"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Bytes of a record, with what lies between its fields.
    pub bytes: usize,
    /// Its fields.
    pub fields: Vec<Field>,
}

/// A field of a [`Record`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Field {
    /// Its name; none where the record is a text.
    pub name: String,
    /// Its first byte in the record.
    pub offset: usize,
    /// What it is.
    pub ty: FieldType,
}

/// What a field of a [`Record`] is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum FieldType {
    /// A number, or a code of an enumeration.
    Element {
        /// The element type.
        #[serde(with = "by_name")]
        element: ElementType,
        /// Its byte order; this machine's for a single byte.
        byte_order: ByteOrder,
    },
    /// A text of so many bytes, filled up with zeros.
    Text {
        /// Bytes of it.
        bytes: usize,
    },
    /// A text of so many bytes, filled up with spaces, as Fortran has it.
    SpacedText {
        /// Bytes of it.
        bytes: usize,
    },
    /// Bytes of another kind, an array or a record in the record: read, not written.
    Other {
        /// Bytes of it.
        bytes: usize,
    },
}

/// Element types as the protocol names them.
mod by_name {
    use dap_protocol::ElementType;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
    pub(super) fn serialize<S: Serializer>(ty: &ElementType, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(ty)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<ElementType, D::Error> {
        let name = String::deserialize(from)?;
        let mut known = ElementType::ALL.into_iter();
        let found = known.find(|known| known.to_string() == name);
        found.ok_or_else(|| D::Error::custom(format!("no element type: {name}")))
    }
}

impl FieldType {
    /// Numbers of this type in this machine's byte order.
    #[must_use]
    pub fn of<T: Element>() -> Self {
        Self::Element {
            element: T::TYPE,
            byte_order: ByteOrder::NATIVE,
        }
    }

    /// Bytes of a field.
    fn bytes(&self) -> usize {
        match self {
            Self::Element { element, .. } => element.size(),
            Self::Text { bytes } | Self::SpacedText { bytes } | Self::Other { bytes } => *bytes,
        }
    }
}

impl Record {
    /// A record of these fields, one behind another without room between them.
    #[must_use]
    pub fn packed<N: Into<String>>(fields: impl IntoIterator<Item = (N, FieldType)>) -> Self {
        let mut record = Self {
            bytes: 0,
            fields: Vec::new(),
        };
        for (name, ty) in fields {
            let offset = record.bytes;
            record.bytes = offset.saturating_add(ty.bytes());
            record.fields.push(Field {
                name: name.into(),
                offset,
                ty,
            });
        }
        record
    }

    /// Texts of so many bytes, each a dataset's element.
    #[must_use]
    pub fn text(bytes: usize) -> Self {
        Self::packed([("", FieldType::Text { bytes })])
    }

    /// One field of many records. Local.
    ///
    /// # Errors
    /// [`IoError::Record`] where there is no such field, where it is of another type or these are no whole records.
    pub fn column<T: Element>(&self, name: &str, records: &[u8]) -> Result<Vec<T>, IoError> {
        let (field, byte_order) = self.number::<T>(name)?;
        let count = self.count(records)?;
        let size = T::TYPE.size();
        let mut bytes = Vec::with_capacity(count * size); // no longer than the records
        for record in records.chunks_exact(self.bytes) {
            bytes.extend_from_slice(&record[field.offset..field.offset + size]);
        }
        turn::<T>(byte_order, &mut bytes);
        let mut column = vec![T::default(); count];
        copy_bytes_to_elements(&bytes, &mut column)
            .map_err(|error| wrong(name, error.to_string()))?;
        Ok(column)
    }

    /// Puts one field into many records. Local.
    ///
    /// # Errors
    /// As [`column`](Self::column), and where there are more or fewer values than records.
    pub fn put<T: Element>(
        &self,
        name: &str,
        column: &[T],
        records: &mut [u8],
    ) -> Result<(), IoError> {
        let (field, byte_order) = self.number::<T>(name)?;
        let count = self.count(records)?;
        if column.len() != count {
            return Err(wrong(
                name,
                format!("{} values for {count} records", column.len()),
            ));
        }
        let size = T::TYPE.size();
        let mut bytes = Vec::with_capacity(count * size); // no longer than the records
        let all = HostArray::new(vec![count], column.to_vec())?;
        all.visit_bytes(&mut |piece| bytes.extend_from_slice(piece));
        turn::<T>(byte_order, &mut bytes);
        let records = records.chunks_exact_mut(self.bytes);
        for (record, value) in records.zip(bytes.chunks_exact(size)) {
            record[field.offset..field.offset + size].copy_from_slice(value);
        }
        Ok(())
    }

    /// One field of many records, which is a text: without what it is filled up with, as UTF-8, or else as Latin-1. Local.
    ///
    /// # Errors
    /// As [`column`](Self::column).
    pub fn texts(&self, name: &str, records: &[u8]) -> Result<Vec<String>, IoError> {
        let (field, bytes, fill) = self.letters(name)?;
        self.count(records)?;
        let texts = records.chunks_exact(self.bytes).map(|record| {
            let text = &record[field.offset..field.offset + bytes];
            let mut end = text.iter().position(|&byte| byte == 0).unwrap_or(bytes);
            while fill != 0 && end > 0 && text[end - 1] == fill {
                end -= 1;
            }
            decoded(&text[..end])
        });
        Ok(texts.collect())
    }

    /// Puts one field into many records, which is a text, and fills it up. Local.
    ///
    /// # Errors
    /// As [`put`](Self::put), and where a text is longer than the field.
    pub fn put_texts<S: AsRef<str>>(
        &self,
        name: &str,
        texts: &[S],
        records: &mut [u8],
    ) -> Result<(), IoError> {
        let (field, bytes, fill) = self.letters(name)?;
        let count = self.count(records)?;
        if texts.len() != count {
            return Err(wrong(
                name,
                format!("{} texts for {count} records", texts.len()),
            ));
        }
        if let Some(long) = texts.iter().find(|text| text.as_ref().len() > bytes) {
            return Err(wrong(
                name,
                format!("{:?} is longer than {bytes} bytes", long.as_ref()),
            ));
        }
        for (record, text) in records.chunks_exact_mut(self.bytes).zip(texts) {
            let room = &mut record[field.offset..field.offset + bytes];
            room.fill(fill);
            room[..text.as_ref().len()].copy_from_slice(text.as_ref().as_bytes());
        }
        Ok(())
    }

    fn field(&self, name: &str) -> Result<&Field, IoError> {
        let field = self.fields.iter().find(|field| field.name == name);
        let field = field.ok_or_else(|| wrong(name, "there is no such field".to_owned()))?;
        let end = field.offset.checked_add(field.ty.bytes());
        match end {
            Some(end) if end <= self.bytes => Ok(field),
            _ => Err(wrong(
                name,
                format!("it does not lie in {} bytes", self.bytes),
            )),
        }
    }

    fn number<T: Element>(&self, name: &str) -> Result<(&Field, ByteOrder), IoError> {
        let field = self.field(name)?;
        match &field.ty {
            FieldType::Element {
                element,
                byte_order,
            } if *element == T::TYPE => Ok((field, *byte_order)),
            other => Err(wrong(
                name,
                format!("it is {other:?}, asked for: {}", T::TYPE),
            )),
        }
    }

    /// A field that is a text, its bytes, and that which it is filled up with.
    fn letters(&self, name: &str) -> Result<(&Field, usize, u8), IoError> {
        let field = self.field(name)?;
        match field.ty {
            FieldType::Text { bytes } => Ok((field, bytes, 0)),
            FieldType::SpacedText { bytes } => Ok((field, bytes, b' ')),
            _ => Err(wrong(name, "it is no text".to_owned())),
        }
    }

    /// Number of records in so many bytes.
    fn count(&self, records: &[u8]) -> Result<usize, IoError> {
        if self.bytes == 0 || !records.len().is_multiple_of(self.bytes) {
            return Err(wrong(
                "",
                format!("{} bytes are no records of {}", records.len(), self.bytes),
            ));
        }
        Ok(records.len() / self.bytes)
    }

    /// The type of such records in a file.
    pub(in crate::h5) fn to_type(&self) -> Result<Datatype, Refusal> {
        let refused = |name: &str, message: &str| Refusal::Member {
            name: name.to_owned(),
            message: message.to_owned(),
        };
        if let [
            Field {
                name,
                offset: 0,
                ty: text @ (FieldType::Text { bytes } | FieldType::SpacedText { bytes }),
            },
        ] = self.fields.as_slice()
            && name.is_empty()
            && *bytes == self.bytes
        {
            return text_type(text);
        }
        let mut names = HashSet::new();
        let mut members = Vec::with_capacity(self.fields.len());
        for field in &self.fields {
            let name = field.name.as_str();
            let text = CString::new(name)
                .ok()
                .filter(|_| !name.is_empty() && names.insert(name));
            let text = text.ok_or_else(|| {
                refused(
                    name,
                    "names are texts without a zero byte, each another one",
                )
            })?;
            self.field(name)
                .map_err(|_| refused(name, "it does not lie in the record"))?;
            let ty = match &field.ty {
                FieldType::Element {
                    element,
                    byte_order,
                } => ordered(*element, *byte_order)?,
                text @ (FieldType::Text { .. } | FieldType::SpacedText { .. }) => text_type(text)?,
                FieldType::Other { .. } => return Err(refused(name, "its type is not written")),
            };
            members.push((text, field.offset, ty));
        }
        ffi::compound(self.bytes, &members)
    }

    /// What the records of a type in a file are.
    fn of(ty: &Datatype) -> Result<Self, Refusal> {
        let refused = || Refusal::ElementType { given: named(ty) };
        if !is_plain(ty, DEPTH) {
            return Err(refused());
        }
        match ffi::class(ty) {
            Class::Text => Ok(Self::packed([("", text_of(ty))])),
            Class::Compound => {
                let field = |at| {
                    let (member, offset) = ffi::member(ty, at)?;
                    let bytes = member.size();
                    let kind = match element::stored(&member) {
                        Ok(stored) => FieldType::Element {
                            element: stored.element,
                            byte_order: stored.byte_order,
                        },
                        Err(_) if ffi::class(&member) == Class::Text => text_of(&member),
                        Err(_) => FieldType::Other { bytes },
                    };
                    Ok(Field {
                        name: decoded(&ffi::name(ty, at)?),
                        offset,
                        ty: kind,
                    })
                };
                let fields = (0..ffi::count(ty)).map(field);
                Ok(Self {
                    bytes: ty.size(),
                    fields: fields.collect::<Result<_, Refusal>>()?,
                })
            }
            _ => Err(refused()),
        }
    }
}

/// Whether all that belongs to an element lies in it: no text or list of any length, no reference.
fn is_plain(ty: &Datatype, depth: usize) -> bool {
    match ffi::class(ty) {
        Class::Integer | Class::Float | Class::Enumeration | Class::Complex | Class::Bytes => true,
        Class::Text => !ffi::is_variable(ty),
        Class::Compound => {
            depth > 0
                && ffi::count(ty) <= super::MEMBERS
                && (0..ffi::count(ty)).all(|at| {
                    ffi::member(ty, at).is_ok_and(|(member, _)| is_plain(&member, depth - 1))
                })
        }
        Class::Array => depth > 0 && ffi::base(ty).is_ok_and(|base| is_plain(&base, depth - 1)),
        Class::Reference | Class::List | Class::Other => false,
    }
}

/// What a text of a fixed length is.
fn text_of(ty: &Datatype) -> FieldType {
    let bytes = ty.size();
    if ffi::is_spaced(ty) {
        FieldType::SpacedText { bytes }
    } else {
        FieldType::Text { bytes }
    }
}

/// The type of texts in a file.
fn text_type(text: &FieldType) -> Result<Datatype, Refusal> {
    let bytes = text.bytes();
    if bytes == 0 {
        return Err(Refusal::Member {
            name: String::new(),
            message: "a text of no bytes".to_owned(),
        });
    }
    let ty = Datatype::from_descriptor(&TypeDescriptor::FixedAscii(bytes));
    let ty = ty.map_err(Refusal::library("make a type"))?;
    if let FieldType::SpacedText { .. } = text {
        ffi::set_spaced(&ty)?;
    }
    Ok(ty)
}

fn wrong(name: &str, message: String) -> IoError {
    IoError::Record {
        field: name.to_owned(),
        message,
    }
}

/// Turns numbers round that are not in this machine's byte order.
fn turn<T: Element>(byte_order: ByteOrder, bytes: &mut [u8]) {
    if byte_order != ByteOrder::NATIVE {
        let words = bytes.chunks_exact_mut(T::TYPE.word_size());
        words.for_each(<[u8]>::reverse);
    }
}

/// Loads a dataset of records, or of texts of a fixed length, each rank its part: what they are, and their bytes, with one
/// dimension more than the dataset. What is wanted is said of the dataset as it is, without that dimension. Collective; equal
/// paths and keys.
///
/// Every rank reads its part by itself. Compressed records are decoded in threads.
///
/// # Errors
/// As [`load_hdf5`](crate::load_hdf5); [`Refusal::ElementType`] where the elements are no records, or have a part that lies
/// elsewhere (a text of any length, a reference).
pub fn load_hdf5_records<'a>(
    path: impl AsRef<Path>,
    wanted: impl Into<Wanted<'a>>,
    key: &str,
    comm: &(impl Communicator + ?Sized),
) -> Result<(Record, DistBuffer<HostArray<u8>>), IoError> {
    load_within(path.as_ref(), wanted.into(), key, None, comm)
}

/// As [`load_hdf5_records`], without the library where there are limits.
pub(in crate::h5) fn load_within(
    path: &Path,
    wanted: Wanted<'_>,
    key: &str,
    limits: Option<&Limits>,
    comm: &(impl Communicator + ?Sized),
) -> Result<(Record, DistBuffer<HostArray<u8>>), IoError> {
    same(
        comm,
        &[
            ("path", path.as_os_str().as_bytes()),
            ("key", key.as_bytes()),
            ("kind of part", wanted.kind().as_bytes()),
            ("limits", format!("{limits:?}").as_bytes()),
        ],
    )?;
    let find = || match limits {
        Some(limits) => find_within(path, key, limits),
        None => find(path, key),
    };
    let (record, found, contents) = by_rank_0(comm, path, key, find)?;
    let refused = |refusal| IoError::Hdf5 {
        path: path.to_owned(),
        key: key.to_owned(),
        refusal: Box::new(refusal),
    };
    let (dim_data, _) = placed(comm, &found, wanted, &refused)?;
    let mut dims: Vec<DimDict> = dim_data.iter().cloned().collect();
    let made = DimDict::whole(record.bytes as u64).map_err(IoError::from);
    dims.push(agree(comm, made)?);
    let whole = DimData::new(dims);
    let (shape, mut bytes) = agree(comm, zeros::<u8>(&whole))?;
    let item = record.bytes;
    match &contents {
        Contents::At(start) => {
            let file = comm.open_shared(path, FileMode::Read)?;
            let read = |offset, to: &mut [u8]| file.read_at(start.saturating_add(offset), to);
            agree(comm, read_part(read, &dim_data, item, &mut bytes))?;
        }
        Contents::Here(all) => {
            let read = |offset, to: &mut [u8]| copy_from(all, offset, to);
            agree(comm, read_part(read, &dim_data, item, &mut bytes))?;
        }
        Contents::Nowhere(fill) => {
            let items = bytes.chunks_exact_mut(item);
            items.for_each(|item| item.copy_from_slice(fill));
        }
        Contents::Parts(_) | Contents::Tiles(_) => return Err(refused(virtual_records())),
        Contents::Chunks(chunks) => {
            let file = comm.open_shared(path, FileMode::Read)?;
            let library = if chunks.needs_library() {
                Some(settle(comm, path, key, opened(path, key))?)
            } else {
                None
            };
            let open = Open {
                path,
                key,
                file: &*file,
                library: library.as_ref().map(|(_, dataset)| dataset),
                threads: None,
            };
            chunk::load(comm, &open, chunks, None, &dim_data, item, &mut bytes)?;
        }
    }
    let buffer = HostArray::new(shape, bytes).map_err(IoError::from);
    let part = buffer.and_then(|buffer| Ok(DistBuffer::new(whole, buffer)?));
    Ok((record, agree(comm, part)?))
}

/// Why records in other datasets are not read.
fn virtual_records() -> Refusal {
    Refusal::Storage {
        storage: "in other datasets (virtual)".to_owned(),
        allowed: READ.to_owned(),
    }
}

/// How records may be stored.
const READ: &str = "in one piece, in chunks, and compact";

/// As [`find`], without the library.
fn find_within(
    path: &Path,
    key: &str,
    limits: &Limits,
) -> Result<(Record, Found, Contents), Refusal> {
    let names = names(key)?;
    let (_, _, found) = bare::opened(path, limits, |bare| {
        let dataset = bare.dataset(&names)?;
        let record = bare::record(&dataset)?;
        if dataset.found.storage == Storage::Virtual {
            return Err(virtual_records());
        }
        let contents = bare.contents(&dataset)?;
        Ok((record, dataset.found, contents))
    })?;
    Ok(found)
}

/// Looks a dataset of records up. By rank 0.
fn find(path: &Path, key: &str) -> Result<(Record, Found, Contents), Refusal> {
    let (file, dataset) = opened(path, key)?;
    let ty = dataset
        .dtype()
        .map_err(Refusal::library("ask for the element type"))?;
    let record = Record::of(&ty)?;
    let len = is_regular(path)?.ok_or(Refusal::NotFound)?.len();
    let found = unread(&dataset, len, record.bytes)?;
    if found.shape.contains(&0) {
        return Ok((record, found, Contents::At(0)));
    }
    let fill = || Ok::<_, Refusal>(bits::fill_value(&how(&dataset)?, &ty));
    let contents = match found.storage {
        Storage::Contiguous { offset: None } => Contents::Nowhere(fill()?),
        Storage::Compact => Contents::Here(bits::read_all(&dataset, &ty)?),
        Storage::Chunked { .. } => {
            Contents::Chunks(Chunks::of(&file, &dataset, &found.shape, fill()?)?)
        }
        _ => Contents::At(found.offset(READ)?),
    };
    Ok((record, found, contents))
}
