//! [`AttributeValue`]: what goes with a dataset beside its elements, units for example.

use std::collections::BTreeMap;

use hdf5_metno as hdf5;
use hdf5_metno::types::{FixedAscii, FixedUnicode, TypeDescriptor, VarLenAscii, VarLenUnicode};
use serde::{Deserialize, Serialize};

use super::vds::{BOUNDS_ATTRIBUTE, SAVE_ATTRIBUTE};
use super::{DIM_DATA_ATTRIBUTE, Refusal, VERSION_ATTRIBUTE};

/// Attributes of this crate, which are not the user's.
pub(super) const OWN_ATTRIBUTES: [&str; 4] = [
    DIM_DATA_ATTRIBUTE,
    VERSION_ATTRIBUTE,
    SAVE_ATTRIBUTE,
    BOUNDS_ATTRIBUTE,
];

/// The value of an attribute: one text or one number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum AttributeValue {
    /// A text. h5py reads it as `str`.
    Text(String),
    /// An integer of 64 bits.
    Integer(i64),
    /// A number of 64 bits.
    Real(f64),
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for AttributeValue {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for AttributeValue {
    fn from(number: i64) -> Self {
        Self::Integer(number)
    }
}

impl From<f64> for AttributeValue {
    fn from(number: f64) -> Self {
        Self::Real(number)
    }
}

/// Gives a dataset an attribute.
pub(super) fn attach(
    dataset: &hdf5::Location,
    name: &str,
    value: &AttributeValue,
) -> Result<(), Refusal> {
    let wrong = |message: &str| Refusal::Attribute {
        name: name.to_owned(),
        message: message.to_owned(),
    };
    if name.is_empty() || name.contains('\0') {
        return Err(wrong("no name for an attribute"));
    }
    let attached = match value {
        AttributeValue::Text(text) => {
            let text: VarLenUnicode = text.parse().map_err(|_| wrong("a text with a zero byte"))?;
            one(dataset, name, &text)
        }
        AttributeValue::Integer(number) => one(dataset, name, number),
        AttributeValue::Real(number) => one(dataset, name, number),
    };
    attached.map_err(|error| wrong(&error.to_string()))
}

fn one<T: hdf5::H5Type>(dataset: &hdf5::Location, name: &str, value: &T) -> hdf5::Result<()> {
    let attribute = dataset.new_attr::<T>().create(name)?;
    attribute.write_scalar(value)
}

/// The names of a dataset's attributes.
pub(super) fn names(dataset: &hdf5::Dataset) -> Result<Vec<String>, Refusal> {
    let names = dataset.attr_names();
    names.map_err(Refusal::library("ask for the attributes"))
}

/// The attributes of a dataset that are one text or one number, save those that say how it was distributed.
pub(super) fn attributes(
    dataset: &hdf5::Dataset,
) -> Result<BTreeMap<String, AttributeValue>, Refusal> {
    let mut found = BTreeMap::new();
    for name in names(dataset)? {
        if OWN_ATTRIBUTES.contains(&name.as_str()) {
            continue;
        }
        if let Ok(Some(value)) = value(dataset, &name) {
            found.insert(name, value);
        }
    }
    Ok(found)
}

/// Text as UTF-8, or else as Latin-1, which older programs write.
fn decoded(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// The value of an attribute; `None` where it is neither one text nor one number.
pub(super) fn value(dataset: &hdf5::Dataset, name: &str) -> hdf5::Result<Option<AttributeValue>> {
    /// Longest text of a fixed length that is read, in bytes.
    const LONGEST: usize = 1024;
    let attribute = dataset.attr(name)?;
    if !attribute.space()?.is_scalar() {
        return Ok(None);
    }
    // bytes: the safe crate takes any for UTF-8
    let text = |bytes: &[u8]| Some(AttributeValue::Text(decoded(bytes)));
    Ok(match attribute.dtype()?.to_descriptor()? {
        TypeDescriptor::VarLenUnicode => text(attribute.read_scalar::<VarLenUnicode>()?.as_bytes()),
        TypeDescriptor::VarLenAscii => text(attribute.read_scalar::<VarLenAscii>()?.as_bytes()),
        TypeDescriptor::FixedUnicode(len) if len <= LONGEST => {
            text(attribute.read_scalar::<FixedUnicode<LONGEST>>()?.as_bytes())
        }
        TypeDescriptor::FixedAscii(len) if len <= LONGEST => {
            text(attribute.read_scalar::<FixedAscii<LONGEST>>()?.as_bytes())
        }
        TypeDescriptor::Integer(_) => Some(AttributeValue::Integer(attribute.read_scalar()?)),
        TypeDescriptor::Float(_) => Some(AttributeValue::Real(attribute.read_scalar()?)),
        // what has no place in 64 bits with a sign is left out rather than changed
        TypeDescriptor::Unsigned(_) => {
            let number = attribute.read_scalar::<u64>()?;
            i64::try_from(number).ok().map(AttributeValue::Integer)
        }
        _ => None,
    })
}
