//! A plan says for every element which byte it is, and for every byte of a write who writes it: against an enumeration of
//! elements that shares no code with it.

use std::collections::BTreeMap;

use dist_io::{Direction, FileLayout, FileRun, IoError, IoPlan, Strategy};
use dist_maps::testkit::{self, DistSpec};
use dist_maps::{AxisDist, Distribution};
use proptest::prelude::*;

use crate::laws::tries;
use crate::support::{every_kind, flat_indices, owned_positions};

/// Every element of the runs: its place in the file, in elements, by its place in the buffer.
fn elements(runs: impl Iterator<Item = FileRun>, item: usize) -> Vec<(usize, u64)> {
    let mut all = Vec::new();
    for run in runs {
        assert_eq!(run.offset % item as u64, 0);
        assert!(run.len > 0);
        let first = run.offset / item as u64;
        all.extend((0..run.len).map(|i| (run.local + i, first + i as u64)));
    }
    all
}

/// Flat indices of what a rank owns, in C order of its buffer, from the definition of the distribution.
fn owned(spec: &DistSpec, rank: usize) -> Vec<u64> {
    let Some(axes) = spec.owned(rank) else {
        return Vec::new();
    };
    let mut flat = vec![0];
    for (along, size) in axes.iter().zip(spec.shape()) {
        flat = flat
            .iter()
            .flat_map(|&before| along.iter().map(move |&g| before * size + g as u64))
            .collect();
    }
    flat
}

proptest! {
    #![proptest_config(tries(64))]

    #[test]
    fn runs_are_the_owned_elements(spec in testkit::distribution(3, 9), item in prop::sample::select(vec![1, 2, 4, 8, 16])) {
        let d = spec.build().unwrap();
        let plan = IoPlan::new(&d, item, FileLayout::Contiguous, Direction::Write).unwrap();
        for rank in 0..d.ranks() {
            let part = plan.part(rank).unwrap();
            let expected: Vec<(usize, u64)> = owned(&spec, rank).into_iter().enumerate().collect();
            prop_assert_eq!(elements(part.runs(), item), expected.clone());
            prop_assert_eq!(part.elements(), expected.len());
            prop_assert_eq!(part.run_count(), part.runs().count() as u64);
        }
    }

    #[test]
    fn every_byte_is_written_once(spec in testkit::distribution(3, 7), two_phase: bool) {
        let d = spec.build().unwrap();
        let strategy = if two_phase { Strategy::TwoPhase } else { Strategy::Direct };
        let plan = IoPlan::new(&d, 4, FileLayout::Contiguous, Direction::Write).unwrap().with_strategy(strategy);
        let mut seen = Vec::new();
        for rank in 0..d.ranks() {
            let requests = plan.requests(rank).unwrap();
            if two_phase {
                prop_assert!(requests.run_count() <= 1, "a slab is one run");
            }
            seen.extend(elements(requests.runs(), 4).into_iter().map(|(_, at)| at));
        }
        seen.sort_unstable();
        let size: u64 = spec.shape().iter().product();
        prop_assert_eq!(seen, (0..size).collect::<Vec<_>>());
        prop_assert_eq!(plan.total_bytes(), 4 * size);
    }

    #[test]
    fn every_chunk_has_one_rank(spec in testkit::distribution(3, 7), sizes in prop::collection::vec(1..5_u64, 3)) {
        let d = spec.build().unwrap();
        let chunk = sizes[..d.ndim()].to_vec();
        let plan = IoPlan::new(&d, 8, FileLayout::Chunked { chunk: chunk.clone() }, Direction::Write).unwrap();
        let mut writers: BTreeMap<Vec<u64>, usize> = BTreeMap::new();
        for rank in 0..d.ranks() {
            for c in plan.chunks(rank).unwrap() {
                for (axis, &step) in chunk.iter().enumerate() {
                    prop_assert_eq!(c.origin[axis], c.coords[axis] * step);
                    let end = spec.shape()[axis].min(c.origin[axis] + step);
                    prop_assert_eq!(c.shape[axis], end - c.origin[axis]);
                }
                prop_assert!(writers.insert(c.coords, rank).is_none(), "a chunk of two ranks");
            }
        }
        let all: u64 = spec.shape().iter().zip(&chunk).map(|(n, c)| n.div_ceil(*c)).product();
        prop_assert_eq!(writers.len() as u64, all);
        if plan.strategy() == Strategy::Direct {
            // whole chunks: all elements of a chunk are its writer's own
            for (coords, &rank) in &writers {
                let mine = spec.owned(rank).unwrap();
                for (axis, &step) in chunk.iter().enumerate() {
                    let first = coords[axis] * step;
                    let end = spec.shape()[axis].min(first + step);
                    prop_assert!((first..end).all(|g| mine[axis].contains(&(g as i64))));
                }
            }
        }
    }
}

