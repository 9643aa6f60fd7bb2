//! [`Schema`]: what every sample of a data set looks like.

use std::fmt;

use dap_protocol::ElementType;
use serde::{Deserialize, Serialize};

use crate::state::checksum;
use crate::{DataError, Sample};

/// Containers in containers: as deep as a sample may be.
pub const MAX_DEPTH: usize = 32;

/// What a field of a sample is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An array of this shape in every sample; `[]` is a single number.
    Fixed {
        /// The type of its elements.
        element: ElementType,
        /// Its extents, in elements.
        shape: Vec<usize>,
    },
    /// An array whose first extent differs from sample to sample, `(n, *inner)`.
    Ragged {
        /// The type of its elements.
        element: ElementType,
        /// The other extents, in elements.
        inner: Vec<usize>,
    },
    /// A text.
    Text,
}

impl Kind {
    /// The type of the elements; of a text its bytes.
    #[must_use]
    pub fn element(&self) -> ElementType {
        match self {
            Self::Fixed { element, .. } | Self::Ragged { element, .. } => *element,
            Self::Text => ElementType::U8,
        }
    }

    /// `"fixed"`, `"ragged"` or `"text"`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self {
            Self::Fixed { .. } => "fixed",
            Self::Ragged { .. } => "ragged",
            Self::Text => "text",
        }
    }

    /// Bytes of a sample's array, or of one item of what varies in length; `None` beyond what can be addressed.
    pub(crate) fn item_bytes(&self) -> Option<usize> {
        match self {
            Self::Fixed { element, shape } => array_bytes(*element, shape),
            Self::Ragged { element, inner } => array_bytes(*element, inner),
            Self::Text => Some(1),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed { element, shape } => write!(f, "{element} {shape:?}"),
            Self::Ragged { element, inner } => {
                write!(f, "{element} [any")?;
                inner
                    .iter()
                    .try_for_each(|extent| write!(f, ", {extent}"))?;
                f.write_str("]")
            }
            Self::Text => f.write_str("text"),
        }
    }
}

/// Bytes of an array; `None` where they cannot be addressed.
pub(crate) fn array_bytes(element: ElementType, shape: &[usize]) -> Option<usize> {
    // what is empty has no bytes whatever its other extents are
    if shape.contains(&0) {
        return Some(0);
    }
    let bytes = shape
        .iter()
        .try_fold(element.size(), |bytes, &extent| bytes.checked_mul(extent))?;
    isize::try_from(bytes).ok().map(|_| bytes)
}

/// The containers of a sample and what is in them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Structure {
    /// A field by itself.
    Leaf(Kind),
    /// A tuple.
    Tuple(Vec<Structure>),
    /// A list of fixed length.
    List(Vec<Structure>),
    /// Keys and what they hold, in order.
    Map(Vec<(String, Structure)>),
}

impl Structure {
    /// What this is, in a message.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::Leaf(kind) => kind.to_string(),
            Self::Tuple(parts) => format!("a tuple of {}", parts.len()),
            Self::List(parts) => format!("a list of {}", parts.len()),
            Self::Map(parts) => {
                let keys: Vec<_> = parts.iter().map(|(key, _)| key).collect();
                format!("a map of {keys:?}")
            }
        }
    }
}

/// A field of a sample.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Field {
    name: String,
    kind: Kind,
}

impl Field {
    /// Keys and positions on the way to the field, joined by dots (`"graph.nodes"`, `"0"`, `"1.label"`); a dot or backslash in a key
    /// has a backslash before it. A sample that is one field calls it `"0"`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is.
    #[must_use]
    pub fn kind(&self) -> &Kind {
        &self.kind
    }
}

/// What every sample of a data set looks like: its containers, and its fields in the order in which a walk meets them.
///
/// ```
/// use dist_torch::{Sample, Schema};
///
/// let sample = Sample::map([("image", vec![0.5_f32; 4].into()), ("label", 3_i64.into())]);
/// let schema = Schema::of(&sample)?;
/// let fields: Vec<_> = schema.fields().iter().map(|field| format!("{}: {}", field.name(), field.kind())).collect();
/// assert_eq!(fields, ["image: f32 [4]", "label: i64 []"]);
/// assert_eq!(Schema::from_json(&schema.to_json())?, schema);
/// # Ok::<(), dist_torch::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schema {
    structure: Structure,
    fields: Vec<Field>,
}

impl Schema {
    /// The schema of a structure.
    ///
    /// # Errors
    /// [`DataError::Schema`] when containers are nested too deeply, two fields have one name, or a field is larger than what can
    /// be addressed.
    pub fn new(structure: Structure) -> Result<Self, DataError> {
        let mut fields = Vec::new();
        collect(&structure, &mut String::new(), 0, &mut fields)?;
        let mut names: Vec<_> = fields.iter().map(|field| &field.name).collect();
        names.sort_unstable();
        let twice = names
            .iter()
            .zip(&names[1.min(names.len())..])
            .find(|(a, b)| a == b);
        if let Some((name, _)) = twice {
            return Err(DataError::Schema {
                reason: format!("two fields are called {name:?}"),
            });
        }
        Ok(Self { structure, fields })
    }

