//! Files: replaced whole, permissions, links, mapping.

use std::fs;
use std::path::Path;
use std::time::Instant;

use dnpy_format::{
    DnpyError, MappedPart, PartFile, inspect, load, npy, read_into, save, save_with,
    write_localarray,
};

use crate::common::{large_part, part};

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(dir)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn a_save_replaces_the_whole_file_and_leaves_nothing_beside() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("part_0.dnpy");
    save(&path, &large_part(1.0, 1000)).unwrap();
    save(&path, &part(2.0)).unwrap();
    assert_eq!(load::<f64>(&path).unwrap(), part(2.0));
    assert_eq!(names(dir.path()), ["part_0.dnpy"]);
}

#[test]
fn a_file_of_the_other_format_is_refused_with_what_reads_it() {
    let dir = tempfile::tempdir().unwrap();
    let (part_name, whole) = (dir.path().join("part_0.dnpy"), dir.path().join("whole.npy"));
    save(&part_name, &part(1.0)).unwrap();
    npy::save(&whole, part(1.0).buffer()).unwrap();
    let e = load::<f64>(&whole).unwrap_err().to_string();
    assert!(
        e.ends_with("; this is a plain .npy file, npy::load reads it"),
        "{e}"
    );
    let e = npy::load::<f64>(&part_name).unwrap_err().to_string();
    assert!(e.ends_with("; this is a .dnpy file, load reads it"), "{e}");
}

#[test]
fn a_failing_save_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("part_0.dnpy");
    save(&path, &part(1.0)).unwrap();
    let long: Vec<i64> = (0..20_000).collect();
    let dim = dap_protocol::DimDict::unstructured(20_000, 1, 0, long, true).unwrap();
    let array = dap_protocol::HostArray::new(vec![20_000], vec![0_u8; 20_000]).unwrap();
    let too_long = dap_protocol::DistBuffer::new(vec![dim].into(), array).unwrap();
    let options = dnpy_format::WriteOptions::new().format(dnpy_format::FormatVersion::V1_0);
    let e = save_with(&path, &too_long, options).unwrap_err();
    assert!(e.to_string().contains("part_0.dnpy"), "{e}");
    assert_eq!(load::<f64>(&path).unwrap(), part(1.0));
    assert_eq!(names(dir.path()), ["part_0.dnpy"]);
}

#[cfg(unix)]
#[test]
fn permissions_and_links_are_as_usual() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let dir = tempfile::tempdir().unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let ordinary = dir.path().join("ordinary");
    fs::write(&ordinary, "").unwrap();
    let path = dir.path().join("part_0.dnpy");
    save(&path, &part(1.0)).unwrap();
    assert_eq!(mode(&path), mode(&ordinary));

    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    save(&path, &part(2.0)).unwrap();
    assert_eq!(mode(&path), 0o640, "an existing file keeps its own");

    fs::create_dir(dir.path().join("sub")).unwrap();
    symlink("../part_0.dnpy", dir.path().join("sub/link.dnpy")).unwrap();
    let link = dir.path().join("sub/link.dnpy");
    save(&link, &part(3.0)).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(load::<f64>(&path).unwrap(), part(3.0));

    symlink("loop", dir.path().join("loop")).unwrap();
    assert!(save(dir.path().join("loop"), &part(3.0)).is_err());
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_not_replaced() {
    use std::os::unix::fs::FileTypeExt;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let _listening = std::os::unix::net::UnixListener::bind(&path).unwrap();
    for target in [&path, Path::new("/dev/null"), dir.path()] {
        let e = save(target, &part(1.0)).unwrap_err();
        assert!(matches!(e, DnpyError::NotAFile { .. }), "{e}");
    }
    assert!(fs::metadata(&path).unwrap().file_type().is_socket());
    assert_eq!(names(dir.path()), ["socket"]);
}

#[test]
fn an_element_type_that_has_no_code_leaves_nothing_written() {
    let dim_data = dap_protocol::DimData::new(vec![dap_protocol::DimDict::whole(2).unwrap()]);
    let array = dap_protocol::HostArray::new(vec![2], vec![half::bf16::ONE; 2]).unwrap();
    let part = dap_protocol::DistBuffer::new(dim_data, array).unwrap();
    let mut written = Vec::new();
    let e = write_localarray(&mut written, &part).unwrap_err();
    assert!(matches!(e, DnpyError::NoTypeCode { .. }), "{e}");
    assert_eq!(written, b"");
}

