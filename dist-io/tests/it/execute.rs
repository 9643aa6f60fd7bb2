//! Files written by all ranks hold every element in its place, and are read back the same, by both strategies.

use dist_comm::{Communicator, FileMode, SharedFileOps, ThreadComm};
use dist_io::{Direction, FileLayout, IoError, IoPlan, Strategy, read_elements, write_elements};
use dist_maps::{Distribution, testkit};
use proptest::prelude::*;

use crate::laws::tries;
use crate::support::{every_kind, flat_indices, owned_positions, temporary};

/// The bytes of the element at a flat index.
fn bytes(flat: u64, item: usize) -> Vec<u8> {
    (0..item as u64)
        .map(|i| (flat * 31 + i * 7 + 1) as u8)
        .collect()
}

fn part_bytes(d: &Distribution, rank: usize, item: usize, padding: Option<u8>) -> Vec<u8> {
    if d.grid_rank(rank).is_none() {
        return Vec::new();
    }
    let dim_data = d.dim_data(rank).unwrap();
    let all = flat_indices(&dim_data)
        .into_iter()
        .zip(owned_positions(&dim_data));
    all.flat_map(|(flat, owned)| match padding {
        Some(byte) if !owned => vec![byte; item],
        _ => bytes(flat, item),
    })
    .collect()
}

fn round_trip(d: &Distribution, item: usize, strategy: Strategy) {
    let folder = temporary();
    let path = folder.path().join("elements");
    let size: u64 = d.global_shape().iter().product();
    let plan = |direction| {
        IoPlan::new(d, item, FileLayout::Contiguous, direction)
            .unwrap()
            .with_strategy(strategy)
    };
    let (write, read) = (plan(Direction::Write), plan(Direction::Read));
    let reports = ThreadComm::run(d.ranks(), |comm| {
        let file = comm.open_shared(&path, FileMode::Create)?;
        let mine = part_bytes(d, comm.rank(), item, Some(0xee));
        let report = write_elements(comm, &*file, 5, &write, &mine)?;
        comm.barrier()?;
        let mut back = vec![0xaa; mine.len()];
        read_elements(comm, &*file, 5, &read, &mut back)?;
        assert_eq!(
            back,
            part_bytes(d, comm.rank(), item, None),
            "rank {}",
            comm.rank()
        );
        Ok::<_, IoError>(report)
    })
    .unwrap();
    let written = std::fs::read(&path).unwrap();
    let mut expected = if size == 0 { Vec::new() } else { vec![0; 5] };
    (0..size).for_each(|flat| expected.extend(bytes(flat, item)));
    assert_eq!(written, expected);
    let total: u64 = reports.iter().map(|report| report.file_bytes).sum();
    assert_eq!(total, size * item as u64);
}

proptest! {
    #![proptest_config(tries(24))]

    #[test]
    fn any_distribution_any_strategy(
        spec in testkit::distribution(2, 7),
        item in prop::sample::select(vec![1, 2, 4, 8, 16]),
        two_phase: bool,
    ) {
        let strategy = if two_phase { Strategy::TwoPhase } else { Strategy::Direct };
        round_trip(&spec.build().unwrap(), item, strategy);
    }
}

#[test]
fn padding_stays_out_of_the_file_and_is_filled_from_it() {
    for ranks in 1..=4 {
        for (_, d) in every_kind(ranks) {
            round_trip(&d, 2, Strategy::TwoPhase);
            round_trip(&d, 2, Strategy::Direct);
        }
    }
}

#[test]
fn plans_that_differ_and_starts_that_are_too_large_are_refused() {
    let folder = temporary();
    let path = folder.path().join("elements");
    let d = Distribution::over(3).shape([6]).block(0).build().unwrap();
    let plan = |direction| IoPlan::new(&d, 4, FileLayout::Contiguous, direction).unwrap();
    let errors = ThreadComm::run(3, |comm| {
        let file = comm.open_shared(&path, FileMode::Create)?;
        let one = comm.rank() == 2;
        let mine = [1; 8];
        let turned = plan(if one {
            Direction::Read
        } else {
            Direction::Write
        });
        let turned = write_elements(comm, &*file, 0, &turned, &mine).unwrap_err();
        let other = plan(Direction::Write).with_strategy(if one {
            Strategy::TwoPhase
        } else {
            Strategy::Direct
        });
        let other = write_elements(comm, &*file, 0, &other, &mine).unwrap_err();
        let start = u64::from(one);
        let apart =
            write_elements(comm, &*file, start, &plan(Direction::Write), &mine).unwrap_err();
        let far = write_elements(comm, &*file, u64::MAX - 7, &plan(Direction::Write), &mine);
        Ok::<_, IoError>([turned, other, apart, far.unwrap_err()])
    })
    .unwrap();
    assert!(errors.iter().all(|error| *error == errors[0]));
    let [differing @ .., far] = &errors[0];
    for error in differing {
        assert!(
            matches!(
                error,
                IoError::Differ {
                    what: "plan",
                    rank: 2,
                    ..
                }
            ),
            "{error:?}"
        );
    }
    assert!(matches!(far, IoError::Overflow { .. }), "{far:?}");
}

