//! [`Explanation`]: a plan in words and numbers.

use std::fmt;

use dist_maps::RedistPlan;

use super::IoPlan;
use crate::IoError;
use crate::layout::shape_text;

/// Ranks that are listed one by one.
const LISTED: usize = 16;

/// What a plan will do: [`IoPlan::explain`]. Its `Display` is for people; every number is a field too.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Explanation {
    /// What is planned, and why in this way.
    pub summary: String,
    /// The first ranks, up to 16 of them.
    pub ranks: Vec<RankVolume>,
    /// All ranks.
    pub of: usize,
}

/// What one rank does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RankVolume {
    /// The rank.
    pub rank: usize,
    /// Bytes of its own elements.
    pub own_bytes: u64,
    /// Bytes that it sends to others.
    pub sent_bytes: u64,
    /// Bytes that it receives from others.
    pub received_bytes: u64,
    /// Bytes that it reads from the file or writes to it.
    pub file_bytes: u64,
    /// Reads or writes that this takes, or chunks.
    pub requests: u64,
}

pub(super) fn explain(plan: &IoPlan) -> Result<Explanation, IoError> {
    let item = plan.item_size as u64;
    let summary = format!(
        "{} {} of {item} bytes, {} ({} bytes), by {} ranks: {}, {}",
        plan.direction,
        shape_text(plan.distribution.global_shape()),
        plan.layout,
        plan.total_bytes,
        plan.distribution.ranks(),
        plan.strategy,
        plan.why,
    );
    let volume = |rank| {
        let requests = plan.requests(rank)?;
        let exchange = plan.exchange(rank)?;
        let bytes = |n: usize| n as u64 * item;
        Ok::<_, IoError>(RankVolume {
            rank,
            own_bytes: bytes(plan.part(rank)?.elements()),
            sent_bytes: bytes(exchange.as_ref().map_or(0, RedistPlan::sent)),
            received_bytes: bytes(exchange.as_ref().map_or(0, RedistPlan::received)),
            file_bytes: bytes(requests.elements()),
            requests: match plan.chunks(rank)?.total() {
                0 => requests.run_count(),
                chunks => chunks,
            },
        })
    };
    let of = plan.distribution.ranks();
    let ranks = (0..of.min(LISTED)).map(volume).collect::<Result<_, _>>()?;
    Ok(Explanation { summary, ranks, of })
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}", self.summary)?;
        writeln!(
            f,
            "{:>6} {:>14} {:>14} {:>14} {:>14} {:>10}",
            "rank", "own bytes", "sent", "received", "file bytes", "requests"
        )?;
        for r in &self.ranks {
            writeln!(
                f,
                "{:>6} {:>14} {:>14} {:>14} {:>14} {:>10}",
                r.rank, r.own_bytes, r.sent_bytes, r.received_bytes, r.file_bytes, r.requests
            )?;
        }
        if self.of > self.ranks.len() {
            writeln!(f, "   and {} ranks more", self.of - self.ranks.len())?;
        }
        Ok(())
    }
}
