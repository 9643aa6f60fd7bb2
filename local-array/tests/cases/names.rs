//! Names that say what an array is, how it was asked for and where it lies, against what follows from the protocol's dictionaries.

use dap_protocol::{DimData, DimDict};
use dist_comm::{Communicator, SingleComm};
use dist_maps::Distribution;
use local_array::random::{Random, RankRandom};
use local_array::{ArrayError, LocalArray, LocalArrayBase, Spread};
use ndarray::{ArrayD, Data, Dimension, Ix1, Ix2, IxDyn};

use super::numpy::{gathered, spread, whole_alike};
use super::plain::{self, Kind, SHAPES, cells, flat, zoo};
use super::{Failure, Outcome, ensure, refused_everywhere, same};

cases! {
    names_of_shapes_and_places,
    names_of_buffers_and_wrapping,
    names_of_letters_and_grids,
    names_of_draws_by_letters,
    names_of_items,
    names_of_asdist,
    names_of_asdist_like,
    names_of_dim_data,
}

/// Coordinates of a rank and extents of the grid, from the dictionaries that the rank exports.
fn names_of_shapes_and_places(comm: &dyn Communicator) -> Outcome {
    let (rank, ranks) = (comm.rank(), comm.size());
    for &shape in SHAPES {
        for d in zoo(shape, ranks) {
            let a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| flat(shape, g))?;
            same(a.comm_rank(), rank, "comm_rank")?;
            same(a.comm_size(), ranks, "comm_size")?;
            same(a.global_shape(), shape, "global_shape")?;
            same(
                a.global_size(),
                u128::from(plain::size(shape)),
                "global_size",
            )?;
            same(a.ndim(), shape.len(), "ndim")?;
            let Some(coords) = a.cart_coords() else {
                // No place in the grid: nothing is stored, save the one element of a 0-d array.
                let stored = if shape.is_empty() { 1 } else { 0 };
                same(a.local_size(), stored, "local_size of no place")?;
                continue;
            };
            let dim_data = d.dim_data(rank)?;
            let dims = dim_data.dims();
            let places: Vec<usize> = dims.iter().map(DimDict::grid_rank).collect();
            let grid: Vec<usize> = dims.iter().map(DimDict::grid_size).collect();
            same(coords.to_vec(), places, "cart_coords")?;
            same(a.grid_shape().to_vec(), grid, "grid_shape")?;
            let axes = plain::axes(&d, rank);
            let extents: Vec<usize> = axes.iter().map(Vec::len).collect();
            same(a.local_shape(), &*extents, "local_shape")?;
            same(a.local_size(), cells(&d, rank).len(), "local_size")?;
            let part = a.part()?;
            let owned = cells(&d, rank).iter().filter(|cell| cell.1).count();
            same((part.comm_rank(), part.comm_size()), (0, 1), "a part alone")?;
            same(part.local_size(), owned, "local_size of a part")?;
            same(part.grid_shape().to_vec(), vec![1; shape.len()], "its grid")?;
            same(
                part.cart_coords().map(<[usize]>::to_vec),
                Some(vec![0; shape.len()]),
                "its place",
            )?;
        }
    }
    Ok(())
}

