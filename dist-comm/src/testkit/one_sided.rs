//! Windows: what is put can be got, by any rank, and nothing beyond.

use super::{Case, OneSidedCase, Verdict, holds, pattern, same, text};
use crate::{CommError, Get, OneSided, Operation, Put, Window};

pub(super) const CASES: &[OneSidedCase] = &[
    Case {
        name: "a window starts as zeros",
        run: zeros,
    },
    Case {
        name: "every rank gets what the owner wrote",
        run: owner_writes,
    },
    Case {
        name: "every rank sees what was put",
        run: puts,
    },
    Case {
        name: "batches of gets and puts",
        run: batches,
    },
    Case {
        name: "threads of one rank put and get at once",
        run: threads,
    },
    Case {
        name: "parts outside the window are errors",
        run: outside,
    },
    Case {
        name: "a window that nobody has memory for is an error on all ranks",
        run: too_much_memory,
    },
    Case {
        name: "several windows, dropped in any order",
        run: several,
    },
];

fn zeros(comm: &dyn OneSided) -> Verdict {
    let len = |rank: usize| rank * 100;
    let window = comm.window(len(comm.rank())).map_err(text)?;
    let lens: Vec<usize> = (0..comm.size()).map(len).collect();
    same("lengths", &window.lens(), &lens.as_slice())?;
    for (rank, &len) in lens.iter().enumerate() {
        let mut bytes = vec![0xff; len];
        window.get(rank, 0, &mut bytes).map_err(text)?;
        holds("zeros", bytes.iter().all(|&byte| byte == 0))?;
    }
    comm.barrier().map_err(text)
}

fn owner_writes(comm: &dyn OneSided) -> Verdict {
    let own = comm.rank();
    let mut window = comm.window(10_000).map_err(text)?;
    for round in 0..3 {
        window
            .with_local(&mut |bytes| bytes.copy_from_slice(&pattern(own, round, 10_000)))
            .map_err(text)?;
        for rank in 0..comm.size() {
            let mut bytes = [0; 500];
            window.get(rank, 123, &mut bytes).map_err(text)?;
            same(
                "got",
                &bytes.as_slice(),
                &&pattern(rank, round, 10_000)[123..623],
            )?;
        }
    }
    Ok(())
}

fn puts(comm: &dyn OneSided) -> Verdict {
    let (own, size) = (comm.rank(), comm.size());
    let mut window = comm.window(64 * size).map_err(text)?;
    // Each rank writes to its place at every rank.
    for rank in 0..size {
        window
            .put(rank, 64 * own, &pattern(own, rank, 64))
            .map_err(text)?;
    }
    window.fence().map_err(text)?;
    let mut verdict = Ok(());
    window
        .with_local(&mut |bytes| {
            let expected: Vec<u8> = (0..size).flat_map(|from| pattern(from, own, 64)).collect();
            verdict = same("own part", &&*bytes, &expected.as_slice());
        })
        .map_err(text)?;
    verdict?;
    let other = (own + 1) % size;
    let mut bytes = vec![0; 64 * size];
    window.get(other, 0, &mut bytes).map_err(text)?;
    same(
        "part of the next",
        &bytes,
        &(0..size)
            .flat_map(|from| pattern(from, other, 64))
            .collect(),
    )
}

fn batches(comm: &dyn OneSided) -> Verdict {
    let (own, size) = (comm.rank(), comm.size());
    let mut window = comm.window(1000).map_err(text)?;
    window
        .with_local(&mut |bytes| bytes.copy_from_slice(&pattern(own, 0, 1000)))
        .map_err(text)?;
    let mut rows = vec![[0u8; 10]; 100];
    let place = |row: usize| (row * 7 % size, row * 13 % 99 * 10);
    let mut gets: Vec<Get<'_>> = rows
        .iter_mut()
        .enumerate()
        .map(|(row, into)| Get {
            rank: place(row).0,
            offset: place(row).1,
            into,
        })
        .collect();
    window.get_many(&mut gets).map_err(text)?;
    for (row, bytes) in rows.iter().enumerate() {
        let (rank, offset) = place(row);
        same(
            "row",
            &bytes.as_slice(),
            &&pattern(rank, 0, 1000)[offset..offset + 10],
        )?;
    }
    window.fence().map_err(text)?;
    let new = pattern(own, 5, 10);
    let puts: Vec<Put<'_>> = (0..size)
        .map(|rank| Put {
            rank,
            offset: 10 * own,
            from: &new,
        })
        .collect();
    window.put_many(&puts).map_err(text)?;
    window.put_many(&[]).map_err(text)?;
    window.fence().map_err(text)?;
    for from in 0..size {
        let mut bytes = [0; 10];
        window
            .get((own + 1) % size, 10 * from, &mut bytes)
            .map_err(text)?;
        same("put", &bytes.as_slice(), &pattern(from, 5, 10).as_slice())?;
    }
    Ok(())
}

