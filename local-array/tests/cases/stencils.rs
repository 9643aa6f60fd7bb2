//! Halo exchange and windows.

use dist_comm::Communicator;
use dist_maps::{Corners, Distribution};
use local_array::{ArrayError, Edge, HaloExchanger, LocalArray};
use ndarray::{Array2, Dimension, Ix0, Ix1, Ix2};

use super::plain::{self, Kind, cells, flat};
use super::support::arrays::{check, numbered};
use super::{Outcome, ensure, same};

cases! {
    halo_is_filled_from_the_owners,
    periodic_halo_wraps,
    windows_equal_plain_ones,
    windows_without_padding_are_refused,
    windows_beyond_all_memory_are_refused,
    windows_wider_than_the_array_repeat_its_edge,
}

fn halo_is_filled_from_the_owners(comm: &dyn Communicator) -> Outcome {
    let kinds = [
        Kind::Block,
        Kind::Balanced,
        Kind::Bounds(11),
        Kind::Cyclic(2),
        Kind::Whole,
    ];
    for shape in [&[0][..], &[3], &[23], &[9, 14], &[6, 5, 7]] {
        for (i, &first) in kinds.iter().enumerate() {
            for width in [0, 1, 2, 5] {
                let kinds: Vec<Kind> = (0..shape.len())
                    .map(|a| if a == 0 { first } else { kinds[(i + a) % 5] })
                    .collect();
                let d = plain::distribution(shape, &kinds, width, comm.size());
                let mut a = numbered(&d, comm)?;
                for (x, (_, owned)) in a.local_mut().iter_mut().zip(cells(&d, comm.rank())) {
                    if !owned {
                        *x = i64::MIN;
                    }
                }
                a.exchange_halo()?;
                let stored = cells(&d, comm.rank());
                for (&found, (index, _)) in a.local().iter().zip(&stored) {
                    let wanted = flat(shape, index);
                    ensure(found == wanted, || {
                        format!("{shape:?} {kinds:?} {width}: at {index:?} {found}")
                    })?;
                }
                // planned once, carried out twice
                let mut halo = HaloExchanger::new(&d, comm)?;
                for factor in [3, 5] {
                    let mut b = numbered(&d, comm)?;
                    b.map_inplace(|x| *x *= factor);
                    let wanted = b.local().to_owned();
                    for (x, (_, owned)) in b.local_mut().iter_mut().zip(&stored) {
                        if !owned {
                            *x = -1;
                        }
                    }
                    halo.exchange(&mut b)?;
                    same(b.local(), wanted.view(), "again")?;
                }
            }
        }
    }
    corners_are_left_alone_when_skipped(comm)
}

/// Padding of one axis is filled, where that of two axes meets is left alone.
fn corners_are_left_alone_when_skipped(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[9, 14], &[Kind::Block, Kind::Balanced], 2, comm.size());
    let mut a = numbered(&d, comm)?;
    let filled = a.local().to_owned();
    let owned: Vec<_> = (d.coords(comm.rank()).into_iter().flatten().zip(d.axes()))
        .map(|(coord, axis)| axis.owned_local(coord))
        .collect();
    let inside = |at: &[usize]| {
        at.iter()
            .zip(&owned)
            .filter(|(i, own)| own.contains(i))
            .count()
    };
    let lacking = |wanted: usize| {
        let mut some = filled.clone();
        for (at, x) in some.indexed_iter_mut() {
            if inside(at.slice()) < wanted {
                *x = -1;
            }
        }
        some
    };
    a.local_mut().assign(&lacking(2));
    let mut halo = HaloExchanger::with_corners(&d, Corners::Skipped, comm)?;
    halo.exchange(&mut a)?;
    same(a.local(), lacking(1).view(), "without corners")?;
    let other = plain::distribution(&[9, 14], &[Kind::Block, Kind::Balanced], 1, comm.size());
    let refused = halo.exchange(&mut numbered(&other, comm)?);
    if comm.size() == 1 {
        return Ok(()); // nothing to pad
    }
    let Err(ArrayError::IncompatibleArray { given, allowed, .. }) = refused else {
        return Err(format!("planned for other padding: {refused:?}").into());
    };
    ensure(
        given.contains("padded (1, 1)") && allowed.contains("padded (2, 2)"),
        || format!("{given} against {allowed}"),
    )
}

