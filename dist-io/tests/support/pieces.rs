//! Cases of what is done with lazy handles piece by piece, for any communicator: fragments, what is read ahead, expressions.

use dap_protocol::{DistBuffer, HostArray};
use dist_comm::{CommExt, Communicator};
use dist_io::{ChunkProblem, IoError, Number, Refusal, SaveHdf5, WriteMode, open_dset};
use dist_maps::{Distribution, Index, Slice};
use half::{bf16, f16};
use num_complex::Complex;

use crate::arrays::{all_of, rows};
use crate::cases::{Case, part, refusal, refused};
use crate::support::{Failure, Folder, Outcome, Value, ensure, every_kind, flat_indices};

/// All of them.
pub const CASES: &[Case] = &[
    ("fragments", in_fragments),
    ("what is read ahead is what is in the file", read_ahead),
    (
        "an error comes at the piece that it belongs to",
        errors_of_pieces,
    ),
    ("padding counts once", padding_counts_once),
    ("expressions", expressions),
    ("expressions of every type", expressions_of_every_type),
    ("what cannot be computed is refused", refused_expressions),
];

fn in_fragments(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [5, 40]);
    SaveHdf5::new(&path)
        .chunk([2, 8])
        .save(&part::<i64>(&d, comm), comm)?;
    let a = open_dset::<i64>(&path, "buffer", comm)?.distaxes([0])?;
    let cut = a.slice(&[Index::Ellipsis, (3..39).into()])?; // the first chunk is cut
    let most = 5_u64.div_ceil(comm.size() as u64);
    let starts = cut.fragments(8 * most * 20)?;
    let starts = starts.map(|fragment| Ok(fragment?.1[1]));
    let starts = starts.collect::<Result<Vec<_>, IoError>>()?;
    ensure(starts == [0, 13, 29], || format!("{starts:?}"))?;
    let mut starts = Vec::new();
    let mut seen = 0;
    cut.for_each_fragment(8 * most * 40, |part, offsets| {
        ensure(offsets[0] == 0, || format!("{offsets:?}"))?;
        starts.push(offsets[1]);
        let dims = part.dim_data().clone();
        let inside = flat_indices(&dims);
        let width = dims.global_shape()[1];
        seen += inside.len() as u64;
        let right = inside
            .iter()
            .zip(part.buffer().data())
            .all(|(at, &x)| x == i64::at(40 * (at / width) + 3 + offsets[1] + at % width));
        ensure(right, || format!("{part:?} at {offsets:?}"))
    })?;
    let at_chunks = starts.iter().skip(1).all(|start| (start + 3) % 8 == 0);
    ensure(starts[0] == 0 && at_chunks, || format!("{starts:?}"))?;
    let seen = comm.all_gather_value(seen)?;
    ensure(seen.iter().sum::<u64>() == 5 * 36, || format!("{seen:?}"))?;
    // too little for one column is one column
    ensure(cut.fragments(1)?.count() == 36, || {
        "single columns".to_owned()
    })?;
    let largest = cut.map_reduce(
        1,
        |part| part.data().iter().copied().max().unwrap_or(0),
        i64::max,
    )?;
    let expected = (0..200)
        .filter(|at| (3..39).contains(&(at % 40)))
        .map(i64::at)
        .max();
    ensure(largest == expected, || format!("{largest:?}"))?;
    let nothing = cut.slice(&[(2..2).into()])?;
    ensure(nothing.fragments(100)?.count() == 0, || {
        "nothing".to_owned()
    })?;
    ensure(
        nothing.map_reduce(100, |_| 1_i64, |a, b| a + b)?.is_none(),
        || "of nothing".to_owned(),
    )?;
    // an error of one rank is one of all
    let last = comm.size() - 1;
    let mut calls = 0;
    let stopped = cut.for_each_fragment(1, |_, _| {
        calls += 1;
        if comm.rank() == last && calls == 2 {
            Err("enough")
        } else {
            Ok(())
        }
    });
    let stopped = refused(comm, stopped)?;
    ensure(
        matches!(&stopped, IoError::Agreed(agreed) if agreed.rank == last),
        || format!("{stopped:?}"),
    )?;
    ensure(calls == 2, || format!("{calls} calls"))
}

