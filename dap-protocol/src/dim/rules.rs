//! The rules of one dictionary, on numbers of any size: used when one is made and when one is read.

use crate::error::{Code, Violation};
use crate::{MAX_SIZE, Padding};

/// Bad entries of one list that are listed one by one; the others are counted.
pub(crate) const LISTED: usize = 8;

/// What was found wrong so far.
#[derive(Default)]
pub(crate) struct Rules {
    pub(crate) found: Vec<Violation>,
}

/// A number of a dictionary, as it was given.
#[derive(Clone, Copy)]
pub(crate) struct Number(pub(crate) i128);

impl From<u64> for Number {
    fn from(n: u64) -> Self {
        Self(n.into())
    }
}

impl From<usize> for Number {
    fn from(n: usize) -> Self {
        Self(i128::try_from(n).unwrap_or(i128::MAX))
    }
}

impl From<i128> for Number {
    fn from(n: i128) -> Self {
        Self(n)
    }
}

impl Rules {
    fn add(&mut self, code: Code, key: &str, given: Number, allowed: impl Into<String>) {
        self.found
            .push(Violation::new(code, given.0.to_string(), allowed).key(key));
    }

    /// C3, C4, C5.
    pub(crate) fn common(&mut self, size: Number, grid_size: Number, grid_rank: Number) {
        self.size(size);
        self.grid(grid_size, grid_rank);
    }

    pub(crate) fn size(&mut self, size: Number) {
        if !(0..=i128::from(MAX_SIZE)).contains(&size.0) {
            self.add(Code::C3, "size", size, format!("0 to {MAX_SIZE}"));
        }
    }

    pub(crate) fn grid(&mut self, size: Number, rank: Number) {
        if size.0 < 1 || usize::try_from(size.0).is_err() {
            self.add(
                Code::C4,
                "proc_grid_size",
                size,
                format!("1 to {}", usize::MAX),
            );
            if rank.0 < 0 {
                self.add(Code::C5, "proc_grid_rank", rank, "at least 0");
            }
        } else if !(0..size.0).contains(&rank.0) {
            let allowed = format!("0 to {} (proc_grid_size - 1)", size.0 - 1);
            self.add(Code::C5, "proc_grid_rank", rank, allowed);
        }
    }

    /// B1, B2, B4, B6.
    pub(crate) fn block_range(&mut self, size: Number, rank: Number, start: Number, stop: Number) {
        if start.0 < 0 {
            self.add(Code::B1, "start", start, "at least 0");
        }
        if start.0 > stop.0 {
            self.add(
                Code::B2,
                "start",
                start,
                format!("at most {} (stop)", stop.0),
            );
        }
        if stop.0 > size.0 {
            self.add(Code::B4, "stop", stop, format!("at most {} (size)", size.0));
        }
        if rank.0 == 0 && start.0 > 0 && start.0 < stop.0 {
            self.add(Code::B6, "start", start, "0 on the first rank of the grid");
        }
    }

    /// B5.
    pub(crate) fn padding(&mut self, start: u64, stop: u64, padding: Padding) {
        let Some(stored) = stop.checked_sub(start) else {
            return; // B2 says so
        };
        let sum = padding.lower.checked_add(padding.upper);
        if sum.is_none_or(|sum| sum > stored) {
            let given = format!("({}, {})", padding.lower, padding.upper);
            let allowed = format!("a sum of at most {stored} (stop - start)");
            self.found
                .push(Violation::new(Code::B5, given, allowed).key("padding"));
        }
    }

    /// K1, K2.
    pub(crate) fn cyclic(&mut self, size: Number, rank: Number, start: Number, block: Number) {
        if block.0 < 1 || block.0 > i128::from(u64::MAX) {
            let allowed = format!("1 to {}", u64::MAX);
            return self.add(Code::K1, "block_size", block, allowed);
        }
        // A product beyond 127 bits lies beyond `size` like any other large one.
        let expected = rank.0.saturating_mul(block.0);
        let holds_nothing = start.0 >= size.0 && expected >= size.0 && start.0 >= 0;
        if start.0 != expected && !holds_nothing {
            let allowed = format!("{expected} (proc_grid_rank * block_size)");
            self.add(Code::K2, "start", start, allowed);
        }
    }

    /// U2.
    pub(crate) fn indices(&mut self, indices: &[i64]) {
        if indices.is_sorted_by(|a, b| a < b) {
            return;
        }
        let mut sorted = indices.to_vec();
        sorted.sort_unstable();
        let pairs = sorted.iter().zip(sorted.iter().skip(1));
        let mut twice: Vec<i64> = pairs.filter(|(a, b)| a == b).map(|(&a, _)| a).collect();
        twice.dedup();
        let mut add = |given| {
            let violation = Violation::new(Code::U2, given, "each index once");
            self.found.push(violation.key("indices"));
        };
        for index in twice.iter().take(LISTED) {
            add(format!("{index} twice"));
        }
        if let Some(more @ 1..) = twice.len().checked_sub(LISTED) {
            add(format!("{more} more indices twice"));
        }
    }
}

/// `rank * block`; where that exceeds 63 bits, the rank holds nothing and starts at the end.
pub(crate) fn cyclic_start(size: u64, rank: usize, block: u64) -> u64 {
    u64::try_from(rank)
        .ok()
        .and_then(|rank| rank.checked_mul(block))
        .filter(|&start| start <= MAX_SIZE)
        .unwrap_or(size)
}
