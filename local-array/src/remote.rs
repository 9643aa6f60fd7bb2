//! [`RemoteElements`]: elements by global index, from and to whichever rank has them.
//!
//! Who asks finds the owner and the place among what it owns from the distribution alone. One exchange tells the owners what is
//! asked of them, a second one carries the values:
//!
//! ```text
//! asks:   7 -> rank 2, place 1    0 -> rank 0, place 0      places to the owners   (new)
//! serves: places 1, 4 of rank 2 to rank 0, …                values back, or there  (fetch, store)
//! ```

mod places;

use std::sync::Arc;

use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use dist_maps::Distribution;
use ndarray::{Data, DataMut, Dimension};

pub(crate) use places::{Owners, Places, each_place, nobodys, unpack};

use crate::agreement::{Laid, in_step};
use crate::part::summary;
use crate::strided::elements;
use crate::{ArrayError, LocalArrayBase};

/// Elements that a rank asks for by global index, wherever they lie: planned once, fetched and stored many times.
///
/// Indices are flat, in C order over the global shape, as [`pack_index`](LocalArrayBase::pack_index) gives them. Each rank
/// names its own, in any order and number, some of them several times if it likes.
///
/// Memory: what this rank asks for, and what the others ask of it.
///
/// ```
/// use dist_comm::{Communicator, ThreadComm};
/// use dist_maps::Distribution;
/// use local_array::{ArrayError, LocalArray, RemoteElements};
/// use ndarray::Ix1;
///
/// let found = ThreadComm::run(3, |comm| {
///     let blocks = Distribution::over(3).shape([9]).block(0).build()?;
///     let mut a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |g| g[0] * 10)?;
///     let mine = [8 - comm.rank() as u64, 0];
///     let remote = RemoteElements::new(&blocks, &mine, comm)?; // collective, as all that follows
///     let before = remote.fetch(&a)?;
///     remote.store(&[-1, comm.rank() as i64], &mut a)?; // at 0 the last rank wins
///     Ok::<_, ArrayError>((before, remote.fetch(&a)?))
/// })?;
/// assert_eq!(found[1], (vec![70, 0], vec![-1, 2]));
/// # Ok::<(), dist_comm::RunError<ArrayError>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct RemoteElements<C> {
    distribution: Arc<Distribution>,
    comm: C,
    asked: usize,
    fetch: Routes,
    /// Other routes for storing, where an index lies on several ranks.
    store: Option<Routes>,
}

/// Who wants what of whom.
#[derive(Debug)]
struct Routes {
    asked: Places,
    /// Per rank the places that it asks of this one.
    served: Vec<Vec<u64>>,
}

impl Routes {
    fn new<C: Communicator>(asked: Places, comm: &C) -> Result<Self, ArrayError> {
        let served = comm.all_to_all_slice(&asked.positions(&..))?;
        Ok(Self { asked, served })
    }
}

