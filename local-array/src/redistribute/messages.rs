//! [`Messages`]: what a plan sends and receives, in bytes.

use dist_comm::Message;
use dist_maps::Transfer;
use dist_maps::copy::CopyError;

/// The messages of a plan, for elements of one size.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    element: usize,
    pub(crate) sends: Vec<Message>,
    pub(crate) recvs: Vec<Message>,
}

impl Messages {
    /// Makes them anew when the elements have another size than before.
    pub(crate) fn fit(
        &mut self,
        sends: &[Transfer],
        recvs: &[Transfer],
        element: usize,
    ) -> Result<(), CopyError> {
        if self.element != element {
            self.sends = messages(sends, element)?;
            self.recvs = messages(recvs, element)?;
            self.element = element;
        }
        Ok(())
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
