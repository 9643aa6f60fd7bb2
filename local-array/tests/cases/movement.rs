//! Redistribution and gathering.

use dap_protocol::Element;
use dist_comm::{CommExt, Communicator};
use dist_maps::Distribution;
use half::f16;
use local_array::{ArrayError, HaloExchanger, LocalArray, Redistributor, SharedArray};
use ndarray::{Array, Ix1, Ix2, IxDyn, ShapeBuilder};
use num_complex::{Complex32, Complex64};

use super::plain::{self, Kind, SHAPES, cells, flat, zoo};
use super::support::arrays::{check, numbered};
use super::support::counting::Counting;
use super::{Outcome, ensure, same};

cases! {
    redistribution_moves_every_element,
    gathering_gives_the_whole,
    permuted_and_reshaped,
    shared_arrays_redistribute,
    every_type_moves,
    different_targets_are_refused_everywhere,
    different_sources_are_refused_everywhere,
    nothing_is_listed_of_an_array_without_elements,
    a_rank_without_memory_for_its_messages_is_an_error_on_all,
}

fn redistribution_moves_every_element(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        let all = zoo(shape, comm.size());
        for from in &all {
            let mut a = numbered(from, comm)?;
            for to in &all {
                let what = format!("{:?} to {:?}", from.axes(), to.axes());
                if from == to {
                    check(&a.redistribute(to)?, |x| x, None, &what)?;
                    continue;
                }
                check(&a.redistribute(to)?, |x| x, Some(0), &what)?;
                let mut change = Redistributor::new(from, to, comm)?;
                let mut b = LocalArray::full(to, comm, -9)?;
                for round in 1..=2 {
                    a.map_inplace(|x| *x *= 2);
                    change.execute(&a, &mut b)?;
                    check(&b, |x| x << round, Some(-9), &what)?;
                }
                a.map_inplace(|x| *x /= 4);
            }
        }
    }
    Ok(())
}

fn gathering_gives_the_whole(comm: &dyn Communicator) -> Outcome {
    for &shape in SHAPES {
        let extents: Vec<usize> = shape.iter().map(|&n| n as usize).collect();
        let wanted =
            Array::from_shape_vec(IxDyn(&extents), (0..plain::size(shape) as i64).collect())?;
        for (i, distribution) in zoo(shape, comm.size()).iter().enumerate() {
            let root = i % comm.size();
            let found = numbered(distribution, comm)?.gather_to(root)?;
            same(
                found,
                (comm.rank() == root).then(|| wanted.clone()),
                "gathered",
            )?;
        }
    }
    let a = numbered(
        &plain::distribution(&[5], &[Kind::Block], 0, comm.size()),
        comm,
    )?;
    if comm.size() > 1 {
        let given = (0..comm.size() as u64).collect();
        same(
            a.gather_to(comm.rank()).err(),
            Some(ArrayError::Roots { given }),
            "different roots",
        )?;
    }
    Ok(())
}

