//! Collective calls give what they say, for all lengths and roots.

use super::{Case, CommunicatorCase, LENGTHS, Verdict, holds, pattern, same, text};
use crate::agree::{Agreed, agree};
use crate::{CommExt, Communicator, ReduceOp};

pub(super) const CASES: &[CommunicatorCase] = &[
    Case {
        name: "ranks are numbered",
        run: ranks,
    },
    Case {
        name: "barriers pass",
        run: barriers,
    },
    Case {
        name: "broadcast from every root",
        run: broadcast,
    },
    Case {
        name: "gather_v of any lengths to every root",
        run: gather_v,
    },
    Case {
        name: "all_gather_v of any lengths",
        run: all_gather_v,
    },
    Case {
        name: "all_gather of equal lengths",
        run: all_gather,
    },
    Case {
        name: "all_to_all_v of any lengths",
        run: all_to_all_v,
    },
    Case {
        name: "all_reduce folds from the left in rank order",
        run: ordered_fold,
    },
    Case {
        name: "all_reduce cuts only between elements",
        run: odd_elements,
    },
    Case {
        name: "all_reduce has the same bits on all ranks",
        run: same_bits,
    },
    Case {
        name: "reductions of every kind",
        run: reductions,
    },
    Case {
        name: "typed calls",
        run: typed,
    },
    Case {
        name: "split by colour and key",
        run: split,
    },
    Case {
        name: "parts of parts are independent",
        run: nested_split,
    },
    Case {
        name: "agree on one outcome",
        run: agreement,
    },
];

fn ranks(comm: &dyn Communicator) -> Verdict {
    holds("rank < size", comm.rank() < comm.size())?;
    let all = comm.all_gather_value(comm.rank() as u64).map_err(text)?;
    same("ranks", &all, &(0..comm.size() as u64).collect())
}

fn barriers(comm: &dyn Communicator) -> Verdict {
    (0..50).try_for_each(|_| comm.barrier().map_err(text))
}

fn broadcast(comm: &dyn Communicator) -> Verdict {
    for root in 0..comm.size() {
        for len in LENGTHS {
            let expected = pattern(root, 0, len);
            let mut buf = if comm.rank() == root {
                expected.clone()
            } else {
                vec![0xff; len]
            };
            comm.broadcast(root, &mut buf).map_err(text)?;
            same("broadcast", &buf, &expected)?;
        }
    }
    Ok(())
}

/// A length that differs between ranks and is 0 on some.
fn uneven(rank: usize, other: usize, step: usize) -> usize {
    (rank * 5 + other * 3) % 4 * step
}

/// Steps of lengths: short ones, long ones, and such as are more than a megabyte together.
const STEPS: [usize; 3] = [10, 3_000, 300_000];

fn gather_v(comm: &dyn Communicator) -> Verdict {
    for root in 0..comm.size() {
        for step in STEPS {
            let send = pattern(comm.rank(), root, uneven(comm.rank(), root, step));
            let all = comm.gather_v(root, &send).map_err(text)?;
            let expected: Vec<_> = (0..comm.size())
                .map(|rank| pattern(rank, root, uneven(rank, root, step)))
                .collect();
            same("gather_v", &all, &(comm.rank() == root).then_some(expected))?;
        }
    }
    Ok(())
}

fn all_gather_v(comm: &dyn Communicator) -> Verdict {
    for step in STEPS {
        let send = pattern(comm.rank(), 1, uneven(comm.rank(), 1, step));
        let all = comm.all_gather_v(&send).map_err(text)?;
        let expected: Vec<_> = (0..comm.size())
            .map(|rank| pattern(rank, 1, uneven(rank, 1, step)))
            .collect();
        same("all_gather_v", &all, &expected)?;
    }
    Ok(())
}

fn all_gather(comm: &dyn Communicator) -> Verdict {
    for len in LENGTHS {
        let mut all = vec![0xff; len * comm.size()];
        comm.all_gather(&pattern(comm.rank(), 2, len), &mut all)
            .map_err(text)?;
        let expected: Vec<u8> = (0..comm.size())
            .flat_map(|rank| pattern(rank, 2, len))
            .collect();
        same("all_gather", &all, &expected)?;
    }
    Ok(())
}

fn all_to_all_v(comm: &dyn Communicator) -> Verdict {
    for step in STEPS {
        let own = comm.rank();
        // The first rank sends only short parts, so short and long ones meet.
        let len =
            |from: usize, to: usize| uneven(from, to, if from == 0 { STEPS[0] } else { step });
        let send: Vec<Vec<u8>> = (0..comm.size())
            .map(|to| pattern(own, to, len(own, to)))
            .collect();
        let send: Vec<&[u8]> = send.iter().map(Vec::as_slice).collect();
        let all = comm.all_to_all_v(&send).map_err(text)?;
        let expected: Vec<_> = (0..comm.size())
            .map(|from| pattern(from, own, len(from, own)))
            .collect();
        same("all_to_all_v", &all, &expected)?;
    }
    Ok(())
}

