//! Chunked datasets of any shape of chunks, in any distribution and through any filters, hold every element in its place.

use std::process::{Command, Stdio};

use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::{IoError, SaveHdf5, Wanted, WriteMode, load_hdf5};
use dist_maps::{Distribution, testkit};
use proptest::prelude::*;

use crate::laws::tries;
use crate::support::{part_with, temporary};

proptest! {
    #![proptest_config(tries(48))]

    #[test]
    fn any_distribution_any_chunks_any_filters(
        spec in testkit::distribution(3, 7),
        ranks in 1..=4_usize,
        sizes in prop::collection::vec(1..6_u64, 3),
        shuffle: bool,
        deflate in prop::option::of(0..=9_u8),
        fletcher32: bool,
    ) {
        let d = spec.build().unwrap();
        let folder = temporary();
        let path = folder.path().join("a.h5");
        let mut save = SaveHdf5::new(&path)
            .mode(WriteMode::CreateNew)
            .chunk(&sizes[..d.ndim()])
            .shuffle(shuffle)
            .fletcher32(fletcher32);
        if let Some(level) = deflate {
            save = save.deflate(level);
        }
        ThreadComm::run(d.ranks(), |comm| {
            let dim_data = d.dim_data(comm.rank())?;
            save.save(&part_with::<i32>(&dim_data, Some(-1)), comm)?;
            if d.grid_rank(comm.rank()).is_some() {
                let back = load_hdf5::<i32>(&path, Wanted::AsSaved, "buffer", comm)?;
                assert_eq!(back, part_with(&dim_data, None), "rank {}", comm.rank());
            } else {
                load_hdf5::<i32>(&path, Wanted::AsSaved, "buffer", comm)?;
            }
            Ok::<_, IoError>(())
        })
        .unwrap();
        // all of it by one rank, and by other ranks
        let whole = Distribution::over(1).shape(d.global_shape()).build().unwrap();
        let all = load_hdf5::<i32>(&path, &whole, "buffer", &SingleComm::new()).unwrap();
        prop_assert_eq!(all, part_with(&whole.dim_data(0).unwrap(), None));
        if d.ndim() > 0 {
            let other = Distribution::over(ranks).shape(d.global_shape()).block_cyclic(d.ndim() - 1, 2);
            let other = other.build().unwrap();
            ThreadComm::run(ranks, |comm| {
                let part = load_hdf5::<i32>(&path, &other, "buffer", comm)?;
                assert_eq!(part, part_with(&other.dim_data(comm.rank())?, None));
                Ok::<_, IoError>(())
            })
            .unwrap();
        }
    }
}

/// A process that is started during a save may outlive it: it must not keep others from the file.
#[test]
fn a_process_started_during_a_save_locks_nothing() {
    if std::env::var_os("HDF5_USE_FILE_LOCKING").is_some() {
        println!("skipped: HDF5_USE_FILE_LOCKING decides what is locked");
        return;
    }
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let d = Distribution::over(1).shape([64]).build().unwrap();
    let part = part_with::<f64>(&d.dim_data(0).unwrap(), None);
    let mut children = Children(Vec::new());
    std::thread::scope(|scope| {
        let saves = scope.spawn(|| {
            for _ in 0..40 {
                let save = SaveHdf5::new(&path)
                    .mode(WriteMode::Replace)
                    .chunk([8])
                    .deflate(1);
                save.save(&part, &SingleComm::new()).unwrap();
                let save = SaveHdf5::new(&path).mode(WriteMode::Append).key("b");
                save.save(&part, &SingleComm::new()).unwrap();
                let back = load_hdf5::<f64>(&path, &d, "b", &SingleComm::new());
                assert_eq!(back.unwrap(), part);
            }
        });
        while !saves.is_finished() {
            let sleeping = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn();
            children.0.push(sleeping.unwrap());
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
    });
    assert!(!children.0.is_empty());
}

/// Processes that end with the test, however it ends.
struct Children(Vec<std::process::Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
