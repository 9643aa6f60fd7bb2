//! [`Source`]: a reader that knows its offset and never trusts a length.

use std::io::{self, Read};

use dap_protocol::literal::{LiteralError, MAX_LEN, Reason};

use crate::DnpyError;

/// The most that is allocated before a byte of it has been read.
pub(crate) const PIECE: usize = 1 << 20;

/// A reader and the offset of its next byte.
pub(crate) struct Source<R> {
    reader: R,
    offset: u64,
}

impl<R: Read> Source<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self::at(reader, 0)
    }

    /// A reader whose next byte is byte `offset` of the file.
    pub(crate) fn at(reader: R, offset: u64) -> Self {
        Self { reader, offset }
    }

    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Fills as much of `buf` as the input has; less only at its end.
    fn fill(&mut self, buf: &mut [u8]) -> Result<usize, DnpyError> {
        let mut filled = 0;
        while filled < buf.len() {
            match self.reader.read(&mut buf[filled..]) {
                Ok(0) => break,
                Ok(n) => filled += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(DnpyError::stream("read")(e)),
            }
        }
        self.offset += filled as u64;
        Ok(filled)
    }

    /// Fills `buf`; `what` names it in the error.
    pub(crate) fn exact(&mut self, buf: &mut [u8], what: &'static str) -> Result<(), DnpyError> {
        self.exact_of(buf, what, 0, buf.len() as u64)
    }

    /// Fills `buf`, which continues a part of `expected` bytes of which `done` were read before.
    pub(crate) fn exact_of(
        &mut self,
        buf: &mut [u8],
        what: &'static str,
        done: u64,
        expected: u64,
    ) -> Result<(), DnpyError> {
        let begin = self.offset - done;
        let found = self.fill(buf)?;
        if found == buf.len() {
            return Ok(());
        }
        Err(DnpyError::Truncated {
            what,
            offset: begin,
            expected,
            found: done + found as u64,
        })
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], DnpyError> {
        let mut bytes = [0; N];
        self.exact(&mut bytes, what)?;
        Ok(bytes)
    }

    /// The next `len` bytes, which are to be a literal: no more than it may have.
    pub(crate) fn text(&mut self, len: u32, what: &'static str) -> Result<Vec<u8>, DnpyError> {
        if usize::try_from(len).map_or(true, |len| len > MAX_LEN) {
            return Err(DnpyError::Literal {
                offset: self.offset,
                source: LiteralError {
                    offset: 0,
                    reason: Reason::Length,
                },
            });
        }
        self.bytes(len.into(), what)
    }

    /// The next `len` bytes. Memory grows with the bytes that arrive, whatever `len` claims.
    pub(crate) fn bytes(&mut self, len: u64, what: &'static str) -> Result<Vec<u8>, DnpyError> {
        let offset = self.offset;
        let mut bytes = Vec::new();
        let found = (&mut self.reader)
            .take(len)
            .read_to_end(&mut bytes)
            .map_err(DnpyError::stream("read"))? as u64;
        self.offset += found;
        if found < len {
            return Err(DnpyError::Truncated {
                what,
                offset,
                expected: len,
                found,
            });
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claimed_length_allocates_nothing() {
        let e = Source::at(&b"abc"[..], 12)
            .bytes(u64::MAX, "the header")
            .unwrap_err();
        assert!(
            matches!(
                e,
                DnpyError::Truncated {
                    offset: 12,
                    found: 3,
                    ..
                }
            ),
            "{e}"
        );
    }
}