fn permuted_and_reshaped(comm: &dyn Communicator) -> Outcome {
    for from in zoo(&[6, 10], comm.size()) {
        let a = numbered(&from, comm)?;
        for to in zoo(&[10, 6], comm.size()) {
            let mut b = LocalArray::<i64, IxDyn, _>::zeros(&to, comm)?;
            Redistributor::permuted(&from, &to, &[1, 0], comm)?.execute(&a, &mut b)?;
            check(&b, |x| x % 6 * 10 + x / 6, Some(0), "permuted")?;
        }
        for to in zoo(&[5, 4, 3], comm.size())
            .iter()
            .chain(&zoo(&[60], comm.size()))
        {
            check(&a.redistribute_reshaped(to)?, |x| x, Some(0), "reshaped")?;
        }
        check(
            &a.redist::<IxDyn>(&[3, 20], "nc", None)?,
            |x| x,
            None,
            "redist",
        )?;
        check(
            &a.asdist::<IxDyn>(&[6, 10], "bn", None)?,
            |x| x,
            None,
            "asdist",
        )?;
        let like = numbered(
            &plain::distribution(&[6, 10], &[Kind::Cyclic(2), Kind::Block], 1, comm.size()),
            comm,
        )?;
        check(&a.asdist_like(&like)?, |x| x, Some(0), "asdist_like")?;
        let other = plain::distribution(&[6, 11], &[Kind::Block, Kind::Whole], 0, comm.size());
        ensure(
            matches!(a.redistribute(&other), Err(ArrayError::Plan(_))),
            || "another shape".into(),
        )?;
        ensure(
            matches!(
                a.redistribute_reshaped::<IxDyn>(&other),
                Err(ArrayError::Plan(_))
            ),
            || "another size".into(),
        )?;
        // the same typed error on every rank
        let two = plain::distribution(&[60, 1], &[Kind::Block, Kind::Whole], 0, comm.size());
        let wrong = Some(ArrayError::InvalidDimension {
            what: "number of dimensions",
            given: 2,
            ndim: 1,
        });
        let reshaped = a.redistribute_reshaped::<Ix1>(&two).err();
        same(
            &reshaped,
            &wrong,
            "reshaped to another number of dimensions",
        )?;
        let asked = a.asdist::<Ix1>(&[60, 1], "b", None).err();
        same(&asked, &wrong, "asdist")?;
    }
    Ok(())
}

fn shared_arrays_redistribute(comm: &dyn Communicator) -> Outcome {
    let shape = [12, 10];
    let all = zoo(&shape, comm.size());
    for (from, to) in all.iter().zip(all.iter().skip(1)) {
        let mut a = SharedArray::<f64, IxDyn, _>::zeros(from, comm)?;
        let values: Vec<f64> = cells(from, comm.rank())
            .iter()
            .map(|cell| flat(&shape, &cell.0) as f64)
            .collect();
        for (slot, value) in a.view_mut()?.local_mut().iter_mut().zip(values) {
            *slot = value;
        }
        let mut b = SharedArray::<f64, IxDyn, _>::zeros(to, comm)?;
        Redistributor::new(from, to, comm)?.execute(&a.view()?, &mut b.view_mut()?)?;
        let moved = b.view()?.to_owned();
        let moved = LocalArray::from_array(moved.into_local(), to, comm)?;
        check(&moved, |x| x as f64, Some(0.0), "shared")?;
        // from shared memory to ordinary memory
        let mut c = LocalArray::<f64, IxDyn, _>::zeros(to, comm)?;
        Redistributor::new(from, to, comm)?.execute(&a.view()?, &mut c)?;
        check(&c, |x| x as f64, Some(0.0), "shared to ordinary")?;
        same(a.view()?.sum()?, 7140.0, "sum of a view")?;
        // one rank has its elements in another order, and lends nothing
        let mut d = LocalArray::<f64, IxDyn, _>::zeros(to, comm)?;
        let mut change = Redistributor::new(from, to, comm)?;
        if comm.rank() == 0 {
            let view = a.view()?;
            let mut fortran = Array::zeros(view.local().raw_dim().f());
            fortran.assign(&view.local());
            change.execute(&LocalArray::from_array(fortran, from, comm)?, &mut d)?;
        } else {
            change.execute(&a.view()?, &mut d)?;
        }
        check(&d, |x| x as f64, Some(0.0), "one rank in another order")?;
    }
    Ok(())
}

fn type_moves<T: Element>(comm: &dyn Communicator, value: impl Fn(i64) -> T + Copy) -> Outcome {
    let all = zoo(&[7, 6], comm.size());
    for (from, to) in all.iter().zip(all.iter().rev()) {
        let a = numbered(from, comm)?.map(|&x| value(x));
        check(
            &a.redistribute(to)?,
            value,
            None,
            T::TYPE.to_string().as_str(),
        )?;
    }
    let padded = plain::distribution(&[7, 6], &[Kind::Block, Kind::Block], 1, comm.size());
    let whole = numbered(&padded, comm)?.map(|&x| value(x));
    let mut a = LocalArray::<T, IxDyn, _>::zeros(&padded, comm)?;
    a.owned_mut().assign(&whole.owned());
    a.exchange_halo()?;
    same(a.local(), whole.local(), T::TYPE.to_string().as_str())
}

