//! [`Windowed`]: several stored rows as one sample.

use std::sync::Arc;

use crate::rows::{Sealed, chosen};
use crate::schema::{Kind, Structure};
use crate::{Batch, DataError, Rows, Schema};

/// How many rows a window has, and where windows begin.
///
/// ```
/// use dist_comm::SingleComm;
/// use dist_torch::{Batch, DistDataset, Rows, Windows, from_vec};
///
/// let data = DistDataset::builder("steps").build(&SingleComm::new(), &from_vec((0_i32..10).collect()))?;
/// let windows = Windows::of(3).stride(2).dilation(2).over(&data)?; // 0 2 4, 2 4 6, 4 6 8
/// let mut batch = Batch::default();
/// windows.read(&[2, 0], &mut batch)?;
/// let steps = batch.field::<i32>("0")?;
/// assert_eq!((windows.len(), steps.shape(), steps.data()), (3, &[2, 3][..], &[4, 6, 8, 0, 2, 4][..]));
/// # Ok::<(), dist_torch::DataError>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Windows {
    window: u64,
    stride: u64,
    dilation: u64,
    starts: Starts,
    fields: Option<Vec<String>>,
}

#[derive(Clone, Debug)]
enum Starts {
    /// Every `stride` rows.
    Regular,
    /// At these rows.
    Given(Vec<u64>),
    /// Every `stride` rows of each range between bounds.
    Within(Vec<u64>),
}

impl Windows {
    /// Windows of `window` rows.
    pub fn of(window: u64) -> Self {
        Self {
            window,
            stride: 1,
            dilation: 1,
            starts: Starts::Regular,
            fields: None,
        }
    }

    /// Rows from the beginning of a window to that of the next; 1 unless said.
    pub fn stride(self, stride: u64) -> Self {
        Self { stride, ..self }
    }

    /// Rows from one of a window to its next; 1 unless said.
    pub fn dilation(self, dilation: u64) -> Self {
        Self { dilation, ..self }
    }

    /// Windows that begin at these rows, in this order.
    pub fn starts(self, starts: impl Into<Vec<u64>>) -> Self {
        Self {
            starts: Starts::Given(starts.into()),
            ..self
        }
    }

    /// Windows that lie between two neighbouring bounds, those of a [`ConcatSource`](crate::ConcatSource::bounds), say: none
    /// crosses from one source to the next.
    pub fn within(self, bounds: impl Into<Vec<u64>>) -> Self {
        Self {
            starts: Starts::Within(bounds.into()),
            ..self
        }
    }

    /// Windows of these fields alone; samples are then maps of them.
    pub fn fields<S: Into<String>>(self, names: impl IntoIterator<Item = S>) -> Self {
        Self {
            fields: Some(names.into_iter().map(Into::into).collect()),
            ..self
        }
    }

    /// Such windows over these rows. Local.
    ///
    /// # Errors
    /// [`DataError::Window`] when a size is 0, bounds do not ascend, or a field is not of fixed shape;
    /// [`DataError::IndexOutOfRange`] for the first start whose window does not lie within the rows; [`DataError::UnknownField`]; [`DataError::Schema`] when a window is too large.
    pub fn over<R: Rows>(self, rows: R) -> Result<Windowed<R>, DataError> {
        for (what, given) in [
            ("size", self.window),
            ("stride", self.stride),
            ("dilation", self.dilation),
        ] {
            if given == 0 {
                return Err(wrong(what, given, "1 or more"));
            }
        }
        let size = usize::try_from(self.window).ok();
        let span = (self.window - 1)
            .checked_mul(self.dilation)
            .and_then(|steps| steps.checked_add(1));
        let (Some(size), Some(span)) = (size, span) else {
            return Err(wrong("size", self.window, "what can be counted"));
        };
        let (schema, from) = self.schema(rows.schema(), size)?;
        let len = rows.len();
        let starts = match self.starts {
            Starts::Regular => None,
            Starts::Given(starts) => {
                let places = (len + 1).saturating_sub(span);
                if let Some(&index) = starts.iter().find(|&&start| start >= places) {
                    return Err(DataError::IndexOutOfRange { index, len: places });
                }
                Some(starts)
            }
            Starts::Within(bounds) => {
                let mut starts = Vec::new();
                for pair in bounds.windows(2) {
                    if pair[0] > pair[1] {
                        return Err(wrong("bound", pair[1], "bounds that ascend"));
                    }
                    if pair[1] > len {
                        return Err(DataError::IndexOutOfRange {
                            index: pair[1],
                            len: len + 1,
                        });
                    }
                    let count = windows_in(pair[1] - pair[0], span, self.stride);
                    starts.extend((0..count).map(|at| pair[0] + at * self.stride));
                }
                Some(starts)
            }
        };
        Ok(Windowed {
            len: starts.as_ref().map_or_else(
                || windows_in(len, span, self.stride),
                |starts| starts.len() as u64,
            ),
            rows,
            schema: Arc::new(schema),
            from,
            window: size,
            stride: self.stride,
            dilation: self.dilation,
            starts,
        })
    }