/// `LocalArray(…, buf)` and `__array_wrap__`: an array of what this rank already has, of another type too.
fn names_of_buffers_and_wrapping(comm: &dyn Communicator) -> Outcome {
    let shape = [9, 5];
    for d in zoo(&shape, comm.size()) {
        let values = cells(&d, comm.rank());
        let values: Vec<i64> = values
            .iter()
            .map(|(index, _)| flat(&shape, index))
            .collect();
        let buf = ArrayD::from_shape_vec(d.local_shape(comm.rank()), values.clone())?;
        let address = buf.as_ptr();
        let a = LocalArray::<i64, IxDyn, _>::from_array(buf, &d, comm)?;
        ensure(
            a.local().is_empty() || a.local().as_ptr() == address,
            || "copied".into(),
        )?;
        same(a.dtype().to_string(), "i64".to_owned(), "dtype")?;
        same(a.sum()?, (0..45).sum::<i64>(), "the whole of the buffers")?;
        let halves = a.local().mapv(|x| x as f64 / 2.0);
        let wrapped = LocalArray::from_array(halves, a.distribution(), *a.comm())?;
        same(
            wrapped.distribution(),
            &d,
            "as the array that it is made from",
        )?;
        same(wrapped.sum()?, 495.0, "what was wrapped")?;
        let wrong = ArrayD::<u8>::zeros(IxDyn(&[77, 1]));
        let refused = LocalArray::from_array(wrong, &d, comm).err();
        ensure(
            matches!(refused, Some(ArrayError::LocalShape { .. })),
            || format!("{refused:?}"),
        )?;
    }
    Ok(())
}

/// Which rank has an element, from the letters and the grid alone: the owner's coordinates, then its place in C order.
fn owner(letters: &str, grid: &[usize], shape: &[u64], index: &[i64]) -> usize {
    let letters = letters.chars().chain(std::iter::repeat('n'));
    let axes = letters.zip(grid).zip(shape).zip(index);
    axes.fold(0, |rank, (((letter, &ranks), &n), &g)| {
        let place = match letter {
            'b' => g as usize / (n as usize).div_ceil(ranks),
            'c' => g as usize % ranks,
            _ => 0,
        };
        rank * ranks + place
    })
}

/// Letters and grids for two dimensions on any number of ranks.
fn grids(ranks: usize) -> Vec<(&'static str, [usize; 2])> {
    vec![
        ("b", [ranks, 1]),
        ("c", [ranks, 1]),
        ("nb", [1, ranks]),
        ("nn", [1, 1]),
        ("bn", [ranks, 1]),
        ("cc", [1, ranks]),
        ("bc", [ranks.div_ceil(2), 2.min(ranks)]),
    ]
    .into_iter()
    .filter(|(_, grid)| grid[0] * grid[1] <= ranks)
    .collect()
}

/// Fails unless the array lies as its letters and grid say.
fn lies<S, D>(
    a: &LocalArrayBase<S, D, &dyn Communicator>,
    letters: &str,
    grid: [usize; 2],
) -> Outcome
where
    S: Data,
    D: Dimension,
{
    same(a.grid_shape(), &grid[..], "the grid asked for")?;
    let shape = a.global_shape().to_vec();
    let here = cells(a.distribution(), a.comm_rank());
    let mut count = 0;
    for i in 0..shape[0] as i64 {
        for j in 0..shape[1] as i64 {
            let mine = owner(letters, &grid, &shape, &[i, j]) == a.comm_rank();
            count += usize::from(mine);
            let stored = here.iter().any(|cell| cell.0 == [i, j]);
            same(stored, mine, "where an element lies")?;
        }
    }
    same(a.local_size(), count, "local_size")
}

/// Fails unless the array lies as the lists of a distribution say.
fn lies_in<S, D>(a: &LocalArrayBase<S, D, &dyn Communicator>, lists: &Distribution) -> Outcome
where
    S: Data,
    D: Dimension,
{
    same(a.distribution(), lists, "the lists asked for")?;
    same(a.dist(), "un".to_owned(), "dist")?;
    same(
        a.local_size(),
        cells(lists, a.comm_rank()).len(),
        "local_size",
    )
}