#[test]
fn padding_is_read_and_never_written() {
    for ranks in 1..=5 {
        for (name, d) in every_kind(ranks) {
            for direction in [Direction::Write, Direction::Read] {
                let plan = IoPlan::new(&d, 2, FileLayout::Contiguous, direction).unwrap();
                for rank in 0..ranks {
                    let dim_data = d.dim_data(rank).unwrap();
                    let flat = flat_indices(&dim_data).into_iter().enumerate();
                    let expected: Vec<_> = flat
                        .zip(owned_positions(&dim_data))
                        .filter(|(_, owned)| *owned || direction == Direction::Read)
                        .map(|(pair, _)| pair)
                        .collect();
                    let runs = plan.part(rank).unwrap();
                    assert_eq!(
                        elements(runs.runs(), 2),
                        expected,
                        "{name}, rank {rank} of {ranks}"
                    );
                }
            }
        }
    }
}

#[test]
fn large_arrays_are_planned_by_runs() {
    // 2^56 bytes; cyclic columns would be 2^51 elements
    let d = Distribution::over(4)
        .shape([1 << 20, 1 << 33])
        .block(0)
        .block_cyclic(1, 1 << 20)
        .build()
        .unwrap();
    let plan = IoPlan::new(&d, 8, FileLayout::Contiguous, Direction::Write).unwrap();
    assert_eq!(plan.strategy(), Strategy::Direct);
    let first = plan.part(1).unwrap().runs().next().unwrap();
    assert_eq!(first.offset % (8 << 20), 0);
    let fine = Distribution::over(4)
        .shape([1 << 20, 1 << 33])
        .cyclic(0)
        .cyclic(1)
        .build()
        .unwrap();
    let plan = IoPlan::new(&fine, 8, FileLayout::Contiguous, Direction::Write).unwrap();
    assert_eq!(plan.strategy(), Strategy::TwoPhase);
    assert_eq!(plan.requests(3).unwrap().run_count(), 1);
    let text = plan.explain().unwrap().to_string();
    assert!(text.starts_with("write 1048576 x 8589934592 of 8 bytes, contiguous (72057594037927936 bytes), by 4 ranks: two-phase, runs are short"), "{text}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let d = Distribution::over(2)
        .shape([4, 4])
        .block(0)
        .build()
        .unwrap();
    let plan = |item, layout, direction| IoPlan::new(&d, item, layout, direction).unwrap_err();
    let chunk = |chunk: &[u64]| FileLayout::Chunked {
        chunk: chunk.to_vec(),
    };
    assert_eq!(
        plan(3, FileLayout::Contiguous, Direction::Read),
        IoError::ItemSize { given: 3 }
    );
    assert!(matches!(
        plan(4, chunk(&[2]), Direction::Read),
        IoError::Dimensions {
            given: 1,
            allowed: 2,
            ..
        }
    ));
    assert_eq!(
        plan(4, chunk(&[2, 0]), Direction::Read),
        IoError::ChunkExtent { axis: 1, given: 0 }
    );
    let huge = Distribution::over(1)
        .shape([1 << 40, 1 << 40])
        .build()
        .unwrap();
    let error = IoPlan::new(&huge, 1, FileLayout::Contiguous, Direction::Read).unwrap_err();
    assert!(matches!(error, IoError::Overflow { .. }));
    let lists = |lists: Vec<Vec<i64>>| {
        let axis =
            AxisDist::unstructured_free(5, lists.into_iter().map(Into::into).collect::<Vec<_>>())
                .unwrap();
        let ranks = axis.ranks();
        Distribution::from_axes(vec![axis], ranks, (0..ranks).collect::<Vec<_>>()).unwrap()
    };
    let write = |d: &Distribution| IoPlan::new(d, 4, FileLayout::Contiguous, Direction::Write);
    let outside = lists(vec![vec![0, 1, 2], vec![3, 5]]);
    assert_eq!(
        write(&outside).unwrap_err(),
        IoError::Index {
            axis: 0,
            index: 5,
            size: 5
        }
    );
    let negative = lists(vec![vec![-1, 1, 2], vec![3, 4]]);
    assert_eq!(
        write(&negative).unwrap_err(),
        IoError::Index {
            axis: 0,
            index: -1,
            size: 5
        }
    );
    let hole = lists(vec![vec![4, 0], vec![3, 1]]);
    assert_eq!(
        write(&hole).unwrap_err(),
        IoError::Uncovered { axis: 0, index: 2 }
    );
    assert!(IoPlan::new(&hole, 4, FileLayout::Contiguous, Direction::Read).is_ok());
    let shared = lists(vec![vec![4, 0, 2], vec![3, 2, 1]]);
    assert_eq!(write(&shared).unwrap().strategy(), Strategy::TwoPhase);
    assert!(plan_of_no_rank(&d));
}

fn plan_of_no_rank(d: &Distribution) -> bool {
    let plan = IoPlan::new(d, 4, FileLayout::Contiguous, Direction::Write).unwrap();
    plan.part(2).is_err() && plan.requests(2).is_err() && plan.chunks(0).unwrap().count() == 0
}

#[test]
fn chunks_that_hold_padding_are_read_and_not_written() {
    let d = Distribution::over(2)
        .shape([8])
        .block(0)
        .padding(1)
        .build()
        .unwrap();
    let layout = FileLayout::Chunked { chunk: vec![2] };
    let coords = |direction, rank| -> Vec<u64> {
        let plan = IoPlan::new(&d, 8, layout.clone(), direction).unwrap();
        assert_eq!(plan.strategy(), Strategy::Direct);
        let chunks: Vec<_> = plan.chunks(rank).unwrap().collect();
        chunks.iter().map(|chunk| chunk.coords[0]).collect()
    };
    assert_eq!(coords(Direction::Write, 0), [0, 1]);
    assert_eq!(coords(Direction::Read, 0), [0, 1, 2]);
    assert_eq!(coords(Direction::Read, 1), [1, 2, 3]);
}

#[test]
fn long_parts_of_plain_chunks_are_moved_by_their_ranks() {
    let strategy = |columns, chunk: [u64; 2], direction| {
        let d = Distribution::over(3)
            .shape([40, columns])
            .block_cyclic(0, 4);
        let layout = FileLayout::Chunked {
            chunk: chunk.to_vec(),
        };
        let plan = IoPlan::new(&d.build().unwrap(), 8, layout, direction).unwrap();
        let plain = plan.clone().with_plain_chunks().unwrap();
        let chunks = |plan: &IoPlan| -> u64 {
            let of = |rank| plan.chunks(rank).unwrap().total();
            (0..3).map(of).sum()
        };
        (
            (plan.strategy(), chunks(&plan)),
            (plain.strategy(), chunks(&plain)),
        )
    };
    let (direct, two_phase) = (Strategy::Direct, Strategy::TwoPhase);
    for direction in [Direction::Read, Direction::Write] {
        // rows of a chunk of 16 KiB; each rank has elements of five chunks, of which there are five
        assert_eq!(
            strategy(2048, [8, 2048], direction),
            ((two_phase, 5), (direct, 10))
        );
        assert_eq!(
            strategy(4096, [8, 2048], direction),
            ((two_phase, 10), (direct, 20))
        );
        // blocks of rows that are whole in the chunk: 4 x 512 of 8 bytes
        assert_eq!(
            strategy(512, [8, 512], direction),
            ((two_phase, 5), (direct, 10))
        );
        // short rows
        assert_eq!(
            strategy(4096, [8, 1024], direction),
            ((two_phase, 20), (two_phase, 20))
        );
        // whole chunks anyway
        assert_eq!(
            strategy(100, [4, 10], direction),
            ((direct, 100), (direct, 100))
        );
    }
}

#[test]
fn beside_an_extent_of_0_any_other_may_stand() {
    let vast = Distribution::over(2)
        .shape([0, 1 << 62, 1 << 62, 1 << 62])
        .block(0)
        .build()
        .unwrap();
    for direction in [Direction::Read, Direction::Write] {
        let plan = IoPlan::new(&vast, 8, FileLayout::Contiguous, direction).unwrap();
        assert_eq!(plan.total_bytes(), 0);
    }
}

/// Of what few rows are wanted, the rest of the file is left alone.
#[test]
fn few_elements_are_read_directly() {
    let rows = 1_000_000_u64;
    let lists: Vec<Vec<i64>> = (0..2)
        .map(|rank| {
            (0..1000)
                .map(|i| (i * 997 + rank * 31) % rows.cast_signed())
                .collect()
        })
        .collect();
    let few = Distribution::over(2)
        .shape([rows, 8])
        .unstructured(0, lists)
        .build()
        .unwrap();
    for layout in [
        FileLayout::Contiguous,
        FileLayout::Chunked {
            chunk: vec![100, 8],
        },
    ] {
        let plan = IoPlan::new(&few, 8, layout, Direction::Read).unwrap();
        assert_eq!(
            plan.strategy(),
            Strategy::Direct,
            "{}",
            plan.explain().unwrap()
        );
        assert_eq!(plan.requests(0).unwrap().elements(), 8000);
        assert!(plan.chunks(0).unwrap().total() <= 1000);
    }
    // every third row of 64 bytes: as many requests cost more than reading all
    let third: Vec<i64> = (0..rows.cast_signed()).step_by(3).collect();
    let third = Distribution::over(1)
        .shape([rows, 8])
        .unstructured(0, vec![third]);
    let third = third.build().unwrap();
    let plan = IoPlan::new(&third, 8, FileLayout::Contiguous, Direction::Read).unwrap();
    assert_eq!(plan.strategy(), Strategy::TwoPhase);
}

/// Chunks are counted and not listed.
#[test]
fn as_many_chunks_as_there_are_elements_take_no_memory() {
    let size = 1_u64 << 40;
    let chunked = || FileLayout::Chunked { chunk: vec![1] };
    let over = || Distribution::over(4).shape([size]);
    for (d, of_one) in [
        (over().block(0), size / 4),
        (over().cyclic(0), size / 4),
        (over().block_cyclic(0, 3), (size / 12) * 3 + 3),
    ] {
        let d = d.build().unwrap();
        let plan = IoPlan::new(&d, 8, chunked(), Direction::Read).unwrap();
        let plan = plan.with_strategy(Strategy::Direct);
        assert_eq!(plan.chunks(0).unwrap().total(), of_one);
        assert_eq!(plan.explain().unwrap().ranks[0].requests, of_one);
        let third = plan.chunks(0).unwrap().nth(2).unwrap();
        assert!(third.origin[0] < 12 && third.shape == [1]);
    }
}
