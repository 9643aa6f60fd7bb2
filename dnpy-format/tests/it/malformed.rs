//! Input that is wrong: an error with its offset, or a reading with a reported repair.

use std::collections::BTreeMap;
use std::io::Read;

use dap_protocol::literal::{MAX_LEN, MAX_NOTES, Reason};
use dap_protocol::{DimData, DimDict, HostArray, ProtocolVersion};
use dnpy_format::{
    Alignment, DnpyError, FormatVersion, MappedPart, PartFile, load_any, npy,
    read_array_header_1_0, read_array_header_2_0, read_info, read_localarray, read_localarray_any,
    write_array_header, write_localarray,
};

use crate::common::{cases, fixture, unhex};

/// Where our verdict is another one than the real reader's, and why.
fn departures() -> BTreeMap<&'static str, &'static str> {
    BTreeMap::from([
        // it reads, we refuse: the protocol says so
        (
            "x22",
            "dim_data () describes a scalar, the buffer has one dimension",
        ),
        ("x39", "__version__ is an integer"),
        ("x40", "protocol version 9.9.9 is not supported"),
        ("x42", "size exceeds 64 bits"),
        (
            "x48",
            "dim_data () describes a scalar, the buffer has one dimension",
        ),
        // it refuses, we read with a repair
        ("x43", "Python 2's 6L"),
    ])
}

#[test]
fn verdicts_are_the_real_readers_or_listed() {
    let departures = departures();
    let mut met = 0;
    for case in cases("dnpy_malformed.json") {
        let id = case["id"].as_str().unwrap();
        let name = case["name"].as_str().unwrap();
        let bytes = unhex(case["hex"].as_str().unwrap());
        let theirs = case["reader"].get("error").is_none();
        let ours = read_localarray_any(&mut &bytes[..]);
        let departs = departures.contains_key(id);
        met += usize::from(departs);
        match &ours {
            Ok(_) if theirs != departs => {
                let info = read_info(&mut &bytes[..]).unwrap();
                assert_eq!(
                    departs,
                    !info.repairs().is_empty() && !theirs,
                    "{id} {name}"
                );
            }
            Err(e) if theirs == departs => {
                assert!(e.offset().is_some(), "{id} {name}: no offset in {e}");
            }
            other => panic!("{id} {name}: theirs is {theirs}, ours is {other:?}"),
        }
    }
    assert_eq!(met, departures.len(), "a departure that no case shows");
}

#[test]
fn truncation_anywhere_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.dnpy");
    for name in [
        "dnpy/head_00_dtype_b1.dnpy",
        "dnpy/head_12_dtype_le_c16.dnpy",
        "dnpy/head_19_dtype_be_f8.dnpy",
        "dnpy/head_21_fortran.dnpy",
        "dnpy/head_24_0d.dnpy",
        "dnpy/head_31_unstructured_list.dnpy",
        "dnpy/head_37_emptydict.dnpy",
    ] {
        let bytes = fixture(name);
        read_localarray_any(&mut &bytes[..]).unwrap();
        for len in 0..bytes.len() {
            let cut = &bytes[..len];
            let check = |e: DnpyError| {
                let DnpyError::Truncated {
                    offset,
                    expected,
                    found,
                    ..
                } = e
                else {
                    panic!("{name} at {len}: {e}")
                };
                assert_eq!(offset + found, len as u64, "{name}: {e}");
                assert!(found < expected, "{name}: {e}");
            };
            check(read_localarray_any(&mut &cut[..]).unwrap_err());
            // a file of each length, but for the long ones
            if bytes.len() < 256 || len % 16 == 15 {
                std::fs::write(&path, cut).unwrap();
                for e in [
                    PartFile::open(&path).unwrap_err(),
                    load_any(&path).unwrap_err(),
                ] {
                    let DnpyError::InFile {
                        path: named,
                        source,
                    } = e
                    else {
                        panic!("{name} at {len}: {e}")
                    };
                    assert_eq!(named, path);
                    check(*source);
                }
            }
        }
    }
}