    /// The schema of samples like this one.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn of(sample: &Sample) -> Result<Self, DataError> {
        Self::new(structure_of(sample, 0)?)
    }

    /// The containers.
    #[must_use]
    pub fn structure(&self) -> &Structure {
        &self.structure
    }

    /// The fields.
    #[must_use]
    pub fn fields(&self) -> &[Field] {
        &self.fields
    }

    /// The number of a field.
    ///
    /// # Errors
    /// [`DataError::UnknownField`] when there is none of that name.
    pub fn index_of(&self, name: &str) -> Result<usize, DataError> {
        let found = self.fields.iter().position(|field| field.name == name);
        found.ok_or_else(|| DataError::UnknownField {
            name: name.to_owned(),
            known: self.fields.iter().map(|field| field.name.clone()).collect(),
        })
    }

    /// A number that is the same for equal schemas, on every machine and in every version.
    #[must_use]
    pub fn fingerprint(&self) -> u64 {
        checksum(self.to_json().as_bytes())
    }

    /// The schema as JSON, the same text for equal ones.
    #[must_use]
    pub fn to_json(&self) -> String {
        // strings, numbers and lists: nothing that JSON does not have
        serde_json::to_string(&Written::from(&self.structure)).unwrap_or_default()
    }

    /// The schema that [`to_json`](Self::to_json) wrote.
    ///
    /// # Errors
    /// [`DataError::Schema`] when it is another text, and as [`new`](Self::new).
    pub fn from_json(text: &str) -> Result<Self, DataError> {
        let wrong = |reason| DataError::Schema { reason };
        let written: Written =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        Self::new(written.structure().map_err(wrong)?)
    }
}

/// Appends the fields below `structure`, which `path` leads to.
fn collect(
    structure: &Structure,
    path: &mut String,
    depth: usize,
    fields: &mut Vec<Field>,
) -> Result<(), DataError> {
    check_depth(depth)?;
    let mut below = |key: &str, structure: &Structure| {
        let before = path.len();
        if depth > 0 {
            path.push('.');
        }
        for letter in key.chars() {
            if letter == '.' || letter == '\\' {
                path.push('\\');
            }
            path.push(letter);
        }
        let outcome = collect(structure, path, depth + 1, fields);
        path.truncate(before);
        outcome
    };
    match structure {
        Structure::Tuple(parts) | Structure::List(parts) => parts
            .iter()
            .enumerate()
            .try_for_each(|(at, part)| below(&at.to_string(), part)),
        Structure::Map(parts) => parts.iter().try_for_each(|(key, part)| below(key, part)),
        Structure::Leaf(kind) => {
            let name = if depth == 0 { "0" } else { path.as_str() };
            if kind.item_bytes().is_none() {
                return Err(DataError::Schema {
                    reason: format!("field {name:?} is too large: {kind}"),
                });
            }
            fields.push(Field {
                name: name.to_owned(),
                kind: kind.clone(),
            });
            Ok(())
        }
    }
}

fn check_depth(depth: usize) -> Result<(), DataError> {
    if depth > MAX_DEPTH {
        return Err(DataError::Schema {
            reason: format!("containers are nested more than {MAX_DEPTH} deep"),
        });
    }
    Ok(())
}

fn structure_of(sample: &Sample, depth: usize) -> Result<Structure, DataError> {
    check_depth(depth)?;
    let all = |parts: &[Sample]| -> Result<Vec<_>, DataError> {
        parts
            .iter()
            .map(|part| structure_of(part, depth + 1))
            .collect()
    };
    Ok(match sample {
        Sample::Tuple(parts) => Structure::Tuple(all(parts)?),
        Sample::List(parts) => Structure::List(all(parts)?),
        Sample::Map(parts) => {
            let parts = parts
                .iter()
                .map(|(key, part)| Ok((key.clone(), structure_of(part, depth + 1)?)));
            Structure::Map(parts.collect::<Result<_, DataError>>()?)
        }
        Sample::Array(array) => Structure::Leaf(Kind::Fixed {
            element: array.element_type(),
            shape: array.shape().to_vec(),
        }),
        Sample::Ragged(array) => {
            let no_dimension = || DataError::Schema {
                reason: "a ragged field has no dimension to vary in".into(),
            };
            let (_, inner) = array.shape().split_first().ok_or_else(no_dimension)?;
            Structure::Leaf(Kind::Ragged {
                element: array.element_type(),
                inner: inner.to_vec(),
            })
        }
        Sample::Text(_) => Structure::Leaf(Kind::Text),
    })
}

/// A structure as it is written.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
enum Written {
    Fixed(String, Vec<usize>),
    Ragged(String, Vec<usize>),
    Text,
    Tuple(Vec<Written>),
    List(Vec<Written>),
    Map(Vec<(String, Written)>),
}

