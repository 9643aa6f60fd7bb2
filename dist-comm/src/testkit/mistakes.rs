//! Mistakes are the same typed error on every rank, and the communicator can be used afterwards.

use super::{Case, CommunicatorCase, Verdict, holds, pattern, same, text};
use crate::{
    CommError, CommExt, Communicator, ExchangeJob, MAX_TAG, Message, Operation, ReduceOp,
    Reducible, Reduction, Workspace,
};

pub(super) const CASES: &[CommunicatorCase] = &[
    Case {
        name: "a root out of range is an error on all ranks",
        run: root_out_of_range,
    },
    Case {
        name: "different roots are an error on all ranks",
        run: different_roots,
    },
    Case {
        name: "different lengths are an error on all ranks",
        run: different_lengths,
    },
    Case {
        name: "a wrong number of parts is an error on all ranks",
        run: wrong_parts,
    },
    Case {
        name: "a wrong element size is an error on all ranks",
        run: wrong_element,
    },
    Case {
        name: "different reductions are an error on all ranks",
        run: different_reductions,
    },
    Case {
        name: "a reduction that a type does not have is an error on all ranks",
        run: no_reduction,
    },
    Case {
        name: "different calls are an error that names both",
        run: different_calls,
    },
    Case {
        name: "a call within lend is refused",
        run: within_lend,
    },
    Case {
        name: "peers are checked",
        run: peers,
    },
    Case {
        name: "tags are checked",
        run: large_tags,
    },
    Case {
        name: "a message of another length is an error",
        run: message_length,
    },
    Case {
        name: "a message of another length in an exchange is an error",
        run: exchange_length,
    },
    Case {
        name: "buffers that nobody has are an error before anything is sent",
        run: too_long_messages,
    },
    Case {
        name: "memory that nobody has is an error on all ranks",
        run: too_much_memory,
    },
    Case {
        name: "making things goes on after a call that differed",
        run: made_after_mismatch,
    },
];

fn expect<T: std::fmt::Debug>(
    comm: &dyn Communicator,
    outcome: Result<T, CommError>,
    expected: &CommError,
) -> Verdict {
    let verdict = match outcome {
        Ok(value) => Err(format!("got {value:?}, expected an error")),
        Err(error) => same("error", &error, expected),
    };
    // Still in step?
    let ranks = comm.all_gather_value(comm.rank() as u64).map_err(text)?;
    verdict?;
    same("afterwards", &ranks, &(0..comm.size() as u64).collect())
}

fn root_out_of_range(comm: &dyn Communicator) -> Verdict {
    let size = comm.size();
    let error = |operation| CommError::RankOutOfRange {
        operation,
        given: size,
        size,
    };
    expect(
        comm,
        comm.broadcast(size, &mut [0; 4]),
        &error(Operation::Broadcast),
    )?;
    expect(
        comm,
        comm.gather_v(size, &[0; 4]),
        &error(Operation::GatherV),
    )
}

fn different_roots(comm: &dyn Communicator) -> Verdict {
    if comm.size() == 1 {
        return Ok(());
    }
    let root = usize::from(comm.rank() == 1);
    let error = |operation| CommError::Root {
        operation,
        rank: 1,
        given: 1,
        allowed: 0,
    };
    expect(
        comm,
        comm.broadcast(root, &mut [0; 4]),
        &error(Operation::Broadcast),
    )?;
    expect(
        comm,
        comm.gather_v(root, &[0; 4]),
        &error(Operation::GatherV),
    )
}

fn different_lengths(comm: &dyn Communicator) -> Verdict {
    if comm.size() == 1 {
        return Ok(());
    }
    let last = comm.size() - 1;
    for long in [8, 8000] {
        let len = if comm.rank() == last { long / 2 } else { long };
        let error = |operation| CommError::Length {
            operation,
            rank: last,
            what: "a length in bytes of",
            given: long as u64 / 2,
            allowed: long as u64,
        };
        expect(
            comm,
            comm.broadcast(0, &mut vec![0; len]),
            &error(Operation::Broadcast),
        )?;
        let mut room = vec![0; long * comm.size()];
        expect(
            comm,
            comm.all_gather(&vec![0; len], &mut room),
            &error(Operation::AllGather),
        )?;
        expect(
            comm,
            comm.all_reduce(&mut vec![0; len], Reduction::own(1), &|_, _| ()),
            &error(Operation::AllReduce),
        )?;
    }
    Ok(())
}