    /// The schema of a window, and which field of a row each of its fields is.
    fn schema(&self, schema: &Schema, size: usize) -> Result<(Schema, Vec<usize>), DataError> {
        let Some(names) = &self.fields else {
            let all = (0..schema.fields().len()).collect();
            return Ok((Schema::new(stacked(schema.structure(), size)?)?, all));
        };
        let from: Vec<_> = names
            .iter()
            .map(|name| schema.index_of(name))
            .collect::<Result<_, _>>()?;
        let leaves = names.iter().zip(&from).map(|(name, &index)| {
            let leaf = Structure::Leaf(schema.fields()[index].kind().clone());
            Ok((name.clone(), stacked(&leaf, size)?))
        });
        Ok((
            Schema::new(Structure::Map(leaves.collect::<Result<_, DataError>>()?))?,
            from,
        ))
    }
}

/// How many windows begin every `stride` rows of `len`.
fn windows_in(len: u64, span: u64, stride: u64) -> u64 {
    len.checked_sub(span).map_or(0, |last| last / stride + 1)
}

fn wrong(what: &'static str, given: u64, allowed: &str) -> DataError {
    DataError::Window {
        what,
        given: given.to_string(),
        allowed: allowed.into(),
    }
}

/// The structure of `size` samples stacked.
fn stacked(structure: &Structure, size: usize) -> Result<Structure, DataError> {
    let all = |parts: &[Structure]| -> Result<Vec<_>, DataError> {
        parts.iter().map(|part| stacked(part, size)).collect()
    };
    Ok(match structure {
        Structure::Tuple(parts) => Structure::Tuple(all(parts)?),
        Structure::List(parts) => Structure::List(all(parts)?),
        Structure::Map(parts) => {
            let parts = parts
                .iter()
                .map(|(key, part)| Ok((key.clone(), stacked(part, size)?)));
            Structure::Map(parts.collect::<Result<_, DataError>>()?)
        }
        Structure::Leaf(Kind::Fixed { element, shape }) => {
            let mut all = vec![size];
            all.extend(shape);
            Structure::Leaf(Kind::Fixed {
                element: *element,
                shape: all,
            })
        }
        Structure::Leaf(kind) => {
            return Err(DataError::Window {
                what: "a field that is",
                given: kind.name().into(),
                allowed: "fields of fixed shape; choose them".into(),
            });
        }
    })
}

/// Windows over rows: [`Windows::over`]. Its rows are windows, whose fields have shape `(window, *shape)`; each row of theirs is
/// stored once, however many windows it is in.
#[derive(Clone, Debug)]
pub struct Windowed<R> {
    rows: R,
    schema: Arc<Schema>,
    from: Vec<usize>,
    window: usize,
    stride: u64,
    dilation: u64,
    starts: Option<Vec<u64>>,
    len: u64,
}

impl<R: Rows> Windowed<R> {
    /// The row at which a window begins; `None` where there is no such window.
    #[must_use]
    pub fn start(&self, window: u64) -> Option<u64> {
        match &self.starts {
            Some(starts) => starts.get(usize::try_from(window).ok()?).copied(),
            None => (window < self.len).then(|| window * self.stride),
        }
    }

    /// The rows under the windows.
    #[must_use]
    pub fn inner(&self) -> &R {
        &self.rows
    }
}

impl<R: Rows> Sealed for Windowed<R> {}

impl<R: Rows> Rows for Windowed<R> {
    fn len(&self) -> u64 {
        self.len
    }

    fn schema(&self) -> &Arc<Schema> {
        &self.schema
    }

    fn read_selected(
        &self,
        rows: &[u64],
        fields: &[usize],
        batch: &mut Batch,
    ) -> Result<(), DataError> {
        batch.clear();
        chosen(fields, self.from.len())?;
        let too_large = DataError::TooLarge { what: "a batch" };
        let count = rows.len().checked_mul(self.window).ok_or(too_large)?;
        let mut all = crate::memory::try_vec(count as u64)?;
        for &index in rows {
            let start = self.start(index).ok_or(DataError::IndexOutOfRange {
                index,
                len: self.len,
            })?;
            all.extend((0..self.window as u64).map(|at| start + at * self.dilation));
        }
        let inner: Vec<_> = fields.iter().map(|&field| self.from[field]).collect();
        self.rows.read_selected(&all, &inner, batch)?;
        batch.reinterpret(&self.schema, rows.len(), &self.from);
        Ok(())
    }
}
