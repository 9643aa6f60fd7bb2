//! Construction, indexing, operators, import and export.

use dap_protocol::{DimData, DimDict, DistBuffer, DistributedArray, HostArray};
use dist_comm::{CommExt, Communicator};
use dist_maps::Distribution;
use local_array::{ArrayError, LocalArray, are_compatible};
use ndarray::{Array, Ix1, Ix2, IxDyn};

use super::plain::{self, Kind, SHAPES, cells, flat, zoo};
use super::support::arrays::{check, numbered};
use super::{Outcome, ensure, same};

cases! {
    construct_places_elements_by_index,
    global_and_local_indices_agree,
    operators_equal_plain_ones,
    padding_may_differ_between_operands,
    incompatible_arrays_are_the_same_error_everywhere,
    wrong_arguments_are_typed_errors,
    export_and_import_copy_nothing,
    parts_that_do_not_fit_are_refused_everywhere,
}

fn construct_places_elements_by_index(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for distribution in zoo(shape, comm.size()) {
            let a = numbered(&distribution, comm)?;
            let stored = cells(&distribution, comm.rank());
            let wanted: Vec<i64> = stored.iter().map(|(index, _)| flat(shape, index)).collect();
            same(
                a.local().iter().copied().collect::<Vec<_>>(),
                wanted,
                "stored",
            )?;
            let owned: Vec<i64> = stored
                .iter()
                .filter(|cell| cell.1)
                .map(|cell| flat(shape, &cell.0))
                .collect();
            if distribution.coords(comm.rank()).is_some() {
                same(
                    a.owned().iter().copied().collect::<Vec<_>>(),
                    owned,
                    "owned",
                )?;
            }
            let full = LocalArray::<u8, IxDyn, _>::full(&distribution, comm, 7)?;
            ensure(full.local().iter().all(|&x| x == 7), || "full".into())?;
            ensure(
                LocalArray::<f32, IxDyn, _>::ones(&distribution, comm)?
                    .local()
                    .iter()
                    .all(|&x| x == 1.0),
                || "ones".into(),
            )?;
            ensure(
                !LocalArray::<bool, IxDyn, _>::zeros(&distribution, comm)?
                    .local()
                    .iter()
                    .any(|&x| x),
                || "zeros".into(),
            )?;
        }
    }
    Ok(())
}

fn global_and_local_indices_agree(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for distribution in zoo(shape, comm.size()) {
            let mut a = numbered(&distribution, comm)?;
            let stored = cells(&distribution, comm.rank());
            if distribution.coords(comm.rank()).is_some() {
                for (local, &value) in a.local().indexed_iter() {
                    let local: Vec<usize> = (0..a.ndim()).map(|axis| local[axis]).collect();
                    let global = a.global_from_local(&local).ok_or("no global index")?;
                    same(flat(shape, &global), value, "global_from_local")?;
                    same(
                        a.local_from_global(&global),
                        Some(local.clone()),
                        "local_from_global",
                    )?;
                    same(a.checked_getitem(&global), Some(value), "checked_getitem")?;
                    same(
                        a.unpack_index(a.pack_index(&global)?)?,
                        global,
                        "pack_index",
                    )?;
                }
            }
            let here: Vec<i64> = stored.iter().map(|cell| flat(shape, &cell.0)).collect();
            let beyond: Vec<i64> = shape.iter().map(|&n| n as i64).collect();
            if !shape.is_empty() {
                same(a.checked_getitem(&beyond), None, "beyond the array")?;
                same(
                    a.checked_getitem(&vec![-1; shape.len()]),
                    None,
                    "no index wraps around",
                )?;
            }
            for g in 0..plain::size(shape) {
                let index = a.unpack_index(g)?;
                let found = a.checked_setitem(&index, -5);
                let active = distribution.coords(comm.rank()).is_some();
                same(
                    found,
                    active && here.contains(&(g as i64)),
                    "checked_setitem",
                )?;
            }
            for axis in 0..shape.len() {
                let globals: Vec<i64> = match distribution.coords(comm.rank()) {
                    Some(_) => plain::axes(&distribution, comm.rank())[axis]
                        .iter()
                        .map(|cell| cell.0)
                        .collect(),
                    None => vec![],
                };
                let limits = globals.first().copied().zip(globals.last().copied());
                same(a.global_limits(axis)?, limits, "global_limits")?;
            }
            ensure(a.global_limits(shape.len()).is_err(), || {
                "an axis too many".into()
            })?;
        }
    }
    Ok(())
}