fn threads(comm: &dyn OneSided) -> Verdict {
    const THREADS: usize = 3;
    const EACH: usize = 11;
    let (own, size) = (comm.rank(), comm.size());
    let mut window = comm.window(size * THREADS * EACH).map_err(text)?;
    let next = (own + 1) % size;
    // Neighbouring parts, none at a whole word: of each rank, and of each of its threads.
    let place = |rank: usize, thread: usize| (rank * THREADS + thread) * EACH;
    let shared: &dyn Window = &*window;
    let work = |thread: usize| {
        for round in 0..50 {
            let bytes = pattern(own, thread, EACH + round % 2)[..EACH].to_vec();
            shared.put(next, place(own, thread), &bytes)?;
            shared.get(next, 0, &mut [0; EACH])?;
        }
        shared.put(next, place(own, thread), &pattern(own, thread, EACH))
    };
    let outcomes = std::thread::scope(|scope| {
        let started: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        started
            .into_iter()
            .map(|thread| thread.join().map_err(|_| "a thread panicked"))
            .collect::<Result<Vec<_>, _>>()
    })?;
    window.fence().map_err(text)?;
    for (thread, outcome) in outcomes.into_iter().enumerate() {
        match outcome {
            // Not every message-passing library lets all threads call.
            Err(CommError::Unavailable { .. }) => continue,
            outcome => outcome.map_err(text)?,
        }
        let mut bytes = [0; EACH];
        window
            .get(next, place(own, thread), &mut bytes)
            .map_err(text)?;
        same("put", &bytes.to_vec(), &pattern(own, thread, EACH))?;
    }
    comm.barrier().map_err(text)
}

fn outside(comm: &dyn OneSided) -> Verdict {
    let (size, len) = (comm.size(), 10);
    let window = comm.window(len).map_err(text)?;
    let beyond = |operation, offset: usize, len: usize| {
        Err(CommError::OutOfWindow {
            operation,
            rank: 0,
            offset: offset as u64,
            len: len as u64,
            allowed: 10,
        })
    };
    same(
        "get",
        &window.get(0, 8, &mut [0; 3]),
        &beyond(Operation::Get, 8, 3),
    )?;
    same(
        "put",
        &window.put(0, 11, &[]),
        &beyond(Operation::Put, 11, 0),
    )?;
    same(
        "wraps",
        &window.get(0, usize::MAX, &mut [0; 3]),
        &beyond(Operation::Get, usize::MAX, 3),
    )?;
    let far = Err(CommError::RankOutOfRange {
        operation: Operation::Get,
        given: size,
        size,
    });
    same("far", &window.get(size, 0, &mut [0; 1]), &far)?;
    // One wrong part of a batch: nothing is done.
    let mut bytes = [7; 2];
    let (first, second) = bytes.split_at_mut(1);
    let mut gets = [
        Get {
            rank: 0,
            offset: 0,
            into: first,
        },
        Get {
            rank: 0,
            offset: 10,
            into: second,
        },
    ];
    holds("refused", window.get_many(&mut gets).is_err())?;
    same("untouched", &bytes, &[7; 2])?;
    same("at the end", &window.get(0, 10, &mut []), &Ok(()))?;
    comm.barrier().map_err(text)
}

fn too_much_memory(comm: &dyn OneSided) -> Verdict {
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
            operation: Operation::Window,
            rank: last,
            bytes: given as u64,
        };
        let outcome = comm.window(len).map(|window| window.lens().to_vec());
        comm.barrier().map_err(text)?;
        same("error", &outcome, &Err(error))?;
    }
    zeros(comm)
}

fn several(comm: &dyn OneSided) -> Verdict {
    for round in 0..5 {
        let mut windows = Vec::new();
        for number in 0..3 {
            let mut window = comm.window(8).map_err(text)?;
            window
                .with_local(&mut |bytes| bytes.fill(round * 3 + number))
                .map_err(text)?;
            windows.push(window);
        }
        let other = (comm.rank() + 1) % comm.size();
        for (window, number) in windows.iter().zip(0..) {
            let mut byte = [0];
            window.get(other, 7, &mut byte).map_err(text)?;
            same("byte", &byte, &[round * 3 + number])?;
        }
        comm.barrier().map_err(text)?;
        if comm.rank().is_multiple_of(2) {
            windows.reverse();
        }
        drop(windows);
    }
    Ok(())
}
