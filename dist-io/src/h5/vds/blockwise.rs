//! [`Blockwise`]: a dataset, however it is stored, of which one process reads block after block.

use std::num::NonZero;

use dap_protocol::{DimData, DimDict};
use dist_comm::SingleComm;

use super::super::source::{Body, Source};
use super::super::together::refusal;
use super::super::{Refusal, Storage, Way};
use super::block::Block;
use super::mosaic::Mosaic;

/// A dataset that is read without the library's lock, whatever it is made of.
#[derive(Debug)]
pub(in crate::h5) enum Blockwise {
    /// In one piece, or in blocks of files that are.
    Pieces(Mosaic),
    Any(Box<Source>),
}

impl Blockwise {
    /// Chunks are decoded by one thread.
    pub(in crate::h5) fn new(mut source: Source) -> Result<Self, Refusal> {
        source.threads = Some(NonZero::<usize>::MIN);
        Ok(match source.body {
            Body::At(_) | Body::Parts(_) => Self::Pieces(source.into_mosaic()?),
            _ => Self::Any(Box::new(source)),
        })
    }

    /// Decodes chunks by so many threads.
    pub(super) fn set_threads(&mut self, threads: NonZero<usize>) {
        if let Self::Any(source) = self {
            source.threads = Some(threads);
        }
    }

    /// Elements of a chunk per dimension, where the dataset itself is in chunks.
    pub(super) fn chunk(&self) -> Option<&[u64]> {
        match self {
            Self::Any(source) => match &source.found.storage {
                Storage::Chunked { chunk } => Some(chunk),
                _ => None,
            },
            Self::Pieces(_) => None,
        }
    }

    /// Fills `bytes` with a block of the array, in C order and in this machine's byte order; by so many threads where there are no
    /// chunks.
    pub(super) fn read(
        &self,
        block: &Block,
        bytes: &mut [u8],
        threads: usize,
    ) -> Result<(), Refusal> {
        let source = match self {
            Self::Pieces(mosaic) => {
                return mosaic.read_block(block, bytes, threads).map_err(|error| {
                    if mosaic.has_changed() {
                        Refusal::Changed
                    } else {
                        Refusal::os("read")(error)
                    }
                });
            }
            Self::Any(source) => source,
        };
        let shape = &source.found.shape;
        let axes = block.start.iter().zip(&block.shape).zip(shape);
        // the middle one of three blocks may lie anywhere
        let dims =
            axes.map(|((&start, &len), &size)| DimDict::block(size, 3, 1, start..start + len));
        let dims = dims.collect::<Result<Vec<_>, _>>();
        let dims = DimData::new(dims.map_err(|error| refusal(error.into()))?);
        let read = source.read(&SingleComm::new(), &dims, None, bytes, Way::default());
        read.map(drop).map_err(refusal)
    }
}
