//! The phase in memory: a [`RedistPlan`] carried out on bytes.

use dist_comm::agree::agree;
use dist_comm::{Communicator, ExchangeJob, Message, Workspace};
use dist_maps::copy::{CopyError, Layout};
use dist_maps::{RedistPlan, Transfer};

use crate::IoError;

/// The tag of the messages.
const TAG: u32 = 0x494f;

/// Moves elements of `item` bytes from `src` to `dst`; bytes sent and received. Collective.
pub(crate) fn exchange(
    comm: &(impl Communicator + ?Sized),
    plan: &RedistPlan,
    item: usize,
    src: &[u8],
    dst: &mut [u8],
) -> Result<u64, IoError> {
    match item {
        1 => moved::<1>(comm, plan, src, dst),
        2 => moved::<2>(comm, plan, src, dst),
        4 => moved::<4>(comm, plan, src, dst),
        8 => moved::<8>(comm, plan, src, dst),
        16 => moved::<16>(comm, plan, src, dst),
        given => Err(IoError::ItemSize { given }),
    }
}

fn moved<const N: usize>(
    comm: &(impl Communicator + ?Sized),
    plan: &RedistPlan,
    src: &[u8],
    dst: &mut [u8],
) -> Result<u64, IoError> {
    let layouts = plan
        .src_layout()
        .and_then(|src| Ok((src, plan.dst_layout()?)));
    let (src_layout, dst_layout) = agree(comm, layouts)?;
    let messages = |transfers: &[Transfer]| -> Vec<Message> {
        let message = |transfer: &Transfer| Message {
            peer: transfer.peer(),
            len: transfer.elements() * N, // no more than a buffer that is there
        };
        transfers.iter().map(message).collect()
    };
    let mut job = Job::<N> {
        plan,
        src: (items(src), &src_layout),
        dst: (items_mut(dst), &dst_layout),
        outcome: Ok(()),
    };
    let (sends, recvs) = (messages(plan.sends()), messages(plan.recvs()));
    let mut workspace = Workspace::new();
    // Before any message travels: a rank that lacked memory later would leave its peers waiting.
    agree(comm, comm.reserve(&sends, &recvs, &mut workspace))?;
    comm.exchange(TAG, &sends, &recvs, &mut job, &mut workspace)?;
    agree(comm, job.outcome)?;
    let elements = plan.sent() as u64 + plan.received() as u64;
    Ok(elements * N as u64)
}

/// Bytes as elements of `N` bytes; their number was checked to be a multiple.
fn items<const N: usize>(bytes: &[u8]) -> &[[u8; N]] {
    bytes.as_chunks().0
}

fn items_mut<const N: usize>(bytes: &mut [u8]) -> &mut [[u8; N]] {
    bytes.as_chunks_mut().0
}

/// Packs, keeps and unpacks.
struct Job<'a, const N: usize> {
    plan: &'a RedistPlan,
    src: (&'a [[u8; N]], &'a Layout),
    dst: (&'a mut [[u8; N]], &'a Layout),
    outcome: Result<(), CopyError>,
}

impl<const N: usize> Job<'_, N> {
    /// Keeps the first error: the messages go on, so that no peer waits in vain.
    fn note(&mut self, result: Result<(), CopyError>) {
        if self.outcome.is_ok() {
            self.outcome = result;
        }
    }
}

impl<const N: usize> ExchangeJob for Job<'_, N> {
    fn pack(&mut self, i: usize, buf: &mut [u8]) {
        let result = self.plan.sends()[i].pack(self.src.0, self.src.1, items_mut(buf));
        self.note(result);
    }

    fn local(&mut self) {
        if let Some(local) = self.plan.local() {
            let result = local.copy(self.src.0, self.src.1, self.dst.0, self.dst.1);
            self.note(result);
        }
    }

    fn unpack(&mut self, i: usize, buf: &[u8]) {
        let result = self.plan.recvs()[i].unpack(items(buf), self.dst.0, self.dst.1);
        self.note(result);
    }
}
