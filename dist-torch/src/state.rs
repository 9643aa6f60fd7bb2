//! [`Schedule`] and [`LoaderState`]: all epochs of a run, and where one stands.

use crate::permutation::mix;
use crate::{DataError, Epoch, Order, Uneven};

/// What the epochs of a run have in common.
///
/// ```
/// use dist_torch::{Order, Schedule};
///
/// let schedule = Schedule::new(1000, 128).seed(7); // rows, rows of a batch of all ranks together
/// let first = schedule.epoch(0)?;
/// assert_eq!((first.steps(), schedule.order), (8, Order::Keyed));
/// // stopped after two steps on some number of ranks, and gone on on any other
/// let saved = schedule.state(0, first.position_after(1), 0).to_bytes();
/// let rest = dist_torch::LoaderState::from_bytes(&saved)?.epoch()?;
/// assert_eq!((rest.steps(), rest.rows(0, 0, 3)), (6, first.rows(2, 0, 3)));
/// # Ok::<(), dist_torch::DataError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Schedule {
    /// Rows of the data set.
    pub rows: u64,
    /// Rows of a batch, of all ranks together.
    pub batch: u64,
    /// How the rows are ordered.
    pub order: Order,
    /// What becomes of the last batch.
    pub uneven: Uneven,
    /// The seed of all epochs' orders.
    pub seed: u64,
}

impl Schedule {
    /// Rows in a random order without a list ([`Order::Keyed`]) under seed 0, each once an epoch ([`Uneven::Exact`]).
    #[must_use]
    pub fn new(rows: u64, batch: u64) -> Self {
        Self {
            rows,
            batch,
            order: Order::Keyed,
            uneven: Uneven::Exact,
            seed: 0,
        }
    }

    /// With another order.
    #[must_use]
    pub fn order(self, order: Order) -> Self {
        Self { order, ..self }
    }

    /// With another way of the last batch.
    #[must_use]
    pub fn uneven(self, uneven: Uneven) -> Self {
        Self { uneven, ..self }
    }

    /// With another seed.
    #[must_use]
    pub fn seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// The batches of an epoch. Local.
    ///
    /// # Errors
    /// [`DataError::Batch`] when a batch has no rows; [`DataError::Allocation`] when the order is a list that cannot be had.
    pub fn epoch(&self, epoch: u64) -> Result<Epoch, DataError> {
        let order = self.order.epoch(self.rows, self.seed, epoch)?;
        Ok(Epoch::new(order, self.batch)?.uneven(self.uneven))
    }

    /// What to save to go on at `position` of `epoch`; `fingerprint` is that of the data set's
    /// [`Schema`](crate::Schema::fingerprint), or any number that says what the rows are.
    #[must_use]
    pub fn state(&self, epoch: u64, position: u64, fingerprint: u64) -> LoaderState {
        LoaderState {
            schedule: *self,
            epoch,
            position,
            fingerprint,
        }
    }
}

/// Where a run stands: enough to go on in the middle of an epoch, on any number of ranks, without going through what was read.
///
/// The state is the same on every rank. Saved, it is 64 bytes: their meaning is part of what this crate promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LoaderState {
    schedule: Schedule,
    epoch: u64,
    position: u64,
    fingerprint: u64,
}

/// What a saved state begins with; the last byte is the version.
const MAGIC: [u8; 6] = *b"dtord\x01";
const ORDERS: [Order; 3] = [Order::Sequential, Order::Keyed, Order::Torch];
const UNEVEN: [Uneven; 3] = [Uneven::Exact, Uneven::Pad, Uneven::Drop];

impl LoaderState {
    /// Bytes of a saved state.
    pub const LEN: usize = 64;

    /// What the epochs have in common. With another `batch` in it, an epoch goes on in batches of that many rows.
    #[must_use]
    pub fn schedule(&self) -> &Schedule {
        &self.schedule
    }

    /// The epoch.
    #[must_use]
    pub fn epoch_number(&self) -> u64 {
        self.epoch
    }

