//! [`Explanation`]: what a redistribution costs, over all ranks.

use std::collections::HashMap;
use std::fmt;

use super::factor::for_each;
use super::{PlanError, Redistribution};

/// What goes from one rank to another; to itself, where both are the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PairVolume {
    /// The rank that has it.
    pub from: usize,
    /// The rank that gets it.
    pub to: usize,
    /// Elements.
    pub elements: u64,
    /// Bytes.
    pub bytes: u128,
}

/// All messages of a redistribution: see [`Redistribution::explain`]. Its `Display` is a summary and
/// the largest messages.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct Explanation {
    ranks: usize,
    element_size: usize,
    pairs: Vec<PairVolume>,
}

/// Elements by coordinates of the receiver, along the axes of one factor.
type Volumes = Vec<(Vec<usize>, u64)>;

impl Redistribution<'_> {
    /// Who sends how much to whom, over all ranks. `element_size` is in bytes.
    ///
    /// # Errors
    /// As [`Redistribution::plan`].
    ///
    /// ```
    /// use dist_maps::{Distribution, Redistribution};
    /// let rows = Distribution::over(2).shape([4, 6]).block(0).build()?;
    /// let columns = Distribution::over(2).shape([4, 6]).block(1).build()?;
    /// let cost = Redistribution::between(&rows, &columns).explain(8)?;
    /// assert_eq!(cost.bytes(0, 1), 48);
    /// assert_eq!((cost.local_fraction(), cost.max_out_degree()), (0.5, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn explain(&self, element_size: usize) -> Result<Explanation, PlanError> {
        let factors = self.factors()?;
        let mut known: Vec<HashMap<Vec<usize>, Volumes>> = Vec::new();
        known.resize_with(factors.len(), HashMap::new);
        let mut pairs = Vec::new();
        for from in 0..self.src.ranks() {
            let Some(coords) = self.src.coords(from) else {
                continue;
            };
            let mut tables = Vec::with_capacity(factors.len());
            for (factor, known) in factors.iter().zip(&mut known) {
                let table = known
                    .entry(coords[factor.src_axes()].to_vec())
                    .or_insert_with(|| {
                        let count = |e: super::Entry| {
                            let n = e.section.elements().unwrap_or(usize::MAX);
                            (e.coords, n as u64)
                        };
                        factor.sends(&coords).into_iter().map(count).collect()
                    });
                tables.push(table.clone());
            }
            let first = pairs.len();
            let mut peer = vec![0; self.dst.ndim()];
            for_each(&tables, &mut |entries| {
                let mut elements = 1_u64;
                for (factor, (coords, n)) in factors.iter().zip(entries) {
                    peer[factor.dst_axes()].copy_from_slice(coords);
                    elements = elements.checked_mul(*n).ok_or(PlanError::Overflow {
                        what: "number of elements in a message",
                    })?;
                }
                if let Some(to) = self.dst.rank_at(&peer) {
                    pairs.push(PairVolume {
                        from,
                        to,
                        elements,
                        bytes: u128::from(elements) * element_size as u128,
                    });
                }
                Ok(())
            })?;
            pairs[first..].sort_unstable_by_key(|pair| pair.to);
        }
        Ok(Explanation {
            ranks: self.ranks(),
            element_size,
            pairs,
        })
    }
}

impl Explanation {
    /// Number of ranks.
    #[must_use]
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Bytes per element, as given.
    #[must_use]
    pub fn element_size(&self) -> usize {
        self.element_size
    }

    /// Every pair of ranks between which something moves, a rank and itself included, by sender and
    /// receiver.
    #[must_use]
    pub fn pairs(&self) -> &[PairVolume] {
        &self.pairs
    }

    /// Bytes from one rank to another.
    #[must_use]
    pub fn bytes(&self, from: usize, to: usize) -> u128 {
        let at = self
            .pairs
            .binary_search_by_key(&(from, to), |p| (p.from, p.to));
        at.map_or(0, |at| self.pairs[at].bytes)
    }

    /// All bytes, those that stay included.
    #[must_use]
    pub fn total_bytes(&self) -> u128 {
        self.pairs.iter().map(|pair| pair.bytes).sum()
    }

    /// Bytes that stay on their rank.
    #[must_use]
    pub fn local_bytes(&self) -> u128 {
        let local = self.pairs.iter().filter(|pair| pair.from == pair.to);
        local.map(|pair| pair.bytes).sum()
    }

    /// The part of all elements that stays on its rank, 0 to 1; 1 where there are none.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a ratio to read")]
    pub fn local_fraction(&self) -> f64 {
        let elements = |p: &PairVolume| u128::from(p.elements);
        let all: u128 = self.pairs.iter().map(elements).sum();
        let local = self.pairs.iter().filter(|p| p.from == p.to);
        let local: u128 = local.map(elements).sum();
        if all == 0 {
            1.0
        } else {
            local as f64 / all as f64
        }
    }

    /// The largest number of other ranks that one rank sends to.
    #[must_use]
    pub fn max_out_degree(&self) -> usize {
        self.max_degree(|pair| pair.from)
    }

    /// The largest number of other ranks that one rank receives from.
    #[must_use]
    pub fn max_in_degree(&self) -> usize {
        self.max_degree(|pair| pair.to)
    }

    fn max_degree(&self, end: impl Fn(&PairVolume) -> usize) -> usize {
        let mut degrees = vec![0; self.ranks];
        for pair in self.pairs.iter().filter(|pair| pair.from != pair.to) {
            degrees[end(pair)] += 1;
        }
        degrees.into_iter().max().unwrap_or(0)
    }

    /// The most bytes that one rank sends to others.
    #[must_use]
    pub fn max_sent_bytes(&self) -> u128 {
        self.max_bytes(|pair| pair.from)
    }

    /// The most bytes that one rank receives from others.
    #[must_use]
    pub fn max_received_bytes(&self) -> u128 {
        self.max_bytes(|pair| pair.to)
    }

    fn max_bytes(&self, end: impl Fn(&PairVolume) -> usize) -> u128 {
        let mut bytes = vec![0; self.ranks];
        for pair in self.pairs.iter().filter(|pair| pair.from != pair.to) {
            bytes[end(pair)] += pair.bytes;
        }
        bytes.into_iter().max().unwrap_or(0)
    }
}

/// Messages that `Display` lists.
const LISTED: usize = 16;

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{} bytes on {} ranks, {} of them stay ({:.1} %)",
            self.total_bytes(),
            self.ranks,
            self.local_bytes(),
            100.0 * self.local_fraction(),
        )?;
        writeln!(
            f,
            "a rank sends at most {} bytes to {} ranks, and receives at most {} bytes from {}",
            self.max_sent_bytes(),
            self.max_out_degree(),
            self.max_received_bytes(),
            self.max_in_degree(),
        )?;
        let mut messages: Vec<_> = self.pairs.iter().filter(|p| p.from != p.to).collect();
        messages.sort_by_key(|p| (std::cmp::Reverse(p.bytes), p.from, p.to));
        for pair in messages.iter().take(LISTED) {
            writeln!(f, "{:>6} -> {:<6} {} bytes", pair.from, pair.to, pair.bytes)?;
        }
        if messages.len() > LISTED {
            writeln!(f, "and {} more messages", messages.len() - LISTED)?;
        }
        Ok(())
    }
}