/// What is assigned or saved by the caller between two pieces, the second of which is being read.
fn read_ahead(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    for chunked in [false, true] {
        let path = folder.join(&format!("{chunked}.h5"));
        let save = SaveHdf5::new(&path);
        let save = if chunked {
            save.chunk([4, 8]).deflate(1)
        } else {
            save
        };
        let d = rows(comm, [64, 8]);
        save.save(&part::<i32>(&d, comm), comm)?;
        let a = open_dset::<i32>(&path, "buffer", comm)?;
        // within a third of it, so in several pieces
        let budget = 64 * 8 * 4 / 3 / comm.size() as u64;
        let mut starts = Vec::new();
        a.for_each_fragment(budget, |part, offsets| {
            let start = offsets[0];
            starts.push(start);
            let all = part.buffer().data();
            let right = all.iter().all(|&x| start == 0 || x == start as i32);
            ensure(right, || format!("{chunked}: {part:?} at {offsets:?}"))?;
            // the next rows are as many as these, if there are as many
            let rows = part.dim_data().global_shape()[0];
            let end = 64.min(start + 3 * rows);
            for row in start + rows..end {
                let after = a.slice(&[(row as i64).into()])?;
                let piece = (row - start) / rows * rows + start;
                after.fill(piece as i32)?;
            }
            Ok::<_, Failure>(())
        })?;
        ensure(starts.len() > 2, || format!("{chunked}: {starts:?}"))?;
        // another file of this name
        let mut seen = Vec::new();
        a.for_each_fragment(budget, |part, offsets| {
            if offsets[0] == 0 {
                let (_, dims, buffer) = crate::cases::part::<i32>(&d, comm).into_parts();
                let (shape, data, _) = buffer.into_parts();
                let other = HostArray::new(shape, vec![-7; data.len()])?;
                let other = DistBuffer::new(dims, other)?;
                save.clone().mode(WriteMode::Replace).save(&other, comm)?;
            } else {
                seen.extend_from_slice(part.buffer().data());
            }
            Ok::<_, Failure>(())
        })?;
        ensure(seen.iter().all(|&x| x == -7), || {
            format!("{chunked}: {seen:?}")
        })?;
    }
    Ok(())
}

fn errors_of_pieces(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [64, 8]);
    SaveHdf5::new(&path)
        .chunk([4, 8])
        .fletcher32(true)
        .save(&part::<u8>(&d, comm), comm)?;
    let a = open_dset::<u8>(&path, "buffer", comm)?;
    // rows 32 to 35 as they are in the file
    let chunk: Vec<u8> = (256..288).map(u8::at).collect();
    let whole = std::fs::read(&path)?;
    let at = whole.windows(32).position(|bytes| bytes == chunk);
    let at = at.ok_or("the bytes of a chunk")?;
    comm.barrier()?; // everybody has read the file
    if comm.rank() == 0 {
        let mut damaged = whole.clone();
        damaged[at] ^= 4;
        std::fs::write(&path, damaged)?;
    }
    comm.barrier()?;
    for budget in [1, 40, 100] {
        let mut reached = 0;
        let stopped = a.for_each_fragment(budget, |part, offsets| {
            reached = offsets[0] + part.dim_data().global_shape()[0];
            Ok::<_, Failure>(())
        });
        let stopped = refusal(comm, stopped)?;
        let known = matches!(
            &stopped,
            Refusal::Chunk {
                problem: ChunkProblem::Checksum { .. },
                ..
            }
        );
        ensure(known, || format!("{stopped:?}"))?;
        let before = matches!(&stopped, Refusal::Chunk { origin, .. } if origin[0] >= reached);
        ensure(before && reached > 0, || {
            format!("within {budget}: {stopped:?} after {reached} rows")
        })?;
    }
    // the dataset goes while it is read
    comm.barrier()?;
    let mut reached = Vec::new();
    let b = a.slice(&[(..32).into()])?;
    let gone = b.for_each_fragment(64, |_, offsets| {
        reached.push(offsets[0]);
        if comm.rank() == 0 && offsets[0] == 0 {
            std::fs::remove_file(&path)?;
        }
        comm.barrier()?;
        Ok::<_, Failure>(())
    });
    let gone = refusal(comm, gone)?;
    ensure(gone == Refusal::NotFound && reached == [0], || {
        format!("{gone:?} after {reached:?}")
    })
}

