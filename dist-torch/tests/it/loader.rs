//! Loaders give what reading by oneself gives, in the same order, and end when they are left.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dist_comm::{Communicator, SingleComm, ThreadComm};
use dist_torch::{
    Batch, DataError, DistDataset, Loader, Rows, SampleRng, Schedule, SourceError, Uneven, from_fn,
};

fn numbers(n: u64) -> Arc<DistDataset> {
    let source = from_fn(n, |row| {
        Ok::<_, SourceError>((row, vec![row as f32; 5], format!("{row}")))
    });
    Arc::new(DistDataset::new("numbers", &SingleComm::new(), &source).unwrap())
}

#[test]
fn an_epoch_is_what_reading_by_oneself_gives() {
    let outcome = ThreadComm::run(3, |comm| {
        let source = from_fn(41, |row| Ok::<_, SourceError>((row, format!("{row}"))));
        let data = Arc::new(DistDataset::new("numbers", comm, &source)?);
        for (workers, prefetch, uneven) in [
            (1, 1, Uneven::Exact),
            (2, 2, Uneven::Pad),
            (4, 1, Uneven::Drop),
            (0, 0, Uneven::Exact),
        ] {
            let schedule = Schedule::new(41, 7).seed(5).uneven(uneven);
            let loader = Loader::new(&data, schedule)
                .rank(comm.rank(), 3)?
                .workers(workers)
                .prefetch(prefetch);
            for number in 0..2 {
                let epoch = schedule.epoch(number)?;
                let mut loaded = loader.epoch(number)?;
                assert_eq!(loaded.size_hint().0 as u64, epoch.steps());
                for step in 0..epoch.steps() {
                    let item = loaded.next().unwrap()?;
                    let rows = epoch.rows(step, comm.rank(), 3);
                    assert_eq!(item.batch.field::<u64>("0")?.data(), rows);
                    assert!(
                        item.batch
                            .texts("1")?
                            .iter()
                            .zip(&rows)
                            .all(|(text, row)| text == row.to_string())
                    );
                    assert_eq!(
                        (item.step, item.rows, item.real_rows),
                        (step, rows, epoch.real_rows(step, comm.rank(), 3))
                    );
                    assert_eq!(loaded.state().position(), epoch.position_after(step));
                }
                assert!(loaded.next().is_none() && loaded.next().is_none());
            }
        }
        Ok::<_, DataError>(())
    });
    outcome.unwrap();
}

#[test]
fn a_state_goes_on_where_it_was_taken() {
    let data = numbers(30);
    let loader = Loader::new(&data, Schedule::new(30, 4).seed(1)).workers(2);
    let whole: Vec<Vec<u64>> = loader
        .epoch(6)
        .unwrap()
        .map(|item| item.unwrap().rows)
        .collect();
    for cut in 0..=whole.len() {
        let mut epoch = loader.epoch(6).unwrap();
        epoch.by_ref().take(cut).for_each(drop);
        // however many were read ahead
        let rest = loader.resume(&epoch.state()).unwrap();
        let rest: Vec<_> = rest.map(|item| item.unwrap().rows).collect();
        assert_eq!(rest, whole[cut..]);
    }
    // a state of other data
    let other = Loader::new(&numbers(29), Schedule::new(29, 4));
    let state = loader.epoch(0).unwrap().state();
    assert!(matches!(
        other.resume(&state),
        Err(DataError::State { what: "rows", .. })
    ));
    assert!(matches!(
        Loader::new(&data, Schedule::new(7, 2)).epoch(0),
        Err(DataError::State { .. })
    ));
    assert!(matches!(
        Loader::new(&data, Schedule::new(30, 0)).epoch(0),
        Err(DataError::Batch { .. })
    ));
    assert!(Loader::new(&data, Schedule::new(30, 1)).rank(2, 2).is_err());
    assert!(
        Loader::new(&data, Schedule::new(30, 1))
            .fields(&["x"])
            .is_err()
    );
}