/// `zeros`, `ones`, `empty` with `dist` and `grid_shape`.
fn names_of_letters_and_grids(comm: &dyn Communicator) -> Outcome {
    let (shape, ranks) = ([7_u64, 6], comm.size());
    for (letters, grid) in grids(ranks) {
        let d = Distribution::from_shape(&shape, letters, Some(&grid), ranks)?;
        same(&(letters, grid).distribution(&shape, ranks)?, &d, "Spread")?;
        let zeros = LocalArray::<f64, Ix2, _>::zeros(&d, comm)?;
        lies(&zeros, letters, grid)?;
        ensure(zeros.local().iter().all(|&x| x == 0.0), || "zeros".into())?;
        let ones = LocalArray::<i32, Ix2, _>::ones(&d, comm)?;
        lies(&ones, letters, grid)?;
        same(ones.sum()?, 42, "ones")?;
        let empty = LocalArray::<u8, Ix2, _>::empty(&d, comm)?;
        lies(&empty, letters, grid)?;
        ensure(empty.local().iter().all(|&x| x == 0), || "empty".into())?;
        let parts = (zeros.part()?.local_size(), ones.part()?.sum()?);
        same(parts.0 as i64, parts.1, "the ones of a part")?;
    }
    // `u` has lists in place of a letter
    let lists = plain::distribution(&shape, &[Kind::List(9), Kind::Whole], 0, ranks);
    let zeros = LocalArray::<f64, Ix2, _>::zeros(&lists, comm)?;
    lies_in(&zeros, &lists)?;
    ensure(zeros.local().iter().all(|&x| x == 0.0), || "zeros".into())?;
    let ones = LocalArray::<i32, Ix2, _>::ones(&lists, comm)?;
    lies_in(&ones, &lists)?;
    same(
        (ones.sum()?, ones.part()?.sum()?),
        (42, zeros.part()?.local_size() as i64),
        "ones",
    )?;
    let empty = LocalArray::<u8, Ix2, _>::empty(&lists, comm)?;
    lies_in(&empty, &lists)?;
    ensure(empty.local().iter().all(|&x| x == 0), || "empty".into())?;
    // one rank's part alone: zeros of another shape on each rank, in each way of one rank
    let mine = [ranks as u64 - comm.rank() as u64, 4];
    let one = plain::distribution(&mine, &[Kind::List(9), Kind::Whole], 0, 1);
    let letters = ["bc", "cb", "n", ""].map(|dist| Distribution::from_shape(&mine, dist, None, 1));
    for d in letters.into_iter().chain([Ok(one)]) {
        let d = d?;
        let empty = LocalArray::<i16, Ix2, _>::empty(&d, SingleComm::new())?;
        same(empty.distribution(), &d, "empty, alone")?;
        let zeros = ndarray::Array2::<i16>::zeros((mine[0] as usize, 4));
        same(empty.local(), zeros.view(), "empty, alone")?;
        let part = empty.part()?;
        same(part.local(), zeros.view(), "a part of it")?;
    }
    // the grid left out: one that uses the letters' dimensions
    let d = Distribution::from_shape(&shape, "b", None, ranks)?;
    lies(
        &LocalArray::<u8, Ix2, _>::zeros(&d, comm)?,
        "b",
        [ranks.min(7), 1],
    )?;
    let refused = |error: Option<ArrayError>| {
        ensure(
            matches!(error, Some(ArrayError::InvalidMapCode { given: 'x', .. })),
            || format!("{error:?}"),
        )
    };
    refused("x".distribution(&shape, ranks).err())?;
    let wide = ("bb", [ranks + 1, 1]).distribution(&shape, ranks);
    ensure(matches!(wide, Err(ArrayError::Map(_))), || {
        format!("{wide:?}")
    })
}

