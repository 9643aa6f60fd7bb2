//! [`Bins`], and where an element belongs.

use ndarray::Array1;

use crate::ArrayError;
use crate::agreement::Bits;
use crate::output::room;

/// The bins of a histogram: how many of one width, or their edges. Local to make; every rank gives the same.
///
/// ```
/// use local_array::Bins;
///
/// assert_eq!(Bins::from(4), Bins::Count(4));
/// assert_eq!(Bins::from([0.0, 1.0]), Bins::Edges(vec![0.0, 1.0]));
/// assert_eq!(Bins::from(None), Bins::Count(10)); // as NumPy does without `bins`
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Bins {
    /// As many, of one width, at least one.
    Count(i64),
    /// One edge more than bins, none less than the one before.
    Edges(Vec<f64>),
}

/// Ten of one width, as in `NumPy`.
impl Default for Bins {
    fn default() -> Self {
        Self::Count(10)
    }
}

impl From<Option<Self>> for Bins {
    fn from(bins: Option<Self>) -> Self {
        bins.unwrap_or_default()
    }
}

impl From<i32> for Bins {
    fn from(count: i32) -> Self {
        Self::Count(count.into())
    }
}

impl From<usize> for Bins {
    fn from(count: usize) -> Self {
        Self::Count(i64::try_from(count).unwrap_or(i64::MAX))
    }
}

impl From<Vec<f64>> for Bins {
    fn from(edges: Vec<f64>) -> Self {
        Self::Edges(edges)
    }
}

impl From<&[f64]> for Bins {
    fn from(edges: &[f64]) -> Self {
        Self::Edges(edges.to_vec())
    }
}

impl<const N: usize> From<[f64; N]> for Bins {
    fn from(edges: [f64; N]) -> Self {
        Self::Edges(edges.to_vec())
    }
}

impl Bins {
    /// What every rank gives alike.
    pub(super) fn told(&self, range: Option<(f64, f64)>) -> (i64, Vec<Bits>) {
        let range = range.iter().flat_map(|range| [range.0, range.1].map(Bits));
        match self {
            Self::Count(count) => (*count, range.collect()),
            Self::Edges(edges) => (-1, edges.iter().copied().map(Bits).collect()),
        }
    }

    /// Checks the arguments, before anything is looked at.
    pub(super) fn check(&self, range: Option<(f64, f64)>) -> Result<(), ArrayError> {
        match self {
            Self::Count(count) if *count < 1 => Err(ArrayError::Argument {
                what: "bins",
                given: count.to_string(),
                allowed: "at least one".to_owned(),
            }),
            Self::Count(_) => range.map_or(Ok(()), check_range),
            Self::Edges(edges)
                if edges.is_empty() || edges.windows(2).any(|pair| pair[0] > pair[1]) =>
            {
                Err(ArrayError::Argument {
                    what: "bins",
                    given: format!("{} edges", edges.len()),
                    allowed: "at least one edge, none below the one before".to_owned(),
                })
            }
            Self::Edges(_) => Ok(()),
        }
    }

    /// How many.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Count(count) => usize::try_from(*count).unwrap_or(usize::MAX),
            Self::Edges(edges) => edges.len().saturating_sub(1),
        }
    }

    /// Room for the edges.
    pub(super) fn room(&self, rank: usize) -> Result<Vec<f64>, ArrayError> {
        room(self.len().saturating_add(1), rank)
    }

    /// Whether the edges depend on the elements.
    pub(super) fn ask_for_extremes(&self, range: Option<(f64, f64)>) -> bool {
        matches!(self, Self::Count(_)) && range.is_none()
    }

    /// The edges, into the [room](Self::room) for them; `extremes` gives the least and the greatest element.
    pub(super) fn edges(
        &self,
        range: Option<(f64, f64)>,
        mut edges: Vec<f64>,
        extremes: impl FnOnce() -> (f64, f64),
    ) -> Result<Edges, ArrayError> {
        if let Self::Edges(given) = self {
            edges.extend_from_slice(given);
            return Ok(Edges { edges, scale: None });
        }
        let count = self.len();
        let (low, high) = range.unwrap_or_else(extremes);
        check_range((low, high))?;
        #[expect(clippy::float_cmp, reason = "the same number twice")]
        let (low, high) = if low == high {
            (low - 0.5, high + 0.5)
        } else {
            (low, high)
        };
        #[expect(clippy::cast_precision_loss, reason = "bins are fewer than 2^53")]
        let (bins, width) = (count as f64, (high - low) / count as f64);
        #[expect(clippy::cast_precision_loss, reason = "bins are fewer than 2^53")]
        edges.extend((0..count).map(|at| low + at as f64 * width));
        edges.push(high);
        Ok(Edges {
            edges,
            // over the least numbers there are, bins per unit are too many for a float
            scale: Some(bins / (high - low)).filter(|scale| scale.is_finite()),
        })
    }
}

