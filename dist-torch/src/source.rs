//! [`Source`]: where samples come from when a data set is made.

use std::error::Error;

use crate::{DataError, Sample};

/// The error of a source: any error.
pub type SourceError = Box<dyn Error + Send + Sync>;

/// Samples by number, as a map-style data set of torch's has them. Open: implement it for your own; closures are sources by
/// [`from_fn`], vectors by [`from_vec`].
///
/// Every rank has a source of the same length, and reads only the samples of its own share from it, each once and in ascending
/// order (but for placements by lists, which say in what order).
pub trait Source {
    /// How many samples there are, the same on every rank.
    fn len(&self) -> u64;

    /// Sample `row`, below the length.
    ///
    /// # Errors
    /// Any; making the data set then fails on all ranks with an error that names this rank, the row and this error. So does
    /// a panic, between threads; under MPI a panic ends all ranks and says whose it was, as `dist-comm` has it.
    fn get(&self, row: u64) -> Result<Sample, SourceError>;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The same samples after `f`: to store something else than what the source gives, or less.
    ///
    /// ```
    /// use dist_torch::{Sample, Source, from_fn};
    ///
    /// let letters = from_fn(26, |row| char::from_u32(97 + row as u32).map(String::from).ok_or("no letter"));
    /// let codes = letters.encode(|sample| match sample {
    ///     Sample::Text(text) => Ok(text.as_bytes()[0].into()),
    ///     _ => Err("no text".into()),
    /// });
    /// assert_eq!(codes.get(2)?, 99_u8.into());
    /// # Ok::<(), dist_torch::SourceError>(())
    /// ```
    fn encode<F>(self, f: F) -> Encode<Self, F>
    where
        Self: Sized,
        F: Fn(Sample) -> Result<Sample, SourceError>,
    {
        Encode { source: self, f }
    }

