//! Any bytes as a `.dnpy` file: an error with an offset, or a part that survives writing.
#![no_main]

use dap_protocol::{Code, DistBuffer};
use dnpy_format::{Repair, read_info, read_localarray_any, write_localarray};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let info = match read_info(&mut &data[..]) {
        Ok(info) => info,
        Err(e) => {
            assert!(e.offset().is_some_and(|at| at <= data.len() as u64), "{e}");
            return;
        }
    };
    let part = match read_localarray_any(&mut &data[..]) {
        Ok(part) => part,
        Err(e) => {
            assert!(e.offset().is_some_and(|at| at <= data.len() as u64), "{e}");
            return;
        }
    };
    assert_eq!(part.dim_data(), info.dim_data());
    let again = DistBuffer::with_version(part.version(), part.dim_data().clone(), part.buffer())
        .expect("what was read is valid");
    let mut written = Vec::new();
    write_localarray(&mut written, &again).expect("what was read can be written");
    let read = read_localarray_any(&mut &written[..]).expect("what was written can be read");
    assert_eq!(read.dim_data(), part.dim_data());
    assert_eq!(read.version(), part.version());
    assert_eq!(read.element_type(), part.element_type());
    let bytes = |part: &dnpy_format::AnyPart| {
        let mut bytes = Vec::new();
        part.buffer()
            .visit_bytes(&mut |piece| bytes.extend_from_slice(piece));
        bytes
    };
    assert_eq!(bytes(&read), bytes(&part));
    // A rank that holds nothing out of turn has no other spelling: it stays so, and is reported again.
    let nothing_out_of_turn = |repair: &Repair| match repair {
        Repair::Metadata(found) if found.code == Code::K2 => Some(found.axis),
        _ => None,
    };
    let kept = |repair: &Repair| {
        let axis = nothing_out_of_turn(repair);
        axis.is_some()
            && info
                .repairs()
                .iter()
                .any(|read| nothing_out_of_turn(read) == axis)
    };
    let written = read_info(&mut &written[..]).expect("what was written can be read");
    assert!(
        written.repairs().iter().all(kept),
        "what is written needs no other repair: {:?}",
        written.repairs()
    );
});
