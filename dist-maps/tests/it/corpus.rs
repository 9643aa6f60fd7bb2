//! Inputs that other libraries failed on, and golden values, against plain formulas.

use dist_maps::{AxisDist, Distribution, Redistribution, Slice};

/// The coordinate that owns an index, by the definition: blocks of `ceil(n / p)`, or dealt ones.
fn coordinate(letter: char, block: u64, n: u64, p: usize, g: u64) -> usize {
    let p = p as u64;
    let c = match letter {
        'b' => g / n.div_ceil(p),
        'c' => g / block % p,
        _ => 0,
    };
    usize::try_from(c).unwrap()
}

/// Shape, letters, block sizes, ranks.
type Case = (&'static [u64], &'static str, &'static [u64], usize);

const CASES: [Case; 15] = [
    (&[5, 5, 2], "bbb", &[1, 1, 1], 4),
    (&[5, 5, 2], "bcn", &[1, 1, 1], 6),
    (&[5, 5, 2], "ccc", &[1, 1, 1], 8),
    (&[6, 10, 10], "bbb", &[1, 1, 1], 7),
    (&[6, 10, 10], "nbb", &[1, 1, 1], 7),
    (&[6, 10, 10], "cnc", &[1, 1, 1], 7),
    (&[4096], "b", &[1], 30),
    (&[4096], "c", &[1], 30),
    (&[4096], "c", &[64], 30),
    (&[201, 15_000], "bn", &[1, 1], 2),
    (&[201, 15_000], "nb", &[1, 1], 2),
    (&[201, 15_000], "nc", &[1, 7], 2),
    (&[8, 9, 4], "ccc", &[2, 3, 2], 1),
    (&[8, 9, 4], "ccc", &[2, 3, 2], 2),
    (&[8, 9, 4], "ccc", &[2, 3, 2], 8),
];

fn build((shape, letters, blocks, ranks): Case) -> Distribution {
    let mut d = Distribution::over(ranks).shape(shape);
    for (axis, letter) in letters.chars().enumerate() {
        d = match letter {
            'b' => d.block(axis),
            'c' => d.block_cyclic(axis, blocks[axis]),
            _ => d,
        };
    }
    d.build().unwrap()
}

#[test]
fn shapes_that_fit_no_grid_evenly() {
    for case in CASES {
        let (shape, letters, blocks, ranks) = case;
        let d = build(case);
        let grid = d.grid().shape().to_vec();
        assert!(grid.iter().product::<usize>() <= ranks, "{case:?}");
        assert_eq!(d.global_shape(), shape, "{case:?}");
        // indices per coordinate, counted one by one
        let mut counts: Vec<Vec<usize>> = Vec::new();
        for (axis, letter) in letters.chars().enumerate() {
            let mut count = vec![0; grid[axis]];
            for g in 0..shape[axis] {
                let c = coordinate(letter, blocks[axis], shape[axis], grid[axis], g);
                assert_eq!(
                    d.axes()[axis].owner(g.cast_signed()),
                    Some(c),
                    "{case:?} {g}"
                );
                count[c] += 1;
            }
            counts.push(count);
        }
        let mut total = 0;
        for rank in 0..ranks {
            let Some(coords) = d.coords(rank) else {
                continue;
            };
            let expected: Vec<usize> = counts.iter().zip(&coords).map(|(n, &c)| n[c]).collect();
            assert_eq!(d.local_shape(rank), expected, "{case:?} rank {rank}");
            total += expected.iter().product::<usize>();
        }
        assert_eq!(total as u64, shape.iter().product::<u64>(), "{case:?}");
        // there and back, from and to all others of this shape
        for other in CASES.into_iter().filter(|other| other.0 == shape) {
            let other = build(other);
            assert_eq!(Redistribution::between(&d, &other).verify(), Ok(()));
        }
    }
}

#[test]
fn the_lengths_that_were_wrong() {
    let lengths = |case, rank: usize| build(case).local_shape(rank);
    assert_eq!(lengths(CASES[6], 0), [137]);
    assert_eq!(lengths(CASES[6], 29), [123]); // 4096 - 29 * 137
    assert_eq!(lengths(CASES[9], 0), [101, 15_000]);
    assert_eq!(lengths(CASES[9], 1), [100, 15_000]);
    assert_eq!(lengths(CASES[12], 0), [8, 9, 4]);
}

#[test]
fn slices_over_part_of_the_ranks() {
    let line = Distribution::over(4).shape([15]).block(0);
    let line = line.build().unwrap();
    let table = Distribution::over(4).shape([15, 20]).block(0);
    let table = table.build().unwrap();
    let row = |start, stop, step| Slice::new(start, stop, step).into();
    for (d, items, bounds, targets) in [
        (&line, vec![row(Some(0), Some(3), 1)], vec![0, 3], vec![0]),
        (
            &line,
            vec![row(Some(4), None, 4)],
            vec![0, 1, 2, 3],
            vec![1, 2, 3],
        ),
        (
            &table,
            vec![row(Some(3), Some(7), 1), 4.into()],
            vec![0, 1, 4],
            vec![0, 1],
        ),
    ] {
        let new = d.slice(&items).unwrap().into_distribution();
        assert_eq!(new.targets(), targets, "{items:?}");
        let expected = AxisDist::block_bounds(bounds).unwrap();
        assert_eq!(new.axes(), [expected], "{items:?}");
    }
}