fn padding_counts_once(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    SaveHdf5::new(&path).save(&part::<i64>(&rows(comm, [7, 10]), comm), comm)?;
    let a = open_dset::<i64>(&path, "buffer", comm)?;
    let expected: i64 = (0..70).map(i64::at).sum();
    for (name, d) in every_kind(comm.size()) {
        let a = a.distribute(&d)?;
        for budget in [1, 100, 1 << 20] {
            let sum = a.expr().sum(budget)?;
            let mapped =
                a.map_reduce(budget, |part| part.data().iter().sum(), |a: i64, b| a + b)?;
            ensure(sum == expected && mapped == Some(expected), || {
                format!("{name} within {budget}: {sum} and {mapped:?}, not {expected}")
            })?;
        }
    }
    Ok(())
}

fn expressions(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [6, 9]);
    SaveHdf5::new(&path)
        .key("a")
        .chunk([4, 4])
        .save(&part::<f64>(&d, comm), comm)?;
    SaveHdf5::new(&path)
        .key("n")
        .save(&part::<i32>(&d, comm), comm)?;
    let a = open_dset::<f64>(&path, "a", comm)?.distribute(&d)?;
    let dealt = Distribution::over(comm.size())
        .shape([6, 9])
        .block_cyclic(1, 2)
        .build()?;
    let b = open_dset::<f64>(&path, "a", comm)?.distribute(&dealt)?;
    let b = b.slice(&[Slice::new(None, None, -1).into()])?; // the rows backwards
    let at = |flat: u64| f64::at(flat);
    let turned = |flat: u64| f64::at(9 * (5 - flat / 9) + flat % 9);
    let own = flat_indices(&d.dim_data(comm.rank())?);
    let is = |found: DistBuffer<HostArray<f64>>, of: &dyn Fn(u64) -> f64| {
        let expected: Vec<f64> = own.iter().map(|&flat| of(flat)).collect();
        ensure(found.buffer().data() == expected, || {
            format!("{found:?}, not {expected:?}")
        })
    };
    is((&a + &b).load()?, &|i| at(i) + turned(i))?;
    is((&a - 2.5).load()?, &|i| at(i) - 2.5)?;
    is((&a * &b / 4.0 % 3.0).load()?, &|i| {
        at(i) * turned(i) / 4.0 % 3.0
    })?;
    is((-a.expr()).abs().sqrt().load()?, &|i| at(i).abs().sqrt())?;
    is(a.expr().zip(&b, f64::max).load()?, &|i| {
        at(i).max(turned(i))
    })?;
    let less = a.expr().lt(&b);
    let expected = (0..54).filter(|&i| at(i) < turned(i)).count() as u64;
    let budgets = [1, 100, 1 << 20];
    for budget in budgets {
        ensure(less.count(budget)? == expected, || {
            format!("{budget}: count")
        })?;
        let sum = (&a * 2.0).sum(budget)?;
        let all: f64 = (0..54).map(|i| 2.0 * at(i)).sum();
        ensure(sum == all, || format!("{budget}: {sum}, not {all}"))?;
    }
    // saved piece by piece, into the same file
    let saved = (&a + &b).save(&path, "sum", 300)?;
    let expected: Vec<f64> = (0..54).map(|i| at(i) + turned(i)).collect();
    ensure(all_of(&saved)? == expected, || "saved".to_owned())?;
    ensure(saved.as_saved()?.distribution() == &d, || {
        "its distribution".to_owned()
    })?;
    // flags choose, in C order, whatever the distributions
    let chosen = b.mask(&less, 200)?;
    let all = comm.all_gather_slice(chosen.buffer().data())?.concat();
    let expected: Vec<f64> = (0..54).filter(|&i| at(i) < turned(i)).map(turned).collect();
    ensure(all == expected, || format!("{all:?}, not {expected:?}"))?;
    let len = chosen.dim_data().global_shape();
    ensure(len == [expected.len() as u64], || format!("{len:?}"))?;
    // integers wrap, and nothing is divided by zero
    let n = open_dset::<i32>(&path, "n", comm)?;
    let odd = (&n * i32::MAX + &n) / (&n * 0);
    ensure(odd.ne(0).count(64)? == 0, || "by zero".to_owned())?;
    // values on the left, in place, and where flags are set
    is((1.5 - &a).load()?, &|i| 1.5 - at(i))?;
    a.assign_computed(&b * 0.5 + 1.0 / (&a * &a + 1.0), 1 << 20)?;
    a.fill_where(a.expr().gt(5.0), -1.0, 300)?;
    let expected: Vec<f64> = (0..54)
        .map(|i| turned(i) * 0.5 + 1.0 / (at(i) * at(i) + 1.0))
        .map(|x| if x > 5.0 { -1.0 } else { x })
        .collect();
    ensure(all_of(&a)? == expected, || "in place".to_owned())
}

