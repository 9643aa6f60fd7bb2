//! [`DnpyError`]: everything that reading and writing can refuse.

use std::io;
use std::path::{Path, PathBuf};

use dap_protocol::literal::LiteralError;
use dap_protocol::{ElementType, ProtocolError};

/// Why a file could not be read or written. Offsets are in bytes from the start of the file, or
/// of the stream where that is what was read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DnpyError {
    /// The operating system refused.
    #[error("{operation} {}: {source}", path.as_deref().unwrap_or(Path::new("the stream")).display())]
    Io {
        /// What was tried, for instance `"open"`.
        operation: &'static str,
        /// The file, where it is known.
        path: Option<PathBuf>,
        /// The operating system's answer.
        source: io::Error,
    },
    /// An error of a file, with its name.
    #[error("{}: {source}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// What is wrong in it.
        source: Box<DnpyError>,
    },
    /// The file ends too early.
    #[error("byte {offset}: {what} ends after {found} of {expected} byte(s)")]
    Truncated {
        /// The part of the file, for instance `"the header"`.
        what: &'static str,
        /// Where that part begins.
        offset: u64,
        /// Bytes that it should have.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// The magic string is another one.
    #[error("byte {offset}: the magic string is \"{}\", allowed: \"{}\"{}", given.escape_ascii(), expected.escape_ascii(), other_format(*offset, given))]
    Magic {
        /// Where it should be.
        offset: u64,
        /// The bytes found.
        given: Vec<u8>,
        /// The bytes expected.
        expected: &'static [u8],
    },
    /// A version of a file format that this crate does not know.
    #[error("byte {offset}: {format} format version is {}.{}, allowed: {allowed}", given.0, given.1)]
    FormatVersion {
        /// Where the version stands.
        offset: u64,
        /// `".dnpy"` or `".npy"`.
        format: &'static str,
        /// Major and minor version found.
        given: (u8, u8),
        /// What is known.
        allowed: &'static str,
    },
    /// A header is no text.
    #[error("byte {offset}: the header is not {encoding} text")]
    Encoding {
        /// The first byte that is none.
        offset: u64,
        /// `"ASCII"` or `"UTF-8"`.
        encoding: &'static str,
    },
    /// A header is no Python literal.
    #[error("byte {offset}: {source}")]
    Literal {
        /// Where the parser stopped.
        offset: u64,
        /// Its reason; offsets in it count from the header's text.
        source: LiteralError,
    },
    /// A header's dictionary has other keys than it must have, or is no dictionary.
    #[error("byte {offset}: the header has {given}, allowed: a dictionary of exactly {allowed}")]
    Keys {
        /// Where the header's text begins.
        offset: u64,
        /// The keys, or the kind of value, found.
        given: String,
        /// The keys that must be there.
        allowed: &'static str,
    },
    /// A value in a `.npy` header is not what its key asks for.
    #[error("byte {offset}: {key} is {given}, allowed: {allowed}")]
    Value {
        /// Where the header's text begins.
        offset: u64,
        /// The key.
        key: &'static str,
        /// The start of what was found.
        given: String,
        /// What the key allows.
        allowed: &'static str,
    },
    /// Elements of a kind that has no place in this crate: records, text, times, objects.
    #[error(
        "byte {offset}: descr is {descr}, allowed: bool, integers, floating point and complex numbers"
    )]
    Descr {
        /// Where the header's text begins.
        offset: u64,
        /// `NumPy`'s description of the elements.
        descr: String,
    },
    /// A shape whose elements or bytes cannot be counted in 63 bits.
    #[error("byte {offset}: shape {shape:?} of {element} overflows")]
    Overflow {
        /// Where the header's text begins.
        offset: u64,
        /// The shape, in elements.
        shape: Vec<usize>,
        /// The element type.
        element: ElementType,
    },
    /// The metadata breaks the protocol, or the buffer's shape is not what it describes.
    #[error("byte {offset}: {source}")]
    Protocol {
        /// Where the header's text begins.
        offset: u64,
        /// What is broken.
        source: ProtocolError,
    },
    /// A bit pattern that is no value of the element type (a `bool` that is neither 0 nor 1).
    #[error("byte {offset}: this is no {element}")]
    Element {
        /// Where the element lies.
        offset: u64,
        /// The element type.
        element: ElementType,
    },
    /// The file holds another element type than was asked for.
    #[error("byte {offset}: the elements are {given}, asked for: {expected}")]
    ElementType {
        /// Where the `.npy` header's text begins.
        offset: u64,
        /// What the file holds.
        given: ElementType,
        /// What was asked for.
        expected: ElementType,
    },
    /// The buffer to read into has another length.
    #[error("the buffer has {given} element(s), the file {expected}")]
    BufferLength {
        /// Elements of the buffer.
        given: usize,
        /// Elements of the file.
        expected: usize,
    },
    /// The memory for the elements could not be had.
    #[error("no memory for {bytes} byte(s)")]
    Memory {
        /// Bytes asked for.
        bytes: usize,
    },
    /// A file cannot be used in place: its elements must be turned or moved first. Load it.
    #[error("byte {offset}: the elements cannot be used in place: {reason}")]
    NotMappable {
        /// Where the elements begin.
        offset: u64,
        /// Why.
        reason: &'static str,
    },
    /// `NumPy` has no description for this element type, so no file can hold it.
    #[error("{element} has no NumPy type code")]
    NoTypeCode {
        /// The element type.
        element: ElementType,
    },
    /// The header does not fit the format version that was asked for.
    #[error("the header has {given} byte(s), format version {}.{} allows {allowed}", version.0, version.1)]
    HeaderLength {
        /// The version asked for.
        version: (u8, u8),
        /// Bytes of the header.
        given: u64,
        /// The most that the version can say.
        allowed: u64,
    },
    /// A file name that cannot be saved to: it has no last component.
    #[error("{} is no file name", path.display())]
    FileName {
        /// What was given.
        path: PathBuf,
    },
    /// What is to be replaced is a device, a pipe or a directory.
    #[error("{} is no regular file: it is not replaced", path.display())]
    NotAFile {
        /// What was given.
        path: PathBuf,
    },
    /// Ranks have written less than all elements of a file.
    #[error("{written} of {expected} byte(s) have been written")]
    Incomplete {
        /// Bytes written by all ranks together.
        written: u64,
        /// Bytes of all elements.
        expected: u64,
    },
    /// The file of a writer has been published or discarded: nothing is written any more.
    #[error("{} is published or discarded", path.display())]
    Closed {
        /// The file's temporary name.
        path: PathBuf,
    },
    /// The array in a file is not the one that the metadata describes.
    #[error("the file's shape is {file:?}, dim_data describes a global shape of {expected:?}")]
    GlobalShape {
        /// Extents in the file.
        file: Vec<usize>,
        /// Extents by the metadata.
        expected: Vec<u64>,
    },
    /// A global index that the source does not hold.
    #[error("axis {axis}: index {index} is not in the source, allowed: 0..{size}")]
    Index {
        /// The dimension.
        axis: usize,
        /// The global index.
        index: i64,
        /// The source's extent.
        size: u64,
    },
    /// Metadata that has no index map.
    #[cfg(feature = "set")]
    #[error(transparent)]
    Map(#[from] dist_maps::MapError),
    /// Two descriptions of an array between which there is no way.
    #[cfg(feature = "set")]
    #[error(transparent)]
    Plan(#[from] dist_maps::PlanError),
    /// A set of files that is no set.
    #[cfg(feature = "set")]
    #[error(transparent)]
    Set(#[from] crate::set::SetError),
}

/// What reads a file that begins with the magic string of the other format.
fn other_format(offset: u64, magic: &[u8]) -> &'static str {
    match (offset, magic) {
        (0, b"\x93NUMPY") => "; this is a plain .npy file, npy::load reads it",
        (0, b"\x93DARRY") => "; this is a .dnpy file, load reads it",
        _ => "",
    }
}

impl DnpyError {
    pub(crate) fn io(operation: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = Some(path.to_path_buf());
        move |source| Self::Io {
            operation,
            path,
            source,
        }
    }

    pub(crate) fn stream(operation: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io {
            operation,
            path: None,
            source,
        }
    }

    /// The same, naming the file; an error that names one already stays as it is.
    pub(crate) fn in_file(self, path: &Path) -> Self {
        match self {
            Self::Io {
                path: None,
                operation,
                source,
            } => Self::io(operation, path)(source),
            Self::Io { .. }
            | Self::InFile { .. }
            | Self::FileName { .. }
            | Self::NotAFile { .. }
            | Self::Closed { .. } => self,
            other => Self::InFile {
                path: path.to_path_buf(),
                source: Box::new(other),
            },
        }
    }

    /// The byte offset of what is wrong, where the error has one.
    #[must_use]
    pub fn offset(&self) -> Option<u64> {
        match self {
            Self::InFile { source, .. } => source.offset(),
            Self::Truncated { offset, .. }
            | Self::Magic { offset, .. }
            | Self::FormatVersion { offset, .. }
            | Self::Encoding { offset, .. }
            | Self::Literal { offset, .. }
            | Self::Keys { offset, .. }
            | Self::Value { offset, .. }
            | Self::Descr { offset, .. }
            | Self::Overflow { offset, .. }
            | Self::Protocol { offset, .. }
            | Self::Element { offset, .. }
            | Self::ElementType { offset, .. }
            | Self::NotMappable { offset, .. } => Some(*offset),
            _ => None,
        }
    }
}

/// At most 80 characters of untrusted text, for an error.
pub(crate) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(80) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
