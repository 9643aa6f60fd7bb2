//! What `NumPy` would write, to the byte. (`scripts/python-interop.sh` asks it.)

use dap_protocol::{HostArray, Order};
use dnpy_format::npy;

#[test]
fn headers_are_numpys() {
    let array = HostArray::new(vec![3, 4], vec![0.0_f64; 12]).unwrap();
    let mut file = Vec::new();
    npy::write(&mut file, &array).unwrap();
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }";
    let mut expected = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    expected.extend_from_slice(text.as_bytes());
    expected.resize(127, b' ');
    expected.push(b'\n');
    assert_eq!(file[..128], expected);
    assert_eq!(file.len(), 128 + 96);
}

#[test]
fn a_vector_is_never_fortran_order() {
    let array = HostArray::with_order(vec![3, 1], vec![1_u8, 2, 3], Order::Fortran).unwrap();
    let mut file = Vec::new();
    npy::write(&mut file, &array).unwrap();
    assert!(file.windows(5).any(|w| w == b"False"));
}