/// Not associative and not commutative, so that any other order shows.
fn fold(acc: u64, next: u64) -> u64 {
    acc.wrapping_mul(31).rotate_left(7) ^ next
}

fn ordered_fold(comm: &dyn Communicator) -> Verdict {
    for count in [0usize, 1, 5, 504, 513, 1001, 20_000] {
        let value = |rank: usize, at: usize| (rank as u64 + 3).wrapping_mul(at as u64 + 0x9e37);
        let mut values: Vec<u64> = (0..count).map(|at| value(comm.rank(), at)).collect();
        comm.all_reduce_with(&mut values, |acc, next| *acc = fold(*acc, *next))
            .map_err(text)?;
        let expected: Vec<u64> = (0..count)
            .map(|at| (1..comm.size()).fold(value(0, at), |acc, rank| fold(acc, value(rank, at))))
            .collect();
        same("folded", &values, &expected)?;
    }
    Ok(())
}

fn odd_elements(comm: &dyn Communicator) -> Verdict {
    // 24 bytes that belong together: the largest first number, and where it was.
    for count in [1usize, 7, 1000] {
        let element = |rank: usize, at: usize| {
            let weight = ((rank * 7 + at * 3) % 11) as u64;
            [weight, rank as u64, at as u64]
        };
        let mut values: Vec<[u64; 3]> = (0..count).map(|at| element(comm.rank(), at)).collect();
        comm.all_reduce_with(&mut values, |acc, next| {
            if next[0] > acc[0] {
                *acc = *next;
            }
        })
        .map_err(text)?;
        for (at, value) in values.iter().enumerate() {
            // The last maximum would be `max_by_key`'s; the fold keeps the first.
            let first = (0..comm.size())
                .rev()
                .max_by_key(|&rank| element(rank, at)[0])
                .unwrap_or(0);
            same("the largest", value, &element(first, at))?;
        }
    }
    Ok(())
}

fn same_bits(comm: &dyn Communicator) -> Verdict {
    for count in [1u32, 1000] {
        let value = |rank: usize, at: u32| {
            let rank = u32::try_from(rank).unwrap_or(0);
            1e16f64 / f64::from(3 * rank + 1) * if rank % 2 == 0 { 1.0 } else { -1.0 }
                + f64::from(at)
        };
        let mut values: Vec<f64> = (0..count).map(|at| value(comm.rank(), at)).collect();
        comm.all_reduce_slice(&mut values, ReduceOp::Sum)
            .map_err(text)?;
        let expected: Vec<u64> = (0..count)
            .map(|at| {
                (1..comm.size())
                    .fold(value(0, at), |acc, rank| acc + value(rank, at))
                    .to_bits()
            })
            .collect();
        same(
            "bits of the sum",
            &values.iter().map(|value| value.to_bits()).collect(),
            &expected,
        )?;
    }
    Ok(())
}

fn reductions(comm: &dyn Communicator) -> Verdict {
    let (rank, size) = (comm.rank() as u64, comm.size() as u64);
    let reduce = |value, op| comm.all_reduce_value::<u64>(value, op).map_err(text);
    same(
        "sum",
        &reduce(rank + 1, ReduceOp::Sum)?,
        &(size * (size + 1) / 2),
    )?;
    same("product", &reduce(2, ReduceOp::Prod)?, &(1 << size))?;
    same("min", &reduce(rank + 5, ReduceOp::Min)?, &5)?;
    same("max", &reduce(rank + 5, ReduceOp::Max)?, &(size + 4))?;
    same(
        "and",
        &reduce(!(1 << rank), ReduceOp::And)?,
        &!((1 << size) - 1),
    )?;
    same("or", &reduce(1 << rank, ReduceOp::Or)?, &((1 << size) - 1))?;
    same(
        "wraps",
        &comm.all_reduce_value(200u8, ReduceOp::Sum).map_err(text)?,
        &(0..size).fold(0u8, |a, _| a.wrapping_add(200)),
    )?;
    let last = rank + 1 == size;
    same(
        "any",
        &comm.all_reduce_value(last, ReduceOp::Or).map_err(text)?,
        &true,
    )?;
    same(
        "all",
        &comm.all_reduce_value(!last, ReduceOp::And).map_err(text)?,
        &false,
    )?;
    let nan = if last { f64::NAN } else { 1.0 };
    for op in [ReduceOp::Min, ReduceOp::Max] {
        holds(
            "NaN wins",
            comm.all_reduce_value(nan, op).map_err(text)?.is_nan(),
        )?;
    }
    holds(
        "no and of floats",
        comm.all_reduce_value(1.0f32, ReduceOp::And).is_err(),
    )
}