fn windows_of_a_scalar_are_its_element(comm: &dyn Communicator) -> Outcome {
    let scalar = Distribution::over(comm.size()).shape([]).build()?;
    let a = LocalArray::<i64, Ix0, _>::full(&scalar, comm, 4)?;
    let found = a.map_windows(3, |w| w.len() as i64 * 10 + w[()])?;
    same(found.sum()?, 14, "0-d")
}

fn periodic_halo_wraps(comm: &dyn Communicator) -> Outcome {
    // 20 cells that repeat, and `width` cells at either edge that stand for the other end
    for width in [1_u64, 3] {
        let n = 20 + 2 * width;
        let d = Distribution::over(comm.size())
            .shape([n])
            .block(0)
            .padding(width)
            .periodic(0)
            .build()?;
        let value = |g: i64| (g - width as i64).rem_euclid(20);
        let mut a = LocalArray::<i64, Ix1, _>::from_fn(&d, comm, |index| value(index[0]))?;
        let wanted = a.local().to_owned();
        let interior = width as i64..(n - width) as i64;
        for (x, (index, owned)) in a.local_mut().iter_mut().zip(cells(&d, comm.rank())) {
            if !owned || !interior.contains(&index[0]) {
                *x = -1;
            }
        }
        a.exchange_halo()?;
        same(a.local(), wanted.view(), "periodic")?;
    }
    Ok(())
}

/// The sum of weighted neighbours, the nearest cell standing in beyond the edge.
fn plain_windows(shape: [usize; 2], width: i64, constant: Option<i64>) -> Array2<i64> {
    let clamp = |i: i64, n: usize| i.clamp(0, n as i64 - 1);
    Array2::from_shape_fn(shape, |(r, c)| {
        let mut sum = 0;
        for (di, dr) in (-width..=width).enumerate() {
            for (dj, dc) in (-width..=width).enumerate() {
                let (i, j) = (r as i64 + dr, c as i64 + dc);
                let (near_i, near_j) = (clamp(i, shape[0]), clamp(j, shape[1]));
                let value = match constant {
                    Some(value) if (i, j) != (near_i, near_j) => value,
                    _ => near_i * shape[1] as i64 + near_j,
                };
                sum += value * (di as i64 * 7 + dj as i64 + 1);
            }
        }
        sum
    })
}

fn windows_equal_plain_ones(comm: &dyn Communicator) -> Outcome {
    for shape in [[1, 1], [2, 9], [12, 15]] {
        for width in [0_usize, 1, 2] {
            let kinds = [Kind::Bounds(5), Kind::Block];
            let d = plain::distribution(
                &shape.map(|n| n as u64),
                &kinds,
                width as u64 + 1,
                comm.size(),
            );
            let mut a = numbered(&d, comm)?;
            for (x, (_, owned)) in a.local_mut().iter_mut().zip(cells(&d, comm.rank())) {
                if !owned {
                    *x = i64::MIN / 1000;
                }
            }
            a.exchange_halo()?;
            let a = LocalArray::<i64, Ix2, _>::from_array(
                a.into_local().into_dimensionality()?,
                &d,
                comm,
            )?;
            let weighted = |w: ndarray::ArrayView2<'_, i64>| {
                w.indexed_iter()
                    .map(|((i, j), x)| x * (i as i64 * 7 + j as i64 + 1))
                    .sum::<i64>()
            };
            for constant in [None, Some(-3)] {
                let edge = constant.map_or(Edge::Nearest, Edge::Constant);
                let found = a.map_windows_with(width, edge, weighted)?;
                let wanted = plain_windows(shape, width as i64, constant);
                let found = LocalArray::from_array(found.into_local().into_dyn(), &d, comm)?;
                let at = |x: i64| wanted.as_slice().map_or(0, |all| all[x as usize]);
                check(&found, at, Some(0), "windows")?;
            }
        }
    }
    windows_of_a_scalar_are_its_element(comm)
}

