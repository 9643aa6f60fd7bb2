//! [`Superblock`]: where an HDF5 file says how far it goes.
//!
//! By the HDF5 File Format Specification, version 3.0, II.A (format of the superblock, versions 0 to 3).

use std::fs::File;

use super::checksum::checksum;
use super::format::{NOWHERE, bytes, count, number, unsuited, write};
use crate::h5::Refusal;

/// How far a file goes, and what its indices of chunks look like.
#[derive(Clone, Debug)]
pub(super) struct Superblock {
    /// All of it.
    bytes: Vec<u8>,
    /// Where it says how far the file goes.
    eof_at: usize,
    pub(super) eof: u64,
    /// Children of a node, at most.
    pub(super) fan: usize,
}

impl Superblock {
    pub(super) fn read(file: &File) -> Result<Self, Refusal> {
        let end = file
            .metadata()
            .map_err(Refusal::os("look at the file"))?
            .len();
        let head = bytes(file, 0, 48, end)?;
        if head[..8] != *b"\x89HDF\r\n\x1a\n" {
            return Err(unsuited("it begins with a user block"));
        }
        let version = head[8];
        let (sizes, len, fan, base_at) = match version {
            0 => (13, 96, 64, 24),
            1 => (13, 100, 2 * count(&head, 24, 2)?, 28),
            2 | 3 => (9, 48, 64, 12),
            _ => return Err(unsuited(format!("its superblock is of version {version}"))),
        };
        if fan == 0 {
            return Err(unsuited("its indices of chunks have no room"));
        }
        let eof_at = base_at + 16;
        // the driver's in the old ones, extensions in the new ones
        let more_at = if version < 2 { base_at + 24 } else { 20 };
        let block = bytes(file, 0, len, end)?;
        if block[sizes..sizes + 2] != [8, 8] {
            return Err(unsuited("its addresses are not of 8 bytes"));
        }
        if number(&block, base_at, 8)? != 0 {
            return Err(unsuited("it begins with a user block"));
        }
        if number(&block, more_at, 8)? != NOWHERE {
            return Err(unsuited("its superblock has extensions"));
        }
        if version == 3 && block[11] != 0 {
            return Err(Refusal::Locked {
                message: "it is marked as open for writing".to_owned(),
            });
        }
        if version >= 2 && number(&block, 44, 4)? != u64::from(checksum(&block[..44])) {
            return Err(unsuited("the checksum of its superblock is wrong"));
        }
        let eof = number(&block, eof_at, 8)?;
        if eof > end {
            return Err(Refusal::Truncated {
                expected: eof,
                found: end,
            });
        }
        Ok(Self {
            bytes: block,
            eof_at,
            eof,
            fan,
        })
    }

    /// Says that the file goes so far.
    pub(super) fn set(&mut self, file: &File, eof: u64) -> Result<(), Refusal> {
        let at = self.eof_at;
        self.bytes[at..at + 8].copy_from_slice(&eof.to_le_bytes());
        let end = if self.bytes.len() == 48 {
            let sum = checksum(&self.bytes[..44]);
            self.bytes[44..].copy_from_slice(&sum.to_le_bytes());
            48
        } else {
            at + 8
        };
        self.eof = eof;
        write(file, at as u64, &self.bytes[at..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A superblock of this version, of a file that goes as far as it says.
    fn made(version: u8) -> Vec<u8> {
        let mut bytes = vec![0; 200];
        bytes[..8].copy_from_slice(b"\x89HDF\r\n\x1a\n");
        bytes[8] = version;
        let (sizes, base) = match version {
            0 => (13, 24),
            1 => (13, 28),
            _ => (9, 12),
        };
        bytes[sizes..sizes + 2].fill(8);
        if version == 1 {
            bytes[24] = 3;
        }
        bytes[base + 16..base + 24].copy_from_slice(&150_u64.to_le_bytes());
        let more = if version < 2 { base + 24 } else { 20 };
        bytes[more..more + 8].fill(0xff);
        seal(&mut bytes);
        bytes
    }

    fn seal(bytes: &mut [u8]) {
        if bytes[8] >= 2 {
            let sum = checksum(&bytes[..44]);
            bytes[44..48].copy_from_slice(&sum.to_le_bytes());
        }
    }

    fn read(bytes: &[u8]) -> Result<(File, Superblock), Refusal> {
        let file = tempfile::tempfile().unwrap();
        write(&file, 0, bytes).unwrap();
        let superblock = Superblock::read(&file)?;
        Ok((file, superblock))
    }

    #[test]
    fn every_version_is_read_and_set() {
        for (version, fan) in [(0, 64), (1, 6), (2, 64), (3, 64)] {
            let (file, mut superblock) = read(&made(version)).unwrap();
            assert_eq!((superblock.eof, superblock.fan), (150, fan));
            superblock.set(&file, 199).unwrap();
            assert_eq!(Superblock::read(&file).unwrap().eof, 199);
        }
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for version in 0..4 {
            let (sizes, base) = match version {
                0 => (13, 24),
                1 => (13, 28),
                _ => (9, 12),
            };
            let more = if version < 2 { base + 24 } else { 20 };
            for (at, byte, what) in [
                (0, b'x', "user block"),
                (8, 4, "version 4"),
                (sizes, 4, "8 bytes"),
                (sizes + 1, 2, "8 bytes"),
                (base, 1, "user block"),
                (more, 0, "extensions"),
                (base + 16, 201, "the file ends at byte 200"),
            ] {
                let mut bytes = made(version);
                bytes[at] = byte;
                seal(&mut bytes);
                let error = read(&bytes).unwrap_err().to_string();
                assert!(error.contains(what), "version {version}: {error}");
            }
            assert!(matches!(
                read(&made(version)[..47]),
                Err(Refusal::Truncated { .. })
            ));
        }
        let mut bytes = made(1);
        bytes[24] = 0;
        assert!(read(&bytes).unwrap_err().to_string().contains("no room"));
        // another program writes to it, and says so
        let mut bytes = made(3);
        bytes[11] = 1;
        seal(&mut bytes);
        assert!(matches!(read(&bytes), Err(Refusal::Locked { .. })));
        bytes[11] = 0;
        let error = read(&bytes).unwrap_err().to_string();
        assert!(error.contains("checksum"), "{error}");
    }
}