    /// Only these parts of a tuple, list or map, in this order, by position (`"0"`) or key.
    fn fields<K: Into<String>>(self, keys: impl IntoIterator<Item = K>) -> Fields<Self>
    where
        Self: Sized,
    {
        Fields {
            source: self,
            keys: keys.into_iter().map(Into::into).collect(),
        }
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn get(&self, row: u64) -> Result<Sample, SourceError> {
        (**self).get(row)
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn len(&self) -> u64 {
        (**self).len()
    }

    fn get(&self, row: u64) -> Result<Sample, SourceError> {
        (**self).get(row)
    }
}

/// The samples of a vector.
///
/// ```
/// use dist_torch::{Source, from_vec};
///
/// assert_eq!(from_vec(vec![5_u8, 6]).get(1)?, 6_u8.into());
/// # Ok::<(), dist_torch::SourceError>(())
/// ```
#[must_use]
pub fn from_vec<T: Clone + Into<Sample>>(samples: Vec<T>) -> FromVec<T> {
    FromVec(samples)
}

/// Made by [`from_vec`].
#[derive(Clone, Debug)]
pub struct FromVec<T>(Vec<T>);

impl<T: Clone + Into<Sample>> Source for FromVec<T> {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn get(&self, row: u64) -> Result<Sample, SourceError> {
        let found = usize::try_from(row).ok().and_then(|row| self.0.get(row));
        let index = DataError::IndexOutOfRange {
            index: row,
            len: self.len(),
        };
        Ok(found.ok_or(index)?.clone().into())
    }
}

/// `len` samples, number `row` being `f(row)`.
///
/// ```
/// use dist_torch::{Source, from_fn};
///
/// let squares = from_fn(10, |row| Ok::<_, std::convert::Infallible>((row, row * row)));
/// assert_eq!((squares.len(), squares.get(3)?), (10, (3_u64, 9_u64).into()));
/// # Ok::<(), dist_torch::SourceError>(())
/// ```
pub fn from_fn<S, E, F>(len: u64, f: F) -> FromFn<F>
where
    S: Into<Sample>,
    E: Into<SourceError>,
    F: Fn(u64) -> Result<S, E>,
{
    FromFn { len, f }
}

/// Made by [`from_fn`].
#[derive(Clone, Copy, Debug)]
pub struct FromFn<F> {
    len: u64,
    f: F,
}

impl<S, E, F> Source for FromFn<F>
where
    S: Into<Sample>,
    E: Into<SourceError>,
    F: Fn(u64) -> Result<S, E>,
{
    fn len(&self) -> u64 {
        self.len
    }

    fn get(&self, row: u64) -> Result<Sample, SourceError> {
        (self.f)(row).map(Into::into).map_err(Into::into)
    }
}

/// Made by [`Source::encode`].
#[derive(Clone, Copy, Debug)]
pub struct Encode<S, F> {
    source: S,
    f: F,
}

impl<S: Source, F: Fn(Sample) -> Result<Sample, SourceError>> Source for Encode<S, F> {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn get(&self, row: u64) -> Result<Sample, SourceError> {
        (self.f)(self.source.get(row)?)
    }
}

/// Made by [`Source::fields`].
#[derive(Clone, Debug)]
pub struct Fields<S> {
    source: S,
    keys: Vec<String>,
}

impl<S: Source> Source for Fields<S> {
    fn len(&self) -> u64 {
        self.source.len()
    }

    fn get(&self, row: u64) -> Result<Sample, SourceError> {
        let unknown = |name: &str, known| DataError::UnknownField {
            name: name.to_owned(),
            known,
        };
        match self.source.get(row)? {
            Sample::Map(parts) => {
                let chosen = self.keys.iter().map(|key| {
                    let found = parts.iter().find(|(name, _)| name == key).cloned();
                    let known = || parts.iter().map(|(name, _)| name.clone()).collect();
                    found.ok_or_else(|| unknown(key, known()))
                });
                Ok(Sample::Map(chosen.collect::<Result<_, _>>()?))
            }
            Sample::Tuple(parts) => Ok(Sample::Tuple(self.at(&parts)?)),
            Sample::List(parts) => Ok(Sample::List(self.at(&parts)?)),
            single => {
                let name = self.keys.first().map_or("", String::as_str);
                let reason = format!("{} has no parts to choose {name:?} from", single.describe());
                Err(DataError::Schema { reason }.into())
            }
        }
    }
}

impl<S> Fields<S> {
    fn at(&self, parts: &[Sample]) -> Result<Vec<Sample>, DataError> {
        let chosen = self.keys.iter().map(|key| {
            let position: Option<usize> = key.parse().ok();
            let found = position.and_then(|position| parts.get(position));
            found.cloned().ok_or_else(|| DataError::UnknownField {
                name: key.clone(),
                known: (0..parts.len()).map(|at| at.to_string()).collect(),
            })
        });
        chosen.collect()
    }
}

/// Sources one after the other, as torch's `ConcatDataset`.
///
/// ```
/// use dist_torch::{ConcatSource, Source, from_vec};
///
/// let both = ConcatSource::new(vec![Box::new(from_vec(vec![10_i64, 11, 12])), Box::new(from_vec(vec![20_i64, 21]))])?;
/// let row = both.row_of(1, 0)?; // the first sample of the second source
/// assert_eq!((row, both.get(row)?), (3, 20_i64.into()));
/// assert_eq!(both.bounds(), [0, 3, 5]);
/// # Ok::<(), dist_torch::SourceError>(())
/// ```
pub struct ConcatSource<'a> {
    sources: Vec<Box<dyn Source + 'a>>,
    bounds: Vec<u64>,
}

impl<'a> ConcatSource<'a> {
    /// The samples of these sources.
    ///
    /// # Errors
    /// [`DataError::TooLarge`] when they have more than 2⁶⁴ - 1 together.
    pub fn new(sources: Vec<Box<dyn Source + 'a>>) -> Result<Self, DataError> {
        let mut bounds = vec![0_u64];
        for source in &sources {
            let so_far = bounds[bounds.len() - 1];
            let next = so_far.checked_add(source.len());
            bounds.push(next.ok_or(DataError::TooLarge {
                what: "all sources",
            })?);
        }
        Ok(Self { sources, bounds })
    }