    /// The position in its order from which to go on.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.position
    }

    /// The same place with batches of another size.
    #[must_use]
    pub fn with_batch(mut self, batch: u64) -> Self {
        self.schedule.batch = batch;
        self
    }

    /// The same epoch at another position.
    pub(crate) fn at(mut self, position: u64) -> Self {
        self.position = position;
        self
    }

    /// What is left of the epoch. Local; takes no time that grows with the position.
    ///
    /// # Errors
    /// As [`Schedule::epoch`].
    pub fn epoch(&self) -> Result<Epoch, DataError> {
        let epoch = self.schedule.epoch(self.epoch)?;
        Ok(epoch.starting_at(self.position))
    }

    /// Whether this is a state of a data set with so many rows and this fingerprint.
    ///
    /// # Errors
    /// [`DataError::State`] when it is not.
    pub fn check(&self, rows: u64, fingerprint: u64) -> Result<(), DataError> {
        let differs = |what, given, allowed| DataError::State {
            what,
            given,
            allowed,
        };
        if self.schedule.rows != rows {
            return Err(differs("rows", self.schedule.rows, rows));
        }
        if self.fingerprint != fingerprint {
            return Err(differs("a fingerprint", self.fingerprint, fingerprint));
        }
        Ok(())
    }

    /// The state as bytes, the same on every machine.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::LEN] {
        let code = |at: Option<usize>| at.and_then(|at| u8::try_from(at).ok()).unwrap_or(u8::MAX);
        let mut bytes = [0; Self::LEN];
        bytes[..6].copy_from_slice(&MAGIC);
        bytes[6] = code(
            ORDERS
                .iter()
                .position(|&order| order == self.schedule.order),
        );
        bytes[7] = code(
            UNEVEN
                .iter()
                .position(|&uneven| uneven == self.schedule.uneven),
        );
        let numbers = [
            self.schedule.rows,
            self.schedule.batch,
            self.schedule.seed,
            self.epoch,
            self.position,
            self.fingerprint,
        ];
        for (place, number) in bytes[8..].chunks_exact_mut(8).zip(numbers) {
            place.copy_from_slice(&number.to_le_bytes());
        }
        let sum = checksum(&bytes[..Self::LEN - 8]);
        bytes[Self::LEN - 8..].copy_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// A saved state.
    ///
    /// # Errors
    /// [`DataError::State`] when these are no such bytes: another length, another version, or changed ones.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, DataError> {
        let wrong = |what, given, allowed| DataError::State {
            what,
            given,
            allowed,
        };
        if bytes.len() != Self::LEN {
            return Err(wrong("bytes", bytes.len() as u64, Self::LEN as u64));
        }
        if bytes[..5] != MAGIC[..5] {
            return Err(wrong("a first byte", bytes[0].into(), MAGIC[0].into()));
        }
        if bytes[5] != MAGIC[5] {
            return Err(wrong("version", bytes[5].into(), MAGIC[5].into()));
        }
        let mut numbers = [0; 7];
        for (number, place) in numbers.iter_mut().zip(bytes[8..].chunks_exact(8)) {
            *number = place.try_into().map_or(0, u64::from_le_bytes);
        }
        let [rows, batch, seed, epoch, position, fingerprint, ..] = numbers;
        let (sum, expected) = (numbers[6], checksum(&bytes[..Self::LEN - 8]));
        if sum != expected {
            return Err(wrong("a checksum", sum, expected));
        }
        let (order, uneven) = (bytes[6], bytes[7]);
        let no_order = || wrong("order", order.into(), ORDERS.len() as u64 - 1);
        let no_uneven = || {
            wrong(
                "a last batch of kind",
                uneven.into(),
                UNEVEN.len() as u64 - 1,
            )
        };
        let schedule = Schedule {
            rows,
            batch,
            order: *ORDERS.get(usize::from(order)).ok_or_else(no_order)?,
            uneven: *UNEVEN.get(usize::from(uneven)).ok_or_else(no_uneven)?,
            seed,
        };
        Ok(schedule.state(epoch, position, fingerprint))
    }
}

/// One number of bytes, the same on every machine and in every version.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let mut sum = mix(bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        sum = mix(sum.rotate_left(1) ^ u64::from_le_bytes(word));
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> LoaderState {
        Schedule::new(1 << 40, 512)
            .order(Order::Torch)
            .uneven(Uneven::Drop)
            .seed(u64::MAX)
            .state(3, 77, 5)
    }

    #[test]
    fn a_state_comes_back() {
        for order in ORDERS {
            for uneven in UNEVEN {
                let mut state = state();
                state.schedule.order = order;
                state.schedule.uneven = uneven;
                let bytes = state.to_bytes();
                assert!(bytes.len() <= 200);
                assert_eq!(LoaderState::from_bytes(&bytes), Ok(state));
            }
        }
    }

    #[test]
    fn changed_bytes_are_refused() {
        let bytes = state().to_bytes();
        for at in 0..bytes.len() {
            let mut changed = bytes;
            changed[at] ^= 0x10;
            assert!(LoaderState::from_bytes(&changed).is_err(), "byte {at}");
            assert!(LoaderState::from_bytes(&bytes[..at]).is_err());
        }
        // a code that there is not, with a right sum
        let mut changed = bytes;
        changed[6] = 3;
        let sum = checksum(&changed[..56]);
        changed[56..].copy_from_slice(&sum.to_le_bytes());
        assert_eq!(
            LoaderState::from_bytes(&changed).unwrap_err().to_string(),
            "a saved state with order 3, allowed is 2"
        );
    }

    #[test]
    fn another_data_set_is_refused() {
        assert!(state().check(1 << 40, 5).is_ok());
        assert!(state().check(1 << 39, 5).is_err());
        assert!(state().check(1 << 40, 6).is_err());
    }
}
