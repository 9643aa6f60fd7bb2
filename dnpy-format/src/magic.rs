//! The first bytes of a `.dnpy` file: magic string and format version.

use std::io::Read;

use crate::DnpyError;
use crate::source::Source;

/// The first six bytes of every `.dnpy` file.
pub const MAGIC: [u8; 6] = *b"\x93DARRY";

/// The first eight bytes of a `.dnpy` file of the given format version.
///
/// ```
/// assert_eq!(&dnpy_format::magic(1, 0), b"\x93DARRY\x01\x00");
/// ```
#[must_use]
pub const fn magic(major: u8, minor: u8) -> [u8; 8] {
    let [a, b, c, d, e, f] = MAGIC;
    [a, b, c, d, e, f, major, minor]
}

/// Reads the first eight bytes and returns the format version, known to this crate or not.
///
/// # Errors
/// [`DnpyError::Truncated`], [`DnpyError::Magic`], and what the reader fails with.
///
/// ```
/// let mut file = &dnpy_format::magic(1, 0)[..];
/// assert_eq!(dnpy_format::read_magic(&mut file)?, (1, 0));
/// # Ok::<(), dnpy_format::DnpyError>(())
/// ```
pub fn read_magic<R: Read + ?Sized>(reader: &mut R) -> Result<(u8, u8), DnpyError> {
    magic_of(&mut Source::new(reader))
}

pub(crate) fn magic_of<R: Read>(source: &mut Source<R>) -> Result<(u8, u8), DnpyError> {
    let offset = source.offset();
    let bytes: [u8; 8] = source.array("the magic string")?;
    if bytes[..6] != MAGIC {
        return Err(DnpyError::Magic {
            offset,
            given: bytes[..6].to_vec(),
            expected: &MAGIC,
        });
    }
    Ok((bytes[6], bytes[7]))
}