/// The bytes of one part under format version 2.0, and a plain array under all three of `.npy`.
fn other_versions() -> (Vec<u8>, Vec<Vec<u8>>) {
    let dim_data = DimData::new(vec![DimDict::block(3, 1, 0, 0..3).unwrap()]);
    let version = ProtocolVersion::CURRENT;
    let mut dnpy = Vec::new();
    let format = Some(FormatVersion::V2_0);
    write_array_header(&mut dnpy, version, &dim_data, format, Alignment::Sixteen).unwrap();
    let array = HostArray::new(vec![3], vec![1.0, 2.0, 3.0]).unwrap();
    npy::write(&mut dnpy, &array).unwrap();
    let payload: Vec<u8> = [1.0_f64, 2.0, 3.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n";
    let npys = (1..=3).map(|version: u8| {
        let mut bytes = [b"\x93NUMPY", &[version, 0][..]].concat();
        let len = u32::try_from(text.len()).unwrap().to_le_bytes();
        bytes.extend_from_slice(if version == 1 { &len[..2] } else { &len });
        bytes.extend_from_slice(text.as_bytes());
        bytes.extend_from_slice(&payload);
        bytes
    });
    (dnpy, npys.collect())
}

#[test]
fn other_versions_and_readers_find_every_cut_too() {
    let dir = tempfile::tempdir().unwrap();
    let (part, plain) = (dir.path().join("run_0.dnpy"), dir.path().join("cut.npy"));
    let (dnpy, npys) = other_versions();
    let is_cut = |e: DnpyError, len: usize| match e {
        DnpyError::InFile { source, .. } => match *source {
            DnpyError::Truncated { offset, found, .. } => assert_eq!(offset + found, len as u64),
            // a mapping knows the length of its file beforehand
            ref e => assert!(e.offset().is_some_and(|at| at <= len as u64), "{len}: {e}"),
        },
        DnpyError::Truncated { offset, found, .. } => assert_eq!(offset + found, len as u64),
        e => panic!("{len}: {e}"),
    };
    for len in 0..dnpy.len() {
        is_cut(read_localarray_any(&mut &dnpy[..len]).unwrap_err(), len);
        std::fs::write(&part, &dnpy[..len]).unwrap();
        is_cut(load_any(&part).unwrap_err(), len);
        is_cut(MappedPart::open(&part).map(drop).unwrap_err(), len);
        #[cfg(feature = "set")]
        {
            let read = dnpy_format::set::Set::open(dir.path().join("run"))
                .and_then(|set| set.read::<f64>(&DimData::new(vec![DimDict::whole(3).unwrap()])));
            assert!(read.is_err(), "{len}");
        }
    }
    std::fs::write(&part, &dnpy).unwrap();
    let mapped = MappedPart::open(&part).unwrap().part::<f64>().unwrap();
    assert_eq!(mapped.buffer().elements().unwrap(), [1.0, 2.0, 3.0]);
    for bytes in npys {
        for len in 0..bytes.len() {
            is_cut(npy::read::<f64, _>(&mut &bytes[..len]).unwrap_err(), len);
            std::fs::write(&plain, &bytes[..len]).unwrap();
            is_cut(npy::load::<f64>(&plain).unwrap_err(), len);
            #[cfg(feature = "set")]
            {
                let dim_data = DimData::new(vec![DimDict::whole(3).unwrap()]);
                is_cut(
                    npy::read_owned::<f64>(&plain, &dim_data)
                        .map(drop)
                        .unwrap_err(),
                    len,
                );
            }
        }
        std::fs::write(&plain, &bytes).unwrap();
        assert_eq!(npy::load::<f64>(&plain).unwrap().data(), [1.0, 2.0, 3.0]);
    }
}

#[test]
fn header_lengths_of_4_gib_cost_nothing() {
    let most = u32::try_from(MAX_LEN).unwrap();
    let claimed =
        |magic: &[u8], len: u32| [magic, &len.to_le_bytes()[..], b"{'__version__': "].concat();
    let read_npy = |bytes: Vec<u8>| npy::read_header(&mut &bytes[..]).unwrap_err();
    let read_dnpy = |bytes: Vec<u8>| read_localarray_any(&mut &bytes[..]).unwrap_err();
    for len in [most, most + 1, u32::MAX] {
        for e in [
            read_dnpy(claimed(b"\x93DARRY\x02\x00", len)),
            read_npy(claimed(b"\x93NUMPY\x02\x00", len)),
            read_npy(claimed(b"\x93NUMPY\x03\x00", len)),
        ] {
            let is_right = match &e {
                DnpyError::Truncated {
                    offset: 12,
                    expected,
                    found: 16,
                    ..
                } => len == most && *expected == u64::from(len),
                DnpyError::Literal { offset: 12, source } => {
                    len > most && source.reason == Reason::Length
                }
                _ => false,
            };
            assert!(is_right, "{e}");
        }
    }
}

/// A header of 4 MiB of Python 2's integers.
fn long_header() -> Vec<u8> {
    let text = format!(
        "{{'__version__': '0.10.0', 'dim_data': ({}), }}\n",
        "0L,".repeat(1_400_000)
    );
    let len = u32::try_from(text.len()).unwrap().to_le_bytes();
    [b"\x93DARRY\x02\x00", &len[..], text.as_bytes()].concat()
}

#[test]
fn child_reads_a_long_header() {
    if std::env::var_os("DNPY_LIMITED").is_some() {
        let bytes = long_header();
        let mut behind_magic = &bytes[8..];
        let header = read_array_header_2_0(&mut behind_magic).unwrap();
        // the first ones, and that there are more
        assert_eq!(header.repairs().len(), MAX_NOTES);
        assert!(
            header.repairs()[MAX_NOTES - 1]
                .to_string()
                .contains("not listed")
        );
        println!("read it");
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_header_costs_no_more_than_its_documented_multiple() {
    // 512 MiB for the program and the header, which is 4 MiB
    let output = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 524288 && exec \"$0\" --exact malformed::child_reads_a_long_header --nocapture"])
        .arg(std::env::current_exe().unwrap())
        .env("DNPY_LIMITED", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("read it"),
        "{output:?}"
    );
}

fn npy(header: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&u16::try_from(header.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(payload);
    bytes
}

/// Hands out its bytes and counts the largest buffer that was asked to be filled.
struct Watched<'a>(&'a [u8], usize);

impl Read for Watched<'_> {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.1 = self.1.max(buf.len());
        self.0.read(buf)
    }
}

