//! Shared files: parts written by all are read by all; errors are the same on all.

use std::path::Path;

use super::{Case, FileCase, Verdict, holds, pattern, same, text};
use crate::{CommError, Communicator, FileMode, Operation, SharedFileOps};

pub(super) const CASES: &[FileCase] = &[
    Case {
        name: "parts of a file, written and read by all",
        run: parts,
    },
    Case {
        name: "local reads and writes",
        run: local,
    },
    Case {
        name: "a missing file is an error on all ranks",
        run: missing,
    },
    Case {
        name: "different files or modes are an error on all ranks",
        run: different,
    },
    Case {
        name: "a read past the end is an error on all ranks",
        run: past_the_end,
    },
    Case {
        name: "the length is set for all",
        run: length,
    },
    Case {
        name: "different lengths of a file are an error on all ranks",
        run: different_lengths,
    },
    Case {
        name: "different calls on a file are an error on all ranks",
        run: different_calls,
    },
    Case {
        name: "a call on a file and one on none are an error on all ranks",
        run: another_call,
    },
];

fn parts(comm: &dyn Communicator, dir: &Path) -> Verdict {
    let path = dir.join("parts");
    let len = |rank: usize| 1000 * (rank % 3) + 7;
    let offset = |rank: usize| (0..rank).map(len).sum::<usize>() as u64;
    let own = comm.rank();
    let file = comm.open_shared(&path, FileMode::Create).map_err(text)?;
    file.write_at_all(offset(own), &pattern(own, 0, len(own)))
        .map_err(text)?;
    file.sync().map_err(text)?;
    same("length", &file.len(), &Ok(offset(comm.size())))?;
    let next = (own + 1) % comm.size();
    let mut bytes = vec![0; len(next)];
    file.read_at_all(offset(next), &mut bytes).map_err(text)?;
    same("part of the next", &bytes, &pattern(next, 0, len(next)))?;
    drop(file);
    let whole = std::fs::read(&path).map_err(text)?;
    same(
        "whole",
        &whole,
        &(0..comm.size())
            .flat_map(|rank| pattern(rank, 0, len(rank)))
            .collect(),
    )?;
    // Opening to create empties it.
    comm.barrier().map_err(text)?;
    let file = comm.open_shared(&path, FileMode::Create).map_err(text)?;
    same("emptied", &file.is_empty(), &Ok(true))
}

fn local(comm: &dyn Communicator, dir: &Path) -> Verdict {
    let path = dir.join("local");
    let file = comm.open_shared(&path, FileMode::Create).map_err(text)?;
    if comm.rank() == 0 {
        file.write_at(3, b"bytes").map_err(text)?;
    }
    comm.barrier().map_err(text)?;
    let mut bytes = [1; 8];
    file.read_at(0, &mut bytes).map_err(text)?;
    same("read", &&bytes, &b"\0\0\0bytes")?;
    drop(file);
    let file = comm.open_shared(&path, FileMode::Read).map_err(text)?;
    let outcome = file.write_at(0, b"no");
    holds(
        "a file for reading cannot be written",
        matches!(outcome, Err(CommError::File { .. })),
    )?;
    drop(file);
    let file = comm.open_shared(&path, FileMode::ReadWrite).map_err(text)?;
    same("kept", &file.len(), &Ok(8))
}

fn missing(comm: &dyn Communicator, dir: &Path) -> Verdict {
    let path = dir.join("absent");
    match comm.open_shared(&path, FileMode::Read).map(drop) {
        Err(CommError::File {
            operation: Operation::FileOpen,
            rank,
            path: named,
            ..
        }) => same("rank and path", &(rank, named), &(0, path)),
        other => Err(format!("got {other:?}")),
    }
}

fn different(comm: &dyn Communicator, dir: &Path) -> Verdict {
    if comm.size() == 1 {
        return Ok(());
    }
    let (first, second) = (dir.join("one"), dir.join("other"));
    let file = comm.open_shared(&first, FileMode::Create).map_err(text)?;
    file.write_at_all(0, b"kept").map_err(text)?;
    drop(file);
    let last = comm.size() - 1;
    let is_last = comm.rank() == last;
    let error = |given: &Path, given_mode, allowed_mode| {
        Err(CommError::Files {
            rank: last,
            given: given.to_owned(),
            given_mode,
            allowed: first.clone(),
            allowed_mode,
        })
    };
    let path = if is_last { &second } else { &first };
    let outcome = comm.open_shared(path, FileMode::Read).map(drop);
    same(
        "paths",
        &outcome,
        &error(&second, FileMode::Read, FileMode::Read),
    )?;
    let mode = if is_last {
        FileMode::Read
    } else {
        FileMode::Create
    };
    let outcome = comm.open_shared(&first, mode).map(drop);
    same(
        "modes",
        &outcome,
        &error(&first, FileMode::Read, FileMode::Create),
    )?;
    let file = comm.open_shared(&first, FileMode::Read).map_err(text)?;
    same("not emptied", &file.len(), &Ok(4))
}

