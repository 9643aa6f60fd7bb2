//! Windows between threads: each rank's part is behind a lock of its own, held for one part of a batch at a time.

use std::sync::{Arc, PoisonError, RwLock};

use super::ThreadComm;
use crate::call::Call;
use crate::memory::AlignedBytes;
use crate::window::check_part;
use crate::{CommError, Get, OneSided, Operation, Put, Window};

struct ThreadWindow {
    comm: ThreadComm,
    lens: Vec<usize>,
    parts: Arc<Vec<RwLock<AlignedBytes>>>,
}

impl OneSided for ThreadComm {
    fn window(&self, len: usize) -> Result<Box<dyn Window>, CommError> {
        // A communicator of its own: the window's collective calls cannot be taken for others.
        let comm = self.duplicate(Operation::Window)?;
        let mine = AlignedBytes::try_zeroed(len);
        let call = Call::new(Operation::Window).with_memory(len, mine.as_ref());
        let size = comm.group.size();
        let (lens, parts) = comm.meet(call, &[&len.to_ne_bytes()], |met| {
            let lens = met
                .all()
                .map(|len| len.try_into().map_or(0, usize::from_ne_bytes))
                .collect();
            let parts = comm.group.share((met.meeting, 0), size, || {
                (0..size)
                    .map(|_| RwLock::new(AlignedBytes::default()))
                    .collect::<Vec<_>>()
            });
            let gone = CommError::Unavailable {
                operation: Operation::Window,
                reason: "the window was not made",
            };
            Ok((lens, parts.ok_or(gone)?))
        })??;
        let mine = mine.unwrap_or_default();
        *parts[comm.rank]
            .write()
            .unwrap_or_else(PoisonError::into_inner) = mine;
        comm.meet(Call::new(Operation::Window), &[], |_| ())?;
        Ok(Box::new(ThreadWindow { comm, lens, parts }))
    }
}

impl Window for ThreadWindow {
    fn lens(&self) -> &[usize] {
        &self.lens
    }

    fn with_local(&mut self, f: &mut dyn FnMut(&mut [u8])) -> Result<(), CommError> {
        let call = Call::new(Operation::WithLocal);
        self.comm.meet(call, &[], |_| ())?;
        {
            let mut part = self.parts[self.comm.rank]
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            f(&mut part);
        }
        self.comm.meet(call, &[], |_| ())
    }

    fn fence(&mut self) -> Result<(), CommError> {
        self.comm.meet(Call::new(Operation::Fence), &[], |_| ())
    }

    fn get_many(&self, gets: &mut [Get<'_>]) -> Result<(), CommError> {
        gets.iter().try_for_each(|get| {
            check_part(
                Operation::Get,
                &self.lens,
                get.rank,
                get.offset,
                get.into.len(),
            )
        })?;
        for run in gets.chunk_by_mut(|a, b| a.rank == b.rank) {
            let part = self.parts[run[0].rank]
                .read()
                .unwrap_or_else(PoisonError::into_inner);
            for get in run {
                get.into
                    .copy_from_slice(&part[get.offset..get.offset + get.into.len()]);
            }
        }
        Ok(())
    }

    fn put_many(&self, puts: &[Put<'_>]) -> Result<(), CommError> {
        puts.iter().try_for_each(|put| {
            check_part(
                Operation::Put,
                &self.lens,
                put.rank,
                put.offset,
                put.from.len(),
            )
        })?;
        for run in puts.chunk_by(|a, b| a.rank == b.rank) {
            let mut part = self.parts[run[0].rank]
                .write()
                .unwrap_or_else(PoisonError::into_inner);
            for put in run {
                part[put.offset..put.offset + put.from.len()].copy_from_slice(put.from);
            }
        }
        Ok(())
    }
}