impl<C: Communicator> RemoteElements<C> {
    /// Tells the owners of the elements at `indices` who wants them. Collective; every rank gives the same distribution and
    /// its own indices. Example: see [`RemoteElements`].
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::InvalidBaseComm`], [`ArrayError::Argument`] when the ranks give different
    /// distributions, [`ArrayError::Agreed`] when an index of some rank lies outside the array or is nobody's,
    /// [`ArrayError::Comm`].
    pub fn new(distribution: &Distribution, indices: &[u64], comm: C) -> Result<Self, ArrayError> {
        let fits = if distribution.ranks() == comm.size() {
            Ok(())
        } else {
            Err(ArrayError::InvalidBaseComm {
                given: comm.size(),
                allowed: distribution.ranks(),
            })
        };
        let places = |()| Places::of(distribution, indices);
        let what = "distribution";
        let asked = in_step(&comm, what, &Laid::out(distribution), fits, places)?;
        let fetch = Routes::new(asked, &comm)?;
        let store = Places::with_copies(distribution, indices)
            .map(|asked| Routes::new(asked, &comm))
            .transpose()?;
        Ok(Self {
            distribution: Arc::new(distribution.clone()),
            comm,
            asked: indices.len(),
            fetch,
            store,
        })
    }

    /// The elements asked for, in the order in which this rank named them. Collective. Example: see [`RemoteElements`].
    ///
    /// # Errors
    /// The same on every rank: [`ArrayError::IncompatibleArray`] when the array is not distributed as planned,
    /// [`ArrayError::Argument`] when that is so on some ranks alone, [`ArrayError::Comm`].
    pub fn fetch<S, D, C2>(
        &self,
        array: &LocalArrayBase<S, D, C2>,
    ) -> Result<Vec<S::Elem>, ArrayError>
    where
        S: Data<Elem: Element>,
        D: Dimension,
        C2: Communicator,
    {
        let fits = self.check(array.distribution());
        in_step(&self.comm, "array", &S::Elem::TYPE, fits, Ok)?;
        let owned = array.owned_elements();
        let mut found = vec![S::Elem::default(); self.asked];
        let answers = answer(&owned, &self.fetch.served)?;
        let received = send(&self.comm, &answers)?;
        for (rank, bytes) in received.iter().enumerate() {
            let slots = self.fetch.asked.slots(rank);
            fill(&mut found, slots, bytes)?;
        }
        Ok(found)
    }

    /// Sets the elements asked for to `values`, one each, in the same order. Collective.
    ///
    /// Where an element is named more than once the last value stays: by rank, and within a rank by its order. Every rank
    /// that owns the element is told; padding is not, until [`exchange_halo`](LocalArrayBase::exchange_halo).
    /// Example: see [`RemoteElements`].
    ///
    /// # Errors
    /// As [`fetch`](Self::fetch), [`ArrayError::Agreed`] when a rank gives another number of values; nothing is stored then.
    pub fn store<S, D, C2>(
        &self,
        values: &[S::Elem],
        array: &mut LocalArrayBase<S, D, C2>,
    ) -> Result<(), ArrayError>
    where
        S: DataMut<Elem: Element>,
        D: Dimension,
        C2: Communicator,
    {
        let routes = self.store.as_ref().unwrap_or(&self.fetch);
        let fits = self.check(array.distribution());
        let as_many = |()| {
            if values.len() == self.asked {
                return Ok(());
            }
            Err(ArrayError::Shape {
                what: "values",
                given: vec![values.len() as u64],
                allowed: format!("[{}]", self.asked),
            })
        };
        in_step(&self.comm, "array", &S::Elem::TYPE, fits, as_many)?;
        let of_rank = |rank| {
            let slots: &[usize] = routes.asked.slots(rank);
            slots.iter().map(|&slot| values[slot]).collect()
        };
        let sent: Vec<Vec<S::Elem>> = (0..self.comm.size()).map(of_rank).collect();
        let received = send(&self.comm, &sent)?;
        let pairs = routes.served.iter().zip(&received);
        array.with_owned_elements(|owned| {
            for (positions, bytes) in pairs {
                let values = elements::<S::Elem>(bytes);
                for (&position, &value) in positions.iter().zip(values.iter()) {
                    *slot(owned, position)? = value;
                }
            }
            Ok(())
        })
    }

    fn check(&self, given: &Distribution) -> Result<(), ArrayError> {
        if *self.distribution == *given {
            return Ok(());
        }
        Err(ArrayError::IncompatibleArray {
            what: "distribution",
            given: summary(given),
            allowed: format!("{}, as planned", summary(&self.distribution)),
        })
    }
}

/// The elements at `flat`, once. Collective.
///
/// Where very many are asked of one rank that happens in rounds, so that no rank needs more memory than a few times what it
/// owns or asks for.
pub(crate) fn fetch_once<S, D, C>(
    array: &LocalArrayBase<S, D, C>,
    places: &Places,
) -> Result<Vec<S::Elem>, ArrayError>
where
    S: Data<Elem: Element>,
    D: Dimension,
    C: Communicator,
{
    let owned = array.owned_elements();
    let comm = array.comm();
    let rounds = rounds(comm, places, owned.len())?;
    let mut found = vec![S::Elem::default(); places.len()];
    for round in 0..rounds {
        let cut = |len: usize| part_of(len, round, rounds);
        let served = comm.all_to_all_slice(&places.positions(&cut))?;
        let received = send(comm, &answer(&owned, &served)?)?;
        for (rank, bytes) in received.iter().enumerate() {
            let slots = places.slots(rank);
            fill(&mut found, &slots[cut(slots.len())], bytes)?;
        }
    }
    Ok(found)
}

/// Elements that a rank always has the memory to serve.
const ALWAYS: u64 = 1 << 16;

/// In how many rounds to ask, the same on every rank. Collective.
pub(crate) fn rounds<C: Communicator>(
    comm: &C,
    places: &Places,
    owned: usize,
) -> Result<usize, ArrayError> {
    if comm.size() == 1 {
        return Ok(1);
    }
    let counts: Vec<[u64; 1]> = (0..comm.size())
        .map(|rank| [places.slots(rank).len() as u64])
        .collect();
    let counts: Vec<&[u64]> = counts.iter().map(<[u64; 1]>::as_slice).collect();
    let asked_of_me = comm.all_to_all_slice(&counts)?;
    let served: u64 = asked_of_me.iter().flatten().sum();
    let allowed = 4 * ALWAYS.max(owned as u64).max(places.len() as u64);
    let needed = comm.all_gather_value(served.div_ceil(allowed).max(1))?;
    Ok(usize::try_from(needed.into_iter().max().unwrap_or(1)).unwrap_or(usize::MAX))
}

/// The `part`-th of `parts` pieces of a list of `len`.
pub(crate) fn part_of(len: usize, part: usize, parts: usize) -> std::ops::Range<usize> {
    let cut = |part: usize| {
        let at = (len as u128) * (part as u128) / (parts.max(1) as u128);
        usize::try_from(at).unwrap_or(len)
    };
    cut(part)..cut(part + 1)
}

/// Per rank the elements at the places that it asks for.
fn answer<T: Element>(owned: &[T], served: &[Vec<u64>]) -> Result<Vec<Vec<T>>, ArrayError> {
    let one = |&position: &u64| {
        let at = usize::try_from(position)
            .ok()
            .and_then(|at| owned.get(at).copied());
        at.ok_or_else(|| not_owned(position, owned.len()))
    };
    let of_rank = |positions: &Vec<u64>| positions.iter().map(one).collect();
    served.iter().map(of_rank).collect()
}

fn slot<T>(owned: &mut [T], position: u64) -> Result<&mut T, ArrayError> {
    let len = owned.len();
    let slot = usize::try_from(position)
        .ok()
        .and_then(|at| owned.get_mut(at));
    slot.ok_or_else(|| not_owned(position, len))
}

/// Only where the ranks do not have the same distribution, which no array of ours has.
fn not_owned(position: u64, len: usize) -> ArrayError {
    ArrayError::OutOfBounds {
        what: "place asked for by another rank",
        axis: None,
        given: position.into(),
        allowed: len as u64,
    }
}

/// Sends each rank its list. Collective.
pub(crate) fn send<T: Element, C: Communicator>(
    comm: &C,
    lists: &[Vec<T>],
) -> Result<Vec<Vec<u8>>, ArrayError> {
    let bytes: Vec<&[u8]> = lists
        .iter()
        .map(|list| bytemuck::cast_slice(list))
        .collect();
    Ok(comm.all_to_all_v(&bytes)?)
}

fn fill<T: Element>(found: &mut [T], slots: &[usize], bytes: &[u8]) -> Result<(), ArrayError> {
    let values = elements::<T>(bytes);
    if values.len() != slots.len() {
        return Err(ArrayError::Shape {
            what: "answer of another rank",
            given: vec![values.len() as u64],
            allowed: format!("[{}]", slots.len()),
        });
    }
    for (&slot, &value) in slots.iter().zip(values.iter()) {
        found[slot] = value;
    }
    Ok(())
}