#[test]
fn epochs_may_overlap_and_be_left() {
    let data = numbers(20);
    let loader = Loader::new(&data, Schedule::new(20, 3)).workers(2);
    let first: Vec<u64> = loader
        .epoch(0)
        .unwrap()
        .flat_map(|item| item.unwrap().rows)
        .collect();
    let mut left = loader.epoch(0).unwrap();
    left.next().unwrap().unwrap();
    let mut one = loader.epoch(0).unwrap();
    let two = loader.epoch(0).unwrap();
    let mut rows = one.next().unwrap().unwrap().rows;
    assert_eq!(
        two.flat_map(|item| item.unwrap().rows).collect::<Vec<_>>(),
        first
    );
    drop(left);
    rows.extend(one.flat_map(|item| item.unwrap().rows));
    assert_eq!(rows, first);
    // threads have ended: nobody else has the data any more
    drop(loader);
    assert_eq!(Arc::strong_count(&data), 1);
}

#[test]
fn batches_that_are_kept_do_not_stop_the_loader() {
    let data = numbers(50);
    let loader = Loader::new(&data, Schedule::new(50, 2))
        .workers(2)
        .prefetch(1);
    let kept: Vec<_> = loader.epoch(0).unwrap().map(Result::unwrap).collect();
    assert_eq!(kept.len(), 25);
    for item in &kept {
        assert_eq!(item.batch.field::<u64>("0").unwrap().data(), item.rows);
    }
}

#[test]
fn no_more_is_read_ahead_than_was_said() {
    let data = numbers(40);
    let begun = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&begun);
    let loader = Loader::new(&data, Schedule::new(40, 1))
        .workers(2)
        .prefetch(3);
    let mut epoch = loader
        .epoch_with(0, move |loaded| {
            counted.fetch_add(1, Ordering::SeqCst);
            loaded.step
        })
        .unwrap();
    for step in 0..40 {
        assert_eq!(epoch.next().unwrap().unwrap(), step);
        assert!(begun.load(Ordering::SeqCst) <= step as usize + 1 + 6);
        assert!(epoch.ready() <= 6);
    }
}

#[test]
fn work_in_the_threads_does_not_depend_on_their_number() {
    let data = numbers(30);
    let run = |workers| -> Vec<Vec<u64>> {
        let loader = Loader::new(&data, Schedule::new(30, 4))
            .workers(workers)
            .fields(&["1"])
            .unwrap();
        let epoch = loader.epoch_with(2, |loaded| {
            assert!(matches!(
                loaded.batch.field::<u64>("0"),
                Err(DataError::NotRead { .. })
            ));
            loaded
                .rows
                .iter()
                .map(|&row| SampleRng::new(9, 2, row).next_u64())
                .collect()
        });
        epoch.unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(run(1), run(3));
}

#[test]
fn a_panic_in_a_thread_is_one_of_next() {
    let data = numbers(9);
    let loader = Loader::new(
        &data,
        Schedule::new(9, 3).order(dist_torch::Order::Sequential),
    )
    .workers(2);
    let mut epoch = loader
        .epoch_with(0, |loaded| assert_ne!(loaded.step, 1, "the second"))
        .unwrap();
    epoch.next().unwrap().unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| epoch.next())).unwrap_err();
    let text = panic.downcast_ref::<String>().unwrap();
    assert!(text.contains("the second"), "{text}");
    // the others come all the same
    epoch.next().unwrap().unwrap();
    assert!(epoch.next().is_none());
}

#[test]
fn no_rows_are_no_steps() {
    let data = numbers(0);
    let mut epoch = Loader::new(&data, Schedule::new(0, 3))
        .workers(2)
        .epoch(0)
        .unwrap();
    assert!(epoch.next().is_none());
    let mut batch = Batch::default();
    data.read(&[], &mut batch).unwrap();
    assert!(batch.is_empty());
}