fn wrong_parts(comm: &dyn Communicator) -> Verdict {
    let (size, last) = (comm.size(), comm.size() - 1);
    let parts: Vec<&[u8]> = vec![b"part"; if comm.rank() == last { size + 1 } else { size }];
    let error = CommError::Length {
        operation: Operation::AllToAllV,
        rank: last,
        what: "a number of parts of",
        given: size as u64 + 1,
        allowed: size as u64,
    };
    expect(comm, comm.all_to_all_v(&parts), &error)?;
    let mut short = vec![0; 4 * size - usize::from(comm.rank() == last)];
    let error = CommError::Length {
        operation: Operation::AllGather,
        rank: last,
        what: "room in bytes of",
        given: 4 * size as u64 - 1,
        allowed: 4 * size as u64,
    };
    expect(comm, comm.all_gather(&[0; 4], &mut short), &error)
}

fn wrong_element(comm: &dyn Communicator) -> Verdict {
    let error = CommError::Element {
        operation: Operation::AllReduce,
        element: 8,
        len: 12,
    };
    let outcome = comm.all_reduce(&mut [0; 12], Reduction::own(8), &|_, _| ());
    expect(comm, outcome, &error)
}

/// The last rank reduces by `odd`, the others by `common`.
fn reduce<T: Reducible, U: Reducible>(
    comm: &dyn Communicator,
    (value, common): (T, ReduceOp),
    (other, odd): (U, ReduceOp),
) -> Verdict {
    let last = comm.size() - 1;
    let outcome = if comm.rank() == last {
        comm.all_reduce_value(other, odd).map(drop)
    } else {
        comm.all_reduce_value(value, common).map(drop)
    };
    let error = CommError::Reductions {
        rank: last,
        given: Reduction::of::<U>(odd),
        allowed: Reduction::of::<T>(common),
    };
    expect(comm, outcome, &error)
}

fn different_reductions(comm: &dyn Communicator) -> Verdict {
    if comm.size() == 1 {
        return Ok(());
    }
    reduce(comm, (1.5f64, ReduceOp::Sum), (1.5f64, ReduceOp::Max))?;
    reduce(comm, (1.5f64, ReduceOp::Sum), (1i64, ReduceOp::Sum))?;
    reduce(comm, (1i64, ReduceOp::Min), (1u64, ReduceOp::Min))?;
    reduce(comm, (1u8, ReduceOp::And), (true, ReduceOp::And))?;
    // One of them is none that the type has.
    reduce(comm, (1.5f64, ReduceOp::Sum), (1.5f64, ReduceOp::Or))?;
    reduce(comm, (true, ReduceOp::Prod), (true, ReduceOp::And))?;
    let last = comm.size() - 1;
    for count in [24, 24_000] {
        let element = if comm.rank() == last { 4 } else { 8 };
        let error = CommError::Reductions {
            rank: last,
            given: Reduction::own(4),
            allowed: Reduction::own(8),
        };
        let outcome = comm.all_reduce(&mut vec![0; count], Reduction::own(element), &|_, _| ());
        expect(comm, outcome, &error)?;
    }
    Ok(())
}

fn no_reduction(comm: &dyn Communicator) -> Verdict {
    let error = |op, element| CommError::Reduction { op, element };
    expect(
        comm,
        comm.all_reduce_value(true, ReduceOp::Sum),
        &error("sum", "bool"),
    )?;
    let mut values = vec![1.5f32; 5_000];
    expect(
        comm,
        comm.all_reduce_slice(&mut values, ReduceOp::Or),
        &error("or", "f32"),
    )?;
    holds(
        "values stay as they are",
        values
            .iter()
            .all(|value| value.to_bits() == 1.5f32.to_bits()),
    )
}

fn different_calls(comm: &dyn Communicator) -> Verdict {
    if comm.size() == 1 {
        return Ok(());
    }
    let last = comm.size() - 1;
    let outcome = if comm.rank() == last {
        comm.all_gather_v(&[1; 5000]).map(drop)
    } else {
        comm.barrier()
    };
    let error = CommError::Mismatch {
        first: Operation::Barrier,
        rank: last,
        other: Operation::AllGatherV,
    };
    expect(comm, outcome, &error)
}

fn within_lend(comm: &dyn Communicator) -> Verdict {
    let memory = comm.alloc_shared(8).map_err(text)?;
    let mut inner = None;
    let lent = comm
        .lend(&memory, &mut |_| inner = Some(comm.barrier()))
        .map_err(text)?;
    let busy = CommError::Busy {
        operation: Operation::Barrier,
        rank: comm.rank(),
        current: Operation::Lend,
    };
    same("barrier within lend", &inner, &lent.then_some(Err(busy)))
}

