//! [`Job`]: what one rank reads of a file, alone, and on a thread if it is read ahead.

use std::os::unix::fs::FileExt;
use std::thread::{self, JoinHandle};

use dap_protocol::{Element, ElementType, copy_bytes_to_elements};
use dist_comm::{CommError, SharedFile, SingleComm};

use super::span::Spans;
use crate::execute::room;
use crate::h5::source::{Body, Source};
use crate::h5::vds::MosaicFile;
use crate::h5::{ByteOrder, Refusal, Way};
use crate::plan::window::Selection;
use crate::{IoError, IoReport};

/// Elements in memory: bytes, until they are known to be elements, where not every pattern is one (`bool`), and where they are a slab.
pub(super) enum Buffer<T> {
    Elements(Vec<T>),
    Bytes(Vec<u8>),
}

impl<T: Element> Buffer<T> {
    /// Room for elements of `item` bytes each; `T` is their type, or that of single bytes.
    pub(super) fn new(elements: usize, item: usize) -> Result<Self, IoError> {
        if T::TYPE == ElementType::Bool {
            return Ok(Self::Bytes(room(elements, item)?));
        }
        let bytes = elements.saturating_mul(item);
        Ok(Self::Elements(zeros(bytes / size_of::<T>())?))
    }

    pub(super) fn bytes(&mut self) -> &mut [u8] {
        match self {
            Self::Elements(all) => T::bytes_mut(all).unwrap_or(&mut []),
            Self::Bytes(bytes) => bytes,
        }
    }

    pub(super) fn into_elements(self) -> Result<Vec<T>, IoError> {
        let bytes = match self {
            Self::Elements(all) => return Ok(all),
            Self::Bytes(bytes) => bytes,
        };
        let mut all = zeros(bytes.len() / size_of::<T>())?;
        copy_bytes_to_elements(&bytes, &mut all).map_err(|_| IoError::BufferLength {
            given: bytes.len(),
            allowed: size_of_val(&all[..]),
        })?;
        Ok(all)
    }
}

/// So many elements of bytes that are 0.
pub(super) fn zeros<T: Element>(count: usize) -> Result<Vec<T>, IoError> {
    let mut all = Vec::new();
    all.try_reserve_exact(count).map_err(|_| IoError::Memory {
        bytes: count.saturating_mul(size_of::<T>()),
    })?;
    all.resize(count, T::default());
    Ok(all)
}

/// What one rank reads, alone.
pub(super) struct Job<T> {
    pub(super) source: Source,
    pub(super) selection: Selection,
    pub(super) element: ElementType,
    pub(super) buffer: Buffer<T>,
    /// Room for the elements in the order of the file, where the buffer has another one.
    pub(super) sorted: Vec<u8>,
    pub(super) report: IoReport,
}

/// What became of it. The file stays open until all ranks have read: rank 0 keeps other programs from writing to it.
pub(super) struct Done<T> {
    pub(super) source: Source,
    pub(super) outcome: Result<Buffer<T>, IoError>,
    pub(super) report: IoReport,
}

impl<T: Element> Job<T> {
    /// Local.
    pub(super) fn run(mut self) -> Done<T> {
        let outcome = self.read();
        Done {
            source: self.source,
            outcome: outcome.map(|()| self.buffer),
            report: self.report,
        }
    }

    fn read(&mut self) -> Result<(), IoError> {
        let (source, selection, report) = (&self.source, &self.selection, &mut self.report);
        let bytes = self.buffer.bytes();
        if selection.is_in_order() {
            return read_in_order(source, selection, self.element, bytes, report);
        }
        read_in_order(source, selection, self.element, &mut self.sorted, report)?;
        let sorted = &self.sorted;
        selection.each(self.element.size(), &mut |from, to, len| {
            bytes[to..to + len].copy_from_slice(&sorted[from..from + len]);
        });
        Ok(())
    }
}

/// Reads the ascending indices of a selection, in this machine's byte order. Local.
fn read_in_order(
    source: &Source,
    selection: &Selection,
    element: ElementType,
    bytes: &mut [u8],
    report: &mut IoReport,
) -> Result<(), IoError> {
    let dim_data = selection.dim_data();
    let spans = Spans {
        dim_data,
        item: element.size(),
    };
    let is_empty = selection.elements() == Some(0);
    match &source.body {
        Body::At(start) => {
            report.offset = *start;
            if is_empty {
                return Ok(());
            }
            let read = |offset: u64, to: &mut [u8]| {
                let at = start.checked_add(offset).ok_or(IoError::Overflow {
                    what: "byte of the file",
                })?;
                let read = source.file.read_exact_at(to, at);
                read.map_err(|error| source.refused(Refusal::os("read")(error)))
            };
            spans.read(read, bytes, report)?;
            if source.found.byte_order != ByteOrder::NATIVE {
                let words = bytes.chunks_exact_mut(element.word_size());
                words.for_each(<[u8]>::reverse);
            }
            Ok(())
        }
        Body::Parts(mosaic) => {
            if is_empty {
                return Ok(());
            }
            let alone = SingleComm::new();
            let file = MosaicFile::new(&alone, &source.path, mosaic);
            let read = |offset: u64, to: &mut [u8]| {
                let read = file.read_at(offset, to);
                read.map_err(|error| {
                    // the parts of a dataset that was replaced meanwhile are gone
                    let refusal = if mosaic.has_changed() {
                        Refusal::Changed
                    } else {
                        let message = match error {
                            CommError::File { message, .. } => message,
                            other => other.to_string(),
                        };
                        Refusal::Os {
                            operation: "read".to_owned(),
                            message,
                        }
                    };
                    source.refused(refusal)
                })
            };
            spans.read(read, bytes, report)
        }
        Body::Here(_) | Body::Nowhere(_) | Body::Chunks(_) | Body::Tiles(_) => {
            let read = source.read(&SingleComm::new(), dim_data, None, bytes, Way::default())?;
            report.file_bytes += read.file_bytes;
            report.requests += read.requests;
            Ok(())
        }
    }
}

/// A thread that reads. It does not outlive what it reads for.
pub(super) struct Thread<T>(Option<JoinHandle<Done<T>>>);

impl<T: Element> Thread<T> {
    /// One that carries out a job; none where there is no thread to be had.
    pub(super) fn begin(job: Job<T>) -> Self {
        let thread = thread::Builder::new().name("dist-io read ahead".to_owned());
        Self(thread.spawn(move || job.run()).ok())
    }

    /// What became of the job; `None` where there was no thread.
    pub(super) fn wait(mut self) -> Option<Done<T>> {
        match self.0.take()?.join() {
            Ok(done) => Some(done),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    }
}

impl<T> Drop for Thread<T> {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // what it read, or why it could not, nobody wants any more
            let _ = thread.join();
        }
    }
}
