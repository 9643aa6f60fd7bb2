//! Elements on their way to other ranks, where both sides know which from the distributions.

use dap_protocol::Element;
use dist_comm::Communicator;

use crate::ArrayError;

/// What a rank sends, by receiver, in an order that the receivers know too.
pub(crate) struct Deliveries<T> {
    sends: Vec<Vec<T>>,
}

/// What a rank received, by sender.
pub(crate) struct Delivered<T> {
    queues: Vec<std::vec::IntoIter<T>>,
}

impl<T: Element> Deliveries<T> {
    pub(crate) fn new(ranks: usize) -> Self {
        Self {
            sends: vec![Vec::new(); ranks],
        }
    }

    /// One more element for a rank.
    pub(crate) fn push(&mut self, rank: usize, element: T) {
        self.sends[rank].push(element);
    }

    /// More elements for a rank.
    pub(crate) fn extend(&mut self, rank: usize, elements: impl Iterator<Item = T>) {
        self.sends[rank].extend(elements);
    }

    /// Sends all. Collective.
    pub(crate) fn deliver<C: Communicator + ?Sized>(
        self,
        comm: &C,
    ) -> Result<Delivered<T>, ArrayError> {
        let sends: Vec<&[u8]> = self
            .sends
            .iter()
            .map(|elements| bytemuck::cast_slice(elements))
            .collect();
        let received = comm.all_to_all_v(&sends)?;
        let read = |bytes: Vec<u8>| {
            let elements = bytes.chunks_exact(size_of::<T>());
            let elements = elements.map(bytemuck::checked::try_pod_read_unaligned);
            let elements: Result<Vec<T>, _> = elements.collect();
            elements
                .map(Vec::into_iter)
                .map_err(|_| ArrayError::Message {
                    what: "elements",
                    bytes: bytes.len(),
                })
        };
        Ok(Delivered {
            queues: received.into_iter().map(read).collect::<Result<_, _>>()?,
        })
    }
}

impl<T> Delivered<T> {
    /// The next element of a rank.
    pub(crate) fn next(&mut self, rank: usize) -> Option<T> {
        self.queues.get_mut(rank)?.next()
    }
}