fn operators_equal_plain_ones(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for distribution in zoo(shape, comm.size()) {
            let a = numbered(&distribution, comm)?;
            let b = a.map(|&x| 100 - 3 * x);
            let (f, g) = (|x: i64| x, |x: i64| 100 - 3 * x);
            check(&(&a + &b)?, |x| f(x) + g(x), None, "+")?;
            check(&(&a - &b)?, |x| f(x) - g(x), None, "-")?;
            check(&(&a * &b)?, |x| f(x) * g(x), None, "*")?;
            check(
                &(&b / &a)?,
                |x| if x == 0 { 0 } else { g(x) / x },
                None,
                "/",
            )?;
            check(
                &(&b % &a)?,
                |x| if x == 0 { 0 } else { g(x) % x },
                None,
                "%",
            )?;
            check(&(&a & &b)?, |x| x & g(x), None, "&")?;
            check(&(&a | &b)?, |x| x | g(x), None, "|")?;
            check(&(&a ^ &b)?, |x| x ^ g(x), None, "^")?;
            check(&(&a * 7), |x| x * 7, None, "* 7")?;
            check(&(7 - &a), |x| 7 - x, None, "7 -")?;
            check(&-&a, |x| -x, None, "-")?;
            check(&!&a, |x| !x, None, "!")?;
            check(&a.less(&b)?, |x| x < g(x), None, "<")?;
            check(&a.less_equal(&b)?, |x| x <= g(x), None, "<=")?;
            check(&a.greater(25)?, |x| x > 25, None, ">")?;
            check(&a.greater_equal(25)?, |x| x >= 25, None, ">=")?;
            check(&a.equal(&b)?, |x| x == g(x), None, "==")?;
            check(&a.not_equal(3)?, |x| x != 3, None, "!=")?;
            let mut c = a.to_owned();
            c.try_add_assign(&b)?;
            c *= 2;
            c.try_sub_assign(1)?;
            check(&c, |x| (x + g(x)) * 2 - 1, None, "in place")?;
            c.assign(&a)?;
            check(&c, f, None, "assign")?;
            c.map_inplace(|x| *x += 4);
            check(&c, |x| x + 4, None, "map_inplace")?;
        }
    }
    Ok(())
}

fn padding_may_differ_between_operands(comm: &dyn Communicator) -> Outcome {
    let build = |padding| {
        plain::distribution(
            &[11, 8],
            &[Kind::Block, Kind::Balanced],
            padding,
            comm.size(),
        )
    };
    let (bare, padded) = (build(0), build(2));
    let (a, b) = (numbered(&bare, comm)?, numbered(&padded, comm)?);
    ensure(are_compatible(&a, &b), || "padding does not matter".into())?;
    check(&(&a + &b)?, |x| 2 * x, None, "bare + padded")?;
    check(
        &(&b + &a)?,
        |x| 2 * x,
        Some(0),
        "padded + bare: padding is zero",
    )?;
    let mut c = b.to_owned();
    c.fill(-1);
    c.assign(&a)?;
    check(&c, |x| x, Some(-1), "padding is left alone")?;
    // the same elements on the same ranks, said otherwise: one round of blocks, and a rank without a place
    let ranks = comm.size() as u64;
    let dealt = Distribution::over(comm.size())
        .shape([5 * ranks, 2])
        .block_cyclic(0, 5)
        .build()?;
    let blocks = Distribution::over(comm.size())
        .shape([5 * ranks, 2])
        .block(0)
        .build()?;
    check(
        &(&numbered(&dealt, comm)? + &numbered(&blocks, comm)?)?,
        |x| 2 * x,
        None,
        "cyclic + block",
    )?;
    let empty = Distribution::over(comm.size())
        .shape([1, 2])
        .block(0)
        .grid([comm.size(), 1])
        .build()?;
    let inactive = Distribution::over(comm.size())
        .shape([1, 2])
        .block(0)
        .grid([1, 1])
        .build()?;
    let mut sum = (&numbered(&empty, comm)? + &numbered(&inactive, comm)?)?;
    sum.try_add_assign(&numbered(&inactive, comm)?)?;
    check(&sum, |x| 3 * x, None, "empty + inactive")
}