/// The random arrays with `dist` and `grid_shape`: the same elements for any of them, on the ranks that the letters say.
fn names_of_draws_by_letters(comm: &dyn Communicator) -> Outcome {
    let (shape, ranks) = ([7_u64, 6], comm.size());
    let whole = Distribution::from_shape(&shape, "", None, ranks)?;
    macro_rules! draws {
        ($d:expr, $($draw:ident($($arg:expr),*)),*) => {
            (
                $({
                    let mut random = Random::new(5);
                    let a: LocalArray<f64, Ix2, _> = random.$draw($($arg,)* $d, comm)?;
                    a
                },)*
            )
        };
    }
    macro_rules! all {
        ($d:expr) => {
            draws!($d, rand(), randn(), normal(3.0, 2.0), beta(2.0, 0.5))
        };
    }
    let (rand, randn, normal, beta) = all!(&whole);
    let (rand, randn) = (gathered(&rand)?, gathered(&randn)?);
    let (normal, beta) = (gathered(&normal)?, gathered(&beta)?);
    let ints: LocalArray<i64, Ix2, _> = Random::new(5).randint(-3, Some(4), &whole, comm)?;
    let ints = gathered(&ints)?;
    let lists = plain::distribution(&shape, &[Kind::List(9), Kind::Whole], 0, ranks);
    let (a, b, c, e) = all!(&lists);
    for (found, wanted) in [(&a, &rand), (&b, &randn), (&c, &normal), (&e, &beta)] {
        lies_in(found, &lists)?;
        whole_alike(found, wanted, 0.0, "lists")?;
    }
    let found: LocalArray<i64, Ix2, _> = Random::new(5).randint(-3, Some(4), &lists, comm)?;
    lies_in(&found, &lists)?;
    whole_alike(&found, &ints, 0.0, "lists")?;
    for (letters, grid) in grids(ranks) {
        let d = Distribution::from_shape(&shape, letters, Some(&grid), ranks)?;
        let (a, b, c, e) = all!(&d);
        for (found, wanted) in [(&a, &rand), (&b, &randn), (&c, &normal), (&e, &beta)] {
            lies(found, letters, grid)?;
            whole_alike(found, wanted, 0.0, letters)?;
        }
        let found: LocalArray<i64, Ix2, _> = Random::new(5).randint(-3, Some(4), &d, comm)?;
        lies(&found, letters, grid)?;
        whole_alike(&found, &ints, 0.0, letters)?;
    }
    for (letters, grid) in grids(ranks) {
        let d = Distribution::from_shape(&shape, letters, Some(&grid), ranks)?;
        lies(&drawn_by_rank(&d, comm)?, letters, grid)?;
    }
    lies_in(&drawn_by_rank(&lists, comm)?, &lists)
}

/// The same numbers as DistArray draws, each rank its own, one generator for one array after the other.
fn drawn_by_rank<'a>(
    d: &Distribution,
    comm: &'a dyn Communicator,
) -> Result<LocalArray<i64, Ix2, &'a dyn Communicator>, Failure> {
    let (mut random, mut again) = (RankRandom::seed(3, &comm), RankRandom::seed(3, &comm));
    let n = d.local_shape(comm.rank()).iter().product();
    macro_rules! draws {
        ($(|$r:ident, $n:ident| $draw:expr;)*) => {$(
            let a = random.array::<_, Ix2, _>(|$r, $n| $draw, d, comm)?;
            // One number first, to learn the type.
            let draw = |$r: &mut RankRandom, $n: usize| $draw;
            draw(&mut again, 1)?;
            let wanted = draw(&mut again, n)?;
            same(a.local().iter().copied().collect::<Vec<_>>(), wanted, stringify!($draw))?;
        )*};
    }
    draws! {
        |r, n| Ok::<_, ArrayError>(r.rand(n));
        |r, n| Ok::<_, ArrayError>(r.randn(n));
        |r, n| r.normal(3.0, 2.0, n);
        |r, n| r.beta(2.0, 0.5, n);
    }
    let a = random.array::<i64, Ix2, _>(|r, n| r.randint(-3, Some(4), n), d, comm)?;
    again.randint(-3, Some(4), 1)?;
    let wanted = again.randint(-3, Some(4), n)?;
    same(
        a.local().iter().copied().collect::<Vec<_>>(),
        wanted,
        "randint",
    )?;
    Ok(a)
}

