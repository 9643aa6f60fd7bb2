//! Records in chunks, read by h5py.

use dap_protocol::{DistBuffer, HostArray, LocalBuffer};
use dist_comm::{Communicator, ThreadComm};
use dist_io::{FieldType, IoError, Record, SaveHdf5, Wanted, load_hdf5_records};
use dist_maps::Distribution;

use crate::python::run_h5py;
use crate::support::{flat_indices, temporary};

/// Records of 20 bytes, the last two of which belong to no field.
fn record() -> Record {
    let mut record = Record::packed([
        ("id", FieldType::of::<u32>()),
        ("x", FieldType::of::<f64>()),
        ("kind", FieldType::Text { bytes: 6 }),
    ]);
    record.bytes = 20;
    record
}

#[test]
fn h5py_reads_records_in_chunks() {
    let folder = temporary();
    let path = folder.path().join("records.h5");
    let record = record();
    for ranks in 1..=3 {
        let d = Distribution::over(ranks)
            .shape([9, 11, 20])
            .block_cyclic(0, 2)
            .cyclic(1)
            .build()
            .unwrap();
        let of_dataset = Distribution::over(ranks)
            .shape([9, 11])
            .block_cyclic(0, 2)
            .cyclic(1)
            .build()
            .unwrap();
        for (name, save) in [
            ("raw", SaveHdf5::new(&path).chunk([4, 3])),
            ("deflate", SaveHdf5::new(&path).chunk([2, 11]).deflate(4)),
            (
                "all",
                SaveHdf5::new(&path)
                    .chunk([9, 2])
                    .shuffle(true)
                    .deflate(9)
                    .fletcher32(true),
            ),
            ("chosen", SaveHdf5::new(&path).shuffle(true)),
            (
                "open",
                SaveHdf5::new(&path)
                    .chunk([3, 3])
                    .max_shape([None, Some(11)]),
            ),
        ] {
            let key = format!("{name}/{ranks}");
            ThreadComm::run(ranks, |comm| {
                let flat = flat_indices(&of_dataset.dim_data(comm.rank())?);
                let mut bytes = vec![0; flat.len() * 20];
                let ids: Vec<u32> = flat.iter().map(|&flat| flat as u32 * 1000).collect();
                let x: Vec<f64> = flat.iter().map(|&flat| flat as f64 * 0.25 - 7.0).collect();
                let kinds: Vec<String> = flat.iter().map(|flat| format!("k{flat}")).collect();
                record.put("id", &ids, &mut bytes)?;
                record.put("x", &x, &mut bytes)?;
                record.put_texts("kind", &kinds, &mut bytes)?;
                let dims = d.dim_data(comm.rank())?;
                let shape = d.local_shape(comm.rank());
                let mine = DistBuffer::new(dims, HostArray::new(shape, bytes)?)?;
                let save = save.clone().key(&key).record(record.clone());
                let plan = save.plan(&d, dap_protocol::ElementType::U8)?;
                save.save_planned(&plan, &mine, comm)?;
                let (found, back) = if name == "open" {
                    load_hdf5_records(&path, &of_dataset, &key, comm)?
                } else {
                    load_hdf5_records(&path, Wanted::AsSaved, &key, comm)?
                };
                assert_eq!(found, record);
                assert_eq!(back.buffer().shape(), mine.buffer().shape());
                assert!(back.buffer() == mine.buffer(), "{key}");
                Ok::<_, IoError>(())
            })
            .unwrap();
        }
    }
    run_h5py("h5py_records.py", "check", &path);
}
