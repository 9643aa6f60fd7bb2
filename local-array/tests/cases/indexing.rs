//! Elements by global index, and iteration with global indices.

use dist_comm::{CommExt, Communicator, SingleComm};
use local_array::{ArrayError, LocalArray, RemoteElements};
use ndarray::IxDyn;

use super::plain::{self, Kind, SHAPES, cells, draw, flat, zoo};
use super::{Outcome, ensure, refused_everywhere, same};

cases! {
    indexing_items_are_the_same_everywhere,
    indexing_remote_elements,
    indexing_iteration_sees_every_element_once,
    indexing_by_the_seeds_name,
    indexing_mistakes,
    indexing_differs_between_the_ranks,
}

fn indexing_items_are_the_same_everywhere(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for d in zoo(shape, comm.size()) {
            let mut a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| flat(shape, g))?;
            for number in (0..plain::size(shape)).step_by(7) {
                let index = a.unpack_index(number)?;
                let from_end: Vec<i64> = index
                    .iter()
                    .zip(shape)
                    .map(|(i, &n)| i - n as i64)
                    .collect();
                same(a.get_item(&index)?, number as i64, "get_item")?;
                same(a.get_item(&from_end)?, number as i64, "from the end")?;
                a.set_item(&from_end, -1)?;
                same(a.get_item(&index)?, -1, "set_item")?;
                for (stored, &element, _) in a.ndenumerate_stored() {
                    ensure(
                        (element == -1) == (stored == index)
                            || element == -1 && flat(shape, &stored) < number as i64,
                        || format!("set_item of {index:?} at {stored:?}"),
                    )?;
                }
            }
            let beyond: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
            ensure(a.get_item(&beyond).is_err() || shape.is_empty(), || {
                "beyond the end".into()
            })?;
        }
    }
    Ok(())
}

fn indexing_remote_elements(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        let size = plain::size(shape);
        for d in zoo(shape, comm.size()) {
            let mut a = LocalArray::<f64, IxDyn, _>::from_fn(&d, comm, |g| flat(shape, g) as f64)?;
            let mut seed = comm.rank() as u64 + 5;
            let count = if size == 0 { 0 } else { comm.rank() * 13 % 29 };
            let mine: Vec<u64> = (0..count).map(|_| draw(&mut seed) % size).collect();
            let remote = RemoteElements::new(&d, &mine, comm)?;
            for _ in 0..2 {
                let wanted: Vec<f64> = mine.iter().map(|&at| at as f64).collect();
                same(remote.fetch(&a)?, wanted, "fetch")?;
            }
            let values: Vec<f64> = mine.iter().map(|&at| at as f64 * 2.0 + 1.0).collect();
            remote.store(&values, &mut a)?;
            same(remote.fetch(&a)?, values, "what was stored")?;
            let named: Vec<Vec<u64>> = comm.all_gather_slice(&mine)?;
            for (index, &element) in a.ndenumerate() {
                let at = flat(shape, &index);
                let set = named.iter().flatten().any(|&named| named == at as u64);
                same(
                    element,
                    if set {
                        at as f64 * 2.0 + 1.0
                    } else {
                        at as f64
                    },
                    "an element",
                )?;
            }
            let outside = RemoteElements::new(&d, &[size], comm).err();
            ensure(matches!(outside, Some(ArrayError::Agreed(_))), || {
                format!("{outside:?}")
            })?;
            let wrong = remote.store(&[0.0; 40], &mut a);
            ensure(matches!(wrong, Err(ArrayError::Agreed(_))), || {
                format!("{wrong:?}")
            })?;
        }
    }
    Ok(())
}

fn indexing_iteration_sees_every_element_once(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for d in zoo(shape, comm.size()) {
            let a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| flat(shape, g))?;
            let is_here = d.coords(comm.rank()).is_some();
            let stored: Vec<(Vec<i64>, bool)> = cells(&d, comm.rank());
            let stored = if is_here { stored } else { Vec::new() };
            let found: Vec<(Vec<i64>, bool)> = a
                .ndenumerate_stored()
                .map(|(index, &element, is_owned)| {
                    assert_eq!(element, flat(shape, &index));
                    (index, is_owned)
                })
                .collect();
            same(&found, &stored, "stored")?;
            let owned: Vec<Vec<i64>> = stored
                .into_iter()
                .filter(|cell| cell.1)
                .map(|cell| cell.0)
                .collect();
            same(a.ndenumerate().len(), owned.len(), "length")?;
            same(
                a.ndenumerate().map(|(index, _)| index).collect::<Vec<_>>(),
                owned,
                "owned",
            )?;
            let mine: Vec<i64> = a.ndenumerate().map(|(_, &x)| x).collect();
            let mut all: Vec<i64> = comm.all_gather_slice(&mine)?.concat();
            all.sort_unstable();
            same(
                all,
                (0..plain::size(shape) as i64).collect::<Vec<_>>(),
                "all ranks together",
            )?;
            if is_here {
                let part = a.part()?;
                let indices: Vec<Vec<i64>> = part.ndenumerate().map(|(index, _)| index).collect();
                let count = indices
                    .iter()
                    .collect::<std::collections::BTreeSet<_>>()
                    .len();
                same(count, part.local().len(), "a part counts from 0")?;
            }
        }
    }
    Ok(())
}