#[test]
fn a_spelling_of_python_2_in_the_shape_is_reported() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("part_0.dnpy");
    let mut bytes = Vec::new();
    write_localarray(&mut bytes, &part(1.0)).unwrap();
    let at = bytes.windows(4).position(|w| w == b"(5,)").unwrap();
    bytes.splice(at..at + 4, *b"(5L,)");
    let room = at + bytes[at..].windows(2).position(|w| w == b"  ").unwrap();
    bytes.remove(room);
    fs::write(&path, &bytes).unwrap();
    let info = inspect(&path).unwrap();
    let [dnpy_format::Repair::Spelling { offset, .. }] = info.repairs() else {
        panic!("{:?}", info.repairs())
    };
    assert!(
        (at as u64..at as u64 + 4).contains(offset),
        "{offset}, {at}"
    );
    assert_eq!(load::<f64>(&path).unwrap(), part(1.0));
}

#[test]
fn names_that_cannot_be_saved_to_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(
        save(dir.path().join(".."), &part(1.0)),
        Err(DnpyError::FileName { .. })
    ));
    let missing = dir.path().join("no/such/dir/part_0.dnpy");
    let e = save(&missing, &part(1.0)).unwrap_err();
    assert!(e.to_string().contains("no/such/dir"), "{e}");
    let e = load::<f64>(&missing).unwrap_err();
    assert!(e.to_string().contains("no/such/dir"), "{e}");
    assert!(load::<f64>(dir.path()).is_err(), "a directory is no file");
}

#[test]
fn the_wrong_type_or_length_is_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("part_0.dnpy");
    save(&path, &part(1.0)).unwrap();
    let e = load::<f32>(&path).unwrap_err();
    assert_eq!(e.offset(), Some(170), "{e}");
    let e = read_into(&path, &mut [0.0_f64; 4]).unwrap_err();
    assert!(e.to_string().contains("4 element(s), the file 5"), "{e}");
    assert!(read_into(&path, &mut [0_i64; 5]).is_err());
    assert!(MappedPart::open(&path).unwrap().part::<i64>().is_err());
    // opening reads headers only
    assert_eq!(
        PartFile::open(&path).unwrap().info(),
        &inspect(&path).unwrap()
    );
}

#[test]
fn bytes_behind_the_array_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("part_0.dnpy");
    let mut bytes = Vec::new();
    write_localarray(&mut bytes, &part(1.0)).unwrap();
    bytes.extend_from_slice(b"more");
    fs::write(&path, &bytes).unwrap();
    assert_eq!(load::<f64>(&path).unwrap(), part(1.0));
    let mut reader = &bytes[..];
    dnpy_format::read_localarray::<f64, _>(&mut reader).unwrap();
    assert_eq!(reader, b"more");
}

#[test]
fn unaligned_elements_are_not_mapped_but_read() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("odd.npy");
    let text = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }\n";
    let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
    bytes.extend_from_slice(&[u8::try_from(text.len()).unwrap(), 0]);
    bytes.extend_from_slice(text.as_bytes());
    assert_ne!(bytes.len() % 8, 0);
    for value in [1.5_f64, 2.5] {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
    fs::write(&path, &bytes).unwrap();
    assert_eq!(
        dnpy_format::npy::load::<f64>(&path).unwrap().data(),
        [1.5, 2.5]
    );
    let e = dnpy_format::MappedArray::<f64>::open_npy(&path).unwrap_err();
    assert!(e.to_string().contains("alignment"), "{e}");
}

#[test]
fn opening_costs_the_same_whatever_the_size() {
    // the benchmark measures it; here only that a sparse file of 64 GiB is opened at once
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse.dnpy");
    let n: u64 = 1 << 33;
    let dim_data = dap_protocol::DimData::new(vec![dap_protocol::DimDict::whole(n).unwrap()]);
    let mut head = Vec::new();
    dnpy_format::write_array_header(
        &mut head,
        dap_protocol::ProtocolVersion::CURRENT,
        &dim_data,
        None,
        dnpy_format::Alignment::Sixteen,
    )
    .unwrap();
    let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({n},), }}\n");
    head.extend_from_slice(b"\x93NUMPY\x01\x00");
    head.extend_from_slice(&[u8::try_from(text.len()).unwrap(), 0]);
    head.extend_from_slice(text.as_bytes());
    fs::write(&path, &head).unwrap();
    let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
    if let Err(e) = file.set_len(head.len() as u64 + n * 8) {
        println!("skipped: this file system has no sparse files of 64 GiB: {e}");
        return;
    }
    let begin = Instant::now();
    let mapped = MappedPart::open(&path).unwrap();
    assert_eq!(mapped.info().dim_data(), &dim_data);
    assert!(begin.elapsed().as_secs() < 5);
}
