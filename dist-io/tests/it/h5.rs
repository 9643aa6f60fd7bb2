//! The cases of HDF5 files on 1 to 4 thread ranks.

use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::legate::{from_file, from_file_batched, to_file};
use dist_io::{
    AttributeValue, IoError, Refusal, SaveHdf5, WriteMode, inspect_hdf5, load_hdf5, save_hdf5,
};
use dist_maps::Distribution;

use crate::cases::{CASES, part};
use crate::laws::on_thread_ranks;
use crate::support::temporary;

#[test]
fn cases_on_thread_ranks() {
    on_thread_ranks(CASES);
}

/// An external link leads into another file: nothing is read from there with this one's bytes, and nothing written.
#[test]
fn links_into_other_files_are_refused() {
    let folder = temporary();
    let [path, other] = ["main.h5", "other.h5"].map(|name| folder.path().join(name));
    let d = Distribution::over(1).shape([40]).build().unwrap();
    let comm = SingleComm::new();
    let array = part::<f64>(&d, &comm);
    save_hdf5(&path, &array, "mine", WriteMode::Replace, &comm).unwrap();
    save_hdf5(&other, &array, "g/x", WriteMode::Replace, &comm).unwrap();
    let file = hdf5_metno::File::open_rw(&path).unwrap();
    file.link_external("other.h5", "/g", "out").unwrap();
    file.link_soft("/out", "soft").unwrap();
    file.close().unwrap();
    let before = [&path, &other].map(|path| std::fs::read(path).unwrap());
    let append = WriteMode::Append;
    for (at, key) in [("out", "out/x"), ("soft", "soft/x")] {
        let new = format!("{at}/new");
        let refused = [
            inspect_hdf5(&path, key).err(),
            load_hdf5::<f64>(&path, &d, key, &comm).err(),
            from_file::<f64>(&path, key, &d, &comm).err(),
            from_file_batched::<f64>(&path, key, &[7]).err(),
            save_hdf5(&path, &array, &new, append, &comm).err(),
            to_file(&array, &path, &new, &comm).err(),
            to_file(&array, &path, key, &comm).err(),
        ];
        for (call, error) in refused.into_iter().enumerate() {
            let Some(IoError::Hdf5 { refusal, .. }) = &error else {
                panic!("call {call}: {error:?}");
            };
            let known = matches!(&**refusal, Refusal::AnotherFile { at: found } if found == at);
            assert!(known, "call {call}: {refusal:?}");
        }
    }
    let after = [&path, &other].map(|path| std::fs::read(path).unwrap());
    assert!(before == after, "a file was written to");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// Text that is no UTF-8, as other programs write it, is Latin-1.
#[test]
fn text_of_other_programs_is_read() {
    let folder = temporary();
    let path = folder.path().join("units.h5");
    let d = Distribution::over(1).shape([4]).build().unwrap();
    let comm = SingleComm::new();
    let save = SaveHdf5::new(&path).key("t").attribute("units", "?degC?");
    save.save(&part::<f64>(&d, &comm), &comm).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let at = bytes.windows(6).position(|found| found == b"?degC?");
    let at = at.expect("the text is in the file");
    bytes[at..at + 6].copy_from_slice(b"\xb0C, \xb5m");
    std::fs::write(&path, bytes).unwrap();
    let units = AttributeValue::Text("°C, µm".to_owned());
    assert_eq!(inspect_hdf5(&path, "t").unwrap().attributes["units"], units);
}

/// Lists need not have every index to be read, and what they leave out is not read either.
#[test]
fn few_rows_of_a_large_dataset_are_read() {
    let folder = temporary();
    let path = folder.path().join("sparse.h5");
    let rows = 1_000_000_usize;
    let file = hdf5_metno::File::create(&path).unwrap();
    let builder = file.new_dataset_builder().no_chunk();
    let builder = builder.alloc_time(Some(hdf5_metno::dataset::AllocTime::Early));
    let builder = builder.fill_time(hdf5_metno::dataset::FillTime::Never);
    builder.empty::<f64>().shape((rows, 8)).create("a").unwrap();
    file.close().unwrap();
    let hdf5_offset = match inspect_hdf5(&path, "a").unwrap().storage {
        dist_io::Storage::Contiguous { offset } => offset.unwrap(),
        other => panic!("{other:?}"),
    };
    let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
    let lists: Vec<Vec<i64>> = (0..2)
        .map(|rank| (0..1000).map(|i| i * 997 + rank * 31).rev().collect())
        .collect();
    for &row in lists.iter().flatten() {
        let bytes = (row as f64).to_ne_bytes();
        let at = hdf5_offset + row as u64 * 64 + 24;
        std::os::unix::fs::FileExt::write_all_at(&file, &bytes, at).unwrap();
    }
    let d = Distribution::over(2).shape([rows as u64, 8]);
    let d = d.unstructured(0, lists.clone()).build().unwrap();
    let parts = ThreadComm::run(2, |comm| {
        let alike = load_hdf5::<f64>(&path, &d, "a", comm)?;
        let dim_data = d.dim_data(comm.rank())?;
        assert_eq!(load_hdf5::<f64>(&path, &dim_data, "a", comm)?, alike);
        Ok::<_, IoError>(alike.buffer().data().to_vec())
    })
    .unwrap();
    for (part, list) in parts.iter().zip(&lists) {
        for (row, &index) in part.chunks(8).zip(list) {
            let mut expected = [0.0; 8];
            expected[3] = index as f64;
            assert_eq!(row, expected);
        }
    }
}

/// What others call dim_data does not keep a dataset from being read.
#[test]
fn a_dim_data_that_cannot_be_used_is_told() {
    let folder = temporary();
    let path = folder.path().join("odd.h5");
    let file = hdf5_metno::File::create(&path).unwrap();
    let dataset = file.new_dataset::<f64>().shape(3).create("a").unwrap();
    dataset.write(&[1.0, 2.0, 3.0]).unwrap();
    dataset
        .new_attr::<i64>()
        .create("dim_data")
        .unwrap()
        .write_scalar(&3)
        .unwrap();
    drop(dataset);
    file.close().unwrap();
    let info = inspect_hdf5(&path, "a").unwrap();
    assert_eq!((info.dim_data, info.version), (None, None));
    let error = info.dim_data_error.unwrap();
    assert!(error.contains("__version__"), "{error}");
    let d = Distribution::over(1).shape([3]).build().unwrap();
    let part = load_hdf5::<f64>(&path, &d, "a", &SingleComm::new()).unwrap();
    assert_eq!(part.buffer().data(), [1.0, 2.0, 3.0]);
}