struct Nothing;

impl ExchangeJob for Nothing {
    fn pack(&mut self, _: usize, _: &mut [u8]) {}
    fn local(&mut self) {}
    fn unpack(&mut self, _: usize, _: &[u8]) {}
}

fn peers(comm: &dyn Communicator) -> Verdict {
    let (rank, size) = (comm.rank(), comm.size());
    let far = |operation| {
        Err(CommError::RankOutOfRange {
            operation,
            given: size,
            size,
        })
    };
    let own = |operation| Err(CommError::SelfMessage { operation, rank });
    let exchange = |sends: &[Message], recvs: &[Message]| {
        comm.exchange(1, sends, recvs, &mut Nothing, &mut Workspace::new())
    };
    let message = |peer| [Message { peer, len: 1 }];
    same("send far", &comm.send(size, 1, &[]), &far(Operation::Send))?;
    same(
        "recv far",
        &comm.recv(size, 1, &mut []),
        &far(Operation::Recv),
    )?;
    same(
        "exchange far",
        &exchange(&message(size), &[]),
        &far(Operation::Exchange),
    )?;
    same(
        "exchange from far",
        &exchange(&[], &message(size)),
        &far(Operation::Exchange),
    )?;
    same(
        "send to itself",
        &comm.send(rank, 1, &[]),
        &own(Operation::Send),
    )?;
    same(
        "recv from itself",
        &comm.recv(rank, 1, &mut []),
        &own(Operation::Recv),
    )?;
    same(
        "exchange with itself",
        &exchange(&message(rank), &[]),
        &own(Operation::Exchange),
    )?;
    comm.barrier().map_err(text)
}

fn large_tags(comm: &dyn Communicator) -> Verdict {
    let (rank, size) = (comm.rank(), comm.size());
    let peer = if rank == 0 { size.min(2) - 1 } else { 0 };
    let tag = MAX_TAG + 1;
    let error = |operation| {
        Err(CommError::Tag {
            operation,
            given: tag,
            allowed: MAX_TAG,
        })
    };
    if size > 1 {
        same("send", &comm.send(peer, tag, &[1]), &error(Operation::Send))?;
        same(
            "recv",
            &comm.recv(peer, tag, &mut [1]),
            &error(Operation::Recv),
        )?;
    }
    same(
        "exchange",
        &comm.exchange(tag, &[], &[], &mut Nothing, &mut Workspace::new()),
        &error(Operation::Exchange),
    )?;
    if rank == 0 && size > 1 {
        comm.send(1, MAX_TAG, &[7]).map_err(text)?;
    }
    if rank == 1 {
        let mut got = [0];
        comm.recv(0, MAX_TAG, &mut got).map_err(text)?;
        same("got", &got, &[7])?;
    }
    comm.barrier().map_err(text)
}

fn message_length(comm: &dyn Communicator) -> Verdict {
    for (sent, expected) in [
        (8usize, 4usize),
        (4, 8),
        (0, 1),
        (1, 0),
        (5000, 8),
        (8, 5000),
        (700_000, 5000),
    ] {
        if comm.rank() == 0 && comm.size() > 1 {
            // Whether the sender learns of it is up to the communicator.
            match comm.send(1, 2, &vec![1; sent]) {
                Ok(()) | Err(CommError::Length { .. }) => {}
                Err(error) => return Err(text(error)),
            }
        }
        if comm.rank() == 1 {
            let error = CommError::Length {
                operation: Operation::Recv,
                rank: 0,
                what: "a message length in bytes of",
                given: sent as u64,
                allowed: expected as u64,
            };
            same(
                "recv",
                &comm.recv(0, 2, &mut vec![0; expected]),
                &Err(error),
            )?;
        }
    }
    holds("still in step", comm.barrier().is_ok())
}

/// Keeps what was unpacked.
struct Keep(Vec<(usize, Vec<u8>)>);

impl ExchangeJob for Keep {
    fn pack(&mut self, i: usize, buf: &mut [u8]) {
        buf.copy_from_slice(&pattern(0, i, buf.len()));
    }
    fn local(&mut self) {}
    fn unpack(&mut self, i: usize, buf: &[u8]) {
        self.0.push((i, buf.to_vec()));
    }
}

