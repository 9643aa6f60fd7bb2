//! What is seen of a batch's fields: [`View`], [`Ragged`], [`Texts`].

use dap_protocol::Element;

use crate::DataError;

/// A field of fixed shape of all rows of a batch, in C order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View<'a, T> {
    data: &'a [T],
    shape: Vec<usize>,
}

impl<'a, T> View<'a, T> {
    pub(super) fn new(data: &'a [T], shape: Vec<usize>) -> Self {
        Self { data, shape }
    }

    /// The elements of all rows.
    #[must_use]
    pub fn data(&self) -> &'a [T] {
        self.data
    }

    /// `(rows, *shape)`.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements of one row; none from the last row on.
    #[must_use]
    pub fn row(&self, at: usize) -> &'a [T] {
        let len = self.data.len().checked_div(self.shape[0]).unwrap_or(0);
        at.checked_mul(len)
            .and_then(|start| self.data.get(start..start.checked_add(len)?))
            .unwrap_or_default()
    }
}

/// A field whose first extent differs from row to row: the items of all rows, one behind the other.
///
/// Row `i` has the items `offsets[i] .. offsets[i + 1]`, each an array of shape `inner`: torch's nested tensors and graph
/// libraries take it so, without a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ragged<'a, T> {
    values: &'a [T],
    offsets: &'a [u64],
    inner: &'a [usize],
}

impl<'a, T: Element> Ragged<'a, T> {
    pub(super) fn new(values: &'a [T], offsets: &'a [u64], inner: &'a [usize]) -> Self {
        Self {
            values,
            offsets,
            inner,
        }
    }

    /// The elements of all rows.
    #[must_use]
    pub fn values(&self) -> &'a [T] {
        self.values
    }

    /// Where the items of each row begin, and where the last ones end: `(rows + 1,)`, in items.
    #[must_use]
    pub fn offsets(&self) -> &'a [u64] {
        self.offsets
    }

    /// The shape of an item.
    #[must_use]
    pub fn inner(&self) -> &'a [usize] {
        self.inner
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of one row; none from the last row on.
    #[must_use]
    pub fn row(&self, at: usize) -> &'a [T] {
        let item: usize = self.inner.iter().product();
        range(self.offsets, at)
            .and_then(|(start, end)| self.values.get(start * item..end * item))
            .unwrap_or_default()
    }

    /// The rows, one by one.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a [T]> + use<'a, T> {
        let all = *self;
        (0..self.len()).map(move |at| all.row(at))
    }

    /// How many items each row has.
    #[must_use]
    pub fn lengths(&self) -> Vec<u64> {
        self.offsets
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .collect()
    }

    /// All rows as long as the longest, filled up with `pad`: the elements and their shape, `(rows, longest, *inner)`.
    ///
    /// # Errors
    /// [`DataError::TooLarge`] and [`DataError::Allocation`] when they cannot be had.
    pub fn padded(&self, pad: T) -> Result<(Vec<T>, Vec<usize>), DataError> {
        let item: usize = self.inner.iter().product();
        let longest = self.lengths().into_iter().max().unwrap_or(0);
        let too_large = DataError::TooLarge {
            what: "padded rows",
        };
        let longest = usize::try_from(longest).map_err(|_| too_large.clone())?;
        let width = longest.checked_mul(item).ok_or_else(|| too_large.clone())?;
        let len = width.checked_mul(self.len()).ok_or(too_large)?;
        let mut data = crate::memory::try_vec(len as u64)?;
        for row in self.iter() {
            let end = data.len() + width;
            data.extend_from_slice(row);
            data.resize(end, pad);
        }
        let mut shape = vec![self.len(), longest];
        shape.extend(self.inner);
        Ok((data, shape))
    }
}

/// The texts of all rows of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Texts<'a> {
    all: &'a str,
    offsets: &'a [u64],
}

impl<'a> Texts<'a> {
    pub(super) fn new(name: &str, bytes: &'a [u8], offsets: &'a [u64]) -> Result<Self, DataError> {
        let no_text = |_| DataError::Value { name: name.into() };
        let all = str::from_utf8(bytes).map_err(no_text)?;
        Ok(Self { all, offsets })
    }

    /// Rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of a row; `None` from the last row on.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&'a str> {
        let (start, end) = range(self.offsets, at)?;
        self.all.get(start..end)
    }

    /// The texts, one by one.
    #[must_use]
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &'a str> + use<'a> {
        let all = *self;
        (0..self.len()).map(move |at| all.get(at).unwrap_or_default())
    }
}

/// Where the items of row `at` are.
fn range(offsets: &[u64], at: usize) -> Option<(usize, usize)> {
    let (&start, &end) = (offsets.get(at)?, offsets.get(at.checked_add(1)?)?);
    Some((usize::try_from(start).ok()?, usize::try_from(end).ok()?))
}