fn arithmetic<T: Value + Number>(
    comm: &dyn Communicator,
    folder: &Folder,
    plain: fn(T, T) -> T,
) -> Outcome {
    let path = folder.join(&format!("{}.h5", T::TYPE));
    let d = rows(comm, [5, 4]);
    SaveHdf5::new(&path).save(&part::<T>(&d, comm), comm)?;
    let a = open_dset::<T>(&path, "buffer", comm)?;
    let b = a.slice(&[Slice::new(None, None, -1).into()])?;
    let expected: Vec<T> = (0..20)
        .map(|i| plain(T::at(i), T::at(4 * (4 - i / 4) + i % 4)))
        .collect();
    for budget in [1, 1 << 16] {
        let saved = (&a * &b - &b + &a).save(&path, &format!("at {budget}"), budget)?;
        let found = all_of(&saved)?;
        ensure(found == expected, || {
            format!("{}: {found:?}, not {expected:?}", T::TYPE)
        })?;
    }
    let other = (&a - &b).ne(-(&b - &a)).count(100)?;
    ensure(other == 0, || format!("{}: {other} differ", T::TYPE))
}

fn expressions_of_every_type(comm: &dyn Communicator) -> Outcome {
    fn plain<T>(a: T, b: T) -> T
    where
        T: Copy + std::ops::Add<Output = T> + std::ops::Mul<Output = T> + std::ops::Sub<Output = T>,
    {
        a * b - b + a
    }
    let folder = Folder::new(comm);
    arithmetic::<i8>(comm, &folder, |a, b| {
        a.wrapping_mul(b).wrapping_sub(b).wrapping_add(a)
    })?;
    arithmetic::<u8>(comm, &folder, |a, b| {
        a.wrapping_mul(b).wrapping_sub(b).wrapping_add(a)
    })?;
    arithmetic::<i16>(comm, &folder, plain)?;
    arithmetic::<u64>(comm, &folder, |a, b| {
        a.wrapping_mul(b).wrapping_sub(b).wrapping_add(a)
    })?;
    arithmetic::<f16>(comm, &folder, plain)?;
    arithmetic::<bf16>(comm, &folder, plain)?;
    arithmetic::<f32>(comm, &folder, plain)?;
    arithmetic::<Complex<f32>>(comm, &folder, plain)?;
    arithmetic::<Complex<f64>>(comm, &folder, plain)?;
    // flags, and what sums are kept in
    let path = folder.join("flags.h5");
    let d = rows(comm, [6, 3]);
    SaveHdf5::new(&path)
        .key("b")
        .save(&part::<bool>(&d, comm), comm)?;
    SaveHdf5::new(&path)
        .key("i")
        .save(&part::<i8>(&d, comm), comm)?;
    SaveHdf5::new(&path)
        .key("h")
        .save(&part::<f16>(&d, comm), comm)?;
    SaveHdf5::new(&path)
        .key("z")
        .save(&part::<Complex<f64>>(&d, comm), comm)?;
    let b = open_dset::<bool>(&path, "b", comm)?;
    let i = open_dset::<i8>(&path, "i", comm)?;
    let either = (&b | i.expr().gt(50)) & !(&b ^ true);
    let expected = (0..18).filter(|&at| bool::at(at)).count() as u64;
    ensure(either.count(20)? == expected, || "flags".to_owned())?;
    let sum: i64 = (&i + 100).sum(10)?; // each wraps by itself, the sum does not
    let expected: i64 = (0..18)
        .map(|at| i64::from(i8::at(at).wrapping_add(100)))
        .sum();
    ensure(sum == expected, || format!("{sum}, not {expected}"))?;
    let shifted = ((&i << 1) >> 9).ne(0).count(10)?;
    let expected = (0..18).filter(|&at| i8::at(at).wrapping_mul(2) < 0).count() as u64;
    ensure(shifted == expected, || format!("{shifted}, not {expected}"))?;
    let quotient: f64 = i.expr().true_divide(&i + 1).sum(100)?;
    let exact = |at| f64::from(i8::at(at)) / f64::from(i8::at(at) + 1);
    let expected: f64 = (0..18).map(exact).sum();
    ensure((quotient - expected).abs() < 1e-9, || format!("{quotient}"))?;
    let halves = open_dset::<f16>(&path, "h", comm)?.expr().sum(10)?;
    let expected: f64 = (0..18).map(f64::at).sum();
    ensure(halves == f16::from_f64(expected), || format!("{halves}"))?;
    let z = open_dset::<Complex<f64>>(&path, "z", comm)?;
    let far: u64 = z.expr().abs().gt(10.0).count(100)?;
    let expected = (0..18)
        .filter(|&at| Complex::<f64>::at(at).norm() > 10.0)
        .count() as u64;
    ensure(far == expected, || format!("{far}, not {expected}"))
}