fn indexing_by_the_seeds_name(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(
        &[9, 3],
        &[plain::Kind::Cyclic(2), plain::Kind::Block],
        1,
        comm.size(),
    );
    let mut a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| g[0] * 3 + g[1])?;
    let here = a.global_index_mut().checked_setitem(&[4, 1], 100);
    let index = a.global_index();
    same(
        index.checked_getitem(&[4, 1]),
        here.then_some(100),
        "checked_getitem",
    )?;
    same(
        index.global_to_local(&[4, 1]).is_some(),
        here,
        "global_to_local",
    )?;
    if let Some(local) = index.global_to_local(&[4, 1]) {
        same(
            index.local_to_global(&local),
            Some(vec![4, 1]),
            "local_to_global",
        )?;
    }
    let row = index.get_slice(&[4.into()])?;
    same(row.get_item(&[1])?, 100, "get_slice")?;
    let single = LocalArray::<i64, IxDyn, _>::ones(
        &plain::distribution(&[2], &[plain::Kind::Block], 0, 1),
        SingleComm::new(),
    )?;
    same(
        single.global_index().checked_getitem(&[2]),
        None,
        "beyond the end",
    )
}

/// An index outside is one error, a wrong number of indices or an axis that is not there another.
fn indexing_mistakes(comm: &dyn Communicator) -> Outcome {
    let d = plain::distribution(&[4, 5], &[Kind::Block, Kind::Whole], 0, comm.size());
    let a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| g[0] * 5 + g[1])?;
    let outside = |error: Option<ArrayError>, axis: Option<usize>, given: i128, allowed: u64| {
        let found = match error {
            Some(ArrayError::OutOfBounds {
                axis,
                given,
                allowed,
                ..
            }) => Some((axis, given, allowed)),
            _ => None,
        };
        same(found, Some((axis, given, allowed)), &format!("{error:?}"))
    };
    outside(a.get_item(&[0, 5]).err(), Some(1), 5, 5)?;
    outside(a.get_item(&[-5, 0]).err(), Some(0), -5, 4)?;
    outside(a.pack_index(&[0, 5]).err(), Some(1), 5, 5)?;
    outside(a.pack_index(&[-1, 0]).err(), Some(0), -1, 4)?;
    outside(a.unpack_index(20).err(), None, 20, 20)?;
    outside(a.slice(&[4.into()]).err(), Some(0), 4, 4)?;
    let raise = local_array::IndexMode::Raise;
    outside(a.take([20], None, raise).err(), None, 20, 20)?;
    let dimension = |error: Option<ArrayError>, given: isize| {
        let found = match error {
            Some(ArrayError::InvalidDimension { given, ndim: 2, .. }) => Some(given),
            _ => None,
        };
        same(found, Some(given), &format!("{error:?}"))
    };
    dimension(a.get_item(&[0]).err(), 1)?;
    dimension(a.pack_index(&[0, 0, 0]).err(), 3)?;
    dimension(a.global_limits(2).err(), 2)?;
    dimension(a.take([0], -3, raise).err(), -3)?;
    dimension(a.over(2).sum().err(), 2)?;
    dimension(a.swapaxes(0, 2).err(), 2)
}

fn indexing_differs_between_the_ranks(comm: &dyn Communicator) -> Outcome {
    let (ranks, last) = (comm.size(), comm.rank() + 1 == comm.size());
    if ranks == 1 {
        return Ok(());
    }
    let d = plain::distribution(&[10], &[Kind::Block], 0, ranks);
    let cyclic = plain::distribution(&[10], &[Kind::Cyclic(1)], 0, ranks);
    let mut a = LocalArray::<i64, IxDyn, _>::from_fn(&d, comm, |g| g[0])?;
    let outside = a.get_item(&[if last { 30 } else { 3 }]);
    refused_everywhere(comm, outside, "one index outside")?;
    let one_owner = a.get_item(&[i64::from(last)]);
    refused_everywhere(comm, one_owner, "two indices of a rank")?;
    let own = if last { &cyclic } else { &d };
    let planned = RemoteElements::new(own, &[1], comm);
    refused_everywhere(comm, planned, "distributions to plan for")?;
    let remote = RemoteElements::new(&d, &[9], comm)?;
    let mut own = LocalArray::<i64, IxDyn, _>::from_fn(own, comm, |g| g[0])?;
    refused_everywhere(comm, remote.fetch(&own), "arrays to fetch from")?;
    refused_everywhere(comm, remote.store(&[5], &mut own), "arrays to store to")?;
    same(remote.fetch(&a)?, [9], "the ranks are in step")?;
    let raise = local_array::IndexMode::Raise;
    let back = |mode| a.take_at(&a, mode);
    let mode = if last {
        local_array::IndexMode::Wrap
    } else {
        local_array::IndexMode::Raise
    };
    refused_everywhere(comm, back(mode), "mode of take_at")?;
    refused_everywhere(comm, a.take_at(&own, raise), "indices of take_at")?;
    let b = a.copy();
    refused_everywhere(comm, a.put_at(&own, &b, raise), "indices of put_at")?;
    refused_everywhere(comm, a.put_at(&b, &own, raise), "values of put_at")?;
    same(a.sum()?, 45, "nothing is set")
}
