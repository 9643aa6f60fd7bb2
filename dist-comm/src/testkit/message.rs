//! Messages arrive whole, in order, at the tag they were sent with.

use super::{Case, CommunicatorCase, LENGTHS, Verdict, holds, pattern, same, text};
use crate::{Communicator, ExchangeJob, Message, Workspace};

pub(super) const CASES: &[CommunicatorCase] = &[
    Case {
        name: "messages go around a ring",
        run: ring,
    },
    Case {
        name: "tags tell messages apart",
        run: tags,
    },
    Case {
        name: "exchange with all ranks",
        run: exchange_all,
    },
    Case {
        name: "exchange of several messages to one rank",
        run: exchange_many,
    },
    Case {
        name: "exchange of nothing",
        run: exchange_nothing,
    },
    Case {
        name: "exchange with one neighbour only",
        run: exchange_pairs,
    },
    Case {
        name: "exchange meets send and recv",
        run: exchange_meets_send,
    },
];

fn ring(comm: &dyn Communicator) -> Verdict {
    let (rank, size) = (comm.rank(), comm.size());
    if size == 1 {
        return Ok(());
    }
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    for len in LENGTHS {
        let (send, mut got) = (pattern(rank, next, len), vec![0xff; len]);
        if rank % 2 == 0 {
            comm.send(next, 1, &send).map_err(text)?;
            comm.recv(previous, 1, &mut got).map_err(text)?;
        } else {
            comm.recv(previous, 1, &mut got).map_err(text)?;
            comm.send(next, 1, &send).map_err(text)?;
        }
        same("around", &got, &pattern(previous, rank, len))?;
    }
    Ok(())
}

fn tags(comm: &dyn Communicator) -> Verdict {
    if comm.rank() == 0 && comm.size() > 1 {
        for (tag, byte) in [(3, 30), (4, 40), (3, 31)] {
            comm.send(1, tag, &[byte]).map_err(text)?;
        }
    }
    if comm.rank() == 1 {
        for (tag, byte) in [(4, 40), (3, 30), (3, 31)] {
            let mut got = [0];
            comm.recv(0, tag, &mut got).map_err(text)?;
            same("tagged", &got, &[byte])?;
        }
    }
    Ok(())
}

/// Sends a pattern per message and compares what comes.
struct Job<'a> {
    rank: usize,
    round: usize,
    sends: &'a [Message],
    recvs: &'a [Message],
    packed: Vec<usize>,
    unpacked: Vec<usize>,
    local: usize,
    verdict: Verdict,
}

/// How many messages before number `i` go to the same rank.
fn before(messages: &[Message], i: usize) -> usize {
    messages[..i]
        .iter()
        .filter(|message| message.peer == messages[i].peer)
        .count()
}

impl ExchangeJob for Job<'_> {
    fn pack(&mut self, i: usize, buf: &mut [u8]) {
        self.packed.push(i);
        let Message { peer, len } = self.sends[i];
        if buf.len() != len || self.local > 0 {
            self.verdict = Err(format!(
                "pack {i}: {} bytes, {} times local before",
                buf.len(),
                self.local
            ));
            return;
        }
        let nth = before(self.sends, i) + 10 * self.round;
        buf.copy_from_slice(&pattern(self.rank * 1000 + nth, peer, len));
    }

    fn local(&mut self) {
        self.local += 1;
        if self.packed.len() != self.sends.len() || !self.unpacked.is_empty() {
            self.verdict = Err("local is not between packing and unpacking".into());
        }
    }

    fn unpack(&mut self, i: usize, buf: &[u8]) {
        self.unpacked.push(i);
        let Message { peer, len } = self.recvs[i];
        let nth = before(self.recvs, i) + 10 * self.round;
        let expected = pattern(peer * 1000 + nth, self.rank, len);
        if self.verdict.is_ok() {
            self.verdict = same(
                &format!("message {i} from {peer}"),
                &buf,
                &expected.as_slice(),
            );
        }
    }
}