fn typed(comm: &dyn Communicator) -> Verdict {
    let (rank, size) = (comm.rank(), comm.size());
    let root = size - 1;
    same(
        "value",
        &comm.broadcast_value(root, rank as u64).map_err(text)?,
        &(root as u64),
    )?;
    let bytes = if rank == root {
        pattern(1, 2, 5000)
    } else {
        vec![7; rank]
    };
    same(
        "bytes",
        &comm.broadcast_vec(root, bytes).map_err(text)?,
        &pattern(1, 2, 5000),
    )?;
    let mine: Vec<i16> = vec![-3; rank];
    let all: Vec<Vec<i16>> = (0..size).map(|rank| vec![-3; rank]).collect();
    same("slices", &comm.all_gather_slice(&mine).map_err(text)?, &all)?;
    same(
        "slices on root",
        &comm.gather_slice(root, &mine).map_err(text)?,
        &(rank == root).then_some(all),
    )?;
    let numbers: Vec<Vec<u64>> = (0..size)
        .map(|to| vec![(rank * size + to) as u64; to])
        .collect();
    let numbers: Vec<&[u64]> = numbers.iter().map(Vec::as_slice).collect();
    let expected: Vec<Vec<u64>> = (0..size)
        .map(|from| vec![(from * size + rank) as u64; rank])
        .collect();
    same(
        "slices to all",
        &comm.all_to_all_slice(&numbers).map_err(text)?,
        &expected,
    )
}

fn split(comm: &dyn Communicator) -> Verdict {
    let (rank, size) = (comm.rank(), comm.size());
    // Even and odd ranks, in reversed order; the last rank of three or more stays out.
    let out = size > 2 && rank + 1 == size;
    let color = (!out).then_some(if rank % 2 == 0 { u32::MAX } else { 0 });
    let key = -i64::try_from(rank).map_err(text)?;
    let part = comm.split(color, key).map_err(text)?;
    same("takes part", &part.is_some(), &!out)?;
    if let Some(part) = &part {
        let inside = if size > 2 { size - 1 } else { size };
        let mut members: Vec<u64> = (0..inside)
            .filter(|member| member % 2 == rank % 2)
            .map(|member| member as u64)
            .collect();
        members.reverse();
        same("size", &part.size(), &members.len())?;
        same(
            "members",
            &part.all_gather_value(rank as u64).map_err(text)?,
            &members,
        )?;
        let sum = part
            .all_reduce_value(rank as u64, ReduceOp::Sum)
            .map_err(text)?;
        same("sum", &sum, &members.iter().sum())?;
    }
    comm.barrier().map_err(text)?;
    let alone = comm
        .split(Some(u32::try_from(rank).map_err(text)?), 0)
        .map_err(text)?;
    same(
        "alone",
        &alone.map(|alone| (alone.rank(), alone.size())),
        &Some((0, 1)),
    )
}

fn nested_split(comm: &dyn Communicator) -> Verdict {
    for round in 0..3u64 {
        let Some(half) = comm
            .split(Some(u32::from(comm.rank() * 2 < comm.size())), 0)
            .map_err(text)?
        else {
            return Err("no part".into());
        };
        let Some(quarter) = half
            .split(Some(u32::from(half.rank() * 2 < half.size())), 0)
            .map_err(text)?
        else {
            return Err("no part of the part".into());
        };
        drop(half);
        let all = quarter.all_gather_value(round).map_err(text)?;
        same("rounds", &all, &vec![round; quarter.size()])?;
        // A message in the part and one in the whole, with the same tag, do not meet.
        if quarter.size() > 1 && quarter.rank() < 2 {
            let mut got = [0];
            if quarter.rank() == 0 {
                quarter.send(1, 5, &[42]).map_err(text)?;
            } else {
                quarter.recv(0, 5, &mut got).map_err(text)?;
                same("message in the part", &got, &[42])?;
            }
        }
    }
    comm.barrier().map_err(text)
}

fn agreement(comm: &dyn Communicator) -> Verdict {
    let size = comm.size();
    same(
        "no failure",
        &agree(comm, Ok::<_, String>(comm.rank())),
        &Ok(comm.rank()),
    )?;
    let last = size - 1;
    let outcome = if comm.rank() == last {
        Err("disk full")
    } else {
        Ok(())
    };
    same(
        "one",
        &agree(comm, outcome),
        &Err(Agreed {
            rank: last,
            cause: "disk full".into(),
            failed: vec![last],
        }),
    )?;
    let all = Agreed {
        rank: 0,
        cause: "rank 0 fell".into(),
        failed: (0..size).collect(),
    };
    same(
        "all",
        &agree(comm, Err::<(), _>(format!("rank {} fell", comm.rank()))),
        &Err(all),
    )
}
