//! Files that the real writer wrote, and what the real reader answered.

use std::collections::BTreeSet;

use dap_protocol::check::{self, Strictness};
use dap_protocol::literal::{Value, parse};
use dap_protocol::{DimData, HostBuffer, Order, ProtocolVersion};
use dnpy_format::npy::{self, ByteOrder};
use dnpy_format::{
    Alignment, AnyPart, DnpyError, FormatVersion, WriteOptions, magic, read_array_header_1_0,
    read_info, read_localarray_any, read_magic, write_array_header, write_localarray_with,
};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

use crate::common::{cases, fixture, hex, literal, unhex};

/// Cases whose `dim_data` is not that of their buffer: the real code never compares the two.
const OTHER_SHAPE: [&str; 5] = ["h45", "h46", "h47", "h48", "h49"];

/// Element types that have no place in this crate: structured, text, times.
const NO_NUMBERS: [&str; 5] = ["h39", "h40", "h41", "h42", "h44"];

fn id(case: &Json) -> &str {
    case["id"].as_str().unwrap()
}

fn expected_dim_data(case: &Json) -> DimData {
    let shape: Vec<usize> = shape_of(&case["reader"]["shape"]);
    dim_data(&case["reader"]["dim_data"], Some(&shape))
}

fn shape_of(json: &Json) -> Vec<usize> {
    let extents = json.as_array().unwrap().iter();
    extents
        .map(|n| usize::try_from(n.as_u64().unwrap()).unwrap())
        .collect()
}

fn dim_data(json: &Json, shape: Option<&[usize]>) -> DimData {
    let version = ProtocolVersion::CURRENT;
    check::dim_data(&literal(json), shape, version, Strictness::Lenient)
        .into_result()
        .unwrap()
        .0
}

/// A header's text with the keys of the inner dictionaries sorted, the padding gone.
fn sorted(file: &[u8]) -> (String, usize) {
    let len = usize::from(u16::from_le_bytes([file[8], file[9]]));
    let text = std::str::from_utf8(&file[10..10 + len]).unwrap();
    let Value::Dict(entries) = parse(text).unwrap() else {
        panic!("no dictionary")
    };
    let inner: Vec<String> = entries
        .iter()
        .map(|(key, value)| format!("'{key}': {value}, "))
        .collect();
    let sorted = format!("{{{}}}", inner.concat());
    assert_eq!(
        sorted.len(),
        text.trim_end().len(),
        "only the order may differ"
    );
    (sorted, 10 + len)
}

fn c_order(buffer: &dyn HostBuffer) -> Vec<u8> {
    let mut bytes = Vec::new();
    buffer.visit_bytes(&mut |piece| bytes.extend_from_slice(piece));
    bytes
}

fn options(dtype: &str) -> WriteOptions {
    let big = dtype.starts_with('>');
    WriteOptions::new().byte_order(if big {
        ByteOrder::Big
    } else {
        ByteOrder::NATIVE
    })
}

#[test]
fn the_real_files_are_read_as_the_real_reader_does() {
    let mut read = BTreeSet::new();
    for case in cases("dnpy.json") {
        let Some(file) = case["file"].as_str() else {
            continue;
        };
        if case["reader"].get("error").is_some()
            || OTHER_SHAPE.contains(&id(&case))
            || NO_NUMBERS.contains(&id(&case))
        {
            continue;
        }
        let bytes = fixture(file);
        let part =
            read_localarray_any(&mut &bytes[..]).unwrap_or_else(|e| panic!("{}: {e}", id(&case)));
        let info = read_info(&mut &bytes[..]).unwrap();
        let expected = &case["reader"];
        assert_eq!(part.version(), ProtocolVersion::V0_10_0, "{}", id(&case));
        assert_eq!(*part.dim_data(), expected_dim_data(&case), "{}", id(&case));
        assert_eq!(
            part.buffer().shape(),
            shape_of(&expected["shape"]),
            "{}",
            id(&case)
        );
        assert_eq!(
            info.array().order() == Order::Fortran,
            expected["fortran"].as_bool().unwrap(),
            "{}",
            id(&case)
        );
        let dtype = expected["dtype"].as_str().unwrap();
        assert_eq!(
            part.element_type().numpy_code(),
            dtype.get(1..),
            "{}",
            id(&case)
        );
        // the recorded elements are in the file's byte order
        let again = rewritten(&part, options(dtype));
        let header = npy::read_header(&mut &again[info_offset(&again)..]).unwrap();
        let mut elements = c_order(part.buffer());
        if dtype.starts_with('>') {
            elements
                .chunks_exact_mut(part.element_type().word_size())
                .for_each(<[u8]>::reverse);
        }
        assert_eq!(
            header.byte_order() == ByteOrder::Big,
            dtype.starts_with('>')
        );
        assert_eq!(
            hex(&Sha256::digest(&elements)),
            expected["c_order_sha256"].as_str().unwrap(),
            "{}",
            id(&case)
        );
        if let Some(text) = expected["c_order_hex"].as_str() {
            assert_eq!(elements, unhex(text), "{}", id(&case));
        }
        read.insert(id(&case).to_owned());
    }
    assert!(read.len() >= 26, "only {} cases: {read:?}", read.len());
}

/// Where the `.npy` part of a `.dnpy` 1.0 file begins.
fn info_offset(file: &[u8]) -> usize {
    10 + usize::from(u16::from_le_bytes([file[8], file[9]]))
}