    /// Where each source begins, and where the last one ends.
    #[must_use]
    pub fn bounds(&self) -> &[u64] {
        &self.bounds
    }

    /// The row of sample `index` of source `source`.
    ///
    /// # Errors
    /// [`DataError::IndexOutOfRange`] when there is no such source, or no such sample of it.
    pub fn row_of(&self, source: usize, index: u64) -> Result<u64, DataError> {
        let len = self.sources.len() as u64;
        let [start, end] = self
            .bounds
            .get(source..)
            .and_then(|rest| rest.first_chunk())
            .ok_or(DataError::IndexOutOfRange {
                index: source as u64,
                len,
            })?;
        let len = end - start;
        if index >= len {
            return Err(DataError::IndexOutOfRange { index, len });
        }
        Ok(start + index)
    }
}

impl std::fmt::Debug for ConcatSource<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ConcatSource")
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

impl Source for ConcatSource<'_> {
    fn len(&self) -> u64 {
        self.bounds[self.bounds.len() - 1]
    }

    fn get(&self, row: u64) -> Result<Sample, SourceError> {
        let index = DataError::IndexOutOfRange {
            index: row,
            len: self.len(),
        };
        // the last source that begins at or before the row: those before it that are empty begin there too
        let source = self.bounds.partition_point(|&bound| bound <= row) - 1;
        self.sources
            .get(source)
            .ok_or(index)?
            .get(row - self.bounds[source])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_of_a_concatenation_is_some_source_s() {
        let parts: [Vec<i64>; 5] = [vec![], vec![1, 2], vec![], vec![], vec![3]];
        let sources = parts
            .iter()
            .map(|part| Box::new(from_vec(part.clone())) as Box<dyn Source>);
        let all = ConcatSource::new(sources.collect()).unwrap();
        let samples: Vec<_> = (0..all.len()).map(|row| all.get(row).unwrap()).collect();
        assert_eq!(samples, [1_i64, 2, 3].map(Sample::from));
        for (source, part) in parts.iter().enumerate() {
            for (index, &value) in part.iter().enumerate() {
                let row = all.row_of(source, index as u64).unwrap();
                assert_eq!(all.get(row).unwrap(), value.into());
            }
            assert!(all.row_of(source, part.len() as u64).is_err());
        }
        assert!(matches!(
            all.row_of(5, 0),
            Err(DataError::IndexOutOfRange { index: 5, len: 5 })
        ));
        assert!(all.get(3).is_err());
        assert!(all.get(u64::MAX).is_err());
        let none = ConcatSource::new(vec![]).unwrap();
        assert!(none.is_empty() && none.get(0).is_err() && none.row_of(0, 0).is_err());
        let large = || Box::new(from_fn(u64::MAX, Ok::<_, SourceError>)) as Box<dyn Source>;
        assert!(ConcatSource::new(vec![large(), large()]).is_err());
    }

    #[test]
    fn parts_are_chosen_by_key_or_position() {
        let rows = from_vec(vec![(1_i32, 2.5_f64, true)]);
        let chosen = rows.clone().fields(["2", "0"]).get(0).unwrap();
        assert_eq!(chosen, (true, 1_i32).into());
        let maps = rows.encode(|sample| {
            let Sample::Tuple(parts) = sample else {
                return Err("no tuple".into());
            };
            Ok(Sample::map(["a", "b.c", "d"].into_iter().zip(parts)))
        });
        let chosen = (&maps).fields(["b.c"]).get(0).unwrap();
        assert_eq!(chosen, Sample::map([("b.c", 2.5_f64.into())]));
        let error = (&maps).fields(["x"]).get(0).unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"there is no field "x", only ["a", "b.c", "d"]"#
        );
        assert!(from_vec(vec![1_u8]).fields(["0"]).get(0).is_err());
        assert!(from_vec(vec![(1_u8,)]).fields(["1"]).get(0).is_err());
    }
}