fn every_type_moves(comm: &dyn Communicator) -> Outcome {
    // one of each size and alignment, and bool
    type_moves(comm, |x| x % 3 == 1)?;
    type_moves(comm, |x| x as i8)?;
    type_moves(comm, |x| f16::from_f64(x as f64))?;
    type_moves(comm, |x| x as i32 * 70_000)?;
    type_moves(comm, |x| Complex32::new(x as f32, -1.0))?;
    type_moves(comm, |x| x as f64 / 3.0)?;
    type_moves(comm, |x| Complex64::new(x as f64, -1.0))
}

fn different_targets_are_refused_everywhere(comm: &dyn Communicator) -> Outcome {
    if comm.size() == 1 {
        return Ok(());
    }
    let a = numbered(
        &plain::distribution(&[24], &[Kind::Block], 0, comm.size()),
        comm,
    )?;
    let odd = comm.rank() == 1;
    let cyclic = Distribution::over(comm.size()).shape([24]);
    let cyclic = cyclic.block_cyclic(0, 1 + u64::from(odd)).build()?;
    // the same elements on the same ranks, and for rank 0 the identity
    let block = Distribution::over(comm.size()).shape([24]).block(0);
    let block = block.padding(u64::from(odd)).build()?;
    let letter = if odd { "x" } else { "c" };
    for error in [
        a.redistribute(&cyclic).err(),
        a.redistribute(&block).err(),
        a.asdist::<Ix1>(&[24], letter, None).err(),
    ] {
        ensure(
            matches!(error, Some(ArrayError::IncompatibleArray { .. })),
            || format!("{error:?}"),
        )?;
    }
    in_step(comm)
}

fn in_step(comm: &dyn Communicator) -> Outcome {
    let ranks = comm.all_gather_value(comm.rank() as u64)?;
    same(
        ranks,
        (0..comm.size() as u64).collect::<Vec<_>>(),
        "in step",
    )
}

/// Both distributions are named, the one of rank 1 as given and the one of rank 0 as allowed.
fn both_named(error: Option<ArrayError>, [allowed, given]: [&str; 2]) -> Outcome {
    let named = match &error {
        Some(ArrayError::IncompatibleArray {
            what: "the distribution",
            given: theirs,
            allowed: first,
        }) => {
            theirs.contains(given)
                && theirs.ends_with(" on rank 1")
                && first.contains(allowed)
                && first.ends_with(", as on rank 0")
        }
        _ => false,
    };
    ensure(named, || format!("{given} against {allowed}: {error:?}"))
}

fn different_sources_are_refused_everywhere(comm: &dyn Communicator) -> Outcome {
    let size = comm.size();
    if size == 1 {
        return Ok(());
    }
    let odd = comm.rank() == 1;
    let over = |n: u64| Distribution::over(size).shape([n]);
    let to = over(10).block_cyclic(0, 3).build()?;
    let (block, dealt) = (over(10).block(0).build()?, over(10).cyclic(0).build()?);
    let a = numbered(if odd { &dealt } else { &block }, comm)?;
    let named = ["[10] as [block", "[10] as [cyclic(1)]"];
    both_named(a.redistribute(&to).err(), named)?;
    both_named(a.asdist_like(&a).err(), named)?;
    both_named(a.asdist::<IxDyn>(&[2, 5], "cn", None).err(), named)?;
    let a = numbered(&over(if odd { 12 } else { 10 }).cyclic(0).build()?, comm)?;
    let named = ["[10] as [cyclic(1)]", "[12] as [cyclic(1)]"];
    both_named(a.redistribute(&to).err(), named)?;
    both_named(a.redistribute_reshaped::<IxDyn>(&to).err(), named)?;
    // in a halo exchange
    for widths in [[1, 0], [1, 2]] {
        let width = widths[usize::from(odd)];
        let mut a = numbered(&over(20).block(0).padding(width).build()?, comm)?;
        let text = |width| match width {
            0 => "] over".to_owned(),
            width => format!("padded ({width}, {width})] over"),
        };
        let texts = widths.map(text);
        both_named(a.exchange_halo().err(), [&texts[0], &texts[1]])?;
    }
    // in the making of shared memory
    let ranks = if odd { size + 1 } else { size };
    let given = Distribution::over(ranks).shape([10]).block(0).build()?;
    let made = SharedArray::<f64, Ix1, _>::zeros(&given, comm);
    both_named(made.err(), ["[10] as [block", "[10] as [block"])?;
    let wrong = Distribution::over(size + 1).shape([10]).block(0).build()?;
    let made = SharedArray::<f64, Ix1, _>::zeros(&wrong, comm);
    let error = ArrayError::InvalidBaseComm {
        given: size,
        allowed: size + 1,
    };
    same(made.err(), Some(error), "too many ranks")?;
    in_step(comm)
}

