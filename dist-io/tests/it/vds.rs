//! Files in parts on 1 to 7 thread ranks: the list of cases, and any distribution into any other.

use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_io::legate::{FileQueue, from_file, from_file_batched, repack, to_file};
use dist_io::{IoError, Wanted};
use dist_maps::{Distribution, testkit};
use proptest::prelude::*;

use crate::parts::CASES;
use crate::support::{part_with, temporary};

#[test]
fn cases_on_thread_ranks() {
    let mut failed = Vec::new();
    for (name, run) in CASES {
        for ranks in [1, 2, 3, 4, 5, 7] {
            let outcome =
                ThreadComm::run(ranks, |comm| run(comm).map_err(|error| error.to_string()));
            if let Err(error) = outcome {
                failed.push(format!("{name}, on {ranks} ranks: {error}"));
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn a_file_that_is_cut_is_an_error() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let d = Distribution::over(1).shape([4, 5]).build().unwrap();
    let comm = SingleComm::new();
    let mine = part_with::<i32>(&d.dim_data(0).unwrap(), None);
    to_file(&mine, &path, "/group/a", &comm).unwrap();
    let whole = std::fs::read(&path).unwrap();
    for len in (0..whole.len()).step_by(7).chain([whole.len() - 1]) {
        std::fs::write(&path, &whole[..len]).unwrap();
        let error = from_file::<i32>(&path, "/group/a", &d, &comm).unwrap_err();
        assert!(
            matches!(error, IoError::Hdf5 { .. }),
            "cut at {len}: {error:?}"
        );
        assert!(from_file_batched::<i32>(&path, "/group/a", &[1, 1]).is_err());
        let repacked = repack(&path, &path);
        assert!(
            repacked.is_err(),
            "cut at {len} of {}, {error:?}",
            whole.len()
        );
        // a save does not take it for a file that it can add to
        assert!(to_file(&mine, &path, "/b", &comm).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), whole[..len]);
    }
    std::fs::write(&path, &whole).unwrap();
    assert_eq!(
        from_file::<i32>(&path, "/group/a", &d, &comm).unwrap(),
        mine
    );
}

#[test]
fn folders_are_made_by_several_at_once() {
    let folder = temporary();
    let d = Distribution::over(1).shape([4, 5]).build().unwrap();
    let mine = part_with::<i32>(&d.dim_data(0).unwrap(), None);
    for round in 0..10 {
        let deep = folder.path().join(format!("{round}/one/in/another"));
        let together = std::sync::Barrier::new(4);
        std::thread::scope(|scope| {
            for number in 0..4 {
                let (deep, d, mine, together) = (&deep, &d, &mine, &together);
                scope.spawn(move || {
                    let path = deep.join(format!("{number}.h5"));
                    together.wait();
                    to_file(mine, &path, "a", &SingleComm::new()).unwrap();
                    let back = from_file::<i32>(&path, "a", d, &SingleComm::new()).unwrap();
                    assert_eq!(back, *mine);
                });
            }
        });
        assert_eq!(std::fs::read_dir(&deep).unwrap().count(), 8);
    }
}

#[test]
fn a_file_does_not_grow_from_save_to_save() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let d = Distribution::over(1).shape([4, 5]).build().unwrap();
    let mine = part_with::<i32>(&d.dim_data(0).unwrap(), None);
    let save = || {
        to_file(&mine, &path, "a", &SingleComm::new()).unwrap();
        std::fs::metadata(&path).unwrap().len()
    };
    let first = save();
    assert!((0..5).all(|_| save() == first));
}

#[test]
fn chunks_are_read_into_the_memory_of_others() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let d = Distribution::over(1).shape([9, 5]).build().unwrap();
    let mine = part_with::<i32>(&d.dim_data(0).unwrap(), None);
    to_file(&mine, &path, "a", &SingleComm::new()).unwrap();
    for budget in [u64::MAX, 80] {
        let batches = from_file_batched::<i32>(&path, "a", &[4, 5]).unwrap();
        let mut batches = batches.within(budget).unwrap();
        let mut elements = Vec::new();
        while let Some(batch) = batches.next() {
            let chunk = batch.unwrap().0;
            elements.extend_from_slice(chunk.data());
            batches.recycle(chunk);
        }
        assert_eq!(elements, mine.buffer().data());
    }
}

