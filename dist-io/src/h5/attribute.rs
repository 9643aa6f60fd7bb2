//! [`AttributeValue`]: what goes with a dataset beside its elements, units for example.

use std::collections::BTreeMap;

use hdf5_metno as hdf5;
use hdf5_metno::types::{
    FixedAscii, FixedUnicode, FloatSize, TypeDescriptor, VarLenAscii, VarLenUnicode,
};
use serde::{Deserialize, Serialize};

use super::vds::{BOUNDS_ATTRIBUTE, SAVE_ATTRIBUTE};
use super::{DIM_DATA_ATTRIBUTE, Refusal, VERSION_ATTRIBUTE, types, verify};

/// Attributes of this crate, which are not the user's.
pub(super) const OWN_ATTRIBUTES: [&str; 6] = [
    DIM_DATA_ATTRIBUTE,
    VERSION_ATTRIBUTE,
    SAVE_ATTRIBUTE,
    BOUNDS_ATTRIBUTE,
    verify::SUMS,
    verify::OF,
];

/// The value of an attribute. What is read is written back as it was: in its kind, numbers in 64 bits save `f32`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum AttributeValue {
    /// A text. h5py reads it as `str`.
    Text(String),
    /// An integer of 64 bits with a sign, or a shorter one.
    Integer(i64),
    /// An integer of 64 bits without a sign, or a shorter one.
    Unsigned(u64),
    /// A number of 64 bits.
    Real(#[serde(with = "bits::real")] f64),
    /// A number of 32 bits, or a shorter one.
    Single(#[serde(with = "bits::single")] f32),
    /// A truth value, as h5py writes it.
    Bool(bool),
    /// A list of texts.
    Texts(Vec<String>),
    /// Numbers in C order, and how many of them along each dimension.
    Array {
        /// Extent per dimension.
        shape: Vec<u64>,
        /// The numbers.
        values: AttributeNumbers,
    },
    /// Something else, by name: a record, a reference, nothing at all. It is read only: attaching it is an error.
    Other(String),
}

/// The numbers of an attribute that is an array.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum AttributeNumbers {
    /// As [`AttributeValue::Integer`].
    Integer(Vec<i64>),
    /// As [`AttributeValue::Unsigned`].
    Unsigned(Vec<u64>),
    /// As [`AttributeValue::Real`].
    Real(#[serde(with = "bits::reals")] Vec<f64>),
    /// As [`AttributeValue::Single`].
    Single(#[serde(with = "bits::singles")] Vec<f32>),
    /// As [`AttributeValue::Bool`].
    Bool(Vec<bool>),
}

/// Numbers as their bits: the text in which ranks tell each other of them has no infinities, and none for what is no number.
mod bits {
    macro_rules! by_bits {
        ($one:ident, $many:ident, $number:ty, $bits:ty) => {
            pub(super) mod $one {
                use serde::{Deserialize, Deserializer, Serialize, Serializer};

                pub(in super::super) fn serialize<S: Serializer>(
                    number: &$number,
                    to: S,
                ) -> Result<S::Ok, S::Error> {
                    number.to_bits().serialize(to)
                }

                pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
                    from: D,
                ) -> Result<$number, D::Error> {
                    Ok(<$number>::from_bits(<$bits>::deserialize(from)?))
                }
            }

            pub(super) mod $many {
                use serde::{Deserialize, Deserializer, Serializer};

                pub(in super::super) fn serialize<S: Serializer>(
                    numbers: &[$number],
                    to: S,
                ) -> Result<S::Ok, S::Error> {
                    to.collect_seq(numbers.iter().map(|number| number.to_bits()))
                }

                pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
                    from: D,
                ) -> Result<Vec<$number>, D::Error> {
                    let bits = Vec::<$bits>::deserialize(from)?;
                    Ok(bits.into_iter().map(<$number>::from_bits).collect())
                }
            }
        };
    }
    by_bits!(real, reals, f64, u64);
    by_bits!(single, singles, f32, u32);
}

