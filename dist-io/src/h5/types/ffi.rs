//! What a type in a file is made of, and types that are made here, by the C library: the safe crate reads no member of more than
//! eight bytes in safety, has no name for classes of later releases, and makes no type of the other byte order.
#![expect(unsafe_code, reason = "calls of the HDF5 C library")]

use std::ffi::{CStr, CString, c_int, c_uint};

use hdf5_metno::sync::sync;
use hdf5_metno::{Datatype, from_id, h5check};
use hdf5_metno_sys::h5::H5free_memory;
use hdf5_metno_sys::h5i::hid_t;
use hdf5_metno_sys::h5t::{
    H5T_class_t, H5T_order_t, H5T_str_t, H5Tcreate, H5Tenum_create, H5Tenum_insert,
    H5Tget_member_name, H5Tget_member_offset, H5Tget_member_type, H5Tget_member_value,
    H5Tget_nmembers, H5Tget_strpad, H5Tget_super, H5Tinsert, H5Tis_variable_str, H5Tset_order,
    H5Tset_strpad,
};

use crate::h5::{ByteOrder, Refusal};

// As the library has it: a class of a later release is no value of the bindings' enumeration.
unsafe extern "C" {
    #[link_name = "H5Tget_class"]
    fn class_of(ty: hid_t) -> c_int;
}

/// The class of a type, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::h5) enum Class {
    Integer,
    Float,
    Text,
    Compound,
    Enumeration,
    Array,
    /// Bits and bytes without a meaning to the library.
    Bytes,
    Reference,
    /// Elements of any number, which lie elsewhere.
    List,
    /// Complex numbers, from version 2.0 of the library on.
    Complex,
    Other,
}

pub(in crate::h5) fn class(ty: &Datatype) -> Class {
    let id = ty.id();
    // SAFETY: `id` is a datatype that `ty` keeps open, and the library's lock is held (reference manual, H5Tget_class).
    match sync(|| unsafe { class_of(id) }) {
        0 => Class::Integer,
        1 => Class::Float,
        3 => Class::Text,
        4 | 5 => Class::Bytes,
        6 => Class::Compound,
        7 => Class::Reference,
        8 => Class::Enumeration,
        9 => Class::List,
        10 => Class::Array,
        11 => Class::Complex,
        _ => Class::Other,
    }
}

/// Whether a text may have any length: an element is then a pointer.
pub(in crate::h5) fn is_variable(ty: &Datatype) -> bool {
    let id = ty.id();
    // SAFETY: as above (H5Tis_variable_str).
    sync(|| unsafe { H5Tis_variable_str(id) }) != 0
}

/// Whether a text of a fixed length is filled up with spaces.
pub(in crate::h5) fn is_spaced(ty: &Datatype) -> bool {
    let id = ty.id();
    // SAFETY: as above (H5Tget_strpad).
    sync(|| unsafe { H5Tget_strpad(id) }) == H5T_str_t::H5T_STR_SPACEPAD
}

/// Makes a text of our own be filled up with spaces.
pub(in crate::h5) fn set_spaced(ty: &Datatype) -> Result<(), Refusal> {
    let id = ty.id();
    // SAFETY: `id` is a type of our own that `ty` keeps open, and the library's lock is held (H5Tset_strpad).
    let set = sync(|| h5check(unsafe { H5Tset_strpad(id, H5T_str_t::H5T_STR_SPACEPAD) }));
    set.map(drop).map_err(Refusal::library("make a type"))
}

/// The type that another one is made from: of an enumeration that of its codes, of a complex number that of its parts.
pub(in crate::h5) fn base(ty: &Datatype) -> Result<Datatype, Refusal> {
    let id = ty.id();
    // SAFETY: as above (H5Tget_super).
    let base = sync(|| h5check(unsafe { H5Tget_super(id) }));
    let base = base.map_err(Refusal::library("look at a type"))?;
    own(base)
}

/// Takes over a type that the library has just opened or made.
fn own(id: hid_t) -> Result<Datatype, Refusal> {
    // SAFETY: `id` is a datatype that nobody else has; it is closed with what is returned.
    let ty = sync(|| unsafe { from_id::<Datatype>(id) });
    ty.map_err(Refusal::library("look at a type"))
}

/// Number of members of a compound or an enumeration.
pub(in crate::h5) fn count(ty: &Datatype) -> u32 {
    let id = ty.id();
    // SAFETY: as above (H5Tget_nmembers: negative where there are none).
    let count = sync(|| unsafe { H5Tget_nmembers(id) });
    u32::try_from(count).unwrap_or(0)
}

