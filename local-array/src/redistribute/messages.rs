//! [`Messages`]: what a plan sends and receives, in bytes, and the memory for it.

use dist_comm::agree::agree;
use dist_comm::{Communicator, ExchangeJob, Message, Workspace};
use dist_maps::Transfer;
use dist_maps::copy::CopyError;

use crate::ArrayError;

/// The messages of a plan, for elements of one size, with their buffers.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    element: usize,
    /// The largest elements for whose messages every rank is known to have the memory.
    agreed: usize,
    sends: Vec<Message>,
    recvs: Vec<Message>,
    workspace: Workspace,
}

impl Messages {
    /// Carries out `job`. Collective; all ranks have elements of the same size.
    ///
    /// Where these are larger than all before, the ranks first agree that each has memory for its messages: a rank that lacks
    /// it once messages travel would leave its peers waiting.
    pub(crate) fn exchange(
        &mut self,
        comm: &(impl Communicator + ?Sized),
        tag: u32,
        transfers: (&[Transfer], &[Transfer]),
        element: usize,
        job: &mut dyn ExchangeJob,
    ) -> Result<(), ArrayError> {
        if self.element != element {
            self.element = 0; // none, should this fail
            let fitted = self.fit(comm, transfers, element);
            if element > self.agreed {
                agree(comm, fitted)?;
                self.agreed = element;
            } else {
                fitted?; // there is room for longer messages
            }
            self.element = element;
        }
        let Self {
            sends,
            recvs,
            workspace,
            ..
        } = self;
        Ok(comm.exchange(tag, sends, recvs, job, workspace)?)
    }

    fn fit(
        &mut self,
        comm: &(impl Communicator + ?Sized),
        (sends, recvs): (&[Transfer], &[Transfer]),
        element: usize,
    ) -> Result<(), ArrayError> {
        self.sends = messages(sends, element)?;
        self.recvs = messages(recvs, element)?;
        Ok(comm.reserve(&self.sends, &self.recvs, &mut self.workspace)?)
    }
}

fn messages(transfers: &[Transfer], element: usize) -> Result<Vec<Message>, CopyError> {
    let message = |transfer: &Transfer| {
        let len = transfer.elements().checked_mul(element);
        let len = len.ok_or(CopyError::Overflow {
            what: "number of bytes in a message",
        })?;
        Ok(Message {
            peer: transfer.peer(),
            len,
        })
    };
    transfers.iter().map(message).collect()
}
