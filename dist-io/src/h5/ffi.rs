//! How the bits of a number in a file are laid out, asked of the C library: the safe crate says only class, size and sign.
#![expect(unsafe_code, reason = "calls of the HDF5 C library")]

use hdf5_metno::Datatype;
use hdf5_metno::sync::sync;
use hdf5_metno_sys::h5i::hid_t;
use hdf5_metno_sys::h5t::{
    H5Tclose, H5Tget_ebias, H5Tget_fields, H5Tget_member_type, H5Tget_offset, H5Tget_precision,
};

/// Where the parts of a floating-point number lie, in bits from the lowest one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct FloatFormat {
    pub(super) sign: usize,
    pub(super) exponent: usize,
    pub(super) exponent_bits: usize,
    pub(super) mantissa: usize,
    pub(super) mantissa_bits: usize,
    pub(super) bias: usize,
}

/// Bits that carry the value of a number, where they are the lowest ones; 0 where they are not.
pub(super) fn precision(ty: &Datatype) -> usize {
    let id = ty.id();
    // SAFETY: `id` is a datatype that `ty` keeps open, and the library's lock is held (reference manual, H5Tget_offset).
    let offset = sync(|| unsafe { H5Tget_offset(id) });
    if offset != 0 {
        return 0;
    }
    // SAFETY: as above (H5Tget_precision).
    sync(|| unsafe { H5Tget_precision(id) })
}

/// The format of a floating-point type; `None` where the type is none.
pub(super) fn float_format(ty: &Datatype) -> Option<FloatFormat> {
    format_of(ty.id())
}

/// The format of a member of a compound type; `None` where it is no floating-point number.
pub(super) fn member_float_format(ty: &Datatype, member: u32) -> Option<FloatFormat> {
    let id = ty.id();
    // SAFETY: `id` is a datatype that `ty` keeps open, and the library's lock is held; a member that does not exist is an error
    // code (reference manual, H5Tget_member_type).
    let member = sync(|| unsafe { H5Tget_member_type(id, member) });
    if member < 0 {
        return None;
    }
    let format = format_of(member);
    // SAFETY: `member` was opened above and is used no more (reference manual, H5Tclose).
    sync(|| unsafe { H5Tclose(member) });
    format
}

fn format_of(id: hid_t) -> Option<FloatFormat> {
    let mut f = FloatFormat::default();
    // SAFETY: `id` is open, the library's lock is held, and each pointer is that of a place for one number (reference manual,
    // H5Tget_fields: a negative value for what is no floating-point type).
    let status = sync(|| unsafe {
        H5Tget_fields(
            id,
            &raw mut f.sign,
            &raw mut f.exponent,
            &raw mut f.exponent_bits,
            &raw mut f.mantissa,
            &raw mut f.mantissa_bits,
        )
    });
    if status < 0 {
        return None;
    }
    // SAFETY: as above (H5Tget_ebias).
    f.bias = sync(|| unsafe { H5Tget_ebias(id) });
    Some(f)
}
