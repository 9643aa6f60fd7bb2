//! What the arrays are compared with, computed index by index from the protocol's dictionaries; shares no code with the crate.

use dap_protocol::{DimDict, Dist};
use dist_maps::Distribution;

/// How one axis is spread, for a test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Whole,
    Block,
    Balanced,
    /// Block bounds drawn from a seed; some blocks are empty.
    Bounds(u64),
    Cyclic(u64),
    /// A shuffled list per rank, drawn from a seed.
    List(u64),
}

/// A number drawn from a seed.
pub fn draw(seed: &mut u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    *seed >> 33
}

/// A distribution of `shape` with one kind per axis.
pub fn distribution(shape: &[u64], kinds: &[Kind], padding: u64, ranks: usize) -> Distribution {
    let grid = grid(kinds, ranks);
    let mut builder = Distribution::over(ranks).shape(shape).grid(grid.clone());
    for (axis, kind) in kinds.iter().enumerate() {
        let (n, p) = (shape[axis], grid[axis] as u64);
        builder = match *kind {
            Kind::Whole => builder.whole(axis),
            Kind::Block => builder.block(axis),
            Kind::Balanced => builder.block_balanced(axis),
            Kind::Cyclic(block) => builder.block_cyclic(axis, block),
            Kind::Bounds(mut seed) => {
                let mut cuts: Vec<u64> = (1..p).map(|_| draw(&mut seed) % (n + 1)).collect();
                cuts.extend([0, n]);
                cuts.sort_unstable();
                builder.block_bounds(axis, cuts)
            }
            Kind::List(mut seed) => {
                let mut lists = vec![Vec::new(); grid[axis]];
                for g in shuffled(n, &mut seed) {
                    lists[(draw(&mut seed) % p) as usize].push(g);
                }
                builder.unstructured(axis, lists)
            }
        };
        if padding > 0 && matches!(kind, Kind::Block | Kind::Balanced | Kind::Bounds(_)) {
            builder = builder.padding_of(axis, padding, padding);
        }
    }
    builder.build().expect("a valid distribution")
}

fn shuffled(n: u64, seed: &mut u64) -> Vec<i64> {
    let mut all: Vec<i64> = (0..n as i64).collect();
    for i in (1..all.len()).rev() {
        all.swap(i, (draw(seed) % (i as u64 + 1)) as usize);
    }
    all
}

/// Ranks per axis: each distributed one but the last takes its share, the last what is left.
pub fn grid(kinds: &[Kind], ranks: usize) -> Vec<usize> {
    let mut left = ranks;
    let mut open = kinds.iter().filter(|kind| **kind != Kind::Whole).count();
    let mut grid = Vec::new();
    for kind in kinds {
        if *kind == Kind::Whole {
            grid.push(1);
            continue;
        }
        open -= 1;
        let mine = if open == 0 {
            left
        } else {
            (1..=left).filter(|p| p * p <= left).max().unwrap_or(1)
        };
        left /= mine;
        grid.push(mine);
    }
    grid
}

/// Distributions of many kinds of one shape.
pub fn zoo(shape: &[u64], ranks: usize) -> Vec<Distribution> {
    let kinds: &[Kind] = &[
        Kind::Block,
        Kind::Whole,
        Kind::Cyclic(1),
        Kind::Bounds(7),
        Kind::List(3),
        Kind::Cyclic(3),
        Kind::Balanced,
    ];
    let pick = |from: usize, step: usize| -> Vec<Kind> {
        (0..shape.len())
            .map(|axis| kinds[(from + axis * step) % kinds.len()])
            .collect()
    };
    let mut all: Vec<Distribution> = (0..kinds.len())
        .map(|i| distribution(shape, &pick(i, i % 3), (i % 3) as u64, ranks))
        .collect();
    // With ranks that have no place in the grid.
    all.push(distribution_on(shape, ranks.div_ceil(2), ranks));
    if shape.is_empty() {
        all.truncate(2);
    }
    all
}

