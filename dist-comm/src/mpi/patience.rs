//! Waiting for other ranks: how often to look, when to give way, when to give up.

use std::time::{Duration, Instant};
use std::{hint, thread};

use super::Inner;
use crate::{CommError, Operation, limit};

/// Looks between two thoughts about whether the wait can end.
const THINK: u32 = 256;
/// How long a message may still be on its way after its sender has left.
const GRACE: Duration = Duration::from_secs(1);
/// How long a rank waits where nothing shows that another has left.
const APART: Duration = Duration::from_secs(3600);
/// Looks before giving way, where ranks are apart.
const SPINS: u32 = 200;

/// How long this rank would wait, in nanoseconds, as `DIST_COMM_TIMEOUT` says; 0 where it says nothing.
pub(super) fn wished_limit() -> u64 {
    let limit = limit::from_environment().map(|limit| limit.as_nanos().max(1));
    limit.map_or(0, |nanos| u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// How long every rank waits: as the most patient one wishes; else without limit where it shows that another has left.
pub(super) fn limit(is_near: bool, wishes: impl Iterator<Item = u64>) -> Option<Duration> {
    let longest = wishes.max().filter(|&longest| longest > 0);
    longest
        .map(Duration::from_nanos)
        .or((!is_near).then_some(APART))
}

/// One wait of one rank.
pub(super) struct Patience<'a> {
    inner: &'a Inner,
    operation: Operation,
    looks: u32,
    began: Option<Instant>,
    /// A rank that has left, and since when that is known.
    left: Option<(usize, Instant)>,
}

impl<'a> Patience<'a> {
    pub(super) fn new(inner: &'a Inner, operation: Operation) -> Self {
        Self {
            inner,
            operation,
            looks: 0,
            began: None,
            left: None,
        }
    }

    /// Something came: the wait begins anew.
    pub(super) fn renew(&mut self) {
        *self = Self::new(self.inner, self.operation);
    }

    /// Between two looks in vain: gives way, and says now and then whether `peers`, who are waited for, may still come.
    pub(super) fn pause(&mut self, peers: impl Iterator<Item = usize>) -> Result<(), CommError> {
        self.looks = self.looks.wrapping_add(1);
        let spins = self.inner.area.as_ref().map_or(SPINS, |area| area.spins);
        if self.looks < spins {
            hint::spin_loop();
            return Ok(());
        }
        if self.looks.is_multiple_of(THINK) {
            self.think(peers)?;
        }
        thread::yield_now();
        Ok(())
    }

    #[cold]
    fn think(&mut self, peers: impl Iterator<Item = usize>) -> Result<(), CommError> {
        let (operation, now) = (self.operation, Instant::now());
        let mut missing: Vec<usize> = peers.collect();
        if let Some(area) = &self.inner.area {
            let left = missing.iter().copied().find(|&rank| area.has_left(rank));
            match (left, self.left) {
                (Some(rank), Some((known, since))) if rank == known => {
                    if now - since >= GRACE {
                        return Err(CommError::Departed { operation, rank });
                    }
                }
                (left, _) => self.left = left.map(|rank| (rank, now)),
            }
        }
        let began = *self.began.get_or_insert(now);
        if let Some(limit) = self.inner.limit
            && now - began >= limit
        {
            missing.sort_unstable();
            missing.dedup();
            return Err(CommError::Timeout {
                operation,
                limit,
                missing,
            });
        }
        Ok(())
    }
}
