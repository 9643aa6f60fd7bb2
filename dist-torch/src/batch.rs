//! [`Batch`]: rows that were read, field by field; [`BatchPool`]: batches that are used again.

mod pool;
mod view;

use std::sync::Arc;

pub use pool::BatchPool;
pub use view::{Ragged, Texts, View};

use pool::Shelf;

use crate::memory::Words;
use crate::schema::{Kind, Structure};
use crate::{Array, DataError, Sample, Schema};

/// Rows that were read: of each field one array, stacked as torch's `default_collate` would stack the samples.
///
/// Made by a [`BatchPool`], to which its memory goes back when it is dropped, or by `default`. Reading into it replaces what it
/// held; a read that fails leaves it empty.
///
/// ```
/// use dist_comm::SingleComm;
/// use dist_torch::{Batch, DistDataset, Rows, from_vec};
///
/// let samples = from_vec(vec![(vec![1.0_f32, 2.0], 10_i64), (vec![3.0, 4.0], 20), (vec![5.0, 6.0], 30)]);
/// let data = DistDataset::builder("pairs").build(&SingleComm::new(), &samples)?;
/// let mut batch = Batch::default();
/// data.read(&[2, 0], &mut batch)?;
/// let x = batch.field::<f32>("0")?;
/// assert_eq!((x.shape(), x.data()), (&[2, 2][..], &[5.0, 6.0, 1.0, 2.0][..]));
/// assert_eq!(batch.field::<i64>("1")?.data(), [30, 10]);
/// # Ok::<(), dist_torch::DataError>(())
/// ```
#[derive(Debug, Default)]
pub struct Batch {
    content: Content,
    shelf: Option<Arc<Shelf>>,
}

/// What a batch holds, and what a pool keeps of it.
#[derive(Debug, Default)]
pub(crate) struct Content {
    schema: Option<Arc<Schema>>,
    rows: usize,
    columns: Vec<Column>,
}

/// A field of all rows of a batch.
#[derive(Debug, Default)]
pub(crate) struct Column {
    read: bool,
    /// The items.
    pub(crate) values: Words,
    /// Where the items of each row begin, and where the last ones end; only of a field whose length differs.
    pub(crate) offsets: Vec<u64>,
}

impl Batch {
    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.content.rows
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// What the rows look like; `None` before the first read.
    #[must_use]
    pub fn schema(&self) -> Option<&Schema> {
        self.content.schema.as_deref()
    }

