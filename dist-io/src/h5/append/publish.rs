//! New rows on their way into the file: chunks behind its end, then what names them.

use std::fs::File;
use std::os::unix::fs::FileExt;

use dist_comm::Communicator;

use super::Series;
use super::format::{unsuited, write};
use super::header::Header;
use super::superblock::Superblock;
use super::tree::{Entry, Tree};
use crate::IoError;
use crate::h5::Refusal;
use crate::h5::chunk::Grown;
use crate::h5::together::settle;

/// Makes a file longer than it says it is, before it says more: a program that opens it looks at its length first, and then at
/// what it says, and refuses one that says more.
pub(super) fn ahead(file: &File, eof: u64, step: u64) -> Result<(), Refusal> {
    let room = room(step);
    let meta = file.metadata().map_err(Refusal::os("look at the file"))?;
    if meta.len() < eof.saturating_add(room / 2) {
        file.set_len(eof.saturating_add(room))
            .map_err(Refusal::os("lengthen"))?;
    }
    Ok(())
}

/// Bytes that a file goes further than what is in it, for steps of so many. They take no place on the device.
fn room(step: u64) -> u64 {
    step.saturating_mul(4).max(1 << 20)
}

impl Series {
    /// Gives the chunks of all ranks places behind the end of the file; all of them, those of this rank, and where they end.
    /// Collective.
    pub(super) fn places(
        &self,
        key: &str,
        chunk: &[u64],
        chunks: &[Grown],
        comm: &(impl Communicator + ?Sized),
    ) -> Result<(Vec<Entry>, Vec<u64>, u64), IoError> {
        let mut message = Vec::new();
        let mut outcome = Ok(());
        for chunk in chunks.iter().filter(|chunk| chunk.at.is_none()) {
            for coord in &chunk.coords {
                message.extend_from_slice(&coord.to_le_bytes());
            }
            let len = u32::try_from(chunk.bytes.len());
            if len.is_err() {
                outcome = Err(Refusal::ChunkShape {
                    given: chunk.coords.clone(),
                });
            }
            message.extend_from_slice(&len.unwrap_or(0).to_le_bytes());
            message.extend_from_slice(&chunk.left_out.to_le_bytes());
        }
        settle(comm, &self.path, key, outcome)?;
        let all = comm.all_gather_v(&message)?;
        let (mut entries, mut own, mut end) = (Vec::new(), Vec::new(), self.eof);
        for (rank, message) in all.iter().enumerate() {
            for entry in message.chunks_exact(8 * chunk.len() + 8) {
                let (coords, rest) = entry.split_at(8 * chunk.len());
                let (coords, _) = coords.as_chunks::<8>();
                let coords = coords.iter().map(|word| u64::from_le_bytes(*word));
                let (rest, _) = rest.as_chunks::<4>();
                let (len, left_out) = (rest[0], rest[1]);
                let len = u32::from_le_bytes(len);
                if rank == comm.rank() {
                    own.push(end);
                }
                entries.push(Entry {
                    coords: coords.collect(),
                    offset: end,
                    len,
                    left_out: u32::from_le_bytes(left_out),
                });
                end = end.saturating_add(u64::from(len));
            }
        }
        Ok((entries, own, end))
    }

    /// Writes this rank's chunks, and waits for the device. Local.
    pub(super) fn write(&self, chunks: &[Grown], own: Vec<u64>) -> Result<(), Refusal> {
        let mut own = own.into_iter();
        for chunk in chunks {
            let Some(at) = chunk.at.or_else(|| own.next()) else {
                return Err(unsuited("a chunk has no place"));
            };
            self.file
                .write_all_at(&chunk.bytes, at)
                .map_err(Refusal::os("write"))?;
        }
        if chunks.is_empty() {
            return Ok(());
        }
        self.file.sync_data().map_err(Refusal::os("sync"))
    }

    /// Names the new chunks in the index, and then the rows; where what is in the file ends. By rank 0.
    pub(super) fn publish(
        &self,
        known: Option<(&mut Superblock, &mut (Header, Tree))>,
        entries: &[Entry],
        end: u64,
        rows: u64,
    ) -> Result<u64, Refusal> {
        self.still_there()?;
        let Some((superblock, (header, tree))) = known else {
            return Err(unsuited("rank 0 did not open it"));
        };
        let sync = || self.file.sync_data().map_err(Refusal::os("sync"));
        if entries.is_empty() {
            header.set(&self.file, header.root(), rows)?;
            sync()?;
            return Ok(self.eof);
        }
        let first = tree.put(entries);
        // so that headers that come after it lie at whole words
        let at = end.next_multiple_of(8);
        let nodes = tree.nodes(first, at);
        let eof = at.saturating_add(nodes.bytes.len() as u64);
        write(&self.file, at, &nodes.bytes)?;
        if eof > superblock.eof {
            // by more than this takes: the library looks nowhere behind the end that it found when it opened the file
            let step = eof.saturating_sub(self.eof);
            let further = eof.saturating_add(room(step));
            ahead(&self.file, further, step)?;
            sync()?;
            superblock.set(&self.file, further)?;
        }
        sync()?;
        header.set(&self.file, nodes.root, rows)?;
        for &(at, word) in &nodes.neighbours {
            write(&self.file, at, &word.to_le_bytes())?;
        }
        sync()?;
        tree.written(nodes);
        Ok(eof)
    }
}
