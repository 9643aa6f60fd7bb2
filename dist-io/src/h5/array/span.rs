//! [`Spans`]: runs of a part that are read or written at once, with what lies between them.

use dap_protocol::DimData;

use crate::execute::room;
use crate::part::{Extent, FilePart, FileRun};
use crate::plan::LONG_RUN;
use crate::{IoError, IoReport};

/// Bytes of a span, at most, that is not one run.
const LONGEST: u64 = 4 << 20;

/// A part whose runs ascend in the file, and its buffer's elements of `item` bytes.
pub(super) struct Spans<'a> {
    pub(super) dim_data: &'a DimData,
    pub(super) item: usize,
}

/// What is done with a span: its first byte in the array, its length in bytes, its runs.
type Visit<'a> = dyn FnMut(u64, usize, &[FileRun]) -> Result<(), IoError> + 'a;

impl Spans<'_> {
    /// Reads the part: `read` fills from a byte of the array on. Local.
    pub(super) fn read(
        &self,
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), IoError>,
        bytes: &mut [u8],
        report: &mut IoReport,
    ) -> Result<(), IoError> {
        let mut span = Vec::new();
        self.each(report, &mut |first, len, runs| {
            if let [run] = runs {
                return read(first, &mut bytes[self.place(run)]);
            }
            grow(&mut span, len)?;
            read(first, &mut span[..len])?;
            for run in runs {
                let place = self.place(run);
                let from = within(run, first);
                let len = place.len();
                bytes[place].copy_from_slice(&span[from..from + len]);
            }
            Ok(())
        })
    }

    /// Writes the part: `write` puts bytes from a byte of the array on, and what lies between its runs is what `read` gives. Local.
    pub(super) fn write(
        &self,
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), IoError>,
        mut write: impl FnMut(u64, &[u8]) -> Result<(), IoError>,
        bytes: &[u8],
        report: &mut IoReport,
    ) -> Result<(), IoError> {
        let mut span = Vec::new();
        self.each(report, &mut |first, len, runs| {
            if let [run] = runs {
                return write(first, &bytes[self.place(run)]);
            }
            grow(&mut span, len)?;
            let mut reached = 0;
            for run in runs {
                let to = within(run, first);
                if to > reached {
                    read(first + reached as u64, &mut span[reached..to])?;
                }
                let place = self.place(run);
                reached = to + place.len();
                span[to..reached].copy_from_slice(&bytes[place]);
            }
            write(first, &span[..len])
        })
    }

    /// Where a run lies in the buffer, in bytes.
    fn place(&self, run: &FileRun) -> std::ops::Range<usize> {
        run.local * self.item..(run.local + run.len) * self.item
    }

    /// Calls `f` with every span.
    fn each(&self, report: &mut IoReport, f: &mut Visit<'_>) -> Result<(), IoError> {
        let part = FilePart::new(self.dim_data, self.item, Extent::Stored)?;
        let mut runs: Vec<FileRun> = Vec::new();
        let (mut first, mut end) = (0, 0);
        let mut flush = |runs: &mut Vec<FileRun>, first: u64, end: u64| {
            if runs.is_empty() {
                return Ok(());
            }
            report.requests += 1;
            report.file_bytes += end - first;
            let len = usize::try_from(end - first).unwrap_or(usize::MAX);
            let outcome = f(first, len, runs);
            runs.clear();
            outcome
        };
        for run in part.runs() {
            let len = (run.len * self.item) as u64;
            let is_near = run.offset.saturating_sub(end) < LONG_RUN
                && run.offset.saturating_add(len) - first <= LONGEST
                && len < LONG_RUN;
            if !is_near {
                flush(&mut runs, first, end)?;
            }
            if runs.is_empty() {
                first = run.offset;
            }
            runs.push(run);
            end = run.offset + len;
            if len >= LONG_RUN {
                flush(&mut runs, first, end)?;
            }
        }
        flush(&mut runs, first, end)
    }
}

fn within(run: &FileRun, first: u64) -> usize {
    usize::try_from(run.offset - first).unwrap_or(usize::MAX)
}

fn grow(span: &mut Vec<u8>, len: usize) -> Result<(), IoError> {
    if span.len() < len {
        *span = room(len, 1)?;
    }
    Ok(())
}
