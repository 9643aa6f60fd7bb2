//! Memory from `alloc_shared` is aligned and zero, and what is lent is seen by all.

use super::{Case, CommunicatorCase, Verdict, holds, pattern, same, text};
use crate::{CommExt, Communicator, ReduceOp};

pub(super) const CASES: &[CommunicatorCase] = &[
    Case {
        name: "shared memory is aligned and zero",
        run: fresh,
    },
    Case {
        name: "lend shows shared memory to all",
        run: lend_shared,
    },
    Case {
        name: "lend of other memory works or not on all",
        run: lend_private,
    },
    Case {
        name: "lend of nothing",
        run: lend_nothing,
    },
    Case {
        name: "shared memory comes and goes",
        run: come_and_go,
    },
];

fn fresh(comm: &dyn Communicator) -> Verdict {
    for len in [0, 1, 100, 10_000] {
        let len = len * (comm.rank() + 1);
        let mut bytes = comm.alloc_shared(len).map_err(text)?;
        same("length", &bytes.len(), &len)?;
        holds("all zero", bytes.iter().all(|&byte| byte == 0))?;
        holds(
            "at a multiple of 64 bytes",
            len == 0 || bytes.as_ptr().align_offset(64) == 0,
        )?;
        bytes.fill(0xaa);
    }
    Ok(())
}

/// Lends `mine`, and says whether that is possible, after checking that all ranks get the same answer.
fn lend(
    comm: &dyn Communicator,
    mine: &[u8],
    expected: impl Fn(usize) -> Vec<u8>,
) -> Result<bool, String> {
    let mut verdict = Ok(());
    let mut reads = 0;
    let lent = comm
        .lend(mine, &mut |all| {
            reads += 1;
            verdict = same("ranks", &all.len(), &comm.size()).and_then(|()| {
                all.iter().enumerate().try_for_each(|(rank, bytes)| {
                    same(
                        &format!("lent by {rank}"),
                        bytes,
                        &expected(rank).as_slice(),
                    )
                })
            });
        })
        .map_err(text)?;
    let verdicts = comm.all_gather_value(u8::from(lent)).map_err(text)?;
    verdict?;
    same(
        "the same answer on all ranks",
        &verdicts,
        &vec![u8::from(lent); comm.size()],
    )?;
    same("reads", &reads, &u32::from(lent))?;
    Ok(lent)
}

fn lend_shared(comm: &dyn Communicator) -> Verdict {
    let len = |rank: usize| 3000 * rank + 10;
    let mut memory = comm.alloc_shared(len(comm.rank())).map_err(text)?;
    let mut other = comm.alloc_shared(64).map_err(text)?;
    for round in 0..5 {
        memory.copy_from_slice(&pattern(comm.rank(), round, len(comm.rank())));
        let whole = lend(comm, &memory, |rank| pattern(rank, round, len(rank)))?;
        let part = lend(comm, &memory[3..7], |rank| {
            pattern(rank, round, len(rank))[3..7].to_vec()
        })?;
        other.copy_from_slice(&pattern(comm.rank(), round + 9, 64));
        // Even ranks lend from one allocation, odd ones from the other.
        let mine: &[u8] = if comm.rank().is_multiple_of(2) {
            &memory[..5]
        } else {
            &other
        };
        let mixed = lend(comm, mine, |rank| match rank % 2 {
            0 => pattern(rank, round, len(rank))[..5].to_vec(),
            _ => pattern(rank, round + 9, 64),
        })?;
        holds(
            "any part can be lent if the whole can",
            whole == part && whole == mixed,
        )?;
    }
    Ok(())
}

fn lend_private(comm: &dyn Communicator) -> Verdict {
    let mine = pattern(comm.rank(), 4, 500);
    lend(comm, &mine, |rank| pattern(rank, 4, 500)).map(drop)
}

fn lend_nothing(comm: &dyn Communicator) -> Verdict {
    lend(comm, &[], |_| Vec::new()).map(drop)
}

fn come_and_go(comm: &dyn Communicator) -> Verdict {
    let mut kept = comm.alloc_shared(100).map_err(text)?;
    kept.fill(1);
    for round in 0u8..20 {
        let mut first = comm.alloc_shared(5000).map_err(text)?;
        let second = comm.alloc_shared(usize::from(round)).map_err(text)?;
        first.fill(round);
        let lent = lend(comm, &first, |_| vec![round; 5000])?;
        // In another order on every other rank.
        if comm.rank().is_multiple_of(2) {
            drop(first);
            drop(second);
        } else {
            drop(second);
            drop(first);
        }
        let all = comm.all_reduce_value(lent, ReduceOp::And).map_err(text)?;
        same("the same answer", &all, &lent)?;
    }
    lend(comm, &kept, |_| vec![1; 100]).map(drop)
}