fn windows_without_padding_are_refused(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[30], &[Kind::Block], 1, comm.size());
    let a = numbered(&d, comm)?;
    let wide = a.map_windows(2, |w| w.sum());
    let cyclic = numbered(
        &plain::distribution(&[30], &[Kind::Cyclic(1)], 0, comm.size()),
        comm,
    )?;
    let dealt = cyclic.map_windows(1, |w| w.sum());
    if comm.size() == 1 {
        ensure(wide.is_ok() && dealt.is_ok(), || {
            "one rank has it all".into()
        })
    } else {
        same(
            wide.err(),
            Some(ArrayError::Padding {
                axis: 0,
                given: 2,
                allowed: 1,
            }),
            "too wide",
        )?;
        same(
            dealt.err(),
            Some(ArrayError::NotBlocks {
                axis: 0,
                given: "cyclic",
            }),
            "dealt out",
        )?;
        let lists: Vec<Vec<i64>> = (0..comm.size())
            .map(|rank| {
                (0..30)
                    .filter(|i| i % comm.size() == rank)
                    .map(|i| i as i64)
                    .collect()
            })
            .collect();
        let listed = Distribution::over(comm.size())
            .shape([30])
            .unstructured(0, lists)
            .build()?;
        let error = numbered(&listed, comm)?.map_windows(1, |w| w.sum()).err();
        let message = error.map(|error| error.to_string()).unwrap_or_default();
        ensure(
            message.contains("axis 0 is unstructured: windows need block axes"),
            || message.clone(),
        )
    }
}

fn windows_beyond_all_memory_are_refused(comm: &dyn Communicator) -> Outcome {
    // one rank has the whole axis, so that no padding is asked for, and two of them more than one dimension can count
    let owner = comm.size() - 1;
    let whole = Distribution::over(comm.size()).shape([5, 4]);
    let whole = whole.grid([1, 1]).targets([owner]).build()?;
    let a = numbered(&whole, comm)?;
    for (width, what) in [(usize::MAX, "the widest"), (1 << 31, "a product")] {
        let extent = |n: usize| n.saturating_add(width.saturating_mul(2));
        let error = ArrayError::Allocation {
            rank: owner,
            shape: vec![extent(5), extent(4)],
            bytes: None,
        };
        same(a.map_windows(width, |w| w.sum()).err(), Some(error), what)?;
    }
    // no element, no window
    let none = plain::distribution(&[0, 4], &[Kind::Whole, Kind::Whole], 0, comm.size());
    let none = numbered(&none, comm)?;
    ensure(none.map_windows(usize::MAX, |w| w.sum()).is_ok(), || {
        "no window".into()
    })
}

fn windows_wider_than_the_array_repeat_its_edge(comm: &dyn Communicator) -> Outcome {
    let blocks = Distribution::over(comm.size())
        .shape([3])
        .block(0)
        .padding(9)
        .build()?;
    let mut a = LocalArray::<i64, Ix1, _>::from_fn(&blocks, comm, |at| at[0] + 1)?;
    a.exchange_halo()?;
    let found = a.map_windows(7, |w| w.sum())?;
    let around = |p: i64| (p - 7..=p + 7).map(|q| q.clamp(0, 2) + 1).sum::<i64>();
    same(found.sum()?, (0..3).map(around).sum::<i64>(), "nearest")?;
    let found = a.map_windows_with(7, Edge::Constant(100), |w| w.sum())?;
    same(found.sum()?, 3 * (6 + 12 * 100), "constant")
}