#[test]
fn a_claimed_size_allocates_no_more_than_a_piece() {
    // 2^59 doubles, of which two are there
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (576460752303423488,), }\n";
    let bytes = npy(header, &[0; 16]);
    let mut reader = Watched(&bytes, 0);
    let e = npy::read::<f64, _>(&mut reader).unwrap_err();
    assert!(matches!(e, DnpyError::Truncated { found: 16, .. }), "{e}");
    assert!(reader.1 <= 1 << 20, "{} bytes at once", reader.1);

    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("claim.npy");
    std::fs::write(&path, &bytes).unwrap();
    let e = npy::load::<f64>(&path).unwrap_err();
    assert_eq!(e.offset(), Some(bytes.len() as u64 - 16), "{e}");
}

#[test]
fn shapes_that_overflow_are_errors() {
    for (shape, ok) in [
        ("(-1,)", false),
        ("(4294967296, 4294967296, 4294967296)", false),
        ("(1152921504606846976,)", false), // 2^60 doubles are 2^63 bytes
        ("(18446744073709551616,)", false),
        ("(99999999999999999999999999999999999999999999,)", false),
        ("(9223372036854775807, 9223372036854775807, 0)", false),
        ("(9223372036854775807, 0)", false),
        ("(1000000000000000000, 0)", true),
    ] {
        let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
        let read = npy::read::<f64, _>(&mut &npy(&text, &[])[..]);
        assert_eq!(read.is_ok(), ok, "{shape}: {read:?}");
        if let Err(e) = read {
            assert!(e.offset().is_some(), "{shape}: {e}");
        }
    }
}

#[test]
fn object_arrays_and_odd_headers_are_errors() {
    for text in [
        "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': 'O', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f16', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': None, 'fortran_order': False, 'shape': (3,), }",
        "{'descr': ('<f8', (2,)), 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f8', 'fortran_order': 0, 'shape': (3,), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3), }",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'x': 1}",
        "{'descr': '<f8', 'fortran_order': False}",
        "['descr', '<f8']",
        "",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), } {",
        "{'descr': __import__('os'), 'fortran_order': False, 'shape': (3,), }",
        &"(".repeat(60_000),
    ] {
        let e = npy::read::<f64, _>(&mut &npy(text, &[0; 24])[..]).unwrap_err();
        assert!(e.offset().is_some_and(|at| at >= 10), "{text}: {e}");
    }
}

#[test]
fn a_bool_that_is_neither_is_an_error_with_its_offset() {
    let mut bytes = fixture("dnpy/head_00_dtype_b1.dnpy");
    let at = bytes.len() - 3;
    bytes[at] = 2;
    let e = read_localarray::<bool, _>(&mut &bytes[..]).unwrap_err();
    assert!(
        matches!(e, DnpyError::Element { offset, .. } if offset == at as u64),
        "{e}"
    );
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("bool.dnpy");
    std::fs::write(&path, &bytes).unwrap();
    let e = dnpy_format::load::<bool>(&path).unwrap_err();
    assert_eq!(e.offset(), Some(at as u64), "{e}");
    let mapped = dnpy_format::MappedPart::open(&path)
        .unwrap()
        .part::<bool>()
        .unwrap();
    assert_eq!(
        mapped.buffer().elements().unwrap_err().offset(),
        Some(at as u64)
    );
}