impl From<&Structure> for Written {
    fn from(structure: &Structure) -> Self {
        let all = |parts: &[Structure]| parts.iter().map(Self::from).collect();
        match structure {
            Structure::Leaf(Kind::Fixed { element, shape }) => {
                Self::Fixed(element.to_string(), shape.clone())
            }
            Structure::Leaf(Kind::Ragged { element, inner }) => {
                Self::Ragged(element.to_string(), inner.clone())
            }
            Structure::Leaf(Kind::Text) => Self::Text,
            Structure::Tuple(parts) => Self::Tuple(all(parts)),
            Structure::List(parts) => Self::List(all(parts)),
            Structure::Map(parts) => Self::Map(
                parts
                    .iter()
                    .map(|(key, part)| (key.clone(), part.into()))
                    .collect(),
            ),
        }
    }
}

impl Written {
    fn structure(self) -> Result<Structure, String> {
        let element = |name: String| {
            let found = ElementType::ALL.into_iter().find(|t| t.to_string() == name);
            found.ok_or_else(|| format!("there is no element type {name:?}"))
        };
        let all = |parts: Vec<Self>| -> Result<Vec<_>, String> {
            parts.into_iter().map(Self::structure).collect()
        };
        Ok(match self {
            Self::Fixed(name, shape) => Structure::Leaf(Kind::Fixed {
                element: element(name)?,
                shape,
            }),
            Self::Ragged(name, inner) => Structure::Leaf(Kind::Ragged {
                element: element(name)?,
                inner,
            }),
            Self::Text => Structure::Leaf(Kind::Text),
            Self::Tuple(parts) => Structure::Tuple(all(parts)?),
            Self::List(parts) => Structure::List(all(parts)?),
            Self::Map(parts) => {
                let parts = parts
                    .into_iter()
                    .map(|(key, part)| Ok((key, part.structure()?)));
                Structure::Map(parts.collect::<Result<_, String>>()?)
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leaf() -> Structure {
        Structure::Leaf(Kind::Fixed {
            element: ElementType::Bf16,
            shape: vec![],
        })
    }

    #[test]
    fn names_are_paths() {
        let structure = Structure::Map(vec![
            (
                "a".into(),
                Structure::Tuple(vec![leaf(), Structure::List(vec![leaf()])]),
            ),
            ("b.c\\".into(), Structure::Leaf(Kind::Text)),
            (String::new(), leaf()),
        ]);
        let schema = Schema::new(structure).unwrap();
        let names: Vec<_> = schema.fields().iter().map(Field::name).collect();
        assert_eq!(names, ["a.0", "a.1.0", "b\\.c\\\\", ""]);
        assert_eq!(Schema::from_json(&schema.to_json()).unwrap(), schema);
        assert_eq!(schema.index_of("a.1.0"), Ok(1));
        assert!(matches!(
            schema.index_of("a"),
            Err(DataError::UnknownField { .. })
        ));
        assert_eq!(Schema::new(leaf()).unwrap().fields()[0].name(), "0");
        assert!(
            Schema::new(Structure::Tuple(vec![]))
                .unwrap()
                .fields()
                .is_empty()
        );
    }

    #[test]
    fn what_no_schema_is() {
        let twice = Structure::Map(vec![("a".into(), leaf()), ("a".into(), leaf())]);
        assert!(Schema::new(twice).is_err());
        let large = |shape| {
            Structure::Leaf(Kind::Fixed {
                element: ElementType::F64,
                shape,
            })
        };
        assert!(Schema::new(large(vec![usize::MAX, 2])).is_err());
        assert!(Schema::new(large(vec![usize::MAX / 8])).is_err());
        assert!(Schema::new(large(vec![usize::MAX, 0])).is_ok());
        let mut deep = leaf();
        for _ in 0..=MAX_DEPTH {
            deep = Structure::Tuple(vec![deep]);
        }
        assert!(Schema::new(deep).is_err());
        for text in [
            "",
            "{}",
            "[1]",
            r#"{"fixed":["f99",[1]]}"#,
            r#"{"fixed":["f32",[-1]]}"#,
        ] {
            assert!(Schema::from_json(text).is_err(), "{text}");
        }
        let nested = format!("{}{}", r#"{"tuple":["#.repeat(5000), "]}".repeat(5000));
        assert!(Schema::from_json(&nested).is_err());
    }

    #[test]
    fn the_fingerprint_is_the_same_in_every_version() {
        let schema = Schema::new(Structure::Tuple(vec![leaf()])).unwrap();
        assert_eq!(schema.to_json(), r#"{"tuple":[{"fixed":["bf16",[]]}]}"#);
        assert_eq!(schema.fingerprint(), PINNED);
        let other = Schema::new(Structure::List(vec![leaf()])).unwrap();
        assert_ne!(other.fingerprint(), PINNED);
    }

    const PINNED: u64 = 3_685_035_447_435_488_139;
}