/// The name of a member.
pub(in crate::h5) fn name(ty: &Datatype, member: c_uint) -> Result<Vec<u8>, Refusal> {
    let id = ty.id();
    sync(|| {
        // SAFETY: as above; a member that there is not is answered by a null pointer (H5Tget_member_name).
        let name = unsafe { H5Tget_member_name(id, member) };
        if name.is_null() {
            return Err(Refusal::Library {
                operation: "look at a type".to_owned(),
                message: format!("it has no member {member}"),
            });
        }
        // SAFETY: what is no null pointer is a text that ends with a zero byte, and is ours (H5Tget_member_name).
        let copy = unsafe { CStr::from_ptr(name) }.to_bytes().to_vec();
        // SAFETY: the text is ours, and is used no more (H5free_memory).
        unsafe { H5free_memory(name.cast()) };
        Ok(copy)
    })
}

/// The type of a member of a compound, and its first byte.
pub(in crate::h5) fn member(ty: &Datatype, member: c_uint) -> Result<(Datatype, usize), Refusal> {
    let id = ty.id();
    // SAFETY: as above; a member that there is not is an error code (H5Tget_member_type).
    let found = sync(|| h5check(unsafe { H5Tget_member_type(id, member) }));
    let found = own(found.map_err(Refusal::library("look at a type"))?)?;
    // SAFETY: as above, and the member is there (H5Tget_member_offset).
    let offset = sync(|| unsafe { H5Tget_member_offset(id, member) });
    Ok((found, offset))
}

/// The value of a member of an enumeration, as it is in the file: as many bytes as the type has.
pub(in crate::h5) fn value(ty: &Datatype, member: c_uint) -> Result<Vec<u8>, Refusal> {
    let mut value = vec![0; ty.size()];
    let id = ty.id();
    // SAFETY: as above, and `value` has room for one element of the type (H5Tget_member_value).
    let got =
        sync(|| h5check(unsafe { H5Tget_member_value(id, member, value.as_mut_ptr().cast()) }));
    got.map_err(Refusal::library("look at a type"))?;
    Ok(value)
}

/// Makes the numbers of a type of our own be in this order.
pub(in crate::h5) fn set_order(ty: &Datatype, order: ByteOrder) -> Result<(), Refusal> {
    let id = ty.id();
    let order = match order {
        ByteOrder::Little => H5T_order_t::H5T_ORDER_LE,
        ByteOrder::Big => H5T_order_t::H5T_ORDER_BE,
    };
    // SAFETY: `id` is a type of our own that `ty` keeps open, and the library's lock is held (H5Tset_order).
    let set = sync(|| h5check(unsafe { H5Tset_order(id, order) }));
    set.map(drop).map_err(Refusal::library("make a type"))
}

/// A compound of so many bytes with these members: name, first byte, type. The library refuses those that overlap.
pub(in crate::h5) fn compound(
    bytes: usize,
    members: &[(CString, usize, Datatype)],
) -> Result<Datatype, Refusal> {
    // SAFETY: the library's lock is held; no size is too small for it but 0, which is an error code (H5Tcreate).
    let made = sync(|| h5check(unsafe { H5Tcreate(H5T_class_t::H5T_COMPOUND, bytes) }));
    let made = own(made.map_err(Refusal::library("make a type"))?)?;
    for (name, offset, member) in members {
        let (id, member) = (made.id(), member.id());
        // SAFETY: both types are kept open, the library's lock is held, and the name ends with a zero byte (H5Tinsert).
        let put = sync(|| h5check(unsafe { H5Tinsert(id, name.as_ptr(), *offset, member) }));
        put.map_err(Refusal::library("make a type"))?;
    }
    Ok(made)
}

/// An enumeration with these members: name, and value as bytes of the type of its codes.
pub(in crate::h5) fn enumeration(
    codes: &Datatype,
    members: &[(CString, Vec<u8>)],
) -> Result<Datatype, Refusal> {
    let base = codes.id();
    // SAFETY: the type is kept open, and the library's lock is held (H5Tenum_create).
    let made = sync(|| h5check(unsafe { H5Tenum_create(base) }));
    let made = own(made.map_err(Refusal::library("make a type"))?)?;
    for (name, value) in members {
        if value.len() != codes.size() {
            return Err(Refusal::Library {
                operation: "make a type".to_owned(),
                message: format!("a code of {} bytes", value.len()),
            });
        }
        let id = made.id();
        // SAFETY: the type is kept open, the library's lock is held, the name ends with a zero byte, and the value is as long as a
        // code (H5Tenum_insert).
        let put =
            sync(|| h5check(unsafe { H5Tenum_insert(id, name.as_ptr(), value.as_ptr().cast()) }));
        put.map_err(Refusal::library("make a type"))?;
    }
    Ok(made)
}
