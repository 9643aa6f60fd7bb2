//! The elements of a `.npy` stream: bytes in, elements out, and back.

use std::io::{Read, Write};

use dap_protocol::{Element, ElementType, HostArray, HostBuffer, Order};

use super::descr::ByteOrder;
use super::header::Header;
use crate::DnpyError;
use crate::source::{PIECE, Source};

/// Bytes that are turned at a time when the byte order is not this machine's.
const SWAP_PIECE: usize = 1 << 16;

pub(crate) fn check_element<T: Element>(header: &Header) -> Result<(), DnpyError> {
    if header.element_type() == T::TYPE {
        return Ok(());
    }
    Err(DnpyError::ElementType {
        offset: header.text_offset(),
        given: header.element_type(),
        expected: T::TYPE,
    })
}

/// `len` zeros, in memory that the operating system zeroes and that nobody has touched yet.
pub(crate) fn zeroed<T: Element>(len: usize) -> Result<Vec<T>, DnpyError> {
    let mut zeros = bytemuck::allocation::try_zeroed_vec(len).map_err(|()| DnpyError::Memory {
        bytes: len.saturating_mul(size_of::<T>()),
    })?;
    large_pages::prefer_large_pages(&mut zeros);
    Ok(zeros)
}

/// Reads the elements that follow a header. Memory grows with the bytes that arrive.
pub(crate) fn elements<T: Element, R: Read>(
    source: &mut Source<R>,
    header: &Header,
) -> Result<HostArray<T>, DnpyError> {
    check_element::<T>(header)?;
    let (len, begin) = (header.len(), source.offset());
    let total = header.byte_len() as u64;
    let mut data: Vec<T> = Vec::new();
    while data.len() < len {
        // as much again as has arrived, so that a lying header costs twice the bytes that are there
        let done = data.len();
        let more = (len - done).min(done.max(PIECE / size_of::<T>()));
        data.try_reserve_exact(more)
            .map_err(|_| DnpyError::Memory {
                bytes: (done + more).saturating_mul(size_of::<T>()),
            })?;
        large_pages::prefer_large_pages(data.spare_capacity_mut());
        data.resize_with(done + more, T::default);
        let done_bytes = (done * size_of::<T>()) as u64;
        match T::bytes_mut(&mut data[done..]) {
            Some(bytes) => source.exact_of(bytes, "the array", done_bytes, total)?,
            None => read_checked(source, &mut data[done..], done_bytes, total)?,
        }
    }
    finish(&mut data, header, begin).and_then(|()| array(data, header))
}

/// Reads elements of which not every byte pattern is a value, by way of a small buffer.
fn read_checked<T: Element, R: Read>(
    source: &mut Source<R>,
    out: &mut [T],
    done: u64,
    total: u64,
) -> Result<(), DnpyError> {
    let mut done = done;
    let mut buf = [0_u8; 4096];
    for piece in out.chunks_mut(buf.len() / size_of::<T>()) {
        let bytes = &mut buf[..size_of_val(piece)];
        let offset = source.offset();
        source.exact_of(bytes, "the array", done, total)?;
        done += bytes.len() as u64;
        checked_copy(bytes, piece, offset)?;
    }
    Ok(())
}

/// Copies bytes that lie at `offset` in the file into elements, checking each pattern.
pub(crate) fn checked_copy<T: Element>(
    bytes: &[u8],
    out: &mut [T],
    offset: u64,
) -> Result<(), DnpyError> {
    dap_protocol::copy_bytes_to_elements(bytes, out).map_err(|e| match e {
        dap_protocol::CopyError::Value { offset: at, .. } => DnpyError::Element {
            offset: offset + at as u64,
            element: T::TYPE,
        },
        _ => DnpyError::BufferLength {
            given: out.len(),
            expected: bytes.len() / size_of::<T>(),
        },
    })
}

/// Turns what was read into native byte order.
fn finish<T: Element>(data: &mut [T], header: &Header, begin: u64) -> Result<(), DnpyError> {
    if header.byte_order() == ByteOrder::NATIVE {
        return Ok(());
    }
    let bytes = T::bytes_mut(data).ok_or(DnpyError::Element {
        offset: begin,
        element: T::TYPE,
    })?;
    finish_bytes(bytes, header.element_type(), header.byte_order());
    Ok(())
}

fn turn<const N: usize>(bytes: &mut [u8]) {
    for word in bytes.as_chunks_mut::<N>().0 {
        word.reverse();
    }
}

/// Turns bytes of a file into native byte order, or back.
pub(crate) fn finish_bytes(bytes: &mut [u8], element: ElementType, byte_order: ByteOrder) {
    if byte_order == ByteOrder::NATIVE {
        return;
    }
    match element.word_size() {
        2 => turn::<2>(bytes),
        4 => turn::<4>(bytes),
        8 => turn::<8>(bytes),
        _ => {}
    }
}

/// Refuses a byte that is neither 0 nor 1 among `bool`s that begin at `offset` of the file.
pub(crate) fn check_bools(bytes: &[u8], offset: u64) -> Result<(), DnpyError> {
    match bytes.iter().position(|&b| b > 1) {
        None => Ok(()),
        Some(at) => Err(DnpyError::Element {
            offset: offset + at as u64,
            element: ElementType::Bool,
        }),
    }
}

pub(crate) fn array<T: Element>(data: Vec<T>, header: &Header) -> Result<HostArray<T>, DnpyError> {
    HostArray::with_order(header.shape().to_vec(), data, header.order()).map_err(|source| {
        DnpyError::Protocol {
            offset: header.text_offset(),
            source,
        }
    })
}

/// The order in which a buffer's bytes are written: as they lie, or C where they lie scattered.
pub(crate) fn order<B: HostBuffer + ?Sized>(buffer: &B) -> Order {
    buffer
        .contiguous_bytes()
        .map_or(Order::C, |(_, order)| order)
}

/// Writes the elements in the order that [`order`] says.
pub(crate) fn write_payload<W: Write + ?Sized, B: HostBuffer + ?Sized>(
    writer: &mut W,
    buffer: &B,
    byte_order: ByteOrder,
) -> Result<(), DnpyError> {
    let element = buffer.element_type();
    let native = byte_order == ByteOrder::NATIVE || element.word_size() == 1;
    let mut put = |bytes: &[u8]| {
        if native {
            return writer.write_all(bytes);
        }
        bytes.chunks(SWAP_PIECE).try_for_each(|piece| {
            let mut piece = piece.to_vec();
            finish_bytes(&mut piece, element, byte_order);
            writer.write_all(&piece)
        })
    };
    let result = match buffer.contiguous_bytes() {
        Some((bytes, _)) => put(bytes),
        None => scattered(buffer, &mut put),
    };
    result.map_err(DnpyError::stream("write"))
}

/// Collects the pieces of a buffer that is not contiguous, and writes them many at a time.
fn scattered<B: HostBuffer + ?Sized>(
    buffer: &B,
    put: &mut dyn FnMut(&[u8]) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let mut pending = Vec::with_capacity(PIECE);
    let mut step = |bytes: &[u8]| {
        if pending.len() + bytes.len() > PIECE {
            put(&pending)?;
            pending.clear();
        }
        if bytes.len() >= PIECE {
            return put(bytes);
        }
        pending.extend_from_slice(bytes);
        Ok(())
    };
    let mut result = Ok(());
    buffer.visit_bytes(&mut |bytes| {
        if result.is_ok() {
            result = step(bytes);
        }
    });
    result.and_then(|()| put(&pending))
}
