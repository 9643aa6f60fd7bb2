//! [`CollectiveIo`]: whether collective transfers were collective, and why not.

use std::fmt;

/// How the library carried a transfer out: its `H5D_mpio_actual_io_mode_t`. The lesser value is the slower one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum IoMode {
    /// Each rank by itself.
    Independent,
    /// Each rank its chunks, one by one.
    ChunksIndependent,
    /// Some chunks together, and some by a rank alone.
    ChunksMixed,
    /// All chunks together.
    ChunksCollective,
    /// A contiguous dataset, all ranks together.
    Contiguous,
}

impl IoMode {
    /// By the library's number; what it does not name now is taken to be the slowest.
    pub(super) const fn of(mode: i32) -> Self {
        match mode {
            1 => Self::ChunksIndependent,
            2 => Self::ChunksCollective,
            3 => Self::ChunksMixed,
            4 => Self::Contiguous,
            _ => Self::Independent,
        }
    }
}

impl fmt::Display for IoMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Independent => "independent",
            Self::ChunksIndependent => "chunks independent",
            Self::ChunksMixed => "chunks mixed",
            Self::ChunksCollective => "chunks collective",
            Self::Contiguous => "contiguous collective",
        })
    }
}

/// Why transfers were not collective, of all ranks: the bits of the library's `H5D_mpio_no_collective_cause_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Causes(u32);

impl Causes {
    /// Names of the bits, from the lowest on.
    const NAMES: [&str; 9] = [
        "asked for independent transfers",
        "conversion of elements",
        "transformation of elements",
        "the library's variable for MPI types is off",
        "a dataspace that is neither simple nor scalar",
        "a dataset that is neither contiguous nor chunked",
        "the library writes no filtered chunks in parallel",
        "an error while it was looked at",
        "the library moves no selections",
    ];

    /// None: all were collective.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The library's bits, those too that have no name here.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Causes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        let mut separator = "";
        for (bit, name) in Self::NAMES.iter().enumerate() {
            if rest & (1 << bit) != 0 {
                write!(f, "{separator}{name}")?;
                separator = ", ";
                rest &= !(1 << bit);
            }
        }
        match rest {
            0 => Ok(()),
            _ => write!(f, "{separator}{rest:#x}"),
        }
    }
}

/// How the collective transfers of one read or write went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CollectiveIo {
    /// Calls of the library, the same number on every rank.
    pub calls: u64,
    /// The slowest mode of them all.
    pub mode: IoMode,
    /// Why some were not collective.
    pub causes: Causes,
}

impl CollectiveIo {
    /// With one more call.
    pub(super) fn with(so_far: Option<Self>, mode: IoMode, causes: u32) -> Self {
        let (calls, slowest, before) = so_far.map_or((0, mode, 0), |so_far| {
            (so_far.calls, so_far.mode, so_far.causes.0)
        });
        Self {
            calls: calls + 1,
            mode: mode.min(slowest),
            causes: Causes(before | causes),
        }
    }
}

impl fmt::Display for CollectiveIo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls, {}", self.calls, self.mode)?;
        if self.causes.is_empty() {
            return Ok(());
        }
        write!(f, " ({})", self.causes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_add_up_to_the_slowest() {
        let one = CollectiveIo::with(None, IoMode::of(4), 0);
        assert_eq!(one.to_string(), "1 calls, contiguous collective");
        let two = CollectiveIo::with(Some(one), IoMode::of(0), 0x1002);
        assert_eq!(
            two.to_string(),
            "2 calls, independent (conversion of elements, 0x1000)"
        );
        assert_eq!(two.causes.bits(), 0x1002);
        let three = CollectiveIo::with(Some(two), IoMode::of(2), 0x40);
        assert_eq!((three.calls, three.mode), (3, IoMode::Independent));
    }
}