fn incompatible_arrays_are_the_same_error_everywhere(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.size();
    let a = numbered(&plain::distribution(&[12], &[Kind::Block], 0, ranks), comm)?;
    let b = numbered(
        &plain::distribution(&[12], &[Kind::Cyclic(1)], 0, ranks),
        comm,
    )?;
    let c = numbered(&plain::distribution(&[13], &[Kind::Block], 0, ranks), comm)?;
    for (other, expected) in [(&b, ranks == 1), (&c, false)] {
        let outcome = &a + other;
        same(are_compatible(&a, other), outcome.is_ok(), "are_compatible")?;
        if !expected {
            let Err(error) = outcome else { continue };
            ensure(
                matches!(error, ArrayError::IncompatibleArray { .. }),
                || error.to_string(),
            )?;
            let texts = comm.all_gather_v(error.to_string().as_bytes())?;
            ensure(texts.iter().all(|text| *text == texts[0]), || {
                format!("differs between ranks: {error}")
            })?;
        }
    }
    ensure((&a + &c).is_err(), || "other shapes do not fit".into())?;
    let lists = |seed| plain::distribution(&[20], &[Kind::List(seed)], 0, ranks);
    let (x, y) = (numbered(&lists(1), comm)?, numbered(&lists(2), comm)?);
    ensure((&x + &y).is_err(), || {
        "another local order does not fit".into()
    })?;
    ensure((&x + &numbered(&lists(1), comm)?).is_ok(), || {
        "equal lists fit".into()
    })
}

fn wrong_arguments_are_typed_errors(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.size();
    let other = plain::distribution(&[9], &[Kind::Block], 0, ranks + 1);
    let error = LocalArray::<f64, Ix1, _>::zeros(&other, comm).err();
    same(
        error,
        Some(ArrayError::InvalidBaseComm {
            given: ranks,
            allowed: ranks + 1,
        }),
        "ranks",
    )?;
    let mine = plain::distribution(&[9], &[Kind::Block], 0, ranks);
    let error = LocalArray::<f64, Ix2, _>::zeros(&mine, comm).err();
    ensure(
        matches!(
            error,
            Some(ArrayError::InvalidDimension {
                given: 1,
                ndim: 2,
                ..
            })
        ),
        || format!("{error:?}"),
    )?;
    let error = LocalArray::from_array(Array::<u8, _>::zeros(77), &mine, comm).err();
    ensure(matches!(error, Some(ArrayError::LocalShape { .. })), || {
        format!("{error:?}")
    })?;
    let huge = Distribution::over(ranks)
        .shape([1 << 40, 1 << 40])
        .build()?;
    if comm.rank() == 0 {
        let error = LocalArray::<u8, Ix2, _>::zeros(&huge, comm).err();
        ensure(matches!(error, Some(ArrayError::Allocation { .. })), || {
            format!("{error:?}")
        })?;
    }
    let a = numbered(&mine, comm)?;
    let error = a.gather_to(ranks).err();
    same(
        error,
        Some(ArrayError::InvalidRank {
            what: "root",
            given: ranks,
            allowed: ranks,
        }),
        "root",
    )?;
    let error = a.asdist::<Ix1>(&[9], "x", None).err();
    ensure(
        matches!(
            error,
            Some(ArrayError::InvalidMapCode {
                axis: 0,
                given: 'x',
                ..
            })
        ),
        || format!("{error:?}"),
    )?;
    ensure(
        a.pack_index(&[9]).is_err()
            && a.pack_index(&[-1]).is_err()
            && a.pack_index(&[1, 1]).is_err(),
        || "pack_index".into(),
    )?;
    ensure(a.unpack_index(9).is_err(), || "unpack_index".into())
}

