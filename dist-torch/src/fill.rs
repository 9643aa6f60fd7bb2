//! Samples into columns: [`Writer`].

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::layout::{END, Layout};
use crate::schema::{Kind, Structure};
use crate::{Array, DataError, Sample, Schema, Source};

/// What a source gives for a row; a panic is an error too.
pub(crate) fn take(source: &(impl Source + ?Sized), row: u64) -> Result<Sample, DataError> {
    let failed = |cause: crate::SourceError| DataError::Source {
        row,
        cause: cause.to_string(),
    };
    guarded(&format!("row {row}"), || source.get(row).map_err(failed))
}

/// What `f` gives; a panic in it is an error that says what it was about.
pub(crate) fn guarded<T>(
    what: &str,
    f: impl FnOnce() -> Result<T, DataError>,
) -> Result<T, DataError> {
    let outcome = catch_unwind(AssertUnwindSafe(f));
    outcome.unwrap_or_else(|panic| {
        Err(DataError::SourcePanicked {
            what: what.into(),
            message: text(&*panic),
        })
    })
}

fn text(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(ToString::to_string);
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".into())
}

/// Writes samples, one by one, into the columns of a part.
pub(crate) struct Writer<'a> {
    schema: &'a Schema,
    layout: &'a Layout,
    part: &'a mut [u8],
    /// The items of the fields whose length differs, in the order of these fields.
    values: Vec<Vec<u8>>,
    /// How many items each of them has.
    ends: Vec<u64>,
}

impl<'a> Writer<'a> {
    /// A writer into a part that is all zeros.
    pub(crate) fn new(schema: &'a Schema, layout: &'a Layout, part: &'a mut [u8]) -> Self {
        let varying = varying(schema).count();
        Self {
            schema,
            layout,
            part,
            values: vec![Vec::new(); varying],
            ends: vec![0; varying],
        }
    }

    /// Writes `sample`, which is `row`, as the `local`-th of this rank.
    pub(crate) fn write(
        &mut self,
        local: usize,
        row: u64,
        sample: &Sample,
    ) -> Result<(), DataError> {
        let mut at = At {
            row,
            local,
            field: 0,
            varying: 0,
        };
        self.walk(self.schema.structure(), sample, &mut at)
    }

    /// What does not lie in the part: the items of the fields whose length differs.
    pub(crate) fn into_values(self) -> Vec<Vec<u8>> {
        self.values
    }

    fn walk(
        &mut self,
        structure: &Structure,
        sample: &Sample,
        at: &mut At,
    ) -> Result<(), DataError> {
        match (structure, sample) {
            (Structure::Tuple(parts), Sample::Tuple(given))
            | (Structure::List(parts), Sample::List(given))
                if parts.len() == given.len() =>
            {
                let mut pairs = parts.iter().zip(given);
                pairs.try_for_each(|(part, given)| self.walk(part, given, at))
            }
            (Structure::Map(parts), Sample::Map(given)) if parts.len() == given.len() => {
                for (key, part) in parts {
                    // in another order it is the same map
                    let found = given.iter().find(|(name, _)| name == key);
                    let (_, value) = found.ok_or_else(|| self.differs(structure, sample, at))?;
                    self.walk(part, value, at)?;
                }
                Ok(())
            }
            (Structure::Leaf(kind), _) => self.leaf(kind, sample, structure, at),
            _ => Err(self.differs(structure, sample, at)),
        }
    }

    fn leaf(
        &mut self,
        kind: &Kind,
        sample: &Sample,
        structure: &Structure,
        at: &mut At,
    ) -> Result<(), DataError> {
        let fits = |array: &Array, element, shape: &[usize]| {
            array.element_type() == element && array.shape() == shape
        };
        match (kind, sample) {
            (Kind::Fixed { element, shape }, Sample::Array(array))
                if fits(array, *element, shape) =>
            {
                let len = array.bytes().len();
                let column = self.layout.column(self.part, at.field);
                column[at.local * len..(at.local + 1) * len].copy_from_slice(array.bytes());
            }
            (Kind::Ragged { element, inner }, Sample::Ragged(array))
                if array.element_type() == *element
                    && array.shape().split_first().map(|(_, rest)| rest) == Some(inner) =>
            {
                self.items(at, array.shape()[0] as u64, array.bytes())?;
            }
            (Kind::Text, Sample::Text(text)) => {
                self.items(at, text.len() as u64, text.as_bytes())?;
            }
            _ => return Err(self.differs(structure, sample, at)),
        }
        at.field += 1;
        Ok(())
    }

    /// Appends `count` items to the field that is next among those whose length differs.
    fn items(&mut self, at: &mut At, count: u64, bytes: &[u8]) -> Result<(), DataError> {
        let too_large = DataError::TooLarge {
            what: "the rows of a rank",
        };
        let end = self.ends[at.varying].checked_add(count).ok_or(too_large)?;
        let values = &mut self.values[at.varying];
        values
            .try_reserve(bytes.len())
            .map_err(|_| DataError::Allocation {
                bytes: values.len() as u64 + bytes.len() as u64,
            })?;
        values.extend_from_slice(bytes);
        self.ends[at.varying] = end;
        let column = self.layout.column(self.part, at.field);
        column[(at.local + 1) * END..][..END].copy_from_slice(&end.to_ne_bytes());
        at.varying += 1;
        Ok(())
    }

    fn differs(&self, structure: &Structure, sample: &Sample, at: &At) -> DataError {
        let name = self
            .schema
            .fields()
            .get(at.field)
            .map_or("", |field| field.name());
        let leaf = matches!(structure, Structure::Leaf(_));
        DataError::Sample {
            row: at.row,
            field: format!("{}field {name:?}", if leaf { "" } else { "what holds " }),
            given: sample.describe(),
            allowed: structure.describe(),
        }
    }
}

/// Where a walk through a sample is.
struct At {
    row: u64,
    local: usize,
    field: usize,
    varying: usize,
}

/// The numbers of the fields whose length differs from sample to sample.
pub(crate) fn varying(schema: &Schema) -> impl Iterator<Item = usize> {
    let fields = schema.fields().iter().enumerate();
    fields
        .filter(|(_, field)| !matches!(field.kind(), Kind::Fixed { .. }))
        .map(|(index, _)| index)
}