fn too_long_messages(comm: &dyn Communicator) -> Verdict {
    let mut workspace = Workspace::new();
    let peer = (comm.rank() + 1) % comm.size();
    for lens in [&[usize::MAX / 4][..], &[usize::MAX / 2; 3]] {
        if comm.size() == 1 {
            break; // nobody to write to
        }
        let messages: Vec<_> = lens.iter().map(|&len| Message { peer, len }).collect();
        let outcome = comm.reserve(&messages, &messages, &mut workspace);
        let lacks = matches!(
            outcome,
            Err(CommError::Allocation { operation: Operation::Exchange, rank, .. }) if rank == comm.rank()
        );
        holds("reserve says that there is no such memory", lacks)?;
    }
    Ok(())
}

fn exchange_length(comm: &dyn Communicator) -> Verdict {
    let lens = [
        (8usize, 4usize),
        (4, 8),
        (0, 1),
        (1, 0),
        (100_000, 50_000),
        (1_000, 200_000),
        (700_000, 5_000),
    ];
    let mut verdict = Ok(());
    for (round, (sent, expected)) in lens.into_iter().enumerate() {
        // The wrong one between two that are right.
        let messages = |peer, len| [100, len, 5_000].map(|len| Message { peer, len });
        let tag = 20 + u32::try_from(round).unwrap_or(0);
        let mut keep = Keep(Vec::new());
        if comm.rank() == 0 && comm.size() > 1 {
            // Whether the sender learns of it is up to the communicator.
            let _told = comm.exchange(
                tag,
                &messages(1, sent),
                &[],
                &mut keep,
                &mut Workspace::new(),
            );
        }
        if comm.rank() == 1 {
            // Buffers that are gone when the exchange has failed, as the caller may have it.
            let outcome = comm.exchange(
                tag,
                &[],
                &messages(0, expected),
                &mut keep,
                &mut Workspace::new(),
            );
            let error = CommError::Length {
                operation: Operation::Exchange,
                rank: 0,
                what: "a message length in bytes of",
                given: sent as u64,
                allowed: expected as u64,
            };
            verdict = verdict.and(same("exchange", &outcome, &Err(error)));
            for (i, bytes) in &keep.0 {
                verdict = verdict
                    .and(holds("the wrong one is not unpacked", *i != 1))
                    .and(same("unpacked", bytes, &pattern(0, *i, bytes.len())));
            }
        }
    }
    comm.barrier().map_err(text)?;
    verdict
}

fn too_much_memory(comm: &dyn Communicator) -> Verdict {
    let last = comm.size() - 1;
    // More than can be counted, and more than a process can address.
    let sizes = [
        Some(usize::MAX),
        Some(usize::MAX / 2),
        1usize.checked_shl(48),
    ];
    for given in sizes.into_iter().flatten() {
        let len = if comm.rank() == last { given } else { 10 };
        let error = CommError::Allocation {
            operation: Operation::AllocShared,
            rank: last,
            bytes: given as u64,
        };
        expect(
            comm,
            comm.alloc_shared(len).map(|bytes| bytes.len()),
            &error,
        )?;
    }
    Ok(())
}

fn made_after_mismatch(comm: &dyn Communicator) -> Verdict {
    if comm.size() == 1 {
        return Ok(());
    }
    let last = comm.size() - 1;
    let is_last = comm.rank() == last;
    let error = |first| CommError::Mismatch {
        first,
        rank: last,
        other: Operation::Barrier,
    };
    let outcome = if is_last {
        comm.barrier()
    } else {
        comm.alloc_shared(64).map(drop)
    };
    expect(comm, outcome, &error(Operation::AllocShared))?;
    let outcome = if is_last {
        comm.barrier()
    } else {
        comm.split(Some(0), 0).map(drop)
    };
    expect(comm, outcome, &error(Operation::Split))?;
    // What is made next is the same thing on every rank.
    let len = |rank: usize| 100 + 5_000 * rank;
    let mut small = comm.alloc_shared(16).map_err(text)?;
    let mut large = comm.alloc_shared(len(comm.rank())).map_err(text)?;
    small.fill(1);
    large.copy_from_slice(&pattern(comm.rank(), 3, len(comm.rank())));
    let mut verdict = Ok(());
    comm.lend(&large, &mut |all| {
        verdict = all.iter().enumerate().try_for_each(|(rank, bytes)| {
            same("lent", &bytes.to_vec(), &pattern(rank, 3, len(rank)))
        });
    })
    .map_err(text)?;
    let part = comm
        .split(Some(u32::from(is_last)), 0)
        .map_err(text)?
        .ok_or("no part")?;
    drop((small, large));
    part.barrier().map_err(text)?;
    drop(part);
    drop(comm.alloc_shared(8).map_err(text)?);
    comm.barrier().map_err(text)?;
    verdict
}
