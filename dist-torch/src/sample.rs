//! [`Sample`]: one sample, as a source gives it and as it is read back.

use dap_protocol::{Element, ElementType, HostArray, HostBuffer};
use half::{bf16, f16};
use num_complex::{Complex32, Complex64};

use crate::DataError;
use crate::schema::array_bytes;

/// One sample: an array, a text, or containers of them, nested as the source likes.
///
/// Numbers, `Vec`s, arrays, [`HostArray`]s, strings and tuples of up to six parts become one by `into`.
///
/// ```
/// use dist_torch::Sample;
///
/// let digit: Sample = (vec![0_u8; 64], 7_i64).into();
/// let graph = Sample::map([
///     ("name", "benzene".into()),
///     ("nodes", Sample::ragged(vec![6_u8; 12])), // as many as this one has
///     ("energy", (-232.2_f64).into()),
/// ]);
/// assert!(matches!((digit, graph), (Sample::Tuple(_), Sample::Map(_))));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Sample {
    /// An array of one shape in all samples.
    Array(Array),
    /// An array whose first extent is this sample's own.
    Ragged(Array),
    /// A text.
    Text(String),
    /// A tuple.
    Tuple(Vec<Sample>),
    /// A list, of one length in all samples.
    List(Vec<Sample>),
    /// Keys and what they hold.
    Map(Vec<(String, Sample)>),
}

impl Sample {
    /// A sample of named parts.
    pub fn map<K: Into<String>>(parts: impl IntoIterator<Item = (K, Self)>) -> Self {
        let parts = parts.into_iter().map(|(key, part)| (key.into(), part));
        Self::Map(parts.collect())
    }

    /// A field of one dimension whose length differs from sample to sample.
    #[must_use]
    pub fn ragged<T: Element>(values: impl AsRef<[T]>) -> Self {
        Self::Ragged(Array::one_dimension(values.as_ref()))
    }

    /// What a [field's name](crate::Field::name) leads to.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        let keys = path(name);
        let mut at = self;
        if !matches!(at, Self::Tuple(_) | Self::List(_) | Self::Map(_)) {
            return (keys == ["0"]).then_some(at);
        }
        for key in &keys {
            at = match at {
                Self::Tuple(parts) | Self::List(parts) => {
                    let position: usize = key.parse().ok()?;
                    parts
                        .get(position)
                        .filter(|_| position.to_string() == *key)?
                }
                Self::Map(parts) => &parts.iter().find(|(name, _)| name == key)?.1,
                Self::Array(_) | Self::Ragged(_) | Self::Text(_) => return None,
            };
        }
        Some(at)
    }

    /// What this is, in a message.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Array(array) => format!("{} {:?}", array.element, array.shape),
            Self::Ragged(array) => format!("ragged {} {:?}", array.element, array.shape),
            Self::Text(_) => "text".into(),
            Self::Tuple(parts) => format!("a tuple of {}", parts.len()),
            Self::List(parts) => format!("a list of {}", parts.len()),
            Self::Map(parts) => {
                let keys: Vec<_> = parts.iter().map(|(key, _)| key).collect();
                format!("a map of {keys:?}")
            }
        }
    }
}

/// The keys of a field's name, the escapes taken out.
fn path(name: &str) -> Vec<String> {
    let mut keys = vec![String::new()];
    let mut letters = name.chars();
    while let Some(letter) = letters.next() {
        let last = keys.len() - 1;
        match letter {
            '.' => keys.push(String::new()),
            '\\' => keys[last].extend(letters.next()),
            _ => keys[last].push(letter),
        }
    }
    keys
}

/// An array of any element type: shape and elements in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    element: ElementType,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

impl Array {
    /// An array of a shape; `data` has its elements in C order.
    ///
    /// # Errors
    /// [`DataError::ElementCount`] when the shape has another number of elements.
    pub fn new<T: Element>(shape: &[usize], data: &[T]) -> Result<Self, DataError> {
        Self::from_bytes(T::TYPE, shape.to_vec(), bytemuck::cast_slice(data).to_vec())
    }

    /// One dimension of elements.
    #[must_use]
    pub fn one_dimension<T: Element>(data: &[T]) -> Self {
        Self {
            element: T::TYPE,
            shape: vec![data.len()],
            bytes: bytemuck::cast_slice(data).to_vec(),
        }
    }

    /// The elements of any buffer in host memory.
    #[must_use]
    pub fn from_buffer(buffer: &(impl HostBuffer + ?Sized)) -> Self {
        let mut bytes = Vec::new();
        buffer.visit_bytes(&mut |piece| bytes.extend_from_slice(piece));
        Self {
            element: buffer.element_type(),
            shape: buffer.shape().to_vec(),
            bytes,
        }
    }