fn dnpy(dim_data: &str, npy: &[u8]) -> Vec<u8> {
    let text = format!("{{'__version__': '0.10.0', 'dim_data': {dim_data}}}\n");
    let mut bytes = b"\x93DARRY\x01\x00".to_vec();
    bytes.extend_from_slice(&u16::try_from(text.len()).unwrap().to_le_bytes());
    bytes.extend_from_slice(text.as_bytes());
    bytes.extend_from_slice(npy);
    bytes
}

#[test]
fn spellings_of_python_2_and_numpy_2_are_read_and_reported() {
    let payload = npy(
        "{'descr': '<i2', 'fortran_order': False, 'shape': (3,), }\n",
        &[1, 0, 2, 0, 3, 0],
    );
    let block = "'proc_grid_size': 2, 'proc_grid_rank': 0, 'start': 0, 'stop': 3";
    for (dim, repairs) in [
        (format!("({{'dist_type': 'b', 'size': 5, {block}}},)"), 0),
        (format!("({{'dist_type': 'b', 'size': 5L, {block}}},)"), 1),
        (format!("({{u'dist_type': u'b', u'size': 5, {block}}},)"), 3),
        (
            format!("({{'dist_type': np.str_('b'), 'size': np.int64(5), {block}}},)"),
            2,
        ),
        (
            format!("({{'dist_type': 'b', 'size': numpy.int64(5), {block}}},)"),
            1,
        ),
    ] {
        let bytes = dnpy(&dim, &payload);
        let part =
            read_localarray::<i16, _>(&mut &bytes[..]).unwrap_or_else(|e| panic!("{dim}: {e}"));
        assert_eq!(part.dim_data().global_shape(), [5], "{dim}");
        assert_eq!(part.buffer().data(), [1, 2, 3], "{dim}");
        let info = read_info(&mut &bytes[..]).unwrap();
        assert_eq!(info.repairs().len(), repairs, "{dim}: {:?}", info.repairs());
    }
    let indices = "({'dist_type': 'u', 'size': 9, 'proc_grid_size': 2, 'proc_grid_rank': 0, \
                   'indices': array([4, 8, 1], dtype=int64)},)";
    let bytes = dnpy(indices, &payload);
    let info = read_info(&mut &bytes[..]).unwrap();
    assert_eq!(info.dim_data().local_shape(), [3]);
    assert!(!info.repairs().is_empty());
}

/// Index 2 of 4 is due to rank 2 of 3, which says that it holds nothing: no other spelling says so.
#[test]
fn a_rank_that_holds_nothing_out_of_turn_is_written_as_it_was_read() {
    let dims =
        "({'dist_type': 'c', 'size': 4, 'proc_grid_size': 3, 'proc_grid_rank': 2, 'start': 4},)";
    let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (0,), }\n";
    let bytes = dnpy(dims, &npy(header, &[]));
    let info = read_info(&mut &bytes[..]).unwrap();
    assert_eq!(info.repairs().len(), 1, "{:?}", info.repairs());
    assert_eq!(
        info.repairs()[0].to_string(),
        "K2 axis 0: start is 4, read as 4, nothing held"
    );
    let part = read_localarray::<f64, _>(&mut &bytes[..]).unwrap();
    assert_eq!(part.dim_data().local_shape(), [0]);
    let mut written = Vec::new();
    write_localarray(&mut written, &part).unwrap();
    let again = read_info(&mut &written[..]).unwrap();
    assert_eq!(
        (again.dim_data(), again.repairs()),
        (info.dim_data(), info.repairs())
    );
}

#[test]
fn a_legacy_block_cyclic_buffer_is_refused_with_the_reason() {
    // 7 elements, 2 ranks, blocks of 2: rank 0 holds 0, 1, 4, 5, the old writer stored 5 there
    let payload = npy(
        "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }\n",
        &[0; 5],
    );
    let dim = "({'dist_type': 'c', 'size': 7, 'proc_grid_size': 2, 'proc_grid_rank': 0, \
               'start': 0, 'block_size': 2},)";
    let e = read_localarray::<u8, _>(&mut &dnpy(dim, &payload)[..]).unwrap_err();
    assert!(matches!(e, DnpyError::Protocol { .. }), "{e}");
    assert!(e.to_string().contains("partial last block"), "{e}");
}

#[test]
fn a_header_alone_is_left_just_behind() {
    let bytes = fixture("dnpy/head_24_0d.dnpy");
    let mut reader = &bytes[8..];
    read_array_header_1_0(&mut reader).unwrap();
    assert_eq!(reader[..6], *b"\x93NUMPY");
}