/// As many bytes by the same strategy, of other elements: messages of lengths that nobody expects.
#[test]
fn plans_of_two_distributions_are_refused() {
    let folder = temporary();
    let path = folder.path().join("elements");
    let over = || Distribution::over(2).shape([8, 8]);
    let pairs = [
        (over().block(0), over().block(1)),
        (over().cyclic(0), over().block_cyclic(0, 2)),
        (over().block(0), over().block(0).padding(1)),
        (
            over().unstructured(1, [vec![0_i64, 1, 2, 3], vec![4, 5, 6, 7]]),
            over().unstructured(1, [vec![4_i64, 5, 6, 7], vec![0, 1, 2, 3]]),
        ),
    ];
    for (one, other) in pairs.map(|(a, b)| (a.build().unwrap(), b.build().unwrap())) {
        for strategy in [Strategy::Direct, Strategy::TwoPhase] {
            let errors = ThreadComm::run(2, |comm| {
                let d = [&one, &other][comm.rank()];
                let plan = |direction| {
                    let plan = IoPlan::new(d, 4, FileLayout::Contiguous, direction)?;
                    Ok::<_, IoError>(plan.with_strategy(strategy))
                };
                let file = comm.open_shared(&path, FileMode::Create)?;
                let mut mine = part_bytes(d, comm.rank(), 4, None);
                let written = write_elements(comm, &*file, 0, &plan(Direction::Write)?, &mine);
                let read = read_elements(comm, &*file, 0, &plan(Direction::Read)?, &mut mine);
                Ok::<_, IoError>([written.unwrap_err(), read.unwrap_err()])
            })
            .unwrap();
            assert_eq!(errors[0], errors[1]);
            for error in &errors[0] {
                let differ = matches!(
                    error,
                    IoError::Differ {
                        what: "plan",
                        rank: 1,
                        ..
                    }
                );
                assert!(differ, "{one:?}, {other:?}: {error}");
            }
            assert_eq!(std::fs::metadata(&path).unwrap().len(), 0);
        }
    }
}

#[test]
fn an_error_of_one_rank_is_that_of_all() {
    let folder = temporary();
    let path = folder.path().join("elements");
    let d = Distribution::over(3).shape([6]).block(0).build().unwrap();
    let plan = IoPlan::new(&d, 4, FileLayout::Contiguous, Direction::Write).unwrap();
    let read = IoPlan::new(&d, 4, FileLayout::Contiguous, Direction::Read).unwrap();
    let errors = ThreadComm::run(3, |comm| {
        let file = comm.open_shared(&path, FileMode::Create)?;
        // rank 1 has a byte too few
        let mine = vec![1; 8 - usize::from(comm.rank() == 1)];
        let short = write_elements(comm, &*file, 0, &plan, &mine).unwrap_err();
        // nothing was written, so there is nothing to read
        let empty = read_elements(comm, &*file, 0, &read, &mut [0; 8]).unwrap_err();
        let turned = read_elements(comm, &*file, 0, &plan, &mut [0; 8]).unwrap_err();
        Ok::<_, IoError>([short, empty, turned])
    })
    .unwrap();
    assert!(errors.iter().all(|error| *error == errors[0]));
    let [short, empty, turned] = &errors[0];
    assert_eq!(
        short.to_string(),
        "rank 1: a buffer of 7 bytes for a part of 8"
    );
    assert!(
        empty.to_string().starts_with("rank 0: file read: rank 0: "),
        "{empty}"
    );
    assert!(matches!(turned, IoError::Direction { .. }));
}