/// `a[index]` and `a[index] = value` of the whole array, and of a part, whose indices count from 0.
fn names_of_items(comm: &dyn Communicator) -> Outcome {
    let shape = [6, 5];
    for d in zoo(&shape, comm.size()) {
        let mut a = LocalArray::<i64, Ix2, _>::from_fn(&d, comm, |g| flat(&shape, g))?;
        same(a.get_item(&[2, -1])?, 14, "a[2, -1]")?;
        a.set_item(&[-6, 3], -7)?;
        same(a.get_item(&[0, 3])?, -7, "a[-6, 3]")?;
        same(a.sum()?, 29 * 30 / 2 - 3 - 7, "one element is another")?;
        let owned = a.owned().to_owned();
        let part = a.part()?;
        if let Some(&last) = owned.last() {
            same(part.get_item(&[-1, -1])?, last, "the last of a part")?;
            let mut copy = LocalArray::from_array(owned, part.distribution(), part.comm().clone())?;
            copy.set_item(&[0, 0], 99)?;
            same(copy.get_item(&[0, 0])?, 99, "the first of a part")?;
        }
        let beyond = part.get_item(&[part.global_shape()[0] as i64, 0]);
        ensure(
            matches!(beyond, Err(ArrayError::OutOfBounds { .. })),
            || format!("{beyond:?}"),
        )?;
    }
    Ok(())
}

/// `asdist` and `redist` with letters, grids and lists: the elements of an array elsewhere, in another shape too.
fn names_of_asdist(comm: &dyn Communicator) -> Outcome {
    let (shape, other, ranks) = ([7_u64, 6], [14_u64, 3], comm.size());
    let whole = ArrayD::from_shape_fn(IxDyn(&[7, 6]), |at| (at[0] * 6 + at[1]) as i64);
    let reshaped = whole.to_shape(IxDyn(&[14, 3]))?.to_owned();
    for d in zoo(&shape, ranks) {
        let a = spread(&whole, &d, comm)?;
        for (letters, grid) in grids(ranks) {
            let moved = a.asdist::<IxDyn>(&shape, letters, Some(&grid))?;
            lies(&moved, letters, grid)?;
            whole_alike(&moved, &whole, 0.0, letters)?;
            let moved = a.redist::<IxDyn>(&other, letters, Some(&grid))?;
            lies(&moved, letters, grid)?;
            whole_alike(&moved, &reshaped, 0.0, letters)?;
        }
        let lists = plain::distribution(&shape, &[Kind::List(9), Kind::Whole], 0, ranks);
        let moved = a.redistribute(&lists)?;
        lies_in(&moved, &lists)?;
        whole_alike(&moved, &whole, 0.0, "lists")?;
        let lists = plain::distribution(&other, &[Kind::List(9), Kind::Whole], 0, ranks);
        let moved = a.redistribute_reshaped::<IxDyn>(&lists)?;
        lies_in(&moved, &lists)?;
        whole_alike(&moved, &reshaped, 0.0, "lists, another shape")?;
        let part = a.part()?;
        let own: Vec<i64> = part.local().iter().copied().collect();
        for letters in ["b", "c", "n"] {
            let there = part.asdist::<IxDyn>(part.global_shape(), letters, Some(&[1, 1]))?;
            same(there.local(), part.local(), "asdist of a part")?;
            let flat = part.redist::<Ix1>(&[own.len() as u64], letters, Some(&[1]))?;
            same(flat.local().to_vec(), own.clone(), "redist of a part")?;
        }
        // `u`: the one rank lists its rows, or its elements, from the last to the first
        let backwards = |n: u64| vec![(0..n.cast_signed()).rev().collect::<Vec<_>>()];
        let rows = part.global_shape()[0];
        let lists = Distribution::over(1)
            .shape(part.global_shape())
            .unstructured(0, backwards(rows))
            .build()?;
        let there = part.redistribute(&lists)?;
        same(there.distribution(), &lists, "lists of a part")?;
        let mut wanted = part.local().to_owned();
        wanted.invert_axis(ndarray::Axis(0));
        same(there.local(), wanted.view(), "lists of a part")?;
        let lists = Distribution::over(1)
            .shape([own.len() as u64])
            .unstructured(0, backwards(own.len() as u64))
            .build()?;
        let flat = part.redistribute_reshaped::<Ix1>(&lists)?;
        let wanted: Vec<i64> = own.iter().rev().copied().collect();
        same(
            flat.local().to_vec(),
            wanted,
            "lists of a part, another shape",
        )?;
    }
    let a = spread(&whole, &zoo(&shape, ranks)[0], comm)?;
    let lists = a.asdist::<IxDyn>(&shape, "un", None).err();
    ensure(matches!(lists, Some(ArrayError::Map(_))), || {
        format!("lists without indices: {lists:?}")
    })?;
    refused_everywhere(
        comm,
        a.asdist::<IxDyn>(&[41], "b", None),
        "asdist of another size",
    )?;
    refused_everywhere(
        comm,
        a.redist::<IxDyn>(&[41], "b", None),
        "redist of another size",
    )
}