    /// A field of fixed shape, `(rows, *shape)`.
    ///
    /// # Errors
    /// [`DataError::UnknownField`], [`DataError::NotRead`], [`DataError::KindMismatch`], [`DataError::DtypeMismatch`].
    pub fn field<T: dap_protocol::Element>(&self, name: &str) -> Result<View<'_, T>, DataError> {
        let (kind, column) = self.column(name)?;
        let Kind::Fixed { shape, .. } = kind else {
            return Err(mismatch(name, "fixed", kind));
        };
        let mut all = vec![self.len()];
        all.extend(shape);
        Ok(View::new(elements(name, kind, column)?, all))
    }

    /// A field whose first extent differs from row to row: the items of all rows, one behind the other.
    ///
    /// # Errors
    /// As [`field`](Self::field).
    pub fn ragged<T: dap_protocol::Element>(&self, name: &str) -> Result<Ragged<'_, T>, DataError> {
        let (kind, column) = self.column(name)?;
        let Kind::Ragged { inner, .. } = kind else {
            return Err(mismatch(name, "ragged", kind));
        };
        Ok(Ragged::new(
            elements(name, kind, column)?,
            &column.offsets,
            inner,
        ))
    }

    /// A field of texts.
    ///
    /// # Errors
    /// As [`field`](Self::field).
    pub fn texts(&self, name: &str) -> Result<Texts<'_>, DataError> {
        let (kind, column) = self.column(name)?;
        if *kind != Kind::Text {
            return Err(mismatch(name, "text", kind));
        }
        Texts::new(name, column.values.bytes(), &column.offsets)
    }

    /// The bytes of a field's items, in C order and native byte order, whatever the field is.
    ///
    /// # Errors
    /// [`DataError::UnknownField`], [`DataError::NotRead`].
    pub fn bytes(&self, name: &str) -> Result<&[u8], DataError> {
        Ok(self.column(name)?.1.values.bytes())
    }

    /// Row `at` as a sample of the source's structure.
    ///
    /// # Errors
    /// [`DataError::IndexOutOfRange`]; [`DataError::NotRead`] when a field was left out.
    pub fn sample(&self, at: usize) -> Result<Sample, DataError> {
        let index = DataError::IndexOutOfRange {
            index: at as u64,
            len: self.len() as u64,
        };
        let Some(schema) = self.schema().filter(|_| at < self.len()) else {
            return Err(index);
        };
        self.build(schema.structure(), at, &mut 0)
    }

    /// The part of row `at` that begins with field number `next`, which is counted on.
    fn build(
        &self,
        structure: &Structure,
        at: usize,
        next: &mut usize,
    ) -> Result<Sample, DataError> {
        let mut all = |parts: &[Structure]| -> Result<Vec<Sample>, DataError> {
            parts
                .iter()
                .map(|part| self.build(part, at, next))
                .collect()
        };
        match structure {
            Structure::Tuple(parts) => Ok(Sample::Tuple(all(parts)?)),
            Structure::List(parts) => Ok(Sample::List(all(parts)?)),
            Structure::Map(parts) => {
                let mut pairs = Vec::with_capacity(parts.len());
                for (key, part) in parts {
                    pairs.push((key.clone(), self.build(part, at, next)?));
                }
                Ok(Sample::Map(pairs))
            }
            Structure::Leaf(kind) => {
                let index = *next;
                *next += 1;
                self.leaf(kind, index, at)
            }
        }
    }

    fn leaf(&self, kind: &Kind, index: usize, at: usize) -> Result<Sample, DataError> {
        let column = &self.content.columns[index];
        if !column.read {
            let name = self
                .schema()
                .map_or("", |schema| schema.fields()[index].name());
            return Err(DataError::NotRead { name: name.into() });
        }
        let item = kind.item_bytes().unwrap_or(0);
        let (start, count) = match kind {
            Kind::Fixed { .. } => (at, 1),
            Kind::Ragged { .. } | Kind::Text => {
                // below the bytes that are there
                let place = |at: usize| usize::try_from(column.offsets[at]).unwrap_or(usize::MAX);
                (place(at), place(at + 1) - place(at))
            }
        };
        let bytes = column.values.bytes()[start * item..(start + count) * item].to_vec();
        Ok(match kind {
            Kind::Fixed { element, shape } => {
                Sample::Array(Array::from_bytes(*element, shape.clone(), bytes)?)
            }
            Kind::Ragged { element, inner } => {
                let mut shape = vec![count];
                shape.extend(inner);
                Sample::Ragged(Array::from_bytes(*element, shape, bytes)?)
            }
            Kind::Text => Sample::Text(String::from_utf8_lossy(&bytes).into_owned()),
        })
    }

    fn column(&self, name: &str) -> Result<(&Kind, &Column), DataError> {
        let Some(schema) = self.schema() else {
            return Err(DataError::NotRead { name: name.into() });
        };
        let index = schema.index_of(name)?;
        let column = &self.content.columns[index];
        if !column.read {
            return Err(DataError::NotRead { name: name.into() });
        }
        Ok((schema.fields()[index].kind(), column))
    }

    /// Holds nothing any more; keeps its memory.
    pub(crate) fn clear(&mut self) {
        self.content.rows = 0;
        for column in &mut self.content.columns {
            column.read = false;
        }
    }

    /// Columns for `rows` rows of `schema`, of which those of fixed fields among the `chosen` have their length. They are
    /// there for the reader only, until [`done`](Self::done).
    pub(crate) fn prepare(
        &mut self,
        schema: &Arc<Schema>,
        rows: usize,
        chosen: &[bool],
    ) -> Result<&mut [Column], DataError> {
        self.clear();
        self.content.schema = Some(Arc::clone(schema));
        let fields = schema.fields();
        self.content
            .columns
            .resize_with(fields.len(), Column::default);
        for ((column, field), _) in self
            .content
            .columns
            .iter_mut()
            .zip(fields)
            .zip(chosen)
            .filter(|(_, chosen)| **chosen)
        {
            if let Kind::Fixed { .. } = field.kind() {
                let bytes = field
                    .kind()
                    .item_bytes()
                    .and_then(|item| item.checked_mul(rows));
                let too_large = DataError::TooLarge { what: "a batch" };
                column.values.set_len(bytes.ok_or(too_large)?)?;
            }
        }
        Ok(&mut self.content.columns)
    }

    /// What was chosen is read.
    pub(crate) fn done(&mut self, rows: usize, chosen: &[bool]) {
        self.content.rows = rows;
        for (column, chosen) in self.content.columns.iter_mut().zip(chosen) {
            column.read = *chosen;
        }
    }

    /// The same bytes as `rows` rows of another schema, whose field `i` is field `from[i]` of what was read.
    pub(crate) fn reinterpret(&mut self, schema: &Arc<Schema>, rows: usize, from: &[usize]) {
        let columns = from
            .iter()
            .map(|&index| std::mem::take(&mut self.content.columns[index]));
        self.content.columns = columns.collect();
        self.content.schema = Some(Arc::clone(schema));
        self.content.rows = rows;
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if let Some(shelf) = self.shelf.take() {
            self.clear();
            shelf.put(std::mem::take(&mut self.content));
        }
    }
}

fn mismatch(name: &str, asked: &'static str, held: &Kind) -> DataError {
    DataError::KindMismatch {
        name: name.into(),
        asked,
        held: held.name(),
    }
}

/// The items of a column as elements.
fn elements<'a, T: dap_protocol::Element>(
    name: &str,
    kind: &Kind,
    column: &'a Column,
) -> Result<&'a [T], DataError> {
    let held = kind.element();
    if held != T::TYPE {
        return Err(DataError::DtypeMismatch {
            name: name.into(),
            asked: T::TYPE,
            held,
        });
    }
    // aligned, and written from elements of this type
    bytemuck::checked::try_cast_slice(column.values.bytes())
        .map_err(|_| DataError::Value { name: name.into() })
}