fn past_the_end(comm: &dyn Communicator, dir: &Path) -> Verdict {
    let file = comm
        .open_shared(&dir.join("short"), FileMode::Create)
        .map_err(text)?;
    file.set_len(10).map_err(text)?;
    let last = comm.size() - 1;
    let offset = if comm.rank() == last { 8 } else { 0 };
    match file.read_at_all(offset, &mut [0; 5]) {
        Err(CommError::File {
            operation: Operation::FileRead,
            rank,
            ..
        }) => same("rank", &rank, &last),
        other => Err(format!("got {other:?}")),
    }
}

fn length(comm: &dyn Communicator, dir: &Path) -> Verdict {
    let file = comm
        .open_shared(&dir.join("length"), FileMode::Create)
        .map_err(text)?;
    for len in [100, 3, 0] {
        file.set_len(len).map_err(text)?;
        same("length", &file.len(), &Ok(len))?;
        comm.barrier().map_err(text)?;
    }
    Ok(())
}

fn different_lengths(comm: &dyn Communicator, dir: &Path) -> Verdict {
    let file = comm
        .open_shared(&dir.join("lengths"), FileMode::Create)
        .map_err(text)?;
    file.set_len(7).map_err(text)?;
    let outcome = file.set_len(comm.rank() as u64 * 10);
    let expected = if comm.size() == 1 {
        Ok(())
    } else {
        Err(CommError::Length {
            operation: Operation::FileSetLen,
            rank: 1,
            what: "a length in bytes of",
            given: 10,
            allowed: 0,
        })
    };
    same("lengths", &outcome, &expected)?;
    same(
        "length",
        &file.len(),
        &Ok(if comm.size() == 1 { 0 } else { 7 }),
    )
}

fn different_calls(comm: &dyn Communicator, dir: &Path) -> Verdict {
    let file = comm
        .open_shared(&dir.join("calls"), FileMode::Create)
        .map_err(text)?;
    let last = comm.size() - 1;
    let is_last = comm.rank() == last;
    let mismatch = |first, other| {
        Err(CommError::Mismatch {
            first,
            rank: last,
            other,
        })
    };
    if last == 0 {
        return Ok(());
    }
    let outcome = if is_last {
        file.write_at_all(0, &[1])
    } else {
        file.set_len(5)
    };
    let expected = mismatch(Operation::FileSetLen, Operation::FileWrite);
    same("set_len and write", &outcome, &expected)?;
    comm.barrier().map_err(text)?;
    same("not set", &file.len(), &Ok(1))?;
    let outcome = if is_last {
        file.read_at_all(0, &mut [0])
    } else {
        file.sync()
    };
    let expected = mismatch(Operation::FileSync, Operation::FileRead);
    same("sync and read", &outcome, &expected)?;
    let outcome = if is_last {
        file.sync()
    } else {
        comm.open_shared(&dir.join("calls"), FileMode::Create)
            .map(drop)
    };
    let expected = mismatch(Operation::FileOpen, Operation::FileSync);
    same("open and sync", &outcome, &expected)?;
    same("not emptied", &file.len(), &Ok(1))?;
    comm.barrier().map_err(text)
}

fn another_call(comm: &dyn Communicator, dir: &Path) -> Verdict {
    let path = dir.join("another");
    let last = comm.size() - 1;
    if last == 0 {
        return Ok(());
    }
    let is_last = comm.rank() == last;
    let mismatch = |first, other| {
        Err(CommError::Mismatch {
            first,
            rank: last,
            other,
        })
    };
    let open = || comm.open_shared(&path, FileMode::Create).map(drop);
    let outcome = if is_last {
        comm.all_gather_v(&vec![1; 1 << 20]).map(drop)
    } else {
        open()
    };
    let expected = mismatch(Operation::AllGather, Operation::AllGatherV);
    same("bytes of any length", &outcome, &expected)?;
    holds("nothing is made", !path.exists())?;
    // As many bytes as a call on a file says: that rank has had what it asked for, the others know better.
    let outcome = if is_last {
        comm.all_gather(&[1; 24], &mut vec![0; 24 * comm.size()])
    } else {
        open()
    };
    let expected = if is_last {
        Ok(())
    } else {
        mismatch(Operation::FileOpen, Operation::AllGather)
    };
    same("as many bytes", &outcome, &expected)?;
    holds("nothing is made", !path.exists())?;
    comm.barrier().map_err(text)
}