fn nothing_is_listed_of_an_array_without_elements(comm: &dyn Communicator) -> Outcome {
    let shape = [1 << 40, 0];
    let empty = Distribution::over(comm.size()).shape(shape).cyclic(0);
    let empty = empty.build()?;
    let a = LocalArray::<i64, Ix2, _>::from_fn(&empty, comm, |at| at[0])?;
    same(a.local().dim().1, 0, "extent")?;
    same(a.sum()?, 0, "sum")?;
    let flat = Distribution::over(comm.size())
        .shape([0])
        .block(0)
        .build()?;
    let moved = a.redistribute_reshaped::<Ix1>(&flat)?;
    same(moved.local().len(), 0, "moved")?;
    same(
        a.argmin().err(),
        Some(ArrayError::Empty {
            operation: "argmin",
            shape: shape.to_vec(),
        }),
        "no least element",
    )
}

fn a_rank_without_memory_for_its_messages_is_an_error_on_all(comm: &dyn Communicator) -> Outcome {
    if comm.size() == 1 {
        return Ok(()); // no messages
    }
    let poor = comm.size() - 1;
    let counting = Counting::new(comm);
    let comm: &dyn Communicator = &counting;
    let over = || Distribution::over(comm.size()).shape([24, 10]);
    let (rows, columns) = (over().block(0).build()?, over().cyclic(1).build()?);
    let padded = over().block(0).padding(1).build()?;
    let mut change = Redistributor::new(&rows, &columns, comm)?;
    let mut halo = HaloExchanger::new(&padded, comm)?;
    let (a, mut b) = (
        numbered(&rows, comm)?,
        LocalArray::full(&columns, comm, -9)?,
    );
    let mut c = numbered(&padded, comm)?;
    c.exchange_halo()?;
    let filled = c.local().to_owned();
    c.local_mut().fill(-9);
    c.owned_mut().assign(&numbered(&padded, comm)?.owned());
    let before = c.local().to_owned();
    for round in 0..2 {
        counting.set_poor(comm.rank() == poor);
        for outcome in [change.execute(&a, &mut b), halo.exchange(&mut c)] {
            let Err(ArrayError::Agreed(agreed)) = outcome else {
                return Err(format!("round {round}: {outcome:?}").into());
            };
            same(&(agreed.rank, agreed.failed), &(poor, vec![poor]), "who")?;
            ensure(agreed.cause.contains("could not allocate"), || agreed.cause)?;
        }
        ensure(b.local().iter().all(|&x| x == -9), || "moved".to_owned())?;
        same(c.local(), before.view(), "moved")?;
    }
    counting.set_poor(false);
    change.execute(&a, &mut b)?;
    check(&b, |x| x, Some(-9), "with memory again")?;
    halo.exchange(&mut c)?;
    same(c.local(), filled.view(), "with memory again")?;
    // What was had once is had again: nothing to agree on.
    counting.set_poor(comm.rank() == poor);
    change.execute(&a, &mut b)?;
    Ok(halo.exchange(&mut c)?)
}