/// What other programs may ask for, on so many ranks.
fn others(shape: &[u64], ranks: usize) -> Vec<Distribution> {
    let over = || Distribution::over(ranks).shape(shape);
    if shape.is_empty() {
        return vec![over().build().unwrap()];
    }
    let last = shape.len() - 1;
    vec![
        over().block(0).padding(1).build().unwrap(),
        over().cyclic(last).build().unwrap(),
        over().block_cyclic(0, 2).build().unwrap(),
    ]
}

fn cases(n: u32) -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES")
        .ok()
        .and_then(|n| n.parse().ok());
    ProptestConfig {
        cases: asked.unwrap_or(n),
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn any_distribution_into_any_other(spec in testkit::distribution(2, 6), readers in 1..5_usize) {
        let d = spec.build().unwrap();
        let folder = temporary();
        let path = folder.path().join("a.h5");
        ThreadComm::run(d.ranks(), |comm| {
            let mine = part_with::<i16>(&d.dim_data(comm.rank())?, Some(-1));
            to_file(&mine, &path, "/a", comm)?;
            let back = from_file::<i16>(&path, "/a", Wanted::AsSaved, comm)?;
            assert_eq!(back, part_with(&d.dim_data(comm.rank())?, None));
            Ok::<_, IoError>(())
        })
        .unwrap();
        let one = folder.path().join("one.h5");
        repack(&path, &one).unwrap();
        for other in others(d.global_shape(), readers) {
            ThreadComm::run(readers, |comm| {
                for path in [&path, &one] {
                    let back = from_file::<i16>(path, "/a", &other, comm)?;
                    assert_eq!(back, part_with(&other.dim_data(comm.rank())?, None));
                }
                Ok::<_, IoError>(())
            })
            .unwrap();
        }
    }
}

const DROPS: &str = "DIST_IO_TEST_DROPS";

/// This test starts itself again as a program that forgets its fence.
#[test]
fn saves_that_were_never_written_are_told() {
    let folder = temporary();
    let path = folder.path().join("a.h5");
    let d = Distribution::over(1).shape([4, 5]).build().unwrap();
    let mine = part_with::<i32>(&d.dim_data(0).unwrap(), None);
    let comm = SingleComm::new();
    if std::env::var_os(DROPS).is_some() {
        let mut queue = FileQueue::new(&comm);
        queue.to_file_queued(&mine, "forgotten.h5", "a");
        queue.to_file_queued(&mine, "forgotten.h5", "b");
        return;
    }
    let forgotten = std::process::Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "vds::saves_that_were_never_written_are_told",
            "--nocapture",
        ])
        .env(DROPS, "yes")
        .current_dir(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&forgotten.stderr);
    assert!(
        said.contains("2 not written, the first of them forgotten.h5:/a"),
        "{said}"
    );
    assert!(!folder.path().join("forgotten.h5").exists());
    // a scope has its fence, unless its work fails
    FileQueue::scope(&comm, |queue| {
        queue.to_file_queued(&mine, &path, "a");
        Ok(())
    })
    .unwrap();
    assert_eq!(from_file::<i32>(&path, "a", &d, &comm).unwrap(), mine);
    let failed = FileQueue::scope(&comm, |queue| {
        queue.to_file_queued(&mine, &path, "b");
        Err::<(), _>(IoError::ItemSize { given: 3 })
    });
    assert!(matches!(failed, Err(IoError::Agreed(_))));
    assert!(from_file::<i32>(&path, "b", &d, &comm).is_err());
}