impl From<&str> for AttributeValue {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<Vec<String>> for AttributeValue {
    fn from(texts: Vec<String>) -> Self {
        Self::Texts(texts)
    }
}

impl From<&[&str]> for AttributeValue {
    fn from(texts: &[&str]) -> Self {
        Self::Texts(texts.iter().map(|&text| text.to_owned()).collect())
    }
}

macro_rules! from {
    ($($type:ty: $one:ident),*) => {$(
        impl From<$type> for AttributeValue {
            fn from(value: $type) -> Self {
                Self::$one(value)
            }
        }
    )*};
}
from!(String: Text, i64: Integer, u64: Unsigned, f64: Real, f32: Single, bool: Bool);

impl From<i32> for AttributeValue {
    fn from(number: i32) -> Self {
        Self::Integer(number.into())
    }
}

macro_rules! from_list {
    ($($type:ty: $many:ident),*) => {$(
        impl From<Vec<$type>> for AttributeValue {
            fn from(values: Vec<$type>) -> Self {
                Self::Array {
                    shape: vec![values.len() as u64],
                    values: AttributeNumbers::$many(values),
                }
            }
        }
    )*};
}
from_list!(i64: Integer, u64: Unsigned, f64: Real, f32: Single, bool: Bool);

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
    let text = |text: &String| -> Result<VarLenUnicode, Refusal> {
        text.parse().map_err(|_| wrong("a text with a zero byte"))
    };
    let attached = match value {
        AttributeValue::Text(one_text) => one(dataset, name, &text(one_text)?),
        AttributeValue::Integer(number) => one(dataset, name, number),
        AttributeValue::Unsigned(number) => one(dataset, name, number),
        AttributeValue::Real(number) => one(dataset, name, number),
        AttributeValue::Single(number) => one(dataset, name, number),
        AttributeValue::Bool(value) => one(dataset, name, value),
        AttributeValue::Texts(texts) => {
            let texts = texts.iter().map(text).collect::<Result<Vec<_>, _>>()?;
            many(dataset, name, &[texts.len() as u64], &texts)
        }
        AttributeValue::Array { shape, values } => match values {
            AttributeNumbers::Integer(all) => many(dataset, name, shape, all),
            AttributeNumbers::Unsigned(all) => many(dataset, name, shape, all),
            AttributeNumbers::Real(all) => many(dataset, name, shape, all),
            AttributeNumbers::Single(all) => many(dataset, name, shape, all),
            AttributeNumbers::Bool(all) => many(dataset, name, shape, all),
        },
        AttributeValue::Other(kind) => return Err(wrong(&format!("{kind} cannot be written"))),
    };
    attached.map_err(|error| wrong(&error.to_string()))
}

fn many<T: hdf5::H5Type>(
    dataset: &hdf5::Location,
    name: &str,
    shape: &[u64],
    values: &[T],
) -> hdf5::Result<()> {
    let count = shape
        .iter()
        .try_fold(1_u64, |n, &extent| n.checked_mul(extent));
    if count != Some(values.len() as u64) {
        return Err(format!("{} values for a shape of {shape:?}", values.len()).into());
    }
    let extents = shape
        .iter()
        .map(|&n| usize::try_from(n).unwrap_or(usize::MAX));
    let extents: Vec<usize> = extents.collect();
    let attribute = dataset.new_attr::<T>().shape(extents).create(name)?;
    if values.is_empty() {
        return Ok(());
    }
    attribute.write_raw(values)
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

/// The attributes of a dataset, save those that say how it was distributed.
pub(super) fn attributes(
    dataset: &hdf5::Dataset,
) -> Result<BTreeMap<String, AttributeValue>, Refusal> {
    let mut found = BTreeMap::new();
    for name in names(dataset)? {
        if OWN_ATTRIBUTES.contains(&name.as_str()) {
            continue;
        }
        let value = value(dataset, &name)
            .unwrap_or_else(|error| AttributeValue::Other(format!("unreadable: {error}")));
        found.insert(name, value);
    }
    Ok(found)
}

/// Text as UTF-8, or else as Latin-1, which older programs write.
pub(super) fn decoded(bytes: &[u8]) -> String {
    match str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().map(|&byte| char::from(byte)).collect(),
    }
}