fn check_range((low, high): (f64, f64)) -> Result<(), ArrayError> {
    if (high - low).is_finite() && low <= high {
        return Ok(());
    }
    Err(ArrayError::Argument {
        what: "range",
        given: format!("{low}..{high}"),
        allowed: "two finite numbers of finite distance, the second not below the first".to_owned(),
    })
}

/// The edges of bins.
pub(super) struct Edges {
    edges: Vec<f64>,
    /// Bins per unit, where all have one width.
    scale: Option<f64>,
}

impl Edges {
    pub(super) fn bins(&self) -> usize {
        self.edges.len() - 1
    }

    pub(super) fn into_array(self) -> Array1<f64> {
        self.edges.into()
    }

    /// The bin of a number; `None` outside all, and for NaN.
    pub(super) fn find(&self, x: f64) -> Option<usize> {
        let last = self.bins().checked_sub(1)?;
        let (low, high) = (self.edges[0], self.edges[last + 1]);
        if !(low <= x && x <= high) {
            return None;
        }
        let Some(scale) = self.scale else {
            let above = self.edges.partition_point(|&edge| edge <= x);
            return Some((above - 1).min(last));
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "not negative, and cut off at the last bin"
        )]
        let bin = (((x - low) * scale) as usize).min(last);
        // The edges are rounded: they decide.
        if x < self.edges[bin] {
            return Some(bin.saturating_sub(1));
        }
        let is_next = bin < last && x >= self.edges[bin + 1];
        Some(bin + usize::from(is_next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_the_least_floats_are_found() -> Result<(), ArrayError> {
        let step = f64::from_bits(300);
        let edges = Bins::Count(3).edges(Some((0.0, 3.0 * step)), Vec::new(), || (0.0, 0.0))?;
        for (bits, bin) in [(0, 0), (299, 0), (300, 1), (599, 1), (600, 2), (900, 2)] {
            assert_eq!(edges.find(f64::from_bits(bits)), Some(bin), "{bits}");
        }
        assert_eq!(edges.find(f64::from_bits(901)), None);
        let wide = Bins::Count(3).check(Some((-1.7e308, 1.7e308)));
        assert!(matches!(
            wide,
            Err(ArrayError::Argument { what: "range", .. })
        ));
        Ok(())
    }

    #[test]
    fn the_edges_decide() -> Result<(), ArrayError> {
        for (count, low, high) in [
            (3, 0.0, 1.0),
            (7, -1.3, 2.9),
            (10, 1e-300, 1e-299),
            (49, 0.1, 0.7),
        ] {
            let edges = Bins::Count(count).edges(Some((low, high)), Vec::new(), || (0.0, 0.0))?;
            for (at, &edge) in edges.edges.iter().enumerate() {
                assert_eq!(edges.find(edge), Some(at.min(edges.bins() - 1)));
                if at > 0 {
                    assert_eq!(edges.find(edge.next_down()), Some(at - 1));
                }
            }
            assert_eq!(
                (edges.find(low.next_down()), edges.find(f64::NAN)),
                (None, None)
            );
        }
        let edges = Bins::from([0.0, 1.0, 1.0, 2.0]).edges(None, Vec::new(), || (0.0, 0.0))?;
        assert_eq!(
            [0.5, 1.0, 2.0, 2.5].map(|x| edges.find(x)),
            [Some(0), Some(2), Some(2), None]
        );
        assert_eq!(
            Bins::from([1.0])
                .edges(None, Vec::new(), || (0.0, 0.0))?
                .find(1.0),
            None
        );
        Ok(())
    }
}