fn export_and_import_copy_nothing(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        for distribution in zoo(shape, comm.size()) {
            let a = numbered(&distribution, comm)?;
            let address = a.local().as_ptr();
            let shown = a.distarray();
            same(
                shown.buffer().as_ptr(),
                address,
                "the view shows the array's memory",
            )?;
            same(
                shown.dim_data(),
                &distribution.dim_data(comm.rank())?,
                "dim_data",
            )?;
            let dim_data = shown.dim_data().clone();
            let taken = DistBuffer::new(dim_data, a.into_local())?;
            let b: LocalArray<i64, IxDyn, &dyn Communicator> =
                LocalArray::from_distarray(taken, comm)?;
            same(b.local().as_ptr(), address, "import takes the memory")?;
            check(&b, |x| x, None, "imported")?;
            let again: LocalArray<u8, IxDyn, &dyn Communicator> =
                LocalArray::from_dim_data(b.distarray().dim_data(), comm)?;
            same(again.local_shape(), b.local_shape(), "from_dim_data")?;
            // one dimension more than the array type has: the same typed error on every rank
            if let [_, _] = shape {
                let wrong = Some(ArrayError::InvalidDimension {
                    what: "number of dimensions",
                    given: 2,
                    ndim: 1,
                });
                let made = LocalArray::<u8, Ix1, _>::from_dim_data(b.distarray().dim_data(), comm);
                same(&made.err(), &wrong, "from_dim_data")?;
                let dim_data = b.distarray().dim_data().clone();
                let part = DistBuffer::new(dim_data, b.into_local())?;
                let taken = LocalArray::<i64, Ix1, _>::from_distarray(part, comm);
                same(&taken.err(), &wrong, "from_distarray")?;
            }
        }
    }
    Ok(())
}

fn parts_that_do_not_fit_are_refused_everywhere(comm: &dyn Communicator) -> Outcome {
    let (rank, ranks) = (comm.rank(), comm.size());
    let refused =
        |outcome: Result<LocalArray<f64, Ix1, &dyn Communicator>, ArrayError>| -> Outcome {
            let Err(error) = outcome else {
                return Err("accepted".into());
            };
            let texts = comm.all_gather_v(error.to_string().as_bytes())?;
            ensure(texts.iter().all(|text| *text == texts[0]), || {
                format!("differs between ranks: {error}")
            })
        };
    let part = |dim: DimDict, n: usize| {
        DistBuffer::new(
            DimData::new(vec![dim]),
            HostArray::new(vec![n], vec![0.0; n])?,
        )
    };
    // a grid of more ranks than there are
    let dim = DimDict::block(10, ranks + 1, rank, 0..10)?;
    refused(LocalArray::from_distarray(part(dim, 10)?, comm))?;
    if ranks > 1 {
        // every rank says that it has it all
        let dim = DimDict::block(10, ranks, rank, 0..10)?;
        refused(LocalArray::from_distarray(part(dim, 10)?, comm))?;
        // the sizes differ
        let n = 10 + u64::from(rank == 1);
        refused(LocalArray::from_distarray(
            part(
                DimDict::cyclic(n, ranks, rank, 100)?,
                if rank == 0 { 10 } else { 0 },
            )?,
            comm,
        ))?;
    }
    // one rank has elements of another type
    let last = ranks - 1;
    let n = if rank == 0 { 10 } else { 0 };
    let dim = DimData::new(vec![DimDict::cyclic(10, ranks, rank, 100)?]);
    let outcome = if rank == last {
        // the buffer is imported as what it is, so the mistake is made by its shape
        let two = DimData::new(vec![
            DimDict::cyclic(10, ranks, rank, 100)?,
            DimDict::whole(1)?,
        ]);
        LocalArray::<f64, Ix1, _>::from_distarray(
            DistBuffer::new(two, HostArray::new(vec![n, 1], vec![0.0; n])?)?,
            comm,
        )
    } else {
        LocalArray::from_distarray(
            DistBuffer::new(dim, HostArray::new(vec![n], vec![0.0; n])?)?,
            comm,
        )
    };
    refused(outcome)?;
    // afterwards the ranks still understand each other
    same(
        comm.all_gather_value(1_u8)?.len(),
        ranks,
        "the ranks are in step",
    )
}