/// `asdist_like`: the elements of one array where those of another lie.
fn names_of_asdist_like(comm: &dyn Communicator) -> Outcome {
    let shape = [9, 5];
    let all = zoo(&shape, comm.size());
    for (n, d) in all.iter().enumerate() {
        let like = &all[(n + 3) % all.len()];
        let whole = ArrayD::from_shape_fn(IxDyn(&[9, 5]), |at| (at[0] * 5 + at[1]) as i64);
        let (a, b) = (
            spread(&whole, d, comm)?,
            LocalArray::<u8, IxDyn, _>::zeros(like, comm)?,
        );
        let moved = a.asdist_like(&b)?;
        same(moved.distribution(), like, "the other's distribution")?;
        whole_alike(&moved, &whole, 0.0, "the elements stay the same")?;
        let part = a.part()?;
        let same_part = part.asdist_like(&part)?;
        same(same_part.local(), part.local(), "of a part")?;
    }
    let line = plain::distribution(&[45], &[Kind::Block], 0, comm.size());
    let (a, b) = (
        LocalArray::<u8, Ix2, _>::zeros(&all[0], comm)?,
        LocalArray::<u8, Ix2, _>::zeros(&zoo(&[9, 6], comm.size())[0], comm)?,
    );
    same(
        LocalArray::<u8, Ix1, _>::zeros(&line, comm)?.global_size(),
        a.global_size(),
        "as many",
    )?;
    refused_everywhere(comm, a.asdist_like(&b), "another shape")
}

/// `from_dim_data`: zeros as the dictionaries of the ranks say; those that do not fit are refused.
fn names_of_dim_data(comm: &dyn Communicator) -> Outcome {
    let (rank, ranks) = (comm.rank(), comm.size());
    for &shape in SHAPES {
        for d in zoo(shape, ranks) {
            let dim_data = d.dim_data(rank)?;
            let a = LocalArray::<i32, IxDyn, _>::from_dim_data(&dim_data, comm)?;
            same(a.global_shape(), shape, "global_shape")?;
            same(
                a.local_size(),
                cells(&d, rank).len().max(usize::from(shape.is_empty())),
                "local_size",
            )?;
            ensure(a.local().iter().all(|&x| x == 0), || "zeros".into())?;
        }
    }
    let made = |dim: DimDict| -> Result<_, Failure> {
        let dim_data = DimData::new(vec![dim]);
        Ok(LocalArray::<f64, Ix1, _>::from_dim_data(&dim_data, comm))
    };
    let wide = made(DimDict::block(10, ranks + 1, rank, 0..10)?)?;
    refused_everywhere(comm, wide, "a grid of more ranks than there are")?;
    if ranks > 1 {
        let all = made(DimDict::block(10, ranks, rank, 0..10)?)?;
        refused_everywhere(comm, all, "every rank has it all")?;
        let n = 10 + u64::from(rank == 1);
        let sizes = made(DimDict::cyclic(n, ranks, rank, 100)?)?;
        refused_everywhere(comm, sizes, "the sizes differ")?;
    }
    Ok(())
}