/// `count` of the distributions of [`zoo`], other ones for the next number of ranks and for another `salt`: over 1 to 7
/// ranks all come by.
pub fn some(shape: &[u64], ranks: usize, salt: usize, count: usize) -> Vec<Distribution> {
    let all = zoo(shape, ranks);
    let first = ranks * count + salt;
    (first..first + count.min(all.len()))
        .map(|n| all[n % all.len()].clone())
        .collect()
}

/// Which of `count` things a number of ranks looks at: one rank at all, more at three of them, in turn, so that three
/// numbers of ranks in a row go through eight; other ones for another `salt`. The test `it::schedule` counts.
pub fn turns(count: usize, ranks: usize, salt: usize) -> impl Iterator<Item = usize> {
    let (first, due) = if ranks == 1 {
        (0, count)
    } else {
        (3 * ranks + salt, count.min(3))
    };
    (first..first + due).map(move |turn| turn % count)
}

/// Blocks on the last `used` of `ranks` ranks, in falling order.
fn distribution_on(shape: &[u64], used: usize, ranks: usize) -> Distribution {
    let mut grid = vec![1; shape.len()];
    let mut builder = Distribution::over(ranks).shape(shape);
    if let Some(first) = grid.first_mut() {
        *first = used;
        builder = builder.block(0);
    }
    let targets: Vec<usize> = (0..ranks).rev().take(grid.iter().product()).collect();
    builder
        .grid(grid)
        .targets(targets)
        .build()
        .expect("a valid distribution")
}

/// Shapes that reach the corners: no dimension, no element, fewer elements than ranks, prime extents.
pub const SHAPES: &[&[u64]] = &[
    &[],
    &[0],
    &[1],
    &[17],
    &[40],
    &[0, 5],
    &[2, 3],
    &[13, 9],
    &[5, 4, 6],
];

/// Per axis: the global index of each stored position, and whether it is owned.
pub fn axes(distribution: &Distribution, rank: usize) -> Vec<Vec<(i64, bool)>> {
    let dim_data = distribution
        .dim_data(rank)
        .expect("a rank of the distribution");
    dim_data.dims().iter().map(axis).collect()
}

fn axis(dim: &DimDict) -> Vec<(i64, bool)> {
    let (p, r) = (dim.grid_size() as u64, dim.grid_rank() as u64);
    match dim.dist() {
        Dist::Block {
            start,
            stop,
            padding,
            ..
        } => {
            let low = if r == 0 {
                *start
            } else {
                start + padding.lower
            };
            let high = if r + 1 == p {
                *stop
            } else {
                stop - padding.upper
            };
            (*start..*stop)
                .map(|g| (g as i64, (low..high).contains(&g)))
                .collect()
        }
        Dist::Cyclic { block_size, .. } => (0..dim.size())
            .filter(|g| g / block_size % p == r)
            .map(|g| (g as i64, true))
            .collect(),
        Dist::Unstructured { indices, .. } => indices.iter().map(|&g| (g, true)).collect(),
    }
}

/// Every stored position in C order: its global index, and whether it is owned.
pub fn cells(distribution: &Distribution, rank: usize) -> Vec<(Vec<i64>, bool)> {
    if distribution.coords(rank).is_none() {
        return if distribution.ndim() == 0 {
            vec![(vec![], false)]
        } else {
            vec![]
        };
    }
    let mut cells = vec![(Vec::new(), true)];
    for axis in axes(distribution, rank) {
        cells = cells
            .into_iter()
            .flat_map(|(index, owned)| {
                axis.iter().map(move |&(g, own)| {
                    let mut index: Vec<i64> = index.clone();
                    index.push(g);
                    (index, owned && own)
                })
            })
            .collect();
    }
    cells
}

/// The flat index, in C order, of a global one.
pub fn flat(shape: &[u64], index: &[i64]) -> i64 {
    index
        .iter()
        .zip(shape)
        .fold(0, |flat, (&g, &n)| flat * n as i64 + g)
}

/// Elements of a shape.
pub fn size(shape: &[u64]) -> u64 {
    shape.iter().product()
}
