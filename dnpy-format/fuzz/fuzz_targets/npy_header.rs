//! Any bytes as a `.npy` file: an error with an offset, or an array that survives writing.
#![no_main]

use dap_protocol::{DimData, DimDict, HostBuffer, ProtocolVersion};
use dnpy_format::{Alignment, npy, read_localarray_any, write_array_header};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let header = match npy::read_header(&mut &data[..]) {
        Ok(header) => header,
        Err(e) => {
            assert!(e.offset().is_some_and(|at| at <= data.len() as u64), "{e}");
            return;
        }
    };
    // the header of a `.dnpy` file in front makes it one, whatever the element type is
    let dims = header.shape().iter().map(|&n| DimDict::whole(n as u64));
    let dim_data: DimData = dims
        .collect::<Result<_, _>>()
        .expect("extents are below 2^63");
    let whole = |npy: &[u8]| {
        let mut file = Vec::new();
        let version = ProtocolVersion::CURRENT;
        write_array_header(&mut file, version, &dim_data, None, Alignment::Sixteen)
            .expect("a header");
        file.extend_from_slice(npy);
        read_localarray_any(&mut &file[..])
    };
    let Ok(part) = whole(data) else { return };
    let mut written = Vec::new();
    npy::write(&mut written, part.buffer()).expect("what was read can be written");
    let again = npy::read_header(&mut &written[..]).expect("what was written can be read");
    assert_eq!(again.shape(), header.shape());
    assert_eq!(again.element_type(), header.element_type());
    let bytes = |buffer: &dyn HostBuffer| {
        let mut bytes = Vec::new();
        buffer.visit_bytes(&mut |piece| bytes.extend_from_slice(piece));
        bytes
    };
    let read = whole(&written).expect("what was written can be read");
    assert_eq!(bytes(read.buffer()), bytes(part.buffer()));
});