fn refused_expressions(comm: &dyn Communicator) -> Outcome {
    let folder = Folder::new(comm);
    let path = folder.join("a.h5");
    let d = rows(comm, [6, 4]);
    SaveHdf5::new(&path).save(&part::<f64>(&d, comm), comm)?;
    let a = open_dset::<f64>(&path, "buffer", comm)?;
    let before = all_of(&a)?;
    let short = a.slice(&[(1..).into()])?;
    let wrong = [
        refused(comm, (&a + &short).load())?,
        refused(comm, a.assign_computed(&short, 100))?,
        refused(comm, a.mask(short.expr().gt(0.0), 100))?,
    ];
    for error in wrong {
        ensure(matches!(error, IoError::Shape { .. }), || {
            format!("{error:?}")
        })?;
    }
    // as many operations in each other as there may be, and one more; and very many
    let mut deep = a.expr();
    for _ in 0..256 {
        deep = deep + 1.0;
    }
    let sum = deep.sum(1000)?;
    let expected: f64 = before.iter().map(|x| x + 256.0).sum();
    ensure((sum - expected).abs() < 1e-9, || format!("{sum}"))?;
    for _ in 0..100_000 {
        deep = deep + 1.0;
    }
    let deep = refused(comm, deep.sum(1000))?;
    ensure(deep == IoError::Depth { allowed: 256 }, || {
        format!("{deep:?}")
    })?;
    // each element would be read after another one was written in its place
    let back = a.slice(&[Slice::new(None, None, -1).into()])?;
    let (target, back) = (a.distaxes([])?, back.distaxes([])?);
    let overlap = refused(comm, target.assign_computed(&back, 8))?;
    ensure(overlap == IoError::Overlap { budget: 8 }, || {
        format!("{overlap:?}")
    })?;
    if comm.size() > 1 {
        let differ = refused(comm, a.expr().sum(100 + comm.rank() as u64))?;
        ensure(
            matches!(differ, IoError::Differ { what: "budget", .. }),
            || format!("{differ:?}"),
        )?;
    }
    ensure(all_of(&a)? == before, || "something was written".to_owned())
}