fn rewritten(part: &AnyPart, options: WriteOptions) -> Vec<u8> {
    let mut out = Vec::new();
    macro_rules! each {
        ($($name:ident)*) => {
            match part {
                $(AnyPart::$name(part) => write_localarray_with(&mut out, part, options).unwrap(),)*
                _ => panic!("a new element type"),
            }
        };
    }
    each!(Bool I8 I16 I32 I64 U8 U16 U32 U64 F16 F32 F64 Complex32 Complex64);
    out
}

#[test]
fn the_bytes_written_are_the_real_writers() {
    let mut written = 0;
    for case in cases("dnpy.json") {
        let Some(file) = case["file"].as_str() else {
            continue;
        };
        if case.get("input").is_none()
            || NO_NUMBERS.contains(&id(&case))
            || id(&case) == "h32" // `indices` as a NumPy array: the real writer stores its repr
            || id(&case) == "h34"
        {
            continue;
        }
        let bytes = fixture(file);
        let (header, end) = sorted(&bytes);
        // the metadata that the real writer was given; the elements are in its file
        let input = &case["input"];
        let shape = shape_of(&input["shape"]);
        let other_shape = OTHER_SHAPE.contains(&id(&case));
        let dim_data = dim_data(&input["dim_data"], (!other_shape).then_some(&shape[..]));
        let mut head = Vec::new();
        write_array_header(
            &mut head,
            ProtocolVersion::V0_10_0,
            &dim_data,
            Some(FormatVersion::V1_0),
            Alignment::Sixteen,
        )
        .unwrap();
        assert_eq!(head[..10], bytes[..10], "{}: magic and length", id(&case));
        assert_eq!(bytes[..8], magic(1, 0), "{}: magic", id(&case));
        assert_eq!(sorted(&head), (header.clone(), end), "{}", id(&case));
        let text = std::str::from_utf8(&head[10..]).unwrap();
        assert_eq!(
            text.trim_end(),
            header,
            "{}: ours is sorted already",
            id(&case)
        );
        if other_shape {
            let array = npy::read::<u8, _>(&mut &bytes[end..]).unwrap();
            npy::write(&mut head, &array).unwrap();
            assert_eq!(head[end..], bytes[end..], "{}", id(&case));
        } else {
            let part = read_localarray_any(&mut &bytes[..]).unwrap();
            let whole = rewritten(&part, options(input["dtype"].as_str().unwrap()));
            assert_eq!(whole[..end], head[..], "{}", id(&case));
            assert_eq!(whole[end..], bytes[end..], "{}: the .npy part", id(&case));
        }
        written += 1;
    }
    assert!(written >= 28, "only {written} cases");
}

#[test]
fn records_text_and_times_are_refused_by_name() {
    for case in cases("dnpy.json") {
        if !NO_NUMBERS.contains(&id(&case)) {
            continue;
        }
        let bytes = fixture(case["file"].as_str().unwrap());
        let e = read_localarray_any(&mut &bytes[..]).unwrap_err();
        let offset = 10 + info_offset(&bytes) as u64;
        assert!(
            matches!(&e, DnpyError::Descr { offset: at, .. } if *at == offset),
            "{}: {e}",
            id(&case)
        );
    }
}

#[test]
fn an_abbreviated_array_is_refused_as_lossy() {
    // the real writer stores a long NumPy array as its abbreviated repr, which nobody can read
    let bytes = fixture("dnpy/head_34_unstructured_long_array.dnpy");
    let e = read_localarray_any(&mut &bytes[..]).unwrap_err();
    assert!(matches!(e, DnpyError::Literal { .. }), "{e}");
    assert!(e.to_string().contains("..."), "{e}");
}

#[test]
fn files_with_other_metadata_than_their_buffer_are_refused() {
    for case in cases("dnpy.json") {
        if OTHER_SHAPE.contains(&id(&case)) {
            let bytes = fixture(case["file"].as_str().unwrap());
            let e = read_localarray_any(&mut &bytes[..]).unwrap_err();
            assert!(
                matches!(e, DnpyError::Protocol { offset: 10, .. }),
                "{}: {e}",
                id(&case)
            );
            // the header itself is read by the function for it
            let mut reader = &bytes[..];
            assert_eq!(read_magic(&mut reader).unwrap(), (1, 0));
            let header = read_array_header_1_0(&mut reader).unwrap();
            assert_eq!(
                header.dim_data(None).unwrap().0,
                dim_data(&case["reader"]["dim_data"], None)
            );
        }
    }
}

#[test]
fn headers_that_the_real_writer_refuses_become_version_2() {
    let mut seen = 0;
    for case in cases("dnpy.json") {
        if case.get("write").is_none() {
            continue;
        }
        seen += 1;
        let input = &case["input"];
        let indices = input["dim_data"][0]["indices"].as_array().unwrap();
        let dim_data = dim_data(&input["dim_data"], Some(&[indices.len()]));
        let mut head = Vec::new();
        let version = ProtocolVersion::V0_10_0;
        write_array_header(&mut head, version, &dim_data, None, Alignment::Sixteen).unwrap();
        assert_eq!(read_magic(&mut &head[..]).unwrap(), (2, 0), "{}", id(&case));
        let first = write_array_header(
            &mut Vec::new(),
            version,
            &dim_data,
            Some(FormatVersion::V1_0),
            Alignment::Sixteen,
        );
        assert!(matches!(first, Err(DnpyError::HeaderLength { .. })));
    }
    assert!(seen > 0);
}