    /// An array of bytes in native order, those of its elements in C order.
    pub(crate) fn from_bytes(
        element: ElementType,
        shape: Vec<usize>,
        bytes: Vec<u8>,
    ) -> Result<Self, DataError> {
        if array_bytes(element, &shape) != Some(bytes.len()) {
            return Err(DataError::ElementCount {
                shape,
                given: bytes.len() / element.size(),
            });
        }
        Ok(Self {
            element,
            shape,
            bytes,
        })
    }

    /// The type of the elements.
    #[must_use]
    pub fn element_type(&self) -> ElementType {
        self.element
    }

    /// Extent per dimension, in elements.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The bytes of the elements, in C order and native byte order.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The elements; `None` where they are of another type.
    #[must_use]
    pub fn to_vec<T: Element>(&self) -> Option<Vec<T>> {
        if self.element != T::TYPE {
            return None;
        }
        let mut data = vec![T::default(); self.bytes.len() / size_of::<T>()];
        dap_protocol::copy_bytes_to_elements(&self.bytes, &mut data).ok()?;
        Some(data)
    }
}

impl From<Array> for Sample {
    fn from(array: Array) -> Self {
        Self::Array(array)
    }
}

impl<T: Element> From<HostArray<T>> for Sample {
    fn from(array: HostArray<T>) -> Self {
        Self::Array(Array::from_buffer(&array))
    }
}

impl<T: Element> From<Vec<T>> for Sample {
    fn from(data: Vec<T>) -> Self {
        Self::Array(Array::one_dimension(&data))
    }
}

impl<T: Element, const N: usize> From<[T; N]> for Sample {
    fn from(data: [T; N]) -> Self {
        Self::Array(Array::one_dimension(&data))
    }
}

impl From<String> for Sample {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Sample {
    fn from(text: &str) -> Self {
        Self::Text(text.into())
    }
}

macro_rules! from_number {
    ($($t:ty),*) => {$(
        impl From<$t> for Sample {
            fn from(number: $t) -> Self {
                Self::Array(Array {
                    element: <$t>::TYPE,
                    shape: Vec::new(),
                    bytes: bytemuck::bytes_of(&number).to_vec(),
                })
            }
        }
    )*};
}

from_number!(
    bool, i8, i16, i32, i64, u8, u16, u32, u64, f16, bf16, f32, f64, Complex32, Complex64
);

macro_rules! from_tuple {
    ($($part:ident)+) => {
        impl<$($part: Into<Sample>),+> From<($($part,)+)> for Sample {
            #[expect(non_snake_case, reason = "parts are called as their types are")]
            fn from(($($part,)+): ($($part,)+)) -> Self {
                Self::Tuple(vec![$($part.into()),+])
            }
        }
    };
}

from_tuple!(A);
from_tuple!(A B);
from_tuple!(A B C);
from_tuple!(A B C D);
from_tuple!(A B C D E);
from_tuple!(A B C D E F);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_found_by_the_names_of_fields() {
        let sample = Sample::map([
            ("a.b", (1_i32, "x").into()),
            ("c\\", Sample::List(vec![true.into()])),
            ("", 5_u8.into()),
        ]);
        let schema = crate::Schema::of(&sample).unwrap();
        for field in schema.fields() {
            let part = sample.get(field.name()).unwrap();
            assert_eq!(
                crate::Schema::of(part).unwrap().fields()[0].kind(),
                field.kind()
            );
        }
        for name in ["a", "a\\.b.2", "a\\.b.00", "a\\.b.0.0", "c\\\\.x"] {
            assert_eq!(sample.get(name), None, "{name}");
        }
        let single = Sample::from(1.5_f32);
        assert_eq!((single.get("0"), single.get("1")), (Some(&single), None));
    }

    #[test]
    fn arrays_are_checked() {
        assert!(Array::new(&[2, 3], &[0_i16; 6]).is_ok());
        let error = Array::new(&[2, 3], &[0_i16; 5]).unwrap_err();
        assert_eq!(error.to_string(), "a shape of [2, 3] was given 5 elements");
        assert!(Array::new(&[usize::MAX, 2], &[0_u8]).is_err());
        let array = Array::new(&[2], &[true, false]).unwrap();
        assert_eq!(array.to_vec(), Some(vec![true, false]));
        assert_eq!(array.to_vec::<u8>(), None);
    }

    #[test]
    fn fortran_order_becomes_c_order() {
        let array = HostArray::with_order(
            vec![2, 2],
            vec![1_u8, 3, 2, 4],
            dap_protocol::Order::Fortran,
        );
        let Sample::Array(array) = Sample::from(array.unwrap()) else {
            panic!("an array")
        };
        assert_eq!(array.bytes(), [1, 2, 3, 4]);
    }
}
