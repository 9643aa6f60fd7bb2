//! The lazy handle: every selection, composed, in every distribution, against arrays in memory; and its cases on thread ranks.

use dap_protocol::HostArray;
use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::{IoError, Refusal, SaveHdf5, open_dset};
use dist_maps::Distribution;
use hdf5_metno::dataset::Layout;
use proptest::prelude::*;
use rustix::fs::{FlockOperation, flock};

use crate::support::{part_with, temporary};
use crate::{arrays, model, pieces};

fn cases(n: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok();
    let asked = asked.and_then(|n| n.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(n),
        ..ProptestConfig::default()
    }
}

#[test]
fn cases_on_thread_ranks() {
    let mut failed = Vec::new();
    for (name, run) in arrays::CASES.iter().chain(pieces::CASES) {
        for ranks in [1, 2, 3, 4, 7] {
            let outcome =
                ThreadComm::run(ranks, |comm| run(comm).map_err(|error| error.to_string()));
            if let Err(error) = outcome {
                failed.push(format!("{name}, on {ranks} ranks: {error}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// h5py makes contiguous datasets that have no room in the file before they are written to.
#[test]
fn a_dataset_that_was_never_written_gets_its_room() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let file = hdf5_metno::File::create(&path).unwrap();
    let late = || file.new_dataset_builder().empty::<i32>().fill_value(-1);
    late().shape([6, 5]).create("late").unwrap();
    late().shape(()).create("one").unwrap();
    late().chunk([4, 4]).shape([6, 5]).create("chunks").unwrap();
    late()
        .layout(Layout::Compact)
        .shape([6, 5])
        .create("compact")
        .unwrap();
    file.close().unwrap();
    for ranks in [1, 3] {
        ThreadComm::run(ranks, |comm| {
            for key in ["late", "chunks"] {
                let a = open_dset::<i32>(&path, key, comm)?;
                let expected =
                    |column: i32| (0..30).map(move |at| if at % 5 == column { at } else { -1 });
                let values: Vec<i32> = expected(2).filter(|&x| x >= 0).collect();
                let column = a.slice(&[(..).into(), 2.into()])?;
                column.assign_from(&HostArray::new(vec![6], values)?)?;
                assert!(a.gather()?.data().iter().copied().eq(expected(2)), "{key}");
            }
            let one = open_dset::<i32>(&path, "one", comm)?;
            one.fill(comm.size() as i32)?;
            assert_eq!(one.at(&[])?, comm.size() as i32);
            let compact = open_dset::<i32>(&path, "compact", comm)?;
            assert_eq!(compact.gather()?.data(), [-1; 30]);
            let refused = compact.fill(0).unwrap_err();
            assert!(refused.to_string().contains("compact"), "{refused}");
            Ok::<_, IoError>(())
        })
        .unwrap();
    }
    let file = hdf5_metno::File::open(&path).unwrap();
    let all = file.dataset("late").unwrap().read_raw::<i32>().unwrap();
    assert_eq!(
        all,
        file.dataset("chunks").unwrap().read_raw::<i32>().unwrap()
    );
    assert_eq!((all[0], all[2], all[27]), (-1, 2, 27));
}

/// Another program that has the file open keeps assignments away, and an assignment keeps other programs away.
#[test]
fn a_file_that_another_has_open_is_not_written_to() {
    if std::env::var_os("HDF5_USE_FILE_LOCKING").is_some() {
        println!("skipped: HDF5_USE_FILE_LOCKING decides what is locked");
        return;
    }
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let d = Distribution::over(1).shape([6]).build().unwrap();
    let part = part_with::<i32>(&d.dim_data(0).unwrap(), None);
    SaveHdf5::new(&path)
        .save(&part, &SingleComm::new())
        .unwrap();
    let comm = SingleComm::new();
    let a = open_dset::<i32>(&path, "buffer", &comm).unwrap();
    let other = std::fs::File::open(&path).unwrap();
    flock(&other, FlockOperation::NonBlockingLockShared).unwrap();
    let refused = a.fill(0).unwrap_err();
    let locked = matches!(&refused, IoError::Hdf5 { refusal, .. } if matches!(**refusal, Refusal::Locked { .. }));
    assert!(locked, "{refused}");
    assert_eq!(a.load().unwrap(), part);
    flock(&other, FlockOperation::Unlock).unwrap();
    a.fill(0).unwrap();
    assert_eq!(a.load().unwrap().buffer().data(), [0; 6]);
}

proptest! {
    #![proptest_config(cases(96))]

    #[test]
    fn any_selections_any_distribution_any_storage(ranks in 1..=7_usize, seed: u64) {
        let outcome = ThreadComm::run(ranks, |comm| {
            model::reads(seed, comm).map_err(|error| error.to_string())
        });
        prop_assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    }

    #[test]
    fn any_assignment_any_storage(ranks in 1..=7_usize, seed: u64) {
        let outcome = ThreadComm::run(ranks, |comm| {
            model::writes(seed, comm).map_err(|error| error.to_string())
        });
        prop_assert!(outcome.is_ok(), "{}", outcome.unwrap_err());
    }
}