/// The value of an attribute.
pub(super) fn value(dataset: &hdf5::Dataset, name: &str) -> hdf5::Result<AttributeValue> {
    /// Longest text of a fixed length that is read, in bytes.
    const LONGEST: usize = 1024;
    let attribute = dataset.attr(name)?;
    let space = attribute.space()?;
    let ty = attribute.dtype()?;
    if space.is_null() {
        return Ok(AttributeValue::Other(
            "nothing (a null dataspace)".to_owned(),
        ));
    }
    let shape: Vec<u64> = space.shape().into_iter().map(|n| n as u64).collect();
    let is_one = space.is_scalar();
    let texts = |all: Vec<Vec<u8>>| {
        let mut texts: Vec<String> = all.iter().map(|text| decoded(text)).collect();
        match (is_one, texts.len()) {
            (true, 1) => AttributeValue::Text(texts.remove(0)),
            _ if shape.len() == 1 => AttributeValue::Texts(texts),
            _ => AttributeValue::Other(format!("texts in {} dimensions", shape.len())),
        }
    };
    macro_rules! bytes {
        ($type:ty) => {
            raw::<$type>(&attribute)?
                .iter()
                .map(|text| text.as_bytes().to_vec())
                .collect()
        };
    }
    macro_rules! numbers {
        ($kind:ident, $all:expr) => {{
            let all = $all;
            if is_one && all.len() == 1 {
                AttributeValue::$kind(all[0])
            } else {
                AttributeValue::Array {
                    shape: shape.clone(),
                    values: AttributeNumbers::$kind(all),
                }
            }
        }};
    }
    let described = if types::is_bool(&ty) {
        Some(TypeDescriptor::Boolean)
    } else {
        types::descriptor(&ty)
    };
    let Some(described) = described else {
        return Ok(AttributeValue::Other(types::named(&ty)));
    };
    Ok(match described {
        TypeDescriptor::VarLenUnicode => texts(bytes!(VarLenUnicode)),
        TypeDescriptor::VarLenAscii => texts(bytes!(VarLenAscii)),
        TypeDescriptor::FixedUnicode(len) if len <= LONGEST => texts(bytes!(FixedUnicode<LONGEST>)),
        TypeDescriptor::FixedAscii(len) if len <= LONGEST => texts(bytes!(FixedAscii<LONGEST>)),
        TypeDescriptor::Integer(_) => numbers!(Integer, raw::<i64>(&attribute)?),
        TypeDescriptor::Unsigned(_) => numbers!(Unsigned, raw::<u64>(&attribute)?),
        TypeDescriptor::Float(FloatSize::U8) => numbers!(Real, raw::<f64>(&attribute)?),
        TypeDescriptor::Float(_) => numbers!(Single, raw::<f32>(&attribute)?),
        // as the codes that they are: a `bool` of another value would be none
        TypeDescriptor::Boolean => {
            let codes = raw::<i8>(&attribute)?;
            numbers!(
                Bool,
                codes.into_iter().map(|code| code != 0).collect::<Vec<_>>()
            )
        }
        _ => AttributeValue::Other(types::named(&ty)),
    })
}

/// All elements of an attribute.
fn raw<T: hdf5::H5Type>(attribute: &hdf5::Attribute) -> hdf5::Result<Vec<T>> {
    if attribute.size() == 0 {
        return Ok(Vec::new());
    }
    attribute.read_raw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_bit_for_bit() {
        let odd = [
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            -0.0,
            f64::MIN_POSITIVE / 8.0,
        ];
        #[expect(clippy::cast_possible_truncation, reason = "the same of fewer bits")]
        let short = odd.map(|number| number as f32);
        for value in [
            AttributeValue::from(odd.to_vec()),
            AttributeValue::from(short.to_vec()),
            AttributeValue::from(odd[0]),
            AttributeValue::from(short[1]),
        ] {
            let told = serde_json::to_vec(&value).unwrap();
            let heard: AttributeValue = serde_json::from_slice(&told).unwrap();
            // as text, because NaN is not equal to itself
            assert_eq!(format!("{heard:?}"), format!("{value:?}"));
        }
    }
}