fn exchange(
    comm: &dyn Communicator,
    round: usize,
    sends: &[Message],
    recvs: &[Message],
    workspace: &mut Workspace,
) -> Verdict {
    let (packed, unpacked) = (Vec::new(), Vec::new());
    let mut job = Job {
        rank: comm.rank(),
        round,
        sends,
        recvs,
        packed,
        unpacked,
        local: 0,
        verdict: Ok(()),
    };
    comm.reserve(sends, recvs, workspace).map_err(text)?;
    let reserved = workspace.capacity();
    comm.exchange(7, sends, recvs, &mut job, workspace)
        .map_err(text)?;
    same(
        "buffers after the exchange",
        &workspace.capacity(),
        &reserved,
    )?;
    job.verdict?;
    same("local", &job.local, &1)?;
    same("packed", &job.packed, &(0..sends.len()).collect())?;
    job.unpacked.sort_unstable();
    same("unpacked", &job.unpacked, &(0..recvs.len()).collect())
}

fn exchange_all(comm: &dyn Communicator) -> Verdict {
    let (rank, size) = (comm.rank(), comm.size());
    let mut workspace = Workspace::new();
    for round in 0..4 {
        for scale in [1, 700] {
            let len = |from: usize, to: usize| ((from * 3 + to * 5 + round) % 7) * scale;
            let others = || (0..size).filter(|&other| other != rank);
            let sends: Vec<_> = others()
                .map(|peer| Message {
                    peer,
                    len: len(rank, peer),
                })
                .collect();
            // Not in the order of ranks.
            let recvs: Vec<_> = others()
                .rev()
                .map(|peer| Message {
                    peer,
                    len: len(peer, rank),
                })
                .collect();
            exchange(comm, round, &sends, &recvs, &mut workspace)?;
        }
    }
    if size == 1 {
        return Ok(());
    }
    let held = workspace.capacity();
    let (sends, recvs) = (
        [Message {
            peer: (rank + 1) % size,
            len: 1,
        }],
        [Message {
            peer: (rank + size - 1) % size,
            len: 1,
        }],
    );
    exchange(comm, 0, &sends, &recvs, &mut workspace)?;
    same(
        "a smaller exchange keeps the buffers",
        &workspace.capacity(),
        &held,
    )
}

fn exchange_many(comm: &dyn Communicator) -> Verdict {
    let (rank, size) = (comm.rank(), comm.size());
    if size == 1 {
        return Ok(());
    }
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    // Short and long ones, which a communicator may send in different ways.
    let lens = [5, 0, 9000, 64, 1024, 1025, 300_000, 300_000, 5];
    let mut workspace = Workspace::new();
    (0..8).try_for_each(|round| {
        let sends = lens.map(|len| Message { peer: next, len });
        let recvs = lens.map(|len| Message {
            peer: previous,
            len,
        });
        exchange(comm, round, &sends, &recvs, &mut workspace)
    })
}

fn exchange_nothing(comm: &dyn Communicator) -> Verdict {
    exchange(comm, 0, &[], &[], &mut Workspace::new())
}

fn exchange_pairs(comm: &dyn Communicator) -> Verdict {
    // 0 with 1, 2 with 3, …: pairs run at their own pace; the last of an odd number has no partner.
    let peer = comm.rank() ^ 1;
    if peer >= comm.size() {
        return Ok(());
    }
    let mut workspace = Workspace::new();
    for round in 0..10 {
        let messages = [Message {
            peer,
            len: 1000 * round,
        }];
        exchange(comm, round, &messages, &messages, &mut workspace)?;
    }
    holds(
        "the workspace holds the largest message",
        workspace.capacity() >= 9000,
    )
}

fn exchange_meets_send(comm: &dyn Communicator) -> Verdict {
    let messages = |peer| [Message { peer, len: 5000 }];
    match comm.rank() {
        0 if comm.size() > 1 => {
            exchange(comm, 0, &messages(1), &[], &mut Workspace::new())?;
            exchange(comm, 0, &[], &messages(1), &mut Workspace::new())
        }
        1 => {
            let mut got = vec![0; 5000];
            comm.recv(0, 7, &mut got).map_err(text)?;
            same("from exchange", &got, &pattern(0, 1, 5000))?;
            comm.send(0, 7, &pattern(1000, 0, 5000)).map_err(text)
        }
        _ => Ok(()),
    }
}
